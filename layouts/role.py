"""What a family does: its verb, who executes it, and where its operands live. Rows state these words; every condition
elsewhere asks them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from layouts.pattern import Words


class Verb(StrEnum):
    """What becomes of the operands."""

    MULTIPLY = "multiply"  # D = A·B + C
    LOAD = "load"  # memory → registers
    STORE = "store"  # registers → memory
    MOVE = "move"  # registers → registers


class Place(StrEnum):
    """Where an operand lives, and how the instruction finds it there."""

    REGISTERS = "registers"
    DESCRIPTOR = "shared memory, by a matrix descriptor"
    ROWS = "shared memory, a row an address of a lane"
    MATRIX = "global or shared memory, by one address and the stride of its rows or columns"
    TENSOR = "tensor memory, by lane and column"


class Feed(StrEnum):
    """How the multiplicands of a product reach it."""

    MAP = "each thread fills its registers by the fragment map"
    LOADS = "the family's own loads fill the fragments, whose maps are left open"
    DESCRIPTOR = "the instruction reads shared memory through descriptors"


@dataclass(frozen=True, slots=True)
class Scope:
    """Who executes an instruction together: so many threads, each called `thread`.

    warps: their number in words; words: PTX's words for the digits of the thread number.
    """

    name: str
    threads: int
    thread: str
    warps: str
    words: Words


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact stands: the document, its section or line, and what it says."""

    document: str
    section: str

    def __str__(self) -> str:
        return f"{self.document}, {self.section}"


def PTX(section: str) -> Source:
    """A section of the PTX ISA 9.1."""
    return Source("PTX ISA 9.1", section)


@dataclass(frozen=True, slots=True)
class Opcode:
    """The words a PTX text begins with, what they do, and the section that describes their syntax; short: how people
    call it, "" as written.
    """

    text: str
    does: str
    source: Source
    short: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.text.split("."))


_GROUP_WORDS = (("g", "groupID", "%laneid >> 2"), ("t", "threadID_in_group", "%laneid % 4"))
WARP = Scope("warp", 32, "lane", "one warp", Words("%laneid", "i", _GROUP_WORDS))
WARPGROUP = Scope(
    "warpgroup",
    128,
    "thread",
    "four warps",
    Words("thread", "i", (("w", "warp_in_group", "%warpid % 4"), *_GROUP_WORDS)),
)
SCOPES = {scope.threads: scope for scope in (WARP, WARPGROUP)}
