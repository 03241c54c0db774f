"""The page of a TiledCopy: its source and destination on the bench, and what it costs in memory. No framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from app.banks.draw import banks_svg
from app.kit.encode import dumps
from app.kit.fact import Json
from app.tiles import copied, copies, forms, paper, stage
from layouts.cutetext import read_layout
from layouts.swizzle import MODES
from layouts.tiles import code
from layouts.tiles.copy import TiledCopy
from layouts.tiles.memory import Sectors, SharedSide

PATH = "/tiles/copy"
FIELDS = {
    "atom": "cp.async", "bits": "128", "element_bits": "16", "tile": "64x64", "thr_layout": "(16,8):(8,1)",
    "val_layout": "(1,8)", "mma": "", "atom_layout": "", "permutation": "", "operand": "a", "stored": "rows",
    "pitch_bytes": "128", "swizzle": "128B", "major": "K", "layout": "", "global": "(1024,1024):(1024,1)",
}  # fmt: skip
EMPTY = {**dict.fromkeys(FIELDS, ""), "operand": "a", "stored": "none", "swizzle": "none", "major": "K"}
STORED = {"none": "not said", "rows": "rows with a pitch", "cute": "a CuTe layout"}
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
    bench = copied.bench(made, held)
    look, notices = stage.read(bench, query, copied.LOOK)
    defaults = {**usual_of(query), **copied.LOOK, "atom": FIELDS["atom"]}
    state = {**asked, **look}
    drawn = {k: v for k, v in state.items() if v != defaults[k] and k not in ("pin", "sel", "view")}
    return {
        "found": made, "held": held, "across": across, "notices": notices, "stage": stage.served(bench, look),
        "figures": figures(made, held, across), "banks": banks_svg([held.costs[0]]) if held else "",
        "apply": _apply(held, asked), "code": _code(made, asked), "notes": copies.copy_notes(made, given),
        "pictures": paper.links(PATH, urlencode(drawn, safe="(),:")),
        "data": dumps(page_data(bench, state, defaults)).decode().replace("</", "<\\/"),
    }  # fmt: skip


def page_data(bench: stage.Bench, state: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, Any]:
    """What the script draws from."""
    return stage.page_data(bench, state, defaults, defaults)


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
