"""Descriptor words for agents: encode and verify."""

from __future__ import annotations

from typing import Any, Literal

from lanescope.app.idesc.facts import IdescBody, IdescQuestion, InstructionDescriptor, Problem, build_idesc, parse_wish
from lanescope.app.kit.fact import Json, copy_fact, fact, make_optional_field
from lanescope.app.kit.question import declare_question, make_question, question_field, read_question
from lanescope.app.memory import facts as memory
from lanescope.app.memory.descriptors import encode_descriptor
from lanescope.app.memory.facts import TileQuestion
from lanescope.app.memory.questions import EncodeBody
from lanescope.blackwell.idesc import IdescWord
from lanescope.errors import LayoutError
from lanescope.inputs import require_object

EncodeQuestion = make_question(
    "EncodeQuestion",
    "Amounts in bytes, or a tile whose descriptors are wanted.",
    {"tile": question_field(TileQuestion, "Tile", "Instead of amounts: a tile in shared memory.", default="")},
    EncodeBody,
)


@fact
class EncodedWords:
    """The descriptor of the amounts, or those of a tile: one per step of K and of M or N."""

    descriptor: str
    fields: Json | None = make_optional_field()
    lbo_bytes: int | None = make_optional_field()
    sbo_bytes: int | None = make_optional_field()
    unused: Json | None = make_optional_field()
    k_steps: list[Json] | None = make_optional_field()
    mn_steps: list[Any] | None = make_optional_field()
    cute: Any = make_optional_field()
    tma_box: Any = make_optional_field()
    bytes: int | None = make_optional_field()


def encode_words(body: Json) -> EncodedWords:
    """Return the 64-bit descriptor of amounts in bytes, or those that read a tile."""
    if "tile" not in body:
        made = encode_descriptor(body)
        fields = {field.name: {"bits": f"{field.high}:{field.low}", "encoded": field.encoded} for field in made.fields}
        return EncodedWords(descriptor=made.descriptor, fields=fields)
    if len(body) > 1:
        other = next(name for name in body if name != "tile")
        raise LayoutError("bad_request", f"tile excludes {other}.", "Pass a tile, or amounts.", other)
    spec = require_object(body["tile"], "tile", "Give {'mn': 64, 'k': 64, 'swizzle': '128B'}.")
    answer = memory.tile(read_question(TileQuestion, spec, "tile", blank=False))
    k_steps = [
        {"k": step.k, "offset_bytes": step.start_offset_bytes, "descriptor": step.descriptor} for step in answer.k_steps
    ]
    return copy_fact(EncodedWords, answer, k_steps=k_steps, mn_steps=list(answer.mn_steps))


def _keep_object(value: Any, field: str) -> Json | None:
    if value in ("", None):
        return None
    return require_object(value, field, "Give {'m': 128, 'n': 256, 'a': 'bf16', 'b': 'bf16', 'd': 'f32'}.")


@declare_question
class VerifyIdescQuestion(IdescQuestion):
    """An instruction descriptor, its kind, and the product that it should describe."""

    expected: Json | None = question_field(
        IdescBody,
        "Expected",
        "The product that the word should say: m, n, types, majors. Without it the word is only judged as legal.",
        default="",
        parse=_keep_object,
    )


@fact
class IdescDifference:
    """A field of the word that differs from the expected product."""

    field: str
    says: str
    expected: str


@fact
class VerifiedIdesc:
    """Whether an instruction descriptor is legal and describes the expected product. repair: the right word."""

    word: str
    verdict: Literal["match", "mismatch", "legal", "illegal"]
    differences: list[IdescDifference]
    repair: str
    problems: list[Problem]
    illegal_in: Json
    warnings: list[Problem]
    says: Json
    fields: list[Any]
    evidence: str


def _compare_expected(
    question: VerifyIdescQuestion, answer: InstructionDescriptor
) -> tuple[list[IdescDifference], str]:
    """Return (the fields that differ from the expected ones, the expected word if any bit differs)."""
    if question.expected is None:
        return [], ""
    wish = {"kind": question.kind.name, "target": question.target} | question.expected
    try:
        expected = build_idesc(parse_wish(wish))
    except LayoutError as error:
        raise error.move_to_field(f"expected.{error.field}") from None
    if expected.kind != answer.kind:
        message = f"expected.kind is {expected.kind}, the word is read as {answer.kind}."
        raise LayoutError("bad_choice", message, "The kind is in the opcode: give one.", "expected.kind")
    differences = [
        IdescDifference(field=field.title, says=field.says, expected=expected_field.says)
        for field, expected_field in zip(answer.fields, expected.fields, strict=True)
        if field.encoded != expected_field.encoded
    ]
    return differences, expected.word if differences or int(answer.reserved, 16) else ""


def verify_idesc(question: VerifyIdescQuestion) -> VerifiedIdesc:
    """Return whether an instruction descriptor of tcgen05.mma is legal and describes a product."""
    answer = build_idesc(IdescWord(question.value, question.kind, question.target))
    differences, repair = _compare_expected(question, answer)
    legal = answer.legal and not answer.problems
    verdict: Any = "legal" if legal else "illegal"
    if question.expected is not None:
        verdict = "match" if legal and not repair else "mismatch"
    return copy_fact(
        VerifiedIdesc,
        answer,
        verdict=verdict,
        differences=differences,
        repair=repair,
        illegal_in={form: [problem.message for problem in why] for form, why in answer.forms.items() if why},
        says={
            **{size: getattr(answer, size) for size in "mnk"},
            **{operand: getattr(answer.types, operand) for operand in "dab"},
        }
        | {"sparse": answer.sparse},
        fields=[
            {"field": field.title, "bits": f"{field.high}:{field.low}", "says": field.says} for field in answer.fields
        ],
    )
