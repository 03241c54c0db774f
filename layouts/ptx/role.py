"""The attributes of a family: its verb, the threads that execute it, and where its operands are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from lanescope.ptx.pattern import FormulaWords
from lanescope.ptx.threads import WARP as WARP_THREADS, WARPGROUP as WARPGROUP_THREADS


class InstructionVerb(StrEnum):
    """What an instruction does with its operands."""

    MULTIPLY = "multiply"  # D = A·B + C
    LOAD = "load"  # memory → registers
    STORE = "store"  # registers → memory
    MOVE = "move"  # registers → registers
    COPY = "copy"  # shared memory → tensor memory
    ISSUE = "issue"  # D = A·B + D in tensor memory; M, N and types come from an instruction descriptor
    SHIFT = "shift"  # rows of tensor memory → the lane before


class OperandPlace(StrEnum):
    """Where an operand is, and how the instruction addresses it."""

    REGISTERS = "registers"
    DESCRIPTOR = "shared memory, by a matrix descriptor"
    ROWS = "shared memory, a row an address of a lane"
    MATRIX = "global or shared memory, by one address and the stride of its rows or columns"
    TENSOR = "tensor memory, by lane and column"


class OperandFeed(StrEnum):
    """How the multiplicands of a product reach the instruction."""

    MAP = "each thread fills its registers by the fragment map"
    LOADS = "the family's own loads fill the fragments, whose maps are left open"
    DESCRIPTOR = "the instruction reads shared memory through descriptors"


@dataclass(frozen=True, slots=True)
class ExecutionScope:
    """The threads that execute an instruction together, or the lanes of tensor memory that hold its operands.

    thread: what one of them is called; warps: their number in words; words: PTX's names for the digits of the thread
    number; letter: the prefix of its number in labels; value, register: the names of a value and of 32 bits of it;
    place: where these are.
    """

    name: str
    threads: int
    thread: str
    warps: str
    words: FormulaWords
    letter: str = "T"
    value: str = "value"
    register: str = "register"
    place: OperandPlace = OperandPlace.REGISTERS

    @property
    def several(self) -> bool:
        """Whether it is more than one warp."""
        return self.place is OperandPlace.REGISTERS and self.threads > WARP_THREADS


@dataclass(frozen=True, slots=True)
class TmemIssue:
    """What the text of a product in tensor memory specifies; the instruction descriptor specifies the rest.

    factors: the vector size of its scale factors (1X, 2X, 4X; "" without).
    """

    kind: str
    sparse: bool
    stationary: bool
    factors: str

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of the operands that have a map in tensor memory once M, N and types are bound."""
        more = ("metadata",) if self.sparse else ()
        return ("a", "d", *more, *(("scale_a", "scale_b") if self.factors else ()))


@dataclass(frozen=True, slots=True)
class SourceReference:
    """The source of a fact: the document, and its section or line."""

    document: str
    section: str

    def __str__(self) -> str:
        return f"{self.document}, {self.section}"


PTX_ISA = "PTX ISA 9.1"  # the document that the tables follow


def cite_ptx(section: str) -> SourceReference:
    """Return a reference to a section of the PTX ISA."""
    return SourceReference(PTX_ISA, section)


@dataclass(frozen=True, slots=True)
class OpcodeWords:
    """The opcode of a family, what it does, and the section of its syntax; short: a shorter name, or ""."""

    text: str
    does: str
    source: SourceReference
    short: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.text.split("."))


_GROUP_WORDS = (("g", "groupID", "%laneid >> 2"), ("t", "threadID_in_group", "%laneid % 4"))
WARP = ExecutionScope("warp", WARP_THREADS, "lane", "one warp", FormulaWords("%laneid", "i", _GROUP_WORDS))
WARPGROUP = ExecutionScope(
    "warpgroup",
    WARPGROUP_THREADS,
    "thread",
    "four warps",
    FormulaWords("thread", "i", (("w", "warp_in_group", "%warpid % 4"), *_GROUP_WORDS)),
)
# Operands in tensor memory: the lanes of one CTA, columns of 32 bits. One thread issues its instructions. PTX ISA
# 9.1, 9.7.16.1 and 9.7.16.5.
TENSOR = ExecutionScope(
    "tensor memory",
    128,
    "lane",
    warps="one thread",
    words=FormulaWords("lane", "i"),
    letter="L",
    value="element",
    register="column",
    place=OperandPlace.TENSOR,
)
# One lane of every quarter, by the number of the quarter.
QUARTERS = replace(TENSOR, threads=4, thread="quarter", words=FormulaWords("quarter", "i"), letter="Q")
SCOPES = {scope.threads: scope for scope in (WARP, WARPGROUP)}
