"""Register pressure: the registers of one thread's operands at every shape of an instruction's types."""

from __future__ import annotations

from typing import Any

from lanescope.app.kit.fact import fact
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.render.palette import list_fill_variables

MOST = 255  # registers of a thread: CUDA programming guide, compute capabilities


@fact
class RegisterPressure:
    """32-bit registers of one thread: a row for every shape, a number for every operand."""

    operands: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[int, ...]], ...]  # shape, PTX, registers
    sizes: dict[str, tuple[int, ...]]  # m, n, k of each row
    chosen: str
    most: int = MOST

    @property
    def chart(self) -> dict[str, Any]:
        """Return the chart as static/kit/chart.js draws it: a bar for every shape, a part of it for every operand."""
        changing = [name for name, sizes in self.sizes.items() if len(set(sizes)) > 1]
        return {
            "title": "register_pressure",
            "across": changing[0].upper() if len(changing) == 1 else "Shape",
            "up": "registers",
            "names": list(self.sizes[changing[0]]) if len(changing) == 1 else [shape for shape, _, _ in self.rows],
            "series": [
                {"name": name.upper(), "values": [counts[n] for _, _, counts in self.rows]}
                for n, name in enumerate(self.operands)
            ],
            "fills": list_fill_variables(len(self.operands)),
        }


def count_registers(op: Operand) -> int:
    """Count the 32-bit registers of a thread, whatever the width of the operand's own."""
    return op.registers * op.register_bits // 32


def build_pressure(instruction: Instruction) -> RegisterPressure | None:
    """Build the registers of A, B and D at every shape with these types, smallest first; None if there is one shape, or
    nothing is multiplied. C may share D's registers, so it is not counted.
    """
    if not instruction.family.multiplies:
        return None
    by_shape = {instruction.shape: instruction}
    for other in catalog.instructions():
        syntax, shown = other.syntax, instruction.syntax
        alike = (
            syntax.opcode == shown.opcode
            and syntax.layouts == shown.layouts
            and set(syntax.modifiers) == set(shown.modifiers)
        )
        if alike and other.types == instruction.types:
            by_shape.setdefault(other.shape, other)
    if len(by_shape) < 2:
        return None
    names = tuple(name for name in instruction.operands if name != "c")
    counts_of_rows = [(tuple(count_registers(i.operands[name]) for name in names), i) for i in by_shape.values()]
    counts_of_rows.sort(key=lambda row: (sum(row[0]), row[1].shape))
    return RegisterPressure(
        operands=names,
        rows=tuple((i.shape, i.ptx, counts) for counts, i in counts_of_rows),
        sizes={name: tuple(i.sizes[name] for _, i in counts_of_rows) for name in instruction.sizes},
        chosen=instruction.shape,
    )
