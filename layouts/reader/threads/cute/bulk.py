"""TMA copies and asynchronous products of CuTe, as far as barriers depend on them: sizes of tiles, not elements."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import list_leaves
from lanescope.ptx.table.kinds import MAJORS
from lanescope.reader.code.cute.cute_mmas import SMEM_SELECTORS, tile_to_mma_shape
from lanescope.reader.code.cute.cute_values import make_canonical_atom
from lanescope.reader.cute.smem_atoms import choose_smem_atom
from lanescope.reader.cutlass_names.cutlass import choose_wgmma_shape, find_wgmma
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent, TraceLostError
from lanescope.reader.threads.cute.async_trace import (
    list_element_indices,
    locate_operand,
    locate_tile,
    make_coordinate_strides,
)
from lanescope.reader.threads.cute.layout_calls import CuteCall, measure
from lanescope.reader.threads.cute.layouts import make_strided
from lanescope.reader.threads.cute.open_strides import is_open_extent
from lanescope.reader.threads.cute.tensors import CuteTensor, make_fragment
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.memory.storage import LocalMemory, Pointer, spread_coefficient, spread_number

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_TCGEN05 = re.compile(r"SM1\d\d_MMA_(?!\w*2x1SM)\w+_SS")
_K_BITS = 256  # of an instruction's operand along K, but for sparse ones
_MAJORS = {code: name for name, code in MAJORS.items()}
_TILE_RANK = 3  # of a TileCopy's part of a tile that no coordinate divides: (CPY, CPY_M, CPY_N)
_SIDES = {"a": (0, 2), "b": (1, 2), "c": (0, 1)}  # the modes of an instruction's shape that an operand has


@dataclass(frozen=True, slots=True, eq=False)
class TmaCopy:
    """A TMA atom. site: of the call that makes it; barrier: the mbarrier that its bytes arrive on, None before .with();
    misfit: why CuTe does not compile it, and the place of that.
    """

    site: tuple[int, int] = (0, 0)
    barrier: Pointer | None = None
    misfit: tuple[str, tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True)
class TileCopy:
    """A TiledCopy for a TiledMMA whose threads' parts are not followed, or a slice of it: it copies whole tiles."""


@dataclass(frozen=True, slots=True)
class AsyncMma:
    """A TiledMMA of wgmma or tcgen05.mma, or a slice of it. shape: M, N and K of all its atoms; threads: also those of
    one atom, 1 for tcgen05.mma; bytes: of an element of A and B; scale: its accumulate_ of every thread, if that
    was set, and where.
    """

    shape: tuple[int, int, int]
    threads: int
    threads_of_atom: int
    bytes: int = 0
    scale: list[Any] = field(default_factory=list, compare=False)

    def set_scale(self, run: KernelRunner, value: Any, site: tuple[int, int]) -> None:
        """Set accumulate_ for the running threads: whether products add to their accumulators."""
        before = self.scale[0] if self.scale else np.ones(run.threads, np.int64)
        values = spread_number(value, run.threads)
        self.scale[:] = [None if values is None or before is None else np.where(run.mask, values, before), site]

    def find_scale(self, run: KernelRunner) -> bool | None:
        """Return whether products of the running threads add to their accumulators, None if it is not known."""
        if not self.scale:
            return True
        found = set() if self.scale[0] is None else set((self.scale[0][run.mask] != 0).tolist())
        return found.pop() if len(found) == 1 else None


def set_accumulation(run: KernelRunner, mma: Any, value: Any, site: tuple[int, int]) -> None:
    """Run mma.accumulate_ = value."""
    if isinstance(mma, AsyncMma):
        mma.set_scale(run, value, run.find_own_place(site))
    elif run.barriers is not None:
        run.barriers.asynchronous.lose("the TiledMMA whose accumulate_ is set is not known")


def find_async_mma(name: str, values: list[Any]) -> AsyncMma | None:
    """Return the atom of a wgmma or a tcgen05.mma of one CTA by its name; None for another one."""
    wgmma = find_wgmma(name)
    if wgmma is not None:
        return AsyncMma(
            (wgmma.sizes["m"], wgmma.sizes["n"], wgmma.sizes["k"]), 128, 128, _K_BITS // 8 // wgmma.sizes["k"]
        )
    if not _TCGEN05.fullmatch(name) or len(values) < 5 or not values[0]:
        return None
    m, n, bits = values[3], values[4], values[0].size * 8
    known = isinstance(m, int) and isinstance(n, int)
    return AsyncMma((m, n, _K_BITS // bits), 1, 1) if known else None


def _select_operation(call: CuteCall) -> AsyncMma | None:
    """Evaluate ss_op_selector<A, B, D, TileShape_MNK, …>() and rs_op_selector."""
    element, _, _, tile = call.templates[:4]
    shape = choose_wgmma_shape(element.size * 8, tile[1])
    return None if shape is None else AsyncMma(shape, 128, 128, element.size)


def _select_atom(call: CuteCall) -> CuteLayout | None:
    """Evaluate ss_smem_selector<Major, T, BLK_MN, BLK_K>() and sm100_smem_selector."""
    major, element, rows, columns = call.templates
    block = columns if major == MAJORS["K"] else rows
    run = block[0] if isinstance(block, tuple) else block
    bits = element.size * 8
    atom = choose_smem_atom(call.name, _MAJORS[major], bits, run)
    return None if atom is None else algebra.swizzle_elements(make_canonical_atom(atom, bits))


def make_async_mma(atom: AsyncMma, atoms: CuteLayout) -> AsyncMma:
    """Return the TiledMMA of an atom and its layout of atoms."""
    m, n, k = (*(mode.size for mode in atoms.modes), 1, 1)[:3]
    shape = atom.shape[0] * m, atom.shape[1] * n, atom.shape[2] * k
    return AsyncMma(shape, atom.threads * m * n * k, atom.threads, atom.bytes)


def call_member(run: KernelRunner, owner: TmaCopy | TileCopy | AsyncMma, name: str, call: Any, scope: Any) -> Any:
    """Return the result of a member function; None if it has none, or is not followed."""
    values = [run.evaluate(argument, scope) for argument in call.arguments]
    if name in ("get_slice", "get_thread_slice"):
        return owner
    first = values[0] if values else None
    if isinstance(owner, AsyncMma):
        part = _partition(run, owner, name, first) if isinstance(first, CuteTensor) else None
        return note_made(run, part, call.span)
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
    place = run.find_place(call.arguments[0], scope) if call.arguments else None
    mask = run.evaluate(call.arguments[1], scope) if len(call.arguments) > 1 else None
    if not isinstance(place, Pointer) or (len(call.arguments) > 1 and getattr(mask, "known", None) not in (0, 1)):
        raise TraceLostError
    return replace(atom, barrier=place)


def _partition(run: KernelRunner, mma: AsyncMma, name: str, tensor: CuteTensor) -> CuteTensor | None:
    """Return a part of a tensor with the modes (MMA, MMA_M or _N, MMA_N or _K, …), or a fragment of one."""
    if name == "make_fragment_C" and mma.threads > 1:
        return make_accumulators(tensor.layout)
    if name.startswith("make_fragment_"):
        return tensor
    operand = name[-1].lower()
    sizes = [mma.shape[side] for side in _SIDES[operand]]
    modes = tensor.layout.modes
    if len(modes) < 2 or any(mode.size % size for mode, size in zip(modes, sizes, strict=False)):
        return None
    if operand == "c" and mma.threads > 1:
        part = _partition_sums(run, mma, tensor)
        return make_accumulators(part.layout) if part is not None and "fragment" in name else part
    tile, *rest = algebra.tiled_divide(algebra.concatenate(*modes[:2]), tuple(sizes)).modes
    return replace(tensor, layout=algebra.concatenate(tile, *rest, *modes[2:]), operand=operand)


def _partition_sums(run: KernelRunner, mma: AsyncMma, tensor: CuteTensor) -> CuteTensor | None:
    """Return a thread's part of D of wgmma, with the modes ((2, 2, N/8), MMA_M, MMA_N) and open places."""
    (m, n, _), (rows, columns) = mma.shape, (mode.size for mode in tensor.layout.modes[:2])
    layout = make_strided(run, ((2, 2, m * n // mma.threads // 4), rows // m, columns // n), "left")
    return None if layout is None else replace(tensor, layout=layout, offset=None)


def make_accumulators(layout: CuteLayout) -> CuteTensor:
    """Return registers of f32 for a thread's part of D."""
    return make_fragment(algebra.make_fragment_like(layout), SizedType("float", 4))


def partition_accumulators(call: CuteCall) -> CuteTensor | None:
    """Evaluate partition_fragment_C(mma, shape) of wgmma."""
    run, (mma, shape) = call.run, call.values[:2]
    layout = make_strided(run, shape, "left")
    if layout is None or mma.threads == 1:
        return None
    return note_made(run, _partition(run, mma, "partition_fragment_C", CuteTensor(None, layout)), call.node.span)


def note_made(run: KernelRunner, tensor: CuteTensor | None, site: tuple[int, int]) -> CuteTensor | None:
    """Note where registers are made that may be accumulators."""
    if tensor is not None and run.barriers is not None and _is_in_registers(tensor):
        run.barriers.asynchronous.made[id(tensor.base.array)] = run.find_own_place(site)  # type: ignore[union-attr]
    return tensor


def _partition_shape(call: CuteCall) -> Any:
    """Evaluate partition_shape_A and partition_shape_B: ((MMA sizes), counts of MMA, …)."""
    mma, shape = call.values
    if not isinstance(mma, AsyncMma):
        return None
    sizes = [mma.shape[side] for side in _SIDES[call.name[-1].lower()]]
    counts = (extent // size for extent, size in zip(shape, sizes, strict=False))
    return (tuple(sizes), *counts, *shape[2:])


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
    _note_gemm(call, at)
    fills = run.barriers.fills
    if not isinstance(mma, AsyncMma):
        fills.stages.open = True
    for operand in call.values[-3:-1] if isinstance(mma, AsyncMma) else ():
        place = _find_place(run, operand)
        fills.stages.note_read(place, count_bytes(operand), at)
        if place is not None:
            fills.note_read(run, place, call.node.span)


def _note_gemm(call: CuteCall, at: tuple[int, int]) -> None:
    """Note what gemm of wgmma reads and adds to."""
    run, mma = call.run, call.values[0]
    assert run.barriers is not None
    trace = run.barriers.asynchronous
    if not isinstance(mma, AsyncMma) or mma.threads == 1 or len(call.values) not in (4, 5):
        trace.lose("the TiledMMA of one is not known, or not of wgmma")
        return
    operands, sums = call.values[-3:-1], call.values[-1]
    tiles = tuple(locate_operand(run, one) for one in operands)
    lost = [one for one, tile in zip(operands, tiles, strict=True) if tile is None and not _is_in_registers(one)]
    if lost or not _is_in_registers(sums) or len(call.values) == 5:
        trace.lose("what one multiplies, or adds to, is not known")
        return
    trace.sized &= all(one.base is not None and one.base.type.size == mma.bytes for one in operands)
    sites = tuple(run.find_own_place(node.span) for node in call.node.arguments[-3:-1])
    trace.note_product(
        run,
        at,
        sums.base.array,
        adds=mma.find_scale(run),
        tiles=tiles,
        sites=sites,
        scale=next(iter(mma.scale[1:]), None),
    )


def _is_in_registers(tensor: Any) -> bool:
    return isinstance(tensor, CuteTensor) and tensor.base is not None and isinstance(tensor.base.array, LocalMemory)


def _follow_group(call: CuteCall) -> Any:
    """Note warpgroup_arrive, warpgroup_commit_batch and warpgroup_wait<N>."""
    run = call.run
    if run.barriers is not None:
        count = call.templates[0] if call.templates else 0
        at, trace = run.find_own_place(call.node.span), run.barriers.asynchronous
        if isinstance(count, int):
            trace.add(run, _GROUPS[call.name], at, count=count)
        else:
            trace.lose("the groups that a warpgroup_wait leaves are not known")
    return ()


def count_bytes(target: Any) -> int | None:
    """Return the bytes of a tensor, None if they are not known."""
    if not isinstance(target, CuteTensor) or target.base is None or target.base.offset is None:
        return None
    return int(target.layout.size * target.base.type.size)


def _make_atom(call: CuteCall) -> TmaCopy:
    """Evaluate make_tma_atom and make_tma_copy(operation, tensor, layout[, tile[, multicast]])."""
    return TmaCopy(call.node.span, misfit=_find_misfit(call))


def _find_misfit(call: CuteCall) -> tuple[str, tuple[int, int]] | None:
    """Return why a layout and a tile have different sizes, which CuTe does not compile (copy_traits_sm90_tma.hpp)."""
    values = call.values
    if len(values) < 4 or not isinstance(values[3], tuple) or call.templates or call.name.endswith("_sm100"):
        return None  # of int it is the number of blocks of a multicast
    layout, tile = values[2], measure(values[3])
    if not isinstance(layout, CuteLayout) or not isinstance(tile, int) or "IM2COL" in str(values[0]):
        return None
    if layout.size == tile or is_open_extent(layout.size) or is_open_extent(tile):
        return None
    why = (
        f"The tile has {tile:,} elements, and the layout in shared memory {layout.size:,}: CuTe does not compile a TMA"
        " copy whose tile and layout differ."
    )
    return why, call.run.find_own_place(call.node.arguments[3].span)


_GROUPS = {"warpgroup_arrive": "fence", "warpgroup_commit_batch": "commit", "warpgroup_wait": "wait"}
FUNCTIONS: dict[str, Callable[[CuteCall], Any]] = {
    **dict.fromkeys(("make_tma_atom", "make_tma_copy", "make_tma_atom_A_sm100", "make_tma_atom_B_sm100"), _make_atom),
    **dict.fromkeys(_GROUPS, _follow_group),
    "warpgroup_fence_operand": lambda call: (),
    "CUTE_STATIC_V": lambda call: call.values[0],
    **dict.fromkeys(("ss_op_selector", "rs_op_selector"), _select_operation),
    **dict.fromkeys(SMEM_SELECTORS, _select_atom),
    **dict.fromkeys(("partition_shape_A", "partition_shape_B"), _partition_shape),
    "tile_to_mma_shape": lambda call: tile_to_mma_shape(call.values),
    "cooperative_copy": _fill,
    "tma_partition": lambda call: (call.values[4], call.values[3]) if len(call.values) == 5 else None,
}
