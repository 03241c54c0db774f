"""The checks of a text's kernels, with what each of them leaves to another.

One mistake may make several checks fail. Only the check that names it reports then: copies that overlap have wrong
distances and repeated boxes, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from lanescope.reader.code.findings import Pitfall
from lanescope.workbench import Workbench
from lanescope.workbench.barriers import cluster_masks
from lanescope.workbench.copies import (
    copy_bounds,
    copy_coordinates,
    copy_overlaps,
    filled_tiles,
    row_coordinates,
    transfers,
    unfilled_findings,
    warpgroup_rows,
)
from lanescope.workbench.copies.unfilled_reads import UnfilledRead
from lanescope.workbench.cute import cute_order
from lanescope.workbench.descriptors import ptx_slices
from lanescope.workbench.kernels import bulk_store_order, order, ptx_order
from lanescope.workbench.kernels.kernel_runs import KernelRun, KernelText
from lanescope.workbench.reads import exchanged_products, stage_distances
from lanescope.workbench.source import shared_budget
from lanescope.workbench.tensor_memory import tensor_memory_access, tensor_memory_order, tensor_steps


def find_kernel_mistakes(
    text: KernelText, bench: Workbench, target: str, unfilled: Sequence[UnfilledRead]
) -> list[Pitfall]:
    """Find instructions of kernels in a wrong order, and copies with wrong boxes, byte counts or addresses.

    unfilled: the reads of bytes that no copy fills.
    """
    filled = filled_tiles.find_fill_mistakes(text, bench, any(read.certain for read in unfilled))
    copies = _find_copy_mistakes(text, bench, filled)
    byte_counts = [] if filled else transfers.find_transfer_mistakes(text)
    placed = [*filled, *copies]
    uncopied = [] if placed else unfilled_findings.make_pitfalls(text, bench, unfilled, bool(byte_counts))
    if _has_code(uncopied, "tma_tile_part"):  # with a wrong box the byte counts are wrong, too
        byte_counts = []
    if _has_code(byte_counts, "box_size"):  # what is copied too far, or not at all, follows from it
        return [*_find_order_mistakes(text), *byte_counts]
    exchanged = [] if filled else exchanged_products.find_exchanged_products(text, bench)
    rows = list(warpgroup_rows.find_overlapping_rows(text, bench)) or _check_copies(
        text, warpgroup_rows.find_repeated_rows
    )
    if not filled and not _has_code(copies, "copies_overlap"):
        rows += _check_copies(text, row_coordinates.find_row_mistakes)
    return [
        *_find_order_mistakes(text),
        *byte_counts,
        *cluster_masks.find_mask_mistakes(text),
        *shared_budget.find_budget_mistakes(text, target),
        *exchanged_products.drop_moved_rows(text, rows, exchanged),
        *exchanged,
        *placed,
        *uncopied,
    ]


def _find_order_mistakes(text: KernelText) -> list[Pitfall]:
    """Find instructions of kernels in a wrong order, and wrong accesses of tensor memory."""
    return [
        *order.find_order_mistakes(text),
        *ptx_order.find_ptx_order_mistakes(text.code.text),
        *ptx_slices.find_ptx_slice_mistakes(text.code),
        *bulk_store_order.find_bulk_store_mistakes(text),
        *cute_order.find_cute_order_mistakes(text),
        *tensor_steps.check_tensor_kernels(
            text, tensor_memory_order.find_tensor_order_mistakes, tensor_memory_access.find_access_mistakes
        ),
    ]


def _find_copy_mistakes(text: KernelText, bench: Workbench, filled: Sequence[Pitfall]) -> list[Pitfall]:
    """Find copies to wrong addresses or from wrong coordinates. filled: the mistakes of tiles that they fill."""
    if not _has_code(filled, "tma_map_other"):  # a box of the other operand's map has another size, too
        overlaps = copy_overlaps.find_overlaps(text, bench)
        if overlaps:
            return overlaps
    found = _check_copies(text, stage_distances.find_stage_distances)
    found = found or _check_copies(text, copy_bounds.find_copies_past_arrays)
    maps = (filled_tiles.find_operand_map(bench, operand, text.maps) for operand in bench.operands)
    read = [tensor_map for tensor_map in maps if tensor_map is not None]
    return [*found, *copy_coordinates.find_repeated_boxes(text, read)]


def _check_copies(text: KernelText, check: Callable[[KernelText, KernelRun], Iterable[Pitfall]]) -> list[Pitfall]:
    """Return the mistakes of all kernels of a text that has tensor maps, each place once."""
    return text.check_copies(partial(check, text))


def _has_code(mistakes: Sequence[Pitfall], code: str) -> bool:
    return any(mistake.code == code for mistake in mistakes)
