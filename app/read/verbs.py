"""The verb read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lanescope.app.kit.terminal import AsJson, print_json, text_of

if TYPE_CHECKING:
    from lanescope.app.read.facts import BenchFacts, BenchOperand, BenchStep

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
    from lanescope.app.memory.described import lines
    from lanescope.app.read.bench import takes_descriptors
    from lanescope.app.read.whole import whole
    from lanescope.errors import LayoutError

    text = text_of(file)
    for pair in assume or ():
        if "=" not in pair:
            raise LayoutError("bad_text", f"'{pair[:60]}' is not KEY=VALUE.", "e.g. --assume at.smem_A=0x400", "assume")
    given = dict(pair.split("=", 1) for pair in assume or ())
    told = whole(text, given)
    if as_json:
        print_json(told)
    elif told.bench:
        _print_bench(told.bench)
    else:
        for number, one in enumerate((told, *told.also)):
            print(f"{'also ' if number else ''}{one.kind}: {one.title}")
            for ptx in one.facts.get("candidates", ()):
                print(f"  {ptx}")
            for line in (line for tile in one.facts.get("descriptors", ()) for line in lines(tile)):
                print(f"  {line}")
            for notice in one.notices:
                print(f"  ! {notice}" if one.kind != "topic" else f"  {notice}")
            if one.kind != "unknown" and (link := _short(one.link, text)):
                print(f"  {link}")
    refused = any("refused" in one.facts for one in (told, *told.also))
    judged = told.bench.verdict if told.bench else "match" if not takes_descriptors(text) else "unknown"
    if told.kind == "unknown" or refused or judged != "match":
        raise typer.Exit(1)


def _short(link: str, text: str) -> str:
    """A link that a line of a terminal holds: the text's own page with the text packed; "" where that is long, too."""
    from lanescope.app.read.bench import packed

    if len(link) > LONGEST_LINK and link.startswith("/read?"):
        link = f"/read?z={packed(text)}"
    return link if len(link) <= LONGEST_LINK else ""


def first_wrong(own: BenchOperand) -> BenchStep | None:
    """The first step of an operand that reads the wrong bytes."""
    return next((step for step in own.steps if step.verdict == "mismatch"), None)


def _print_bench(told: BenchFacts) -> None:
    """The verdict, what was assumed, and a line a step."""
    print(f"{told.verdict}: {told.headline}")
    if told.detail and not (told.verdict == "match" and told.caution):  # of a match it says the same
        print(f"  {told.detail}")
    for said in told.caution:
        print(f"  ! {said}")
    for one in told.assumed:
        print(f"  assumed {one.key}={one.value}" if one.value else f"  open {one.key}: {one.label}", f"({one.why})")
    for said in told.missing:
        print(f"  ! {said}")
    for piece in told.pieces:
        for said in piece.notices if piece.kind == "instruction" else ():
            print(f"  ! {said}")
        for said in piece.doubts:
            print(f"  ? {said}")
    for own in told.operands:
        print(f"\n{own.name.upper()} of {own.instruction}, {own.major}-major: {own.why}")
        if own.storage_why:
            print(f"  stored as {own.storage_why}")
        for said in own.notices:
            print(f"  ! {said}")
        for s in own.steps:
            place = f"{own.name.upper()}[{s.slice.mn}…{s.slice.mn + s.slice.rows - 1},"
            place += f" {s.slice.k}…{s.slice.k + s.slice.depth - 1}]"
            stage = f"stage {s.stage} " if own.stages > 1 else ""
            read = hex(s.read) if s.expected in (None, s.read) else f"{s.read:#x} ≠ {s.expected or 0:#x}"
            sign = {"match": "✓", "mismatch": "✗", "unknown": "?"}[s.verdict]
            print(f"  {sign} {stage}step {s.slice.k // s.slice.depth}  {s.descriptor}  {place}  {read}")
            for found in s.diagnoses[:1]:
                where = f"line {own.line}: " if own.line is not None and s is first_wrong(own) else ""
                print(f"      {where}{found.code}: {found.message}" + (f" → {found.fix}" if found.fix else ""))
