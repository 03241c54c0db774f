"""Lists of values that may contain open ones, written as None."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

_Value = TypeVar("_Value")
_Key = TypeVar("_Key", bound=Hashable)


def require_known(values: Iterable[_Value | None]) -> list[_Value] | None:
    """Return the values as a list; None if one is open.

    >>> require_known([64, 128]), require_known([64, None])
    ([64, 128], None)
    """
    every = list(values)
    known = [value for value in every if value is not None]
    return known if len(known) == len(every) else None


def find_common_value(values: Iterable[_Key | None]) -> _Key | None:
    """Return the value that all have; None if they differ, if one is open, or if there are none.

    >>> find_common_value([128, 128]), find_common_value([128, 64]), find_common_value([])
    (128, None, None)
    """
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None
