"""CUDA C++ with nvcuda::wmma: a one-warp kernel for a wmma.mma, and parts of it for the page of one function."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.ptx import wmma
from lanescope.ptx.instruction import Instruction, OperandFeed
from lanescope.ptx.table.wmma_api import BIT_OPERATIONS

HEAD = "#include <mma.h>\nusing namespace nvcuda;\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class WmmaKernel:
    """The lines of a kernel by purpose; `text` is the complete source."""

    name: str
    parameters: str
    declare: str
    fill: str
    load: str
    round: str
    multiply: str
    elementwise: str
    store: str

    @property
    def text(self) -> str:
        body = "".join((self.declare, self.fill, self.load, self.round, self.multiply, self.elementwise, self.store))
        return (
            f"{HEAD}\n// One warp, D = 2·A·B: the factor 2 represents any element-wise epilogue.\n__global__ void"
            f" {self.name}({self.parameters}) {{\n{body}}}\n"
        )


def is_available(instruction: Instruction) -> bool:
    """Return whether nvcuda::wmma offers this wmma.mma: all but the f64 forms with an explicit rounding mode."""
    return (
        instruction.family.multiplies
        and instruction.family.feed is OperandFeed.LOADS
        and not {"rn", "rz", "rm", "rp"} & set(instruction.modifiers)
    )


def render_kernel(instruction: Instruction) -> WmmaKernel:
    """Return a kernel in the C++ API that compiles to exactly this wmma.mma."""
    ops = instruction.operands
    layouts = dict(zip("ab", instruction.syntax.layouts, strict=True))
    strides = {name: wmma.get_default_stride(ops[name], layout) for name, layout in layouts.items()}
    types = {
        name: wmma.format_cpp_fragment(instruction, op, layouts.get(name, "")).removeprefix("nvcuda::")
        for name, op in ops.items()
    }
    types = {name: qualify_fragment(text) for name, text in types.items()}
    names = "abcd" if instruction.types["c"] != instruction.types["d"] else "abc"
    out = "d" if "d" in names else "c"
    memory = {name: _get_memory_type(instruction, name) for name in ("a", "b", out)}
    rounding = ""
    if ops["a"].element.unread_bits:
        rounding = "".join(
            f"  for (int i = 0; i < {x}.num_elements; ++i) {x}.x[i] = wmma::__float_to_tf32({x}.x[i]);\n" for x in "ab"
        )
    return WmmaKernel(
        name="tile_product",
        parameters=f"const {memory['a']}* A, const {memory['b']}* B, {memory[out]}* D",
        declare="".join(f"  {types[name]} {name};\n" for name in names),
        fill=f"  wmma::fill_fragment(c, {_get_zero(instruction)});\n",
        load="".join(f"  wmma::load_matrix_sync({name}, {name.upper()}, {strides[name]});\n" for name in "ab"),
        round=rounding,
        multiply=f"  wmma::{_render_mma_call(instruction, out)};\n",
        elementwise=(
            f"  for (int i = 0; i < {out}.num_elements; ++i) {out}.x[i] = {_render_scaled(instruction, out)};\n"
        ),
        store=f"  wmma::store_matrix_sync(D, {out}, {ops['d'].col_count}, wmma::mem_row_major);\n",
    )


def qualify_fragment(cpp: str) -> str:
    """Return a fragment type whose arguments are qualified with the namespace."""
    for word in ("matrix_a", "matrix_b", "accumulator", "row_major", "col_major", "precision::", "experimental::"):
        if f"<{word}" in cpp or f" {word}" in cpp:
            cpp = cpp.replace(f"<{word}", f"<wmma::{word}").replace(f" {word}", f" wmma::{word}")
    return cpp


def _get_memory_type(instruction: Instruction, name: str) -> str:
    """Return the type that load_matrix_sync's pointer points to: void for packed elements, float for tf32."""
    op = instruction.operands[name]
    if op.element.bits < 8:
        return "void"
    return op.element.cpp


def _get_zero(instruction: Instruction) -> str:
    return {"f16": "__float2half(0.0f)", "f32": "0.0f", "f64": "0.0", "s32": "0"}[instruction.types["c"]]


def _render_scaled(instruction: Instruction, out: str) -> str:
    twice = {"f16": "__float2half(2.0f)", "f32": "2.0f", "f64": "2.0", "s32": "2"}[instruction.types["d"]]
    return f"{out}.x[i] * {twice}"


def _render_mma_call(instruction: Instruction, out: str) -> str:
    operation = next((op for op in BIT_OPERATIONS if op.ptx in instruction.modifiers), None)
    if operation:
        return (
            f"bmma_sync({out}, a, b, c, wmma::experimental::{operation.cpp}, wmma::experimental::bmmaAccumulateOpPOPC)"
        )
    return f"mma_sync({out}, a, b, c{', true' if 'satfinite' in instruction.modifiers else ''})"
