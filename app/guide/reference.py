"""The parts of guide pages that come from tables of the engine: a line `@part name arguments` in a page is one of
PARTS, as Markdown.

Code of parts is compiled or assembled in the tests; tables are computed from the catalogue.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lanescope import find
from lanescope.app.guide import cpp
from lanescope.app.guide.markdown import format_code_block, format_link
from lanescope.app.kit.links import link_instruction
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, differences, hardware_runs, overview, qualifiers
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction, OperandPlace
from lanescope.ptx.slots import OperandSlot, list_slots
from lanescope.ptx.table import wgmma_order as order
from lanescope.ptx.targets import format_targets
from lanescope.render import wgmma_order
from lanescope.render.tables import format_table


def render_shapes(section: str) -> str:
    """Render one section of the overview: types, accumulators, shapes with a link each, PTX version, targets."""
    lines = [row for row in overview.list_overview_rows() if row.section == section]
    if not lines:
        raise LayoutError("bad_part", f"No section '{section}'.", f"Allowed: {', '.join(overview.SECTIONS)}.", "guide")
    kinds = any(row.kind for row in lines)
    head = ("A × B", *(("kind",) if kinds else ()), "C and D", "shapes", "PTX", "targets")
    rows = []
    for row in lines:
        newer = "".join(f"; `{name}` from PTX {version}, {targets}" for name, version, targets in row.newer)
        cells = (
            row.multiplicands,
            *((f"`.{row.kind.replace(' ', ' .')}`" if row.kind else "",) if kinds else ()),
            row.accumulators,
        )
        rows.append((*cells, _format_shape_links(row), row.ptx_version, row.target_text + newer))
    return format_table(head, rows)


def _format_shape_links(row: overview.OverviewRow) -> str:
    by_shape = {i.shape: i for i in reversed(row.found)}
    links = []
    for text in overview.fold_shapes(row.shapes):
        shape = text.split(",")[0]
        instruction = by_shape.get(shape) or next(
            i
            for i in row.found
            if i.shape.startswith(shape.split("N")[0])
            and i.shape.endswith(shape.split("N")[-1])
            and i.sizes["n"] in (64, row.found[0].sizes["n"])
        )
        links.append(format_link(text, link_instruction(instruction)))
    return ", ".join(links)


_WHERE = {
    OperandPlace.REGISTERS: "registers",
    OperandPlace.DESCRIPTOR: "shared memory",
    OperandPlace.TENSOR: "tensor memory",
}


def render_generations(_: str) -> str:
    """Render wmma, mma and wgmma side by side, from the catalogue."""
    by_generation: dict[str, list[Instruction]] = {}
    for i in sorted(catalog.instructions(), key=lambda i: i.family.menu):
        if i.family.multiplies:
            by_generation.setdefault(i.family.opcode.words[0], []).append(i)
    head = ("", *(f"**{name}**" for name in by_generation))
    return format_table(
        head, [(topic, *map(describe, by_generation.values())) for topic, describe in _COMPARED.items()]
    )


def _format_sources(instructions: list[Instruction], letter: str) -> str:
    """Return the sources of A or B: registers or shared memory."""
    return " or ".join(_WHERE[place] for place in instructions[0].family.reads.get(letter, (OperandPlace.REGISTERS,)))


def _format_multiplicands(instructions: list[Instruction]) -> str:
    """Return the element types of A and B."""
    names = {i.operands["a"].element.name for i in instructions}
    return ", ".join(name for name in DTYPES if name in names)


def _format_targets(instructions: list[Instruction]) -> str:
    """Return the architectures that have any of these instructions."""
    supported = {target for i in instructions for target in catalog.get_target_support(i).targets}
    return format_targets(tuple(target for target in catalog.TARGETS if target in supported))


# what is compared → its text for one generation
_COMPARED: dict[str, Callable[[list[Instruction]], str]] = {
    "threads": lambda instructions: f"{instructions[0].threads}, {instructions[0].family.scope.warps}",
    "A": lambda instructions: _format_sources(instructions, "a"),
    "B": lambda instructions: _format_sources(instructions, "b"),
    "C and D": lambda instructions: "registers, in place" if instructions[0].family.in_place else "registers",
    "fragment layout": lambda instructions: (
        "specified" if instructions[0].family.specified else "left to the architecture"
    ),
    "types of A and B": _format_multiplicands,
    "sparse A": lambda instructions: "yes" if any(i.operands["a"].sparsity for i in instructions) else "no",
    "block scale": lambda instructions: "yes" if any(i.scales for i in instructions) else "no",
    "targets": _format_targets,
}


def render_ordering(name: str) -> str:
    """Render one instruction that orders a wgmma."""
    row = order.BY_NAME[name]
    diagnosis = f" ({row.diagnosed})" if row.diagnosed else ""
    facts = [
        ("syntax", "<br>".join(f"`{text}`" for text in row.syntax)),
        ("orders", row.orders),
        ("where", row.where),
        ("executed by", row.scope),
        ("without it", row.without + diagnosis),
        ("from", f"PTX {row.ptx_version}, {row.target}"),
    ]
    return format_table(("", ""), facts)


def render_orderings(_: str) -> str:
    """Render the four instructions, each with a link to its page."""
    return format_table(
        ("instruction", "orders", "where it is"),
        [(format_link(f"`{row.name}`", f"/guide/{row.name}"), row.orders, row.where) for row in order.ORDER],
    )


def render_sequence(name: str) -> str:
    """Render a sequence of instructions, right or wrong, with ptxas's message."""
    return format_code_block(wgmma_order.BY_NAME[name].text)


def render_opcode_words(text: str) -> str:
    """Render an opcode, word by word."""
    instruction = find(text)
    rows = [(f"`{word.text}`", word.meaning) for word in qualifiers.list_opcode_parts(instruction)]
    operands = [
        (f"`{slot.text}`", _format_operand(slot)) for slot in list_slots(instruction, instruction.family.forms[-1])
    ]
    return format_table(("part", "meaning"), [*rows, *operands])


def _format_operand(slot: OperandSlot) -> str:
    if not slot.type:
        return slot.what
    count = f"{slot.registers} × " if slot.registers > 1 else ""
    return f"{count}.{slot.type}: {slot.what}"


def render_declarations(text: str) -> str:
    """Render the register declarations of an instruction, and its line."""
    instruction = find(text)
    lines = []
    for slot in list_slots(instruction):
        if slot.kind == "vector":
            lines.append(
                f".reg .{slot.type} {slot.name}<{slot.registers}>;".ljust(20)
                + f"// {slot.name}0 to {slot.name}{slot.registers - 1}: {slot.what}"
            )
    return format_code_block(
        "\n".join([*lines, f"{instruction.ptx} {', '.join(slot.text for slot in list_slots(instruction))};"])
    )


def render_packing(_: str) -> str:
    """Render how many elements share a register, by width."""
    used = {name for i in catalog.instructions() for name in i.types.values()}
    groups: dict[tuple[int, int], list[str]] = {}
    for name, row in DTYPES.items():
        if name in used and (row.kind != "bits" or name == "b1"):
            groups.setdefault((row.bits, row.register_bits), []).append(name)
    rows = []
    for (bits, width), names in sorted(groups.items(), reverse=True):
        packing = "8-bit containers, 4 per register" if bits == 6 else f"{width // bits} in {width} bits"
        if bits == 4:
            packing += "; e2m1 with .kind::f8f6f4 and mxf8f6f4 in 8-bit containers, 4 per register"
        rows.append((str(bits), ", ".join(names), packing))
    return format_table(("bits", "types", "elements in a register"), rows)


SPACES = (
    ("none", "generic: global, shared or another space, found from the address", ""),
    ("`.global`", "memory of the whole device", "global"),
    ("`.shared`", "shared memory; the same as `.shared::cta`", "shared"),
    ("`.shared::cta`", "shared memory of the CTA that executes", "shared::cta"),
)


def render_state_spaces(_: str) -> str:
    """Render the state spaces and the matrix instructions that access them."""
    rows = []
    for name, meaning, key in SPACES:
        takers = dict.fromkeys(
            i.syntax.opcode
            for i in catalog.instructions()
            if i.family.spaces and (key in i.family.spaces or (not key and i.family.memory is OperandPlace.MATRIX))
        )
        rows.append((name, meaning, ", ".join(f"`{opcode}`" for opcode in takers)))
    return format_table(("qualifier", "space", "taken by"), rows)


MOST_LINKS = 4


def render_differences(_: str) -> str:
    """Render every difference with its proofs, below a list of them."""
    rows = differences.list_document_slips()
    head = ("what", "where", "proved by")
    parts = [
        format_table(
            head,
            [
                (format_link(row.title, f"#{row.key}"), f"{row.document}, {row.place}", _format_proof_kinds(row))
                for row in rows
            ],
        )
    ]
    for row in rows:
        parts.append(
            f"## {row.title} {{#{row.key}}}\n\n**{row.document}**, {row.place}, says: {row.says}\n\n**In fact:**"
            f" {row.really}\n\n{format_proofs(row)}"
        )
    return "\n\n".join(parts)


def _format_proof_kinds(row: differences.DocumentSlip) -> str:
    proofs = {"a run": row.ran, "ptxas": row.assembled or row.refused, "a test": row.test, "the text": row.stated}
    return ", ".join(name for name, proof in proofs.items() if proof)


def format_proofs(row: differences.DocumentSlip) -> str:
    """Format the proofs of a row, one per line."""
    lines = []
    if row.ran:
        devices = [
            hardware_runs.shorten_device_name(run.device)
            for run in hardware_runs.list_hardware_runs(find(row.ran[0]))
            if run.agrees
        ]
        lines.append(f"- ran on {' and '.join(devices)}: {_format_links(row.ran)}")
    if row.assembled:
        lines.append(f"- {catalog.get_assembler_release()} assembles {_format_links(row.assembled)}")
    if row.refused:
        message = f', "{row.message}"' if row.message else ""
        lines.append(
            f"- {catalog.get_assembler_release()} refuses {', '.join(f'`{text}`' for text in row.refused)}{message}"
        )
    if row.test:
        answer = f', "{row.message}"' if row.message and not row.refused else ""
        lines.append(f"- shown by `{row.test}`{answer}")
    if row.stated:
        lines.append(f"- stated in {row.stated}; no run of this project shows it")
    return "\n".join(lines)


def _format_links(texts: tuple[str, ...]) -> str:
    rest = f" and {len(texts) - MOST_LINKS} more" if len(texts) > MOST_LINKS else ""
    return ", ".join(format_link(f"`{text}`", link_instruction(find(text))) for text in texts[:MOST_LINKS]) + rest


_PART = re.compile(r"^@part (\S+)(?: (.+))?$", re.M)


def expand_parts(text: str) -> str:
    """Return a page's Markdown with its parts expanded; raise LayoutError for an unknown part."""
    return _PART.sub(lambda match: render_part(match[1], match[2] or ""), text)


def render_part(name: str, arguments: str) -> str:
    """Render one part as Markdown."""
    if name not in PARTS:
        raise LayoutError("bad_part", f"No part '{name}'.", f"Allowed: {', '.join(PARTS)}.", "guide")
    return PARTS[name](arguments)


PARTS: dict[str, Callable[[str], str]] = {
    "words": render_opcode_words,
    "declare": render_declarations,
    "packing": render_packing,
    "spaces": render_state_spaces,
    "overview": render_shapes,
    "generations": render_generations,
    "api": cpp.render_functions,
    "function": cpp.render_function,
    "kernel": cpp.render_kernel,
    "fragments": cpp.render_fragments,
    "memory": cpp.render_memory,
    "strides": cpp.render_strides,
    "elements": cpp.render_elements,
    "since": cpp.render_targets,
    "bits": cpp.render_bit_operations,
    "order": render_ordering,
    "orders": render_orderings,
    "pattern": render_sequence,
    "differences": render_differences,
}
