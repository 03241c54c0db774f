"""Options of addresses, forms and the command line, which builds its help from them: no engine is imported here."""

from __future__ import annotations

# How a tile is drawn: query parameter → (default, what it takes). Addresses, the page's form and the command line.
LOOK = {
    "down": ("", "the dimension that rows run along: mn or k; the one that is not contiguous where it is left out"),
    "unit": ("chunk", "what a cell is: chunk (16 bytes) or element"),
    "number": ("logical", "what cells are numbered by: logical (contiguous dimension first), memory, or none"),
    "show": ("both", "both, tile or memory"),
    "plain": ("0", "1: memory before the swizzle"),
}

VERDICT_FORMS = {"svg": "SVG", "png": "PNG", "pdf": "PDF", "tex": "TikZ", "csv": "CSV"}

# How the verdict on a descriptor is asked for, as the page's address has it: query parameter → what it is.
VERDICT = {
    "instruction": "the instruction that reads through the word; the page's usual one where it is left out",
    "idesc": "tcgen05: the instruction descriptor, for M, N and the majors",
    "operand": "a or b",
    "major": "K or MN, as the instruction reads",
    "slice_mn": "the slice's first row of M or N",
    "slice_k": "the slice's first K",
    "s_kind": "how the tile is stored: canonical, rows, atoms or cute",
    "s_swizzle": "none, 32B, 64B or 128B",
    "s_swizzle_by": "address or tile: what the XOR takes its bits from",
    "s_base": "first byte of the tile",
    "s_mn": "canonical: rows of M or N",
    "s_k": "canonical: extent of K",
    "s_order": "canonical: the dimension along which the atoms are laid first",
    "s_inner": "rows, atoms: the contiguous dimension, K or MN",
    "s_pitch_bytes": "rows: bytes from one to the next",
    "s_width_bytes": "atoms: bytes of a panel's line",
    "s_outer8_stride": "atoms: bytes from 8 lines to the next 8",
    "s_inner_stride": "atoms: bytes from one panel to the next",
    "s_line_stride": "atoms: bytes from one line to the next",
    "s_layout": "cute: a CuTe layout of (mn, k)",
    "s_unit": "cute: what the layout counts, elements, bytes or chunks",
    "assumed": "what of it was taken from the word: storage, or of swizzle, base and slice_k those that were",
}
