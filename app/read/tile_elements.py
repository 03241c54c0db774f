"""Questions about places of a whole tile: `C(37,50)` or `T13` before or after the text of a TiledMMA."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from lanescope import reader
from lanescope.app.kit.maps.answer import build_answer
from lanescope.app.kit.maps.find import pin_places
from lanescope.app.kit.sought_place import SoughtPlace, check_whole
from lanescope.app.read.element_holders import format_holders
from lanescope.app.read.element_texts import ElementQuestion, parse_question, parse_question_of_code
from lanescope.app.read.facts import Meaning
from lanescope.app.tiles import questions, state
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.tiles.mma import SIDES, TiledMMA

LONGEST = 4096  # characters of a TiledMMA's text with a question
_TILED = re.compile("tiled|atom|ThrLayout", re.I)
# TiledMMA SM80_16x8x16_F32F16F16F32_TN 2x2x1: a name and the number of atoms along each mode
_NAMED = re.compile(
    r"\btiled_?mma\b\W*\s(?:with\s+)?(?P<atom>SM\d{2,3}_\w+)\s*,?\s+(?P<m>\d{1,2})\s*x\s*(?P<n>\d{1,2})"
    r"(?:\s*x\s*(?P<k>\d{1,2}))?[\s?.]*$",
    re.I,
)


def parse_tile_question(text: str) -> tuple[ElementQuestion, dict[str, Any]] | None:
    """Parse a question about a TiledMMA: the question and the body of POST /tiles/mma; None for any other text."""
    if len(text) > LONGEST:
        return None
    for question in filter(None, (parse_question(text), parse_question_of_code(text))):
        if named := _NAMED.search(question.rest):
            layout = f"({named['m']},{named['n']},{named['k'] or 1})"
            return question, {"atom": named["atom"], "atom_layout": layout}
        if not _TILED.search(question.rest):
            continue
        for meaning in reader.recognise_text(question.rest).found[:1]:
            if meaning.kind == "tiled_mma" and meaning.facts["body"].get("atom") and not meaning.facts.get("umma"):
                return question, dict(meaning.facts["body"])
    return None


def answer_question(text: str) -> Meaning | LayoutError | None:
    """Return the threads that hold a place of a TiledMMA's tile, with the page that pins it, or the reason why not."""
    parsed = parse_tile_question(text)
    if parsed is None:
        return None
    question, body = parsed
    if question.narrowing:
        message = f"{question.text} are several places."
        return LayoutError("bad_find", message, "Ask for one of a TiledMMA, or for two: C(3,5) and C(3,6).", "text")
    try:
        tiled_mma = questions.parse_mma({name: value for name, value in body.items() if value})
        places = [replace(place, matrix=place.matrix.replace("d", "c")) for place in question.places]
        return _build_meaning(tiled_mma, places, body)
    except LayoutError as error:
        return error


def _build_meaning(tiled_mma: TiledMMA, places: list[SoughtPlace], body: dict[str, Any]) -> Meaning:
    holders = [_list_holders(tiled_mma, place) for place in places]
    query = {
        "atom": body["atom"],
        "atom_layout": body.get("atom_layout") or "",
        "permutation": body.get("permutation") or "",
        "tile": "x".join(map(str, body.get("tile") or [])),
    }
    bench = state.make_bench(tiled_mma)
    pins = pin_places(bench, places)
    lines = build_answer(bench, pins).lines
    names = [f"{place.matrix.upper()}({place.coords[0]},{place.coords[1]})" if place.coords else "" for place in places]
    notices = [
        f"{name} is in {format_holders(owners)}." if owners else f"{line.replace('`', '')}."
        for name, owners, line in zip(names, holders, lines, strict=True)
    ]
    titles = [name or place.text for name, place in zip(names, places, strict=True)]
    facts = {
        "atom_mnk": list(tiled_mma.atom.instruction.sizes.values()),
        "permutation": None,
        "candidates": [],
        "body": body,
        "threads": tiled_mma.threads,
        "tile_mnk": list(tiled_mma.tile),
        "operand": places[0].matrix or None,
        "holders": [holder for owners in holders for holder in owners],
    }
    return Meaning(
        kind="tiled_mma",
        title=f"{join_words(titles)} of a tile of {' × '.join(map(str, tiled_mma.tile))}",
        link="/tiles/mma?" + urlencode({name: value for name, value in (query | pins).items() if value}, safe=":,()"),
        facts=facts,
        notices=tuple(dict.fromkeys(notices)),
    )


def _list_holders(tiled_mma: TiledMMA, place: SoughtPlace) -> list[dict[str, Any]]:
    """List the holders of an element; [] for any other place. LayoutError if no thread holds it."""
    check_whole(place, "bad_coordinate", "text")
    if not (place.matrix or place.is_warp) and place.thread is None:
        raise LayoutError("bad_find", f"{place.text} is of no named matrix.", "Write A, B or C before it.", "text")
    if place.letter not in ("", *SIDES):
        raise LayoutError("bad_find", f"A TiledMMA has no {place.matrix.upper()}.", "It has A, B and C.", "text")
    if place.coords is None:
        return []
    (row, col), op = place.coords, tiled_mma.operand(place.matrix)
    if op.shared:
        raise LayoutError(
            "operand_not_in_registers",
            f"{place.matrix.upper()} of this TiledMMA is in shared memory: no thread holds its elements.",
            "A descriptor defines where they are.",
            "text",
        )
    if row >= op.row_count or col >= op.col_count:
        raise LayoutError(
            "bad_coordinate",
            f"{place.matrix.upper()} of this TiledMMA has no element ({row},{col}).",
            f"Its rows go from 0 to {op.row_count - 1} and its columns from 0 to {op.col_count - 1}.",
            "text",
        )
    atom = tiled_mma.atom.instruction.operands.get(place.matrix if place.matrix != "c" else "d")
    return [_describe_holder(atom, thread, value) for thread, value in op.owner(row, col)]


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
