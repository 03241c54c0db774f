"""/layouts/triton: a layout of Triton or Gluon, or a module with several."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from lanescope import triton
from lanescope.app.kit import links
from lanescope.app.kit.maps import drawing
from lanescope.app.kit.maps.bench import MapBench
from lanescope.app.kit.maps.stage import LOOK
from lanescope.app.kit.question_form import add_wrong_fields, require_values
from lanescope.app.layouts import benches
from lanescope.app.layouts.forms import TRITON_FIELDS, TRITON_LABELS, TritonForm, build_form
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
from lanescope.app.layouts.triton_presets import MMA, PRESETS
from lanescope.app.read.workbench import compress_text, expand_text
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from lanescope.reader import LONGEST
from lanescope.reader.compiler_output.ttgir import LayoutConversion, ModuleLayout, TensorType, TtgirModule, parse_module
from lanescope.render.sheet import TileSheet, draw_sheets, make_memory_sheet, make_threads_sheet
from lanescope.render.tensor import TensorSheet, make_tensor_sheet
from lanescope.tiles.convert import convert_layout
from lanescope.tiles.cute_equivalent import find_cute_equivalent
from lanescope.tiles.feeds import find_fed_operands
from lanescope.triton.gluon import TritonLayout, triton_layout
from lanescope.triton.tensor import COLUMNS, mask_occupied as held_lanes

PATH = "/layouts/triton"
LONGEST_ADDRESS = 7 << 10
KEYS = ("text", "z", "shape", "element_bits", "pick", "to", "axes", "at")
PICTURED = ("shape", "element_bits", "axes", "at")


def build_context(query: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables. An error stands beside its field, and everything else is drawn."""
    fields = {name: query.get(name, "") for name in KEYS}
    out: dict[str, Any] = {
        "given": fields,
        "takes": KEYS,
        "error": None,
        "found": None,
        "labels": TRITON_LABELS,
        "presets": [_link_preset(row) for row in PRESETS],
        "listed": None,
        "to": None,
        "kept": [(name, query[name]) for name in LOOK if query.get(name)],
    }
    layout: TritonLayout | None = None
    chosen: ModuleLayout | None = None
    try:
        text = _expand_text_field(fields, query)
        module = parse_module(text) if "\n" in text or "tensor<" in text else None
        if module:
            out["listed"], chosen = _list_layouts(module, fields), _select_layout(module, fields["pick"])
            out["traits"] = dict(module.traits)
        layout = _parse_layout(text, fields, chosen)
        build = partial(_build_layout, layout)
        drawn, out["error"] = draw_without_wrong(lambda kept: build(kept, chosen, query), fields, ("to",))
        out |= drawn
    except LayoutError as error:
        out["error"] = error
    if out["error"]:
        out["error"] = add_wrong_fields(out["error"], TRITON_FIELDS, fields)
    rank = 0 if layout is None or layout.tensor_memory else len(layout.shape)
    return out | {"rank": rank, "form": build_form(TritonForm, fields, rank, out.get("hidden", ()), out["error"])}


def _expand_text_field(fields: dict[str, str], query: Mapping[str, str]) -> str:
    """Expand a compressed text, or take an example if none was sent, and return it. LayoutError for an empty one."""
    text = (expand_text(fields["z"]) if fields["z"] else fields["text"]).replace("\r\n", "\n")
    if len(text) > LONGEST:
        raise LayoutError("bad_text", f"The text has {len(text)} characters.", f"At most {LONGEST}.", "text")
    require_values(TRITON_FIELDS, {**query, "text": text} if fields["z"] else query)
    if not text.strip():
        text, fields["shape"] = MMA, fields["shape"] or "32x32"
        fields["element_bits"] = fields["element_bits"] or "32"
    fields["text"] = text
    return text


def _link_preset(row: tuple[str, str, str, str]) -> tuple[str, str]:
    title, text, shape, bits = row
    more = {"to": MMA} if title == "convert_layout" else {}
    return title, f"{PATH}?{urlencode({'text': text, 'shape': shape, 'element_bits': bits, **more})}"


def draw_figure(query: Mapping[str, str], caption: str) -> str:
    """Return the tile of an address as one picture in the page's colours."""
    return draw_sheets(build_sheets(query), caption, letter="R")


def build_sheets(query: Mapping[str, str]) -> list[tuple[TileSheet, str, str]]:
    """Return the sheet of an address with its colour and title."""
    layout = triton_layout(
        query.get("text", ""), split_sizes(query.get("shape", "")) or None, query.get("element_bits")
    )
    sheet = _build_sheet(layout, AxesLook.from_query(query))
    title = f"{layout.kind}, {'×'.join(map(str, layout.shape))}"
    return [(sheet, select_colour(sheet, query.get("colour", "")), title)]


def build_staged_bench(query: Mapping[str, str]) -> tuple[MapBench, dict[str, str]]:
    """Return the stage of an address and its view, for a picture of it."""
    layout = triton_layout(
        query.get("text", ""), split_sizes(query.get("shape", "")) or None, query.get("element_bits")
    )
    where = AxesLook.from_query(query)
    sheet = _build_sheet(layout, where)
    to, bench = _build_bench(layout, sheet, {name: query.get(name, "") for name in KEYS}, where)
    return bench, benches.parse_look(bench, query, "moves" if to else find_default_colour(sheet))


def link_form(query: Mapping[str, str]) -> str:
    """Link to the page of a form; "" if even compressed it does not fit in an address."""
    link = _link_page({name: query.get(name, "") for name in (*KEYS, *LOOK)}, {})
    return link if len(link) <= LONGEST_ADDRESS else ""


def _link_page(fields: Mapping[str, str], change: Mapping[str, str]) -> str:
    """Link to this page with some fields changed; a long text is compressed."""
    state = {k: v for k, v in ({**fields, **change}).items() if v and k != "z"}
    query = urlencode(state)
    if len(query) > LONGEST_ADDRESS and "text" in state:
        query = urlencode({**{k: v for k, v in state.items() if k != "text"}, "z": compress_text(state["text"])})
    return f"{PATH}?{query}" if query else PATH


def _parse_layout(text: str, fields: dict[str, str], chosen: ModuleLayout | None) -> TritonLayout:
    tensor = _find_tensor(chosen)
    if chosen is not None:
        text = chosen.text
        fields["shape"] = fields["shape"] or ("x".join(map(str, tensor.shape)) if tensor else "")
        fields["element_bits"] = fields["element_bits"] or (str(tensor.bits) if tensor and tensor.bits else "")
    shape = split_sizes(fields["shape"]) or None
    layout = triton_layout(text, shape, fields["element_bits"].strip() or None)
    fields["shape"] = "x".join(map(str, layout.shape))
    return layout


def _find_tensor(used: ModuleLayout | None) -> TensorType | None:
    """Return the tensor type for a layout: the first with elements rather than pointers."""
    types = used.tensors if used else ()
    return next((one for one in types if one.element != "ptr"), types[0] if types else None)


# a module -------------------------------------------------------------------------------------------------------------


def _select_layout(module: TtgirModule, pick: str) -> ModuleLayout | None:
    if not module.layouts:
        return None
    if pick.strip():
        return module.layouts[parse_integer(pick, "pick", 0, len(module.layouts) - 1)]
    return next((one for one in module.layouts if one.tensors), module.layouts[0])


def _list_layouts(module: TtgirModule, fields: Mapping[str, str]) -> dict[str, Any]:
    chosen = _select_layout(module, fields["pick"])
    number_of = {one.text: n for n, one in enumerate(module.layouts)}
    clean = {name: "" for name in KEYS if name not in ("text", "z", "colour")}
    rows = [
        {
            "used": one,
            "href": _link_page(fields, {**clean, "pick": str(n)}),
            "here": one is chosen,
            "kind": one.text.removeprefix("#").split("<")[0].partition(".")[2],
            "short": "" if one.names else _format_params(one.text, module),
            "ops": ", ".join(name + (f" ×{count}" if count > 1 else "") for name, count in one.ops[:6]),
            "more": max(0, len(one.ops) - 6),
            "tensors": ", ".join(map(str, one.tensors[:3])),
        }
        for n, one in enumerate(module.layouts)
    ]
    ways = _ConversionTitles()
    moves = [
        _build_conversion_row(move, number_of, fields, clean, ways)
        for move in module.moves
        if move.source.layout in number_of
    ]
    return {"rows": rows, "moves": moves, "left": module.left}


def _format_params(text: str, module: TtgirModule) -> str:
    """Return a layout's parameters with the module's aliases restored: `opIdx = 0, parent = #mma`."""
    for one in module.layouts:
        if one.names and one.text != text:
            text = text.replace(one.text, one.names[0])
    return text.partition("<")[2].strip("<>{}")


def _build_conversion_row(
    one: LayoutConversion,
    number_of: Mapping[str, int],
    fields: Mapping[str, str],
    clean: Mapping[str, str],
    ways: _ConversionTitles,
) -> dict[str, Any]:
    change = {
        **clean,
        "pick": str(number_of[one.source.layout]),
        "to": one.target.layout,
        "shape": "x".join(map(str, one.source.shape)),
        "element_bits": str(one.source.bits or ""),
    }
    return {"move": one, "href": _link_page(fields, change), "title": ways[one.source, one.target]}


class _ConversionTitles(dict[tuple[TensorType, TensorType], str]):
    """Describes what each conversion of a module moves; repeated ones are computed once."""

    def __missing__(self, sides: tuple[TensorType, TensorType]) -> str:
        try:
            have, want = (triton_layout(side.layout, list(side.shape), side.bits) for side in sides)
            way = WAYS[convert_layout(have, want, costs=False).way][0]
        except LayoutError as error:
            way = error.message
        self[sides] = way
        return way


# one layout -----------------------------------------------------------------------------------------------------------


def _build_layout(
    layout: TritonLayout, fields: dict[str, str], chosen: ModuleLayout | None, query: Mapping[str, str]
) -> dict[str, Any]:
    look = AxesLook.from_query(fields)
    sheet = _build_sheet(layout, look)
    cute = find_cute_equivalent(layout)
    known = fields["element_bits"].strip()
    fields["element_bits"] = known or str(layout.element_bits)
    to, bench = _build_bench(layout, sheet, fields, look)
    colour = "moves" if to else find_default_colour(sheet)
    state = {name: query.get(name, "") for name in KEYS}
    drawn = {"text": layout.text, **{k: v for k, v in fields.items() if v and k in PICTURED}}
    out = {
        "found": layout,
        "chosen": chosen,
        **benches.build_stage(
            bench, query, state, dict.fromkeys(KEYS, ""), colour, drawn | ({"to": fields["to"]} if to else {})
        ),
        "matrix": build_matrix(layout.linear),
        "bases": format_bases(layout.linear),
        "cute": cute,
        "cute_link": _link_cute(layout, cute.layout),
        "feeds": _find_feeds(layout, layout.element_bits if known else None) if layout.of_threads else [],
        "hidden": [] if layout.tensor_memory else list(build_plane(look, layout.shape).fixed),
        "verdict": _format_verdict(layout),
        "tile": _link_tile(layout),
        "tabled": [(one.name, one.title) for one in bench.maps],
        "to": to,
    }
    if to:
        drawn["to"] = fields["to"]
    return out | {"pictures": drawing.link_forms(PATH, urlencode(drawn | out["own"]))}


def _build_bench(
    layout: TritonLayout, sheet: TileSheet, fields: dict[str, str], look: AxesLook
) -> tuple[dict[str, Any] | None, MapBench]:
    """Return the stage, the tensor or the tensor before and after a conversion, and texts about it."""
    says = f"the {layout.kind} layout"
    if fields["to"].strip():
        to, sheets = _build_conversion(layout, fields, look)
        maps = benches.build_before_after(sheets, (layout.kind, to["target"].kind), to["found"])
        return to, benches.build_thread_bench(PATH, says, maps, "R", {"moves": "what moves"}, layout.lanes)
    if isinstance(sheet, TensorSheet):
        return None, benches.build_tensor_bench(sheet, PATH, says)
    if layout.shared:
        return None, benches.build_memory_bench(sheet, PATH, says)
    tensor = benches.build_thread_map(sheet, "tile", "Tensor")
    return None, benches.build_thread_bench(PATH, says, [tensor], "R", {}, layout.lanes)


def _build_sheet(layout: TritonLayout, look: AxesLook) -> TileSheet:
    if layout.tensor_memory:
        return make_tensor_sheet(layout.linear, layout.element_bits)
    where = build_plane(look, layout.shape)
    if layout.shared:
        return make_memory_sheet(layout.offset, where, layout.element_bits)
    return make_threads_sheet(layout.coords, layout.shape, where, layout.element_bits, layout.lanes)


def _format_verdict(layout: TritonLayout) -> str:
    tensor = "×".join(map(str, layout.shape))
    if layout.tensor_memory:
        lanes, count = int(held_lanes(layout.linear).any(axis=1).sum()), layout.columns
        fits = "" if count <= COLUMNS else f" It does not fit: tensor memory has {COLUMNS} columns."
        each = f" in each of {layout.blocks} blocks" if layout.blocks > 1 else ""
        size = f"{count} column{'s' * (count > 1)} and {lanes} lanes of tensor memory{each}"
        return f"{size} hold the {tensor} tensor.{fits}"
    if layout.shared:
        used = int(layout.offset.max()) + 1
        size = f"{used * layout.element_bits // 8:,} bytes of shared memory hold the {tensor} tensor"
        pads = triton.list_paddings(layout.params)
        return f"{size}, padding included." if pads else f"{size}."
    blocks = f" in each of {layout.blocks} blocks" if layout.blocks > 1 else ""
    held = "every element is held once" if layout.copies == 1 else f"every element is held {layout.copies} times"
    wave = f" of {layout.lanes} lanes" if layout.of_amd else ""
    warps = f"{layout.warps} warp{'s' * (layout.warps > 1)}{wave}"
    per = f"{layout.registers} element{'s' * (layout.registers != 1)}"
    return f"{layout.threads // layout.blocks} threads ({warps}){blocks}, {per} per thread; {held}."


def _link_cute(layout: TritonLayout, found: object) -> str:
    if (
        found is None or not layout.of_threads or len(layout.shape) > 2 or layout.of_amd
    ):  # that page assumes warps of 32 threads
        return ""
    tile = "x".join(map(str, (*layout.shape, 1)[:2]))
    return f"/layouts/tv?{urlencode({'cute': str(found), 'tile': tile})}"


def _link_tile(layout: TritonLayout) -> str:
    """Link to the same tile in shared memory, if wgmma reads it."""
    width = layout.params.get("swizzlingByteWidth")
    if layout.kind != "nvmma_shared" or len(layout.shape) != 2 or layout.params.get("fp4Padded") or layout.blocks > 1:
        return ""
    turned = bool(layout.params.get("transposed"))
    mn, k = layout.shape
    swizzle = {0: "none"}.get(int(width or 0), f"{width}B")
    return links.link_smem(
        {
            "element_bits": layout.element_bits,
            "major": "MN" if turned else "K",
            "swizzle": swizzle,
            "mn": mn,
            "k": k,
        }
    )


def _find_feeds(layout: TritonLayout, bits: int | None) -> list[OperandFeeds]:
    """Return the operands that a layout supplies, those that it is named after first."""
    mine = {"dot_op": {0: "A", 1: "B"}.get(layout.params.get("opIdx", -1), ""), "nvidia_mma": "D"}.get(layout.kind, "")
    return group_feeds(find_fed_operands(layout.linear, bits), mine)


def _build_conversion(
    layout: TritonLayout, fields: dict[str, str], look: AxesLook
) -> tuple[dict[str, Any], list[TileSheet]]:
    try:
        target = triton_layout(fields["to"], list(layout.shape), layout.element_bits)
        conversion = convert_layout(layout, target)
    except LayoutError as error:
        raise error.move_to_field(error.field if error.field in ("shape", "axes") else "to") from None
    back = _link_page(fields, {"text": target.text, "to": layout.text, "pick": "", "z": ""})
    where = build_plane(look, layout.shape)
    sheets = [make_threads_sheet(one.coords, one.shape, where, one.element_bits, one.lanes) for one in (layout, target)]
    title, text = WAYS[conversion.way]
    return {
        "target": target,
        "found": conversion,
        "title": title,
        "text": text,
        "back": back,
        "cute": find_cute_equivalent(target),
        "percent": round(100 * conversion.in_thread / conversion.places),
    }, sheets
