"""A TiledMMA or a TiledCopy given as a text: what print shows of it in C++ or in CuTe's Python, an object of
cutlass.cute, or the call that makes it. The texts are layouts.reader's.
"""

from __future__ import annotations

import re
from typing import Any

from layouts.errors import LayoutError
from layouts.reading import shown

_TEXT = re.compile(r"Layout\s*_?VMNK|Tiler\s*_?MN\b|Tiled\s?(?:MMA|Mma|Copy)\b|make_\w*tiled_(?:mma|copy)")


def body_of(kind: str, given: object, field: str = "atom") -> dict[str, Any] | None:
    """The arguments that a text has: of `kind`, tiled_mma or tiled_copy; None for a text that is an atom alone.
    LayoutError where it leaves one open.
    """
    text = str(given)
    if not _TEXT.search(text):
        return None
    from layouts.reader import tiled_copy, tiled_mma  # the reader's parsers load when a text is read

    found = (tiled_mma if kind == "tiled_mma" else tiled_copy).read(text)
    if not found:
        what = "TiledMMA" if kind == "tiled_mma" else "TiledCopy"
        raise LayoutError(
            "bad_atom", f"'{shown(text, 80)}' is no {what}.",
            f"An atom, or the whole text that print shows of a {what}, with its layouts.", field,
        )  # fmt: skip
    body: dict[str, Any] = found[0].facts["body"]
    return {name: value for name, value in body.items() if value is not None}
