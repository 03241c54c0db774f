"""Find which dimension of an operand's tensor map is K, from facts of the text that do not depend on how it is read.

`workbench_builder.py` asks for every operand that tensor maps store; `operands.py` and `tiles.py` use the answer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.code.symbolic_integers import LinearExpression, Span
from lanescope.workbench.copies.loads import TextLoads, drop_threads
from lanescope.workbench.copies.loop_copies import Turns, group_by_loop
from lanescope.workbench.copies.transfers import TileCopy, list_copies
from lanescope.workbench.copies.unread_slices import has_panels
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.reads.tiles import StoredTile, are_both_named, find_inner_dimension
from lanescope.workbench.reads.verification import OperandTurn
from lanescope.workbench.repair.blamed_numbers import find_argument_span, list_followed_spans
from lanescope.workbench.results import OperandStep
from lanescope.workbench.text.known_values import find_common_value
from lanescope.workbench.text.names import split_size

_DIMS = 4  # index of the dimensions among cuTensorMapEncodeTiled's arguments
_ROWS = {"a": "m", "b": "n"}


@dataclass(frozen=True, slots=True)
class InnerDimension:
    """The dimension along the inner side of a map's boxes, K or MN.

    stated: whether the sizes of the tensors or their names say so; else only the coordinates of the copies do.
    """

    value: str
    stated: bool


Starts = Mapping[str, Collection[LinearExpression]]


def find_inner_dimensions(
    text: KernelText,
    loads: TextLoads,
    maps: Mapping[str, TensorMap],
    turns: Mapping[str, Sequence[OperandTurn]],
    doubtful: Collection[str],
) -> dict[str, InnerDimension]:
    """Map the operands of one instruction to the inner dimension of their maps, without those that are open.

    maps, turns: the map and the executions of each operand; doubtful: operands whose maps may have the names of another
    product. Facts that contradict each other are no facts.
    """
    lines = {name: {line for turn in turns[name] if (line := turn.argument.address) is not None} for name in maps}
    starts = {
        name: {drop_threads(line, loads.find_first_group(line)) for line in of_name} for name, of_name in lines.items()
    }
    named = {name: tensor_map for name, tensor_map in maps.items() if name not in doubtful}
    by_name = {name: inner for name, one in named.items() if (inner := _find_by_names(text, one, name))}
    by_size, by_coordinate = _find_by_sizes(maps), _find_by_coordinates(text, maps, starts)
    found: dict[str, InnerDimension] = {}
    for name in maps:
        stated = {facts[name] for facts in (by_name, by_size) if name in facts}
        every = stated | {facts[name] for facts in (by_coordinate,) if name in facts}
        if len(every) == 1:
            found[name] = InnerDimension(every.pop(), bool(stated))
    return found


def doubt_other_inner(
    inner: InnerDimension, operand: str, tile: StoredTile, steps: Sequence[OperandStep]
) -> tuple[list[OperandStep], list[str]]:
    """Return the steps of an operand, without verdicts if they are right only in a tile with another inner dimension;
    and the reason.
    """
    laid = tile.spec.get("inner")
    if laid in (None, inner.value) or any(step.verdict == "mismatch" for step in steps):
        return list(steps), []
    coordinate = "first" if inner.value == "K" else "second"
    why = (
        f"{operand.upper()} is read {laid}-major, but the copies advance along K by the {coordinate} coordinate of its"
        " tensor map."
    )
    return [replace(step, verdict="unknown", matched=0, expected=None) for step in steps], [why]


# names and sizes ------------------------------------------------------------------------------------------------------


def _find_by_names(text: KernelText, tensor_map: TensorMap, operand: str) -> str:
    """Return the inner dimension if the first two dimensions are spelled with K, and M or N, each once; else ""."""
    if are_both_named(tensor_map, operand):
        return find_inner_dimension(tensor_map, operand) or ""
    at = find_argument_span(text.blank, tensor_map.span, _DIMS) if "ncode" in tensor_map.source else None
    if at is None:
        return ""
    sides = [_find_side(text, tensor_map, at, item, operand) for item in range(2)]
    if [len(side) for side in sides] != [1, 1] or sides[0] == sides[1]:
        return ""
    return "K" if "k" in sides[0] else "MN"


def _find_side(text: KernelText, tensor_map: TensorMap, at: Span, item: int, operand: str) -> set[str]:
    """Return the letters of K, and M or N, in the first spelling of a dimension that has one."""
    spans = list_followed_spans(text.blank, at, tensor_map.calls, item)
    words = ({word.lower() for word in split_size(text.blank[slice(*span)])} for span in spans[1:])
    return next(filter(None, (of_span & {"k", _ROWS[operand]} for of_span in words)), set())


def _find_by_sizes(maps: Mapping[str, TensorMap]) -> dict[str, str]:
    """Return the inner dimension of A and B if their tensors have exactly one size in common, which is K."""
    if set(maps) != {"a", "b"} or maps["a"] is maps["b"]:
        return {}
    sizes = {name: one.dims[:2] for name, one in maps.items()}
    if any(None in of_map or len(set(of_map)) != 2 for of_map in sizes.values()):
        return {}
    common = set(sizes["a"]) & set(sizes["b"])
    if len(common) != 1:
        return {}
    k = common.pop()
    return {name: "K" if of_map[0] == k else "MN" for name, of_map in sizes.items()}


# coordinates ----------------------------------------------------------------------------------------------------------


def _find_by_coordinates(text: KernelText, maps: Mapping[str, TensorMap], starts: Starts) -> dict[str, str]:
    """Return the inner dimensions of A and B by the coordinate that moves with the innermost loop that copies both: one
    coordinate of each, by the same step; {} if loops disagree.
    """
    if set(maps) != {"a", "b"} or maps["a"] is maps["b"]:
        return {}
    found = [inner for turns in _list_common_loops(text, starts) if (inner := _judge_loop(turns, maps))]
    return found[0] if found and all(other == found[0] for other in found) else {}


def _list_common_loops(text: KernelText, starts: Starts) -> Iterator[dict[str, Turns]]:
    """Yield the copies of A and B in each loop that is the innermost one around copies of both."""
    for run in text.runs:
        of_map: dict[str, list[TileCopy]] = defaultdict(list)
        for copy in list_copies(run, text.blank):
            if copy is not None and (name := _find_operand(copy, starts)):
                of_map[name].append(copy)
        for names in _pair_loops(of_map):
            if depth := _count_common(*names.values()):
                yield from group_by_loop(
                    (name, copy, depth - 1)
                    for name, copies in of_map.items()
                    for copy in copies
                    if _list_variables(copy) == names[name]
                )


def _pair_loops(of_map: Mapping[str, Sequence[TileCopy]]) -> list[dict[str, tuple[str, ...]]]:
    """Return the variables of the loops around the copies of A and of B, for each pair of places that have most loops
    in common, as of a first fill and of the main loop; [] if places do not pair.
    """
    names = {name: set(map(_list_variables, copies)) for name, copies in of_map.items()}
    if len(names) != 2:
        return []
    (first, of_first), (second, of_second) = names.items()
    pairs = [{first: one, second: max(of_second, key=lambda two: _count_common(one, two))} for one in sorted(of_first)]
    others = [pair[second] for pair in pairs]
    return pairs if len(others) == len(of_second) and set(others) == of_second else []


def _list_variables(copy: TileCopy) -> tuple[str, ...]:
    """Return the variables of the loops around a copy."""
    return tuple(name for name, _ in copy.event.loops)


def _find_operand(copy: TileCopy, starts: Starts) -> str:
    """Return the operand that alone is read from where a copy begins, "" if none is."""
    return find_common_value(name for name, of_name in starts.items() if copy.to in of_name) or ""


def _count_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Count the outer loops that two places have in common."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))))


def _judge_loop(of_loop: Mapping[str, Turns], maps: Mapping[str, TensorMap]) -> dict[str, str]:
    moves = {name: _list_moves(list(turns.values())) for name, turns in of_loop.items()}
    if len(moves) != 2 or any(len(of_map) != 1 for of_map in moves.values()):
        return {}
    found = {}
    steps = set()
    for name, of_map in moves.items():
        (number, step), inner = of_map[0], (0, 2) if has_panels(maps[name]) else (0,)
        if number > 1 and number not in inner:
            return {}
        found[name] = "K" if number in inner else "MN"
        steps.add(step * (maps[name].box[0] or 0) if number == 2 else step)
    return found if len(steps) == 1 and 0 not in steps else {}


def _list_moves(turns: Sequence[Sequence[TileCopy]]) -> list[tuple[int, int]]:
    """Return (number, step) of the coordinates that differ between iterations; step 0 if it is open or varies."""
    moves = []
    for number in range(max((len(copy.at) for turn in turns for copy in turn), default=0)):
        places = [[_get_line(copy, number) for copy in turn] for turn in turns]
        if len({str(sorted(map(str, turn))) for turn in places}) < 2:
            continue
        firsts = [turn[0] for turn in places]
        steps = Counter(
            later.const - earlier.const if later and earlier and later.terms == earlier.terms else 0
            for earlier, later in pairwise(firsts)
        )
        moves.append((number, next(iter(steps)) if len(steps) == 1 else 0))
    return moves


def _get_line(copy: TileCopy, number: int) -> LinearExpression | None:
    value = copy.at[number] if number < len(copy.at) else None
    return value.plain if value is not None else None
