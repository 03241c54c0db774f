"""Find TMA copies with a wrong coordinate: one that does not advance along K while the other operand's do, and one that
brings the same box to two places of a tile.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.workbench.copies.loop_copies import Turns, group_by_loop
from lanescope.workbench.copies.named_maps import find_named_map
from lanescope.workbench.copies.transfers import TileCopy, find_coordinate, list_copies
from lanescope.workbench.copies.unread_slices import (
    count_inner,
    find_inner_place,
    has_panels,
    is_along_k,
    measure_advance,
)
from lanescope.workbench.kernels.kernel_runs import KernelRun, KernelText
from lanescope.workbench.reads.tiles import find_inner_dimension
from lanescope.workbench.repair.blamed_numbers import find_argument_span, list_followed_spans
from lanescope.workbench.repair.blamed_terms import narrow_to_term
from lanescope.workbench.results import Span, VerifiedOperand
from lanescope.workbench.text.known_values import find_common_value, require_known
from lanescope.workbench.text.loop_texts import list_loops_at

TITLES = {
    "coordinates_exchanged": "The coordinates of a copy are exchanged",
    "dimensions_exchanged": "The dimensions of a tensor map are exchanged",
    "k_coordinate_fixed": "The K coordinate of a copy does not move",
    "k_coordinate_step": "The K coordinate of a copy moves by another amount than the tile has",
    "box_repeated": "Two TMA copies bring the same box",
    "boxes_overlap": "Two TMA copies bring a part of the tensor twice",
}
_CALL = re.compile(r"[A-Za-z_]\w*\(")  # in a name whose value may differ each time
_DIMS = 4  # index of the dimensions among cuTensorMapEncodeTiled's arguments
_LEAST_TURNS = 3
_MOST_BOXES = 32  # of one map in one iteration that are compared
_Turn = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _LoopCopies:
    """The copies of one map in one loop, by its iterations."""

    turns: Turns

    @property
    def copies(self) -> list[TileCopy]:
        return list(chain(*self.turns.values()))

    def is_fixed(self) -> bool:
        """Return whether every iteration copies from the same coordinates."""
        places: set[_Turn] = {frozenset(tuple(map(str, c.at)) for c in turn) for turn in self.turns.values()}
        return len(places) == 1 and len(self.turns) >= _LEAST_TURNS and not any(None in c.at for c in self.copies)

    def measure_step(self, tensor_map: TensorMap) -> int | None:
        """Return by how much the one box of each iteration moves along the inner dimension; None if that differs."""
        places = [{find_inner_place(c, tensor_map) for c in turn} for turn in self.turns.values()]
        return _measure_steps([at for turn in places for at in turn], len(places))

    def is_turned(self, tensor_map: TensorMap, step: int) -> bool:
        """Return whether the second coordinate moves as the first should, which stays the same."""
        if has_panels(tensor_map) or any(len(c.at) != 2 for c in self.copies):
            return False
        fixed = len({str(c.at[0]) for c in self.copies}) == 1
        seconds = [c.at[1].known if c.at[1] is not None else None for c in self.copies]
        return fixed and _measure_steps(seconds, len(self.turns)) == step

    def advances(self, tensor_map: TensorMap) -> bool:
        """Return whether every iteration copies the next slices along K."""
        width = count_inner(tensor_map)
        places = [{find_inner_place(c, tensor_map) for c in turn} for turn in self.turns.values()]
        known = [{at for at in turn if at is not None} for turn in places]
        return width is not None and known == places and measure_advance(known, width) is not None


def _measure_steps(places: Sequence[int | None], turns: int) -> int | None:
    """Return the distance between the places of consecutive iterations; None if it differs, or if one has several."""
    known = require_known(places)
    if known is None or len(known) != turns or turns < _LEAST_TURNS:
        return None
    return find_common_value(later - earlier for earlier, later in pairwise(known))


def find_fixed_coordinates(
    text: KernelText, copies: Sequence[TileCopy], operands: Sequence[VerifiedOperand], maps: Mapping[str, TensorMap]
) -> Iterator[Pitfall]:
    """Yield copies at the same coordinates in every iteration of a loop that moves the other operand's copies along K.

    maps: those of A and B. Both must be K-major: the inner coordinate is then along K.
    """
    if set(maps) != {"a", "b"} or maps["a"] is maps["b"]:
        return
    if not all(is_along_k(operand) for operand in operands if operand.steps):
        return
    for loop in group_by_loop(_list_loop_copies(text, copies, maps)):
        of_loop = {name: _LoopCopies(turns) for name, turns in loop.items()}
        for name, other in (("a", "b"), ("b", "a")) if len(of_loop) == 2 else ():
            if not of_loop[other].advances(maps[other]):
                continue
            if of_loop[name].is_fixed():
                yield _make_pitfall(text, of_loop[name].copies[0], name, maps[name])
            else:
                yield from _check_step(text, of_loop[name], of_loop[other], name, maps)


def find_exchanged_dimensions(
    text: KernelText, copies: Sequence[TileCopy], operands: Sequence[VerifiedOperand], maps: Mapping[str, TensorMap]
) -> Iterator[Pitfall]:
    """Yield the dimensions of a map that are named in the other order than those of the other operand's, if the
    products read both operands K-major, and a loop moves the copies of both along the inner one by the width of a box.
    """
    name = _find_turned(operands, maps)
    for loop in group_by_loop(_list_loop_copies(text, copies, maps)) if name else ():
        steps = {own: _LoopCopies(turns).measure_step(maps[own]) for own, turns in loop.items()}
        if len(steps) == 2 and all(step and step == count_inner(maps[own]) for own, step in steps.items()):
            message = (
                f"The first dimension of this tensor map is {'MN'[name == 'b']}, but its copies move along K by their"
                " first coordinate, and the products read it so: exchange the two dimensions."
            )
            place = find_argument_span(text.blank, maps[name].span, _DIMS)
            followed = list_followed_spans(text.blank, place, maps[name].calls, 0) if place is not None else ()
            yield Pitfall("dimensions_exchanged", message, followed[-1] if followed else maps[name].span)
            return


def _find_turned(operands: Sequence[VerifiedOperand], maps: Mapping[str, TensorMap]) -> str:
    """Return the one operand that would be read right if it were transposed, if its map alone is named so; else ""."""
    turned = {o.name for o in operands if any(one.code == "wrong_transpose" for s in o.steps[:1] for one in s.causes)}
    named = {own: find_inner_dimension(tensor_map, own) for own, tensor_map in maps.items()}
    inner = {own: "MN" if own in turned else "K" for own in ("a", "b")}
    return min(turned) if len(turned) == 1 and named == inner else ""


def _list_loop_copies(
    text: KernelText, copies: Iterable[TileCopy], maps: Mapping[str, TensorMap]
) -> Iterator[tuple[str, TileCopy, int]]:
    """Yield (operand, copy, number of the innermost loop around it that was cut) of the copies of A and B."""
    for copy in copies:
        found = find_named_map(copy.maps, text.maps)
        name = next((name for name, tensor_map in maps.items() if tensor_map is found), "")
        cut = [n for n, (variable, _) in enumerate(copy.event.loops) if variable in text.code.cut_variables]
        if name and cut:
            yield name, copy, cut[-1]


def _check_step(
    text: KernelText, own: _LoopCopies, other: _LoopCopies, name: str, maps: Mapping[str, TensorMap]
) -> Iterator[Pitfall]:
    """Yield a copy whose inner coordinate moves by another step than the copies of the other operand."""
    letter = "B" if name == "a" else "A"
    right, step = other.measure_step(maps[letter.lower()]), own.measure_step(maps[name])
    if not right or count_inner(maps[name]) != right:
        return
    if step and step != right:
        yield Pitfall(
            "k_coordinate_step",
            f"Every iteration advances the K coordinate of {letter} by {right}, but that of {name.upper()} by {step}:"
            f" its box has {right} elements along K.",
            _find_own_coordinate(text, own.copies[0], other.copies[0], 2 if has_panels(maps[name]) else 0),
        )
    elif own.is_turned(maps[name], right):
        yield Pitfall(
            "coordinates_exchanged",
            f"The K coordinate of {name.upper()} stays the same, and its row coordinate advances by {right} in each"
            " iteration: the innermost coordinate comes first.",
            own.copies[0].event.at,
        )


def _find_own_coordinate(text: KernelText, own: TileCopy, other: TileCopy, number: int) -> Span:
    """Return where a coordinate of a copy is given, in the outermost call that another copy does not go through."""
    place, calls = find_coordinate(text, own, number), [call for _, call in reversed(own.event.calls)]
    shared = {call for _, call in other.event.calls}
    apart = [call for call in calls if call not in shared]
    if number >= len(own.written) or not apart or not any(call[0] <= place[0] < call[1] for call in shared):
        return place
    return narrow_to_term(text.blank, [own.written[number], *calls], apart[-1], "")


def _make_pitfall(text: KernelText, copy: TileCopy, name: str, tensor_map: TensorMap) -> Pitfall:
    at = find_coordinate(text, copy, 2 if has_panels(tensor_map) else 0)
    other = "B" if name == "a" else "A"
    return Pitfall(
        "k_coordinate_fixed",
        f"Every iteration copies the next slice along K of {other}, but the same slice of {name.upper()}: its K"
        " coordinate must advance, too.",
        at,
    )


def find_repeated_boxes(text: KernelText, maps: Sequence[TensorMap]) -> list[Pitfall]:
    """Find copies that bring a box, or a part of it, to one part of a buffer that another one brings to another part;
    each place once.

    maps: of the tiles that instructions read; other boxes, such as a bias, may be needed in several places.
    """
    return text.check_copies(partial(_check_run, text, {id(tensor_map) for tensor_map in maps}))


def _check_run(text: KernelText, read: Collection[int], run: KernelRun) -> Iterator[Pitfall]:
    earlier: dict[object, list[TileCopy]] = defaultdict(list)
    for copy in list_copies(run, text.blank):
        tensor_map = find_named_map(copy.maps, text.maps) if copy is not None else None
        if copy is None or copy.to is None or tensor_map is None or not _is_placed(copy):
            continue
        if id(tensor_map) not in read:
            continue
        of_turn = earlier[_make_turn_key(text, copy, tensor_map)]
        for first in of_turn:
            if first.to is not None and first.to != copy.to and first.to.terms == copy.to.terms:
                away = copy.to.const - first.to.const
                yield from _compare_boxes(text, first, copy, tensor_map, away)
        if len(of_turn) < _MOST_BOXES:
            of_turn.append(copy)


def _compare_boxes(
    text: KernelText, first: TileCopy, copy: TileCopy, tensor_map: TensorMap, away: int
) -> Iterator[Pitfall]:
    """Yield a copy that brings the same box as an earlier one, or a part of it. away: bytes between their places."""
    moves = [_measure_move(before, after) for before, after in zip(first.at, copy.at, strict=True)]
    moved = [n for n, move in enumerate(moves) if move != 0]
    if not moved:
        yield Pitfall(
            "box_repeated",
            "This copy brings the same box, at the same coordinates, as the one that begins"
            f" {abs(away):,} bytes {'before' if away > 0 else 'after'} it, on the same barrier: the rows or columns"
            " that belong here are not copied.",
            _find_moving_place(text, first, copy),
        )
    elif len(moved) == 1 and len(tensor_map.box) == 2:  # a convolution may overlap boxes of more dimensions
        move, size = moves[moved[0]], tensor_map.box[moved[0]]
        if move is not None and size is not None and abs(move) < size:
            variable = copy.event.loops[-1][0] if copy.event.loops else ""
            yield Pitfall(
                "boxes_overlap",
                f"This copy begins {abs(move)} elements {'after' if move > 0 else 'before'} another one on the same"
                f" barrier, and their boxes have {size}: {size - abs(move)} are copied twice, and as many that belong"
                " here are not.",
                _find_moving_term(text, copy, moved[0], variable),
            )


def _find_moving_place(text: KernelText, first: TileCopy, copy: TileCopy) -> Span:
    """Return the innermost place of a copy, in a function or a lambda, that is inside of the loop that leads from
    another copy to it; its place in the kernel's own lines if no loop does.
    """
    pairs = zip(first.event.loops, copy.event.loops, strict=False)
    variable = next((name for (_, before), (name, after) in pairs if str(before) != str(after)), "").rstrip("'")
    chain = [*copy.written[:1], *(call for _, call in reversed(copy.event.calls))]
    inside = (at for at in chain if any(loop.variable == variable for loop in list_loops_at(text.blank, at[0])))
    return next(inside, copy.event.at) if variable else copy.event.at


def _find_moving_term(text: KernelText, copy: TileCopy, number: int, variable: str) -> Span:
    """Find the term of a coordinate that has a loop variable, in whichever function it is; else the call."""
    if number >= len(copy.written):
        return copy.event.at
    chain = [copy.written[number], *(call for _, call in reversed(copy.event.calls))]
    for call in chain[1:] if variable else ():
        term = narrow_to_term(text.blank, chain, call, variable)
        if term != call and re.search(rf"\b{re.escape(variable)}\b", text.blank[slice(*term)]):
            return term
    return text.narrow_event(copy.event, copy.written[number], variable)


def _measure_move(before: SymbolicInt | None, after: SymbolicInt | None) -> int | None:
    """Return by how much a coordinate moves between two copies; None if that is open."""
    if before is None or after is None:
        return None
    if str(before) == str(after):
        return 0
    if before.plain is None or after.plain is None or before.plain.terms != after.plain.terms:
        return None
    return after.plain.const - before.plain.const


def _is_placed(copy: TileCopy) -> bool:
    """Return whether the barrier and the coordinates of a copy are known."""
    coordinates = [str(at) for at in copy.at if at is not None]
    known = copy.barrier not in ("", "None") and coordinates and len(coordinates) == len(copy.at)
    return bool(known) and not any(_CALL.search(coordinate) for coordinate in coordinates)


def _make_turn_key(text: KernelText, copy: TileCopy, tensor_map: TensorMap) -> object:
    """Return what the copies through one map have in common in one iteration."""
    event = copy.event
    turn = tuple((name, str(value)) for name, value in event.loops if name in text.code.cut_variables)
    return event.calls[:1], event.arms, turn, copy.barrier, id(tensor_map), len(copy.at)
