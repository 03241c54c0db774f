"""The verification that the descriptor page's address requests, and its result."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import Any

from lanescope.app.kit.enumerations import WGMMA
from lanescope.app.memory.presets import PresetRequest, adapt_request, find_first_k_step, find_preset
from lanescope.app.memory.storage import KINDS, STORAGE, parse_storage
from lanescope.app.memory.verdicts import SEEN_BY, parse_view, verify_request
from lanescope.blackwell import umma
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Addresses, Descriptor, View
from lanescope.descriptor.notices import summarize_caution
from lanescope.descriptor.verify import Verdict
from lanescope.errors import LayoutError
from lanescope.inputs import join_words, parse_integer
from lanescope.render.read_pictures import OperandChunks, make_chunks
from lanescope.shared.storage import Storage, storage

VIEW = {"instruction": WGMMA, "operand": "a", "major": "K", "slice_mn": "0", "slice_k": "0"}


def make_default_view(form: DescriptorFormat) -> dict[str, str]:
    """Return the default view of a word: instruction, operand and slice."""
    if not form.by_idesc:
        return VIEW | form.query
    view = {"instruction": umma.DEFAULT, "idesc": umma.DEFAULT_IDESC, "operand": "a", "slice_mn": "0", "slice_k": "0"}
    return form.query | view


def parse_page_query(
    form: DescriptorFormat, query: dict[str, str]
) -> tuple[dict[str, str], dict[str, str], dict[str, str], bool]:
    """Return (view, storage, fields of the storage that grew and why, whether the query has a storage)."""
    view = {name: query.get(name, default) for name, default in make_default_view(form).items()}
    if form.by_idesc:
        view["major"] = _find_idesc_major(view)
    spec, grown = _grow_tile(view, _parse_storage_form(view, query))
    return view, spec, grown, any(name.startswith("s_") for name in query)


def _find_idesc_major(view: dict[str, str]) -> str:
    """Return the major that the instruction descriptor of tcgen05 gives; K if it is illegal."""
    try:
        return parse_view(view)[1].major
    except LayoutError:
        return "K"


def _parse_storage_form(view: dict[str, str], query: dict[str, str]) -> dict[str, str]:
    """Return the storage of the form. Fields left out get values that suit the instruction, or the storage's other
    fields.
    """
    usual = (
        STORAGE
        | _compute_default_sizes(view, query)
        | {"inner": view["major"], "line_stride": query.get("s_width_bytes", STORAGE["width_bytes"])}
    )
    return {name: query.get(f"s_{name}", default) for name, default in usual.items()}


def _compute_default_sizes(view: dict[str, str], query: dict[str, str]) -> dict[str, str]:
    """Return default sizes of a canonical tile: those that the instruction reads, in whole atoms. Empty if the view is
    illegal.
    """
    try:
        _, seen = parse_view(view)
        mn, k = seen.form.get_mode_by_name(query.get("s_swizzle", STORAGE["swizzle"])).get_atom_size(
            seen.bits, seen.major
        )
    except LayoutError:
        return {}
    return {"mn": str(-(-max(seen.rows, 64) // mn) * mn), "k": str(lcm(k, seen.k))}


def _grow_tile(view: dict[str, str], spec: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Enlarge a canonical tile to hold the slice that the instruction reads. Return it, and field → why it grew.

    A tile that holds the slice, or has wrong fields, stays as it is.
    """
    if spec["kind"] != "canonical":
        return spec, {}
    try:
        _, seen = parse_view(view)
        mn, k = seen.form.get_mode_by_name(spec["swizzle"]).get_atom_size(seen.bits, seen.major)
        sizes = {name: parse_integer(spec[name], name) for name in ("mn", "k")}
        first = {name: parse_integer(view[f"slice_{name}"], name) for name in ("mn", "k")}
    except LayoutError:
        return spec, {}
    needs = {"mn": (first["mn"] + seen.rows, mn), "k": (first["k"] + seen.k, k)}
    out, why = dict(spec), {}
    for name, (least, atom) in needs.items():
        if sizes[name] < least and not sizes[name] % atom:
            out[name] = str(-(-least // atom) * atom)
            why[name] = f"{sizes[name]} → {out[name]}: the instruction reads up to {least - 1}."
    return out, why


def build_request(descriptor: Descriptor, query: dict[str, str]) -> dict[str, Any]:
    """Return the verification that a page's address requests, as the API takes it."""
    view, spec, _, chosen = parse_page_query(descriptor.format, query)
    return build_view_request(descriptor, view, spec if chosen else None)


def build_view_request(descriptor: Descriptor, view: dict[str, str], spec: dict[str, str] | None) -> dict[str, Any]:
    """Return the verification request of the page's fields. Without a storage, the answer has no verdict."""
    stored = {"storage": parse_storage(spec, view["major"])} if spec else {}
    part = {"mn": view["slice_mn"], "k": view["slice_k"]}
    return {"descriptor": str(descriptor), **select_view_fields(view), **stored, "slice": part}


def select_view_fields(view: dict[str, str]) -> dict[str, str]:
    """Return the fields of a view that determine how the descriptor is read."""
    return {name: view[name] for name in (*SEEN_BY, "format", "idesc", "target") if name in view}


def _make_preset(
    descriptor: Descriptor, view: dict[str, str], spec: dict[str, str]
) -> tuple[PresetRequest | None, Any]:
    """Return the request for the preset of a storage's kind, and the storage that it makes; None if it cannot."""
    preset = find_preset(spec)
    if preset is None:
        return None, None
    try:
        _, seen = parse_view(view)
        adapted = adapt_request(preset, PresetRequest(seen, descriptor))
        return adapted, preset.make(adapted) if adapted else None
    except LayoutError:
        return None, None


def list_assumed_fields(descriptor: Descriptor, query: dict[str, str]) -> tuple[str, ...]:
    """Return the storage fields that were taken from the word and not changed since: they cannot confirm the word."""
    names = query.get("assumed", "").split(",")
    if "storage" in names:
        return ("the tile itself",)
    view, spec, _, chosen = parse_page_query(descriptor.format, query)
    adapted, preset = _make_preset(descriptor, view, spec) if chosen and spec["kind"] in KINDS else (None, None)
    if preset is None or adapted is None:
        return ()
    out = []
    if "swizzle" in names and spec["swizzle"] == preset.get("swizzle", "none") != "none":
        out.append(f"swizzle {preset['swizzle']}")
    if "base" in names and spec["base"] in (preset["base"], str(int(preset["base"], 0))):
        out.append(f"first byte {preset['base']}")
    if "slice_k" in names and (first := find_first_k_step(preset, adapted)) and query.get("slice_k") == str(first):
        out.append(f"the K step at k = {first}")
    return tuple(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRequest:
    """The result of a verification: the elements that are read and, with a storage, whether they are right."""

    request: dict[str, Any]
    seen: View
    read: Addresses
    cells: OperandChunks
    result: Verdict | None
    stored: Storage | None
    taken: tuple[str, ...] = ()  # storage fields taken from the word, as text
    named: bool = False  # whether the headline names the operand

    @property
    def careful(self) -> bool:
        """Return whether it matches, although a reserved bit or an assumption leaves doubt."""
        return self.result is not None and self.result.match and bool(self.result.caution or self.taken)

    @property
    def headline(self) -> str:
        """Return the verdict of a match as a sentence with its assumptions."""
        assert self.result is not None
        about = f"the word is right about {join_words(list(self.taken))}" if self.taken else ""
        if self.result.caution:
            return summarize_caution(self.result.caution) + (f"; this holds if {about}" if about else "")
        of = f" of {self.cells.operand}" if self.named else ""
        sentence = f"All {self.result.total:,} elements{of} are read from where they are stored"
        return f"{sentence}, if {about}" if about else sentence


def judge_request(request: dict[str, Any], taken: tuple[str, ...] = ()) -> JudgedRequest:
    """Return the result of a verification. LayoutError names the wrong field. taken: see JudgedRequest."""
    result, seen, word = verify_request(request)
    readable_ = result is not None and result.read.min() >= 0
    read = result.read if result and readable_ else desc.reads(make_readable(word), seen)
    cells = make_chunks(read, result.expected if result else None, seen, request.get("operand", "a").upper())
    stored = storage(request["storage"], seen.bits, seen.major, seen.form) if "storage" in request else None
    return JudgedRequest(request=request, seen=seen, read=read, cells=cells, result=result, stored=stored, taken=taken)


def make_readable(descriptor: Descriptor) -> Descriptor:
    """Return the word itself or, if the bytes that it reads are undefined, the word without swizzle and with LBO as an
    offset.
    """
    known = descriptor.mode_code in descriptor.format.codes.values()
    word = descriptor if known else descriptor.replace(**{descriptor.format.coded: 0})
    return word.replace(**dict.fromkeys(word.open_fields, 0))
