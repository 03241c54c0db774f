"""CuTe's algebra and thread-value layouts, for the API, the pages and the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from lanescope.app.kit.enumerations import Number
from lanescope.app.kit.fact import ByThread, Description, IntegerArray, Numbers, copy_fact, fact, make_optional_field
from lanescope.app.kit.memory_words import CuteText
from lanescope.app.kit.question import declare_question, parsed_field, text_field
from lanescope.app.layouts.atoms import expand_atoms
from lanescope.app.layouts.linear_layouts import split_sizes
from lanescope.cute import calls as cutecalls, tuples
from lanescope.cute.calls import AlgebraStep
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.tiles.tv import TV, tv
from lanescope.triton.linear import linear_from_cute

MOST_INDICES = 1 << 12


@declare_question
class CuteQuestion:
    """An expression of CuTe's algebra."""

    expression: str = parsed_field(
        lambda value, field: str(value or ""),
        "Expression",
        "CuTe's operations, nested or as statements: logical_divide((4,2,3):(2,1,8), 4:2), or A = …; B = …; A o B.",
        "A = (4,2,3):(2,1,8)\nlogical_divide(A, 4:2)",
        required=True,
        argument=True,
        examples=("logical_divide((4,2,3):(2,1,8), 4:2)",),
        wide=True,
        rows=3,
    )


@fact
class CuteLayoutFacts:
    """A layout and its properties."""

    cute: Annotated[str, Description("As CuTe prints it, e.g. ((2,2),3):((24,2),8).")]
    shape: str
    stride: str
    size: int
    cosize: Annotated[int, Description("One more than the greatest index, before a swizzle.")]
    rank: int
    depth: int
    indices: Annotated[Numbers | None, IntegerArray(1, "[coordinate], colexicographic: at most 4096")] = (
        make_optional_field()
    )


@fact
class CutePart:
    """The definition of an operation in CuTe: `logical_divide` is a complement and a composition."""

    expression: str
    result: str


@fact
class CuteStep:
    """One operation with its arguments."""

    operation: str
    expression: str
    result: Annotated[str, Description("A layout, a number or a tuple as CuTe prints it.")]
    layout: Annotated[CuteLayoutFacts | None, Description("Where the result is a layout.")] = make_optional_field()
    says: str
    parts: list[CutePart]
    name: Annotated[str | None, Description("What the statement assigns it to.")] = make_optional_field()


@fact
class CuteFacts:
    """An expression computed step by step; `result` is that of the last step."""

    expression: str
    result: str
    layout: CuteLayoutFacts | None = make_optional_field()
    steps: list[CuteStep]


def evaluate_expression(question: CuteQuestion) -> tuple[AlgebraStep, ...]:
    """Return the steps; if CuTe refuses the last one, its error says why."""
    return tuple(cutecalls.evaluate_statements(expand_atoms(question.expression)[0]))


def build_cute(question: CuteQuestion) -> CuteFacts:
    """CuTe's layout algebra: composition, complement, divides, products, inverses, coalesce, slices; each step with
    its result. An inadmissible step is refused with CuTe's condition and legal alternatives.
    """
    evaluated = evaluate_expression(question)
    for step in evaluated:
        if step.error:
            raise step.error.move_to_field("expression")
    steps = [_build_step(step) for step in evaluated]
    return CuteFacts(expression=question.expression, result=steps[-1].result, layout=steps[-1].layout, steps=steps)


def format_cute(question: CuteQuestion, answer: CuteFacts) -> Iterator[str]:
    """Yield the lines of the command."""
    for step in answer.steps:
        yield f"{step.name + ' = ' if step.name else ''}{step.expression}"
        yield from (f"  {part.expression} = {part.result}" for part in step.parts)
        if step.operation != "layout":
            yield f"  = {step.result}"
        yield f"  {step.says}"


def _build_step(step: AlgebraStep) -> CuteStep:
    return CuteStep(
        operation=step.op,
        expression=step.text,
        result=cutecalls.format_value(step.result),
        says=step.says,
        layout=build_cute_layout(step.result),
        parts=[CutePart(expression=one.text, result=cutecalls.format_value(one.result)) for one in step.parts],
        name=step.name or None,
    )


def build_cute_layout(value: Any) -> CuteLayoutFacts | None:
    """Return a layout's facts; None for any other value."""
    if not isinstance(value, CuteLayout):
        return None
    return copy_fact(
        CuteLayoutFacts,
        value,
        cute=str(value),
        shape=tuples.format_tuple(value.shape),
        stride=tuples.format_tuple(value.stride),
        depth=tuples.depth(value.shape),
        indices=value.list_indices() if value.size <= MOST_INDICES else None,
    )


# thread-value layouts -------------------------------------------------------------------------------------------------


def _parse_tile(value: Any, field: str) -> list[Any]:
    if not isinstance(value, list):
        why = "missing" if value in (None, "") else shorten_value(value)
        raise LayoutError("bad_tile", f"{field} is {why}.", "A list of two sizes: [rows, columns].", field)
    return value


@declare_question
class TvBody:
    """A thread-value layout over a tile."""

    cute: str = text_field(
        "((4,8),(2,2,2)):((32,1),(16,8,128))",
        "Layout (thread, value) → element",
        "(thread, value) → element: ((4,8),(2,2)):((32,1),(16,8)), or in C++ or Python.",
        check=parse_cute_layout,
        required=True,
        argument=True,
        type=CuteText,
        examples=("((4,8),(2,2,2)):((32,1),(16,8,128))",),
        wide=True,
    )
    tile: list[Any] = parsed_field(
        _parse_tile,
        "Tile",
        "Rows and columns: 16x16, in JSON [16, 16].",
        required=True,
        split=split_sizes,
        type=Annotated[list[Number], Description(limits={"minItems": 2, "maxItems": 2})],
        size=8,
        placeholder="16x16",
    )

    @property
    def layout(self) -> TV:
        return tv(self.cute, self.tile)


@fact
class TvFacts:
    """A thread-value layout over a tile."""

    cute: str
    threads: int
    values: int
    row: ByThread
    col: ByThread
    copies: Annotated[int, Description("The largest number of (thread, value) pairs that hold one element.")]
    covered: Annotated[int, Description("Elements of the tile that some thread holds.")]
    linear_layout: Annotated[
        dict[str, list[list[int]]] | None,
        Description("Triton's bases of register, lane and warp over (row, column); null if the layout is not linear."),
    ]
    why: Annotated[str | None, Description("Why it is not linear.")] = make_optional_field()
    elements: Annotated[int, Description("Elements of the tile.")]


def build_tv(question: TvBody) -> TvFacts:
    """A thread-value layout over a tile of rows × columns, rows varying fastest."""
    layout = question.layout
    bases, why = None, None
    try:
        bases = linear_from_cute(layout.layout, (layout.row_count, layout.col_count)).list_bases()
    except LayoutError as error:
        why = error.message
    return copy_fact(
        TvFacts,
        layout,
        linear_layout=bases,
        why=why,
        cute=str(layout.layout),
        row=layout.rows,
        col=layout.cols,
        elements=layout.row_count * layout.col_count,
    )
