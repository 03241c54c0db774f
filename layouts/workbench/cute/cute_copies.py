"""Compare the layout that a CuTe TMA copy's tensor map is made for with that of the tensor it fills.

CUTLASS 4.7, cute/atom/copy_traits_sm90_tma.hpp: make_tma_atom takes the swizzle and the order of a tile from the layout
it is given; tma_partition and partition_D only take addresses from the tensor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lanescope.cute.algebra import strip_swizzle
from lanescope.cute.calls.functions import OpenCuteValueError
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.reader.code.cute.cute_values import CuteEvaluator, make_tensor_layout
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.values import CALLED, OpaqueValue

TITLES = {"cute_copy_layout": "A TMA copy stores the tile in another layout than the tensor's"}
_MAKES = re.compile(r"make_tma_(?:copy|atom)(?:_[A-Z]\w*)?\Z")
_DEEPEST = 8


def find_copy_mistakes(code: Evaluation) -> list[Pitfall]:
    """Find TMA copies whose map has another layout than the tensor they fill."""
    found: dict[object, Pitfall] = {}
    for call in code.bodiless_calls:
        term = call.term
        if term.head == "tma_partition" and len(term.arguments) >= 4:
            pair = term.arguments[0], term.arguments[3]
        elif term.head == "partition_D" and term.arguments:
            pair = dict(term.named).get("self"), term.arguments[0]
        else:
            continue
        for mistake in _compare_layouts(*pair, code.text):
            found.setdefault((mistake.span, mistake.message), mistake)
    return list(found.values())


def _compare_layouts(copy: Any, tensor: Any, text: str) -> Iterator[Pitfall]:
    map_call = _find_maker(copy)
    if map_call is None:
        return
    try:
        stored, filled = _find_map_layout(map_call, text), _find_tensor_layout(tensor, text)
    except (OpenCuteValueError, LayoutError):
        return
    if stored.unit_bits != filled.unit_bits or stored.offset or filled.offset:
        return
    modes = min(stored.rank, filled.rank)
    map_layout, tensor_layout = (_take_modes(layout, modes) for layout in (stored, filled))
    if map_layout.size == tensor_layout.size and (
        map_layout.swizzle != tensor_layout.swizzle or _find_difference(map_layout, tensor_layout)
    ):
        message = (
            f"The tensor map is made for {map_layout}, but the tensor that the copy fills has {tensor_layout}: readers"
            " of the tensor get other elements. Give both the same layout."
        )
        yield Pitfall("cute_copy_layout", message, map_call.span)


def _find_difference(left: CuteLayout, right: CuteLayout) -> bool:
    """Return whether two layouts of one shape differ before their swizzle."""
    first, second = (strip_swizzle(layout).list_indices() for layout in (left, right))
    return left.shape == right.shape and bool((first != second).any())


def _take_modes(layout: CuteLayout, count: int) -> CuteLayout:
    """Return the first modes of a layout, without its stages."""
    if not isinstance(layout.shape, tuple) or not isinstance(layout.stride, tuple):
        return layout
    return replace(layout, shape=layout.shape[:count], stride=layout.stride[:count])


def _find_maker(value: Any, depth: int = 0) -> OpaqueValue | None:
    """Return the call that makes a TMA copy or the copy that it is a slice of."""
    if not isinstance(value, OpaqueValue) or depth > _DEEPEST:
        return None
    if _MAKES.match(value.head) and len(value.arguments) > 2:
        return value
    inner = dict(value.named).get("self") if value.head in ("get_slice", "get_thread_slice", "with") else None
    return _find_maker(inner, depth + 1)


def _find_map_layout(copy: OpaqueValue, text: str) -> CuteLayout:
    layout = CuteEvaluator(text, None).evaluate_value(copy.arguments[2])
    if not isinstance(layout, CuteLayout):
        raise OpenCuteValueError(copy.text)
    return layout


def _find_tensor_layout(value: Any, text: str, depth: int = 0) -> CuteLayout:
    if not isinstance(value, OpaqueValue) or depth > _DEEPEST:
        raise OpenCuteValueError(str(value))
    if value.head == "make_tensor":
        return make_tensor_layout(value, text)
    if CALLED in dict(value.named) or value.head != "group_modes" or not value.arguments:
        raise OpenCuteValueError(value.text)
    return _find_tensor_layout(value.arguments[0], text, depth + 1)
