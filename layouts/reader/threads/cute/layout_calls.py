"""Functions of CuTe on layouts, shapes and tuples in device code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lanescope.cute import algebra
from lanescope.cute.calls.functions import call_function
from lanescope.cute.calls.modes import MODE_FUNCTIONS
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import find_size, list_leaves, map_leaves
from lanescope.cute.words import TUPLES
from lanescope.errors import LayoutError
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.cute.layouts import get_extents, make_strided
from lanescope.reader.threads.cute.tensors import UNDERSCORE, CuteTensor
from lanescope.reader.threads.cute.tiled import CuteCopy
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, make_name
from lanescope.reader.threads.language.program import Scope
from lanescope.shared.swizzle import Swizzle

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner


@dataclass(frozen=True, slots=True)
class CuteCall:
    """A call of CuTe: the values of its arguments and of its template arguments."""

    run: KernelRunner
    name: str
    node: tree.Call
    scope: Scope
    values: list[Any]
    templates: list[Any]

    @property
    def places(self) -> list[int]:
        """The template arguments that choose modes."""
        if not all(isinstance(place, int) for place in self.templates):
            raise LayoutError("open_layout", "The number of a mode is not known.")
        return self.templates


def get_plain(value: Any) -> Any:
    """Return the layout of a tensor or behind a swizzle; other values as they are."""
    if isinstance(value, CuteTensor):
        return value.layout
    return algebra.strip_swizzle(value) if isinstance(value, CuteLayout) else value


def measure(value: Any) -> Any:
    value = get_plain(value)
    if isinstance(value, CuteCopy):
        return value.tiled.threads
    if hasattr(value, "threads"):
        return value.threads
    shape = value.shape if isinstance(value, CuteLayout) else value
    return shape if isinstance(shape, ThreadNumber) else find_size(shape)


def _measure(call: CuteCall) -> Any:
    """Evaluate size<…>(value)."""
    value = get_plain(call.values[0])
    return measure(call_function("get", [value], call.places) if call.places else value)


def _make_tuple(call: CuteCall) -> Any:
    values = [
        make_name(f"{call.run.text[slice(*node.span)]}", LONG) if value is None else value
        for value, node in zip(call.values, call.node.arguments, strict=True)
    ]
    return tuple(values)


def make_layout(call: CuteCall) -> Any:
    values = call.values
    if values and all(isinstance(value, CuteLayout) for value in values):
        return values[0] if len(values) == 1 else algebra.concatenate(*values)
    return make_strided(call.run, values[0], values[1] if len(values) > 1 else "left")


def is_known(value: Any) -> bool:
    return all(isinstance(leaf, int) for leaf in list_leaves(value))


def _call_function(call: CuteCall) -> Any:
    """Evaluate a function of a layout, a shape or a swizzle; of a tensor, it changes the layout."""
    first, *rest = call.values
    if call.name == "tile_to_shape":
        rest = [get_extents(rest[0]), *filter(is_known, rest[1:])]
    values = [make_tiler(value) for value in rest]
    if isinstance(first, CuteTensor):
        return replace(first, layout=call_function(call.name, [first.layout, *values]))
    return call_function(call.name, [first if isinstance(first, Swizzle) else make_tiler(first), *values])


def make_tiler(value: Any) -> Any:
    """Return a tiler: a layout, a size, or a tuple of tilers with None for underscores."""
    return map_leaves(_make_tiler_mode, value)


def _make_tiler_mode(value: Any) -> Any:
    if value is not UNDERSCORE and not isinstance(value, CuteLayout | int):
        raise LayoutError("open_layout", "A tiler is not known.")
    return None if value is UNDERSCORE else value


def _group(call: CuteCall) -> Any:
    """Evaluate group_modes<begin, end>."""
    value, (begin, end) = call.values[0], call.places
    layout = value.layout if isinstance(value, CuteTensor) else value
    modes = layout.modes
    grouped = algebra.concatenate(*modes[:begin], algebra.concatenate(*modes[begin:end]), *modes[end:])
    result = replace(layout, shape=grouped.shape, stride=grouped.stride)
    return replace(value, layout=result) if isinstance(value, CuteTensor) else result


def _call_tuple(call: CuteCall) -> Any:
    if call.name == "ceil_div" and not is_known(tuple(call.values)):
        return make_name(f"ceil_div at {call.node.span[0]}", LONG)
    if call.name == "get" and isinstance(call.values[0], CuteTensor):
        return None
    return call_function(call.name, [get_plain(value) for value in call.values], call.places)


_OPERATIONS = (
    "logical_divide zipped_divide tiled_divide flat_divide logical_product blocked_product raked_product tiled_product"
    " zipped_product coalesce flatten filter right_inverse left_inverse make_ordered_layout composition tile_to_shape"
)
LAYOUT_FUNCTIONS: dict[str, Callable[[CuteCall], Any]] = {
    **dict.fromkeys((name for name in TUPLES if name.startswith("make_")), _make_tuple),
    **dict.fromkeys(_OPERATIONS.split(), _call_function),
    **dict.fromkeys(MODE_FUNCTIONS, _call_tuple),
    "get_nonswizzle_portion": lambda call: get_plain(call.values[0]),
    "get_swizzle_portion": lambda call: call.values[0].swizzle,
    "make_layout": make_layout,
    "group_modes": _group,
    "size": _measure,
}
