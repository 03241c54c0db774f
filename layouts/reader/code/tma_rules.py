"""What a tensor map leaves in shared memory, and the rules of TMA that it breaks.

Source of the rules: CUDA driver API 13.0, cuTensorMapEncodeTiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from layouts.reader.code.finding import Pitfall
from layouts.reader.code.values import Array, Term, number
from layouts.reader.code.word import Span
from layouts.swizzle import MODES
from layouts.tma import MOST_BOX

MOST_RANK = 5
WIDTHS = {mode.name: mode.width_bytes for mode in MODES}


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor map that code makes. dims, strides (bytes, without the innermost) and box innermost first; None where
    the text leaves a value open; `symbols` says by which expression.

    storage: of the contract, without what a tensor map does not say; problems: TMA's rules it breaks.
    """

    source: str  # the function that makes it
    span: Span
    element_bits: int | None
    data_type: str | None
    dims: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    box: tuple[int | None, ...]
    swizzle: str | None
    storage: Mapping[str, Any] | None
    undetermined: tuple[str, ...]
    problems: tuple[Pitfall, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        return len(self.box)


class Sheet:
    """What is known of one map while it is read: numbers, and the expressions of those that are not."""

    def __init__(self) -> None:
        self.symbols: dict[str, str] = {}

    def number(self, value: Any, name: str) -> int | None:
        read = number(value) if not isinstance(value, str | dict) else None
        if read is not None and read.known is not None:
            return read.known
        self.symbols[name] = str(read) if read is not None else str(value)
        return None

    def numbers(self, value: Any, name: str, most: int | None) -> tuple[int | None, ...]:
        values = _items(value)
        if values is None:
            self.symbols[name] = str(value)
            return (None,) * (most or 0)
        values = values[:most] if most is not None else values
        return tuple(self.number(v, f"{name}[{n}]") for n, v in enumerate(values))


def _items(value: Any) -> list[Any] | None:
    """The items of an array, or of what `.data()` of one gives."""
    if isinstance(value, Array):
        return [cell.value for cell in value.cells]
    if isinstance(value, Term) and value.head in ("data", "begin", "get", "cast", "ctypes") and value.arguments:
        return _items(value.arguments[0])
    if isinstance(value, Term) and value.named:
        this = dict(value.named).get("self")
        return _items(this) if this is not None else None
    return None


@dataclass(slots=True)
class Parts:
    """A map that has been read, before its storage and its rules are worked out."""

    term: Term
    bits: int | None
    name: str | None
    dims: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    box: tuple[int | None, ...]
    swizzle: str | None
    sheet: Sheet

    def finish(self, problems: list[Pitfall], panels: int = 0) -> TensorMap:
        """panels: the width in bytes that a wider tile is cut into, a box each."""
        box = self.box
        storage = None
        if panels and self.bits:
            lines = 1
            for size in box[1:]:
                lines = lines * size if size is not None and lines else 0
            if lines:
                storage = _atoms(panels, lines, self.swizzle)
            box = (panels * 8 // self.bits, *box[1:])
        else:
            storage = self._storage()
        undetermined = [
            *(n for n, v in (("element_bits", self.bits), ("swizzle", self.swizzle)) if v is None),
            *(f"box[{n}]" for n, v in enumerate(box) if v is None),
            *(["box"] if not box else []),
            *(f"dims[{n}]" for n, v in enumerate(self.dims) if v is None),
            *(f"strides[{n}]" for n, v in enumerate(self.strides) if v is None),
            *([f"storage.{k}" for k, v in storage.items() if v is None] if storage else ["storage"]),
        ]
        return TensorMap(
            self.term.head, self.term.span, self.bits, self.name, self.dims, self.strides, box, self.swizzle, storage,
            tuple(undetermined), tuple(problems), dict(self.sheet.symbols),
        )  # fmt: skip

    def _storage(self) -> dict[str, Any] | None:
        """Rows of the box's inner width; panels where a further dimension goes on along the inner one."""
        sizes = list(self.box)
        if not self.bits or not sizes or any(s is None for s in sizes) or self.swizzle not in WIDTHS:
            return None
        whole = [s for s in sizes if s is not None]
        pitch = whole[0] * self.bits // 8
        if len(whole) > 2 and len(self.strides) > 1 and self.strides[1] == pitch and whole[1] > 1 and whole[2] > 1:
            return _atoms(pitch, whole[1], self.swizzle)
        return {
            "kind": "rows",
            "inner": None,
            "pitch_bytes": pitch,
            "swizzle": self.swizzle,
            "swizzle_by": "address",
            "base": None,
        }


def _atoms(width: int, lines: int, swizzle: str | None) -> dict[str, Any]:
    return {
        "kind": "atoms", "inner": None, "width_bytes": width, "outer8_stride": 8 * width, "inner_stride": width * lines,
        "line_stride": width, "swizzle": swizzle, "swizzle_by": "address", "base": None,
    }  # fmt: skip


def rules(made: Parts, interleave: int | None) -> list[Pitfall]:
    return [*_boxes(made, interleave), *strides_of(made)]


def _boxes(made: Parts, interleave: int | None) -> Iterator[Pitfall]:
    span = made.term.span
    if len(made.box) > MOST_RANK:
        yield Pitfall("tma_rank", f"A tensor map has 1 to {MOST_RANK} dimensions, not {len(made.box)}.", span)
    for n, size in enumerate(made.box):
        if size is not None and not 1 <= size <= MOST_BOX:
            yield Pitfall("tma_box", f"boxDim[{n}] is {size}; it must be 1 to {MOST_BOX}.", span)
    if made.bits and made.box and made.box[0] is not None:
        width = made.box[0] * made.bits // 8
        if not interleave and width % 16:
            yield Pitfall("tma_inner_box", f"The inner box is {width} bytes wide; it must be a multiple of 16.", span)
        limit = WIDTHS.get(made.swizzle or "", 0) if made.swizzle != "none" else 0
        if limit and width > limit:
            yield Pitfall(
                "tma_inner_over_swizzle",
                f"The inner box is {width} bytes wide, but a swizzle of {made.swizzle} takes at most {limit}:"
                f" boxDim[0] may be {limit * 8 // made.bits}.",
                span,
            )
        if limit and 0 < width < limit:
            yield Pitfall(
                "tma_inner_under_swizzle",
                f"The inner box is {width} bytes wide, less than the swizzle's {limit}: rows lie {width} bytes apart,"
                " so no descriptor of that swizzle reads them.",
                span,
            )


def strides_of(made: Parts) -> Iterator[Pitfall]:
    span = made.term.span
    for n, stride in enumerate(made.strides):
        outer = made.dims[n + 1] if n + 1 < len(made.dims) else None
        if stride is None or (stride == 0 and outer in (0, 1)):
            continue
        if stride % 16 or not 0 <= stride < 1 << 40:
            yield Pitfall("tma_stride", f"globalStrides[{n}] is {stride} bytes; it must be a multiple of 16.", span)
    row = made.dims[0] if made.dims else None
    if made.bits and made.bits > 8 and row and made.strides and made.strides[0] == row:
        yield Pitfall(
            "tma_stride_in_elements",
            f"globalStrides[0] is {row}, the elements of a row. It counts bytes: {row * made.bits // 8}.",
            span,
        )
    for n, size in enumerate(made.dims):
        if size is not None and not 1 <= size <= 1 << 32:
            yield Pitfall("tma_dim", f"globalDim[{n}] is {size}; it must be 1 to 2^32.", span)


def steps_of(made: Parts, steps: tuple[int | None, ...]) -> Iterator[Pitfall]:
    for n, step in enumerate(steps):
        if step is not None and not 1 <= step <= 8:
            yield Pitfall("tma_element_stride", f"elementStrides[{n}] is {step}; it must be 1 to 8.", made.term.span)
