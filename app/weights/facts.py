"""Facts of the API and the page about prepacked weights."""

from __future__ import annotations

from typing import Annotated

from lanescope.app.kit.fact import Description, copy_fact, fact, make_optional_field
from lanescope.app.kit.question import declare_question, number_field, text_field, word_field
from lanescope.app.weights.find import EXAMPLE, parse_element, parse_place, require_place
from lanescope.weights.formats import FORMATS, SideValues
from lanescope.weights.layout import MOST, WORD_BITS, WeightLayout, WeightPlace, packed_weights
from lanescope.weights.sparse import locate_metadata

TILE = ("format", "bits")  # decide the tile
LEAST = 16  # default rows and columns of W, rounded up to whole tiles


@declare_question
class WeightQuestion:
    """A matrix of integers in a format, and the selected element."""

    format: str = word_field(
        tuple(FORMATS),
        "Format",
        "How the weights are stored.",
        called={name: row.title for name, row in FORMATS.items()},
    )
    bits: int = number_field(4, "Bits", "Bits of an integer: 4 or 8; GPTQ 2 too.", least=1, most=16, needs=("format",))
    k: int | None = number_field(
        None,
        "K",
        "Rows of W, whole tiles; what the element needs where it is empty.",
        needs=TILE,
        placeholder="as needed",
    )
    n: int | None = number_field(
        None,
        "N",
        "Columns of W, whole tiles; what the element needs where it is empty.",
        needs=TILE,
        placeholder="as needed",
    )
    find: str = text_field(
        "",
        "Find",
        "An element, W[k, n], or its place: lane 10, word 1, nibble 4. W[5, 18] or near it where it is empty.",
        most=80,
        placeholder=EXAMPLE,
        size=22,
        examples=("W[5, 18]", "lane 10, word 1, nibble 4", "word 41, nibble 4"),
    )


@fact
class WeightSlot:
    """The element in the operand of an instruction."""

    instruction: Annotated[int, Description("Its number in the tile.")]
    row: int
    col: int
    lane: Annotated[int, Description("The lane of a warp, or thread of a warpgroup, that holds it.")]
    register: int
    bit: Annotated[int, Description("Its first bit in the register.")]
    value: Annotated[int, Description("Its number among the thread's values of the operand.")]


@fact
class SparseIndex:
    """The index of a kept element in the metadata."""

    word: int
    bit: int
    lane: Annotated[int, Description("The lane whose e has it.")]
    register: Annotated[int, Description("Of ldmatrix.x2, which loads e for two instructions each.")]
    selector: int


@fact
class PlacedWeight:
    """Where an element is stored."""

    k: int
    n: int
    word: Annotated[int, Description("In memory order.")]
    field: Annotated[int, Description("Nibble or byte of the word, the low one first.")]
    bit: Annotated[int, Description("Its first bit in the word.")]
    tile: Annotated[int, Description("In memory order.")]
    thread: Annotated[int | None, Description("Who loads the word.")] = make_optional_field()
    word_of_thread: int | None = make_optional_field()
    slot: WeightSlot | None = make_optional_field()
    index: Annotated[SparseIndex | None, Description("Of 2:4 sparse weights.")] = make_optional_field()


@fact
class WordElement:
    """The element in a field of the selected word."""

    field: int
    k: int
    n: int


@fact
class SideFacts:
    """Scales or zero points."""

    about: str
    orders: Annotated[dict[str, str], Description("By what a scale covers, or by bits: (block)(place or field) → (n).")]


@fact
class WeightFacts:
    """A matrix of prepacked weights."""

    format: str
    title: str
    bits: int
    k: int
    n: int
    shape: Annotated[tuple[int, ...], Description("Of the array of 32-bit words; flat where only its order counts.")]
    bytes: int
    tile: Annotated[tuple[int, ...], Description("k and n of a tile.")]
    pattern: Annotated[str, Description("(thread)(word field) → (k)(n) of a tile.")]
    threads: Annotated[int, Description("That hold a tile; 0 if the format does not define which thread loads a word.")]
    words_of_thread: Annotated[int, Description("Of a tile; all of its words where there are no threads.")]
    fields: Annotated[int, Description("Integers in a word.")]
    place: PlacedWeight
    word: Annotated[list[WordElement], Description("The selected word, its low field first.")]
    feeds: str
    scales: SideFacts
    zeros: SideFacts
    groups: Annotated[str, Description("Group sizes along K.")]
    notes: list[str]
    open: Annotated[str, Description("What the code does not establish.")]
    sources: list[str]
    ptx: Annotated[str | None, Description("The instruction that the words feed.")] = make_optional_field()
    operand: str | None = make_optional_field()


def make_layout(question: WeightQuestion) -> WeightLayout:
    """Return the layout of a question; a size that is left out is the smallest that has the requested element.

    LayoutError names the wrong field.
    """
    smallest = packed_weights(question.format, bits=question.bits)
    if question.find.strip():
        require_place(question.find, smallest)
    element = parse_element(question.find) or (0, 0)
    units = smallest.tile.extents
    sizes = (-(-max(at + 1, LEAST) // unit) * unit for at, unit in zip(element, units, strict=True))
    default_k, default_n = (min(size, MOST // unit * unit) for size, unit in zip(sizes, units, strict=True))
    k = default_k if question.k is None else question.k
    n = default_n if question.n is None else question.n
    return packed_weights(question.format, k, n, question.bits)


def find_place(question: WeightQuestion, layout: WeightLayout) -> WeightPlace:
    """Return the selected place; by default that of the example, or the nearest one in a smaller W."""
    if not question.find.strip():
        k, n = parse_element(EXAMPLE) or (0, 0)
        return layout.locate(min(k, layout.k - 1), min(n, layout.n - 1))
    return layout.locate(*parse_place(question.find, layout))


def locate_weight(question: WeightQuestion) -> WeightFacts:
    """Return a matrix of 4- or 8-bit integers as Marlin, Machete, AWQ or GPTQ stores it: the word, nibble, lane and
    register of an element, and which operand the words feed.
    """
    layout = make_layout(question)
    row, place = layout.format, find_place(question, layout)
    return copy_fact(
        WeightFacts,
        layout,
        format=row.name,
        title=row.title,
        bytes=layout.word_count * WORD_BITS // 8,
        tile=layout.tile.extents,
        pattern=row.tile_of(layout.bits),
        place=_build_place(layout, place),
        word=[
            WordElement(field=field, k=k, n=n)
            for field in range(layout.fields)
            for k, n in [layout.find_element(place.word, field)]
        ],
        feeds=row.feeds,
        scales=_build_side(row.scales),
        zeros=_build_side(row.zeros),
        groups=row.groups,
        notes=[*row.notes, *([row.unit] if row.unit else [])],
        open=row.open,
        sources=list(row.sources),
        ptx=row.ptx or None,
        operand=row.operand or None,
    )


def _build_place(layout: WeightLayout, place: WeightPlace) -> PlacedWeight:
    fragment, known = place.fragment, place.thread >= 0
    return copy_fact(
        PlacedWeight,
        place,
        bit=place.field * layout.bits,
        thread=place.thread if known else None,
        word_of_thread=place.word_of_thread if known else None,
        slot=copy_fact(WeightSlot, fragment, lane=fragment.thread) if fragment else None,
        index=SparseIndex(**locate_metadata(layout, place.k, place.n)) if layout.format.metadata else None,
    )


def _build_side(side: SideValues) -> SideFacts:
    return SideFacts(about=side.about, orders=dict(side.orders))
