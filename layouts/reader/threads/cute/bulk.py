"""TMA copies and asynchronous products of CuTe in a run for mbarriers: the tiles that they fill and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import list_leaves
from lanescope.ptx.table.kinds import MAJORS
from lanescope.reader.code.cute.cute_atoms import SMEM_SELECTORS, make_canonical_atom
from lanescope.reader.code.cute.cute_mmas import MAJOR_NAMES
from lanescope.reader.cute.smem_atoms import choose_smem_atom
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent, TraceLostError
from lanescope.reader.threads.cute.async_mma import AsyncMma, note_fragment, note_gemm, partition
from lanescope.reader.threads.cute.async_trace import list_element_indices, locate_tile, make_coordinate_strides
from lanescope.reader.threads.cute.layout_calls import CuteCall, measure
from lanescope.reader.threads.cute.layouts import make_strided
from lanescope.reader.threads.cute.open_strides import is_open_extent
from lanescope.reader.threads.cute.tensor_tiles import TensorLoad, call_load, make_load, make_tensor_tiles
from lanescope.reader.threads.cute.tensors import CuteTensor
from lanescope.reader.threads.cute.tile_copies import follows_elements, make_source
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.memory.storage import Pointer, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_LONGEST_BOX = 256  # elements along a dimension of a box
_MULTICAST = 5  # arguments of a TMA atom with a number of blocks
_OF_PARTITION = 5  # arguments
_TILE_RANK = 3  # of a TileCopy's part of a tile that no coordinate divides: (CPY, CPY_M, CPY_N)


@dataclass(frozen=True, slots=True, eq=False)
class TmaCopy:
    """A TMA atom.

    site: the call that makes it; barrier: the mbarrier that its bytes arrive on, None before .with(); misfit: why CuTe
    does not compile it, and the place of that; box: the elements of its box, 0 if not known, and the place of its
    layout; tensor: that it copies, in global memory, None if that is not known, or a multicast divides its tile.
    """

    site: tuple[int, int] = (0, 0)
    barrier: Pointer | None = None
    misfit: tuple[str, tuple[int, int]] | None = None
    box: tuple[int, tuple[int, int]] = (0, (0, 0))
    tensor: CuteTensor | None = None


@dataclass(frozen=True, slots=True)
class TileCopy:
    """A TiledCopy for a TiledMMA whose threads' parts are not followed, or a slice of it: it copies whole tiles."""


def _select_atom(call: CuteCall) -> CuteLayout | None:
    """Evaluate ss_smem_selector<Major, T, BLK_MN, BLK_K>() and sm100_smem_selector."""
    if any(argument is None for argument in call.templates):
        return None
    major, element, rows, columns = call.templates
    block = columns if major == MAJORS["K"] else rows
    run = block[0] if isinstance(block, tuple) else block
    bits = element.size * 8
    atom = choose_smem_atom(call.name, MAJOR_NAMES[major], bits, run)
    return None if atom is None else algebra.swizzle_elements(make_canonical_atom(atom, bits))


def call_member(
    run: KernelRunner, owner: TmaCopy | TileCopy | TensorLoad | AsyncMma, name: str, call: Any, scope: Any
) -> Any:
    """Return the result of a member function; None if it has none, or is not followed."""
    values = [run.evaluate(argument, scope) for argument in call.arguments]
    first = values[0] if values else None
    if isinstance(owner, TensorLoad):
        return call_load(run, owner, name, first)
    if name in ("get_slice", "get_thread_slice"):
        return replace(owner, thread=first) if isinstance(owner, AsyncMma) else owner
    if isinstance(owner, AsyncMma):
        if name == "make_fragment_C" and owner.threads == 1 and run.barriers is None:
            return make_tensor_tiles(owner, first) if isinstance(first, CuteTensor) else None
        part = partition(run, owner, name, first) if isinstance(first, CuteTensor) else None
        return note_fragment(run, part, call.span)
    if isinstance(owner, TileCopy):
        known = name.startswith(("partition_", "retile_"))
        return _keep_tile(first) if known and isinstance(first, CuteTensor) else None
    return _call_atom(run, owner, name, call, scope)


def _call_atom(run: KernelRunner, atom: TmaCopy, name: str, call: Any, scope: Any) -> Any:
    """Return the result of a member function of a TMA atom."""
    if name == "with":
        return _attach(run, atom, call, scope)
    first = run.evaluate(call.arguments[0], scope) if call.arguments else None
    if name == "get_tma_tensor":
        if atom.tensor is not None and follows_elements(run):
            return make_source(run, atom.tensor, first)
        layout = make_strided(run, first, make_coordinate_strides(first) or "left")
        if run.barriers is not None and layout is not None:
            run.barriers.asynchronous.extents[atom.site] = tuple(list_leaves(layout.shape))
        return CuteTensor(None, layout) if layout is not None else None
    if not name.startswith("partition_") or not isinstance(first, CuteTensor):
        return None
    return _join_tile(first) if first.layout.rank > 1 else None


def _keep_tile(tensor: CuteTensor) -> CuteTensor:
    """Return a tensor in shared memory with the modes (CPY, CPY_M, CPY_N, …), of which CPY is the whole tile; another
    one as it is.
    """
    return _join_tile(tensor) if tensor.space == "shared" and tensor.layout.rank > 1 else tensor


def _join_tile(tensor: CuteTensor) -> CuteTensor:
    """Return a tensor with its first two modes as one, as a copy that takes all of them at once partitions it."""
    modes = tensor.layout.modes
    whole = algebra.concatenate(*modes[:2])
    return replace(tensor, layout=algebra.concatenate(whole, algebra.ONE, algebra.ONE, *modes[2:]))


def _attach(run: KernelRunner, atom: TmaCopy, call: Any, scope: Any) -> TmaCopy:
    """Return a TMA atom with an mbarrier: TraceLostError if it is not known, or bytes go to other blocks, too."""
    if run.barriers is None:
        return replace(atom, tensor=atom.tensor if len(call.arguments) == 1 else None)
    place = run.find_place(call.arguments[0], scope) if call.arguments else None
    mask = run.evaluate(call.arguments[1], scope) if len(call.arguments) > 1 else None
    if not isinstance(place, Pointer) or (len(call.arguments) > 1 and getattr(mask, "known", None) not in (0, 1)):
        raise TraceLostError
    return replace(atom, barrier=place)


def note_copy(call: CuteCall, atom: TmaCopy) -> None:
    """Note a copy whose bytes arrive on an mbarrier."""
    run = call.run
    if run.barriers is None or not run.mask.any():
        return
    source = call.values[-2]
    if atom.barrier is None:
        if isinstance(source, CuteTensor) and source.space == "shared":
            run.barriers.fills.note_store(run, _find_place(run, source), run.find_own_place(call.node.span))
        return
    address = atom.barrier.shared_address
    if address is None or address.const is None:
        raise TraceLostError
    places = spread_coefficient(address.const, run.threads)
    ones = np.ones(run.threads, np.int64)
    at, size = run.find_own_place(call.node.span), count_bytes(call.values[-1])
    if (target := _find_place(run, call.values[-1])) is not None and size is not None:
        run.barriers.fills.stages.note_copy(target, size)
    run.barriers.bytes.note_copied(run.mask, places, size, at)
    _note_load(call, atom, at)
    run.barriers.add(run, BarrierEvent("copy", run.mask.copy(), places, ones, at, at))


def _note_load(call: CuteCall, atom: TmaCopy, at: tuple[int, int]) -> None:
    """Note where a copy to shared memory takes its elements from, before the event of its bytes."""
    run, (source, target) = call.run, call.values[-2:]
    assert run.barriers is not None
    trace, tile = run.barriers.asynchronous, locate_tile(run, target)
    indices = list_element_indices(run, source) if isinstance(source, CuteTensor) and source.base is None else None
    if atom.misfit is not None:
        trace.misfit = trace.misfit or atom.misfit
    if tile is not None and atom.box[0] > len(tile.places):
        size, part = len(tile.places), atom.box[0]
        why = f"A TMA atom with this layout copies {part:,} elements at once, and the tile that it fills has {size:,}."
        trace.misfit = trace.misfit or (why, atom.box[1])
    if tile is None or indices is None or len(indices) != len(tile.places):
        trace.lose("the elements of a copy are not known")
        return
    trace.add(run, "copy", at, tiles=(tile,), source=atom.site, indices=indices)


def _fill(call: CuteCall) -> None:
    """Follow cooperative_copy<threads>(thread, source, destination)."""
    note_fill(call, call.values[-1])


def note_fill(call: CuteCall, target: Any) -> None:
    """Note a copy of threads to shared memory."""
    run = call.run
    trace, place = run.barriers, _find_place(run, target)
    if trace is not None and place is not None:
        own = isinstance(call.values[0], TileCopy)
        whole = target.layout.rank >= _TILE_RANK if own else call.name == "cooperative_copy"
        trace.fills.note_fill(run, place, call.node.span, whole, own)


def _find_place(run: KernelRunner, tensor: Any) -> tuple[Pointer, int] | None:
    """Return the array of a tensor in shared memory, and where in it the tensor begins for the running threads; None if
    that is not known.

    Stages are parts of one array.
    """
    if not isinstance(tensor, CuteTensor) or tensor.base is None or tensor.base.space != "shared":
        return None
    first = tensor.offset.const if isinstance(tensor.offset, ThreadNumber) else None
    if first is None:
        return None
    places = set(spread_coefficient(first, run.threads)[run.mask].tolist())
    return (tensor.base, places.pop()) if len(places) == 1 else None


def follow_product(call: CuteCall) -> None:
    """Follow gemm of a run of barriers: what it reads of shared memory by descriptors."""
    run, mma = call.run, call.values[0]
    if run.barriers is None:
        return
    at = run.find_own_place(call.node.span)
    run.barriers.note_product(run, at, at)
    note_gemm(call, at)
    fills = run.barriers.fills
    if not isinstance(mma, AsyncMma):
        fills.stages.open = True
    for operand in call.values[-3:-1] if isinstance(mma, AsyncMma) else ():
        place = _find_place(run, operand)
        fills.stages.note_read(place, count_bytes(operand), at)
        if place is not None:
            fills.note_read(run, place, call.node.span)


def count_bytes(target: Any) -> int | None:
    """Return the bytes of a tensor, None if they are not known."""
    if not isinstance(target, CuteTensor) or target.base is None or target.base.offset is None:
        return None
    return int(target.layout.size * target.base.type.size)


def _make_atom(call: CuteCall) -> TmaCopy:
    """Evaluate make_tma_atom and make_tma_copy(operation, tensor, layout[, tile[, multicast]])."""
    layout = call.values[2] if len(call.values) > 2 else None
    plain = not call.templates and not call.name.endswith("_sm100") and "IM2COL" not in str(call.values[0])
    if not plain or not isinstance(layout, CuteLayout):
        return TmaCopy(call.node.span)
    whole = (
        isinstance(call.values[1], CuteTensor) and call.values[1].space == "global" and len(call.values) < _MULTICAST
    )
    made = TmaCopy(call.node.span, tensor=call.values[1] if whole else None)
    misfit = _find_misfit(call, layout)
    sizes = tuple(mode.size for mode in layout.modes)
    tensor, tile = call.values[1], (*call.values[3:], sizes)[0]
    if not isinstance(tensor, CuteTensor) or tile != sizes or len(sizes) != tensor.layout.rank:
        return replace(made, misfit=misfit)  # modes of the layout may be of an instruction
    misfit, box = misfit or _find_other_major(call, tensor, layout), _count_box(layout)
    box = box if len(call.values) < _MULTICAST else 0  # which divides the box
    return replace(made, misfit=misfit, box=(box, call.run.find_own_place(call.node.arguments[2].span)))


def _list_runs(layout: CuteLayout) -> list[tuple[int, int, int]]:
    """List (stride, extent, mode) of a layout without its swizzle, from the contiguous elements on."""
    return sorted((step, size, n) for n, mode in enumerate(layout.modes) for size, step in mode.digits if size > 1)


def _count_box(layout: CuteLayout) -> int:
    """Return the elements of a layout that a box of TMA has: all of them if each mode is one line of at most 256, of
    elements that follow each other; else 0.
    """
    past = 1
    order: list[int] = []
    for stride, extent, mode in _list_runs(layout):
        if stride != past:
            return 0
        past *= extent
        order += [mode] if order[-1:] != [mode] else []
    sizes = [mode.size for mode in layout.modes]
    return past if len(set(order)) == len(order) and all(size <= _LONGEST_BOX for size in sizes) else 0


def _find_other_major(call: CuteCall, tensor: CuteTensor, layout: CuteLayout) -> tuple[str, tuple[int, int]] | None:
    """Return why a tensor in global memory does not fit a layout: TMA keeps the contiguous dimension of the tensor
    contiguous (copy_traits_sm90_tma.hpp).
    """
    runs = _list_runs(layout)
    if not runs or runs[0][0] != 1 or tensor.space != "global":
        return None
    firsts = [next(iter(list_leaves(mode.stride))) for mode in tensor.layout.modes]
    if firsts[runs[0][2]] == 1 or firsts.count(1) != 1:
        return None
    why = (
        f"Mode {runs[0][2]} is contiguous in the layout in shared memory, and mode {firsts.index(1)} in the tensor in"
        " global memory: a TMA copy needs the same one."
    )
    return why, call.run.find_own_place(call.node.arguments[1].span)


def _find_misfit(call: CuteCall, layout: CuteLayout) -> tuple[str, tuple[int, int]] | None:
    """Return why CuTe does not compile a TMA atom whose tile and layout differ in size (copy_traits_sm90_tma.hpp)."""
    values = call.values
    tile = measure(values[3]) if len(values) > 3 and isinstance(values[3], tuple) else None
    if not isinstance(tile, int):  # or the number of blocks of a multicast
        return None
    if layout.size == tile or is_open_extent(layout.size) or is_open_extent(tile):
        return None
    why = (
        f"The tile has {tile:,} elements and the layout in shared memory {layout.size:,}: CuTe compiles a TMA copy only"
        " if both have the same size."
    )
    return why, call.run.find_own_place(call.node.arguments[3].span)


def _partition_tiles(call: CuteCall) -> tuple[Any, Any] | None:
    """Evaluate tma_partition(atom, coordinate, layout of blocks, tile in shared memory, tensor in global memory)."""
    if len(call.values) != _OF_PARTITION:
        return None
    atom, tile, tensor = call.values[0], *call.values[3:]
    run, sizes = call.run, [one.layout.modes[0].size for one in (tile, tensor) if isinstance(one, CuteTensor)]
    if run.barriers is not None and len(set(sizes)) == 2 and not any(map(is_open_extent, sizes)):
        why = (
            f"The tile in shared memory has {sizes[0]:,} elements and that in global memory {sizes[1]:,}: CuTe does not"
            " compile this tma_partition."
        )
        trace, of_atom = run.barriers.asynchronous, getattr(atom, "misfit", None)
        trace.misfit = trace.misfit or of_atom or (why, run.find_own_place(call.node.span))
    elif run.barriers is None and (call.values[1] != 0 or measure(call.values[2]) != 1):
        return None, None  # a part for each block of a cluster
    return (tensor, tile) if isinstance(atom, TmaCopy) else None


FUNCTIONS: dict[str, Callable[[CuteCall], Any]] = {
    **dict.fromkeys(("make_tma_atom", "make_tma_copy", "make_tma_atom_A_sm100", "make_tma_atom_B_sm100"), _make_atom),
    "CUTE_STATIC_V": lambda call: call.values[0],
    **dict.fromkeys(SMEM_SELECTORS, _select_atom),
    "cooperative_copy": _fill,
    "tma_partition": _partition_tiles,
    "make_tmem_copy": lambda call: make_load(call.values[1]),
}
