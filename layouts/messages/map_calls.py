"""Calls of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col: arguments, the check, C++ code."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from lanescope.emulate.state.im2col import PixelBox
from lanescope.emulate.state.tensor_maps import FILLS, make_tensor_map
from lanescope.errors import LayoutError
from lanescope.shared.map_enums import INTERLEAVES, MAP_TYPES, SWIZZLES

BASE = 0x7F0000000000  # an address that cudaMalloc returned
TYPES = {row.name: row for row in MAP_TYPES}
_ENUM = "CU_TENSOR_MAP_"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapCall:
    """The arguments.

    offset: of the address from a pointer returned by cudaMalloc; strides in bytes, without the innermost; all innermost
    first. With `lower` and `upper` (corners along W, H and D) the function is cuTensorMapEncodeIm2col.
    """

    type: str = "BFLOAT16"
    dims: tuple[int, ...] = (64, 64)
    strides: tuple[int, ...] = (128,)
    box: tuple[int, ...] = (64, 64)
    steps: tuple[int, ...] = ()
    interleave: str = "none"
    swizzle: str = "none"
    fill: str = "zero"
    offset: int = 0
    lower: tuple[int, ...] | None = None
    upper: tuple[int, ...] | None = None
    channels: int = 64
    pixels: int = 64

    @property
    def is_im2col(self) -> bool:
        return self.lower is not None

    @property
    def element_strides(self) -> tuple[int, ...]:
        return self.steps or (1,) * len(self.dims)

    @property
    def codes(self) -> tuple[int, int, int, int]:
        """The enumerators of type, interleave, swizzle and fill."""
        return (
            TYPES[self.type].code,
            INTERLEAVES.index(self.interleave),
            SWIZZLES[self.swizzle][0],
            FILLS.index(self.fill),
        )

    @property
    def bits(self) -> int:
        """The bits of an element in global memory."""
        return TYPES[self.type].bits

    @property
    def box_bytes(self) -> int:
        return prod(self.box) * self.bits // 8


def find_refusal(call: MapCall) -> LayoutError | None:
    """Return the first rule that a call violates; None if it is legal."""
    arguments: dict[str, Any] = {
        "address": BASE + call.offset,
        "type": call.type,
        "dims": call.dims,
        "strides": call.strides,
        "element_strides": call.element_strides,
        "interleave": call.interleave,
        "swizzle": call.swizzle,
        "fill": call.fill,
    }
    if call.lower is not None and call.upper is not None:
        arguments["pixel_box"] = PixelBox(call.lower, call.upper, call.channels, call.pixels)
    else:
        arguments["box"] = call.box
    try:
        make_tensor_map(**arguments)
    except LayoutError as error:
        return error
    return None


def _render_array(type: str, name: str, values: tuple[int, ...]) -> str:
    return f"  {type} {name}[] = {{{', '.join(str(value) for value in values) or '0'}}};"


def render_call(call: MapCall) -> str:
    """Render a function that makes the call."""
    pointer = f"(char*)pointer + {call.offset}" if call.offset else "pointer"
    enumerators = [
        f"{_ENUM}INTERLEAVE_{call.interleave.upper()}",
        f"{_ENUM}SWIZZLE_{call.swizzle.upper() if call.swizzle == 'none' else call.swizzle}",
        f"{_ENUM}L2_PROMOTION_NONE",
        f"{_ENUM}FLOAT_OOB_FILL_{'NONE' if call.fill == 'zero' else 'NAN_REQUEST_ZERO_FMA'}",
    ]
    lines = [
        "#include <cuda.h>",
        "",
        "// pointer: from cudaMalloc",
        "CUresult make_map(CUtensorMap* map, void* pointer) {",
        _render_array("cuuint64_t", "globalDim", call.dims),
        _render_array("cuuint64_t", "globalStrides", call.strides),
    ]
    if call.lower is not None and call.upper is not None:
        lines += [
            _render_array("int", "lower", call.lower),
            _render_array("int", "upper", call.upper),
        ]
        name, shape = "cuTensorMapEncodeIm2col", f"lower, upper, {call.channels}, {call.pixels}"
    else:
        lines.append(_render_array("cuuint32_t", "boxDim", call.box))
        name, shape = "cuTensorMapEncodeTiled", "boxDim"
    lines += [
        _render_array("cuuint32_t", "elementStrides", call.element_strides),
        f"  return {name}(map, {_ENUM}DATA_TYPE_{call.type}, {len(call.dims)}, {pointer},",
        f"      globalDim, globalStrides, {shape}, elementStrides,",
        f"      {enumerators[0]}, {enumerators[1]},",
        f"      {enumerators[2]}, {enumerators[3]});",
        "}",
        "",
    ]
    return "\n".join(lines)
