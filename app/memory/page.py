"""Pages of shared memory: the tile explorer and the descriptor editor. Everything works by links and forms; scripts make it quick."""

from __future__ import annotations

from contextlib import suppress
from math import lcm
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from app.kernel import facts as programs
from app.kit.api import Given, OffLoop
from app.kit.encode import dumps
from app.kit.page import page
from app.kit.wire import json_body
from app.kit.words import LABELS, LOOK
from app.memory import atoms as atom_views
from app.memory import facts as memory
from app.memory.draw import field_at, verdict_svg
from app.memory.tiles import LABELLED, LOOKS, TileDrawing, look_of, tile_figure
from layouts import catalog
from layouts import descriptor as desc
from layouts.descriptor import Descriptor
from layouts.errors import LayoutError
from layouts.reading import PATTERN, keys, number
from layouts.render.svg import svg
from layouts.storage import KEYS, storage
from layouts.swizzle import mode
from layouts.tiling import DEFAULT_ORDER, ELEMENT_BITS, Tile
from layouts.view import Figure, Panel

router = APIRouter(include_in_schema=False, route_class=OffLoop)
DEFAULT_WORD = "0x4000004000010100"
# The storage of the verifier's form: query name → default. `kind` chooses which of them are read.
STORAGE = {
    "kind": "canonical", "swizzle": "128B", "mn": "64", "k": "64", "order": "", "base": "0x1000", "inner": "K", "pitch_bytes": "128",
    "width_bytes": "128", "outer8_stride": "1024", "inner_stride": "8192", "line_stride": "128", "swizzle_by": "address",
    "layout": "Sw<3,3,3> o ((8,8),(64,1)):((64,512),(1,0))", "unit": "elements",
}  # fmt: skip
# The keys of each kind that the form asks for; the instruction and "read as" say the others.
USED = {kind: tuple(name for name in names if name not in ("element_bits", "major")) for kind, names in KEYS.items()}
# What the forms say of the order of the atoms; "" is the engine's default.
ORDERS = {"": "as CUTLASS: " + ", ".join(f"{order} for {major}-major" for major, order in DEFAULT_ORDER.items()), "mn": "mn", "k": "k"}
VIEW = {"instruction": memory.FIXED, "operand": "a", "major": "K", "slice_mn": "0", "slice_k": "0"}


# the tile explorer ----------------------------------------------------------------------------------------------------------


@router.get("/smem")
def smem(request: Request) -> Response:
    """A tile in shared memory: logical and memory picture, strides, CuTe, steps."""
    given = {name: request.query_params.get(name, "") or default for name, default in memory.TILE_FIELDS.items()}
    looks = {name: request.query_params.get(name, "") or default for name, (default, _) in LOOK.items()}
    asked = {k: v for k, v in given.items() if v} | {k: v for k, v in looks.items() if v != LOOK[k][0]}
    context: dict[str, Any] = {"given": given | looks, "error": None, "query": urlencode(asked)}
    try:
        tile, rows = memory.tile_of(given)
    except LayoutError as error:
        context |= {"error": error, "instead": "Below: the default tile."}
        tile, rows = memory.tile_of({})
    try:
        drawing = tile_figure(tile, look_of(looks), rows)
    except LayoutError as error:
        context |= {"error": context["error"] or error, "instead": "Below: drawn in the usual way."}
        drawing = tile_figure(tile, None, rows)
    facts = memory.tile_facts(tile, rows)
    figure = drawing.figure
    context |= {
        "tile": tile,
        "orders": ORDERS,
        "facts": facts,
        "looks": LOOKS,
        "wide": figure.width > 1100,
        "whole": whole(reader(tile, rows)[0], programs.with_tile(catalog.find(reader(tile, rows)[0]), reader(tile, rows)[1], tile)),
        "element_bits": ELEMENT_BITS,
        "steps": [step | {"query": step_query(tile, rows, step["k"])} for step in facts["k_steps"]],
        "svg": svg(
            figure,
            title="tile and memory",
            palette=None,
            labels_up_to=2 * LABELLED,
            extra=drawing.extra + "".join(_marker(p) for p in figure.panels),
        ),
        "data": dumps(_cells(tile, drawing) | {"panels": _places(figure)}).decode(),
        "units": [
            ("16-byte chunks", facts["cute"]["chunks"]),
            ("elements", facts["cute"]["elements"]),
            ("bytes", facts["cute"]["bytes"]),
            ("bits", facts["cute"]["bits"]),
        ],
    }
    return page(request, "memory/tile.html", context, 422 if context["error"] else 200)


READERS = {
    1: "wgmma.mma_async.m64n{}k256.s32.b1.b1.and.popc",
    8: "wgmma.mma_async.m64n{}k32.f32.e4m3.e4m3",
    16: "wgmma.mma_async.m64n{}k16.f32.f16.f16",
    32: "wgmma.mma_async.m64n{}k8.f32.tf32.tf32",
}


def reader(tile: Tile, rows: int) -> tuple[str, str]:
    """(instruction, operand) of these elements that reads `rows` rows of a tile."""
    if rows != 64:
        with suppress(LayoutError):  # where no instruction has so many rows, A's 64 stand for them
            return catalog.find(READERS[tile.element_bits].format(rows)).ptx, "b"
    return READERS[tile.element_bits].format(64), "a"


def whole(instruction: str, given: dict[str, str] | None) -> dict[str, str] | None:
    """Links to a whole product with these options: its program, and its run; None where there are none."""
    if given is None:
        return None
    found = catalog.find(instruction)
    run = {"kind": "mma", "instruction": found.ptx, **given, "backend": "numpy"}
    return {"program": programs.address(found, given), "run": "/gpu/run?" + urlencode(run)}


def product(request: dict[str, Any], tile: Tile | None, first: int, k: int) -> dict[str, str] | None:
    """Links to a whole product with the operand stored and the word given as a verification has them; None for a slice inside K."""
    found, operand, word = catalog.find(request["instruction"]), request["operand"].lower(), request["descriptor"]
    if k or (first and not tile):
        return None
    given = (
        programs.with_tile(found, operand, tile, first, word)
        if tile
        else programs.with_storage(found, operand, request["storage"], request["major"], word)
    )
    return whole(found.ptx, given)


def step_query(tile: Tile, rows: int, k: int) -> str:
    """The query under which the descriptor page verifies one K step: an instruction of these elements that reads `rows` rows."""
    instruction, operand = reader(tile, rows)
    asked = {
        "instruction": instruction,
        "operand": operand,
        "major": tile.major,
        "s_swizzle": tile.mode.name,
        "s_mn": tile.mn,
        "s_k": tile.k,
    }
    return urlencode(asked | {"s_order": tile.order, "s_base": tile.base, "slice_k": k})


@router.get("/smem/atoms")
def atoms(request: Request) -> Response:
    """The eight atoms, and tiles made of them in both orders."""
    return page(request, "memory/atoms.html", atom_views.context(dict(request.query_params)))


def _cells(tile: Tile, drawing: TileDrawing) -> dict[str, Any]:
    """What the script needs of the cells: the elements they hold, their bytes before and after the XOR, their places in memory."""
    cells = drawing.map
    return {
        "base": tile.base,
        "chunks": tile.mode.chunks,
        "major": tile.major,
        "unit": cells.unit,
        "cols": cells.cols,
        "span": cells.span,
        "size": cells.bits // 8,
        "mn": cells.mn.ravel(),
        "k": cells.k.ravel(),
        "before": (cells.memory(True) * cells.bits // 8).ravel(),
        "after": (cells.memory() * cells.bits // 8).ravel(),
        "place": drawing.place.ravel(),
    }


def _marker(panel: Panel) -> str:
    return f'<rect id="mark-{panel.name}" width="{panel.cell_width:.2f}" height="{panel.cell_height:.2f}" fill="none" stroke="var(--ink)" stroke-width="2.5" visibility="hidden"/>'


def _places(figure: Figure) -> list[dict[str, Any]]:
    return [
        {"name": p.name, "rows": p.rows, "cols": p.cols, "x": p.x, "y": p.y, "cell_width": p.cell_width, "cell_height": p.cell_height}
        for p in figure.panels
    ]


# the descriptor editor ------------------------------------------------------------------------------------------------------


@router.get("/descriptor")
@router.get("/descriptor/wgmma")
def descriptor_entry(request: Request) -> Response:
    """From a form: a word, or its fields, to the page of that descriptor."""
    query = dict(request.query_params)
    word = query.pop("word", "").strip()
    amounts = {name: query.pop(name) for name in ("start_address", "lbo_bytes", "sbo_bytes", "base_offset", "swizzle") if name in query}
    start = query.pop("start", "0")
    text = word or DEFAULT_WORD
    try:
        if amounts and not word:
            text = memory.encode(amounts)["descriptor"]
        text = str(memory.read_descriptor(text, number(start, "start"))[0])
    except LayoutError as error:
        context = page_context(memory.parse_descriptor(DEFAULT_WORD), query) | {"word_error": error, "typed": text}
        return page(request, "memory/descriptor.html", context, 422)
    return RedirectResponse(f"/descriptor/wgmma/{text}" + (f"?{urlencode(query)}" if query else ""), 303)


@router.post("/descriptor/read.json")
def descriptor_read(given: Given) -> Response:
    """For the editor: {"text", "start"} → the word that a text spells or builds, and what to look at in it."""
    keys(given, ("text", "start"))
    read, notices = memory.read_descriptor(given.get("text"), number(given.get("start", 0), "start"))
    return json_body({"descriptor": str(read), "notices": notices})


@router.get("/descriptor/wgmma/{word:path}")
def descriptor_page(request: Request, word: str) -> Response:
    """The editor and verifier of one descriptor."""
    query = dict(request.query_params)
    try:
        descriptor = memory.parse_descriptor(word)
    except LayoutError as error:
        context = page_context(memory.parse_descriptor(DEFAULT_WORD), query) | {"word_error": error, "typed": word}
        return page(request, "memory/descriptor.html", context, 422)
    context = page_context(descriptor, query)
    context["no_gpu"] = request.app.state.hardware.reason
    part = query.get("part") == "analysis"
    return page(request, "memory/analysis.html" if part else "memory/descriptor.html", context)


def page_context(descriptor: Descriptor, query: dict[str, str]) -> dict[str, Any]:
    """Everything the editor shows: fields, warnings, and the verification the query asks for."""
    view = {name: query.get(name, default) for name, default in VIEW.items()}
    usual = STORAGE | fitting(view, query) | {"inner": view["major"], "line_stride": query.get("s_width_bytes", STORAGE["width_bytes"])}
    spec = {name: query.get(f"s_{name}", default) for name, default in usual.items()}
    context: dict[str, Any] = {
        "descriptor": descriptor,
        "facts": memory.descriptor_facts(descriptor),
        "bits": [[descriptor.word >> n & 1, field_at(n)] for n in range(63, -1, -1)],
        "view": view,
        "storage": spec,
        "used": USED,
        "orders": ORDERS,
        "word_error": None,
        "typed": str(descriptor),
        "query": urlencode({k: v for k, v in query.items() if k != "part"}),
        "fields_data": dumps({"fields": _fields(), "number": PATTERN}).decode(),
        "error": None,
        "compare": None,
    }
    request = {
        "descriptor": str(descriptor),
        **{name: view[name] for name in ("instruction", "operand", "major")},
        "storage": storage_of(spec, view["major"]),
        "slice": {"mn": view["slice_mn"], "k": view["slice_k"]},
    }
    try:
        result, seen, _ = memory.verdict_of(request)
        context |= {"result": result, "seen": seen, "unused": desc.inert(descriptor, seen), "pictures": verdict_svg(result)}
        context["beyond"] = desc.repeated(descriptor, seen) + desc.outside(descriptor, seen)
        context["command"] = _command(request)
        context["otherwise"] = [stored_so(query, d.storage) if d.storage else "" for d in result.diagnoses]
        context["ways"] = desc.bank_ways(result.read, seen)
        stored = storage(request["storage"], seen.bits, seen.major)
        tile, context["stored"] = stored.tile, stored.text
        at_mn, at_k = (number(view[name], name) for name in ("slice_mn", "slice_k"))
        context["canonical"] = _slice(tile, at_mn, at_k, seen.k)
        step = seen.k if tile else 0
        context["whole"] = product(request, tile, at_mn, at_k)
        context["next_query"] = urlencode({**{k: v for k, v in query.items() if k != "part"}, "slice_k": at_k + step})
        context["next"] = {"k": at_k + step, "word": _slice(tile, at_mn, at_k + step, seen.k)} if tile else None
    except LayoutError as error:
        context |= {"error": error, "unused": {}}
    if query.get("compare"):
        try:
            other = memory.parse_descriptor(query["compare"])
            context["compare"] = {
                "word": str(other),
                "facts": memory.descriptor_facts(other),
                "differ": {f.name for f in desc.FIELDS if f.get(other.word) != f.get(descriptor.word)},
            }
        except LayoutError as error:
            context["compare_error"] = error
    return context


def fitting(view: dict[str, str], query: dict[str, str]) -> dict[str, str]:
    """The default sizes of a canonical tile: what the instruction reads, in whole atoms. Empty where the view is not legal."""
    try:
        _, seen = memory.seen_by(view)
        mn, k = mode(query.get("s_swizzle", STORAGE["swizzle"])).atom(seen.bits, seen.major)
    except LayoutError:
        return {}
    return {"mn": str(-(-max(seen.rows, 64) // mn) * mn), "k": str(lcm(k, seen.k))}


def stored_so(query: dict[str, str], spec: dict[str, Any]) -> str:
    """The page's query with another storage in it."""
    kept = {name: value for name, value in query.items() if name != "part" and not name.startswith("s_")}
    return urlencode(kept | {f"s_{name}": value for name, value in spec.items() if name in ("kind", *USED[spec["kind"]])})


def storage_of(spec: dict[str, str], major: str) -> dict[str, str]:
    """The storage that a form's fields say: the keys its kind has."""
    fixed = {"major": major} if spec["kind"] == "canonical" else {}
    return {"kind": spec["kind"], **fixed, **{name: spec[name] for name in USED.get(spec["kind"], ())}}


def _fields() -> list[dict[str, Any]]:
    """The descriptor's fields and what the form calls them."""
    labels = LABELS["descriptor"]
    return [
        {"name": f.name, "low": f.low, "high": f.high, "unit": f.unit, "label": labels.get(f.name) or labels[f"{f.name}_bytes"]}
        for f in desc.FIELDS
    ]


def _slice(tile: Tile | None, mn: int, k: int, reach: int) -> str | None:
    """The descriptor of a slice, None where none can begin there."""
    try:
        return str(tile.descriptor(mn, k, reach)) if tile else None
    except LayoutError:
        return None


def _command(request: dict[str, Any]) -> str:
    """The same verification in a shell."""
    spec = " ".join(f"--storage '{name}={value}'" for name, value in request["storage"].items())
    part = "".join(f" --slice-{name} {value}" for name, value in request["slice"].items() if str(value) != "0")
    return f"lanescope descriptor verify {request['descriptor']} --instruction {request['instruction']} --operand {request['operand']} --major {request['major']} {spec}{part}"
