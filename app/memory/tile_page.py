"""The template's variables of the tile page: picture, cells for the script, steps, and links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from lanescope.app.kernel import facts as programs
from lanescope.app.kit import links
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.question import fields_of
from lanescope.app.kit.question_form import add_wrong_fields, fill_fields, form_of, require_values
from lanescope.app.kit.sheets import PINS
from lanescope.app.memory import choices, facts as memory, find
from lanescope.app.memory.options import LOOK
from lanescope.app.memory.storage import ORDERS
from lanescope.app.memory.tile_figure import LABELLED, LOOKS, TileLook, draw_pins, draw_tile, has_numbers, parse_look
from lanescope.blackwell import idesc
from lanescope.descriptor.format import DescriptorFormat
from lanescope.errors import LayoutError, join_errors
from lanescope.names import lookup
from lanescope.ptx.table.descriptors import FORMATS, WGMMA
from lanescope.ptx.table.kinds import ALONE
from lanescope.render.svg import render_svg
from lanescope.shared.slices import describe_strides
from lanescope.shared.tile_map import DOWN, TileMap, list_tile_strides
from lanescope.shared.tiling import Tile

FIELDS = fields_of(memory.TileQuestion)


def build_context(query: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables. A wrong option is reported, and the default tile or drawing shown."""
    fields, looks = _read_fields(query)
    state = {k: v for k, v in fields.items() if v} | {k: v for k, v in looks.items() if v != LOOK[k][0]}
    (tile, rows), wrong_tile = _parse_tile_or_default(fields)
    look, cells, wrong_look = _parse_look_or_default(looks, tile)
    instead = "Below: the default tile." if wrong_tile else "Below: drawn in the usual way."
    error = join_errors((wrong_tile, wrong_look))
    out: dict[str, Any] = {"error": error, "instead": instead, "labels": choices.LABELS}
    out["form"] = form_of(memory.TileQuestion, fields, {"order": ORDERS}, error)
    facts = memory.build_tile(tile, rows)
    kept = {name: value for name, value in state.items() if name in LOOK or name == "rows"}
    reading, operand = find_reader(tile, rows)
    page = find.make_sheet_page(tile)
    pinned, _ = page.parse_pins(query)
    out["query"] = urlencode(state | dict(zip(PINS, pinned, strict=False)), safe=":,")
    pictures = [draw_tile_panels("whole", tile, look, rows, pinned)]
    if is_close_up_useful(cells):
        atom = replace(tile, mn=tile.atom[0], k=tile.atom[1])
        pictures.insert(0, draw_tile_panels("atom", atom, look, rows=0, pins=pinned))
    out |= page.build_context(query)
    out |= {
        "tile": tile,
        "facts": facts,
        "words": describe_strides(tile),
        "whole": link_product(reading, programs.build_tile_options(lookup.find(reading), operand, tile))
        if reading
        else None,
        "presets": choices.list_presets(tile, kept),
        "fields": choices.list_tile_choices(tile, rows, kept),
        "kept": kept,
        "drawn": _list_drawn(tile, look, cells, kept),
        "look": look,
        "mode_code": tile.form.codes[tile.mode],
        "turned_format": not tile.form.usual,
        "other_format": build_other_format_query(tile, kept),
        "other_reader": find_other_format(tile.form).reader,
        "xor": tile.mode.swizzle().list_terms(),
        "unread": [stride.name for stride in list_tile_strides(tile, rows) if not stride.read],
        "steps": [(step, build_step_query(tile, rows, step.k)) for step in facts.k_steps],
        "pictures": pictures,
        "data": encode_json(
            {"drawings": [picture.pop("script") for picture in pictures], **find.build_script_data(tile, page)}
        ).decode(),
        "units": [
            ("16-byte chunks", facts.cute.chunks),
            ("elements", facts.cute.elements),
            ("bytes", facts.cute.bytes),
            ("bits", facts.cute.bits),
        ],
    }
    return out


def _read_fields(query: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the query's fields of the tile and of its drawing, with defaults."""
    fields = {name: text for name, text in fill_fields(FIELDS, query).items() if name in memory.TILE_FIELDS}
    if query.get("format", "") not in ("", WGMMA.name):
        fields["format"] = query["format"]
    return fields, {name: query.get(name, "") or default for name, (default, _) in LOOK.items()}


def _list_drawn(tile: Tile, look: TileLook, cells: TileMap, kept: dict[str, str]) -> list[choices.ChoiceRow]:
    """Return the options of the drawing with the current choice."""
    offered = {name: DOWN if name == "down" else values for name, values in LOOKS.items()}
    if tile.mode.chunks == 1:
        del offered["plain"]  # without a swizzle
    now = {**{name: getattr(look, name) for name in LOOKS}, "plain": str(int(look.plain))}
    now["down"] = "mn" if cells.rows_are_mn else "k"
    return choices.list_look_choices(now, offered, "/smem", choices.build_tile_query(tile) | kept)


def _parse_tile_or_default(query: dict[str, str]) -> tuple[tuple[Tile, int], LayoutError | None]:
    """Return the tile and its rows; for a wrong query the default tile of its format, and the error."""
    try:
        require_values(FIELDS, query)
        return memory.parse_tile(query), None
    except LayoutError as error:
        known = {"format": query["format"]} if query.get("format") in {form.name for form in FORMATS} else {}
        return memory.parse_tile(known), add_wrong_fields(error, FIELDS, query)


def _parse_look_or_default(looks: dict[str, str], tile: Tile) -> tuple[TileLook, TileMap, LayoutError | None]:
    """Return the drawing options and cells; for a wrong query the defaults, and the error."""
    try:
        look = parse_look(looks)
        return look, TileMap(tile, look.down, look.unit), None
    except LayoutError as error:
        return TileLook(), TileMap(tile), error


def find_other_format(form: DescriptorFormat) -> DescriptorFormat:
    """Return the other descriptor format that the page links to: the next row."""
    return FORMATS[(FORMATS.index(form) + 1) % len(FORMATS)]


def build_other_format_query(tile: Tile, kept: dict[str, str]) -> str:
    """Return the query of the same tile for the other format's instructions; its default tile if they cannot read
    this one.
    """
    form = find_other_format(tile.form)
    try:
        return links.link_smem(choices.build_tile_query(replace(tile, form=form)) | kept)
    except LayoutError:
        return links.link_smem(form.query)


MOST_PLAIN = 256  # a swizzled tile with fewer cells does not get a close-up of its atom


def is_close_up_useful(cells: TileMap) -> bool:
    """Return whether one atom is drawn enlarged, with numbers: if the tile has several and its cells are too dense."""
    swizzled = cells.tile.mode.chunks > 1 and cells.rows * cells.cols > MOST_PLAIN
    return cells.tile.atoms != (1, 1) and (swizzled or not has_numbers(cells.rows, cells.cols))


def draw_tile_panels(name: str, tile: Tile, look: TileLook, rows: int, pins: Sequence[str] = ()) -> dict[str, Any]:
    """Return a tile as the page shows it: tile and memory as SVGs with headings, and the script's numbers.

    rows: of one instruction, 0 for the tile's own; pins: elements to ring.
    """
    titles = {"logical": f"Tile, {tile.mn}×{tile.k}", "memory": "Shared memory"}
    if name == "atom":
        piece = "core matrix" if tile.mode.chunks == 1 else "atom"
        titles = {"logical": f"One {piece}, {tile.mn}×{tile.k}", "memory": f"Its {tile.bytes:,} bytes"}
    if look.plain and tile.mode.chunks > 1:
        titles["memory"] += " before the swizzle"
    wanted = ("tile", "memory") if look.show == "both" else (look.show,)
    panels, places = [], []
    for show in wanted:
        drawing = draw_tile(tile, replace(look, show=show), rows, titled=False)
        (panel,) = drawing.figure.panels
        about = "1 row = 128 B = 32 banks"
        if show == "tile":
            here, there = ("M or N", "K") if drawing.map.rows_are_mn else ("K", "M or N")
            about = f"{here} down, {there} across"
        cell = "16 B" if look.unit == "chunk" else f"one {tile.element_bits}-bit element"
        drawn = render_svg(
            drawing.figure,
            title=titles[panel.name],
            palette=None,
            labels_up_to=LABELLED,
            extra=drawing.extra + draw_pins(drawing, pins),
        )
        panels.append(
            {"name": panel.name, "title": titles[panel.name], "about": f"{about}, 1 cell = {cell}", "svg": drawn}
        )
        places.append({"name": panel.name, **panel.place})
    return {"name": name, "panels": panels, "script": drawing.build_script_data() | {"name": name, "panels": places}}


def find_reader(tile: Tile, rows: int) -> tuple[str, str]:
    """Return an (instruction, operand) of these elements that reads `rows` rows of a tile.

    The instruction is "" if an instruction descriptor determines how many rows are read, or if the format has none.
    """
    text = tile.form.readers.get(tile.element_bits, "")
    if tile.form.by_idesc or not text:
        return "", "a" if rows in (64, 128) else "b"
    if rows != 64:
        with suppress(LayoutError):  # if no instruction has so many rows, use A's 64
            return lookup.find(text.format(n=rows)).ptx, "b"
    return text.format(n=64), "a"


def link_product(instruction: str, options: dict[str, str] | None) -> dict[str, str] | None:
    """Link to a whole product with these options, as program and as run; None if there are none."""
    if options is None:
        return None
    found = lookup.find(instruction)
    return {"program": programs.link_program(found, options), "run": links.link_run(found, options)}


def link_slice_product(request: dict[str, Any], tile: Tile | None, first: int, k: int) -> dict[str, str] | None:
    """Link to a whole product with the operand stored and the word as a verification has them; None for a slice
    inside K.
    """
    found, operand, word = lookup.find(request["instruction"]), request["operand"].lower(), request["descriptor"]
    if k or (first and not tile):
        return None
    options = (
        programs.build_tile_options(found, operand, tile, first, word)
        if tile
        else programs.build_storage_options(found, operand, request["storage"], request["major"], word)
    )
    return link_product(found.ptx, options)


def build_step_query(tile: Tile, rows: int, k: int) -> str:
    """Return the query with which the descriptor page verifies one K step under an instruction that reads `rows`
    rows.
    """
    instruction, operand = find_reader(tile, rows)
    seen = {"instruction": instruction, "operand": operand, "major": tile.major}
    if tile.form.by_idesc:
        kind = idesc.get_kind(tile.form.readers[tile.element_bits])
        turned = {f"transpose_{operand}": 1} if tile.major == "MN" else {}
        legal = kind.sizes[ALONE, False].m
        sizes = {"m": rows if operand == "a" and rows in legal else max(legal), "n": 64 if operand == "a" else rows}
        with suppress(LayoutError):
            word = idesc.encode(kind, {**sizes, **turned})
            seen = {
                "instruction": f"tcgen05.mma.cta_group::1.kind::{kind.name}",
                "idesc": str(word),
                "operand": operand,
            }
    query = {
        **seen,
        "s_swizzle": tile.mode.name,
        "s_mn": tile.mn,
        "s_k": tile.k,
    }
    return urlencode(query | {"s_order": tile.order, "s_base": tile.base, "slice_k": k})
