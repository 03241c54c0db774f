"""The command show."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from lanescope.app.kit.terminal import AsJson, InstructionDescriptor, Ptx, print_json, print_table

if TYPE_CHECKING:
    from lanescope.app.instruction.answers import Answer
    from lanescope.ptx.instruction import Instruction, Operand

app = typer.Typer(rich_markup_mode=None)


@app.command()
def show(
    ptx: Ptx,
    operand: Annotated[str, typer.Argument(help="a, b, c or d; all when left out.")] = "",
    *,
    at: Annotated[str, typer.Option("--at", help="ROW,COL: who holds this element?")] = "",
    lane: Annotated[str, typer.Option("--lane", help="A lane (thread): what does it hold?", metavar="<int>")] = "",
    value: Annotated[str, typer.Option("--value", help="With --lane: one value only.", metavar="<int>")] = "",
    idesc: InstructionDescriptor = "",
    target: Annotated[
        str, typer.Option(help="What ptxas compiles for (sm_90a); an instruction that it lacks is refused.")
    ] = "",
    pointer: Annotated[str, typer.Option(help="Of a wmma.load or wmma.store: may it begin here?")] = "",
    ldm: Annotated[str, typer.Option(help="Of a wmma.load or wmma.store: elements from row to row.")] = "",
    as_json: AsJson = False,
) -> None:
    """Print the lane, register and bits of an element, the elements of a lane, or the facts of every operand; or the
    instructions that a shorter name means. Exit status 1 if a pointer or an ldm is illegal.
    """
    from lanescope.app.instruction import answers, facts as about
    from lanescope.inputs import parse_integer
    from lanescope.ptx import catalog

    of_all = not any((operand, at, lane, value, pointer, ldm, idesc))
    name = _find_named(ptx) if of_all and catalog.find_instruction(ptx) is None else ptx
    if not name:
        from lanescope.app.read.verbs import print_reading

        return print_reading(ptx, as_json)
    instruction = about.find_instruction(name, idesc, target)
    _check_options(instruction, operand, {"at": at, "lane": lane, "value": value, "pointer": pointer, "ldm": ldm})
    op = instruction.operand(operand) if operand else None
    answer: Answer
    if op and at:
        answer = answers.find_owners(op, at)
    elif op and lane:
        answer = answers.find_lane_values(
            op, parse_integer(lane, "lane"), parse_integer(value, "value") if value else None
        )
    elif op:
        answer = about.build_operand_map(instruction, op) if as_json else answers.find_all_values(op)
    else:
        answer = about.build_detail(instruction, pointer, ldm)
    _print_answer(instruction, op, answer, as_json)
    check = answers.get_pointer_check(answer)
    if check and not check.legal:
        raise typer.Exit(1)


def _find_named(text: str) -> str:
    """Find the PTX text of the only instruction that a text names, as the paste box reads it; "" if it means something
    else, or several.
    """
    from lanescope.app.read.certain_links import find_certain_link
    from lanescope.app.read.text_meanings import read_text
    from lanescope.names import lookup
    from lanescope.ptx.refusals import make_unknown_instruction

    reading = read_text(text)
    if reading.kind == "instruction" and reading.facts["ptx"] and find_certain_link(text) == reading.link:
        return "" if "holders" in reading.facts else str(reading.facts["ptx"])
    if reading.kind == "unknown":
        nearest = [ptx for meaning in reading.also for ptx in meaning.facts.get("candidates", ())]
        if not nearest or reading.title != "No such instruction":
            return lookup.find(text).ptx
        raise make_unknown_instruction(reading.notices[0], nearest)
    return ""


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
        raise LayoutError("bad_usage", "--value needs a --lane.", "Try --lane 13 --value 2.", "value")


def _print_answer(instruction: Instruction, operand: Operand | None, answer: Answer, as_json: bool) -> None:
    from lanescope.app.instruction import answers

    if as_json:
        print_json(answer)
    elif operand and sys.stdout.isatty():
        print_table(*answers.build_table(operand, answer))
    else:
        print(answers.format_answer(instruction, operand, answer))
