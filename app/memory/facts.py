"""Facts about a tile in shared memory, for the API, the command line and the pages."""

from __future__ import annotations

from typing import Annotated

from lanescope.app.kit.enumerations import Word64
from lanescope.app.kit.fact import Description, IntegerArray, Json, Numbers, copy_fact, fact
from lanescope.app.kit.memory_words import Major, Order, SwizzleMode
from lanescope.app.kit.question import declare_question, number_field, options_of, read_question, word_field
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import View
from lanescope.errors import LayoutError
from lanescope.inputs import parse_choice
from lanescope.ptx.table.descriptors import BASE32B, FORMATS, WGMMA, get_format
from lanescope.shared import slices, tiling, tma
from lanescope.shared.swizzle import NAMES, Mode
from lanescope.shared.tiling import DEFAULT_ORDER


@declare_question
class TileQuestion:
    """A tile in shared memory."""

    element_bits: int = number_field(16, "Element bits", "Bits of an element.")
    major: str = word_field(DEFAULT_ORDER, "Major", "The contiguous dimension.", "K", code="bad_major")
    swizzle: str = word_field(  # depends on the format of the descriptor
        (*NAMES, BASE32B.name),
        "Swizzle",
        "The swizzle mode; the last is tcgen05's alone.",
        "128B",
        parse=lambda value, field: value,
    )
    mn: int = number_field(64, "Tile M or N", "Elements of M or N.")
    k: int = number_field(64, "Tile K", "Elements of K.")
    rows: int | None = number_field(
        None, "Rows of one instruction", "Rows of one instruction; 64, or mn where that is less."
    )
    order: str = word_field(
        ("mn", "k"),
        "Atoms first along",
        "The dimension along which the atoms are laid first; if empty, the usual one of the major.",
        "",
        code="bad_tile",
        wide=True,
    )
    base: int = number_field(0, "First byte", "The tile's byte address.")
    format: DescriptorFormat = word_field(
        (row.name for row in FORMATS),
        "Format",
        "Who reads the tile.",
        parse=lambda value, field: get_format(value),
    )


MAJORS = tuple(DEFAULT_ORDER)
TILE_FIELDS = {name: option.default for name, option in options_of(TileQuestion).items() if name != "format"}


@fact
class Count:
    mn: int
    k: int


@fact
class Atom:
    """The unit of the swizzle pattern in elements, and how many the tile has in each dimension."""

    mn: int
    k: int
    bytes: int
    count: Count


@fact
class CuteTexts:
    """The tile's layout in CuTe's notation, in chunks, elements, bytes and bits."""

    chunks: str
    elements: str
    bytes: str
    bits: str


@fact
class KStep:
    """Where one instruction's slice along K starts."""

    k: int
    start_offset_bytes: int
    descriptor: Word64
    why: str


@fact
class MnStep:
    """Where one instruction's slice along M or N starts; null with a reason if no descriptor reads it."""

    mn: int
    start_offset_bytes: Annotated[
        int | None, Description("null if no instruction can begin there; `why` has the reason.")
    ]
    descriptor: Word64 | None
    why: str


@fact
class TmaBox:
    """The box of a TMA tensor map that writes the tile, innermost dimension first."""

    inner: Major
    box: list[int]
    boxes: int
    interleave: str
    swizzle: SwizzleMode
    swizzle_code: int
    note: str


@fact
class Tile:
    """Where every element of a tile is stored, and the descriptor's strides for it."""

    atom: Atom
    cute: CuteTexts
    swizzle: SwizzleMode
    order: Order
    rows: Annotated[int, Description("Rows (M or N) of one instruction.")]
    bytes: int
    offset_bytes: Annotated[Numbers, IntegerArray(2, "[mn][k], from the tile's start.")]
    lbo_bytes: int
    sbo_bytes: int
    lbo_used: bool
    sbo_used: bool
    unused: Annotated[dict[str, str], Description("Why a stride is not read.")]
    k_steps: list[KStep]
    mn_steps: list[MnStep]
    descriptor: Word64
    tma_box: TmaBox


def find_mode(value: object, form: DescriptorFormat = WGMMA) -> Mode:
    """Return the swizzle mode of a request; LayoutError lists the modes."""
    return form.get_mode_by_name(parse_choice(value, "swizzle", form.names, "unknown_swizzle"))


def parse_tile(body: Json) -> tuple[tiling.Tile, int]:
    """Return (tile, rows of one instruction) from the parameters of GET /smem/tile; other parameters are ignored."""
    fields = options_of(TileQuestion)
    return read_tile(read_question(TileQuestion, {name: body[name] for name in fields if name in body}))


def read_tile(question: TileQuestion) -> tuple[tiling.Tile, int]:
    """Return (tile, rows of one instruction) of a question. LayoutError names the wrong field."""
    mode = find_mode(question.swizzle, question.format)
    tile = tiling.Tile(
        question.element_bits,
        question.major,
        mode,
        question.mn,
        question.k,
        order=question.order,
        base=question.base,
        form=question.format,
    )
    rows = min(tile.mn, 64) if question.rows is None else question.rows
    if not rows or rows % 8 or rows > tile.mn:
        raise LayoutError(
            "bad_tile",
            f"rows = {rows} is not a multiple of 8 up to {tile.mn}.",
            "The rows (M or N) of one instruction.",
            "rows",
        )
    return tile, rows


def tile(question: TileQuestion) -> Tile:
    """Return where every element of a tile is stored, its strides LBO and SBO, and the descriptor of every step
    along K and M or N.
    """
    return build_tile(*read_tile(question))


def build_tile(tile: tiling.Tile, rows: int) -> Tile:
    """Return the answer of GET /smem/tile."""
    (lbo, sbo), (lbo_used, sbo_used) = tile.get_lbo_sbo_bytes(), tile.get_used_strides(rows)
    reasons = desc.find_unread_fields(tile.mode, View(rows, tile.step(), tile.element_bits, tile.major, tile.form))
    return Tile(
        atom=Atom(
            mn=tile.atom[0],
            k=tile.atom[1],
            bytes=tile.mode.count_atom_bytes(tile.major),
            count=Count(mn=tile.atoms[0], k=tile.atoms[1]),
        ),
        cute=CuteTexts(**tile.cute()),
        swizzle=tile.mode.name,
        order=tile.order,
        rows=rows,
        bytes=tile.bytes,
        offset_bytes=tile.compute_offsets(),
        lbo_bytes=lbo,
        sbo_bytes=sbo,
        lbo_used=lbo_used,
        sbo_used=sbo_used,
        unused={name: why for name, why in reasons.items() if name in ("lbo", "sbo")},
        k_steps=[copy_fact(KStep, step, descriptor=str(step.descriptor)) for step in slices.list_k_steps(tile)],
        mn_steps=[_build_mn_step(step) for step in slices.list_mn_steps(tile, rows)],
        descriptor=str(tile.descriptor()),
        tma_box=build_tma_boxes(tile),
    )


def _build_mn_step(step: slices.MnStep) -> MnStep:
    word = str(step.descriptor) if step.descriptor else None
    return copy_fact(MnStep, step, descriptor=word)


def build_tma_boxes(tile: tiling.Tile) -> TmaBox:
    """Return the TMA boxes that write this tile."""
    found = tma.make_box_series(tile)
    return TmaBox(
        inner=found.inner,
        box=[found.wide, found.tall],
        boxes=found.count,
        interleave="NONE",
        swizzle=tile.mode.name,
        swizzle_code=tile.mode.tma,
        note=found.note,
    )
