"""The verbs cute, convert and feeds; tiles tv and tiles triton, which the command puts into the group tiles."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lanescope.app.kit.terminal import AsJson, drop_empty, parse_sizes, print_json

Layout = Annotated[str, typer.Argument(help="#ttg.blocked<{…}>, or gl.BlockedLayout(…).")]
Shape = Annotated[str, typer.Option(help="The tensor's sizes, 128x64; those of tensor<…> in the text.")]
Bits = Annotated[str, typer.Option(help="Those of tensor<…> in the text, else 16.")]
app = typer.Typer(rich_markup_mode=None)
tiles_app = typer.Typer(rich_markup_mode=None)  # joins the group of app/tiles
app.add_typer(tiles_app, name="tiles")


def _request_body(**texts: str) -> dict[str, Any]:
    return drop_empty(texts | {"shape": parse_sizes(texts["shape"])})


@app.command("convert")
def convert(
    layout: Layout,
    to: Annotated[str, typer.Argument(help="The layout that the elements go to.")],
    shape: Shape = "",
    element_bits: Bits = "",
    as_json: AsJson = False,
) -> None:
    """What a conversion between two of Triton's layouts moves. Exit status 1 where elements change their thread."""
    from lanescope.app.layouts import facts

    found = facts.convert_request(_request_body(text=layout, to=to, shape=shape, element_bits=element_bits))
    if as_json:
        print_json(found)
    else:
        print(f"{found.way}: of {found.places} registers {found.in_thread} find their element in the thread,")
        print(f"  {found.in_warp} in the warp, {found.in_block} in the block")
        if found.way == "registers" and found.order:
            print(f"  registers {' '.join(map(str, found.order))}")
        if trip := found.trip:
            for one in (trip.store, trip.load):
                print(f"  {one.access}: {one.wavefronts} wavefronts, {one.ideal} without conflicts, {one.ways}-way")
            if trip.why:
                print(f"  {trip.why}")
    if found.way not in ("same", "registers"):
        raise typer.Exit(1)


@app.command("feeds")
def feeds(layout: Layout, shape: Shape = "", element_bits: Bits = "", as_json: AsJson = False) -> None:
    """The operands of mma and wgmma that a layout of threads already is. Exit status 1 where there is none."""
    from lanescope.app.layouts import facts

    found = facts.build_feeds(_request_body(text=layout, shape=shape, element_bits=element_bits))
    if as_json:
        print_json(found)
    for one in () if as_json else found.feeds:
        order = "in order" if one.in_order else " ".join(map(str, one.registers))
        print(f"{one.operand.upper()} of {one.family} {one.shape}, {one.element_bits}-bit, ×{one.fragments}: {order}")
    if not found.feeds:
        raise typer.Exit(1)


@tiles_app.command("tv")
def tv(
    cute: Annotated[str, typer.Argument(help="((4,8),(2,2)):((32,1),(16,8)), or in C++ or Python.")],
    tile: Annotated[str, typer.Option(help="ROWSxCOLUMNS.")],
    at: Annotated[str, typer.Option("--at", help="ROW,COL: who holds this element?")] = "",
    as_json: AsJson = False,
) -> None:
    """Any thread-value layout over a tile: `T12:V3` a cell, or who holds one."""
    from lanescope.app.layouts import facts
    from lanescope.inputs import parse_pair

    found = facts.parse_tv({"cute": cute, "tile": parse_sizes(tile)})
    if as_json:
        return print_json(facts.build_tv(found))
    if at:
        row, col = parse_pair(at, "at", (found.row_count - 1, found.col_count - 1))
        held = found.owner(row, col)
        print("\n".join(f"thread {t} value {v}" for t, v in held) or "no thread")
        return None
    told = facts.build_tv(found)
    print(
        f"{told.cute}: {told.threads} threads × {told.values} values cover {told.covered} of {told.elements} elements"
    )
    if told.copies > 1:
        print(f"  an element is held up to {told.copies} times")
    return None


@tiles_app.command("triton")
def triton(
    layout: Annotated[str, typer.Argument(help="#ttg.blocked<{…}>, or gl.BlockedLayout(…).")],
    shape: Annotated[str, typer.Option(help="The tensor's sizes, 128x64; those of tensor<…> in the text.")] = "",
    element_bits: Annotated[str, typer.Option(help="Those of tensor<…> in the text, else 16.")] = "",
    at: Annotated[str, typer.Option("--at", help="ROW,COL: who holds this element, or where it lies.")] = "",
    as_json: AsJson = False,
) -> None:
    """A layout of Triton or Gluon: bases, threads and registers, or places in shared memory."""
    from lanescope.app.layouts import facts
    from lanescope.inputs import parse_integer

    found = facts.parse_triton(
        {"text": layout} | drop_empty({"shape": parse_sizes(shape), "element_bits": element_bits})
    )
    if as_json:
        return print_json(facts.build_triton(found))
    if at:
        place = [parse_integer(part, "at", 0, size - 1) for part, size in zip(at.split(","), found.shape, strict=False)]
        if found.shared:
            print(f"offset {found.offset[tuple(place)]}")
            return None
        if found.tensor_memory:
            for lane, column in found.owner(*place):
                print(f"lane {lane} column {column * found.element_bits // 32} bit {column * found.element_bits % 32}")
            return None
        for thread, register in found.owner(*place):
            print(f"thread {thread} warp {thread // 32} lane {thread % 32} register {register}")
        return None
    print(f"{found.kind} over {'×'.join(map(str, found.shape))}")
    if found.tensor_memory:
        print(f"  {found.columns} columns of tensor memory")
    if found.of_threads:
        copies = f", {found.copies} hold each element" if found.copies > 1 else ""
        print(f"  {found.threads} threads × {found.registers} registers{copies}")
    for name, bases in found.linear.list_bases().items():
        print(f"  {name:8} {' '.join(str(tuple(basis)).replace(' ', '') for basis in bases) or '-'}")
    print(f"  CuTe     {found.cute or 'none: bits are XORed, or padding is added'}")
    return None
