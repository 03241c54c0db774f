"""Shared-memory banks: how many wavefronts one warp-wide access takes.

Shared memory has 32 banks of 4 bytes. An access is served in phases (lanes whose requests can share a wavefront); in a
phase every bank serves one 4-byte word a wavefront, and lanes that want the same word share it. The phases were found
by counting clocks on an H100 (sm_90, 2026-11-21): ldmatrix and stmatrix one a matrix; st.shared of 64 and 128 bits half
and quarter warps; ld.shared of any width the whole warp at once. `lanescope gpu verify` repeats the count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from layouts.errors import LayoutError
from layouts.reading import choice, digits, listed, shown
from layouts.swizzle import MODES, Swizzle

BANKS, BANK_BYTES, LANES, ADDRESS_BITS = 32, 4, 32, 32
LONGEST = 4096  # characters of a list of addresses


def banks_of(address: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last bank of `size` bytes at each address: int64 arrays of its shape."""
    return address // BANK_BYTES % BANKS, (address + size - 1) // BANK_BYTES % BANKS


@dataclass(frozen=True, slots=True)
class Access:
    """One kind of access: bytes a lane asks for, how many lanes give an address, lanes of a phase, whether it writes,
    and its opcode.

    registers: the 32-bit registers of a lane; matrices: whether lanes give rows of 8×8 matrices instead of their own
    elements.
    """

    name: str
    bytes: int
    lanes: int
    phase_lanes: int
    stores: bool
    ptx: str
    registers: int
    matrices: bool = False

    @property
    def phases(self) -> tuple[range, ...]:
        """The lanes of each phase."""
        return tuple(range(first, first + self.phase_lanes) for first in range(0, self.lanes, self.phase_lanes))


# How many lanes of a wide store share a phase, by its bits, as counted on the H100; every other access of 32 lanes
# has one phase.
STORE_PHASE_LANES = {64: 16, 128: 8}


def _elements(verb: str, bits: int) -> Access:
    """ld.shared or st.shared: each lane moves its own bits, in as many 32-bit registers as they fill."""
    stores, registers = verb == "st", max(1, bits // 32)
    phase_lanes = STORE_PHASE_LANES.get(bits, LANES) if stores else LANES
    vector = f".v{registers}" if registers > 1 else ""
    ptx = f"{verb}.shared{vector}.u{min(bits, 32)}"
    return Access(f"{verb}.shared.b{bits}", bits // 8, LANES, phase_lanes, stores, ptx, registers)


def _matrices(verb: str, count: int) -> Access:
    """ldmatrix or stmatrix: eight lanes a matrix give a row of 16 bytes each, and share a phase."""
    ptx = f"{verb}matrix.sync.aligned.m8n8.x{count}.shared.b16"
    return Access(f"{verb}matrix.x{count}", 16, 8 * count, 8, verb == "st", ptx, count, matrices=True)


ACCESSES = {
    row.name: row
    for row in (
        *(_elements(verb, bits) for verb in ("ld", "st") for bits in (8, 16, 32, 64, 128)),
        *(_matrices(verb, count) for verb in ("ld", "st") for count in (1, 2, 4)),
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
    """What an access costs: the phases; `ideal` the wavefronts without any conflict; `ways` the worst phase's degree of
    conflict.
    """

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


def access(name: object) -> Access:
    """An access by name; LayoutError lists them."""
    return ACCESSES[choice(name, "access", ACCESSES, "unknown_access")]


def parse(text: str) -> list[int | None]:
    """Addresses as people write them, with commas or blanks between, - for an inactive lane; LayoutError names the one
    that is none.
    """
    if len(text) > LONGEST:
        raise LayoutError(
            "bad_address", f"address has {len(text)} characters.", f"At most {LONGEST}: one number a lane.", "address"
        )
    out: list[int | None] = []
    for lane, part in enumerate(text.replace(",", " ").split()):
        read = None if part in ("-", "null") else digits(part)
        if read is None and part not in ("-", "null"):
            raise LayoutError(
                "bad_address",
                f"'{shown(text)}' is not a list of numbers: lane {lane}'s is '{shown(part)}'.",
                "0, 16, 0x20, … with - for an inactive lane.",
                "address",
            )
        out.append(read[0] if read else None)
    return out


def check(kind: Access, address: object) -> list[int | None]:
    """The byte address of every lane that gives one, None where the lane is inactive; LayoutError names a bad one."""
    if not isinstance(address, list):
        raise LayoutError(
            "bad_address",
            f"address is {shown(address)}.",
            "A list with a byte address a lane: [0, 16, …]; null for an inactive one.",
            "address",
        )
    if len(address) not in (kind.lanes, LANES):
        raise LayoutError(
            "bad_address",
            f"{len(address)} addresses for {kind.name}.",
            f"Give {', or '.join(map(str, dict.fromkeys((LANES, kind.lanes))))}, one a lane.",
            "address",
        )
    given: list[int | None] = []
    for lane, entry in enumerate(address[: kind.lanes]):
        read = digits(entry.strip()) if isinstance(entry, str) else (entry, 10) if type(entry) is int else None
        at = read[0] if read else None
        if read is None and entry is not None:
            raise LayoutError(
                "bad_address",
                f"Lane {lane}'s address is '{shown(entry)}'.",
                "An integer, or null for an inactive lane.",
                "address",
            )
        given.append(at)
        if at is None and "matrix" in kind.name:
            raise LayoutError(
                "bad_address",
                f"Lane {lane} gives no address.",
                f"{kind.name} needs lanes 0 to {kind.lanes - 1}.",
                "address",
            )
        if at is not None and at >> ADDRESS_BITS:
            raise LayoutError(
                "bad_address",
                f"Lane {lane}'s address {shown(at)} is not a shared-memory address.",
                f"From 0 to {(1 << ADDRESS_BITS) - 1}.",
                "address",
            )
        if at is not None and at % kind.bytes:
            raise LayoutError(
                "misaligned", f"Lane {lane}'s address {at} is not a multiple of {kind.bytes}.",
                f"{kind.name} takes {kind.bytes} bytes a lane.", "address"
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
            (at + byte) // BANK_BYTES
            for lane in active
            if (at := given[lane]) is not None
            for byte in range(0, kind.bytes, BANK_BYTES)
        }
        counts = np.bincount([word % BANKS for word in words], minlength=BANKS)
        phases.append(Phase(tuple(active), tuple(int(n) for n in counts)))
    return Cost(kind, tuple(phases))


# a warp's access to rows of a tile ------------------------------------------------------------------------------------

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reach:
    """Which bytes a warp asks for in rows of shared memory: in words, and (lane, bytes a lane) → (line,
    byte along it).
    """

    text: str
    place: Callable[[Ints, int], tuple[Ints, Ints]]


REACHES = {
    "rows": Reach("lane l at row l, byte 0 (ldmatrix down a column of chunks)", lambda lane, size: (lane, 0 * lane)),
    "ldmatrix": Reach("lanes 0–15 at rows 0–15, lanes 16–31 the next 16 bytes (A of m16n8k16)", lambda lane,
    size: (lane % 16, lane // 16 * 16)),
    "along": Reach("lane l at row 0, element l (coalesced)", lambda lane, size: (0 * lane, lane * size)),
    "fragment": Reach("lane l at row l / 4, register l % 4 (a fragment by ld.shared.b32)", lambda lane,
    size: (lane // 4, lane % 4 * 4)),
    "columns": Reach("lane l at row l % 8, chunk l / 8 (8 rows of 64 bytes)", lambda lane,
    size: (lane % 8, lane // 8 * 16)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Use:
    """One access and the byte address each lane gives before any swizzle, None for an inactive lane; `text` names it in
    sentences.
    """

    access: Access
    given: tuple[int | None, ...]
    text: str
    reach: str = ""

    def address(self, xor: Swizzle) -> list[int | None]:
        """The byte address of every lane under a swizzle of byte addresses; LayoutError where it would part a lane's
        bytes.
        """
        if xor.bits and 1 << xor.base < self.access.bytes:
            raise LayoutError(
                "bad_swizzle",
                f"{cute(xor)} would part the {self.access.bytes} bytes of a lane of {self.access.name}.",
                f"The base M is {self.finest} or more here: B,M,S count bits of byte addresses.",
                "swizzle",
            )
        return [at if at is None else xor(at) for at in self.given]

    @property
    def finest(self) -> int:
        """The least base M that leaves a lane's bytes, and a bank's four, together."""
        return max(2, self.access.bytes.bit_length() - 1)

    def cost(self, xor: Swizzle) -> Cost:
        return cost(self.access, self.address(xor))


def rows(kind: Access, reach: str, pitch: int) -> Use:
    """One access to rows that lie `pitch` bytes apart, lanes placed by a pattern of REACHES."""
    if reach not in REACHES:
        raise LayoutError("bad_pattern", f"No pattern '{reach[:40]}'.", f"Allowed: {', '.join(REACHES)}.", "pattern")
    if not 0 < pitch <= 1 << 16:
        raise LayoutError("bad_number", f"A pitch of {pitch} bytes.", "From 1 to 65536.", "row_bytes")
    line, along = REACHES[reach].place(np.arange(kind.lanes), kind.bytes)
    address = line * pitch + along
    for lane in np.flatnonzero(address % kind.bytes):
        why = f"Rows {pitch} bytes apart put lane {lane} at {address[lane]}, no multiple of {kind.bytes}."
        raise LayoutError("misaligned", why, f"{kind.name} takes {kind.bytes} bytes a lane.", "row_bytes")
    return Use(kind, tuple(address.tolist()), f"{kind.name} {reach}", reach)


def at(kind: Access, address: object) -> Use:
    """One access to the byte addresses given, one a lane."""
    return Use(kind, tuple(check(kind, address)), f"{kind.name} at the addresses given")


# the swizzle that frees -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Solution:
    """A swizzle of byte addresses, what each use costs under it, whether all are free of conflicts, and why, or why
    not.

    tried: how many swizzles there are to try: every one that can change a bank of these addresses.
    """

    swizzle: Swizzle
    costs: tuple[Cost, ...]
    free: bool
    why: str
    tried: int


PLAIN = Swizzle(0, 4, 3)
TOP_BANK_BIT = 6  # byte address bits 2 to 6 choose the bank


def cute(xor: Swizzle) -> str:
    """As CuTe's C++ writes it."""
    return f"Swizzle<{xor.bits},{xor.base},{xor.shift}>"


def swizzles(finest: int, highest: int) -> list[Swizzle]:
    """Every swizzle of byte addresses that can change a bank, smallest first, after none at all.

    Targets are bits `finest` to 6, sources a run of as many bits above them up to `highest`: others change no bank, or
    those that a swizzle of fewer bits changes. Smallest: fewest bits; among equals TMA's modes, then the largest base,
    then the smallest shift.
    """
    out = [PLAIN]
    modes = {mode.swizzle() for mode in MODES}
    for bits in range(1, TOP_BANK_BIT + 2 - finest):
        bases = range(TOP_BANK_BIT + 1 - bits, finest - 1, -1)
        alike = [Swizzle(bits, base, shift) for base in bases for shift in range(bits, highest - base - bits + 2)]
        out += sorted(alike, key=lambda xor: xor not in modes)
    return out


def _highest(uses: Sequence[Use]) -> int:
    """The highest address bit in which lanes of one use differ."""
    every = [[at for at in use.given if at is not None] for use in uses]
    return max((at ^ some[0]).bit_length() - 1 for some in every for at in some)


def solve(uses: Sequence[Use]) -> Solution:
    """The smallest Swizzle<B, M, S> under which every use is free of conflicts: all are tried, each judged by `cost`.

    Where there is none: the one with the least conflicts, and why it is not enough.

    >>> solve([at(access("ldmatrix.x4"), [512 * lane for lane in range(32)])]).swizzle
    Swizzle(bits=3, base=4, shift=5)
    """
    tried = swizzles(max(use.finest for use in uses), _highest(uses))
    best, least = PLAIN, (1 << 30, 0)
    for xor in tried:
        found = [use.cost(xor) for use in uses]
        badness = max(c.ways for c in found), sum(c.wavefronts for c in found)
        if badness < least:
            best, least = xor, badness
        if least[0] == 1:
            break
    costs = tuple(use.cost(best) for use in uses)
    if least[0] > 1:
        return Solution(best, costs, False, _why_none(uses, tried, best, least[0]), len(tried))
    many = f" for all {len(uses)} accesses" if len(uses) > 1 else ""
    why = (
        f"{cute(best)} on byte addresses is the smallest swizzle without bank conflicts{many}."
        if best.bits
        else "No swizzle is needed."
    )
    return Solution(best, costs, True, why, len(tried))


def _why_none(uses: Sequence[Use], tried: Sequence[Swizzle], best: Swizzle, ways: int) -> str:
    """No swizzle frees all: what each access would need, or why even one alone cannot be freed."""
    finest = max(use.finest for use in uses)
    head = f"No swizzle avoids all conflicts: all {len(tried)} that can change a bank were tried, and "
    head += (
        f"the best, {cute(best)}, leaves {ways}-way conflicts."
        if best.bits
        else f"none of them improves on the {ways}-way conflicts there are."
    )
    if len(uses) == 1:
        return f"{head} {_stuck(uses[0])}"
    alone = {use: solve([use]) for use in dict.fromkeys(uses)}
    if stuck := [use for use in alone if not alone[use].free]:
        told = (f"{use.text} has conflicts under every swizzle, even alone. {_stuck(use)}" for use in stuck)
        return f"{head} {' '.join(told)}"
    frees = {use: {xor for xor in tried if use.cost(xor).ways == 1} for use in alone}
    for use, found in frees.items():
        if not found:
            wide = next(other for other in uses if other.finest == finest)
            return (
                f"{head} {use.text} needs {cute(alone[use].swizzle)}, but {wide.text} needs {wide.access.bytes} bytes"
                f" left together: M = {finest} or more."
            )
    for use, other in combinations(frees, 2):
        if not frees[use] & frees[other]:
            return (
                f"{head} {use.text} is conflict-free with {_some(frees[use])}, {other.text} with {_some(frees[other])},"
                " and no swizzle is in both lists."
            )
    return f"{head} Any two of them can be conflict-free with one swizzle, but not all {len(uses)}."


def _some(found: set[Swizzle]) -> str:
    names = [cute(xor) for xor in sorted(found, key=lambda xor: (xor.bits, -xor.base, xor.shift))]
    return " or ".join(names) if len(names) < 4 else f"{', '.join(names[:2])} or {len(names) - 2} others"


def _stuck(use: Use) -> str:
    """Which address bits part the lanes that meet in a bank, and what a swizzle can take of them."""
    differ = 0
    for phase in use.access.phases:
        words = {
            at // BANK_BYTES + n
            for lane in phase
            if (at := use.given[lane]) is not None
            for n in range(max(1, use.access.bytes // BANK_BYTES))
        }
        by_bank: dict[int, int] = {}
        for word in sorted(words):
            differ |= word ^ by_bank.setdefault(word % BANKS, word)
    bits = [bit + 2 for bit in range(differ.bit_length()) if differ >> bit & 1]
    width = TOP_BANK_BIT + 1 - use.finest
    return (
        f"Its lanes that meet in one bank differ in address bit{'s' * (len(bits) > 1)} {_spans(bits)}; a swizzle XORs"
        f" one run of consecutive bits, here of at most {width}, into bits {use.finest} to {TOP_BANK_BIT}."
    )


def _spans(bits: list[int]) -> str:
    """7 8 9 12 → "7 to 9 and 12"."""
    runs: list[list[int]] = []
    for bit in bits:
        if runs and runs[-1][-1] == bit - 1:
            runs[-1].append(bit)
        else:
            runs.append([bit])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]} {'and' if len(run) == 2 else 'to'} {run[-1]}" for run in runs]
    return listed(texts)
