"""Facts about an accumulator as the next A operand, for the API, the page and the command line."""

from __future__ import annotations

from typing import Annotated, Any

from lanescope import inputs
from lanescope.app.kit.fact import ByThread, Description, copy_fact, fact
from lanescope.app.kit.question import declare_question, number_field, parsed_field
from lanescope.app.kit.requests import parse_instruction_field
from lanescope.ptx.instruction import Instruction
from lanescope.render.reuse import find_conversion, render_code
from lanescope.tiles.reuse import match_accumulator

FLASH = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def _declare_instruction(operand: str, label: str, help: str) -> Any:
    """Declare an instruction that has an operand."""

    def parse(value: Any, field: str) -> Instruction:
        instruction = parse_instruction_field(value, field)
        instruction.operand(operand)
        return instruction

    return parsed_field(
        parse,
        label,
        help,
        FLASH,
        required=True,
        argument=True,
        examples=(FLASH,),
        size=58,
        wide=True,
        suggest="known",
    )


@declare_question
class ReuseQuestion:
    """Two instructions; the second takes D of the first as A."""

    from_: Instruction = _declare_instruction("d", "D of the first", "The instruction whose D is reused.")
    to: Instruction = _declare_instruction("a", "A of the next", "The instruction whose A it becomes.")
    step: int = number_field(0, "K step", "The K step of A that tile, thread and value show.", examples=("0",))


@fact
class Reuse:
    """Which values of A are already in their lane. `tile`, `thread`, `value`: [thread][value] of A in one K step →
    the place in D.
    """

    from_: str
    to: str
    verdict: Annotated[str, Description(examples=("registers",))]
    tiles: Annotated[int, Description("D tiles side by side that make all K steps.")]
    steps: Annotated[int, Description("K steps of A that they make.")]
    stay: Annotated[int, Description("Elements already in their lane, of all K steps.")]
    total: int
    order: Annotated[
        tuple[int, ...] | None,
        Description(
            "For each column of all K steps the column of D in whose place nothing moves; null if no order exists."
        ),
    ]
    order_period: Annotated[
        int, Description("The order repeats after so many columns, shifted by as many; 0 without an order.")
    ]
    step: int
    tile: ByThread
    thread: ByThread
    value: ByThread
    conversion: Annotated[str, Description("How a value of D becomes one of A's type.")]
    code: str

    @property
    def headline(self) -> str:
        """Return the verdict in one line."""
        match self.verdict:
            case "registers":
                return f"All {self.total} elements are already in their lane"
            case "reordered":
                return "No shuffle, if K is taken in another order"
            case _:
                return f"{self.total - self.stay} of {self.total} elements need a shuffle"

    @property
    def advice(self) -> str:
        """Return what to do, and how many tiles of D or K steps of A there are."""
        match self.verdict:
            case "registers":
                advice = "Convert and pack; no value moves between lanes."
            case "reordered":
                advice = (
                    f"{self.stay} of {self.total} elements are in their lane. With K taken in another order all of them"
                    " are: read B's rows in the same order."
                )
            case _:
                advice = f"{self.stay} are in their lane. No order of K avoids the shuffle."
        if self.tiles > 1:
            operand = f"{self.steps} K steps" if self.steps > 1 else "one A"
            return f"{advice} {self.tiles} tiles of D side by side make {operand}."
        return f"{advice} One D makes {self.steps} K steps." if self.steps > 1 else advice

    @property
    def order_text(self) -> str:
        """Return the order of K and how it goes on; "" if nothing is reordered."""
        if self.verdict != "reordered" or self.order is None:
            return ""
        order = " ".join(map(str, self.order[: self.order_period]))
        repeats = self.order_period < len(self.order)
        return f"{order}, and so on every {self.order_period} rows of B" if repeats else order


def find_reuse(question: ReuseQuestion) -> Reuse:
    """D of `from` as A of `to`. `tile`, `thread`, `value`: [thread][value] of A in one K `step` → tile of D, thread
    and value that hold the element.
    """
    first, second = question.from_, question.to
    reuse = match_accumulator(first, second)
    step = inputs.parse_integer(question.step, "step", 0, reuse.steps - 1)
    return copy_fact(
        Reuse,
        reuse,
        from_=first.ptx,
        to=second.ptx,
        stay=int(reuse.stays.sum()),
        total=int(reuse.stays.size),
        order_period=reuse.period,
        step=step,
        tile=reuse.tile[step],
        thread=reuse.lane[step],
        value=reuse.value[step],
        conversion=find_conversion(reuse.source.element.name, reuse.target).note,
        code=render_code(reuse),
    )
