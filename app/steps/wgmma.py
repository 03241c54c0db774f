"""The steps of a wgmma product: memory, tiles, descriptors, the bytes from which each term is read, D.

A factor is the value that its descriptor reads, not that of the matrix: a wrong descriptor shows where it reads, and
the effect on D.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from lanescope.app.hardware import product_inputs, user_matrices, whole_product
from lanescope.app.hardware.product_inputs import ProductInputs
from lanescope.app.kit.enumerations import Word64
from lanescope.app.kit.fact import Description, IntegerArray, RealArray, copy_fact, fact, make_optional_field
from lanescope.app.kit.memory_words import Major, SwizzleMode
from lanescope.app.kit.run_results import Backend, Device, MmaRan, Value
from lanescope.app.steps.fragments import format_owner, map_stored_columns
from lanescope.descriptor import matrix as desc
from lanescope.errors import LayoutError, join_errors
from lanescope.product.plan import DescribedSide, PlacedSide, ProductPlan, TiledSide
from lanescope.product.planning import SIDES, make_plan
from lanescope.ptx import fragment_words
from lanescope.ptx.element_bytes import read_codes
from lanescope.ptx.instruction import Instruction


@fact
class TracedRun:
    """The first facts of every trace: the run that it explains."""

    ptx: str
    seed: int
    data: Annotated[dict[str, str], Description("Where a matrix comes from that is not random.")]
    backend: Backend
    simulation: bool
    device: Device
    agrees: bool


@fact
class Lines:
    """A matrix in global memory: lines along its contiguous dimension."""

    order: str
    element: str
    lines: Annotated[Any, RealArray((2,))]


@fact
class SharedTile:
    """An operand in shared memory, from byte `base` up to `end`: address [mn][k], relative to the kernel's first
    byte.
    """

    major: Major
    how: Annotated[str, Description("How the operand is stored, in a few words.", ("swizzle 128B",))]
    base: int
    end: int
    address: Annotated[Any, IntegerArray(2)]


@fact
class StepDescriptor:
    """The descriptor of one step of K, field by field."""

    step: int
    descriptor: Word64
    start_address: int
    lbo_bytes: int
    sbo_bytes: int
    base_offset: int
    swizzle: SwizzleMode
    unused: list[str]


@fact
class Registers:
    """One thread's registers, hex: A of every step where it comes from registers, D before and after."""

    thread: int
    a: list[list[str]] | None = make_optional_field()
    c: list[str]
    d: list[str]


@fact
class ReadTerm:
    """One term of an element: its factors, where each is read, and its contribution."""

    k: int
    step: int
    a: Value
    a_at: Annotated[str, Description("The byte it is read from, or who holds it.")]
    b: Value
    b_at: str
    product: Value


@fact
class ReadElement:
    """One element of D: its terms, where each factor is read, and the sum."""

    row: int
    col: int
    terms: list[ReadTerm]
    c: Value
    sum: Value
    d: Value
    d_at: str
    thread: int
    expected: Value


@fact
class WgmmaSteps(TracedRun):
    """The steps of one wgmma product."""

    options: dict[str, dict[str, str]]
    steps: int
    immediates: dict[str, int]
    memory: dict[str, Lines]
    shared: dict[str, SharedTile]
    descriptors: dict[str, list[StepDescriptor]]
    metadata: list[list[str]] | None
    registers: Registers
    element: ReadElement
    d: Annotated[Any, RealArray((2,))]


def require_inside(element: Mapping[str, tuple[int, int]]) -> None:
    """Raise LayoutError for each coordinate of an element that is not in D. element: (coordinate, extent) by name."""
    wrong = (
        LayoutError("bad_element", f"{name} {at} is not in D.", f"D has {count}, from 0.", name)
        for name, (at, count) in element.items()
        if not 0 <= at < count
    )
    if refused := join_errors(wrong):
        raise refused


def trace_steps(i: Instruction, run: MmaRan, row: int, col: int) -> WgmmaSteps:
    """Return the steps of a run of kind mma with the options of a whole product; its inputs are generated again from
    the seed.
    """
    plan = make_plan(i, *(getattr(run.request, side) or {} for side in SIDES))
    inputs = whole_product.build_inputs(plan, run.request.seed, run.request.data)
    staged = whole_product.stage_inputs(plan, inputs)
    d = np.asarray(run.measured, float)
    require_inside({"row": (row, d.shape[0]), "col": (col, d.shape[1])})
    tiled = [side for side in (plan.a, plan.b) if isinstance(side, DescribedSide)]
    element = _build_element(plan, inputs, staged, d, row, col)
    return WgmmaSteps(
        **trace_fields(i, run),
        options=plan.options,
        steps=plan.steps,
        immediates=plan.immediates,
        memory=_build_memory(plan, inputs),
        shared={side.letter: _build_tile(side) for side in tiled},
        descriptors={side.letter: [_build_descriptor(side, step) for step in range(plan.steps)] for side in tiled},
        metadata=[_format_words(words) for words in inputs.metadata] if i.operands["a"].sparsity else None,
        registers=_build_registers(plan, inputs, d, element.thread),
        element=element,
        d=d,
    )


def trace_fields(i: Instruction, run: MmaRan) -> dict[str, Any]:
    """Return the fields of TracedRun."""
    same = {"backend": run.backend, "simulation": run.simulation, "device": run.device, "agrees": run.agrees}
    return {"ptx": i.ptx, "seed": run.request.seed, "data": user_matrices.describe_matrices(run.request.data), **same}


def _build_memory(plan: ProductPlan, inputs: ProductInputs) -> dict[str, Lines]:
    """Return A, B and C as stored in global memory: lines along the contiguous dimension."""
    out = {}
    for side, matrix in ((plan.a, inputs.stored_a[0]), (plan.b, inputs.b[0].T)):  # both [mn, k]
        along = "K" if side.major == "K" else "MN"[side.letter == "b"]
        lines = matrix if side.major == "K" else matrix.T
        out[side.letter] = Lines(order=f"lines of {along}", element=side.element.name, lines=lines)
    if plan.accumulate:
        out["c"] = Lines(order="lines of N", element=plan.instruction.operands["d"].element.name, lines=inputs.c[0])
    return out


def _build_tile(side: DescribedSide) -> SharedTile:
    """Return where each element of the product is in shared memory: address [mn][k], relative to its start."""
    mn, k = np.arange(side.mn)[:, None], np.arange(side.k)[None, :]
    address = np.asarray(side.address(mn, k))
    return SharedTile(major=side.major, how=describe_storage(side), base=side.base, end=side.end, address=address)


def describe_storage(side: DescribedSide) -> str:
    """Return how an operand is stored, in a few words."""
    return (
        f"swizzle {side.tile.mode.name}"
        if isinstance(side, TiledSide)
        else side.where.text
        if isinstance(side, PlacedSide)
        else ""
    )


def _build_descriptor(side: DescribedSide, step: int) -> StepDescriptor:
    word = side.get_descriptor(step)
    return copy_fact(
        StepDescriptor,
        word,
        step=step,
        descriptor=str(word),
        swizzle=word.mode.name,
        unused=sorted(desc.find_unread_fields(word.mode, side.view)),
    )


def read_operand(side: DescribedSide, step: int, image: Any) -> tuple[Any, Any]:
    """Return (byte address, value) of every element [mn, k] that a step's descriptor reads."""
    at = desc.reads(side.get_descriptor(step), side.view)
    return at, fragment_words.decode_bits(read_codes(image, at, side.element.bits), side.element.name)


def _build_element(
    plan: ProductPlan, inputs: ProductInputs, staged: whole_product.StagedProduct, d: Any, row: int, col: int
) -> ReadElement:
    """Return one element of D: its terms in order, where each factor is read, and the sum."""
    i, image = plan.instruction, whole_product.build_shared_image(plan, staged)
    op, k = i.operands["a"], i.sizes["k"]
    bit = plan.a.element.bits == 1 if isinstance(plan.a, DescribedSide) else op.element.bits == 1
    sign = -1 if plan.a.negated != plan.b.negated else 1
    c = user_matrices.drop_point(inputs.c[0, row, col]) if plan.accumulate else 0
    terms, total = [], float(c)
    for step in range(plan.steps):
        column = map_stored_columns(op, inputs.metadata[step] if op.sparsity else None, row, plan.selector)
        a_at, a = (
            read_operand(plan.a, step, image)
            if isinstance(plan.a, DescribedSide)
            else (None, inputs.stored_a[0][:, step * op.col_count :])
        )
        assert isinstance(plan.b, DescribedSide)
        b_at, b = read_operand(plan.b, step, image)
        for n in range(k):
            stored = column.get(n, -1)
            left = float(a[row, stored]) if stored >= 0 else 0.0
            right = float(b[col, n])
            value = sign * (float(int(left) & int(right)) if bit else left * right) + 0.0  # no negative zero
            total += value
            where = (
                "not stored"
                if stored < 0
                else format_owner("a", op, row, stored)
                if a_at is None
                else _format_byte(a_at[row, stored], stored, bit)
            )
            b_place = _format_byte(b_at[col, n], n, bit)
            terms.append(ReadTerm(k=step * k + n, step=step, a=left, a_at=where, b=right, b_at=b_place, product=value))
    return ReadElement(
        row=row,
        col=col,
        terms=terms,
        c=c,
        sum=total,
        d=float(d[row, col]),
        d_at=format_owner("d", i.operands["d"], row, col),
        thread=i.operands["d"].owner(row, col)[0][0],
        expected=float(whole_product.compute_expected(plan, inputs)[0, row, col]),
    )


def _format_byte(address: Any, k: int, bit: bool) -> str:
    """Return a byte of shared memory, with the bit if eight elements share it."""
    return str(int(address)) + (f".{k % 8}" if bit else "")


def _build_registers(plan: ProductPlan, inputs: ProductInputs, d: Any, thread: int) -> Registers:
    """Return one thread's registers: A of every step if it comes from registers, D before and after."""
    i = plan.instruction
    d_op, a = i.operands["d"], i.operands["a"]
    parts = (inputs.stored_a[:, :, step * a.col_count : (step + 1) * a.col_count] for step in range(plan.steps))
    start = inputs.c if plan.accumulate else 0 * inputs.c
    return Registers(
        thread=thread,
        a=[_format_words(product_inputs.pack_values(a, part)[thread]) for part in parts]
        if plan.a_from == "registers"
        else None,
        c=_format_words(product_inputs.pack_values(d_op, start)[thread]),
        d=_format_words(product_inputs.pack_values(d_op, d[None])[thread]),
    )


def _format_words(words: Any) -> list[str]:
    return [f"0x{int(word):08X}" for word in words]
