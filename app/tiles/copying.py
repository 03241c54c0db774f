"""The page of a TiledCopy: its source and destination on the bench, and what it costs in memory. No framework."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, log2
from typing import Any
from urllib.parse import urlencode

import numpy as np

from app.banks.draw import banks_svg
from app.kit.encode import dumps
from app.kit.fact import Json
from app.tiles import copies, forms
from app.tiles.bench import ShadeData, TileData
from app.tiles.state import LABEL_WORDS, LABELS, PIN
from layouts import palette
from layouts.cutetext import read_layout
from layouts.errors import LayoutError
from layouts.reading import ranges
from layouts.render.matrix import MOST_LABELS, matrix
from layouts.swizzle import MODES
from layouts.tiles import code
from layouts.tiles.copy import Side, TiledCopy
from layouts.tiles.memory import Sectors, SharedSide
from layouts.view import BETWEEN_OWNERS, OWNER, SPOKEN, Panel

PATH = "/tiles/copy"
FIELDS = {
    "atom": "cp.async", "bits": "128", "element_bits": "16", "tile": "64x64", "thr_layout": "(16,8):(8,1)",
    "val_layout": "(1,8)", "mma": "", "atom_layout": "", "permutation": "", "operand": "a", "stored": "rows",
    "pitch_bytes": "128", "swizzle": "128B", "major": "K", "layout": "", "global": "(1024,1024):(1024,1)",
}  # fmt: skip
EMPTY = {**dict.fromkeys(FIELDS, ""), "operand": "a", "stored": "none", "swizzle": "none", "major": "K"}
VIEW = {"colour": "warp", "label": "thread:value", "warps": "", "lanes": "", "pin": "", "sel": "", "view": ""}
STORED = {"none": "not said", "rows": "rows with a pitch", "cute": "a CuTe layout"}
COLOURS = {"warp": "warp", "group": "lane group (lane / 4)", "lane": "thread in group (lane % 4)", "value": "value",
           "access": "access of a thread"}  # fmt: skip
LDSM = "SM75_U32x4_LDSM_N"
_ROWS = {"stored": "rows", "pitch_bytes": "128", "swizzle": "128B", "major": "K"}
_LOAD = {
    **EMPTY, "atom": LDSM, "tile": "64x64", "mma": "SM80_16x8x16_F32F16F16F32_TN", "atom_layout": "(2,2,1)",
    "permutation": "(32,32,16)", **_ROWS,
}  # fmt: skip
PRESETS = {
    "cp.async, 16 bytes a thread (FlashAttention-2)": FIELDS,
    "ldmatrix.x4 of A, 128B swizzle": _LOAD,
    "ldmatrix.x4 of A, rows without a swizzle": {**_LOAD, "swizzle": "none"},
    "ldmatrix.x4.trans of B, N-major": {
        **_LOAD, "atom": "SM75_U16x8_LDSM_T", "operand": "b", "major": "MN",
    },
    "4 bytes a thread, rows padded to 80 bytes": {
        **EMPTY, "atom": "universal", "bits": "32", "element_bits": "16", "tile": "64x32",
        "thr_layout": "(8,16):(16,1)", "val_layout": "(1,2)", **_ROWS, "pitch_bytes": "80", "swizzle": "none",
        "global": "(1024,1024):(1024,1)",
    },
    "Transposed reads of global memory": {
        **EMPTY, "atom": "universal", "bits": "16", "element_bits": "16", "tile": "64x64",
        "thr_layout": "(32,4):(1,32)", "val_layout": "(1,1)", **_ROWS, "swizzle": "none",
        "global": "(1024,1024):(1024,1)",
    },
}  # fmt: skip


def asked_of(query: Mapping[str, str]) -> dict[str, str]:
    """The form's fields: the example, or what an address says that names an atom."""
    usual = usual_of(query)
    return {name: query.get(name, usual[name]).strip() for name in FIELDS}


def usual_of(query: Mapping[str, str]) -> dict[str, str]:
    """What stands where the address says nothing."""
    return EMPTY if query.get("atom") else FIELDS


def body(asked: Mapping[str, str]) -> Json:
    """The body of POST /tiles/copy."""
    names = ("atom", "bits", "element_bits", "global") + (() if asked["mma"] else ("thr_layout", "val_layout"))
    out: Json = {name: asked[name] for name in names if asked[name]}
    out["tile"] = forms.sizes(asked["tile"])
    if asked["mma"]:
        named = {"atom": asked["mma"], "atom_layout": asked["atom_layout"], "permutation": asked["permutation"]}
        out |= {"tiled_mma": {name: text for name, text in named.items() if text}, "operand": asked["operand"]}
    if asked["stored"] == "rows":
        out["storage"] = {"kind": "rows", "inner": asked["major"], "pitch_bytes": asked["pitch_bytes"],
                          "swizzle": asked["swizzle"]}  # fmt: skip
    elif asked["stored"] == "cute":
        out["storage"] = {"kind": "cute", "layout": asked["layout"], "unit": "elements"}
    return out


def address(fields: Mapping[str, str]) -> str:
    """The page with these fields."""
    usual = usual_of(fields)
    changed = {k: v for k, v in fields.items() if v != usual[k]} | {"atom": fields["atom"]}
    return f"{PATH}?{urlencode(changed, safe='(),:')}"


def presets(asked: Mapping[str, str]) -> list[tuple[str, str, bool]]:
    """(text, address, chosen)."""
    return [(text, address(fields), dict(fields) == dict(asked)) for text, fields in PRESETS.items()]


def context(asked: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """Everything the page shows; LayoutError where a field does not fit."""
    given = body(asked)
    made = copies.copy_of(given)
    held, across = copies.sides(made, given)
    seen, notices = view(made, query)
    return {
        "found": made, "held": held, "across": across, "seen": seen, "notices": notices,
        "panels": [_shown(made, name, seen) for name in ("source", "destination")],
        "colours": COLOURS, "labels": LABEL_WORDS, "warps": -(-made.threads // 32),
        "figures": figures(made, held, across), "banks": banks_svg([held.costs[0]]) if held else "",
        "apply": _apply(held, asked), "code": _code(made, asked), "notes": copies.copy_notes(made, given),
        "data": dumps(page_data(made, asked, seen, query)).decode().replace("</", "<\\/"),
    }  # fmt: skip


def view(made: TiledCopy, query: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """(the state of the picture, a notice for each value that is not legal)."""
    seen = {name: query.get(name, "").strip() or default for name, default in VIEW.items()}
    notices = []
    for name, known in (("colour", COLOURS), ("label", LABELS)):
        if seen[name] not in known:
            notices.append(f"{name} ‘{seen[name][:40]}’ is not used: one of {', '.join(known)}.")
            seen[name] = VIEW[name]
    for name, most in (("warps", -(-made.threads // 32)), ("lanes", 32)):
        try:
            ranges(seen[name], name, most) if seen[name] else None
        except LayoutError as error:
            notices.append(f"{name} ‘{seen[name][:40]}’ is not used: {error.hint}")
            seen[name] = ""
    return seen, notices


def _apply(held: SharedSide | None, asked: Mapping[str, str]) -> tuple[str, str]:
    """(name of the swizzle mode that frees the accesses, the page with it), empty where there is none."""
    if not held or not held.solution or not held.solution.free or asked["stored"] != "rows":
        return "", ""
    name = next((mode.name for mode in MODES if mode.swizzle() == held.solution.swizzle), "")
    return (name, address({**asked, "swizzle": name})) if name else ("", "")


def _code(made: TiledCopy, asked: Mapping[str, str]) -> str:
    if asked["mma"]:
        return code.copy_cpp(made, None, None, asked["operand"])
    return code.copy_cpp(made, read_layout(asked["thr_layout"]), read_layout(asked["val_layout"] or "(1,1)"))


def figures(made: TiledCopy, held: SharedSide | None, across: Sectors | None) -> list[tuple[str, str, str]]:
    """(number, what it counts, why)."""
    rows, cols = made.tiler
    out = [(str(made.threads), f"threads; one TiledCopy covers {rows} × {cols}", "")]
    if held:
        out.append((f"{held.vector_bits} bits", "one access of shared memory", held.why))
        out.append((str(held.wavefronts), f"wavefronts of shared memory; {held.ideal} without conflicts", ""))
    if across:
        out.append((f"{across.vector_bits} bits", "one access of global memory", across.why))
        out.append((str(across.sectors), f"sectors of 32 bytes; {across.ideal} at the least", ""))
    return out


# the bench ------------------------------------------------------------------------------------------------------------


def _shown(made: TiledCopy, name: str, seen: Mapping[str, str]) -> dict[str, Any]:
    """One side for readers without scripts."""
    side: Side = getattr(made, name)
    rows, cols = made.tile
    flat = (side.rows.astype(np.int64) * cols + side.cols).reshape(-1)
    first = np.full(rows * cols, -1, dtype=np.int64)
    first[flat[::-1]] = np.arange(flat.size)[::-1]
    thread, value = first // side.values, first % side.values
    numbers = {"warp": thread // 32, "group": thread % 32 // 4, "lane": thread % 4, "value": value,
               "access": value // side.access}[seen["colour"]]  # fmt: skip
    count = {"warp": -(-made.threads // 32), "group": 8, "lane": 4, "value": side.values,
             "access": -(-side.values // side.access)}[seen["colour"]]  # fmt: skip
    category = np.where(first < 0, -1, numbers).reshape(rows, cols).astype(np.int32)
    texts = None
    if rows * cols <= MOST_LABELS and seen["label"] != "none":
        texts = [["" for _ in range(cols)] for _ in range(rows)]
        for at, (t, v) in enumerate(zip(thread.tolist(), value.tolist(), strict=True)):
            texts[at // cols][at % cols] = LABELS[seen["label"]].format(
                thread=t, more="", values=v, registers=v * made.element_bits // 32, row=at // cols, col=at % cols
            )
    panel = Panel(name, name.capitalize(), rows, cols, 0, 0, 1, 1, None, category, texts, of=count)
    drawn = matrix(panel, (0, rows), (0, cols), colour="", label=seen["label"] if texts else "none",
                   title=f"{name.capitalize()} of the TiledCopy, coloured by {COLOURS[seen['colour']]}")  # fmt: skip
    accesses = side.values // side.access
    return {
        "name": name, "svg": drawn, "rows": 1 << max(2, ceil(log2(rows))), "cols": 1 << max(2, ceil(log2(cols))),
        "about": f"{rows} × {cols} · {accesses} access{'es' * (accesses != 1)} of {side.access} value"
                 f"{'s' * (side.access != 1)} a thread",
    }  # fmt: skip


def page_data(
    made: TiledCopy, asked: Mapping[str, str], seen: Mapping[str, str], query: Mapping[str, str]
) -> dict[str, Any]:
    """The same names as a TiledMMA's page has, for the same scripts."""
    rows, cols = made.tile
    names = ("source", "destination")
    edges = [list(range(step, size, step)) for step, size in zip(made.tiler, made.tile, strict=True)]
    return {
        "ptx": "the TiledCopy", "path": PATH, "threads": 32, "warp": 32, "warps": -(-made.threads // 32),
        "unit": "lane", "state": {**asked, **seen}, "defaults": {**usual_of(query), **VIEW, "atom": FIELDS["atom"]},
        "pictured": {}, "pin": PIN, "labels": LABELS, "spoken": {"cell": SPOKEN, "owner": OWNER,
        "between": BETWEEN_OWNERS}, "extents": {"r": rows, "c": cols}, "opening": {"r": (0, rows), "c": (0, cols)},
        "colours": COLOURS, "result": "", "holder": "#",
        "panels": [
            {"name": name, "title": name.capitalize(), "rows": rows, "cols": cols, "dims": ("r", "c"),
             "warp_edges": edges[0], "col_edges": edges[1], "lines_from": 9}
            for name in names
        ],
        "operands": {name: _data(made, name) for name in names},
    }  # fmt: skip


def _data(made: TiledCopy, name: str) -> TileData:
    side: Side = getattr(made, name)
    cells = side.rows.astype(np.int64) * made.tile[1] + side.cols
    per = range(side.values)
    counts = np.bincount(cells.reshape(-1))
    bits = made.element_bits

    def shade(of: str, step: int, count: int) -> ShadeData:
        return ShadeData(of=of, step=step, count=count, numbers=None, wheel=palette.wheel(count))

    return TileData(
        name=name, title=name.capitalize(), element_type=f"b{bits}", rows=made.tile[0], cols=made.tile[1],
        copies=int(counts.max()), held_by=list(range(made.threads)), team=1, first=cells[:, 0].tolist(),
        steps=(cells[0] - cells[0, 0]).tolist(), period=side.values, shared=False, registers=0,
        register=tuple(v // side.access for v in per),
        bits=tuple(f"[{v * bits % 32 + bits - 1}:{v * bits % 32}]" for v in per),
        spoken_bits=tuple(f"bits {v * bits % 32} to {v * bits % 32 + bits - 1}" for v in per), digits=(),
        categories={
            "warp": shade("thread", 32, -(-made.threads // 32)), "group": shade("thread", 4, 8),
            "lane": shade("thread", 1, 4), "value": shade("value", 1, side.values),
            "access": shade("value", side.access, -(-side.values // side.access)),
        },
        repeats={}, extra={},
    )  # fmt: skip
