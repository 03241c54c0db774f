"""Codes of what `check.py` finds: their titles, how serious they are, and names that represent several."""

from __future__ import annotations

from lanescope.descriptor import causes
from lanescope.workbench.barriers import barrier_protocol, cluster_masks
from lanescope.workbench.copies import (
    block_indices,
    copy_bounds,
    copy_coordinates,
    copy_overlaps,
    filled_tiles,
    row_coordinates,
    transfers,
    unfilled_findings,
    unread_slices,
    warpgroup_rows,
    wrong_boxes,
)
from lanescope.workbench.cute import cute_copies, cute_names, cute_reads, tiled_mma_checks
from lanescope.workbench.fragments import (
    operand_slices,
    scale_ids,
    skipped_slices,
    thread_order,
    thread_tiles,
    warp_coverage,
)
from lanescope.workbench.kernels import bulk_store_order, order
from lanescope.workbench.products import (
    attention_causes,
    known_mistakes,
    matrix_pitches,
    other_bounds,
    product_edits,
    result_origins,
    result_stores,
    unproved_results,
)
from lanescope.workbench.reads import stage_distances, tile_starts
from lanescope.workbench.source import condition_balance, shared_budget, target_checks
from lanescope.workbench.tensor_memory import idesc_checks, tensor_memory_access, tensor_memory_order

TITLES = {  # mistakes of the code itself; the verifier has titles for its causes
    **thread_tiles.TITLES,
    **idesc_checks.TITLES,
    **scale_ids.TITLES,
    **result_stores.TITLES,
    **result_origins.TITLES,
    **block_indices.TITLES,
    **operand_slices.TITLES,
    **skipped_slices.TITLES,
    **matrix_pitches.TITLES,
    **unproved_results.TITLES,
    **known_mistakes.TITLES,
    **attention_causes.TITLES,
    **other_bounds.TITLES,
    **product_edits.TITLES,
    **cute_reads.TITLES,
    **cute_copies.TITLES,
    **cute_names.TITLES,
    **target_checks.TITLES,
    **condition_balance.TITLES,
    **tile_starts.TITLES,
    **tiled_mma_checks.TITLES,
    "wmma_fragment": "mma.h does not define the type of a fragment",
    "comment_contradicts": "A comment or a name says another thing than the code",
    "core_matrices_overlap": "The strides make core matrices overlap",
    "lbo_unusual": "LBO is unusual for the swizzle mode",
    "mask_cuts_address": "The mask cuts the address",
    "mask_too_wide": "The mask is wider than the field",
    "sbo_unusual": "SBO is unusual for the swizzle mode",
    "strides_unusual": "LBO and SBO look exchanged",
    "bit_field_overflow": "A value does not fit its bit field",
    "not_shifted": "The start address is not shifted by 4",
    "ptxas_refuses": "ptxas refuses the line",
    "reserved_bits": "Reserved bits of the descriptor are set",
    "shift_too_far": "A shift is wider than its type",
    "tma_box": "A box of the tensor map is too large",
    "tma_box_bytes": "A box of the tensor map holds too many bytes",
    "tma_dim": "A dimension of the tensor map is out of range",
    "tma_element_stride": "An element stride of the tensor map is out of range",
    "tma_inner_box": "The inner box is not a multiple of 16 bytes",
    "tma_inner_over_swizzle": "The inner box is wider than the swizzle",
    "tma_inner_stride": "The innermost stride of the tensor map is not 1",
    "tma_rank": "The tensor map has too many dimensions",
    "tma_stride": "A stride of the tensor map is not a multiple of 16 bytes, or out of range",
    "tma_stride_in_elements": "A stride of the tensor map counts elements",
    "tma_swizzle": "The swizzle of the tensor map does not exist",
    "tma_type": "The element type of the tensor map does not exist",
    "uninitialised": "Bits are set in an uninitialized descriptor",
    "unknown_swizzle": "The swizzle code is reserved",
    **order.TITLES,
    **bulk_store_order.TITLES,
    **transfers.TITLES,
    **wrong_boxes.TITLES,
    **filled_tiles.TITLES,
    **unread_slices.TITLES,
    **unfilled_findings.TITLES,
    **copy_overlaps.TITLES,
    **cluster_masks.TITLES,
    **copy_bounds.TITLES,
    **copy_coordinates.TITLES,
    **row_coordinates.TITLES,
    **stage_distances.TITLES,
    **warp_coverage.TITLES,
    **warpgroup_rows.TITLES,
    **shared_budget.TITLES,
    **tensor_memory_access.TITLES,
    **tensor_memory_order.TITLES,
    **thread_order.TITLES,
    **barrier_protocol.TITLES,
}
FAMILIES = {
    "order": frozenset[str]().union(
        order.TITLES,
        bulk_store_order.TITLES,
        tensor_memory_order.TITLES,
        thread_order.TITLES,
        unread_slices.TITLES,
        barrier_protocol.TITLES,
    )
}  # names that represent several codes


def get_finding_title(code: str) -> str:
    """Return the title of a finding's code."""
    return TITLES.get(code) or causes.TITLES.get(code) or code.replace("_", " ").capitalize()
