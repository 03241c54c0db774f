"""The command chain."""

from __future__ import annotations

from typing import Annotated

import typer

from lanescope.app.kit.terminal import AsJson, complete_ptx, parse_storage_options, print_answer, print_json, read_json

app = typer.Typer(rich_markup_mode=None)


@app.command()
def chain(
    mma: Annotated[str, typer.Argument(help="An mma: PTX, or its name.", autocompletion=complete_ptx)] = "",
    operand: Annotated[str, typer.Argument(help="a or b; c or d for a stmatrix.")] = "a",
    *,
    load: Annotated[str, typer.Option(help="The ldmatrix or stmatrix; the best one when left out.")] = "",
    major: Annotated[str, typer.Option(help="K or MN: the contiguous dimension.")] = "K",
    storage: Annotated[
        list[str] | None, typer.Option(help="Storage of the data: kind=rows,pitch_bytes=144,swizzle=128B, …")
    ] = None,
    loop: Annotated[
        str, typer.Option(help="Instead: a file, or -, with the body of POST /api/v1/tiles/loop; a whole main loop.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Check whether a load feeds an operand; print lane addresses and the loop. Exit status 1 if it does not."""
    from lanescope.app.chain import facts as chains

    if loop:
        return _print_loop(loop, as_json)
    body = {
        "mma": mma,
        "operand": operand,
        "major": major,
        "storage": parse_storage_options(storage or ["kind=rows", "pitch_bytes=144"], major),
    }
    if not load:
        fits, best = chains.find_loads(body)
        load = (best or fits)[0]
    facts = chains.build_chain(chains.parse_chain(body | {"load": load}))
    if as_json:
        print_json(facts)
    else:
        ways = f", {facts.ways}-way banks" if facts.ways else ""
        print(f"{facts.verdict}: {facts.matched} of {facts.total} elements, {load}{ways}")
        if first := facts.first_mismatch:
            wants, gets = f"wants [{first.row},{first.col}] at {first.expected}", f"gets {first.read}"
            print(f"  first: thread {first.thread} register {first.register_} {wants}, {gets}")
        for note in facts.notes:
            print(f"  {note}")
        if facts.instead:
            print("  instead: " + ", ".join(facts.instead))
        for number, turn in enumerate(facts.turns):
            which = f"turn {number} " if len(facts.turns) > 1 else ""
            print(f"  {which}lane addresses: " + " ".join(str(at) for at in turn if at >= 0))
        if facts.code:
            print(facts.code)
    if facts.verdict != "match":
        raise typer.Exit(1)


def _print_loop(file: str, as_json: bool) -> None:
    from lanescope.app.tiles import main_loop_facts, main_loop_text

    found = main_loop_facts.build_loop(read_json(file))
    print_answer(found, main_loop_text.format_loop, as_json, found.verdict == "match")
