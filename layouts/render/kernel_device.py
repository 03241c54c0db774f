"""The device half of a generated program: staging, the instruction between its fences, the epilogue.

The code includes no header, so NVRTC accepts it.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.product.plan import DescribedSide, PlacedSide, ProductPlan, ProductSide, RowsSide, TiledSide, WmmaSide
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, OperandFeed
from lanescope.ptx.table.wgmma_order import BY_NAME
from lanescope.render import chain as chain_code, cuda, smem, storage_code
from lanescope.render.cuda import get_function_name, get_memory_type, get_wrapper_name, render_wrapper
from lanescope.render.template import Templates

NAME = "product"  # of the kernel
_PROGRAMS = Templates(__package__)


def list_parameters(plan: ProductPlan) -> list[tuple[str, str]]:
    """Return (name, C type) of the kernel's pointers in order: A, B, C, E (metadata), SA and SB (scale factors), D.

    C to SB are there only if the instruction has them.
    """
    i = plan.instruction
    out = [(side.letter.upper(), f"const {get_unit_type(side)}*") for side in (plan.a, plan.b)]
    c = i.operands.get("c", i.operands["d"])
    out += [("C", f"const {get_memory_type(c.element, c.container_bits)}*")] if plan.accumulate else []
    out += [("E", "const unsigned*")] if i.operands["a"].sparsity else []
    out += [(f"S{letter}", "const unsigned char*") for letter in "AB" if i.scales]
    d = i.operands["d"]
    return [*out, ("D", f"{get_memory_type(d.element, d.container_bits)}*")]


def get_unit_type(side: ProductSide) -> str:
    """Return the C type of a side's memory unit."""
    return get_memory_type(side.element, side.container_bits)


def render_device(plan: ProductPlan, linkage: str = "") -> str:
    """Return all device functions and the kernel `product`.

    linkage: the text before `__global__`.
    """
    i = plan.instruction
    parts, body = {
        OperandFeed.DESCRIPTOR: _render_wgmma,
        OperandFeed.MAP: _render_mma,
        OperandFeed.LOADS: _render_wmma,
    }[i.family.feed](plan)
    kernel = _PROGRAMS.fill(
        "device.cu",
        scope=i.family.scope.name,
        room=f"Dynamic shared memory: {plan.shared_bytes} bytes." if plan.shared_bytes else "",
        linkage=linkage,
        threads=i.threads,
        kernel=NAME,
        parameters=", ".join(f"{kind} {name}" for name, kind in list_parameters(plan)),
        body=body,
    )
    return "\n".join([*parts, kernel])


def _render_shared(plan: ProductPlan) -> list[str]:
    """Return the declarations of shared memory and of a pointer to each operand in it."""
    out = ["extern __shared__ __align__(1024) unsigned char shared[];"]
    for side in (plan.a, plan.b):
        if isinstance(side, DescribedSide | RowsSide | WmmaSide):
            base = 0 if isinstance(side, PlacedSide) else side.base
            kind = "unsigned char" if isinstance(side, RowsSide | PlacedSide) else get_unit_type(side)
            at = f"shared + {base}" if base else "shared"
            at = at if kind == "unsigned char" else f"reinterpret_cast<{kind}*>({at})"
            out.append(f"{kind}* const tile_{side.letter} = {at};")
    return out


def render_ordering(name: str, spelling: int = 0) -> str:
    """Return one wgmma ordering instruction (fence, commit_group, wait_group 0) as a statement."""
    return f'asm volatile("{BY_NAME[name].syntax[spelling].replace(" N;", " 0;")}" ::: "memory");'


def _render_call(name: str, values: Sequence[int], arguments: Sequence[str]) -> str:
    template = f"<{', '.join(map(str, values))}>" if values else ""
    return f"{name}{template}({', '.join(arguments)});"


def _fills(sides: Sequence[ProductSide]) -> list[str]:
    """Return the calls that store operands in shared memory."""
    return [f"fill_{side.letter}(tile_{side.letter}, {side.letter.upper()});" for side in sides]


# wgmma ----------------------------------------------------------------------------------------------------------------


def _render_wgmma(plan: ProductPlan) -> tuple[list[str], list[str]]:
    i, tiled = plan.instruction, [side for side in (plan.a, plan.b) if isinstance(side, DescribedSide)]
    d, n = i.operands["d"], i.sizes["n"]
    parts = []
    for side in tiled:
        if isinstance(side, TiledSide):
            parts.append(smem.render_fill(side.tile, side.letter, side.mn, side.first, fenced=False))
            parts.append(smem.render_descriptor(side.tile, side.letter, side.step, side.word, side.first))
        elif isinstance(side, PlacedSide):
            parts += [storage_code.render_fill(side), storage_code.render_descriptor(side, plan.steps)]
    parts.append(render_wrapper(i, plan.a_from))
    parts += [cuda.render_load(i.operands["a"])] if plan.a_from == "registers" else []
    parts += [cuda.render_load(d)] if plan.accumulate else []
    parts.append(cuda.render_store(d))
    body = _PROGRAMS.lines(
        "device_wgmma.cu",
        shared=_render_shared(plan),
        fills=_fills(tiled),
        proxy_fence=render_ordering("fence.proxy.async", -1),
        d_type=cuda.get_register_type(d.element),
        d_registers=d.registers,
        zero="" if plan.accumulate else " = {}",
        load_d=f"load_d(d, C, {n});  // D begins as C" if plan.accumulate else "",
        load_a=_render_registers_a(plan),
        metadata=_render_metadata(plan),
        fence=render_ordering("wgmma.fence"),
        steps=_render_steps(plan),
        commit=render_ordering("wgmma.commit_group"),
        wait=render_ordering("wgmma.wait_group"),
        n=n,
    )
    return parts, body


def _render_registers_a(plan: ProductPlan) -> list[str]:
    if plan.a_from == "shared":
        return []
    op = plan.instruction.operands["a"]
    if plan.steps == 1:
        return [f"unsigned a[{op.registers}];", f"load_a(a, A, {plan.a.k});"]
    step = op.col_count // plan.a.per_unit
    return _PROGRAMS.lines("device_wgmma_load_a.cu", steps=plan.steps, registers=op.registers, step=step, k=plan.a.k)


def _render_metadata(plan: ProductPlan) -> list[str]:
    if not plan.instruction.operands["a"].sparsity:
        return []
    if plan.steps == 1:
        return ["const unsigned e = E[threadIdx.x];  // sparsity metadata"]
    return _PROGRAMS.lines("device_wgmma_metadata.cu", steps=plan.steps, threads=plan.instruction.threads)


def _render_steps(plan: ProductPlan) -> list[str]:
    """Return the wgmma of every step of K."""
    i, several = plan.instruction, plan.steps > 1
    arguments = ["d"]
    for side in (plan.a, plan.b):
        if isinstance(side, PlacedSide):
            arguments.append(f"{side.letter}_descriptor(tile_{side.letter}, {'step' if several else '0'})")
        elif isinstance(side, TiledSide):
            at = f"step * {side.step // (8 if side.tile.element_bits < 8 else 1)}" if several else "0"
            arguments.append(f"{side.letter}_descriptor(tile_{side.letter}, {side.first}, {at})")
        else:
            arguments.append("a[step]" if several else "a")
    arguments += [] if not i.operands["a"].sparsity else ["e[step]" if several else "e"]
    arguments.append("1" if plan.accumulate else "step > 0" if several else "0")
    call = _render_call(get_wrapper_name(i, plan.a_from), list(plan.immediates.values()), arguments)
    if not several:
        return [call]
    return _PROGRAMS.lines("device_wgmma_steps.cu", steps=plan.steps, call=call)


# mma.sync -------------------------------------------------------------------------------------------------------------


def _render_mma(plan: ProductPlan) -> tuple[list[str], list[str]]:
    i = plan.instruction
    ops, n = i.operands, i.sizes["n"]
    sides = [side for side in (plan.a, plan.b) if isinstance(side, RowsSide)]
    loads = {side.chain.load.instruction.ptx: side.chain.load.instruction for side in sides if side.chain}
    parts = [render_wrapper(load) for load in loads.values()]
    for side in sides:
        parts.append(_render_lines(side))
        parts.append(chain_code.render_loop(side.chain) if side.chain else _render_elements(i, side))
    parts += [render_scale_word(i, letter) for letter in "ab" if i.scales]
    parts += [render_wrapper(i), cuda.render_load(ops["c"]), cuda.render_store(ops["d"])]
    arguments = ["d", "a", "b", "c"]
    arguments += ["E[threadIdx.x]"] if ops["a"].sparsity else []
    arguments += [f"scale_word_{letter}(S{letter.upper()})" for letter in "ab" if i.scales]
    body = _PROGRAMS.lines(
        "device_mma.cu",
        shared=_render_shared(plan),
        fills=_fills(sides),
        registers=[f"{cuda.get_register_type(ops[name].element)} {name}[{ops[name].registers}];" for name in "abcd"],
        loads=[_load(side) for side in sides],
        call=_render_call(get_wrapper_name(i), list(plan.immediates.values()), arguments),
        n=n,
    )
    return parts, body


def _load(side: RowsSide) -> str:
    """Return the call that loads an operand's registers from shared memory."""
    tile = f"tile_{side.letter}"
    window = f"static_cast<unsigned>(__cvta_generic_to_shared({tile}))" if side.chain else tile
    return f"load_{side.letter}({side.letter}, {window});"


def _render_lines(side: RowsSide) -> str:
    """Return the byte offset within a line, and the fill."""
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
        value=smem.render_xor(side.mode),
        kind=get_unit_type(side),
        units=side.units,
        line_units=side.line_units,
        unit_bytes=side.unit_bytes,
    )


def _render_elements(i: Instruction, side: RowsSide) -> str:
    """Return the code that fills an operand's registers from its lines, one element at a time."""
    op = i.operands[side.letter]
    k_is_col = side.letter == "a"
    mn, k = ("row", "col") if k_is_col else ("col", "row")
    line, along = (mn, k) if side.major == "K" else (k, mn)
    if side.products > 1:
        line = f"product * {side.lines // side.products} + {line}"
    kind, per = get_unit_type(side), side.per_unit
    byte = f"{along} * {side.unit_bytes}" if per == 1 else f"{along} / {per}"
    read = f"*reinterpret_cast<const {kind}*>(tile + {side.letter}_offset({line}, {byte}))"
    return cuda.render_gather(op, "const unsigned char* tile", read, f"{along} % {per}")


def render_scale_word(i: Instruction, letter: str) -> str:
    """Return `scale_word_a`: the 32-bit register with the four scale factors of a lane.

    Every lane holds some for each byte-id and thread-id, so all are legal.
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
            f"const unsigned {word} = {cuda.format_cpp(text)};"
            for word, text in formula.items()
            if word not in ("line", "block")
        ],
        row=cuda.format_cpp(formula["line"]),
        block=cuda.format_cpp(formula["block"]),
        blocks=scale.blocks,
    )


# wmma -----------------------------------------------------------------------------------------------------------------


def find_accesses(plan: ProductPlan) -> dict[str, Instruction]:
    """Return the wmma.load of a, b and c and the wmma.store of d that match a wmma.mma."""
    i = plan.instruction
    layouts = {side.letter: side.layout for side in (plan.a, plan.b) if isinstance(side, WmmaSide)} | dict.fromkeys(
        "cd", plan.d_layout
    )
    return {name: catalog.require_access(i, name, layout) for name, layout in layouts.items()}


def _render_wmma(plan: ProductPlan) -> tuple[list[str], list[str]]:
    i, moves = plan.instruction, find_accesses(plan)
    sides = [side for side in (plan.a, plan.b) if isinstance(side, WmmaSide)]
    parts = (
        [_render_copy(side) for side in sides] + [render_wrapper(move) for move in moves.values()] + [render_wrapper(i)]
    )
    body = _PROGRAMS.lines(
        "device_wmma.cu",
        shared=_render_shared(plan),
        fills=_fills(sides),
        registers=[f"{cuda.get_register_type(op.element)} {name}[{op.registers}];" for name, op in i.operands.items()],
        loads=[
            f"{get_function_name(moves[side.letter])}({side.letter}, tile_{side.letter}, {side.ldm});" for side in sides
        ],
        load_c=get_function_name(moves["c"]),
        multiply=get_function_name(i),
        store_d=get_function_name(moves["d"]),
        ldm=plan.d_ldm,
    )
    return parts, body


def _render_copy(side: WmmaSide) -> str:
    """Return code that copies contiguous global lines to lines `ldm` elements apart."""
    apart = side.ldm // side.per_unit
    return _PROGRAMS.fill(
        "device_wmma_fill.cu",
        upper=side.letter.upper(),
        layout=side.layout,
        ldm=side.ldm,
        line="row" if side.layout == "row" else "column",
        letter=side.letter,
        kind=get_unit_type(side),
        units=side.units,
        at="i" if apart == side.line_units else f"i / {side.line_units} * {apart} + i % {side.line_units}",
    )
