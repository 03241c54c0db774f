"""The commands tiles mma, tiles chain, tiles copy and tiles loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from lanescope.app.kit.question import read_question
from lanescope.app.kit.terminal import (
    AsJson,
    drop_empty,
    make_verb_group,
    parse_picture_form,
    parse_sizes,
    parse_storage_options,
    print_answer,
    print_json,
    write_output,
)
from lanescope.app.tiles import facts, umma_page
from lanescope.app.tiles.questions import TiledChainBody, TiledUmmaBody
from lanescope.inputs import parse_integer, parse_pair
from lanescope.tiles.mma import TiledMMA, TileOperand
from lanescope.tiles.umma import TiledUmma, is_umma

app, tiles_app = make_verb_group("tiles", "Whole tiles: TiledMMA, TiledCopy, thread-value and Triton layouts.")

AtomLayout = Annotated[str, typer.Option(help="AtomLayoutMNK, e.g. (2,2,1) or (2,2,1):(2,1,0).")]
Permutation = Annotated[str, typer.Option(help="PermutationMNK, e.g. (32,32,16) or (_,(4,2):(1,8),_).")]
Tile = Annotated[str, typer.Option(help="MxNxK or M,N,K; the TiledMMA's own when left out.")]


def _build_mma_body(atom: str, atom_layout: str, permutation: str, tile: str) -> dict[str, Any]:
    asked = {"atom": atom, "atom_layout": atom_layout, "permutation": permutation, "tile": parse_sizes(tile)}
    return drop_empty(asked)


def run_mma(
    words: dict[str, Any],
    *,
    operand: Annotated[str, typer.Option(help="a, b or c: of one operand alone.")] = "",
    at: Annotated[str, typer.Option("--at", help="ROW,COL: who holds this element?")] = "",
    thread: Annotated[str, typer.Option(help="What does this thread hold?")] = "",
    colour: Annotated[str, typer.Option(help="With -o: warp, group, lane, value, register, k, m or n.")] = "",
    output: Annotated[
        str, typer.Option("-o", "--output", help="FILE.{svg,png,pdf,tex,txt,md,csv,json}: a picture.")
    ] = "",
    as_json: bool,
) -> None:
    """Print or draw a tile: threads, values, registers; of an UMMA atom descriptors and tensor memory."""
    if output:
        return _draw_mma(words | drop_empty({"operand": operand, "colour": colour}), output)
    made = read_question(TiledUmmaBody, words).tiled_mma
    umma = made if isinstance(made, TiledUmma) else None
    if as_json:
        print_json(facts.build_mma(made))
    elif umma and not (at or thread):
        print("\n".join(umma_page.format_tile(umma)))
    else:
        sides = [made.operand(operand)] if operand else [made.a, made.b, made.c]
        print("\n".join(_format_holders(made, sides, at) if at else _format_mma(made, sides, thread)))
    if umma and umma.faults:
        raise typer.Exit(1)


def _draw_mma(words: dict[str, Any], output: str) -> None:
    from lanescope.app.tiles import figure  # which draws what this folder knows

    more = {"tile": "x".join(words.get("tile", ()))} | ({} if is_umma(words["atom"]) else {"legend": "1"})
    write_output(figure.render_tiled_mma(parse_picture_form(output), words | more)[0], output)


def _format_holders(made: TiledMMA, sides: list[TileOperand], at: str) -> Iterator[str]:
    """Yield who holds an element of each operand."""
    for op in sides:
        row, col = parse_pair(at, "at", (op.row_count - 1, op.col_count - 1))
        for held, value in op.owner(row, col):
            holder = f"thread {held} warp {held // 32} lane {held % 32}"
            yield f"{op.name}[{row},{col}] {f'CTA {held}' if isinstance(made, TiledUmma) else holder} value {value}"


def _format_mma(made: TiledMMA, sides: list[TileOperand], thread: str) -> Iterator[str]:
    yield f"{made.atom.instruction.ptx}, atoms {made.atom_layout}, tile {'×'.join(map(str, made.tile))}"
    repeated = "×".join(map(str, made.steps))
    yield f"  {made.threads} threads, {made.registers} registers a thread, atom repeated {repeated}"
    for op in sides:
        yield f"  {_format_operand(op)}"
        if thread:
            yield "    " + _format_thread(op, parse_integer(thread, "thread", 0, int(made.thread_ids[-1])))
    yield from (f"  {note}" for note in facts.list_notes(made))


def _format_operand(op: TileOperand) -> str:
    place = "shared memory" if op.shared else f"{op.registers} registers"
    copies = f", {op.copies} threads hold each element" if op.copies > 1 else ""
    modes = ",".join(map(str, op.modes))
    return f"{op.name.upper()} {op.row_count}×{op.col_count}: {op.values} values ({modes}), {place}{copies}"


def _format_thread(op: TileOperand, thread: int) -> str:
    """The elements of one thread, in the order of its values."""
    ids = op.thread_ids.tolist()
    each = thread - thread % 128 if op.shared else thread
    if each not in ids:
        return f"thread {thread} holds nothing"
    at = ids.index(each)
    pairs = zip(op.rows[at].tolist(), op.cols[at].tolist(), strict=True)
    return " ".join(f"({row},{col})" for row, col in pairs)


@tiles_app.command("chain")
def chain(
    first: Annotated[str, typer.Argument(help="The atom of the first product.")],
    second: Annotated[str, typer.Argument(help="The atom of the second; the same when left out.")] = "",
    atom_layout: AtomLayout = "",
    tile: Annotated[str, typer.Option(help="M,N,K of the first tile.")] = "",
    second_tile: Annotated[str, typer.Option(help="M,N,K of the second tile; M, its own N, and N of the first.")] = "",
    as_json: AsJson = False,
) -> None:
    """Is C of the first product A of the second in registers? Exit status 1 where elements move between threads."""
    one = _build_mma_body(first, atom_layout, "", tile)
    other = _build_mma_body(second or first, atom_layout, "", second_tile)
    if tile and not second_tile:
        mnk = parse_sizes(tile) or []
        other["tile"] = [*mnk[:2], *mnk[1:2]]
    found = facts.build_chain(read_question(TiledChainBody, {"first": one, "second": other}))
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
    """Source and destination of a TiledCopy; what it costs in memory. Exit status 1 where there are bank conflicts, or
    where TMA breaks a rule."""
    from lanescope.app.tiles import tiled_copy_facts
    from lanescope.tiles.bulk import is_tma

    if is_tma(atom):
        asked = {
            "atom": atom,
            "element_bits": element_bits,
            "tile": parse_sizes(tile),
            "global": global_,
            "major": major,
            "storage": parse_storage_options(storage, major) if storage else None,
            "multicast": multicast,
        }
        told = tiled_copy_facts.build_tma_copy(drop_empty(asked))
        return print_answer(told, tiled_copy_facts.format_tma_copy, as_json, told.verdict == "match")

    asked = {
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
    found = tiled_copy_facts.build_tiled_copy(drop_empty(asked))
    if as_json:
        print_json(found)
    else:
        print(f"{found.atom}: {found.threads} threads, one TiledCopy covers {found.tiler[0]}×{found.tiler[1]}")
        print(f"  thread-value layout {found.layout}")
        if found.access:
            print(f"  shared {found.shared}: {found.access}, {found.vector_bits} bits an access. {found.why}")
            print(f"  {found.wavefronts} wavefronts, {found.ideal} ideal, {found.ways}-way")
            if found.swizzle:
                print(f"  {found.swizzle} on byte addresses frees them")
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
    """A whole main loop: global → shared → registers. Exit status 1: an element does not arrive, or banks conflict."""
    from lanescope.app.tiles import main_loop_facts

    copied = {"atom": copy_atom, "bits": bits, "thr_layout": thr, "val_layout": val}
    side: dict[str, Any] = {
        "store": drop_empty(copied) if copy_atom else None,
        "storage": parse_storage_options(storage, major),
        "major": major,
        "load": load,
        "global": global_ or None,
    }
    side = {name: value for name, value in side.items() if value is not None}
    asked = {"tiled_mma": _build_mma_body(atom, atom_layout, permutation, tile), **({"k": k} if k else {})}
    found = main_loop_facts.build_loop(asked | dict.fromkeys([operand] if operand else "ab", side))
    print_answer(
        found, main_loop_facts.format_loop, as_json, found.verdict == "match" and found.wavefronts <= found.ideal
    )
