"""The storage of a tensor map in shared memory, and the TMA rules that it breaks (layouts/shared/tma.py)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.maps.map_objects import list_filled_names
from lanescope.reader.code.naming.header_names import SWIZZLE_NAMES
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.values import ArrayValue, OpaqueValue, Pointer
from lanescope.shared import tma
from lanescope.shared.swizzle import MODES

LOADED = "TMA load"  # the source of a map that is encoded elsewhere and used by loads in the text


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor map that code makes.

    dims, strides (bytes, without the innermost) and box are innermost first; unknown values are None, and `symbols` has
    their expressions. storage: in the form of the contract, without what a tensor map does not determine. problems: the
    TMA rules it breaks.
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
    names: tuple[str, ...] = ()  # of the map and of its tensor in global memory
    calls: tuple[tuple[str, Span], ...] = ()  # the running functions, outermost first
    filled: tuple[str, ...] = ()  # of the objects that hold it (map_objects.py)
    alike: int = 0  # further equal maps with the same names

    def has_name_in(self, names: Collection[str]) -> bool:
        """Return whether a copy that passes these names may use this map: if they name an object that maps are stored
        in, this one must be stored in it; otherwise one of its own names, or its address, must be among them.
        """
        filled = list_filled_names(names)
        if filled:
            return not filled.isdisjoint(self.filled)
        return any(name.lstrip("&") in names for name in self.names)


class ArgumentReader:
    """Reads the arguments of one map: the known numbers, and the expressions of the unknown ones in `symbols`."""

    def __init__(self) -> None:
        self.symbols: dict[str, str] = {}

    def read_number(self, value: Any, name: str) -> int | None:
        """Read one number; if it is unknown, keep its expression and return None."""
        read = get_integer(value) if not isinstance(value, str | dict) else None
        if read is not None and read.known is not None:
            return read.known
        self.symbols[name] = str(read) if read is not None else str(value)
        return None

    def read_numbers(self, value: Any, name: str, most: int | None, outermost: bool = False) -> tuple[int | None, ...]:
        """Read the items of an array, innermost dimension first. outermost: the text lists the outermost first."""
        values = list_items(value)
        values = values[::-1] if outermost and values is not None else values
        if values is None:
            self.symbols[name] = str(value)
            return (None,) * (most or 0)
        values = values[:most] if most is not None else values
        return tuple(self.read_number(v, f"{name}[{n}]") for n, v in enumerate(values))


def list_items(value: Any) -> list[Any] | None:
    """Return the items of an array, or of its `.data()`."""
    if isinstance(value, ArrayValue):
        return [cell.value for cell in value.cells]
    if isinstance(value, Pointer):
        return _list_items_from_pointer(value)
    if isinstance(value, OpaqueValue) and value.head in ("data", "begin", "get", "cast", "ctypes") and value.arguments:
        return list_items(value.arguments[0])
    if isinstance(value, OpaqueValue) and value.named:
        this = dict(value.named).get("self")
        return list_items(this) if this is not None else None
    return None


def _list_items_from_pointer(pointer: Pointer) -> list[Any] | None:
    """Return the items of an array from a pointer into it on: strides + 1, &strides[1]."""
    element = pointer.array.element if pointer.array is not None else None
    size = element.bits // 8 if element is not None and element.bits else 0
    if (
        pointer.array is None
        or not size
        or len(pointer.base.terms) != 1
        or pointer.base.const % size
        or pointer.base.const < 0
    ):
        return None
    return [cell.value for cell in pointer.array.cells[pointer.base.const // size :]]


@dataclass(slots=True)
class MapParts:
    """The arguments of a map, before its storage and broken rules are computed."""

    term: OpaqueValue
    bits: int | None
    name: str | None
    dims: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    box: tuple[int | None, ...]
    swizzle: str | None
    reader: ArgumentReader

    def make_tensor_map(self, problems: list[Pitfall], panels: int = 0) -> TensorMap:
        """Make a tensor map. panels: the width in bytes of the boxes that a wider tile is split into."""
        box = self.box
        storage = None
        if panels and self.bits:
            lines = 1
            for size in box[1:]:
                lines = lines * size if size is not None and lines else 0
            if lines:
                storage = tma.make_panel_storage(panels, lines, self.swizzle)
            box = (panels * 8 // self.bits, *box[1:])
        else:
            storage = self._make_storage()
        undetermined = [
            *(n for n, v in (("element_bits", self.bits), ("swizzle", self.swizzle)) if v is None),
            *(f"box[{n}]" for n, v in enumerate(box) if v is None),
            *(["box"] if not box else []),
            *(f"dims[{n}]" for n, v in enumerate(self.dims) if v is None),
            *(f"strides[{n}]" for n, v in enumerate(self.strides) if v is None),
            *([f"storage.{k}" for k, v in storage.items() if v is None] if storage else ["storage"]),
        ]
        return TensorMap(
            self.term.head,
            self.term.span,
            element_bits=self.bits,
            data_type=self.name,
            dims=self.dims,
            strides=self.strides,
            box=box,
            swizzle=self.swizzle,
            storage=storage,
            undetermined=tuple(undetermined),
            problems=tuple(problems),
            symbols=dict(self.reader.symbols),
        )

    def _make_storage(self) -> dict[str, Any] | None:
        """Make the storage of the box, if all its sizes are known."""
        sizes = [size for size in self.box if size is not None]
        if not self.bits or not sizes or len(sizes) != len(self.box) or self.swizzle not in tma.WIDTHS:
            return None
        return tma.make_box_storage(sizes, self.bits, self.swizzle, self.strides)


def read_swizzle_code(code: int) -> tuple[str | None, list[tuple[str, str]]]:
    """Return (name of a CUtensorMapSwizzle code, problems as (code, message)).

    The name is that of the equal descriptor mode if there is one.
    """
    if not 0 <= code < len(SWIZZLE_NAMES):
        return None, [("tma_swizzle", f"{code} is not a CUtensorMapSwizzle.")]
    return next((mode.name for mode in MODES if mode.tma == code), SWIZZLE_NAMES[code]), []


def find_broken_rules(parts: MapParts, interleave: int | None, steps: tuple[int | None, ...] = ()) -> list[Pitfall]:
    """Find the TMA rules that a map breaks."""
    broken = tma.find_broken_rules(
        parts.bits, parts.dims, parts.strides, box=parts.box, steps=steps, swizzle=parts.swizzle, interleave=interleave
    )
    return [*(Pitfall(code, message, parts.term.span) for code, message in broken), *_find_element_rules(parts)]


def find_stride_rules(parts: MapParts) -> list[Pitfall]:
    """Find the broken rules of the tensor alone, if the boxes are chosen to fit."""
    broken = tma.find_broken_rules(parts.bits, parts.dims, parts.strides, box=())
    return [*(Pitfall(code, message, parts.term.span) for code, message in broken), *_find_element_rules(parts)]


def _find_element_rules(parts: MapParts) -> Iterator[Pitfall]:
    row = parts.dims[0] if parts.dims else None
    symbols = parts.reader.symbols
    if parts.bits and parts.bits > 8 and symbols.get("dims[0]") and symbols["dims[0]"] == symbols.get("strides[0]"):
        yield Pitfall(
            "tma_stride_in_elements",
            f"globalStrides[0] is {symbols['dims[0]']}, the elements of a row. It counts bytes: {parts.bits // 8} times"
            " as many.",
            parts.term.span,
        )
    elif parts.bits and parts.bits > 8 and row and parts.strides and parts.strides[0] == row:
        yield Pitfall(
            "tma_stride_in_elements",
            f"globalStrides[0] is {row}, the elements of a row. It counts bytes: {row * parts.bits // 8}.",
            parts.term.span,
        )
