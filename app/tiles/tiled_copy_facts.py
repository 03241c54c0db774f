"""A TiledCopy as the API, the page and the command line say it: its maps, and what it costs in memory. No framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from lanescope.app.kit.fact import ByThread, Integers, Json, Numbers, Says, fact, sometimes
from lanescope.app.tiles.facts import layout_text, mma_of
from lanescope.cute.text import read_layout
from lanescope.errors import LayoutError
from lanescope.reading import asked, choice, keys, number, shown, table, text
from lanescope.shared.storage import HINT as STORAGE_HINT
from lanescope.shared.storage import storage
from lanescope.tiles import memory
from lanescope.tiles.bulk import TmaCopy, tma_copy
from lanescope.tiles.copy import Side, TiledCopy, tiled_copy, vector_limit
from lanescope.tiles.making import OPERANDS
from lanescope.tiles.memory import Sectors, SharedSide
from lanescope.tiles.mma import TiledMMA

COPY_FIELDS = (
    "atom",
    "bits",
    "element_bits",
    "thr_layout",
    "val_layout",
    "tiled_mma",
    "operand",
    "layout_tv",
    "tiler_mn",
    "like",
    "side",
    "tile",
    "storage",
    "major",
    "shared",
    "global",
    "multicast",
)
MADE_OF = ("layout_tv", "like", "tiled_mma", "thr_layout", "val_layout")  # one of them; the last two go together


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


@fact
class BrokenRule:
    """A rule of TMA or of CuTe that the copy breaks."""

    code: str
    message: str


@fact
class TmaPart:
    """What one CTA of the cluster brings of each box; begins: of its part in the box, elements, innermost first."""

    cta: int
    begins: list[int]
    bytes: Annotated[int, Says("Of the whole tile.")]


@fact
class TmaCopyFacts:
    """A tile that TMA copies: its boxes, and where each element lands in shared memory."""

    verdict: Annotated[
        Literal["match", "mismatch"],
        Says("match: no rule is broken, and every element lands where the storage has it."),
    ]
    atom: str
    direction: Literal["load", "store"]
    element_bits: int
    tile: list[int]
    inner: Annotated[Literal["K", "MN"], Says("The contiguous dimension: K are columns.")]
    box: Annotated[list[int], Says("boxDim of the tensor map: of one instruction of one CTA, innermost first.")]
    boxes: Annotated[int, Says("Instructions that each CTA issues.")]
    swizzle: str
    bytes: Annotated[int, Says("Of the whole tile: what the barrier of each CTA waits for.")]
    multicast: int
    ctas: list[TmaPart]
    number: Annotated[Numbers, Integers(2, "[row][column]: which of the instructions moves the element.")]
    cta: Annotated[Numbers, Integers(2, "[row][column]: the CTA that brings it.")]
    addresses: Annotated[
        Numbers, Integers(2, "[row][column]: the byte that it lands at, of a store that it is read at.")
    ]
    wrong: Annotated[int, Says("Elements that land where the storage does not have them.")]
    first_wrong: Annotated[list[int] | None, Says("Row and column.")]
    rules: list[BrokenRule]
    notes: list[str]


def tma_facts(given: Json) -> TmaCopyFacts:
    """POST /tiles/copy with an atom of TMA."""
    made = tma_of(given)
    parts = [np.argwhere((made.cta == cta) & (made.number == 0)) for cta in range(made.multicast)]
    begins = [at[0].tolist() for at in parts if at.size] if all(at.size for at in parts) else []
    return TmaCopyFacts(
        verdict="mismatch" if made.rules or made.wrong else "match",
        atom=made.atom,
        direction="load" if made.loads else "store",
        element_bits=made.element_bits,
        tile=list(made.tile),
        inner=made.inner,  # type: ignore[arg-type]  # one of the two
        box=list(made.box),
        boxes=made.boxes,
        swizzle=made.swizzle,
        bytes=made.bytes,
        multicast=made.multicast,
        ctas=[
            TmaPart(cta=cta, begins=at[::-1] if made.inner == "K" else at, bytes=made.bytes_per_cta)
            for cta, at in enumerate(begins)
        ],
        number=made.number,
        cta=made.cta,
        addresses=made.address,
        wrong=made.wrong,
        first_wrong=list(made.first) if made.first else None,
        rules=[BrokenRule(code=rule.code, message=rule.message) for rule in made.rules],
        notes=tma_notes(made),
    )


def tma_of(given: Mapping[str, Any]) -> TmaCopy:
    """The TMA copy of a request; LayoutError names the wrong field."""
    keys(given, ("atom", "element_bits", "tile", "storage", "major", "global", "multicast"))
    element = number(asked(given, "element_bits", 16), "element_bits", 1, 128)
    major = choice(asked(given, "major", "K"), "major", ("K", "MN"), "bad_major")
    where = storage(table(given.get("storage"), "storage", STORAGE_HINT, "bad_storage"), element, major)
    across = asked(given, "global", None)
    tile = given.get("tile")
    if not isinstance(tile, list):
        why = "missing" if tile is None else shown(tile)
        raise LayoutError("bad_tile", f"tile is {why}.", "A list of two sizes: [rows, columns].", "tile")
    return tma_copy(
        text(given["atom"], "atom"),
        tile=tile,
        where=where,
        element_bits=element,
        major=major,
        multicast=asked(given, "multicast", 1),
        layout=None if across is None else read_layout(text(across, "global"), "global"),
    )


def tma_notes(made: TmaCopy) -> list[str]:
    """What an answer says of a TMA copy in words."""
    out = []
    if made.multicast > 1 and not made.rules:
        out.append(
            f"Each of {made.multicast} CTAs brings {made.bytes_per_cta} bytes and all of them receive all {made.bytes}:"
            f" the barrier of each expects {made.bytes}."
        )
    if made.boxes > 1:
        out.append(f"{made.boxes} instructions, one per box, down the lines of the storage first.")
    return out


def tma_lines(found: TmaCopyFacts) -> list[str]:
    """The answer as a terminal shows it."""
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


def copy_of(given: Mapping[str, Any]) -> TiledCopy:
    """The TiledCopy of a request; LayoutError names the wrong field."""
    keys(given, COPY_FIELDS)
    atom = text(asked(given, "atom", "universal"), "atom")
    if asked(given, "multicast", None) is not None:
        raise LayoutError("bad_atom", f"multicast with {shown(atom, 60)}.", "SM90_TMA_LOAD_MULTICAST.", "multicast")
    made = given.get("tiled_mma")
    named = [name for name in MADE_OF if asked(given, name, None) is not None]
    if len(set(named) - {"val_layout"}) > 1 or (len(named) > 1 and "thr_layout" not in named):
        raise LayoutError(
            "bad_layout",
            f"Both {named[0]} and {named[1]} are given.",
            "Two layouts, a TiledMMA's operand, layout_tv over tiler_mn, or another TiledCopy.",
            named[1],
        )
    tile = given.get("tile")
    if not isinstance(tile, list):
        why = "missing" if tile is None else shown(tile)
        raise LayoutError("bad_tile", f"tile is {why}.", "A list of two sizes: [rows, columns].", "tile")
    hint = "{'atom': …, 'atom_layout': …}."
    mma = None if made is None else mma_of(table(made, "tiled_mma", hint), "tiled_mma")
    operand = choice(asked(given, "operand", "a"), "operand", OPERANDS, "bad_operand")
    bits = asked(given, "bits", None)
    element = asked(given, "element_bits", None if mma is None else _default_bits(mma, operand))
    return tiled_copy(
        atom,
        tile=tile,
        bits=None if bits is None else number(bits, "bits", 1, 128),
        element_bits=None if element is None else number(element, "element_bits", 1, 128),
        thr_layout=_optional(given, "thr_layout"),
        val_layout=_optional(given, "val_layout"),
        tiled_mma=mma,
        operand=operand,
        layout_tv=_optional(given, "layout_tv"),
        tiler_mn=_optional(given, "tiler_mn"),
        like=_like(given),
        side=choice(asked(given, "side", "S"), "side", ("S", "D"), "bad_side"),
    )


def _like(given: Mapping[str, Any]) -> TiledCopy | None:
    """The TiledCopy whose source or destination another has; its tile is the other's."""
    if asked(given, "like", None) is None:
        return None
    other = table(given["like"], "like", "{'atom': …, 'thr_layout': …}.")
    try:
        return copy_of({"tile": given.get("tile"), **{k: v for k, v in other.items() if k != "like"}})
    except LayoutError as error:
        raise error.at(f"like.{error.field}".strip(".")) from None


def _default_bits(made: TiledMMA, operand: str) -> int:
    return made.atom.bits[operand.removesuffix("_atom")]


def _optional(given: Mapping[str, Any], name: str) -> str | None:
    found = asked(given, name, None)
    return None if found is None else layout_text(found, name)


def sides(made: TiledCopy, given: Json) -> tuple[SharedSide | None, Sectors | None]:
    """What the copy costs in shared and in global memory, where the request names them."""
    side = asked(given, "shared", "")
    side = side and choice(side, "shared", memory.SIDES, "bad_side")
    held = across = None
    if given.get("storage") is not None:
        spec = table(given["storage"], "storage", STORAGE_HINT, "bad_storage")
        major = choice(asked(given, "major", "K"), "major", ("K", "MN"), "bad_major")
        held = memory.shared_side(made, storage(spec, made.element_bits, major), side)
    if asked(given, "global", None) is not None:
        found = read_layout(text(given["global"], "global"), "global")
        across = memory.global_side(made, found, _other(side))
    return held, across


def copy_facts(given: Json) -> TiledCopyFacts:
    """POST /tiles/copy."""
    made = copy_of(given)
    held, found = sides(made, given)
    across = None
    if found:
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
        notes=copy_notes(made, given),
    )


def _other(side: str) -> str:
    return {"source": "destination", "destination": "source", "": ""}[side]


def _side(side: Side) -> CopySide:
    return CopySide(row=side.rows, col=side.cols)


def copy_notes(made: TiledCopy, given: Json) -> list[str]:
    out = []
    if given.get("tiled_mma") is not None and given.get("operand") == "b":
        out.append("Rows are n and columns k, as CuTe partitions B.")
    mma = given.get("tiled_mma")
    if mma is not None and given.get("operand") in ("c", "c_atom") and mma_of(mma).atoms[2] > 1:
        out.append("The atoms in K hold copies of C; CuTe's get_layoutC_TV numbers them past the tile instead.")
    if made.source.values != made.destination.values:
        some, most = sorted((made.source.values, made.destination.values))
        out.append(
            f"A lane gives the address of a whole row and receives part of it: {most} values beside {some}; lanes whose"
            " address is not used repeat another's."
        )
    if given.get("bits") is None and (limit := vector_limit(str(given.get("atom", "")))):
        out.append(
            f"AutoVectorizingCopy moves at most {limit} bits at once, and fewer where the layouts or their alignment"
            f" do not allow it: shown are {made.atom.bits}."
        )
    if made.atom.name == "cp.async" and given.get("storage") is not None:
        out.append("cp.async is counted as a store of the same width; its phases have not been measured.")
    return out
