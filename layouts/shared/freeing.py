"""Find the smallest swizzle that avoids the bank conflicts of given accesses, or explain why none does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from lanescope.deadline import check_deadline
from lanescope.inputs import join_words
from lanescope.shared.banks import BANK_BYTES, BANKS, AccessUse, Cost, format_swizzle
from lanescope.shared.swizzle import MODES, Swizzle


@dataclass(frozen=True, slots=True)
class SwizzleSolution:
    """A swizzle of byte addresses, its cost for each use, whether all are free of conflicts, and the reason.

    tried: the number of swizzles that can change a bank of these addresses.
    """

    swizzle: Swizzle
    costs: tuple[Cost, ...]
    free: bool
    why: str
    tried: int


PLAIN = Swizzle(0, 4, 3)
TOP_BANK_BIT = 6  # byte address bits 2 to 6 choose the bank


def list_swizzles(finest: int, highest: int) -> list[Swizzle]:
    """Return the identity and every swizzle of byte addresses that can change a bank, smallest first.

    They change bits `finest` to 6 by a run of bits above, up to `highest`; any other swizzle changes no bank, or the
    same ones as a swizzle of fewer bits. Smallest means: fewest bits; then TMA's modes, then the largest base, then the
    smallest shift.
    """
    candidates = [PLAIN]
    modes = {mode.swizzle() for mode in MODES}
    for bits in range(1, TOP_BANK_BIT + 2 - finest):
        bases = range(TOP_BANK_BIT + 1 - bits, finest - 1, -1)
        alike = [Swizzle(bits, base, shift) for base in bases for shift in range(bits, highest - base - bits + 2)]
        candidates += sorted(alike, key=lambda xor: xor not in modes)
    return candidates


def _find_highest_bit(uses: Sequence[AccessUse]) -> int:
    """Return the highest address bit in which lanes of one use differ."""
    addresses = [[at for at in use.addresses if at is not None] for use in uses]
    return max((at ^ active[0]).bit_length() - 1 for active in addresses for at in active)


def find_freeing_swizzle(uses: Sequence[AccessUse]) -> SwizzleSolution:
    """Return the smallest Swizzle<B, M, S> under which every use is free of conflicts; all are tried.

    If there is none, return the one with the fewest conflicts, and why it is not enough.

    >>> from lanescope.shared.banks import get_access, make_address_use
    >>> find_freeing_swizzle([make_address_use(get_access("ldmatrix.x4"), [512 * lane for lane in range(32)])]).swizzle
    Swizzle(bits=3, base=4, shift=5)
    """
    tried = list_swizzles(max(use.finest for use in uses), _find_highest_bit(uses))
    best, least = PLAIN, (1 << 30, 0)
    for xor in tried:
        check_deadline()
        use_costs = [use.compute_use_cost(xor) for use in uses]
        conflicts = max(c.ways for c in use_costs), sum(c.wavefronts for c in use_costs)
        if conflicts < least:
            best, least = xor, conflicts
        if least[0] == 1:
            break
    costs = tuple(use.compute_use_cost(best) for use in uses)
    if least[0] > 1:
        return SwizzleSolution(best, costs, False, _explain_no_swizzle(uses, tried, best, least[0]), len(tried))
    scope = f" for all {len(uses)} accesses" if len(uses) > 1 else ""
    why = (
        f"{format_swizzle(best)} on byte addresses is the smallest swizzle without bank conflicts{scope}."
        if best.bits
        else "No swizzle is needed."
    )
    return SwizzleSolution(best, costs, True, why, len(tried))


def _explain_no_swizzle(uses: Sequence[AccessUse], tried: Sequence[Swizzle], best: Swizzle, ways: int) -> str:
    """Explain why no swizzle frees all uses: what each would need, or why a single one cannot be freed."""
    finest = max(use.finest for use in uses)
    head = f"No swizzle avoids all conflicts: all {len(tried)} that can change a bank were tried, and "
    head += (
        f"the best, {format_swizzle(best)}, leaves {ways}-way conflicts."
        if best.bits
        else f"none of them improves on the {ways}-way conflicts there are."
    )
    if len(uses) == 1:
        return f"{head} {_describe_stuck_use(uses[0])}"
    alone = {use: find_freeing_swizzle([use]) for use in dict.fromkeys(uses)}
    if stuck := [use for use in alone if not alone[use].free]:
        reasons = (
            f"{use.text} has conflicts with every swizzle, even by itself. {_describe_stuck_use(use)}" for use in stuck
        )
        return f"{head} {' '.join(reasons)}"
    frees = {use: {xor for xor in tried if use.compute_use_cost(xor).ways == 1} for use in alone}
    for use, freeing in frees.items():
        if not freeing:
            wide = next(other for other in uses if other.finest == finest)
            return (
                f"{head} {use.text} needs {format_swizzle(alone[use].swizzle)}, but {wide.text} needs"
                f" {wide.access.bytes} contiguous bytes: M = {finest} or more."
            )
    for use, other in combinations(frees, 2):
        check_deadline()
        if not frees[use] & frees[other]:
            return (
                f"{head} {use.text} is conflict-free with {_format_swizzles(frees[use])}, {other.text} with"
                f" {_format_swizzles(frees[other])}, and no swizzle is in both lists."
            )
    return f"{head} Any two of them can be conflict-free with one swizzle, but not all {len(uses)}."


def _format_swizzles(swizzles: set[Swizzle]) -> str:
    names = [format_swizzle(xor) for xor in sorted(swizzles, key=lambda xor: (xor.bits, -xor.base, xor.shift))]
    return " or ".join(names) if len(names) < 4 else f"{', '.join(names[:2])} or {len(names) - 2} others"


def _describe_stuck_use(use: AccessUse) -> str:
    """Return which address bits differ between lanes that conflict, and which bits a swizzle can XOR."""
    differ = 0
    for phase in use.access.list_phases(use.addresses):
        words = {
            at // BANK_BYTES + n
            for lane in phase
            if (at := use.addresses[lane]) is not None
            for n in range(max(1, use.access.bytes // BANK_BYTES))
        }
        by_bank: dict[int, int] = {}
        for word in sorted(words):
            differ |= word ^ by_bank.setdefault(word % BANKS, word)
    bits = [bit + 2 for bit in range(differ.bit_length()) if differ >> bit & 1]
    width = TOP_BANK_BIT + 1 - use.finest
    return (
        f"Its lanes that conflict differ in address bit{'s' * (len(bits) > 1)} {_format_bit_runs(bits)}; a swizzle XORs"
        f" one run of consecutive bits, here of at most {width}, into bits {use.finest} to {TOP_BANK_BIT}."
    )


def _format_bit_runs(bits: list[int]) -> str:
    """Format bit numbers: 7 8 9 12 as "7 to 9 and 12"."""
    runs: list[list[int]] = []
    for bit in bits:
        if runs and runs[-1][-1] == bit - 1:
            runs[-1].append(bit)
        else:
            runs.append([bit])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]} {'and' if len(run) == 2 else 'to'} {run[-1]}" for run in runs]
    return join_words(texts)
