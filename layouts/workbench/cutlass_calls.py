"""Calls of CUTLASS's barriers and TMA atoms whose code is not in the text, as events of a kernel.

Sources: CUTLASS 4, include/cutlass/arch/barrier.h, include/cute/arch/copy_sm90_tma.hpp and cluster_sm90.hpp.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanescope.reader.code.findings import BodilessCall
from lanescope.reader.code.integer_values import get_integer
from lanescope.reader.code.values import Pointer

_COPY = re.compile(
    r"\bSM(?:90|1\d\d)_TMA_(?P<pair>2SM_)?(?P<verb>LOAD|STORE|REDUCE_ADD)(?P<cast>_MULTICAST)?_(?P<rank>[1-5])D::copy\b"
)
_EXPECTS = frozenset(("arrive_and_expect_tx", "expect_transaction"))
_METHODS = frozenset("init wait try_wait test_wait arrive arrive_and_wait invalidate sync".split())
_QUIET = frozenset(  # without a fence, a copy or a product
    "elect_one_sync prefetch_tma_descriptor warpgroup_reg_alloc warpgroup_reg_dealloc fence_barrier_init"
    " cluster_sync cluster_arrive cluster_arrive_relaxed cluster_wait cluster_relaxed_arrive tma_store_arrive"
    " tma_store_wait block_rank_in_cluster block_id_in_cluster cluster_shape cluster_id_in_grid cluster_grid_dims"
    " canonical_warp_idx canonical_warp_idx_sync canonical_warp_group_idx canonical_lane_idx initialize_barrier"
    " wait_barrier arrive_barrier launch_dependent_grids wait_on_dependent_grids cudaGridDependencySynchronize"
    " cudaTriggerProgrammaticLaunchCompletion get_lane_idx get_warp_idx".split()
)


@dataclass(frozen=True, slots=True)
class TmaAtomCall:
    """A copy by a TMA atom: the numbers of its arguments. mask: of a multicast, None for another copy."""

    barrier: int
    to: int
    coordinates: tuple[int, ...]
    mask: int | None
    paired: bool  # of two CTAs


def classify_cutlass_call(call: BodilessCall) -> str | None:
    """Return the kind of event that a call is, "" for one without an effect on the order; None for any other call."""
    head = call.term.head
    if head in _EXPECTS or head == "set_barrier_transaction_bytes":
        return "expect"
    if _COPY.search(call.term.text) or (head == "copy" and ".with(" in str(call.term.arguments[:1])):
        return "bulk"
    if head in _QUIET or (head in _METHODS and _is_barrier(call)):
        return ""
    return None


def is_atom_store(call: BodilessCall) -> bool:
    """Return whether a call copies shared memory to global memory."""
    match = _COPY.search(call.term.text)
    return match is not None and match["verb"] != "LOAD"


def _is_barrier(call: BodilessCall) -> bool:
    """Return whether a method is one of a barrier."""
    owner = dict(call.term.named).get("self")
    kind = getattr(getattr(getattr(owner, "pointer", None), "element", None), "name", "")
    return "Barrier" in kind or "Barrier::" in call.term.text


def find_barrier(call: BodilessCall) -> object:
    """Return the barrier of an expect: the object of a method, else the first argument."""
    owner = dict(call.term.named).get("self")
    pointer = getattr(owner, "pointer", None)
    return pointer if isinstance(pointer, Pointer) else call.term.arguments[0] if call.term.arguments else None


def find_bytes_argument(call: BodilessCall) -> int | None:
    """Return the number of the argument with the bytes of an expect; None if it is one of another CTA's barrier."""
    method = isinstance(getattr(dict(call.term.named).get("self"), "pointer", None), Pointer)
    return int(not method) if len(call.term.arguments) == 2 - method else None


def read_atom_call(call: BodilessCall) -> TmaAtomCall | None:
    """Read the arguments of a TMA atom that loads; None for another call."""
    match = _COPY.search(call.term.text)
    if match is None or match["verb"] != "LOAD":
        return None
    count, rank, multicast = len(call.term.arguments), int(match["rank"]), bool(match["cast"])
    first = count - rank
    if first - multicast not in (3, 4):  # with the cache hint, and without, as before CUTLASS 3.3
        return None
    return TmaAtomCall(1, first - 1, tuple(range(first, count)), 2 if multicast else None, bool(match["pair"]))


def count_receivers(mask: object) -> int | None:
    """Return how many CTAs receive a multicast copy; None if the mask is unknown."""
    value = get_integer(mask)
    return value.known.bit_count() if value is not None and value.known is not None and value.known > 0 else None
