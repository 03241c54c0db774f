"""Parts of guide pages: the shapes and types, and the generations side by side."""

from __future__ import annotations

from collections.abc import Callable

from lanescope.app.guide.markdown import format_link
from lanescope.app.kit.links import link_instruction
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, overview
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction, OperandPlace
from lanescope.ptx.targets import format_targets
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
