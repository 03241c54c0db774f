"""Rules by which cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col return CUDA_ERROR_INVALID_VALUE, one row each.

The driver does not report which rule a call breaks; each wrong call here breaks exactly one. Source: CUDA driver API
13.0; lanescope.emulate.state.tensor_maps has the rules as code. The part "maps" of the evidence files has the driver's
results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from lanescope.messages.map_calls import MapCall, find_refusal, render_call
from lanescope.messages.row import DRIVER, MessageRow
from lanescope.shared import tma

_TILED = "cuTensorMapEncodeTiled"
_IM2COL = "cuTensorMapEncodeIm2col"
_PAGE = ("How a box is stored in shared memory", "/guide/paste#tensor-maps")
_SWIZZLE = ("Swizzles", "/guide/swizzle")
_PLAIN = MapCall()
_VOLUME = MapCall(dims=(64, 16, 16), strides=(128, 2048), box=(64, 4, 4))
_SLICES = MapCall(dims=(16, 16, 16), strides=(32, 512), box=(16, 4, 4), interleave="32B", swizzle="32B")
_PACKED = MapCall(type="16U4_ALIGN16B", dims=(128, 64), strides=(64,), box=(128, 64))
_SIX_BITS = MapCall(type="16U6_ALIGN16B", dims=(128, 16, 16), strides=(96, 1536), box=(128, 4, 4))
_PIXELS = MapCall(dims=(64, 16, 16, 4), strides=(128, 2048, 32768), lower=(-1, -1), upper=(-1, -1))


@dataclass(frozen=True, slots=True)
class MapRule:
    """The calls of a row: the wrong one breaks only this rule, the right one breaks none."""

    row: MessageRow
    wrong: MapCall
    right: MapCall


def _rule(slug: str, rule: str, title: str, *, reason: str, change: str, wrong: MapCall, right: MapCall) -> MapRule:
    row = MessageRow(
        slug=f"tensor-map-{slug}",
        source=DRIVER,
        title=title,
        reason=reason,
        change=change,
        wrong=render_call(wrong),
        right=render_call(right),
        place=_IM2COL if wrong.is_im2col else _TILED,
        rule=rule,
        links=(_SWIZZLE, _PAGE) if "swizzle" in slug else (_PAGE,),
    )
    return MapRule(row, wrong, right)


RULES = (
    _rule(
        "address",
        "tma_address",
        "The address is not a multiple of 16",
        reason="globalAddress must be a multiple of 16 bytes. A slice that begins in the middle of a row, x[:, 1:],"
        " or an offset in elements violates this. There is no other rule for the address: the driver of an H100"
        " accepts a null pointer.",
        change="Begin at a multiple of 16 bytes and pass the offset as a coordinate of the load.",
        wrong=replace(_PLAIN, offset=8),
        right=replace(_PLAIN, offset=16),
    ),
    _rule(
        "address-32",
        "tma_address",
        "The address is not a multiple of 32 with interleave 32B",
        reason="With CU_TENSOR_MAP_INTERLEAVE_32B, and for the packed types 16U4_ALIGN16B and 16U6_ALIGN16B,"
        " globalAddress must be a multiple of 32 bytes.",
        change="Align the tensor to 32 bytes.",
        wrong=replace(_SLICES, offset=16),
        right=replace(_SLICES, offset=32),
    ),
    _rule(
        "stride",
        "tma_stride",
        "A stride is not a multiple of 16 bytes",
        reason="Each of globalStrides is in bytes and must be a multiple of 16. A row of 60 elements of 16 bits has"
        " 120 bytes; strides in elements instead of bytes also violate this.",
        change="Pad the rows to a multiple of 16 bytes, and multiply strides by the element size.",
        wrong=replace(_PLAIN, dims=(60, 64), strides=(120,)),
        right=replace(_PLAIN, dims=(60, 64), strides=(128,)),
    ),
    _rule(
        "stride-32",
        "tma_stride",
        "A stride is not a multiple of 32 bytes with interleave 32B",
        reason="With CU_TENSOR_MAP_INTERLEAVE_32B, and for the packed types of 16 bytes, each of globalStrides must be"
        " a multiple of 32.",
        change="Pad rows and slices to multiples of 32 bytes.",
        wrong=replace(_SLICES, strides=(48, 768)),
        right=_SLICES,
    ),
    _rule(
        "stride-range",
        "tma_stride",
        "A stride of 2^40 bytes or more",
        reason="Each of globalStrides must be below 2^40 bytes. A negative stride becomes such a number.",
        change="Check the sign and the type of the values from which the stride is computed; a reversed tensor"
        " cannot have a negative stride.",
        wrong=replace(_PLAIN, strides=(1 << 40,)),
        right=replace(_PLAIN, strides=((1 << 40) - 16,)),
    ),
    _rule(
        "dim",
        "tma_dim",
        "A dimension of 0, or of more than 2^32",
        reason="Each of globalDim must be 1 to 2^32. An empty batch has a dimension of 0.",
        change="Skip the launch for empty tensors, or pass 1 and load no boxes.",
        wrong=replace(_PLAIN, dims=(64, 0)),
        right=replace(_PLAIN, dims=(64, 1)),
    ),
    _rule(
        "rank",
        "tma_rank",
        "More than five dimensions",
        reason=f"A tensor map has 1 to {tma.MOST_RANK} dimensions.",
        change="Merge dimensions that are contiguous, or use a map for each part.",
        wrong=replace(_PLAIN, dims=(64, 2, 2, 2, 2, 2), strides=(128, 256, 512, 1024, 2048), box=(64, 1, 1, 1, 1, 1)),
        right=replace(_PLAIN, dims=(64, 2, 2, 2, 2), strides=(128, 256, 512, 1024), box=(64, 1, 1, 1, 1)),
    ),
    _rule(
        "interleave-rank",
        "tma_rank",
        "An interleaved tensor of fewer than three dimensions",
        reason="With CU_TENSOR_MAP_INTERLEAVE_16B or _32B the tensor has slices of channels, NC/8HWC8 or NC/16HWC16,"
        " and the rank must be 3 to 5. CUDA's documentation requires the swizzle 32B with INTERLEAVE_32B; the driver"
        " of an H100 (580.159.04) accepts any swizzle, but the contents of such a box are not documented.",
        change="Use CU_TENSOR_MAP_INTERLEAVE_NONE for matrices.",
        wrong=replace(_PLAIN, dims=(8, 64), strides=(16,), box=(8, 64), interleave="16B"),
        right=replace(_PLAIN, dims=(8, 64), strides=(16,), box=(8, 64)),
    ),
    _rule(
        "box",
        "tma_box",
        "A box with more than 256 elements along a dimension",
        reason=f"Each of boxDim must be 1 to {tma.MOST_BOX}, also the innermost: 512 bytes of 8-bit elements need two"
        " boxes.",
        change="Split the tile into several boxes.",
        wrong=replace(_PLAIN, dims=(64, 512), box=(64, 257)),
        right=replace(_PLAIN, dims=(64, 512), box=(64, 256)),
    ),
    _rule(
        "inner-box",
        "tma_inner_box",
        "The inner box is not a multiple of 16 bytes",
        reason="boxDim[0] times the element size must be a multiple of 16 bytes. The documentation has this rule for"
        " CU_TENSOR_MAP_INTERLEAVE_NONE; the driver of an H100 applies it to every interleave.",
        change="Widen the inner box, and let out-of-bounds elements be filled with zeros.",
        wrong=replace(_PLAIN, box=(4, 64)),
        right=replace(_PLAIN, box=(8, 64)),
    ),
    _rule(
        "swizzle-width",
        "tma_inner_over_swizzle",
        "The inner box is wider than the swizzle",
        reason="With a swizzle, the inner box may be at most as wide as the swizzle: 32, 64 or 128 bytes. A tile of"
        " 128 elements of 16 bits is 256 bytes wide.",
        change="Load the tile as several boxes, each as wide as the swizzle, as consecutive panels in shared memory.",
        wrong=replace(_PLAIN, dims=(128, 64), strides=(256,), box=(128, 64), swizzle="128B"),
        right=replace(_PLAIN, dims=(128, 64), strides=(256,), box=(64, 64), swizzle="128B"),
    ),
    _rule(
        "box-bytes",
        "tma_box_bytes",
        "The box is larger than shared memory",
        reason=f"A box has at most {tma.MOST_BOX_BYTES:,} bytes, the shared memory of an SM. The driver's"
        " documentation does not contain this rule; the drivers of an H100 and an H200 reject larger boxes.",
        change="Load a smaller box.",
        wrong=replace(_VOLUME, dims=(64, 256, 16), strides=(128, 32768), box=(64, 256, 8)),
        right=replace(_VOLUME, dims=(64, 256, 16), strides=(128, 32768), box=(64, 256, 7)),
    ),
    _rule(
        "element-stride",
        "tma_element_stride",
        "An element stride of 0, or of more than 8",
        reason=f"Each of elementStrides must be 1 to {tma.MOST_STEP}. An uninitialized array may contain zeros.",
        change="Pass 1 for each dimension.",
        wrong=replace(_PLAIN, steps=(1, 0)),
        right=replace(_PLAIN, steps=(1, 1)),
    ),
    _rule(
        "fill",
        "tma_fill",
        "NaN as fill of an integer tensor",
        reason="CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA is for floating-point types. FP8 and FP4 data have an"
        " integer type of tensor maps, UINT8 or 16U4.",
        change="Use CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, which fills zeros.",
        wrong=replace(_PLAIN, type="UINT16", fill="nan"),
        right=replace(_PLAIN, fill="nan"),
    ),
    _rule(
        "packed-dim",
        "tma_dim",
        "A packed tensor whose rows are not complete groups",
        reason="globalDim[0] of 16U4_ALIGN16B and 16U6_ALIGN16B must be a multiple of 128, of 16U4_ALIGN8B of 2.",
        change="Pad the rows.",
        wrong=replace(_PACKED, dims=(192, 64), strides=(96,)),
        right=replace(_PACKED, dims=(256, 64), strides=(128,)),
    ),
    _rule(
        "packed-box",
        "tma_box",
        "A packed box that is not 128 elements wide",
        reason="boxDim[0] of 16U4_ALIGN16B and 16U6_ALIGN16B must be 128: with padding, 128 bytes.",
        change="Load boxes 128 elements wide.",
        wrong=replace(_PACKED, box=(64, 64)),
        right=_PACKED,
    ),
    _rule(
        "packed-swizzle",
        "tma_swizzle",
        "A swizzle that a packed type does not allow",
        reason="16U4_ALIGN16B allows no swizzle, 128B and 128B_ATOM_32B; 16U6_ALIGN16B also 128B_ATOM_64B.",
        change="Use CU_TENSOR_MAP_SWIZZLE_128B.",
        wrong=replace(_PACKED, swizzle="64B"),
        right=replace(_PACKED, swizzle="128B"),
    ),
    _rule(
        "packed-interleave",
        "tma_interleave",
        "16U6_ALIGN16B with an interleave",
        reason="16U6_ALIGN16B does not allow interleaved layouts.",
        change="Use CU_TENSOR_MAP_INTERLEAVE_NONE.",
        wrong=replace(_SIX_BITS, interleave="16B"),
        right=_SIX_BITS,
    ),
    _rule(
        "im2col-rank",
        "tma_rank",
        "An im2col tensor of fewer than three dimensions",
        reason="In im2col mode the tensor has 3 to 5 dimensions: C, W and N; C, W, H and N; C, W, H, D and N.",
        change="Use a separate dimension for the batch, or cuTensorMapEncodeTiled.",
        wrong=replace(_PIXELS, dims=(64, 16), strides=(128,), lower=(), upper=()),
        right=_PIXELS,
    ),
    _rule(
        "im2col-corner",
        "tma_corner",
        "A corner of the pixel box is out of range",
        reason="Corners of the pixel box are −2^15 to 2^15 − 1 for three dimensions, −128 to 127 for four, and −16 to"
        " 15 for five.",
        change="Use a smaller padding or dilation.",
        wrong=replace(_PIXELS, lower=(-129, -1)),
        right=replace(_PIXELS, lower=(-128, -1)),
    ),
    _rule(
        "im2col-empty",
        "tma_corner",
        "The pixel box is empty",
        reason="The filter's base goes from the lower corner to the last pixel plus the upper corner, and no place is"
        " left between.",
        change="Check the sign of both corners: for a filter of R × S with padding p the lower is −p, and the upper is"
        " p − (S − 1).",
        wrong=replace(_PIXELS, lower=(0, 0), upper=(-16, 0)),
        right=replace(_PIXELS, lower=(0, 0), upper=(-15, 0)),
    ),
    _rule(
        "im2col-channels",
        "tma_channels",
        "A pixel that is not a multiple of 16 bytes, or has more than 256 channels",
        reason="channelsPerPixel is 1 to 256, and its bytes are a multiple of 16.",
        change="Round the channels up; missing ones are filled.",
        wrong=replace(_PIXELS, channels=12),
        right=replace(_PIXELS, channels=16),
    ),
    _rule(
        "im2col-pixels",
        "tma_pixels",
        "More than 1,024 pixels in a column",
        reason="pixelsPerColumn is 1 to 1,024.",
        change="Split the tile.",
        wrong=replace(_PIXELS, channels=8, pixels=1025),
        right=replace(_PIXELS, channels=8, pixels=1024),
    ),
    _rule(
        "im2col-swizzle-width",
        "tma_inner_over_swizzle",
        "A pixel is wider than the swizzle",
        reason="With a swizzle, channelsPerPixel times the element size is at most the width of the swizzle.",
        change="Load fewer channels at once, or use a wider swizzle.",
        wrong=replace(_PIXELS, swizzle="64B"),
        right=replace(_PIXELS, swizzle="128B"),
    ),
)
INVALID_VALUE = MessageRow(
    slug="tensor-map-refused",
    source=DRIVER,
    title="The driver refuses a tensor map",
    texts=(
        "Failed to initialize the TMA descriptor {result}",
        "Failed to initialize the TensorMap {result}",
    ),
    reason="cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col return CUDA_ERROR_INVALID_VALUE (1) for every violated"
    " rule, without details. CUTLASS prints the driver's result after its sentence: a number other than 1, such as 700"
    " (illegal address) or 715 (illegal instruction), is the error of an earlier kernel, and the map is right.",
    change="With 1, compare the arguments with the rules below, or paste the call or the print of the map: Lanescope"
    " names the rule. With another number, look for the kernel that failed before (compute-sanitizer).",
    place=f"{_TILED}, {_IM2COL}",
    links=(_PAGE,),
)
MAP_ROWS = (INVALID_VALUE, *(rule.row for rule in RULES))


_NUMBER = re.compile(r"0x[0-9a-f]+|-?\d[\d,]*")


def _generalise(sentence: str) -> re.Pattern[str]:
    """Return a pattern that matches a sentence of lanescope's checks with any numbers before its limit."""
    subject, must, limit = sentence.partition(" must be ")
    parts = [re.escape(part) for part in _NUMBER.split(subject)]
    return re.compile(f"(?:{_NUMBER.pattern})".join(parts) + re.escape(must + limit))


@lru_cache(maxsize=1)
def _compile_sentences() -> tuple[tuple[MessageRow, re.Pattern[str]], ...]:
    refused = [(rule.row, find_refusal(rule.wrong)) for rule in RULES]
    return tuple((row, _generalise(error.message)) for row, error in refused if error is not None)


def find_rules(sentences: Iterable[str]) -> tuple[MessageRow, ...]:
    """Return the rules reported by sentences of lanescope's checks.

    >>> [row.slug for row in find_rules(["boxDim[1] is 512; it must be 1 to 256."])]
    ['tensor-map-box']
    """
    rows = [row for sentence in sentences for row, pattern in _compile_sentences() if pattern.search(sentence)]
    return tuple(dict.fromkeys(rows))
