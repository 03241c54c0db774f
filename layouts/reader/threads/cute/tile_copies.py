"""TMA copies of whole tiles in a run that follows elements: as if the threads of the block shared the work.

The mbarriers are left to the run that simulates them. Copies happen here in the order of the code, so that one that
overwrites a tile before a product has read it leaves open what is in shared memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.tuples import list_leaves, map_leaves
from lanescope.reader.threads.cute.layout_calls import CuteCall
from lanescope.reader.threads.cute.layouts import make_strided
from lanescope.reader.threads.cute.tensors import CuteTensor
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, make_number
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.language.values import store_place
from lanescope.reader.threads.memory.matrix_reads import find_described_places
from lanescope.reader.threads.memory.storage import Ints, Pointer, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_ACCESS_BYTES, _REGISTER_BYTES = 16, 4
_MOST_ELEMENTS = 1 << 17  # of a tile
_UNREAD = "warps that copy and warps that multiply may be others, and the order of their work is not followed"
_OUTSIDE = "a TMA copy loads a tile beyond the last row of {}"


def follows_elements(run: KernelRunner) -> bool:
    """Return whether a run follows the elements of tiles that TMA copies: with known sizes, and no mbarriers."""
    return run.barriers is None and run.order is None and run.sizes is not None


def make_source(run: KernelRunner, tensor: CuteTensor, shape: Any) -> CuteTensor | None:
    """Return a tensor in global memory with the sizes that get_tma_tensor is given; None if these are not known."""
    known = all(isinstance(size, int) for size in list_leaves(shape))
    strides = map_leaves(run.strides.decode, tensor.layout.stride)
    layout = make_strided(run, shape, strides) if known else None
    if layout is None or tensor.base is None:
        return None
    run.tensor_ends[str(tensor.base.array)] = layout.cosize * tensor.base.type.size
    return replace(tensor, layout=layout)


def copy_tile(call: CuteCall, source: CuteTensor, target: CuteTensor) -> bool:
    """Copy a tile between global and shared memory; return whether this was followed."""
    run, loads = call.run, target.space == "shared"
    if source.base is None or target.base is None or {source.space, target.space} != {"global", "shared"}:
        return False
    from_, to, size = _list_places(run, source), _list_places(run, target), source.base.type.size
    if from_ is None or to is None or len(from_) != len(to) or target.base.type.size != size:
        return False
    order = np.argsort(to if loads else from_, kind="stable")
    from_, to = from_[order], to[order]
    if loads:
        _note_overwritten(run, to, size)
        outside = int(from_.max()) >= run.tensor_ends.get(str(source.base.array), 0)
        run.shared.incomplete = run.shared.incomplete or _OUTSIDE.format(source.base.array) * outside
    outer = run.mask
    for here, there, bytes_ in _group_elements(from_, to, size, _ACCESS_BYTES if loads else _REGISTER_BYTES):
        for first in range(0, len(here), run.threads):
            lanes = slice(first, first + run.threads)
            run.mask = np.arange(run.threads) < len(here[lanes])
            _move_bytes(call, (source, here[lanes]), (target, there[lanes]), bytes_)
    run.mask = outer
    return True


def _list_places(run: KernelRunner, tensor: CuteTensor) -> Ints | None:
    """Return the byte of each element in its array, or in shared memory; None if they are not known, or differ between
    the running threads.
    """
    assert tensor.base is not None
    base, layout = tensor.base.offset, tensor.layout
    known = layout.size <= _MOST_ELEMENTS and all(abs(step) < 1 << 62 for step in list_leaves(layout.stride))
    first, moved = (_find_common(run, one) if known else None for one in (base, tensor.offset))
    if first is None or moved is None:
        return None
    indices = algebra.strip_swizzle(layout).list_indices() + moved
    indices = tensor.swizzle(indices) if tensor.swizzle is not None else indices
    places: Ints = np.asarray(indices, np.int64) * tensor.base.type.size + first
    return places


def _find_common(run: KernelRunner, number: Any) -> int | None:
    """Return the number that all running threads have."""
    if not isinstance(number, ThreadNumber) or number.const is None:
        return None
    values = set(spread_coefficient(number.const, run.threads)[run.mask].tolist())
    return values.pop() if len(values) == 1 else None


def _group_elements(from_: Ints, to: Ints, size: int, most: int) -> Iterator[tuple[Ints, Ints, int]]:
    """Yield the first places of runs of elements that are contiguous on both sides, and their bytes."""
    each = max(most // size, 1)
    while each > 1:
        steps = np.arange(each) * size
        if len(to) % each == 0 and all(
            bool((part.reshape(-1, each) == part[::each, None] + steps).all()) for part in (from_, to)
        ):
            break
        each //= 2
    yield from_[::each], to[::each], each * size


def _move_bytes(call: CuteCall, source: tuple[CuteTensor, Ints], target: tuple[CuteTensor, Ints], size: int) -> None:
    """Move the bytes of one run of elements for each lane."""
    run = call.run
    (tensor, here), (other, there) = source, target
    assert tensor.base is not None and other.base is not None
    here, there = (np.concatenate([part, np.repeat(part[-1:], run.threads - len(part))]) for part in (here, there))
    spans = [node.span for node in call.node.arguments[-2:]]
    if other.space == "shared":
        data = run.load_global(str(tensor.base.array), make_number(here, LONG), size, spans[0])
        run.store_shared(make_number(there, LONG), data, spans[1])
        return
    data = run.load_shared(here, size, run.mask, spans[0])
    element = tensor.base.type
    kind = element if size == element.size else SizedType(element.name, size, vector=element.size)
    store_place(run, Pointer("global", other.base.array, make_number(there, LONG), kind), data, spans[1])


def _note_overwritten(run: KernelRunner, places: Ints, size: int) -> None:
    """Note a copy to a tile; if no product has read what an earlier copy has put there, the order is not known."""
    first, past = int(places.min()), int(places.max()) + size
    for (begin, end), count in list(run.copied_tiles.items()):
        if begin < past and first < end:
            del run.copied_tiles[begin, end]
            if not any(_reads(run, n, begin, end) for n in range(count, len(run.descriptors))):
                run.shared.incomplete = run.shared.incomplete or _UNREAD
    run.copied_tiles[first, past] = len(run.descriptors)


def _reads(run: KernelRunner, number: int, begin: int, end: int) -> bool:
    """Return whether a product has read a byte of a tile."""
    use = run.descriptors[number]
    places = find_described_places(use.word, use.seen)
    return bool(((places >= begin) & (places < end)).any())
