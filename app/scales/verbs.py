"""The verb scale-factors."""

from __future__ import annotations

from typing import Annotated

import typer

from lanescope.app.kit.terminal import AsJson, ColumnsOfD, CtaGroup, RowsOfD, given, print_json

app = typer.Typer(rich_markup_mode=None)


@app.command("scale-factors")
def scale_factors(
    *,
    kind: Annotated[str, typer.Option(help="mxf8f6f4, mxf4 or mxf4nvf4; mxf8f6f4 when left out.")] = "",
    scale_vec: Annotated[str, typer.Option(help="1X, 2X or 4X; the kind's first when left out.")] = "",
    cta_group: CtaGroup = "",
    sparse: Annotated[bool, typer.Option("--sparse", help="With .sp.")] = False,
    m: RowsOfD = "",
    n: ColumnsOfD = "",
    tile_k: Annotated[str, typer.Option(help="K of the CTA's tile; 256 when left out.")] = "",
    column: Annotated[
        str, typer.Option(help="Column of tensor memory where A's factors begin; 256 when left out.")
    ] = "",
    shared: Annotated[str, typer.Option(help="Byte of shared memory where A's factors begin; 0 when left out.")] = "",
    side: Annotated[str, typer.Option(help="Whose factor is looked at: a or b.")] = "",
    row: Annotated[str, typer.Option(help="Its row of A, or column of B.")] = "",
    factor: Annotated[str, typer.Option(help="Its number along K.")] = "",
    as_json: AsJson = False,
) -> None:
    """The scale factors of a block-scaled tile: one factor followed, the copies, and the ids of each MMA."""
    from lanescope.app.scales import facts

    asked = given(
        {
            "kind": kind,
            "scale_vec": scale_vec,
            "cta_group": cta_group,
            "sparse": "1" * sparse,
            "m": m,
            "n": n,
            "tile_k": tile_k,
            "column": column,
            "shared": shared,
            "side": side,
            "row": row,
            "factor": factor,
        }
    )
    told = facts.scale_facts(asked)
    if as_json:
        return print_json(told)
    print(f"kind::{told.kind}, scale_vec::{told.scale_vec}: a factor scales {told.block} elements of K")
    for name, one in (("A", told.a), ("B", told.b)):
        last = one.column + one.columns - 1
        print(f"  {name}: {one.rows} × {one.factors} factors, columns {one.column}–{last} of tensor memory")
    held = told.held
    index = f"[{held.row}, {held.factor}]" if held.operand == "a" else f"[{held.factor}, {held.row}]"
    print(f"SF{held.operand.upper()}{index}: byte {held.row_major} row-major, byte {held.atoms} in atoms")
    if held.shared is not None:
        print(f"  shared memory: byte {held.shared}")
    lanes = " ".join(map(str, held.lanes))
    print(f"  tensor memory: column {held.column}, byte {held.byte}, lanes {lanes}; read by MMA {held.step}")
    if told.copies:
        print(f"{len(told.copies)} copies, {told.copy}")
    for copy in told.copies:
        first = f"from {copy.row}, factors from {copy.factor}"
        print(f"  {copy.operand.upper()} {first}: descriptor {copy.descriptor} to column {copy.column}")
    if not told.copies:
        print(facts.OPEN)
    print(f"{len(told.steps)} MMAs of K = {told.k}")
    for step in told.steps:
        where = f"factors of A at column {step.column_a}, id {step.sfa_id}; of B at {step.column_b}, id {step.sfb_id}"
        print(f"  K {step.k}: {where}; idesc {step.idesc}")
    print(told.evidence)
    return None
