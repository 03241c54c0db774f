"""Parts of guide pages: which shapes and types there are, and the generations side by side. No framework."""

from __future__ import annotations

from collections.abc import Callable

from lanescope.app.guide.markdown import link, table
from lanescope.app.kit.links import path_of
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, overview
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction, Place


def shapes(section: str) -> str:
    """One section of the overview: types, accumulators, shapes with a link each, PTX version, targets."""
    lines = [row for row in overview.rows() if row.section == section]
    if not lines:
        raise LayoutError("bad_part", f"No section '{section}'.", f"Allowed: {', '.join(overview.SECTIONS)}.", "guide")
    kinds = any(row.kind for row in lines)
    head = ("A × B", *(("kind",) if kinds else ()), "C and D", "shapes", "PTX", "targets")
    rows = []
    for row in lines:
        newer = "".join(f"; `{name}` from PTX {version}, {where}" for name, version, where in row.newer)
        cells = (
            row.multiplicands,
            *((f"`.{row.kind.replace(' ', ' .')}`" if row.kind else "",) if kinds else ()),
            row.accumulators,
        )
        rows.append((*cells, _shape_links(row), row.ptx_version, row.target_text + newer))
    return table(head, rows)


def _shape_links(row: overview.Row) -> str:
    first = {i.shape: i for i in reversed(row.found)}
    out = []
    for text in overview.fold_shapes(row.shapes):
        shape = text.split(",")[0]
        some = first.get(shape) or next(
            i
            for i in row.found
            if i.shape.startswith(shape.split("N")[0])
            and i.shape.endswith(shape.split("N")[-1])
            and i.sizes["n"] in (64, row.found[0].sizes["n"])
        )
        out.append(link(text, path_of(some)))
    return ", ".join(out)


_WHERE = {Place.REGISTERS: "registers", Place.DESCRIPTOR: "shared memory", Place.TENSOR: "tensor memory"}


def generations(_: str) -> str:
    """wmma, mma and wgmma side by side, from the catalogue."""
    held: dict[str, list[Instruction]] = {}
    for i in sorted(catalog.instructions(), key=lambda i: i.family.menu):
        if i.family.multiplies:
            held.setdefault(i.family.opcode.words[0], []).append(i)

    def line(what: str, of: Callable[[list[Instruction]], str]) -> tuple[str, ...]:
        return (what, *(of(found) for found in held.values()))

    return table(
        ("", *(f"**{name}**" for name in held)),
        [
            line("threads", lambda found: f"{found[0].threads}, {found[0].family.scope.warps}"),
            line(
                "A",
                lambda found: " or ".join(
                    _WHERE[place] for place in found[0].family.reads.get("a", (Place.REGISTERS,))
                ),
            ),
            line(
                "B",
                lambda found: " or ".join(
                    _WHERE[place] for place in found[0].family.reads.get("b", (Place.REGISTERS,))
                ),
            ),
            line("C and D", lambda found: "registers, in place" if found[0].family.in_place else "registers"),
            line(
                "fragment layout",
                lambda found: "specified" if found[0].family.specified else "left to the architecture",
            ),
            line(
                "types of A and B",
                lambda found: ", ".join(
                    name for name in DTYPES if any(name == i.operands["a"].element.name for i in found)
                ),
            ),
            line("sparse A", lambda found: "yes" if any(i.operands["a"].sparsity for i in found) else "no"),
            line("block scale", lambda found: "yes" if any(i.scales for i in found) else "no"),
            line(
                "targets",
                lambda found: overview.target_text(
                    tuple(t for t in catalog.TARGETS if any(t in catalog.assembled(i).targets for i in found))
                ),
            ),
        ],
    )
