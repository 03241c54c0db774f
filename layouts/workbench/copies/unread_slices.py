"""Find loops over K that end before the K which each iteration copies: slices are copied and never multiplied."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.workbench.copies.named_maps import find_named_map
from lanescope.workbench.copies.transfers import TileCopy
from lanescope.workbench.kernels.kernel_runs import PRODUCTS, KernelRun, KernelText
from lanescope.workbench.results import OperandStep, Span, VerifiedOperand
from lanescope.workbench.source.shared_budget import compute_number
from lanescope.workbench.text.addresses import evaluate_linear
from lanescope.workbench.text.function_texts import list_loop_conditions
from lanescope.workbench.text.known_values import find_common_value

TITLES = {"k_slices_unread": "The loop over K leaves slices of the tile unread"}
_SHAPE = re.compile(r"m64n\d+k\d+")


@dataclass(frozen=True, slots=True)
class UnreadSlices:
    """The kernels of a text, their copies, and the operands of their products.

    find_operand_map: the tensor map that an operand is stored by; symbols: the assumed addresses; advances: by how much
    each map's copies advance.
    """

    text: KernelText
    kernels: Sequence[KernelRun]
    copies: Sequence[TileCopy]
    operands: Sequence[VerifiedOperand]
    find_operand_map: Callable[[VerifiedOperand], TensorMap | None]
    symbols: Mapping[str, int]
    advances: dict[int, int | None] = field(default_factory=dict)

    def find_mistakes(self) -> Iterator[Pitfall]:
        """Yield loops over K that end before the K which each iteration copies."""
        sites: dict[object, list[VerifiedOperand]] = {}  # of a peeled pipeline each site multiplies tiles of its own
        for operand in self.list_multiplied():
            around = operand.steps[0].around if operand.steps else ()
            sites.setdefault((operand.instruction, around), []).append(operand)
        for operands in sites.values():
            reached, last = find_common_value(_find_shortest(o, self._list_cut(o)) for o in operands) or (None, -1)
            if reached is None:
                continue
            copied = [(operand, self._find_copied(operand)) for operand in operands if is_along_k(operand)]
            sure = [operand for operand, copied_k in copied if copied_k is not None]
            copied_k = find_common_value(copied_k for _, copied_k in copied if copied_k is not None)
            if copied_k is None or reached >= copied_k or self._count_multiplied(sure[0], last) >= copied_k:
                continue
            if any(_is_whole(operand, copied_k) for operand in sure):
                yield self._make_unread_pitfall(sure[0].steps[last], last, reached, copied_k)

    def _find_copied(self, operand: VerifiedOperand) -> int | None:
        """Return the K that each iteration copies for an operand, None if open."""
        tensor_map = self.find_operand_map(operand)
        if tensor_map is None:
            return None
        if id(tensor_map) not in self.advances:
            self.advances[id(tensor_map)] = self._find_advance(tensor_map)
        return self.advances[id(tensor_map)]

    def _count_multiplied(self, operand: VerifiedOperand, last: int) -> int:
        """Return the K that an operand covers in one iteration, wherever its slices are; 0 if no loop copies. last: a
        step of the iteration, or -1 for the iteration that covers most.

        A loop over panels inside the iteration has the slices of each panel in a stage of their own.
        """
        copying = {name for copy in self.copies for name, _ in copy.event.loops[: self._find_depth(copy) + 1]}
        names = copying | self.text.code.cut_variables | self.text.code.unbounded_variables
        turns: dict[object, set[int]] = {}
        keys = [tuple(v for name, v in step.loops.items() if name.rstrip("'") in names) for step in operand.steps]
        for key, step in zip(keys, operand.steps, strict=True):
            if step.mn == operand.steps[last].mn:
                turns.setdefault(key, set()).add(step.read)
        if () in turns:
            return 0
        return operand.steps[last].depth * len(max(turns.values(), key=len) if last < 0 else turns[keys[last]])

    def _find_depth(self, copy: TileCopy) -> int:
        """Return the index of the innermost loop around a copy that was cut, else of the outermost."""
        loops = enumerate(copy.event.loops)
        return max((n for n, (name, _) in loops if name in self.text.code.cut_variables), default=0)

    def _make_unread_pitfall(self, step: OperandStep, last: int, reached: int, copied_k: int) -> Pitfall:
        variable = list(step.loops)[-1] if step.loops else ""
        within = [span for span in step.around if self._find_bound(span, variable)]
        place = within[0] if within else self._find_product(next(iter(step.loops), "") if last >= 0 else "")
        return Pitfall(
            "k_slices_unread",
            f"Each iteration copies {copied_k} elements along K and multiplies {reached}: the slice at K = {reached}"
            f" {'is' if copied_k - reached <= step.depth else 'and those after it are'} copied and never multiplied.",
            self._find_bound(place, variable) or place,
        )

    def _find_product(self, variable: str) -> Span:
        """Find the first instruction inside a loop over a variable; the first of all if no variable is named."""
        events = [event for run in self.kernels for event in run.events if event.kind in PRODUCTS]
        inside = (event for event in events if variable in {name for name, _ in event.loops[:1]})
        return next(inside, events[0]).at

    def _list_cut(self, operand: VerifiedOperand) -> set[str]:
        """Return the variables of loops that may have been cut, without those that end here as their text says."""
        cut = set(self.text.code.cut_variables)
        last = {list(step.loops)[-1].rstrip("'") for step in operand.steps if step.loops}
        return cut - {name for name in cut & last if self._ends_as_written(operand, name)}

    def _ends_as_written(self, operand: VerifiedOperand, variable: str) -> bool:
        """Return whether the last iteration is the last that the loop's condition, of constants only, allows."""
        values: dict[Span, set[int]] = {}
        for step in operand.steps:
            places = [span for at in step.around or (step.span,) if (span := self._find_bound(at, variable))]
            for name, value in step.loops.items():
                if name.rstrip("'") == variable and value is not None:
                    values.setdefault(places[0] if places else (0, 0), set()).add(value)
        return bool(values) and all(self._is_last(at, variable, sorted(of_loop)) for at, of_loop in values.items())

    def _is_last(self, at: Span, variable: str, values: Sequence[int]) -> bool:
        match = re.compile(rf"{re.escape(variable)}\s*(<=?|!=)(.+)", re.S).fullmatch(self.text.blank, *at)
        end = compute_number(self.text.blank, match.span(2)) if match is not None else None
        if match is None or end is None or len(values) < 2:
            return False
        return 2 * values[-1] - values[-2] >= end + (match[1] == "<=")

    def list_multiplied(self) -> list[VerifiedOperand]:
        """Return the operands of the instructions that the kernels run."""
        shapes = {
            match[0]
            for run in self.kernels
            for event in run.events
            if event.kind == "wgmma" and (match := _SHAPE.search(getattr(event.run, "text", "")))
        }
        kinds = {event.kind for run in self.kernels for event in run.events}
        described = "wgmma" not in kinds  # tcgen05.mma has its shape in its instruction descriptor
        return [
            operand for operand in self.operands if described or any(shape in operand.instruction for shape in shapes)
        ]

    def _list_turns(self, tensor_map: TensorMap) -> dict[tuple[object, str], set[int]]:
        """Return the inner coordinates at which a map is copied in each iteration of the innermost loop that was cut,
        else of the outermost; {} if one is open. The keys are the loops around it, the iteration and the barrier: an
        iteration may fill several stages.
        """
        turns: dict[tuple[object, str], set[int]] = {}
        firsts: dict[tuple[object, str], int] = {}
        for copy in self.copies:
            if find_named_map(copy.maps, self.text.maps) is not tensor_map:
                continue
            loops = copy.event.loops
            at = find_inner_place(copy, tensor_map)
            if at is None or not loops:
                return {}
            depth = self._find_depth(copy)
            enclosing = copy.event.calls, str(loops[:depth])
            turn = enclosing, f"{loops[depth]} {copy.barrier}"
            counted = copy.barrier not in ("", "None")  # else several copies may be of several stages
            if firsts.setdefault(turn, at) != at and (not counted or self._begins_tile(copy)):
                return {}
            turns.setdefault(turn, set()).add(at)
        return turns

    def _begins_tile(self, copy: TileCopy) -> bool:
        """Return whether a tile of its own is read from where a copy begins: one barrier may announce several tiles."""
        begin = None if copy.to is None else evaluate_linear(copy.to, self.symbols)
        return any(step.read == begin for o in self.operands for step in o.steps if not step.k and not step.mn)

    def _find_advance(self, tensor_map: TensorMap) -> int | None:
        """Return by how much the inner coordinate of a map advances per iteration, the K of its tile; None if open."""
        width = count_inner(tensor_map)
        groups: dict[object, list[set[int]]] = {}  # the loop over K runs once for each tile of a persistent kernel
        for (enclosing, _), places in self._list_turns(tensor_map).items():
            groups.setdefault(enclosing, []).append(places)
        return find_common_value(measure_advance(turns, width) for turns in groups.values()) if width else None

    def _find_bound(self, at: Span, variable: str) -> Span | None:
        """Find the condition of the innermost loop over a variable around a place."""
        found = list_loop_conditions(self.text.blank, variable, at[0])
        return found[-1] if found else None


def has_panels(tensor_map: TensorMap) -> bool:
    """Return whether the third dimension of a map continues the innermost."""
    box, bits = tensor_map.box, tensor_map.element_bits
    return (
        bool(bits)
        and len(box) == 3
        and len(tensor_map.strides) > 1
        and box[0] is not None
        and bool(tensor_map.strides[1] == box[0] * (bits or 0) // 8)
    )


def count_inner(tensor_map: TensorMap) -> int | None:
    """Return the elements that a box has along the inner dimension."""
    box = tensor_map.box
    if not box or box[0] is None:
        return None
    if not has_panels(tensor_map):
        return box[0]
    return None if box[2] is None else box[0] * box[2]


def find_inner_place(copy: TileCopy, tensor_map: TensorMap) -> int | None:
    """Return the start of a copy along the inner dimension, in elements; None if open."""
    places = [copy.at[n] for n in ((0, 2) if has_panels(tensor_map) else (0,)) if n < len(copy.at)]
    known = [place.known if place is not None else None for place in places]
    if not known or known[0] is None or known[-1] is None:
        return None
    return known[0] + (tensor_map.box[0] or 0) * known[1] if len(known) > 1 and known[1] is not None else known[0]


def measure_advance(turns: Sequence[set[int]], width: int) -> int | None:
    """Return by how much boxes advance in each iteration; None if they leave gaps or overlap."""
    counts = {len(places) for places in turns}
    every = sorted(set().union(*turns))
    if len(turns) < 3 or len(counts) != 1:
        return None
    count = counts.pop()
    # the boxes of an iteration are side by side along K, and those of the next iteration follow
    contiguous = {later - earlier for earlier, later in pairwise(every)} == {width}
    return width * count if contiguous and len(every) == count * len(turns) else None


def _find_shortest(operand: VerifiedOperand, cut: Collection[str]) -> tuple[int | None, int]:
    """Return (K that the steps of an operand cover, -1).

    If every loop iteration except the first covers the same smaller K, return that K and the last step of the loop.
    cut: variables of loops of which not every iteration was run.
    """
    all_reached = _find_reached(operand, operand.steps, cut)
    turns: dict[str, dict[int | None, list[int]]] = {}
    for n, step in enumerate(operand.steps):
        variable = next(iter(step.loops), "")
        if variable.rstrip("'") in cut:
            turns.setdefault(variable, {}).setdefault(step.loops[variable], []).append(n)
    for later in (list(of_variable.values())[1:] for of_variable in turns.values()):
        reached = {_find_reached(operand, [operand.steps[n] for n in numbers], cut) for numbers in later}
        turn_reached = reached.pop() if len(later) > 1 and len(reached) == 1 else None
        if all_reached is not None and turn_reached is not None and turn_reached < all_reached:
            return turn_reached, later[-1][-1]
    return all_reached, -1


def _find_reached(operand: VerifiedOperand, steps: Sequence[OperandStep], cut: Collection[str]) -> int | None:
    """Return the K that consecutive steps of an operand cover from 0; None if unknown."""
    if operand.left or any(step.verdict != "match" for step in operand.steps):
        return None
    slices = sorted({(step.k, step.k + step.depth) for step in steps})
    innermost = {list(step.loops)[-1].rstrip("'") for step in steps if step.loops and step.k}
    if innermost & set(cut) or not slices or slices[0][0]:
        return None
    return slices[-1][1] * _count_tiles(steps, cut) if _are_joined(slices) else None


def _count_tiles(steps: Sequence[OperandStep], cut: Collection[str]) -> int:
    """Count the tiles that one iteration of the loop over K reads: boxes side by side along K look like stages."""
    tiles: dict[object, set[int]] = {}
    for step in steps:
        outer = [pair for pair in step.loops.items() if pair[0].rstrip("'") in cut] or list(step.loops.items())[:1]
        tiles.setdefault(tuple(outer), set()).add(step.stage)
    return max(map(len, tiles.values()), default=1)


def _is_whole(operand: VerifiedOperand, depth: int) -> bool:
    """Return whether other symbols than the tile's address move a start by multiples of a tile of this K only.

    Then every thread multiplies the same slices, and their steps are all K steps.
    """
    if operand.seen is None or not operand.steps:
        return False
    tile = (max(step.mn for step in operand.steps) + operand.seen.rows) * depth * operand.seen.bits // 8
    moves = [factor for _, factor in operand.terms if factor != 1]
    return len(operand.terms) == 1 + len(moves) == len(set(operand.symbols)) and all(not f % tile for f in moves)


def is_along_k(operand: VerifiedOperand) -> bool:
    """Return whether the first two K steps of an operand are 32 bytes apart: in a box whose inner dimension is K."""
    first = {step.k: step.read for step in reversed(operand.steps)}
    depth = operand.steps[0].depth
    return 0 in first and first.get(depth, first[0]) ^ first[0] == 32  # a swizzle exchanges the steps of a row


def _are_joined(slices: Sequence[tuple[int, int]]) -> bool:
    return all(end == start for (_, end), (start, _) in pairwise(slices))
