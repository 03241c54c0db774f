"""Kind "banks": the clocks one shared-memory access takes where many warps issue it, against the predicted
wavefronts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lanescope.app.hardware.device import RunDevice
from lanescope.errors import LayoutError
from lanescope.shared.banks import check_addresses, compute_cost, get_access

MOST = 226 * 1024


def run_banks(device: RunDevice, kind: str, address: Sequence[int | None]) -> dict[str, Any]:
    """Wavefronts predicted and measured. Agreement: the clocks, rounded, are the wavefronts, or what the same access
    costs with one address in every lane.
    """
    row = get_access(kind)
    given = check_addresses(row, address)
    if any(at is None for at in given):
        raise LayoutError(
            "bad_address", "A timed run needs an address from every lane.", f"Give {row.lanes}.", "address"
        )
    numbers = [int(at) for at in given if at is not None]
    low = min(numbers) // 128 * 128
    if max(numbers) - low + 16 > MOST:
        raise LayoutError(
            "reads_outside", f"The addresses span {max(numbers) - low} bytes.", f"At most {MOST} can be run.", "address"
        )
    found = compute_cost(row, numbers)
    moved = [at - low for at in numbers]
    took, source = device.cycles(row, moved)
    free = 1.0 if device.simulated else _measure_floor(device, kind)
    expected = max(float(found.wavefronts), free)
    agrees = abs(took - expected) <= max(0.25, 0.08 * expected)
    return {
        "access": kind,
        "predicted": {"wavefronts": found.wavefronts, "ideal": found.ideal, "ways": found.ways},
        "measured": {"cycles": round(took, 3), "cycles_one_address": round(free, 3), "wavefronts": round(took)},
        "mismatches": [] if agrees else [{"expected": round(expected, 3), "got": round(took, 3)}],
        "compared": 1,
        "agrees": agrees,
        "source": source,
    }


def _measure_floor(device: RunDevice, kind: str) -> float:
    """Clocks of the same access with one address in every lane: what issuing it costs."""
    row = get_access(kind)
    return device.cycles(row, [0] * row.lanes)[0]
