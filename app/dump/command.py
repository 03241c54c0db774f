"""Output of the command dump verify."""

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
    """Print the values that are read; exit status 1 if elements are wrong, 2 if some are outside the dump."""
    question = read_question(DumpQuestion, words)
    tile = read_bytes(expected, "expected", MOST_TILE) if expected else None
    examined = forms.examine_dump(question, read_bytes(file, "dump", MOST_FILE), tile)
    answer = forms.build_answer(examined, question.instruction.ptx)
    if as_json:
        print_json(answer)
    else:
        print(f"{answer.verdict}: {summary(examined)}")
        _print_answer(answer, examined.inside.tolist())
    if answer.verdict == "mismatch":
        raise typer.Exit(1)
    if answer.outside:
        raise typer.Exit(2)


def _print_answer(answer: DumpVerified, inside: list[list[bool]]) -> None:
    print(f"  {answer.operand.upper()} of {answer.element_type}, bytes {answer.first:#x} to {answer.last:#x}")
    if answer.matched is None:
        _print_values(answer, inside)
    for wrong in answer.wrong[:MOST_PRINTED]:
        print(f"  {_format_wrong(answer.operand.upper(), wrong)}")
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
    """Print the first rows of the values that are read; "-" for elements outside the dump."""
    cut = " …" if answer.values.shape[1] > MOST_PRINTED else ""
    for row in range(min(len(answer.values), MOST_PRINTED)):
        line = zip(answer.values[row][:MOST_PRINTED].tolist(), inside[row], strict=False)
        values = " ".join(f"{value:g}" if is_inside else "-" for value, is_inside in line)
        print(f"  [{row},0…] {values}{cut}")


def _format_wrong(letter: str, wrong: Wrong) -> str:
    """Format a wrong element: its value, the expected value, and the address of that."""
    place = {-1: "nowhere in the dump", -2: "in several places"}.get(wrong.lies, f"at {wrong.lies:#x}")
    holds = f", which is [{wrong.holds[0]},{wrong.holds[1]}]" if wrong.holds else ""
    got = "outside the dump" if wrong.value is None else f"{wrong.value:g}{holds}"
    expected = "NaN or infinite" if wrong.expected is None else f"{wrong.expected:g}"
    return f"{letter}[{wrong.row},{wrong.k}] from {wrong.address:#x}: {got}; expected {expected}, which is {place}"
