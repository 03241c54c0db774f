"""The page of the swizzle atoms: all eight, and tiles made of them in both orders of tile_to_shape, with LBO and SBO
drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lanescope.app.kit import links
from lanescope.app.kit.fact import Json
from lanescope.app.memory.choices import LABELS, list_look_choices
from lanescope.app.memory.options import LOOK
from lanescope.app.memory.tile_figure import LABELLED, TileLook, draw_tile, parse_look
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.render.svg import render_svg
from lanescope.shared.swizzle import BY_WIDTH, Mode, get_mode
from lanescope.shared.tile_map import DOWN, NUMBERS, UNITS, list_tile_strides
from lanescope.shared.tiling import DEFAULT_ORDER, Tile

BITS = (16, 8, 32)
# (major, mode, mn, k) in 16-bit elements: a tile for each of the four meanings of LBO and SBO
CASES = (("K", "none", 16, 64), ("K", "32B", 16, 64), ("MN", "none", 128, 16), ("MN", "128B", 128, 16))
DEFAULTS = {"element_bits": "16", "down": "mn", "unit": "chunk", "number": "memory"}


def build_context(query: Mapping[str, str]) -> Json:
    """Return the template's variables: options, atoms and tiles. A wrong option is reported, and the default shown."""
    options = {name: query.get(name) or default for name, default in DEFAULTS.items()}
    error = None
    try:
        look, bits = _parse_look(options)
    except LayoutError as wrong:
        error, (look, bits) = wrong, _parse_look(DEFAULTS)
    majors = tuple(major for major in DEFAULT_ORDER if is_readable(major, bits))
    return {
        "given": options,
        "error": error,
        "look": look,
        "labels": LABELS,
        "segments": list_look_choices(
            {"element_bits": str(bits), **{name: getattr(look, name) for name in ("down", "unit", "number")}},
            {"element_bits": tuple(map(str, BITS)), "down": DOWN, "unit": UNITS, "number": NUMBERS},
            "/smem/atoms",
            {name: value for name, value in options.items() if not error and value != DEFAULTS[name]},
        ),
        "modes": [build_mode(width, bits) for width in BY_WIDTH],
        "atoms": [
            (
                major,
                [build_atom(Tile(bits, major, width, *width.get_atom_size(bits, major)), look) for width in BY_WIDTH],
            )
            for major in majors
        ],
        "cases": [
            build_tile_case(major, swizzle, mn, k * 16 // bits, bits, look)
            for major, swizzle, mn, k in CASES
            if major in majors
        ],
    }


def build_mode(width: Mode, bits: int) -> Json:
    """Return a swizzle mode in numbers: its atoms, how it changes an address, its codes in a descriptor and a tensor
    map.
    """
    terms = width.swizzle().list_terms()
    (low, read), (high, last) = (terms[0], terms[-1]) if terms else ((0, 0), (0, 0))
    spans = (str(low), str(read)) if len(terms) == 1 else (f"{low}–{high}", f"{read}–{last}")
    return {
        "name": width.name,
        "atoms": {
            major: "×".join(map(str, width.get_atom_size(bits, major)))
            for major in ("K", "MN")
            if is_readable(major, bits)
        },
        "bytes": width.pattern_bytes,
        "cute": str(width.swizzle(8)),
        "xor": f"{'bits' if len(terms) > 1 else 'bit'} {spans[0]} ^= {spans[1]}" if terms else "",
        "code": WGMMA.codes[width],
        "tma": width.tma,
    }


def is_readable(major: str, bits: int) -> bool:
    """Return whether wgmma reads elements of this size with this major."""
    return major == "K" or bits == 16


def _parse_look(query: Mapping[str, str]) -> tuple[TileLook, int]:
    bits = parse_integer(query["element_bits"], "element_bits")
    if bits not in BITS:
        raise LayoutError(
            "bad_option", f"element_bits is {bits}.", f"Allowed: {', '.join(map(str, BITS))}.", "element_bits"
        )
    return replace(parse_look({name: query[name] for name in ("down", "unit", "number")}), show="tile"), bits


def build_atom(tile: Tile, look: TileLook) -> Json:
    """Return an atom: its picture, and its layout in chunks as PTX and CUTLASS give it."""
    return {
        "title": f"{tile.mode.name}, {tile.major}-major",
        "size": f"{tile.mn}×{tile.k}",
        "chunks": format_atom(tile, 128),
        "elements": format_atom(tile, tile.element_bits),
        "svg": _draw_tile(tile, look),
        "link": _link_tile(tile, look),
    }


def format_atom(tile: Tile, unit_bits: int) -> str:
    """Return the atom's layout (mn, k) in units of `unit_bits` bits."""
    wide = tile.mode.width_bytes * 8 // unit_bits
    return f"{tile.mode.swizzle(unit_bits)} o " + (
        f"(8,{wide}):({wide},1)" if tile.major == "K" else f"({wide},8):(1,{wide})"
    )


def build_tile_case(major: str, swizzle: str, mn: int, k: int, bits: int, look: TileLook) -> Json:
    """Return a tile in both orders of its atoms, with the strides of each."""
    sides = []
    for order in ("mn", "k"):
        tile = Tile(bits, major, get_mode(swizzle), mn, k, order)
        sides.append(
            {
                "order": "M or N first" if order == "mn" else "K first",
                "usual": tile.order == Tile(bits, major, get_mode(swizzle), mn, k).order,
                "cute": tile.cute()["chunks"],
                "strides": [
                    {"name": s.name, "bytes": s.bytes, "chunks": s.bytes // 16, "words": s.words}
                    for s in list_tile_strides(tile, min(mn, 256))
                ],
                "svg": _draw_tile(tile, look),
                "link": _link_tile(tile, look),
            }
        )
    return {
        "title": f"{mn}×{k}, {major}-major, {'no swizzle' if swizzle == 'none' else swizzle + ' swizzle'}",
        "sides": sides,
    }


def _draw_tile(tile: Tile, look: TileLook) -> str:
    drawing = draw_tile(tile, look, titled=False)
    return render_svg(
        drawing.figure,
        title=f"{tile.major}-major, {tile.mode.name}",
        palette=None,
        extra=drawing.extra,
        labels_up_to=LABELLED,
    )


def _link_tile(tile: Tile, look: TileLook) -> str:
    """Link to the tile explorer with the same tile, drawn the same way."""
    looks = {"down": look.down, "unit": look.unit, "number": look.number}
    changed = {name: value for name, value in looks.items() if value != LOOK[name][0]}
    return links.link_tile(tile, order=tile.order, **changed)
