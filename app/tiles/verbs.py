"""The commands tiles chain, tiles copy and tiles loop."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lanescope.app.kit.terminal import (
    AsJson,
    drop_empty,
    make_verb_group,
    parse_sizes,
    parse_storage_options,
    print_answer,
    print_json,
)

app, tiles_app = make_verb_group("tiles", "Whole tiles: TiledMMA, TiledCopy, thread-value and Triton layouts.")

AtomLayout = Annotated[str, typer.Option(help="AtomLayoutMNK, e.g. (2,2,1) or (2,2,1):(2,1,0).")]
Permutation = Annotated[str, typer.Option(help="PermutationMNK, e.g. (32,32,16) or (_,(4,2):(1,8),_).")]
Tile = Annotated[str, typer.Option(help="MxNxK or M,N,K; the TiledMMA's own when left out.")]


def _build_mma_body(atom: str, atom_layout: str, permutation: str, tile: str) -> dict[str, Any]:
    body = {"atom": atom, "atom_layout": atom_layout, "permutation": permutation, "tile": parse_sizes(tile)}
    return drop_empty(body)


@tiles_app.command("chain")
def chain(
    first: Annotated[str, typer.Argument(help="The atom of the first product.")],
    second: Annotated[str, typer.Argument(help="The atom of the second; the same when left out.")] = "",
    atom_layout: AtomLayout = "",
    tile: Annotated[str, typer.Option(help="M,N,K of the first tile.")] = "",
    second_tile: Annotated[str, typer.Option(help="M,N,K of the second tile; M, its own N, and N of the first.")] = "",
    as_json: AsJson = False,
) -> None:
    """Check whether C of the first product is A of the second in registers. Exit status 1 if elements move between
    threads.
    """
    from lanescope.app.kit.question import read_question
    from lanescope.app.tiles import facts
    from lanescope.app.tiles.questions import TiledChainBody

    first_body = _build_mma_body(first, atom_layout, "", tile)
    second_body = _build_mma_body(second or first, atom_layout, "", second_tile)
    if tile and not second_tile:
        mnk = parse_sizes(tile) or []
        second_body["tile"] = [*mnk[:2], *mnk[1:2]]
    found = facts.build_chain(read_question(TiledChainBody, {"first": first_body, "second": second_body}))
    if as_json:
        print_json(found)
    else:
        print(
            f"{found.verdict}: {found.stay} of {found.elements} elements stay in their thread,"
            f" {found.in_warp} in their warp"
        )
        print(f"  {found.message}")
        if found.order and found.verdict == "reordered":
            print("  A values from C values: " + " ".join(map(str, found.order)))
    if found.verdict not in ("same", "reordered"):
        raise typer.Exit(1)


@tiles_app.command("copy")
def copy(
    atom: Annotated[str, typer.Argument(help="universal, cp.async, ldmatrix…, stmatrix… or SM90_TMA_LOAD….")],
    *,
    tile: Annotated[str, typer.Option(help="ROWSxCOLUMNS.")],
    bits: Annotated[str, typer.Option(help="Of one access of universal and cp.async.")] = "",
    element_bits: Annotated[str, typer.Option(help="16, or those of the operand.")] = "",
    thr: Annotated[str, typer.Option(help="Layout of threads, e.g. (32,4):(4,1).")] = "",
    val: Annotated[str, typer.Option(help="Layout of values, e.g. (1,8).")] = "",
    mma_atom: Annotated[str, typer.Option("--mma", help="Instead: the atom of a TiledMMA.")] = "",
    operand: Annotated[str, typer.Option(help="With --mma: a, b or c.")] = "a",
    atom_layout: AtomLayout = "",
    permutation: Permutation = "",
    major: Annotated[str, typer.Option(help="K or MN: the storage's.")] = "K",
    storage: Annotated[list[str] | None, typer.Option(help="Shared memory: kind=rows,pitch_bytes=128, …")] = None,
    shared: Annotated[str, typer.Option(help="source or destination: which side the storage is.")] = "",
    global_: Annotated[str, typer.Option("--global", help="The other side: a CuTe layout in global memory.")] = "",
    multicast: Annotated[str, typer.Option(help="Of SM90_TMA_LOAD_MULTICAST: the CTAs that share the tile.")] = "",
    as_json: AsJson = False,
) -> None:
    """Print source and destination of a TiledCopy, and its cost in memory. Exit status 1 if there are bank conflicts,
    or if TMA breaks a rule.
    """
    from lanescope.app.tiles import tiled_copy_facts
    from lanescope.tiles.bulk import is_tma

    if is_tma(atom):
        body = {
            "atom": atom,
            "element_bits": element_bits,
            "tile": parse_sizes(tile),
            "global": global_,
            "major": major,
            "storage": parse_storage_options(storage, major) if storage else None,
            "multicast": multicast,
        }
        answer = tiled_copy_facts.build_tma_copy(drop_empty(body))
        return print_answer(answer, tiled_copy_facts.format_tma_copy, as_json, answer.verdict == "match")

    body = {
        "atom": atom,
        "bits": bits,
        "element_bits": element_bits,
        "thr_layout": thr,
        "val_layout": val,
        "tile": parse_sizes(tile),
        "shared": shared,
        "global": global_,
        "operand": operand,
        "tiled_mma": _build_mma_body(mma_atom, atom_layout, permutation, "") if mma_atom else None,
        "storage": parse_storage_options(storage, major) if storage else None,
        "major": major,
        "multicast": multicast,
    }
    found = tiled_copy_facts.build_tiled_copy(drop_empty(body))
    if as_json:
        print_json(found)
    else:
        print(f"{found.atom}: {found.threads} threads, one TiledCopy covers {found.tiler[0]}×{found.tiler[1]}")
        print(f"  thread-value layout {found.layout}")
        if found.access:
            print(f"  shared {found.shared}: {found.access}, {found.vector_bits} bits per access. {found.why}")
            print(f"  {found.wavefronts} wavefronts, {found.ideal} ideal, {found.ways}-way")
            if found.swizzle:
                print(f"  {found.swizzle} on byte addresses removes the bank conflicts")
        if cost := found.global_:
            print(
                f"  global: {cost.sectors} sectors of 32 bytes, {cost.ideal} ideal, {cost.vector_bits} bits. {cost.why}"
            )
        for note in found.notes:
            print(f"  {note}")
    if (found.ways or 1) > 1:
        raise typer.Exit(1)


@tiles_app.command("loop")
def loop(
    atom: Annotated[str, typer.Argument(help="The TiledMMA's atom: PTX text or CUTLASS name.")],
    *,
    operand: Annotated[str, typer.Option(help="a or b; both when left out.")] = "",
    atom_layout: AtomLayout = "",
    permutation: Permutation = "",
    tile: Tile = "",
    copy_atom: Annotated[
        str, typer.Option("--copy", help="The store: cp.async or universal; none: the load alone.")
    ] = "",
    bits: Annotated[str, typer.Option(help="Of one access of the store.")] = "",
    thr: Annotated[str, typer.Option(help="The store's layout of threads, e.g. (16,8):(8,1).")] = "",
    val: Annotated[str, typer.Option(help="The store's layout of values, e.g. (1,8).")] = "",
    major: Annotated[str, typer.Option(help="K or MN: the storage's.")] = "K",
    storage: Annotated[list[str] | None, typer.Option(help="Shared memory: kind=rows,pitch_bytes=128, …")] = None,
    load: Annotated[str, typer.Option(help="ldmatrix…, or universal.")] = "ldmatrix.m8n8.x4.shared.b16",
    global_: Annotated[str, typer.Option("--global", help="Global memory: a CuTe layout (row, k).")] = "",
    k: Annotated[str, typer.Option("--k", help="All of K: what the whole loop pays.")] = "",
    as_json: AsJson = False,
) -> None:
    """Check a whole main loop: global → shared → registers. Exit status 1: an element does not arrive, or banks
    conflict.
    """
    from lanescope.app.tiles import main_loop_facts, main_loop_text

    copied = {"atom": copy_atom, "bits": bits, "thr_layout": thr, "val_layout": val}
    side: dict[str, Any] = {
        "store": drop_empty(copied) if copy_atom else None,
        "storage": parse_storage_options(storage, major),
        "major": major,
        "load": load,
        "global": global_ or None,
    }
    side = {name: value for name, value in side.items() if value is not None}
    body = {"tiled_mma": _build_mma_body(atom, atom_layout, permutation, tile), **({"k": k} if k else {})}
    found = main_loop_facts.build_loop(body | dict.fromkeys([operand] if operand else "ab", side))
    print_answer(
        found, main_loop_text.format_loop, as_json, found.verdict == "match" and found.wavefronts <= found.ideal
    )
