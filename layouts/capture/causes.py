"""Group a capture's wrong steps by mistake: one cause per mistake, with the steps that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lanescope.capture.verdict import OperandVerdict, StepVerdict
from lanescope.inputs import join_words
from lanescope.ptx.table.descriptors import START

# codes for data that is missing or in an unknown layout: for one operand, one of these explains the others
_MEMORY = frozenset("slice_incomplete slice_not_in_memory layout_not_found reads_past_recorded".split())
Fields = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureCause:
    """One mistake.

    operands: those it affects; count, total: number of wrong steps and of all steps; first: the first wrong step;
    message: its diagnosis; repairs: operand → (word, right word) in that step; folded: codes of later diagnoses that
    follow from it.
    """

    code: str
    message: str
    operands: tuple[str, ...]
    count: int
    total: int
    first: StepVerdict
    repairs: Mapping[str, tuple[int, int]]
    folded: tuple[str, ...] = ()

    @property
    def whose(self) -> str:
        return join_words([name.upper() for name in self.operands])


@dataclass(slots=True)
class _RootCause:
    """A cause of one operand while its steps are collected."""

    code: str
    message: str
    fields: Fields
    first: StepVerdict
    operand: OperandVerdict
    numbers: list[int] = field(default_factory=list)
    folded: dict[str, None] = field(default_factory=dict)


def find_causes(steps: Sequence[StepVerdict]) -> tuple[CaptureCause, ...]:
    """Return the causes of a capture's wrong steps in order of occurrence; equal causes of A and B are merged."""
    totals = {name: sum(any(o.name == name for o in step.operands) for step in steps) for name in "ab"}
    roots = {name: _find_roots(steps, name) for name in "ab"}
    causes: list[CaptureCause] = []
    left = list(roots["b"])
    for root in roots["a"]:
        alike = next((cause for cause in left if _can_merge(root, cause)), None)
        if alike is not None:
            left.remove(alike)
        causes.append(_merge_roots([root, *([alike] if alike else [])], totals["a"]))
    causes += [_merge_roots([root], totals["b"]) for root in left]
    return tuple(sorted(causes, key=lambda cause: cause.first.number))


def _can_merge(root: _RootCause, other: _RootCause) -> bool:
    """Return whether causes of A and B have the same code, steps and repairs."""
    worded = _find_fixed_word(root.operand) is None or _find_fixed_word(other.operand) is None
    return root.code == other.code and root.numbers == other.numbers and (not worded or root.message == other.message)


def _merge_roots(roots: Sequence[_RootCause], total: int) -> CaptureCause:
    first = roots[0]
    repairs = {
        root.operand.name: (root.operand.word, fix)
        for root in roots
        if root.operand.word is not None and (fix := _find_fixed_word(root.operand)) is not None
    }
    folded = tuple(dict.fromkeys(code for root in roots for code in root.folded))
    names = tuple(root.operand.name for root in roots)
    return CaptureCause(
        code=first.code,
        message=first.message,
        operands=names,
        count=len(first.numbers),
        total=total,
        first=first.first,
        repairs=repairs,
        folded=folded,
    )


def _find_fixed_word(operand: OperandVerdict) -> int | None:
    return next((cause.fix.word for cause in operand.diagnoses if cause.fix is not None), None)


def _find_roots(steps: Sequence[StepVerdict], name: str) -> list[_RootCause]:
    """Return the causes of one operand."""
    roots: list[_RootCause] = []
    starts: dict[object, tuple[int, int]] = {}  # for each warp: the previous step's start, and its error
    for step in steps:
        operand = next((o for o in step.operands if o.name == name), None)
        if operand is None:
            continue
        who = step.record.block, step.record.warp
        before = starts.get(who)
        if operand.word is not None:
            starts[who] = START.get(operand.word), _get_start_distance(operand)
        if operand.ok:
            continue
        if operand.diagnoses:
            carried = (
                before is not None
                and _list_changed_fields(operand) == {START.name}
                and _get_start_distance(operand) == before[1]
            )
            roots += _new_roots(roots, step, operand, carried)
        elif roots:  # search budget used up: the last known cause is the likeliest
            roots[-1].numbers.append(step.number)
    return roots


def _new_roots(
    roots: Sequence[_RootCause], step: StepVerdict, operand: OperandVerdict, carried: bool
) -> list[_RootCause]:
    """Add a wrong step to the causes that it follows from, and return its new ones.

    carried: whether the error of its start is that of the previous step.
    """
    codes = {diagnosis.code: diagnosis.message for diagnosis in operand.diagnoses}
    known = [root for root in roots if root.code in codes]
    for root in known:
        root.numbers.append(step.number)
    named = {root.code for root in known}
    new = [code for code in codes if code not in named]
    left = _list_changed_fields(operand) - frozenset[str]().union(*(root.fields for root in known))
    if known and not left:  # its other diagnoses follow from these
        known[0].folded.update(dict.fromkeys(new))
        return []
    earlier = (root for root in reversed(roots) if left <= root.fields and _may_follow(root, step, carried))
    if (before := next(earlier, None)) is not None:
        before.folded.update(dict.fromkeys(new))
        before.numbers += [step.number] if step.number not in before.numbers else []
        return []
    count = max(len(left), 1)  # one mistake explains as many fields
    new_roots = [_RootCause(code, codes[code], left, step, operand, [step.number]) for code in new[:count]]
    for root in new_roots[:1]:
        root.folded.update(dict.fromkeys(new[count:]))
    return new_roots


def _may_follow(root: _RootCause, step: StepVerdict, carried: bool) -> bool:
    """Return whether a wrong step may follow from an earlier cause.

    It may if it is at the same line, or if the error of its start is that of the previous step.
    """
    first, second = root.first.record, step.record
    return carried or (first.file, first.line) == (second.file, second.line)


def _list_changed_fields(operand: OperandVerdict) -> Fields:
    """Return the fields that a repair changes; for missing data and registers, the fields of the diagnosis."""
    changed = next((cause.changes for cause in operand.diagnoses if cause.changes), {})
    if changed:
        return frozenset(changed)
    return frozenset("memory" if cause.code in _MEMORY else cause.code for cause in operand.diagnoses)


def _get_start_distance(operand: OperandVerdict) -> int:
    """Return the error of the start, encoded."""
    changed = next((cause.changes for cause in operand.diagnoses if START.name in cause.changes), {})
    start, needed = changed.get(START.name, (0, 0))
    return needed - start
