"""What may be unpickled from a scheduler's port: the few names of which Dask makes a job of ours, and nothing else.

Dask sends functions by pickle, and a pickle can name any function of any module. In every process of Lanescope that
speaks Dask, `install` puts a reader in the place of Dask's that knows only the names below: a job that names another
function is refused before anything of it runs.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from typing import Any

ALLOWED = {
    ("app.gpu.jobs", "perform"),
    ("dask._expr", "Expr._reconstruct"),
    ("dask._expr", "LLGExpr"),
    ("dask._task_spec", "Task"),
    ("builtins", "bytes"),
}


class Refused(pickle.UnpicklingError):
    """A pickle that names what no job of Lanescope names."""


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in ALLOWED:
            return super().find_class(module, name)
        found = super().find_class(module, name) if module == "builtins" and "." not in name else None
        if isinstance(found, type) and issubclass(found, Exception):
            return found
        raise Refused(f"{module}.{name} is no part of a Lanescope job.")


def loads(data: Any, *, buffers: Iterable[Any] = ()) -> Any:
    """What a pickle holds, if it names nothing but what is allowed; Refused otherwise."""
    return _Reader(io.BytesIO(data), buffers=buffers).load()


def install() -> None:
    """Have Dask read pickles so, in this process."""
    from distributed.protocol import pickle as dasks

    dasks.loads = loads
