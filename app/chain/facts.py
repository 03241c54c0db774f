"""Loads and stores between a storage and an operand, for the API, the page and the command line."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from lanescope.app.kit.enumerations import PTX, PtxText, Verdict
from lanescope.app.kit.fact import Description, Json, copy_fact, fact
from lanescope.app.kit.memory_words import Major
from lanescope.app.kit.question import declare_question, options_of, text_field, word_field
from lanescope.app.memory.storage import storage_field
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, require_object
from lanescope.names import lookup
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.render.chain import render_code
from lanescope.shared import chain, pieces
from lanescope.shared.feeding import explain_no_feed
from lanescope.shared.operand_storage import make_operand_storage
from lanescope.shared.storage import HINT as STORAGE_HINT, Storage
from lanescope.shared.tiling import DEFAULT_ORDER


def _check_load(text: str) -> None:
    lookup.parse_instruction(text, "load", _list_loads())


@declare_question
class LoadChainBody:
    """A load or store, the MMA whose operand it moves, and where the operand is stored."""

    storage: Json = storage_field("Where the program put element (mn, k).", required=True)
    load: str = text_field(
        "",
        "Load or store",
        "",
        type=PtxText,
        required=True,
        examples=("ldmatrix.m8n8.x4.shared.b16",),
        check=_check_load,
    )
    mma: str = text_field(
        PTX,
        "Instruction",
        "",
        type=PtxText,
        required=True,
        size=60,
        wide=True,
        check=partial(lookup.parse_instruction, field="mma"),
    )
    operand: str = word_field(
        ("a", "b", "c", "d"),
        "Operand",
        "a or b of a load, c or d of a store.",
        called={"a": "A", "b": "B", "c": "C (store)", "d": "D (store)"},
    )
    major: str = word_field(DEFAULT_ORDER, "Contiguous dimension", "The storage's, where it is left out.", type=Major)


@fact
class ChainMismatch:
    """The first register that gets the wrong element, or element that is stored in the wrong place."""

    thread: int
    register_: int
    byte: int
    row: int
    col: int
    read: int
    expected: int


@fact
class MatrixPlace:
    """Where a matrix of the load begins: a line of the storage, and a byte in it."""

    line: int
    byte: int


@fact
class ChainVerdict:
    """Whether the load supplies the operand from this storage, or the store writes it there."""

    verdict: Verdict
    matched: int
    total: int
    first_mismatch: ChainMismatch | None
    lane_addresses: Annotated[
        list[int],
        Description("The byte address each lane gives in the first turn; on a mismatch the best one there is."),
    ]
    turns: Annotated[list[list[int]], Description("[turn][lane]")]
    starts: Annotated[
        list[list[list[int] | None]],
        Description("[turn][lane] of the first warp: row and column of the element at that address."),
    ]
    matrices: Annotated[list[list[MatrixPlace]], Description("[turn][matrix]")]
    feeds: Annotated[bool, Description("Whether the load feeds the operand: the verdict.")]
    notes: list[str]
    instead: Annotated[list[str], Description("PTX texts that would feed the operand, best first.")]
    wavefronts: int | None
    ways: int | None
    code: str


def _list_loads() -> tuple[str, ...]:
    """Return the families that move matrices between shared memory and registers."""
    rows = (row for row in catalog.families() if row.specified and not row.tensor and (row.loads or row.stores))
    return tuple(dict.fromkeys(row.name for row in rows))


def parse_chain(body: Json) -> chain.Chain:
    """Return the chain of a request. LayoutError names the wrong field."""
    check_keys(body, options_of(LoadChainBody))
    load = lookup.parse_instruction(body.get("load"), "load", _list_loads())
    mma = lookup.parse_instruction(body.get("mma"), "mma")
    letter = parse_choice(
        body.get("operand", "d" if load.family.stores else "a"), "operand", ("a", "b", "c", "d"), "bad_operand"
    )
    operand = _build_operand(mma, letter, load)
    return chain.make_chain(load, operand, _parse_storage(body, operand))


def _parse_storage(body: Json, operand: Operand) -> Storage:
    """Return the storage of a request, large enough for the operand."""
    spec = require_object(body.get("storage"), "storage", STORAGE_HINT, "bad_storage")
    major = parse_choice(
        body.get("major", spec.get("major", spec.get("inner", "K"))), "major", DEFAULT_ORDER, "bad_major"
    )
    return make_operand_storage(spec, operand, major)


def _build_operand(mma: Instruction, letter: str, load: Instruction) -> Operand:
    """Return the operand as stored in memory, for a load or store that can move it."""
    stores = load.family.stores
    if stores != (letter in "cd"):
        which = "stmatrix writes c or d" if stores else "ldmatrix reads a or b"
        raise LayoutError("bad_operand", f"Operand '{letter[:20]}' with {load.ptx}.", f"{which}.", "operand")
    data = load.operands.get("data")
    return pieces.convert_for_memory(mma.operand(letter), data.container_bits) if data else mma.operand(letter)


def find_loads(body: Json) -> tuple[list[str], list[str]]:
    """Return (loads or stores whose registers fit the operand of a request, those that supply it from its storage,
    best first).
    """
    mma, letter = (
        lookup.parse_instruction(body.get("mma"), "mma"),
        parse_choice(body.get("operand", "a"), "operand", ("a", "b", "c", "d"), "bad_operand"),
    )
    operand, store = pieces.convert_for_memory(mma.operand(letter)), letter in "cd"
    fits = [i.ptx for i in chain.list_candidates(operand, store)]
    if not fits:
        pieces.make_operand_granules(operand)
        raise LayoutError(
            "no_chain", f"No ldmatrix fills {operand.registers} registers.", "Load it with ld.shared.", "operand"
        )
    return fits, [
        found.load.instruction.ptx for found in chain.list_best_chains(operand, _parse_storage(body, operand), store)
    ]


def answer_chain(body: Json) -> ChainVerdict:
    """Return whether a load feeds an operand from a storage. storage as in /descriptors/verify, load and mma as PTX,
    operand a or b (d for a stmatrix). Returns lane addresses, and the loads that supply it otherwise. With tiled_mma a
    whole main loop, as POST /api/v1/tiles/loop: TiledCopy, storage and TiledMMA, for every warp and K iteration."""
    return build_chain(parse_chain(body))


def build_chain(chain_result: chain.Chain) -> ChainVerdict:
    """Return the answer of POST /api/v1/chain."""
    operand, bits = chain_result.want.operand, chain_result.want.operand.container_bits
    better = [] if chain_result.match else chain.list_best_chains(operand, chain_result.where, chain_result.store)
    costs = chain_result.costs
    starts = chain_result.spread_over_lanes(chain_result.starts)[0]
    return ChainVerdict(
        verdict="match" if chain_result.match else "mismatch",
        matched=chain_result.matched,
        total=chain_result.total,
        first_mismatch=_build_mismatch(chain_result.first_mismatch),
        lane_addresses=chain_result.lane_addresses[:, 0].reshape(-1).tolist(),
        turns=chain_result.lane_addresses.transpose(1, 0, 2).reshape(chain_result.count, -1).tolist(),
        starts=[[_list_element(operand, mn, k) for mn, k, _ in turn] for turn in starts.tolist()],
        matrices=[
            [_build_place(chain_result.major, mn, k, bits) for mn, k, _ in turn]
            for turn in chain_result.starts[0, :, :, 0].tolist()
        ],
        feeds=chain_result.match,
        notes=(
            list(chain_result.notes)
            if chain_result.match or chain_result.notes or better
            else [explain_no_feed(operand, chain_result.where, chain_result.store)]
        ),
        instead=[c.load.instruction.ptx for c in better],
        wavefronts=costs[0].wavefronts if costs else None,
        ways=max((cost.ways for cost in costs), default=None),
        code=render_code(chain_result) if chain_result.match else "",
    )


def _build_mismatch(mismatch: chain.GranuleMismatch | None) -> ChainMismatch | None:
    if mismatch is None:
        return None
    return copy_fact(ChainMismatch, mismatch, register_=mismatch.register)


def _list_element(operand: Operand, mn: int, k: int) -> list[int] | None:
    """Return [row, column] of an operand's element; None for a lane that supplies no address."""
    return None if mn < 0 else [k, mn] if operand.name == "b" else [mn, k]


def _build_place(major: str, mn: int, k: int, bits: int) -> MatrixPlace:
    line, along = (mn, k) if major == "K" else (k, mn)
    return MatrixPlace(line=line, byte=along * bits // 8)
