"""List the reads that go wrong because of a mistake elsewhere in the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from lanescope.inputs import format_count, join_words
from lanescope.workbench.results import OperandStep, Span, VerifiedOperand, Workbench, WrongRead


def list_wrong_reads(bench: Workbench, wrong_steps: list[tuple[VerifiedOperand, OperandStep]]) -> Iterator[WrongRead]:
    """Yield the spans where operands get wrong descriptors, and the instruction that reads them if it occurs once."""
    counts = Counter(
        (operand.name.upper(), operand.instruction, step.span) for operand, _ in wrong_steps for step in operand.wrong
    )
    for (name, instruction, span), count in counts.items():
        yield WrongRead(f"{name} of {instruction}: {format_count(count, 'read')} from the wrong place.", span)
    for instruction, names in _group_names(counts).items():
        spans = [p.spans for p in bench.pieces if p.kind == "instruction" and p.facts.get("ptx") == instruction]
        if len(spans) == 1 and len(spans[0]) == 1:
            yield WrongRead(f"This instruction reads {join_words(names)} from the wrong place.", spans[0][0])


def _group_names(counts: Iterable[tuple[str, str, Span]]) -> dict[str, list[str]]:
    """Return the names of the operands that are read wrongly, by instruction."""
    names: dict[str, dict[str, None]] = {}
    for name, instruction, _ in counts:
        names.setdefault(instruction, {})[name] = None
    return {instruction: list(every) for instruction, every in names.items()}
