"""/layouts/tv: a thread-value layout over a tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.maps import drawing
from lanescope.app.kit.maps.bench import MapBench
from lanescope.app.kit.maps.stage import LOOK
from lanescope.app.kit.question_form import add_wrong_fields, fill_fields, require_values
from lanescope.app.layouts import benches
from lanescope.app.layouts.forms import TV_FIELDS, TV_LABELS, TvForm, build_form
from lanescope.app.layouts.linear_layouts import (
    WAYS,
    OperandFeeds,
    build_matrix,
    format_bases,
    group_feeds,
    split_sizes,
)
from lanescope.app.layouts.sheet_pictures import (
    AxesLook,
    build_plane,
    draw_without_wrong,
    find_default_colour,
    select_colour,
)
from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.spelling import format_cxx, format_python
from lanescope.cute.text import parse_coordinate, parse_cute_layout
from lanescope.cute.tuples import make_compact_strides
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer, quote_value, shorten_value
from lanescope.ptx.threads import WARP
from lanescope.render.sheet import DrawingPlane, TileSheet, draw_sheets, make_threads_sheet
from lanescope.tiles.convert import Conversion, count_moves
from lanescope.tiles.feeds import find_fed_operands
from lanescope.tiles.tv import map_elements, slice_layout
from lanescope.triton.linear import LinearLayout, linear_from_cute

Longs = NDArray[np.int64]
PATH = "/layouts/tv"
KEYS = tuple(TV_FIELDS)
PICTURED = ("cute", "tile", "element_bits", "stored", "slice", "to", "axes", "at")
DEFAULT = (TV_FIELDS["cute"].option.default, "16x16")
PRESETS: tuple[tuple[str, str, str, dict[str, str]], ...] = (  # title, layout, tile, other fields
    ("A of m16n8k16", *DEFAULT, {}),
    ("D of m16n8k16", "((4,8),(2,2)):((32,1),(16,8))", "16x8", {"element_bits": "32"}),
    ("wgmma accumulator", "((4,8,4),(2,2,4)):((128,1,16),(64,8,512))", "64x32", {"element_bits": "32"}),
    ("8 values in a row", "((4,32),8):((256,1),32)", "32x32", {}),
    ("one thread’s slice", *DEFAULT, {"slice": "(5,_)"}),
    ("swizzled", "Sw<3,0,3> o ((8,8),8):((8,1),64)", "64x8", {}),
    ("three axes", "((4,8),(2,2,2)):((16,1),(8,64,128))", "8x8x4", {"axes": "0,2", "at": "3"}),
    (
        "before and after",
        "((8,16),(4,2)):((128,1),(32,16))",
        "32x32",
        {"to": "((4,8,2,2),(2,2,2)):((64,1,256,16),(32,8,512))"},
    ),
    (
        "banks under a swizzle",
        "((4,8),(8,2)):((64,1),(8,256))",
        "8x64",
        {"stored": "Sw<3,3,3> o (8,64):(64,1)", "colour": "bank", "label": "bank"},
    ),
)
MOST_TABLE = 4096  # cells of the picture of threads and values


def build_context(query: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables. An error stands beside its field."""
    fields = {name: text.strip() for name, text in fill_fields(TV_FIELDS, query).items()}
    out: dict[str, Any] = {
        "given": fields,
        "labels": TV_LABELS,
        "error": None,
        "found": None,
        "to": None,
        "presets": [(title, link_page({"cute": cute, "tile": tile, **more})) for title, cute, tile, more in PRESETS],
        "kept": [(name, query[name]) for name in LOOK if query.get(name)],
    }
    try:
        require_values(TV_FIELDS, fields)
        if "cute" not in query:
            fields["tile"] = fields["tile"] or DEFAULT[1]
        names = ("slice", "to", "stored", "element_bits")
        drawn, out["error"] = draw_without_wrong(lambda kept: _build_layout(kept, query), fields, names)
        out |= drawn
    except LayoutError as error:
        out["error"] = error
    if out["error"]:
        out["error"] = add_wrong_fields(out["error"], TV_FIELDS, fields)
    rank = len(out.get("sizes", ()))
    return out | {"rank": rank, "form": build_form(TvForm, fields, rank, out.get("hidden", ()), out["error"])}


def draw_figure(query: Mapping[str, str], caption: str) -> str:
    """Return the tile of an address as one picture in the page's colours."""
    return draw_sheets(build_sheets(query), caption)


def build_sheets(query: Mapping[str, str]) -> list[tuple[TileSheet, str, str]]:
    """Return the sheet of an address with its colour and title."""
    read = parse_cute_layout(query.get("cute", ""), "cute")
    index, sizes = map_elements(read, _parse_tile(query.get("tile", ""), read))
    bits = parse_integer(query.get("element_bits") or "16", "element_bits", 1, 128)
    where = build_plane(AxesLook.from_query(query), sizes)
    sheet = make_threads_sheet(_split_coords(index, sizes), sizes, where, bits)
    sheet = replace(sheet, byte=_compute_cell_bytes(query.get("stored", ""), where, sizes, bits))
    return [(sheet, select_colour(sheet, query.get("colour", "")), f"(T, V) of {read}")]


def build_staged_bench(query: Mapping[str, str]) -> tuple[MapBench, dict[str, str]]:
    """Return the stage of an address and its view, for a picture of it, without the inverse."""
    fields = {name: query.get(name, "").strip() for name in KEYS}
    read = parse_cute_layout(fields["cute"], "cute")
    index, sizes = map_elements(read, _parse_tile(fields["tile"], read))
    bits = parse_integer(fields["element_bits"] or "16", "element_bits", 1, 128)
    where = build_plane(AxesLook.from_query(fields), sizes)
    sheet = make_threads_sheet(_split_coords(index, sizes), sizes, where, bits)
    _, outside = _build_slice(read, fields["slice"], index, sheet, sizes, where)
    bench, to = _build_bench(read, index, sizes=sizes, where=where, fields=fields, bits=bits, outside=outside)
    bench = replace(bench, maps=tuple(one for one in bench.maps if one.listed))
    return bench, benches.parse_look(bench, query, "moves" if to else find_default_colour(sheet))


def link_page(query: Mapping[str, str], change: Mapping[str, str] | None = None) -> str:
    """Link to this page with some fields changed."""
    return f"{PATH}?{urlencode({k: v for k, v in {**query, **(change or {})}.items() if v})}"


def _parse_tile(text: str, read: CuteLayout) -> list[str]:
    parts = split_sizes(text)
    if text and not parts:
        raise LayoutError("bad_tile", f"tile is {quote_value(text)}.", "Rows and columns: 16x16.", "tile")
    if not parts:
        count = read.cosize
        rows = next((n for n in (16, 8, 4, 2) if count % n == 0), 1)
        raise LayoutError(
            "bad_tile",
            "The layout does not say its tile.",
            f"Give rows and columns; it reaches {count} elements: {rows}x{count // rows}.",
            "tile",
        )
    if len(parts) > 5:
        raise LayoutError("bad_tile", f"The tile has {len(parts)} sizes.", "At most 5: 8x8x4.", "tile")
    return parts


def _split_coords(index: Longs, sizes: Sequence[int]) -> list[Longs]:
    steps = make_compact_strides(tuple(sizes))
    return [index // step % size for step, size in zip(steps, sizes, strict=True)]


def _number_row_major(index: Longs, sizes: Sequence[int]) -> Longs:
    """Return the elements numbered with the last axis varying fastest."""
    out = np.zeros_like(index)
    for axis, size in zip(_split_coords(index, sizes), sizes, strict=True):
        out = out * size + axis
    return out


def _compute_cell_bytes(text: str, where: DrawingPlane, sizes: tuple[int, ...], bits: int) -> Longs:
    """Return the byte of each cell in shared memory: int64 [rows, cols]; row-major by default."""
    cell = _number_cells(where, sizes)
    held = np.where(cell < 0, 0, cell)
    if not text:
        offset = _number_row_major(held, sizes)
    else:
        read = parse_cute_layout(text, "stored")
        if read.size != prod(sizes):
            raise LayoutError(
                "bad_storage",
                f"'{shorten_value(str(read), 80)}' has {read.size} elements.",
                f"The tile has {prod(sizes)}: e.g. ({','.join(map(str, sizes))}).",
                "stored",
            )
        offset = read.list_indices()[held]
    return np.where(cell < 0, -1, offset * bits // 8)


def _number_cells(where: DrawingPlane, sizes: tuple[int, ...]) -> Longs:
    """Return the element of each cell of a plane, first axis varying fastest; -1 past the end of a folded axis."""
    rows, cols = where.get_size(sizes)
    row, col = np.indices((rows, cols), dtype=np.int64)
    if where.down is None:
        flat = row * cols + col
        return np.where(flat < sizes[0], flat, -1)
    steps = make_compact_strides(tuple(sizes))
    at = row * steps[where.down] + col * steps[where.across]
    return np.asarray(at + sum(index * steps[axis] for axis, index in where.fixed.items()))


def _build_layout(fields: dict[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    read = parse_cute_layout(fields["cute"], "cute")
    index, sizes = map_elements(read, _parse_tile(fields["tile"], read))
    bits = parse_integer(fields["element_bits"] or "16", "element_bits", 1, 128)
    fields["element_bits"], fields["tile"] = str(bits), "x".join(map(str, sizes))
    where = build_plane(AxesLook.from_query(fields), sizes)
    sheet = make_threads_sheet(_split_coords(index, sizes), sizes, where, bits)
    part, outside = _build_slice(read, fields["slice"], index, sheet, sizes, where)
    linear, why = None, ""
    try:
        linear = linear_from_cute(read, sizes)
    except LayoutError as error:
        why = error.message
    counts = np.bincount(index.reshape(-1), minlength=prod(sizes))
    bench, to = _build_bench(read, index, sizes=sizes, where=where, fields=fields, bits=bits, outside=outside)
    drawn = {k: v for k, v in fields.items() if v and k in PICTURED}
    drawn = {k: v for k, v in drawn.items() if (k, v) != ("element_bits", "16")}
    usual = dict.fromkeys(KEYS, "") | {"element_bits": "16"}
    colour = "moves" if to else find_default_colour(sheet)
    out: dict[str, Any] = {
        "found": read,
        "sizes": sizes,
        **benches.build_stage(bench, query, fields, usual, colour, drawn),
        "verdict": _format_verdict(index, counts),
        "part": part,
        "to": to,
        "matrix": build_matrix(linear) if linear else None,
        "bases": format_bases(linear) if linear else "",
        "why": why,
        "inverse": _format_inverse(read, sizes, counts),
        "feeds": _find_feeds(linear, bits),
        "cxx": format_cxx(read),
        "python": format_python(read),
        "threads": index.shape[0],
        "copies": int(counts.max()),
        "hidden": list(where.fixed),
        "tabled": [(one.name, one.title) for one in bench.maps if one.listed],
    }
    out["pictures"] = drawing.link_forms(PATH, urlencode(drawn | out["own"]))
    if len(sizes) != 2:
        out["pictures"] = [row for row in out["pictures"] if row[0] != "json"]
    return out


def _build_bench(
    read: CuteLayout,
    index: Longs,
    *,
    sizes: tuple[int, ...],
    where: DrawingPlane,
    fields: Mapping[str, str],
    bits: int,
    outside: NDArray[np.bool_] | None,
) -> tuple[MapBench, dict[str, Any] | None]:
    """Return the stage: the tile with its inverse, or the tile before and after. outside: cells outside the slice."""
    coords = _split_coords(index, sizes)
    sheet = make_threads_sheet(coords, sizes, where, bits)
    says = "the thread-value layout"
    if fields["to"]:
        to, sheets, found = _build_conversion(read, index, sizes, fields, where, bits)
        maps = benches.build_before_after(sheets, (str(read), str(to["target"])), found)
        if outside is not None:
            maps = (benches.mask_outside_slice(maps[0], outside), maps[1])
        return benches.build_thread_bench(PATH, says, maps, "V", {"moves": "what moves"}), to
    byte = _compute_cell_bytes(fields["stored"], where, sizes, bits)
    tile = benches.build_thread_map(sheet, "tile", "Tile", bank=byte)
    parts = [tile]
    if index.size <= MOST_TABLE:
        parts.append(benches.build_inverse_map(index, coords, bits, tile))
    if outside is not None:
        parts[0] = benches.mask_outside_slice(tile, outside)
    bench = benches.build_thread_bench(PATH, says, parts, "V", {"bank": "shared-memory bank"})
    return replace(bench, dims={"table": ("t", "v")}), None


def _format_verdict(index: Longs, counts: Longs) -> str:
    threads, values = index.shape
    covered = int(np.count_nonzero(counts))
    head = f"{threads} thread{'s' * (threads > 1)} × {values} value{'s' * (values > 1)} cover {covered:,} of"
    head += f" {counts.size:,} elements"
    most = int(counts.max())
    tail = (
        "each once"
        if most == 1
        else f"some up to {most} times"
        if int(counts[counts > 0].min()) < most
        else (f"each {most} times")
    )
    left = counts.size - covered
    return f"{head}, {tail}." + (f" {left:,} belong to no thread." if left else "")


def _build_slice(
    read: CuteLayout, text: str, index: Longs, sheet: TileSheet, sizes: tuple[int, ...], where: DrawingPlane
) -> tuple[dict[str, Any] | None, NDArray[np.bool_] | None]:
    """Return the slice in CuTe's notation, and the cells outside it."""
    if not text:
        return None, None
    coord = parse_coordinate(text, "slice")
    part, start = slice_layout(read, coord)
    held = part.list_indices() + start
    inside = np.isin(index, held)
    coords = [np.where(inside, axis, -1) for axis in _split_coords(index, sizes)]
    rows, cols, shown = where.locate_cells(coords, sizes)
    mask = np.ones((sheet.rows, sheet.cols), dtype=bool)
    keep = inside & shown
    mask[rows[keep], cols[keep]] = False
    about = {
        "layout": part,
        "start": start,
        "coord": algebra.format_coordinate(coord),
        "count": int(np.unique(held).size),
    }
    return about, mask


def _format_inverse(read: CuteLayout, sizes: tuple[int, ...], counts: Longs) -> tuple[str, str]:
    """Return the layout that maps coordinates to thread + threads × value, or the reason why it has no inverse.

    One of the two texts is empty.
    """
    if int(counts.max()) > 1 or int(counts.min()) < 1:
        return "", "An element with no thread, or with several, has no single thread and value."
    try:
        return str(algebra.with_shape(algebra.right_inverse(read), sizes)), ""
    except LayoutError as error:
        return "", error.message


def _find_feeds(linear: LinearLayout | None, bits: int) -> list[OperandFeeds]:
    """Return A and D of the tile as (m, k) and (m, n), and B as CuTe's (n, k)."""
    if linear is None or linear.rank != 2:
        return []
    straight = [fed_operand for fed_operand in find_fed_operands(linear, bits) if fed_operand.fragment.operand != "b"]
    turned = [
        fed_operand
        for fed_operand in find_fed_operands(linear.permute_axes((1, 0)), bits)
        if fed_operand.fragment.operand == "b"
    ]
    return group_feeds([*straight, *turned])


def _build_conversion(
    read: CuteLayout, index: Longs, sizes: tuple[int, ...], fields: Mapping[str, str], where: DrawingPlane, bits: int
) -> tuple[dict[str, Any], list[TileSheet], Conversion]:
    try:
        second = parse_cute_layout(fields["to"], "to")
        target, _ = map_elements(second, sizes)
    except LayoutError as error:
        raise error.move_to_field("to") from None
    threads = max(index.shape[0], target.shape[0])
    have, want = (_number_row_major(one, sizes) for one in (index, target))
    found = count_moves(have, want, prod(sizes), (WARP, threads), bits)
    sheets = [make_threads_sheet(_split_coords(one, sizes), sizes, where, bits) for one in (index, target)]
    title, text = WAYS[found.way if found.way != "cluster" else "shared"]
    back = link_page(fields, {"cute": str(second), "to": str(read)})
    return {"target": second, "found": found, "title": title, "text": text, "back": back}, sheets, found
