"""Check tiles that TMA copies fill and wgmma or tcgen05.mma reads: exchanged maps and descriptors, K steps that do not
meet the slices, slices that are copied and never read.

`unfilled_findings.py` reports tiles that copies fill in part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from lanescope.reader.code.findings import AsmRun, BodilessCall, Pitfall
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.workbench.copies.copy_coordinates import find_exchanged_dimensions, find_fixed_coordinates
from lanescope.workbench.copies.copy_overlaps import read_call_copy
from lanescope.workbench.copies.named_maps import find_named_map
from lanescope.workbench.copies.row_coordinates import find_launch_argument, passes_argument_twice, passes_own_sizes
from lanescope.workbench.copies.transfers import TileCopy, is_known, read_copy
from lanescope.workbench.copies.unread_slices import UnreadSlices
from lanescope.workbench.kernels.accumulators import find_accumulator
from lanescope.workbench.kernels.kernel_runs import PRODUCTS, KernelRun, KernelText
from lanescope.workbench.reads.tiles import UNFILLED
from lanescope.workbench.results import Assumption, Span, VerifiedOperand, Workbench
from lanescope.workbench.text.addresses import evaluate_linear
from lanescope.workbench.text.function_texts import find_loop_step
from lanescope.workbench.text.known_values import find_common_value
from lanescope.workbench.text.names import find_operand_letter

TITLES = {
    "tma_map_other": "A tile is filled from the other operand's tensor map",
}
_GATHERED = re.compile(r"im2col")  # sources whose boxes are not rows of the tensor
_PAIRED = re.compile(r"im2col|cta_group::2")  # a pair of CTAs shares the tile


def find_fill_mistakes(text: KernelText, bench: Workbench, unfilled: bool) -> list[Pitfall]:
    """Find tiles that are filled with the other operand or read in part, each place once.

    unfilled: whether some tile is certainly filled in part, which leaves open how much of it is read.
    """
    if not text.runs or not bench.operands:
        return []
    finder = _FillFinder(text, bench)
    return list({(mistake.code, mistake.span): mistake for mistake in finder.find_mistakes(unfilled)}.values())


class _FillFinder:
    """The state of the search in one text."""

    def __init__(self, text: KernelText, bench: Workbench) -> None:
        self.bench, self.text = bench, text
        self.blank, self.maps, self.cut = text.blank, text.maps, text.code.cut_variables
        self.kernels = _drop_unfinished(
            [run for run in text.runs if any(event.kind in PRODUCTS for event in run.events)]
        )
        self.copies = [
            copy
            for run in self.kernels
            for event in run.events
            if event.kind == "bulk" and (copy := read_copy(event, self.blank)) is not None
        ]

    def find_mistakes(self, unfilled: bool) -> Iterator[Pitfall]:
        if not self.kernels:
            return
        if not all(is_known(kernel, _GATHERED) for kernel in self.kernels):
            if all(map(self._multiplies_alone, self.kernels)):
                self.copies += self._list_called_copies()
                yield from self._list_unread().find_mistakes()
            return
        found = list(self._find_others())
        if not found and all(is_known(kernel, _PAIRED) for kernel in self.kernels):
            found = list(self._find_exchanged_products() or self._find_wrong_steps())
        yield from found
        if not found and not unfilled:
            yield from self._list_unread().find_mistakes()
            maps = {
                o.name: tensor_map for o in self.bench.operands if (tensor_map := self._find_operand_map(o)) is not None
            }
            multiplied = self._list_unread().list_multiplied()
            yield from find_exchanged_dimensions(self.text, self.copies, multiplied, maps)
            yield from find_fixed_coordinates(self.text, self.copies, multiplied, maps)

    def _list_unread(self) -> UnreadSlices:
        return UnreadSlices(
            self.text, self.kernels, self.copies, self.bench.operands, self._find_operand_map, self.bench.addresses
        )

    def _list_products(self) -> Iterator[Span]:
        return (event.at for run in self.kernels for event in run.events if event.kind in PRODUCTS)

    def _name_reader(self) -> str:
        kinds = {event.kind for run in self.kernels for event in run.events}
        return "wgmma" if "wgmma" in kinds else "tcgen05.mma"

    def _multiplies_alone(self, kernel: KernelRun) -> bool:
        """Return whether no bodiless call takes the accumulators, so that none can add to them."""
        products = [event.run for event in kernel.events if event.kind == "wgmma" and isinstance(event.run, AsmRun)]
        holders = [find_accumulator(run, self.blank) for run in products]
        names = {holder.name for holder in holders if holder is not None}
        calls = [event.run for event in kernel.events if event.kind == "unknown"]
        if not kernel.complete or not names or None in holders:
            return False
        return all(
            isinstance(call, BodilessCall)
            and names.isdisjoint(re.findall(r"[A-Za-z_]\w*", self.blank[slice(*call.term.span)]))
            for call in calls
        )

    def _list_called_copies(self) -> Iterator[TileCopy]:
        """Yield the copies of bodiless calls, with the coordinate that varies with the loop."""
        for event in (event for run in self.kernels for event in run.events if event.kind == "unknown"):
            copy = read_call_copy(self.text, event, event.run)[0] if isinstance(event.run, BodilessCall) else None
            if copy is not None:
                known = [
                    coordinate for coordinate in copy.at if coordinate is not None and coordinate.known is not None
                ]
                yield replace(copy, at=tuple(known) if len(known) == 1 else ())

    # tiles that the copies of one turn do not fill --------------------------------------------------------------------

    def _find_exchanged_products(self) -> list[Pitfall]:
        """Return the first product if it exchanges A and B, and one of their tiles is then not filled whole."""
        partly = any(find_lost(self.bench, operand.name) is not None for operand in self.bench.operands)
        letters = {named for copy in self.copies if (named := self._find_letters(copy)) is not None}
        if not partly or letters != {("a", "b", "a"), ("b", "a", "b")}:
            return []
        message = (
            f"{self._name_reader()} reads B's tile as A and A's as B, but the tiles do not fit. Exchange the two"
            " descriptors."
        )
        return [Pitfall("operands_exchanged", message, next(self._list_products()))]

    def _find_wrong_steps(self) -> Iterator[Pitfall]:
        """Yield K steps of operands that are too short or too long, so that they reach beyond the tile."""
        for operand in self.bench.operands:
            lost, moved = find_lost(self.bench, operand.name), find_k_advance(operand)
            if lost is not None and lost.key.startswith("panel.") and moved is not None:
                yield self._make_step_pitfall(operand, moved)

    def _make_step_pitfall(self, operand: VerifiedOperand, moved: int) -> Pitfall:
        """Make the mistake that the K steps of an operand are too short or too long, so that their number is wrong."""
        assert operand.seen is not None
        step, slice_bytes = operand.steps[0], operand.seen.k * operand.seen.bits // 8
        message = (
            f"The start of {operand.name.upper()} moves {moved} bytes from one K step to the next, and a slice of"
            f" {operand.seen.k} elements has {slice_bytes}: the steps do not meet the slices, and go beyond the tile."
        )
        variable = list(step.loops)[-1] if step.loops else ""
        place = step.around[-1] if step.around else step.span
        return Pitfall("other_slice", message, find_loop_step(self.blank, variable, place[0]) or step.span)

    def _find_operand_map(self, operand: VerifiedOperand) -> TensorMap | None:
        return find_operand_map(self.bench, operand, self.maps)

    # the other operand's map ----------------------------------------------------------------------------------------

    def _find_others(self) -> Iterator[Pitfall]:
        """Yield copies of one operand's map into the tile that is named after, and read as, the other operand; of maps
        that are exchanged in the launch, the first one.
        """
        crossed: dict[tuple[str, str, str], list[TileCopy]] = {}
        for copy in self.copies:
            named = self._find_letters(copy)
            if named is not None and named[0] != named[1] == named[2]:
                crossed.setdefault(named, []).append(copy)
        passed = [
            find_launch_argument(self.text, crossed[named][0]) or (0, 0) for named in sorted(crossed, reverse=True)
        ]
        if len(passed) == 2 and (0, 0) < passed[0] < passed[1]:  # the kernel takes A's map first
            if passes_own_sizes(self.text, next(iter(crossed.values()))[0]):
                message = "The names of these maps say that A's tile is filled from B's tensor map and B's from A's."
                yield Pitfall("tma_map_other", f"{message} Exchange the two maps.", passed[0])
            return
        for named, copies in crossed.items():
            if passes_argument_twice(self.text, copies[0]):
                continue
            message = (
                f"The tile that {self._name_reader()} reads as {named[1].upper()} is filled from {named[0].upper()}'s"
                " tensor map, as their names say. Give the copy the other map."
            )
            yield from (Pitfall("tma_map_other", message, copy.event.at) for copy in copies)

    def _find_letters(self, copy: TileCopy) -> tuple[str, str, str] | None:
        """Return the operands of a copy: of its map by its name, of the tile by who reads it, of its name in the call;
        None if one of them is open.
        """
        tensor_map = find_named_map(copy.maps, self.maps)
        buffers = self._find_buffers(copy)
        if tensor_map is None or len(buffers) != 1:
            return None
        words = set(re.findall(r"[A-Za-z_]\w*", self.blank[slice(*copy.event.at)])) - copy.maps
        letters = {letter for word in words if (letter := find_operand_letter(word)) is not None}
        of_map = find_operand_letter(*tensor_map.names[:1])
        if of_map is None and find_operand_letter(*copy.maps) == find_operand_letter(*tensor_map.names):
            of_map = find_operand_letter(*tensor_map.names)
        if of_map is None or len(letters) != 1:
            return None
        return of_map, buffers.pop(), letters.pop()

    def _find_buffers(self, copy: TileCopy) -> set[str]:
        """Return the operands whose tile a copy fills: by where the descriptors of the instruction begin."""
        if copy.to is None:
            return set()
        starts = {
            operand.name: {step.read for step in operand.steps} | operand.starts
            for operand in self.bench.operands
            if copy.to.terms and set(operand.symbols) >= {name for name, factor in copy.to.terms if factor == 1}
        }
        at = evaluate_linear(copy.to, self.bench.addresses)
        return {name for name, places in starts.items() if at in places}


def find_operand_map(bench: Workbench, operand: VerifiedOperand, maps: Sequence[TensorMap]) -> TensorMap | None:
    """Return the tensor map that an operand is stored by, as its piece says."""
    piece = bench.pieces[operand.storage] if operand.storage is not None else None
    if piece is None or piece.kind != "tensor_map":
        return None
    number = sum(piece.kind == "tensor_map" for piece in bench.pieces[: operand.storage])
    return maps[number] if number < len(maps) else None


def find_lost(bench: Workbench, operand: str) -> Assumption | None:
    """Return the open value of a tensor map's boxes whose copies seem to be too few for an operand's tile."""
    keys = (f"boxes.{operand}", f"panel.{operand}")
    return next((a for a in bench.assumed if a.key in keys and a.missing and UNFILLED in a.why), None)


def find_k_advance(operand: VerifiedOperand) -> int | None:
    """Return the bytes by which a K-major operand's start moves with each K step, if they are not those of a slice."""
    if operand.seen is None or operand.seen.major != "K":
        return None
    starts = {step.k: step.read for step in reversed(operand.steps) if step.stage == 0 and step.mn == 0}
    ordered = [starts[k] for k in sorted(starts)]
    moved = find_common_value(later - earlier for earlier, later in pairwise(ordered)) or 0
    return moved if 0 < moved < 128 and moved != operand.seen.k * operand.seen.bits // 8 else None


def _drop_unfinished(runs: Sequence[KernelRun]) -> list[KernelRun]:
    """Drop incomplete runs of kernels that have a complete run."""
    known = {run.name for run in runs if is_known(run, _GATHERED)}
    return [run for run in runs if run.name not in known or is_known(run, _GATHERED)]
