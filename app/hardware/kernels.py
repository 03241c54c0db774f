"""CUDA for hardware runs, generated from the catalogue's rows: registers in, one instruction, registers out. No user
code.

A launch is a grid of blocks of one warp or warpgroup, each executing the instruction once. Blocks along x differ in A's
side (A, metadata, A's scales, an overlay of shared memory), blocks along y in B's side (B, C, B's scales, the image of
shared memory).
"""

from __future__ import annotations

from collections.abc import Mapping

from lanescope.descriptor.matrix import START
from lanescope.ptx.dtypes import REGISTERS
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.slots import Slot, slots
from lanescope.render.cuda import function_name, wrapper
from lanescope.shared.banks import ACCESSES

ALONG_X = ("a", "e", "scale_a_data")


def operands(instruction: Instruction, a_from: str = "registers") -> tuple[str, ...]:
    """The names of a product kernel's operand parameters, in order: arrays [x or y][thread][register], descriptors as
    words.
    """
    items = sorted(slots(instruction, a_from), key=lambda s: not s.written)
    names = [slot.name for slot in items if slot.kind not in ("immediate", "predicate")]
    if "c" in names:  # D only goes out
        names.remove("d")
    elif instruction.family.in_place:  # C comes in through D's registers
        names[names.index("d")] = "c"
    return tuple(names)


def product(
    instruction: Instruction, name: str, a_from: str = "registers", immediates: Mapping[str, str] | None = None
) -> str:
    """A kernel around an mma, wmma.mma or wgmma: out and how many of D's registers to keep, then `operands`.

    wgmma: `image` is copied to shared memory as it is, `overlay` over it from word `overlay_at`; descriptor starts are
    counted from the image when `relative` is 1, absolute when 0; `base` receives the image's shared-window address.
    """
    items = sorted(slots(instruction, a_from), key=lambda s: not s.written)
    warpgroup = instruction.family.by_descriptor
    parameters, before, arguments, out = [], [], [], ""
    for slot in items:
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
            before.append(_array(slot, kind, "y", "c") if warpgroup else f"{kind} {slot.name}[{count}];")
            if warpgroup:
                parameters.append(f"const {kind}* g_c")
            at = "((x * gridDim.y + y) * blockDim.x + threadIdx.x) * keep"
            out = f"for (int r = 0; r < {count}; ++r) if (r < keep) out[{at} + r] = {slot.name}[r];"
        else:
            kind = REGISTERS[slot.type].cpp
            parameters.append(f"const {kind}* g_{slot.name}")
            before.append(_array(slot, kind, "x" if slot.name in ALONG_X else "y", slot.name))
            arguments.append(slot.name)
    body = ["const unsigned long long x = blockIdx.x, y = blockIdx.y;", *before]
    called = f"{function_name(instruction)}{'_shared_a' if a_from == 'shared' else ''}({', '.join(arguments)});"
    if warpgroup:
        parameters += [
            "const unsigned* image, unsigned words",
            "const unsigned* overlay, unsigned overlay_words, unsigned overlay_at",
        ]
        parameters += ["int relative, unsigned* base"]
        body += [
            "extern __shared__ __align__(1024) unsigned shared[];",
            "const unsigned window = (unsigned)__cvta_generic_to_shared(shared);",
            "if (threadIdx.x == 0) *base = window;",
            "for (unsigned i = threadIdx.x; i < words; i += blockDim.x) shared[i] = image[y * words + i];",
            "__syncthreads();",
            (
                "for (unsigned i = threadIdx.x; i < overlay_words; i += blockDim.x) shared[overlay_at + i] = overlay[x"
                " * overlay_words + i];"
            ),
            'asm volatile("fence.proxy.async.shared::cta;\\n" ::: "memory");',
            "__syncthreads();",
            'asm volatile("wgmma.fence.sync.aligned;\\n" ::: "memory");',
            called,
            'asm volatile("wgmma.commit_group.sync.aligned;\\n" ::: "memory");',
            'asm volatile("wgmma.wait_group.sync.aligned 0;\\n" ::: "memory");',
        ]
    else:
        body.append(called)
    return wrapper(instruction, a_from, immediates) + kernel(name, parameters, [*body, out])


def kernel(name: str, parameters: list[str], lines: list[str]) -> str:
    body = "\n".join("  " + line for line in lines)
    return f'extern "C" __global__ void {name}({", ".join(parameters)}) {{\n{body}\n}}\n'


def _array(slot: Slot, kind: str, axis: str, source: str) -> str:
    at = f"({axis} * blockDim.x + threadIdx.x) * {slot.registers}ul"
    if slot.kind == "vector":
        return (
            f"{kind} {slot.name}[{slot.registers}]; for (int r = 0; r < {slot.registers}; ++r) {slot.name}[r] ="
            f" g_{source}[{at} + r];"
        )
    return f"{kind} {slot.name} = g_{source}[{at}];"


MOVE_WORDS = 512  # ldmatrix reads and stmatrix writes at most 32 rows of 16 bytes


def movement(instruction: Instruction, name: str) -> str:
    """ldmatrix: memory image and lane offsets in, registers out; stmatrix the other way; movmatrix registers to
    registers.
    """
    head, called = wrapper(instruction), function_name(instruction)
    if instruction.family.moves:
        lines = [f"unsigned d; {called}(d, in[threadIdx.x]);", "out[threadIdx.x] = d;"]
        return head + kernel(name, ["unsigned* out", "const unsigned* in"], lines)
    count = instruction.operands["data"].registers
    lines = [
        f"__shared__ __align__(128) unsigned shared[{MOVE_WORDS}];",
        "const unsigned base = (unsigned)__cvta_generic_to_shared(shared);",
        f"unsigned r[{count}];",
    ]
    if instruction.family.loads:
        lines += [
            f"for (unsigned i = threadIdx.x; i < {MOVE_WORDS}; i += 32) shared[i] = in[blockIdx.x * {MOVE_WORDS} + i];",
            "__syncwarp();",
            f"{called}(r, base + offset[threadIdx.x]);",
            f"for (int n = 0; n < {count}; ++n) out[(blockIdx.x * 32 + threadIdx.x) * {count} + n] = r[n];",
        ]
    else:
        lines += [
            f"for (unsigned i = threadIdx.x; i < {MOVE_WORDS}; i += 32) shared[i] = 0;",
            f"for (int n = 0; n < {count}; ++n) r[n] = in[(blockIdx.x * 32 + threadIdx.x) * {count} + n];",
            "__syncwarp();",
            f"{called}(base + offset[threadIdx.x], r);",
            "__syncwarp();",
            (
                f"for (unsigned i = threadIdx.x; i < {MOVE_WORDS}; i += 32) out[blockIdx.x * {MOVE_WORDS} + i] ="
                " shared[i];"
            ),
        ]
    return head + kernel(name, ["unsigned* out", "const unsigned* in", "const unsigned* offset"], lines)


def matrix_access(instruction: Instruction, name: str) -> str:
    """wmma.load: images of a matrix in global memory in, registers out; wmma.store: registers in, images out."""
    (op,) = instruction.operands.values()
    kind, count = REGISTERS[op.element.register_type].cpp, op.registers
    head, called = wrapper(instruction), function_name(instruction)
    at = f"(blockIdx.x * 32 + threadIdx.x) * {count}ul"
    if instruction.family.loads:
        lines = [
            f"{kind} r[{count}];",
            f"{called}(r, in + blockIdx.x * bytes, stride);",
            f"for (int n = 0; n < {count}; ++n) out[{at} + n] = r[n];",
        ]
        return head + kernel(
            name, [f"{kind}* out", "const unsigned char* in", "unsigned long long bytes", "unsigned stride"], lines
        )
    lines = [
        f"{kind} r[{count}];",
        f"for (int n = 0; n < {count}; ++n) r[n] = in[{at} + n];",
        f"{called}(out + blockIdx.x * bytes, r, stride);",
    ]
    return head + kernel(
        name, ["unsigned char* out", f"const {kind}* in", "unsigned long long bytes", "unsigned stride"], lines
    )


def chained(code: str, name: str, function: str, registers: int, store: bool, base: int) -> str:
    """A kernel around a generated load or store of one operand: images of shared memory in and registers out, or the
    other way.
    """
    at = f"(blockIdx.x * blockDim.x + threadIdx.x) * {registers}"
    call = f"{function}(r, (unsigned)__cvta_generic_to_shared(shared) + {base}u);"
    fill = "for (unsigned i = threadIdx.x; i < words; i += blockDim.x) shared[i] = "
    lines = ["extern __shared__ __align__(1024) unsigned shared[];", f"unsigned r[{registers}];"]
    if store:
        lines += [
            f"for (int n = 0; n < {registers}; ++n) r[n] = in[{at} + n];",
            f"{fill}0xFFFFFFFFu;",
            "__syncthreads();",
            call,
            "__syncthreads();",
        ]
        lines += ["for (unsigned i = threadIdx.x; i < words; i += blockDim.x) out[blockIdx.x * words + i] = shared[i];"]
    else:
        lines += [
            f"{fill}in[blockIdx.x * words + i];",
            "__syncthreads();",
            call,
            f"for (int n = 0; n < {registers}; ++n) out[{at} + n] = r[n];",
        ]
    return code + kernel(name, ["unsigned* out", "const unsigned* in", "unsigned words"], lines)


UNROLL, WARPS = 16, 16


def access(kind: str, name: str) -> str:
    """A timed loop of one shared-memory access, every warp with the same lane offsets; out: (first clock, last clock) a
    warp.

    `zero` is 0, which the compiler cannot know: identical accesses would otherwise be merged into one.
    """
    row = ACCESSES[kind]
    count, loads, opcode = row.registers, not row.stores, row.ptx
    registers = "{" + ", ".join(f"%{n}" for n in range(count)) + "}" if count > 1 or row.matrices else "%0"
    if loads:
        outputs = ", ".join(f'"=r"(r[u][{n}])' for n in range(count))
        line = (
            f'asm volatile("{opcode} {registers}, [%{count}];" : {outputs} : "r"(at + zero * (turn * 16 + u)) :'
            ' "memory");'
        )
    else:
        inputs = ", ".join(f'"r"(r[u][{n}])' for n in range(count))
        line = (
            f'asm volatile("{opcode} [%{count}], {registers};" :: {inputs}, "r"(at + zero * (turn * 16 + u)) :'
            ' "memory");'
        )
    lines = [
        "extern __shared__ __align__(1024) unsigned shared[];",
        "const unsigned at = (unsigned)__cvta_generic_to_shared(shared) + offset[threadIdx.x % 32];",
        f"unsigned r[{UNROLL}][{count}], sum = 0;",
        f"for (int u = 0; u < {UNROLL}; ++u) for (int n = 0; n < {count}; ++n) r[u][n] = threadIdx.x;",
        "long long first = 0;",
        "for (int turn = -4; turn < repeat; ++turn) {",
        "  if (turn == 0) { __syncthreads(); first = clock64(); }",
        "#pragma unroll",
        f"  for (int u = 0; u < {UNROLL}; ++u) {line}",
        "#pragma unroll",
        f"  for (int u = 0; u < {UNROLL}; ++u) sum ^= r[u][{count - 1}];" if loads else "",
        "}",
        "const long long last = clock64();",
        "if (threadIdx.x % 32 == 0) { out[threadIdx.x / 32 * 2] = first; out[threadIdx.x / 32 * 2 + 1] = last; }",
        "if (sum == 0x12345678 && repeat < 0) out[0] = sum;",
    ]
    return kernel(
        name,
        ["long long* out", "const unsigned* offset", "int repeat", "unsigned zero"],
        [line for line in lines if line],
    )
