"""Whole tiles for the API, the pages and the command line."""

from __future__ import annotations

from typing import Annotated, Literal

from lanescope.app.kit.fact import ByThread, Description, copy_fact, fact, make_optional_field
from lanescope.app.tiles import umma_facts
from lanescope.app.tiles.questions import TiledChainBody, TiledUmmaBody
from lanescope.app.tiles.umma_facts import UmmaFacts
from lanescope.cute import algebra
from lanescope.ptx.architectures import get_architecture
from lanescope.tiles import umma_code
from lanescope.tiles.mma import MOST_REGISTERS, SIDES, TiledMMA, TileOperand, list_coverage_notes
from lanescope.tiles.mma_chain import MmaChain, chain_mmas
from lanescope.tiles.umma import TiledUmma


@fact
class OperandOfTile:
    """A, B or C of a whole tile. Values are in the order of CuTe's partition_A, partition_B and partition_C."""

    rows: int
    cols: int
    row: ByThread
    col: ByThread
    layout: Annotated[
        str | None,
        Description(
            "CuTe's thread-value layout of one TiledMMA's own tile: over (m, k), of B over (n, k), of C over (m, n);"
            " null if the threads have gaps, which a CuTe layout cannot express."
        ),
    ]
    values: Annotated[
        list[int], Description("How many values: of the atom, of the rest of the first and second dimension.")
    ]
    copies: Annotated[int, Description("How many threads hold each element.")]
    registers: Annotated[int, Description("32-bit registers of a thread; 0 where shared memory holds the operand.")]
    place: Annotated[
        Literal["registers", "shared", "tensor"],
        Description(
            "shared: a descriptor reads it, and there is one row for every warpgroup. Of a tcgen05.mma there is one for"
            " every CTA, in shared or tensor memory."
        ),
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
    atom: Annotated[str, Description("The instruction as PTX spells it.")]
    cutlass: Annotated[str, Description("CUTLASS's name of the atom, empty if it has none.")]
    shape: Annotated[list[int], Description("M, N and K of one TiledMMA.")]
    tile: Annotated[list[int], Description("M, N and K of the whole tile.")]
    atom_layout: str
    permutation: str
    steps: Annotated[list[int], Description("How often each atom's threads repeat it in M, N and K.")]
    registers: Annotated[int, Description("32-bit registers of a thread for A, B and C of the whole tile.")]
    idle: Annotated[int, Description("Threads below the last one that hold nothing.")]
    thread_ids: Annotated[
        list[int] | None, Description("The thread of each row of the maps, where it is not its number.")
    ] = make_optional_field()
    operands: OperandsOfTile
    notes: list[str]
    umma: Annotated[
        UmmaFacts | None, Description("Of a tcgen05.mma: shared and tensor memory, descriptors, every MMA.")
    ] = make_optional_field()


def answer_mma(question: TiledUmmaBody) -> TiledMmaFacts:
    """A, B and C of a whole tile: which thread and value hold which element. atom: PTX or CUTLASS's name;
    AtomLayoutMNK and PermutationMNK as CuTe writes them; tile: [M, N, K]. B is (k, n). For an UMMA atom
    (SM100_MMA_…, tcgen05.mma) the CTAs of the pair take the place of threads, and `umma` has shared memory, tensor
    memory and every MMA.
    """
    return build_mma(question.tiled_mma, question.target)


def build_mma(tiled_mma: TiledMMA, target: str = "") -> TiledMmaFacts:
    """Return the facts of a TiledMMA's tile and, for a target, whether its shared memory is large enough."""
    ids = tiled_mma.thread_ids.tolist()
    return copy_fact(
        TiledMmaFacts,
        tiled_mma,
        atom=tiled_mma.atom.instruction.ptx,
        cutlass=umma_code.get_atom_name(tiled_mma.umma)
        if isinstance(tiled_mma, TiledUmma)
        else tiled_mma.atom.cutlass.split(" (")[0],
        shape=list(tiled_mma.shape),
        tile=list(tiled_mma.tile),
        atom_layout=str(tiled_mma.atom_layout),
        permutation=algebra.format_tiler(tiled_mma.permutation),
        steps=list(tiled_mma.steps),
        thread_ids=ids if ids != list(range(len(ids))) else None,
        operands=OperandsOfTile(
            **{name: _build_operand(tiled_mma.operand(name), find_operand_place(tiled_mma, name)) for name in SIDES}
        ),
        notes=list_notes(tiled_mma, target),
        umma=umma_facts.build_umma(tiled_mma) if isinstance(tiled_mma, TiledUmma) else None,
    )


def find_operand_place(tiled_mma: TiledMMA, name: str) -> Literal["registers", "shared", "tensor"]:
    """Return where an operand is."""
    if isinstance(tiled_mma, TiledUmma):
        return "shared" if name == "b" or (name == "a" and not tiled_mma.umma.tensor_a) else "tensor"
    return "shared" if tiled_mma.operand(name).shared else "registers"


def _build_operand(op: TileOperand, place: Literal["registers", "shared", "tensor"]) -> OperandOfTile:
    return copy_fact(
        OperandOfTile,
        op,
        rows=op.row_count,
        cols=op.col_count,
        row=op.rows,
        col=op.cols,
        layout=None if op.layout is None else str(op.layout),
        values=list(op.modes),
        place=place,
    )


def _list_spill_notes(tiled_mma: TiledMMA) -> list[str]:
    """Return notes about registers that exceed a thread's limit."""
    if tiled_mma.registers <= MOST_REGISTERS:
        return []
    head = f"A, B and C of the tile take {tiled_mma.registers} registers per thread, which has at most {MOST_REGISTERS}"
    if tiled_mma.c.registers > MOST_REGISTERS:
        return [
            f"{head}; C alone takes {tiled_mma.c.registers}, so the compiler spills: use more atoms or a smaller tile."
        ]
    return [f"{head}. C takes {tiled_mma.c.registers}: keep the A and B of a few K steps at a time, or it spills."]


def _list_shared_memory_notes(tiled_mma: TiledMMA, target: str) -> list[str]:
    """Return a note if the operands in shared memory exceed a block of the target."""
    limit = get_architecture(target).block_shared_memory if target else None
    shared = [name for name in ("a", "b") if find_operand_place(tiled_mma, name) == "shared"]
    parts = [tiled_mma.operand(name) for name in shared]
    size = sum(op.row_count * op.col_count * op.element_bits // 8 for op in parts)
    if limit is None or size <= limit:
        return []
    names = " and ".join(name.upper() for name in shared)
    return [f"{names} take {size} bytes of shared memory; a block on {target} has at most {limit}."]


def list_notes(tiled_mma: TiledMMA, target: str = "") -> list[str]:
    """Return notes about the maps and, for a target, about its shared memory."""
    return [*_list_shared_memory_notes(tiled_mma, target), *_list_map_notes(tiled_mma)]


def _list_map_notes(tiled_mma: TiledMMA) -> list[str]:
    if isinstance(tiled_mma, TiledUmma):
        who = (
            "the threads of CuTe's layouts are the CTAs of the pair"
            if tiled_mma.ctas > 1
            else "CuTe's one thread is the CTA"
        )
        return [f"ThrID is {tiled_mma.ctas}: {who}.", *tiled_mma.inferred]
    out = []
    shared = [op.name.upper() for op in (tiled_mma.a, tiled_mma.b) if op.shared]
    if shared:
        out.append(
            f"{' and '.join(shared)} {'are' if len(shared) > 1 else 'is'} read from shared memory by matrix"
            " descriptors: every thread of a warpgroup is listed with the complete operand of its atom."
        )
    if "a" in tiled_mma.atom.shared and "registers" in tiled_mma.atom.instruction.family.forms:
        out.append("The same instruction takes A from registers: CUTLASS calls that atom _RS.")
    if tiled_mma.value_layout:
        out.append(
            f"The third argument {tiled_mma.value_layout} is the value layout of older CuTe: the permutation is the"
            " atoms' tile times it. In current CuTe write Tile<…>."
        )
    out += list_coverage_notes(tiled_mma)
    out += _list_spill_notes(tiled_mma)
    if tiled_mma.idle or tiled_mma.atom.threads.size < 32:
        out.append(
            f"The atom's {tiled_mma.atom.threads.size} threads are a quad pair: {tiled_mma.atom.threads} of the warp."
            " Four of them use every thread."
        )
    return out


@fact
class ChainedFacts:
    """Whether C of one TiledMMA is A of the next in registers."""

    verdict: Annotated[
        Literal["same", "reordered", "in_warp", "across_warps"],
        Description(
            "same: value for value; reordered: in the same thread in another order; in_warp: lanes of a warp exchange"
            " elements; across_warps: through shared memory."
        ),
    ]
    elements: int
    stay: Annotated[int, Description("Elements that are already in the thread that needs them.")]
    in_warp: Annotated[int, Description("Elements that are already in the warp that needs them.")]
    order: Annotated[
        list[int] | None, Description("[value of A]: the value of C that becomes it, the same for all threads.")
    ]
    k_order: Annotated[
        list[int] | None,
        Description(
            "[k]: the column of C that may take the place of column k of A, so that nothing leaves its thread; the rows"
            " of B follow."
        ),
    ]
    message: str


def build_chain(question: TiledChainBody) -> ChainedFacts:
    """Return whether C of the first TiledMMA is A of the second in registers, as P of FlashAttention. N of the first
    tile is K of the second.
    """
    found = chain_mmas(question.first, question.second)
    return copy_fact(
        ChainedFacts,
        found,
        verdict=_find_verdict(found),
        order=list(found.order) if found.order is not None else None,
        k_order=list(found.k_order) if found.k_order is not None else None,
        message=_SAID[_find_verdict(found)] + _REORDER * (found.k_order is not None),
    )


_SAID = {
    "same": "Every C value is the A value of the same number: reshape the layout, move nothing.",
    "reordered": "Every element is in the thread that needs it, in another order of the values: rename registers.",
    "in_warp": "Lanes of a warp hold elements that others need: permute bytes and shuffle, or reorder K of A and B.",
    "across_warps": "Warps hold elements that others need: the tile goes through shared memory.",
}


_REORDER = " Reordered along K, every element stays in its thread: the rows of B follow the same order."


def _find_verdict(chain_result: MmaChain) -> str:
    if chain_result.same_thread:
        return "same" if chain_result.identity else "reordered"
    return "in_warp" if chain_result.in_warp == chain_result.elements else "across_warps"
