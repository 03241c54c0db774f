"""Prepacked weights: Marlin, Machete, AWQ, GPTQ and sparse Marlin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.kit.links import link_instruction
from lanescope.app.weights.draw import caption_weights, draw_weights
from lanescope.app.weights.facts import (
    WeightFacts,
    WeightQuestion,
    find_place,
    locate_weight,
    make_layout,
)
from lanescope.app.weights.find import FIELD_NAMES
from lanescope.ptx import catalog
from lanescope.render.weights import render_weights
from lanescope.weights.layout import WARP


def build_weight_context(asked: WeightQuestion, told: WeightFacts) -> dict[str, Any]:
    """Return what the page shows beside the answer."""
    layout, slot = make_layout(asked), told.place.slot
    pin = {"pin": f"{told.operand}:{slot.row},{slot.col}"} if slot else {}
    return {
        "code": render_weights(layout),
        "caption": caption_weights(layout, find_place(asked, layout)),
        "instruction": link_instruction(catalog.find(told.ptx), query=pin) if told.ptx else "",
        "sentences": list(format_place(told)),
        "field_name": FIELD_NAMES.get(told.bits, "field"),
    }


def draw_weight(asked: WeightQuestion, told: WeightFacts) -> str:
    """Return the part of W around the selected element, with its words."""
    layout = make_layout(asked)
    return draw_weights(layout, find_place(asked, layout))


def format_place(told: WeightFacts) -> Iterator[str]:
    """Yield where the element is, in sentences: its word, its thread, its slot in the operand, its metadata."""
    at, field = told.place, FIELD_NAMES.get(told.bits, "field")
    yield (
        f"W[{at.k}, {at.n}] of {told.k} × {told.n} is {field} {at.field} (bits {at.bit}–{at.bit + told.bits - 1}) of"
        f" word {at.word}, in tile {at.tile}."
    )
    if at.thread is not None:
        warp, lane = divmod(at.thread, WARP)
        several = f" (warp {warp}, lane {lane})" if told.threads // WARP > 1 else ""
        who = f"Thread {at.thread}{several}" if several else f"Lane {at.thread}"
        yield f"{who} loads it as word {at.word_of_thread} of {told.words_of_thread} of the tile."
    if at.slot and told.operand:
        yield (
            f"Instruction {at.slot.instruction} of the tile has it in {told.operand.upper()} at row {at.slot.row},"
            f" column {at.slot.col}: register {at.slot.register}, value {at.slot.value}."
        )
    if at.index:
        yield (
            f"Its index is bits {at.index.bit}–{at.index.bit + 1} of metadata word {at.index.word}: e of lane"
            f" {at.index.lane}, register {at.index.register} of ldmatrix.x2, selector {at.index.selector}."
        )


def format_weight(asked: WeightQuestion, told: WeightFacts) -> Iterator[str]:
    """Yield the lines of the command."""
    yield f"{told.title}, {told.bits} bits, W {told.k} × {told.n}: {told.bytes} bytes, words {list(told.shape)}"
    yield from (f"  {sentence}" for sentence in format_place(told))
    yield f"  the word, low {FIELD_NAMES.get(told.bits, 'field')} first: " + " ".join(
        f"{one.k},{one.n}" for one in told.word
    )
    yield f"  a tile of {told.tile[0]} × {told.tile[1]}, (thread)(word field) to (k)(n): {told.pattern}"
    yield f"  {told.feeds}"
    yield f"  groups: {told.groups}"
    yield f"  scales: {told.scales.about}"
    yield f"  zero points: {told.zeros.about}"
    yield from (f"  {note}" for note in told.notes)
    if told.open:
        yield f"  open: {told.open}"
    yield from (f"  source: {source}" for source in told.sources)


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
