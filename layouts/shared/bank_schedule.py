"""The wavefronts of one access in order: the word that each bank serves in each, and for which lanes.

The number of wavefronts of a phase is measured. The order of a bank's words is not documented; here they come in the
order of the lowest lane that requests them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.shared.banks import BANK_BYTES, BANKS, BankAccess, check_addresses


@dataclass(frozen=True, slots=True)
class ServedWord:
    """A 32-bit word that a bank serves: its number from address 0, and the lanes that request it."""

    word: int
    lanes: tuple[int, ...]

    @property
    def bank(self) -> int:
        return self.word % BANKS

    @property
    def address(self) -> int:
        return self.word * BANK_BYTES


@dataclass(frozen=True, slots=True)
class Wavefront:
    """One wavefront of a phase: at most one word per bank, in the order of the banks."""

    phase: int
    words: tuple[ServedWord, ...]


def list_wavefronts(kind: BankAccess, address: object) -> list[Wavefront]:
    """Return the wavefronts of one access in order; address: a byte address per lane, None for an inactive one.

    >>> from lanescope.shared.banks import get_access
    >>> access = get_access("ld.shared.b32")
    >>> [[word.lanes for word in wave.words] for wave in list_wavefronts(access, [0, 128] + 30 * [None])]
    [[(0,)], [(1,)]]
    """
    addresses = check_addresses(kind, address)
    return [
        wavefront
        for number, lanes in enumerate(kind.list_phases(addresses))
        for wavefront in _schedule_phase(number, _list_words(kind, addresses, lanes))
    ]


def _list_words(kind: BankAccess, addresses: list[int | None], lanes: range) -> list[ServedWord]:
    """Return the distinct words of a phase, in the order of the lowest lane that requests each."""
    lanes_of: dict[int, list[int]] = {}
    for lane in lanes:
        if (start := addresses[lane]) is not None:
            for word in range(start // BANK_BYTES, (start + kind.bytes - 1) // BANK_BYTES + 1):
                lanes_of.setdefault(word, []).append(lane)
    return [ServedWord(word, tuple(lanes)) for word, lanes in lanes_of.items()]


def _schedule_phase(number: int, words: list[ServedWord]) -> Iterator[Wavefront]:
    waiting: dict[int, list[ServedWord]] = {}
    for served in words:
        waiting.setdefault(served.bank, []).append(served)
    for turn in range(max(map(len, waiting.values()), default=0)):
        yield Wavefront(number, tuple(waiting[bank][turn] for bank in sorted(waiting) if turn < len(waiting[bank])))
