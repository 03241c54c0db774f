"""The verb show."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from lanescope.app.kit.terminal import AsJson, InstructionDescriptor, Ptx, print_json, print_table

if TYPE_CHECKING:
    from lanescope.ptx.instruction import Instruction

app = typer.Typer(rich_markup_mode=None)


@app.command()
def show(
    ptx: Ptx,
    operand: Annotated[str, typer.Argument(help="a, b, c or d; all when left out.")] = "",
    *,
    at: Annotated[str, typer.Option("--at", help="ROW,COL: who holds this element?")] = "",
    lane: Annotated[str, typer.Option("--lane", help="A lane (thread): what does it hold?")] = "",
    value: Annotated[str, typer.Option("--value", help="With --lane: one value only.")] = "",
    idesc: InstructionDescriptor = "",
    pointer: Annotated[str, typer.Option(help="Of a wmma.load or wmma.store: may it begin here?")] = "",
    ldm: Annotated[str, typer.Option(help="Of a wmma.load or wmma.store: elements from row to row.")] = "",
    as_json: AsJson = False,
) -> None:
    """Element → lane, register, bits; or lane → elements; or the facts of every operand. Exit status 1 where a pointer
    or an ldm is illegal.
    """
    from lanescope.app.instruction import answers
    from lanescope.app.instruction import facts as about
    from lanescope.inputs import parse_integer

    instruction = about.find_instruction(ptx, idesc)
    _check_options(instruction, operand, {"at": at, "lane": lane, "value": value, "pointer": pointer, "ldm": ldm})
    op = instruction.operand(operand) if operand else None
    answer: answers.Answer
    if op and at:
        answer = answers.find_owners(op, at)
    elif op and lane:
        answer = answers.find_lane_values(
            op, parse_integer(lane, "lane"), parse_integer(value, "value") if value else None
        )
    else:
        answer = about.build_operand_map(instruction, op) if op else about.build_detail(instruction, pointer, ldm)
    if as_json:
        print_json(answer)
    elif op and sys.stdout.isatty():
        print_table(*answers.build_table(op, answer))
    else:
        print(answers.format_answer(instruction, op, answer))
    check = answers.get_pointer_check(answer)
    if check and not check.legal:
        raise typer.Exit(1)


def _check_options(instruction: Instruction, operand: str, options: Mapping[str, str]) -> None:
    """Raise LayoutError for options of `show` that exclude or need one another."""
    from lanescope.errors import LayoutError

    if not operand and (options["at"] or options["lane"]):
        raise LayoutError(
            "bad_usage", "--at and --lane need an operand.", f"One of {', '.join(instruction.operands)}.", "operand"
        )
    if operand and (options["pointer"] or options["ldm"]):
        name = "pointer" if options["pointer"] else "ldm"
        raise LayoutError("bad_usage", f"--{name} is of the whole instruction.", "Leave the operand out.", name)
    if options["value"] and not options["lane"]:
        raise LayoutError("bad_usage", "--value needs a --lane.", "e.g. --lane 13 --value 2.", "value")
