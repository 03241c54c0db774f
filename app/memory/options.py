"""How a tile is drawn: query parameter → (default, what it takes). Addresses, the page's form and the command line."""

from __future__ import annotations

from layouts.swizzle import NAMES
from layouts.tiling import DEFAULT_ORDER

# How a tile is drawn: query parameter → (default, what it takes). Addresses, the page's form and the command line.
LOOK = {
    "down": ("", "the dimension that rows run along: mn or k; the one that is not contiguous where it is left out"),
    "unit": ("chunk", "what a cell is: chunk (16 bytes) or element"),
    "number": ("logical", "what cells are numbered by: logical (contiguous dimension first), memory, or none"),
    "show": ("both", "both, tile or memory"),
    "plain": ("0", "1: memory before the swizzle"),
}

# What a tile takes: parameter → (the words it may be, none for a number; what it is).
TILE: dict[str, tuple[tuple[str, ...], str]] = {
    "element_bits": ((), "Bits of an element."),
    "major": (tuple(DEFAULT_ORDER), "Which way is contiguous."),
    "swizzle": (NAMES, "The swizzle mode."),
    "mn": ((), "Elements of M or N."),
    "k": ((), "Elements of K."),
    "rows": ((), "Rows of one instruction; 64, or mn where that is less."),
    "order": (("mn", "k"), "Which way the atoms are laid first; the usual one of the major where it is empty."),
    "base": ((), "The tile's byte address."),
}
