"""A main loop for the API, the page and the command line: global memory → shared memory → registers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from lanescope.app.kit.fact import Description, Json, copy_fact, fact, make_optional_field
from lanescope.app.kit.question import options_of
from lanescope.app.tiles.questions import LoopBody, OperandOfLoop, parse_mma
from lanescope.app.tiles.tiled_copy_facts import parse_tiled_copy
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, get_field_value, parse_choice, parse_integer, require_object, require_text
from lanescope.shared.storage import HINT as STORAGE_HINT, Storage, storage
from lanescope.tiles.loop import LoadStep, LoopFeed, feed
from lanescope.tiles.memory import WIDEST_BITS
from lanescope.tiles.mma import TiledMMA

MOST_K = 1 << 24
COPY_HINT = "{'atom': 'cp.async', 'bits': 128, 'thr_layout': …, 'val_layout': …}."


@fact
class WrongElement:
    """A value of the operand that gets the wrong element."""

    thread: int
    value: int
    row: Annotated[int, Description("m of A, n of B.")]
    k: int
    reads: Annotated[
        list[int] | None, Description("Row and k of what it gets; null for bytes that nothing was stored to.")
    ]


@fact
class LoopStep:
    """The loads of one warp in one K iteration."""

    warp: int
    step: int
    loads: Annotated[int, Description("Accesses of the warp.")]
    wavefronts: int
    ideal: int
    wrong: int
    first_wrong: WrongElement | None


@fact
class LoopStage:
    """One stage of an operand, the store or the load, for all warps and the whole tile."""

    operand: Literal["a", "b"]
    stage: Literal["global", "store", "load"]
    access: str
    units: Annotated[Literal["sectors", "wavefronts"], Description("What is counted.")]
    count: int
    ideal: int
    note: str


@fact
class LoopOperand:
    """Whether an operand arrives, and in which steps it does not."""

    verdict: Literal["match", "mismatch"]
    place: Annotated[Literal["registers", "shared"], Description("shared: a descriptor reads it without a load.")]
    wrong: int
    uncovered: Annotated[int, Description("Elements of the tile that the store does not write.")]
    overlaps: Annotated[int, Description("Elements with the same address as another element.")]
    fault: Annotated[str, Description("Why the load is not executed; empty if it is.")]
    swizzle: Annotated[
        str | None, Description("The smallest swizzle of byte addresses without bank conflicts in store and load.")
    ]
    steps: list[LoopStep]


@fact
class WholeStage:
    """One stage of an operand, for all of K."""

    operand: Literal["a", "b"]
    stage: Literal["global", "store", "load"]
    units: Literal["sectors", "wavefronts"]
    count: int
    ideal: int


@fact
class WholeLoop:
    """The main loop over all of K: its tiles one after another, each like the first."""

    k: int
    tiles: Annotated[int, Description("Iterations of the main loop.")]
    stages: list[WholeStage]
    wavefronts: int
    ideal: int
    mma: Annotated[int, Description("Instructions of one warp (or warpgroup).")]


@fact
class LoopFacts:
    """A main loop's tile from global memory to the registers of a TiledMMA."""

    verdict: Literal["match", "mismatch"]
    k_steps: int
    stages: list[LoopStage]
    wavefronts: Annotated[int, Description("Of shared memory: every store and load of the tile.")]
    ideal: int
    mma: Annotated[int, Description("Instructions of one warp (or warpgroup) for the tile.")]
    a: LoopOperand | None = make_optional_field()
    b: LoopOperand | None = make_optional_field()
    whole: Annotated[WholeLoop | None, Description("With k.")] = make_optional_field()
    notes: list[str]


@fact
class LoopAccess:
    """The cost in shared memory of all warps, or of one warp in one K iteration."""

    operand: Literal["a", "b"]
    stage: Literal["store", "load"]
    access: str
    warp: Annotated[int | None, Description("null for all: the stores.")]
    step: Annotated[int | None, Description("K iteration; null for all.")]
    accesses: int
    wavefronts: int
    ideal: int


@fact
class LoopBanks:
    """Wavefronts of a main loop's tile: its stores, and the loads of each warp in each K iteration."""

    wavefronts: int
    ideal: int
    free: Annotated[bool, Description("No bank conflict anywhere.")]
    accesses: list[LoopAccess]
    swizzle: Annotated[
        dict[str, str | None],
        Description("a, b: the smallest swizzle of byte addresses without bank conflicts in store and load; or null."),
    ]
    faults: Annotated[list[str], Description("Accesses that are not executed at all.")]


def build_loop_banks(body: Json) -> LoopBanks:
    """Return the answer of POST /banks for a whole main loop."""
    _, feeds = _parse_request(body)
    rows = [row for found in feeds.values() for row in _list_accesses(found)]
    paid, least = sum(row.wavefronts for row in rows), sum(row.ideal for row in rows)
    faults = [f"{name}: {found.fault}" for name, found in feeds.items() if found.fault]
    return LoopBanks(
        wavefronts=paid,
        ideal=least,
        free=paid == least and not faults,
        accesses=rows,
        swizzle={name: _format_swizzle(found) for name, found in feeds.items()},
        faults=faults,
    )


def _list_accesses(feed: LoopFeed) -> list[LoopAccess]:
    out = []
    if store := feed.store:
        out.append(
            copy_fact(
                LoopAccess,
                store,
                operand=feed.operand,
                stage="store",
                warp=None,
                step=None,
                accesses=sum(store.repeats),
            )
        )
    return out + [
        copy_fact(LoopAccess, step, operand=feed.operand, stage="load", access=feed.access, accesses=step.loads)
        for step in feed.steps
    ]


def _parse_request(body: Json) -> tuple[TiledMMA, dict[str, LoopFeed]]:
    """Return the TiledMMA of a request, and the storage and loads of each of its operands."""
    check_keys(body, options_of(LoopBody))
    mma = parse_mma(body.get("tiled_mma"), "tiled_mma")
    sides = {name: body[name] for name in ("a", "b") if body.get(name) is not None}
    if not sides:
        raise LayoutError(
            "bad_operand", "Neither a nor b is given.", "Describe how one of them is stored and loaded.", "a"
        )
    feeds = {}
    for name, side in sides.items():
        operand = require_object(side, name, "{'storage': …, 'load': …}.")
        try:
            feeds[name] = _parse_feed(mma, name, operand)
        except LayoutError as error:
            raise error.move_to_field(f"{name}.{error.field}".strip(".")) from None
    if get_field_value(body, "k", None) is not None and parse_integer(body["k"], "k", 1, MOST_K) % mma.tile[2]:
        raise LayoutError(
            "bad_tile",
            f"k = {body['k']} is not a multiple of the tile's K = {mma.tile[2]}.",
            f"Multiples of {mma.tile[2]}.",
            "k",
        )
    return mma, feeds


def build_loop(body: Json) -> LoopFacts:
    """Check a whole main loop of a TiledCopy into shared memory, ldmatrix and a TiledMMA: whether every element reaches
    its register, and the cost of each warp's accesses in each K iteration.
    """
    mma, feeds = _parse_request(body)
    m, n, k = mma.steps
    stages = [stage for found in feeds.values() for stage in _list_stages(found)]
    paid = [stage for stage in stages if stage.units == "wavefronts"]
    return LoopFacts(
        verdict="match" if all(found.good for found in feeds.values()) else "mismatch",
        k_steps=mma.rests[2],
        stages=stages,
        wavefronts=sum(stage.count for stage in paid),
        ideal=sum(stage.ideal for stage in paid),
        mma=m * n * k,
        a=_build_operand(feeds["a"]) if "a" in feeds else None,
        b=_build_operand(feeds["b"]) if "b" in feeds else None,
        whole=None if get_field_value(body, "k", None) is None else _build_whole_loop(body["k"], mma, stages),
        notes=_list_notes(mma, feeds),
    )


def _build_whole_loop(value: Any, mma: TiledMMA, stages: list[LoopStage]) -> WholeLoop:
    """Return the stages multiplied by the number of tiles along K."""
    depth, tile_depth = parse_integer(value, "k", 1, MOST_K), mma.tile[2]
    tiles, (m, n, k) = depth // tile_depth, mma.steps
    rows = [copy_fact(WholeStage, stage, count=stage.count * tiles, ideal=stage.ideal * tiles) for stage in stages]
    paid = [row for row in rows if row.units == "wavefronts"]
    return WholeLoop(
        k=depth,
        tiles=tiles,
        stages=rows,
        wavefronts=sum(row.count for row in paid),
        ideal=sum(row.ideal for row in paid),
        mma=m * n * k * tiles,
    )


def _parse_feed(mma: TiledMMA, name: str, side: Mapping[str, Any]) -> LoopFeed:
    check_keys(side, options_of(OperandOfLoop))
    op = mma.operand(name)
    size = [op.row_count, op.col_count] if name == "a" else [op.col_count, op.row_count]
    store = None
    if side.get("store") is not None:
        copy = require_object(side["store"], "store", COPY_HINT)
        try:
            for field in ("bits", "element_bits"):  # a form may leave these blank, a body may not
                if copy.get(field) is not None:
                    parse_integer(copy[field], field, 1, 128)
            store = parse_tiled_copy({"element_bits": op.element_bits, **copy, "tile": size})
        except LayoutError as error:
            raise error.move_to_field(f"store.{error.field}".strip(".")) from None
    where = _parse_storage(side, "storage", op.element_bits)
    if where is None:
        raise LayoutError("bad_storage", "storage is missing.", STORAGE_HINT, "storage")
    across = (
        None
        if get_field_value(side, "global", None) is None
        else parse_cute_layout(require_text(side["global"], "global"), "global")
    )
    load = require_text(get_field_value(side, "load", "ldmatrix.m8n8.x4.shared.b16"), "load")
    read = _parse_storage(side, "loaded_from", op.element_bits)
    try:
        return feed(mma, name, where, load, store=store, layout=across, read=read)
    except LayoutError as error:
        raise error.move_to_field("load") if error.field == "atom" else error from None


def _parse_storage(side: Mapping[str, Any], name: str, bits: int) -> Storage | None:
    if side.get(name) is None:
        return None
    major = parse_choice(get_field_value(side, "major", "K"), "major", ("K", "MN"), "bad_major")
    try:
        return storage(require_object(side[name], name, STORAGE_HINT, "bad_storage"), bits, major)
    except LayoutError as error:  # the engine calls every storage `storage`
        raise error.move_to_field(error.field.replace("storage", name, 1)) from None


def _list_stages(feed: LoopFeed) -> list[LoopStage]:
    out: list[tuple[Literal["global", "store", "load"], str, Literal["sectors", "wavefronts"], int, int, str]] = []
    if across := feed.sectors:
        why = across.why if across.vector_bits < WIDEST_BITS else ""
        out.append(("global", f"{across.vector_bits} bits", "sectors", across.sectors, across.ideal, why))
    if store := feed.store:
        why = store.why if store.vector_bits < WIDEST_BITS else ""
        out.append(("store", store.access, "wavefronts", store.wavefronts, store.ideal, why))
    if feed.load:
        out.append(("load", feed.access, "wavefronts", feed.wavefronts, feed.ideal, feed.fault))
    return [
        LoopStage(operand=feed.operand, stage=stage, access=access, units=units, count=count, ideal=ideal, note=note)
        for stage, access, units, count, ideal, note in out
    ]


def _build_operand(feed: LoopFeed) -> LoopOperand:
    return copy_fact(
        LoopOperand,
        feed,
        verdict="match" if feed.good else "mismatch",
        place="registers" if feed.load else "shared",
        swizzle=_format_swizzle(feed),
        steps=[_build_step(step) for step in feed.steps],
    )


def _format_swizzle(feed: LoopFeed) -> str | None:
    solution = feed.solution
    return str(solution.swizzle) if solution and solution.free else None


def _build_step(step: LoadStep) -> LoopStep:
    first = step.first
    wrong = None
    if first:
        wrong = copy_fact(WrongElement, first, reads=list(first.reads) if first.reads else None)
    return copy_fact(LoopStep, step, first_wrong=wrong)


def _list_notes(mma: TiledMMA, feeds: Mapping[str, LoopFeed]) -> list[str]:
    shared = [name.upper() for name, found in feeds.items() if found.load is None]
    out = []
    if shared:
        out.append(
            f"{' and '.join(shared)} {'are' if len(shared) > 1 else 'is'} read from shared memory by descriptors:"
            " POST /descriptors/verify checks whether one reads this storage."
        )
    if "b" in feeds:
        out.append("Rows of B are n, as CuTe has it.")
    return out
