"""TMA copies and asynchronous products of CuTe, as far as barriers depend on them: sizes of tiles, not elements."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.reader.code.cute_mmas import tile_to_mma_shape
from lanescope.reader.cutlass import find_wgmma
from lanescope.reader.threads.barrier_trace import BarrierEvent, TraceLostError
from lanescope.reader.threads.cute.layout_calls import CuteCall
from lanescope.reader.threads.cute.layouts import make_strided
from lanescope.reader.threads.cute.tensors import CuteTensor
from lanescope.reader.threads.numbers import ThreadNumber
from lanescope.reader.threads.storage import Pointer, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_TCGEN05 = re.compile(r"SM1\d\d_MMA_(?!\w*2x1SM)\w+_SS")
_K_BITS = 256  # of an instruction's operand along K, of plain tcgen05.mma
_SIDES = {"a": (0, 2), "b": (1, 2), "c": (0, 1)}  # the modes of an instruction's shape that an operand has


@dataclass(frozen=True, slots=True, eq=False)
class TmaCopy:
    """A TMA atom. barrier: the mbarrier that its bytes arrive on, None before .with()."""

    barrier: Pointer | None = None


@dataclass(frozen=True, slots=True)
class AsyncMma:
    """A TiledMMA of wgmma or tcgen05.mma, or a slice of it. shape: M, N and K of all its atoms; threads: also those of
    one atom, 1 for tcgen05.mma.
    """

    shape: tuple[int, int, int]
    threads: int
    threads_of_atom: int


def find_async_mma(name: str, values: list[Any]) -> AsyncMma | None:
    """Return the atom of a wgmma or a tcgen05.mma of one CTA by its name; None for another one."""
    wgmma = find_wgmma(name)
    if wgmma is not None:
        return AsyncMma((wgmma.sizes["m"], wgmma.sizes["n"], wgmma.sizes["k"]), 128, 128)
    if not _TCGEN05.fullmatch(name) or len(values) < 5 or not values[0]:
        return None
    m, n, bits = values[3], values[4], values[0].size * 8
    known = isinstance(m, int) and isinstance(n, int)
    return AsyncMma((m, n, _K_BITS // bits), 1, 1) if known else None


def make_async_mma(atom: AsyncMma, atoms: CuteLayout) -> AsyncMma:
    """Return the TiledMMA of an atom and its layout of atoms."""
    m, n, k = (*(mode.size for mode in atoms.modes), 1, 1)[:3]
    shape = atom.shape[0] * m, atom.shape[1] * n, atom.shape[2] * k
    return AsyncMma(shape, atom.threads * m * n * k, atom.threads)


def call_member(run: KernelRunner, owner: TmaCopy | AsyncMma, name: str, call: Any, scope: Any) -> Any:
    """Return the result of a member function; None if it has none, or is not followed."""
    values = [run.evaluate(argument, scope) for argument in call.arguments]
    if name in ("get_slice", "get_thread_slice"):
        return owner
    first = values[0] if values else None
    if isinstance(owner, AsyncMma):
        return _partition(run, owner, name, first) if isinstance(first, CuteTensor) else None
    if name == "with":
        return _attach(run, call, scope)
    if name == "get_tma_tensor":
        layout = make_strided(run, first, "left")
        return CuteTensor(None, layout) if layout is not None else None
    return first if name.startswith("partition_") else None


def _attach(run: KernelRunner, call: Any, scope: Any) -> TmaCopy:
    """Return a TMA atom with an mbarrier: TraceLostError if it is not known, or bytes go to other blocks, too."""
    place = run.find_place(call.arguments[0], scope) if call.arguments else None
    mask = run.evaluate(call.arguments[1], scope) if len(call.arguments) > 1 else None
    if not isinstance(place, Pointer) or (len(call.arguments) > 1 and getattr(mask, "known", None) not in (0, 1)):
        raise TraceLostError
    return TmaCopy(place)


def _partition(run: KernelRunner, mma: AsyncMma, name: str, tensor: CuteTensor) -> CuteTensor | None:
    """Return a part of a tensor with the modes (MMA, MMA_M or _N, MMA_N or _K, …), or a fragment of one."""
    if name.startswith("make_fragment_"):
        return tensor
    sizes = [mma.shape[side] for side in _SIDES[name[-1].lower()]]
    modes = tensor.layout.modes
    if len(modes) < 2 or any(mode.size % size for mode, size in zip(modes, sizes, strict=False)):
        return None
    counts = (mode.size // size for mode, size in zip(modes, sizes, strict=False))
    layout = make_strided(run, (tuple(sizes), *counts), "left")
    return None if layout is None else replace(tensor, layout=algebra.concatenate(*layout.modes, *modes[2:]))


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
    if run.barriers is None or atom.barrier is None or not run.mask.any():
        return
    address = atom.barrier.shared_address
    if address is None or address.const is None:
        raise TraceLostError
    places = spread_coefficient(address.const, run.threads)
    ones = np.ones(run.threads, np.int64)
    at = run.find_own_place(call.node.span)
    run.barriers.bytes.note_copied(run.mask, places, count_bytes(call.values[-1]), at)
    run.barriers.add(run, BarrierEvent("copy", run.mask.copy(), places, ones, at, at))


def _fill(call: CuteCall) -> None:
    """Follow cooperative_copy<threads>(thread, source, destination)."""
    note_fill(call, call.values[-1])


def note_fill(call: CuteCall, target: Any) -> None:
    """Note a copy of threads to shared memory."""
    trace, place = call.run.barriers, _find_place(target)
    if trace is not None and place is not None:
        trace.note_fill(call.run, place, call.node.span)


def _find_place(tensor: Any) -> tuple[Pointer, int] | None:
    """Return the array of a tensor in shared memory, and where in it the tensor begins; None if that is not known.

    Stages are parts of one array.
    """
    if not isinstance(tensor, CuteTensor) or tensor.base is None or tensor.base.space != "shared":
        return None
    offset = tensor.offset.known if isinstance(tensor.offset, ThreadNumber) else None
    return None if offset is None else (tensor.base, offset)


def follow_product(call: CuteCall) -> None:
    """Follow gemm of a run of barriers: what it reads of shared memory by descriptors."""
    run, mma = call.run, call.values[0]
    if run.barriers is None:
        return
    run.barriers.note_product(run, call.node.span)
    for operand in call.values[-3:-1] if isinstance(mma, AsyncMma) else ():
        place = _find_place(operand)
        if place is not None:
            run.barriers.note_read(run, place, call.node.span)


def count_bytes(target: Any) -> int | None:
    """Return the bytes of a tensor, None if they are not known."""
    if not isinstance(target, CuteTensor) or target.base is None or target.base.offset is None:
        return None
    return int(target.layout.size * target.base.type.size)


FUNCTIONS: dict[str, Callable[[CuteCall], Any]] = {
    **dict.fromkeys(
        ("make_tma_atom", "make_tma_copy", "make_tma_atom_A_sm100", "make_tma_atom_B_sm100"), lambda call: TmaCopy()
    ),
    **dict.fromkeys(("partition_shape_A", "partition_shape_B"), _partition_shape),
    "tile_to_mma_shape": lambda call: tile_to_mma_shape(call.values),
    "cooperative_copy": _fill,
    "tma_partition": lambda call: (call.values[4], call.values[3]) if len(call.values) == 5 else None,
}
