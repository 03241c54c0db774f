"""Records of the matrix loads and products of a kernel's run."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.cxx.value_class import value_class
from lanescope.descriptor.matrix import View
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.memory.storage import DataBytes, Ints, LocalMemory, Mask, Span


@dataclass(frozen=True, slots=True, eq=False)
class MatrixLoad:
    """One ldmatrix.

    rows: the 16 bytes at every lane's address; site: the expression of the address in the kernel; calls: the enclosing
    calls, outermost first; aligned: whether its rows are multiples of 16 bytes apart, else it traps; address: of every
    lane.
    """

    opcode: str
    span: Span
    rows: DataBytes
    site: Span
    calls: tuple[Span, ...]
    writers: tuple[int, ...]
    aligned: bool
    address: Ints
    step: Span  # where a loop moves its addresses
    read: int = 0  # its number among the reads of a run that follows the order


@value_class(frozen=True, slots=True, eq=False)
class RegisterUse:
    """A register of an mma: the origin of its bytes, and the ldmatrix and register number that filled it.

    unset: whether nothing has written it; site: the expression that passes it; stored: the one that computed it.
    """

    data: DataBytes | None
    load: MatrixLoad | None = None
    number: int = 0
    unset: bool = False
    site: Span = (0, 0)
    stored: Span = (0, 0)


@value_class(frozen=True, slots=True, eq=False)
class MmaUse:
    """One mma: its opcode and the registers of A and B; active: its threads; adds_unset: whether nothing has written a
    register of C; adds_partly: whether it has written only some bytes of one.
    """

    opcode: str
    span: Span
    a: tuple[RegisterUse, ...]
    b: tuple[RegisterUse, ...]
    calls: tuple[Span, ...]
    active: Mask
    turns: tuple[int, ...]  # of the loops around, outermost first
    result: tuple[LocalMemory, int] | None = None  # the local memory of D's first register, its offset; None if unknown
    adds_unset: bool = False
    adds_partly: bool = False
    start: str = ""  # what registers of C hold instead of 0 or D of the product before; "" if nothing else
    fragments: tuple[Span, ...] = ()  # of a wmma: the types of the fragments of A and B
    adds: MmaUse | None = None  # the product whose D is its C
    broken: str = ""  # why what was stored before is not known; "" if it is
    ids: tuple[tuple[int | None, Span], ...] = ()  # of scale factors: byte and thread of A, of B, and where it is given
    ends: tuple[frozenset[str], ...] = ()  # of the loops around, outermost first: the sizes that their ends depend on

    @property
    def operands(self) -> tuple[tuple[str, tuple[RegisterUse, ...]], ...]:
        """A and B by their names."""
        return ("a", self.a), ("b", self.b)

    def has_result_of(self, other: MmaUse) -> bool:
        """Return whether D is in the same registers as that of another product."""
        first, second = self.result, other.result
        return first is not None and second is not None and first[0] is second[0] and first[1] == second[1]


@value_class(frozen=True, slots=True, eq=False)
class ProductResult:
    """D of one mma or wgmma, whose bytes have the record -1 - its number; use: the mma, None for a wgmma.

    in_memory: whether it is in tensor memory; the thread of a byte is then its row, and four bytes are a column.
    """

    opcode: str
    span: Span
    use: MmaUse | None
    in_memory: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ResultStore:
    """A store of elements of D to global memory: the address of every thread, its threads, and the place; whether it
    adds to what is there.
    """

    array: str
    offset: ThreadNumber
    data: DataBytes
    active: Mask
    site: Span
    size: int  # bytes of an element
    adds: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class FactorUse:
    """Elements of D that are combined with elements of global memory, such as scales or a bias, and the threads."""

    result: DataBytes
    factor: DataBytes
    active: Mask


@dataclass(frozen=True, slots=True, eq=False)
class DescriptorUse:
    """An operand that wgmma or tcgen05.mma reads through a descriptor.

    data: the bytes that it reads, [rows, K · bytes per element]; seen: the view of the instruction; sum: the number of
    the sum in D that the product adds to or begins; group: the number of the warpgroup.
    """

    opcode: str
    name: str
    span: Span
    site: Span
    calls: tuple[Span, ...]
    word: int
    data: DataBytes
    seen: View
    turns: tuple[int, ...] = ()  # as those of MmaUse
    ends: tuple[frozenset[str], ...] = ()
    sum: int = 0
    group: int = 0

    @property
    def element_bytes(self) -> int:
        return self.seen.bits // 8


@value_class(frozen=True, slots=True, eq=False)
class CombinedBytes(DataBytes):
    """An element that is computed from several of global memory: bytes of unknown origin, and these elements."""

    parts: tuple[DataBytes, ...] = ()

    def resize_element(self, size: int) -> CombinedBytes:
        resized = DataBytes.resize_element(self, size)
        parts = tuple(part.resize_element(size) for part in self.parts)
        return CombinedBytes(resized.record, resized.thread, resized.byte, parts)


@value_class(frozen=True, slots=True, eq=False)
class LoadedRegister(DataBytes):
    """A register that ldmatrix filled."""

    load: MatrixLoad | None = None
    number: int = 0
