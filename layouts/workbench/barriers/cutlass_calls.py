"""Calls of CUTLASS's barriers and TMA atoms whose code is not in the text, as events of a kernel.

Sources: CUTLASS 4, include/cutlass/arch/barrier.h, include/cute/arch/copy_sm90_tma.hpp and cluster_sm90.hpp.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import BodilessCall
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.values import Address, OpaqueValue, Pointer, ResolvedType

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
    if _match_copy(call) or (head == "copy" and ".with(" in str(call.term.arguments[:1])):
        return "bulk"
    if head in _QUIET or (head in _METHODS and _is_barrier(call)):
        return ""
    return None


def is_atom_store(call: BodilessCall) -> bool:
    """Return whether a call copies shared memory to global memory."""
    match = _match_copy(call)
    return match is not None and match["verb"] != "LOAD"


def _match_copy(call: BodilessCall) -> re.Match[str] | None:
    """Match a copy of a TMA atom, also through an alias or std::conditional_t of its type."""
    kind = dict(call.term.named).get("::")
    if call.term.head != "copy" or not isinstance(kind, ResolvedType):
        return _COPY.search(call.term.text)
    chosen: object = kind.name
    if kind.name.endswith("conditional_t") and len(kind.arguments) == 3:
        condition = get_integer(kind.arguments[0])
        known = condition.known if condition is not None else None
        chosen = "" if known is None else kind.arguments[1 if known else 2]
    return _COPY.search(f"{chosen}::copy")


def _is_barrier(call: BodilessCall) -> bool:
    """Return whether a method is one of a barrier."""
    owner = _find_object(call)
    kind = owner.element if isinstance(owner, Pointer) else getattr(owner, "kind", None)
    return (kind is not None and "Barrier" in kind.name) or "Barrier::" in call.term.text


def _find_object(call: BodilessCall) -> Pointer | OpaqueValue | None:
    """Return the object of a method, or a pointer to it."""
    owner = dict(call.term.named).get("self")
    owner = getattr(owner, "pointer", owner)
    return owner if isinstance(owner, Pointer | OpaqueValue) else None


def find_barrier(call: BodilessCall) -> object:
    """Return the barrier of an expect: the object of a method, else the first argument."""
    owner = _find_object(call)
    if owner is not None:
        return owner if isinstance(owner, Pointer) else owner.text
    return call.term.arguments[0] if call.term.arguments else None


def name_barrier(value: object) -> object:
    """Return a barrier, by its name if it is a variable whose address is unknown: auto& full = *barriers[i];"""
    place = value.place if isinstance(value, Address) else None
    return place.name if isinstance(place, Cell) and place.name else value


def find_bytes_argument(call: BodilessCall) -> int | None:
    """Return the number of the argument with the bytes of an expect; None if it is one of another CTA's barrier."""
    method = _find_object(call) is not None
    return int(not method) if len(call.term.arguments) == 2 - method else None


def read_atom_call(call: BodilessCall) -> TmaAtomCall | None:
    """Read the arguments of a TMA atom that loads; None for another call."""
    match = _match_copy(call)
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
