"""Worked examples: one m64n32k16 product with A and B stored in shared memory in every way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lanescope.app.kit import links
from lanescope.app.memory.tile_figure import draw_tile
from lanescope.render import smem
from lanescope.render.svg import render_svg
from lanescope.shared.tiling import Tile

INSTRUCTION = "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16"


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """One m64n32k16 f16 product: how A and B are stored in shared memory, and a comment."""

    slug: str
    title: str
    a: tuple[str, str] | None
    b: tuple[str, str]
    text: str


EXAMPLES = (
    WorkedExample(
        "k-major-none",
        "A and B K-major, no swizzle",
        ("K", "none"),
        ("K", "none"),
        "Without a swizzle an atom is one core matrix: 8 rows of 16 bytes, one under the other. A core matrix of A has "
        "7 others below it, 128 bytes "
        "apart: that is SBO. The second 8 columns of K begin after all of them: that is LBO. Both are read.",
    ),
    WorkedExample(
        "mn-major-64b",
        "A M-major with the 64-byte swizzle, B N-major without one",
        ("MN", "64B"),
        ("MN", "none"),
        "A's atom is 32 elements of M wide and 8 of K deep, so 64 rows need two atoms side by side: LBO is the step "
        "between them, SBO the one to the next 8 of K. For B without a swizzle the roles are exchanged: LBO runs along "
        "K and SBO along N. Both transpose immediates are 1.",
    ),
    WorkedExample(
        "mixed-128b-32b",
        "A M-major with the 128-byte swizzle, B K-major with the 32-byte one",
        ("MN", "128B"),
        ("K", "32B"),
        "One atom of A has all 64 rows of M, so its LBO is not used. One atom of B is as wide as a K step; dense wgmma"
        " never uses the LBO of a swizzled K-major operand.",
    ),
    WorkedExample(
        "registers-64b",
        "A from registers, B N-major with the 64-byte swizzle",
        None,
        ("MN", "64B"),
        "A needs no descriptor: each thread packs its fragment. B's 32 columns are one atom of 32, so LBO is not read; "
        "SBO is the step to the next 8 of K.",
    ),
)
SLUG, TITLE = "worked-examples", "Worked examples"
LEAD = (
    "One m64n32k16 product with f16 operands, stored in four ways: the strides, the descriptors and the code of each."
)


def format_storage(storage: tuple[str, str] | None) -> str:
    """Format the storage of an example's operand as options of a whole program."""
    return f"major={storage[0]},swizzle={storage[1]},order=mn" if storage else "from=registers"


def build_side(letter: str, tile: Tile) -> dict[str, Any]:
    """Build one operand of an example: its tile's figure, strides, descriptor, code and links."""
    rows = tile.mn
    lbo, sbo = tile.get_lbo_sbo_bytes()
    lbo_used, sbo_used = tile.get_used_strides(rows)
    drawing = draw_tile(tile, None, rows)
    word = str(tile.descriptor())
    check = {
        "instruction": INSTRUCTION,
        "operand": letter.lower(),
        "major": tile.major,
        "s_swizzle": tile.mode.name,
        "s_mn": tile.mn,
        "s_k": tile.k,
        "s_order": tile.order,
        "s_base": hex(tile.base),
    }
    name = letter.lower()
    return {
        "letter": letter,
        "tile": tile,
        "lbo": lbo // 16,
        "sbo": sbo // 16,
        "lbo_used": lbo_used,
        "sbo_used": sbo_used,
        "cute": tile.cute(),
        "descriptor": word,
        "svg": render_svg(
            drawing.figure,
            title=f"{letter}: {tile.major}-major, swizzle {tile.mode.name}",
            palette=None,
            extra=drawing.extra,
        ),
        "smem": links.link_tile(tile, rows=rows, order=tile.order, base=tile.base),
        "verify": links.link_descriptor(word, check),
        "code": smem.render_fill(tile, name) + smem.render_descriptor(tile, name),
        "trans": 0 if tile.major == "K" else 1,
    }
