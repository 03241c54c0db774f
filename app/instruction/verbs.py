"""The verb show."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lanescope.app.kit.terminal import AsJson, InstructionDescriptor, Ptx, print_json, print_table

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
    from lanescope.errors import LayoutError
    from lanescope.inputs import parse_integer

    found = about.find_instruction(ptx, idesc)
    if not operand and (at or lane):
        raise LayoutError(
            "bad_usage", "--at and --lane need an operand.", f"One of {', '.join(found.operands)}.", "operand"
        )
    if operand and (pointer or ldm):
        name = "pointer" if pointer else "ldm"
        raise LayoutError("bad_usage", f"--{name} is of the whole instruction.", "Leave the operand out.", name)
    if value and not lane:
        raise LayoutError("bad_usage", "--value needs a --lane.", "e.g. --lane 13 --value 2.", "value")
    op = found.operand(operand) if operand else None
    result: answers.Answer
    if op and at:
        result = answers.find_owners(op, at)
    elif op and lane:
        result = answers.find_lane_values(
            op, parse_integer(lane, "lane"), parse_integer(value, "value") if value else None
        )
    else:
        result = about.build_operand_map(found, op) if op else about.build_detail(found, pointer, ldm)
    if as_json:
        print_json(result)
    elif op and sys.stdout.isatty():
        print_table(*answers.build_table(op, result))
    else:
        print(answers.format_answer(found, op, result))
    check = answers.get_pointer_check(result)
    if check and not check.legal:
        raise typer.Exit(1)
