"""Scale factors of tcgen05.mma in a run that follows tiles: copies to shared and to tensor memory, and their uses.

A row's factors are in lane row % 32 and column row / 32, in the bytes of a word that the instruction descriptor says.
PTX ISA 9.1, 9.7.16.10.7.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lanescope.blackwell import idesc
from lanescope.blackwell.tmem import FACTORS
from lanescope.blackwell.umma import find_scale_vector, parse_mma_opcode
from lanescope.reader.threads.barriers.tensor_trace import TensorEvent
from lanescope.reader.threads.memory.storage import Mask, Pointer, spread_coefficient
from lanescope.reader.threads.memory.tile_records import LineMove, ScaleCopy, ScaleUse

if TYPE_CHECKING:
    from lanescope.reader.threads.instructions.asm_code import AsmCode

_COPY = re.compile(r"tcgen05\.cp\.cta_group::1\.32x128b\.warpx4")
_LINE = re.compile(r"cp\.async\.bulk\.shared::\w+\.global\.")
_COLUMN = (1 << 16) - 1


def make_line_move(code: AsmCode, opcode: str, operands: Sequence[str], mask: Mask, event: int) -> LineMove | None:
    """Return a cp.async.bulk to shared memory whose source and bytes are known. event: its number in the trace."""
    source = code.get_address(operands[1]) if _LINE.match(opcode) and len(operands) > 2 else None
    if not isinstance(source, Pointer) or not isinstance(source.array, str) or source.offset is None:
        return None
    place, size, threads = code.find_lanes(operands[0]), code.find_lanes(operands[2]), code.run.threads
    if source.offset.const is None or place is None or size is None:
        return None
    return LineMove(event, mask.copy(), source.array, spread_coefficient(source.offset.const, threads), place, size)


def make_scale_copy(event: TensorEvent, number: int) -> ScaleCopy | None:
    """Return a tcgen05.cp of scale factors; None for another shape, and if its source is not known."""
    lane = int(event.mask.argmax())
    alone = np.count_nonzero(event.mask) == 1 and "source" in event.operands
    if not alone or not _COPY.fullmatch(event.opcode):
        return None
    word = int(event.operands["source"][lane]) & ((1 << 64) - 1)
    return ScaleCopy(number, word, int(event.operands["at"][lane]) & _COLUMN)


def list_scale_uses(event: TensorEvent) -> Mapping[str, ScaleUse]:
    """Return the scale factors that a product of one CTA takes, by operand; none if it takes none."""
    if "scale_a" not in event.operands:
        return {}
    lane = int(event.mask.argmax())
    kind = parse_mma_opcode(event.opcode).kind
    word = idesc.IdescWord(int(event.operands["idesc"][lane]) & idesc.MOST, kind)
    count = FACTORS[find_scale_vector(event.opcode, kind)]
    return {
        name: ScaleUse(
            int(event.operands[f"scale_{name}"][lane]) & _COLUMN,
            word.get_code(f"sf{name}_id"),
            count,
        )
        for name in "ab"
    }
