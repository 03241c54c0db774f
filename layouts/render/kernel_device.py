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
from lanescope.render.template import Templates

NAME = "product"  # of the kernel
_PROGRAMS = Templates(__package__)


def parameters(plan: Plan) -> list[tuple[str, str]]:
    """(name, C type) of the kernel's pointers, in order: A, B, then C, E (metadata), SA and SB (scale factors) where
    there are any, D last.
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
    """The C type of a side's memory unit."""
    return memory_type(side.element, side.container_bits)


def device(plan: Plan, linkage: str = "") -> str:
    """Every function of the device and the kernel `product`; linkage: what stands before `__global__`."""
    i = plan.instruction
    parts, body = {Feed.DESCRIPTOR: _wgmma, Feed.MAP: _mma, Feed.LOADS: _wmma}[i.family.feed](plan)
    kernel = _PROGRAMS.fill(
        "device.cu",
        scope=i.family.scope.name,
        room=f"Dynamic shared memory: {plan.shared_bytes} bytes." if plan.shared_bytes else "",
        linkage=linkage,
        threads=i.threads,
        kernel=NAME,
        parameters=", ".join(f"{kind} {name}" for name, kind in parameters(plan)),
        body=body,
    )
    return "\n".join([*parts, kernel])


def _shared(plan: Plan) -> list[str]:
    """Shared memory and a pointer to each operand in it."""
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
    """One of the instructions that keep a wgmma in order, as a statement; wait_group waits for every group."""
    return f'asm volatile("{BY_NAME[name].syntax[spelling].replace(" N;", " 0;")}" ::: "memory");'


def _call(name: str, values: Sequence[int], arguments: Sequence[str]) -> str:
    template = f"<{', '.join(map(str, values))}>" if values else ""
    return f"{name}{template}({', '.join(arguments)});"


def _fills(sides: Sequence[Side]) -> list[str]:
    """Return the calls that store operands in shared memory."""
    return [f"fill_{side.letter}(tile_{side.letter}, {side.letter.upper()});" for side in sides]


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
    body = _PROGRAMS.lines(
        "device_wgmma.cu",
        shared=_shared(plan),
        fills=_fills(tiled),
        proxy_fence=ordered("fence.proxy.async", -1),
        d_type=cuda.register_type(d.element),
        d_registers=d.registers,
        zero="" if plan.accumulate else " = {}",
        load_d=f"load_d(d, C, {n});  // D begins as C" if plan.accumulate else "",
        load_a=_registers_a(plan),
        metadata=_metadata(plan),
        fence=ordered("wgmma.fence"),
        steps=_steps(plan),
        commit=ordered("wgmma.commit_group"),
        wait=ordered("wgmma.wait_group"),
        n=n,
    )
    return parts, body


def _registers_a(plan: Plan) -> list[str]:
    if plan.a_from == "shared":
        return []
    op = plan.instruction.operands["a"]
    if plan.steps == 1:
        return [f"unsigned a[{op.registers}];", f"load_a(a, A, {plan.a.k});"]
    step = op.col_count // plan.a.per_unit
    return _PROGRAMS.lines("device_wgmma_load_a.cu", steps=plan.steps, registers=op.registers, step=step, k=plan.a.k)


def _metadata(plan: Plan) -> list[str]:
    if not plan.instruction.operands["a"].sparsity:
        return []
    if plan.steps == 1:
        return ["const unsigned e = E[threadIdx.x];  // sparsity metadata"]
    return _PROGRAMS.lines("device_wgmma_metadata.cu", steps=plan.steps, threads=plan.instruction.threads)


def _steps(plan: Plan) -> list[str]:
    """The wgmma of every step of K."""
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
    return _PROGRAMS.lines("device_wgmma_steps.cu", steps=plan.steps, call=call)


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
    arguments = ["d", "a", "b", "c"]
    arguments += ["E[threadIdx.x]"] if ops["a"].sparsity else []
    arguments += [f"scale_word_{letter}(S{letter.upper()})" for letter in "ab" if i.scales]
    body = _PROGRAMS.lines(
        "device_mma.cu",
        shared=_shared(plan),
        fills=_fills(sides),
        registers=[f"{cuda.register_type(ops[name].element)} {name}[{ops[name].registers}];" for name in "abcd"],
        loads=[_load(side) for side in sides],
        call=_call(wrapper_name(i), list(plan.immediates.values()), arguments),
        n=n,
    )
    return parts, body


def _load(side: Rows) -> str:
    """Return the call that loads an operand's registers from shared memory."""
    tile = f"tile_{side.letter}"
    window = f"static_cast<unsigned>(__cvta_generic_to_shared({tile}))" if side.chain else tile
    return f"load_{side.letter}({side.letter}, {window});"


def _lines(side: Rows) -> str:
    """Where a byte of a line lies, and the fill."""
    mn = "MN"[side.letter == "b"]
    along, across = ("K", mn) if side.major == "K" else (mn, "K")
    return _PROGRAMS.fill(
        "device_mma_fill.cu",
        upper=side.letter.upper(),
        letter=side.letter,
        lines=side.lines,
        along=along,
        across=across,
        pitch=side.pitch_bytes,
        swizzled=f", swizzle {side.mode.name}" if side.mode.chunks > 1 else "",
        value=smem.xor(side.mode, "before"),
        kind=unit(side),
        units=side.units,
        line_units=side.line_units,
        unit_bytes=side.unit_bytes,
    )


def _elements(i: Instruction, side: Rows) -> str:
    """The registers of an operand from its lines, an element at a time."""
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
    """`scale_word_a`: the four scale factors a lane supplies. Every lane holds some for each byte-id and thread-id, so
    all are legal.
    """
    scale = i.scales[f"scale_{letter}"]
    formula = scale.pattern.forward_formula(("line", "block"), i.family.scope.words)
    return _PROGRAMS.fill(
        "device_mma_scale_word.cu",
        element=scale.element.name,
        line="row of A" if letter == "a" else "column of B",
        elements=i.sizes["k"] // scale.blocks,
        letter=letter,
        words=[
            f"const unsigned {word} = {cuda.cpp(text)};"
            for word, text in formula.items()
            if word not in ("line", "block")
        ],
        row=cuda.cpp(formula["line"]),
        block=cuda.cpp(formula["block"]),
        blocks=scale.blocks,
    )


# wmma -----------------------------------------------------------------------------------------------------------------


def accesses(plan: Plan) -> dict[str, Instruction]:
    """The wmma.load of a, b and c and the wmma.store of d that belong to a wmma.mma."""
    i = plan.instruction
    layouts = {side.letter: side.layout for side in (plan.a, plan.b) if isinstance(side, Matrix)} | dict.fromkeys(
        "cd", plan.d_layout
    )
    return {name: catalog.access(i, name, layout) for name, layout in layouts.items()}


def _wmma(plan: Plan) -> tuple[list[str], list[str]]:
    i, moves = plan.instruction, accesses(plan)
    sides = [side for side in (plan.a, plan.b) if isinstance(side, Matrix)]
    parts = [_copied(side) for side in sides] + [wrapper(move) for move in moves.values()] + [wrapper(i)]
    body = _PROGRAMS.lines(
        "device_wmma.cu",
        shared=_shared(plan),
        fills=_fills(sides),
        registers=[f"{cuda.register_type(op.element)} {name}[{op.registers}];" for name, op in i.operands.items()],
        loads=[f"{function_name(moves[one.letter])}({one.letter}, tile_{one.letter}, {one.ldm});" for one in sides],
        load_c=function_name(moves["c"]),
        multiply=function_name(i),
        store_d=function_name(moves["d"]),
        ldm=plan.d_ldm,
    )
    return parts, body


def _copied(side: Matrix) -> str:
    """Global lines without gaps → lines `ldm` elements apart."""
    apart = side.ldm // side.per_unit
    return _PROGRAMS.fill(
        "device_wmma_fill.cu",
        upper=side.letter.upper(),
        layout=side.layout,
        ldm=side.ldm,
        line="row" if side.layout == "row" else "column",
        letter=side.letter,
        kind=unit(side),
        units=side.units,
        at="i" if apart == side.line_units else f"i / {side.line_units} * {apart} + i % {side.line_units}",
    )
