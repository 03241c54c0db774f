"""CUDA C++ of an operand delivery: a device function with inline PTX, and a kernel that fills memory and calls it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from lanescope.delivery.program import Blend, Convert, Instruction, Load, Permute, Select, Shift, Shuffle, Transpose
from lanescope.delivery.solve import Delivery
from lanescope.inputs import format_count
from lanescope.render.template import Templates
from lanescope.shared.chain import format_affine, format_bit_fields

MOST_STATIC = 48 << 10  # bytes of shared memory that a kernel may declare; larger sizes are set at the launch
TEMPLATES = Templates("lanescope.render")


def render_function(delivery: Delivery) -> str:
    """Return `deliver(out, tile)`, tile being the shared address of the data; for registers, `deliver(out, in)`."""
    lines: list[str] = []
    for step in delivery.steps:
        lines += [f"// {format_count(step.count, 'instruction')}: {step.says}."]
        for instruction in step.instructions:
            lines += _write(instruction)
    lines += [f"out[{number}] = r{register};" for number, register in enumerate(delivery.registers)]
    if delivery.start:
        lines = [f"const unsigned r{n} = in[{n}];" for n in range(delivery.start.registers)] + lines
    text = "\n".join(lines)
    used = set(re.findall(r"\b([a-z]\w+)\(", text))
    if "u8_to_f16" in used:
        used.add("prmt")
    parts = [part for part in TEMPLATES.read_template("delivery_parts.cu").split("\n\n") if _name_part(part) in used]
    parameter = f"const unsigned (&in)[{delivery.start.registers}]" if delivery.start else "unsigned tile"
    lane = ["const unsigned lane = threadIdx.x % 32;"] if re.search(r"\blane\b", text) else []
    return TEMPLATES.fill(
        "delivery.cu",
        title=f"{format_count(delivery.count, 'instruction')} of one warp.",
        parts="\n\n".join(part.strip("\n") for part in parts) + "\n\n" if parts else [],
        registers=len(delivery.registers),
        parameter=parameter,
        lane=lane,
        body=lines,
    )


def count_words(delivery: Delivery) -> int:
    """Return the number of 32-bit words of the kernel's input: those of memory, or of all lanes' registers."""
    if delivery.memory is None:
        assert delivery.start
        return 32 * delivery.start.registers
    return delivery.memory.size * delivery.memory.width // 32


def render_kernel(delivery: Delivery, name: str = "k") -> str:
    """Return the function and a kernel `name(out, in)` of one warp that calls it."""
    words = count_words(delivery)
    if delivery.start:
        registers = delivery.start.registers
        fill = [
            f"unsigned source[{registers}];",
            "#pragma unroll",
            f"for (int i = 0; i < {registers}; ++i) source[i] = in[{registers} * threadIdx.x + i];",
        ]
        origin, argument = "are the registers of the lanes", "source"
    else:
        tile = f"__shared__ __align__(1024) unsigned tile[{words}];"
        if 4 * words > MOST_STATIC:
            tile = f"extern __shared__ __align__(1024) unsigned tile[];  // launch with {4 * words} bytes"
        fill = [
            tile,
            f"for (unsigned i = threadIdx.x; i < {words}; i += 32) tile[i] = in[i];",
            "__syncthreads();",
        ]
        origin, argument = "go to shared memory", "(unsigned)__cvta_generic_to_shared(tile)"
    kernel = TEMPLATES.fill(
        "delivery_kernel.cu",
        **{"from": origin},
        words=words,
        name=name,
        fill=fill,
        registers=len(delivery.registers),
        argument=argument,
    )
    return render_function(delivery) + "\n" + kernel


def _name_part(part: str) -> str:
    match = re.search(r"(\w+)\(", part.partition("inline ")[2])
    return match[1] if match else ""


def _write(instruction: Instruction) -> list[str]:
    if isinstance(instruction, Load):
        return _write_load(instruction)
    if isinstance(instruction, Convert):
        return _write_conversion(instruction)
    declared = f"const unsigned r{instruction.target} = "
    if isinstance(instruction, Permute):
        return [f"{declared}prmt(r{instruction.a}, r{instruction.b}, {format_lane_word(instruction.selector, True)});"]
    if isinstance(instruction, Shuffle):
        return [f"{declared}shfl(r{instruction.a}, {format_lane_word(instruction.lanes)});"]
    if isinstance(instruction, Select):
        return [f"{declared}lane >> {instruction.bit} & 1 ? r{instruction.b} : r{instruction.a};"]
    if isinstance(instruction, Transpose):
        return [f"{declared}movmatrix(r{instruction.a});"]
    if isinstance(instruction, Shift):
        shift = "<<" if instruction.nibbles > 0 else ">>"
        return [f"{declared}r{instruction.a} {shift} {4 * abs(instruction.nibbles)};"]
    assert isinstance(instruction, Blend)
    return [f"{declared}blend(r{instruction.a}, r{instruction.b}, {format_lane_word(instruction.mask, True)});"]


def _write_load(load: Load) -> list[str]:
    names = [f"r{target}" for target in load.targets]
    count = len(names)
    slots = ", ".join(f"%{n}" for n in range(count))
    registers = f"{{{slots}}}" if count > 1 or load.matrix else slots
    vector = f"v{count}." if count > 1 else ""
    opcode = load.matrix.instruction.ptx if load.matrix else f"ld.shared.{vector}u32"
    address, table = format_lane_word(load.address), []
    if not address:
        address = f"at{load.targets[0]}[lane % {len(load.address)}]"
        table = [f"constexpr unsigned at{load.targets[0]}[] = {{{', '.join(map(str, load.address))}}};"]
    outputs = ", ".join(f'"=r"({name})' for name in names)
    at = "tile" if address == "0" else f"tile + ({address})"
    return [
        *table,
        f"unsigned {', '.join(names)};",
        f'asm volatile("{opcode} {registers}, [%{count}];" : {outputs} : "r"({at}) : "memory");',
    ]


def _write_conversion(conversion: Convert) -> list[str]:
    source, target = conversion.kind.split(" → ")
    name = f"{source}_to_{target}"
    if source == "u8":
        selectors = [
            sum((place if n % 2 == 0 else 4) << 4 * n for n, place in enumerate(np.repeat([p for _, p in moves], 2)))
            for moves in conversion.moves
        ]
        return [
            f"const unsigned r{to} = {name}(r{conversion.sources[0]}, {selector:#06x});"
            for to, selector in zip(conversion.targets, selectors, strict=True)
        ]
    if len(conversion.targets) == 1:
        return [f"const unsigned r{conversion.targets[0]} = {name}({', '.join(f'r{s}' for s in conversion.sources)});"]
    array = f"c{conversion.sources[0]}"
    return [
        f"unsigned {array}[{len(conversion.targets)}];",
        f"{name}({array}, r{conversion.sources[0]});",
        *(f"const unsigned r{to} = {array}[{n}];" for n, to in enumerate(conversion.targets)),
    ]


def format_lane_word(values: Sequence[int], hexadecimal: bool = False) -> str:
    """Return a C expression in `lane` for the word of each lane: a number, a sum or an XOR of bit fields; "" if there
    is none.

    >>> format_lane_word([4 * lane for lane in range(32)])
    'lane * 4'
    """
    show = (lambda value: f"{value:#x}") if hexadecimal else str
    first, count = int(values[0]), len(values)
    if all(value == first for value in values):
        return show(first)
    if not hexadecimal:
        affine = format_affine(np.array([values], np.int64))
        if affine is not None and "-" not in affine:
            return affine if count == 32 else affine.replace("lane", f"(lane & {count - 1})")
    weights = [int(values[1 << bit]) ^ first for bit in range(count.bit_length() - 1)]
    folded = [first]
    for weight in weights:
        folded += [value ^ weight for value in folded]
    if folded != [int(value) for value in values]:
        return ""
    terms = _format_bits(weights) if hexadecimal else format_bit_fields("lane", weights, 5)
    return " ^ ".join([*terms, *([show(first)] if first else [])])


def _format_bits(weights: Sequence[int]) -> list[str]:
    """Return one C term per bit of `lane` with a weight."""
    return [f"(lane >> {n} & 1) * {weight:#x}" for n, weight in enumerate(weights) if weight]
