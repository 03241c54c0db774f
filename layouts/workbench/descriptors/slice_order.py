"""Determine the slice of each execution of an instruction: its loops are classified as K steps, M and N tiles or
stages, by the addresses that they move and by their names.

`workbench_builder.py` calls `find_places` once for each instruction; `statements.py` says which calls follow one
another as K steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.workbench.descriptors import statements
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.reads.stage_counters import is_counter

_STAGE = re.compile(r"stage|pipe|buf|slot|^s$|^st$|phase", re.I)
_K = re.compile(r"^k+\d?$|^k_|_k$|^ki$|k_?(?:step|iter|block|inner|idx)|(?:inner|sub)_?k|^kk|[a-z]K$", re.I)
_TILES = re.compile(r"tile|block|iter|outer|chunk", re.I)
_M = re.compile(r"^m+\d?$|^m_|_m$|^mi$|^wm$", re.I)
_N = re.compile(r"^n+\d?$|^n_|_n$|^ni$|^wn$", re.I)


@dataclass(frozen=True, slots=True)
class SlicePlace:
    """The stage, the tile of M, the tile of N and the K step of a use, all counted from 0."""

    stage: int
    m: int
    n: int
    k: int


Lines = dict[str, LinearExpression | None]
_K_BYTES = 32  # of a K step of a K-major operand


def find_places(uses: list[DescriptorUse], endless: Iterable[str], text: str) -> list[SlicePlace]:
    """Find the slice of every use of one instruction. text: the code that contains them."""
    written = statements.find_k_runs(uses, text)
    lines = [{name: argument.address for name, argument in use.arguments.items()} for use in uses]
    roles = _find_loop_roles(uses, lines, set(endless))
    roles.update(dict.fromkeys(_list_tile_loops(uses, lines, roles), "stage"))
    order = _Order(uses, roles)
    return [order.place(use, lines[number], *written.get(number, (None, 0))) for number, use in enumerate(uses)]


class _Order:
    """The uses of one instruction, placed in sequence. roles: what each loop variable moves."""

    def __init__(self, uses: list[DescriptorUse], roles: dict[str, str]) -> None:
        self.uses = uses
        self.roles = roles
        self.runs = _LoopRuns()
        self.stages: dict[tuple[object, ...], int] = {}
        self.first: dict[object, SlicePlace] = {}  # of calls that are written one after the other
        self.seen: dict[tuple[int, str], list[tuple[Lines, SlicePlace]]] = {}
        self.steps: dict[tuple[object, ...], int] = {}  # turn of the loops along K → its K step
        self.last: dict[tuple[Any, ...], tuple[Any, ...]] = {}  # the last turn of a site
        self.tiles: dict[tuple[object, ...], SlicePlace] = {}  # the last slice of a site
        self.turns: dict[tuple[object, ...], list[Lines]] = {}  # what the sites of one turn read
        self.skips = _skips_turns(uses, roles)

    def place(self, use: DescriptorUse, addresses: Lines, run_of: object, at: int) -> SlicePlace:
        """Return the slice of the next use.

        addresses: where its descriptors start; run_of, at: the run of calls that it belongs to, its index there.
        """
        values = dict(use.loops)
        turn = tuple(values[name] for name in values if self.roles.get(name) == "k")
        run, site = self.runs.assign_run(use, addresses, turn)
        stage_key = (run, *(value for name, value in use.loops if self.roles.get(name) == "stage"))
        stage = self.stages.setdefault(stage_key, len(self.stages))
        # the steps of a lone operand are counted by themselves
        whose = next(iter(addresses)) if len(addresses) == 1 else ""
        before = self.seen.setdefault((stage, whose), [])
        step = (stage, whose, site, turn)
        if at and run_of in self.first:  # one of several calls, each one K step after the previous
            begun = self.first[run_of]
            placed = SlicePlace(stage, begun.m, begun.n, begun.k + at)
        else:
            again = None if use.again or (turn and step not in self.steps) else _find_repeat(before, addresses)
            tiles = self._list_tiles(values)
            k, m, n = (again.k, again.m, again.n) if again else self._find_next(step, before, addresses, tiles)
            placed = SlicePlace(stage, m, n, k)
            if run_of is not None:
                self.first[run_of] = placed
        self.steps[step] = placed.k
        self.last[step[:-1]] = step
        self.tiles[step[:-1]] = placed
        self.turns.setdefault((stage, whose, turn), []).append(addresses)
        before.append((addresses, placed))
        return placed

    def _list_tiles(self, values: Mapping[str, int]) -> dict[str, int]:
        """Return m and n as far as loops count them."""
        tiled = [name for name in values if self.roles.get(name) in ("m", "n")]
        return {self.roles[name]: _get_rank(self.uses, name, values[name]) for name in tiled}

    def _find_next(
        self,
        step: tuple[object, ...],
        before: list[tuple[Lines, SlicePlace]],
        addresses: Lines,
        tiles: Mapping[str, int],
    ) -> tuple[int, int, int]:
        """Return (k, m, n) of a use with new addresses."""
        if step in self.steps:
            return self.steps[step], tiles.get("m", 0), tiles.get("n", 0)
        if not before:
            return self._find_step(step), tiles.get("m", 0), tiles.get("n", 0)
        last, turn = self.tiles.get(step[:-1], before[-1][1]), step[-1]
        k = self._find_step(step) or 1 + max(place.k for _, place in before)
        m, n = tiles.get("m", last.m), tiles.get("n", last.n)
        beside = self.turns.get((*step[:2], turn), ())  # such as the other rows of a K step
        shares = any(
            lines[name] is not None and lines[name] == addresses.get(name) for lines in beside for name in lines
        )
        unrolled = len(addresses) == 2 and (not turn or shares)
        return _place_unrolled(before, addresses, k, m, n) if unrolled else (k, m, n)

    def _find_step(self, step: tuple[Any, ...]) -> int:
        """Return the K step of a turn of the innermost loop along K, counted from the last one before it, or from the
        loop's first; 0 if the loop skips none of its turns, or began anew.
        """
        before = self.last.get(step[:-1])
        if not self.skips or (before is not None and before[-1][:-1] != step[-1][:-1]):
            return 0
        gap = _count_turns(self.uses, self.roles, before[-1] if before is not None else (), step[-1])
        return self.steps[before] + gap if before is not None and gap > 0 else gap


def _skips_turns(uses: Sequence[DescriptorUse], roles: Mapping[str, str]) -> bool:
    """Return whether turns of a loop along K are missing between two uses: the code is too long to be evaluated."""
    others = [tuple((name, value) for name, value in use.loops if roles.get(name) != "k") for use in uses]
    turns = [tuple(value for name, value in use.loops if roles.get(name) == "k") for use in uses]
    near = (n for n in range(len(uses) - 1) if others[n] == others[n + 1] and turns[n])
    return any(_count_turns(uses, roles, turns[n], turns[n + 1]) > 1 for n in near)


def _count_turns(uses: Sequence[DescriptorUse], roles: Mapping[str, str], turn: Any, later: Any) -> int:
    """Return how many turns of the innermost loop along K are from one, () for its first, to a later one; 0 if another
    loop has moved.
    """
    name = next((name for name, _ in reversed(uses[0].loops) if roles.get(name) == "k"), None)
    if name is None or not later:
        return 0
    values = sorted({value for use in uses for of, value in use.loops if of == name})
    first = turn or (*later[:-1], values[0])
    if len(values) < 2 or first[:-1] != later[:-1] or len(first) != len(later) or first[-1] >= later[-1]:
        return 0
    return int((later[-1] - first[-1]) // min(b - a for a, b in pairwise(values)))


class _LoopRuns:
    """K loops that run at each call of a function: each call with other addresses reads another tile."""

    def __init__(self) -> None:
        self.turns: dict[object, dict[tuple[object, ...], set[tuple[int, ...]]]] = {}  # of each call of a site
        self.first: dict[object, Lines] = {}
        self.number: dict[object, int] = {}
        self.like: dict[object, tuple[object, ...]] = {}

    def assign_run(self, use: DescriptorUse, addresses: Lines, turn: tuple[int, ...]) -> tuple[int, tuple[object, ...]]:
        """Return (run of its loop, site) of a use.

        The run is 0 for the first and if calls form no runs. The site is that of a run that begins where another did.
        """
        enclosing = use.site[1:]
        site = use.site[0], tuple(sorted(addresses))
        others = self.turns.setdefault(site, {})
        if enclosing not in others:
            self.first[site, enclosing] = addresses
            self.like[site, enclosing] = enclosing
            run = 0
            if turn and any(len(turns) > 1 for turns in others.values()):  # their steps came before this call
                same = next((c for c in others if self.first[site, c] == addresses), None)
                run = 1 + max(self.number[site, c] for c in others) if same is None else self.number[site, same]
                self.like[site, enclosing] = self.like[site, same] if same is not None else enclosing
            self.number[site, enclosing] = run
        others.setdefault(enclosing, set()).add(turn)
        return self.number[site, enclosing], (use.site[0], *self.like[site, enclosing])


def _get_rank(uses: list[DescriptorUse], name: str, value: int) -> int:
    values = list(dict.fromkeys(dict(use.loops)[name] for use in uses if name in dict(use.loops)))
    return values.index(value)


def _find_repeat(before: list[tuple[Lines, SlicePlace]], addresses: Lines) -> SlicePlace | None:
    """Find an earlier use that reads the same, and return its slice."""
    return next((place for lines, place in before if lines == addresses), None)


def _place_unrolled(
    before: list[tuple[Lines, SlicePlace]], addresses: Lines, k: int, m: int, n: int
) -> tuple[int, int, int]:
    """Return the slice of an unrolled use: one of its two addresses may be that of an earlier use."""
    last = before[-1][0]
    for name, other in (("a", "b"), ("b", "a")):
        same = [(lines, place) for lines, place in before if lines.get(other) == addresses.get(other)]
        if not same or addresses.get(name) is None:
            continue
        moved = _get_difference(addresses[name], last.get(name))
        if moved == _K_BYTES and last.get(other) == addresses.get(other):
            return k, m, n  # one K step further, unlike the other operand
        place = same[0][1]
        known = [lines.get(name) for lines, p in same]
        count = len(set(map(str, known)))
        return (place.k, count, place.n) if name == "a" else (place.k, place.m, count)
    return k, _find_nearest_tile(before, addresses, "a", m), _find_nearest_tile(before, addresses, "b", n)


def _find_nearest_tile(before: list[tuple[Lines, SlicePlace]], addresses: Lines, name: str, last: int) -> int:
    """Find the tile of M or N that a later K step continues: its address in the step before is the next lower one."""
    least: tuple[int, int] | None = None
    for lines, place in before:
        moved = _get_difference(addresses.get(name), lines.get(name))
        tile = place.m if name == "a" else place.n
        if place.k == before[-1][1].k and moved is not None and moved > 0:
            least = min(least, (moved, tile)) if least else (moved, tile)
    return least[1] if least else last


def _get_difference(minuend: LinearExpression | None, subtrahend: LinearExpression | None) -> int | None:
    if minuend is None or subtrahend is None:
        return None
    line = minuend + subtrahend.scale(-1)
    return None if line.terms else line.const


def is_staged(use: DescriptorUse) -> bool:
    """Return whether the name of a loop around a use says that it counts stages."""
    return any(is_stage(name) for name, _ in use.loops)


def is_stage(name: str) -> bool:
    """Return whether the name of a loop variable says that it counts stages."""
    return _STAGE.search(name.rstrip("'")) is not None


def _find_loop_roles(uses: list[DescriptorUse], lines: list[Lines], endless: set[str]) -> dict[str, str]:
    """Map each loop variable to k, m, n or stage; "" if no descriptor depends on it."""
    turns: dict[str, set[int]] = {}
    for use in uses:
        for name, value in use.loops:
            turns.setdefault(name, set()).add(value)
    moves = _find_moved_operands(uses, lines)
    order = list(turns)
    operands = {name for use in uses for name in use.arguments}
    roles: dict[str, str] = {}
    for name in order:
        if len(turns[name]) > 1:
            counts = name == order[-1] and name.rstrip("'") not in endless
            roles[name] = _find_role(name.rstrip("'"), moves.get(name, set()), operands, counts)
    steps = {name for name in order if roles.get(name) == "k" and moves.get(name)}
    for use in uses:  # of several, the innermost steps along K; one around it goes from tile to tile
        nested = [name for name, _ in use.loops if name in steps]
        roles.update(dict.fromkeys(nested[:-1], "stage"))
    return roles


def _list_tile_loops(
    uses: list[DescriptorUse],
    lines: list[Lines],
    roles: Mapping[str, str],
) -> Iterator[str]:
    """Yield loops along K that go from tile to tile: their calls end elsewhere than where the next iteration begins."""
    turns: dict[object, list[int]] = {}  # uses by the loops around them
    for number, use in enumerate(uses):
        turns.setdefault(use.loops, []).append(number)
    begun: dict[object, list[int]] = {}
    for numbers in turns.values():
        first = uses[numbers[0]]
        inner = [name for name, _ in first.loops if roles.get(name) == "k"]
        if len({uses[number].site for number in numbers}) < 2 or not inner:
            continue
        others = tuple(loop for loop in first.loops if loop[0] != inner[-1])
        before = begun.setdefault((inner[-1], others, first.site), numbers)
        count = dict(first.loops)[inner[-1]] - dict(uses[before[0]].loops)[inner[-1]]
        if before is not numbers and any(
            _leaves_tile([lines[number].get(name) for number in before], lines[numbers[0]][name], count)
            for name in lines[numbers[0]]
        ):
            yield inner[-1]


def _leaves_tile(before: Sequence[LinearExpression | None], first: LinearExpression | None, turns: int) -> bool:
    """Return whether an iteration begins after the end of an earlier one's calls, or where a stage counter says.

    before: the addresses of an operand in the calls of the earlier iteration; first: the first one now; turns: the
    number of iterations between them.
    """
    moved, step = _get_difference(first, before[0]), _get_difference(before[1], before[0])
    if moved is None:
        return before[0] is not None and any(is_counter(term) for term, _ in before[0].terms)
    return bool(moved and step and turns) and moved // turns > (step or 0) * len(before) > 0


def _find_moved_operands(uses: list[DescriptorUse], lines: list[Lines]) -> dict[str, set[str]]:
    """Map each loop variable to the operands whose descriptors it moves while the other loops do not change."""
    moves: dict[str, set[str]] = {}
    first: dict[tuple[object, ...], tuple[int, Lines]] = {}
    for use, of_use in zip(uses, lines, strict=True):
        for name, value in use.loops:
            key = (name, use.site, tuple(loop for loop in use.loops if loop[0] != name))
            at = first.setdefault(key, (value, of_use))
            if at[0] != value:
                moves.setdefault(name, set()).update(n for n in of_use if of_use[n] != at[1].get(n))
    return moves


def _find_role(name: str, moved: set[str], operands: set[str], counts: bool) -> str:
    """Return the role of a loop, by its name and the operands that it moves.

    counts: whether a loop that moves nothing may count K steps: it is the innermost, and ends.
    """
    if _STAGE.search(name):
        return "stage" if moved else ""
    if not moved:
        return "k" if counts and _K.search(name) and not _TILES.search(name) else ""
    if _K.search(name):
        return "k"
    both = operands == {"a", "b"}
    if moved == {"a"} and (both or _M.search(name)):
        return "m"
    if moved == {"b"} and (both or _N.search(name)):
        return "n"
    return "k"
