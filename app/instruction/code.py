"""The code of an instruction's page: PTX, CUDA, NumPy, CuTe, CUTLASS and Triton, each with a title."""

from __future__ import annotations

from lanescope.app.instruction import lanes
from lanescope.app.kit.fact import fact
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table import atoms
from lanescope.render import cuda, ptx, python, wmma_cpp

FROM = {"shared": " with A from shared memory", "tensor": " with A in tensor memory"}


@fact
class CodePart:
    """A piece of generated code. layout: whether it describes the maps instead of executing the instruction."""

    title: str
    text: str
    layout: bool = False


def build_code_parts(instruction: Instruction) -> list[CodePart]:
    """Build the generated code, each part with a title: PTX, CUDA, NumPy, CuTe and CUTLASS, Triton."""
    parts = [
        CodePart(title="PTX" + FROM.get(form, ""), text=ptx.render_syntax(instruction, form))
        for form in instruction.family.forms
    ]
    parts.append(CodePart(title="CUDA C++: wrapper, loads and stores", text=cuda.render_program(instruction)))
    if wmma_cpp.is_available(instruction):
        parts.append(CodePart(title="CUDA C++: nvcuda::wmma, one warp", text=wmma_cpp.render_kernel(instruction).text))
    operands = lanes.list_distinct_operands(instruction)
    parts += [
        CodePart(title=f"NumPy: pack and unpack {op.name.upper()}", text=python.render_snippet(op)) for op in operands
    ]
    atom = atoms.get_atom_name(instruction)
    lines = [f"{op.name.upper():5} {op.cute}" for op in operands]
    lines += [f"{'B':5} {op.transposed_cute}  as (n, k), CUTLASS's BLayout" for op in operands if op.name == "b"]
    layouts = "\n".join(lines)
    parts.append(
        CodePart(
            title="CuTe TV layouts" + (f", CUTLASS atom {atom}" if atom else ""),
            text=f"// (thread, value) -> {'row + rows * col'}, B as (k, n)\n{layouts}\n",
            layout=True,
        )
    )
    bases = [
        f"{op.name.upper()}\n"
        + "\n".join(f"  {key:9} {rows}" for key, rows in (op.pattern.linear_layout() or {}).items())
        for op in operands
        if op.pattern.linear_layout()
    ]
    if bases:
        parts.append(CodePart(title="Triton linear-layout bases", text="\n".join(bases) + "\n", layout=True))
    return parts
