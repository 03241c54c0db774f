"""Instruction descriptors of tcgen05.mma, and zero-column masks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from lanescope.app.idesc import facts
from lanescope.app.idesc.facts import (
    DecodeQuestion,
    EncodeQuestion,
    IdescBody,
    IdescQuestion,
    InstructionDescriptor,
    MaskBody,
    MaskQuestion,
    ZeroColumns,
)
from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.kit.terminal import print_json
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value


def format_idesc(question: IdescQuestion, answer: InstructionDescriptor) -> Iterator[str]:
    """Yield the fields of a word, and the forms in which it is legal."""
    yield f"{answer.word}  kind::{answer.kind}"
    for field in answer.fields:
        yield f"  {field.high:2}–{field.low:<2}  {field.title:18} {field.encoded:#x}  {field.says}"
    for problem in answer.problems:
        yield f"  ✗ {problem.message}"
    for form, why in {} if answer.problems else answer.forms.items():
        yield f"  {'✗' if why else '✓'} {form}" + "".join(f": {problem.message}" for problem in why[:1])
    for warning in answer.warnings:
        yield f"  ! {warning.field}: {warning.message}"
    yield f"  {answer.evidence}"


def run_encode(
    words: dict[str, Any],
    *,
    field: Annotated[
        list[str] | None, typer.Option(help="Any other field: name=value, e.g. transpose_b=1, sparse=1, sfa_id=2.")
    ] = None,
    as_json: bool,
) -> None:
    """Print the word of a product."""
    for item in field or []:
        name, equals, value = item.partition("=")
        if not equals:
            raise LayoutError(
                "bad_usage", f"'{shorten_value(item)}' is not a field.", "Write name=value, e.g. sparse=1.", "field"
            )
        words[name.strip()] = value.strip()
    answer = ENCODE.ask(words)[1]
    print_json(answer) if as_json else print(answer.word)


def format_mask(question: MaskQuestion, answer: ZeroColumns) -> Iterator[str]:
    """Yield the fields of a mask, and the columns of B that it zeroes."""
    yield answer.word
    for field in answer.fields:
        yield f"  {field.high:2}–{field.low:<2}  {field.name:14} {field.value}"
    yield f"  zero: {' '.join(map(str, answer.columns)) or 'none'}"
    for problem in answer.problems:
        yield f"  ✗ {problem}"


ENCODE = Tool(
    question=IdescBody, answer=facts.encode_idesc, api="instruction-descriptors/encode", body="IdescBody", raw=True
)
FEATURE = Feature(
    tools=(
        ENCODE,  # before the route of any word
        Tool(question=IdescQuestion, answer=facts.decode_idesc, api="instruction-descriptors/{value:path}"),
        Tool(question=MaskBody, answer=facts.encode_mask, api="zero-column-masks/encode", body="MaskBody"),
        Tool(
            question=DecodeQuestion,
            answer=facts.decode_idesc,
            command="idesc decode",
            help="A word's fields, and the forms in which it is legal. Exit status 1 where it is legal in none.",
            lines=format_idesc,
            succeeds=lambda answer: answer.legal,
        ),
        Tool(
            question=EncodeQuestion,
            answer=facts.encode_idesc,
            command="idesc encode",
            raw=True,
            help="The word of a product.",
            run=run_encode,
        ),
        Tool(
            question=MaskQuestion,
            answer=facts.decode_mask,
            api="zero-column-masks/{value:path}",
            command="idesc mask",
            help="A zero-column mask: its fields, and the columns of B that it makes zero.",
            lines=format_mask,
            succeeds=lambda answer: not answer.problems,
        ),
    ),
    written=("page",),
    menu=(
        Entry(
            "Debug",
            2,
            "Instruction descriptor",
            "/idesc",
            "what the 32 bits of a tcgen05.mma say, and the word you want",
            badge="sm_100",
        ),
        Entry(
            "Debug",
            3,
            "Zero-column mask",
            "/zero-column-mask",
            "which columns of B tcgen05.mma.ws reads as zero",
            below="/idesc",
        ),
    ),
    examples={
        "/api/v1/instruction-descriptors/{value}": "/api/v1/instruction-descriptors/0x08400490?kind=f16",
        "/api/v1/zero-column-masks/{value}": "/api/v1/zero-column-masks/0x0003028000000000?m=64&n=128",
    },
    bodies={
        "/api/v1/instruction-descriptors/encode": {
            "kind": "f16",
            "m": 128,
            "n": 256,
            "a": "bf16",
            "b": "bf16",
            "d": "f32",
        },
        "/api/v1/zero-column-masks/encode": {"non_zero_mask": 1, "skip_span": 2, "use_span": 3, "m": 64, "n": 128},
    },
)
