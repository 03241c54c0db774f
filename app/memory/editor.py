"""The template's variables of the descriptor page: fields, warnings, and the verification that its address requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from lanescope.app.kit import links
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.question import fields_of
from lanescope.app.kit.question_form import Control, add_wrong_fields, find_wrong_fields, form_of
from lanescope.app.memory import descriptors as memory
from lanescope.app.memory.options import VERDICT_FORMS
from lanescope.app.memory.presets import (
    PRESETS,
    PresetRequest,
    adapt_request,
    compute_thumbnail,
    find_first_k_step,
    find_preset,
)
from lanescope.app.memory.questions import LABELS, VERDICT, VerifyForm
from lanescope.app.memory.storage import KINDS, build_form, parse_storage, replace_storage
from lanescope.app.memory.tile_descriptors import DescribedTile, describe_tile
from lanescope.app.memory.tile_page import link_slice_product
from lanescope.app.memory.verdicts import build_verified, parse_view
from lanescope.app.memory.verification import (
    VIEW,
    JudgedRequest,
    build_view_request,
    judge_request,
    list_assumed_fields,
    make_default_view,
    make_readable,
    parse_page_query,
)
from lanescope.app.memory.word_form import build_amounts, build_script_data
from lanescope.descriptor import causes, matrix as desc
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.descriptor.notices import find_outside_reads, find_repeated_reads, find_uncertain_reads
from lanescope.errors import LayoutError, join_errors
from lanescope.inputs import parse_integer
from lanescope.ptx.architectures import list_targets_of_kind
from lanescope.ptx.table.descriptors import USUAL, list_variants
from lanescope.ptx.targets import strip_suffix
from lanescope.render.read_pictures import (
    OperandChunks,
    draw_memory,
    find_chunk_states,
    make_chunks,
    render_hatches,
    render_operand,
)
from lanescope.shared.storage import Storage
from lanescope.shared.tiling import Tile


def build_context(descriptor: Descriptor, query: dict[str, str]) -> dict[str, Any]:
    """Return the template's variables: fields, warnings, and the verification of the query.

    If the query lacks the storage of the tile, the page has no verdict. It shows the bytes that the descriptor reads,
    and the standard tiles that it fits.
    """
    form = descriptor.format
    view, spec, grown, chosen = parse_page_query(form, query)
    context: dict[str, Any] = {
        "descriptor": descriptor,
        "facts": memory.build_decoded(descriptor),
        "bits": [[descriptor.word >> n & 1, descriptor.format.get_field_name(n)] for n in range(63, -1, -1)],
        "view": view,
        "storage": spec,
        "chosen": chosen,
        "on_gpu": descriptor.format.runs,
        "usual": USUAL.name,
        "own_query": urlencode(form.query),
        "variant": next((on for on in list_variants(form) if form.target and on == strip_suffix(form.target)), ""),
        "grown": grown if chosen else {},
        "labels": LABELS,
        "refused": False,
        "word_error": None,
        "amounts": build_amounts(descriptor),
        "unknown": set(),
        "kept": _find_page_query(query) | ({"target": form.target} if form.target else {}),
        "title_of": causes.get_cause_title,
        "way_out": format_address_code,
        "verdict_forms": VERDICT_FORMS,
        "typed": str(descriptor),
        "query": urlencode(_find_page_query(query)),
        "pictured": urlencode(_keep_given(view, ("instruction", "operand", "target")) | _keep_given(query, VERDICT)),
        "fields_data": encode_json(build_script_data(descriptor)).decode(),
        "error": None,
        "compare_error": None,
        "compare": None,
        "unused": {},
        "result": None,
        "assumed": query.get("assumed", ""),
        "unassumed": urlencode({name: value for name, value in _find_page_query(query).items() if name != "assumed"}),
    }
    context |= _build_reading(descriptor, view, query, spec if chosen else None)
    sent = view | {"compare": query.get("compare", "")}
    named = sent | ({f"s_{name}": text for name, text in spec.items()} if chosen else {})
    fields = fields_of(VerifyForm, named)
    wrong = find_wrong_fields(fields, named)
    try:
        answer = (_build_judged if chosen else _build_unjudged)(descriptor, view, query, spec)
        context |= {} if wrong else answer
    except LayoutError as error:
        wrong = add_wrong_fields(error, fields, named)
    context["error"] = wrong
    try:
        context |= _compare_words(descriptor, query.get("compare", ""))
    except LayoutError as error:
        context["compare_error"] = error.move_to_field("compare")
    refused = join_errors((wrong, context["compare_error"]))
    return context | {
        "ask_form": _build_ask_form(form, sent, refused),
        "storage_form": build_form(spec, {"s_swizzle": _list_modes(form)}, error=refused),
    }


def _keep_given(query: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the part of a query with these names and values that are not empty."""
    return {name: query[name] for name in names if query.get(name)}


def _list_modes(form: DescriptorFormat) -> list[str]:
    return [mode.name for mode in sorted(form.codes, key=lambda mode: mode.width_bytes)]


def _build_ask_form(form: DescriptorFormat, sent: dict[str, str], error: LayoutError | None) -> dict[str, Control]:
    """Return the controls of the instruction that reads the word: those of its format."""
    targets = {"": "any"} | {name: name for name in list_targets_of_kind(memory.DEFAULT_KIND)}
    by_format = ("idesc", *(("target",) if list_variants(form) else ())) if form.by_idesc else ("major",)
    names = ("instruction", "operand", *by_format, "slice_mn", "slice_k", "compare")
    controls = form_of(VerifyForm, sent, {"target": targets}, error)
    return {name: controls[name] for name in names}


def _find_page_query(query: dict[str, str]) -> dict[str, str]:
    """Return the query of the whole page if a script requested a part of it."""
    return {name: value for name, value in query.items() if name not in ("part", "from")}


def _build_reading(
    descriptor: Descriptor, view: dict[str, str], query: dict[str, str], spec: dict[str, str] | None
) -> dict[str, Any]:
    """Return the presets of the operand and the picture of the bytes that the word reads. An illegal view is replaced
    by the default one.
    """
    try:
        _, seen = parse_view(view)
        operand = view["operand"]
    except LayoutError:
        _, seen = parse_view(make_default_view(descriptor.format))
        operand = VIEW["operand"]
    address = desc.reads(make_readable(descriptor), seen)
    chunks = make_chunks(address, None, seen, operand.upper())
    return {
        "seen": seen,
        "presets": list_offered_presets(PresetRequest(seen, descriptor), _find_page_query(query), spec),
        **_draw_pictures(chunks),
        "ways": desc.count_bank_ways(address, seen),
        "beyond": [
            *find_uncertain_reads(make_readable(descriptor), seen),
            *find_repeated_reads(make_readable(descriptor), seen),
            *find_outside_reads(make_readable(descriptor), seen),
        ],
        "first_byte": int(address.min()),
        "last_byte": int(address.max()) + max(seen.bits // 8, 1) - 1,
    }


def list_offered_presets(
    request: PresetRequest, query: dict[str, str], spec: dict[str, str] | None
) -> list[dict[str, Any]]:
    """Return the presets of an operand: name, thumbnail, and a link to the page with the tile stored so."""
    out = []
    current = find_preset(spec) if spec and spec["kind"] in KINDS else None
    for preset in PRESETS:
        adapted = adapt_request(preset, request)
        if adapted is None:
            continue
        try:
            query_preset = preset.make(adapted)
        except LayoutError:  # this mode has no tile for these elements
            continue
        to = query | {"slice_mn": "0", "slice_k": str(find_first_k_step(query_preset, adapted))}
        if not adapted.seen.form.by_idesc:  # the instruction descriptor gives the major
            to["major"] = adapted.seen.major
        out.append(
            {
                "preset": preset,
                "on": preset is current,
                "href": "?"
                + replace_storage(
                    {k: v for k, v in to.items() if v != VIEW.get(k)} | {"assumed": _format_assumed(query_preset, to)},
                    query_preset,
                ),
                "thumb": compute_thumbnail(
                    {**query_preset, **({"major": adapted.seen.major} if query_preset["kind"] == "canonical" else {})},
                    adapted.seen,
                ),
            }
        )
    return out


STORE_AT = re.compile(r"[Ss]tore element \(row, k\) at (.+?)(?: for mode none|\.)")


def format_address_code(message: str) -> str:
    """Return the address formula of a cause as a line of CUDA C++; "" if it has none."""
    found = STORE_AT.search(message)
    return f"const unsigned offset = {found[1]};  // bytes from the tile's first byte" if found else ""


def _format_assumed(preset: dict[str, str], to: dict[str, str]) -> str:
    """Return the parameters of a preset's storage that were taken from the word."""
    names = ["swizzle"] if preset.get("swizzle", "none") != "none" else []
    return ",".join([*names, "base", *(["slice_k"] if to["slice_k"] != "0" else [])])


def _draw_pictures(chunks: OperandChunks) -> dict[str, Any]:
    """Return both pictures, and the data with which the script pairs an element and the byte it is
    read from.
    """
    low, state = find_chunk_states(chunks)
    along, down = ("k", "row") if chunks.seen.major == "K" else ("row", "k")
    pairs = {
        "operand": chunks.operand,
        "down": down,
        "along": along,
        "per": chunks.seen.per,
        "across": chunks.across,
        "low": low,
        "read": (chunks.read >> 4).ravel(),
        "lines": len(state),
        "stored": None if chunks.stored is None else (chunks.stored >> 4).ravel(),
        "right": chunks.right.ravel(),
    }
    return {
        "operand_svg": render_operand(chunks, f"operand {chunks.operand}: what is read for each chunk"),
        "memory": draw_memory(chunks),
        "hatches": render_hatches(),
        "pairs": encode_json(pairs).decode(),
    }


def _build_unjudged(
    descriptor: Descriptor, view: dict[str, str], query: dict[str, str], spec: dict[str, str]
) -> dict[str, Any]:
    """Return the elements that the word reads, and the standard tiles it fits, each a link that selects it."""
    found = build_verified(build_view_request(descriptor, view, None))
    _, seen = parse_view(view)
    return {
        "unused": desc.find_unread_fields(descriptor.mode, seen),
        "fits": [
            {
                "text": "A" + fit.text.removeprefix("a canonical").removeprefix("a"),
                "base": hex(parse_integer(fit.storage["base"], "base")),
                "k": fit.slice["k"],
                "href": "?"
                + replace_storage(
                    _find_page_query(query)
                    | {f"slice_{n}": str(at) for n, at in fit.slice.items()}
                    | {"assumed": "storage"},
                    dict(fit.storage),
                ),
            }
            for fit in found.fits or ()
        ],
    }


def _build_judged(
    descriptor: Descriptor, view: dict[str, str], query: dict[str, str], spec: dict[str, str]
) -> dict[str, Any]:
    """Return the verdict on a tile that is stored so."""
    taken = list_assumed_fields(descriptor, query)
    return _build_verdict(descriptor, judge_request(build_view_request(descriptor, view, spec), taken), query)


def _build_verdict(descriptor: Descriptor, judged: JudgedRequest, query: dict[str, str]) -> dict[str, Any]:
    """Return the verdict, its pictures, and links: the tile's own word, the next K step, a whole product."""
    result, seen, stored, request = judged.result, judged.seen, judged.stored, judged.request
    assert result is not None and stored is not None
    mn, k = (parse_integer(at, name) for name, at in request["slice"].items())
    next_k = k + seen.k if stored.tile else k
    return {
        "result": result,
        "judged": judged,
        "cleared": str(Descriptor(descriptor.word & ~descriptor.reserved, descriptor.format)),
        "seen": seen,
        **_draw_pictures(judged.cells),
        "unused": desc.find_unread_fields(make_readable(descriptor).mode, seen),
        "otherwise": [
            replace_storage(_find_page_query(query), found.storage) if found.storage else ""
            for found in result.diagnoses
        ],
        "command": _format_command(request),
        "stored": stored.text,
        "canonical": _find_slice_word(stored.tile, mn, k, seen.k),
        "described": _describe_tiles(stored, seen),
        "whole": link_slice_product(request, stored.tile, mn, k) if seen.form.runs else None,
        "tile_page": links.link_tile(stored.tile, rows=seen.rows, order=stored.tile.order, base=hex(stored.tile.base))
        if stored.tile and seen.form.usual
        else None,
        "next": {"k": next_k, "word": _find_slice_word(stored.tile, mn, next_k, seen.k)} if stored.tile else None,
        "next_query": urlencode({**_find_page_query(query), "slice_k": next_k}),
    }


def find_descriptor_link(form: DescriptorFormat, query: dict[str, str]) -> str:
    """Return the page of the descriptor that reads a query's CuTe layout; "" without a layout, or if no descriptor
    reads it.
    """
    if form.by_idesc or query.get("s_kind") != "cute":
        return ""
    view, spec, _, _ = parse_page_query(form, query)
    try:
        bits = parse_view(view)[1].bits
    except LayoutError:
        bits = 16
    found = describe_tile(parse_storage(spec, view["major"]), bits)
    return found[0].link if found else ""


def _describe_tiles(stored: Storage, seen: View) -> list[DescribedTile]:
    """Return the descriptors that read a tile; empty for a canonical tile, whose word the page links to."""
    return [] if stored.tile or seen.form.by_idesc else describe_tile(stored.spec, seen.bits)


def _compare_words(descriptor: Descriptor, word: str) -> dict[str, Any]:
    """Return another word and the fields in which it differs from this one; {} without another word."""
    if not word:
        return {}
    other = memory.parse_descriptor(word, descriptor.format)
    differ = {f.name for f in descriptor.format.fields if f.get(other.word) != f.get(descriptor.word)}
    return {"compare": {"word": str(other), "facts": memory.build_decoded(other), "differ": differ}}


def _find_slice_word(tile: Tile | None, mn: int, k: int, reach: int) -> str | None:
    """Return the descriptor of a slice, None if no descriptor can begin there."""
    try:
        return str(tile.descriptor(mn, k, reach)) if tile else None
    except LayoutError:
        return None


def _format_command(request: dict[str, Any]) -> str:
    """Return the shell command for the same verification."""
    spec = " ".join(f"--storage '{name}={value}'" for name, value in request["storage"].items())
    major = f"--major {request['major']}" if "idesc" not in request else f"--idesc {request['idesc']} --format tcgen05"
    major += f" --target {request['target']}" if request.get("target") else ""
    part = "".join(f" --slice-{name} {value}" for name, value in request["slice"].items() if str(value) != "0")
    return (
        f"lanescope descriptor verify {request['descriptor']} --instruction {request['instruction']} --operand"
        f" {request['operand']} {major} {spec}{part}"
    )
