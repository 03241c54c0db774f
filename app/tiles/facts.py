"""Whole tiles as the API, the pages and the command line say them. No framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from app.kit.fact import ByThread, Integers, Json, Numbers, Reals, Says, fact, sometimes
from layouts import algebra
from layouts.cutetext import read_layout
from layouts.errors import LayoutError
from layouts.linear import from_cute
from layouts.reading import asked, choice, keys, number, shown, table, text
from layouts.storage import HINT as STORAGE_HINT
from layouts.storage import storage
from layouts.tiles import memory
from layouts.tiles.copy import Side, TiledCopy, tiled_copy
from layouts.tiles.gluon import TritonLayout, triton_layout
from layouts.tiles.mma import SIDES, Chained, TiledMMA, TileOperand, chained, tiled_mma
from layouts.tiles.tv import TV, tv

MMA_FIELDS = ("atom", "atom_layout", "permutation", "tile")
COPY_FIELDS = ("atom", "bits", "element_bits", "thr_layout", "val_layout", "tiled_mma", "operand", "tile", "storage",
               "major", "shared", "global")  # fmt: skip
DEFAULT_MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


# TiledMMA -------------------------------------------------------------------------------------------------------------


@fact
class OperandOfTile:
    """A, B or C of a whole tile. Values stand in the order of CuTe's partition_A, partition_B and partition_C."""

    rows: int
    cols: int
    row: ByThread
    col: ByThread
    layout: Annotated[
        str | None,
        Says(
            "CuTe's thread-value layout of one TiledMMA's own tile: over (m, k), of B over (n, k), of C over (m, n);"
            " null where the threads have gaps that it cannot say."
        ),
    ]
    values: Annotated[list[int], Says("How many values: of the atom, of the rest of the first and second dimension.")]
    copies: Annotated[int, Says("How many threads hold each element.")]
    registers: Annotated[int, Says("32-bit registers of a thread; 0 where shared memory holds the operand.")]
    place: Annotated[
        Literal["registers", "shared"],
        Says("shared: a descriptor reads it, and there is one row for every warpgroup."),
    ]
    element_bits: int


@fact
class OperandsOfTile:
    """A is (m, k), B is (k, n), C is (m, n)."""

    a: OperandOfTile
    b: OperandOfTile
    c: OperandOfTile


@fact
class TiledMmaFacts:
    """Which thread and value hold which element of A, B and C of a tile."""

    threads: int
    atom: Annotated[str, Says("The instruction as PTX spells it.")]
    cutlass: Annotated[str, Says("CUTLASS's name of the atom, empty where it has none.")]
    shape: Annotated[list[int], Says("M, N and K of one TiledMMA.")]
    tile: Annotated[list[int], Says("M, N and K of the whole tile.")]
    atom_layout: str
    permutation: str
    steps: Annotated[list[int], Says("How often each atom's threads repeat it in M, N and K.")]
    registers: Annotated[int, Says("32-bit registers of a thread for A, B and C of the whole tile.")]
    idle: Annotated[int, Says("Threads below the last one that hold nothing.")]
    thread_ids: Annotated[list[int] | None, Says("The thread of each row of the maps, where it is not its number.")] = (
        sometimes()
    )
    operands: OperandsOfTile
    notes: list[str]


def mma_of(given: Mapping[str, Any], field: str = "") -> TiledMMA:
    """The TiledMMA of a request; LayoutError names the wrong field, behind `field.` where that is given."""
    try:
        keys(given, MMA_FIELDS)
        tile = asked(given, "tile", None)
        if tile is not None and not isinstance(tile, list):
            raise LayoutError("bad_tile", f"tile is {shown(tile)}.", "A list of three sizes: [M, N, K].", "tile")
        return tiled_mma(
            text(asked(given, "atom", None), "atom"),
            _layout("(1,1,1)" if given.get("atom_layout") is None else given["atom_layout"], "atom_layout"),
            None if asked(given, "permutation", None) is None else text(given["permutation"], "permutation"),
            tile,
        )
    except LayoutError as error:
        raise error.at(f"{field}.{error.field}".strip(".") if field else error.field) from None


def _layout(given: object, field: str) -> str:
    """CuTe text; a list of sizes is a shape."""
    if isinstance(given, list) and all(isinstance(n, int) and not isinstance(n, bool) for n in given):
        return f"({','.join(map(str, given[:8]))})"
    return text(given, field)


def mma_facts(made: TiledMMA) -> TiledMmaFacts:
    """POST /tiles/mma."""
    ids = made.thread_ids.tolist()
    return TiledMmaFacts(
        threads=made.threads,
        atom=made.atom.instruction.ptx,
        cutlass=made.atom.cutlass.split(" (")[0],
        shape=list(made.shape),
        tile=list(made.tile),
        atom_layout=str(made.atom_layout),
        permutation=algebra.spelled_tiler(made.permutation),
        steps=list(made.steps),
        registers=made.registers,
        idle=made.idle,
        thread_ids=ids if ids != list(range(len(ids))) else None,
        operands=OperandsOfTile(**{name: _operand(made.operand(name)) for name in SIDES}),
        notes=notes(made),
    )


def _operand(op: TileOperand) -> OperandOfTile:
    return OperandOfTile(
        rows=op.row_count,
        cols=op.col_count,
        row=op.rows,
        col=op.cols,
        layout=None if op.layout is None else str(op.layout),
        values=list(op.modes),
        copies=op.copies,
        registers=op.registers,
        place="shared" if op.shared else "registers",
        element_bits=op.element_bits,
    )


def notes(made: TiledMMA) -> list[str]:
    """What a reader of the maps should know."""
    out = []
    shared = [op.name.upper() for op in (made.a, made.b) if op.shared]
    if shared:
        out.append(
            f"{' and '.join(shared)} {'are' if len(shared) > 1 else 'is'} read from shared memory by matrix"
            " descriptors: every thread of a warpgroup stands for the whole operand of its atom."
        )
    if "a" in made.atom.shared and "registers" in made.atom.instruction.family.forms:
        out.append("The same instruction takes A from registers: CUTLASS calls that atom _RS.")
    if made.value_layout:
        out.append(
            f"The third argument {made.value_layout} is the value layout of older CuTe: the permutation is the atoms'"
            " tile times it. In CuTe of today write Tile<…>."
        )
    if made.idle or made.atom.threads.size < 32:
        out.append(
            f"The atom's {made.atom.threads.size} threads are a quad pair: {made.atom.threads} of the warp."
            " Four of them use every thread."
        )
    return out


@fact
class ChainedFacts:
    """Whether C of one TiledMMA is A of the next in registers."""

    verdict: Annotated[Literal["same", "reordered", "in_warp", "across_warps"], Says(
        "same: value for value; reordered: in the same thread in another order; in_warp: lanes of a warp exchange"
        " elements; across_warps: through shared memory.")]  # fmt: skip
    elements: int
    stay: Annotated[int, Says("Elements that are already in the thread that needs them.")]
    in_warp: Annotated[int, Says("Elements that are already in the warp that needs them.")]
    order: Annotated[list[int] | None, Says("[value of A]: the value of C that becomes it, the same for all threads.")]
    k_order: Annotated[list[int] | None, Says(
        "[k]: the column of C that may take the place of column k of A, so that nothing leaves its thread; the rows of"
        " B follow.")]  # fmt: skip
    message: str


def chain_facts(given: Json) -> ChainedFacts:
    """POST /tiles/mma/chain."""
    keys(given, ("first", "second"))
    hint = "{'atom': …, 'atom_layout': …, 'tile': [M, N, K]}."
    first, second = (mma_of(table(given.get(name), name, hint), name) for name in ("first", "second"))
    found = chained(first, second)
    return ChainedFacts(
        verdict=_verdict(found),  # type: ignore[arg-type]  # one of the words
        elements=found.elements,
        stay=found.stay,
        in_warp=found.in_warp,
        order=list(found.order) if found.order is not None else None,
        k_order=list(found.k_order) if found.k_order is not None else None,
        message=_SAID[_verdict(found)] + _REORDER * (found.k_order is not None),
    )


_SAID = {
    "same": "Every C value is the A value of the same number: reshape the layout, move nothing.",
    "reordered": "Every element is in the thread that needs it, in another order of the values: rename registers.",
    "in_warp": "Lanes of a warp hold elements that others need: permute bytes and shuffle, or reorder K of A and B.",
    "across_warps": "Warps hold elements that others need: the tile goes through shared memory.",
}


_REORDER = " Reordered along K, every element stays in its thread: the rows of B follow the same order."


def _verdict(found: Chained) -> str:
    if found.same_thread:
        return "same" if found.identity else "reordered"
    return "in_warp" if found.in_warp == found.elements else "across_warps"


# TiledCopy ------------------------------------------------------------------------------------------------------------


@fact
class CopySide:
    """The source or the destination, in the order of CuTe's partition_S or partition_D. Of operand B rows are n."""

    row: ByThread
    col: ByThread


@fact
class GlobalCost:
    """What the copy costs in global memory."""

    sectors: Annotated[int, Says("Sectors of 32 bytes that all warps' accesses touch.")]
    ideal: Annotated[int, Says("The least that hold as many bytes.")]
    vector_bits: int
    why: str


@fact
class TiledCopyFacts:
    """Which thread copies which element of a tile, from where in the order of the source to the destination."""

    threads: int
    atom: str
    bits: Annotated[int, Says("Of one access of the atom.")]
    element_bits: int
    layout: Annotated[str, Says("CuTe's TiledLayout_TV: (thread, value) → element of the tiler.")]
    tiler: Annotated[list[int], Says("Rows and columns of one TiledCopy.")]
    tile: list[int]
    source: CopySide
    destination: CopySide
    shared: Annotated[Literal["source", "destination"] | None, Says("With a storage: which side it is.")] = sometimes()
    addresses: Annotated[ByThread | None, Says("[thread][value]: bytes of the shared side.")] = sometimes()
    access: Annotated[str | None, Says("The access of a warp to shared memory.")] = sometimes()
    vector_bits: Annotated[int | None, Says("Bits that one access of the shared side can move.")] = sometimes()
    why: Annotated[str | None, Says("Why it is no wider.")] = sometimes()
    wavefronts: Annotated[int | None, Says("Of all warps' accesses to the tile.")] = sometimes()
    ideal: int | None = sometimes()
    ways: Annotated[int | None, Says("The worst degree of conflict; 1 is free of conflicts.")] = sometimes()
    swizzle: Annotated[str | None, Says("The smallest swizzle of byte addresses that frees the worst accesses.")] = (
        sometimes()
    )
    global_: Annotated[GlobalCost | None, Says("With a global layout.")] = sometimes()
    notes: list[str]


def copy_of(given: Mapping[str, Any]) -> TiledCopy:
    """The TiledCopy of a request; LayoutError names the wrong field."""
    keys(given, COPY_FIELDS)
    atom = text(asked(given, "atom", "universal"), "atom")
    made = given.get("tiled_mma")
    mixed = [name for name in ("thr_layout", "val_layout") if made is not None and asked(given, name, None) is not None]
    if mixed:
        raise LayoutError(
            "bad_layout", f"Both tiled_mma and {mixed[0]} are given.", "A TiledMMA's operand, or two layouts.", mixed[0]
        )
    tile = given.get("tile")
    if not isinstance(tile, list):
        why = "missing" if tile is None else shown(tile)
        raise LayoutError("bad_tile", f"tile is {why}.", "A list of two sizes: [rows, columns].", "tile")
    hint = "{'atom': …, 'atom_layout': …}."
    mma = None if made is None else mma_of(table(made, "tiled_mma", hint), "tiled_mma")
    operand = choice(asked(given, "operand", "a"), "operand", tuple(SIDES), "bad_operand")
    bits = asked(given, "bits", None)
    element = asked(given, "element_bits", None if mma is None else _default_bits(mma, operand))
    return tiled_copy(
        atom,
        tile=tile,
        bits=None if bits is None else number(bits, "bits", 1, 128),
        element_bits=16 if element is None else number(element, "element_bits", 1, 128),
        thr_layout=_optional(given, "thr_layout"),
        val_layout=_optional(given, "val_layout"),
        tiled_mma=mma,
        operand=operand,
    )


def _default_bits(made: TiledMMA, operand: str) -> int:
    return made.atom.bits[operand]


def _optional(given: Mapping[str, Any], name: str) -> str | None:
    found = asked(given, name, None)
    return None if found is None else _layout(found, name)


def copy_facts(given: Json) -> TiledCopyFacts:
    """POST /tiles/copy."""
    made = copy_of(given)
    side = asked(given, "shared", "")
    side = side and choice(side, "shared", memory.SIDES, "bad_side")
    held = None
    if given.get("storage") is not None:
        spec = table(given["storage"], "storage", STORAGE_HINT, "bad_storage")
        major = choice(asked(given, "major", "K"), "major", ("K", "MN"), "bad_major")
        held = memory.shared_side(made, storage(spec, made.element_bits, major), side)
    across = None
    if asked(given, "global", None) is not None:
        found = memory.global_side(made, read_layout(text(given["global"], "global"), "global"), _other(side))
        across = GlobalCost(sectors=found.sectors, ideal=found.ideal, vector_bits=found.vector_bits, why=found.why)
    solution = held.solution if held else None
    return TiledCopyFacts(
        threads=made.threads,
        atom=made.atom.name,
        bits=made.atom.bits,
        element_bits=made.element_bits,
        layout=str(made.tv),
        tiler=list(made.tiler),
        tile=list(made.tile),
        source=_side(made.source),
        destination=_side(made.destination),
        shared=held.side if held else None,  # type: ignore[arg-type]  # one of the two
        addresses=held.address if held else None,
        access=held.access if held else None,
        vector_bits=held.vector_bits if held else None,
        why=held.why if held else None,
        wavefronts=held.wavefronts if held else None,
        ideal=held.ideal if held else None,
        ways=held.ways if held else None,
        swizzle=str(solution.swizzle) if solution and solution.free else None,
        global_=across,
        notes=_copy_notes(made, given),
    )


def _other(side: str) -> str:
    return {"source": "destination", "destination": "source", "": ""}[side]


def _side(side: Side) -> CopySide:
    return CopySide(row=side.rows, col=side.cols)


def _copy_notes(made: TiledCopy, given: Json) -> list[str]:
    out = []
    if given.get("tiled_mma") is not None and given.get("operand") == "b":
        out.append("Rows are n and columns k, as CuTe partitions B.")
    if made.source.values != made.destination.values:
        some, most = sorted((made.source.values, made.destination.values))
        out.append(
            f"A lane gives the address of a whole row and receives part of it: {most} values beside {some}; lanes whose"
            " address is not used repeat another's."
        )
    if made.atom.name == "cp.async" and given.get("storage") is not None:
        out.append("cp.async is counted as a store of the same width; its phases have not been measured.")
    return out


# thread-value layouts -------------------------------------------------------------------------------------------------


@fact
class TvFacts:
    """A thread-value layout over a tile."""

    cute: str
    threads: int
    values: int
    row: ByThread
    col: ByThread
    copies: Annotated[int, Says("How many (thread, value) pairs hold the element that most do.")]
    covered: Annotated[int, Says("Elements of the tile that some thread holds.")]
    linear_layout: Annotated[
        dict[str, list[list[int]]] | None,
        Says("Triton's bases of register, lane and warp over (row, column); null where the layout is not linear."),
    ]
    why: Annotated[str | None, Says("Why it is not linear.")] = sometimes()
    elements: Annotated[int, Says("Elements of the tile.")]


def tv_of(given: Json) -> TV:
    """The layout of a request; LayoutError names the wrong field."""
    keys(given, ("cute", "tile"))
    tile = given.get("tile")
    if not isinstance(tile, list):
        why = "missing" if tile is None else shown(tile)
        raise LayoutError("bad_tile", f"tile is {why}.", "A list of two sizes: [rows, columns].", "tile")
    return tv(text(given.get("cute"), "cute"), tile)


def tv_facts(found: TV) -> TvFacts:
    """POST /layouts/tv."""
    bases, why = None, None
    try:
        bases = from_cute(found.layout, (found.row_count, found.col_count)).bases_of()
    except LayoutError as error:
        why = error.message
    return TvFacts(
        linear_layout=bases,
        why=why,
        cute=str(found.layout),
        threads=found.threads,
        values=found.values,
        row=found.rows,
        col=found.cols,
        copies=found.copies,
        covered=found.covered,
        elements=found.row_count * found.col_count,
    )


# Triton ---------------------------------------------------------------------------------------------------------------


@fact
class TritonFacts:
    """A layout of Triton or Gluon over a tensor: of threads, or of shared memory."""

    text: Annotated[str, Says("The layout as Triton prints it.")]
    kind: Annotated[str, Says(examples=("blocked", "nvidia_mma", "swizzled_shared"))]
    shape: list[int]
    element_bits: int
    threads: Annotated[int | None, Says("Of all blocks of the cluster.")] = sometimes()
    warps: Annotated[int | None, Says("Of one block.")] = sometimes()
    blocks: int
    registers: Annotated[int | None, Says("Elements that a thread holds, copies among them.")] = sometimes()
    copies: Annotated[int | None, Says("How many (thread, register) pairs hold each element.")] = sometimes()
    coords: Annotated[Numbers | None, Integers(3, "[axis][thread][register]")] = sometimes()
    offset: Annotated[
        Numbers | None,
        Reals(
            (1, 2, 3, 4, 5), "[row][column], an axis an axis of the tensor: where shared memory has it, in elements."
        ),
    ] = sometimes()
    linear_layout: Annotated[
        dict[str, list[list[int]]],
        Says("A basis a bit, lowest first: of register, lane, warp and block, or of offset and block."),
    ]
    cute: Annotated[
        str | None,
        Says(
            "The same as CuTe writes it, the first axis fastest: (thread, value) → element, or (offset, block) →"
            " element; null where bits are XORed or padding is added."
        ),
    ]


def triton_of(given: Json) -> TritonLayout:
    """The layout of a request; LayoutError names the wrong field."""
    keys(given, ("text", "shape", "element_bits"))
    shape = given.get("shape")
    if shape is not None and not isinstance(shape, list):
        raise LayoutError("bad_shape", f"shape is {shown(shape)}.", "A list of sizes: [128, 64].", "shape")
    return triton_layout(text(given.get("text"), "text", 1 << 16), shape, asked(given, "element_bits", None))


def triton_facts(found: TritonLayout) -> TritonFacts:
    """POST /layouts/triton."""
    of_threads = not found.shared
    return TritonFacts(
        text=found.text,
        kind=found.kind,
        shape=list(found.shape),
        element_bits=found.element_bits,
        threads=found.threads if of_threads else None,
        warps=found.warps if of_threads else None,
        blocks=found.blocks,
        registers=found.registers if of_threads else None,
        copies=found.copies if of_threads else None,
        coords=np.stack(found.coords) if of_threads else None,
        offset=None if of_threads else found.offset,
        linear_layout=found.linear.bases_of(),
        cute=None if found.cute is None else str(found.cute),
    )
