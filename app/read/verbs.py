"""The verb read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from lanescope.app.kit.terminal import AsJson, print_json, read_text

if TYPE_CHECKING:
    from lanescope.app.read.facts import BenchFacts, BenchOperand, BenchStep, Meaning

LONGEST_LINK = 160  # characters of a link that is printed
app = typer.Typer(rich_markup_mode=None)


@app.command()
def read(
    file: Annotated[str, typer.Argument(help="A file with the text; - for standard input.")] = "-",
    assume: Annotated[
        list[str] | None, typer.Option(help="KEY=VALUE for what the text leaves open, as often as needed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Any text: PTX, a descriptor or its code, a CuTe layout, a CUTLASS atom, SASS; several in one are verified
    together. Exit status 1 where it is unknown, where ptxas refuses a line, where there is no verdict, and where a
    descriptor reads the wrong bytes. Code that only builds a descriptor, and an instruction's bare name, ask for none.
    """
    from lanescope.app.read.answer import read_and_verify
    from lanescope.app.read.workbench import has_descriptor_reader

    text = read_text(file)
    told = read_and_verify(text, _assumptions(assume or ()))
    meanings = (told, *told.also)
    if as_json:
        print_json(told)
    elif told.bench:
        _print_bench(told.bench)
    else:
        for number, meaning in enumerate(meanings):
            _print_meaning(meaning, text, "also " if number else "")
    refused = any("refused" in meaning.facts for meaning in meanings)
    judged = told.bench.verdict if told.bench else "match" if not has_descriptor_reader(text) else "unknown"
    if told.kind == "unknown" or refused or judged != "match":
        raise typer.Exit(1)


def _assumptions(pairs: Sequence[str]) -> dict[str, str]:
    """Return what KEY=VALUE pairs say of the text."""
    from lanescope.errors import LayoutError

    for pair in pairs:
        if "=" not in pair:
            raise LayoutError("bad_text", f"'{pair[:60]}' is not KEY=VALUE.", "e.g. --assume at.smem_A=0x400", "assume")
    return dict(pair.split("=", 1) for pair in pairs)


def _print_meaning(meaning: Meaning, text: str, before: str) -> None:
    """Print what a text is, what it may be in full, its descriptors, notices and page."""
    from lanescope.app.memory.tile_descriptors import format_described

    print(f"{before}{meaning.kind}: {meaning.title}")
    below = list(meaning.facts.get("candidates", ()))
    below += [line for tile in meaning.facts.get("descriptors", ()) for line in format_described(tile)]
    below += [notice if meaning.kind == "topic" else f"! {notice}" for notice in meaning.notices]
    link = _link_short(meaning.link, text) if meaning.kind != "unknown" else ""
    for line in (*below, *filter(None, [link])):
        print(f"  {line}")


def _link_short(link: str, text: str) -> str:
    """A link that a line of a terminal holds: the text's own page with the text packed; "" where that is long, too."""
    from lanescope.app.read.workbench import compress_text

    if len(link) > LONGEST_LINK and link.startswith("/read?"):
        link = f"/read?z={compress_text(text)}"
    return link if len(link) <= LONGEST_LINK else ""


def find_first_wrong(own: BenchOperand) -> BenchStep | None:
    """The first step of an operand that reads the wrong bytes."""
    return next((step for step in own.steps if step.verdict == "mismatch"), None)


def _print_bench(told: BenchFacts) -> None:
    """The verdict, what was assumed, and a line a step."""
    print(f"{told.verdict}: {told.headline}")
    if told.detail and not (told.verdict == "match" and told.caution):  # of a match it says the same
        print(f"  {told.detail}")
    _print_marked("!", told.caution)
    for one in told.assumed:
        print(f"  assumed {one.key}={one.value}" if one.value else f"  open {one.key}: {one.label}", f"({one.why})")
    _print_marked("!", told.missing)
    for piece in told.pieces:
        _print_marked("!", piece.notices if piece.kind == "instruction" else ())
        _print_marked("?", piece.doubts)
    for own in told.operands:
        _print_operand(own)


def _print_marked(sign: str, notices: Iterable[str]) -> None:
    for notice in notices:
        print(f"  {sign} {notice}")


SIGNS = {"match": "✓", "mismatch": "✗", "unknown": "?"}


def _print_operand(own: BenchOperand) -> None:
    """Print where an operand lies, and for each step what its descriptor reads."""
    print(f"\n{own.name.upper()} of {own.instruction}, {own.major}-major: {own.why}")
    if own.storage_why:
        print(f"  stored as {own.storage_why}")
    _print_marked("!", own.notices)
    for step in own.steps:
        part = step.slice
        place = f"{own.name.upper()}[{part.mn}…{part.mn + part.rows - 1}, {part.k}…{part.k + part.depth - 1}]"
        stage = f"stage {step.stage} " if own.stages > 1 else ""
        read = hex(step.read) if step.expected in (None, step.read) else f"{step.read:#x} ≠ {step.expected or 0:#x}"
        print(f"  {SIGNS[step.verdict]} {stage}step {part.k // part.depth}  {step.descriptor}  {place}  {read}")
        for found in step.diagnoses[:1]:
            where = f"line {own.line}: " if own.line is not None and step is find_first_wrong(own) else ""
            print(f"      {where}{found.code}: {found.message}" + (f" → {found.fix}" if found.fix else ""))
