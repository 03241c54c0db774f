"""Thread-value layouts, Triton's layouts, and CuTe's algebra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.kit.question import read_question
from lanescope.app.kit.terminal import print_json
from lanescope.app.layouts import cute, facts, triton_facts
from lanescope.app.layouts.facts import CuteQuestion, TvBody
from lanescope.app.layouts.triton_facts import ConversionFacts, ConvertBody, FeedsFacts, TritonBody
from lanescope.inputs import parse_integer, parse_pair
from lanescope.triton.gluon import TritonLayout

BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"


def format_conversion(question: ConvertBody, conversion: ConversionFacts) -> Iterator[str]:
    """Yield the lines of the command convert."""
    yield f"{conversion.way}: of {conversion.places} registers {conversion.in_thread} find their element in the thread,"
    yield f"  {conversion.in_warp} in the warp, {conversion.in_block} in the block"
    if conversion.way == "registers" and conversion.order:
        yield f"  registers {' '.join(map(str, conversion.order))}"
    if trip := conversion.trip:
        for buffer in (trip.store, trip.load):
            cost = f"{buffer.wavefronts} wavefronts, {buffer.ideal} without conflicts, {buffer.ways}-way"
            yield f"  {buffer.access}: {cost}"
        if trip.why:
            yield f"  {trip.why}"


def format_feeds(question: TritonBody, feeds: FeedsFacts) -> Iterator[str]:
    """Yield the lines of the command feeds."""
    for operand in feeds.feeds:
        order = "in order" if operand.in_order else " ".join(map(str, operand.registers))
        name = f"{operand.operand.upper()} of {operand.family} {operand.shape}"
        yield f"{name}, {operand.element_bits}-bit, ×{operand.fragments}: {order}"


def run_tv(
    words: dict[str, Any],
    *,
    at: Annotated[str, typer.Option("--at", help="ROW,COL: who holds this element?")] = "",
    as_json: bool,
) -> None:
    """Print the tile of a layout, or the holders of an element."""
    question = read_question(TvBody, words)
    if at and not as_json:
        layout = question.layout
        row, col = parse_pair(at, "at", (layout.row_count - 1, layout.col_count - 1))
        print("\n".join(f"thread {t} value {v}" for t, v in layout.owner(row, col)) or "no thread")
        return
    answer = facts.build_tv(question)
    if as_json:
        return print_json(answer)
    covered = f"cover {answer.covered} of {answer.elements} elements"
    print(f"{answer.cute}: {answer.threads} threads × {answer.values} values {covered}")
    if answer.copies > 1:
        print(f"  an element is held up to {answer.copies} times")


def run_triton(
    words: dict[str, Any],
    *,
    at: Annotated[str, typer.Option("--at", help="ROW,COL: who holds this element, or where it is.")] = "",
    as_json: bool,
) -> None:
    """Print a layout's bases, or the holders of an element."""
    question = read_question(TritonBody, words)
    if as_json:
        return print_json(triton_facts.build_triton(question))
    print("\n".join(_format_holders(question.layout, at) if at else _format_triton(question.layout)))


def _format_holders(layout: TritonLayout, at: str) -> Iterator[str]:
    place = [parse_integer(part, "at", 0, size - 1) for part, size in zip(at.split(","), layout.shape, strict=False)]
    if layout.shared:
        yield f"offset {layout.offset[tuple(place)]}"
    elif layout.tensor_memory:
        for lane, column in layout.owner(*place):
            yield f"lane {lane} column {column * layout.element_bits // 32} bit {column * layout.element_bits % 32}"
    else:
        for thread, register in layout.owner(*place):
            yield f"thread {thread} warp {thread // layout.lanes} lane {thread % layout.lanes} register {register}"


def _format_triton(layout: TritonLayout) -> Iterator[str]:
    yield f"{layout.kind} over {'×'.join(map(str, layout.shape))}"
    if layout.tensor_memory:
        yield f"  {layout.columns} columns of tensor memory"
    if layout.of_threads:
        copies = f", {layout.copies} hold each element" if layout.copies > 1 else ""
        yield f"  {layout.threads} threads × {layout.registers} registers{copies}"
    for name, bases in layout.linear.list_bases().items():
        yield f"  {name:8} {' '.join(str(tuple(basis)).replace(' ', '') for basis in bases) or '-'}"
    yield f"  CuTe     {layout.cute or 'none: bits are XORed, or padding is added'}"
    if layout.notice:
        yield f"  {layout.notice}"


TV = Tool(
    question=TvBody,
    answer=facts.build_tv,
    api="layouts/tv",
    body="TvBody",
    command="tiles tv",
    help="Any thread-value layout over a tile: `T12:V3` a cell, or who holds one.",
    run=run_tv,
    name="tv_api",
)
TRITON = Tool(
    question=TritonBody,
    answer=triton_facts.build_triton,
    api="layouts/triton",
    body="TritonBody",
    command="tiles triton",
    help="A layout of Triton or Gluon: bases, threads and registers, or places in shared memory.",
    run=run_triton,
    name="triton_api",
)
CONVERT = Tool(
    question=ConvertBody,
    answer=triton_facts.build_conversion,
    api="layouts/triton/convert",
    body="ConvertBody",
    command="convert",
    lines=format_conversion,
    succeeds=lambda found: found.way in ("same", "registers"),
    name="convert_api",
)
FEEDS = Tool(
    question=TritonBody,
    answer=triton_facts.build_feeds,
    api="layouts/triton/feeds",
    body="TritonBody",
    command="feeds",
    lines=format_feeds,
    succeeds=lambda found: bool(found.feeds),
    name="feeds_api",
)
CUTE = Tool(
    question=CuteQuestion,
    answer=facts.build_cute,
    api="cute",
    command="cute",
    lines=facts.format_cute,
    name="cute_api",
)
CUTE_PAGE = Tool(
    question=CuteQuestion,
    answer=facts.evaluate_expression,  # a refused step is drawn, too
    page=cute.PATH,
    template="layouts/cute.html",
    context=cute.build_cute_context,
    examples=(
        ("composition", {"expression": "composition((6,2):(8,2), (4,3):(3,1))"}),
        ("complement", {"expression": "complement((2,2):(1,6), 24)"}),
        ("logical_divide", {"expression": "A = (4,2,3):(2,1,8)\nlogical_divide(A, 4:2)"}),
        ("zipped_divide", {"expression": "A = (8,16):(16,1)\nT = zipped_divide(A, (4,8))\nT(_,(1,0))"}),
        ("blocked_product", {"expression": "blocked_product((2,5):(5,1), (3,4):(1,3))"}),
        ("raked_product", {"expression": "raked_product((2,5):(5,1), (3,4):(1,3))"}),
        ("make_fragment_like", {"expression": "make_fragment_like(((2,2,2),4,4):((1,512,8),2048,16))"}),
        ("accumulator to A", {"expression": "convert_layout_acc_Aregs(((2,2),1,8):((1,2),0,4))"}),
        ("multicast mask", {"expression": "create_tma_multicast_mask<1>((2,4), (1,0))"}),
        ("right_inverse", {"expression": "right_inverse((4,8):(8,1))"}),
        ("coalesce", {"expression": "coalesce((2,(1,6)):(1,(6,2)))"}),
        ("slice", {"expression": "A = ((4,8),(2,2)):((32,1),(16,8))\nA((_,3),(_,1))"}),
        ("CUTLASS atom", {"expression": "tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64,_64>{})"}),
        ("swizzle", {"expression": "A = Sw<3,3,3> o (8,64):(64,1)\nzipped_divide(A, (8,8))"}),
        ("not admissible", {"expression": "composition((4,6):(1,8), 6:3)"}),
    ),
)
FEATURE = Feature(
    tools=(TV, TRITON, CUTE, CONVERT, FEEDS, CUTE_PAGE),
    written=("api", "page"),
    menu=(
        Entry("Tiles", 5, "Thread-value layout", "/layouts/tv", "any CuTe TV layout over a tile, and what it feeds"),
        Entry("Tiles", 6, "CuTe algebra", "/cute", "composition, complement, divides and products, step by step"),
        Entry(
            "Tiles", 7, "Triton layout", "/layouts/triton", "bases, threads and registers; conversion to another layout"
        ),
    ),
    examples={
        "/api/v1/cute": "/api/v1/cute?expression=logical_divide((4,2,3):(2,1,8),4:2)",
        "/layouts/triton.{form}": "/layouts/triton.svg?text=gl.BlockedLayout([1,4],[8,4],[4,1],[1,0])&shape=32x16",
        "/layouts/tv.{form}": "/layouts/tv.svg?cute=((4,8),(2,2)):((32,1),(16,8))&tile=16x8",
        "/cute.{form}": "/cute.svg?expression=zipped_divide((8,16):(16,1),(4,8))",
    },
    bodies={
        "/api/v1/layouts/triton": {
            "text": BLOCKED,
            "shape": [32, 16],
            "element_bits": 16,
        },
        "/api/v1/layouts/triton/convert": {
            "text": BLOCKED,
            "to": "#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>",
            "shape": [32, 32],
        },
        "/api/v1/layouts/triton/feeds": {
            "text": "#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>",
            "shape": [32, 32],
            "element_bits": 32,
        },
        "/api/v1/layouts/tv": {"cute": "((4,8),(2,2,2)):((32,1),(16,8,128))", "tile": [16, 16]},
    },
)
