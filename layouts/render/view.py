"""OperandGrid: an operand as its matrix, with the holder and the names of every cell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from lanescope.errors import LayoutError
from lanescope.ptx.instruction import WARP, ExecutionScope, Operand
from lanescope.ptx.pattern import IntArray

# Labels of a cell, as templates of its facts: Python fills them in here, and a page's script gets them as data.
LABEL_TEMPLATES = {
    "lane:value": "T{thread}:{values}",
    "register": "T{thread} R{registers}",
    "row,col": "{row},{col}",
    "index": "{index}",
    "none": "",
}
LABELS = tuple(LABEL_TEMPLATES)
SPOKEN = "{title} row {row} column {col}: {owners}"
OWNER = "{holder}, value {name}{value}, register {register} {spoken_bits}"
BETWEEN_OWNERS = "; and "


def list_labels(scope: ExecutionScope) -> dict[str, str]:
    """Return LABEL_TEMPLATES in a scope's terms: T13 R1 for a thread, L13 C1 for a lane of tensor memory.

    >>> from lanescope.ptx.role import TENSOR
    >>> list_labels(TENSOR)["register"]
    'L{thread} C{registers}'
    """
    letters = {"T{": f"{scope.letter}{{", " R{": f" {scope.register[0].upper()}{{"}
    out = dict(LABEL_TEMPLATES)
    for usual, letter in letters.items():
        out = {kind: text.replace(usual, letter) for kind, text in out.items()}
    return out


def get_owner_template(scope: ExecutionScope) -> str:
    """Return OWNER in a scope's terms."""
    return OWNER.replace("value {name}", f"{scope.value} {{name}}").replace("register {", f"{scope.register} {{")


def get_spoken_template(operand: Operand) -> str:
    """Return SPOKEN with the names of an operand's own axes."""
    down, across = (axis.replace("col", "column") if axis == "col" else axis for axis in operand.plane)
    return SPOKEN.replace("row {", f"{down} {{").replace("column {", f"{across} {{")


ADDRESS = "address"  # the operand whose elements are the rows that lanes address


@dataclass(frozen=True, slots=True)
class CellCategory:
    """A name by which cells may be coloured.

    numbers: its value for every thread, or for every value (see `of`).
    """

    of: str
    numbers: IntArray

    @property
    def count(self) -> int:
        return int(self.numbers.max()) + 1


@dataclass(frozen=True)
class OperandGrid:
    """The matrix of one operand; `product` selects one of m8n8k4's four products, or one of ldmatrix's matrices.

    thread, value: int arrays [rows, cols, copies], the owners of each element.
    """

    operand: Operand
    product: int = 0

    @cached_property
    def rows(self) -> int:
        return self.operand.row_count

    @cached_property
    def cols(self) -> int:
        return self.operand.col_count

    @cached_property
    def _owners(self) -> tuple[IntArray, IntArray]:
        thread, value = self.operand.pattern.inverse()
        if len(self.operand.axes) == 3:
            extra = next(n for n, axis in enumerate(self.operand.axes) if axis not in self.operand.plane)
            return np.take(thread, self.product, axis=extra), np.take(value, self.product, axis=extra)
        return thread, value

    @property
    def thread(self) -> IntArray:
        return self._owners[0]

    @property
    def value(self) -> IntArray:
        return self._owners[1]

    @property
    def register(self) -> IntArray:
        """The register of each owner: int array [rows, cols, copies]."""
        return self.value * self.operand.container_bits // self.operand.register_bits

    @cached_property
    def categories(self) -> dict[str, CellCategory]:
        """The colourings there are: the pattern's names, those of the thread first, and the register."""
        pattern, op = self.operand.pattern, self.operand
        on_thread = {d.name for d in pattern.threads}
        digits = pattern.digit_values()
        named = {
            d.name: CellCategory("thread" if d.name in on_thread else "value", digits[d.name]) for d in pattern.digits
        }
        return named | {
            "register": CellCategory(
                "value", np.arange(op.values, dtype=np.int32) * op.container_bits // op.register_bits
            )
        }

    @property
    def colour_names(self) -> tuple[str, ...]:
        return tuple(self.categories)

    def number_cells(self, name: str) -> IntArray:
        """Return int [rows, cols, copies] with the value of one name in every cell; LayoutError lists the names there
        are.
        """
        if name not in self.categories:
            raise LayoutError(
                "unknown_name",
                f"'{name}' is not a name of '{self.operand.pattern}'.",
                f"Allowed: {', '.join(self.colour_names)}.",
                "colour",
            )
        category = self.categories[name]
        return category.numbers[(self.thread if category.of == "thread" else self.value)[:, :, 0]]

    def format_labels(self, kind: str, rows: slice = slice(None), cols: slice = slice(None)) -> list[list[str]]:
        """Return the text of every cell, or of the cells in some rows and columns, for one of LABELS."""
        if kind not in LABEL_TEMPLATES:
            raise LayoutError("unknown_label", f"No label '{kind}'.", f"Allowed: {', '.join(LABELS)}.", "label")
        template = list_labels(self.operand.scope)[kind]
        fill, each = template.format, cache(_drop_repeats)  # many cells hold the same values
        threads = self.thread[rows, cols, 0].tolist()
        numbers = (self.register if "{registers}" in template else self.value)[rows, cols].tolist()
        places = range(self.cols)[cols]
        return [
            [
                fill(thread=t, values=text, registers=text, row=row, col=col, index=row * self.cols + col)
                for col, t, text in zip(places, ts, map(each, map(tuple, hs)), strict=True)
            ]
            for row, ts, hs in zip(range(self.rows)[rows], threads, numbers, strict=True)
        ]

    @property
    def unit(self) -> str:
        """The word for an owner of elements: lane (of a warp) or thread (of a warpgroup)."""
        return self.operand.scope.thread

    def format_holder(self, thread: int) -> str:
        """Return a thread in words: lane 13, or in a warpgroup warp 1, lane 28."""
        warp, lane = divmod(thread, WARP.threads)
        scope = self.operand.scope
        return f"warp {warp}, lane {lane}" if scope.several else f"{scope.thread} {thread}"

    def format_bits(self, value: int) -> str:
        """Return the register bits that a value's container takes: [31:16]."""
        _, bit = self.operand.register_of(value)
        return f"[{bit + self.operand.container_bits - 1}:{bit}]"

    def format_spoken_bits(self, value: int) -> str:
        """Return the register bits that a value itself takes, without padding, as screen readers speak them."""
        bits = self.operand.element.bits
        _, container = self.operand.register_of(value)
        first = container + self.operand.padding_below
        return f"bits {first} to {first + bits - 1}" if bits > 1 else f"bit {first}"


def _drop_repeats(numbers: tuple[int, ...]) -> str:
    """Return the numbers without repetitions, in their order."""
    return ",".join(map(str, dict.fromkeys(numbers)))
