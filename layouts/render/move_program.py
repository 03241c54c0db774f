"""A complete program around one ldmatrix or stmatrix: fill, move, print each lane's values, compare with the map.

CUDA C++ for nvcc, or Python for CuPy and NVRTC.
"""

from __future__ import annotations

import json

from lanescope.product.move_plan import MODULI, MovePlan
from lanescope.render import cuda, kernel, kernel_script, smem
from lanescope.render.template import Templates
from lanescope.shared.pieces import ROW_BYTES

NAME = "move"  # of the kernel, and of the file
_PROGRAMS = Templates(__package__)


def render_title(plan: MovePlan) -> list[str]:
    """Return two lines of text: what the program does, and how the rows are stored."""
    i, bits = plan.instruction, plan.element_bits
    swizzle = f", swizzle {plan.mode.name}" if plan.mode.chunks > 1 else ""
    way = "Shared memory to registers" if i.family.loads else "Registers to shared memory"
    row = f"{_count_per_row(plan)} elements of {bits} bits"
    padding = ROW_BYTES - _count_per_row(plan) * bits // 8
    out = [
        f"{way}: {i.ptx}",
        f"{plan.lines} rows of {row}{f' and {padding} bytes of padding' if padding else ''}, {plan.pitch_bytes} bytes"
        f" apart{swizzle}",
    ]
    return out + kernel.list_doubts(i)


def render_program(plan: MovePlan) -> str:
    """Return the .cu file: fill, load or store, a line for each lane, check against the map, error handling."""
    head = "".join(f"// {line}\n" for line in [*_list_head(plan, "cu"), kernel.render_build(plan, NAME)])
    includes = "".join(f"#include <{name}>\n" for name in ("cstdio", "cstdlib", "vector"))
    return f"{head}{includes}\n{render_device(plan)}\n{_render_host(plan)}"


def _list_head(plan: MovePlan, form: str) -> list[str]:
    """Return the comment lines at the file's top: its purpose and the command that writes it."""
    return [
        *render_title(plan),
        f"Written by Lanescope; source of the map: {plan.instruction.family.source}.",
        kernel.format_command(plan, f"{NAME}.{form}"),
    ]


def render_device(plan: MovePlan, linkage: str = "") -> str:
    """Return the wrapper of the instruction and the kernel `move`.

    linkage: the text before `__global__`.
    """
    i, lines = plan.instruction, plan.lines
    registers, loads = plan.data.registers, i.family.loads
    body = _PROGRAMS.lines(
        "move_load.cu" if loads else "move_store.cu",
        words=_count_words(plan),
        function=cuda.get_wrapper_name(i),
        registers=registers,
    )
    idle = f"; the addresses of lanes {lines} to 31 are ignored" if lines < 32 else ""
    kernel_text = _PROGRAMS.fill(
        "move_device.cu",
        lines=lines,
        pitch=plan.pitch_bytes,
        swizzled=f", swizzle {plan.mode.name}" if plan.mode.chunks > 1 else "",
        offset=smem.render_xor(plan.mode),
        shared_bytes=plan.shared_bytes,
        linkage=linkage,
        kernel=NAME,
        lanes=f"Lanes 0 to {lines - 1} give the addresses of rows 0 to {lines - 1}{idle}.",
        lane="threadIdx.x" if lines == 32 else f"threadIdx.x % {lines}",
        registers=registers,
        body=body,
        **_name_ends(plan),
    )
    return f"{cuda.render_wrapper(i)}\n{kernel_text}"


def _name_ends(plan: MovePlan) -> dict[str, str]:
    """Return the names of the arrays that the kernel reads ("source") and writes ("target")."""
    source, target = ("memory", "fragment") if plan.instruction.family.loads else ("fragment", "memory")
    return {"source": source, "target": target}


def _count_words(plan: MovePlan) -> int:
    """Return the number of 32-bit words of all rows."""
    return plan.lines * ROW_BYTES // 4


def _count_per_row(plan: MovePlan) -> int:
    return plan.data.extents["col"]


def _format_element(plan: MovePlan) -> str:
    extents = plan.data.extents
    return f"(matrix * {extents['row']} + row) * {extents['col']} + col"


def _describe_numbers(plan: MovePlan) -> str:
    """Return a sentence that says which elements are numbered, and in which order."""
    what = "element i of shared memory" if plan.instruction.family.loads else "value i of the fragment, lane by lane"
    modulus = MODULI[plan.element_bits]
    if plan.fill == "s8":
        turned = ", stored in pairs along k" if "trans" in plan.instruction.modifiers else ""
        return f"The two bytes of {what}: B[k][n] of mma.m8n8k16 is -(k + 16n + 1){turned}."
    if plan.element_bits == 16:
        return f"The number in {what}."
    return f"The number in {what}: modulo {modulus}, a prime, so that no two matrices are equal."


def format_first_byte(plan: MovePlan) -> str:
    """Return the expression of (byte of B that stands first in element i) − 1."""
    return "i / 8 * 2 + i % 8 * 16" if "trans" in plan.instruction.modifiers else "i * 2"


def _render_host(plan: MovePlan) -> str:
    """Return the host half: fill, launch, one line of output per lane, the comparison."""
    op, loads, bits = plan.data, plan.instruction.family.loads, plan.element_bits
    per, mask = op.register_bits // op.container_bits, hex((1 << bits) - 1)
    fragment_value = f"fragment[lane * {op.registers} + i / {per}] >> {op.container_bits} * (i % {per}) & {mask}"
    stored = f"memory[element * {bits} / 32] >> element * {bits} % 32 & {mask}"
    bytes_of = "static_cast<signed char>({0}), static_cast<signed char>({0} >> 8)"
    signed = plan.fill == "s8"
    return _PROGRAMS.fill(
        "move_host.cu",
        numbered=_describe_numbers(plan),
        number=_render_number(plan),
        words=_count_words(plan),
        fragment_words=32 * op.registers,
        fill=_render_fill(plan),
        shared_bytes=plan.shared_bytes,
        kernel=NAME,
        values=op.values,
        places=[f"const unsigned {word} = {cuda.format_cpp(text)};" for word, text in op.formula()["forward"].items()],
        element=_format_element(plan),
        expected="element" if loads else f"lane * {op.values} + i",
        got=fragment_value if loads else stored,
        format='" %4d %4d"' if signed else '" %3u"',
        shown_got=bytes_of.format("got") if signed else "got",
        format_expected=" %d %d" if signed else " %u",
        shown_expected=bytes_of.format("expected") if signed else "expected",
        **_name_ends(plan),
    )


def _render_number(plan: MovePlan) -> list[str]:
    """Return the body of the C++ function that numbers elements."""
    if plan.fill == "s8":
        return [
            f"const unsigned first = {format_first_byte(plan)};",
            "return ((0u - (first + 1)) & 255) | ((0u - (first + 2)) & 255) << 8;",
        ]
    return ["return i;" if plan.element_bits == 16 else f"return i % {MODULI[plan.element_bits]};"]


def _render_fill(plan: MovePlan) -> list[str]:
    """Return the lines that fill the kernel's input with numbers."""
    bits, name = plan.element_bits, _name_ends(plan)["source"]
    count = plan.elements
    if 32 % bits == 0 and _count_per_row(plan) * bits == 8 * ROW_BYTES:
        return [f"for (unsigned i = 0; i < {count}; ++i) {name}[i * {bits} / 32] |= number(i) << i * {bits} % 32;"]
    per = _count_per_row(plan)
    return [
        f"for (unsigned i = 0; i < {count}; ++i)",
        f"  for (unsigned bit = 0; bit < {bits}; ++bit) {{",
        f"    const unsigned at = i / {per} * {8 * ROW_BYTES} + i % {per} * {bits} + bit;  // padding ends each row",
        f"    {name}[at / 32] |= (number(i) >> bit & 1) << at % 32;",
        "  }",
    ]


def render_script_program(plan: MovePlan) -> str:
    """Return the program as a Python script for CuPy."""
    op, loads, bits = plan.data, plan.instruction.family.loads, plan.element_bits
    number = [f"return i % {MODULI[bits]}" if bits < 16 else "return i"]
    signed = plan.fill == "s8"
    if signed:
        number = [
            f"first = {kernel_script.format_python(format_first_byte(plan))}",
            "return (-(first + 1) & 255) | (-(first + 2) & 255) << 8",
        ]
    unit = f"uint{op.container_bits}"
    return _PROGRAMS.fill(
        "move_script.py.in",
        head="\n".join(_list_head(plan, "py")),
        source=render_device(plan, 'extern "C" '),
        targets=json.dumps(kernel_script.list_architectures(plan)),
        kernel=NAME,
        numbered=_describe_numbers(plan),
        number=number,
        values=op.values,
        places=[f"{word} = {kernel_script.format_python(text)}" for word, text in op.formula()["forward"].items()],
        element=_format_element(plan),
        count=plan.elements,
        bits=bits,
        per_row=_count_per_row(plan) if loads else 128 // bits,
        expected="element" if loads else f"thread * {op.values} + i",
        size=32 * op.registers if loads else _count_words(plan),
        shared_bytes=plan.shared_bytes,
        unit=unit,
        got=f"got.reshape(32, {op.values}) & {hex((1 << bits) - 1)}" if loads else "got[element]",
        shown="np.array(values, np.uint16).view(np.int8)" if signed else "values",
    )
