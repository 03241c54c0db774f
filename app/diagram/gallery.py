"""The gallery: one picture per kind of family. The golden tests use the same pictures."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanescope import find
from lanescope.app.diagram import forms as pictures
from lanescope.app.kit.links import link_instruction
from lanescope.app.memory.descriptors import parse_descriptor
from lanescope.app.memory.facts import TILE_FIELDS, parse_tile
from lanescope.render.palette import LIGHT, list_theme_colours

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


@dataclass(frozen=True, slots=True)
class GalleryEntry:
    """One picture of the gallery: an instruction's operand ("" for all), a tile, or a descriptor."""

    title: str
    page: str = ""
    ptx: str = ""
    operand: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @property
    def href(self) -> str:
        """Return the address of its page, by default that of the instruction."""
        return self.page or link_instruction(find(self.ptx))


def _make_entry(name: str, ptx: str, operand: str = "", **options: str) -> GalleryEntry:
    return GalleryEntry(name, "", ptx, operand, tuple(options.items()))


PICTURES = {
    "mma": _make_entry("mma.sync m16n8k16 f16", MMA),
    "mma-s8": _make_entry("mma.sync m16n8k32 s8", "mma.m16n8k32.row.col.s32.s8.s8.s32"),
    "mma-volta": _make_entry("mma.sync m8n8k4 f16: four products per warp", "mma.m8n8k4.row.col.f32.f16.f16.f32"),
    "mma-b1": _make_entry("mma.sync m8n8k128 b1, D", "mma.m8n8k128.row.col.s32.b1.b1.s32.and.popc", "d"),
    "mma-sp": _make_entry(
        "mma.sp m16n8k32 f16: A as stored", "mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32"
    ),
    "mma-scaled": _make_entry(
        "block-scaled mma m16n8k32 mxf8f6f4", "mma.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0"
    ),
    "wmma": _make_entry("wmma m16n16k16 f16", "wmma.mma.row.col.m16n16k16.f32.f32"),
    "wmma-load": _make_entry("wmma.load.a m16n16k16 f16: every element twice", "wmma.load.a.row.m16n16k16.f16", "a"),
    "wgmma": _make_entry("wgmma m64n32k16 f16", "wgmma.mma_async.m64n32k16.f32.f16.f16"),
    "wgmma-d": _make_entry("wgmma m64n256k16, D by warp", "wgmma.mma_async.m64n256k16.f32.bf16.bf16", "d", colour="w"),
    "wgmma-sp": _make_entry("wgmma.sp m64n16k64 e4m3: A as stored", "wgmma.mma_async.sp.m64n16k64.f32.e4m3.e4m3", "a"),
    "ldmatrix": _make_entry("ldmatrix x4", "ldmatrix.m8n8.x4.shared.b16"),
    "ldmatrix-trans": _make_entry("ldmatrix x2 .trans", "ldmatrix.m8n8.x2.trans.shared.b16"),
    "stmatrix": _make_entry("stmatrix x2", "stmatrix.m8n8.x2.shared.b16"),
    "movmatrix": _make_entry("movmatrix", "movmatrix.m8n8.trans.b16"),
    "bw": _make_entry(
        "D of the same mma in black and white, for print",
        MMA,
        "d",
        theme="bw",
        legend="1",
        caption="1",
        title="D of m16n8k16",
    ),
    "dark": _make_entry("B of the same mma on a dark background", MMA, "b", theme="dark", colour="t", legend="1"),
    "smem-128b": GalleryEntry("A 64×64 f16 tile, K-major, swizzle 128B", "/smem", options=(("mn", "64"), ("k", "64"))),
    "smem-mn": GalleryEntry(
        "A 128×16 f16 tile, M-major, swizzle 64B",
        "/smem?major=MN&swizzle=64B&mn=128&k=16",
        options=(("major", "MN"), ("swizzle", "64B"), ("mn", "128"), ("k", "16")),
    ),
    "smem-down": GalleryEntry(
        "A 128×16 f16 tile, M-major, swizzle 128B: M down, numbered by address",
        "/smem?major=MN&swizzle=128B&mn=128&k=16&down=mn&number=memory",
        options=(
            ("major", "MN"),
            ("swizzle", "128B"),
            ("mn", "128"),
            ("k", "16"),
            ("down", "mn"),
            ("number", "memory"),
        ),
    ),
    "descriptor": GalleryEntry("A wgmma matrix descriptor", "/descriptor/wgmma/0x4000004000010100"),
}


def draw_entry(slug: str) -> str:
    """Draw one picture of the gallery as SVG."""
    entry = PICTURES[slug]
    options = dict(entry.options)
    if entry.ptx:
        instruction = find(entry.ptx)
        picture = pictures.render_instruction(
            "svg", instruction, instruction.operand(entry.operand) if entry.operand else None, options
        )
    elif slug == "descriptor":
        picture = pictures.render_descriptor("svg", parse_descriptor("0x4000004000010100"), options)
    else:
        parse_tile({name: value for name, value in options.items() if name in TILE_FIELDS})
        picture = pictures.render_tile("svg", options)
    return str(picture)


THEME_COLOURS = {light: f"var({name})" for name, light, _ in list_theme_colours()} | {
    LIGHT.muted: "var(--muted)",
    LIGHT.paper: "var(--raised)",
}
_THEME_COLOUR = re.compile("|".join(THEME_COLOURS))


def draw_in_page_colours(slug: str) -> str:
    """Draw one picture of the gallery as SVG in the colours of the page's theme, unless the picture names its own."""
    svg = draw_entry(slug)
    if "theme" in dict(PICTURES[slug].options):
        return svg
    return _THEME_COLOUR.sub(lambda found: THEME_COLOURS[found[0]], svg)
