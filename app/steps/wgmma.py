"""Everything one wgmma product does, step by step: memory, tiles, descriptors, the bytes each term is read from, D.

A factor is what its descriptor reads, not what the matrix holds: a wrong descriptor shows where it reads and what
that does to D.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from lanescope.app.hardware import numbers, own, product_inputs, whole
from lanescope.app.hardware.product_inputs import Inputs
from lanescope.app.hardware.reference import read_elements
from lanescope.app.kit.fact import Integers, Reals, Says, fact, sometimes
from lanescope.app.kit.names import Major, SwizzleMode, Word64
from lanescope.app.kit.ran import Backend, Device, MmaRan, Value
from lanescope.descriptor import matrix as desc
from lanescope.errors import LayoutError
from lanescope.product.plan import Described, Placed, Plan, Tiled
from lanescope.product.planning import SIDES, plan
from lanescope.ptx.instruction import Instruction


@fact
class Traced:
    """What every trace says of the run it takes apart."""

    ptx: str
    seed: int
    data: Annotated[dict[str, str], Says("Where a matrix comes from that is not random.")]
    backend: Backend
    simulation: bool
    device: Device
    agrees: bool


@fact
class Lines:
    """A matrix in global memory: lines of its contiguous dimension."""

    order: str
    element: str
    lines: Annotated[Any, Reals((2,))]


@fact
class SharedTile:
    """An operand in shared memory, from byte `base` to before byte `end`: address [mn][k], bytes from the kernel's
    first one.
    """

    major: Major
    how: Annotated[str, Says("How the operand is stored, in a few words.", ("swizzle 128B",))]
    base: int
    end: int
    address: Annotated[Any, Integers(2)]


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
    a: list[list[str]] | None = sometimes()
    c: list[str]
    d: list[str]


@fact
class ReadTerm:
    """One term of an element: its factors, where each is read, and what it adds."""

    k: int
    step: int
    a: Value
    a_at: Annotated[str, Says("The byte it is read from, or who holds it.")]
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
class WgmmaSteps(Traced):
    """Everything one product with a wgmma does."""

    options: dict[str, dict[str, str]]
    steps: int
    immediates: dict[str, int]
    memory: dict[str, Lines]
    shared: dict[str, SharedTile]
    descriptors: dict[str, list[StepDescriptor]]
    metadata: list[list[str]] | None
    registers: Registers
    element: ReadElement
    d: Annotated[Any, Reals((2,))]


def steps(i: Instruction, run: MmaRan, row: int, col: int) -> WgmmaSteps:
    """The steps of one run of kind mma with the options of a whole product, whose inputs are made again from its
    seed.
    """
    made = plan(i, *(getattr(run.request, side) or {} for side in SIDES))
    given = whole.inputs(made, run.request.seed, run.request.data)
    staged = whole.stage(made, given)
    d = np.asarray(run.measured, float)
    for name, at, count in (("row", row, d.shape[0]), ("col", col, d.shape[1])):
        if not 0 <= at < count:
            raise LayoutError("bad_element", f"{name} {at} is not in D.", f"D has {count}, from 0.", name)
    tiled = [side for side in (made.a, made.b) if isinstance(side, Described)]
    element = _element(made, given, staged, d, row, col)
    return WgmmaSteps(
        **traced(i, run),
        options=made.options,
        steps=made.steps,
        immediates=made.immediates,
        memory=_memory(made, given),
        shared={side.letter: _tile(side) for side in tiled},
        descriptors={side.letter: [_descriptor(side, step) for step in range(made.steps)] for side in tiled},
        metadata=[_hex(words) for words in given.metadata] if i.operands["a"].sparsity else None,
        registers=_registers(made, given, d, element.thread),
        element=element,
        d=d,
    )


def traced(i: Instruction, run: MmaRan) -> dict[str, Any]:
    """The fields of Traced."""
    same = {"backend": run.backend, "simulation": run.simulation, "device": run.device, "agrees": run.agrees}
    return {"ptx": i.ptx, "seed": run.request.seed, "data": own.told(run.request.data), **same}


def _memory(made: Plan, given: Inputs) -> dict[str, Lines]:
    """A, B and C as global memory holds them: lines of the contiguous dimension."""
    out = {}
    for side, matrix in ((made.a, given.stored_a[0]), (made.b, given.b[0].T)):  # both [mn, k]
        along = "K" if side.major == "K" else "MN"[side.letter == "b"]
        lines = matrix if side.major == "K" else matrix.T
        out[side.letter] = Lines(order=f"lines of {along}", element=side.element.name, lines=lines)
    if made.accumulate:
        out["c"] = Lines(order="lines of N", element=made.instruction.operands["d"].element.name, lines=given.c[0])
    return out


def _tile(side: Described) -> SharedTile:
    """Where each element of the product lies in shared memory: address [mn][k], bytes from its start."""
    mn, k = np.arange(side.mn)[:, None], np.arange(side.k)[None, :]
    address = np.asarray(side.address(mn, k))
    return SharedTile(major=side.major, how=how(side), base=side.base, end=side.end, address=address)


def how(side: Described) -> str:
    """How an operand is stored, in a few words."""
    return (
        f"swizzle {side.tile.mode.name}"
        if isinstance(side, Tiled)
        else side.where.text
        if isinstance(side, Placed)
        else ""
    )


def _descriptor(side: Described, step: int) -> StepDescriptor:
    word = side.descriptor(step)
    return StepDescriptor(
        step=step,
        descriptor=str(word),
        start_address=word.start_address,
        lbo_bytes=word.lbo_bytes,
        sbo_bytes=word.sbo_bytes,
        base_offset=word.base_offset,
        swizzle=word.mode.name,
        unused=sorted(desc.inert(word, side.view)),
    )


def _read(side: Described, step: int, image: Any) -> tuple[Any, Any]:
    """(byte address, value) of every element [mn, k] that a step's descriptor reads."""
    at = desc.reads(side.descriptor(step), side.view)
    bits = side.element.bits
    if bits == 1:
        held = image[at].astype(np.uint64) >> (np.arange(side.step) % 8).astype(np.uint64) & np.uint64(1)
    else:
        held = read_elements(image[None], at // (bits // 8), bits)[0]
    return at, numbers.decode(held, side.element.name)


def _element(made: Plan, given: Inputs, staged: whole.Staged, d: Any, row: int, col: int) -> ReadElement:
    """One element of D: its terms in order, where each factor is read, and the sum."""
    i, image = made.instruction, whole.image(made, staged)
    op, k = i.operands["a"], i.sizes["k"]
    bit = made.a.element.bits == 1 if isinstance(made.a, Described) else op.element.bits == 1
    sign = -1 if made.a.negated != made.b.negated else 1
    c = own.plain(given.c[0, row, col]) if made.accumulate else 0
    terms, total = [], float(c)
    for step in range(made.steps):
        column = _stored(made, given, step, row)
        a_at, a = (
            _read(made.a, step, image)
            if isinstance(made.a, Described)
            else (None, given.stored_a[0][:, step * op.col_count :])
        )
        assert isinstance(made.b, Described)
        b_at, b = _read(made.b, step, image)
        for n in range(k):
            stored = column.get(n, -1)
            left = float(a[row, stored]) if stored >= 0 else 0.0
            right = float(b[col, n])
            value = sign * (float(int(left) & int(right)) if bit else left * right) + 0.0  # no negative zero
            total += value
            where = (
                "not stored"
                if stored < 0
                else _owner(op, row, stored)
                if a_at is None
                else _place(a_at[row, stored], stored, bit)
            )
            b_place = _place(b_at[col, n], n, bit)
            terms.append(ReadTerm(k=step * k + n, step=step, a=left, a_at=where, b=right, b_at=b_place, product=value))
    thread, value_index = i.operands["d"].owner(row, col)[0]
    return ReadElement(
        row=row,
        col=col,
        terms=terms,
        c=c,
        sum=total,
        d=float(d[row, col]),
        d_at=f"T{thread}:d{value_index}",
        thread=thread,
        expected=float(whole.expected(made, given)[0, row, col]),
    )


def _owner(op: Any, row: int, stored: int) -> str:
    thread, value = op.owner(row, stored)[0]
    return f"T{thread}:a{value}"


def _place(address: Any, k: int, bit: bool) -> str:
    """A byte of shared memory, and the bit in it where eight elements share one."""
    return str(int(address)) + (f".{k % 8}" if bit else "")


def _stored(made: Plan, given: Inputs, step: int, row: int) -> dict[int, int]:
    """Dense column of a step → stored column, of one row of A."""
    op = made.instruction.operands["a"]
    if op.sparsity is None:
        return {n: n for n in range(op.col_count)}
    dense = op.sparsity.dense_columns(op.coords["col"], given.metadata[step].tolist(), made.selector)
    mine = op.rows == row
    return dict(zip(dense[mine].tolist(), op.coords["col"][mine].tolist(), strict=True))


def _registers(made: Plan, given: Inputs, d: Any, thread: int) -> Registers:
    """One thread's registers: A of every step where it comes from registers, D before and after."""
    i = made.instruction
    d_op, a = i.operands["d"], i.operands["a"]
    parts = (given.stored_a[:, :, step * a.col_count : (step + 1) * a.col_count] for step in range(made.steps))
    start = given.c if made.accumulate else 0 * given.c
    return Registers(
        thread=thread,
        a=[_hex(product_inputs.pack(a, part)[thread]) for part in parts] if made.a_from == "registers" else None,
        c=_hex(product_inputs.pack(d_op, start)[thread]),
        d=_hex(product_inputs.pack(d_op, d[None])[thread]),
    )


def _hex(words: Any) -> list[str]:
    return [f"0x{int(word):08X}" for word in words]
