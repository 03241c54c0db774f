"""Output of the command tiles mma."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from lanescope.app.kit.question import read_question
from lanescope.app.kit.terminal import parse_picture_form, print_json, write_picture
from lanescope.app.tiles import facts, figure, umma_page
from lanescope.app.tiles.questions import TiledUmmaBody
from lanescope.inputs import parse_integer, parse_pair
from lanescope.tiles.mma import TiledMMA, TileOperand
from lanescope.tiles.tiled_umma import is_umma
from lanescope.tiles.umma import TiledUmma


def print_mma(words: dict[str, Any], operand: str, at: str, thread: str, as_json: bool) -> None:
    """Print threads, values, registers; for an UMMA atom descriptors and tensor memory. Exit status 1 if the tile
    does not fit tensor memory.
    """
    question = read_question(TiledUmmaBody, words)
    tiled_mma = question.tiled_mma
    umma = tiled_mma if isinstance(tiled_mma, TiledUmma) else None
    if as_json:
        print_json(facts.build_mma(tiled_mma, question.target))
    elif umma and not (at or thread):
        print("\n".join(umma_page.format_tile(umma)))
    else:
        sides = [tiled_mma.operand(operand)] if operand else [tiled_mma.a, tiled_mma.b, tiled_mma.c]
        for line in (
            _format_holders(tiled_mma, sides, at) if at else _format_mma(tiled_mma, sides, thread, question.target)
        ):
            print(line)
    if umma and umma.faults:
        raise typer.Exit(1)


def draw_mma(words: dict[str, Any], output: str) -> None:
    """Write the picture of a TiledMMA."""
    more = {"tile": "x".join(words.get("tile", ()))} | ({} if is_umma(words["atom"]) else {"legend": "1"})
    write_picture(figure.render_tiled_mma(parse_picture_form(output), words | more), output)


def _format_holders(tiled_mma: TiledMMA, sides: list[TileOperand], at: str) -> Iterator[str]:
    """Yield the holders of an element in each operand."""
    for op in sides:
        row, col = parse_pair(at, "at", (op.row_count - 1, op.col_count - 1))
        for number, value in op.owner(row, col):
            holder = f"thread {number} warp {number // 32} lane {number % 32}"
            if isinstance(tiled_mma, TiledUmma):
                holder = f"CTA {number}"
            yield f"{op.name}[{row},{col}] {holder} value {value}"


def _format_mma(tiled_mma: TiledMMA, sides: list[TileOperand], thread: str, target: str) -> Iterator[str]:
    yield f"{tiled_mma.atom.instruction.ptx}, atoms {tiled_mma.atom_layout}, tile {'×'.join(map(str, tiled_mma.tile))}"
    repeated = "×".join(map(str, tiled_mma.steps))
    yield f"  {tiled_mma.threads} threads, {tiled_mma.registers} registers per thread, atom repeated {repeated}"
    for op in sides:
        yield f"  {_format_operand(op)}"
        if thread:
            yield "    " + _format_thread(op, parse_integer(thread, "thread", 0, int(tiled_mma.thread_ids[-1])))
    yield from (f"  {note}" for note in facts.list_notes(tiled_mma, target))


def _format_operand(op: TileOperand) -> str:
    place = "shared memory" if op.shared else f"{op.registers} registers"
    copies = f", {op.copies} threads hold each element" if op.copies > 1 else ""
    modes = ",".join(map(str, op.modes))
    return f"{op.name.upper()} {op.row_count}×{op.col_count}: {op.values} values ({modes}), {place}{copies}"


def _format_thread(op: TileOperand, thread: int) -> str:
    """Return the elements of one thread as text, in the order of its values."""
    ids = op.thread_ids.tolist()
    each = thread - thread % 128 if op.shared else thread
    if each not in ids:
        return f"thread {thread} holds nothing"
    at = ids.index(each)
    pairs = zip(op.rows[at].tolist(), op.cols[at].tolist(), strict=True)
    return " ".join(f"({row},{col})" for row, col in pairs)
