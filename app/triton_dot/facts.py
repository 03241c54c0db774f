"""Facts about Triton's tl.dot, for the API and the page."""

from __future__ import annotations

from typing import Annotated, Any

from lanescope.app.kit.enumerations import Target
from lanescope.app.kit.fact import Description, copy_fact, fact, make_optional_field
from lanescope.app.kit.question import declare_question, flag_field, number_field, word_field
from lanescope.blackwell.tmem import COLUMNS
from lanescope.ptx.targets import TARGETS, parse_target_name
from lanescope.triton.dot import TritonDot, choose_instruction
from lanescope.triton.dot_product import DotChoice, DotOperand
from lanescope.triton.dot_types import ACCUMULATORS, PRECISIONS, TYPES

VERSION = "3.9.0"
SCOPE = (
    "One product of a tile: A and B are loaded by pointers in the type that is multiplied, A may be computed from what"
    " was loaded, and D feeds no other product. Chains of dots, tensor descriptors, conversions behind the load and"
    " transposed operands are open."
)
SCALES = {"none": "", "ab": "ab", "a": "a", "b": "b"}
ELEMENT_BITS = {"fp32": 32, "fp16": 16, "int32": 32, "fp64": 64}


def _type_field(label: str, help: str) -> Any:
    return word_field(TYPES, label, help)


@declare_question
class TritonDotQuestion:
    """A tl.dot or tl.dot_scaled of a tile, and its target."""

    m: int = number_field(128, "M", "Rows of A and D; of all blocks of the cluster.", least=1)
    n: int = number_field(128, "N", "Columns of B and D; of all blocks of the cluster.", least=1)
    k: int = number_field(64, "K", "Columns of A.", least=1)
    a: str = _type_field("A", "Element type of A, by Triton's name; e2m1 for tl.dot_scaled")
    b: str = _type_field("B", "Element type of B")
    acc: str = word_field(
        ACCUMULATORS,
        "D",
        "Element type of D; that of Triton's default where it is empty.",
        "",
        called={"": "default"},
    )
    num_warps: int = number_field(4, "num_warps", "Warps of a block.", least=1)
    num_ctas: int = number_field(1, "num_ctas", "Blocks of a cluster.", least=1)
    target: str = word_field(
        TARGETS, "Target", "What the kernel is compiled for.", "sm_90a", parse=parse_target_name, type=Target
    )
    precision: str = word_field(PRECISIONS, "input_precision", "How fp32 is multiplied.")
    scales: str = word_field(
        SCALES,
        "Scales",
        "Which operands have scale factors: tl.dot_scaled; none for tl.dot.",
        called={"ab": "A and B", "a": "A", "b": "B"},
    )
    factor: int = number_field(32, "Scale covers", "Elements of K that share a scale factor: 32, or 16 for NVFP4.")
    imprecise: int | None = number_field(
        None, "max_num_imprecise_acc", "Of FP8; Triton's default where it is left out."
    )
    computed: bool = flag_field("A is computed", "1: A is computed in registers from what was loaded.")


@fact
class TritonAttempt:
    """An instruction that Triton considers."""

    instruction: str
    taken: bool
    failed: Annotated[list[str], Description("The conditions that the product fails.")]


@fact
class TritonOperand:
    """The place of an operand when the instruction reads it."""

    place: Annotated[str, Description(examples=("registers", "shared memory", "tensor memory"))]
    type: Annotated[str, Description("Its element type there, by Triton's name.")]
    layout: Annotated[
        str | None,
        Description("As Triton prints it; left out where it depends on the operand's layout in global memory."),
    ] = make_optional_field()


@fact
class TritonDotFacts:
    """The code that Triton generates for one product."""

    instruction: Annotated[str, Description(examples=("tcgen05.mma", "wgmma.mma_async", "mma.sync", "fma"))]
    reason: Annotated[str, Description("The condition that decided.")]
    attempts: Annotated[list[TritonAttempt], Description("In Triton's order; the last one is taken.")]
    ptx: Annotated[str, Description("The PTX instruction with its modifiers.")]
    products: Annotated[int, Description("Products that one of fp32 becomes: 3 or 6 by input_precision.")]
    layout: Annotated[str, Description("Of D, as Triton prints it.")]
    shape: Annotated[tuple[int, ...], Description("Rows and columns of the product as it is computed.")]
    transposed: Annotated[bool, Description("Whether Triton computes the transpose, D' = B'·A'.")]
    element_bits: Annotated[int, Description("Of D.")]
    a: TritonOperand
    b: TritonOperand
    notes: list[str]
    scope: Annotated[str, Description("What the answer covers, and what is open.")]
    triton: Annotated[str, Description("The version that it follows.")]
    layout_before: Annotated[
        str | None, Description("Of the sums before the last of several products, where it differs.")
    ] = make_optional_field()


def parse_dot(question: TritonDotQuestion) -> TritonDot:
    """Return the product of a question."""
    default = {"int8": "int32", "fp64": "fp64"}.get(question.a, "fp32")
    return copy_fact(
        TritonDot,
        question,
        acc=question.acc or default,
        scales=SCALES[question.scales],
        computed=question.computed,
    )


def build_triton_dot(question: TritonDotQuestion) -> TritonDotFacts:
    """Return the instruction that Triton 3.9 chooses for a tl.dot or tl.dot_scaled, the layout of D, and the
    condition that decided.
    """
    dot = parse_dot(question)
    found = choose_instruction(dot)
    return copy_fact(
        TritonDotFacts,
        found,
        instruction=found.attempts[-1].instruction,
        reason=f"{found.reason}.",
        attempts=[
            TritonAttempt(instruction=attempt.instruction, taken=not attempt.failed, failed=list(attempt.failed))
            for attempt in found.attempts
        ],
        products=found.product.count,
        element_bits=ELEMENT_BITS[dot.acc],
        a=_build_operand(found.a),
        b=_build_operand(found.b),
        notes=[*found.notes, *_warn_of_columns(found)],
        scope=SCOPE,
        triton=VERSION,
        layout_before=found.before or None,
    )


def _build_operand(operand: DotOperand) -> TritonOperand:
    return TritonOperand(place=operand.place, type=operand.type.name, layout=operand.layout or None)


def _warn_of_columns(choice: DotChoice) -> list[str]:
    """Return a warning if D alone takes more tensor memory than an SM has."""
    if choice.columns <= COLUMNS:
        return []
    return [f"D takes {choice.columns} columns of tensor memory; an SM has {COLUMNS}: the kernel cannot be launched."]
