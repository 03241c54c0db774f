"""Values assumed for the symbols in descriptors, such as `smem_A` or `tid` in a start, or the note that they are
missing.

`operands.py` calls `take_symbols` for each operand before its steps are verified.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from lanescope import inputs
from lanescope.descriptor.matrix import View
from lanescope.workbench.reads import alignment
from lanescope.workbench.reads.verification import OperandTurn
from lanescope.workbench.results import K_OF_INSTRUCTION, Assumption

FIRST_ADDRESS, NEXT_ADDRESS, PAST_ADDRESSES = 0x400, 0x8000, 0x38000  # assumed start of a text's tiles
# usual names of the K of one instruction: WGMMA_K, WGMMA::K, kWgmmaK, INST_K
_INSTRUCTION_K = re.compile(r"(?:mma|inst(?:r|ruction)?)(?:<[^<>]*>)?(?:_|::)?k(?:_?dim)?$", re.I)
_WHOLE_WORD = re.compile(r"0x[0-9a-f]{9,}")  # a constant of more than 32 bits: the other fields are in the symbol
_BRANCH = re.compile(r"\(.* \? (\d+) : (\d+)\)")
_ADDRESS = ("smem", "shared", "ptr", "addr", "base", "tile", "buf", "&", "s")  # words in names of addresses


def list_symbols(turns: Sequence[OperandTurn]) -> Iterator[str]:
    """Yield every symbol of the iterations' descriptors, each as often as it is there."""
    return (name for turn in turns for piece in turn.argument.value.pieces for name, _ in piece.source.terms)


def take_symbols(
    turns: Sequence[OperandTurn],
    choices: Mapping[str, str],
    known: dict[str, int],
    view: View,
    aligned: Mapping[str, int],
) -> list[Assumption]:
    """Return the assumptions about the symbols of the iterations' descriptors; add their values to `known`.

    A symbol with one factor in every start only moves the complete tile. An address is assumed as aligned as its
    declaration states (`aligned`), else 1024-byte aligned; any other such symbol is assumed to be 0. A symbol that a
    field or the distance between two iterations depends on must be given by the user.
    """
    symbols = _Symbols(turns, known, aligned)
    assumptions = (symbols.assume_symbol(name, choices, view) for name in dict.fromkeys(list_symbols(turns)))
    return [assumption for assumption in assumptions if assumption is not None]


class _Symbols:
    """The symbols of one operand. shared: symbol → its factor, of those that every start has in the same way; address:
    the one of them that is the tile's address; in_fields: those that other fields than the start depend on; least: the
    least constant of a start.
    """

    def __init__(self, turns: Sequence[OperandTurn], known: dict[str, int], aligned: Mapping[str, int]) -> None:
        self.known = known
        self.aligned = aligned
        lines = [turn.argument.address for turn in turns]
        terms = [dict(line.terms) if line is not None else {} for line in lines]
        first = terms[0] if terms else {}
        self.shared = {name: factor for name, factor in first.items() if all(t.get(name) == factor for t in terms)}
        plain = [name for name, factor in self.shared.items() if factor == 1]
        self.address = next(filter(_is_address, plain), plain[0] if plain else "")
        self.in_fields = {
            name
            for turn in turns
            for piece in turn.argument.value.pieces
            for name, _ in piece.source.terms
            if piece.low >= 14 or _WHOLE_WORD.search(name)
        }
        self.least = min((line.const for line in lines if line is not None), default=0)

    def assume_symbol(self, name: str, choices: Mapping[str, str], view: View) -> Assumption | None:
        """Return the assumption for a symbol, with value "" if it must be given; None if it is known."""
        key = f"at.{name}"
        if key in choices:
            self.known[name] = inputs.parse_integer(choices[key], key, 0, 1 << 40)
            return Assumption(key, name, choices[key], "as given")
        moves = name in self.shared and name not in self.in_fields
        if name in self.known:
            return self._raise_move(key, name) if moves and name != self.address else None
        if moves:
            return self._take_address(key, name) if name == self.address else self._take_move(key, name)
        if _INSTRUCTION_K.search(name):
            self.known[name] = view.k
            return Assumption(key, name, str(view.k), K_OF_INSTRUCTION)
        either = _BRANCH.fullmatch(name)
        return Assumption(key, name, "", "descriptors depend on it", (either[1], either[2]) if either else ())

    def _take_address(self, key: str, name: str) -> Assumption:
        """Assume an address after those already assumed."""
        at = FIRST_ADDRESS + NEXT_ADDRESS * sum(value >= FIRST_ADDRESS for value in self.known.values())
        self.known[name], why = alignment.choose_address(
            name, at if at < PAST_ADDRESSES else FIRST_ADDRESS, self.aligned
        )
        return Assumption(key, name, hex(self.known[name]), why)

    def _raise_move(self, key: str, name: str) -> Assumption | None:
        """Raise the value that other tiles have of a symbol if a start would be negative; None if it would not."""
        self.least += self.known[name] * self.shared[name]
        return self._take_move(key, name, self.known[name]) if self.least < 0 < self.shared[name] else None

    def _take_move(self, key: str, name: str, at: int = 0) -> Assumption:
        """Assume 0 for a symbol that moves the complete tile, or the least value that keeps all starts non-negative."""
        factor = self.shared[name]
        if self.least < 0 < factor:  # (threadIdx.x / 128 - 1) * 8192 of the second group
            more = -(self.least // factor)
            at += more
            self.least += more * factor
        self.known[name] = at
        return Assumption(key, name, str(at), "moves the whole tile only")


def _is_address(name: str) -> bool:
    return any(word in name.lower() for word in _ADDRESS)
