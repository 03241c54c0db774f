"""CUDA kernels for hardware runs, generated from the catalogue's rows: registers in, one instruction, registers out. No
user code.

A launch is a grid of blocks of one warp or warpgroup, each executing the instruction once. Blocks along x differ in A's
side (A, metadata, A's scales, an overlay of shared memory), blocks along y in B's side (B, C, B's scales, the image of
shared memory).
"""

from __future__ import annotations

from collections.abc import Mapping

from lanescope.ptx.dtypes import REGISTERS
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.slots import OperandSlot, list_slots
from lanescope.ptx.table.descriptors import START
from lanescope.render.cuda import get_function_name, render_wrapper
from lanescope.render.template import Templates
from lanescope.shared.banks import ACCESSES

_PROGRAMS = Templates(__package__)
ALONG_X = ("a", "e", "scale_a_data")


def list_operand_parameters(instruction: Instruction, a_from: str = "registers") -> tuple[str, ...]:
    """List the names of a product kernel's operand parameters, in order: arrays [x or y][thread][register], descriptors
    as words.
    """
    items = sorted(list_slots(instruction, a_from), key=lambda s: not s.written)
    names = [slot.name for slot in items if slot.kind not in ("immediate", "predicate")]
    if "c" in names:  # D only goes out
        names.remove("d")
    elif instruction.family.in_place:  # C comes in through D's registers
        names[names.index("d")] = "c"
    return tuple(names)


def render_product(
    instruction: Instruction, name: str, a_from: str = "registers", immediates: Mapping[str, str] | None = None
) -> str:
    """Render a kernel around an mma, wmma.mma or wgmma: out and how many of D's registers to keep, then `operands`.

    wgmma: `image` is copied to shared memory as it is, `overlay` over it from word `overlay_at`; descriptor starts are
    counted from the image when `relative` is 1, absolute when 0; `base` receives the image's shared-window address.
    """
    warpgroup = instruction.family.by_descriptor
    parameters, registers, arguments, out = [], [], [], ""
    for slot in sorted(list_slots(instruction, a_from), key=lambda s: not s.written):
        if slot.kind == "immediate":
            continue
        if slot.kind == "predicate":
            arguments.append("1")
        elif slot.type == "b64":
            parameters.append(f"unsigned long long {slot.name}")
            arguments.append(f"{slot.name} + (relative ? (window & 0x{START.mask:X}) >> 4 : 0)")
        elif slot.written:
            kind, count = REGISTERS[slot.type].cpp, slot.registers
            parameters = [f"{kind}* out", "int keep", *parameters]
            arguments.append(slot.name)
            registers.append(_load_array(slot, kind, "y", "c") if warpgroup else f"{kind} {slot.name}[{count}];")
            if warpgroup:
                parameters.append(f"const {kind}* g_c")
            at = "((x * gridDim.y + y) * blockDim.x + threadIdx.x) * keep"
            out = f"for (int r = 0; r < {count}; ++r) if (r < keep) out[{at} + r] = {slot.name}[r];"
        else:
            kind = REGISTERS[slot.type].cpp
            parameters.append(f"const {kind}* g_{slot.name}")
            registers.append(_load_array(slot, kind, "x" if slot.name in ALONG_X else "y", slot.name))
            arguments.append(slot.name)
    text = _PROGRAMS.fill(
        "product_wgmma.cu" if warpgroup else "product.cu",
        name=name,
        parameters=", ".join(parameters),
        registers=registers,
        call=f"{get_function_name(instruction)}{'_shared_a' if a_from == 'shared' else ''}({', '.join(arguments)});",
        out=out,
    )
    return render_wrapper(instruction, a_from, immediates) + text


def render_kernel(name: str, parameters: list[str], lines: list[str]) -> str:
    body = "\n".join("  " + line for line in lines)
    return f'extern "C" __global__ void {name}({", ".join(parameters)}) {{\n{body}\n}}\n'


def _load_array(slot: OperandSlot, kind: str, axis: str, source: str) -> str:
    at = f"({axis} * blockDim.x + threadIdx.x) * {slot.registers}ul"
    if slot.kind == "vector":
        return (
            f"{kind} {slot.name}[{slot.registers}]; for (int r = 0; r < {slot.registers}; ++r) {slot.name}[r] ="
            f" g_{source}[{at} + r];"
        )
    return f"{kind} {slot.name} = g_{source}[{at}];"


MOVE_WORDS = 512  # ldmatrix reads and stmatrix writes at most 32 rows of 16 bytes


def render_movement(instruction: Instruction, name: str) -> str:
    """Render ldmatrix: memory image and lane offsets in, registers out; stmatrix the other way; movmatrix registers to
    registers.
    """
    family = instruction.family
    file = "movmatrix.cu" if family.moves else "ldmatrix.cu" if family.loads else "stmatrix.cu"
    count = 1 if family.moves else instruction.operands["data"].registers
    text = _PROGRAMS.fill(file, name=name, function=get_function_name(instruction), words=MOVE_WORDS, count=count)
    return render_wrapper(instruction) + text


def render_matrix_access(instruction: Instruction, name: str) -> str:
    """Render wmma.load: images of a matrix in global memory in, registers out; wmma.store: registers in, images out."""
    (op,) = instruction.operands.values()
    text = _PROGRAMS.fill(
        "wmma_load.cu" if instruction.family.loads else "wmma_store.cu",
        name=name,
        kind=REGISTERS[op.element.register_type].cpp,
        count=op.registers,
        function=get_function_name(instruction),
    )
    return render_wrapper(instruction) + text


def render_chain(code: str, name: str, function: str, registers: int, store: bool, base: int) -> str:
    """Render a kernel around a generated load or store of one operand: images of shared memory in and registers out, or
    the other way.
    """
    file = "chained_store.cu" if store else "chained_load.cu"
    return code + _PROGRAMS.fill(file, name=name, function=function, registers=registers, base=base)


UNROLL, WARPS = 16, 16
REPEAT, WARM_UP = 32, 4  # turns of the timed loop, and those before the clock starts


def count_accesses() -> int:
    """Return how often a launch of the timed loop executes its access."""
    return (REPEAT + WARM_UP) * UNROLL * WARPS


def render_timing_loop(kind: str, name: str) -> str:
    """Render a timed loop of one shared-memory access, every warp with the same lane offsets; out: (first clock, last
    clock) a warp.

    `zero` is 0, which the compiler cannot know: identical accesses would otherwise be merged into one.
    """
    row = ACCESSES[kind]
    count, opcode = row.registers, row.ptx
    registers = "{" + ", ".join(f"%{n}" for n in range(count)) + "}" if count > 1 or row.matrices else "%0"
    direction = "" if row.stores else "="
    bindings = ", ".join(f'"{direction}r"(r[u][{n}])' for n in range(count))
    address = '"r"(at + zero * (turn * 16 + u))'
    if row.stores:
        line = f'asm volatile("{opcode} [%{count}], {registers};" :: {bindings}, {address} : "memory");'
    else:
        line = f'asm volatile("{opcode} {registers}, [%{count}];" : {bindings} : {address} : "memory");'
    each = " ^ ".join(f"r[u][{n}]" for n in range(count))  # ptxas narrows a load whose registers are not all used
    use = "" if row.stores else f"for (int u = 0; u < {UNROLL}; ++u) sum ^= {each};"
    return _PROGRAMS.fill("access.cu", name=name, unroll=UNROLL, warm_up=WARM_UP, count=count, access=line, use=use)
