"""Triton's layouts, their conversions and the operands they supply, for the API, the pages and the command line."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from lanescope.app.kit.enumerations import Number
from lanescope.app.kit.fact import Description, IntegerArray, Numbers, RealArray, copy_fact, fact, make_optional_field
from lanescope.app.kit.question import declare_question, parsed_field
from lanescope.app.layouts.linear_layouts import split_sizes
from lanescope.app.layouts.triton_presets import MMA
from lanescope.errors import LayoutError
from lanescope.inputs import require_text, shorten_value
from lanescope.tiles.convert import BufferAccess, convert_layout
from lanescope.tiles.feeds import MatchingOperand, find_fed_operands
from lanescope.triton.gluon import TritonLayout, triton_layout

TEXT = 1 << 16
LayoutText = Annotated[str, Description(limits={"maxLength": TEXT})]


def _parse_text(value: Any, field: str) -> str:
    return require_text(value, field, TEXT)


def _parse_shape(value: Any, field: str) -> list[Any] | None:
    if value not in (None, "") and not isinstance(value, list):
        raise LayoutError("bad_shape", f"{field} is {shorten_value(value)}.", "A list of sizes: [128, 64].", field)
    return None if value == "" else value


@declare_question
class TritonBody:
    """A layout of Triton or Gluon over a tensor."""

    text: str = parsed_field(
        _parse_text,
        "Layout, or a module",
        "#ttg.…<{…}> with the aliases it names, a module, or a Gluon class with its arguments.",
        MMA,
        required=True,
        argument=True,
        type=LayoutText,
        wide=True,
        rows=2,
        examples=(
            "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
        ),
    )
    shape: list[Any] | None = parsed_field(
        _parse_shape,
        "Tensor",
        "The tensor's sizes: 128x64, in JSON [128, 64]; those of tensor<…> in the text.",
        split=split_sizes,
        type=Annotated[list[Number], Description(limits={"minItems": 1, "maxItems": 8})] | None,
        size=9,
        placeholder="128x64",
    )
    element_bits: Any = parsed_field(
        lambda value, field: None if str(value).strip() == "" else value,  # the layout checks its own parameters
        "Element bits",
        "Those of tensor<…> in the text, else 16.",
        type=Number | None,
        size=4,
    )

    @property
    def layout(self) -> TritonLayout:
        return triton_layout(self.text, self.shape, self.element_bits)


@declare_question
class ConvertBody(TritonBody):
    """Two layouts of threads over one tensor."""

    to: str = parsed_field(
        _parse_text,
        "Convert to",
        "The layout that the elements go to, spelled as `text` is.",
        required=True,
        argument=True,
        type=LayoutText,
        examples=("#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>",),
    )


@fact
class TritonFacts:
    """A layout of Triton or Gluon over a tensor: of threads, of shared memory or of tensor memory."""

    text: Annotated[str, Description("The layout as Triton prints it.")]
    kind: Annotated[str, Description(examples=("blocked", "nvidia_mma", "swizzled_shared"))]
    shape: list[int]
    element_bits: int
    threads: Annotated[int | None, Description("Of all blocks of the cluster.")] = make_optional_field()
    warps: Annotated[int | None, Description("Of one block.")] = make_optional_field()
    lanes: Annotated[int | None, Description("Threads of a warp: 32, or 64 of a wave of AMD's CDNA GPUs.")] = (
        make_optional_field()
    )
    blocks: int
    registers: Annotated[int | None, Description("Elements that a thread holds, copies among them.")] = (
        make_optional_field()
    )
    copies: Annotated[int | None, Description("How many (thread, register) pairs hold each element.")] = (
        make_optional_field()
    )
    coords: Annotated[Numbers | None, IntegerArray(3, "[axis][thread][register]")] = make_optional_field()
    buffers: Annotated[
        int | None,
        Description(
            "Of a memdesc of one size more than its layout: how many, one behind another; the bases are those of one."
        ),
    ] = make_optional_field()
    offset: Annotated[
        Numbers | None,
        RealArray(
            (1, 2, 3, 4, 5, 6, 7, 8),
            "[row][column], an axis an axis of the tensor: where shared memory has it, in elements.",
        ),
    ] = make_optional_field()
    lane: Annotated[
        Numbers | None, IntegerArray(2, "[row][column]: the lane of tensor memory that has it; of copies the first.")
    ] = make_optional_field()
    column: Annotated[Numbers | None, IntegerArray(2, "[row][column]: the 32-bit column that has it.")] = (
        make_optional_field()
    )
    bit: Annotated[Numbers | None, IntegerArray(2, "[row][column]: where it begins in that column.")] = (
        make_optional_field()
    )
    columns: Annotated[int | None, Description("32-bit columns of tensor memory that a block takes.")] = (
        make_optional_field()
    )
    linear_layout: Annotated[
        dict[str, list[list[int]]],
        Description(
            "A basis a bit, lowest first: of register, lane, warp and block; of offset and block; of row (lane), col"
            " (column of elements) and block."
        ),
    ]
    cute: Annotated[
        str | None,
        Description(
            "The same as CuTe writes it, the first axis fastest: (thread, value), (offset, block) or (lane, column) →"
            " element; null where bits are XORed or padding is added."
        ),
    ]
    notice: Annotated[str | None, Description("What to know of a layout of AMD's GPUs.")] = make_optional_field()


def _place_columns(layout: TritonLayout) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the lane, the 32-bit column of tensor memory and the bit in it of each element."""
    lane, column = layout.lane_and_column
    at = column * layout.element_bits
    return lane, at // 32, at % 32


def build_triton(question: TritonBody) -> TritonFacts:
    """A layout of Triton (an MLIR attribute, or a module with one) or of Gluon's Python over a tensor: its linear
    layout, and the coordinates of every thread and register or the offset of every element.
    """
    layout = question.layout
    of_threads, tensor = layout.of_threads, layout.tensor_memory
    lane, column, bit = _place_columns(layout) if tensor else (None, None, None)
    return copy_fact(
        TritonFacts,
        layout,
        shape=list(layout.shape),
        threads=layout.threads if of_threads else None,
        warps=layout.warps if of_threads else None,
        lanes=layout.lanes if of_threads else None,
        registers=layout.registers if of_threads else None,
        copies=layout.copies if of_threads else None,
        coords=np.stack(layout.coords) if of_threads else None,
        buffers=layout.buffers if layout.buffers > 1 else None,
        offset=layout.offset if layout.shared else None,
        lane=lane,
        column=column,
        bit=bit,
        columns=layout.columns if tensor else None,
        linear_layout=layout.linear.list_bases(),
        cute=None if layout.cute is None else str(layout.cute),
        notice=layout.notice or None,
    )


@fact
class ScratchAccess:
    """All stores of the warps to the buffer, or all their loads."""

    access: Annotated[str, Description(examples=("st.shared.b128",))]
    elements: Annotated[int, Description("That one access moves.")]
    wavefronts: int
    ideal: Annotated[int, Description("Without bank conflicts.")]
    ways: Annotated[int, Description("The worst degree of conflict; 1 is free of conflicts.")]


@fact
class ScratchTrip:
    """The way through a row-major buffer in shared memory without a swizzle."""

    bytes: int
    store: ScratchAccess
    load: ScratchAccess
    swizzle: Annotated[
        str | None, Description("The smallest swizzle of byte addresses without bank conflicts in both accesses.")
    ]
    why: Annotated[str | None, Description("What that swizzle is, or why there is none; null without a conflict.")]


@fact
class ConversionFacts:
    """What ttg.convert_layout moves."""

    way: Annotated[
        Literal["same", "registers", "warp", "shared", "cluster"],
        Description(
            "same: nothing; registers: renamed in each thread; warp: shuffles; shared: through shared memory; cluster:"
            " through that of other blocks."
        ),
    ]
    places: Annotated[int, Description("(thread, register) pairs of the destination.")]
    in_thread: Annotated[int, Description("Of these, how many find their element in the same thread of the source.")]
    in_warp: int
    in_block: int
    order: Annotated[
        list[int] | None,
        Description("[register of the destination]: the source's, where it is the same in every thread."),
    ]
    trip: ScratchTrip | None


def build_conversion(question: ConvertBody) -> ConversionFacts:
    """What a conversion between two layouts of Triton moves: the elements that stay in their thread, in their warp,
    or go through shared memory, and the bank conflicts of that.
    """
    source = question.layout
    try:
        target = triton_layout(question.to, list(source.shape), source.element_bits)
    except LayoutError as error:
        raise error.move_to_field("to") from None
    conversion = convert_layout(source, target)
    trip = conversion.trip
    solution = trip.solution if trip else None
    return copy_fact(
        ConversionFacts,
        conversion,
        order=list(conversion.order) if conversion.order is not None else None,
        trip=None
        if trip is None
        else ScratchTrip(
            bytes=trip.bytes,
            store=_build_access(trip.store),
            load=_build_access(trip.load),
            swizzle=str(solution.swizzle) if solution and solution.free else None,
            why=solution.why if solution else None,
        ),
    )


def _build_access(one: BufferAccess) -> ScratchAccess:
    return copy_fact(ScratchAccess, one, access=one.name, elements=one.values)


@fact
class FedOperand:
    """An operand of a dense mma or wgmma that a layout already is: no element changes its lane."""

    operand: Literal["a", "b", "d"]
    shape: Annotated[str, Description("Of the operand.", examples=("m16k16",))]
    family: Annotated[str, Description("Of the instructions.", examples=("mma",))]
    element_bits: int
    registers: Annotated[list[int], Description("Of the layout, in the order of the fragment's values.")]
    in_order: Annotated[bool, Description("Whether they are registers 0, 1, 2 …")]
    fragments: Annotated[int, Description("How many one warp holds, of wgmma one warpgroup.")]
    instructions: list[str]


@fact
class FeedsFacts:
    """The operands that a layout of threads supplies without a shuffle, over its last two axes."""

    feeds: list[FedOperand]


def build_feeds(question: TritonBody) -> FeedsFacts:
    """Return the operands of dense mma and wgmma that a layout of threads already is, with the registers of each."""
    layout = question.layout
    if not layout.of_threads:
        raise LayoutError(
            "bad_conversion",
            f"{layout.kind} is a layout of {'shared' if layout.shared else 'tensor'} memory.",
            "Give a layout of threads.",
            "text",
        )
    bits = None if question.element_bits is None else layout.element_bits
    return FeedsFacts(feeds=[_build_operand(fed_operand) for fed_operand in find_fed_operands(layout.linear, bits)])


def _build_operand(one: MatchingOperand) -> FedOperand:
    it = one.fragment
    operand: Any = it.operand
    family: Any = it.family
    return FedOperand(
        operand=operand,
        shape=it.shape,
        family=family,
        element_bits=it.bits,
        registers=list(one.registers),
        in_order=one.in_order,
        fragments=one.times,
        instructions=list(one.ptx),
    )
