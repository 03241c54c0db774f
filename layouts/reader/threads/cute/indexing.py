"""Tensors and layouts of CuTe that are called with a coordinate, or indexed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import list_leaves
from lanescope.errors import LayoutError
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.cute.cute_types import simplify
from lanescope.reader.threads.cute.layout_calls import make_tiler
from lanescope.reader.threads.cute.tensors import CuteTensor, get_element, slice_tensor
from lanescope.reader.threads.language.program import Scope

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner


def index_value(run: KernelRunner, value: Any, node: tree.Call | tree.Index, scope: Scope) -> Any:
    """Return value(coordinate) or value[index]: a slice of a tensor or a layout, the place of one element, an index of
    a layout.
    """
    at = [simplify(run.evaluate(argument, scope)) for argument in _split_index(node)[1]]
    try:
        if isinstance(value, CuteTensor):
            return _index_tensor(run, value, at, node)
        if at and isinstance(value, CuteLayout):
            return _index_layout(run, value, at)
    except LayoutError:
        return None
    return value if not at else None


def _split_index(node: tree.Call | tree.Index) -> tuple[tree.Expression, tuple[tree.Expression, ...]]:
    """Return (what is indexed, the indices) of value(coordinate) or value[index]."""
    return (node.value, node.indices) if isinstance(node, tree.Index) else (node.function, node.arguments)


def _index_tensor(run: KernelRunner, value: CuteTensor, at: list[Any], node: tree.Call | tree.Index) -> Any:
    if len(at) == 1 and isinstance(at[0], tuple) and value.layout.rank > 1:
        at = list(at[0])
    _note_index_over(run, value, at, node)
    sliced = slice_tensor(run, value, at)
    if sliced is None or sliced.layout.shape != ():
        return sliced
    if run.barriers is not None:
        run.barriers.asynchronous.note_sums(run, "use", sliced, run.find_own_place(node.span))
    return get_element(run, sliced)


def _index_layout(run: KernelRunner, layout: CuteLayout, at: Sequence[Any]) -> Any:
    """Return layout(i, j), or the modes of layout(_, j); a layout with a swizzle keeps the offset that j adds."""
    if all(isinstance(item, int) for item in at):
        return run.strides.decode(layout(*at))
    return algebra.slice_and_offset(layout, make_tiler(tuple(at)))[0]


def _note_index_over(run: KernelRunner, tensor: CuteTensor, at: Sequence[Any], node: tree.Call | tree.Index) -> None:
    """Note an index of shared memory or registers outside its mode, unless every index leads to the same place."""
    if tensor.space not in ("shared", "local") or not run.is_certain or len(at) != tensor.layout.rank:
        return
    owner, arguments = _split_index(node)
    for n, (mode, index, argument) in enumerate(zip(tensor.layout.modes, at, arguments, strict=False)):
        if isinstance(index, int) and not 0 <= index < mode.size and any(list_leaves(mode.stride)):
            name = run.text[slice(*owner.span)]
            why = f"The index is {index}, but mode {n} of {name} has {mode.size} elements: this is outside the tensor."
            run.stop_at_error("cute_index_over", why, argument.span)
