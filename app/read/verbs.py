"""The command read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanescope.app.kit.terminal import AsJson, print_json, read_text

if TYPE_CHECKING:
    from lanescope.app.check.report_view import ReportView
    from lanescope.app.read.facts import BenchFacts, BenchOperand, BenchStep, Meaning, Reading

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
    together; a question such as "A[5][9] of mma.m16n8k16 bf16"; code is checked, too, as lanescope check does. Exit
    status 1 if the text is unknown, if a formula matches no operand, if ptxas refuses a line, if a word does not have
    the fields that the text states, if a descriptor reads the wrong bytes, if check finds an error, or if the text does
    not say enough to decide. Code that only builds a descriptor, and the bare name of an instruction, need no verdict.
    """
    text, name = _read_argument(file)
    print_reading(text, as_json, assume or (), name)


def print_reading(text: str, as_json: bool, assumptions: Sequence[str] = (), name: str = "") -> None:
    """Print the meanings of a text, as in the paste box; exit status 1 if it is unknown or wrong.

    assumptions: KEY=VALUE for what the text does not specify; name: of its file, "" for none.
    """
    from lanescope.app.check.config import SECONDS
    from lanescope.app.check.report_view import ReportView
    from lanescope.app.read.answer import read_and_check

    reading = read_and_check(text, _parse_assumptions(assumptions), name=name, seconds=SECONDS)
    view = ReportView(reading.check, {reading.check.sources[0].file: text}) if reading.check else None
    if as_json:
        print_json(reading)
    else:
        _print_text(reading, view, text)
    if _fails(reading, view, text):
        raise typer.Exit(1)


def _print_text(reading: Reading, view: ReportView | None, text: str) -> None:
    """Print what a text is and whether it is right; of code the verdict of check first, its report last."""
    from lanescope.app.check.printing import print_report

    bench = reading.bench
    is_empty = bench is not None and not bench.operands and bench.verdict == "unknown"
    if is_empty and view:
        bench = None  # it would ask for descriptors that check has found in CuTe's calls
    if view and (not bench or (view.findings and bench.verdict != "mismatch")):
        print(_write_headline(view))
    if bench:
        _print_bench(bench)
    if not bench or is_empty:
        _print_reading(reading, view, text)
    if view:
        print()
        print_report(view.report)


def _print_reading(reading: Reading, view: ReportView | None, text: str) -> None:
    """Print the meanings of a text, unless it is unknown and check has a report."""
    if not (view and reading.kind == "unknown"):
        for number, meaning in enumerate((reading, *reading.also)):
            _print_meaning(meaning, text, "also " if number else "")


def _write_headline(view: ReportView) -> str:
    """Return the verdict of check as a line."""
    if view.findings:
        return f"{view.findings[0].finding.level}: {view.headline}"
    return f"{'match' if view.state == 'ok' else 'unknown'}: {view.headline}"


def _fails(reading: Reading, view: ReportView | None, text: str) -> bool:
    """Return whether a text is unknown, wrong, or does not say enough to decide."""
    refused = any(_is_refused(meaning) for meaning in (reading, *reading.also))
    if refused or (view and view.state == "bad") or (reading.bench and reading.bench.verdict == "mismatch"):
        return True
    if view and (view.state == "ok" or view.report.kernel_gaps):
        return view.state != "ok"
    return not _is_decided(reading, text)


def _is_refused(meaning: Meaning) -> bool:
    """Return whether ptxas refuses a line of a text, its formula matches no operand, or its word has other fields."""
    from lanescope.reader.words.stated_fields import CONTRADICTION

    is_contradicted = any(notice.startswith(CONTRADICTION) for notice in meaning.notices)
    return is_contradicted or "refused" in meaning.facts or (meaning.kind == "fragment" and not _agrees(meaning.facts))


def _is_decided(reading: Reading, text: str) -> bool:
    """Return whether a text is known, and every read by a descriptor in it right."""
    from lanescope.app.read.workbench import has_descriptor_reader

    right = reading.bench.verdict == "match" if reading.bench else not has_descriptor_reader(text)
    return right and reading.kind != "unknown"


def _read_argument(argument: str) -> tuple[str, str]:
    """Return (the text of the file that an argument names, its name); of an argument that is a text, (text, "")."""
    from lanescope.app.read.text_meanings import read_text as recognise
    from lanescope.errors import LayoutError
    from lanescope.inputs import shorten_value as shorten

    try:
        return read_text(argument), "" if argument == "-" else argument
    except LayoutError as error:
        one_word = not re.search(r"\s", argument) and not _NO_NAME.search(argument)
        if error.code != "bad_usage" or _SOURCE.search(argument) or (one_word and re.search(r"[/\\]", argument)):
            raise
        if one_word and recognise(argument).kind == "unknown":
            typer.echo(f"No file is named '{shorten(argument, 120)}'; it is read as a text.", err=True)
        return argument, ""


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
    of_block = dict.fromkeys(meaning.facts.get("all", ()))
    lines = lines or (list(of_block) if len(of_block) > 1 else [])
    lines += list(_list_agreeing(meaning.facts)) if meaning.kind == "fragment" else []
    lines += [line for tile in meaning.facts.get("descriptors", ()) for line in format_described(tile)]
    is_answer = meaning.kind == "topic" or "holders" in meaning.facts
    lines += [notice if is_answer else f"! {_word_for_terminal(notice)}" for notice in meaning.notices]
    link = _link_short(meaning.link, text) if meaning.kind != "unknown" else ""
    for line in (*lines, *filter(None, [link])):
        print(f"  {line}")


def _word_for_terminal(notice: str) -> str:
    """Return a notice with commands to type in place of a page, which a terminal does not open."""
    from lanescope.app.read.text_meanings import OF_EACH, TRIED

    if not notice.endswith(OF_EACH):
        return notice
    commands = f'lanescope read "{TRIED[0][1]}", or lanescope read kernel.cu'
    return f"{notice.removesuffix(OF_EACH)} Try {commands}. lanescope serve has an example of each at /guide/paste."


def _agrees(facts: Mapping[str, Any]) -> bool:
    return bool(facts["agree"] or facts["exchanged"] or facts["addresses"] or facts["part"])


def _list_agreeing(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each map that matches a formula or a loop."""
    from lanescope.reader.formula.fragment_answer import name_values

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
