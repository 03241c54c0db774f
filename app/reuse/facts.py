"""What becomes of an accumulator when it is the next A: facts for the API, the page and the command line.
No framework.
"""

from __future__ import annotations

from typing import Any

from layouts import reading
from layouts.instruction import Instruction
from layouts.render.reuse import code, conversion
from layouts.reuse import reuse

FLASH = ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")


def reuse_facts(first: Instruction, second: Instruction, step_text: int | str = "0") -> dict[str, Any]:
    """Which of A's values are already in their lane, in which order of K all are, and the code that makes A's
    registers.

    tile, thread, value: those of one K step; stay, total, order and code: of all.
    """
    found = reuse(first, second)
    step = reading.number(step_text or "0", "step", 0, found.steps - 1)
    return {
        "from": first.ptx,
        "to": second.ptx,
        "verdict": found.verdict,
        "tiles": found.tiles,
        "steps": found.steps,
        "stay": int(found.stays.sum()),
        "total": int(found.stays.size),
        "order": found.order,
        "order_period": found.period,
        "step": step,
        "tile": found.tile[step],
        "thread": found.lane[step],
        "value": found.value[step],
        "conversion": conversion(found.source.element.name, found.target).note,
        "code": code(found),
    }
