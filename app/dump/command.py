"""What the command dump verify prints."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lanescope.app.dump import forms
from lanescope.app.dump.forms import DumpQuestion, DumpVerified, Wrong
from lanescope.app.kit.question import read_question
from lanescope.app.kit.terminal import format_storage_options, print_json, read_bytes
from lanescope.dump import MOST_FILE, MOST_TILE, summary

MOST_PRINTED = 8


def run_verify(
    words: dict[str, Any],
    *,
    file: Annotated[str, typer.Argument(help="The dump: raw bytes of shared memory, or a .npy array of them.")],
    expected: Annotated[
        str, typer.Option(help="A .npy file with the tile that should be read: (m, k) of a, (k, n) of b.")
    ] = "",
    as_json: bool,
) -> None:
    """Print what is read; exit status 1 where elements are wrong, 2 if the dump does not hold all that is read."""
    question = read_question(DumpQuestion, words)
    tile = read_bytes(expected, "expected", MOST_TILE) if expected else None
    made = forms.examine_dump(question, read_bytes(file, "dump", MOST_FILE), tile)
    answer = forms.build_answer(made, question.instruction.ptx)
    if as_json:
        print_json(answer)
    else:
        print(f"{answer.verdict}: {summary(made)}")
        _print_answer(answer, made.inside.tolist())
    if answer.verdict == "mismatch":
        raise typer.Exit(1)
    if answer.outside:
        raise typer.Exit(2)


def _print_answer(answer: DumpVerified, inside: list[list[bool]]) -> None:
    print(f"  {answer.operand.upper()} of {answer.element_type}, bytes {answer.first:#x} to {answer.last:#x}")
    if answer.matched is None:
        _print_values(answer, inside)
    for one in answer.wrong[:MOST_PRINTED]:
        print(f"  {_wrong_line(answer.operand.upper(), one)}")
    if answer.missing:
        m = answer.missing
        print(f"  of {m.wrong} right values {m.found} found, {m.several} in several places, {m.absent} nowhere")
    for layout in answer.layouts:
        print(f"  the tile is stored as {layout.text} ({layout.matched} of {layout.total} elements)")
        print(f"    {format_storage_options(layout.storage)}")
        for found in layout.diagnoses:
            print(f"    {found.code}: {found.message}")
        if layout.diagnoses and (fix := layout.diagnoses[0].fix):
            print(f"    repair: {fix.descriptor}")
    for note in answer.notes:
        print(f"  ! {note}")


def _print_values(answer: DumpVerified, inside: list[list[bool]]) -> None:
    """Print the first rows of what is read; "-" for elements outside the dump."""
    cut = " …" if answer.values.shape[1] > MOST_PRINTED else ""
    for row in range(min(len(answer.values), MOST_PRINTED)):
        line = zip(answer.values[row][:MOST_PRINTED].tolist(), inside[row], strict=False)
        values = " ".join(f"{value:g}" if held else "-" for value, held in line)
        print(f"  [{row},0…] {values}{cut}")


def _wrong_line(letter: str, one: Wrong) -> str:
    """Return a line: what an element is, what it should be, and where that value is."""
    lies = {-1: "nowhere in the dump", -2: "in several places"}.get(one.lies, f"at {one.lies:#x}")
    holds = f", which is [{one.holds[0]},{one.holds[1]}]" if one.holds else ""
    got = "outside the dump" if one.value is None else f"{one.value:g}{holds}"
    expected = "NaN or infinite" if one.expected is None else f"{one.expected:g}"
    return f"{letter}[{one.row},{one.k}] from {one.address:#x}: {got}; expected {expected}, which is {lies}"
