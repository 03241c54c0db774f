"""The verdict on a dump, for programs, the command line and the page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np

from lanescope import dump as engine
from lanescope.app.dump.base64_files import LONGEST, decode_base64
from lanescope.app.dump.examples import F16
from lanescope.app.kit.enumerations import ElementType, Word64
from lanescope.app.kit.fact import (
    Description,
    IntegerArray,
    Json,
    Numbers,
    RealArray,
    copy_fact,
    fact,
    make_optional_field,
)
from lanescope.app.kit.question import (
    declare_question,
    number_field,
    options_of,
    parsed_field,
    question_field,
    raw_field,
    read_question,
    word_field,
)
from lanescope.app.memory import descriptors as memory
from lanescope.app.memory.facts import MAJORS
from lanescope.app.memory.questions import ReadsBody, Slice
from lanescope.app.memory.storage import StorageSpec
from lanescope.app.memory.verdicts import Diagnosis, build_diagnosis
from lanescope.descriptor.matrix import Descriptor
from lanescope.descriptor.tile_search import ABSENT, SEVERAL
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_integer
from lanescope.names import lookup
from lanescope.ptx.codec import Bits, decode_as_read
from lanescope.ptx.instruction import Instruction
from lanescope.shared.storage import MOST_BYTES

Base64 = Annotated[str, Description(limits={"maxLength": LONGEST})]
FILES = {"dump": "Dump of shared memory", "expected": "Expected tile"}


@fact
class Wrong:
    """A wrong element. lies: the address of its value, -1 if the dump does not have it, -2 if it occurs several
    times. holds: the element (mn, k) of the tile whose value is read instead.
    """

    row: int
    k: int
    address: int
    value: float | None
    expected: float | None
    lies: int
    holds: list[int] | None


@fact
class Missing:
    """Where the values of the wrong elements are: how many were found once, several times, or not at all."""

    wrong: int
    found: int
    several: int
    absent: int


@fact
class Layout:
    """A layout in which the expected tile is stored in the dump, and why the word does not read it."""

    storage: StorageSpec
    text: str
    matched: int
    total: int
    determined: Annotated[
        bool, Description("Whether the values leave no other; else it is a standard layout that fits.")
    ]
    diagnoses: list[Diagnosis]


@fact
class DumpVerified:
    """What the instruction reads from the dump, and whether it is the expected tile.

    The verdict is unknown without an expected tile, or if elements are outside the dump and all others are right.
    """

    verdict: Literal["match", "mismatch", "unknown"]
    descriptor: Word64
    instruction: str
    operand: Literal["a", "b"]
    element_type: ElementType
    base: Annotated[int, Description("The address of the dump's first byte.")]
    bytes: Annotated[int, Description("Of the dump.")]
    first: Annotated[int, Description("The first byte that is read.")]
    last: int
    matched: int | None
    total: int
    outside: Annotated[int, Description("Elements outside the dump.")]
    address: Annotated[Numbers, IntegerArray(2, "[row][k], absolute byte addresses; row is M for a, N for b.")]
    bits: Annotated[Numbers, IntegerArray(2, "[row][k], the element's code; 0 outside the dump.")]
    values: Annotated[Any, RealArray((2,), "[row][k]; null: NaN, infinite, or outside the dump.")]
    right: Annotated[Numbers | None, IntegerArray(2, "[row][k], 1 where the element is the expected one.")] = (
        make_optional_field()
    )
    lies: Annotated[
        Numbers | None, IntegerArray(2, "[row][k], where the expected value is; -1: nowhere, -2: in several places.")
    ] = make_optional_field()
    lies_by: Annotated[
        Literal["layout", "value"] | None,
        Description("Whether `lies` follows from the one layout, or from each value alone."),
    ]
    wrong: Annotated[list[Wrong], Description("The first wrong elements.")]
    missing: Missing | None
    expected_as: Annotated[Literal["values", "bits"] | None, Description("How the expected file was taken.")]
    layouts: Annotated[list[Layout], Description("Layouts of the tile in the dump; several if its values repeat.")]
    layout_count: int
    bases: Annotated[list[int], Description("Other values of `base` with which every element would be right.")]
    notes: list[str]


MOST_WRONG = 16


# the question ---------------------------------------------------------------------------------------------------------


@declare_question
class DumpSlice:
    """Where the instruction's slice begins in the expected tile, in elements."""

    mn: int = number_field(0, "First row (M or N)", "The slice's first row in the expected tile.", most=MOST_BYTES)
    k: int = number_field(0, "First k", "The slice's first K in the expected tile.", most=MOST_BYTES)


@declare_question
class DumpQuestion:
    """The word and the instruction that read a dump, and the dump's address; dump and expected tile are files."""

    descriptor: Descriptor = parsed_field(
        lambda value, field: memory.parse_descriptor(value),
        "Descriptor",
        "The descriptor your program uses.",
        "0x4000004000010040",
        required=True,
        wide=True,
        size=20,
    )
    instruction: Instruction = parsed_field(
        lookup.parse_instruction, "Instruction", "The wgmma that reads it.", F16, required=True, wide=True, size=20
    )
    operand: str = word_field(("a", "b"), "Operand", "Which operand.", code="bad_operand", called={"a": "A", "b": "B"})
    major: str = word_field(
        MAJORS,
        "Read as",
        "By the instruction's transpose immediate.",
        code="bad_major",
        called={"K": "K-major", "MN": "MN-major"},
    )
    base: int = parsed_field(
        lambda value, field: parse_integer(value, field, 0, MOST_BYTES),
        "Address of the first byte",
        "The shared-window address of the dump's first byte.",
        hex(engine.BASE),
        size=8,
    )
    expected_as: str = word_field(
        filter(None, engine.AS),
        "Expected tile holds",
        "Element type of the expected file; by default that of the array.",
        "",
        called={"": "by its type"},
    )
    slice: DumpSlice = question_field(
        DumpSlice, "Slice", "", code="bad_slice", hint="Give {'mn': 0, 'k': 0}.", prefix="slice_"
    )


@declare_question
class DumpBody(ReadsBody):
    """A dump of shared memory, the word and instruction that read it, and the expected tile."""

    dump: str = raw_field(
        FILES["dump"],
        "The dump's bytes in base64: raw, or a .npy file, whose array is used in memory order.",
        required=True,
        type=Base64,
        wide=True,
        file="",
    )
    base: int = number_field(1024, "Base", "The shared-window address of the dump's first byte.")
    expected: str | None = raw_field(
        FILES["expected"],
        "The expected tile in base64: a .npy file of (m, k) for a, (k, n) for b; null for none.",
        type=Base64 | None,
        wide=True,
        file=".npy",
    )
    expected_as: str = raw_field(
        "Expected tile holds",
        "Whether the file holds numbers or the elements' codes; empty: codes where it holds whole numbers or raw bytes"
        " as wide as a floating-point element.",
        type=Literal["", "values", "bits"],
    )
    slice: Slice = question_field(Slice, "Slice", "Where the instruction's slice begins in the expected tile.")


def verify_dump(body: Json) -> DumpVerified:
    """Return the values that an instruction reads from a dump of shared memory; with the expected tile also the wrong
    elements, where their values are in the dump, which layout that is, and the repair.
    """
    question, raw, expected = read_body(body)
    return build_answer(examine_dump(question, raw, expected), question.instruction.ptx)


def read_body(body: Json) -> tuple[DumpQuestion, bytes, bytes | None]:
    """Return the question, the dump and the expected tile of a body of POST /dumps/verify."""
    check_keys(body, (*FILES, *options_of(DumpQuestion)))
    raw, tile = decode_base64(body.get("dump"), "dump"), body.get("expected")
    expected = None if tile is None else decode_base64(tile, "expected")
    rest = {name: value for name, value in body.items() if name not in FILES}
    return read_question(DumpQuestion, rest, blank=False), raw, expected


def examine_dump(question: DumpQuestion, raw: bytes = b"", expected: bytes | None = None) -> engine.Examined:
    """Return the values that an instruction reads from a dump, compared with the expected tile."""
    origin = question.slice.mn, question.slice.k
    if expected is None and any(origin):
        name = "mn" if origin[0] else "k"
        raise LayoutError(
            "bad_slice",
            f"{name} is {getattr(question.slice, name)}, but no expected tile is given.",
            "Give the expected tile, or leave the slice out.",
            f"slice.{name}",
        )
    return engine.examine(
        engine.of_file(raw, question.base),
        question.descriptor,
        question.instruction,
        operand=question.operand,
        major=question.major,
        expected=expected,
        taken=question.expected_as,
        origin=origin,
    )


# what is answered -----------------------------------------------------------------------------------------------------


def build_answer(examined: engine.Examined, ptx: str) -> DumpVerified:
    """Return the answer of POST /dumps/verify."""
    first, past = examined.needed
    return copy_fact(
        DumpVerified,
        examined,
        descriptor=str(examined.descriptor),
        instruction=ptx,
        element_type=examined.element.name,
        base=examined.dump.base,
        bytes=len(examined.dump.data),
        first=first,
        last=past - 1,
        bits=examined.codes.astype("int64"),
        right=None if examined.right is None else examined.right.astype("int64"),
        lies=examined.where.address if examined.where else None,
        lies_by=examined.where.by if examined.where else None,
        wrong=list(list_wrong(examined)),
        missing=summarize_missing(examined),
        expected_as=examined.tile.taken if examined.tile else None,
        layouts=[
            copy_fact(
                Layout,
                layout.fit,
                storage=dict(layout.fit.stored.spec),
                text=layout.fit.stored.text,
                diagnoses=[build_diagnosis(found) for found in layout.diagnoses],
            )
            for layout in examined.layouts
        ],
        bases=list(examined.begins),
        notes=list(list_notes(examined)),
    )


def summarize_missing(examined: engine.Examined) -> Missing | None:
    """Return where the values of the wrong elements are; None if nothing is wrong."""
    if examined.right is None or examined.where is None:
        return None
    lost = examined.where.address[~examined.right]
    several, absent = int((lost == SEVERAL).sum()), int((lost == ABSENT).sum())
    return Missing(wrong=int(lost.size), found=int(lost.size) - several - absent, several=several, absent=absent)


def list_wrong(examined: engine.Examined) -> Iterator[Wrong]:
    """Yield the first wrong elements, row by row, including those outside the dump."""
    if examined.right is None or examined.wanted is None or examined.tile is None or examined.where is None:
        return
    values, expected = examined.values, decode_as_read(examined.wanted, examined.element)
    holder = _index_by_code(examined.tile.codes)
    for row, k in np.argwhere(~examined.right)[:MOST_WRONG].tolist():
        inside = bool(examined.inside[row, k])
        yield Wrong(
            row=row,
            k=k,
            address=int(examined.address[row, k]),
            value=_drop_nonfinite(values[row, k]) if inside else None,
            expected=_drop_nonfinite(expected[row, k]),
            lies=int(examined.where.address[row, k]),
            holds=holder.get(int(examined.codes[row, k])) if inside else None,
        )


def _drop_nonfinite(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None


def _index_by_code(codes: Bits) -> dict[int, list[int] | None]:
    """Return code → the one element of the tile with this value; None if several have it."""
    out: dict[int, list[int] | None] = {}
    for mn, line in enumerate(codes.tolist()):
        for k, code in enumerate(line):
            out[code] = None if code in out else [mn, k]
    return out


def list_notes(examined: engine.Examined) -> Iterator[str]:
    """Yield further warnings besides the verdict."""
    first, past = examined.needed
    if examined.outside:
        yield (
            f"The word reads bytes {first:#x} to {past - 1:#x}; the dump holds {examined.dump.base:#x} to"
            f" {examined.dump.end - 1:#x}."
        )
    for base in examined.begins:
        yield f"Every element is right if the dump begins at {base:#x} instead of {examined.dump.base:#x}."
    if examined.transposed:
        yield "What is read is the transpose of the expected tile."
    if examined.tile and examined.tile.rounded:
        yield (
            f"{examined.tile.rounded:,} expected values are not representable as {examined.element.name}; they were"
            " rounded to nearest for the comparison."
        )
    total = examined.total
    if examined.wanted is not None and examined.distinct < total:
        values = f"{examined.distinct:,} distinct value{'s' * (examined.distinct != 1)}"
        yield (
            f"The expected operand has {values} in {total:,} elements: an element that is read from the wrong place but"
            " has the same value counts as right."
        )
    open_ = any(not layout.fit.determined for layout in examined.layouts)
    if examined.layout_count > 1 or open_:
        count, s = examined.layout_count, "s" * (examined.layout_count != 1)
        least = f"At least {count} layout{s}" if open_ else f"{count} layouts"
        says = "put" if count > 1 else "puts"
        why = (
            "The values repeat too often to tell which it is." if open_ else "The dump has the tile in several places."
        )
        yield f"{least} {says} the expected values where the dump has them. {why}"
