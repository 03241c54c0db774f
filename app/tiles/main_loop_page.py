"""The page of a main loop: its fields and tables."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlencode

from lanescope.app.kit.fact import Json
from lanescope.app.kit.maps import drawing
from lanescope.app.kit.question import make_question, options_of, text_field, word_field
from lanescope.app.tiles import (
    forms,
    loop_sheets,
    main_loop_facts,
    questions,
    tiled_copy_facts,
    tiled_copy_figure,
    tiled_copy_page,
)
from lanescope.app.tiles.bench import build_legend
from lanescope.app.tiles.main_loop_facts import LoopFacts, LoopOperand
from lanescope.app.tiles.state import BenchState
from lanescope.errors import LayoutError
from lanescope.names.form_names import format_short_name
from lanescope.shared.swizzle import MODES
from lanescope.tiles.mma import TiledMMA

PATH = "/tiles/loop"
N_LOAD, T_LOAD = "SM75_U32x4_LDSM_N", "SM75_U16x8_LDSM_T"
READ = {"": "as stored"} | {mode.name: mode.name for mode in MODES}


def _declare_text(default: str, label: str, size: int, covers: tuple[str, ...], placeholder: str = "") -> Any:
    return text_field(default, label, "", size=size, placeholder=placeholder, covers=covers)


def _declare_side(side: str) -> Json:
    """Declare the fields of A or B: how it is stored in shared memory, and loaded from it."""
    along = {"K": "along k", "MN": f"along {'m' if side == 'a' else 'n'}"}

    def within(*paths: str) -> tuple[str, ...]:
        return tuple(f"{side}.{path}" for path in paths)

    fields = {
        "copy": _declare_text("cp.async", "Store", 10, within("store"), "no store"),
        "bits": _declare_text("128", "Bits", 4, within("store.bits")),
        "thr": _declare_text("(16,8):(8,1)", "Thread layout", 14, within("store.thr_layout")),
        "val": _declare_text("(1,8)", "Value layout", 7, within("store.val_layout")),
        "pitch": _declare_text("128", "Bytes per row", 5, within("storage", "loaded_from")),
        "major": word_field(
            along, "Contiguous", "", called=along, covers=within("major", "storage.inner", "loaded_from.inner")
        ),
        "swizzle": word_field(
            [mode.name for mode in MODES], "Stored with swizzle", "", "128B", covers=within("storage.swizzle")
        ),
        "load": _declare_text(N_LOAD, "Load", 19, within("load")),
        "read": word_field(READ, "Read with swizzle", "", "", called=READ, covers=within("loaded_from.swizzle")),
        "global": _declare_text("", "Global memory", 20, within("global"), "(1024,1024):(1024,1)"),
    }
    return {f"{side}_{name}": field for name, field in fields.items()}


LoopForm = make_question(
    "LoopForm",
    "The form of the page; its defaults are the example.",
    {
        "atom": _declare_text("SM80_16x8x16_F32F16F16F32_TN", "TiledMMA's atom", 32, ("tiled_mma",)),
        "atom_layout": _declare_text("(2,2,1)", "Atom layout (M, N, K)", 9, ("tiled_mma.atom_layout",), "(1,1,1)"),
        "permutation": _declare_text("(32,32,16)", "Permutation (M, N, K)", 13, ("tiled_mma.permutation",), "none"),
        "tile": _declare_text("128x128x64", "Tile (M, N, K)", 12, ("tiled_mma.tile",), "its own"),
        **_declare_side("a"),
        **_declare_side("b"),
    },
)
FIELDS = {name: str(option.default) for name, option in options_of(LoopForm).items()}
SIDE = {name.removeprefix("a_"): text for name, text in FIELDS.items() if name.startswith("a_")}
NONE = {**dict.fromkeys(SIDE, ""), "major": "K", "swizzle": "none"}


def _join_fields(mma: Mapping[str, str], a: Mapping[str, str], b: Mapping[str, str]) -> dict[str, str]:
    return {**mma, **{f"a_{k}": v for k, v in a.items()}, **{f"b_{k}": v for k, v in b.items()}}


_SM80 = {name: text for name, text in FIELDS.items() if name[:2] not in ("a_", "b_")}
_ALONG_N = {**SIDE, "thr": "(8,16):(1,8)", "val": "(8,1)", "major": "MN", "load": T_LOAD}
EMPTY = _join_fields(dict.fromkeys(_SM80, ""), NONE, NONE)
_PV = {**_SM80, "atom_layout": "(4,1,1)", "permutation": "(64,16,16)", "tile": "64x64x64"}
PRESETS = {
    "sm_80 f16, 128B swizzle": FIELDS,
    "The same without a swizzle": _join_fields(_SM80, {**SIDE, "swizzle": "none"}, {**SIDE, "swizzle": "none"}),
    "FlashAttention-2, V along its head dimension": _join_fields(_PV, SIDE, _ALONG_N),
    "V loaded without .trans": _join_fields(_PV, SIDE, {**_ALONG_N, "load": N_LOAD}),
    "Stored with the 128B swizzle, read as plain rows": _join_fields(_SM80, SIDE, {**SIDE, "read": "none"}),
    "8-bit integers": _join_fields(
        {
            "atom": "SM80_16x8x32_S32S8S8S32_TN",
            "atom_layout": "(2,2,1)",
            "permutation": "(32,32,32)",
            "tile": "128x128x64",
        },
        {**SIDE, "thr": "(32,4):(4,1)", "val": "(1,16)", "pitch": "64", "swizzle": "64B"},
        {**SIDE, "thr": "(32,4):(4,1)", "val": "(1,16)", "pitch": "64", "swizzle": "64B"},
    ),
}
TITLES = {"store": "{}: global → shared memory", "load": "{}: shared memory → registers"}
STAGES = {"global": "global memory", "store": "→ shared memory", "load": "→ registers"}


def parse_form(query: Mapping[str, str]) -> dict[str, str]:
    """Return the form's fields."""
    usual = EMPTY if query.get("atom") else FIELDS
    return {name: query.get(name, usual[name]).strip() for name in FIELDS}


def link_loop(fields: Mapping[str, str]) -> str:
    """Link to the page with these fields."""
    usual = EMPTY if fields.get("atom") else FIELDS
    return f"{PATH}?{urlencode({k: v for k, v in fields.items() if v != usual[k]}, safe='(),:')}"


def build_body(fields: Mapping[str, str]) -> Json:
    """Return the body of POST /api/v1/tiles/loop."""
    return {"tiled_mma": forms.build_mma_body(fields), "a": _build_side(fields, "a"), "b": _build_side(fields, "b")}


def _build_side(fields: Mapping[str, str], name: str) -> Json:
    values = {key: fields[f"{name}_{key}"] for key in SIDE}
    rows = {"kind": "rows", "inner": values["major"], "pitch_bytes": values["pitch"]}
    out: Json = {"storage": {**rows, "swizzle": values["swizzle"]}}
    if values["copy"]:
        store = {
            "atom": values["copy"],
            "bits": values["bits"],
            "thr_layout": values["thr"],
            "val_layout": values["val"],
        }
        out["store"] = {key: text for key, text in store.items() if text}
    for key in ("load", "global"):
        if values[key]:
            out[key] = values[key]
    if values["read"]:
        out["loaded_from"] = {**rows, "swizzle": values["read"]}
    return out


def build_context(fields: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables; LayoutError if a field does not fit. query: the address with its pins."""
    body = build_body(fields)
    tiled_mma = questions.parse_mma(body["tiled_mma"], "tiled_mma")
    found = main_loop_facts.build_loop(body)
    feeds = [(name, operand) for name, operand in (("A", found.a), ("B", found.b)) if operand]
    pages = {f"{side}.{stage}": link_copy(fields, side, stage) for side in "ab" for stage in ("store", "load")}
    drawn = draw_stages(pages)
    sheets = loop_sheets.make_sheet_page(drawn)
    pinned = sheets.build_context(query) if sheets else {}

    def ring(svg: str, stage: str) -> str:
        return sheets.ring(svg, loop_sheets.get_selector(stage), pinned["pins"]) if sheets else svg

    return {
        **pinned,
        "found": found,
        "made": tiled_mma,
        "feeds": feeds,
        "summary": format_cost(found),
        "stages": STAGES,
        "tables": [(name, operand, build_step_table(operand)) for name, operand in feeds if operand.steps],
        "causes": [format_cause(name, operand) for name, operand in feeds if operand.verdict == "mismatch"],
        "pictures": drawing.link_forms(PATH, link_loop(fields).partition("?")[2]),
        "copies": pages,
        "moved": [
            (name, TITLES[name[2:]].format(name[0].upper()), pages[name], ring(operand.svg, name))
            for name, operand in drawn.items()
        ],
        "swatches": build_legend(tiled_mma, BenchState()),
        "bench": link_bench(tiled_mma, fields),
        "opcode": format_short_name(tiled_mma.atom.instruction),
    }


def format_cost(loop: LoopFacts) -> str:
    """Return the cost in one sentence."""
    faulty = [name for name, operand in (("A", loop.a), ("B", loop.b)) if operand and operand.fault]
    if faulty:
        return f"Wavefronts are not counted: an access of {' and of '.join(faulty)} faults."
    if loop.wavefronts == loop.ideal:
        return f"{loop.wavefronts} wavefronts of shared memory for the tile, no bank conflicts."
    times = loop.wavefronts / loop.ideal
    return f"{loop.wavefronts} wavefronts of shared memory for the tile, {times:.3g} times the {loop.ideal} needed."


def format_cause(name: str, operand: LoopOperand) -> str:
    """Return why an operand does not arrive: its first wrong element."""
    if operand.fault:
        return f"{name}: {operand.fault}"
    if operand.overlaps:
        return (
            f"{name}: {operand.overlaps} elements share the address of another element: the rows are closer"
            " than they are long."
        )
    if operand.uncovered:
        return f"{name}: the store leaves {operand.uncovered} elements of the tile unwritten."
    step = min((each for each in operand.steps if each.first_wrong), key=lambda each: (each.step, each.warp))
    first = step.first_wrong
    assert first is not None
    row = "m" if name == "A" else "n"
    got = f"({row} = {first.reads[0]}, k = {first.reads[1]})" if first.reads else "bytes that nothing was stored to"
    return (
        f"{name}: {operand.wrong} values are wrong. The first: warp {step.warp}, K iteration {step.step}, thread"
        f" {first.thread}, value {first.value} should be ({row} = {first.row}, k = {first.k}) and reads {got}."
    )


def draw_stages(pages: Mapping[str, str]) -> dict[str, tiled_copy_figure.DrawnCopy]:
    """Draw every stage that has a page: which warp moves each element of the tile."""
    out = {}
    for name, page in pages.items():
        if page:
            with suppress(LayoutError):  # the tile is too large for a picture
                out[name] = tiled_copy_figure.draw_copy(dict(parse_qsl(page.partition("?")[2])))
    return out


def build_step_table(operand: LoopOperand) -> list[list[Any]]:
    """Return [warp][K iteration] of the steps."""
    warps = max(step.warp for step in operand.steps) + 1
    rows: list[list[Any]] = [[] for _ in range(warps)]
    for step in operand.steps:
        rows[step.warp].append(step)
    return rows


def link_bench(tiled_mma: TiledMMA, fields: Mapping[str, str]) -> str:
    """Link to the TiledMMA."""
    query = {name: fields[name] for name in forms.MMA if fields[name]}
    return f"/tiles/mma?{urlencode(query, safe='(),:')}"


def link_copy(fields: Mapping[str, str], side: str, stage: str) -> str:
    """Link to the TiledCopy of a stage: the store from global memory, or the load to the TiledMMA's operand."""
    values = {key: fields[f"{side}_{key}"] for key in SIDE}
    try:
        tiled_mma = questions.parse_mma(forms.build_mma_body(fields))
    except LayoutError:
        return ""
    m, n, k = tiled_mma.tile
    out = {
        **tiled_copy_page.EMPTY,
        "tile": f"{m if side == 'a' else n}x{k}",
        "stored": "rows",
        "pitch_bytes": values["pitch"],
        "major": values["major"],
        "element_bits": str(tiled_mma.operand(side).element_bits),
    }
    if stage == "store":
        out |= {
            "atom": values["copy"],
            "bits": values["bits"],
            "thr_layout": values["thr"],
            "val_layout": values["val"],
            "global": values["global"],
            "swizzle": values["swizzle"],
        }
    else:
        out |= {
            "atom": values["load"],
            "mma": fields["atom"],
            "atom_layout": fields["atom_layout"],
            "operand": side,
            "permutation": fields["permutation"],
            "swizzle": values["read"] or values["swizzle"],
        }
    try:
        tiled_copy_facts.build_cost_sides(
            tiled_copy_facts.parse_tiled_copy(tiled_copy_page.build_body(out)), tiled_copy_page.build_body(out)
        )
    except LayoutError:  # the loop reports why an access is illegal
        return ""
    return tiled_copy_page.link_copy(out)
