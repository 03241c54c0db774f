"""Shared-memory banks: how many wavefronts one warp-wide access takes.


Shared memory has 32 banks of 4 bytes. An access is served in phases (lanes whose requests can share a wavefront); in
each wavefront of a phase every bank serves one 4-byte word, and lanes that request the same word share it. The phases
were measured with clocks and with Nsight Compute's counters on an H100 and an H200 (sm_90, 2026-11-26): one per matrix
for ldmatrix and stmatrix; else half a warp for 64 bits per lane, a quarter for 128 bits, the whole warp for fewer. If
every active lane l of a wide load requests the address of lane l xor 1, or every one that of lane l xor 2, two phases
are merged: the halves at 64 bits, the quarters of each half at 128 bits. `lanescope gpu verify` repeats the count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice, parse_digits, shorten_value
from lanescope.notebook import NotebookObject
from lanescope.ptx.threads import WARP
from lanescope.shared.swizzle import Swizzle

BANKS, BANK_BYTES, ADDRESS_BITS = 32, 4, 32
LONGEST = 4096  # characters of a list of addresses


def compute_banks(address: NDArray[np.int64], size_bytes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last bank of the accessed bytes at each address: int64 arrays of its shape."""
    return address // BANK_BYTES % BANKS, (address + size_bytes - 1) // BANK_BYTES % BANKS


@dataclass(frozen=True, slots=True)
class BankAccess:
    """One kind of access.

    bytes: per lane; lanes: how many give an address; phase_lanes: lanes per phase before merging (list_phases);
    registers: 32-bit registers per lane; matrices: whether each lane gives the address of a row of an 8×8 matrix.
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
        """The lanes of each phase if none are merged."""
        return tuple(range(first, first + self.phase_lanes) for first in range(0, self.lanes, self.phase_lanes))

    def list_phases(self, address: Sequence[int | None]) -> tuple[range, ...]:
        """Return the lanes of each phase of one execution.

        address: a byte address per lane, None for an inactive one.
        """
        if self.stores or self.matrices or self.phase_lanes == WARP:
            return self.phases
        if not _load_alike(address):
            return self.phases
        pairs = zip(self.phases[::2], self.phases[1::2], strict=True)
        return tuple(range(first.start, second.stop) for first, second in pairs)


def _load_alike(address: Sequence[int | None]) -> bool:
    """Return whether every active lane l loads from the address of lane l xor 1, or every one from that of l xor 2."""
    pairs = ([(at, address[lane ^ mask]) for lane, at in enumerate(address)] for mask in (1, 2))
    return any(all(None in pair or pair[0] == pair[1] for pair in lane_pairs) for lane_pairs in pairs)


# Bits of a wide access → lanes per phase; narrower accesses have a single phase.
WIDE_PHASE_LANES = {64: 16, 128: 8}


def _make_element_access(verb: str, bits: int) -> BankAccess:
    """Return the row of ld.shared or st.shared with so many bits per lane."""
    stores, registers = verb == "st", max(1, bits // 32)
    phase_lanes = WIDE_PHASE_LANES.get(bits, WARP)
    vector = f".v{registers}" if registers > 1 else ""
    ptx = f"{verb}.shared{vector}.u{min(bits, 32)}"
    return BankAccess(
        f"{verb}.shared.b{bits}", bits // 8, WARP, phase_lanes=phase_lanes, stores=stores, ptx=ptx, registers=registers
    )


def _make_matrix_access(verb: str, count: int) -> BankAccess:
    """Return the row of ldmatrix or stmatrix: each lane gives a row of 16 bytes, and a matrix's eight lanes a phase."""
    ptx = f"{verb}matrix.sync.aligned.m8n8.x{count}.shared.b16"
    return BankAccess(
        f"{verb}matrix.x{count}",
        16,
        8 * count,
        phase_lanes=8,
        stores=verb == "st",
        ptx=ptx,
        registers=count,
        matrices=True,
    )


ACCESSES = {
    row.name: row
    for row in (
        *(_make_element_access(verb, bits) for verb in ("ld", "st") for bits in (8, 16, 32, 64, 128)),
        *(_make_matrix_access(verb, count) for verb in ("ld", "st") for count in (1, 2, 4)),
    )
}


@dataclass(frozen=True, slots=True)
class AccessPhase:
    """One phase: its active lanes, and the number of distinct words that each bank must deliver."""

    lanes: tuple[int, ...]
    words: tuple[int, ...]

    @property
    def wavefronts(self) -> int:
        return max(self.words)

    @property
    def ideal(self) -> int:
        """The minimum number of wavefronts that deliver these words."""
        return -(-sum(self.words) // BANKS)

    @property
    def ways(self) -> int:
        """The wavefronts as a multiple of the minimum: 1 means no bank conflicts."""
        return -(-self.wavefronts // self.ideal) if self.ideal else 0


@dataclass(frozen=True, slots=True)
class Cost(NotebookObject):
    """The cost of an access. ideal: the wavefronts without conflicts; ways: the conflict degree of the worst phase."""

    access: BankAccess
    phases: tuple[AccessPhase, ...]

    @property
    def wavefronts(self) -> int:
        return sum(phase.wavefronts for phase in self.phases)

    @property
    def ideal(self) -> int:
        return sum(phase.ideal for phase in self.phases)

    @property
    def ways(self) -> int:
        return max(phase.ways for phase in self.phases)


def get_access(name: object) -> BankAccess:
    """Return an access by name; LayoutError lists the names."""
    return ACCESSES[parse_choice(name, "access", ACCESSES, "unknown_access")]


def parse_addresses(text: str) -> list[int | None]:
    """Parse addresses separated by commas or blanks, "-" for an inactive lane.

    LayoutError quotes one that is invalid.
    """
    if len(text) > LONGEST:
        raise LayoutError(
            "bad_address", f"address has {len(text)} characters.", f"At most {LONGEST}: one number per lane.", "address"
        )
    addresses: list[int | None] = []
    for lane, part in enumerate(text.replace(",", " ").split()):
        number = None if part in ("-", "null") else parse_digits(part)
        if number is None and part not in ("-", "null"):
            raise LayoutError(
                "bad_address",
                f"'{shorten_value(text)}' is not a list of numbers: lane {lane}'s is '{shorten_value(part)}'.",
                "0, 16, 0x20, … with - for an inactive lane.",
                "address",
            )
        addresses.append(number[0] if number else None)
    return addresses


def check_addresses(kind: BankAccess, address: object) -> list[int | None]:
    """Return the byte address of every lane, None for an inactive one; LayoutError names an invalid one."""
    if not isinstance(address, list):
        hint = "A list with one byte address per lane: [0, 16, …]; null for an inactive lane."
        raise _bad_address(f"address is {shorten_value(address)}.", hint)
    if len(address) not in (kind.lanes, WARP):
        counts = ", or ".join(map(str, dict.fromkeys((WARP, kind.lanes))))
        raise _bad_address(f"{len(address)} addresses for {kind.name}.", f"Give {counts}, one per lane.")
    addresses = [_read_lane_address(kind, lane, entry) for lane, entry in enumerate(address[: kind.lanes])]
    if all(at is None for at in addresses):
        raise _bad_address("No lane gives an address.", "Give at least one.")
    return addresses


def _read_lane_address(kind: BankAccess, lane: int, entry: object) -> int | None:
    """Return the byte address of one lane, a number or its text; None for an inactive lane."""
    parsed = parse_digits(entry.strip()) if isinstance(entry, str) else None
    at = parsed[0] if parsed else entry if type(entry) is int else None
    if at is None:
        if entry is not None:
            raise _bad_address(
                f"Lane {lane}'s address is '{shorten_value(entry)}'.", "An integer, or null for an inactive lane."
            )
        if "matrix" in kind.name:
            raise _bad_address(f"Lane {lane} gives no address.", f"{kind.name} needs lanes 0 to {kind.lanes - 1}.")
        return None
    if at >> ADDRESS_BITS:
        raise _bad_address(
            f"Lane {lane}'s address {shorten_value(at)} is not a shared-memory address.",
            f"From 0 to {(1 << ADDRESS_BITS) - 1}.",
        )
    if at % kind.bytes:
        why = f"Lane {lane}'s address {at} is not a multiple of {kind.bytes}."
        raise _bad_address(why, f"{kind.name} accesses {kind.bytes} bytes per lane.", "misaligned")
    return at


def _bad_address(why: str, hint: str, code: str = "bad_address") -> LayoutError:
    return LayoutError(code, why, hint, "address")


def compute_cost(kind: BankAccess, address: object) -> Cost:
    """Return the phases and wavefronts of one access; address: a byte address per lane, None for an inactive one.

    >>> compute_cost(get_access("ld.shared.b32"), [128 * lane for lane in range(32)]).wavefronts
    32
    """
    addresses = check_addresses(kind, address)
    phases = []
    for lanes in kind.list_phases(addresses):
        active = [lane for lane in lanes if addresses[lane] is not None]
        requested = [at for lane in lanes if (at := addresses[lane]) is not None]
        phases.append(AccessPhase(tuple(active), count_words(kind, requested)))
    return Cost(kind, tuple(phases))


def count_words(kind: BankAccess, address: Iterable[int]) -> tuple[int, ...]:
    """Return the number of distinct words that each of the 32 banks must deliver for these byte addresses."""
    words = {(at + byte) // BANK_BYTES for at in address for byte in range(0, kind.bytes, BANK_BYTES)}
    counts = [0] * BANKS
    for word in words:
        counts[word % BANKS] += 1
    return tuple(counts)


def list_regular_addresses(kind: BankAccess) -> dict[str, list[int]]:
    """Return named address patterns of an access for measurements: strides, one address, and various broadcasts."""
    lanes, size = range(kind.lanes), kind.bytes
    strides = {f"stride {step}": [step * lane for lane in lanes] for step in (size, 2 * size, 8 * size, 128)}
    return strides | {name: [locate(lane, size) for lane in lanes] for name, locate in _REGULAR.items()}


_REGULAR: dict[str, Callable[[int, int], int]] = {  # name → (lane, bytes per lane) → address
    "one address": lambda lane, size: 0,
    "pairs alike": lambda lane, size: lane // 2 * size,
    "every other alike": lambda lane, size: lane % 2 * size,
    "pairs alike below lane 16": lambda lane, size: (lane // 2 if lane < 16 else lane) * size,
    "pairs below, every other above": lambda lane, size: (lane // 2 if lane < 16 else lane // 4 * 2 + lane % 2) * size,
    "fours alike": lambda lane, size: lane // 4 * size,
    "quarters alike": lambda lane, size: lane % 8 * size,
    "halves alike": lambda lane, size: lane % 16 * size,
    "pairs alike, in conflict": lambda lane, size: lane // 2 * 128,
    "quarters in conflict": lambda lane, size: lane % 8 * size + lane // 8 * 1024,
    "neighbours in conflict": lambda lane, size: lane % 2 * 1024 + lane // 2 * size,
}


# a warp's access to rows of a tile ------------------------------------------------------------------------------------

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WarpReach:
    """A pattern of lanes over rows of shared memory: a description, and (lane, bytes per lane) → (row, byte in it)."""

    text: str
    place: Callable[[Ints, int], tuple[Ints, Ints]]


REACHES = {
    "rows": WarpReach(
        "lane l at row l, byte 0 (ldmatrix down a column of chunks)", lambda lane, size: (lane, 0 * lane)
    ),
    "ldmatrix": WarpReach(
        "lanes 0–15 at rows 0–15, lanes 16–31 the next 16 bytes (A of m16n8k16)",
        lambda lane, size: (lane % 16, lane // 16 * 16),
    ),
    "along": WarpReach("lane l at row 0, element l (coalesced)", lambda lane, size: (0 * lane, lane * size)),
    "fragment": WarpReach(
        "lane l at row l / 4, register l % 4 (a fragment by ld.shared.b32)",
        lambda lane, size: (lane // 4, lane % 4 * 4),
    ),
    "columns": WarpReach(
        "lane l at row l % 8, chunk l / 8 (8 rows of 64 bytes)", lambda lane, size: (lane % 8, lane // 8 * 16)
    ),
}


def format_swizzle(xor: Swizzle) -> str:
    """Format a swizzle as in CuTe's C++."""
    return f"Swizzle<{xor.bits},{xor.base},{xor.shift}>"


@dataclass(frozen=True, slots=True)
class AccessUse:
    """One access with each lane's byte address before the swizzle, None for an inactive lane; text: its name."""

    access: BankAccess
    addresses: tuple[int | None, ...]
    text: str
    reach: str = ""

    def address(self, xor: Swizzle) -> list[int | None]:
        """Return every lane's byte address after a swizzle of byte addresses.

        LayoutError if it splits a lane's bytes.
        """
        if xor.bits and 1 << xor.base < self.access.bytes:
            raise LayoutError(
                "bad_swizzle",
                f"{format_swizzle(xor)} would split the {self.access.bytes} bytes of a lane of {self.access.name}.",
                f"The base M must be {self.finest} or more: B, M and S count bits of byte addresses.",
                "swizzle",
            )
        return [at if at is None else xor(at) for at in self.addresses]

    @property
    def finest(self) -> int:
        """The smallest base M that keeps a lane's bytes, and a bank's four, together."""
        return max(2, self.access.bytes.bit_length() - 1)

    def compute_use_cost(self, xor: Swizzle) -> Cost:
        return compute_cost(self.access, self.address(xor))


def make_rows_use(kind: BankAccess, reach: str, pitch_bytes: int) -> AccessUse:
    """Return an access to rows that are `pitch_bytes` apart, with a pattern of REACHES."""
    if reach not in REACHES:
        raise LayoutError("bad_pattern", f"No pattern '{reach[:40]}'.", f"Allowed: {', '.join(REACHES)}.", "pattern")
    if not 0 < pitch_bytes <= 1 << 16:
        raise LayoutError("bad_number", f"A pitch of {pitch_bytes} bytes.", "From 1 to 65536.", "row_bytes")
    line, along = REACHES[reach].place(np.arange(kind.lanes), kind.bytes)
    address = line * pitch_bytes + along
    for lane in np.flatnonzero(address % kind.bytes):
        why = f"Rows {pitch_bytes} bytes apart put lane {lane} at {address[lane]}, not at a multiple of {kind.bytes}."
        raise LayoutError("misaligned", why, f"{kind.name} accesses {kind.bytes} bytes per lane.", "row_bytes")
    return AccessUse(kind, tuple(address.tolist()), f"{kind.name} {reach}", reach)


def make_address_use(kind: BankAccess, address: object) -> AccessUse:
    """Return an access to the given byte addresses, one per lane."""
    return AccessUse(kind, tuple(check_addresses(kind, address)), f"{kind.name} at the addresses given")
