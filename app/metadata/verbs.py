"""The verb metadata: order."""

from __future__ import annotations

from typing import Annotated

import typer

from lanescope.app.kit.terminal import AsJson, given, print_json, verbs

SHOWN = 4  # words from the one that is looked at, either way, itself counted
app, metadata_app = verbs("metadata", "Sparsity metadata in global memory.")


@metadata_app.command("order")
def order(
    *,
    opcode: Annotated[
        str, typer.Option(help="Who reads it: mma.sp, wgmma.sp or tcgen05.mma.sp, which is meant when left out.")
    ] = "",
    element: Annotated[str, typer.Option(help="The type of A: f16, e4m3, …; f16 when left out.")] = "",
    rows: Annotated[str, typer.Option(help="Rows of A, whole atoms; one atom when left out.")] = "",
    k: Annotated[str, typer.Option(help="Columns of dense A, whole atoms; one atom when left out.")] = "",
    tile_k: Annotated[str, typer.Option(help="K of wgmma.sp's tile, which its atom spans.")] = "",
    row: Annotated[str, typer.Option(help="The row that is looked at.")] = "",
    group: Annotated[str, typer.Option(help="The group along K that is looked at.")] = "",
    as_json: AsJson = False,
) -> None:
    """Sparsity metadata in the order that CUTLASS's compressors write: the word and bits of one group."""
    from lanescope.app.metadata import order as facts

    asked = given(
        {"opcode": opcode, "element": element, "rows": rows, "k": k, "tile_k": tile_k, "row": row, "group": group}
    )
    told = facts.order_facts(asked)
    if as_json:
        return print_json(told)
    _, at, along = facts.order_of(asked)
    print(f"{told.opcode}, A {told.element}, {told.rows} × {told.k}: {told.bytes} bytes of metadata")
    print(f"  row {at}, group {along}: word {told.word}, bits {told.bit}–{told.bit + 3}")
    print(f"  atoms: {told.atoms[0]} along the rows (these come first), {told.atoms[1]} along K")
    print(f"  an atom, (word)(index) to (row)(group of {told.group} elements): {told.pattern}")
    for word, (its, groups) in enumerate(zip(told.row, told.group_of, strict=True)):
        if abs(word - told.word) < SHOWN:
            held = " ".join(f"{a},{b}" for a, b in zip(its.tolist(), groups.tolist(), strict=True))
            print(f"  word {word}: {held}")
    print(f"  {told.evidence}")
    return None
