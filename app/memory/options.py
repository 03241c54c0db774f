"""Options of addresses, forms and the command line. Imports no engine module, so that --help stays fast."""

from __future__ import annotations

# How a tile is drawn: query parameter → (default, allowed values). For addresses, the page's form and the command line.
LOOK = {
    "down": ("", "the dimension that rows run along: mn or k; the one that is not contiguous where it is left out"),
    "unit": ("chunk", "what a cell is: chunk (16 bytes) or element"),
    "number": ("logical", "what cells are numbered by: logical (contiguous dimension first), memory, or none"),
    "show": ("both", "both, tile or memory"),
    "plain": ("0", "1: memory before the swizzle"),
}

VERDICT_FORMS = {"svg": "SVG", "png": "PNG", "pdf": "PDF", "tex": "TikZ", "csv": "CSV"}
