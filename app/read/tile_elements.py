"""Questions about an element of a whole tile: `C(37,50)` before or after the text of a TiledMMA. No framework."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from lanescope import reader
from lanescope.app.kit.maps.bench import PIN
from lanescope.app.read.elements import format_holders
from lanescope.app.read.facts import Meaning
from lanescope.app.tiles import questions
from lanescope.errors import LayoutError
from lanescope.tiles.mma import TiledMMA, TileOperand

LONGEST = 4096  # characters of a TiledMMA's text with a question
_PLACE = r"([abcd])\s*(?:[\[(]\s*(\d{1,6})\s*,\s*(\d{1,6})\s*[\])]|\[\s*(\d{1,6})\s*\]\s*\[\s*(\d{1,6})\s*\])"
_BEFORE = re.compile(rf"^\s*{_PLACE}\s*(?:of|in|:|;)?\s+(?=\S)", re.I)
_AFTER = re.compile(rf"(?<=[\s;])\s*(?:element\s+)?{_PLACE}\s*\??\s*$", re.I)
# TiledMMA SM80_16x8x16_F32F16F16F32_TN 2x2x1: a name and the number of atoms along each mode
_NAMED = re.compile(
    r"\btiled_?mma\b\W*\s(?P<atom>SM\d{2,3}_\w+)\s*,?\s+(?P<m>\d{1,2})\s*x\s*(?P<n>\d{1,2})(?:\s*x\s*(?P<k>\d{1,2}))?\s*$",
    re.I,
)


def parse_question(text: str) -> tuple[str, int, int, dict[str, Any]] | None:
    """Parse (operand, row, column, body of POST /tiles/mma) from a question; None for any other text."""
    if len(text) > LONGEST:
        return None
    match = _BEFORE.search(text) or _AFTER.search(text)
    if not match:
        return None
    letter, *numbers = (group for group in match.groups() if group)
    rest = f"{text[: match.start()]} {text[match.end() :]}"
    if named := _NAMED.search(rest):
        body = {"atom": named["atom"], "atom_layout": f"({named['m']},{named['n']},{named['k'] or 1})"}
        return letter.lower().replace("d", "c"), int(numbers[0]), int(numbers[1]), body
    for meaning in reader.recognise_text(rest).found[:1]:
        if meaning.kind == "tiled_mma" and meaning.facts["body"].get("atom") and not meaning.facts.get("umma"):
            return letter.lower().replace("d", "c"), int(numbers[0]), int(numbers[1]), dict(meaning.facts["body"])
    return None


def answer_question(text: str) -> Meaning | LayoutError | None:
    """Answer which threads hold an element of a TiledMMA's tile, with the page that has it pinned; or say why none."""
    question = parse_question(text)
    if question is None:
        return None
    letter, row, col, body = question
    try:
        made = questions.parse_mma({name: value for name, value in body.items() if value})
        op = made.operand(letter)
        return _build_meaning(made, op, row, col, body)
    except LayoutError as error:
        return error


def _build_meaning(made: TiledMMA, op: TileOperand, row: int, col: int, body: dict[str, Any]) -> Meaning:
    letter = op.name
    if op.shared:
        raise LayoutError(
            "operand_not_in_registers",
            f"{letter.upper()} of this TiledMMA is in shared memory: no thread holds its elements.",
            "A descriptor says where they lie.",
            "text",
        )
    if row >= op.row_count or col >= op.col_count:
        raise LayoutError(
            "bad_coordinate",
            f"{letter.upper()} of this TiledMMA has no element ({row},{col}).",
            f"Its rows go from 0 to {op.row_count - 1} and its columns from 0 to {op.col_count - 1}.",
            "text",
        )
    atom = made.atom.instruction.operands.get(letter if letter != "c" else "d")
    holders = [_describe_holder(atom, thread, value) for thread, value in op.owner(row, col)]
    query = {
        "atom": body["atom"],
        "atom_layout": body.get("atom_layout") or "",
        "permutation": body.get("permutation") or "",
        "tile": "x".join(map(str, body.get("tile") or [])),
        "pin": PIN.format(panel=letter, row=row, col=col),
    }
    link = "/tiles/mma?" + urlencode({name: value for name, value in query.items() if value}, safe=":,()")
    notice = f"{letter.upper()}({row},{col}) is in {format_holders(holders)}."
    facts = {"body": body, "threads": made.threads, "tile_mnk": list(made.tile), "operand": letter, "holders": holders}
    return Meaning(
        kind="tiled_mma",
        title=f"{letter.upper()}({row},{col}) of a tile of {' × '.join(map(str, made.tile))}",
        link=link,
        facts={"atom_mnk": list(made.atom.instruction.sizes.values()), "permutation": None, "candidates": [], **facts},
        notices=(notice,),
    )


def _describe_holder(atom: Any, thread: int, value: int) -> dict[str, Any]:
    """Describe one value of a thread; bits in its register as the atom packs them."""
    text = f"thread {thread} (warp {thread // 32}, lane {thread % 32}), value {value}"
    holder: dict[str, Any] = {"thread": thread, "value": value}
    if atom is not None:
        register, bit = atom.register_of(value)
        bit += atom.padding_below
        bits = f", bits {bit + atom.element.bits - 1}:{bit}" if atom.element.bits < atom.register_bits else ""
        holder |= {"register": register, "bit": bit, "bits": atom.element.bits}
        text += f", register R{register}{bits}"
    return {**holder, "text": text}
