"""Verify each step of one operand, element by element, against its stored tile.

`operands.py` calls `verify_steps` with the tile; `workbench_builder.py` locates wrong steps by `assign_blame`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lanescope.deadline import check_deadline
from lanescope.descriptor.case import Diagnosis
from lanescope.descriptor.fits import find_fitting_tiles
from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.descriptor.repair import compute_expected_reads
from lanescope.descriptor.verify import require_inside, verify
from lanescope.errors import LayoutError
from lanescope.reader.code.findings import Pitfall
from lanescope.shared import tma
from lanescope.shared.storage import Storage, storage
from lanescope.shared.swizzle import WIDEST_PATTERN
from lanescope.workbench.descriptors.descriptor_arguments import DescriptorArgument
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.descriptors.slice_order import SlicePlace, is_staged
from lanescope.workbench.reads import stages
from lanescope.workbench.reads.tiles import StoredTile
from lanescope.workbench.results import OperandStep, Span, VerifiedOperand
from lanescope.workbench.text.addresses import evaluate_linear, evaluate_word

MOST_STEPS = 64  # of one operand
MOST_CAUSES = 8  # call chains of one operand whose causes are sought
_OF_CODE = ("shifts_of_32_bits", "sign_extended", "high_word_missing", "generic_pointer")


@dataclass(frozen=True, slots=True)
class OperandTurn:
    """One execution that reads one operand: its descriptor and its slice."""

    use: DescriptorUse
    argument: DescriptorArgument
    place: SlicePlace
    tile: int  # of M or N


def list_turns(uses: Sequence[DescriptorUse], where: Sequence[SlicePlace], operand: str) -> list[OperandTurn]:
    """List the distinct executions that read one operand, in order.

    An execution is listed once if another operand's tiles, or another call with the same descriptor, repeat it.
    """
    turns: dict[tuple[Any, ...], OperandTurn] = {}
    sites: dict[tuple[int, int, int], OperandTurn] = {}
    for use, place in zip(uses, where, strict=True):
        argument = use.arguments.get(operand)
        if argument is None:
            continue
        tile = place.m if operand == "a" else place.n
        turn, at = OperandTurn(use, argument, place, tile), (place.stage, tile, place.k)
        first = sites.setdefault(at, turn)
        again = first.use.site != use.site and first.argument.value != argument.value
        turns.setdefault((*at, argument.value) if again else at, turn)
    return list(turns.values())


def get_extents(turns: Sequence[OperandTurn], view: View) -> tuple[int, int]:
    """Return the rows and the elements of K that the executions cover."""
    return (1 + max(t.tile for t in turns)) * view.rows, (1 + max(t.place.k for t in turns)) * view.k


def find_bases(turns: Sequence[OperandTurn], symbols: Mapping[str, int], separate: bool) -> dict[tuple[int, int], int]:
    """Map (stage, tile) to the tile's first byte, where its first step begins.

    separate: every tile of M or N is stored separately; else the tiles of a stage are in one.
    """
    bases: dict[tuple[int, int], int] = {}
    for turn in turns:
        key = (turn.place.stage, turn.tile if separate else 0)
        line = turn.argument.address
        at = evaluate_linear(line, symbols) if line is not None else None
        if key not in bases and at is not None:
            bases[key] = at
    return bases


@dataclass(frozen=True, slots=True)
class Start:
    """The start of an operand's tile: its first byte, None for the first step's address; and the first step's K."""

    base: int | None = None
    first_k: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The tile that an operand's steps are verified against, None if unknown, and its start.

    by_tma: a tensor map stores it, so it begins where TMA may write.
    """

    seen: View
    tile: StoredTile | None
    symbols: Mapping[str, int]
    start: Start
    by_tma: bool = False


@dataclass(frozen=True, slots=True)
class _Tiles:
    """The tiles of one operand. begins: (stage, tile) → first byte; apart: every tile of M or N is one of its own;
    several: instructions have transpose immediates of their own.
    """

    ground: Ground
    begins: Mapping[tuple[int, int], int]
    first_stage: int
    apart: bool
    several: bool

    @classmethod
    def from_turns(cls, turns: Sequence[OperandTurn], ground: Ground) -> _Tiles:
        tile = ground.tile
        separate = tile is not None and tile.mn is not None and tile.mn < get_extents(turns, ground.seen)[0]
        several = len({_get_stated_major(turn) for turn in turns} - {""}) > 1
        return cls(ground, find_bases(turns, ground.symbols, separate), turns[0].place.stage, separate, several)

    def view(self, turn: OperandTurn) -> View:
        """Return the view of the operand in an iteration's instruction."""
        seen = self.ground.seen
        return replace(seen, major=_get_stated_major(turn) or seen.major) if self.several else seen

    def storage(self, turn: OperandTurn) -> Storage | None:
        """Return the tile that an iteration should read."""
        tile = self.ground.tile
        return None if tile is None else tile.make_storage(max(self._find_begin(turn, tile), 0), self.ground.seen)

    def _find_begin(self, turn: OperandTurn, tile: StoredTile) -> int:
        stage, number, base = turn.place.stage, turn.tile if self.apart else 0, self.ground.start.base
        begin = self.begins.get((stage, number), 0)
        if base is not None:
            begin = base + begin - self.begins.get((self.first_stage, 0), begin)
        if tile.stage_bytes and is_staged(turn.use):  # a layout with stages says where each begins
            begin = self.begins.get((self.first_stage, number), begin)
            begin += (stage - self.first_stage) * tile.stage_bytes
        return begin

    def step(self, turn: OperandTurn, word: int) -> OperandStep:
        """Return the step of an iteration with this descriptor, without its causes."""
        seen, stored, own_view = self.ground.seen, self.storage(turn), self.view(turn)
        mn = 0 if self.apart else turn.tile * seen.rows
        k = self.ground.start.first_k + turn.place.k * seen.k
        step = replace(
            _verify_step(turn, Descriptor(word, own_view.form), own_view, stored, mn, k),
            base=None if stored is None else stored.base,
        )
        if own_view.major != seen.major:  # what is wrong is the call that gives the immediate
            step = replace(step, span=turn.use.site[-1], around=())
        if self.ground.by_tma and stored is not None and stored.base % tma.BOX_ALIGNMENT:
            step = replace(step, verdict="mismatch", causes=(_make_nowhere_diagnosis(turn, stored.base),))
        return step


def verify_steps(
    turns: Sequence[OperandTurn],
    ground: Ground,
    *,
    pitfalls: Sequence[Pitfall],
    endless: Collection[str] = (),
    why: bool,
) -> list[OperandStep]:
    """Verify every execution as a step; without a tile none has a verdict.

    endless: variables of loops with an open end; why: whether to look for the causes of a mismatch. LayoutError if a
    slice exceeds the tile.
    """
    tiles = _Tiles.from_turns(turns, ground)
    executed: list[OperandTurn] = []
    steps: list[OperandStep] = []
    for turn in turns[:MOST_STEPS]:
        check_deadline()
        word = evaluate_word(turn.argument.value, ground.symbols)
        if word is not None:
            executed.append(turn)
            steps.append(tiles.step(turn, word))
    if ground.tile is not None and executed:
        operand = next(name for name, argument in executed[0].use.arguments.items() if argument is executed[0].argument)
        steps = stages.mark_shared_stages(operand, steps, [turn.use for turn in executed], ground.seen, endless)
    return _explain_steps(executed, steps, tiles, pitfalls, why)


def _explain_steps(
    executed: Sequence[OperandTurn], steps: Sequence[OperandStep], tiles: _Tiles, pitfalls: Sequence[Pitfall], why: bool
) -> list[OperandStep]:
    """Return the steps with the causes of a mismatch, sought once for each chain of calls."""
    explained: set[tuple[Span, ...]] = set()
    words: dict[tuple[int, int, int], tuple[OperandTurn, OperandStep]] = {}  # the first turn with each word of a tile
    explained_steps = list(steps)
    for n, (turn, step) in enumerate(zip(executed, steps, strict=True)):
        check_deadline()
        before = words.setdefault((step.stage, step.mn, step.word), (turn, step))
        chain, stored = (turn.argument.span, *turn.argument.around), tiles.storage(turn)
        if step.verdict != "mismatch" or stored is None or chain in explained or len(explained) >= MOST_CAUSES:
            continue
        explained.add(chain)
        if step.causes:
            continue
        if why:
            explained_steps[n] = replace(
                step, causes=_find_causes(turn, step, stored, tiles.view(turn), before, pitfalls)
            )
        else:
            require_inside(tiles.view(turn), stored, step.mn, step.k)  # slices that the diagnosis rejects
    return explained_steps


def _find_causes(
    turn: OperandTurn,
    step: OperandStep,
    stored: Storage,
    view: View,
    before: tuple[OperandTurn, OperandStep],
    pitfalls: Sequence[Pitfall],
) -> tuple[Diagnosis, ...]:
    """Return the causes of a wrong step; before: the first iteration with this word, and its step."""
    word = Descriptor(step.word, view.form)
    diagnoses = diagnose_step(word, view, stored, mn=step.mn, k=step.k, computed=turn.use.computed, pitfalls=pitfalls)
    first, earlier = before
    again = turn.use.again or (first.use.site != turn.use.site and 0 < earlier.k != step.k)
    return (_make_repeat_diagnosis(step, earlier, diagnoses[0]), *diagnoses) if again and diagnoses else diagnoses


def _get_stated_major(turn: OperandTurn) -> str:
    """Return the major that an iteration's transpose immediate states; "" if the text has none."""
    return next(
        (turn.use.majors.get(name, "") for name, argument in turn.use.arguments.items() if argument is turn.argument),
        "",
    )


def _make_repeat_diagnosis(step: OperandStep, earlier: OperandStep, other: Diagnosis) -> Diagnosis:
    """Diagnose a descriptor that repeats that of an earlier K step."""
    before = earlier.k // step.depth
    moved = "the start did not move for this step"
    why = moved if earlier.k + step.depth == step.k else "this step needs a start of its own"
    message = f"The descriptor of K step {before} is repeated here: {why}."
    return Diagnosis("other_slice", message, other.fix, other.changes)


def assign_blame(operands: Sequence[VerifiedOperand]) -> list[VerifiedOperand]:
    """Assign every wrong step to a place in the code.

    The place is the expression of its descriptor; if other calls use the same expression and are right, the innermost
    call whose steps are all wrong. Only the first step of a place has causes.
    """
    blamed = []
    chains = [(operand.name, (step.span, *step.around), step) for operand in operands for step in operand.steps]
    wrong = {(name, chain) for name, chain, step in chains if step.verdict == "mismatch"}
    shared = {(name, span) for name, chain, _ in chains if (name, chain) not in wrong for span in chain}
    for operand in operands:
        steps: list[OperandStep] = []
        places: set[Span] = set()
        for step in operand.steps:
            chain = (step.span, *step.around)
            if (operand.name, chain) in wrong:
                span = next((span for span in chain if (operand.name, span) not in shared), step.span)
                causes = () if step.verdict != "mismatch" or span in places else step.causes
                places.update([span] if step.verdict == "mismatch" else [])
                step = replace(step, span=span, causes=causes, around=step.around if span == step.span else chain)
            steps.append(step)
        blamed.append(replace(operand, steps=tuple(steps)))
    return blamed


def _make_nowhere_diagnosis(turn: OperandTurn, base: int) -> Diagnosis:
    """Make the diagnosis that TMA cannot write a box to a tile's start (CUDA driver API 13.0: the shared-memory
    address).
    """
    where = f"The tile of stage {turn.place.stage}" if turn.place.stage else "The tile"
    aligned = tma.BOX_ALIGNMENT
    message = (
        f"{where} begins at {base:#x}, {base % aligned} bytes past a multiple of {aligned}. TMA stores a box"
        f" only at a multiple of {aligned} bytes, and a swizzle of 128B repeats every {WIDEST_PATTERN}: begin every"
        " stage at a multiple of that."
    )
    return Diagnosis("tma_destination", message)


def mark_spoilt_steps(steps: Sequence[OperandStep], pitfall: Pitfall) -> list[OperandStep]:
    """Mark right steps as wrong if address bits above the start field corrupt other fields of the descriptor.

    The address is a symbol here, and has no such bits.
    """
    cause = Diagnosis(pitfall.code, pitfall.message)
    marked, has_cause = [], False
    for step in steps:
        if step.verdict == "match":
            step = replace(step, verdict="mismatch", matched=0, causes=() if has_cause else (cause,))
            has_cause = True
        marked.append(step)
    return marked


def _verify_step(
    turn: OperandTurn, word: Descriptor, view: View, stored: Storage | None, mn: int, k: int
) -> OperandStep:
    address_of = reads(word, view)
    total = view.rows * view.k
    expected, matched, verdict = None, 0, "unknown"
    outside = stored is not None and (
        (stored.mn is not None and mn + view.rows > stored.mn) or (stored.k is not None and k + view.k > stored.k)
    )
    if stored is not None and not outside:
        expected_reads = compute_expected_reads(stored, view, mn, k)
        matched = int(np.count_nonzero(address_of == expected_reads))
        expected, verdict = int(expected_reads[0, 0]), "match" if matched == total else "mismatch"
    return OperandStep(
        loops=dict(turn.use.loops),
        stage=turn.place.stage,
        word=word.word,
        mn=mn,
        k=k,
        rows=view.rows,
        depth=view.k,
        verdict=verdict,
        expected=expected,
        read=int(address_of[0, 0]),
        matched=matched,
        total=total,
        causes=(),
        span=turn.argument.span,
        around=turn.argument.around,
    )


def diagnose_step(
    word: Descriptor, view: View, stored: Storage, *, mn: int, k: int, computed: bool, pitfalls: Sequence[Pitfall]
) -> tuple[Diagnosis, ...]:
    """Diagnose why a step reads other bytes; a pitfall of C in the code comes first."""
    diagnoses = list(verify(word, view, stored, mn=mn, k=k, computed=computed).diagnoses)
    of_code = [p for p in pitfalls if p.code in _OF_CODE]
    if of_code and all(diagnosis.code != of_code[0].code for diagnosis in diagnoses):
        leftover = diagnoses[0] if diagnoses else Diagnosis("", "")
        diagnoses.insert(0, Diagnosis(of_code[0].code, of_code[0].message, leftover.fix, leftover.changes))
    return tuple(diagnoses)


def list_fitting_tiles(turn: OperandTurn, view: View, symbols: Mapping[str, int]) -> tuple[str, ...]:
    """List standard tiles that a step reads, if nothing is known of the storage."""
    word = evaluate_word(turn.argument.value, symbols)
    if word is None:
        return ()
    try:
        return tuple(
            storage(spec, view.bits, view.major).text
            for spec, _ in find_fitting_tiles(Descriptor(word, view.form), view)[:2]
        )
    except LayoutError:
        return ()
