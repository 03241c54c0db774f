"""The verb tmem: epilogue."""

from __future__ import annotations

from typing import Annotated

import typer

from lanescope.app.kit.terminal import AsJson, ColumnsOfD, CtaGroup, RowsOfD, given, print_json, verbs

app, tmem_app = verbs("tmem", "Tensor memory of tcgen05.")


@tmem_app.command("epilogue")
def epilogue(
    *,
    kind: Annotated[str, typer.Option(help="The kind of the MMA: f16, tf32, …; f16 when left out.")] = "",
    cta_group: CtaGroup = "",
    ws: Annotated[bool, typer.Option("--ws", help="With .ws.")] = False,
    m: RowsOfD = "",
    n: ColumnsOfD = "",
    d: Annotated[str, typer.Option(help="Type of D: f32, or f16 in the low half of a column; f32 when left out.")] = "",
    access: Annotated[str, typer.Option(help="The load of every warp; tcgen05.ld.16x256b.x4 when left out.")] = "",
    element: Annotated[str, typer.Option(help="The type that is stored: bf16, f16 or f32; bf16 when left out.")] = "",
    stored: Annotated[
        str, typer.Option(help="How D lies in shared memory: a swizzle mode or rows; 128B when left out.")
    ] = "",
    warp: Annotated[str, typer.Option(help="The warp whose thread is looked at; 0 when left out.")] = "",
    thread: Annotated[str, typer.Option(help="The thread of that warp; 5 when left out.")] = "",
    as_json: AsJson = False,
) -> None:
    """D from tensor memory to shared or global memory: what each thread holds, what storing it costs, and the code."""
    from lanescope.app.tmem import epilogue as facts

    asked = given(
        {
            "kind": kind,
            "cta_group": cta_group,
            "ws": "1" * ws,
            "m": m,
            "n": n,
            "d": d,
            "access": access,
            "element": element,
            "stored": stored,
            "warp": warp,
            "thread": thread,
        }
    )
    if as_json:
        return print_json(facts.epilogue_facts(asked))
    shown = facts.context(asked)
    told, values = shown["told"], shown["given"]
    print(f"D, layout {told.id}: {told.loads} loads of {told.registers} registers, {told.access}")
    print(f"warp {values['warp']}, thread {values['thread']}, after the warp's first load:")
    for register, half, row, col in shown["held"]:
        print(f"  r{register}{' ' + half if half else ''}: {f'D[{row}, {col}]' if row >= 0 else 'none of D'}")
    if shown["more"]:
        print(f"  … {shown['more']} more")
    for cost in (told.to_shared or []) if shown["fits"] else []:
        ideal = f"{cost.wavefronts} wavefronts, {cost.ideal} ideal"
        print(f"stmatrix, {cost.stored}: {cost.instructions} instructions, {ideal}")
    if values["element"] == "f32":
        print("stmatrix stores 16-bit elements; f32 goes to global memory.")
    elif not told.to_shared:
        print(f"stmatrix cannot store these registers as they are; those of {told.fitting} it can.")
    print(
        f"global memory: {told.requests} {'store' if told.requests == 1 else 'stores'} of {told.store_bytes} bytes"
        " a thread for one load,"
        f" {told.sectors} sectors each"
    )
    print(told.evidence)
    print(shown["shared"] or shown["global"])
    return None
