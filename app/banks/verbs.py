"""The verb banks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanescope.app.kit.terminal import AsJson, answer, json_of, print_json

if TYPE_CHECKING:
    from lanescope.app.banks.facts import Solved

app = typer.Typer(rich_markup_mode=None)


@app.command()
def banks(
    access: Annotated[str, typer.Argument(help="ldmatrix.x4, st.shared.b128, …")] = "ldmatrix.x4",
    *,
    pattern: Annotated[
        str, typer.Option(help="ldmatrix, rows, along, fragment or columns; ldmatrix when left out.")
    ] = "",
    row_bytes: Annotated[str, typer.Option(help="Bytes a row of the tile; 128 when left out.")] = "",
    pad: Annotated[str, typer.Option(help="Bytes of padding a row.")] = "",
    swizzle: Annotated[
        str, typer.Option(help="Applied to every address: none, 32B, 64B, 128B, or B,M,S in bytes.")
    ] = "",
    address: Annotated[
        str, typer.Option(help="Instead of rows: a byte address a lane, with commas; - for an inactive lane.")
    ] = "",
    solve: Annotated[bool, typer.Option("--solve", help="Find the smallest swizzle without conflicts.")] = False,
    also: Annotated[
        list[str] | None,
        typer.Option(help="--solve: another access to free together, access:pattern or access:addresses."),
    ] = None,
    loop: Annotated[
        str, typer.Option(help="Instead: a file, or -, with the body of POST /tiles/loop; a whole main loop.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Wavefronts of a shared-memory access, and the swizzle that frees it. Exit status 1 where there are conflicts."""
    if loop:
        return _loop(loop, as_json)
    from lanescope.app.banks import facts
    from lanescope.errors import LayoutError
    from lanescope.shared.banks import parse

    one = (
        {"access": access}
        | ({"pattern": pattern} if pattern else {})
        | ({"address": parse(address)} if address else {})
    )
    rows = {name: text for name, text in (("row_bytes", row_bytes), ("pad", pad)) if text}
    if solve and swizzle:
        raise LayoutError(
            "bad_usage", "--solve looks for the swizzle: --swizzle says one.", "Give one of the two.", "swizzle"
        )
    if also and not solve:
        raise LayoutError(
            "bad_usage",
            "--also names accesses to free together.",
            "Add --solve, or count one access at a time.",
            "also",
        )
    if solve:
        return _solve(rows | {"accesses": [one, *facts.accesses(", ".join(also or []))]}, as_json)
    found = facts.use_facts(*facts.use_of(one | rows | ({"swizzle": swizzle} if swizzle else {})))
    if as_json:
        print_json(found)
    else:
        under = f" under {found.swizzle}" if swizzle else ""
        print(f"{found.access}{under}: {found.wavefronts} wavefronts, {found.ideal} ideal, {found.ways}-way")
        for number, phase in enumerate(found.phases):
            lanes = f"lanes {phase.lanes[0]}-{phase.lanes[-1]}" if phase.lanes else "no lane active"
            print(f"  phase {number}: {lanes}, {phase.wavefronts} wavefronts")
    if found.ways > 1:
        raise typer.Exit(1)


def _solve(asked: dict[str, Any], as_json: bool) -> None:
    from lanescope.app.banks import facts

    solved = facts.solve(asked)
    answer(solved, _solved, as_json, solved.free)


def _solved(solved: Solved) -> Iterator[str]:
    """The smallest swizzle and why, and what it does for each access."""
    yield solved.why + (f" That is mode {solved.mode} of TMA and wgmma." if solved.mode not in (None, "none") else "")
    for row in solved.accesses:
        where = row.pattern or "at the addresses given"
        yield f"  {row.access} {where}: {row.ways_before}-way without, {row.ways}-way with it"


def _loop(file: str, as_json: bool) -> None:
    from lanescope.app.tiles import main_loop_facts

    found = main_loop_facts.loop_banks(json_of(file))
    answer(found, main_loop_facts.bank_lines, as_json, found.free)
