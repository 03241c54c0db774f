"""The scale-d of a wgmma: its value in a run, and where it is given."""

from __future__ import annotations

import re

from lanescope.reader.code.findings import AsmRun
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.workbench.results import Span
from lanescope.workbench.text.asm_operands import (
    count_left_out,
    find_operand_argument,
    find_predicate_source,
    join_strings,
)
from lanescope.workbench.text.scan import InstructionMention, find_mentions


def find_scale(run: object) -> int | None:
    """Return the scale-d of a wgmma, None if unknown."""
    if not isinstance(run, AsmRun):
        return None
    value, _ = _read_scale(run)
    return value


def find_scale_place(run: AsmRun) -> Span:
    """Return where the statement of a wgmma is given its scale-d: an operand, else the statement."""
    return _read_scale(run)[1]


def _read_scale(run: AsmRun) -> tuple[int | None, Span]:
    """Return (the scale-d of a wgmma, None if unknown; its place)."""
    mention: InstructionMention | None = next(
        (m for m in find_mentions(run.text) if m.instruction.family.by_descriptor), None
    )
    if mention is None or len(mention.arguments) < 4:
        return None, run.span
    return _read_flag(run, mention.arguments[3], join_strings(run.text), count_left_out(run, mention.arguments[1:3]))


def _read_flag(run: AsmRun, flag: str, code: str, cut: int) -> tuple[int | None, Span]:
    """Return (value, place) of a predicate operand, through the setp that sets it."""
    if flag in ("true", "false"):
        return int(flag == "true"), run.span
    if re.fullmatch(r"[a-zA-Z_]\w*", flag):
        source = find_predicate_source(flag, code)
        if source is None:
            return None, run.span
        flag = source
    value, span, _ = find_operand_argument(run, flag, cut)
    return (value.known if isinstance(value, SymbolicInt) else None), span
