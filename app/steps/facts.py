"""The steps of one mma: memory, the addresses that lanes give ldmatrix, registers, product terms, D."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from lanescope.app.hardware import product_inputs, user_matrices
from lanescope.app.kit.fact import Description, IntegerArray, Json, RealArray, fact
from lanescope.app.kit.run_results import MmaRan, Value
from lanescope.app.steps import wgmma as wgmma_steps
from lanescope.app.steps.fragments import format_owner, map_stored_columns
from lanescope.app.steps.wgmma import TracedRun, WgmmaSteps, trace_fields
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value as brief
from lanescope.product.move_plan import moves_rows
from lanescope.product.planning import SIDES, is_plannable
from lanescope.ptx import fragment_words
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.shared import chain


@fact
class PlainMatrix:
    """A matrix as stored in memory."""

    order: str
    element: str
    lines: Annotated[Any, RealArray((3,), "[product][line][element].")]
    pitch_bytes: int


@fact
class Load:
    """The ldmatrix that loads an operand, and the byte offset that each lane gives."""

    ptx: str
    turns: int
    pitch_bytes: int
    lane_offsets: Annotated[Any, IntegerArray(2, "[turn][lane], −1 where the lane's address is not used.")]
    offset: str
    steps: Annotated[Any, IntegerArray(2, "[turn]: lines and bytes from the first turn's place.")]


@fact
class ProductTerm:
    """One term of an element: its factors, their holders, and its contribution."""

    k: int
    a: Value
    b: Value
    scale: float
    product: Value
    a_at: str
    b_at: str


@fact
class Element:
    """One element of D: its terms, the holder of each factor, and the sum."""

    row: int
    col: int
    product: int
    terms: list[ProductTerm]
    c: Value
    c_at: str
    sum: Value
    d: Value
    d_at: str


@fact
class Steps(TracedRun):
    """The steps of one warp's mma."""

    memory: dict[str, PlainMatrix]
    loads: dict[str, Load | None]
    registers: Annotated[dict[str, list[list[str]]], Description("[lane][register], hex.")]
    values: Annotated[
        dict[str, Annotated[Any, RealArray((2,))]], Description("What the registers hold: [lane][value].")
    ]
    metadata: list[str] | None
    element: Element
    d: Annotated[Any, RealArray((2, 3))]


def require_steps(i: Instruction) -> None:
    """Raise LayoutError if an instruction has no steps."""
    if not is_plannable(i):
        hint = "Choose an mma, wmma.mma or wgmma."
        if moves_rows(i):
            hint = f"/steps/{i.ptx}, POST /stepper/matrices and lanescope matrix-steps show its steps."
        raise LayoutError("no_steps", f"{i.ptx} has no steps to show.", hint, "instruction")


_STORAGE = re.compile(r"\s*[a-z_]+\s*=(?!=)")  # name=value, as in major=MN,swizzle=64B; no formula looks like this


def parse_inputs(i: Instruction, body: Mapping[str, Any]) -> tuple[Json, Json]:
    """Return (storage options of a wgmma's operands, the user's matrices) from the texts a, b, c, d, data_a and data_b.

    A warp's mma takes matrices in a, b and c. For a wgmma, name=value in a and b is storage, and anything else a
    matrix.
    """
    data = {
        name.removeprefix("data_"): text
        for name, text in body.items()
        if name in ("data_a", "data_b", "c") and text != ""
    }
    options: Json = dict.fromkeys(SIDES, "") if i.family.by_descriptor else {}
    for name in SIDES:
        text = body.get(name, "")
        stored = isinstance(text, str) and _STORAGE.match(text)
        if text == "" or (options and (stored or name == "d")):
            options |= {name: text} if options else {}
        elif name == "d" or stored:
            raise LayoutError(
                "bad_usage",
                f"{name} = '{brief(text)}' is for wgmma.",
                "A warp's mma is stepped through from plain rows.",
                name,
            )
        elif name in data:
            raise LayoutError(
                "bad_usage",
                f"{name} and data_{name} both give a matrix.",
                f"Pass one; {name} describes its storage.",
                name,
            )
        else:
            data[name] = text
    return options, data


def trace_steps(i: Instruction, run: MmaRan, row: int, col: int, product: int = 0) -> Steps | WgmmaSteps:
    """Return the steps of a run of kind mma; its inputs are generated again from the seed. For a wgmma, the steps of
    its whole product.
    """
    require_steps(i)
    if i.family.by_descriptor:
        return wgmma_steps.trace_steps(i, run, row, col)
    inputs = product_inputs.make_random_inputs(i, run.request.seed, data=run.request.data)
    ops = i.operands
    several = len(inputs.a) > 1
    measured = np.asarray(run.measured, float)
    d = measured if several else measured[None]
    wgmma_steps.require_inside({"product": (product, d.shape[0]), "row": (row, d.shape[1]), "col": (col, d.shape[2])})
    operands = {"a": ops["a"], "b": ops["b"], "c": ops.get("c", ops["d"]), "d": ops["d"]}
    matrices = {"a": inputs.stored_a, "b": inputs.b, "c": inputs.c}
    packed = {name: product_inputs.pack_values(operands[name], values) for name, values in matrices.items()}
    out_bits = fragment_words.encode_values(d, ops["d"].element.name)
    packed["d"] = fragment_words.pack(ops["d"], np.moveaxis(out_bits, 0, -1) if several else out_bits[0])
    return Steps(
        **trace_fields(i, run),
        memory={name: _build_matrix(operands[name], values) for name, values in matrices.items()},
        loads={name: find_ldmatrix(ops[name]) for name in "ab"},
        registers={
            name: [[_format_register(word, op) for word in lane] for lane in packed[name]]
            for name, op in operands.items()
        },
        values={
            name: fragment_words.decode_bits(fragment_words.unpack_values(op, packed[name]), op.element.name)
            for name, op in operands.items()
        },
        metadata=[f"0x{int(word):08X}" for word in inputs.metadata[0]] if ops["a"].sparsity else None,
        element=_build_element(i, inputs, d, row, col, product),
        d=d if several else d[0],
    )


def _format_register(word: int, op: Operand) -> str:
    """Return a register in hex with the digits of its width."""
    return f"0x{int(word):0{op.register_bits // 4}X}"


def _build_matrix(op: Operand, values: Any) -> PlainMatrix:
    """Return the matrix as stored: A and C row-major, B column-major, so that K is contiguous."""
    by_column = op.name == "b"
    lines = np.swapaxes(values, 1, 2) if by_column else values
    return PlainMatrix(
        order="column by column" if by_column else "row by row",
        element=op.element.name,
        lines=lines,
        pitch_bytes=max(1, lines.shape[2] * op.container_bits // 8),
    )


def find_ldmatrix(op: Operand) -> Load | None:
    """Return the ldmatrix that loads an operand from K-major memory without padding: its text, and each lane's line
    and byte; None if there is none.
    """
    try:
        found = chain.list_best_chains(op, "K")
    except LayoutError:
        return None
    best = next((c for c in found if c.load.instruction.types["data"] != "b8"), None)
    if best is None:
        return None
    pitch = op.dense_col_count * op.container_bits // 8 if op.name == "a" else op.row_count * op.container_bits // 8
    if op.sparsity:
        pitch = op.col_count * op.container_bits // 8
    places = best.lane_places[0]
    offsets = np.where(places[..., 0] >= 0, places[..., 0] * pitch + places[..., 1], -1)
    return Load(
        ptx=best.load.instruction.ptx,
        turns=best.count,
        pitch_bytes=pitch,
        lane_offsets=offsets,
        offset=_format_offset(chain.make_lane_formula(best), pitch),
        steps=chain.compute_turn_steps(best),
    )


def _format_offset(formula: dict[str, str], pitch: int) -> str:
    """Return the byte offset from the matrix's start as a C expression of the lane."""
    along = "" if formula["byte"] == "0" else f" + {formula['byte']}"
    return f"({formula['line']}) * {pitch}{along}"


def _build_element(
    i: Instruction, inputs: product_inputs.ProductInputs, d: Any, row: int, col: int, product: int
) -> Element:
    """Return one element of D: its terms, the holder of each factor, and the sum."""
    ops = i.operands
    a_row, b_col = inputs.a[product, row], inputs.b[product, :, col]
    third = (product,) if len(ops["d"].axes) == 3 else ()
    scale = {
        name: fragment_words.decode_bits(codes.astype(np.uint64), i.types["s"]) for name, codes in inputs.scales.items()
    }
    stored = map_stored_columns(ops["a"], inputs.metadata[0], row) if ops["a"].sparsity else None
    terms, total = [], float(inputs.c[product, row, col])
    for k in range(i.sizes["k"]):
        factor = 1.0
        for name, values in scale.items():
            factor *= float(values[row if name == "scale_a" else col, k * values.shape[1] // i.sizes["k"]])
        a, b = user_matrices.drop_point(a_row[k]), user_matrices.drop_point(b_col[k])
        value = a * b * factor
        if i.types["a"] == "b1":
            value = float(int(a) ^ int(b) if "xor" in i.modifiers else int(a) & int(b))
        total += value
        column = k if stored is None else stored.get(k, -1)
        terms.append(
            ProductTerm(
                k=k,
                a=a,
                b=b,
                scale=factor,
                product=value,
                a_at=format_owner("a", ops["a"], row, column, *third) if column >= 0 else "not stored",
                b_at=format_owner("b", ops["b"], k, col, *third),
            )
        )
    return Element(
        row=row,
        col=col,
        product=product,
        terms=terms,
        c=user_matrices.drop_point(inputs.c[product, row, col]),
        c_at=format_owner("c", ops.get("c", ops["d"]), row, col, *third),
        sum=total,
        d=float(d[product, row, col]),
        d_at=format_owner("d", ops["d"], row, col, *third),
    )
