"""Common storages of a tile, for texts that do not state how an operand is stored; the user chooses one by name.

Sizes and order are those of CUTLASS's sm90 collectives (lanescope.shared.tiling.DEFAULT_ORDER); the swizzle is the
word's, and the tile begins where the operand's first step does.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lcm
from typing import Any

from lanescope.descriptor.matrix import Descriptor, View
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import Mode, get_mode
from lanescope.shared.tma import make_panel_storage
from lanescope.workbench.reads.tiles import StoredTile, TileRequest
from lanescope.workbench.results import Assumption

PRESETS = {  # name → title, completed by the swizzle
    "box": "TMA box, {mode}",
    "atoms": "CuTe atom, {mode}",
    "cores": "Core matrices",
    "rows": "Row-major",
}


def get_preset_title(name: str, view: View, word: int) -> str:
    """Return the short title of a preset: `TMA box, 128B`."""
    return PRESETS[name].format(mode=view.choose_mode(Descriptor(word).mode_code).name)


def lay_preset(name: str, request: TileRequest, word: int) -> StoredTile:
    """Return the tile that holds rows × depth elements of an operand stored in a common way.

    name: of PRESETS; word: a descriptor of the operand, which says the swizzle. LayoutError for another name.
    """
    key, seen = f"stored.{request.operand}", request.seen
    if name not in _SPECS:
        allowed = f"Allowed: {', '.join(PRESETS)}."
        raise LayoutError("bad_storage", f"{key} is '{shorten_value(name)}'.", allowed, key)
    mode = seen.choose_mode(Descriptor(word).mode_code)
    spec = {field: value for field, value in _SPECS[name](request, mode).items() if field != "base"}
    title = get_preset_title(name, seen, word)
    assumed = Assumption(key, f"{request.name} is stored as", name, "as given", tuple(PRESETS))
    return StoredTile(spec, (assumed,), title, storage({**spec, "base": 0}, seen.bits, seen.major).mn)


def _count_line_bytes(request: TileRequest) -> tuple[int, int]:
    """Return (lines of a tile, bytes of one along the contiguous dimension)."""
    seen = request.seen
    lines, along = (request.rows, request.depth) if seen.major == "K" else (request.depth, request.rows)
    return lines, along * seen.bits // 8


def _make_box(request: TileRequest, mode: Mode) -> dict[str, Any]:
    lines, _ = _count_line_bytes(request)
    return make_panel_storage(mode.width_bytes, lines, mode.name, inner=request.seen.major)


def _make_canonical(request: TileRequest, mode: Mode) -> dict[str, Any]:
    seen = request.seen
    atom_mn, atom_k = mode.get_atom_size(seen.bits, seen.major)
    k = lcm(atom_k, seen.k)
    return {
        "kind": "canonical",
        "element_bits": seen.bits,
        "major": seen.major,
        "swizzle": mode.name,
        "mn": -(-request.rows // atom_mn) * atom_mn,
        "k": -(-request.depth // k) * k,
        "order": "",
    }


def _make_rows(request: TileRequest, mode: Mode) -> dict[str, Any]:
    _, along = _count_line_bytes(request)
    return {
        "kind": "rows",
        "inner": request.seen.major,
        "pitch_bytes": along,
        "swizzle": "none",
        "swizzle_by": "address",
    }


_SPECS: dict[str, Callable[[TileRequest, Mode], dict[str, Any]]] = {
    "box": _make_box,
    "atoms": _make_canonical,
    "cores": lambda request, mode: _make_canonical(request, get_mode("none")),
    "rows": _make_rows,
}
