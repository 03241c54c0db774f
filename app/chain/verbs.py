"""The verb chain."""

from __future__ import annotations

from typing import Annotated

import typer

from lanescope.app.kit.terminal import AsJson, answer, complete, json_of, print_json, storage_of

app = typer.Typer(rich_markup_mode=None)


@app.command()
def chain(
    mma: Annotated[str, typer.Argument(help="The mma's PTX text.", autocompletion=complete)] = "",
    operand: Annotated[str, typer.Argument(help="a or b; c or d for a stmatrix.")] = "a",
    *,
    load: Annotated[str, typer.Option(help="The ldmatrix or stmatrix; the best one when left out.")] = "",
    major: Annotated[str, typer.Option(help="K or MN: which way is contiguous.")] = "K",
    storage: Annotated[
        list[str] | None, typer.Option(help="Where the data lies: kind=rows,pitch_bytes=144,swizzle=128B, …")
    ] = None,
    loop: Annotated[
        str, typer.Option(help="Instead: a file, or -, with the body of POST /tiles/loop; a whole main loop.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Does this load feed this operand? Lane addresses and the loop. Exit status 1 where it does not."""
    from lanescope.app.chain import facts as chains

    if loop:
        return _loop(loop, as_json)
    given = {
        "mma": mma,
        "operand": operand,
        "major": major,
        "storage": storage_of(storage or ["kind=rows", "pitch_bytes=144"], major),
    }
    if not load:
        fits, best = chains.choices(given)
        load = (best or fits)[0]
    facts = chains.chain_facts(chains.chain_of(given | {"load": load}))
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


def _loop(file: str, as_json: bool) -> None:
    from lanescope.app.tiles import main_loop_facts

    found = main_loop_facts.loop_facts(json_of(file))
    answer(found, main_loop_facts.lines, as_json, found.verdict == "match")
