"""The questions about bank conflicts: one access, several, and the swizzle that frees them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from lanescope.app.kit.enumerations import Number
from lanescope.app.kit.fact import Description, Json
from lanescope.app.kit.memory_words import AccessName, AccessPattern
from lanescope.app.kit.question import (
    declare_question,
    list_field,
    number_field,
    options_of,
    raw_field,
    text_field,
    word_field,
)
from lanescope.cute import text
from lanescope.errors import LayoutError
from lanescope.inputs import LONGEST_KEY, parse_choice
from lanescope.ptx.architectures import ARCHITECTURES
from lanescope.ptx.threads import WARP
from lanescope.shared import banks
from lanescope.shared.swizzle import MODES, Swizzle

Address = Annotated[
    list[Number | None],
    Description("One byte address per lane; null for an inactive lane.", limits={"maxItems": WARP}),
]
SwizzleText = Annotated[str, Description("", ("none", "128B", "3,4,3"), {"maxLength": LONGEST_KEY})]
ACCESS_TEXT = "access:pattern or access:addresses, e.g. ldmatrix.x4:ldmatrix, st.shared.b128:0 16 32 …"
MOST_ACCESSES = 16
MOST_PITCH = 1 << 16  # pitch in bytes


def parse_swizzle(value: object) -> Swizzle:
    """Return the swizzle of a mode's name, or of B,M,S."""
    for mode in MODES:
        if isinstance(value, str) and mode.name.lower() == value.strip().lower():
            return mode.swizzle()
    return text.parse_swizzle(value)


def parse_accesses(words: str) -> list[Json]:
    """Parse accesses separated by commas, semicolons or blanks: access, access:pattern, or access:address,…"""
    out: list[Json] = []
    for part in re.split(r"[\s,;]+", words.strip()):
        if part[:1].isalpha() and part != "null":
            name, _, part = part.partition(":")
            out.append({"access": banks.get_access(name).name})
        if not part:
            continue
        if part[:1].isalpha() and part != "null":
            out[-1]["pattern"] = parse_choice(part, "pattern", banks.REACHES, "bad_pattern")
        elif not out:
            raise LayoutError("bad_accesses", f"'{part[:40]}' precedes every access.", ACCESS_TEXT, "accesses")
        else:
            out[-1].setdefault("address", []).extend(banks.parse_addresses(part))
    return out


@declare_question
class AccessFields:
    """An access of a warp, and how its lanes reach the rows of a tile."""

    access: str = text_field(
        "ldmatrix.x4",
        "Access",
        "ldmatrix.x4, st.shared.b128, …",
        argument=True,
        type=AccessName,
        check=banks.get_access,
    )
    pattern: str = word_field(
        banks.REACHES, "Lane addresses", "How the lanes reach rows of the tile", "ldmatrix", type=AccessPattern
    )


@declare_question
class RowFields:
    """The rows of a tile that the access reads."""

    row_bytes: int = number_field(
        128, "Bytes per row", "With a pattern: bytes from row to row.", least=1, most=MOST_PITCH, size=6
    )
    pad: int = number_field(
        0, "Padding per row, bytes", "With a pattern: bytes between two rows.", most=MOST_PITCH, size=4
    )


@declare_question
class UseFields(RowFields, AccessFields):
    architecture: str = word_field(
        tuple(row.name for row in ARCHITECTURES),
        "Architecture",
        "Whose Nsight Compute counters are predicted; they are measured on sm_90.",
        "sm_90",
    )
    swizzle: str = text_field(
        "none",
        "Swizzle",
        "Applied to every address: none, 32B, 64B, 128B, or B,M,S in bytes.",
        type=SwizzleText,
        check=parse_swizzle,
        size=8,
        suggest="modes",
        placeholder="128B or B,M,S",
    )


def _declare_lanes() -> Any:
    return raw_field(
        "Lane addresses",
        "One byte address per lane, instead of a pattern; null for an inactive lane.",
        None,
        type=Address | None,
    )


@declare_question
class OneAccess(AccessFields):
    """An access at addresses, or at rows by a pattern."""

    address: list[int | None] | None = _declare_lanes()


@declare_question
class AccessBody(UseFields):
    """One access at the addresses of its lanes, or at rows by a pattern."""

    address: list[int | None] | None = _declare_lanes()


@declare_question
class SolveMany(RowFields):
    """Accesses for which one swizzle should remove the conflicts."""

    accesses: tuple[OneAccess, ...] = list_field(OneAccess, "Accesses", "", least=1, most=MOST_ACCESSES, required=True)


@declare_question
class SolveOne(RowFields, OneAccess):
    """An access for which a swizzle should remove the conflicts."""

    access: str = text_field("ldmatrix.x4", "Access", "", required=True, type=AccessName)


ROW_FIELDS = ("pattern", *options_of(RowFields))


@declare_question
class AccessQuestion(UseFields):
    """One access at the addresses of its lanes, or at rows by a pattern."""

    address: str = text_field(
        "",
        "Or one byte address per lane",
        "Instead of rows: one byte address per lane, with commas; - for an inactive lane.",
        wide=True,
        check=banks.parse_addresses,
        placeholder="0, 128, 256, … ; - for an inactive lane",
    )

    @property
    def body(self) -> Json:
        """Return the access as POST /banks/solve has it."""
        lanes = {"address": banks.parse_addresses(self.address)} if self.address else {"pattern": self.pattern}
        return {"access": self.access, **lanes}

    @property
    def rows(self) -> Json:
        return {"row_bytes": self.row_bytes, "pad": self.pad}


@declare_question
class BanksQuestion(AccessQuestion):
    """An access, and others for which the same swizzle should remove the conflicts."""

    accesses: str = text_field(
        "",
        "Other accesses to the same tile (access:pattern or access:addresses)",
        "Other accesses to the same tile: access:pattern or access:addresses.",
        wide=True,
        check=parse_accesses,
        placeholder="ldmatrix.x4:ldmatrix, st.shared.b128:0 16 32 …",
    )
