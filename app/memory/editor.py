"""What the descriptor page shows: fields, warnings, and the verification that its address asks for. No framework."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import lcm
from typing import Any
from urllib.parse import urlencode

from lanescope.app.kit import links
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.enumerations import WGMMA
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
from lanescope.app.memory.questions import LABELS, VERDICT
from lanescope.app.memory.storage import KINDS, STORAGE, build_form, parse_storage, replace_storage
from lanescope.app.memory.tile_descriptors import DescribedTile, describe_tile
from lanescope.app.memory.tile_page import link_slice_product
from lanescope.blackwell import umma
from lanescope.descriptor import causes
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Addresses, Descriptor, View
from lanescope.descriptor.notices import (
    find_outside_reads,
    find_repeated_reads,
    find_uncertain_reads,
    summarize_caution,
)
from lanescope.descriptor.verify import Verdict
from lanescope.errors import LayoutError
from lanescope.inputs import PATTERN, join_words, parse_integer
from lanescope.ptx.table.descriptors import START, USUAL
from lanescope.render.read_pictures import (
    MOST_LINES,
    OperandChunks,
    find_chunk_states,
    list_legend,
    make_chunks,
    render_hatches,
    render_memory,
    render_operand,
)
from lanescope.shared.storage import Storage, storage
from lanescope.shared.tiling import Tile

VIEW = {"instruction": WGMMA, "operand": "a", "major": "K", "slice_mn": "0", "slice_k": "0"}


def build_context(descriptor: Descriptor, query: dict[str, str]) -> dict[str, Any]:
    """Everything the editor shows: fields, warnings, and the verification the query asks for. Until a storage is said
    there is no verdict: what the word reads, and the standard tiles it fits.
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
        "grown": grown if chosen else {},
        "storage_form": build_form(spec, tuple(m.name for m in sorted(form.codes, key=lambda m: m.width_bytes))),
        "labels": LABELS,
        "word_error": None,
        "title_of": causes.get_cause_title,
        "way_out": format_address_code,
        "verdict_forms": VERDICT_FORMS,
        "typed": str(descriptor),
        "query": urlencode(_find_page_query(query)),
        "pictured": urlencode(
            {name: view[name] for name in ("instruction", "operand")}
            | {name: query[name] for name in VERDICT if query.get(name)}
        ),
        "fields_data": encode_json(_build_script_data(descriptor.format)).decode(),
        "error": None,
        "compare": None,
        "unused": {},
        "result": None,
        "assumed": query.get("assumed", ""),
        "unassumed": urlencode({name: value for name, value in _find_page_query(query).items() if name != "assumed"}),
    }
    context |= _build_reading(descriptor, view, query, spec if chosen else None)
    try:
        if chosen:
            context |= _build_verdict(
                descriptor,
                judge_request(_build_request(descriptor, view, spec), list_assumed_fields(descriptor, query)),
                query,
            )
        else:
            context |= _build_unjudged(descriptor, view, query)
    except LayoutError as error:
        context |= {"error": error, "wrong_input": error.field.replace("storage.", "s_").replace("slice.", "slice_")}
    try:
        context |= _compare_words(descriptor, query.get("compare", ""))
    except LayoutError as error:
        context["compare_error"] = error
    return context


def make_default_view(form: DescriptorFormat) -> dict[str, str]:
    """How a word is read where a query does not say: by which instruction, as which operand, from which slice."""
    if not form.by_idesc:
        return VIEW | form.query
    own = {"instruction": umma.DEFAULT, "idesc": umma.DEFAULT_IDESC, "operand": "a", "slice_mn": "0", "slice_k": "0"}
    return form.query | own


def parse_page_query(
    form: DescriptorFormat, query: dict[str, str]
) -> tuple[dict[str, str], dict[str, str], dict[str, str], bool]:
    """(how a query has the word read, the storage it says, which of its fields grew and why, whether it says one)."""
    view = {name: query.get(name, default) for name, default in make_default_view(form).items()}
    if form.by_idesc:
        view["major"] = _find_idesc_major(view)
    spec, grown = _grow_tile(view, _parse_storage_form(view, query))
    return view, spec, grown, any(name.startswith("s_") for name in query)


def build_request(descriptor: Descriptor, query: dict[str, str]) -> dict[str, Any]:
    """The verification that a page's address asks for, as the API takes it."""
    view, spec, _, chosen = parse_page_query(descriptor.format, query)
    return _build_request(descriptor, view, spec if chosen else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRequest:
    """A verification's answer: what is read and, where a storage is said, whether that is right."""

    request: dict[str, Any]
    seen: View
    read: Addresses
    cells: OperandChunks
    result: Verdict | None
    stored: Storage | None
    taken: tuple[str, ...] = ()  # of the storage what was taken from the word, in words
    named: bool = False  # whether the headline says which operand it is about

    @property
    def careful(self) -> bool:
        """Whether it matches, and a reserved bit or an assumption speaks against calling that right."""
        return self.result is not None and self.result.match and bool(self.result.caution or self.taken)

    @property
    def headline(self) -> str:
        """The verdict of a match in a sentence: what it rests on is named there."""
        assert self.result is not None
        about = f"the word is right about {join_words(list(self.taken))}" if self.taken else ""
        if self.result.caution:
            return summarize_caution(self.result.caution) + (f"; this holds if {about}" if about else "")
        of = f" of {self.cells.operand}" if self.named else ""
        said = f"All {self.result.total:,} elements{of} are read from where they are stored"
        return f"{said}, if {about}" if about else said


def judge_request(request: dict[str, Any], taken: tuple[str, ...] = ()) -> JudgedRequest:
    """What a verification finds, as the API takes it; LayoutError names the wrong field. taken: as Judged has it."""
    result, seen, word = memory.verify_request(request)
    readable_ = result is not None and result.read.min() >= 0
    read = result.read if result and readable_ else desc.reads(make_readable(word), seen)
    made = make_chunks(read, result.expected if result else None, seen, request.get("operand", "a").upper())
    stored = storage(request["storage"], seen.bits, seen.major, seen.form) if "storage" in request else None
    return JudgedRequest(request=request, seen=seen, read=read, cells=made, result=result, stored=stored, taken=taken)


def _build_request(descriptor: Descriptor, view: dict[str, str], spec: dict[str, str] | None) -> dict[str, Any]:
    """The verification that the page's fields ask for; without a storage nothing is judged."""
    stored = {"storage": parse_storage(spec, view["major"])} if spec else {}
    part = {"mn": view["slice_mn"], "k": view["slice_k"]}
    return {"descriptor": str(descriptor), **_select_view_fields(view), **stored, "slice": part}


def _select_view_fields(view: dict[str, str]) -> dict[str, str]:
    """What of a view says how the descriptor is read."""
    return {name: view[name] for name in (*memory.SEEN_BY, "format", "idesc") if name in view}


def _find_idesc_major(view: dict[str, str]) -> str:
    """The major that tcgen05's instruction descriptor says; K where it is illegal."""
    try:
        return memory.parse_view(view)[1].major
    except LayoutError:
        return "K"


def _parse_storage_form(view: dict[str, str], query: dict[str, str]) -> dict[str, str]:
    """The storage the form says; what it leaves out fits the instruction, or the storage's other fields."""
    usual = (
        STORAGE
        | compute_default_sizes(view, query)
        | {"inner": view["major"], "line_stride": query.get("s_width_bytes", STORAGE["width_bytes"])}
    )
    return {name: query.get(f"s_{name}", default) for name, default in usual.items()}


def _grow_tile(view: dict[str, str], spec: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """A canonical tile that holds the slice the instruction reads, and what was said of it: field → why it grew. A
    tile that holds it, and one whose fields are wrong, is as given.
    """
    if spec["kind"] != "canonical":
        return spec, {}
    try:
        _, seen = memory.parse_view(view)
        mn, k = seen.form.get_mode_by_name(spec["swizzle"]).get_atom_size(seen.bits, seen.major)
        given = {name: parse_integer(spec[name], name) for name in ("mn", "k")}
        first = {name: parse_integer(view[f"slice_{name}"], name) for name in ("mn", "k")}
    except LayoutError:
        return spec, {}
    needs = {"mn": (first["mn"] + seen.rows, mn), "k": (first["k"] + seen.k, k)}
    out, why = dict(spec), {}
    for name, (least, atom) in needs.items():
        if given[name] < least and not given[name] % atom:
            out[name] = str(-(-least // atom) * atom)
            why[name] = f"{given[name]} → {out[name]}: the instruction reads up to {least - 1}."
    return out, why


def _find_page_query(query: dict[str, str]) -> dict[str, str]:
    """The query of the whole page, where a script asked for a part of it."""
    return {name: value for name, value in query.items() if name not in ("part", "from")}


def _build_reading(
    descriptor: Descriptor, view: dict[str, str], query: dict[str, str], spec: dict[str, str] | None
) -> dict[str, Any]:
    """The presets for this operand, and the picture of what the word reads; where the view is not legal, that of the
    page's default instruction.
    """
    try:
        _, seen = memory.parse_view(view)
        operand = view["operand"]
    except LayoutError:
        _, seen = memory.parse_view(make_default_view(descriptor.format))
        operand = VIEW["operand"]
    address = desc.reads(make_readable(descriptor), seen)
    made = make_chunks(address, None, seen, operand.upper())
    return {
        "seen": seen,
        "presets": list_offered_presets(PresetRequest(seen, descriptor), _find_page_query(query), spec),
        **_draw_pictures(made),
        "ways": desc.count_bank_ways(address, seen),
        "beyond": [
            *find_uncertain_reads(make_readable(descriptor), seen),
            *find_repeated_reads(make_readable(descriptor), seen),
            *find_outside_reads(make_readable(descriptor), seen),
        ],
        "first_byte": int(address.min()),
        "last_byte": int(address.max()) + max(seen.bits // 8, 1) - 1,
    }


def make_readable(descriptor: Descriptor) -> Descriptor:
    """The word itself; where nothing states what it reads, as it would be without a swizzle and with LBO an offset."""
    known = descriptor.mode_code in descriptor.format.codes.values()
    word = descriptor if known else descriptor.replace(**{descriptor.format.coded: 0})
    return word.replace(lbo_mode=0) if word.format.has_field("lbo_mode") else word


def list_offered_presets(
    asked: PresetRequest, query: dict[str, str], spec: dict[str, str] | None
) -> list[dict[str, Any]]:
    """The presets of an operand: what each is called, its thumbnail, and the page with the tile stored so."""
    out = []
    current = find_preset(spec) if spec and spec["kind"] in KINDS else None
    for preset in PRESETS:
        own = adapt_request(preset, asked)
        if own is None:
            continue
        try:
            made = preset.make(own)
        except LayoutError:  # no tile of that mode for these elements
            continue
        to = query | {"slice_mn": "0", "slice_k": str(find_first_k_step(made, own))}
        if not own.seen.form.by_idesc:  # which says the major
            to["major"] = own.seen.major
        out.append(
            {
                "preset": preset,
                "on": preset is current,
                "href": "?"
                + replace_storage(
                    {k: v for k, v in to.items() if v != VIEW.get(k)} | {"assumed": _format_assumed(made, to)}, made
                ),
                "thumb": compute_thumbnail(
                    {**made, **({"major": own.seen.major} if made["kind"] == "canonical" else {})}, own.seen
                ),
            }
        )
    return out


STORE_AT = re.compile(r"[Ss]tore element \(row, k\) at (.+?)(?: for mode none|\.)")


def format_address_code(message: str) -> str:
    """The address formula that a cause gives, as a line of CUDA C++; "" where it gives none."""
    found = STORE_AT.search(message)
    return f"const unsigned offset = {found[1]};  // bytes from the tile's first byte" if found else ""


def _format_assumed(made: dict[str, str], to: dict[str, str]) -> str:
    """Return which parts of a preset's storage come from the word, as the address names them."""
    names = ["swizzle"] if made.get("swizzle", "none") != "none" else []
    return ",".join([*names, "base", *(["slice_k"] if to["slice_k"] != "0" else [])])


def list_assumed_fields(descriptor: Descriptor, query: dict[str, str]) -> tuple[str, ...]:
    """Return what of a query's storage was taken from the word and not changed since: it cannot confirm the word."""
    names = query.get("assumed", "").split(",")
    if "storage" in names:
        return ("the tile itself",)
    view, spec, _, chosen = parse_page_query(descriptor.format, query)
    preset = find_preset(spec) if chosen and spec["kind"] in KINDS else None
    try:
        _, seen = memory.parse_view(view)
        own = adapt_request(preset, PresetRequest(seen, descriptor)) if preset else None
        made = preset.make(own) if preset and own else None
    except LayoutError:
        return ()
    if made is None or own is None:
        return ()
    out = []
    if "swizzle" in names and spec["swizzle"] == made.get("swizzle", "none") != "none":
        out.append(f"swizzle {made['swizzle']}")
    if "base" in names and spec["base"] in (made["base"], str(int(made["base"], 0))):
        out.append(f"first byte {made['base']}")
    if "slice_k" in names and (first := find_first_k_step(made, own)) and query.get("slice_k") == str(first):
        out.append(f"the K step at k = {first}")
    return tuple(out)


def _draw_pictures(made: OperandChunks) -> dict[str, Any]:
    """Both pictures, their legend, and what the script needs to pair an element with the byte it is read from."""
    low, state = find_chunk_states(made)
    along, down = ("k", "row") if made.seen.major == "K" else ("row", "k")
    pairs = {
        "operand": made.operand,
        "down": down,
        "along": along,
        "per": made.seen.per,
        "across": made.across,
        "low": low,
        "read": (made.read >> 4).ravel(),
        "lines": len(state),
        "stored": None if made.stored is None else (made.stored >> 4).ravel(),
        "right": made.right.ravel(),
    }
    return {
        "operand_svg": render_operand(made, f"operand {made.operand}: what is read for each chunk"),
        "memory_svg": render_memory(made, "shared memory, 128 bytes a row"),
        "legend": list_legend(made),
        "hatches": render_hatches(),
        "low": low * 16,
        "cut": len(state) >= MOST_LINES,
        "pairs": encode_json(pairs).decode(),
    }


def _build_unjudged(descriptor: Descriptor, view: dict[str, str], query: dict[str, str]) -> dict[str, Any]:
    """What the word reads and the standard tiles it fits; each a link that chooses it."""
    found = memory.build_verified({"descriptor": str(descriptor), **_select_view_fields(view)})
    _, seen = memory.parse_view(view)
    return {
        "unused": desc.find_inert_fields(descriptor, seen),
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


def _build_verdict(descriptor: Descriptor, made: JudgedRequest, query: dict[str, str]) -> dict[str, Any]:
    """The verdict, its pictures, and where it leads: the tile's own word, the next K step, a whole product."""
    result, seen, stored, request = made.result, made.seen, made.stored, made.request
    assert result is not None and stored is not None
    mn, k = (parse_integer(at, name) for name, at in request["slice"].items())
    next_k = k + seen.k if stored.tile else k
    return {
        "result": result,
        "judged": made,
        "cleared": str(Descriptor(descriptor.word & ~descriptor.reserved, descriptor.format)),
        "seen": seen,
        **_draw_pictures(made.cells),
        "unused": desc.find_inert_fields(make_readable(descriptor), seen),
        "otherwise": [
            replace_storage(_find_page_query(query), found.storage) if found.storage else ""
            for found in result.diagnoses
        ],
        "command": _format_command(request),
        "stored": stored.text,
        "canonical": _find_slice_word(stored.tile, mn, k, seen.k),
        "described": _describe_tiles(stored, seen),
        "whole": link_slice_product(request, stored.tile, mn, k) if seen.form.runs else None,
        "tile_page": links.link_smem(_build_tile_query(stored.tile, seen.rows))
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
        bits = memory.parse_view(view)[1].bits
    except LayoutError:
        bits = 16
    found = describe_tile(parse_storage(spec, view["major"]), bits)
    return found[0].link if found else ""


def _describe_tiles(stored: Storage, seen: View) -> list[DescribedTile]:
    """Return the descriptors that read a tile; empty for a canonical tile, where the page links to its word."""
    return [] if stored.tile or seen.form.by_idesc else describe_tile(stored.spec, seen.bits)


def _build_tile_query(tile: Tile, rows: int) -> dict[str, object]:
    """The tile page on the same tile."""
    return {
        "element_bits": tile.element_bits,
        "major": tile.major,
        "swizzle": tile.mode.name,
        "mn": tile.mn,
        "k": tile.k,
        "rows": rows,
        "order": tile.order,
        "base": hex(tile.base),
    }


def _compare_words(descriptor: Descriptor, word: str) -> dict[str, Any]:
    """Return another word and the fields in which it differs from this one; nothing without another word."""
    if not word:
        return {}
    other = memory.parse_descriptor(word, descriptor.format)
    differ = {f.name for f in descriptor.format.fields if f.get(other.word) != f.get(descriptor.word)}
    return {"compare": {"word": str(other), "facts": memory.build_decoded(other), "differ": differ}}


def compute_default_sizes(view: dict[str, str], query: dict[str, str]) -> dict[str, str]:
    """The default sizes of a canonical tile: what the instruction reads, in whole atoms. Empty where the view is not
    legal.
    """
    try:
        _, seen = memory.parse_view(view)
        mn, k = seen.form.get_mode_by_name(query.get("s_swizzle", STORAGE["swizzle"])).get_atom_size(
            seen.bits, seen.major
        )
    except LayoutError:
        return {}
    return {"mn": str(-(-max(seen.rows, 64) // mn) * mn), "k": str(lcm(k, seen.k))}


def _build_script_data(form: DescriptorFormat) -> dict[str, Any]:
    """What the script needs: the format's row and its query of the API, the field that holds the start, how numbers are
    spelled.
    """
    query = f"?{urlencode(form.query)}" if form.query else ""
    return {
        "format": form.name,
        "query": query,
        "start": START.name,
        "fields": list_form_fields(form),
        "number": PATTERN,
    }


def list_form_fields(form: DescriptorFormat) -> list[dict[str, Any]]:
    """A format's fields and what the form calls them."""
    return [{"name": f.name, "low": f.low, "high": f.high, "unit": f.unit, "label": f.label} for f in form.fields]


def _find_slice_word(tile: Tile | None, mn: int, k: int, reach: int) -> str | None:
    """Return the descriptor of a slice, None if no descriptor can begin there."""
    try:
        return str(tile.descriptor(mn, k, reach)) if tile else None
    except LayoutError:
        return None


def _format_command(request: dict[str, Any]) -> str:
    """The same verification in a shell."""
    spec = " ".join(f"--storage '{name}={value}'" for name, value in request["storage"].items())
    major = f"--major {request['major']}" if "idesc" not in request else f"--idesc {request['idesc']} --format tcgen05"
    part = "".join(f" --slice-{name} {value}" for name, value in request["slice"].items() if str(value) != "0")
    return (
        f"lanescope descriptor verify {request['descriptor']} --instruction {request['instruction']} --operand"
        f" {request['operand']} {major} {spec}{part}"
    )
