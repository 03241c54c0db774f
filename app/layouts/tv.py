"""/layouts/tv: any thread-value layout over a tile, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from app.layouts.drawn import FIELDS, HALF, Look, beside, coloured, colours, default, kept, moves, picture, plane
from app.layouts.words import WAYS, Feeds, grouped, matrix, spelled
from layouts import algebra
from layouts.cute import CuteLayout
from layouts.cutetext import cxx, python, read_coordinate, read_layout
from layouts.errors import LayoutError
from layouts.linear import Linear, from_cute
from layouts.reading import number
from layouts.render.sheet import Sheet, threads_sheet, together
from layouts.tiles.convert import moved
from layouts.tiles.feeds import fed
from layouts.tiles.tv import elements, slice_of
from layouts.tuples import compact

Longs = NDArray[np.int64]
PATH = "/layouts/tv"
KEYS = ("cute", "tile", "element_bits", "slice", "to", *FIELDS)
PICTURED = ("cute", "tile", "colour", "axes", "at")
DEFAULT = ("((4,8),(2,2,2)):((32,1),(16,8,128))", "16x16")
PRESETS: tuple[tuple[str, str, str, dict[str, str]], ...] = (  # title, layout, tile, more
    ("A of m16n8k16", *DEFAULT, {}),
    ("D of m16n8k16", "((4,8),(2,2)):((32,1),(16,8))", "16x8", {"element_bits": "32"}),
    ("wgmma accumulator", "((4,8,4),(2,2,4)):((128,1,16),(64,8,512))", "64x32", {"element_bits": "32"}),
    ("8 values in a row", "((4,32),8):((256,1),32)", "32x32", {}),
    ("one thread’s slice", *DEFAULT, {"slice": "(5,_)"}),
    ("swizzled", "Sw<3,0,3> o ((8,8),8):((8,1),64)", "64x8", {}),
    ("three axes", "((4,8),(2,2,2)):((16,1),(8,64,128))", "8x8x4", {"axes": "0,2", "at": "3"}),
    ("before and after", "((8,16),(4,2)):((128,1),(32,16))", "32x32",
     {"to": "((4,8,2,2),(2,2,2)):((64,1,256,16),(32,8,512))"}),
)  # fmt: skip
MOST_TABLE = 4096  # cells of the picture of threads and values


def context(query: Mapping[str, str]) -> dict[str, Any]:
    """What the template shows; a refusal stands beside its field."""
    given = {name: query.get(name, "").strip() for name in KEYS}
    out: dict[str, Any] = {
        "given": given, "error": None, "found": None, "to": None, "beside": lambda name: beside(out["error"], name),
        "presets": [(title, address({"cute": cute, "tile": tile, **more})) for title, cute, tile, more in PRESETS],
    }  # fmt: skip
    try:
        if not given["cute"]:
            given["cute"], given["tile"] = DEFAULT[0], given["tile"] or DEFAULT[1]
        out |= _shown(given)
    except LayoutError as error:
        out["error"] = error
        if rest := kept(given, error, ("slice", "to", "element_bits")):
            try:
                out |= _shown(rest)
            except LayoutError:
                return out
    return out


def figure(query: Mapping[str, str], caption: str) -> str:
    """The tile of an address as one picture, in the page's colours."""
    return together(parts(query), caption)


def parts(query: Mapping[str, str]) -> list[tuple[Sheet, str, str]]:
    """The sheet of an address with its colour and title."""
    read = read_layout(query.get("cute", ""), "cute")
    index, sizes = elements(read, _tile(query.get("tile", ""), read))
    sheet = threads_sheet(_coords(index, sizes), sizes, plane(Look.of(query), sizes), 16)
    return [(sheet, coloured(sheet, query.get("colour", "")), f"(T, V) of {read}")]


def address(given: Mapping[str, str], change: Mapping[str, str] | None = None) -> str:
    """This page with some fields changed."""
    return f"{PATH}?{urlencode({k: v for k, v in {**given, **(change or {})}.items() if v})}"


def _tile(text: str, read: CuteLayout) -> list[str]:
    parts = [p for p in text.replace("×", "x").replace("x", ",").strip("()[] ").split(",") if p.strip()]
    if not parts:
        count = read.cosize
        rows = next((n for n in (16, 8, 4, 2) if count % n == 0), 1)
        raise LayoutError(
            "bad_tile", "The layout does not say its tile.",
            f"Give rows and columns; it reaches {count} elements: {rows}x{count // rows}.", "tile",
        )  # fmt: skip
    if len(parts) > 5:
        raise LayoutError("bad_tile", f"The tile has {len(parts)} sizes.", "At most 5: 8x8x4.", "tile")
    return parts


def _coords(index: Longs, sizes: Sequence[int]) -> list[Longs]:
    steps = compact(tuple(sizes))
    return [index // step % size for step, size in zip(steps, sizes, strict=True)]


def _row_major(index: Longs, sizes: Sequence[int]) -> Longs:
    """The elements numbered with the last axis fastest."""
    out = np.zeros_like(index)
    for axis, size in zip(_coords(index, sizes), sizes, strict=True):
        out = out * size + axis
    return out


def _shown(given: dict[str, str]) -> dict[str, Any]:
    read = read_layout(given["cute"], "cute")
    index, sizes = elements(read, _tile(given["tile"], read))
    bits = number(given["element_bits"] or "16", "element_bits", 1, 128)
    given["element_bits"], given["tile"] = str(bits), "x".join(map(str, sizes))
    look = Look.of(given)
    where = plane(look, sizes)
    sheet = threads_sheet(_coords(index, sizes), sizes, where, bits)
    part, faded = _slice(read, given["slice"], index, sheet, sizes, where)
    linear, why = None, ""
    try:
        linear = from_cute(read, sizes)
    except LayoutError as error:
        why = error.message
    title = f"(thread, value) over {'×'.join(map(str, sizes))}"
    counts = np.bincount(index.reshape(-1), minlength=prod(sizes))
    out: dict[str, Any] = {
        "found": read, "sizes": sizes, "picture": picture(sheet, look, title, faded=faded),
        "table": _table(index, sizes, bits, look) if index.size <= MOST_TABLE and not given["to"] else None,
        "colours": colours(sheet, "V"), "colour": look.colour or default(sheet),
        "verdict": _verdict(index, counts), "part": part,
        "matrix": matrix(linear) if linear else None, "bases": spelled(linear) if linear else "", "why": why,
        "inverse": _inverse(read, sizes, counts), "feeds": _feeds(linear, bits), "cxx": cxx(read),
        "python": python(read), "pictured": urlencode({k: v for k, v in given.items() if v and k in PICTURED}),
        "threads": index.shape[0], "copies": int(counts.max()),
        "hidden": list(where.fixed), "window": lambda row: address(given, {"row": row}),
    }  # fmt: skip
    if given["to"]:
        out["to"] = _second(read, index, sizes, given, look, bits)
    return out


def _verdict(index: Longs, counts: Longs) -> str:
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


def _slice(
    read: CuteLayout, text: str, index: Longs, sheet: Sheet, sizes: tuple[int, ...], where: Any
) -> tuple[dict[str, Any] | None, NDArray[np.bool_] | None]:  # fmt: skip
    """The slice in CuTe's words, and the cells outside it."""
    if not text:
        return None, None
    coord = read_coordinate(text, "slice")
    part, start = slice_of(read, coord)
    held = part.indices() + start
    inside = np.isin(index, held)
    coords = [np.where(inside, axis, -1) for axis in _coords(index, sizes)]
    rows, cols, shown = where.cells(coords, sizes)
    mask = np.ones((sheet.rows, sheet.cols), dtype=bool)
    keep = inside & shown
    mask[rows[keep], cols[keep]] = False
    told = {"layout": part, "start": start, "coord": algebra.said(coord), "count": int(np.unique(held).size)}
    return told, mask


def _table(index: Longs, sizes: tuple[int, ...], bits: int, look: Look) -> Any:
    """The other direction: a row a thread, a column a value, the element in the cell."""
    threads, values = index.shape
    coords = _coords(index, sizes)
    says = tuple(
        tuple(",".join(str(int(axis[t, v])) for axis in coords) for v in range(values)) for t in range(threads)
    )
    thread: Longs = np.repeat(np.arange(threads, dtype=np.int64)[:, None], values, axis=1)
    value: Longs = np.repeat(np.arange(values, dtype=np.int64)[None, :], threads, axis=0)
    sheet = Sheet(
        threads, values, thread, value, np.ones(index.shape, dtype=np.int64), element_bits=bits, says=says,
        row_names=tuple(f"T{t}" for t in range(threads)),
        cell=np.arange(index.size, dtype=np.int64).reshape(index.shape),
    )  # fmt: skip
    plain = Look(look.colour, look.thread)
    return picture(sheet, plain, "Element of each thread (down) and value (across)", room=min(1240.0, 54.0 * values))


def _inverse(read: CuteLayout, sizes: tuple[int, ...], counts: Longs) -> tuple[str, str]:
    """(coordinates → thread + threads × value, why there is none)."""
    if int(counts.max()) > 1 or int(counts.min()) < 1:
        return "", "An element without a thread, or with several, has no one thread and value."
    try:
        return str(algebra.with_shape(algebra.right_inverse(read), sizes)), ""
    except LayoutError as error:
        return "", error.message


def _feeds(linear: Linear | None, bits: int) -> list[Feeds]:
    """A and D of the tile as (m, k) and (m, n), and B as CuTe's (n, k)."""
    if linear is None or linear.rank != 2:
        return []
    straight = [one for one in fed(linear, bits) if one.fragment.operand != "b"]
    turned = [one for one in fed(linear.turned((1, 0)), bits) if one.fragment.operand == "b"]
    return grouped([*straight, *turned])


def _second(
    read: CuteLayout, index: Longs, sizes: tuple[int, ...], given: dict[str, str], look: Look, bits: int
) -> dict[str, Any]:  # fmt: skip
    try:
        second = read_layout(given["to"], "to")
        target, _ = elements(second, sizes)
    except LayoutError as error:
        raise error.at("to") from None
    threads = max(index.shape[0], target.shape[0])
    found = moved(_row_major(index, sizes), _row_major(target, sizes), prod(sizes), threads, bits)
    where = plane(look, sizes)
    sheets = [threads_sheet(_coords(one, sizes), sizes, where, bits) for one in (index, target)]
    title, told = WAYS[found.way if found.way != "cluster" else "shared"]
    return {
        "target": second, "found": found, "title": title, "told": told,
        "back": address(given, {"cute": str(second), "to": str(read)}),
        "pictures": [
            picture(sheets[0], look, f"Before: {read}", room=HALF),
            picture(sheets[1], look, f"After: {second}", "V", moves(found, sheets[1]), room=HALF),
        ],
    }  # fmt: skip
