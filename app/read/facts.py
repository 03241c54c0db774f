"""Facts about a pasted text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from lanescope.app.check.facts import CheckReport
from lanescope.app.kit.enumerations import Word64
from lanescope.app.kit.fact import Description, fact, make_optional_field
from lanescope.app.memory.storage import StorageSpec

Kind = Literal[
    "instruction",
    "descriptor",
    "builder",
    "tensor_map",
    "layout",
    "tiled_mma",
    "tiled_copy",
    "triton",
    "fragment",
    "topic",
    "unknown",
]


@fact
class Meaning:
    """One meaning of a text."""

    kind: Kind
    title: Annotated[str, Description("For people.")]
    link: Annotated[str, Description("The page that shows it.")]
    facts: Annotated[
        dict[str, Any],
        Description(
            "By kind. instruction: ptx (null where several fit), candidates, operand, all; majors (of A and B, where"
            " the text says them); refused (why ptxas refuses lines of the text, where it does); for"
            " SASS sass (each mnemonic) and several (instructions that become so many of it); for a question about an"
            " element, a lane or a register holders (each value with its thread, register, bits and element, and text)."
            " descriptor: word, format, name (as it was printed)."
            " builder: fields, start (bytes, or the name of the free symbol), format, word (null where the start is"
            " free), warnings, free (the expressions that decide what is null). tensor_map: storage, element_bits, box"
            " (innermost first), swizzle."
            " layout: cute, swizzle, element_bits, shape, stride, modes, size, cosize, storage; stages of a"
            " third mode; name, as it was printed; tv of a fragment: operand, and the tile that it is over;"
            " descriptors: those that read the tile, for each width that its elements may have, or why none does."
            " tiled_mma: threads, tile_mnk, atom_mnk, permutation, candidates, body. tiled_copy: threads,"
            " values_per_thread, tiler_mn, element_bits, ptx, body. triton: attribute, params, candidates, operand,"
            " drawn (whether it has maps), body."
            " fragment (a formula of rows and columns, or the loop that moves a fragment): agree, begin (has"
            " fewer values than the formula tells apart), half (has the only coordinate of the text), exchanged (with"
            " rows and columns exchanged), each map with its operands, values and times (fragments in a row); part"
            " (maps in which the text's one value, or the values that it names, are: held has their numbers);"
            " order (of the memory of a loop); addresses (loads whose row addresses it gives); nearest, where none"
            " agrees; compared (maps), assumed (names taken as the same in all threads), named (the operand that the"
            " text names). topic: page. What the text leaves open is null and named in undetermined."
        ),
    ]
    notices: Annotated[tuple[str, ...], Description("What to look at; for an unknown text what was understood.")]


@fact
class BenchPiece:
    """A part of a text."""

    kind: Literal["tensor_map", "descriptor", "instruction", "layout"]
    title: str
    spans: Annotated[tuple[tuple[int, ...], ...], Description("Where it is: first and past last character.")]
    operands: Annotated[tuple[str, ...], Description("The operands it belongs to.")]
    notices: tuple[str, ...]
    doubts: Annotated[tuple[str, ...], Description("What is unusual and may be right.")]
    link: Annotated[str, Description("The page that shows it, empty if there is none.")]


@fact
class BenchSlice:
    """The elements that one step should read: rows mn … of `rows`, columns k … of `depth`."""

    mn: int
    k: int
    rows: int
    depth: int


@fact
class BenchCause:
    """Why a step reads the wrong bytes: a diagnosis of POST /descriptors/verify."""

    code: str
    title: str
    message: str
    fix: Annotated[Word64 | None, Description("The descriptor that is right for this step.")]


@fact
class BenchStep:
    """One descriptor that the loops give to the instruction."""

    loops: Annotated[dict[str, int], Description("The loops' variables.")]
    stage: int
    descriptor: Word64
    slice: BenchSlice
    verdict: Literal["match", "mismatch", "unknown"]
    matched: int
    total: int
    expected: Annotated[int | None, Description("Byte address of the slice's first element; null without a verdict.")]
    read: Annotated[int, Description("The byte that is read for it.")]
    diagnoses: Annotated[list[BenchCause], Description("Of the first wrong step of an operand, the true cause first.")]
    link: Annotated[str, Description("The descriptor page, with instruction, storage and slice.")]


@fact
class BenchOperand:
    """One operand of one instruction, and every step that reads it."""

    name: Literal["a", "b"]
    instruction: str
    major: Literal["K", "MN"]
    why: Annotated[str, Description("Why these descriptors belong to this operand.")]
    storage: Annotated[StorageSpec | None, Description("What was verified against.")]
    storage_why: str
    verdict: Literal["match", "mismatch", "unknown"]
    k_steps: int
    stages: int
    fits: Annotated[tuple[str, ...], Description("Without a storage: standard tiles that the first step reads.")]
    missing: tuple[str, ...]
    notices: Annotated[tuple[str, ...], Description("What is doubtful though it is read right: where the tile begins.")]
    steps: tuple[BenchStep, ...]
    place: Annotated[
        tuple[int, ...] | None,
        Description("What has to be changed for the first wrong step: first and past last character."),
    ]
    line: Annotated[int | None, Description("The line of that place, from 1.")]


@fact
class BenchAssumed:
    """A value that the text does not specify. Pass another under its key in `assume`."""

    key: str
    label: str
    value: Annotated[str | None, Description("null if it must be specified.")]
    why: str
    choices: tuple[str, ...]


@fact
class BenchEdit:
    """A replacement in the text: characters from first to before past, at line and column from 1."""

    first: int
    past: int
    line: int
    column: int
    before: str
    text: str


@fact
class BenchRepair:
    """Edits that were tried: with all of them every step of these operands is right, and no other is worse."""

    edits: tuple[BenchEdit, ...]
    operands: Annotated[tuple[str, ...], Description("Those that become right.")]
    words: Annotated[int, Description("How many descriptors are right then.")]


@fact
class BenchFacts:
    """The whole text, verified together."""

    verdict: Literal["match", "mismatch", "unknown"]
    headline: str
    detail: str
    holds: Annotated[str, Description("What the text has, in a sentence.")]
    pieces: tuple[BenchPiece, ...]
    operands: tuple[BenchOperand, ...]
    assumed: tuple[BenchAssumed, ...]
    missing: Annotated[tuple[str, ...], Description("What a verdict would need.")]
    caution: Annotated[
        tuple[str, ...],
        Description("Beside operands that are right: reserved bits of their words, and what was assumed. Else empty."),
    ]
    complete: Annotated[bool, Description("False where the text has more to run than is looked at.")]
    repairs: Annotated[
        tuple[BenchRepair, ...],
        Description("Literals whose change makes wrong operands right, each tried; several where one alone would do."),
    ]
    link: Annotated[str, Description("The page that shows it.")]


@fact
class Reading(Meaning):
    """What a text is, the likeliest meaning first."""

    also: Annotated[tuple[Meaning, ...], Description("Other meanings, less likely.")]
    bench: Annotated[
        BenchFacts | None,
        Description("With descriptors, tensor maps and instructions in one text: all verified together."),
    ] = make_optional_field()
    assumed: Annotated[
        Mapping[str, str] | None,
        Description("Of a bench: the assumptions of its verdict, key → value of `assume`."),
    ] = make_optional_field()
    caution: Annotated[
        tuple[str, ...] | None,
        Description("Of a bench: what speaks against calling right what matches; its own `caution`."),
    ] = make_optional_field()
    check: Annotated[
        CheckReport | None,
        Description("Of code: the report of POST /check. The file of its places is the text."),
    ] = make_optional_field()
