"""Steps of a warp's product: where A and B are stored, the address of each lane, what arrives in each register, and
D after every K step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from lanescope.app.hardware import product_inputs, user_matrices
from lanescope.app.hardware.product_inputs import ProductInputs
from lanescope.app.instruction import wording
from lanescope.app.kit.enumerations import PtxText
from lanescope.app.kit.fact import Description, IntegerArray, Json, RealArray, fact, make_optional_field
from lanescope.app.kit.memory_words import Major
from lanescope.app.kit.question import declare_question, flag_field, number_field, text_field, word_field
from lanescope.app.memory.storage import storage_field
from lanescope.app.steps import stored
from lanescope.app.steps.captions import (
    Product,
    StepperMismatch,
    StepperPhase,
    StepperStep,
    build_timeline,
    format_load,
    list_mismatches,
)
from lanescope.app.steps.fragments import (
    StepperFragment,
    StepperResult,
    build_result,
    describe_fragment,
    find_dense_columns,
)
from lanescope.app.steps.second import SecondProduct, build_second, make_tile_inputs, match_second
from lanescope.app.steps.second_captions import list_second_phases
from lanescope.app.steps.stored import LoadedOperand, StepperMove, StoredChunk
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.ptx.instruction import WARP, Instruction, Operand
from lanescope.shared import chain
from lanescope.shared.pieces import make_operand_granules
from lanescope.shared.storage import Storage
from lanescope.shared.tiling import DEFAULT_ORDER

MOST_K_STEPS = 32  # steps of the multiplication; longer products take several k at once
ALIGNMENT = 1024  # base of the second operand's tile


def declare_matrix(label: str, help: str, example: str) -> Any:
    """Declare the user's numbers for a matrix."""
    return text_field("", label, help, most=user_matrices.LONGEST, rows=1, size=30, placeholder=example)


@declare_question
class StepperQuestion:
    """A product of one warp, and how its operands are stored and loaded."""

    instruction: str = text_field("", "Instruction", "An mma or wmma.mma of one warp.", type=PtxText, required=True)
    seed: int = number_field(1, "Random seed", "Of the matrices that are not specified.", least=0, size=9)
    a: str = declare_matrix("A", "A formula or rows of numbers in place of random ones.", "i")
    b: str = declare_matrix("B", "A formula or rows of numbers in place of random ones.", "-(i + 1)")
    c: str = declare_matrix("C", "A formula or rows of numbers; zero if A or B is specified.", "0")
    k_step: int = number_field(0, "K step", "Which step of the tile's K the product takes.", least=0, most=3)
    major_a: str | None = word_field(
        DEFAULT_ORDER,
        "A stored",
        "The contiguous dimension of A; that of the instruction by default.",
        derived=True,
        type=Major,
    )
    major_b: str | None = word_field(
        DEFAULT_ORDER,
        "B stored",
        "The contiguous dimension of B; that of the instruction by default.",
        derived=True,
        type=Major,
    )
    load_a: str = text_field("", "A loaded by", "An ldmatrix or ld.shared; the best where it is left out.")
    load_b: str = text_field("", "B loaded by", "An ldmatrix or ld.shared; the best where it is left out.")
    operand: str = word_field(("ab", "a", "b"), "Operands", "The operands that the storage describes.", "ab")
    storage: Json | None = storage_field(
        "Where the program put element (mn, k); rows of 128 bytes with the 128B swizzle where it is left out.",
        default="",
    )
    no_xor: bool = flag_field("Lane addresses", "1: lanes compute their addresses as if nothing were swizzled.")
    then: str = text_field("", "Then", "A second mma: its A is this D. Left out: one product.")


@fact
class StepperOperand(StepperFragment):
    """A or B: its numbers, where they are stored, and how they move."""

    numbers: Annotated[Any, RealArray((1,), "[element]")]
    at: Annotated[Any, IntegerArray(1, "[element]: bit address.")]
    before: Annotated[Any, IntegerArray(1, "[element]: bit address without the XOR.")]
    reads: Annotated[Any, IntegerArray(1, "[slot]: the bit address it is read from.")]
    k: Annotated[Any, IntegerArray(1, "[element]: its place along K; of a sparse A by the metadata.")]
    major: Major
    origin: Annotated[int, Description("Where lines of 128 bytes are counted from.")]
    swizzle: str
    chunks: list[StoredChunk]
    load: str
    loads: Annotated[list[str], Description("Every ldmatrix whose registers fit.")]
    moves: list[StepperMove]
    wrong: list[StepperMismatch]


@fact
class Stepper:
    """The data of a product's stepper."""

    ptx: str
    title: str
    k_step: int
    k_steps: Annotated[int, Description("How many K steps the stored tiles hold.")]
    phases: list[StepperPhase]
    steps: list[StepperStep]
    a: StepperOperand
    b: StepperOperand
    d: StepperResult
    k_groups: Annotated[Any, IntegerArray(2, "[step of K]: its first k and the one after its last.")]
    agrees: Annotated[bool, Description("Whether D is NumPy's product of the stored matrices.")]
    then: SecondProduct | None = make_optional_field()


def can_step(i: Instruction) -> bool:
    """Return whether an instruction has a stepper: a product of one warp."""
    return (
        i.family.multiplies and i.family.scope is WARP and not i.family.by_descriptor and len(i.operands["d"].axes) == 2
    )


def build_stepper(question: StepperQuestion) -> Stepper:
    """Return the stepper of one product: stored chunks with and without the XOR, lane addresses, moves from memory
    to registers, sums after every K step, and a caption for each step.
    """
    i = lookup.parse_instruction(question.instruction, "instruction")
    if not can_step(i):
        raise LayoutError(
            "no_stepper",
            f"{i.ptx} is not one product of one warp.",
            "Choose an mma or a wmma.mma; POST /stepper/matrices takes ldmatrix and stmatrix.",
            "instruction",
        )
    loaded, count = _load_operands(i, question)
    inputs = _make_inputs(i, question, count)
    this = inputs[question.k_step]
    k = i.sizes["k"]
    size = -(-k // MOST_K_STEPS)
    groups = [(first, min(k, first + size)) for first in range(0, k, size)]
    tiles = {
        "a": np.concatenate([step_inputs.stored_a[0] for step_inputs in inputs], axis=1),
        "b": np.concatenate([step_inputs.b[0] for step_inputs in inputs], axis=0).T,
    }
    arrived = {name: _collect_arrived(operand, tiles[name]) for name, operand in loaded.items()}
    sums = _add_up(i, this, arrived, groups)
    expected = this.compute_expected(i)[0]
    then = _build_second(i, question, inputs, arrived, groups) if question.then else None
    timeline = build_timeline(Product(i, loaded, groups), list_second_phases(i, then) if then else [])
    return Stepper(
        ptx=i.ptx,
        title=wording.format_title(i),
        k_step=question.k_step,
        k_steps=count,
        phases=timeline[0],
        steps=timeline[1],
        a=_build_operand(loaded["a"], tiles["a"], _find_dense_columns(i, this)),
        b=_build_operand(loaded["b"], tiles["b"], np.repeat(np.arange(k), i.sizes["n"])),
        d=build_result(i, sums, expected),
        k_groups=np.array(groups),
        agrees=bool(np.array_equal(sums[-1], expected)),
        then=then,
    )


def _build_second(
    i: Instruction, question: StepperQuestion, inputs: list[ProductInputs], arrived: dict[str, Any], groups: list[Any]
) -> SecondProduct:
    """Return the second product. Further tiles of D have the same A, as it arrived, and further columns of B."""
    match = match_second(i, question.then)
    tiles = []
    for number in range(match.reuse.tiles if match.is_drawn else 0):
        tile_inputs = make_tile_inputs(i, inputs[: question.k_step + 1], number, question.seed)
        b = (tile_inputs.b[0], np.ones(tile_inputs.b[0].shape, bool)) if number else arrived["b"]
        tiles.append(
            (_add_up(i, tile_inputs, {"a": arrived["a"], "b": b}, groups)[-1], tile_inputs.compute_expected(i)[0])
        )
    return build_second(match, tiles, question.seed)


def _load_operands(i: Instruction, question: StepperQuestion) -> tuple[dict[str, LoadedOperand], int]:
    """Return the loads of A and B, and the number of K steps in their storages.

    An operand with a storage is placed there, the other one after it.
    """
    named = find_majors(i)
    majors = {"a": question.major_a or named["a"], "b": question.major_b or named["b"]}
    where = _place_operands(i, question, majors)
    has_matrices = bool(question.a or question.b)
    count = (
        1 if has_matrices else min(stored.count_k_steps(where[name], i.operands[name], majors[name]) for name in "ab")
    )
    if question.k_step >= count:
        hint = (
            "Own matrices have one step of K." if has_matrices else f"The stored tiles hold {count} steps of K, from 0."
        )
        raise LayoutError("bad_step", f"K step {question.k_step} is not stored.", hint, "k_step")
    loads = {"a": question.load_a, "b": question.load_b}
    loaded = {}
    for name in "ab":
        try:
            loaded[name] = stored.load_operand(
                i.operands[name], where[name], loads[name], question.k_step, count, not question.no_xor
            )
        except LayoutError as error:
            raise error.move_to_field(f"load_{name}" if error.field in ("load", "mma") else error.field) from None
    return loaded, count


def _place_operands(i: Instruction, question: StepperQuestion, majors: dict[str, str]) -> dict[str, Storage]:
    """Return where A and B are stored: the requested storages, one after the other."""
    where: dict[str, Storage] = {}
    end = 0
    for name in ("b", "a") if question.operand == "b" and question.storage else ("a", "b"):
        spec = question.storage if question.storage and name in question.operand else None
        if spec and where:  # the second of two equal storages
            spec = {**spec, "base": end}
        spec = _fit_major(spec, majors[name])
        where[name] = stored.find_storage(i.operands[name], spec, majors[name], end)
        end = -(-(_find_end(where[name], i.operands[name])) // ALIGNMENT) * ALIGNMENT
    return where


def find_majors(i: Instruction) -> dict[str, str]:
    """Return the contiguous dimension of A and B, from .row and .col of the instruction."""
    a, b = [word for word in i.ptx.split(".") if word in ("row", "col")] or ["row", "col"]
    return {"a": "K" if a == "row" else "MN", "b": "K" if b == "col" else "MN"}


def _fit_major(spec: Json | None, major: str) -> Json | None:
    """Return a storage with the operand's contiguous dimension, if its kind has one."""
    field = {"rows": "inner", "atoms": "inner", "canonical": "major"}.get(str((spec or {}).get("kind")))
    return {**spec, field: major} if spec and field else spec


def _find_end(where: Storage, operand: Operand) -> int:
    """Return the byte after the last one of all K steps of an operand."""
    k = stored.get_k_extent(operand) * stored.count_k_steps(where, operand, "")
    lines = operand.col_count if operand.name == "b" else operand.row_count
    return int(where.compute_addresses(lines, k).max()) + max(1, operand.container_bits // 8)


def _make_inputs(i: Instruction, question: StepperQuestion, count: int) -> list[ProductInputs]:
    """Return the matrices of every K step; C of one is D of the previous."""
    texts = {"a": question.a, "b": question.b, "c": question.c}
    data = {name: user_matrices.parse_matrix(text, name) for name, text in texts.items() if text}
    inputs: list[ProductInputs] = []
    for step in range(count):
        step_inputs = product_inputs.make_random_inputs(
            i, question.seed + step, data=user_matrices.check_matrices(i, data)
        )
        inputs.append(replace(step_inputs, c=inputs[-1].compute_expected(i)) if inputs else step_inputs)
    return inputs


def _collect_arrived(loaded: LoadedOperand, tile: Any) -> tuple[Any, Any]:
    """Return the operand's matrix as held in the registers, and which elements are known: [row][col] of one K step."""
    op = loaded.operand
    known = loaded.got >= 0
    values = np.where(known, tile.ravel()[loaded.got], 0)
    shape = (op.row_count, op.col_count)
    matrix, sure = np.zeros(shape, dtype=np.float64), np.zeros(shape, bool)
    rows, cols = op.coords["row"].ravel(), op.coords["col"].ravel()
    matrix[rows, cols], sure[rows, cols] = values, known
    return matrix, sure


def _find_dense_columns(i: Instruction, inputs: ProductInputs) -> Any:
    """Return the matrix column of each element of A."""
    return find_dense_columns(i.operands["a"], inputs.metadata[0] if i.operands["a"].sparsity else None).ravel()


def _add_up(i: Instruction, inputs: ProductInputs, arrived: dict[str, Any], groups: list[tuple[int, int]]) -> Any:
    """Return C and the sums after each step, as computed from the registers: [K step][row][col]; NaN if unknown."""
    op, k = i.operands["a"], i.sizes["k"]
    stored_a, sure_a = arrived["a"]
    b, sure_b = arrived["b"]
    rows = np.repeat(np.arange(op.row_count), op.col_count)
    columns = _find_dense_columns(i, inputs)
    a, open_a = np.zeros((op.row_count, k)), np.zeros((op.row_count, k), bool)
    a[rows, columns], open_a[rows, columns] = stored_a.ravel(), ~sure_a.ravel()
    if i.types["a"] == "b1":
        a, b = a.astype(np.int64), b.astype(np.int64)
    met = np.zeros((op.row_count, k), bool)  # a position that a sparse A does not store contributes nothing
    met[rows, columns] = True
    sums = []
    for end in (0, *(last for _, last in groups)):
        part = replace(
            inputs, a=np.where(np.arange(k) < end, a, 0)[None], b=np.where((np.arange(k) < end)[:, None], b, 0)[None]
        )
        total = np.array(part.compute_expected(i)[0], np.float64)
        unknown = open_a[:, :end].any(axis=1, keepdims=True) | (
            met[:, :end].astype(int) @ (~sure_b[:end]).astype(int) > 0
        )
        total[np.broadcast_to(unknown, total.shape)] = np.nan
        sums.append(total)
    return np.array(sums)


def _build_operand(loaded: LoadedOperand, tile: Any, k: Any) -> StepperOperand:
    op = loaded.operand
    placed = loaded.where.placed
    assert placed is not None
    row, col = np.divmod(np.arange(op.row_count * op.col_count), op.col_count)
    mn, along = (col, row) if op.name == "b" else (row, col)
    mine = mn * loaded.k_extent + along + loaded.k_first  # [element] → element of the tile
    at = loaded.at[mine]
    return StepperOperand(
        **describe_fragment(op),
        numbers=tile.ravel()[mine],
        at=at,
        before=stored.undo_xor(placed, at),
        reads=loaded.reads,
        k=k,
        major="K" if loaded.major == "K" else "MN",
        origin=loaded.origin,
        swizzle=loaded.where.mode.name,
        chunks=loaded.list_chunks(),
        load=format_load(loaded.load),
        loads=_list_loads(op),
        moves=loaded.moves,
        wrong=list_mismatches(loaded, tile.ravel()),
    )


def _list_loads(operand: Operand) -> list[str]:
    """Return the possible loads of an operand: every ldmatrix whose registers fit, except those of bytes."""
    try:
        make_operand_granules(operand)
    except LayoutError:
        return []
    return [i.ptx for i in chain.list_candidates(operand) if i.types["data"] != "b8"]
