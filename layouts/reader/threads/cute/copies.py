"""Copies of CuTe's tensors: copy, clear, fill, axpby."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.reader.threads.cute.bulk import TmaCopy, note_copy, note_fill
from lanescope.reader.threads.cute.layout_calls import CuteCall
from lanescope.reader.threads.cute.open_strides import is_open_extent
from lanescope.reader.threads.cute.tensor_tiles import TensorLoad, copy_tiles
from lanescope.reader.threads.cute.tensors import CuteTensor, get_element, join_runs, list_indices
from lanescope.reader.threads.cute.tile_copies import copy_tile, follows_elements
from lanescope.reader.threads.cute.tiled import CuteCopy, ElementCopy, ThreadSlice
from lanescope.reader.threads.instructions.matrix_loads import has_complete_warps, load_matrices, store_rows
from lanescope.reader.threads.language.numbers import make_number
from lanescope.reader.threads.language.values import load_place, store_place
from lanescope.reader.threads.memory.storage import (
    DataBytes,
    LocalMemory,
    Span,
    join_data,
    make_open_data,
    spread_coefficient,
)

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_REGISTER_BYTES = 4


def forget_tensors(run: KernelRunner, values: Sequence[Any], name: str) -> None:
    """Make the elements of tensors unknown that something which is not followed may write."""
    for value in values:
        base = value.base if isinstance(value, CuteTensor) else None
        if base is not None and base.space == "shared":
            run.shared.incomplete = run.shared.incomplete or f"{name} may write it"
            run.forget_stores()
        elif base is not None and isinstance(base.array, LocalMemory):
            base.array.forget_values()
            if run.barriers is not None:
                run.barriers.asynchronous.note_sums(run, "view", value, run.get_call((0, 0)))


# copies ---------------------------------------------------------------------------------------------------------------


def _copy(call: CuteCall) -> None:
    """Run copy([atom,] source, destination), copy_if and copy_aligned."""
    run, values = call.run, call.values
    if isinstance(values[0], TmaCopy):
        note_copy(call, values[0])
    elif run.barriers is not None:
        note_fill(call, values[-1])
    if run.barriers is not None:
        _note_sums(call, *values[-2:])
        return  # elements do not matter
    if isinstance(values[0], TmaCopy | TensorLoad):
        if not _copy_whole(call, *values[-2:]):
            forget_tensors(run, values[-1:], call.name)
        return
    if len(values) < 2 or not all(isinstance(value, CuteTensor) for value in values[-2:]):
        forget_tensors(run, values, call.name)  # what comes before these may be a tensor of predicates
        return
    given = values[0].of if isinstance(values[0], ThreadSlice) else values[0]
    element = given.element if isinstance(given, CuteCopy) else given if isinstance(given, ElementCopy) else None
    source, target = values[-2:]
    spans = (call.node.arguments[-2].span, call.node.arguments[-1].span)
    if not copy_tensors(run, element, (source, target), spans, call.node.span):
        forget_tensors(run, [target], call.name)


def _copy_whole(call: CuteCall, source: Any, target: Any) -> bool:
    """Copy a tile by TMA, or from tensor memory; return whether this was followed."""
    if not isinstance(source, CuteTensor) or not isinstance(target, CuteTensor):
        return False
    if not call.run.mask.any():
        return True
    if isinstance(call.values[0], TmaCopy):
        return follows_elements(call.run) and copy_tile(call, source, target)
    return source.space == "tensor" and copy_tiles(call.run, source, target, call.node.span)


def _note_sums(call: CuteCall, source: Any, target: Any) -> None:
    """Note which accumulators a function reads or writes."""
    run, at = call.run, call.run.find_own_place(call.node.span)
    if run.barriers is not None:
        run.barriers.asynchronous.note_sums(run, "use", source, at)
        run.barriers.asynchronous.note_sums(run, "set", target, at)


def copy_tensors(
    run: KernelRunner,
    element: ElementCopy | None,
    tensors: tuple[CuteTensor, CuteTensor],
    spans: tuple[Span, Span],
    site: Span,
) -> bool:
    """Copy a tensor to another, access by access; return whether this was followed. spans: of the two arguments."""
    source, target = tensors
    if element is not None and (why := _find_other_count(tensors)):
        run.stop_at_error("cute_copy_misfit", why, site)
    parts = _split_accesses(element, tensors)
    if parts is None or source.base is None or target.base is None:
        return False
    if element is not None and (why := _find_tensor_error(element, tensors, parts)):
        run.stop_at_error("cute_copy_misfit", why, site)
    for first, second in zip(*parts, strict=True):
        if element is not None and element.atom.loads:
            _load_matrix(run, element, (source, first), (target, second), spans)
        elif element is not None and element.atom.instruction is not None:
            _store_matrix(run, element, (source, first), (target, second), spans)
        else:
            asynchronous = element is not None and element.operation.asynchronous
            _move(run, (source, first), (target, second), spans, asynchronous)
    return True


def _split_accesses(
    element: ElementCopy | None, tensors: tuple[CuteTensor, CuteTensor]
) -> tuple[list[Sequence[int]], list[Sequence[int]]] | None:
    """Return the indices of each access in the source and in the destination; None if these are not followed."""
    counts = element.values if element is not None else (1, 1)
    sides = [_list_values(tensor.layout) for tensor in tensors]
    source, target = (
        list(_list_accesses(side, count)) if side is not None else None
        for side, count in zip(sides, counts, strict=True)
    )
    return (source, target) if source is not None and target is not None and len(source) == len(target) else None


def _find_other_count(tensors: tuple[CuteTensor, CuteTensor]) -> str:
    """Return why CuTe does not compile a copy of tensors of which a thread has different numbers of parts; "" if it
    may (CUTLASS 4.7, cute/algorithm/copy.hpp).
    """
    modes = [tensor.layout.modes if tensor.layout.shape != () else () for tensor in tensors]
    if len(modes[0]) != len(modes[1]) or len(modes[0]) < 2:
        return ""
    source, target = (prod(mode.size for mode in of_one[1:]) for of_one in modes)
    if source == target or is_open_extent(source) or is_open_extent(target):
        return ""
    return (
        f"A thread has {source} parts of the source and {target} of the destination: CuTe does not compile the copy."
        " Their tensors or slices are not of one tile."
    )


def _find_tensor_error(
    element: ElementCopy, tensors: tuple[CuteTensor, CuteTensor], parts: Sequence[list[Sequence[int]]]
) -> str:
    """Return why CuTe does not compile a copy: an access whose elements in memory are not contiguous; "" if it does."""
    for tensor, accesses, side in zip(tensors, parts, ("source", "destination"), strict=True):
        access = accesses[0] if accesses else ()
        if tensor.space in ("shared", "global") and len(access) > 1 and not is_contiguous(access):
            return (
                f"Each access of {element.operation.name} has {len(access)} contiguous elements in the {side}, and this"
                f" tensor has them {_describe_steps(access)}: CuTe does not compile the copy."
            )
    return ""


def _describe_steps(access: Sequence[int]) -> str:
    step = access[1] - access[0]
    return f"{step} elements apart" if 1 < step < 1 << 32 else "not one after another"


def _list_values(layout: CuteLayout) -> list[list[int]] | None:
    """Return the indices of the values of mode 0, for each coordinate of the other modes."""
    if layout.shape == () or isinstance(layout.shape, int):
        indices = list_indices(layout)
        return None if indices is None else [indices]
    first, *rest = layout.modes
    inner, outer = list_indices(first), list_indices(algebra.concatenate(*rest)) if rest else [0]
    if inner is None or outer is None:
        return None
    return [[at + more for at in inner] for more in outer]


def _list_accesses(values: list[list[int]], count: int) -> Iterator[Sequence[int]]:
    for part in values:
        if len(part) % count:
            return
        yield from join_runs(part, count)


def is_contiguous(indices: Sequence[int]) -> bool:
    return all(at == indices[0] + n for n, at in enumerate(indices))


def _move(
    run: KernelRunner,
    source: tuple[CuteTensor, Sequence[int]],
    target: tuple[CuteTensor, Sequence[int]],
    spans: tuple[Span, Span],
    asynchronous: bool,
) -> None:
    """Move the elements of one access from memory or registers to others."""
    wide = len(source[1]) if is_contiguous(source[1]) and is_contiguous(target[1]) else 1
    same = source[0].element is not None and target[0].element is not None
    if not same or source[0].element.size != target[0].element.size:  # type: ignore[union-attr]
        wide = 1
    for here, there in zip(join_runs(source[1], wide), join_runs(target[1], wide), strict=True):
        from_, to = get_element(run, source[0], here[0], wide), get_element(run, target[0], there[0], wide)
        if from_ is None or to is None:
            continue
        value = load_place(run, from_, spans[0]) if from_.offset is not None else None
        if to.space == "shared":
            data = (
                value if value is not None and hasattr(value, "record") else make_open_data(run.threads, to.type.size)
            )
            if data.size != to.type.size:
                data = data.resize_element(to.type.size)
            run.store_shared(to.offset, data, spans[1], asynchronous)
        else:
            store_place(run, to, value, spans[1])


def _load_matrix(
    run: KernelRunner,
    element: ElementCopy,
    source: tuple[CuteTensor, Sequence[int]],
    target: tuple[CuteTensor, Sequence[int]],
    spans: tuple[Span, Span],
) -> None:
    """Run ldmatrix: every thread gives the address of a row, and gets registers."""
    bytes_ = element.element_bits // 8
    count = len(target[1]) * bytes_ // _REGISTER_BYTES
    first = get_element(run, source[0], source[1][0])
    at = first.offset.const if first is not None and first.offset is not None and first.space == "shared" else None
    known = at is not None and is_contiguous(source[1])
    address = spread_coefficient(at, run.threads) if known else None
    registers = load_matrices(run, element.atom.name, address, count, spans[:1])
    each = _REGISTER_BYTES // bytes_
    for register, indices in zip(registers, join_runs(target[1], each), strict=True):
        write_elements(run, target[0], indices, register)


def _store_matrix(
    run: KernelRunner,
    element: ElementCopy,
    source: tuple[CuteTensor, Sequence[int]],
    target: tuple[CuteTensor, Sequence[int]],
    spans: tuple[Span, Span],
) -> None:
    """Run stmatrix: every thread gives registers and the address of a row."""
    first = get_element(run, target[0], target[1][0])
    at = first.offset if first is not None and first.space == "shared" and is_contiguous(target[1]) else None
    if at is None or at.const is None or not has_complete_warps(run):
        run.shared.incomplete = run.shared.incomplete or "a store has an address that is not known"
        run.forget_stores()
        return
    each = _REGISTER_BYTES * 8 // element.element_bits
    found = (read_register(run, source[0], group) for group in join_runs(source[1], each))
    registers = [make_open_data(run.threads, _REGISTER_BYTES) if one is None else one for one in found]
    store_rows(run, at, registers, ".trans" in element.atom.name, spans[1])


def read_register(run: KernelRunner, tensor: CuteTensor, indices: Sequence[int]) -> Any:
    """Return the register that holds some elements of a tensor; None if one of them is not known."""
    if is_contiguous(indices):
        place = get_element(run, tensor, indices[0], len(indices))
        return load_place(run, place, (0, 0)) if place is not None else None
    places = [get_element(run, tensor, index) for index in indices]
    parts = [load_place(run, place, (0, 0)) for place in places if place is not None]
    known = [part for part in parts if isinstance(part, DataBytes)]
    return join_data(known) if len(known) == len(indices) else None


def write_register(run: KernelRunner, tensor: CuteTensor, index: int, data: Any) -> None:
    place = get_element(run, tensor, index)
    offset = place.offset.known if place is not None and place.offset is not None else None
    if place is not None and offset is not None and isinstance(place.array, LocalMemory):
        place.array.write_value(offset, data.size, data, None if run.mask.all() else run.mask)


def write_elements(run: KernelRunner, tensor: CuteTensor, indices: Sequence[int], register: Any) -> None:
    """Write a register into the elements that it holds, which need not be contiguous."""
    if is_contiguous(indices):
        write_register(run, tensor, indices[0], register)
        return
    bytes_ = _REGISTER_BYTES // max(len(indices), 1)
    for n, index in enumerate(indices):
        write_register(run, tensor, index, register.cut_bytes(n * bytes_, bytes_))


# other functions ------------------------------------------------------------------------------------------------------


def _clear(call: CuteCall) -> None:
    """Run clear and fill: what they write does not come from a matrix."""
    run, tensor = call.run, call.values[0]
    if not isinstance(tensor, CuteTensor) or tensor.base is None:
        return
    _note_sums(call, None, tensor)
    value = call.values[1] if call.values[1:] else make_number(0)
    value = make_number(value) if isinstance(value, int) else value
    indices = list_indices(tensor.layout)
    if tensor.space == "shared" and (run.assumed or indices is None):
        return  # padding, which the tiles inside do not have
    if indices is None:
        forget_tensors(run, [tensor], call.name)
    for index in indices or ():
        place = get_element(run, tensor, index)
        if place is None:
            continue
        if place.space == "shared":
            run.store_shared(place.offset, make_open_data(run.threads, place.type.size), call.node.span)
        else:
            store_place(run, place, value, call.node.span)


def _add_scaled(call: CuteCall) -> None:
    """Run axpby(alpha, x, beta, y): y gets the elements of x."""
    run, x, y = call.run, call.values[1], call.values[3]
    _note_sums(call, x, y)
    from_, to = (list_indices(one.layout) if isinstance(one, CuteTensor) else None for one in (x, y))
    if from_ is None or to is None or len(from_) != len(to):
        forget_tensors(run, [y], call.name)
        return
    spans = (call.node.arguments[1].span, call.node.arguments[3].span)
    for here, there in zip(from_, to, strict=True):
        _move(run, (x, [here]), (y, [there]), spans, False)


FUNCTIONS: dict[str, Callable[[CuteCall], None]] = {
    **dict.fromkeys(("copy", "copy_if", "copy_aligned", "copy_vec"), _copy),
    **dict.fromkeys(("clear", "fill"), _clear),
    "axpby": _add_scaled,
}
