"""Split a PTX opcode into words, shape, layouts, types and modifiers."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from lanescope.ptx.dtypes import DTYPES

# PTX's spellings of a shape: the sizes of a matrix product, or lanes of tensor memory and bits of each. At most six
# digits: int() rejects numbers of thousands of digits.
_SHAPES = tuple(
    map(
        re.compile,
        (
            r"m(?P<m>\d{1,6})n(?P<n>\d{1,6})(?:k(?P<k>\d{1,6}))?\Z",
            r"(?P<lanes>\d{1,6})x(?P<bits>\d{1,6})b(?:x(?P<halves>\d))?\Z",
        ),
    )
)
LAYOUTS = ("row", "col")
SILENT = {"sync", "aligned"}
# ptxas 13.5 takes the words of an opcode in any order except that of its layouts, of its types, and of these; the words
# of a family's name come first, but for a mark of sparsity
_IN_ORDER = frozenset("xor and or popc b8x16 b6x16_p32 b4x16_p64".split())
PLACED_FREELY = frozenset(("sp", "sp::ordered_metadata"))
STATE_SPACES = frozenset(
    "reg sreg const global local param param::entry param::func shared shared::cta shared::cluster tex".split()
)


def parse_sizes(shape: str) -> dict[str, int]:
    """Return the sizes in a shape; empty if the text is not a shape.

    >>> parse_sizes("m16n8k8"), parse_sizes("m8n8"), parse_sizes("16x64b"), parse_sizes("x4")
    ({'m': 16, 'n': 8, 'k': 8}, {'m': 8, 'n': 8}, {'lanes': 16, 'bits': 64}, {})
    >>> parse_sizes("16x32bx2")
    {'lanes': 16, 'bits': 32, 'halves': 2}
    """
    match = next((match for spelling in _SHAPES if (match := spelling.match(shape))), None)
    return {name: int(size) for name, size in match.groupdict().items() if size} if match else {}


@dataclass(frozen=True, slots=True)
class OpcodeSyntax:
    """The parts of a PTX opcode. Layouts, types and a few modifiers are in order; the others are not."""

    opcode: str
    shape: str
    layouts: tuple[str, ...]
    types: tuple[str, ...]
    modifiers: tuple[str, ...]
    in_order: tuple[str, ...] = ()  # words among the types and modifiers whose order matters

    @classmethod
    def parse(cls, text: str, words: Collection[str]) -> OpcodeSyntax:
        """Split a PTX opcode, with or without `.sync.aligned`; words: those that may follow the opcode's first word.

        Never raises: an unknown word is a modifier.
        """
        tokens = [t for t in re.sub(r"\s+", "", text).split(".") if t]
        head = 1
        while head < len(tokens) and tokens[head] in words:
            head += 1
        shape, layouts, types, modifiers = "", [], [], []
        for token in tokens[head:]:
            if parse_sizes(token):
                shape = token
            elif token in LAYOUTS:
                layouts.append(token)
            elif token in DTYPES:
                types.append(token)
            elif token not in SILENT:
                modifiers.append(token)
        in_order = tuple(token for token in tokens[head:] if token in _IN_ORDER)
        return cls(".".join(tokens[:head]), shape, tuple(layouts), tuple(types), tuple(modifiers), in_order)

    @property
    def key(self) -> tuple[object, ...]:
        return (self.opcode, self.shape, self.layouts, self.types, frozenset(self.modifiers), self.in_order)
