"""A TiledCopy for the API, the page and the command line: its maps, and its cost in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from lanescope.app.kit.fact import (
    ByThread,
    Description,
    IntegerArray,
    Json,
    Numbers,
    copy_fact,
    fact,
    make_optional_field,
)
from lanescope.app.kit.question import options_of
from lanescope.app.tiles.questions import TiledCopyBody, parse_layout_text, parse_mma
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.inputs import (
    check_keys,
    get_field_value,
    parse_choice,
    parse_integer,
    require_object,
    require_text,
    shorten_value,
)
from lanescope.shared.storage import HINT as STORAGE_HINT, storage
from lanescope.tiles import memory
from lanescope.tiles.bulk import TmaCopy, is_tma, tma_copy
from lanescope.tiles.copy import TiledCopy, TransferSide, get_vector_limit, tiled_copy
from lanescope.tiles.copy_layouts import OPERANDS
from lanescope.tiles.memory import SectorCount, SharedCopySide
from lanescope.tiles.mma import TiledMMA

MADE_OF = (
    "layout_tv",
    "like",
    "tiled_mma",
    "thr_layout",
    "val_layout",
)  # exclusive, except that the last two belong together


@fact
class CopySide:
    """The source or destination, in the order of CuTe's partition_S or partition_D. Rows of operand B are n."""

    row: ByThread
    col: ByThread


@fact
class GlobalCost:
    """The cost of the copy in global memory."""

    sectors: Annotated[int, Description("Sectors of 32 bytes that all warps' accesses touch.")]
    ideal: Annotated[int, Description("The least that hold as many bytes.")]
    vector_bits: int
    why: str


@fact
class TiledCopyFacts:
    """Which thread copies which element of a tile, and its position in source and destination."""

    threads: int
    atom: str
    bits: Annotated[int, Description("Of one access of the atom.")]
    element_bits: int
    layout: Annotated[str, Description("CuTe's TiledLayout_TV: (thread, value) → element of the tiler.")]
    tiler: Annotated[list[int], Description("Rows and columns of one TiledCopy.")]
    tile: list[int]
    source: CopySide
    destination: CopySide
    shared: Annotated[Literal["source", "destination"] | None, Description("With a storage: which side it is.")] = (
        make_optional_field()
    )
    addresses: Annotated[ByThread | None, Description("[thread][value]: bytes of the shared side.")] = (
        make_optional_field()
    )
    access: Annotated[str | None, Description("The access of a warp to shared memory.")] = make_optional_field()
    vector_bits: Annotated[int | None, Description("Bits that one access of the shared side can move.")] = (
        make_optional_field()
    )
    why: Annotated[str | None, Description("What keeps it from being wider.")] = make_optional_field()
    wavefronts: Annotated[int | None, Description("Of all warps' accesses to the tile.")] = make_optional_field()
    ideal: int | None = make_optional_field()
    ways: Annotated[int | None, Description("The worst degree of conflict; 1 is free of conflicts.")] = (
        make_optional_field()
    )
    swizzle: Annotated[
        str | None, Description("The smallest swizzle of byte addresses without bank conflicts in the worst accesses.")
    ] = make_optional_field()
    global_: Annotated[GlobalCost | None, Description("With a global layout.")] = make_optional_field()
    notes: list[str]


@fact
class BrokenRule:
    """A rule of TMA or CuTe that the copy violates."""

    code: str
    message: str


@fact
class TmaPart:
    """The part of each box that one CTA of the cluster copies. begins: its offset in the box in elements, innermost
    first.
    """

    cta: int
    begins: list[int]
    bytes: Annotated[int, Description("Of the whole tile.")]


@fact
class TmaCopyFacts:
    """A tile that TMA copies: its boxes, and where each element is stored in shared memory."""

    verdict: Annotated[
        Literal["match", "mismatch"],
        Description("match: no rule is broken, and every element lands where the storage has it."),
    ]
    atom: str
    direction: Literal["load", "store"]
    element_bits: int
    tile: list[int]
    inner: Annotated[Literal["K", "MN"], Description("The contiguous dimension: K are columns.")]
    box: Annotated[list[int], Description("boxDim of the tensor map: of one instruction of one CTA, innermost first.")]
    boxes: Annotated[int, Description("Instructions that each CTA issues.")]
    swizzle: str
    bytes: Annotated[int, Description("Of the whole tile: what the barrier of each CTA waits for.")]
    multicast: int
    ctas: list[TmaPart]
    number: Annotated[Numbers, IntegerArray(2, "[row][column]: which of the instructions moves the element.")]
    cta: Annotated[Numbers, IntegerArray(2, "[row][column]: the CTA that brings it.")]
    addresses: Annotated[
        Numbers, IntegerArray(2, "[row][column]: the byte that it lands at, of a store that it is read at.")
    ]
    wrong: Annotated[int, Description("Elements that land where the storage does not have them.")]
    first_wrong: Annotated[list[int] | None, Description("Row and column.")]
    rules: list[BrokenRule]
    notes: list[str]


def answer_copy(body: Json) -> TiledCopyFacts | TmaCopyFacts:
    """Return source and destination of a TiledCopy, from layouts of threads and values or from a TiledMMA's operand;
    with a storage the addresses, vector width and bank conflicts in shared memory, with a global layout the sectors.
    For a TMA atom (SM90_TMA_LOAD …) the boxes, where they are stored, the part of each CTA, and the rules that are
    violated.
    """
    return build_tma_copy(body) if is_tma(str(body.get("atom"))) else build_tiled_copy(body)


def build_tma_copy(body: Json) -> TmaCopyFacts:
    """Return the answer of POST /api/v1/tiles/copy for a TMA atom."""
    copy = parse_tma_copy(body)
    parts = [np.argwhere((copy.cta == cta) & (copy.number == 0)) for cta in range(copy.multicast)]
    begins = [at[0].tolist() for at in parts if at.size] if all(at.size for at in parts) else []
    return copy_fact(
        TmaCopyFacts,
        copy,
        verdict="mismatch" if copy.rules or copy.wrong else "match",
        direction="load" if copy.loads else "store",
        tile=list(copy.tile),
        box=list(copy.box),
        ctas=[
            TmaPart(cta=cta, begins=at[::-1] if copy.inner == "K" else at, bytes=copy.bytes_per_cta)
            for cta, at in enumerate(begins)
        ],
        addresses=copy.address,
        first_wrong=list(copy.first) if copy.first else None,
        rules=[BrokenRule(code=rule.code, message=rule.message) for rule in copy.rules],
        notes=list_tma_notes(copy),
    )


def parse_tma_copy(body: Mapping[str, Any]) -> TmaCopy:
    """Return the TMA copy of a request. LayoutError names the wrong field."""
    check_keys(body, ("atom", "element_bits", "tile", "storage", "major", "global", "multicast"))
    element = parse_integer(get_field_value(body, "element_bits", 16), "element_bits", 1, 128)
    major = parse_choice(get_field_value(body, "major", "K"), "major", ("K", "MN"), "bad_major")
    where = storage(require_object(body.get("storage"), "storage", STORAGE_HINT, "bad_storage"), element, major)
    across = get_field_value(body, "global", None)
    tile = body.get("tile")
    if not isinstance(tile, list):
        why = "missing" if tile is None else shorten_value(tile)
        raise LayoutError("bad_tile", f"tile is {why}.", "A list of two sizes: [rows, columns].", "tile")
    return tma_copy(
        require_text(body["atom"], "atom"),
        tile=tile,
        where=where,
        element_bits=element,
        major=major,
        multicast=get_field_value(body, "multicast", 1),
        layout=None if across is None else parse_cute_layout(require_text(across, "global"), "global"),
    )


def list_tma_notes(tma_copy: TmaCopy) -> list[str]:
    """Return notes about a TMA copy."""
    out = []
    if tma_copy.multicast > 1 and not tma_copy.rules:
        out.append(
            f"Each of {tma_copy.multicast} CTAs brings {tma_copy.bytes_per_cta} bytes, and all of them receive all"
            f" {tma_copy.bytes}: the barrier of each expects {tma_copy.bytes}."
        )
    if tma_copy.boxes > 1:
        out.append(f"{tma_copy.boxes} instructions, one per box, down the lines of the storage first.")
    return out


def format_tma_copy(found: TmaCopyFacts) -> list[str]:
    """Return the lines of the command."""
    box = " × ".join(map(str, found.box))
    out = [
        f"{found.verdict}: {found.atom}, {found.boxes} box{'es' * (found.boxes > 1)} of {box} (innermost first),"
        f" swizzle {found.swizzle}, {found.bytes} bytes"
    ]
    if found.multicast > 1:
        out += [f"  CTA {part.cta}: {part.bytes} bytes, from {tuple(part.begins)} of each box" for part in found.ctas]
    if found.first_wrong:
        row, col = found.first_wrong
        out.append(f"  {found.wrong} elements land elsewhere, the first ({row},{col}) at {found.addresses[row, col]}")
    return out + [f"  {rule.code}: {rule.message}" for rule in found.rules] + [f"  {note}" for note in found.notes]


def parse_tiled_copy(body: Mapping[str, Any]) -> TiledCopy:
    """Return the TiledCopy of a request. LayoutError names the wrong field."""
    check_keys(body, options_of(TiledCopyBody))
    atom = require_text(get_field_value(body, "atom", "universal"), "atom")
    if get_field_value(body, "multicast", None) is not None:
        raise LayoutError(
            "bad_atom", f"multicast with {shorten_value(atom, 60)}.", "SM90_TMA_LOAD_MULTICAST.", "multicast"
        )
    given = body.get("tiled_mma")
    named = [name for name in MADE_OF if get_field_value(body, name, None) is not None]
    if len(set(named) - {"val_layout"}) > 1 or (len(named) > 1 and "thr_layout" not in named):
        raise LayoutError(
            "bad_layout",
            f"Both {named[0]} and {named[1]} are given.",
            "Two layouts, a TiledMMA's operand, layout_tv over tiler_mn, or another TiledCopy.",
            named[1],
        )
    tile = body.get("tile")
    if not isinstance(tile, list):
        why = "missing" if tile is None else shorten_value(tile)
        raise LayoutError("bad_tile", f"tile is {why}.", "A list of two sizes: [rows, columns].", "tile")
    hint = "{'atom': …, 'atom_layout': …}."
    mma = None if given is None else parse_mma(require_object(given, "tiled_mma", hint), "tiled_mma")
    operand = parse_choice(get_field_value(body, "operand", "a"), "operand", OPERANDS, "bad_operand")
    bits = get_field_value(body, "bits", None)
    element = get_field_value(body, "element_bits", None if mma is None else _get_default_bits(mma, operand))
    return tiled_copy(
        atom,
        tile=tile,
        bits=None if bits is None else parse_integer(bits, "bits", 1, 128),
        element_bits=None if element is None else parse_integer(element, "element_bits", 1, 128),
        thr_layout=_parse_optional_layout(body, "thr_layout"),
        val_layout=_parse_optional_layout(body, "val_layout"),
        tiled_mma=mma,
        operand=operand,
        layout_tv=_parse_optional_layout(body, "layout_tv"),
        tiler_mn=_parse_optional_layout(body, "tiler_mn"),
        like=_build_matching_copy(body),
        side=parse_choice(get_field_value(body, "side", "S"), "side", ("S", "D"), "bad_side"),
    )


def _build_matching_copy(body: Mapping[str, Any]) -> TiledCopy | None:
    """Return the TiledCopy that matches another's source or destination; both have the same tile."""
    if get_field_value(body, "like", None) is None:
        return None
    other = require_object(body["like"], "like", "{'atom': …, 'thr_layout': …}.")
    try:
        return parse_tiled_copy({"tile": body.get("tile"), **{k: v for k, v in other.items() if k != "like"}})
    except LayoutError as error:
        raise error.move_to_field(f"like.{error.field}".strip(".")) from None


def _get_default_bits(tiled_mma: TiledMMA, operand: str) -> int:
    return tiled_mma.atom.bits[operand.removesuffix("_atom")]


def _parse_optional_layout(body: Mapping[str, Any], name: str) -> str | None:
    found = get_field_value(body, name, None)
    return None if found is None else parse_layout_text(found, name)


def build_cost_sides(tiled_copy: TiledCopy, body: Json) -> tuple[SharedCopySide | None, SectorCount | None]:
    """Return the cost of the copy in shared and in global memory, if the request describes them."""
    side = get_field_value(body, "shared", "")
    side = side and parse_choice(side, "shared", memory.SIDES, "bad_side")
    shared = across = None
    if body.get("storage") is not None:
        spec = require_object(body["storage"], "storage", STORAGE_HINT, "bad_storage")
        major = parse_choice(get_field_value(body, "major", "K"), "major", ("K", "MN"), "bad_major")
        shared = memory.make_shared_side(tiled_copy, storage(spec, tiled_copy.element_bits, major), side)
    if get_field_value(body, "global", None) is not None:
        found = parse_cute_layout(require_text(body["global"], "global"), "global")
        across = memory.count_global_sectors(
            tiled_copy, found, {"source": "destination", "destination": "source", "": ""}[side]
        )
    return shared, across


def build_tiled_copy(body: Json) -> TiledCopyFacts:
    """Return the answer of POST /api/v1/tiles/copy."""
    copy = parse_tiled_copy(body)
    shared, found = build_cost_sides(copy, body)
    across = None
    if found:
        across = copy_fact(GlobalCost, found)
    solution = shared.solution if shared else None
    return copy_fact(
        TiledCopyFacts,
        shared,
        threads=copy.threads,
        atom=copy.atom.name,
        bits=copy.atom.bits,
        element_bits=copy.element_bits,
        layout=str(copy.tv),
        tiler=list(copy.tiler),
        tile=list(copy.tile),
        source=_build_side(copy.source),
        destination=_build_side(copy.destination),
        shared=shared.side if shared else None,
        addresses=shared.address if shared else None,
        swizzle=str(solution.swizzle) if solution and solution.free else None,
        global_=across,
        notes=list_copy_notes(copy, body),
    )


def _build_side(side: TransferSide) -> CopySide:
    return CopySide(row=side.rows, col=side.cols)


def list_copy_notes(tiled_copy: TiledCopy, body: Json) -> list[str]:
    out = []
    if body.get("tiled_mma") is not None and body.get("operand") == "b":
        out.append("Rows are n and columns k, as CuTe partitions B.")
    mma = body.get("tiled_mma")
    if mma is not None and body.get("operand") in ("c", "c_atom") and parse_mma(mma).atoms[2] > 1:
        out.append("The atoms in K hold copies of C; CuTe's get_layoutC_TV numbers them past the tile instead.")
    if tiled_copy.source.values != tiled_copy.destination.values:
        some, most = sorted((tiled_copy.source.values, tiled_copy.destination.values))
        out.append(
            f"A lane gives the address of a whole row and receives part of it: {most} values beside {some}; lanes whose"
            " address is not used repeat another's."
        )
    if body.get("bits") is None and (limit := get_vector_limit(str(body.get("atom", "")))):
        out.append(
            f"AutoVectorizingCopy moves at most {limit} bits at once, and fewer where the layouts or their alignment"
            f" do not allow it: shown are {tiled_copy.atom.bits}."
        )
    if tiled_copy.atom.name == "cp.async" and body.get("storage") is not None:
        out.append("cp.async is counted as a store of the same width; its phases have not been measured.")
    return out
