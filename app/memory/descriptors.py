"""The fields of matrix descriptors, for the API, the command line and the pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from lanescope.app.kit.enumerations import Target, Word64
from lanescope.app.kit.fact import Description, Json, copy_fact, fact, make_optional_field
from lanescope.app.kit.memory_words import FormatName, SwizzleMode
from lanescope.app.kit.target import parse_target
from lanescope.app.memory.questions import DecodeQuestion
from lanescope.bits import format_word
from lanescope.cxx.expression import LONGEST, CompilerNote
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Descriptor
from lanescope.descriptor.notices import FieldNotice, find_warnings
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, parse_integer
from lanescope.ptx.architectures import require_kind
from lanescope.ptx.table.descriptors import START, WGMMA, fit_format, get_format
from lanescope.render.descriptor import render_code

DEFAULT_KIND = "f16"  # every target with tcgen05.mma has it
_CODE = re.compile(r"\breturn\b|[;=]\s*\S|[A-Za-z_]\w*\s*\(\s*&?\s*[A-Za-z_]")  # statements, or a call


@fact
class DescriptorField:
    """One bit field of the descriptor."""

    name: str
    low: Annotated[int, Description(limits={"minimum": 0, "maximum": 63})]
    high: Annotated[int, Description(limits={"minimum": 0, "maximum": 63})]
    encoded: int
    unit: Annotated[int, Description("Unit of the encoded field in bytes (1: not in bytes).")]
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
    target: Annotated[Target | None, Description("The target of the request, if it has one.")] = make_optional_field()


# words and their fields -----------------------------------------------------------------------------------------------


def find_format(body: Mapping[str, object]) -> DescriptorFormat:
    """Return the descriptor format of a request, in its target's version; wgmma's by default."""
    return fit_to_target(get_format(body.get("format", WGMMA.name)), body)


def fit_to_target(form: DescriptorFormat, body: Mapping[str, Any]) -> DescriptorFormat:
    """Return a format in the version of the request's target. LayoutError if the target has no instruction that
    reads it.
    """
    target = parse_target(body)
    if form.by_idesc:
        require_kind(DEFAULT_KIND, target)
    return fit_format(form, target)


def parse_descriptor(value: object, form: DescriptorFormat = WGMMA) -> Descriptor:
    """Return the descriptor of any spelling of 64 bits (lanescope.descriptor.spelling), or of code that builds one
    (lanescope.reader.code.descriptors.code_words).
    """
    return read_descriptor(value, None, form)[0]


def parse_with_notes(value: object, form: DescriptorFormat) -> tuple[Descriptor, tuple[CompilerNote, ...]]:
    """Return the descriptor, and the warnings about a constant expression."""
    try:
        read = parse_word(value)
        return Descriptor(read.word, form), read.warnings
    except LayoutError:
        return parse_descriptor(value, form), ()


def read_descriptor(
    value: object, start: int | None = None, form: DescriptorFormat = WGMMA
) -> tuple[Descriptor, list[str]]:
    """Return the descriptor, and the warnings about its spelling.

    start: the start address, if the code does not determine it; LayoutError if it is missing.
    """
    try:
        read = parse_word(value)
        return Descriptor(read.word, form), [note.text for note in read.warnings]
    except LayoutError:
        if not (isinstance(value, str) and len(value) <= LONGEST and _CODE.search(value)):
            raise
    from lanescope.reader.code.descriptors.code_words import build_word  # takes up to half a second of this thread

    built = build_word(value)
    if not built.start:
        return Descriptor(built.word, form), list(built.notices)
    if start is None:
        raise LayoutError(
            "bad_word",
            f"The start address is '{built.start}', which is not a number.",
            "Put the shared-memory address in its place.",
            "descriptor",
        )
    descriptor = Descriptor(built.word, form).replace(start_address_encoded=form.get_field(START.name).truncate(start))
    return descriptor, [*built.notices, f"The start address is '{built.start}'; {descriptor.start_address:#x} is kept."]


def decode_word(question: DecodeQuestion) -> Decoded:
    """Return the fields of a descriptor."""
    return decode_text(question.word, fit_to_target(question.format, {"target": question.target}))


def decode_text(value: object, form: DescriptorFormat) -> Decoded:
    """Decode a descriptor in any spelling. The warnings about its C++ expression come first."""
    descriptor, notes = parse_with_notes(value, form)
    return build_decoded(descriptor, notes)


def build_decoded(descriptor: Descriptor, notes: Iterable[CompilerNote] = ()) -> Decoded:
    """Return the facts of a descriptor. notes: warnings about the expression it was written as."""
    source = "PTX ISA 9.1, 9.7.8.8 (shl, shr); C++ integer conversions"
    form = descriptor.format
    notices = [
        DescriptorWarning(code=note.code, field="descriptor", message=note.text, source=source) for note in notes
    ]
    return copy_fact(
        Decoded,
        descriptor,
        descriptor=str(descriptor),
        swizzle=get_mode_name(descriptor),
        fields=build_fields(descriptor),
        reserved=format_word(descriptor.reserved),
        warnings=notices + build_warnings(find_warnings(descriptor)),
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
    return [copy_fact(DescriptorField, f, encoded=n, amount=n * f.unit) for f, n in encoded]


def build_warnings(notices: Iterable[FieldNotice]) -> list[DescriptorWarning]:
    return [copy_fact(DescriptorWarning, n) for n in notices]


def encode_descriptor(body: Json) -> Encoded:
    """Return a descriptor from its amounts in bytes."""
    form = find_format(body)
    known = [f for f in form.fields if f.name != form.coded]
    check_keys(body, (*(f.amount for f in known), "swizzle", *(name for name in ("format", "target") if name in body)))
    amounts = {f.amount: parse_integer(body[f.amount], f.amount) for f in known if f.amount in body}
    swizzle = parse_choice(body.get("swizzle", "none"), "swizzle", form.names, "unknown_swizzle")
    encoded = desc.encode_descriptor(form, amounts, swizzle)
    return Encoded(descriptor=str(encoded), fields=build_fields(encoded))
