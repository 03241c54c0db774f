"""The verb cute."""

from __future__ import annotations

from typing import Annotated

import typer

from app.kit.terminal import AsJson, print_json

app = typer.Typer(rich_markup_mode=None)


@app.command("cute")
def cute(
    expression: Annotated[str, typer.Argument(help="logical_divide((4,2,3):(2,1,8), 4:2), or A = …; B = …; A o B.")],
    as_json: AsJson = False,
) -> None:
    """CuTe's layout algebra, step by step: composition, complement, divides, products, inverses, coalesce, slices."""
    from app.layouts import facts

    found = facts.cute_facts(expression)
    if as_json:
        return print_json(found)
    for step in found.steps:
        print(f"{step.name + ' = ' if step.name else ''}{step.expression}")
        for part in step.parts:
            print(f"  {part.expression} = {part.result}")
        if step.operation != "layout":
            print(f"  = {step.result}")
        print(f"  {step.says}")
    return None
