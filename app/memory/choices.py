"""Choices that the tile pages offer as links: common tiles, and each option with the sizes it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from lanescope.app.kit import links
from lanescope.app.kit.question import labels_of
from lanescope.app.memory.facts import TileQuestion
from lanescope.app.memory.options import LOOK
from lanescope.app.memory.presets import compute_thumbnail
from lanescope.descriptor.matrix import View
from lanescope.errors import LayoutError
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import DEFAULT_ORDER, Tile

Asked = dict[str, str]


@dataclass(frozen=True, slots=True)
class OptionChoice:
    """One of several exclusive options. href: "" if it cannot be chosen; `why` is the reason."""

    text: str
    href: str
    on: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """The options of a field, below its label."""

    label: str
    choices: tuple[OptionChoice, ...]


@dataclass(frozen=True, slots=True)
class CommonTile:
    """A tile that many kernels use; a row per preset."""

    title: str
    about: str
    bits: int
    major: str
    swizzle: str
    mn: int
    k: int

    @property
    def tile(self) -> Tile:
        return Tile(self.bits, self.major, get_mode(self.swizzle), self.mn, self.k)


COMMON = (
    CommonTile("f16, K-major, 128B", "64×64, one TMA box", bits=16, major="K", swizzle="128B", mn=64, k=64),
    CommonTile("f16, MN-major, 128B", "128×64, two panels", bits=16, major="MN", swizzle="128B", mn=128, k=64),
    CommonTile("f16, K-major, 64B", "128×32, 32 of K", bits=16, major="K", swizzle="64B", mn=128, k=32),
    CommonTile("Core matrices", "64×64, no swizzle", bits=16, major="K", swizzle="none", mn=64, k=64),
    CommonTile("fp8, K-major, 128B", "64×128, one byte each", bits=8, major="K", swizzle="128B", mn=64, k=128),
    CommonTile("tf32, K-major, 128B", "64×32, four bytes each", bits=32, major="K", swizzle="128B", mn=64, k=32),
)


def build_tile_query(tile: Tile) -> Asked:
    """Return a tile's parameters as in the page's address, without the default order."""
    order = "" if tile.order == DEFAULT_ORDER[tile.major] else tile.order
    query = {
        "element_bits": str(tile.element_bits),
        "major": tile.major,
        "swizzle": tile.mode.name,
        "mn": str(tile.mn),
        "k": str(tile.k),
        "order": order,
        "base": hex(tile.base) if tile.base else "",
    }
    return {name: value for name, value in query.items() if value} | tile.form.query


def list_presets(tile: Tile, kept: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the common tiles with thumbnails. kept: parameters of the drawing, which the links keep."""
    out = []
    for row in COMMON:
        read = row.bits in tile.form.element_bits and tile.form.allows_elements(row.bits, row.major, row.tile.mode)
        if not read or row.tile.mode not in tile.form.codes:
            continue
        preset_tile = replace(row.tile, form=tile.form)
        query = build_tile_query(preset_tile)
        plain = {name: value for name, value in query.items() if name != "format"}
        spec = {"kind": "canonical", "swizzle_by": "address", "order": "", **plain}
        seen = View(row.mn, preset_tile.step(), row.bits, row.major, tile.form)
        on = build_tile_query(tile) == query
        href = links.link_smem(query | {name: value for name, value in kept.items() if name in LOOK})
        out.append({"row": row, "href": href, "on": on, "thumb": compute_thumbnail(spec, seen)})
    return out


def resize_tile(tile: Tile, name: str, value: str) -> Asked:
    """Return the tile's parameters with one changed and the sizes rounded up to whole atoms. LayoutError if no such
    tile exists.
    """
    query = build_tile_query(tile) | {name: value}
    width, bits = tile.form.get_mode_by_name(query["swizzle"]), int(query["element_bits"])
    if name == "major":
        query.pop("order", None)
    atom = width.get_atom_size(bits, query["major"])
    mn, k = (-(-size // unit) * unit for size, unit in zip((tile.mn, tile.k), atom, strict=True))
    return build_tile_query(
        Tile(bits, query["major"], width, mn, k, order=query.get("order", ""), base=tile.base, form=tile.form)
    )


def list_tile_choices(tile: Tile, rows: int, kept: Mapping[str, str]) -> list[ChoiceRow]:
    """Return the choices of element, major and swizzle; each links to the nearest tile that has it. kept: other
    parameters.
    """
    fields = {
        "element_bits": (
            str(tile.element_bits),
            [(str(b), "1 (b1)" if b == 1 else str(b)) for b in tile.form.element_bits],
        ),
        "major": (tile.major, [(major, f"{major}-major") for major in DEFAULT_ORDER]),
        "swizzle": (
            tile.mode.name,
            [
                (width.name, width.name)
                for width in sorted(tile.form.codes, key=lambda mode: (bool(mode.xor), mode.chunks))
            ],
        ),
    }

    def link_choice(option: str, text: str) -> str:
        query = resize_tile(tile, option, text)
        rows_query = {"rows": str(rows)} if "rows" in kept and rows <= int(query["mn"]) else {}
        return links.link_smem(query | rows_query | {other: text for other, text in kept.items() if other in LOOK})

    return [_build_row(name, now, pairs, link_choice) for name, (now, pairs) in fields.items()]


LABELS = labels_of(TileQuestion) | {
    "down": "Rows run along",
    "unit": "Cell",
    "number": "Numbers",
    "show": "Show",
    "plain": "Memory",
}
WORDS = {
    "mn": "M or N",
    "k": "K",
    "chunk": "16-byte chunk",
    "element": "element",
    "logical": "logical index",
    "memory": "memory index",
    "none": "none",
    "both": "both",
    "tile": "tile",
    "0": "swizzled",
    "1": "before the swizzle",
}
SHOWN_WORDS = {"memory": "memory"}  # of the option `show`


def list_look_choices(
    now: Mapping[str, str], allowed: Mapping[str, Iterable[str]], path: str, kept: Asked
) -> list[ChoiceRow]:
    """Return the choices of the drawing, a row per option. now: the current values; kept: other parameters."""
    out = []
    for name, values in allowed.items():

        def link_choice(name: str, value: str) -> str:
            return f"{path}?{urlencode(kept | {name: value})}"

        pairs = [
            (value, SHOWN_WORDS.get(value, WORDS[value]) if name == "show" else WORDS.get(value, value))
            for value in values
        ]
        out.append(_build_row(name, now[name], pairs, link_choice))
    return out


def _build_row(
    field: str, now: str, pairs: Iterable[tuple[str, str]], link_choice: Callable[[str, str], str]
) -> ChoiceRow:
    return ChoiceRow(LABELS[field], tuple(_build_choice(text, value, now, field, link_choice) for value, text in pairs))


def _build_choice(text: str, value: str, now: str, field: str, link_choice: Callable[[str, str], str]) -> OptionChoice:
    try:
        return OptionChoice(text, link_choice(field, value), value == now)
    except LayoutError as error:
        return OptionChoice(text, "", value == now, f"{error.message} {error.hint}")
