"""The wavefronts of one access in turn: which word each bank serves in each, and for which lanes.

How many wavefronts a phase takes is measured; which of a bank's words goes first is not documented. Here the words of a
bank come in the order of the lowest lane that asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.shared.banks import BANK_BYTES, BANKS, BankAccess, check_addresses


@dataclass(frozen=True, slots=True)
class ServedWord:
    """A 32-bit word that a bank serves: its number from address 0, and the lanes that ask for it."""

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
    """One wavefront of a phase: at most one word of every bank, in the order of the banks."""

    phase: int
    words: tuple[ServedWord, ...]


def list_wavefronts(kind: BankAccess, address: object) -> list[Wavefront]:
    """Return the wavefronts of one access in turn; address: a byte address per lane, None for an inactive one.

    >>> from lanescope.shared.banks import get_access
    >>> access = get_access("ld.shared.b32")
    >>> [[word.lanes for word in one.words] for one in list_wavefronts(access, [0, 128] + 30 * [None])]
    [[(0,)], [(1,)]]
    """
    addresses = check_addresses(kind, address)
    return [
        wavefront
        for number, lanes in enumerate(kind.list_phases(addresses))
        for wavefront in _schedule_phase(number, _list_words(kind, addresses, lanes))
    ]


def _list_words(kind: BankAccess, addresses: list[int | None], lanes: range) -> list[ServedWord]:
    """List the different words of a phase, the lowest lane's first."""
    askers: dict[int, list[int]] = {}
    for lane in lanes:
        if (start := addresses[lane]) is not None:
            for word in range(start // BANK_BYTES, (start + kind.bytes - 1) // BANK_BYTES + 1):
                askers.setdefault(word, []).append(lane)
    return [ServedWord(word, tuple(lanes)) for word, lanes in askers.items()]


def _schedule_phase(number: int, words: list[ServedWord]) -> Iterator[Wavefront]:
    waiting: dict[int, list[ServedWord]] = {}
    for served in words:
        waiting.setdefault(served.bank, []).append(served)
    for turn in range(max(map(len, waiting.values()), default=0)):
        yield Wavefront(number, tuple(waiting[bank][turn] for bank in sorted(waiting) if turn < len(waiting[bank])))
