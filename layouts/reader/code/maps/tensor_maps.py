"""Find the TMA tensor maps that code makes: their box, swizzle and storage in shared memory.

Source of the rules: CUDA driver API 13.0, cuTensorMapEncodeTiled. Triton's swizzle and boxes: NVMMASharedEncodingAttr's
default (triton, include/triton/Dialect/TritonGPU/IR/TritonGPUAttrDefs.td).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from lanescope.reader.code.calling import call_layouts
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import BodilessCall, Pitfall
from lanescope.reader.code.maps import packed_maps
from lanescope.reader.code.maps.tma_rules import (
    ArgumentReader,
    MapParts,
    TensorMap,
    find_broken_rules,
    find_stride_rules,
    read_swizzle_code,
)
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.types.element_types import find_tensor_element, parse_element_type
from lanescope.reader.code.values import Address, ArrayValue, OpaqueValue, Pointer
from lanescope.shared.tma import WIDTHS, make_box_series

MOST_MAPS = 24
_TYPE_SECOND = re.compile(r"[\w:.>-]+\s*\([^,()]*,\s*[\w:]*CU_TENSOR_MAP_DATA_TYPE")  # the map is the first
TRITON = ("make_tensor_descriptor", "TensorDescriptor", "_experimental_make_tensor_descriptor", "from_tensor")


def find_evaluation_maps(evaluation: Evaluation) -> tuple[TensorMap, ...]:
    """Find the tensor maps of an evaluated text."""
    maps: dict[tuple[Any, ...], TensorMap] = {}
    for tensor_map in _list_maps(evaluation):
        maps.setdefault(_make_map_key(tensor_map), tensor_map)
    return tuple(maps.values())[:MOST_MAPS]


def find_named_maps(evaluation: Evaluation) -> tuple[TensorMap, ...]:
    """Find the tensor maps of an evaluated text; maps that differ only in names are kept apart."""
    maps: dict[tuple[Any, ...], TensorMap] = {}
    calls: dict[tuple[Any, ...], set[Any]] = {}
    filled: dict[tuple[Any, ...], list[str]] = {}
    for tensor_map in _list_maps(evaluation):
        key = (*_make_map_key(tensor_map), tensor_map.names)
        maps.setdefault(key, tensor_map)
        calls.setdefault(key, set()).add(tensor_map.calls)
        filled.setdefault(key, []).extend(tensor_map.filled)
    return tuple(
        replace(known_map, alike=len(calls[key]) - 1, filled=tuple(filled[key])) for key, known_map in maps.items()
    )[:MOST_MAPS]


def _list_maps(evaluation: Evaluation) -> Iterator[TensorMap]:
    for call in evaluation.bodiless_calls:
        map_call = _parse_map_call(call, evaluation.text)
        if map_call is not None:
            filled = (call.filled,) if call.filled else ()
            yield replace(map_call, names=_list_names(call), calls=call.calls, filled=filled)


def _make_map_key(tensor_map: TensorMap) -> tuple[Any, ...]:
    return (
        tensor_map.source,
        tensor_map.box,
        tensor_map.swizzle,
        tensor_map.element_bits,
        tensor_map.dims,
        str(tensor_map.symbols),
        tensor_map.span,
    )


def _list_names(call: BodilessCall) -> tuple[str, ...]:
    """Return the names in a call that makes a map: of the map, and of the tensor in global memory."""
    values = [*call.term.arguments[:4], *(v for k, v in call.term.named if k in ("base", "tensor", "self"))]
    names = []
    for value in values:
        if isinstance(value, Address) and isinstance(value.place, Cell):
            names.append(value.place.name)
        elif isinstance(value, Pointer):
            names += [name for name, _ in value.base.terms]
        elif isinstance(value, OpaqueValue) and (not value.head or value.head in ("data", "data_ptr", "get")):
            names.append(value.text)
    return tuple(dict.fromkeys(name for name in names if name))


def _parse_map_call(call: BodilessCall, text: str) -> TensorMap | None:
    term = call.term
    arguments = list(term.arguments)
    named = dict(term.named)
    head = term.head
    if re.search(r"tensor_?map_?encode_?tiled$|encode_?tiled\w*$", head, re.I) or (
        len(arguments) == 12 and "CU_TENSOR_MAP" in text[slice(*term.span)] and "im2col" not in head.lower()
    ):
        shift = 1 if len(arguments) >= 12 or "tensorMap" in named or _TYPE_SECOND.match(text, term.span[0]) else 0
        return _read_cuda_encode(term, arguments[shift:]) if len(arguments) - shift >= 9 else None
    if packed_maps.is_packed_call(term):
        plain = packed_maps.unpack_arguments(arguments)
        return _read_cuda_encode(term, plain) if plain is not None else None
    if head.lower().endswith("tensormapencodeim2col") and len(arguments) >= 13:
        return _read_im2col(term, arguments[1:] if len(arguments) >= 15 else arguments)
    return _parse_library_call(term, arguments)


def _parse_library_call(term: OpaqueValue, arguments: list[Any]) -> TensorMap | None:
    """Read a map that Triton, TileLang, DeepGEMM or CUTLASS makes; None for another call."""
    head, named = term.head, dict(term.named)
    if head in TRITON:
        return _read_triton(term, arguments, named)
    if re.fullmatch(r"(?:create|fill)_[12]d_tma_descriptor(?:_type)?", head):
        return _read_experimental(term, arguments)
    if head == "create_tma_descriptor" and len(arguments) > 2:
        return _read_tilelang(term, arguments)
    if re.fullmatch(r"make_tma_(?:[23]d|a|b|cd)_desc", head):
        return _read_deep_gemm(term, arguments)
    if re.fullmatch(r"make_(?:tiled_)?tma_(?:copy|atom)\w*|make_tma_tile_atom\w*|make_tiled_tma_atom\w*", head):
        return _read_cutlass(term, arguments, named)
    return None


# kinds of code --------------------------------------------------------------------------------------------------------


def _read_cuda_encode(term: OpaqueValue, arguments: list[Any]) -> TensorMap:
    """Read cuTensorMapEncodeTiled: type, rank, address, dims, strides, box, element strides, interleave, swizzle."""
    reader = ArgumentReader()
    bits, name = parse_element_type(arguments[0])
    if bits is None:
        reader.symbols["data_type"] = str(arguments[0])
    rank = reader.read_number(arguments[1], "rank")
    dims = reader.read_numbers(arguments[3], "dims", rank)
    strides = reader.read_numbers(arguments[4], "strides", rank - 1 if rank else None)
    box = reader.read_numbers(arguments[5], "box", rank)
    steps = reader.read_numbers(arguments[6], "element_strides", rank)
    interleave, code = reader.read_number(arguments[7], "interleave"), reader.read_number(arguments[8], "swizzle")
    reader.symbols = {k: v for k, v in reader.symbols.items() if not k.startswith("element_strides")}
    swizzle, unknown = (None, []) if code is None else read_swizzle_code(code)
    parts = MapParts(term, bits, name, dims=dims, strides=strides, box=box, swizzle=swizzle, reader=reader)
    problems = find_broken_rules(parts, interleave, steps)
    return parts.make_tensor_map([*problems, *(Pitfall(name, message, term.span) for name, message in unknown)])


def _read_im2col(term: OpaqueValue, arguments: list[Any]) -> TensorMap:
    """Read cuTensorMapEncodeIm2col: a column of pixels, each with its channels, is stored like the rows of a box."""
    reader = ArgumentReader()
    bits, name = parse_element_type(arguments[0])
    rank = reader.read_number(arguments[1], "rank")
    dims = reader.read_numbers(arguments[3], "dims", rank)
    strides = reader.read_numbers(arguments[4], "strides", rank - 1 if rank else None)
    box = reader.read_number(arguments[7], "box[0]"), reader.read_number(arguments[8], "box[1]")
    code = reader.read_number(arguments[11], "swizzle")
    swizzle, unknown = (None, []) if code is None else read_swizzle_code(code)
    if bits is None:
        reader.symbols["data_type"] = str(arguments[0])
    parts = MapParts(term, bits, name, dims=dims, strides=strides, box=box, swizzle=swizzle, reader=reader)
    problems = [*find_stride_rules(parts), *(Pitfall(name, message, term.span) for name, message in unknown)]
    return parts.make_tensor_map(problems)


_FROM_TENSOR = ("base", "block_shape", "layout")
_FROM_POINTER = ("base", "shape", "strides", "block_shape", "layout")


def _read_triton(term: OpaqueValue, arguments: list[Any], named: dict[str, Any]) -> TensorMap | None:
    """Read Triton's descriptors: base, shape, strides, block_shape; from_tensor(tensor, block_shape)."""
    reader = ArgumentReader()
    values = _map_triton_arguments(term.head, arguments, named)
    if "block_shape" not in values:
        return None
    block = reader.read_numbers(values["block_shape"], "box", None, True)
    dims = reader.read_numbers(values["shape"], "dims", None, True) if "shape" in values else ()
    tensor = values.get("base", values.get("tensor"))
    bits, name = _find_triton_element(named, tensor)
    steps = reader.read_numbers(values["strides"], "strides", None, True) if "strides" in values else ()
    strides = _convert_to_bytes(steps[1:], bits)
    problems = []
    if steps and steps[0] not in (1, None):
        problems.append(Pitfall("tma_inner_stride", "The innermost stride must be 1.", term.span))
    swizzle, bits = _find_shared_layout(values.get("layout"), bits)
    if bits is None:
        reader.symbols["element_bits"] = "the type of " + str(values.get("base", values.get("tensor", "the tensor")))
    inner = block[0] if block else None
    width = inner * bits // 8 if bits and inner is not None else None
    if swizzle is None and width is not None:
        swizzle = get_default_swizzle(width, _count_rows(block))
    parts = MapParts(term, bits, name, dims=dims, strides=strides, box=block, swizzle=swizzle, reader=reader)
    return _make_triton_map(parts, width, problems)


def _make_triton_map(parts: MapParts, width: int | None, problems: list[Pitfall]) -> TensorMap:
    """Make a map whose tile is split into boxes of the swizzle's width. width: bytes of a row of the tile."""
    swizzle = parts.swizzle
    if width is not None and swizzle not in (None, "none") and width > WIDTHS[swizzle]:
        return parts.make_tensor_map([*find_stride_rules(parts), *problems], panels=WIDTHS[swizzle])
    if parts.box and parts.box[0] == 1:  # a block that the launch replaces: dummy_block = [1, 1]
        return parts.make_tensor_map([*find_stride_rules(parts), *problems])
    refusals = [
        broken_rule for broken_rule in find_broken_rules(parts, 0) if broken_rule.code != "tma_box"
    ]  # Triton copies a larger block in several boxes
    return parts.make_tensor_map([*refusals, *problems])


def _map_triton_arguments(head: str, arguments: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a descriptor, by name."""
    order = _FROM_TENSOR if head == "from_tensor" else _FROM_POINTER
    values = dict(zip(order, arguments, strict=False))
    values.update({k: v for k, v in named.items() if k in order or k in ("tensor", "block_shape")})
    return values


def _find_triton_element(named: dict[str, Any], tensor: Any) -> tuple[int | None, str | None]:
    """Return (bits, name) of the element type: the one given by keyword, else that of the tensor."""
    kind = next((named[word] for word in ("dtype", "element_ty", "elem_type") if word in named), None)
    bits, name = parse_element_type(kind) if kind is not None else (None, None)
    return (bits, name) if bits is not None else find_tensor_element(tensor)


def _convert_to_bytes(elements: Sequence[int | None], bits: int | None) -> tuple[int | None, ...]:
    """Convert strides from elements to bytes; unknown ones are None."""
    return tuple(s * bits // 8 if s is not None and bits else None for s in elements)


def _count_rows(block: Sequence[int | None]) -> int:
    """Return the number of rows of a block, 8 if unknown."""
    rows = 1
    for size in block[1:]:
        if size is None:
            return 8
        rows *= size
    return rows


def get_default_swizzle(inner_bytes: int, rows: int) -> str:
    """Return the swizzle that Triton's NVMMASharedEncodingAttr chooses for a block by its bytes per row."""
    return next((f"{w}B" for w in (128, 64, 32) if inner_bytes % w == 0), "none") if rows >= 8 else "none"


def _find_shared_layout(layout: Any, bits: int | None) -> tuple[str | None, int | None]:
    """Find (swizzle, element bits) of a Gluon NVMMASharedLayout, if one is given."""
    if not isinstance(layout, OpaqueValue):
        return None, bits
    named = dict(layout.named)
    width = get_integer(named["swizzle_byte_width"]) if "swizzle_byte_width" in named else None
    bitwidth = get_integer(named["element_bitwidth"]) if "element_bitwidth" in named else None
    if bitwidth is not None and bitwidth.known:
        bits = bitwidth.known
    if layout.head == "get_default_for" and len(layout.arguments) > 1:
        bits = parse_element_type(layout.arguments[1])[0] or bits
    if width is not None and width.known is not None:
        return ("none" if not width.known else f"{width.known}B"), bits
    return None, bits


def _read_experimental(term: OpaqueValue, arguments: list[Any]) -> TensorMap | None:
    """Read triton.tools.experimental_descriptor: (ptr, dims outermost first, blocks outermost first, element bytes)."""
    reader = ArgumentReader()
    rank = 2 if "2d" in term.head else 1
    if len(arguments) < 2 * rank + 2:
        return None
    dims = tuple(reversed([reader.read_number(v, "dims") for v in arguments[1 : 1 + rank]]))
    block = tuple(reversed([reader.read_number(v, "box") for v in arguments[1 + rank : 1 + 2 * rank]]))
    size = reader.read_number(arguments[1 + 2 * rank], "element_bits")
    bits = size * 8 if size else _get_element_size(arguments[0], arguments[1 + 2 * rank], reader)
    if rank == 1:
        parts = MapParts(term, bits, None, dims=dims, strides=(), box=block, swizzle="none", reader=reader)
        return parts.make_tensor_map(find_broken_rules(parts, 0))
    width = block[0] * bits // 8 if bits and block[0] is not None else None
    swizzle = next((f"{w}B" for w in (128, 64, 32) if width >= w), "none") if width is not None else None
    strides = _convert_to_bytes(dims[:1], bits)
    parts = MapParts(term, bits, None, dims=dims, strides=strides, box=block, swizzle=swizzle, reader=reader)
    if width is not None and width > 128:
        return parts.make_tensor_map([*find_stride_rules(parts)], panels=128)
    return parts.make_tensor_map(find_broken_rules(parts, 0))


def _get_element_size(base: Any, size: Any, reader: ArgumentReader) -> int | None:
    """Return the element bits for `a.element_size()`, if the text makes the tensor `a`."""
    if not isinstance(size, OpaqueValue) or size.head not in ("element_size", "itemsize"):
        return None
    bits = find_tensor_element(base)[0]
    if bits:
        reader.symbols.pop("element_bits", None)
    return bits


def _read_tilelang(term: OpaqueValue, arguments: list[Any]) -> TensorMap | None:
    """Read TileLang's T.create_tma_descriptor(type, rank, base, dims…, strides…, box…, element strides…, …).

    Interleave and swizzle follow. Strides are in bytes, the innermost first, which the driver does not get.
    """
    rank = get_integer(arguments[1])
    if rank is None or rank.known is None or not 0 < rank.known <= 5 or len(arguments) < 4 * rank.known + 5:
        return None
    dims, strides, box, steps = (
        ArrayValue([Cell(item) for item in arguments[3 + n * rank.known : 3 + (n + 1) * rank.known]]) for n in range(4)
    )
    strides.cells.pop(0)
    rest = arguments[3 + 4 * rank.known :]
    return _read_cuda_encode(term, [arguments[0], rank, arguments[2], dims, strides, box, steps, *rest])


# DeepGEMM's helpers (csrc/jit_kernels/impls/runtime_utils.hpp): positions of tensor, dims, box, strides and swizzle
_Row = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...], int]
_DEEP_GEMM: dict[str, _Row] = {
    "make_tma_2d_desc": (0, (1, 2), (3, 4), (5,), 6),
    "make_tma_3d_desc": (0, (1, 2, 3), (4, 5, 6), (7, 8), 9),
    "make_tma_cd_desc": (0, (2, 1), (4, 3), (5,), 7),
}


def _read_deep_gemm(term: OpaqueValue, arguments: list[Any]) -> TensorMap | None:
    reader = ArgumentReader()
    row = _find_deep_gemm_row(term.head, arguments)
    if row is None or len(arguments) <= row[-1]:
        return None
    tensor, dims_at, box_at, strides_at, mode_at = row
    bits, name = find_tensor_element(arguments[tensor])
    if bits is None:
        reader.symbols["element_bits"] = f"the type of {arguments[tensor]}"
    dims, box = (
        tuple(reader.read_number(arguments[n], f"{label}[{i}]") for i, n in enumerate(places))
        for label, places in (("dims", dims_at), ("box", box_at))
    )
    mode = reader.read_number(arguments[mode_at], "swizzle")
    steps = [reader.read_number(arguments[n], f"strides[{i}]") for i, n in enumerate(strides_at)]
    swizzle = None if mode is None else "none" if mode in (0, 16) else f"{mode}B"
    if mode:
        box = (mode * 8 // bits if bits else None, *box[1:])
        reader.symbols.pop("box[0]", None)
        if not bits:
            reader.symbols["box[0]"] = f"{mode} bytes"
    strides = _convert_to_bytes(steps, bits)
    parts = MapParts(term, bits, name, dims=dims, strides=strides, box=box, swizzle=swizzle, reader=reader)
    return parts.make_tensor_map(find_broken_rules(parts, 0))


def _find_deep_gemm_row(head: str, arguments: list[Any]) -> _Row | None:
    """Return the positions of a helper's arguments; None if the text does not say which operand is major."""
    if head not in ("make_tma_a_desc", "make_tma_b_desc"):
        return _DEEP_GEMM[head]
    major = get_integer(arguments[0]) if arguments else None
    if len(arguments) < 9 or major is None or major.known is None:
        return None
    return (1, (3, 2), (5, 4), (6,), 8) if not major.known else (1, (2, 3), (4, 5), (6,), 8)


def _read_cutlass(term: OpaqueValue, arguments: list[Any], named: dict[str, Any]) -> TensorMap | None:
    """Read make_tma_copy(op, tensor, shared layout, …): the layout determines all places."""
    layout = call_layouts.find_layout([*arguments[1:], *named.values()])
    if layout is None and term.head.startswith("make_tiled_tma_atom") and len(arguments) > 2:
        kind = named.get("internal_type")
        bits, name = call_layouts.find_named_element(kind) if kind is not None else find_tensor_element(arguments[1])
        layout = call_layouts.read_literal_layout(arguments[2], bits, name)
    if layout is None:
        return TensorMap(
            term.head,
            term.span,
            element_bits=None,
            data_type=None,
            dims=(),
            strides=(),
            box=(),
            swizzle=None,
            storage=None,
            undetermined=("storage", "box", "swizzle", "element_bits"),
            symbols={"storage": str(arguments[2]) if len(arguments) > 2 else "the shared layout"},
        )
    if layout.tile is not None:
        box = make_box_series(layout.tile)
        sizes: tuple[int | None, ...] = (box.wide, box.tall)
    else:
        sizes = layout.box or ()
    undetermined = [
        name for name, value in (("element_bits", layout.element_bits), ("box", sizes or None)) if not value
    ]
    undetermined += [f"storage.{k}" for k, v in (layout.storage or {}).items() if v is None]
    return TensorMap(
        term.head,
        term.span,
        element_bits=layout.element_bits,
        data_type=layout.element,
        dims=(),
        strides=(),
        box=sizes,
        swizzle=layout.swizzle,
        storage=layout.storage,
        undetermined=tuple(undetermined),
        symbols={},
    )
