"""Functions of CuTe in device code: tensors, TiledCopy, TiledMMA, and members of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING, Any

from lanescope.cute import algebra
from lanescope.cute.calls import functions
from lanescope.cute.calls.functions import OpenCuteValueError
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.cute import async_mma, bulk, copies, products
from lanescope.reader.threads.cute.async_mma import AsyncMma
from lanescope.reader.threads.cute.bulk import TileCopy, TmaCopy
from lanescope.reader.threads.cute.cute_types import expose, get_bits, is_cute_value, make_mma, simplify
from lanescope.reader.threads.cute.layout_calls import (
    LAYOUT_FUNCTIONS,
    CuteCall,
    get_plain,
    make_layout,
    make_tiler,
    measure,
)
from lanescope.reader.threads.cute.layouts import make_strided, require_plain
from lanescope.reader.threads.cute.tensor_tiles import TensorLoad
from lanescope.reader.threads.cute.tensors import (
    UNDERSCORE,
    ZERO,
    CuteTensor,
    get_element,
    locate,
    make_fragment,
    slice_tensor,
)
from lanescope.reader.threads.cute.tiled import (
    CuteCopy,
    ElementCopy,
    ThreadSlice,
    make_operand_copy,
    make_operand_fragment,
    make_tiled_copy,
    partition,
    retile,
)
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, apply_operator, make_number, multiply_numbers
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.memory.storage import Pointer
from lanescope.tiles.mma import TiledMMA

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

NOT_HERE = object()
_OPEN_ELEMENT = SizedType("auto", 2)  # of a tensor whose elements do not matter
_NOT_FOLLOWED = (IndexError, TypeError, AttributeError, ValueError)  # of arguments that CuTe takes and we do not


def call_function(run: KernelRunner, name: str, node: tree.Call, templates: Sequence[Any], scope: Scope) -> Any:
    """Return the result of a function of CuTe; NOT_HERE for another one, None if it is unknown."""
    act = _FUNCTIONS.get(name)
    if act is None:
        return NOT_HERE
    values = [simplify(run.evaluate(argument, scope)) for argument in node.arguments]
    given = [simplify(run.evaluate_template(argument, scope)) for argument in templates]
    shared = name in _SHARED_NAMES and not (name == "size" and [type(value) for value in values] == [int])
    if shared and run.barriers is None and not any(is_cute_value(value) for value in (*values, *given)):
        return NOT_HERE
    try:
        result = expose(act(CuteCall(run, name, node, scope, values, given)), node.span)
    except (LayoutError, OpenCuteValueError, *_NOT_FOLLOWED):
        copies.forget_tensors(run, values, name)
        return None
    if result is None and name not in _WITHOUT_RESULT:
        copies.forget_tensors(run, values, name)
    return result


def call_member(run: KernelRunner, owner: Any, name: str, node: tree.Call, scope: Scope) -> Any:
    """Return the result of a member function of a value of CuTe; None if it is unknown."""
    if isinstance(owner, TmaCopy | TileCopy | TensorLoad | AsyncMma):
        return bulk.call_member(run, owner, name, node, scope)
    values = [simplify(run.evaluate(argument, scope)) for argument in node.arguments]
    try:
        result = expose(_call_member(run, owner, name, values), node.span)
    except (LayoutError, *_NOT_FOLLOWED):
        result = None
    if result is None:
        copies.forget_tensors(run, values, name)
    return result


def _call_member(run: KernelRunner, owner: Any, name: str, values: list[Any]) -> Any:
    if name in ("get_slice", "get_thread_slice") and isinstance(owner, CuteCopy | TiledMMA) and values:
        number = make_number(values[0], LONG) if isinstance(values[0], int) else values[0]
        return ThreadSlice(owner, number) if isinstance(number, ThreadNumber) else None
    if isinstance(owner, ThreadSlice) and values and isinstance(values[0], CuteTensor):
        return _call_slice(run, owner, name, values[0])
    if isinstance(owner, CuteTensor):
        if run.barriers is not None and name in ("data", "begin"):
            run.barriers.asynchronous.note_sums(run, "view", owner, run.get_call((0, 0)))
        return _TENSOR_MEMBERS[name](run, owner) if name in _TENSOR_MEMBERS else None
    return measure(owner) if name == "size" else None


def _call_slice(run: KernelRunner, owner: ThreadSlice, name: str, tensor: CuteTensor) -> Any:
    """Return a thread's part of a tensor, its registers for it, or the same registers for a copy."""
    operand = name[-1].lower()
    if name.startswith("retile_"):
        return retile(owner, tensor)
    if name.startswith("partition_fragment_"):
        return make_operand_fragment(owner, operand, partition(run, owner, name, tensor))
    if name.startswith("make_fragment_"):
        return make_operand_fragment(owner, operand, tensor)
    return partition(run, owner, name, tensor) if name.startswith("partition_") else None


_TENSOR_MEMBERS: dict[str, Callable[[KernelRunner, CuteTensor], Any]] = {
    "data": get_element,
    "layout": lambda run, tensor: replace(tensor.layout, swizzle=tensor.swizzle),
    "shape": lambda run, tensor: tensor.layout.shape,
    "size": lambda run, tensor: measure(tensor),
    "begin": get_element,
}


# tensors --------------------------------------------------------------------------------------------------------------


def _make_pointer(call: CuteCall) -> Any:
    """Evaluate make_gmem_ptr, make_smem_ptr and make_rmem_ptr: the pointer itself, or that of an array by its text."""
    value = call.values[0]
    kind = call.templates[0] if call.templates and isinstance(call.templates[0], SizedType) else None
    if isinstance(value, Pointer):
        return replace(value, type=kind, dims=()) if kind is not None else replace(value, dims=())
    if call.name != "make_gmem_ptr":
        return Pointer("shared", None, None, _OPEN_ELEMENT) if call.run.barriers is not None else None
    node = call.node.arguments[0]
    kind = kind or _find_pointed(call, node)
    place = (*call.run.calls, *call.run.turns)  # where the same text may be another pointer
    name = call.run.text[slice(*node.span)] + (f" {place}" if place else "")
    return Pointer("global", name, ZERO, kind) if kind is not None else None


def _find_pointed(call: CuteCall, node: tree.Expression) -> SizedType | None:
    """Return the type that a cast in an expression of an unknown pointer gives its target."""
    if isinstance(node, tree.Cast):
        kind = call.run.find_type(node.type, call.scope)
        return kind.target if kind is not None and kind.pointer else None
    if isinstance(node, tree.Binary):
        return _find_pointed(call, node.left) or _find_pointed(call, node.right)
    return None


def _make_tensor(call: CuteCall) -> Any:
    values, element = call.values, call.templates[0] if call.templates else None
    if isinstance(element, SizedType):  # registers
        layout = make_layout(call)
        return make_fragment(get_plain(layout), element) if layout is not None else None
    base = values[0]
    if not isinstance(base, Pointer) or len(values) < 2 or not base.type.size:
        return None
    layout = make_layout(replace(call, values=values[1:]))
    if layout is None:
        return None
    if base.space == "global" and isinstance(base.array, str):
        call.run.strides.note_tensor(base.array, layout, call.node.arguments[-1].span, call.run.calls)
    return CuteTensor(base, algebra.strip_swizzle(layout), layout.swizzle, make_number(layout.offset, LONG))


def _make_like(call: CuteCall) -> Any:
    """Evaluate make_tensor_like and make_fragment_like of a tensor: registers of the same shape."""
    like, element = call.values[0], call.templates[0] if call.templates else None
    if not isinstance(like, CuteTensor):
        return algebra.make_fragment_like(require_plain(get_plain(like)))
    kind = element if isinstance(element, SizedType) else like.element
    fragment = make_fragment(algebra.make_fragment_like(like.layout), kind) if kind is not None else None
    return async_mma.note_fragment(call.run, fragment, call.node.span)


def _make_identity(call: CuteCall) -> Any:
    shape = call.values[0] if len(call.values) == 1 else tuple(call.values)
    layout = make_strided(call.run, shape, "left")
    return CuteTensor(None, layout) if layout is not None else None


def _tile_tensor(call: CuteCall) -> Any:
    """Evaluate local_tile(tensor, tiler, coordinate[, projection])."""
    tensor, tiler, at = call.values[:3]
    if not isinstance(tensor, CuteTensor) or not isinstance(tiler, tuple):
        return None
    at = at if isinstance(at, tuple) else (at,)
    if len(call.values) > 3:
        kept = [n for n, step in enumerate(call.values[3]) if step is not UNDERSCORE]
        tiler, at = tuple(tiler[n] for n in kept), tuple(at[n] for n in kept)
    divided = algebra.zipped_divide(tensor.layout, make_tiler(tiler))
    tiles, rest = divided.modes
    coordinate = (*at, *(UNDERSCORE,) * (rest.rank - len(at)))
    _note_outside(call, tensor, at, rest)
    outer = slice_tensor(call.run, replace(tensor, layout=rest), coordinate)
    if outer is None:
        return None
    kept_modes = outer.layout.modes if outer.layout.shape != () else ()
    return replace(outer, layout=algebra.concatenate(*tiles.modes, *kept_modes))


def _note_outside(call: CuteCall, tensor: CuteTensor, at: Sequence[Any], tiles: CuteLayout) -> None:
    """Note the first tile that a matrix in global memory does not have."""
    over = any(isinstance(n, int) and n >= mode.size for n, mode in zip(at, tiles.modes, strict=False))
    if over and tensor.space == "global" and tensor.base is not None:
        call.run.strides.outside = call.run.strides.outside or (call.node.span, str(tensor.base.array))


def _offset_tensor(call: CuteCall) -> Any:
    """Evaluate domain_offset(coordinate, tensor)."""
    at, tensor = call.values[:2]
    return tensor.move(tensor.layout, locate(call.run, tensor.layout, at)) if isinstance(tensor, CuteTensor) else None


def _partition_tensor(call: CuteCall) -> Any:
    """Evaluate local_partition(tensor, layout of threads, thread[, projection])."""
    tensor, threads, index = call.values[:3]
    if not isinstance(tensor, CuteTensor) or not isinstance(threads, CuteLayout):
        return None
    modes = threads.modes
    if len(call.values) > 3:
        modes = tuple(modes[n] for n, step in enumerate(call.values[3]) if step is not UNDERSCORE)
    if any(len(mode.digits) != 1 for mode in modes):
        return None
    number = make_number(index, LONG) if isinstance(index, int) else index
    at = tuple(
        apply_operator("%", apply_operator("/", number, make_number(step or 1)), make_number(count))
        for mode in modes
        for count, step in mode.digits
    )
    divided = algebra.zipped_divide(tensor.layout, tuple(mode.size for mode in modes))
    inner = slice_tensor(call.run, replace(tensor, layout=divided), (at, UNDERSCORE))
    return None if inner is None else replace(inner, layout=algebra.concatenate(*inner.layout.modes[0].modes))


def _recast(call: CuteCall) -> Any:
    tensor, bits = call.values[0], get_bits(call.templates[0]) if call.templates else None
    if not isinstance(tensor, CuteTensor) or tensor.base is None or not bits or tensor.offset is None:
        return None
    old = tensor.base.type.size * 8
    recast = algebra.recast(replace(tensor.layout, swizzle=tensor.swizzle), old, bits)
    more, fewer = old // gcd(old, bits), bits // gcd(old, bits)
    offset = apply_operator("/", multiply_numbers(tensor.offset, make_number(more, LONG)), make_number(fewer, LONG))
    base = replace(tensor.base, type=call.templates[0])
    return CuteTensor(base, CuteLayout(recast.shape, recast.stride), recast.swizzle, offset)


# TiledCopy and TiledMMA -----------------------------------------------------------------------------------------------


def _make_copy(call: CuteCall) -> Any:
    if not isinstance(call.values[0], ElementCopy):
        return None
    values = require_plain(call.values[2]) if len(call.values) > 2 else algebra.make_layout((1, 1))
    return make_tiled_copy(call.values[0], require_plain(call.values[1]), values)


def _make_operand(call: CuteCall) -> Any:
    """Evaluate make_tiled_copy_A, _B, _C and _C_atom."""
    element, mma = call.values[:2]
    mma = mma.of if isinstance(mma, ThreadSlice) else mma
    if isinstance(mma, AsyncMma) and call.run.barriers is None:
        mma = mma.tiled
    if isinstance(mma, AsyncMma | TileCopy):
        return TileCopy()
    if not isinstance(element, ElementCopy) or not isinstance(mma, TiledMMA):
        return None
    copy = make_operand_copy(element, mma, call.name.removeprefix("make_tiled_copy_").lower())
    values, least = copy.tiled.values, element.reference_values
    if values % least:
        why = (
            f"{element.operation.name} moves {least} elements of a thread, and the TiledMMA gives a thread {values} of"
            f" this operand: CuTe does not compile the TiledCopy."
        )
        call.run.stop_at_error("cute_copy_misfit", why, call.node.span)
    return copy


def _get_part(call: CuteCall) -> Any:
    """Evaluate tensor<mode>(tensor)."""
    tensor = call.values[0]
    layout = functions.call_function("get", [tensor.layout], call.places) if isinstance(tensor, CuteTensor) else None
    return replace(tensor, layout=layout) if layout is not None else None


def _get_tile_size(call: CuteCall) -> Any:
    mma = call.values[0]
    return mma.shape[call.places[0]] if isinstance(mma, TiledMMA | AsyncMma) else None


def _partition_fragment(call: CuteCall) -> Any:
    """Evaluate partition_fragment_C(mma, shape)."""
    mma, shape = call.values[:2]
    if isinstance(mma, AsyncMma):
        return async_mma.partition_accumulators(call)
    if not isinstance(mma, TiledMMA) or not isinstance(shape, tuple):
        return None
    layout = require_plain(tuple(shape))
    slice_ = ThreadSlice(mma, make_number(0, LONG))
    tensor = partition(call.run, slice_, "partition_C", CuteTensor(None, layout))
    return make_operand_fragment(slice_, "c", tensor)


def _keep(call: CuteCall) -> Any:
    return call.values[0]


def _call_for_each(call: CuteCall) -> Any:
    """Run for_each(tuple, lambda) as a loop."""
    items, closure = call.values
    function = getattr(closure, "function", None)
    if not isinstance(items, tuple) or function is None or len(function.parameters) != 1:
        raise LayoutError("open_layout", "A sequence is not known.")
    run = call.run
    run.enter_loop(call.node.span, [run.everyone & False, run.everyone & False])
    for item in items:
        inner = Scope(closure.scope)
        inner.names[function.parameters[0].name] = make_number(item) if isinstance(item, int) else item
        run.run_function(function.body, inner, call.node.span)
        run.count_turn()
    run.leave_loop()
    return ()


_FUNCTIONS: dict[str, Callable[[CuteCall], Any]] = {
    "for_each": _call_for_each,
    **LAYOUT_FUNCTIONS,
    **dict.fromkeys(("make_gmem_ptr", "make_smem_ptr", "make_rmem_ptr"), _make_pointer),
    **dict.fromkeys(("make_tensor_like", "make_fragment_like", "make_rmem_tensor_like"), _make_like),
    **dict.fromkeys((f"make_tiled_copy_{part}" for part in ("A", "B", "C", "C_atom", "S", "D")), _make_operand),
    **dict.fromkeys(("as_position_independent_swizzle_tensor", "recast_ptr"), _keep),
    "make_tensor": _make_tensor,
    "make_identity_tensor": _make_identity,
    "domain_offset": _offset_tensor,
    "local_tile": _tile_tensor,
    "local_partition": _partition_tensor,
    "recast": _recast,
    "tensor": _get_part,
    "make_tiled_mma": lambda call: make_mma(*call.values),
    "make_tiled_copy": _make_copy,
    "tile_size": _get_tile_size,
    "partition_fragment_C": _partition_fragment,
    **copies.FUNCTIONS,
    **products.FUNCTIONS,
    **async_mma.FUNCTIONS,
    **bulk.FUNCTIONS,
}
_WITHOUT_RESULT = {**copies.FUNCTIONS, **products.FUNCTIONS}
_SHARED_NAMES = frozenset(
    "size get shape rank copy gemm clear fill filter select tensor take append product for_each".split()
)
