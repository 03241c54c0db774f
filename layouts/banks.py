"""Shared-memory banks: how many wavefronts one warp-wide access takes.

Shared memory has 32 banks of 4 bytes. An access is served in phases (lanes whose requests can share a wavefront); in a phase every
bank serves one 4-byte word a wavefront, and lanes that want the same word share it. The phases were found by counting clocks on an
H100 (sm_90, 2026-11-21): ldmatrix and stmatrix one a matrix; st.shared of 64 and 128 bits half and quarter warps; ld.shared of any
width the whole warp at once. `lanescope gpu verify` repeats the count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layouts.errors import LayoutError

BANKS, BANK_BYTES, LANES = 32, 4, 32


@dataclass(frozen=True, slots=True)
class Access:
    """One kind of access: bytes a lane asks for, how many lanes give an address, lanes of a phase, whether it writes."""

    name: str
    bytes: int
    lanes: int
    phase_lanes: int
    stores: bool

    @property
    def phases(self) -> tuple[range, ...]:
        """The lanes of each phase."""
        return tuple(range(first, first + self.phase_lanes) for first in range(0, self.lanes, self.phase_lanes))


ACCESSES = {
    row.name: row
    for row in (
        *(
            Access(f"{verb}.shared.b{bits}", bits // 8, LANES, LANES if verb == "ld" else min(LANES, 1024 // max(bits, 32)), verb == "st")
            for verb in ("ld", "st")
            for bits in (8, 16, 32, 64, 128)
        ),
        *(Access(f"{verb}matrix.x{count}", 16, 8 * count, 8, verb == "st") for verb in ("ld", "st") for count in (1, 2, 4)),
    )
}


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase: its lanes, how many different words each bank must deliver, and the wavefronts that takes."""

    lanes: tuple[int, ...]
    words: tuple[int, ...]

    @property
    def wavefronts(self) -> int:
        return max(self.words)

    @property
    def ideal(self) -> int:
        """The wavefronts these words need at the least."""
        return -(-sum(self.words) // BANKS)

    @property
    def ways(self) -> int:
        """How many times the least: 1 is free of conflicts."""
        return -(-self.wavefronts // self.ideal) if self.ideal else 0


@dataclass(frozen=True, slots=True)
class Cost:
    """What an access costs: the phases; `ideal` the wavefronts without any conflict; `ways` the worst phase's degree of conflict."""

    access: Access
    phases: tuple[Phase, ...]

    @property
    def wavefronts(self) -> int:
        return sum(phase.wavefronts for phase in self.phases)

    @property
    def ideal(self) -> int:
        return sum(phase.ideal for phase in self.phases)

    @property
    def ways(self) -> int:
        return max(phase.ways for phase in self.phases)


def access(name: str) -> Access:
    """An access by name; LayoutError lists them."""
    try:
        return ACCESSES[name.strip()]
    except KeyError:
        raise LayoutError("unknown_access", f"No access '{name[:60]}'.", f"Allowed: {', '.join(ACCESSES)}.", "access") from None


def check(kind: Access, address: Sequence[int | None]) -> list[int | None]:
    """The byte address of every lane that gives one, None where the lane is inactive; LayoutError names a bad one."""
    if len(address) not in (kind.lanes, LANES):
        raise LayoutError(
            "bad_address", f"{len(address)} addresses for {kind.name}.", f"Give {LANES}, or {kind.lanes}, one a lane.", "address"
        )
    given = list(address)[: kind.lanes]
    for lane, at in enumerate(given):
        if at is None and "matrix" in kind.name:
            raise LayoutError("bad_address", f"Lane {lane} gives no address.", f"{kind.name} needs lanes 0 to {kind.lanes - 1}.", "address")
        if at is not None and (at < 0 or at % kind.bytes):
            raise LayoutError(
                "misaligned", f"Lane {lane}'s address {at} is no multiple of {kind.bytes}.", f"{kind.name} takes {kind.bytes} bytes a lane.", "address"
            )  # fmt: skip
    if all(at is None for at in given):
        raise LayoutError("bad_address", "No lane gives an address.", "Give at least one.", "address")
    return given


def cost(kind: Access, address: Sequence[int | None]) -> Cost:
    """The phases and wavefronts of one access; address: a byte address a lane, None for an inactive one.

    >>> cost(access("ld.shared.b32"), [128 * lane for lane in range(32)]).wavefronts
    32
    """
    given = check(kind, address)
    phases = []
    for lanes in kind.phases:
        active = [lane for lane in lanes if given[lane] is not None]
        words = {
            (at + byte) // BANK_BYTES for lane in active if (at := given[lane]) is not None for byte in range(0, kind.bytes, BANK_BYTES)
        }
        counts = np.bincount([word % BANKS for word in words], minlength=BANKS)
        phases.append(Phase(tuple(active), tuple(int(n) for n in counts)))
    return Cost(kind, tuple(phases))
