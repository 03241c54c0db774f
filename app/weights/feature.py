"""Prepacked weights: Marlin, Machete, AWQ, GPTQ and sparse Marlin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.kit.links import link_instruction
from lanescope.app.weights.draw import caption_weights, draw_weights
from lanescope.app.weights.facts import WeightFacts, WeightQuestion, find_place, locate_weight, make_layout
from lanescope.app.weights.find import FIELD_NAMES
from lanescope.ptx import catalog
from lanescope.ptx.threads import WARP
from lanescope.render.weights import render_weights


def build_weight_context(question: WeightQuestion, answer: WeightFacts) -> dict[str, Any]:
    """Return further template variables of the page."""
    layout, slot = make_layout(question), answer.place.slot
    pin = {"pin": f"{answer.operand}:{slot.row},{slot.col}"} if slot else {}
    return {
        "code": render_weights(layout),
        "caption": caption_weights(layout, find_place(question, layout)),
        "instruction": link_instruction(catalog.find(answer.ptx), query=pin) if answer.ptx else "",
        "sentences": list(format_place(answer)),
        "field_name": FIELD_NAMES.get(answer.bits, "field"),
    }


def draw_weight(question: WeightQuestion, answer: WeightFacts) -> str:
    """Return the part of W around the selected element, with its words."""
    layout = make_layout(question)
    return draw_weights(layout, find_place(question, layout))


def format_place(answer: WeightFacts) -> Iterator[str]:
    """Yield sentences about the place of the element: its word, its thread, its slot in the operand, its metadata."""
    at, field = answer.place, FIELD_NAMES.get(answer.bits, "field")
    bits = f"bits {at.bit}–{at.bit + answer.bits - 1}"
    yield (
        f"W[{at.k}, {at.n}] of {answer.k} × {answer.n} is {field} {at.field} ({bits}) of word {at.word}, in tile"
        f" {at.tile}."
    )
    if at.thread is not None:
        warp, lane = divmod(at.thread, WARP)
        several = f" (warp {warp}, lane {lane})" if answer.threads // WARP > 1 else ""
        who = f"Thread {at.thread}{several}" if several else f"Lane {at.thread}"
        yield f"{who} loads it as word {at.word_of_thread} of {answer.words_of_thread} of the tile."
    if at.slot and answer.operand:
        yield (
            f"Instruction {at.slot.instruction} of the tile has it in {answer.operand.upper()} at row {at.slot.row},"
            f" column {at.slot.col}: register {at.slot.register}, value {at.slot.value}."
        )
    if at.index:
        yield (
            f"Its index is bits {at.index.bit}–{at.index.bit + 1} of metadata word {at.index.word}: e of lane"
            f" {at.index.lane}, register {at.index.register} of ldmatrix.x2, selector {at.index.selector}."
        )


def format_weight(question: WeightQuestion, answer: WeightFacts) -> Iterator[str]:
    """Yield the lines of the command."""
    size = f"{answer.bytes} bytes, words {list(answer.shape)}"
    yield f"{answer.title}, {answer.bits} bits, W {answer.k} × {answer.n}: {size}"
    yield from (f"  {sentence}" for sentence in format_place(answer))
    yield f"  the word, low {FIELD_NAMES.get(answer.bits, 'field')} first: " + " ".join(
        f"{element.k},{element.n}" for element in answer.word
    )
    yield f"  a tile of {answer.tile[0]} × {answer.tile[1]}, (thread)(word field) to (k)(n): {answer.pattern}"
    yield f"  {answer.feeds}"
    yield f"  groups: {answer.groups}"
    yield f"  scales: {answer.scales.about}"
    yield f"  zero points: {answer.zeros.about}"
    yield from (f"  {note}" for note in answer.notes)
    if answer.open:
        yield f"  open: {answer.open}"
    yield from (f"  source: {source}" for source in answer.sources)


WEIGHTS = Tool(
    question=WeightQuestion,
    answer=locate_weight,
    api="weights",
    page="/weights",
    template="weights/page.html",
    context=build_weight_context,
    picture=draw_weight,
    command="weights",
    lines=format_weight,
    examples=(
        ("Marlin", {}),
        ("Marlin, 8 bits", {"bits": "8"}),
        ("Lane 10, word 1, nibble 4", {"find": "lane 10, word 1, nibble 4"}),
        ("Machete", {"format": "machete", "find": "W[20, 37]"}),
        ("AWQ's order", {"format": "awq", "k": "16", "n": "32", "find": "W[3, 9]"}),
        ("GPTQ", {"format": "gptq", "k": "32", "n": "16", "find": "W[13, 2]"}),
        ("Sparse Marlin", {"format": "sparse-marlin"}),
    ),
)
FEATURE = Feature(
    tools=(WEIGHTS,),
    menu=(
        Entry(
            "Tiles",
            9,
            "Prepacked weights",
            "/weights",
            "Marlin, Machete, AWQ and GPTQ: the word, lane and register of every 4-bit weight",
        ),
    ),
    examples={"/api/v1/weights": "/api/v1/weights?format=marlin&find=W[5,18]"},
)
