"""The cluster of a run: its shape, the place of the block in it, and addresses in the shared memory of other blocks.

From bit 24 on, an address in the window of shared memory has the rank of its block: CUTLASS 4.7,
cute/arch/copy_sm100_tma.hpp, Sm100MmaPeerBitMask. Ranks: PTX ISA 9.1, 10 (%cluster_ctarank), 9.7.9.24 (mapa).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lanescope.reader.threads.memory.storage import Ints, Mask

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

RANK_BIT = 24
WINDOW = (1 << RANK_BIT) - 1
MOST_CTAS = 16
EVERYONE = 1 << 40  # the barrier of all threads of the cluster, where barriers of threads have numbers
_PAIR = re.compile(r"cta_group::2")
_DIMENSIONS = re.compile(r"\b__cluster_dims__\s*\(([^;{}]*)")
_MEMBER = re.compile(r"\bclusterDim\s*\.\s*([xyz])\s*=\s*([^;]+);")
_MEMBERS = re.compile(r"\b(?:clusterDim|cluster_dims|dimCluster)\s*=\s*(?:dim3\s*)?[({]([^;{}]*)[)}]\s*;")


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    """The cluster, and the rank of the block that is run.

    first: the block of rank 0; mate: the run of the other block of a pair, if that was run before.
    """

    shape: tuple[int, int, int]
    rank: int
    first: tuple[int, int, int] = (0, 0, 0)
    mate: KernelRunner | None = field(default=None, compare=False, repr=False)

    @property
    def index(self) -> tuple[int, int, int]:
        """The place of the block in its cluster."""
        x, y, _ = self.shape
        return self.rank % x, self.rank // x % y, self.rank // (x * y)

    @property
    def block(self) -> tuple[int, int, int]:
        """The place of the block in the grid."""
        (x, y, z), (a, b, c) = self.first, self.index
        return x + a, y + b, z + c

    @property
    def base(self) -> int:
        """What is added to addresses in the block's own shared memory."""
        return self.rank << RANK_BIT

    def find_register(self, name: str, dim: int) -> int | None:
        """Return the value of a special register; None for another one."""
        values = {
            "cluster_ctarank": self.rank,
            "cluster_nctarank": prod(self.shape),
            "cluster_ctaid": self.index[dim],
            "cluster_nctaid": self.shape[dim],
            "clusterid": self.first[dim] // self.shape[dim],
            "is_explicit_cluster": 1,
        }
        return values.get(name)


def get_rank(place: int) -> int:
    """Return the rank of the block whose shared memory has an address."""
    return place >> RANK_BIT


def map_address(place: Ints, rank: Ints) -> Ints:
    """Return the address of the same variable in another block, as mapa does."""
    return (place & WINDOW) | (rank << RANK_BIT)


def list_targets(opcode: str, mask: Mask, masks: Ints, places: Ints) -> Iterator[tuple[int, Mask, Ints]]:
    """Yield (rank, threads, addresses) for each block that a multicast is for. masks: the blocks, places: the mbarrier.

    A copy of a pair signals the mbarrier in that block of the pair which the address names.
    """
    ranks = [rank for rank in range(MOST_CTAS) if bool((masks[mask] >> rank & 1).any())]
    for rank in ranks:
        target = np.full(len(places), rank, np.int64)
        if _PAIR.search(opcode) and opcode.startswith("cp."):
            target = (target & ~1) | (places >> RANK_BIT & 1)
        yield rank, mask & (masks >> rank & 1).astype(np.bool_), map_address(places, target)


def find_cluster_text(head: str, launcher: str) -> list[str]:
    """Return the dimensions of a kernel's clusters as they are written: in the kernel's head, else by the only
    attribute of the function that launches it; none if they are open.

    >>> find_cluster_text("__global__ void __cluster_dims__(2, 1) f", "")
    ['2, 1']
    >>> find_cluster_text("", "a.val.clusterDim.x = 2; a.val.clusterDim.y = N; a.val.clusterDim.z = 1;")
    ['2', 'N', '1']
    """
    match = _DIMENSIONS.search(head)
    if match is not None:
        return [_cut_closing(match[1])]
    given = dict(_MEMBER.findall(launcher))
    if len(_MEMBER.findall(launcher)) == len(given) == 3:
        return [given[axis].strip() for axis in "xyz"]
    listed = _MEMBERS.findall(launcher)
    return listed if len(listed) == 1 and not given else []


def _cut_closing(text: str) -> str:
    """Return what comes before the parenthesis that is not opened."""
    depth = 0
    for at, mark in enumerate(text):
        depth += (mark == "(") - (mark == ")")
        if depth < 0:
            return text[:at]
    return text
