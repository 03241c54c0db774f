"""Arguments of a TiledMMA or TiledCopy from text: printed in C++ or CuTe's Python, or the call that creates it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

_TEXT = re.compile(r"Layout\s*_?VMNK|Tiler\s*_?MN\b|Tiled\s?(?:MMA|Mma|Copy)\b|make_\w*tiled_(?:mma|copy)")
_SCALAR = re.compile(r"UniversalFMA|SM\d+_DP[24]A|SM\d+_\w*FMA\w*")
_FOLLOW = ("threads", "tile_mnk", "values_per_thread", "tiler_mn", "bits")  # follow from the arguments
_FIELDS = ("atom_layout", "permutation", "thr_layout", "val_layout", "element_bits", "tiled_mma")


def parse_text_arguments(kind: str, atom: object, more: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """Return the arguments in a text of `kind`, "tiled_mma" or "tiled_copy", overridden by `more`.

    None for the text of an atom. If `more` is given, LayoutError for an argument that is not determined.
    """
    text = str(atom)
    if not _TEXT.search(text):
        return None
    from lanescope.reader.cute import tiled_copy, tiled_mma

    recognise = tiled_mma.recognise_tiled_mmas if kind == "tiled_mma" else tiled_copy.recognise_tiled_copies
    meanings = recognise(text)
    if not meanings:
        what = "TiledMMA" if kind == "tiled_mma" else "TiledCopy"
        raise LayoutError(
            "bad_atom",
            f"'{shorten_value(text, 80)}' is not a {what}.",
            f"Use an atom, or the complete printed text of a {what}, with its layouts.",
            "atom",
        )
    overrides = {name: value for name, value in (more or {}).items() if value is not None}
    body: dict[str, Any] = {
        name: value for name, value in meanings[0].facts["body"].items() if value is not None
    } | overrides
    if more is None:
        return body
    missing = [name for name in meanings[0].undetermined if name not in (*body, *_FOLLOW)]
    if not body.get("atom") and (scalar := _SCALAR.search(text)):
        raise LayoutError(
            "bad_atom",
            f"{scalar[0]} multiplies in one thread: it is not a warp-level instruction.",
            "Give an mma or wgmma atom: its operands are spread over threads.",
            "atom",
        )
    if missing:
        raise LayoutError(
            "bad_atom",
            f"'{shorten_value(text, 60)}' does not determine {', '.join(missing[:6])}.",
            "Write the values in the text, or give them as arguments.",
            missing[0] if missing[0] in _FIELDS else "atom",
        )
    return body
