"""The device half of a whole program: staging, the instruction between its fences, the epilogue. CUDA C++ without any
header, so NVRTC takes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.product.plan import Described, Matrix, Placed, Plan, Rows, Side, Tiled
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Feed, Instruction
from lanescope.ptx.table.wgmma_order import BY_NAME
from lanescope.render import chain as chain_code
from lanescope.render import cuda, placed, smem
from lanescope.render.cuda import function_name, memory_type, wrapper, wrapper_name

NAME = "product"  # of the kernel


def parameters(plan: Plan) -> list[tuple[str, str]]:
    """Return (name, C type) of the kernel's pointers, in order.

    A, B, then C, E (metadata), SA and SB (scale factors) where there are any, D last.
    """
    i = plan.instruction
    out = [(side.letter.upper(), f"const {unit(side)}*") for side in (plan.a, plan.b)]
    c = i.operands.get("c", i.operands["d"])
    out += [("C", f"const {memory_type(c.element, c.container_bits)}*")] if plan.accumulate else []
    out += [("E", "const unsigned*")] if i.operands["a"].sparsity else []
    out += [(f"S{letter}", "const unsigned char*") for letter in "AB" if i.scales]
    d = i.operands["d"]
    return [*out, ("D", f"{memory_type(d.element, d.container_bits)}*")]


def unit(side: Side) -> str:
    """Return the C type of a side's memory unit."""
    return memory_type(side.element, side.container_bits)


def device(plan: Plan, linkage: str = "") -> str:
    """Return all device functions and the kernel `product`; linkage: what precedes `__global__`."""
    i = plan.instruction
    parts, body = {Feed.DESCRIPTOR: _wgmma, Feed.MAP: _mma, Feed.LOADS: _wmma}[i.family.feed](plan)
    names = ", ".join(f"{kind} {name}" for name, kind in parameters(plan))
    where = f"Dynamic shared memory: {plan.shared_bytes} bytes." if plan.shared_bytes else ""
    who = f"One {i.family.scope.name}."
    kernel = (
        f"// {who} {where}\n{linkage}__global__ void __launch_bounds__({i.threads}) {NAME}({names}) {{\n"
        + "".join(f"  {line}\n" if line else "\n" for line in body)
        + "}\n"
    )
    return "\n".join([*parts, kernel])


def _shared(plan: Plan) -> list[str]:
    """Return code that declares shared memory and a pointer to each operand in it."""
    out = ["extern __shared__ __align__(1024) unsigned char shared[];"]
    for side in (plan.a, plan.b):
        if isinstance(side, Described | Rows | Matrix):
            base = 0 if isinstance(side, Placed) else side.base
            kind = "unsigned char" if isinstance(side, Rows | Placed) else unit(side)
            at = f"shared + {base}" if base else "shared"
            at = at if kind == "unsigned char" else f"reinterpret_cast<{kind}*>({at})"
            out.append(f"{kind}* const tile_{side.letter} = {at};")
    return out


def ordered(name: str, spelling: int = 0) -> str:
    """Return one of the instructions that keep a wgmma in order, as a statement; wait_group waits for every group."""
    return f'asm volatile("{BY_NAME[name].syntax[spelling].replace(" N;", " 0;")}" ::: "memory");'


def _call(name: str, values: Sequence[int], arguments: Sequence[str]) -> str:
    template = f"<{', '.join(map(str, values))}>" if values else ""
    return f"{name}{template}({', '.join(arguments)});"


# wgmma ----------------------------------------------------------------------------------------------------------------


def _wgmma(plan: Plan) -> tuple[list[str], list[str]]:
    i, tiled = plan.instruction, [side for side in (plan.a, plan.b) if isinstance(side, Described)]
    d, n = i.operands["d"], i.sizes["n"]
    parts = []
    for side in tiled:
        if isinstance(side, Tiled):
            parts.append(smem.fill(side.tile, side.letter, side.mn, side.first, fenced=False))
            parts.append(smem.describe(side.tile, side.letter, side.step, side.word, side.first))
        elif isinstance(side, Placed):
            parts += [placed.fill(side), placed.describe(side, plan.steps)]
    parts.append(wrapper(i, plan.a_from))
    parts += [cuda.load(i, i.operands["a"])] if plan.a_from == "registers" else []
    parts += [cuda.load(i, d)] if plan.accumulate else []
    parts.append(cuda.store(i, d))
    body = _shared(plan)
    body += [f"fill_{side.letter}(tile_{side.letter}, {side.letter.upper()});" for side in tiled]
    body += [
        ordered("fence.proxy.async", -1) + "  // the stores above, before wgmma reads them through the async proxy",
        "__syncthreads();",
        "",
        f"{cuda.register_type(d.element)} d[{d.registers}]{'' if plan.accumulate else ' = {}'};",
    ]
    body += [f"load_d(d, C, {n});  // D begins as C"] if plan.accumulate else []
    body += _registers_a(plan) + _metadata(plan)
    body.append(ordered("wgmma.fence") + "  // the registers above, before wgmma uses them")
    body += _steps(plan)
    body += [
        ordered("wgmma.commit_group"),
        ordered("wgmma.wait_group") + "  // now D may be read, and the tiles be overwritten",
        "",
        f"store_d(d, D, {n});",
    ]
    return parts, body


def _registers_a(plan: Plan) -> list[str]:
    if plan.a_from == "shared":
        return []
    op = plan.instruction.operands["a"]
    if plan.steps == 1:
        return [f"unsigned a[{op.registers}];", f"load_a(a, A, {plan.a.k});"]
    step = op.col_count // plan.a.per_unit
    return [
        f"unsigned a[{plan.steps}][{op.registers}];  // every step's registers are loaded before the first wgmma",
        "#pragma unroll",
        f"for (unsigned step = 0; step < {plan.steps}; ++step) load_a(a[step], A + step * {step}, {plan.a.k});",
    ]


def _metadata(plan: Plan) -> list[str]:
    if not plan.instruction.operands["a"].sparsity:
        return []
    if plan.steps == 1:
        return ["const unsigned e = E[threadIdx.x];  // sparsity metadata"]
    load = (
        f"for (unsigned step = 0; step < {plan.steps}; ++step) e[step] = E[step * {plan.instruction.threads} +"
        " threadIdx.x];"
    )
    return [f"unsigned e[{plan.steps}];  // sparsity metadata of every step", "#pragma unroll", load]


def _steps(plan: Plan) -> list[str]:
    """Return code for the wgmma of every step of K."""
    i, several = plan.instruction, plan.steps > 1
    arguments = ["d"]
    for side in (plan.a, plan.b):
        if isinstance(side, Placed):
            arguments.append(f"{side.letter}_descriptor(tile_{side.letter}, {'step' if several else '0'})")
        elif isinstance(side, Tiled):
            at = f"step * {side.step // (8 if side.tile.element_bits < 8 else 1)}" if several else "0"
            arguments.append(f"{side.letter}_descriptor(tile_{side.letter}, {side.first}, {at})")
        else:
            arguments.append("a[step]" if several else "a")
    arguments += [] if not i.operands["a"].sparsity else ["e[step]" if several else "e"]
    arguments.append("1" if plan.accumulate else "step > 0" if several else "0")
    call = _call(wrapper_name(i, plan.a_from), list(plan.immediates.values()), arguments)
    if not several:
        return [call]
    return ["#pragma unroll", f"for (unsigned step = 0; step < {plan.steps}; ++step)", f"  {call}"]


# mma.sync -------------------------------------------------------------------------------------------------------------


def _mma(plan: Plan) -> tuple[list[str], list[str]]:
    i = plan.instruction
    ops, n = i.operands, i.sizes["n"]
    sides = [side for side in (plan.a, plan.b) if isinstance(side, Rows)]
    loads = {side.chain.load.instruction.ptx: side.chain.load.instruction for side in sides if side.chain}
    parts = [wrapper(load) for load in loads.values()]
    for side in sides:
        parts.append(_lines(side))
        parts.append(chain_code.loop(side.chain) if side.chain else _elements(i, side))
    parts += [scale_word(i, letter) for letter in "ab" if i.scales]
    parts += [wrapper(i), cuda.load(i, ops["c"]), cuda.store(i, ops["d"])]
    body = _shared(plan)
    body += [f"fill_{side.letter}(tile_{side.letter}, {side.letter.upper()});" for side in sides]
    body += ["__syncthreads();", ""]
    body += [f"{cuda.register_type(ops[name].element)} {name}[{ops[name].registers}];" for name in "abcd"]
    for side in sides:
        if side.chain:
            window = f"static_cast<unsigned>(__cvta_generic_to_shared(tile_{side.letter}))"
            body.append(f"load_{side.letter}({side.letter}, {window});")
        else:
            body.append(f"load_{side.letter}({side.letter}, tile_{side.letter});")
    body.append(f"load_c(c, C, {n});")
    arguments = ["d", "a", "b", "c"]
    if ops["a"].sparsity:
        arguments.append("E[threadIdx.x]")
    arguments += [f"scale_word_{letter}(S{letter.upper()})" for letter in "ab" if i.scales]
    body += [_call(wrapper_name(i), list(plan.immediates.values()), arguments), f"store_d(d, D, {n});"]
    return parts, body


def _lines(side: Rows) -> str:
    """Return code for where a byte of a line lies, and for the fill."""
    kind, letter = unit(side), side.letter
    lines_of, along = ("K", "MN"[letter == "b"]) if side.major == "K" else ("MN"[letter == "b"], "K")
    value = smem.xor(side.mode, "before")
    swizzled = f", swizzle {side.mode.name}" if side.mode.chunks > 1 else ""
    to = (
        f"reinterpret_cast<{kind}*>(tile + {letter}_offset(i / {side.line_units}, i % {side.line_units} *"
        f" {side.unit_bytes}))"
    )
    return (
        f"// {letter.upper()} in shared memory: {side.lines} lines along {lines_of}, one for each {along},"
        f" {side.pitch_bytes} bytes apart{swizzled}.\n"
        f"__device__ inline unsigned {letter}_offset(unsigned line, unsigned byte) {{\n  const"
        f" unsigned before = line * {side.pitch_bytes} + byte;\n  return {value};\n}}\n__device__ inline void"
        f" fill_{letter}(unsigned char* tile, const {kind}* global) {{\n  for (unsigned i = threadIdx.x; i <"
        f" {side.units}; i += blockDim.x)\n    *{to} = global[i];\n}}\n"
    )


def _elements(i: Instruction, side: Rows) -> str:
    """Return code that fills an operand's registers from its lines, an element at a time."""
    op = i.operands[side.letter]
    k_is_col = side.letter == "a"
    mn, k = ("row", "col") if k_is_col else ("col", "row")
    line, along = (mn, k) if side.major == "K" else (k, mn)
    if side.products > 1:
        line = f"product * {side.lines // side.products} + {line}"
    kind, per = unit(side), side.per_unit
    byte = f"{along} * {side.unit_bytes}" if per == 1 else f"{along} / {per}"
    read = f"*reinterpret_cast<const {kind}*>(tile + {side.letter}_offset({line}, {byte}))"
    return cuda.gather(i, op, "const unsigned char* tile", read, f"{along} % {per}")


def scale_word(i: Instruction, letter: str) -> str:
    """Return `scale_word_a`: the four scale factors a lane supplies.

    Every lane holds some for each byte-id and thread-id, so all are legal.
    """
    scale = i.scales[f"scale_{letter}"]
    formula = scale.pattern.forward_formula(("line", "block"), i.family.scope.words)
    words = "".join(
        f"  const unsigned {word} = {cuda.cpp(text)};\n"
        for word, text in formula.items()
        if word not in ("line", "block")
    )
    what = "row of A" if letter == "a" else "column of B"
    return (
        f"// One {scale.element.name} factor for each {what} and {i.sizes['k'] // scale.blocks} of K.\n"
        f"__device__ inline unsigned scale_word_{letter}(const unsigned char* scales) {{\n"
        f"  const unsigned lane = threadIdx.x % 32;\n{words}  unsigned word = 0;\n"
        "#pragma unroll\n  for (unsigned i = 0; i < 4; ++i) {\n"
        f"    const unsigned line = {cuda.cpp(formula['line'])}, block = {cuda.cpp(formula['block'])};\n"
        f"    word |= (unsigned)scales[line * {scale.blocks} + block] << (8 * i);\n  }}\n  return word;\n}}\n"
    )


# wmma -----------------------------------------------------------------------------------------------------------------


def accesses(plan: Plan) -> dict[str, Instruction]:
    """Return the wmma.load of a, b and c and the wmma.store of d that belong to a wmma.mma."""
    i = plan.instruction
    layouts = {side.letter: side.layout for side in (plan.a, plan.b) if isinstance(side, Matrix)} | dict.fromkeys(
        "cd", plan.d_layout
    )
    return {name: catalog.access(i, name, layout) for name, layout in layouts.items()}


def _wmma(plan: Plan) -> tuple[list[str], list[str]]:
    i, moves = plan.instruction, accesses(plan)
    sides = [side for side in (plan.a, plan.b) if isinstance(side, Matrix)]
    parts = [_copied(side) for side in sides] + [wrapper(move) for move in moves.values()] + [wrapper(i)]
    body = _shared(plan)
    body += [f"fill_{side.letter}(tile_{side.letter}, {side.letter.upper()});" for side in sides]
    body += ["__syncthreads();", ""]
    body += [f"{cuda.register_type(op.element)} {name}[{op.registers}];" for name, op in i.operands.items()]
    body += [f"{function_name(moves[side.letter])}({side.letter}, tile_{side.letter}, {side.ldm});" for side in sides]
    body += [
        f"{function_name(moves['c'])}(c, C, {plan.d_ldm});",
        f"{function_name(i)}(d, a, b, c);",
        f"{function_name(moves['d'])}(D, d, {plan.d_ldm});",
    ]
    return parts, body


def _copied(side: Matrix) -> str:
    """Return code that copies contiguous global lines to lines `ldm` elements apart."""
    kind, letter = unit(side), side.letter
    apart = side.ldm // side.per_unit
    at = "i" if apart == side.line_units else f"i / {side.line_units} * {apart} + i % {side.line_units}"
    return (
        f"// {letter.upper()} in shared memory: .{side.layout}, {side.ldm} elements from a"
        f" {'row' if side.layout == 'row' else 'column'} to the next.\n__device__ inline void fill_{letter}({kind}*"
        f" tile, const {kind}* global) {{\n  for (unsigned i = threadIdx.x; i < {side.units}; i += blockDim.x)"
        f" tile[{at}] = global[i];\n}}\n"
    )
