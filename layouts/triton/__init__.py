"""Triton's layouts as linear layouts: which register, lane and warp hold which element, and where shared memory has it.

    linear("nvidia_mma", {"versionMajor": 2, "warpsPerCTA": [2, 2], "instrShape": [16, 8]}, (32, 32))

Kinds and parameters are MLIR's names; a parent is {"attribute": kind, "params": …}. Triton 3.9:
lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp, which the tests run.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.triton.linear import Linear
from lanescope.triton.memory import MEMORY, own_rank, padding
from lanescope.triton.parameters import DISTRIBUTED, MOST_RANK, MOST_SIZE, SHARED, TENSOR, Params, made
from lanescope.triton.tensor import TENSORS, held
from lanescope.triton.threads import THREADS

__all__ = ["DISTRIBUTED", "MOST_RANK", "MOST_SIZE", "SHARED", "TENSOR", "held", "linear", "own_rank", "padding"]

KINDS = {**THREADS, **MEMORY, **TENSORS}


def linear(kind: str, params: Params, shape: Sequence[int], element_bits: int = 16) -> Linear:
    """Return the linear layout of a tensor of a shape.

    Its indices: register, lane, warp and block; of shared memory offset and block; of tensor memory row, col and block.
    """
    return made(KINDS, kind, params, shape, element_bits)
