"""Types that have a name of their own in the OpenAPI document: words of tables, numbers, text, hex words."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from lanescope.app.kit.fact import LARGEST, Description
from lanescope.inputs import LONGEST_NUMBER, LONGEST_TEXT, PATTERN
from lanescope.ptx import catalog
from lanescope.ptx.table.kinds import KINDS


def make_word_enum(name: str, known: Iterable[str], says: str) -> Any:
    """Return an enumeration of a table's words, named in the document. Type checkers see text."""
    enumeration: Any = StrEnum
    enum_type = enumeration(name, {word: word for word in known})
    enum_type.__doc__ = says
    return enum_type


def name_type(name: str, kind: Any) -> Any:
    """Return a type that is named in the document."""
    try:
        from typing_extensions import TypeAliasType
    except ImportError:  # the command line without the extra `web` makes no document
        return kind
    return TypeAliasType(name, kind)


def make_hex_type(name: str, pattern: str, says: str, *examples: str) -> Any:
    """Return the type of hex digits, named in the document."""
    return name_type(name, Annotated[str, Description(says, examples, {"pattern": pattern})])


if TYPE_CHECKING:  # type checkers see text: the words come from a table
    Family: TypeAlias = str
    Target: TypeAlias = str
    ElementType: TypeAlias = str
    Verdict: TypeAlias = str
    KindName: TypeAlias = str
    Word64: TypeAlias = str
    Word32: TypeAlias = str
else:
    Family = make_word_enum("Family", catalog.FAMILY_NAMES, "A family of instructions.")
    Target = make_word_enum("Target", catalog.TARGETS, "An architecture that ptxas assembles for.")
    ElementType = make_word_enum("ElementType", catalog.list_element_types(), "The type of some operand's elements.")
    Verdict = make_word_enum("Verdict", ("match", "mismatch"), "Whether every element is where it is needed.")
    KindName = make_word_enum(
        "KindName", (kind.name for kind in KINDS), "A kind of tcgen05.mma: what its types have in common."
    )
    Word64 = make_hex_type(
        "Word64",
        "^0x[0-9a-f]{16}$",
        "64 bits as a hex string of 16 digits: as a JSON number it would lose bits.",
        "0x4000004004000101",
    )
    Word32 = make_hex_type("Word32", "^0x[0-9a-fA-F]{8}$", "32 bits as a hex string of 8 digits.", "0x44444444")


PTX = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
PtxText = name_type(
    "PtxText",
    Annotated[
        str,
        Description(
            "An instruction as PTX spells it, with or without `.sync.aligned`, or its name: `mma.m16n8k16 bf16`; an"
            " operand list behind it is left out.",
            (PTX, WGMMA),
            {"maxLength": LONGEST_TEXT},
        ),
    ],
)
_SPELLED = (
    {"type": "integer", "minimum": 0, "maximum": LARGEST},
    {"type": "string", "pattern": PATTERN, "maxLength": LONGEST_NUMBER},
)
_NUMBERS = "in decimal, 0x… or 0b…, with _ or ' between digits and C's suffixes"
Number = name_type(
    "Number",
    Annotated[
        int | str,
        Description(
            f"An integer from 0: a JSON integer, or text {_NUMBERS}.",
            (4096, "0x1000", "0b1000", "4'096ull"),
            {"anyOf": [*_SPELLED]},
        ),
    ],
)
NumberText = name_type(
    "NumberText",
    Annotated[
        int | str,
        Description(
            f"An integer from 0 {_NUMBERS}; empty for the default.",
            ("64", "0x40"),
            {"anyOf": [*_SPELLED, {"const": ""}]},
        ),
    ],
)
