"""What a run is of, how it ends before its end, and the state of a function that it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.memory.storage import Mask


class KernelErrorFound(Exception):  # noqa: N818
    """A compiler refuses what a kernel does, or it is outside a tensor: the rest has no meaning."""


class ProductsOverError(Exception):
    """A run has the products that it is to end after."""


class StepsOverError(Exception):
    """A kernel exceeds the limit of steps."""


@dataclass(frozen=True, slots=True)
class LaunchedInstance:
    """What tells the launches of a kernel apart: its template arguments and the names of its tensor maps, as an
    evaluation has recorded them; none if they are not known.
    """

    templates: tuple[str, ...] = ()
    maps: frozenset[str] = frozenset()


@dataclass(slots=True)
class FrameState:
    """A running function: its return value; loops: the lanes that broke and continued in each loop; returns: the type
    of its value.
    """

    returns: tree.Type | None = None
    result: Any = None
    has_result: bool = False
    loops: list[list[Mask]] = field(default_factory=list)
