"""Kind "banks": the clocks that one shared-memory access takes when many warps issue it, against the predicted
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
    """Predict and measure the wavefronts of an access. They agree if the clocks, rounded, are the wavefronts, or the
    cost of the same access with one address in every lane.
    """
    row = get_access(kind)
    addresses = check_addresses(row, address)
    if any(address_of_lane is None for address_of_lane in addresses):
        raise LayoutError(
            "bad_address", "A timed run needs an address from every lane.", f"Give {row.lanes}.", "address"
        )
    numbers = [int(address_of_lane) for address_of_lane in addresses if address_of_lane is not None]
    low = min(numbers) // 128 * 128
    if max(numbers) - low + 16 > MOST:
        raise LayoutError(
            "reads_outside", f"The addresses span {max(numbers) - low} bytes.", f"At most {MOST} can be run.", "address"
        )
    cost = compute_cost(row, numbers)
    offsets = [address_of_lane - low for address_of_lane in numbers]
    cycles, source = device.cycles(row, offsets)
    floor = 1.0 if device.simulated else _measure_floor(device, kind)
    expected = max(float(cost.wavefronts), floor)
    agrees = abs(cycles - expected) <= max(0.25, 0.08 * expected)
    return {
        "access": kind,
        "predicted": {"wavefronts": cost.wavefronts, "ideal": cost.ideal, "ways": cost.ways},
        "measured": {"cycles": round(cycles, 3), "cycles_one_address": round(floor, 3), "wavefronts": round(cycles)},
        "mismatches": [] if agrees else [{"expected": round(expected, 3), "got": round(cycles, 3)}],
        "compared": 1,
        "agrees": agrees,
        "source": source,
    }


def _measure_floor(device: RunDevice, kind: str) -> float:
    """Measure the clocks of the same access with one address in every lane: the cost of issuing it."""
    row = get_access(kind)
    return device.cycles(row, [0] * row.lanes)[0]
