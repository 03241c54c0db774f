"""Questions about matrix descriptors.

app/memory/verdicts.py parses the objects, because the allowed values of a field depend on the format and the
instruction.
"""

from __future__ import annotations

from typing import Annotated, Any

from lanescope.app.kit.enumerations import WGMMA, PtxText, name_type
from lanescope.app.kit.fact import Description, Json
from lanescope.app.kit.memory_words import FormatName, Major, SwizzleMode
from lanescope.app.kit.question import (
    declare_question,
    labels_of,
    make_question,
    number_field,
    question_field,
    text_field,
    word_field,
)
from lanescope.app.kit.target import target_field
from lanescope.app.memory.facts import MAJORS
from lanescope.app.memory.storage import describe_storage, storage_field
from lanescope.cxx.expression import LONGEST
from lanescope.descriptor.format import DescriptorFormat
from lanescope.ptx.table import descriptors as table

FORMATS = tuple(row.name for row in table.FORMATS)
MODES = tuple(dict.fromkeys(mode.name for row in table.FORMATS for mode in row.codes))
DescriptorText = name_type(
    "DescriptorText",
    Annotated[
        str | int,
        Description(
            "64 bits: hex, 0b…, 0d… for decimal, hi:lo, {lo, hi}, or a constant C++ expression. As a JSON number most"
            " programs lose its low bits.",
            ("0x4000004000010100", "1ull << 62 | 64ull << 32 | 0x100"),
            {
                "anyOf": [
                    {"type": "string", "maxLength": LONGEST},
                    {"type": "integer", "minimum": 0, "maximum": (1 << 64) - 1},
                ]
            },
        ),
    ],
)


@declare_question
class DecodeQuestion:
    """A descriptor word, its format and target."""

    word: str = text_field(
        "",
        "word",
        "64 bits: hex, 0b…, 0d… for decimal, hi:lo, {lo, hi}, or a constant C++ expression.",
        required=True,
        examples=("0x4000004004000101",),
    )
    format: DescriptorFormat = word_field(
        FORMATS,
        "Format",
        "Who reads it: wgmma, or tcgen05.",
        "",
        parse=lambda value, field: table.get_format(value or table.WGMMA.name),
    )
    target: str = target_field()


def _format() -> Any:
    return word_field(FORMATS, "Format", "Who reads it.", type=FormatName)


EncodeBody = make_question(
    "EncodeBody",
    "Amounts in bytes; the encoded fields are bytes ÷ 16.",
    {
        field.amount: number_field(
            form.constants.get(field.name, 0), field.label, f"{field.meaning[0].upper()}{field.meaning[1:]}."
        )
        for form in reversed(table.ROWS)
        for field in form.fields
        if field.name != form.coded
    }
    | {"swizzle": word_field(MODES, "swizzle", "The swizzle mode.", "none", type=SwizzleMode), "format": _format()}
    | {"target": target_field()},
)


@declare_question
class ReadsBody:
    """A descriptor, and the instruction that reads through it."""

    descriptor: str = text_field("", "word", "", type=DescriptorText, required=True)
    instruction: str = text_field(
        WGMMA,
        "Instruction",
        "",
        type=PtxText,
        required=True,
        examples=("wgmma.mma_async.m64n64k16.f32.f16.f16",),
        wide=True,
    )
    operand: str = word_field(("a", "b"), "Operand", "", called={"a": "A", "b": "B"})
    major: str = word_field(
        MAJORS,
        "Read as",
        "tcgen05: that of the instruction descriptor, or left out.",
        type=Major,
        called={"K": "K-major", "MN": "MN-major"},
    )
    format: str = _format()
    idesc: str = text_field(
        "",
        "Instruction descriptor",
        "tcgen05's instruction descriptor, which contains M and N.",
        type=DescriptorText,
        size=12,
    )
    target: str = target_field()


@declare_question
class Slice:
    """Where the instruction's slice begins in the stored tile, in elements."""

    mn: int = number_field(0, "First row (M or N)", "")
    k: int = number_field(0, "First k", "")


@declare_question
class VerifyBody(ReadsBody):
    """A descriptor, the instruction that reads through it, and where the program stored the tile."""

    storage: Json = storage_field(
        "How the tile is stored. If left out, the verdict is unknown, and the answer lists the standard tiles that fit."
    )
    slice: Slice = question_field(Slice, "Slice", "", prefix="slice_")


@declare_question
class VerifyForm(VerifyBody):
    """The form of the descriptor's page."""

    compare: str = text_field(
        "", "Compare with", "Another word, beside this one.", placeholder="another word", wide=True
    )


# Labels of request fields on the page; of several forms the last one counts.
LABELS = {field.amount: field.label for field in table.WGMMA.fields} | labels_of(VerifyForm)
# Options of a picture of the verdict: query parameter → description.
VERDICT = {
    "instruction": "the instruction that reads through the word; the page's usual one where it is left out",
    "idesc": "tcgen05: the instruction descriptor, for M, N and the majors",
    "target": "what ptxas compiles for: both descriptors have their fields there",
    "operand": "a or b",
    "major": "K or MN, as the instruction reads",
    "slice_mn": "the slice's first row of M or N",
    "slice_k": "the slice's first K",
    **describe_storage(),
    "assumed": "what of it was taken from the word: storage, or of swizzle, base and slice_k those that were",
}
