"""tcgen05.mma as a reader of descriptors, next to wgmma.

`uses.py` lists its uses in asm statements; `workbench_builder.py`, `operands.py` and `verification.py` call `make_view`
for the way in which it reads its operands.
"""

from __future__ import annotations

from lanescope.blackwell.described_mma import Tcgen05Mma
from lanescope.descriptor.matrix import View, view
from lanescope.ptx.instruction import Instruction

__all__ = ["TARGET_KEY", "TCGEN05_KEY", "Tcgen05Mma", "make_view"]

TCGEN05_KEY = "tcgen05"  # among the choices: whether tcgen05.mma is verified; the page has no sheet for it
TARGET_KEY = "target"  # among the choices: what the text is compiled for


def make_view(instruction: Instruction | Tcgen05Mma, name: str, major: str) -> View:
    """Return how an instruction reads A or B through a descriptor."""
    if isinstance(instruction, Tcgen05Mma):
        return instruction.make_view(name, major)
    return view(instruction, name, major)
