"""Words of the tables as enumerations, each under its own name in the OpenAPI document. No framework."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from layouts import catalog
from layouts.swizzle import NAMES
from layouts.tiling import DEFAULT_ORDER, SWIZZLED_BY


def words(name: str, known: Iterable[str], says: str) -> Any:
    """An enumeration under its own name in the document; its members are a table's words, so no checker knows the type."""
    enumeration: Any = StrEnum
    made = enumeration(name, {word: word for word in known})
    made.__doc__ = says
    return made


def known_types() -> tuple[str, ...]:
    """Every element type of some operand."""
    return tuple(sorted({t for i in catalog.instructions() for t in i.types.values()}))


if TYPE_CHECKING:  # the words are a table's: to a type checker they are text
    Family: TypeAlias = str
    Target: TypeAlias = str
    ElementType: TypeAlias = str
    SwizzleMode: TypeAlias = str
    Major: TypeAlias = str
    Order: TypeAlias = str
    SwizzledBy: TypeAlias = str
    Verdict: TypeAlias = str
else:
    Family = words("Family", catalog.FAMILY_NAMES, "A family of instructions.")
    Target = words("Target", catalog.TARGETS, "An architecture that ptxas was asked to assemble for.")
    ElementType = words("ElementType", known_types(), "The type of some operand's elements.")
    SwizzleMode = words("SwizzleMode", NAMES, "A shared-memory swizzle mode of wgmma.")
    Major = words("Major", DEFAULT_ORDER, "Which way of an operand is contiguous in memory.")
    Order = words("Order", DEFAULT_ORDER.values(), "Which way the atoms of a tile are laid first.")
    SwizzledBy = words("SwizzledBy", SWIZZLED_BY, "What is XORed: the byte address (what TMA does) or the offset from the base.")
    Verdict = words("Verdict", ("match", "mismatch"), "Whether every element lies where it is wanted.")
