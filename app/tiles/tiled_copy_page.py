"""The page of a TiledCopy: source and destination, and the cost in memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from lanescope.app.banks.draw import draw_banks
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.fact import Json
from lanescope.app.kit.maps import drawing, script_data, stage
from lanescope.app.kit.maps.bench import MapBench
from lanescope.app.kit.question import declare_question, fields_of, options_of, parsed_field, text_field, word_field
from lanescope.app.kit.question_form import require_values
from lanescope.app.tiles import questions, tiled_copy_facts
from lanescope.app.tiles.tiled_copy_maps import COPY_LOOK, build_copy_bench, build_tma_bench, make_tma_look
from lanescope.cute.copy_atom import PLAIN
from lanescope.cute.text import parse_cute_layout, parse_tiler
from lanescope.errors import LayoutError
from lanescope.inputs import get_last_name, parse_choice, parse_integer, quote_value
from lanescope.shared.swizzle import MODES
from lanescope.tiles import bulk_code, code
from lanescope.tiles.arguments import parse_atom_layout, parse_permutation
from lanescope.tiles.bulk import TmaCopy, is_tma
from lanescope.tiles.copy import ELEMENTS, TiledCopy, make_copy_atom
from lanescope.tiles.memory import SectorCount, SharedCopySide
from lanescope.tiles.mma import parse_tile_sizes
from lanescope.tiles.text_arguments import parse_text_arguments
from lanescope.tiles.tiled_mma import tiled_mma

PATH = "/tiles/copy"
STORED = {
    "none": "unspecified",
    "rows": "rows with a pitch",
    "canonical": "CUTLASS’s swizzle atoms, TMA boxes",
    "cute": "a CuTe layout",
}
ALONG = {"K": "along a row", "MN": "along a column"}
OPERANDS = {"a": "A", "b": "B", "c": "C", "c_atom": "C, one copy atom"}


def _declare_text(default: str, label: str, size: int, placeholder: str = "", **more: Any) -> Any:
    return text_field(default, label, "", size=size, placeholder=placeholder, **more)


def _declare_number(default: str, label: str, size: int, placeholder: str = "", **more: Any) -> Any:
    """Declare a number that the form sends as text. allowed: its only values."""
    allowed = more.pop("allowed", ())

    def parse(value: Any, field: str) -> int:
        number = parse_integer(value, field)
        if allowed and number not in allowed:
            hint = f"Allowed: {', '.join(map(str, allowed))}."
            raise LayoutError("bad_number", f"{get_last_name(field)} is {quote_value(value)}.", hint, field)
        return number

    return parsed_field(parse, label, "", default, size=size, placeholder=placeholder, **more)


def _check_atom(text: str) -> None:
    if is_tma(text) or parse_text_arguments("tiled_copy", text) is not None:
        return
    try:
        make_copy_atom(text, None, 16)
    except LayoutError as error:
        if error.field == "atom":  # whatever its width
            raise


def _parse_tile(text: str) -> None:
    parse_tile_sizes(questions.parse_sizes(text), ("rows", "columns"))


_parse_permutation = partial(parse_permutation, atom_sizes=questions.ANY_ATOM)


@declare_question
class CopyForm:
    """The form of the page; its defaults are the example."""

    atom: str = _declare_text("cp.async", "Copy atom", 18, check=_check_atom)
    bits: str = _declare_number("128", "Bits per access", 4, allowed=PLAIN["universal"])
    element_bits: str = _declare_number("16", "Bits per element", 4, "16", allowed=ELEMENTS)
    tile: str = _declare_text("64x64", "Tile, rows x columns", 8, covers=("storage.mn", "storage.k"), check=_parse_tile)
    layout_tv: str = _declare_text("", "Layout (thread, value) to element", 34, check=parse_cute_layout)
    tiler_mn: str = _declare_text("", "Tiler (M, N)", 12, check=parse_tiler)
    thr_layout: str = _declare_text("(16,8):(8,1)", "Thread layout", 15, check=parse_cute_layout)
    val_layout: str = _declare_text("(1,8)", "Value layout", 8, check=parse_cute_layout)
    mma: str = _declare_text(
        "", "Operand of the TiledMMA", 29, "instead of the two layouts", covers=("tiled_mma",), check=tiled_mma
    )
    operand: str = word_field(OPERANDS, "Operand", "", called=OPERANDS)
    atom_layout: str = _declare_text(
        "", "Atom layout", 8, "(1,1,1)", covers=("tiled_mma.atom_layout",), check=parse_atom_layout
    )
    permutation: str = _declare_text(
        "", "Permutation", 11, "none", covers=("tiled_mma.permutation",), check=_parse_permutation
    )
    stored: str = word_field(STORED, "In shared memory", "", "rows", called=STORED, covers=("storage",))
    pitch_bytes: str = _declare_number("128", "Bytes per row", 6, covers=("storage.pitch_bytes",))
    swizzle: str = word_field([mode.name for mode in MODES], "Swizzle", "", "128B", covers=("storage.swizzle",))
    major: str = word_field(ALONG, "Contiguous", "", "K", called=ALONG, covers=("storage.inner", "storage.major"))
    layout: str = _declare_text(
        "",
        "Shared memory, (row, column) to element",
        34,
        "Sw<3,3,3> o (64,64):(64,1)",
        covers=("storage.layout",),
        check=parse_cute_layout,
    )
    global_: str = _declare_text(
        "(1024,1024):(1024,1)",
        "Global memory, (row, column) to element",
        22,
        "(1024,1024):(1024,1)",
        check=parse_cute_layout,
    )
    multicast: str = _declare_number("", "CTAs that share it", 4, "1")


FIELDS = {name: str(option.default) for name, option in options_of(CopyForm).items()}
EMPTY = {**dict.fromkeys(FIELDS, ""), "operand": "a", "stored": "none", "swizzle": "none", "major": "K"}
BULK = {**EMPTY, "stored": "canonical", "swizzle": "128B"}
MOST_LISTED = 16  # boxes listed in the table
LDSM = "SM75_U32x4_LDSM_N"
_ROWS = {"stored": "rows", "pitch_bytes": "128", "swizzle": "128B", "major": "K"}
_LOAD = {
    **EMPTY,
    "atom": LDSM,
    "tile": "64x64",
    "mma": "SM80_16x8x16_F32F16F16F32_TN",
    "atom_layout": "(2,2,1)",
    "permutation": "(32,32,16)",
    **_ROWS,
}
PRESETS = {
    "cp.async, 16 bytes per thread (FlashAttention-2)": FIELDS,
    "ldmatrix.x4 of A, 128B swizzle": _LOAD,
    "ldmatrix.x4 of A, rows without a swizzle": {**_LOAD, "swizzle": "none"},
    "ldmatrix.x4.trans of B, N-major": {
        **_LOAD,
        "atom": "SM75_U16x8_LDSM_T",
        "operand": "b",
        "major": "MN",
    },
    "4 bytes per thread, rows padded to 80 bytes": {
        **EMPTY,
        "atom": "universal",
        "bits": "32",
        "element_bits": "16",
        "tile": "64x32",
        "thr_layout": "(8,16):(16,1)",
        "val_layout": "(1,2)",
        **_ROWS,
        "pitch_bytes": "80",
        "swizzle": "none",
        "global": "(1024,1024):(1024,1)",
    },
    "Transposed reads of global memory": {
        **EMPTY,
        "atom": "universal",
        "bits": "16",
        "element_bits": "16",
        "tile": "64x64",
        "thr_layout": "(32,4):(1,32)",
        "val_layout": "(1,1)",
        **_ROWS,
        "swizzle": "none",
        "global": "(1024,1024):(1024,1)",
    },
    "TMA load, two boxes of 128B swizzle": {
        **BULK,
        "atom": "SM90_TMA_LOAD",
        "element_bits": "16",
        "tile": "64x128",
        "global": "(4096,4096):(4096,1)",
    },
    "TMA load, multicast to 2 CTAs": {
        **BULK,
        "atom": "SM90_TMA_LOAD_MULTICAST",
        "element_bits": "16",
        "tile": "128x64",
        "global": "(4096,4096):(4096,1)",
        "multicast": "2",
    },
    "TMA load of N-major B": {
        **BULK,
        "atom": "SM90_TMA_LOAD",
        "element_bits": "16",
        "tile": "128x64",
        "major": "MN",
        "global": "(4096,4096):(1,4096)",
    },
    "TMA store, rows padded to 144 bytes (refused)": {
        **EMPTY,
        "atom": "SM90_TMA_STORE",
        "element_bits": "16",
        "tile": "64x64",
        **_ROWS,
        "pitch_bytes": "144",
        "swizzle": "none",
        "global": "(4096,4096):(4096,1)",
    },
}


def parse_form(query: Mapping[str, str]) -> dict[str, str]:
    """Return the form's fields: the example, or those of an address that names an atom."""
    usual = get_defaults(query)
    return {name: query.get(name, usual[name]).strip() for name in FIELDS}


def get_defaults(query: Mapping[str, str]) -> dict[str, str]:
    """Return the defaults of fields."""
    atom = query.get("atom", "")
    return BULK if is_tma(atom) else EMPTY if atom else FIELDS


def build_body(fields: Mapping[str, str]) -> Json:
    """Return the body of POST /api/v1/tiles/copy."""
    require_values({"atom": fields_of(CopyForm)["atom"]}, fields)
    parse_choice(fields["stored"], "stored", STORED)
    names: tuple[str, ...] = ("atom", "element_bits", "global", "multicast")
    if not is_tma(fields["atom"]):
        names += ("bits",) if fields["mma"] else ("bits", "thr_layout", "val_layout", "layout_tv", "tiler_mn")
    out: Json = {name: fields[name] for name in names if fields[name]}
    out["tile"] = questions.parse_sizes(fields["tile"])
    if fields["mma"] and not is_tma(fields["atom"]):
        named = {"atom": fields["mma"], "atom_layout": fields["atom_layout"], "permutation": fields["permutation"]}
        out |= {"tiled_mma": {name: text for name, text in named.items() if text}, "operand": fields["operand"]}
    if fields["stored"] == "rows":
        out["storage"] = {
            "kind": "rows",
            "inner": fields["major"],
            "pitch_bytes": _parse_integer(fields["pitch_bytes"]),
            "swizzle": fields["swizzle"],
        }
    elif fields["stored"] == "canonical":
        mn, k = [*map(_parse_integer, out["tile"]), "", ""][:2]
        out["storage"] = {"kind": "canonical", "swizzle": fields["swizzle"], "mn": mn, "k": k}
        out["major"] = fields["major"]
    elif fields["stored"] == "cute":
        out["storage"] = {"kind": "cute", "layout": fields["layout"], "unit": "elements"}
    return out


def _parse_integer(text: str) -> int | str:
    """Return a decimal number as int, any other text unchanged."""
    return int(text) if text.isdecimal() and len(text) < 10 else text


def list_controls(fields: Mapping[str, str]) -> tuple[str, ...]:
    """Return the controls that the form shows: those that the atom and the storage use."""
    stored = {
        "rows": ("pitch_bytes", "swizzle", "major"),
        "canonical": ("swizzle", "major"),
        "cute": ("layout",),
    }.get(fields["stored"], ())
    if is_tma(fields["atom"]):
        return ("atom", "element_bits", "tile", "stored", *stored, "global", "multicast")
    operand = ("operand", "atom_layout", "permutation") if fields["mma"] else ()
    by_layouts = ("thr_layout", "val_layout", "mma", *operand)
    by_tv = ("layout_tv", "tiler_mn")
    layouts = by_tv if fields["layout_tv"] or fields["tiler_mn"] else by_layouts
    return ("atom", "bits", "element_bits", "tile", *layouts, "stored", *stored, "global")


def link_copy(fields: Mapping[str, str]) -> str:
    """Link to the page with these fields."""
    usual = get_defaults(fields)
    changed = {k: v for k, v in fields.items() if v != usual[k]} | {"atom": fields["atom"]}
    return f"{PATH}?{urlencode(changed, safe='(),:')}"


def build_context(fields: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables; LayoutError if a field does not fit."""
    body = build_body(fields)
    if is_tma(fields["atom"]):
        return _build_tma_context(fields, query, body)
    copy = tiled_copy_facts.parse_tiled_copy(body)
    shared, across = tiled_copy_facts.build_cost_sides(copy, body)
    return _build_stage(build_copy_bench(copy, shared), COPY_LOOK, fields, query) | {
        "found": copy,
        "shared": shared,
        "across": across,
        "name": copy.atom.name,
        "covers": copy.tiler,
        "figures": list_figures(copy, shared, across),
        "banks": draw_banks([shared.costs[0]]) if shared else "",
        "apply": _suggest_swizzle(shared, fields),
        "code": _render_code(copy, fields),
        "notes": tiled_copy_facts.list_copy_notes(copy, body),
    }


def _build_stage(
    bench: MapBench, default_look: Mapping[str, str], fields: Mapping[str, str], query: Mapping[str, str]
) -> Json:
    """Return the template's variables of a bench. default_look: its default view."""
    look, view = stage.build_view(bench, query, default_look)
    defaults = {**get_defaults(query), **default_look, "atom": FIELDS["atom"]}
    state = {**fields, **look}
    drawn = {k: v for k, v in state.items() if v != defaults[k] and k not in stage.UNPICTURED}
    return view | {
        "pictures": drawing.link_forms(PATH, urlencode(drawn, safe="(),:")),
        "data": encode_json(build_page_data(bench, state, defaults)).decode().replace("</", "<\\/"),
    }


def _build_tma_context(fields: Mapping[str, str], query: Mapping[str, str], body: Json) -> dict[str, Any]:
    """Return the template's variables of a TMA atom: boxes, and where they are stored."""
    if "storage" not in body:
        raise LayoutError(
            "bad_storage", "TMA needs to know how the tile is stored.", "Choose atoms, rows or a layout.", "storage"
        )
    copy = tiled_copy_facts.parse_tma_copy(body)
    bench = build_tma_bench(copy)
    where = parse_cute_layout(fields["global"], "global") if fields["global"] else None
    code = [bulk_code.render_tensor_map(copy, where), bulk_code.render_instructions(copy)] if not copy.rules else []
    return _build_stage(bench, make_tma_look(copy), fields, query) | {
        "found": copy,
        "tma": copy,
        "shared": None,
        "name": copy.atom,
        "covers": copy.box,
        "notes": tiled_copy_facts.list_tma_notes(copy),
        "figures": _list_box_figures(copy),
        "code": "\n".join(code),
        "python": bulk_code.render_python(copy, body["storage"], fields["major"]),
        "lands": bulk_code.list_box_starts(copy)[:MOST_LISTED] if not copy.rules else [],
    }


def _list_box_figures(tma_copy: TmaCopy) -> list[tuple[str, str, str]]:
    """Return (number, description, reason) of the figures of the copy."""
    out = [
        (" × ".join(map(str, tma_copy.box)), "elements in one box, innermost first", ""),
        (str(tma_copy.boxes), f"instruction{'s' * (tma_copy.boxes != 1)} that each CTA issues", ""),
        (str(tma_copy.bytes), "bytes of the tile" + ": what each CTA’s barrier expects" * tma_copy.loads, ""),
    ]
    if tma_copy.multicast > 1:
        out.append((str(tma_copy.bytes_per_cta), f"bytes that each of {tma_copy.multicast} CTAs brings", ""))
    return out


def build_page_data(bench: MapBench, state: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, Any]:
    """Return the data of the script."""
    return script_data.build_page_data(bench, state, defaults, defaults) | {"unpictured": stage.UNPICTURED}


def _suggest_swizzle(shared: SharedCopySide | None, fields: Mapping[str, str]) -> tuple[str, str]:
    """Return (swizzle mode that removes the bank conflicts, the page with it), empty if there is none."""
    if not shared or not shared.solution or not shared.solution.free or fields["stored"] != "rows":
        return "", ""
    name = next((mode.name for mode in MODES if mode.swizzle() == shared.solution.swizzle), "")
    return (name, link_copy({**fields, "swizzle": name})) if name else ("", "")


def _render_code(tiled_copy: TiledCopy, fields: Mapping[str, str]) -> str:
    if fields["mma"]:
        return code.render_copy_cpp(tiled_copy, None, None, fields["operand"])
    if not fields["thr_layout"]:
        return code.render_copy_cpp(tiled_copy, None, None)
    return code.render_copy_cpp(
        tiled_copy, parse_cute_layout(fields["thr_layout"]), parse_cute_layout(fields["val_layout"] or "(1,1)")
    )


def list_figures(
    tiled_copy: TiledCopy, shared: SharedCopySide | None, across: SectorCount | None
) -> list[tuple[str, str, str]]:
    """Return (number, description, reason) of the figures of the copy."""
    rows, cols = tiled_copy.tiler
    out = [(str(tiled_copy.threads), f"threads; one TiledCopy covers {rows} × {cols}", "")]
    if shared:
        out.append((f"{shared.vector_bits} bits", "one access of shared memory", shared.why))
        out.append((str(shared.wavefronts), f"wavefronts of shared memory; {shared.ideal} without conflicts", ""))
    if across:
        out.append((f"{across.vector_bits} bits", "one access of global memory", across.why))
        out.append((str(across.sectors), f"sectors of 32 bytes; {across.ideal} at the least", ""))
    return out
