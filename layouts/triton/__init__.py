"""Triton's layouts as linear layouts: which register, lane and warp, or place in memory, holds each element.

    linear("nvidia_mma", {"versionMajor": 2, "warpsPerCTA": [2, 2], "instrShape": [16, 8]}, (32, 32))

Kinds and parameters have MLIR's names; a parent is {"attribute": kind, "params": …}. Triton 3.9:
lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp, which the tests execute.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.triton.amd import is_amd as is_amd
from lanescope.triton.linear import LinearLayout
from lanescope.triton.memory import MEMORY, get_rank as get_rank, list_paddings as list_paddings
from lanescope.triton.parameters import (
    DISTRIBUTED as DISTRIBUTED,
    MOST_RANK as MOST_RANK,
    MOST_SIZE as MOST_SIZE,
    SHARED as SHARED,
    TENSOR as TENSOR,
    Params,
    make_layout,
)
from lanescope.triton.tensor import TENSORS, mask_occupied as mask_occupied
from lanescope.triton.threads import THREADS

KINDS = {**THREADS, **MEMORY, **TENSORS}


def make_linear_layout(kind: str, params: Params, shape: Sequence[int], element_bits: int = 16) -> LinearLayout:
    """Return the linear layout of a kind over a tensor.

    Indices: register, lane, warp and block; offset and block for shared memory; row, col and block for tensor memory.
    """
    return make_layout(KINDS, kind, params, shape, element_bits)
