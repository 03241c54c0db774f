"""Compare a pasted formula `row = …; col = …`, or a loop that stores or loads a fragment, with every register operand.

The result lists the operands with exactly this map, possibly with rows and columns exchanged. Details that the text
does not determine stay open. No text is called wrong, because it does not say which operand it is meant for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.ptx.fragment_maps import FragmentMap, list_fragment_maps
from lanescope.reader.code.syntax.tree import Statement
from lanescope.reader.formula.fragment_addresses import AddressMap, find_addresses, is_constant, list_address_maps
from lanescope.reader.formula.fragment_formula import INDEX, assigns_letters, rewrite_formula, spell_registers
from lanescope.reader.formula.fragment_moves import FormulaMatch, match_moves
from lanescope.reader.formula.fragment_names import find_coordinate, find_coordinates, find_index, find_named
from lanescope.reader.formula.fragment_parts import MatchingValues, list_holding
from lanescope.reader.formula.fragment_values import MOST_VALUES, ValueClash, count_distinguished, find_clash
from lanescope.reader.formula.lane_code import LaneCode, parse_lane_code, run_lane_code
from lanescope.reader.formula.lane_places import Values, make_open_error

LONGEST = 8192
_THREAD = re.compile(
    r"%?\b(?:lane_?(?:id|idx)?|groupID|group_id|threadID_in_group|threadIdx\s*\.\s*x|tid|warp_?id)\b", re.I
)
_ROW, _COL = (re.compile(rf"\b(\w*{word}\w*)\s*=(?!=)", re.I) for word in ("row", "col"))
_HALF_ROW, _HALF_COL = (  # colour is not a column
    re.compile(rf"\b(?:\w*_)?{word}(?:_?(?:id|idx|index))?\d*\s*=(?!=)", re.I) for word in ("row", "col(?:umn)?")
)
_CASE_END = r"(?:\s(?:for|where|if|when)\s.*|\s(?:otherwise|else)\s*)"
_ASSIGNMENT = re.compile(  # a lone assignment, or another case of it: no store, no template call
    rf"\s*(?:[A-Za-z_]\w*\s+){{0,3}}[A-Za-z_%]\w*\s*=(?!=)[^\[\]{{}}<]*?{_CASE_END}?|[^\[\]{{}}<=]+?{_CASE_END}", re.I
)
_STORE = re.compile(r"[\])]\s*\+?=(?!=)|\b\w+\s*=\s*\w+\s*\[")
FormulaRuns = dict[int, tuple[Values, Values, LaneCode]]  # number of values → rows, columns, the executed code
MOST_NEAREST = 0.5  # minimum share of equal elements for the nearest map


@dataclass(frozen=True, slots=True)
class NearestMap:
    """The map with the most equal elements, and the first difference: (thread, value, the text's place, the map's
    place).
    """

    map: FragmentMap
    agree: int
    total: int
    first: tuple[int, int, tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class FormulaAnswer:
    """The operands that a formula or a loop agrees with.

    assumed: names assumed to be the same in all threads; letter: the operand that the text names, "" if none; compared:
    number of maps; least: number of values that a formula distinguishes; open_values: name of the value's index if the
    text does not limit it; clash: where values beyond the matching map's coincide with those of another lane; half: the
    coordinate, if the text has only one; parts: where a text for one or some values holds; covered: the values that the
    text covers, if they do not begin at 0; packing: the sentence about the elements of one access, if it is assumed.
    """

    matches: tuple[FormulaMatch, ...]
    addresses: tuple[AddressMap, ...]
    nearest: NearestMap | None
    assumed: tuple[str, ...]
    letter: str
    compared: int
    moves: bool
    least: int = 1
    open_values: str = ""
    clash: ValueClash | None = None
    half: str = ""
    parts: tuple[MatchingValues, ...] = ()
    covered: tuple[int, ...] = ()
    packing: str = ""


def is_fragment_code(text: str) -> bool:
    """Return whether a text may be such a formula or loop."""
    if len(text) > LONGEST or not _THREAD.search(text):
        return False
    text = spell_registers(text)
    has_both = (_ROW.search(text) and _COL.search(text)) or assigns_letters(text)
    return bool(has_both or _STORE.search(text) or _find_half(text))


def _find_half(text: str) -> str:
    """Return the only coordinate that a text assigns, "row" or "column"; "" if both or none, or for an address that a
    ^ swizzles.
    """
    if "^" in text:
        return ""
    has_row, has_col = _HALF_ROW.search(text), _HALF_COL.search(text)
    parts = [part for part in re.split(r"[;\n]", text) if part.strip()]
    if bool(has_row) == bool(has_col) or not all(map(_ASSIGNMENT.fullmatch, parts)):
        return ""
    return "row" if has_row else "col"


@lru_cache(maxsize=16)
def compare_code(text: str) -> FormulaAnswer:
    """Compare a text with every map. LayoutError `open_formula` if its coordinates cannot be determined."""
    formula = rewrite_formula(spell_registers(text))
    source, letter, range_ = formula.source, formula.letter, formula.count
    statements = parse_lane_code(source)
    if half := _find_half(text):
        return _compare_half(statements, half, letter, range_, find_index(source))
    code = run_lane_code(statements, {name: np.zeros((1, 1, 1), dtype=np.int64) for name in INDEX})
    if code.moves and not (find_index(source) and _ROW.search(source) and _COL.search(source)):
        return _compare_moves(run_lane_code(statements, {}), text)
    names = find_coordinates(code)
    letter = letter or find_named(names)
    index_names = find_index(source)
    if formula.values and not range_:
        return _compare_some(statements, index_names, names, formula.values, letter)
    least = range_ or _count_distinct_values(statements, index_names, names)
    if not index_names:
        return _compare_single(statements, names, letter, least, range_)
    return _compare_values(statements, index_names, names, letter, least, range_)


def _compare_values(
    statements: Sequence[Statement],
    index_names: tuple[str, ...],
    names: tuple[str, str],
    letter: str,
    least: int,
    range_: int,
) -> FormulaAnswer:
    """Compare a formula of lane and value with every map in its range of values."""
    maps = [fragment_map for fragment_map in list_fragment_maps() if range_ in (0, fragment_map.values)]
    runs = _run_each(statements, index_names, names, maps)
    matches = _list_matches(runs, maps, letter, least)
    loose = _list_loose(runs)
    if loose and not matches:
        raise make_open_error(f"no operand agrees if {', '.join(loose)} is the same in all threads")
    nearest = None if loose or _has_all_values(matches, least) else _find_nearest(runs, maps, letter, least)
    open_values = "" if range_ else index_names[0]
    clash = None
    if open_values and matches and matches[0].map.values < least:
        clash = find_clash(*_run_formula(statements, index_names, names, least)[:2], matches[0].map.values)
    return FormulaAnswer(tuple(matches), (), nearest, loose, letter, len(maps), False, least, open_values, clash)


def _compare_single(
    statements: Sequence[Statement], names: tuple[str, str], letter: str, least: int, range_: int
) -> FormulaAnswer:
    """Compare a formula of the lane alone with maps of one value, single values of maps, and ldmatrix's rows."""
    maps = [fragment_map for fragment_map in list_fragment_maps() if fragment_map.values == 1 and range_ in (0, 1)]
    runs = _run_each(statements, (), names, maps)
    matches = _list_matches(runs, maps, letter, least)
    addresses = find_addresses(*runs[1][:2])
    loose = _list_loose(runs)
    parts = list_holding(*runs[1][:2], (0,), letter)
    if loose and not (matches or addresses or parts):
        raise make_open_error(f"no operand agrees if {', '.join(loose)} is the same in all threads")
    found = addresses or _has_all_values(matches, least)
    nearest = None if loose or found else _find_nearest(runs, maps, letter, least)
    compared = len(list_fragment_maps()) + len(list_address_maps())
    return FormulaAnswer(tuple(matches), addresses, nearest, loose, letter, compared, False, least, parts=parts)


def _run_each(
    statements: Sequence[Statement], index_names: Sequence[str], names: tuple[str, str], maps: Sequence[FragmentMap]
) -> FormulaRuns:
    """Compute rows and columns for one value, and for each map's number of values."""
    return {
        count: _run_formula(statements, index_names, names, count)
        for count in {fragment_map.values for fragment_map in maps} | {1}
    }


def _list_matches(runs: FormulaRuns, maps: Sequence[FragmentMap], letter: str, least: int) -> list[FormulaMatch]:
    found = (_match_formula(*runs[fragment_map.values][:2], fragment_map) for fragment_map in maps)
    return sorted(filter(None, found), key=lambda match: _rank_match(match, letter, least))


def _has_all_values(matches: Sequence[FormulaMatch], least: int) -> bool:
    """Return whether a map matches all values of a formula, with rows and columns not exchanged."""
    return any(match.map.values >= least and not match.swapped for match in matches)


def _list_loose(runs: FormulaRuns) -> tuple[str, ...]:
    """Return the names assumed to be uniform over the threads, without repeats."""
    return tuple(dict.fromkeys(name for *_, code in runs.values() for name in code.loose))


def _find_nearest(runs: FormulaRuns, maps: Sequence[FragmentMap], letter: str, least: int) -> NearestMap | None:
    nearest = None
    for fragment_map in maps:
        if fragment_map.values >= least:
            nearest = _choose_nearer(nearest, _measure_distance(*runs[fragment_map.values][:2], fragment_map), letter)
    return nearest


def _compare_some(
    statements: Sequence[Statement],
    index_names: tuple[str, ...],
    names: tuple[str, str],
    values: tuple[int, ...],
    letter: str,
) -> FormulaAnswer:
    """Compare a text that covers some values, such as c2 and c3, with those values of every map."""
    rows, cols, code = _run_formula(statements, index_names, names, max(values) + 1)
    parts = list_holding(rows, cols, values, letter)
    if code.loose and not parts:
        raise make_open_error(f"no operand agrees if {', '.join(code.loose)} is the same in all threads")
    count = sum(fragment_map.values > max(values) for fragment_map in list_fragment_maps())
    return FormulaAnswer((), (), None, tuple(code.loose), letter, count, False, parts=parts, covered=values)


def _compare_half(
    statements: Sequence[Statement], half: str, letter: str, range_: int, index_names: tuple[str, ...]
) -> FormulaAnswer:
    """Compare the rows or the columns of a text with those of every map."""
    maps = [fragment_map for fragment_map in list_fragment_maps() if range_ in (0, fragment_map.values)]
    matches: list[FormulaMatch] = []
    loose: tuple[str, ...] = ()
    for fragment_map in maps:
        index = {name: np.arange(fragment_map.values, dtype=np.int64)[None, None, :] for name in index_names}
        code = run_lane_code(statements, index)
        loose = tuple(code.loose)
        mine = _broadcast_values(code.names[find_coordinate(code, half)], fragment_map)
        if is_constant(mine - (fragment_map.rows if half == "row" else fragment_map.cols)):
            matches.append(FormulaMatch(fragment_map))
    matches.sort(key=lambda match: not match.map.has_operand(letter))
    open_values = index_names[0] if index_names and not range_ else ""
    return FormulaAnswer(tuple(matches), (), None, loose, letter, len(maps), False, open_values=open_values, half=half)


def _rank_match(match: FormulaMatch, letter: str, least: int) -> tuple[bool, bool, bool, int]:
    """Return the sort key of a match: first those with enough values, among them the named operand."""
    short = match.map.values < least
    return short, match.swapped, not match.map.has_operand(letter), -match.map.values if short else match.map.values


def _count_distinct_values(statements: Sequence[Statement], index_names: Sequence[str], names: tuple[str, str]) -> int:
    """Return the minimum number of values that a formula distinguishes, 1 if unknown."""
    try:
        return count_distinguished(*_run_formula(statements, index_names, names, MOST_VALUES)[:2])
    except LayoutError:
        return 1


def _run_formula(
    statements: Sequence[Statement], index_names: Sequence[str], names: tuple[str, str], count: int
) -> tuple[Values, Values, LaneCode]:
    """Return the rows and columns of `count` values, and the executed code."""
    index = {name: np.arange(count, dtype=np.int64)[None, None, :] for name in index_names}
    code = run_lane_code(statements, index)
    return code.names[names[0]], code.names[names[1]], code


# comparing ------------------------------------------------------------------------------------------------------------


def _broadcast_values(values: Values, fragment_map: FragmentMap) -> NDArray[np.int64]:
    """Return coordinates broadcast to a map's [trials, threads, values]."""
    part = values[:, : fragment_map.threads] if values.shape[1] > 1 else values
    return np.broadcast_to(part, (values.shape[0], fragment_map.threads, fragment_map.values))


def _match_formula(rows: Values, cols: Values, fragment_map: FragmentMap) -> FormulaMatch | None:
    """Return the match of a formula and a map, None if they differ; a tile may be offset by any row and column."""
    mine = _broadcast_values(rows, fragment_map), _broadcast_values(cols, fragment_map)
    for swapped in (False, True):
        first, second = (fragment_map.cols, fragment_map.rows) if swapped else (fragment_map.rows, fragment_map.cols)
        if is_constant(mine[0] - first) and is_constant(mine[1] - second):
            return FormulaMatch(fragment_map, swapped)
    return None


def _measure_distance(rows: Values, cols: Values, fragment_map: FragmentMap) -> NearestMap:
    """Return the number of equal elements of a formula and a map, and their first difference."""
    mine = _broadcast_values(rows, fragment_map)[0], _broadcast_values(cols, fragment_map)[0]
    same = (mine[0] == fragment_map.rows) & (mine[1] == fragment_map.cols)
    thread, value = (int(n) for n in np.argwhere(~same)[0]) if not same.all() else (0, 0)
    computed = int(mine[0][thread, value]), int(mine[1][thread, value])
    actual = int(fragment_map.rows[thread, value]), int(fragment_map.cols[thread, value])
    return NearestMap(fragment_map, int(same.sum()), same.size, (thread, value, computed, actual))


def _choose_nearer(best: NearestMap | None, other: NearestMap, letter: str) -> NearestMap | None:
    """Return the map with the larger share of equal elements, preferring the named operand."""

    def rank(nearest: NearestMap) -> tuple[bool, float, int]:
        named = any(operand.name == letter for _, operand in nearest.map.operands)
        return (not letter or named, nearest.agree / nearest.total, -nearest.map.values)

    if other.agree < MOST_NEAREST * other.total:
        return best
    return other if best is None or rank(other) > rank(best) else best


def _compare_moves(code: LaneCode, text: str) -> FormulaAnswer:
    """Compare a loop that moves a fragment with every map: as one fragment, or as several consecutive ones."""
    matches, packing = match_moves(code)
    if not matches and "^" in text:
        raise make_open_error("the index in memory is swizzled")
    if not matches and code.loose:
        raise make_open_error(f"no operand agrees if {', '.join(code.loose)} is the same in all threads")
    letter = next(filter(None, map(_find_letter, (code.memory, code.registers))), "")
    matches.sort(key=lambda match: (not match.map.has_operand(letter), match.times, match.swapped, -match.map.values))
    compared = len(list_fragment_maps())
    return FormulaAnswer(tuple(matches), (), None, tuple(code.loose), letter, compared, True, packing=packing)


def _find_letter(name: str) -> str:
    """Return the operand's letter in an array's name, "" if none."""
    match = re.fullmatch(r"(?:s|g|smem|gmem|frag|reg|r)?_?([abcd])(?:_?(?:s|frag|reg|regs|ptr|tile))?", name, re.I)
    return match[1].lower() if match else "d" if re.fullmatch(r"acc\w*|accum\w*|out\w*", name, re.I) else ""
