"""Steps of a wgmma: its tiles in shared memory, the fields of its descriptors, the bytes they read for each warp,
and D after every K step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from lanescope.app.hardware import user_matrices, whole_product
from lanescope.app.hardware.product_inputs import ProductInputs
from lanescope.app.instruction import wording
from lanescope.app.kit.enumerations import PtxText, Word64
from lanescope.app.kit.fact import Description, IntegerArray, RealArray, fact
from lanescope.app.kit.memory_words import Major, SwizzleMode
from lanescope.app.kit.question import declare_question, number_field, text_field
from lanescope.app.memory.descriptors import DescriptorField, build_fields
from lanescope.app.steps import wgmma
from lanescope.app.steps.captions import StepperPhase
from lanescope.app.steps.described import DescribedOperand
from lanescope.app.steps.fragments import find_dense_columns
from lanescope.app.steps.stepper import declare_matrix
from lanescope.app.steps.wgmma_captions import build_timeline
from lanescope.app.steps.wgmma_plan import count_per_cell, pack_cells, plan_product, view_cells
from lanescope.app.steps.wgmma_product import DescribedProduct, WgmmaMove, WgmmaStep
from lanescope.app.steps.wgmma_registers import HeldOperand, build_held_operand
from lanescope.descriptor.matrix import find_unread_fields
from lanescope.descriptor.repair import list_changes
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.product.plan import DescribedSide, ProductPlan
from lanescope.ptx.instruction import Instruction, Operand

COLUMNS = 16  # columns of D and B that the picture shows at once
MOST_K_GROUPS = 16  # steps in which the first K step is multiplied
WARPS = 4


@declare_question
class WgmmaStepperQuestion:
    """A wgmma, where A and B are stored, and their descriptors."""

    instruction: str = text_field("", "Instruction", "A wgmma.", type=PtxText, required=True)
    seed: int = number_field(1, "Random seed", "Of the matrices that are not specified.", least=0, size=9)
    a: str = text_field(
        "",
        "A stored",
        "How A is stored and its descriptor, e.g. swizzle=64B,major=MN; or from=registers.",
        size=26,
        placeholder="major=MN,swizzle=64B",
    )
    b: str = text_field(
        "",
        "B stored",
        "How B is stored and its descriptor, e.g. descriptor=0x4000004000010000.",
        size=26,
        placeholder="major=MN,swizzle=64B",
    )
    d: str = text_field("", "D options", "scale=0 begins D with zeros.", size=10, placeholder="scale=0")
    data_a: str = declare_matrix("A", "A formula or rows of numbers in place of random ones.", "i")
    data_b: str = declare_matrix("B", "A formula or rows of numbers in place of random ones.", "-(i + 1)")
    c: str = declare_matrix("C", "A formula or rows of numbers; zero if A or B is specified.", "0")
    n: int = number_field(0, "Columns", f"The first of the {COLUMNS} columns that are shown.", least=0)


@fact
class ReadWord:
    """The descriptor of one K step, and the byte from which each line of a core matrix is read."""

    descriptor: Word64
    fields: list[DescriptorField]
    swizzle: SwizzleMode
    unread: Annotated[dict[str, str], Description("Fields that are not read, and why.")]
    lines: Annotated[Any, IntegerArray(2, "[core matrix][line]: byte address of its 16 bytes.")]
    cause: Annotated[str, Description("Why it does not read what is stored; empty if it does.")]
    repair: Annotated[Word64 | None, Description("The word that reads it, where another one does.")]
    wrong_fields: Annotated[list[str], Description("Those that the repair changes.")]


@fact
class WgmmaOperand:
    """A, or the visible columns of B: its numbers, their storage, and the elements that its descriptors read.

    Element [row][k], k over all K steps; first: number of row 0 in the whole operand.
    """

    first: int
    rows: int
    k: int
    k_step: int
    element: str
    element_bytes: int
    major: Major
    swizzle: str
    stored: str
    numbers: Annotated[Any, RealArray((2,), "[row][k]: as stored.")]
    at: Annotated[Any, IntegerArray(2, "[row][k]: byte address.")]
    before: Annotated[Any, IntegerArray(2, "[row][k]: byte address without the XOR.")]
    source: Annotated[
        Any,
        IntegerArray(2, "[row][k]: the element that is read, row · K + k of the whole operand; −2 − n: of the other"),
    ]
    arrived: Annotated[Any, RealArray((2,), "[row][k]: its number; null if the bytes are not an element.")]
    origin: int
    lines: Annotated[
        list[Any],
        Description(
            "[view][K step]: addresses of lines of 128 bytes; once where all steps have the same. A has a view a warp."
        ),
    ]
    chunks: Annotated[list[Any], Description("[view][K step][chunk]: byte address without the XOR, and with it.")]
    cores: Annotated[Any, IntegerArray(3, "[core matrix][line][element]: row · (K of a step) + k.")]
    words: list[ReadWord]
    moves: list[WgmmaMove]
    meets: Annotated[Any, IntegerArray(2, "[row][k]: its place along K of the product; of a sparse A by the metadata.")]


@fact
class WgmmaResult:
    """The visible columns of D: the holders and the sums."""

    first: int
    columns: int
    all_columns: int
    element: str
    element_bits: int
    register_bits: int
    values: Annotated[int, Description("Of a lane, in these columns.")]
    first_value: int
    holds: Annotated[Any, IntegerArray(2, "[thread][value]: row · columns + column.")]
    sums: Annotated[Any, RealArray((3,), "[step of K][row][column], the first before any product.")]
    expected: Annotated[Any, RealArray((2,), "[row][column] of the matrices as they are stored.")]


@fact
class WgmmaStepper:
    """The data of a wgmma's stepper."""

    ptx: str
    title: str
    k_steps: int
    options: Annotated[dict[str, str], Description("How A, B and D are stored, spelled in full.")]
    phases: list[StepperPhase]
    steps: list[WgmmaStep]
    a: WgmmaOperand | HeldOperand
    b: WgmmaOperand
    d: WgmmaResult
    k_groups: Annotated[Any, IntegerArray(2, "[step of K]: its first k and the one after its last.")]
    per_cell: Annotated[int, Description("Elements along K per number: 8 for 1-bit elements (a byte), else 1.")]
    wrong: Annotated[dict[str, int], Description("Elements of each operand that are read from another place.")]
    agrees: Annotated[bool, Description("Whether D is NumPy's product of the stored matrices.")]


def can_step_wgmma(i: Instruction) -> bool:
    """Return whether this stepper supports an instruction: a wgmma."""
    return i.family.multiplies and i.family.by_descriptor and not i.family.tensor


def build_wgmma_stepper(question: WgmmaStepperQuestion) -> WgmmaStepper:
    """Return the stepper of one wgmma: stored chunks with and without the XOR, the fields of every descriptor, the
    core matrices that it reads for each warp, sums after every K step, and a caption for each step.
    """
    i = lookup.parse_instruction(question.instruction, "instruction")
    if not can_step_wgmma(i):
        hint = "Choose a wgmma; /api/v1/stepper takes an mma or a wmma.mma."
        raise LayoutError("no_stepper", f"{i.ptx} is not a wgmma.", hint, "instruction")
    plan = plan_product(i, question.a, question.b, question.d)
    data = {"a": question.data_a, "b": question.data_b, "c": question.c}
    inputs = whole_product.build_inputs(plan, question.seed, _parse_data(i, data))
    columns, per = _choose_columns(i, question.n), count_per_cell(i)
    sides = [side for side in (plan.a, plan.b) if isinstance(side, DescribedSide)]
    operands = {side.letter: DescribedOperand(view_cells(side, per), plan.steps, side) for side in sides}
    image = whole_product.build_shared_image(plan, whole_product.stage_inputs(plan, inputs))
    others = {"a": operands["b"], "b": operands.get("a")}
    sources = {name: operand.find_sources(others[name]) for name, operand in operands.items()}
    numbers = {"a": pack_cells(inputs.stored_a[0], per), "b": pack_cells(inputs.b[0].T, per)}
    arrived = {"a": np.stack(np.split(np.asarray(numbers["a"], np.float64), plan.steps, axis=1))} | {
        name: np.where(sources[name] == -1, np.nan, _read_numbers(operand, image)) for name, operand in operands.items()
    }
    meets = _find_meets(plan, inputs)[:, ::per] // per
    groups = _list_groups(i.sizes["k"] // per, plan.steps)
    sums = _add_up(plan, inputs, arrived, meets, groups, columns)
    expected = np.asarray(whole_product.compute_expected(plan, inputs)[0, :, columns], np.float64)
    product = DescribedProduct(i, operands, sources, groups, columns, i.sizes["n"], per)
    phases, steps, moves = build_timeline(product)
    shown = {"a": slice(0, i.sizes["m"]), "b": columns}
    k = np.broadcast_to(np.arange(plan.k // per), (i.sizes["n"], plan.k // per))
    places = {"a": meets, "b": k}
    built: dict[str, Any] = {
        name: _build_operand(
            operand,
            shown[name],
            {"numbers": numbers[name], "meets": places[name]},
            sources[name],
            arrived[name],
            moves[name],
        )
        for name, operand in operands.items()
    }
    if "a" not in built:
        built["a"] = build_held_operand(i.operands["a"], per, numbers["a"], meets)
    return WgmmaStepper(
        ptx=i.ptx,
        title=wording.format_title(i),
        k_steps=plan.steps,
        options={side: ",".join(f"{n}={v}" for n, v in chosen.items()) for side, chosen in plan.chosen.items()},
        phases=phases,
        steps=steps,
        **built,
        d=_build_result(i, columns, sums, expected),
        k_groups=np.array(groups),
        per_cell=per,
        wrong={"a": 0}
        | {name: per * int((sources[name] != operand.get_expected()).sum()) for name, operand in operands.items()},
        agrees=bool(np.array_equal(sums[-1], expected)),
    )


# what is read, and the sums -------------------------------------------------------------------------------------------


def _read_numbers(operand: DescribedOperand, image: Any) -> Any:
    """Return the numbers that the read bytes represent: [K step, mn, k]."""
    return np.stack([wgmma.read_operand(operand.side, step, image)[1] for step in range(operand.steps)])


def _choose_columns(i: Instruction, first: int) -> slice:
    n = i.sizes["n"]
    if first % 8 or first >= n:
        raise LayoutError("bad_columns", f"No columns from {first}.", f"Multiples of 8 below {n}.", "n")
    first = min(first, max(0, n - COLUMNS))
    return slice(first, min(n, first + COLUMNS))


def _parse_data(i: Instruction, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the user's matrices. LayoutError names data_a or data_b, because a and b are storage options."""
    try:
        matrices = {name: user_matrices.parse_matrix(text, name) for name, text in texts.items() if text}
        return user_matrices.check_matrices(i, matrices)
    except LayoutError as error:
        name = error.field.removeprefix("data.")
        raise error.move_to_field(f"data_{name}" if name in ("a", "b") else name) from None


def _find_meets(plan: ProductPlan, inputs: ProductInputs) -> Any:
    """Return the k of the product for each stored element of A: [row][stored k]."""
    op, k = plan.instruction.operands["a"], plan.instruction.sizes["k"]
    parts = []
    for step in range(plan.steps):
        words = inputs.metadata[step] if op.sparsity else None
        parts.append(find_dense_columns(op, words, plan.selector) + step * k)
    return np.concatenate(parts, axis=1)


def _list_groups(k: int, steps: int) -> list[tuple[int, int]]:
    """Return the steps of the multiplication: the first K step k by k, the others at once."""
    size = -(-k // MOST_K_GROUPS)
    first = [(at, min(k, at + size)) for at in range(0, k, size)]
    return first + [(step * k, (step + 1) * k) for step in range(1, steps)]


def _add_up(
    plan: ProductPlan, inputs: ProductInputs, arrived: Mapping[str, Any], meets: Any, groups: Any, columns: slice
) -> Any:
    """Return C and the sums after each step, computed from the elements that are read: [K step][row][column]; NaN if
    unknown.
    """
    stored = np.concatenate(list(arrived["a"]), axis=1)
    b = np.concatenate(list(arrived["b"]), axis=1)[columns].T
    a = np.zeros((stored.shape[0], len(b)))
    np.put_along_axis(a, meets, stored, axis=1)
    sign = -1 if plan.a.negated != plan.b.negated else 1
    total = np.asarray(inputs.c[0, :, columns], np.float64) * plan.accumulate
    sums = [total]
    multiply = np.multiply if plan.instruction.types["a"] != "b1" else _count_common_ones
    for first, end in groups:
        met = np.zeros(a.shape, bool)
        np.put_along_axis(met, meets, True, axis=1)
        with np.errstate(invalid="ignore"):
            terms = multiply(a[:, first:end, None], b[None, first:end]) * met[:, first:end, None]
        if plan.instruction.operands["a"].sparsity:  # a k that A does not store contributes nothing
            terms = np.where(met[:, first:end, None], terms, 0)
        total = total + sign * terms.sum(axis=1)
        sums.append(total)
    return np.array(sums) + 0.0


def _count_common_ones(a: Any, b: Any) -> Any:
    """Return the number of ones in the AND of two bytes; NaN if one is unknown."""
    unknown = np.isnan(a) | np.isnan(b)
    common = np.nan_to_num(a).astype(np.uint8) & np.nan_to_num(b).astype(np.uint8)
    return np.where(unknown, np.nan, np.bitwise_count(common))


# the facts ------------------------------------------------------------------------------------------------------------


def _build_operand(
    operand: DescribedOperand,
    rows: slice,
    body: Mapping[str, Any],
    source: Any,
    arrived: Any,
    moves: list[WgmmaMove],
) -> WgmmaOperand:
    side = operand.side
    high = (rows.stop - rows.start) if side.letter == "b" else side.mn // WARPS
    views = [slice(first, first + high) for first in range(rows.start, rows.stop, high)]
    lines = [_list_lines(operand, view) for view in views]
    kept = [n for n in range(len(operand.cores)) if rows.start <= operand.get_corner(n)[0] < rows.stop]
    cores = operand.cores[kept]
    return WgmmaOperand(
        first=rows.start,
        rows=rows.stop - rows.start,
        k=side.k,
        k_step=side.step,
        element=(operand.full_operand or side).element.name,
        element_bytes=side.element.bits // 8,
        major="K" if side.major == "K" else "MN",
        swizzle=operand.stored[0].mode.name,
        stored=wgmma.describe_storage(side),
        numbers=body["numbers"][rows],
        at=operand.addresses[rows],
        before=operand.addresses_before_xor[rows],
        source=np.concatenate(list(source), axis=1)[rows],
        arrived=np.concatenate(list(arrived), axis=1)[rows],
        origin=operand.origin,
        lines=[[each.tolist() for each in view] for view in lines],
        chunks=[[np.stack(operand.list_chunks(each), axis=1).tolist() for each in view] for view in lines],
        cores=cores - rows.start * side.step,
        words=[_build_word(operand, step, cores) for step in range(operand.steps)],
        moves=moves,
        meets=body["meets"][rows],
    )


def _list_lines(operand: DescribedOperand, rows: slice) -> list[Any]:
    """Return the lines of every K step, each once."""
    found = [operand.list_lines(rows, step) for step in range(operand.steps)]
    return found[:1] if all(np.array_equal(found[0], each) for each in found) else found


def _build_word(operand: DescribedOperand, step: int, cores: Any) -> ReadWord:
    word = operand.words[step]
    verdict = operand.check_step(step)
    first = verdict.diagnoses[0] if verdict.diagnoses else None
    fix = None if first is None else first.fix
    return ReadWord(
        descriptor=str(word),
        fields=build_fields(word),
        swizzle=word.mode.name,
        unread=find_unread_fields(word.mode, operand.view),
        lines=operand.reads[step].ravel()[cores[:, :, 0]],
        cause="" if verdict.match else first.message if first else "It reads other bytes than those stored.",
        repair=str(fix) if fix else None,
        wrong_fields=sorted(list_changes(word, fix)) if fix else [],
    )


def _build_result(i: Instruction, columns: slice, sums: Any, expected: Any) -> WgmmaResult:
    op: Operand = i.operands["d"]
    inside = (op.coords["col"] >= columns.start) & (op.coords["col"] < columns.stop)
    mine = np.flatnonzero(inside[0])
    assert inside[:, mine].all() and not np.delete(inside, mine, axis=1).any()
    wide = columns.stop - columns.start
    return WgmmaResult(
        first=columns.start,
        columns=wide,
        all_columns=i.sizes["n"],
        element=op.element.name,
        element_bits=op.container_bits,
        register_bits=op.register_bits,
        values=len(mine),
        first_value=int(mine[0]),
        holds=op.coords["row"][:, mine] * wide + op.coords["col"][:, mine] - columns.start,
        sums=sums,
        expected=expected,
    )
