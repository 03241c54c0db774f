"""What the API, the command line and the pages say about a tile in shared memory. No framework."""

from __future__ import annotations

from typing import Annotated

from lanescope.app.kit.fact import Integers, Json, Numbers, Says, fact
from lanescope.app.kit.names import Major, Order, SwizzleMode, Word64
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.format import Format
from lanescope.descriptor.matrix import View
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import BASE32B, FORMATS, WGMMA, format_of
from lanescope.reading import asked, choice, number
from lanescope.shared import slices, tiling, tma
from lanescope.shared.swizzle import NAMES, Mode
from lanescope.shared.tiling import DEFAULT_ORDER

TILE_FIELDS = {
    "element_bits": "16",
    "major": "K",
    "swizzle": "128B",
    "mn": "64",
    "k": "64",
    "rows": "",
    "order": "",
    "base": "0",
}
# What a tile takes: parameter → (the words it may be, none for a number; what it is).
TILE: dict[str, tuple[tuple[str, ...], str]] = {
    "element_bits": ((), "Bits of an element."),
    "major": (tuple(DEFAULT_ORDER), "Which way is contiguous."),
    "swizzle": ((*NAMES, BASE32B.name), "The swizzle mode; the last is tcgen05's alone."),
    "mn": ((), "Elements of M or N."),
    "k": ((), "Elements of K."),
    "rows": ((), "Rows of one instruction; 64, or mn where that is less."),
    "order": (("mn", "k"), "Which way the atoms are laid first; the usual one of the major where it is empty."),
    "base": ((), "The tile's byte address."),
}
FORMAT: dict[str, tuple[tuple[str, ...], str]] = {
    "format": (tuple(row.name for row in FORMATS), "Who reads the tile: wgmma, or tcgen05.")
}
MAJORS = tuple(DEFAULT_ORDER)


@fact
class Count:
    mn: int
    k: int


@fact
class Atom:
    """The swizzle pattern's block in elements, and how many of them the tile has each way."""

    mn: int
    k: int
    bytes: int
    count: Count


@fact
class CuteTexts:
    """The tile's layout in CuTe's notation, in four units."""

    chunks: str
    elements: str
    bytes: str
    bits: str


@fact
class KStep:
    """The start of one instruction's slice along K."""

    k: int
    start_offset_bytes: int
    descriptor: Word64
    why: str


@fact
class MnStep:
    """The start of one instruction's slice along M or N; nulls where no descriptor reads it, and why."""

    mn: int
    start_offset_bytes: Annotated[int | None, Says("null where no instruction can begin there, as why says.")]
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
    """Where every element of a tile lies, and the descriptor's strides for it."""

    atom: Atom
    cute: CuteTexts
    swizzle: SwizzleMode
    order: Order
    rows: Annotated[int, Says("Rows (M or N) of one instruction.")]
    bytes: int
    offset_bytes: Annotated[Numbers, Integers(2, "[mn][k], from the tile's start.")]
    lbo_bytes: int
    sbo_bytes: int
    lbo_used: bool
    sbo_used: bool
    unused: Annotated[dict[str, str], Says("Why a stride is not read.")]
    k_steps: list[KStep]
    mn_steps: list[MnStep]
    descriptor: Word64
    tma_box: TmaBox


def mode_of(given: object, form: Format = WGMMA) -> Mode:
    """The swizzle mode of a request; LayoutError lists them."""
    return form.named(choice(given, "swizzle", form.names, "unknown_swizzle"))


def tile_of(given: Json) -> tuple[tiling.Tile, int]:
    """(tile, rows of one instruction) from the parameters of GET /smem/tile."""
    values = {name: asked(given, name, default) for name, default in TILE_FIELDS.items()}
    form = format_of(asked(given, "format", WGMMA.name))
    tile = tiling.Tile(
        number(values["element_bits"], "element_bits"),
        choice(values["major"], "major", MAJORS, "bad_major"),
        mode_of(values["swizzle"], form),
        number(values["mn"], "mn"),
        number(values["k"], "k"),
        order=values["order"] and choice(values["order"], "order", ("mn", "k"), "bad_tile"),
        base=number(values["base"], "base"),
        form=form,
    )
    rows = number(values["rows"] or min(tile.mn, 64), "rows")
    if not rows or rows % 8 or rows > tile.mn:
        raise LayoutError(
            "bad_tile",
            f"rows = {rows} is not a multiple of 8 up to {tile.mn}.",
            "The rows (M or N) of one instruction.",
            "rows",
        )
    return tile, rows


def tile_facts(tile: tiling.Tile, rows: int) -> Tile:
    """GET /smem/tile."""
    (lbo, sbo), (lbo_used, sbo_used) = tile.lbo_sbo_bytes(), tile.used(rows)
    reasons = desc.inert(tile.descriptor(), View(rows, tile.step(), tile.element_bits, tile.major, tile.form))
    return Tile(
        atom=Atom(
            mn=tile.atom[0],
            k=tile.atom[1],
            bytes=tile.mode.atom_bytes(tile.major),
            count=Count(mn=tile.atoms[0], k=tile.atoms[1]),
        ),
        cute=CuteTexts(**tile.cute()),
        swizzle=tile.mode.name,
        order=tile.order,
        rows=rows,
        bytes=tile.bytes,
        offset_bytes=tile.offsets(),
        lbo_bytes=lbo,
        sbo_bytes=sbo,
        lbo_used=lbo_used,
        sbo_used=sbo_used,
        unused={name: why for name, why in reasons.items() if name in ("lbo", "sbo")},
        k_steps=[
            KStep(k=step.k, start_offset_bytes=step.start_offset_bytes, descriptor=str(step.descriptor), why=step.why)
            for step in slices.k_steps(tile)
        ],
        mn_steps=[_mn_step(step) for step in slices.mn_steps(tile, rows)],
        descriptor=str(tile.descriptor()),
        tma_box=tma_box(tile),
    )


def _mn_step(step: slices.MnStep) -> MnStep:
    word = str(step.descriptor) if step.descriptor else None
    return MnStep(mn=step.mn, start_offset_bytes=step.start_offset_bytes, descriptor=word, why=step.why)


def tma_box(tile: tiling.Tile) -> TmaBox:
    """The TMA boxes that write this tile."""
    found = tma.boxes(tile)
    return TmaBox(
        inner=found.inner,
        box=[found.wide, found.tall],
        boxes=found.count,
        interleave="NONE",
        swizzle=tile.mode.name,
        swizzle_code=tile.mode.tma,
        note=found.note,
    )
