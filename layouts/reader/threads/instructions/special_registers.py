"""threadIdx, blockIdx and similar variables of CUDA C++, and the special registers of PTX that they stand for."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from lanescope.reader.threads.language.numbers import LONG, UINT, ThreadNumber, make_name, make_number, make_uniform
from lanescope.reader.threads.language.places import DIMS
from lanescope.reader.threads.language.types import SizedType, find_builtin
from lanescope.reader.threads.memory.storage import LocalMemory, Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_OF_CLUSTER = re.compile(r"n?clusterid|cluster_n?cta(?:id|rank)")
_INT_BYTES = 4
SPECIAL = ("threadIdx", "blockIdx", "blockDim", "gridDim")
SPECIAL_TYPE = find_builtin("uint3") or SizedType("uint3", 12)
_VARIABLES = {"tid": "threadIdx", "ntid": "blockDim", "ctaid": "blockIdx", "nctaid": "gridDim"}


def read_register(run: KernelRunner, token: str) -> ThreadNumber | None:
    """Return the value of a special register such as %laneid or %ctaid.x, None if it is not known.

    PTX ISA 9.1, 10; in inline asm with operands it is written with two %.
    """
    name, _, dim = token.lstrip("%").partition(".")
    if name == "laneid":
        return make_number(np.arange(run.threads, dtype=np.int64) % 32, UINT)
    if name in _VARIABLES and dim in DIMS:
        return read_variable(run, _VARIABLES[name], dim)
    known = run.cluster.find_register(name, DIMS.get(dim, 0)) if run.cluster is not None else None
    if known is not None:
        return make_uniform(known, UINT)
    return make_name(token.lstrip("%"), UINT) if _OF_CLUSTER.fullmatch(name) else None


def read_variable(run: KernelRunner, name: str, dim: str) -> ThreadNumber:
    """Return threadIdx.x, blockIdx.x and similar variables."""
    at = DIMS[dim]
    if name == "threadIdx":
        return _number_threads(run.threads, run.block, at)
    if name == "blockDim":
        return make_uniform(run.block[at] if at < 3 else 1, UINT)
    if run.size and name == "blockIdx":
        return make_uniform(run.block_index[at] if at < 3 else 0, UINT)
    if run.size:
        least = run.cluster.shape[at] if run.cluster is not None and at < 3 else 1
        return make_uniform(max(run.grid[at] if at < 3 else 1, least), UINT)
    return make_name(f"{name}.{dim}", UINT)


def copy_variable(run: KernelRunner, name: str) -> Pointer:
    """Return a copy of threadIdx, blockIdx or a similar variable, with its three numbers."""
    memory = LocalMemory()
    for at, dim in enumerate("xyz"):
        memory.write_value(at * _INT_BYTES, _INT_BYTES, read_variable(run, name, dim), None)
    return Pointer("local", memory, make_uniform(0, LONG), SPECIAL_TYPE)


@lru_cache(maxsize=16)
def _number_threads(threads: int, block: tuple[int, int, int], at: int) -> ThreadNumber:
    """Return threadIdx along one dimension."""
    x, y, _ = block
    lanes = np.arange(threads, dtype=np.int64)
    value = (lanes % x, lanes // x % y, lanes // (x * y))[at if at < 3 else 2]
    return make_number(0 if not value.any() else value, UINT)
