"""Special registers. PTX ISA 9.1, chapter 10."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.descriptor.matrix import SHARED_BEGIN
from lanescope.emulate.state.block import Block, Group
from lanescope.ptx.threads import WARP

Array = NDArray[Any]
_AXES = ".x", ".y", ".z"


def compute_special(group: Group, name: str) -> Array:
    """Return a special register of all threads of the group's block, [threads] or a scalar; uint64."""
    block = group.block
    if name.startswith(("%clock", "%globaltimer")):  # statements executed, so that time advances
        shift = 32 if name.endswith("_hi") else 0
        return np.array(group.run.machine.steps >> shift, np.uint64)
    values = _compute(block, name)
    block.special[name] = values
    return values


def is_known(name: str) -> bool:
    """Return whether the emulator has a value for a special register."""
    stem = name[:-2] if name.endswith(_AXES) else name
    masks = [f"%lanemask_{mask}" for mask in _MASKS]
    return name.startswith(("%clock", "%globaltimer")) or stem in ("%tid", "%laneid", "%warpid", *masks, *_SCALARS)


def _compute(block: Block, name: str) -> Array:
    stem, axis = (name[:-2], "xyz".index(name[-1])) if name.endswith(_AXES) else (name, 0)
    threads = np.arange(block.padded, dtype=np.uint64)
    lane = threads % np.uint64(WARP)
    if stem == "%tid":
        x, y, _ = block.shape
        return (threads % np.uint64(x), threads // np.uint64(x) % np.uint64(y), threads // np.uint64(x * y))[axis]
    if stem == "%laneid":
        return lane
    if stem == "%warpid":
        return threads // np.uint64(WARP)
    if stem.startswith("%lanemask_"):
        return _MASKS[stem.removeprefix("%lanemask_")](lane)
    return np.array(_SCALARS[stem](block, axis), np.uint64)


_ONE, _ALL = np.uint64(1), np.uint64(0xFFFFFFFF)
_MASKS: dict[str, Callable[[Array], Array]] = {
    "eq": lambda lane: _ONE << lane,
    "lt": lambda lane: (_ONE << lane) - _ONE,
    "le": lambda lane: (_ONE << lane + _ONE) - _ONE,
    "ge": lambda lane: _ALL ^ ((_ONE << lane) - _ONE),
    "gt": lambda lane: _ALL ^ ((_ONE << lane + _ONE) - _ONE),
}


def _rank_in_cluster(block: Block, axis: int) -> int:
    return block.index[axis] % block.run.shape[axis]


_SCALARS: dict[str, Callable[[Block, int], int]] = {
    "%ntid": lambda block, axis: block.shape[axis],
    "%ctaid": lambda block, axis: block.index[axis],
    "%nctaid": lambda block, axis: block.run.grid[axis],
    "%nwarpid": lambda block, axis: block.padded // WARP,
    "%clusterid": lambda block, axis: block.run.index[axis],
    "%nclusterid": lambda block, axis: block.run.grid[axis] // block.run.shape[axis],
    "%cluster_ctaid": _rank_in_cluster,
    "%cluster_nctaid": lambda block, axis: block.run.shape[axis],
    "%cluster_ctarank": lambda block, axis: block.rank,
    "%cluster_nctarank": lambda block, axis: len(block.run.blocks),
    "%is_explicit_cluster": lambda block, axis: int(block.run.is_cluster),
    "%smid": lambda block, axis: block.linear_index % 132,
    "%nsmid": lambda block, axis: 132,
    "%gridid": lambda block, axis: 1,
    "%dynamic_smem_size": lambda block, axis: block.run.machine.dynamic_shared,
    "%total_smem_size": lambda block, axis: block.shared.size,
    # measured on an H200 (sm_90): the first 1024 bytes are reserved; the system uses 288 of them
    "%aggr_smem_size": lambda block, axis: block.shared.size + SHARED_BEGIN,
    "%reserved_smem_offset_begin": lambda block, axis: 0,
    "%reserved_smem_offset_end": lambda block, axis: 288,
    "%reserved_smem_offset_cap": lambda block, axis: SHARED_BEGIN,
}
