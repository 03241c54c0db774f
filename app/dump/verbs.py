"""The verb dump."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lanescope.app.kit.terminal import AsJson, format_storage_options, make_verb_group, print_json, read_bytes

if TYPE_CHECKING:
    from lanescope.app.dump.forms import DumpVerified, Wrong

app, dump_app = make_verb_group("dump", "Dumps of shared memory: what an instruction reads from them.")
MOST_PRINTED = 8


@dump_app.command("verify")
def dump_verify(
    file: Annotated[str, typer.Argument(help="The dump: raw bytes of shared memory, or a .npy array of them.")],
    *,
    descriptor: Annotated[str, typer.Option(help="The descriptor your program uses.")],
    instruction: Annotated[str, typer.Option(help="The wgmma that reads it.")],
    operand: Annotated[str, typer.Option(help="a or b.")] = "a",
    major: Annotated[str, typer.Option(help="K or MN, as the instruction's transpose immediate says.")] = "K",
    expected: Annotated[
        str, typer.Option(help="A .npy file with the tile that should be read: (m, k) of a, (k, n) of b.")
    ] = "",
    expected_as: Annotated[str, typer.Option(help="values or bits: what the expected file holds.")] = "",
    base: Annotated[str, typer.Option(help="The shared-window address of the dump's first byte.")] = "0x400",
    slice_mn: Annotated[str, typer.Option(help="The slice's first row of M or N in the expected tile.")] = "0",
    slice_k: Annotated[str, typer.Option(help="The slice's first K in the expected tile.")] = "0",
    as_json: AsJson = False,
) -> None:
    """What an instruction reads from a dump; with --expected, which elements are wrong and where they lie. Exit status
    1 where some are wrong, 2 where the dump does not hold all that is read.
    """
    from lanescope.app.dump import forms
    from lanescope.dump import MOST_FILE, MOST_TILE, summary

    given = {
        "descriptor": descriptor,
        "instruction": instruction,
        "operand": operand,
        "major": major,
        "base": base,
        "expected_as": expected_as,
        "slice": {"mn": slice_mn, "k": slice_k},
    }
    made, ptx = forms.examine_dump(
        given, read_bytes(file, "dump", MOST_FILE), read_bytes(expected, "expected", MOST_TILE) if expected else None
    )
    told = forms.build_answer(made, ptx)
    if as_json:
        print_json(told)
    else:
        print(f"{told.verdict}: {summary(made)}")
        _print_answer(told, made.inside.tolist())
    if told.verdict == "mismatch":
        raise typer.Exit(1)
    if told.outside:
        raise typer.Exit(2)


def _print_answer(told: DumpVerified, inside: list[list[bool]]) -> None:
    print(f"  {told.operand.upper()} of {told.element_type}, bytes {told.first:#x} to {told.last:#x}")
    if told.matched is None:
        _print_values(told, inside)
    for one in told.wrong[:MOST_PRINTED]:
        print(f"  {_wrong_line(told.operand.upper(), one)}")
    if told.missing:
        m = told.missing
        print(f"  of {m.wrong} right values {m.found} found, {m.several} in several places, {m.absent} nowhere")
    for layout in told.layouts:
        print(f"  the tile lies as {layout.text} ({layout.matched} of {layout.total} elements)")
        print(f"    {format_storage_options(layout.storage)}")
        for found in layout.diagnoses:
            print(f"    {found.code}: {found.message}")
        if layout.diagnoses and (fix := layout.diagnoses[0].fix):
            print(f"    repair: {fix.descriptor}")
    for note in told.notes:
        print(f"  ! {note}")


def _print_values(told: DumpVerified, inside: list[list[bool]]) -> None:
    """Print the first rows of what is read, - for what lies outside the dump."""
    cut = " …" if told.values.shape[1] > MOST_PRINTED else ""
    for row in range(min(len(told.values), MOST_PRINTED)):
        line = zip(told.values[row][:MOST_PRINTED].tolist(), inside[row], strict=False)
        values = " ".join(f"{value:g}" if held else "-" for value, held in line)
        print(f"  [{row},0…] {values}{cut}")


def _wrong_line(letter: str, one: Wrong) -> str:
    """Return what an element is, what it should be, and where that value lies."""
    lies = {-1: "nowhere in the dump", -2: "in several places"}.get(one.lies, f"at {one.lies:#x}")
    holds = f", which is [{one.holds[0]},{one.holds[1]}]" if one.holds else ""
    got = "outside the dump" if one.value is None else f"{one.value:g}{holds}"
    expected = "NaN or infinite" if one.expected is None else f"{one.expected:g}"
    return f"{letter}[{one.row},{one.k}] from {one.address:#x}: {got}; expected {expected}, which lies {lies}"
