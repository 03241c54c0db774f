"""The command list."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lanescope.app.kit.terminal import AsJson, print_json, print_table

app = typer.Typer(rich_markup_mode=None)


@app.command("list")
def list_(
    family: Annotated[str, typer.Option(help="mma, wgmma, …")] = "",
    type: Annotated[str, typer.Option(help="An operand's type: f16, e4m3, …")] = "",
    target: Annotated[str, typer.Option(help="sm_80, sm_90a, …")] = "",
    shape: Annotated[str, typer.Option(help="m16n8k16, or a part: k16")] = "",
    q: Annotated[str, typer.Option(help="Words of the PTX text.")] = "",
    as_json: AsJson = False,
) -> None:
    """List instructions, with filters."""
    from lanescope.app.catalogue import facts as catalogue
    from lanescope.app.kit import rows
    from lanescope.ptx import catalog
    from lanescope.ptx.targets import format_targets

    listing = catalogue.list_instructions(family=family, type=type, target=target, shape=shape, q=q)
    if as_json:
        return print_json(listing)
    if sys.stdout.isatty():
        lines = [
            [
                r.family,
                r.ptx,
                *rows.describe_shape_and_types(catalog.find(r.ptx)),
                format_targets(r.targets).replace("sm_", ""),
            ]
            for r in listing.instructions
        ]
        print_table(["family", "instruction", "shape", "types", "sm_"], lines)
    else:
        for row in listing.instructions:
            print(row.ptx)
    print(f"{listing.count} instructions", file=sys.stderr)
