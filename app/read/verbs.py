"""The command read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanescope.app.kit.terminal import AsJson, print_json, read_text

if TYPE_CHECKING:
    from lanescope.app.read.facts import BenchFacts, BenchOperand, BenchStep, Meaning

_SOURCE = re.compile(r"\.(?:cuh?|h|hpp|cc|cpp|cxx|ptx|py|txt|md|mlir|ttgir|ll|sass|json|npy|log)$", re.I)
_NO_NAME = re.compile(r"[][(){}<>=,;*&|?!]|::")  # A[5], row=lane/4: nobody names a file so
LONGEST_LINK = 160  # longest printed link
app = typer.Typer(rich_markup_mode=None)


@app.command()
def read(
    file: Annotated[
        str, typer.Argument(metavar="FILE|TEXT", help="A file with the text, or the text; - for standard input.")
    ] = "-",
    assume: Annotated[
        list[str] | None, typer.Option(help="KEY=VALUE for a value that the text does not specify; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Any text: PTX, a descriptor or its code, a CuTe layout, a CUTLASS atom, SASS; several in one are verified
    together; a question such as "A[5][9] of mma.m16n8k16 bf16". Exit status 1 if the text is unknown, if a formula
    matches no operand, if ptxas refuses a line, if a descriptor reads the wrong bytes, or if the text does not say
    enough to decide. Code that only builds a descriptor, and the bare name of an instruction, need no verdict.
    """
    print_reading(_read_argument(file), as_json, assume or ())


def print_reading(text: str, as_json: bool, assumptions: Sequence[str] = ()) -> None:
    """Print the meanings of a text, as in the paste box; exit status 1 if it is unknown or wrong.

    assumptions: KEY=VALUE for what the text does not specify.
    """
    from lanescope.app.read.answer import read_and_verify
    from lanescope.app.read.workbench import has_descriptor_reader

    reading = read_and_verify(text, _parse_assumptions(assumptions))
    meanings = (reading, *reading.also)
    if as_json:
        print_json(reading)
    elif reading.bench:
        _print_bench(reading.bench)
    else:
        for number, meaning in enumerate(meanings):
            _print_meaning(meaning, text, "also " if number else "")
    refused = any("refused" in meaning.facts for meaning in meanings)
    refused |= any(meaning.kind == "fragment" and not _agrees(meaning.facts) for meaning in meanings)
    verdict = reading.bench.verdict if reading.bench else "match" if not has_descriptor_reader(text) else "unknown"
    if reading.kind == "unknown" or refused or verdict != "match":
        raise typer.Exit(1)


def _read_argument(argument: str) -> str:
    """Read the file that an argument names, or return the argument if it is a text."""
    from lanescope.app.read.elsewhere import find_maker
    from lanescope.app.read.text_meanings import read_text as recognise
    from lanescope.errors import LayoutError
    from lanescope.inputs import shorten_value as shorten

    try:
        return read_text(argument)
    except LayoutError as error:
        one_word = not re.search(r"\s", argument) and not _NO_NAME.search(argument)
        if error.code != "bad_usage" or _SOURCE.search(argument) or (one_word and re.search(r"[/\\]", argument)):
            raise
        if one_word and recognise(argument).kind == "unknown" and not find_maker(argument):
            message = f"'{shorten(argument, 120)}' is neither a file nor a text that Lanescope recognises."
            raise LayoutError(error.code, message, error.hint, error.field) from None
        return argument


def _parse_assumptions(pairs: Sequence[str]) -> dict[str, str]:
    """Parse KEY=VALUE pairs."""
    from lanescope.errors import LayoutError

    for pair in pairs:
        if "=" not in pair:
            raise LayoutError("bad_text", f"'{pair[:60]}' is not KEY=VALUE.", "Try --assume at.smem_A=0x400", "assume")
    return dict(pair.split("=", 1) for pair in pairs)


def _print_meaning(meaning: Meaning, text: str, prefix: str) -> None:
    """Print a meaning: its title, the possible full names, its descriptors, notices and page."""
    from lanescope.app.memory.tile_descriptors import format_described

    print(f"{prefix}{meaning.kind}: {meaning.title}")
    lines = list(meaning.facts.get("candidates", ()))
    lines += list(_list_agreeing(meaning.facts)) if meaning.kind == "fragment" else []
    lines += [line for tile in meaning.facts.get("descriptors", ()) for line in format_described(tile)]
    is_answer = meaning.kind == "topic" or "holders" in meaning.facts
    lines += [notice if is_answer else f"! {notice}" for notice in meaning.notices]
    link = _link_short(meaning.link, text) if meaning.kind != "unknown" else ""
    for line in (*lines, *filter(None, [link])):
        print(f"  {line}")


def _agrees(facts: Mapping[str, Any]) -> bool:
    return bool(facts["agree"] or facts["exchanged"] or facts["addresses"] or facts["part"])


def _list_agreeing(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each map that matches a formula or a loop."""
    from lanescope.reader.fragment_answer import name_values

    for how, rows in (
        ("agrees with", facts["agree"]),
        ("begins as", facts["begin"]),
        ("half of", facts["half"]),
        ("exchanged", facts["exchanged"]),
    ):
        for row in rows:
            times = f", {row['times']} times" if row["times"] > 1 else ""
            order = f", {row['order']}" if row["order"] else ""
            values = f"{row['values']} value{'s' * (row['values'] > 1)}"
            yield f"{how}: {row['name']}: {values} of {row['threads']} threads{times}{order}"
    for row in facts["part"]:
        yield f"{name_values(row['held'])} of: {row['name']}: {row['values']} values of {row['threads']} threads"
    for row in facts["addresses"]:
        yield f"gives: {row['name']}"
    yield f"compared with {facts['compared']} maps"


def _link_short(link: str, text: str) -> str:
    """Return a link short enough for a line of a terminal: the page with the compressed text; "" if that is too long,
    too.
    """
    from lanescope.app.read.workbench import compress_text

    if len(link) > LONGEST_LINK and link.startswith("/read?"):
        link = f"/read?z={compress_text(text)}"
    return link if len(link) <= LONGEST_LINK else ""


def find_first_wrong(operand: BenchOperand) -> BenchStep | None:
    """Find the first step of an operand that reads the wrong bytes."""
    return next((step for step in operand.steps if step.verdict == "mismatch"), None)


def _print_bench(bench: BenchFacts) -> None:
    """Print the verdict, the assumptions, and a line per step."""
    print(f"{bench.verdict}: {bench.headline}")
    if bench.detail and not (bench.verdict == "match" and bench.caution):  # a match would repeat it
        print(f"  {bench.detail}")
    _print_marked("!", bench.caution)
    for assumption in bench.assumed:
        print(
            f"  assumed {assumption.key}={assumption.value}"
            if assumption.value
            else f"  open {assumption.key}: {assumption.label}",
            f"({assumption.why})",
        )
    _print_marked("!", bench.missing)
    for piece in bench.pieces:
        _print_marked("!", piece.notices if piece.kind == "instruction" else ())
        _print_marked("?", piece.doubts)
    for operand in bench.operands:
        _print_operand(operand)


def _print_marked(sign: str, notices: Iterable[str]) -> None:
    for notice in notices:
        print(f"  {sign} {notice}")


SIGNS = {"match": "✓", "mismatch": "✗", "unknown": "?"}


def _print_operand(operand: BenchOperand) -> None:
    """Print where an operand is stored, and for each step what its descriptor reads."""
    print(f"\n{operand.name.upper()} of {operand.instruction}, {operand.major}-major: {operand.why}")
    if operand.storage_why:
        print(f"  stored as {operand.storage_why}")
    _print_marked("!", operand.notices)
    for step in operand.steps:
        part = step.slice
        place = f"{operand.name.upper()}[{part.mn}…{part.mn + part.rows - 1}, {part.k}…{part.k + part.depth - 1}]"
        stage = f"stage {step.stage} " if operand.stages > 1 else ""
        read_text = (
            hex(step.read) if step.expected in (None, step.read) else f"{step.read:#x} ≠ {step.expected or 0:#x}"
        )
        print(f"  {SIGNS[step.verdict]} {stage}step {part.k // part.depth}  {step.descriptor}  {place}  {read_text}")
        for cause in step.diagnoses[:1]:
            prefix = f"line {operand.line}: " if operand.line is not None and step is find_first_wrong(operand) else ""
            print(f"      {prefix}{cause.code}: {cause.message}" + (f" → {cause.fix}" if cause.fix else ""))
