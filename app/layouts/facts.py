"""CuTe's algebra as the API, the page and the command line say it. No framework."""

from __future__ import annotations

from typing import Annotated, Any

from app.kit.fact import Integers, Numbers, Says, fact, sometimes
from layouts import cutecalls, tuples
from layouts.cute import CuteLayout
from layouts.cutecalls import Step
from layouts.errors import LayoutError

MOST_INDICES = 1 << 12


@fact
class CuteLayoutFacts:
    """A layout, and what CuTe says of it."""

    cute: Annotated[str, Says("As CuTe prints it, e.g. ((2,2),3):((24,2),8).")]
    shape: str
    stride: str
    size: int
    cosize: Annotated[int, Says("One more than the greatest index, before a swizzle.")]
    rank: int
    depth: int
    indices: Annotated[Numbers | None, Integers(1, "[coordinate], colexicographic: at most 4096")] = sometimes()


@fact
class CutePart:
    """What CuTe makes of an operation: `logical_divide` is a complement and a composition."""

    expression: str
    result: str


@fact
class CuteStep:
    """One operation, arguments written out."""

    operation: str
    expression: str
    result: Annotated[str, Says("A layout, a number or a tuple as CuTe prints it.")]
    layout: Annotated[CuteLayoutFacts | None, Says("Where the result is a layout.")] = sometimes()
    says: str
    parts: list[CutePart]
    name: Annotated[str | None, Says("What the statement assigns it to.")] = sometimes()


@fact
class CuteFacts:
    """An expression computed step by step; `result` is that of the last."""

    expression: str
    result: str
    layout: CuteLayoutFacts | None = sometimes()
    steps: list[CuteStep]


def cute_facts(expression: str) -> CuteFacts:
    """GET /cute. LayoutError where a step is refused: CuTe's condition, and what would do."""
    made = cutecalls.steps(expression)
    for step in made:
        if step.error:
            raise step.error.at("expression")
    told = [_step(step) for step in made]
    return CuteFacts(expression=expression, result=told[-1].result, layout=told[-1].layout, steps=told)


def _step(step: Step) -> CuteStep:
    return CuteStep(
        operation=step.op, expression=step.text, result=cutecalls.written(step.result), says=step.says,
        layout=layout_facts(step.result),
        parts=[CutePart(expression=one.text, result=cutecalls.written(one.result)) for one in step.parts],
        name=step.name or None,
    )  # fmt: skip


def layout_facts(value: Any) -> CuteLayoutFacts | None:
    """A layout's facts; None for any other value."""
    if not isinstance(value, CuteLayout):
        return None
    return CuteLayoutFacts(
        cute=str(value), shape=tuples.spelled(value.shape), stride=tuples.spelled(value.stride), size=value.size,
        cosize=value.cosize, rank=value.rank, depth=tuples.depth(value.shape),
        indices=value.indices() if value.size <= MOST_INDICES else None,
    )  # fmt: skip


def refused(made: list[Step]) -> LayoutError | None:
    """The refusal that ends the steps, None where there is none."""
    return made[-1].error
