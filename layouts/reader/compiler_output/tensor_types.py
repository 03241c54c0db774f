"""Recognise tensor maps in types of MLIR: nvgpu's `!nvgpu.tensormap.descriptor<tensor = memref<…>, swizzle = …>` and
Triton's `!tt.tensordesc<tensor<128x64xf16, #shared>>`.

Sources: MLIR, NVGPU.td (TensorMapDescriptorType); Triton, TritonTypes.td and TritonGPUAttrDefs.td (nvmma_shared).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lanescope.cxx.sizes import find_mlir_bits
from lanescope.inputs import join_words
from lanescope.reader.code import recogniser
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.maps.tma_rules import ArgumentReader, MapParts, TensorMap, find_broken_rules
from lanescope.reader.code.values import OpaqueValue
from lanescope.reader.meaning import TextMeaning, drop_repeats
from lanescope.shared.swizzle import BY_WIDTH
from lanescope.shared.tma import WIDTHS

_MOST = 16
_OF_NVGPU = re.compile(
    r"(?:!?nvgpu\.tensormap\.descriptor|(?<=[:,>] ))<\s*tensor\s*=\s*memref<(?P<sizes>(?:\d+x)+)(?P<type>\w+)"
    r"[^!\n]{0,160}?swizzle\s*=\s*(?:swizzle_)?(?P<mode>none|32b|64b|128b)\b(?P<rest>[^>]{0,120})>"
)
_OF_TRITON = re.compile(
    r"!tt\.tensordesc<(?:tensor<)?(?P<sizes>(?:\d+x)+)(?P<type>\w+)(?:,\s*(?P<layout>#[^>!\n]{1,400}>?))?>"
)
_SHARED = re.compile(r"swizzlingByteWidth\s*=\s*(\d+)")
_STORED_BITS = (8, 16, 32, 64)  # element types that a map stores unchanged


def recognise_tensor_map_types(text: str) -> tuple[TextMeaning, ...]:
    """Return the tensor maps of a text's types, without repeats."""
    return drop_repeats((recogniser.make_map_meaning(tensor_map) for tensor_map in _find_maps(text)), _MOST)


def _find_maps(text: str) -> Iterator[TensorMap]:
    for match in _OF_NVGPU.finditer(text):
        mode = match["mode"].replace("b", "B")
        interleave = 1 if re.search(r"interleave\s*=\s*interleave_\d", match["rest"]) else 0
        yield from _make_map("nvgpu.tensormap.descriptor", match, mode, interleave)
    for match in _OF_TRITON.finditer(text):
        yield from _make_map("tt.tensordesc", match, _find_swizzle(text, match["layout"] or ""), 0)


def _find_swizzle(text: str, layout: str) -> str | None:
    """Return the swizzle of #ttg.nvmma_shared<{…}>, spelled out or by alias; None if there is none."""
    match = _SHARED.search(layout)
    if match is None and (name := re.match(r"#\w{1,40}", layout)):
        alias = re.search(rf"^\s*{re.escape(name[0])}\s*=\s*(#[^\n]{{1,400}})", text, re.M)
        match = _SHARED.search(alias[1]) if alias else None
    if match is None:
        return None
    return "none" if match[1] == "0" else f"{match[1]}B"


def _make_map(name: str, match: re.Match[str], mode: str | None, interleave: int) -> Iterator[TensorMap]:
    """Yield the map of a type, sizes outermost first, without its global memory; nothing for unknown element types."""
    kind = match["type"]
    bits = find_mlir_bits(kind)
    if bits is None:
        return
    known = mode if mode in WIDTHS else None
    sizes = tuple(int(size) for size in reversed(match["sizes"].strip("x").split("x")))
    parts = MapParts(
        OpaqueValue(name, head=name, span=match.span()),
        bits if bits in _STORED_BITS else None,
        kind,
        dims=(),
        strides=(),
        box=sizes,
        swizzle=known,
        reader=ArgumentReader(),
    )
    problems = find_broken_rules(parts, interleave)
    if mode != known:
        message = (
            f"There is no swizzle of {mode}; the modes are {join_words([known_mode.name for known_mode in BY_WIDTH])}."
        )
        problems.append(Pitfall("tma_swizzle", message, match.span()))
    yield parts.make_tensor_map(problems)
