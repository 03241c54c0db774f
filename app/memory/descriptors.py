"""Facts about matrix descriptors for the API, the command line and the pages: their fields, what they read, and
verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from lanescope.app.kit.enumerations import Target, Word64
from lanescope.app.kit.fact import Description, IntegerArray, Json, Numbers, RequestModel, fact, make_optional_field
from lanescope.app.kit.memory_words import FormatName, SwizzleMode
from lanescope.app.kit.target import parse_target
from lanescope.app.memory.facts import MAJORS
from lanescope.app.memory.questions import DecodeQuestion, Slice
from lanescope.app.memory.storage import StorageSpec
from lanescope.app.memory.tile_descriptors import DescribedTile, describe_tile
from lanescope.bits import format_word
from lanescope.blackwell import idesc, umma
from lanescope.blackwell.idesc import IdescWord
from lanescope.cxx.expression import LONGEST, CompilerNote
from lanescope.descriptor import case
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.fits import find_fitting_tiles
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.descriptor.notices import (
    FieldNotice,
    find_outside_reads,
    find_repeated_reads,
    find_uncertain_reads,
    find_warnings,
)
from lanescope.descriptor.spelling import parse_word
from lanescope.descriptor.verify import ElementMismatch, Verdict, verify
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, parse_integer, require_object
from lanescope.ptx import catalog
from lanescope.ptx.architectures import get_architecture, require_instruction, require_kind
from lanescope.ptx.table.descriptors import START, WGMMA, fit_format, get_format
from lanescope.render.descriptor import render_code
from lanescope.shared.storage import HINT as STORAGE_HINT
from lanescope.shared.storage import Storage as StoredTile
from lanescope.shared.storage import parse_operand_storage, storage

DEFAULT_KIND = "f16"  # every target with tcgen05.mma has it
SEEN_BY = ("instruction", "operand", "major")
_CODE = re.compile(r"\breturn\b|[;=]\s*\S|[A-Za-z_]\w*\s*\(\s*&?\s*[A-Za-z_]")  # statements, or a call


@fact
class DescriptorField:
    """One bit field of the descriptor."""

    name: str
    low: Annotated[int, Description(limits={"minimum": 0, "maximum": 63})]
    high: Annotated[int, Description(limits={"minimum": 0, "maximum": 63})]
    encoded: int
    unit: Annotated[int, Description("Bytes (or 1) that an encoded 1 stands for.")]
    amount: int
    meaning: str


@fact
class Encoded:
    descriptor: Word64
    fields: list[DescriptorField]


@fact
class DescriptorWarning:
    """A warning about several fields together; not an error by itself."""

    code: str
    field: str
    message: str
    source: str


@fact
class DescriptorCode:
    """The descriptor as CUDA C++."""

    constant: str
    function: str
    cutlass: str


@fact
class Decoded:
    """The fields of a descriptor."""

    descriptor: Word64
    start_address: int
    lbo_bytes: int
    sbo_bytes: int
    base_offset: int
    swizzle: Annotated[
        SwizzleMode | None, Description("null for a reserved code, which only tcgen05's field can hold.")
    ]
    fields: list[DescriptorField]
    reserved: Annotated[Word64, Description("The bits that no field covers.")]
    warnings: list[DescriptorWarning]
    code: DescriptorCode
    format: Annotated[FormatName | None, Description("Where it is not wgmma's.")] = make_optional_field()
    version: Annotated[int | None, Description("tcgen05's: 1 in every word.")] = make_optional_field()
    lbo_mode: Annotated[int | None, Description("tcgen05's: 1 where LBO is an absolute address.")] = (
        make_optional_field()
    )
    k_segment: Annotated[int | None, Description("tcgen05's on sm_107: which half of 48 bytes of a compressed B.")] = (
        make_optional_field()
    )
    target: Annotated[Target | None, Description("What the word is read for, where that was said.")] = (
        make_optional_field()
    )


@fact
class Reads:
    """The byte address that the hardware reads for every element."""

    descriptor: Word64
    address: Annotated[Numbers, IntegerArray(2, "[row][k], absolute byte addresses; row is M for a, N for b.")]
    first: int
    last: int
    unused: Annotated[dict[str, str], Description("Fields that are not read, and why.")]
    bank_ways: int
    warnings: Annotated[list[DescriptorWarning], Description("Reads where no block has shared memory.")]


@fact
class ReadMismatch:
    """The first element that is read from another byte address than it was stored at."""

    row: int
    k: int
    read: int
    expected: int


@fact
class Change:
    """The encoded values of a field, before and after a repair."""

    from_: int
    to: int


@fact
class Fix:
    """A descriptor that verifies, and the fields in which it differs."""

    descriptor: Word64
    changes: dict[str, Change]


@fact
class Diagnosis:
    """A named cause; the true one comes first."""

    code: Annotated[str, Description(examples=("start_wrong",), limits={"pattern": "^[a-z0-9_]+$"})]
    message: str
    fix: Fix | None
    storage: Annotated[
        StorageSpec | None,
        Description("How the tile would have to be stored instead, where the data and not the word are at fault."),
    ]


@fact
class Fit:
    """A standard tile of which the word reads a slice."""

    storage: StorageSpec
    slice: Annotated[Mapping[str, int], RequestModel(Slice)]
    text: str


@fact
class Verified:
    """Whether the descriptor reads the tile where the program stored it; "unknown" without a storage."""

    descriptor: Word64
    verdict: Literal["match", "mismatch", "unknown"]
    matched: int | None
    total: int
    first_mismatch: ReadMismatch | None
    malformed: Annotated[
        str, Description("Which bits make the word none of its format, whatever it reads; empty where it is one.")
    ]
    diagnoses: list[Diagnosis]
    fits: Annotated[
        list[Fit] | None, Description("With the verdict unknown: the tiles whose slices this word reads.")
    ] = make_optional_field()
    warnings: list[DescriptorWarning]
    caution: Annotated[
        tuple[str, ...],
        Description("Beside a match: reserved bits that are set, and addresses that no source states. Else empty."),
    ]
    described: Annotated[
        list[DescribedTile] | None,
        Description("Of a CuTe layout that this word does not read: which descriptor does, or why none."),
    ] = make_optional_field()


# words and their fields -----------------------------------------------------------------------------------------------


def find_format(given: Mapping[str, object]) -> DescriptorFormat:
    """Return the descriptor format that a request names, in its target's version; wgmma's by default."""
    return fit_to_target(get_format(given.get("format", WGMMA.name)), given)


def fit_to_target(form: DescriptorFormat, given: Mapping[str, Any]) -> DescriptorFormat:
    """Return a format in the version of the request's target. LayoutError if the target has no instruction that
    reads it.
    """
    target = parse_target(given)
    if form.by_idesc:
        require_kind(DEFAULT_KIND, target)
    return fit_format(form, target)


def parse_descriptor(given: object, form: DescriptorFormat = WGMMA) -> Descriptor:
    """Return the descriptor of any spelling of 64 bits (lanescope.descriptor.spelling), or of code that builds one
    (lanescope.reader.code.code_words).
    """
    return read_descriptor(given, None, form)[0]


def _parse_with_notes(given: object, form: DescriptorFormat) -> tuple[Descriptor, tuple[CompilerNote, ...]]:
    """Return the descriptor, and the warnings about a constant expression."""
    try:
        read = parse_word(given)
        return Descriptor(read.word, form), read.warnings
    except LayoutError:
        return parse_descriptor(given, form), ()


def read_descriptor(
    given: object, start: int | None = None, form: DescriptorFormat = WGMMA
) -> tuple[Descriptor, list[str]]:
    """Return the descriptor, and what to check in its spelling.

    start: the address for code that leaves it open; LayoutError if there is none.
    """
    try:
        read = parse_word(given)
        return Descriptor(read.word, form), [note.text for note in read.warnings]
    except LayoutError:
        if not (isinstance(given, str) and len(given) <= LONGEST and _CODE.search(given)):
            raise
    from lanescope.reader.code.code_words import build_word  # takes up to half a second of this thread

    built = build_word(given)
    if not built.start:
        return Descriptor(built.word, form), list(built.notices)
    if start is None:
        raise LayoutError(
            "bad_word",
            f"The start address is '{built.start}', which is not a number.",
            "Put the shared-memory address in its place.",
            "descriptor",
        )
    made = Descriptor(built.word, form).replace(start_address_encoded=form.get_field(START.name).truncate(start))
    return made, [*built.notices, f"The start address is '{built.start}'; {made.start_address:#x} is kept."]


def decode_word(question: DecodeQuestion) -> Decoded:
    """Return the fields of a descriptor."""
    return decode_text(question.word, fit_to_target(question.format, {"target": question.target}))


def decode_text(given: object, form: DescriptorFormat = WGMMA) -> Decoded:
    """Decode a descriptor in any spelling. What C++ would lose in an expression comes first among the warnings."""
    descriptor, notes = _parse_with_notes(given, form)
    return build_decoded(descriptor, notes)


def build_decoded(descriptor: Descriptor, notes: Iterable[CompilerNote] = ()) -> Decoded:
    """Return the facts of a descriptor. notes: warnings about the expression it was written as."""
    source = "PTX ISA 9.1, 9.7.8.8 (shl, shr); C++ integer conversions"
    form = descriptor.format
    notices = [
        DescriptorWarning(code=note.code, field="descriptor", message=note.text, source=source) for note in notes
    ]
    return Decoded(
        descriptor=str(descriptor),
        start_address=descriptor.start_address,
        lbo_bytes=descriptor.lbo_bytes,
        sbo_bytes=descriptor.sbo_bytes,
        base_offset=descriptor.base_offset,
        swizzle=get_mode_name(descriptor),
        fields=build_fields(descriptor),
        reserved=format_word(descriptor.reserved),
        warnings=notices + _build_warnings(find_warnings(descriptor)),
        code=DescriptorCode(**render_code(descriptor)),
        format=form.query.get("format"),
        version=descriptor.get_amount("version") if form.has_field("version") else None,
        lbo_mode=descriptor.get_amount("lbo_mode") if form.has_field("lbo_mode") else None,
        k_segment=descriptor.get_amount("k_segment") if form.has_field("k_segment") else None,
        target=form.target or None,
    )


def get_mode_name(descriptor: Descriptor) -> str | None:
    """Return the swizzle mode's name; None for a reserved code."""
    return descriptor.mode.name if descriptor.mode_code in descriptor.format.codes.values() else None


def build_fields(descriptor: Descriptor) -> list[DescriptorField]:
    """Return every field with its bits, encoded value and amount."""
    encoded = [(f, f.get(descriptor.word)) for f in descriptor.format.fields]
    return [
        DescriptorField(
            name=f.name, low=f.low, high=f.high, encoded=n, unit=f.unit, amount=n * f.unit, meaning=f.meaning
        )
        for f, n in encoded
    ]


def _build_warnings(notices: Iterable[FieldNotice]) -> list[DescriptorWarning]:
    return [DescriptorWarning(code=n.code, field=n.field, message=n.message, source=n.source) for n in notices]


def encode_descriptor(given: Json) -> Encoded:
    """Return a descriptor from its amounts in bytes."""
    form = find_format(given)
    known = [f for f in form.fields if f.name != form.coded]
    check_keys(
        given, (*(f.amount for f in known), "swizzle", *(name for name in ("format", "target") if name in given))
    )
    said = {f.amount: parse_integer(given[f.amount], f.amount) for f in known if f.amount in given}
    swizzle = parse_choice(given.get("swizzle", "none"), "swizzle", form.names, "unknown_swizzle")
    made = desc.encode_descriptor(form, said, swizzle)
    return Encoded(descriptor=str(made), fields=build_fields(made))


# what an instruction reads through them -------------------------------------------------------------------------------


def parse_view(given: Json) -> tuple[str, View]:
    """Return the PTX text and the view from "instruction", "operand" and "major"; for tcgen05 "idesc" gives M, N,
    types and majors.
    """
    if find_format(given).by_idesc:
        by = umma.parse_mma_opcode(given.get("instruction"))
        operand = parse_choice(given.get("operand", "a"), "operand", ("a", "b"), "bad_operand")
        major = given.get("major") or ""
        major = major and parse_choice(major, "major", MAJORS, "bad_major")
        if not given.get("idesc"):
            hint = "The instruction descriptor says M, N and the types; /idesc builds it."
            raise LayoutError("bad_idesc", "idesc is missing.", hint, "idesc")
        return by.ptx, umma.make_view(
            by, IdescWord(idesc.parse_idesc_word(given["idesc"], "idesc"), by.kind, parse_target(given)), operand, major
        )
    if given.get("idesc", "") != "":
        raise LayoutError("bad_idesc", "idesc is given for a wgmma.", "Leave it out, or say format: tcgen05.", "idesc")
    instruction = catalog.parse_instruction(given.get("instruction"), "instruction")
    operand = parse_choice(given.get("operand", "a"), "operand", ("a", "b"), "bad_operand")
    major = parse_choice(given.get("major", "K"), "major", MAJORS, "bad_major")
    return instruction.ptx, desc.view(instruction, operand, major)


def _list_view_keys(given: Json) -> tuple[str, ...]:
    """Return the keys that say how the descriptor is read; format and idesc only if the request names a format."""
    return (*SEEN_BY, "format", "idesc") if {"format", "idesc"} & set(given) else SEEN_BY


def build_reads(given: Json) -> Reads:
    """Return the absolute byte address that the hardware reads for every element."""
    check_keys(given, ("descriptor", *_list_view_keys(given), "target"))
    descriptor = parse_descriptor(given.get("descriptor"), find_format(given))
    _, seen = parse_view(given)
    address = desc.reads(descriptor, seen)
    return Reads(
        descriptor=str(descriptor),
        address=address,
        first=int(address.min()),
        last=int(address.max()) + max(seen.bits // 8, 1) - 1,
        unused=desc.find_inert_fields(descriptor, seen),
        bank_ways=desc.count_bank_ways(address, seen),
        warnings=_build_warnings(
            find_uncertain_reads(descriptor, seen)
            + find_repeated_reads(descriptor, seen)
            + find_outside_reads(descriptor, seen)
        ),
    )


def verify_request(given: Json) -> tuple[Verdict | None, View, Descriptor]:
    """Verify a request; None if it does not say how the tile was stored. LayoutError names the wrong field."""
    check_keys(given, ("descriptor", *_list_view_keys(given), "storage", "slice", "target"))
    descriptor, written = _parse_with_notes(given.get("descriptor"), find_format(given))
    ptx, seen = parse_view(given)
    target = parse_target(given)
    require_instruction(catalog.find(ptx), target)
    part = require_object(given.get("slice", {}), "slice", "Give {'mn': 0, 'k': 0}.", "bad_slice")
    check_keys(part, ("mn", "k"), "slice")
    mn, k = (parse_integer(part.get(name, 0), f"slice.{name}", 0, desc.MOST_SHARED * 8 - 1) for name in ("mn", "k"))
    if "storage" not in given:
        return None, seen, descriptor
    spec = require_object(given["storage"], "storage", STORAGE_HINT, "bad_storage")
    stored = parse_operand_storage(spec, seen)
    computed = "<<" in str(given["descriptor"]) and not written
    verdict = verify(descriptor, seen, stored, mn=mn, k=k, notes=written, computed=computed)
    return replace(verdict, caution=(*verdict.caution, *_list_size_cautions(stored, target))), seen, descriptor


def _list_size_cautions(stored: StoredTile, target: str) -> tuple[str, ...]:
    """Return a warning if the tile exceeds the shared memory of a block on the target."""
    limit = get_architecture(target).block_shared_memory if target else None
    if not (limit and stored.tile) or stored.tile.bytes <= limit:
        return ()
    return (f"The tile takes {stored.tile.bytes} bytes of shared memory; a block on {target} has at most {limit}.",)


def build_verified(given: Json) -> Verified:
    """Verify whether the descriptor reads the tile where the program stored it; with diagnoses and a repair if it
    does not.
    """
    result, seen, descriptor = verify_request(given)
    if get_mode_name(descriptor) is None:
        twice, plain, beyond = [], [], []
    else:
        twice, beyond = find_repeated_reads(descriptor, seen), find_outside_reads(descriptor, seen)
        plain = [notice for notice in find_warnings(descriptor) if not (twice and notice.code == "overlap")]
        plain += find_uncertain_reads(descriptor, seen)
    return Verified(
        descriptor=str(descriptor),
        verdict="unknown" if result is None else "match" if result.match else "mismatch",
        matched=result.matched if result else None,
        total=seen.rows * seen.k,
        first_mismatch=_build_mismatch(result.first_mismatch) if result else None,
        malformed=result.malformed if result else "",
        diagnoses=[build_diagnosis(found) for found in result.diagnoses] if result else [],
        fits=None if result else _find_fits(descriptor, seen),
        warnings=_build_warnings([*plain, *twice, *beyond]),
        caution=result.caution if result else (),
        described=describe_tile(given["storage"], seen.bits) if _is_undescribed(result, given, seen) else None,
    )


def _is_undescribed(result: Verdict | None, given: Json, seen: View) -> bool:
    """Return whether the word of a request does not read a CuTe layout, so that another word might."""
    return bool(result and not result.match and given["storage"].get("kind") == "cute" and not seen.form.by_idesc)


def _build_mismatch(found: ElementMismatch | None) -> ReadMismatch | None:
    return ReadMismatch(row=found.row, k=found.k, read=found.read, expected=found.expected) if found else None


def _find_fits(descriptor: Descriptor, seen: View) -> list[Fit]:
    return [
        Fit(storage=spec, slice=part, text=storage(spec, seen.bits, seen.major, seen.form).text)
        for spec, part in find_fitting_tiles(descriptor, seen)
    ]


def build_diagnosis(found: case.Diagnosis) -> Diagnosis:
    """Return a diagnosis with its repair and, if the data are at fault, how they would have to be stored."""
    changed = {name: Change(from_=had, to=want) for name, (had, want) in found.changes.items()}
    fix = Fix(descriptor=str(found.fix), changes=changed) if found.fix else None
    return Diagnosis(code=found.code, message=found.message, fix=fix, storage=found.storage)
