"""CUDA for hardware runs, generated from the catalogue's rows: registers in, one instruction, registers out. No user code."""

from __future__ import annotations

from layouts.instruction import WARPGROUP, Instruction
from layouts.render.cuda import function_name, wrapper
from layouts.render.ptx import Slot, slots

_C = {"b32": "unsigned", "s32": "int", "f32": "float", "f64": "double", "b64": "unsigned long long", "u32": "unsigned"}


def mma(instruction: Instruction, name: str, a_from: str = "registers") -> str:
    """A kernel that takes every register operand from memory, [thread][register], and writes D's the same way.

    wgmma: `smem` is the image of shared memory, copied as it is; descriptors come as arguments, their start counted from the image
    (the first kilobyte of the shared window is the system's on sm_90).
    """
    items = slots(instruction, a_from)
    parameters, before, arguments = [], [], []
    for slot in sorted(items, key=lambda s: not s.written):
        if slot.kind == "immediate":
            continue
        if slot.kind == "predicate":
            arguments.append("1")
        elif slot.type == "b64":
            parameters.append(f"unsigned long long {slot.name}")
            arguments.append(f"{slot.name} + (((unsigned)__cvta_generic_to_shared(shared) & 0x3FFFF) >> 4)")
        else:
            kind = _C[slot.type]
            parameters.append(f"{'' if slot.written else 'const '}{kind}* g_{slot.name}")
            before.append(_load(slot, kind, instruction))
            arguments.append(slot.name)
    called = function_name(instruction) + ("_shared_a" if a_from == "shared" else "")
    out = next(slot for slot in items if slot.written)
    store = f"for (int r = 0; r < {out.registers}; ++r) g_{out.name}[threadIdx.x * {out.registers} + r] = {out.name}[r];"
    body = ["  " + line for line in before]
    if instruction.threads == WARPGROUP:
        parameters += ["const unsigned* smem_image", "unsigned smem_words"]
        body += [
            "  extern __shared__ __align__(1024) unsigned shared[];",
            "  for (unsigned i = threadIdx.x; i < smem_words; i += blockDim.x) shared[i] = smem_image[i];",
            '  asm volatile("fence.proxy.async.shared::cta;\\n" ::: "memory");',
            "  __syncthreads();",
            '  asm volatile("wgmma.fence.sync.aligned;\\n" ::: "memory");',
            f"  {called}({', '.join(arguments)});",
            '  asm volatile("wgmma.commit_group.sync.aligned;\\n" ::: "memory");',
            '  asm volatile("wgmma.wait_group.sync.aligned 0;\\n" ::: "memory");',
        ]
    else:
        body.append(f"  {called}({', '.join(arguments)});")
    body.append("  " + store)
    return f'{wrapper(instruction, a_from)}extern "C" __global__ void {name}({", ".join(parameters)}) {{\n' + "\n".join(body) + "\n}\n"


def _load(slot: Slot, kind: str, instruction: Instruction) -> str:
    if slot.written and instruction.threads != WARPGROUP:
        return f"{kind} {slot.name}[{slot.registers}];"
    if slot.kind == "vector":
        return f"{kind} {slot.name}[{slot.registers}]; for (int r = 0; r < {slot.registers}; ++r) {slot.name}[r] = g_{slot.name}[threadIdx.x * {slot.registers} + r];"
    return f"{kind} {slot.name} = g_{slot.name}[threadIdx.x];"


def movement(instruction: Instruction, name: str) -> str:
    """ldmatrix: memory image and lane offsets in, registers out; stmatrix the other way; movmatrix registers to registers."""
    family = instruction.family.name
    head = wrapper(instruction)
    called = function_name(instruction)
    if family == "movmatrix":
        return (
            head
            + f'extern "C" __global__ void {name}(const unsigned* in, unsigned* out) {{ unsigned d; {called}(d, in[threadIdx.x]); out[threadIdx.x] = d; }}\n'
        )
    count = instruction.operands["data"].registers
    lines = [
        "__shared__ __align__(128) unsigned shared[512];",
        "const unsigned base = (unsigned)__cvta_generic_to_shared(shared);",
        f"unsigned r[{count}];",
    ]
    if family == "ldmatrix":
        lines += [
            "for (unsigned i = threadIdx.x; i < 512; i += 32) shared[i] = image[i];",
            "__syncwarp();",
            f"{called}(r, base + offset[threadIdx.x]);",
            f"for (int n = 0; n < {count}; ++n) out[threadIdx.x * {count} + n] = r[n];",
        ]
    else:
        lines += [
            "for (unsigned i = threadIdx.x; i < 512; i += 32) shared[i] = 0xFFFFFFFFu;",
            f"for (int n = 0; n < {count}; ++n) r[n] = image[threadIdx.x * {count} + n];",
            "__syncwarp();",
            f"{called}(base + offset[threadIdx.x], r);",
            "__syncwarp();",
            "for (unsigned i = threadIdx.x; i < 512; i += 32) out[i] = shared[i];",
        ]
    return (
        head
        + f'extern "C" __global__ void {name}(const unsigned* image, const unsigned* offset, unsigned* out) {{\n  '
        + "\n  ".join(lines)
        + "\n}\n"
    )
