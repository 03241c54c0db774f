"""The lesson's tile: 64×16 f16 elements, A or B of one wgmma, stored in two ways.

Every number of the lesson's pages is computed here from the tile.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from html import escape
from urllib.parse import urlencode

from lanescope.app.guide.markdown import format_link
from lanescope.app.kit import links
from lanescope.app.memory.atoms import format_atom
from lanescope.app.memory.verdicts import build_verified
from lanescope.app.memory.verification import build_request, judge_request
from lanescope.errors import LayoutError
from lanescope.ptx.catalog import find
from lanescope.ptx.instruction import Operand
from lanescope.render.tables import format_table
from lanescope.shared import chain
from lanescope.shared.operand_storage import make_operand_storage
from lanescope.shared.swizzle import BY_WIDTH, Mode, get_mode
from lanescope.shared.tile_map import list_tile_strides
from lanescope.shared.tiling import Tile, spell_canonical

INSTRUCTION = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
WARP_INSTRUCTION = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
ROWS, DEPTH, BITS, START = 64, 16, 16, 0x1000
STORAGES = {"k": ("K", "none"), "mn": ("MN", "64B")}  # the two ways in which the lesson stores its tile
CHUNK = 16  # bytes
LANE = 5  # whose halves the lesson follows through ldmatrix
_STRIDES = re.compile(r"(.*:\(\(\d+,)(\d+)(\),\(\d+,)(\d+)(\)\))")


def make_tile(major: str, mode: Mode, order: str = "mn") -> Tile:
    """Return the lesson's tile stored in one way."""
    return Tile(BITS, major, mode, ROWS, DEPTH, order=order, base=START)


@lru_cache(maxsize=8)
def get_tile(name: str, order: str = "mn") -> Tile:
    """Return the lesson's tile by the name of its storage: k or mn."""
    major, swizzle = STORAGES[name]
    return make_tile(major, get_mode(swizzle), order)


def build_tile_query(tile: Tile) -> dict[str, str]:
    """Return the address of a tile's page as options."""
    sizes = {"mn": str(tile.mn), "k": str(tile.k), "order": tile.order, "base": hex(tile.base)}
    return {"major": tile.major, "swizzle": tile.mode.name, **sizes}


def build_verdict_query(tile: Tile, operand: str) -> dict[str, str]:
    """Return the address of the verifier for a tile's word as options."""
    stored = {
        "s_kind": "canonical",
        "s_swizzle": tile.mode.name,
        "s_mn": str(tile.mn),
        "s_k": str(tile.k),
        "s_order": tile.order,
        "s_base": hex(tile.base),
    }
    return {"instruction": INSTRUCTION, "operand": operand, "major": tile.major, **stored}


def link_verdict(tile: Tile, operand: str) -> str:
    """Link the verifier with a tile's word and storage."""
    return links.link_descriptor(str(tile.descriptor()), build_verdict_query(tile, operand))


def verify_operand(tile: Tile, operand: str, major: str = "") -> str:
    """Verify a tile's word as an operand of the lesson's instruction: "match: 1024 of 1024"."""
    request = build_request(tile.descriptor(), build_verdict_query(tile, operand)) | ({"major": major} if major else {})
    verdict = build_verified(judge_request(request).request)
    return f"{verdict.verdict}: {verdict.matched:,} of {verdict.total:,}"


def mark_strides(tile: Tile) -> str:
    """Return a tile's layout in 16-byte chunks as HTML, each stride between atoms marked as LBO or SBO."""
    text = _shorten_layout(tile, "chunks")
    named = {"mn" if stride.mn else "k": stride.name for stride in list_tile_strides(tile, ROWS)}
    match = _STRIDES.fullmatch(text)
    assert match
    parts = [escape(part) for part in match.groups()]
    for part, way in ((1, "mn"), (3, "k")):
        if way in named:  # else there is one atom, and no step to a next one
            parts[part] = f"<mark>{named[way]} {parts[part]}</mark>"
    return f"<code>{''.join(parts)}</code>"


def get_core_operand(letter: str) -> Operand:
    """Return A or B of the warp's instruction, whose registers ldmatrix fills."""
    return find(WARP_INSTRUCTION).operand(letter)


def build_load_query(name: str, letter: str) -> dict[str, str]:
    """Return the address of the chain that loads the first rows of the stored tile into an operand of mma."""
    major, swizzle = STORAGES[name]
    stored = {"s_kind": "canonical", "s_swizzle": swizzle, "s_mn": str(ROWS), "s_k": str(DEPTH)}
    load = find_load(name, letter).load.instruction.ptx
    query = {"mma": WARP_INSTRUCTION, "operand": letter, "major": major, "load": load}
    return {**query, **stored, "s_order": "mn", "s_base": hex(START), "s_swizzle_by": "address"}


@lru_cache(maxsize=8)
def find_load(name: str, letter: str) -> chain.Chain:
    """Find the load that feeds an operand of mma from the stored tile with the fewest instructions."""
    major, swizzle = STORAGES[name]
    spec = {"kind": "canonical", "swizzle": swizzle, "mn": ROWS, "k": DEPTH, "order": "mn", "base": START}
    operand = get_core_operand(letter)
    stored = make_operand_storage(spec, operand, major)
    return chain.list_best_chains(operand, stored)[0]


def describe_lane(letter: str) -> str:
    """Describe the first two elements that the lesson's lane holds of an operand of mma: "A[1][2] and A[1][3]"."""
    operand = get_core_operand(letter)
    names = [f"{letter.upper()}[{int(operand.rows[LANE, n])}][{int(operand.cols[LANE, n])}]" for n in (0, 1)]
    return " and ".join(names)


def describe_received(letter: str, name: str, transposed: bool) -> str:
    """Describe the elements that the lesson's lane receives from the first core matrix of a stored tile: rows of memory
    are lines along the contiguous dimension.
    """
    load = find(f"ldmatrix.sync.aligned.m8n8.x1{'.trans' if transposed else ''}.shared.b16").operand("data")
    lines = [(int(load.rows[LANE, n]), int(load.cols[LANE, n])) for n in (0, 1)]  # (line of memory, half in it)
    found = []
    for line, half in lines:
        mn, k = (line, half) if name == "k" else (half, line)
        row, col = (mn, k) if letter == "a" else (k, mn)
        found.append(f"{letter.upper()}[{row}][{col}]")
    return " and ".join(found)


def _get_fact(name: str, fact: str) -> str:
    tile = get_tile(name)
    lbo, sbo = tile.get_lbo_sbo_bytes()
    other = get_tile(name, "k")
    atom = Tile(BITS, tile.major, tile.mode, *tile.atom, order="mn", base=START)
    facts: dict[str, Callable[[], str]] = {
        "query": lambda: urlencode(build_tile_query(tile)),
        "other-query": lambda: urlencode(build_tile_query(other)),
        "atom-query": lambda: urlencode(build_tile_query(atom)),
        "size": lambda: f"{tile.atom[0]}×{tile.atom[1]}",
        "atoms": lambda: f"{tile.atoms[0]}×{tile.atoms[1]}",
        "atom": lambda: f"`{_drop_identity(format_atom(atom, CHUNK * 8))}`",
        "atom-elements": lambda: f"`{_drop_identity(format_atom(atom, BITS))}`",
        "chunks": lambda: f"`{_shorten_layout(tile, 'chunks')}`",
        "elements": lambda: f"`{_shorten_layout(tile, 'elements')}`",
        "other-chunks": lambda: f"`{_shorten_layout(other, 'chunks')}`",
        "marked": lambda: mark_strides(tile),
        "marked-other": lambda: mark_strides(other),
        "lbo": lambda: f"{lbo:,}",
        "sbo": lambda: f"{sbo:,}",
        "lbo-chunks": lambda: str(lbo // CHUNK),
        "sbo-chunks": lambda: str(sbo // CHUNK),
        "word": lambda: str(tile.descriptor()),
        "verify-a": lambda: urlencode(build_verdict_query(tile, "a")),
        "verify-b": lambda: urlencode(build_verdict_query(tile, "b")),
        "verified-a": lambda: verify_operand(tile, "a"),
        "verified-other": lambda: verify_operand(tile, "a", "MN" if tile.major == "K" else "K"),
        "width": lambda: str(tile.mode.chunks),
        "verified-b": lambda: verify_operand(tile, "b"),
        "load-a": lambda: urlencode(build_load_query(name, "a")),
        "load-b": lambda: urlencode(build_load_query(name, "b")),
        "received-a": lambda: describe_received("a", name, False),
        "received-b": lambda: describe_received("b", name, False),
        "transposed-a": lambda: describe_received("a", name, True),
        "transposed-b": lambda: describe_received("b", name, True),
    }
    if fact not in facts:
        raise LayoutError("bad_value", f"No value 'lesson {name} {fact}'.", f"Allowed: {', '.join(facts)}.", "guide")
    return facts[fact]()


def _shorten_layout(tile: Tile, unit: str) -> str:
    return _drop_identity(tile.cute()[unit])


def _drop_identity(layout: str) -> str:
    """Return a layout as CuTe prints it, without an identity swizzle."""
    return layout.partition(" o ")[2] if layout.startswith("Sw<0,") else layout


def format_lesson_value(text: str) -> str:
    """Format one value of the lesson: a storage and its fact ("k lbo"), or a fact of the tile."""
    name, _, fact = text.partition(" ")
    if name in STORAGES:
        return _get_fact(name, fact)
    tile = get_tile("k")
    facts = {
        "rows": str(ROWS),
        "depth": str(DEPTH),
        "bytes": f"{ROWS * DEPTH * BITS // 8:,}",
        "start": hex(START),
        "instruction": INSTRUCTION,
        "shape": find(INSTRUCTION).shape,
        "per-chunk": str(CHUNK * 8 // BITS),
        "lane": str(LANE),
        "holds": describe_lane(fact or "a"),
        "same-word": str(make_tile("MN", tile.mode).descriptor()),
    }
    if name not in facts:
        raise LayoutError("bad_value", f"No value 'lesson {name}'.", f"Allowed: {', '.join(facts)}.", "guide")
    return facts[name]


# tables ---------------------------------------------------------------------------------------------------------------


def render_lesson_modes() -> str:
    """Render the tile in every mode and major in which its sizes are whole atoms: strides and word."""
    rows = []
    for major in ("K", "MN"):
        for mode in BY_WIDTH:
            try:
                tile = make_tile(major, mode)
            except LayoutError:
                continue  # an atom wider than the tile
            lbo, sbo = tile.get_lbo_sbo_bytes()
            lbo_used, sbo_used = tile.get_used_strides(ROWS)
            rows.append(
                (
                    f"{major}-major, {mode.name}",
                    mark_strides(tile),
                    f"{lbo:,} B" if lbo_used else "not read",
                    f"{sbo:,} B" if sbo_used else "not read",
                    format_link(f"`{tile.descriptor()}`", link_verdict(tile, "a")),
                )
            )
    return format_table(("stored", "layout in 16-byte chunks", "LBO", "SBO", "word"), rows)


def render_lesson_operands() -> str:
    """Render the lesson's four operands: storage, load, immediate and verdict."""
    rows = []
    for letter in ("a", "b"):
        for name in STORAGES:
            tile = get_tile(name)
            major = "K" if tile.major == "K" else "M" if letter == "a" else "N"
            load = "ldmatrix.trans" if ".trans" in find_load(name, letter).load.instruction.ptx else "ldmatrix"
            rows.append(
                (
                    f"{letter.upper()}, {major}-major, {tile.mode.name}",
                    f"`{load}`",
                    str(int(tile.major != "K")),
                    mark_strides(tile),
                    format_link(f"`{tile.descriptor()}`", link_verdict(tile, letter)),
                    verify_operand(tile, letter),
                )
            )
    head = ("operand", "load of mma", "immediate", "layout in 16-byte chunks", "word", "verified")
    return format_table(head, rows)


def render_ptx_layouts() -> str:
    """Render the canonical layouts as PTX writes them: in elements, T of them in 16 bytes."""
    rows = [
        (f"{major}-major", mode.name, f"`{spell_canonical(mode, major)[1]}`")
        for major in ("K", "MN")
        for mode in BY_WIDTH
    ]
    return format_table(("contiguous", "mode", "layout in elements"), rows)
