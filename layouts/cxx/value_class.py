"""Dataclasses for millions of objects: frozen for mypy, not checked at run time.

A frozen dataclass sets each field through object.__setattr__, which makes it three times as slow to build.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

__all__ = ["value_class"]

Class = TypeVar("Class")

if TYPE_CHECKING:
    from dataclasses import dataclass as value_class
else:

    def value_class(*, frozen: bool, slots: bool, eq: bool = True) -> Callable[[type[Class]], type[Class]]:
        """Make a dataclass of hashable, unchanging objects; the arguments are those of `dataclass`."""
        return dataclass(slots=slots, eq=eq, unsafe_hash=frozen and eq)
