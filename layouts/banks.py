"""Shared-memory banks: how many wavefronts one warp-wide access takes.

Shared memory has 32 banks of 4 bytes. An access is served in phases (lanes whose requests can share a wavefront); in a phase every
bank serves one 4-byte word a wavefront, and lanes that want the same word share it. The phases were found by counting clocks on an
H100 (sm_90, 2026-11-21): ldmatrix and stmatrix one a matrix; st.shared of 64 and 128 bits half and quarter warps; ld.shared of any
width the whole warp at once. `lanescope gpu verify` repeats the count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layouts.errors import LayoutError
from layouts.swizzle import Swizzle

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


def parse(text: str) -> list[int | None]:
    """Addresses as people write them: decimal or 0x…, between commas or spaces, - for an inactive lane."""
    try:
        return [None if part in ("-", "null") else int(part, 0) for part in text.replace(",", " ").split()]
    except ValueError:
        raise LayoutError(
            "bad_address", f"'{text[:60]}' is no list of numbers.", "0, 16, 0x20, … with - for an inactive lane.", "address"
        ) from None


def check(kind: Access, address: object) -> list[int | None]:
    """The byte address of every lane that gives one, None where the lane is inactive; LayoutError names a bad one."""
    if not isinstance(address, list) or any(type(at) is not int and at is not None for at in address):
        raise LayoutError(
            "bad_address", "address is no list of whole numbers.", "A byte address a lane: [0, 16, …]; null for an inactive one.", "address"
        )
    if len(address) not in (kind.lanes, LANES):
        raise LayoutError(
            "bad_address", f"{len(address)} addresses for {kind.name}.", f"Give {LANES}, or {kind.lanes}, one a lane.", "address"
        )
    given: list[int | None] = address[: kind.lanes]
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


def cost(kind: Access, address: object) -> Cost:
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


# a warp's access to rows of a tile ---------------------------------------------------------------------------------------------

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reach:
    """Which bytes a warp asks for in rows of shared memory: in words, and (lane, bytes a lane) → (line, byte along it)."""

    text: str
    place: Callable[[Ints, int], tuple[Ints, Ints]]


REACHES = {
    "rows": Reach("lane l at line l, byte 0 (ldmatrix down a column of chunks)", lambda lane, size: (lane, 0 * lane)),
    "ldmatrix": Reach("lanes 0–15 at lines 0–15, lanes 16–31 the next 16 bytes (A of m16n8k16)", lambda lane, size: (lane % 16, lane // 16 * 16)),
    "along": Reach("lane l at line 0, element l (a row, coalesced)", lambda lane, size: (0 * lane, lane * size)),
    "fragment": Reach("lane l at line l div 4, register l mod 4 (fragment by ld.shared.b32)", lambda lane, size: (lane // 4, lane % 4 * 4)),
    "columns": Reach("lane l at line l mod 8, chunk l div 8 (8 lines of 64 bytes)", lambda lane, size: (lane % 8, lane // 8 * 16)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Use:
    """One access to rows that lie `pitch` bytes apart."""

    access: Access
    reach: str
    pitch: int

    def __post_init__(self) -> None:
        if self.reach not in REACHES:
            raise LayoutError("bad_pattern", f"No pattern '{self.reach[:40]}'.", f"Allowed: {', '.join(REACHES)}.", "pattern")
        if not 0 < self.pitch <= 1 << 16:
            raise LayoutError("bad_number", f"A pitch of {self.pitch} bytes.", "From 1 to 65536.", "row_bytes")

    def address(self, xor: Swizzle) -> list[int]:
        """The byte address of every lane under a swizzle of byte addresses."""
        line, along = REACHES[self.reach].place(np.arange(self.access.lanes), self.access.bytes)
        return [int(at) for at in xor(line * self.pitch + along)]

    def cost(self, xor: Swizzle) -> Cost:
        return cost(self.access, self.address(xor))


@dataclass(frozen=True, slots=True)
class Solution:
    """A swizzle of byte addresses, what each use costs under it, whether all are free of conflicts, and why, or why not."""

    swizzle: Swizzle
    costs: tuple[Cost, ...]
    free: bool
    why: str


PLAIN = Swizzle(0, 4, 3)


def swizzles(finest: int) -> Iterator[Swizzle]:
    """Swizzles of byte addresses by the order they are tried in: fewest bits, then the largest base, then the smallest shift.

    finest: the least base that leaves a lane's bytes together.
    """
    yield PLAIN
    for bits in range(1, 6):
        yield from (Swizzle(bits, base, shift) for base in range(7, finest - 1, -1) for shift in range(bits, 8))


def solve(uses: Sequence[Use]) -> Solution:
    """The least Swizzle<B, M, S> under which every use is free of conflicts, or the best there is and why it is not enough."""
    tried = list(swizzles(max(2, *(use.access.bytes.bit_length() - 1 for use in uses))))

    def worst(xor: Swizzle) -> int:
        return max(use.cost(xor).ways for use in uses)

    best, least = PLAIN, worst(PLAIN)
    for xor in tried:
        if least == 1:
            break
        if (ways := worst(xor)) < least:
            best, least = xor, ways
    costs = tuple(use.cost(best) for use in uses)
    if least == 1:
        why = (
            f"Swizzle<{best.bits},{best.base},{best.shift}> on byte addresses: the least that frees all {len(uses)}."
            if best.bits
            else "No swizzle is needed."
        )
        return Solution(best, costs, True, why)
    stuck = [f"{use.access.name} {use.reach}" for use in uses if all(use.cost(xor).ways > 1 for xor in tried)]
    alone = (
        f"Not even alone: {', '.join(stuck)}: no XOR of these bits parts its lines."
        if stuck
        else "Each could be freed alone, but by different swizzles."
    )
    return Solution(best, costs, False, f"None of {len(tried)} swizzles frees all of them; the best leaves {least}-way conflicts. {alone}")
