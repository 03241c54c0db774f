"""Stage counters that continue from tile to tile, so that their value is unknown after the first tile."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from lanescope.workbench.descriptors.descriptor_use import DescriptorUse

_FORGOTTEN = "'"  # marks the name of a variable whose value a loop has left unknown: stage'2
_CHOSEN = (" ? ", "…")  # and that of a value which a condition chooses, of which long ones are shortened
MOST_ALIKE = 2  # groups
# operand, name, bytes that one step of it moves the start
CounterTerm = tuple[str, str, int]


def split_by_stage_counter(uses: Sequence[DescriptorUse]) -> list[list[DescriptorUse]]:
    """Split the uses of one tile by the stage counters in their start addresses.

    A persistent kernel continues with the stage after that of the previous tile. Its counter is known for the first
    tile only; later it offsets every K step of an iteration by the same number of stages. A name counts as such a
    counter if all uses of a turn have it with the same factor, and if turns with a known stage are apart by just that
    factor. Where the stage is unknown from the first tile on, since a warpgroup begins in the middle of the ring, all
    turns must have one such name, with the same factor.
    """
    turns = _split_into_turns(uses)
    distances = _measure_stages(turns)
    common = _find_common_factors(turns)
    groups: dict[frozenset[CounterTerm], list[DescriptorUse]] = defaultdict(list)
    for members in turns:
        terms = [_list_forgotten_terms(use) for use in members]
        steady = all(other == terms[0] for other in terms)
        staged = all(
            factor in distances.get(operand, ()) or (_is_chosen(name) and factor == common.get(operand))
            for operand, name, factor in terms[0]
        )
        groups[terms[0] if steady and staged else frozenset()] += members
    return _keep_different(groups)


def split_by_counters(uses: Sequence[DescriptorUse]) -> list[list[DescriptorUse]]:
    """Split uses by the stage counters in their start addresses, whatever their loops."""
    groups: dict[frozenset[CounterTerm], list[DescriptorUse]] = defaultdict(list)
    for use in uses:
        groups[_list_forgotten_terms(use)].append(use)
    return _keep_different(groups)


def _keep_different(groups: Mapping[frozenset[CounterTerm], list[DescriptorUse]]) -> list[list[DescriptorUse]]:
    """Return the groups; of those whose stage depends on a condition, at most MOST_ALIKE with equal reads."""
    kept: list[list[DescriptorUse]] = []
    alike: Counter[object] = Counter()
    for terms, members in groups.items():
        reads = tuple((use.function, str(use.site), _list_constants(use)) for use in members)
        alike[reads] += 1
        if alike[reads] <= MOST_ALIKE or not any(_is_chosen(name) for _, name, _ in terms):
            kept.append(members)
    return kept


def _list_constants(use: DescriptorUse) -> tuple[tuple[str, int], ...]:
    found = ((name, argument.address) for name, argument in sorted(use.arguments.items()))
    return tuple((name, address.const) for name, address in found if address is not None)


def _split_into_turns(uses: Sequence[DescriptorUse]) -> list[list[DescriptorUse]]:
    """Split uses, as they are executed, into turns of the loop around the K loop, which counts upwards in each.

    If a call runs several times with the same values of its loops, the values of its K loop are unknown.
    """
    turns: list[list[DescriptorUse]] = []
    ordered = sorted(uses, key=lambda use: use.order)
    uncounted = any(use.site == later.site and use.loops == later.loops for use, later in pairwise(ordered))
    for use in ordered:
        previous = turns[-1][-1].loops if turns else None
        outer = previous is None or previous[:-1] != use.loops[:-1] or use.loops[-1:] < previous[-1:]
        if outer or (uncounted and previous != use.loops):
            turns.append([])
        turns[-1].append(use)
    return turns


def _measure_stages(turns: Iterable[Sequence[DescriptorUse]]) -> dict[str, set[int]]:
    """Map operands to the distances between the starts of iterations whose stage is known, in bytes."""
    starts: dict[str, list[int]] = defaultdict(list)
    for members in turns:
        for operand, argument in members[0].arguments.items():
            if argument.address is not None and not _list_forgotten_terms(members[0]):
                starts[operand].append(argument.address.const)
    return {
        operand: {later - earlier for earlier in found for later in found if later > earlier}
        for operand, found in starts.items()
    }


def _find_common_factors(turns: Iterable[Sequence[DescriptorUse]]) -> dict[str, int]:
    """Map operands to the factor of the counter in the first starts of iterations, if each has one, all the same."""
    factors: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    for members in turns:
        terms = _list_forgotten_terms(members[0])
        for operand in members[0].arguments:
            factors[operand].add(tuple(factor for name, _, factor in terms if name == operand))
    only = {operand: next(iter(found)) for operand, found in factors.items() if len(found) == 1}
    return {operand: of_operand[0] for operand, of_operand in only.items() if len(of_operand) == 1}


def _list_forgotten_terms(use: DescriptorUse) -> frozenset[CounterTerm]:
    return frozenset(
        (operand, name, factor)
        for operand, argument in use.arguments.items()
        if argument.address is not None
        for name, factor in argument.address.terms
        if is_counter(name)
    )


def is_counter(name: str) -> bool:
    """Return whether a name may be that of a stage counter whose value is unknown."""
    return _FORGOTTEN in name or _is_chosen(name)


def _is_chosen(name: str) -> bool:
    return any(mark in name for mark in _CHOSEN)
