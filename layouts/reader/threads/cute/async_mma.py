"""TiledMMA of wgmma and tcgen05.mma: the parts of its operands, and gemm in a run for mbarriers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cxx.sizes import ELEMENT_NAMES
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.threads import WARPGROUP
from lanescope.reader.code.cute.cute_mmas import MAJOR_NAMES, tile_to_mma_shape
from lanescope.reader.cutlass_names.cutlass import choose_wgmma_shape, find_wgmma
from lanescope.reader.threads.cute.async_trace import locate_operand
from lanescope.reader.threads.cute.layout_calls import CuteCall
from lanescope.reader.threads.cute.layouts import make_strided
from lanescope.reader.threads.cute.tensors import CuteTensor, make_fragment
from lanescope.reader.threads.cute.tiled import MmaAtomName, ThreadSlice, make_tiled_mma, partition as partition_operand
from lanescope.reader.threads.language.numbers import LONG, Number, ThreadNumber, make_number
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.memory.storage import LocalMemory, spread_number
from lanescope.tiles.mma import SIDES, TiledMMA

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_TCGEN05 = re.compile(r"SM1\d\d_MMA_(?!\w*2x1SM)\w+_SS")
_WORD_BITS = 32
_HALF_BYTES = 2  # of the elements that may be MN-major
_K_BITS = 256  # of an operand along K in one dense instruction
_GROUPS = {"warpgroup_arrive": "fence", "warpgroup_commit_batch": "commit", "warpgroup_wait": "wait"}


@dataclass(frozen=True, slots=True)
class AsyncMma:
    """A TiledMMA of wgmma or tcgen05.mma, or a slice of it.

    shape: M, N and K of all its atoms; threads: of all its atoms, threads_of_atom: of one, 1 for tcgen05.mma; bytes: of
    an element of A and B; name: of the atom; majors: of A and B; atoms: their layout; thread: of a slice; scale:
    accumulate_ of every thread and the place of its last assignment, if it has one.
    """

    shape: tuple[int, int, int]
    threads: int
    threads_of_atom: int
    bytes: int = 0
    name: str = ""
    majors: tuple[str, str] = ("K", "K")
    atoms: CuteLayout = algebra.ONE
    thread: Number = None
    scale: list[Any] = field(default_factory=list, compare=False)

    @property
    def tiled(self) -> TiledMMA | None:
        """The TiledMMA of wgmma; None for tcgen05.mma, and if the types of the atom are not known."""
        return make_tiled_mma(MmaAtomName(self.name), self.atoms, ()) if self.name else None

    @property
    def is_followed(self) -> bool:
        """Whether it is known what its products read and compute."""
        return self.bytes > 0 if self.threads == 1 else self.tiled is not None

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
        shape = wgmma.sizes["m"], wgmma.sizes["n"], wgmma.sizes["k"]
        of_a, of_b = (MAJOR_NAMES.get(value, "K") for value in (*values, None, None)[:2])
        return AsyncMma(shape, 128, 128, _K_BITS // 8 // shape[2], name, (of_a, of_b))
    return _find_umma(values) if _TCGEN05.fullmatch(name) and len(values) > 4 and values[0] else None


def _find_umma(values: list[Any]) -> AsyncMma | None:
    """Return the atom of a tcgen05.mma; None if its M and N are not known."""
    m, n, bits = values[3], values[4], values[0].size * 8
    if not isinstance(m, int) or not isinstance(n, int):
        return None
    of_a, of_b = (MAJOR_NAMES.get(value, "") for value in (*values[5:7], None, None)[:2])
    words = isinstance(values[2], SizedType) and values[2].size * 8 == _WORD_BITS
    known = words and of_a and of_b
    return AsyncMma((m, n, _K_BITS // bits), 1, 1, values[0].size if known else 0, "", (of_a or "K", of_b or "K"))


def _select_operation(call: CuteCall) -> AsyncMma | None:
    """Evaluate ss_op_selector<A, B, D, TileShape_MNK, MajorA, MajorB>() and rs_op_selector."""
    a, b, d, tile, *majors = call.templates
    shape = choose_wgmma_shape(a.size * 8, tile[1])
    if shape is None:
        return None
    of_a, of_b = ("TF32" if one == "F32" else one for one in map(_name_element, (a, b)))
    ending = f"{call.name[0].upper()}S{'' if a.size == _HALF_BYTES else '_TN'}"
    name = f"SM90_{'x'.join(map(str, shape))}_{_name_element(d)}{of_a}{of_b}_{ending}"
    return find_async_mma(name, majors) or AsyncMma(shape, 128, 128, a.size)


def _name_element(element: Any) -> str:
    """Return the name of an element type in those of atoms, such as F16; "" for an unknown one."""
    if not isinstance(element, SizedType):
        return ""
    integer = f"{'S' if element.signed else 'U'}{element.size * 8}" if element.integer else ""
    known = ELEMENT_NAMES.get(element.name.rpartition("::")[2])
    return DTYPES[known].names.atom if known else integer


def make_async_mma(atom: AsyncMma, atoms: CuteLayout) -> AsyncMma:
    """Return the TiledMMA of an atom and its layout of atoms."""
    m, n, k = (*(mode.size for mode in atoms.modes), 1, 1)[:3]
    shape = atom.shape[0] * m, atom.shape[1] * n, atom.shape[2] * k
    return replace(atom, shape=shape, threads=atom.threads * m * n * k, atoms=atoms, scale=[])


def partition(run: KernelRunner, mma: AsyncMma, name: str, tensor: CuteTensor) -> CuteTensor | None:
    """Return a part of a tensor with the modes (MMA, MMA_M or _N, MMA_N or _K, …), or a fragment of one."""
    if name == "make_fragment_C" and mma.threads > 1:
        return make_accumulators(mma, tensor.layout)
    if run.barriers is None and mma.tiled is not None:
        return _partition_atoms(run, mma, mma.tiled, name, tensor)
    if name.startswith("make_fragment_"):
        return tensor
    operand = name[-1].lower()
    sizes = [mma.shape[side] for side in SIDES[operand]]
    modes = tensor.layout.modes
    if len(modes) < 2 or any(mode.size % size for mode, size in zip(modes, sizes, strict=False)):
        return None
    if operand == "c" and mma.threads > 1:
        part = _partition_sums(run, mma, tensor)
        return make_accumulators(mma, part.layout) if part is not None and "fragment" in name else part
    tile, *rest = algebra.tiled_divide(algebra.concatenate(*modes[:2]), tuple(sizes)).modes
    return replace(tensor, layout=algebra.concatenate(tile, *rest, *modes[2:]), operand=operand)


def _partition_atoms(
    run: KernelRunner, mma: AsyncMma, tiled: TiledMMA, name: str, tensor: CuteTensor
) -> CuteTensor | None:
    """Return a thread's part of a tensor for wgmma; None without the thread, and for a fragment of A in registers."""
    operand = name[-1].lower()
    if "fragment" in name and operand == "a" and operand not in tiled.atom.shared:
        return None
    if name.startswith("make_fragment_"):
        return tensor
    if not isinstance(mma.thread, ThreadNumber):
        return None
    part = partition_operand(run, ThreadSlice(tiled, mma.thread), f"partition_{name[-1]}", tensor)
    return make_accumulators(mma, part.layout) if "fragment" in name and operand == "c" else part


def _partition_sums(run: KernelRunner, mma: AsyncMma, tensor: CuteTensor) -> CuteTensor | None:
    """Return a thread's part of D of wgmma, with the modes ((2, 2, N/8), MMA_M, MMA_N) and open places."""
    (m, n, _), (rows, columns) = mma.shape, (mode.size for mode in tensor.layout.modes[:2])
    layout = make_strided(run, ((2, 2, m * n // mma.threads // 4), rows // m, columns // n), "left")
    return None if layout is None else replace(tensor, layout=layout, offset=None)


def make_accumulators(mma: AsyncMma, layout: CuteLayout) -> CuteTensor:
    """Return registers for a thread's part of D, of f32 unless the atom has another type."""
    bits = mma.tiled.atom.bits["c"] if mma.tiled is not None else _WORD_BITS
    element = SizedType("float", 4) if bits == _WORD_BITS else SizedType("auto", bits // 8)
    return make_fragment(algebra.make_fragment_like(layout), element)


def partition_accumulators(call: CuteCall) -> CuteTensor | None:
    """Evaluate partition_fragment_C(mma, shape) of wgmma."""
    run, (mma, shape) = call.run, call.values[:2]
    layout = make_strided(run, shape, "left")
    if layout is None or mma.threads == 1:
        return None
    mma = mma if mma.thread is not None else replace(mma, thread=make_number(0, LONG))  # all threads have as many
    return note_fragment(run, partition(run, mma, "partition_fragment_C", CuteTensor(None, layout)), call.node.span)


def note_fragment(run: KernelRunner, tensor: CuteTensor | None, site: tuple[int, int]) -> CuteTensor | None:
    """Note where registers are made that may be accumulators."""
    if tensor is not None and run.barriers is not None and is_in_registers(tensor):
        run.barriers.asynchronous.made[id(tensor.base.array)] = run.find_own_place(site)  # type: ignore[union-attr]
    return tensor


def _partition_shape(call: CuteCall) -> Any:
    """Evaluate partition_shape_A and partition_shape_B: ((MMA sizes), counts of MMA, …)."""
    mma, shape = call.values
    if not isinstance(mma, AsyncMma):
        return None
    sizes = [mma.shape[side] for side in SIDES[call.name[-1].lower()]]
    counts = (extent // size for extent, size in zip(shape, sizes, strict=False))
    return (tuple(sizes), *counts, *shape[2:])


def note_gemm(call: CuteCall, at: tuple[int, int]) -> None:
    """Note what gemm of wgmma reads and adds to."""
    run, mma = call.run, call.values[0]
    assert run.barriers is not None
    trace = run.barriers.asynchronous
    if not isinstance(mma, AsyncMma) or mma.threads == 1 or len(call.values) not in (4, 5):
        trace.lose("the TiledMMA of one is not known, or not of wgmma")
        return
    operands, sums = call.values[-3:-1], call.values[-1]
    tiles = tuple(locate_operand(run, one) for one in operands)
    lost = [one for one, tile in zip(operands, tiles, strict=True) if tile is None and not is_in_registers(one)]
    apart = len(call.values) == 5 and not _is_same(call.values[1], sums)
    if lost or not is_in_registers(sums) or apart:
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


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two tensors are the same registers, such as D and C of gemm."""
    known = is_in_registers(one) and is_in_registers(other)
    return known and one.base.array is other.base.array and one.layout == other.layout


def is_in_registers(tensor: Any) -> bool:
    return isinstance(tensor, CuteTensor) and tensor.base is not None and isinstance(tensor.base.array, LocalMemory)


def _follow_group(call: CuteCall) -> Any:
    """Note warpgroup_arrive, warpgroup_commit_batch and warpgroup_wait<N>."""
    run = call.run
    count = call.templates[0] if call.templates else 0
    if run.order is not None:
        run.order.step_groups(run.mask, _GROUPS[call.name], count if isinstance(count, int) else None)
        if call.name == "warpgroup_arrive" and run.threads // WARPGROUP == 1:
            # CUTLASS's wgmma_sm90.cu has no barrier between the warps of its only warpgroup
            run.order.pass_barrier(run.find_own_place(call.node.span))
    if run.barriers is not None:
        at, trace = run.find_own_place(call.node.span), run.barriers.asynchronous
        if isinstance(count, int):
            trace.add(run, _GROUPS[call.name], at, count=count)
        else:
            trace.lose("the groups that a warpgroup_wait leaves are not known")
    return ()


FUNCTIONS: dict[str, Callable[[CuteCall], Any]] = {
    **dict.fromkeys(_GROUPS, _follow_group),
    "warpgroup_fence_operand": lambda call: (),
    **dict.fromkeys(("ss_op_selector", "rs_op_selector"), _select_operation),
    **dict.fromkeys(("partition_shape_A", "partition_shape_B"), _partition_shape),
    "tile_to_mma_shape": lambda call: tile_to_mma_shape(call.values),
}
