"""Nsight Compute's counters of shared-memory accesses.

One execution of an access adds its wavefronts to one metric, and its wavefronts less its phases to another. ldmatrix
counts as a load, stmatrix as a store. Measured with ncu 2025.3 on an H100 and an H200 (sm_90, 2026-11-26), with all
and with some lanes active; if many warps compete, both counters are up to 0.2 % higher. `lanescope gpu verify --part
counters` repeats the measurement.
"""

from __future__ import annotations

from lanescope.shared.banks import BankAccess, Cost

MEASURED = ("sm_90",)
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"


def name_metrics(access: BankAccess) -> tuple[str, str]:
    """Return the metrics of an access's wavefronts and of its bank conflicts, as in ncu --metrics."""
    direction = "st" if access.stores else "ld"
    return WAVEFRONTS.format(direction), CONFLICTS.format(direction)


def predict_counters(cost: Cost) -> dict[str, int]:
    """Return metric → the count that one execution of an access adds to it.

    >>> from lanescope.shared.banks import compute_cost, get_access
    >>> list(predict_counters(compute_cost(get_access("ld.shared.b32"), [128 * lane for lane in range(32)])).values())
    [32, 31]
    """
    wavefronts, conflicts = name_metrics(cost.access)
    return {wavefronts: cost.wavefronts, conflicts: cost.wavefronts - sum(bool(phase.lanes) for phase in cost.phases)}
