"""What may be read from a fleet's ports: the few names of which Dask makes a job of ours, and nothing else.

Dask sends functions by pickle, and a pickle can name any function of any module; an enumeration in its messages can
name any attribute of a module of Dask's. In every process of Lanescope that speaks Dask, `install_guard` puts
readers in the place of Dask's that know only the names below: what names another is refused before anything of it runs.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Iterable
from typing import Any

ALLOWED = {
    ("lanescope.app.hardware.jobs", "perform"),
    ("dask._expr", "Expr._reconstruct"),
    ("dask._expr", "LLGExpr"),
    ("dask._task_spec", "Task"),
    ("builtins", "bytes"),
}
ENUMERATIONS = {("distributed.core", "Status")}
LONGEST_MESSAGE = 256 << 20  # a job or an answer of the longest kind, several times


class RefusedPickle(pickle.UnpicklingError):
    """A message that names what no job of Lanescope names."""


class _RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in ALLOWED:
            return super().find_class(module, name)
        found = super().find_class(module, name) if module == "builtins" and "." not in name else None
        if isinstance(found, type) and issubclass(found, Exception):
            return found
        raise RefusedPickle(f"{module}.{name} is not part of a Lanescope job.")


def loads(data: Any, *, buffers: Iterable[Any] = ()) -> Any:
    """What a pickle holds, if it names only what is allowed; RefusedPickle otherwise."""
    return _RestrictedUnpickler(io.BytesIO(data), buffers=buffers).load()


class _PickleShim:
    """The module pickle as Dask's modules see it: it writes as ever, and reads as `loads` does."""

    loads = staticmethod(loads)
    Unpickler = _RestrictedUnpickler

    def load(self, file: Any, **_: Any) -> Any:
        return loads(file.read())

    def __getattr__(self, name: str) -> Any:
        return getattr(pickle, name)


def install_guard() -> None:
    """Have every module of Dask read so, in this process."""
    import distributed
    from distributed.comm import tcp
    from distributed.protocol import core
    from distributed.protocol import pickle as dasks

    if dasks.loads is loads:
        return
    theirs: dict[str, Any] = {"loads": dasks.loads, "msgpack_decode_default": vars(core)["msgpack_decode_default"]}
    ours = {"loads": loads, "msgpack_decode_default": _restrict_enumerations(vars(core)["msgpack_decode_default"])}
    shim = _PickleShim()
    for name, module in list(sys.modules.items()):
        if name != "distributed" and not name.startswith("distributed."):
            continue
        if getattr(module, "pickle", None) is pickle:
            module.pickle = shim  # type: ignore[attr-defined]
        for one, their in theirs.items():  # a module that took the function by its name
            if getattr(module, one, None) is their:
                setattr(module, one, ours[one])
    vars(tcp)["host_array"] = _limit_messages(vars(tcp)["host_array"])
    distributed.Client._default_event_handlers = {}  # what others print and warn of is not shown here


def _restrict_enumerations(theirs: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decode(told: Any) -> Any:
        if "__Enum__" in told and (told.get("__module__"), told.get("__name__")) not in ENUMERATIONS:
            raise RefusedPickle(f"{told.get('__module__')}.{told.get('__name__')} is not part of a Lanescope job.")
        return theirs(told)

    return decode


def _limit_messages(theirs: Callable[[int], Any]) -> Callable[[int], Any]:
    """Room for a message: what does not speak Dask seems to announce one of many petabytes."""
    from distributed.comm.core import CommClosedError

    def room(count: int) -> Any:
        if count > LONGEST_MESSAGE:
            raise CommClosedError("what is at the other end does not speak Dask")
        return theirs(count)

    return room
