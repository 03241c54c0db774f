"""Fences and membar.

Emulated memory is in order, so they do not change values. PTX ISA 9.1, 9.7.13.4.
"""

from __future__ import annotations

import re

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.state.block import Group
from lanescope.emulate.text.program import Statement

_SCOPE = r"\.(cta|cluster|gpu|sys)"
_RESTRICT = r"(acquire\.sync_restrict::shared::cluster|release\.sync_restrict::shared::cta)\.cluster"
_FORMS = re.compile(
    rf"fence(\.(sc|acq_rel|acquire|release))?{_SCOPE}"
    rf"|fence\.{_RESTRICT}"
    r"|fence\.mbarrier_init\.release\.cluster"
    r"|(fence|membar)\.proxy\.(alias|async(\.global|\.shared::cta|\.shared::cluster)?)"
    rf"|fence\.proxy\.tensormap::generic\.(acquire|release){_SCOPE}"
    rf"|fence\.proxy\.async::generic\.{_RESTRICT}"
    r"|membar\.(cta|gl|sys)"
)


@instruction("fence", "membar")
def build_fence(compiler: Compiler, statement: Statement) -> Action:
    """Build a fence: the block records when each thread executed its last fence, and its last proxy fence."""
    if not _FORMS.fullmatch(statement.opcode):
        raise UnknownInstructionError(statement)
    proxy = statement.has("proxy") and not statement.has("alias")

    def fence(group: Group) -> None:
        block, step = group.block, group.run.machine.steps
        block.synced[group.ids] = step
        if proxy:
            block.fenced[group.ids] = step

    return fence
