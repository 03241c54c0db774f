"""Layouts of Triton and Gluon from text, over a tensor: where threads, shared or tensor memory hold each element.

    made = triton_layout("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", (64, 32))
    made.coords[0][37, 2], made.cute, made.owner(9, 6)

lanescope.reader.compiler_output.triton parses the text; lanescope.triton has the maps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope import triton
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer, shorten_value
from lanescope.render.palette import LIGHT
from lanescope.triton.amd import NOTICE
from lanescope.triton.linear import LinearLayout

Longs = NDArray[np.int64]
MOST_VALUES = 1 << 18
HINT = (
    "Try #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>, or"
    " gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class TritonLayout:
    """One layout over a tensor.

    kind, params: MLIR's names; linear: the linear layout, of one buffer; buffers: how many a memdesc of one more rank
    has.
    """

    text: str
    kind: str
    params: Mapping[str, Any]
    shape: tuple[int, ...]
    element_bits: int
    linear: LinearLayout
    buffers: int = 1

    @property
    def shared(self) -> bool:
        """Whether it places elements in shared memory rather than in threads."""
        return self.kind in triton.SHARED

    @property
    def tensor_memory(self) -> bool:
        """Whether it places elements in tensor memory (tcgen05)."""
        return self.kind in triton.TENSOR

    @property
    def of_threads(self) -> bool:
        return not (self.shared or self.tensor_memory)

    @property
    def threads(self) -> int:
        return self.blocks * self.warps * self.lanes

    @property
    def lanes(self) -> int:
        """The threads of a warp: 32, or 64 for a wave of AMD's CDNA GPUs."""
        return self.linear.count_values("lane")

    @property
    def of_amd(self) -> bool:
        """Whether it is a layout of AMD's GPUs: of their matrix instructions, or with 64 lanes."""
        return self.of_threads and triton.is_amd(self.kind, self.params)

    @property
    def notice(self) -> str:
        """The remark on layouts of AMD's GPUs; "" for others."""
        return NOTICE if self.of_amd else ""

    @property
    def warps(self) -> int:
        return self.linear.count_values("warp")

    @property
    def blocks(self) -> int:
        return self.linear.count_values("block")

    @property
    def registers(self) -> int:
        """The number of elements per thread, including copies."""
        return self.linear.count_values("register")

    @cached_property
    def coords(self) -> tuple[Longs, ...]:
        """The coordinates along each axis for a layout of threads: int64 [threads, registers]."""
        names = ("block", "warp", "lane", "register")
        return tuple(
            self.linear.list_coordinates(axis, names).reshape(self.threads, self.registers)
            for axis in range(len(self.shape))
        )

    @property
    def rows(self) -> Longs:
        return self.coords[-2] if len(self.shape) > 1 else np.zeros_like(self.coords[0])

    @property
    def cols(self) -> Longs:
        return self.coords[-1]

    def owner(self, *at: int) -> list[tuple[int, int]]:
        """Return every (thread, register) that holds the element at coordinates, including copies.

        For shared memory every (block, offset), for tensor memory every (lane, column of elements).
        """
        if len(at) != len(self.shape) or any(not 0 <= n < size for n, size in zip(at, self.shape, strict=False)):
            raise LayoutError(
                "bad_coordinate", f"{list(at)} is outside {list(self.shape)}.", "A coordinate for each axis."
            )
        if not self.of_threads:
            return self._find_places(at)
        mask = np.ones((self.threads, self.registers), dtype=bool)
        for axis, n in enumerate(at):
            mask &= self.coords[axis] == n
        thread, register = np.nonzero(mask)
        return list(zip(thread.tolist(), register.tolist(), strict=True))

    def _find_places(self, at: Sequence[int]) -> list[tuple[int, int]]:
        first, second = ("row", "col") if self.tensor_memory else ("block", "offset")
        inner, count = at[len(at) - self.linear.rank :], self.linear.count_values(second)
        shape = self.linear.count_values(first), count
        mask = triton.mask_occupied(self.linear) if self.tensor_memory else np.ones(shape, dtype=bool)
        for axis, n in enumerate(inner):
            mask = mask & (self.linear.list_coordinates(axis, (first, second)).reshape(shape) == n)
        first_index, place = np.nonzero(mask)
        if self.shared:
            place = self._pad_offsets(place + (at[0] if self.buffers > 1 else 0) * count)
        return list(zip(first_index.tolist(), place.tolist(), strict=True))

    def _repr_svg_(self) -> str:
        """Return the picture for a notebook: threads by warp, shared memory by bank, tensor memory by lane and column.

        Of more than two axes the last two are drawn, at index 0 of the others.
        """
        from lanescope.render import sheet as drawing  # the drawing loads when something is drawn

        plane = drawing.DrawingPlane.make_plane(self.shape)
        if self.tensor_memory:
            from lanescope.render.tensor import make_tensor_sheet

            sheet: drawing.TileSheet = make_tensor_sheet(self.linear, self.element_bits)
        elif self.shared:
            sheet = drawing.make_memory_sheet(self.offset, plane, self.element_bits)
        else:
            sheet = drawing.make_threads_sheet(self.coords, self.shape, plane, self.element_bits, self.lanes)
        return drawing.draw_sheets([(sheet, next(iter(sheet.colours)), self.kind)], self.text, LIGHT, "R")

    @cached_property
    def copies(self) -> int:
        """The number of (thread, register) pairs that hold each element."""
        return self.threads * self.registers // prod(self.shape)

    @cached_property
    def offset(self) -> Longs:
        """The offset of each element in shared memory, in elements: int64 of the tensor's shape.

        In a cluster, the offset inside the block that holds the element; with several buffers, from the first one.
        """
        count, rank = self.linear.count_values("offset"), self.linear.rank
        inner_shape = self.shape[len(self.shape) - rank :]
        places = [self.linear.list_coordinates(axis, ("block", "offset")).reshape(-1) for axis in range(rank)]
        offsets = np.zeros(inner_shape, dtype=np.int64)
        order = np.arange(count * self.blocks)[::-1]  # so that the first of several copies is kept
        offsets[tuple(place[order] for place in places)] = order % count
        if rank < len(self.shape):
            offsets = np.arange(self.buffers).reshape(-1, *[1] * rank) * count + offsets
        return self._pad_offsets(offsets)

    def _pad_offsets(self, at: Longs) -> Longs:
        """Return offsets with the padding of padded_shared added."""
        return at + sum(at // interval * more for interval, more in triton.list_paddings(self.params))

    @cached_property
    def lane_and_column(self) -> tuple[Longs, Longs]:
        """The lane and the column (in elements) of each element in tensor memory: two int64 arrays of one buffer's
        shape.

        The first of several copies; in a cluster, inside the block that holds the element.
        """
        names = ("block", "row", "col")
        places = tuple(self.linear.list_coordinates(axis, names).reshape(-1) for axis in range(2))
        lanes, columns = self.linear.count_values("row"), self.linear.count_values("col")
        order = np.arange(places[0].size)[::-1]
        cells = np.zeros(self.shape[-2:], dtype=np.int64)
        cells[places[0][order], places[1][order]] = order % (lanes * columns)
        return cells // columns, cells % columns

    @property
    def columns(self) -> int:
        """The number of 32-bit columns of tensor memory per block."""
        return -(-self.linear.count_values("col") * self.element_bits * self.buffers // 32)

    @cached_property
    def cute(self) -> CuteLayout | None:
        """The CuTe layout, first axis fastest; None if bits are XORed.

        (thread, value) → element, offset → element, or (lane, column) → element.
        """
        if self.tensor_memory:
            return self.linear.make_cute_layout((("row", "block"), ("col",)))
        if self.shared:
            return (
                None if triton.list_paddings(self.params) else self.linear.make_cute_layout((("offset",), ("block",)))
            )
        return self.linear.make_cute_layout((("lane", "warp", "block"), ("register",)))


def triton_layout(text: object, shape: Sequence[Any] | None = None, element_bits: Any = None) -> TritonLayout:
    """Parse a layout over a tensor of a shape.

    Shape and element bits default to those of a text like `tensor<128x64xf16, #blocked>`. A layout object of Gluon is
    parsed from its repr. LayoutError names what cannot be parsed.

    >>> made = triton_layout("gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", (32, 16))
    >>> made.threads, made.registers, made.owner(9, 6), str(made.cute)
    (128, 4, [(37, 2)], '((4,32),4):((128,1),32)')
    """
    kind, params, body = _parse_text(text if isinstance(text, str) else repr(text))
    sizes = _read_shape(body.get("shape") if shape is None else shape)
    usual = body.get("element_bits") or _get_default_bits(kind, params)
    bits = parse_integer(usual if element_bits is None else element_bits, "element_bits", 1, 64)
    several = triton.get_rank(kind, params) == len(sizes) - 1
    buffers = sizes[0] if several else 1
    linear = triton.make_linear_layout(kind, params, sizes[several:], bits)
    if kind in triton.TENSOR and bits * int(params.get("colStride") or 1) > 32:
        raise LayoutError(
            "bad_triton",
            f"{kind}: colStride {params['colStride']} of {bits}-bit elements is more than a column.",
            "A column has 32 bits: element bits times colStride are at most 32.",
            "element_bits",
        )
    total = max(prod(sizes), buffers * prod(linear.count_values(name) for name in linear.bases))
    if total > MOST_VALUES:
        raise LayoutError(
            "too_large", f"The layout holds {total} elements and copies.", f"At most {MOST_VALUES}.", "shape"
        )
    return TritonLayout(
        text=body["text"], kind=kind, params=params, shape=sizes, element_bits=bits, linear=linear, buffers=buffers
    )


def _read_shape(value: Any) -> tuple[int, ...]:
    """Return the sizes of a tensor; LayoutError if they are missing, too many or out of range."""
    if value is None:
        raise LayoutError(
            "bad_shape",
            "shape is missing: an attribute does not contain one.",
            "Give the tensor's sizes: [128, 64].",
            "shape",
        )
    if not isinstance(value, list | tuple) or not value:
        raise LayoutError("bad_shape", f"shape is {shorten_value(value)}.", "A list of sizes: [128, 64].", "shape")
    if len(value) > triton.MOST_RANK:
        raise LayoutError("bad_shape", f"shape has {len(value)} sizes.", f"At most {triton.MOST_RANK}.", "shape")
    return tuple(parse_integer(n, f"shape[{at}]", 1, triton.MOST_SIZE, "bad_shape") for at, n in enumerate(value))


def _get_default_bits(kind: str, params: Mapping[str, Any]) -> int:
    """Return the default bits of an element: 16; in tensor memory those that fill a column, or 8 for scales."""
    if kind not in triton.TENSOR:
        return 16
    stride = params.get("colStride")
    return 8 if kind != triton.TENSOR[0] else 32 // stride if stride in (1, 2, 4) else 32


def _parse_text(text: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return (kind, parameters with parents as objects, body of the request) of the first layout in a text."""
    from lanescope.reader.compiler_output import triton as reader

    meanings = reader.recognise_triton_layouts(text)
    if not meanings:
        raise LayoutError("bad_triton", f"'{shorten_value(text, 80)}' has no layout of Triton or Gluon.", HINT, "text")
    return _parse_params(meanings[0].facts, meanings[0].notices, 0)


def _parse_params(
    facts: Mapping[str, Any], notices: Sequence[str], deep: int
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    from lanescope.reader.compiler_output import triton as reader

    kind, params = str(facts["attribute"]), dict(facts["params"])
    if kind not in triton.DISTRIBUTED + triton.SHARED + triton.TENSOR:
        raise LayoutError(
            "unsupported_layout",
            f"'{shorten_value(str(facts['body']['text']), 80)}' has no maps here. {' '.join(notices)}".strip(),
            f"Read here: {', '.join(triton.DISTRIBUTED + triton.SHARED + triton.TENSOR)}.",
            "text",
        )
    for name, value in params.items():
        if name == "parent":
            inner = reader.recognise_triton_layouts(str(value)) if deep < 8 else ()
            if not inner:
                raise LayoutError(
                    "bad_triton",
                    f"{kind}: its parent '{shorten_value(str(value), 60)}' is not in the text.",
                    "Paste the line that defines it, too.",
                    "text",
                )
            parent, parent_params, _ = _parse_params(inner[0].facts, inner[0].notices, deep + 1)
            params[name] = {"attribute": parent, "params": parent_params}
        elif name in _WORDS:
            continue
        elif symbol := _find_symbol(value):
            kind_of_value, hint = "symbol", "Write the number in its place."
            if symbol[0].isdigit():  # a fraction, or too many digits
                kind_of_value, hint = "number", f"Integers to {triton.MOST_SIZE}."
            raise LayoutError(
                "bad_triton", f"{kind}: {name} has the {kind_of_value} '{shorten_value(symbol)}'.", hint, "text"
            )
    return kind, params, dict(facts["body"])


_WORDS = ("blockRepOrder", "ctaMode")  # parameters whose value is a word


def _find_symbol(value: Any) -> str:
    """Return the first name or unreadable number in a value; "" if there is none."""
    if isinstance(value, list | Mapping):
        items = value.values() if isinstance(value, Mapping) else value
        return next((symbol for item in items if (symbol := _find_symbol(item))), "")
    return value if isinstance(value, str) else ""
