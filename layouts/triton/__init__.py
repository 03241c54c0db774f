"""Triton's layouts as linear layouts: which register, lane and warp hold which element, and where shared memory has it.

    linear("nvidia_mma", {"versionMajor": 2, "warpsPerCTA": [2, 2], "instrShape": [16, 8]}, (32, 32))

Kinds and parameters are MLIR's names; a parent is {"attribute": kind, "params": …}. Triton 3.9:
lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp, which the tests run.
"""

from __future__ import annotations

from collections.abc import Sequence

from layouts.linear import Linear
from layouts.triton.memory import MEMORY, padding
from layouts.triton.parameters import DISTRIBUTED, MOST_SIZE, SHARED, Params, made
from layouts.triton.threads import THREADS

__all__ = ["DISTRIBUTED", "MOST_SIZE", "SHARED", "linear", "padding"]

KINDS = {**THREADS, **MEMORY}


def linear(kind: str, params: Params, shape: Sequence[int], element_bits: int = 16) -> Linear:
    """The linear layout of a tensor of a shape: indices register, lane, warp and block, or offset and block."""
    return made(KINDS, kind, params, shape, element_bits)
