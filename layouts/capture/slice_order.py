"""Find the slice of A and of B that each instruction should read: stated by the kernel, or inferred.

Hypotheses for K in a loop are: the K of A, the K of B, and consecutive steps. The one with the most right operands is
used. An order that multiplies the same slices twice in a row is rejected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanescope.capture.operand_codes import KnownOperand
from lanescope.capture.recorded_operands import MultiplyStep, OperandCodes, find_first_element, find_origin

ALL_ELEMENTS = 1.0
LEAST = 0.25  # minimum share of elements that determines a slice's start
STATED, INFERRED = "stated", "inferred"


@dataclass(frozen=True, slots=True)
class SliceHint:
    """Evidence for the slice of one operand in one step."""

    rows: int
    depth: int
    mn: int = -1
    k: int = -1
    share: float = 0.0
    first: tuple[int, int] | None = None
    low: tuple[int, int] | None = None
    size: tuple[int, int] = (0, 0)

    @property
    def is_complete(self) -> bool:
        return self.share == ALL_ELEMENTS


@dataclass(frozen=True, slots=True)
class OperandSlice:
    """The start of an operand's slice, and whether it was stated or inferred."""

    mn: int
    k: int
    by: str


def make_hint(side: OperandCodes) -> SliceHint:
    """Return the hint of an operand for slice inference."""
    origin, first = find_origin(side), find_first_element(side)
    low, size = None, (0, 0)
    near = side.memory or side.near
    if near is not None and (rectangle := near.find_present_rectangle()) is not None:
        (mn, mn_size), (k, k_size) = rectangle
        low, size = (mn, k), (mn_size, k_size)
    if origin is None:
        return SliceHint(side.rows, side.depth, first=first, low=low, size=size)
    return SliceHint(side.rows, side.depth, *origin, first, low, size)


def infer_slices(
    steps: Sequence[MultiplyStep], hints: Sequence[Mapping[str, SliceHint]], known: Mapping[str, KnownOperand]
) -> list[dict[str, OperandSlice]]:
    """Return the slice of each operand of each step, except for operands without evidence."""
    slices: list[dict[str, OperandSlice]] = [{} for _ in steps]
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, step in enumerate(steps):
        groups.setdefault(step.group, []).append(number)
    for members in groups.values():
        chosen = _infer_loop_k([steps[n] for n in members], [hints[n] for n in members], known)
        for number, k in zip(members, chosen, strict=True):
            for name, hint in hints[number].items():
                stated = steps[number].record.slice
                slice_k = stated.get("k", k)
                if slice_k is None:
                    continue
                slice_k = slice_k * hint.depth // steps[number].depth  # for a sparse A, stored columns
                letter = "m" if name == "a" else "n"
                if letter in stated and "k" in stated:
                    slices[number][name] = OperandSlice(stated[letter], slice_k, STATED)
                    continue
                mn = stated.get(
                    letter,
                    _infer_mn(number, name, members=members, steps=steps, hints=hints, known=known[name]),
                )
                if mn is not None:
                    slices[number][name] = OperandSlice(mn, slice_k, INFERRED)
    return slices


def _infer_loop_k(
    steps: Sequence[MultiplyStep], hints: Sequence[Mapping[str, SliceHint]], known: Mapping[str, KnownOperand]
) -> list[int | None]:
    """Return the K of each step of a warp or warpgroup."""
    known_ks = {
        name: [
            hint.k * step.depth // hint.depth if (hint := each.get(name)) is not None and hint.is_complete else None
            for step, each in zip(steps, hints, strict=True)
        ]
        for name in ("a", "b")
    }
    start = _infer_first_k(steps, hints, known_ks)
    tried: list[list[int | None]] = []
    if start is not None:
        tried.append(_count_k_steps(steps, start))
    for name in ("a", "b"):
        if any(k is not None for k in known_ks[name]):
            tried.append(_fill_open_k(known_ks[name], known_ks["b" if name == "a" else "a"], steps))
    if not tried:
        return [None] * len(steps)

    def score(ks: list[int | None]) -> tuple[bool, int, int]:
        right = sum(
            _is_same_k(known_ks[name][n], k, known.get(name))
            for n, k in enumerate(ks)
            for name in ("a", "b")
            if k is not None
        )
        return not _repeats_slices(steps, hints, ks), right, len(set(ks))

    best = max(tried, key=score)
    return [step.record.slice.get("k", k) for step, k in zip(steps, best, strict=True)]


def _is_same_k(k: int | None, other: int, known: KnownOperand | None) -> bool:
    if k is None:
        return False
    period = known.periods[1] if known is not None else 0
    return (k - other) % period == 0 if period else k == other


def _infer_first_k(
    steps: Sequence[MultiplyStep],
    hints: Sequence[Mapping[str, SliceHint]],
    known_ks: Mapping[str, Sequence[int | None]],
) -> int | None:
    """Return the K of the first step; the lower one if operands disagree, because most loops begin at 0."""
    first = [k for k in (known_ks["a"][0], known_ks["b"][0]) if k is not None]
    if first:
        return min(first)
    votes: Counter[int] = Counter()
    for hint in hints[0].values():
        if hint.first is not None and hint.first[1] * steps[0].depth // hint.depth % steps[0].depth == 0:
            votes[hint.first[1] * steps[0].depth // hint.depth] += 1
        if hint.low is not None:
            votes[hint.low[1] * steps[0].depth // hint.depth] += 1
    return votes.most_common(1)[0][0] if votes else None


def _count_k_steps(steps: Sequence[MultiplyStep], start: int) -> list[int | None]:
    """Return consecutive K steps; if several source lines use the same K, each line is counted separately."""
    ks: list[int | None] = []
    count: Counter[int] = Counter()
    for step in steps:
        ks.append(start + count[step.record.line] * step.depth)
        count[step.record.line] += 1
    if len(count) > 1 and max(count.values()) == 1:  # an unrolled loop: a line per step
        ks = [start + n * step.depth for n, step in enumerate(steps)]
    return ks


def _fill_open_k(
    ks: Sequence[int | None], other: Sequence[int | None], steps: Sequence[MultiplyStep]
) -> list[int | None]:
    """Return one operand's K, with gaps filled from the other operand or from the previous step."""
    filled: list[int | None] = []
    for n, k in enumerate(ks):
        if k is None:
            k = other[n]
        if k is None and n and (before := filled[n - 1]) is not None:
            k = before + steps[n].depth
        filled.append(k)
    return filled


def _repeats_slices(
    steps: Sequence[MultiplyStep], hints: Sequence[Mapping[str, SliceHint]], ks: Sequence[int | None]
) -> bool:
    """Return whether a step multiplies the same slices as the previous step at the same line."""
    for n in range(1, len(ks)):
        if ks[n] is None or ks[n] != ks[n - 1] or steps[n].record.line != steps[n - 1].record.line:
            continue
        before, here = hints[n - 1], hints[n]
        both = [name for name in here if name in before]
        if both and all(
            before[name].is_complete and here[name].is_complete and before[name].mn == here[name].mn for name in both
        ):
            return True
    return False


def _infer_mn(
    number: int,
    name: str,
    *,
    members: Sequence[int],
    steps: Sequence[MultiplyStep],
    hints: Sequence[Mapping[str, SliceHint]],
    known: KnownOperand,
) -> int | None:
    """Return the slice's first row of M or N."""
    hint = hints[number][name]
    if hint.is_complete and hint.mn % 8 == 0:
        return hint.mn
    line = steps[number].record.line
    same = [hints[n][name] for n in members if steps[n].record.line == line and name in hints[n]]
    mn = _find_first_row_of_complete(hint, same)
    if mn is None:
        mn = _of_most(same, known)
    return hint.low[0] if mn is None and hint.low is not None else mn


def _find_first_row_of_complete(hint: SliceHint, same: Sequence[SliceHint]) -> int | None:
    """Return the first row of completely read slices at the same line: this step's, else the most frequent one."""
    counts = Counter(other.mn for other in same if other.is_complete and other.mn % 8 == 0)
    for mn in (hint.mn if hint.share >= LEAST else None, hint.first[0] if hint.first else None):
        if mn in counts:
            return mn
    return counts.most_common(1)[0][0] if counts else None


def _of_most(same: Sequence[SliceHint], known: KnownOperand) -> int | None:
    """Return the first row that most steps at the same line probably read."""
    firsts = [(hint, hint.mn) for hint in same if hint.share >= LEAST]
    firsts += [(hint, hint.first[0]) for hint in same if hint.first]
    likely = Counter(mn for hint, mn in firsts if mn % 8 == 0 and _is_in_memory(hint, mn, known))
    return likely.most_common(1)[0][0] if likely else None


def _is_in_memory(hint: SliceHint, mn: int, known: KnownOperand) -> bool:
    """Return whether the slice's rows from mn on are in memory."""
    if hint.low is None:
        return True
    away = mn - hint.low[0]
    if not known.real:
        away %= known.periods[0]
        if hint.size[0] == known.periods[0]:
            return True
    return away >= 0 and away + hint.rows <= hint.size[0]
