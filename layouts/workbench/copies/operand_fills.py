"""Find the tiles of operands that TMA loads fill, and those that threads then overwrite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanescope.descriptor.matrix import View
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.workbench.copies.loads import FilledTile, TextLoads
from lanescope.workbench.reads.verification import OperandTurn, get_extents


def is_overwritten(loads: TextLoads, view: View, turns: Sequence[OperandTurn]) -> bool:
    """Return whether threads store into a tile that TMA has filled, before it is read."""
    rows, depth = get_extents(turns, view)
    firsts: dict[int, LinearExpression] = {}
    for turn in turns:
        line = turn.argument.address
        base = firsts.setdefault(turn.place.stage, line) if line is not None else None
        if base is not None and loads.is_overwritten(base, rows * depth * view.bits // 8, turn.use.order):
            return True
    return False


def find_filled_tiles(loads: TextLoads, turns: Mapping[str, Sequence[OperandTurn]]) -> dict[str, FilledTile | None]:
    """Map each operand to the part of its first tile that TMA loads fill."""
    begins: dict[str, dict[tuple[int, int], LinearExpression]] = {}
    for name, of_operand in turns.items():
        for turn in of_operand:
            line = turn.argument.address
            if line is not None:
                begins.setdefault(name, {}).setdefault((turn.place.stage, turn.tile), line)
    starts = [line for lines in begins.values() for line in lines.values()]
    firsts = {name: next(iter(begins.get(name, {}).values()), None) for name in turns}
    same_stage = {  # the tiles of M or N in the first stage
        name: [line for (stage, _), line in lines.items() if stage == next(iter(lines))[0]]
        for name, lines in begins.items()
    }
    return {name: loads.find_filled(first, starts, same_stage.get(name, ())) for name, first in firsts.items()}
