"""CUDA C++ of an instruction: the inline-asm wrapper, and per-lane loads and stores by the fragment formula.

Compiles with NVRTC and nvcc.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count

from lanescope.ptx.dtypes import REGISTERS, DType
from lanescope.ptx.instruction import Instruction, Operand, OperandPlace
from lanescope.ptx.slots import OperandSlot, list_slots
from lanescope.render.template import Templates
from lanescope.shared.swizzle import Swizzle

_PROGRAMS = Templates(__package__)


def get_function_name(instruction: Instruction) -> str:
    """Return the instruction's name as a C identifier."""
    return re.sub(r"\W+", "_", instruction.ptx.replace(".sync.aligned", "")).strip("_")


def render_wrapper(
    instruction: Instruction, a_from: str = "registers", immediates: Mapping[str, str] | None = None
) -> str:
    """Return a __device__ function around the instruction, with registers as arrays.

    Immediates are template parameters whose defaults select an unscaled, K-major product; `immediates` fixes some by
    slot name.
    """
    fixed = immediates or {}
    items = list_slots(instruction, a_from)
    accumulates = instruction.family.in_place
    written = [slot for slot in items if slot.written]
    read = [slot for slot in items if not slot.written and slot.kind != "immediate"]
    free = [slot for slot in items if slot.kind == "immediate" and slot.name not in fixed]
    constants = [named for slot in free for named in slot.immediates]
    spelled = {name: [text] for name, text in fixed.items()} | _number_bindings([*written, *read, *free])
    outputs = _bind_all(written, accumulates)
    inputs = [*_bind_all(read, accumulates), *(f'"n"({name})' for name, _ in constants)]
    clobber = ' : "memory"' if accumulates or any(s.kind == "address" for s in items) else ""
    return _PROGRAMS.fill(
        "wrapper.cu",
        template=_declare_template(constants),
        name=get_wrapper_name(instruction, a_from),
        parameters=", ".join(map(_render_parameter, (*written, *read))),
        assembly=_write_assembly(instruction, items, spelled),
        outputs=", ".join(outputs),
        inputs=", ".join(inputs),
        clobber=clobber,
    )


def _declare_template(constants: Sequence[tuple[str, str]]) -> str:
    """Return the line that declares immediates as template parameters with their defaults; "" without any."""
    parameters = ", ".join(f"int {name} = {value}" for name, value in constants)
    return f"template <{parameters}>" if parameters else ""


def _write_assembly(instruction: Instruction, items: Sequence[OperandSlot], spelled: Mapping[str, list[str]]) -> str:
    """Return the asm text of the instruction; a predicate operand is set from a register first."""
    body = f"{instruction.ptx} {', '.join(_format_operand(slot, spelled[slot.name]) for slot in items)};"
    predicate = next((spelled[s.name][0] for s in items if s.kind == "predicate"), None)
    return f"{{ .reg .pred p; setp.ne.b32 p, {predicate}, 0; {body} }}" if predicate else body


def _bind_all(items: Sequence[OperandSlot], accumulates: bool) -> list[str]:
    return [binding for slot in items for binding in _render_bindings(slot, accumulates)]


def _number_bindings(bound: Sequence[OperandSlot]) -> dict[str, list[str]]:
    """Return slot name → its names in the asm text: %0, %1, … in the order of binding."""
    number = count()
    return {
        slot.name: [
            f"%{next(number)}" for _ in range(len(slot.immediates) if slot.kind == "immediate" else slot.registers)
        ]
        for slot in bound
    }


def get_wrapper_name(instruction: Instruction, a_from: str = "registers") -> str:
    """Return the name of the function that `render_wrapper` returns."""
    return get_function_name(instruction) + ("_shared_a" if a_from == "shared" else "")


def _render_parameter(slot: OperandSlot) -> str:
    if slot.kind == "predicate":
        return f"int {slot.name}"
    kind = REGISTERS[slot.type].cpp
    if slot.kind == "vector":
        return f"{'' if slot.written else 'const '}{kind} (&{slot.name})[{slot.registers}]"
    return f"{kind}& {slot.name}" if slot.written else f"{kind} {slot.name}"


def _render_bindings(slot: OperandSlot, accumulates: bool) -> list[str]:
    if slot.kind == "predicate":
        return [f'"r"({slot.name})']
    sign = ("+" if accumulates else "=") if slot.written else ""
    letter = REGISTERS[slot.type].letter
    if slot.kind == "vector":
        return [f'"{sign}{letter}"({slot.name}[{n}])' for n in range(slot.registers)]
    return [f'"{sign}{letter}"({slot.name})']


def _format_operand(slot: OperandSlot, names: list[str]) -> str:
    if slot.kind == "vector" or len(names) > 1:
        return "{" + ", ".join(names) + "}"
    return "p" if slot.kind == "predicate" else f"[{names[0]}]" if slot.kind == "address" else names[0]


def render_swizzled(xor: Swizzle, x: str) -> str:
    """Return the C++ expression of a byte address under an XOR of address bits."""
    mask = f"0x{((1 << xor.bits) - 1 << xor.base) >> 3:X}u"
    moved = f"{x} >> {xor.shift} & {mask}" if xor.shift >= 0 else f"({x} & {mask}) << {-xor.shift}"
    return f"{x} ^ ({moved})" if xor.bits else x


def get_memory_type(element: DType, container_bits: int) -> str:
    """Return the C type of the memory an element is read from: bytes of packed elements for 4-bit and 1-bit types."""
    if container_bits >= 32:
        return REGISTERS[element.register_type].cpp
    return "unsigned short" if container_bits == 16 else "unsigned char"


def get_register_type(element: DType) -> str:
    """Return the C type of a register that holds such elements."""
    return REGISTERS[element.register_type].cpp


def _render_declarations(op: Operand) -> str:
    """Return the definitions of the variables in an operand's formula: thread, lane, and PTX's derived names."""
    forward = {word: format_cpp(text) for word, text in op.formula()["forward"].items()}
    known = {"thread": "threadIdx.x % 128", "lane": "threadIdx.x % 32"} | {
        w: t for w, t in forward.items() if w not in op.axes
    }
    used: set[str] = set()
    todo = [forward[axis] for axis in op.axes]
    while todo:
        words = {word for word in re.findall(r"[A-Za-z_]\w*", todo.pop()) if word in known} - used
        used |= words
        todo += [known[word] for word in words]
    return "\n".join(f"  const unsigned {word} = {text};" for word, text in known.items() if word in used)


def format_cpp(expression: str) -> str:
    """Return a formula in PTX's names as C++."""
    return expression.replace("%laneid", "lane").replace("%warpid", "(threadIdx.x / 32)")


def _render_places(op: Operand) -> str:
    forward = op.formula()["forward"]
    return "\n".join(f"const unsigned {axis} = {format_cpp(forward[axis])};" for axis in op.axes)


def _render_index(op: Operand, by_column: bool = False) -> str:
    base = "col * ld + row" if by_column else "row * ld + col"
    if len(op.axes) == 3:
        third = next(axis for axis in op.axes if axis not in op.plane)
        return f"{third} * {'cols' if by_column else 'rows'} * ld + {base}".replace("rows", str(op.row_count)).replace(
            "cols", str(op.col_count)
        )
    return base


def render_load(op: Operand) -> str:
    """Return code that fills one operand's registers from memory by the formula, one element at a time."""
    by_column = op.name == "b"
    kind, bits = get_memory_type(op.element, op.container_bits), op.container_bits
    order = "column by column, ld elements apart" if by_column else "row by row, ld elements apart"
    below = op.padding_below
    inside = f"bits {below} to {below + op.element.bits - 1}"
    packed = (
        f", {8 // bits} elements a byte, the first in the low bits"
        if bits < 8
        else f", a byte an element, padded as in the register: its value in {inside}"
        if op.element.bits < 8
        else ""
    )
    stored = f" (stored, {op.col_count} of {op.dense_col_count} columns)" if op.sparsity else ""
    head = (
        f"// {op.name.upper()} {op.row_count}×{op.col_count} {op.element.name}{stored} from memory {order}{packed}.\n"
    )
    at = _render_index(op, by_column)
    if bits >= 8:
        return head + render_gather(op, f"const {kind}* m, unsigned ld", f"m[{at}]")
    unit = f"m[at / {8 // bits}]"
    return head + render_gather(
        op, f"const {kind}* m, unsigned ld", unit, f"at % {8 // bits}", [f"const unsigned at = {at};"]
    )


def render_gather(op: Operand, parameters: str, unit: str, inside: str = "0", before: Sequence[str] = ()) -> str:
    """Return `load_{name}`, which puts every value of an operand into its register.

    unit: the expression of its memory unit. inside: index of the element within the unit, where several share one.
    before: lines that these expressions depend on; row and col are defined.
    """
    per, bits, name = op.register_bits // op.container_bits, op.container_bits, op.name
    if bits >= 32:
        body = [*before, f"{name}[i] = {unit};"]
    else:
        element = f"(unsigned){unit}" if bits >= 8 else f"({unit} >> ({bits} * ({inside})) & {(1 << bits) - 1}u)"
        body = [
            *before,
            f"if (i % {per} == 0) {name}[i / {per}] = 0;",
            f"{name}[i / {per}] |= {element} << ({bits} * (i % {per}));",
        ]
    return _PROGRAMS.fill(
        "operand_load.cu",
        name=name,
        register=get_register_type(op.element),
        registers=op.registers,
        parameters=parameters,
        declarations=_render_declarations(op),
        values=op.values,
        places=_render_places(op),
        body=body,
    )


def render_store(op: Operand) -> str:
    """Return code that writes an accumulator's registers to memory, row by row."""
    kind, per, bits = (
        get_memory_type(op.element, op.container_bits),
        op.register_bits // op.container_bits,
        op.container_bits,
    )
    return _PROGRAMS.fill(
        "operand_store.cu",
        name=op.name,
        operand=op.name.upper(),
        rows=op.row_count,
        cols=op.col_count,
        element=op.element.name,
        register=get_register_type(op.element),
        registers=op.registers,
        unit=kind,
        declarations=_render_declarations(op),
        values=op.values,
        places=_render_places(op),
        at=_render_index(op),
        value=f"{op.name}[i]" if per == 1 else f"({kind})({op.name}[i / {per}] >> ({bits} * (i % {per})))",
    )


def render_program(instruction: Instruction) -> str:
    """Return all code of one instruction as one file."""
    parts = [
        f"// {instruction.ptx}\n// Written by Lanescope from the pattern of each operand; source of the maps:"
        f" {instruction.family.source}.\n"
    ]
    parts += [render_wrapper(instruction, form) for form in instruction.family.forms]
    for op in instruction.operands.values():
        if op.scope.place is OperandPlace.TENSOR:
            continue  # no thread holds it
        if op.name in "abc":
            parts.append(render_load(op))
        if op.name in "d":
            parts.append(render_store(op))
    return "\n".join(parts)
