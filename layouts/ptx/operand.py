"""One fragment of an instruction: which thread and value hold which element of a matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lanescope.errors import LayoutError
from lanescope.notebook import NotebookObject
from lanescope.ptx.dtypes import DType
from lanescope.ptx.metadata import Sparsity
from lanescope.ptx.pattern import FormulaWords, IntArray, Pattern
from lanescope.ptx.role import SCOPES, WARP, ExecutionScope, SourceReference

_DIGIT_SIZES = {"g": 8, "t": 4, "w": 4}


def get_plane_axes(axes: tuple[str, ...]) -> tuple[str, str]:
    """Return the axes that are drawn down and across: row and col if the operand has both, else the first two."""
    down, across = ("row", "col") if {"row", "col"} <= set(axes) else axes[:2]
    return down, across


@dataclass(frozen=True, slots=True)
class Operand(NotebookObject):
    """One fragment of one instruction: which thread and value hold which element.

    rows, cols: int arrays [threads, values]. A is (m, k), B is (k, n), C and D are (m, n). holder_scope: set if the
    number of threads does not imply it; compressed: (kept, group) of a sparse A whose metadata is not in registers.
    """

    name: str
    element: DType
    container_bits: int
    pattern: Pattern
    axes: tuple[str, ...]
    dims: tuple[str, ...]
    threads: int
    source: SourceReference
    sparsity: Sparsity | None = None
    holder_scope: ExecutionScope | None = None
    compressed: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.pattern.thread_count != self.threads:
            raise LayoutError(
                "bad_pattern",
                f"Operand {self.name}: '{self.pattern}' has {self.pattern.thread_count} threads, not {self.threads}.",
            )
        if self.values * self.container_bits % self.element.register_bits:
            raise LayoutError(
                "bad_pattern", f"Operand {self.name}: {self.values} values do not fill complete registers."
            )

    @property
    def values(self) -> int:
        return self.pattern.value_count

    @property
    def extents(self) -> dict[str, int]:
        """The size of each axis, e.g. {"row": 16, "col": 8}."""
        return dict(zip(self.axes, self.pattern.extents, strict=True))

    @property
    def plane(self) -> tuple[str, str]:
        """The axes that are drawn down and across."""
        return get_plane_axes(self.axes)

    @property
    def row_count(self) -> int:
        return self.extents[self.plane[0]]

    @property
    def col_count(self) -> int:
        return self.extents[self.plane[1]]

    @property
    def coords(self) -> dict[str, IntArray]:
        """Axis → int array [threads, values]."""
        return dict(zip(self.axes, self.pattern.evaluate(), strict=True))

    @property
    def rows(self) -> IntArray:
        return self.coords[self.plane[0]]

    @property
    def cols(self) -> IntArray:
        """The column of each value; for a sparse A the dense column if every index keeps the first positions."""
        stored = self.coords[self.plane[1]]
        if self.compressed:
            kept, group = self.compressed
            return stored // kept * group + stored % kept
        return self.sparsity.list_first_columns(stored) if self.sparsity else stored

    @property
    def kept_of_group(self) -> tuple[int, int] | None:
        """(kept, group): a sparse A stores `kept` of every `group` elements of a row; None for a dense operand."""
        return (self.sparsity.kept, self.sparsity.group) if self.sparsity else self.compressed

    @property
    def dense_col_count(self) -> int:
        """The number of columns of the matrix, before compression."""
        kept, group = self.kept_of_group or (1, 1)
        return self.col_count * group // kept

    @property
    def register_bits(self) -> int:
        return self.element.register_bits

    @property
    def registers(self) -> int:
        """The 32-bit (f64: 64-bit) registers per thread."""
        return self.values * self.container_bits // self.register_bits

    @property
    def padding_below(self) -> int:
        """Bits of padding below an element in its container."""
        return self.element.count_padding_below(self.container_bits)

    @property
    def scope(self) -> ExecutionScope:
        """The scope whose threads hold it; a warp also if fewer than 32 lanes supply addresses."""
        return self.holder_scope or SCOPES.get(self.threads, WARP)

    def register_of(self, value: int) -> tuple[int, int]:
        """Return (register, first bit in it) of a value index."""
        return divmod(value * self.container_bits, self.register_bits)

    def owner(self, row: int, col: int, *product: int) -> list[tuple[int, int]]:
        """Return every (thread, value) that holds element (row, col)."""
        return self.pattern.owners(row, col, *product)

    @property
    def cute(self) -> str:
        return self.pattern.to_cute()

    @property
    def transposed_cute(self) -> str:
        """The CuTe layout with row and column exchanged: B over (n, k), like BLayout of CUTLASS's traits."""
        row, col, *rest = self.pattern.coords
        return replace(self.pattern, coords=(col, row, *rest)).to_cute()

    @property
    def words(self) -> FormulaWords:
        """The names of a formula: PTX's names of the thread digits, if this pattern's digits are the ones PTX names."""
        words = self.scope.words
        sizes = {d.name: d.size for d in self.pattern.threads}
        standard = all(sizes.get(name) == size for name, size in _DIGIT_SIZES.items() if name in sizes)
        return words if "g" in sizes and standard else FormulaWords(words.thread, words.value)

    def formula(self) -> dict[str, dict[str, str]]:
        """Return {"forward", "inverse"}: C expressions in PTX's names (%laneid, groupID, …); i is the value index."""
        return {
            "forward": self.pattern.forward_formula(self.axes, self.words),
            "inverse": self.pattern.inverse_formula(self.axes, self.words),
        }
