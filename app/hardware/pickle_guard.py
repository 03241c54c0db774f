"""The only names that a fleet's ports accept: the few that Dask needs for a job of Lanescope.

Dask sends functions by pickle, and a pickle can name any function of any module; an enumeration in its messages can
name any attribute of a module of Dask's. In every process of Lanescope that speaks Dask, `install_guard` replaces
Dask's readers by ones that know only the names below: any other name is rejected before any of its code runs.
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
LONGEST_MESSAGE = 256 << 20  # several times the longest job or answer


class RefusedPickle(pickle.UnpicklingError):
    """Raised for a message with a name that no job of Lanescope contains."""


class _RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in ALLOWED:
            return super().find_class(module, name)
        value = super().find_class(module, name) if module == "builtins" and "." not in name else None
        if isinstance(value, type) and issubclass(value, Exception):
            return value
        raise RefusedPickle(f"{module}.{name} is not part of a Lanescope job.")


def loads(data: Any, *, buffers: Iterable[Any] = ()) -> Any:
    """Load a pickle that contains only allowed names; RefusedPickle otherwise."""
    return _RestrictedUnpickler(io.BytesIO(data), buffers=buffers).load()


class _PickleShim:
    """The module pickle for Dask's modules: it writes as before, and reads as `loads` does."""

    loads = staticmethod(loads)
    Unpickler = _RestrictedUnpickler

    def load(self, file: Any, **_: Any) -> Any:
        return loads(file.read())

    def __getattr__(self, name: str) -> Any:
        return getattr(pickle, name)


def install_guard() -> None:
    """Make every module of Dask in this process read messages through the guard."""
    import distributed
    from distributed.comm import tcp
    from distributed.protocol import core, pickle as dasks

    if dasks.loads is loads:
        return
    originals: dict[str, Any] = {"loads": dasks.loads, "msgpack_decode_default": vars(core)["msgpack_decode_default"]}
    replacements = {
        "loads": loads,
        "msgpack_decode_default": _restrict_enumerations(vars(core)["msgpack_decode_default"]),
    }
    shim = _PickleShim()
    for name, module in list(sys.modules.items()):
        if name != "distributed" and not name.startswith("distributed."):
            continue
        if getattr(module, "pickle", None) is pickle:
            module.pickle = shim  # type: ignore[attr-defined]
        for attribute, original in originals.items():  # a module that imported the function by name
            if getattr(module, attribute, None) is original:
                setattr(module, attribute, replacements[attribute])
    vars(tcp)["host_array"] = _limit_messages(vars(tcp)["host_array"])
    distributed.Client._default_event_handlers = {}  # do not show prints and warnings of others


def _restrict_enumerations(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decode(message: Any) -> Any:
        if "__Enum__" in message and (message.get("__module__"), message.get("__name__")) not in ENUMERATIONS:
            raise RefusedPickle(
                f"{message.get('__module__')}.{message.get('__name__')} is not part of a Lanescope job."
            )
        return original(message)

    return decode


def _limit_messages(original: Callable[[int], Any]) -> Callable[[int], Any]:
    """Limit the size of a message: a peer that does not speak Dask seems to announce one of many petabytes."""
    from distributed.comm.core import CommClosedError

    def check_room(count: int) -> Any:
        if count > LONGEST_MESSAGE:
            raise CommClosedError("what is at the other end does not speak Dask")
        return original(count)

    return check_room
