"""The verb banks."""

from __future__ import annotations

from typing import Annotated

import typer

from app.kit.terminal import AsJson, answer, json_of, print_json

app = typer.Typer(rich_markup_mode=None)


@app.command()
def banks(
    access: Annotated[str, typer.Argument(help="ldmatrix.x4, st.shared.b128, …")] = "ldmatrix.x4",
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
    from app.banks import facts
    from layouts.banks import parse
    from layouts.errors import LayoutError

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
        solved = facts.solve(rows | {"accesses": [one, *facts.accesses(", ".join(also or []))]})
        if as_json:
            print_json(solved)
        else:
            print(
                solved.why
                + (f" That is mode {solved.mode} of TMA and wgmma." if solved.mode not in (None, "none") else "")
            )
            for row in solved.accesses:
                print(
                    f"  {row.access} {row.pattern or 'at the addresses given'}: {row.ways_before}-way without,"
                    f" {row.ways}-way with it"
                )
        if not solved.free:
            raise typer.Exit(1)
        return
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


def _loop(file: str, as_json: bool) -> None:
    from app.tiles import loops

    found = loops.loop_banks(json_of(file))
    answer(found, loops.bank_lines, as_json, found.free)
