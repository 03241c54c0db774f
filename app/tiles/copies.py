"""A TiledCopy as the API, the page and the command line say it: its maps, and what it costs in memory. No framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from app.kit.fact import ByThread, Json, Says, fact, sometimes
from app.tiles.facts import layout_text, mma_of
from layouts.cutetext import read_layout
from layouts.errors import LayoutError
from layouts.reading import asked, choice, keys, number, shown, table, text
from layouts.storage import HINT as STORAGE_HINT
from layouts.storage import storage
from layouts.tiles import memory
from layouts.tiles.copy import Side, TiledCopy, tiled_copy
from layouts.tiles.memory import Sectors, SharedSide
from layouts.tiles.mma import SIDES, TiledMMA

COPY_FIELDS = ("atom", "bits", "element_bits", "thr_layout", "val_layout", "tiled_mma", "operand", "tile", "storage",
               "major", "shared", "global")  # fmt: skip


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
    if made.source.values != made.destination.values:
        some, most = sorted((made.source.values, made.destination.values))
        out.append(
            f"A lane gives the address of a whole row and receives part of it: {most} values beside {some}; lanes whose"
            " address is not used repeat another's."
        )
    if made.atom.name == "cp.async" and given.get("storage") is not None:
        out.append("cp.async is counted as a store of the same width; its phases have not been measured.")
    return out
