"""Build the Workbench of a text: group descriptor uses by instruction, find each operand's store, verify.

`build_workbench` is called by the page, the command line and `check.py`; it calls `contents.py`, `slice_order.py`,
`stores.py`, `operands.py` and, for the sentences, `messages.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice

from lanescope import inputs, reader
from lanescope.errors import LayoutError, refuse_deep_recursion
from lanescope.names import lookup
from lanescope.ptx.instruction import Instruction
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.reader.code.descriptors.doubts import UNSEEN
from lanescope.reader.grammars import pasted_text
from lanescope.reader.grammars.excerpt import extract_code
from lanescope.workbench import messages
from lanescope.workbench.copies.dimension_roles import drop_doubtful_names
from lanescope.workbench.copies.inner_dimensions import InnerDimension, find_inner_dimensions
from lanescope.workbench.copies.loads import FilledTile, TextLoads
from lanescope.workbench.copies.operand_fills import find_filled_tiles, is_overwritten
from lanescope.workbench.descriptors import uses
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.descriptors.launched_uses import split_by_launch
from lanescope.workbench.descriptors.loaded_places import LoadedOperand, list_loaded_operands, list_loaded_places
from lanescope.workbench.descriptors.slice_order import SlicePlace, find_places
from lanescope.workbench.reads import alignment, exchanged_buffers, verification
from lanescope.workbench.reads.operands import OperandCase
from lanescope.workbench.reads.stage_counters import split_by_counters, split_by_stage_counter
from lanescope.workbench.reads.stores import OVERWRITTEN, Clues, pair_stores
from lanescope.workbench.reads.tiles import is_filled_in_part
from lanescope.workbench.repair import repairs
from lanescope.workbench.repair.blame import BlameFinder
from lanescope.workbench.results import Assumption, TextPiece, VerifiedOperand, Workbench
from lanescope.workbench.source.open_names import add_open_names
from lanescope.workbench.tensor_memory.tcgen05 import make_view
from lanescope.workbench.text.addresses import list_start_names
from lanescope.workbench.text.contents import ContentsState, TextContents
from lanescope.workbench.text.names import find_operand_letter

MOST_GROUPS = 64  # instructions and tiles of one text that are verified
MOST_PLACEMENTS = 4  # of one group by its loads


@refuse_deep_recursion()
def build_workbench(
    text: str,
    choices: Mapping[str, str] | None = None,
    patience: int = 1,
    copied: bool = True,
    *,
    why: bool = True,
    repair: bool | Callable[[Workbench], bool] = False,
) -> Workbench:
    """Return the bench of a text: its contents, verified as far as the text determines them.

    choices: values that the text does not contain, by the keys of `Workbench.assumed` (`at.smem_A`, `inner.a`,
    `panel.a`, `major.b`, `instruction` …). Other keys are ignored. LayoutError `bad_text` if the text is too long,
    `too_deep` if it is nested too deeply, and for an invalid value.
    patience: multiple of the steps that a server grants code; copied: whether to skip quotes, diffs, entities and the
    like, which a source file does not have; why: whether to look for the causes of a mismatch, which costs more than
    all the rest. Without causes steps have their verdicts alone. repair: whether to look for edits that make wrong
    operands right, or a function that decides it; each is tried, which costs a bench without causes.

    >>> build_workbench("desc_a: 0x4000004000010040 \\nwgmma.mma_async.m64n8k16.f32.f16.f16").missing
    ('The text does not say how A is stored: paste its tensor map or its layout.',)
    """
    text = inputs.require_text(text, "text", reader.LONGEST * patience)
    seen = pasted_text.clean_text(text, places=True) if copied else text
    builder = _WorkbenchBuilder(seen, extract_code(text, seen), dict(choices or {}), patience, why)
    bench = builder.build()
    if repair and bench.verdict == "mismatch" and (repair is True or repair(bench)):
        bench = builder.add_repairs(bench)
    moved = pasted_text.make_place_map(text) if copied else None
    return bench.move_spans(moved) if moved else bench


class _WorkbenchBuilder(TextContents):
    """The state while the Workbench of one text is built."""

    def __init__(self, text: str, source: str, choices: dict[str, str], patience: int, why: bool) -> None:
        super().__init__(text, source, choices, patience)
        self.why, self.patience = why, patience
        self.loads = self.every_load = TextLoads(self.code)
        self.groups: list[list[DescriptorUse]] = []
        self.inner: dict[tuple[tuple[str, int], ...], dict[str, InnerDimension]] = {}  # of the operands of equal maps

    def build(self) -> Workbench:
        self.groups = self._group_uses(self.find_uses())
        verified = [operand for group in self.groups for operand in self._verify_group(group)]
        operands = verification.assign_blame(verified)
        pieces = self._describe_pieces(operands)
        if not operands:
            self.name_missing()
        add_open_names(self.assumed)
        missing = tuple(dict.fromkeys([*self.missing, *(m for operand in operands for m in operand.missing)]))
        assumed = tuple(self.assumed.values())
        message = messages.build_message(operands, pieces, assumed, missing)
        bench = Workbench(
            pieces=pieces,
            operands=tuple(operands),
            assumed=assumed,
            missing=missing,
            verdict=messages.decide_verdict(operands, pieces),
            headline=message.headline,
            detail=message.detail,
            complete=self.code is None or self.code.complete,
            caution=message.caution,
        )
        return self._place_blame(bench)

    def add_repairs(self, bench: Workbench) -> Workbench:
        """Return the bench with the edits that make its wrong operands right."""
        built: dict[int, list[DescriptorBuilder]] = {}
        for piece, builder in self.built:
            built.setdefault(piece, []).append(builder)

        def retry(text: str) -> Workbench:
            return build_workbench(text, self.choices, self.patience, copied=False, why=False)

        found = repairs.find_repairs(self.text, bench, built, retry)
        return self._place_blame(replace(bench, repairs=found)) if found else bench

    def _place_blame(self, bench: Workbench) -> Workbench:
        """Return the bench with the place of each wrong operand that has to be changed."""
        blame = BlameFinder(self.text, bench, [builder for _, builder in self.built])
        places = {n: blame.find_blamed_span(o, o.first_wrong) for n, o in enumerate(bench.operands) if o.first_wrong}
        operands = (replace(o, place=places.get(n)) for n, o in enumerate(bench.operands))
        return replace(bench, operands=tuple(operands))

    def _describe_pieces(self, operands: list[VerifiedOperand]) -> tuple[TextPiece, ...]:
        """Return the pieces with the operands that they belong to and their doubts."""
        verified = {operand.descriptor for operand in operands if operand.verdict != "unknown"}
        described = []
        for n, piece in enumerate(self.pieces):
            names = dict.fromkeys(o.name for o in operands if n in (o.descriptor, o.storage, *o.others))
            doubts = self._list_doubts(n, n in verified)
            suspects = {(p.code, p.span) for p in self.doubtful.get(n, ()) if p.message in doubts}
            ordered = tuple(sorted(suspects, key=lambda suspect: suspect[1]))
            described.append(replace(piece, operands=tuple(names), doubts=doubts, suspects=ordered))
        return tuple(described)

    def _list_doubts(self, piece: int, verified: bool) -> tuple[str, ...]:
        """List doubts about a piece's code; if its reads were verified, only those that verification cannot settle."""
        pitfalls = self.doubtful.get(piece, ())
        return tuple(dict.fromkeys(pitfall.message for pitfall in pitfalls if not verified or pitfall.code in UNSEEN))

    def _group_uses(self, every_use: list[DescriptorUse]) -> list[list[DescriptorUse]]:
        """Group the uses of one instruction and its tiles in one function; of several groups, the largest first."""
        groups: dict[tuple[str, str], list[DescriptorUse]] = {}
        by_function = any(len(use.arguments) > 1 for use in every_use)
        for use in every_use:
            ptx = use.mention.instruction.ptx if use.mention else ""
            groups.setdefault((ptx, use.function if by_function else ""), []).append(use)
        known = [
            part
            for (ptx, _), group in groups.items()
            if ptx or "instruction" in self.choices
            for launched in split_by_launch(group, self.every_load, self.stores)
            for tile in (uses.group_by_tile(launched) if group[0].computed else [launched])
            for part in split_by_stage_counter(tile)
        ]
        return sorted(known, key=lambda group: -len(group))[:MOST_GROUPS]

    def _find_instruction(self, group: list[DescriptorUse]) -> Instruction | None:
        if "instruction" in self.choices:
            instruction = lookup.parse_instruction(self.choices["instruction"], "instruction")
            choices = self.assumed["instruction"].choices if "instruction" in self.assumed else ()
            self.assumed["instruction"] = Assumption("instruction", "Instruction", instruction.ptx, "as given", choices)
            return instruction
        mention = group[0].mention
        instructions = dict.fromkeys(m.instruction.ptx for m in self.mentions if m.instruction.family.by_descriptor)
        if mention is None:
            return None
        if len(instructions) > 1 and not any(use.mention is not None and use.registers is not None for use in group):
            why = f"the text has {len(instructions)} instructions"
            self.assume(Assumption("instruction", "Instruction", mention.instruction.ptx, why, tuple(instructions)))
        return mention.instruction

    def _count_readers(self, group: list[DescriptorUse]) -> int:
        """Count the instructions that may read a group's descriptors; 0 if the text determines the reader."""
        instructions = {m.instruction.ptx for m in self.mentions if m.instruction.family.by_descriptor}
        if len(instructions) < 2 or "instruction" in self.choices:
            return 0
        return 0 if all(use.sure for use in group) else len(instructions)

    def _verify_group(self, group: list[DescriptorUse]) -> list[VerifiedOperand]:
        """Verify the operands of one instruction and its tiles."""
        instruction = self._find_instruction(group)
        if instruction is None or not instruction.family.by_descriptor:
            return []
        group = self._name_operands(group)
        self.loads = self.every_load.list_of_launch(self.every_load.find_launch(group[0].site))
        where = find_places(group, self.code.unbounded_variables if self.code else frozenset(), self.text)
        before = self.save_state()
        verified = self._verify_places(instruction, group, where)
        if any(operand.verdict == "mismatch" or is_filled_in_part(operand) for operand in verified):
            verified = self._verify_loaded_places(instruction, group, verified, before) or verified
        if one_of := self._count_readers(group):
            verified = [replace(operand, one_of=one_of) for operand in verified]
        return _note_overlap(
            verified, {operand.name: make_view(instruction, operand.name, "K").bits for operand in verified}
        )

    def _verify_loaded_places(
        self,
        instruction: Instruction,
        group: list[DescriptorUse],
        verified: list[VerifiedOperand],
        before: ContentsState,
    ) -> list[VerifiedOperand] | None:
        """Return the operands if they are right in the slices where loads put them, else None.

        before: the state before the group was verified in the order of its loops.
        """
        names = {name for use in group for name in use.arguments}
        operands = list_loaded_operands(verified, self.stores, self.choices)
        if len(operands) < len(names) or not group[0].computed:
            return None
        after = self.save_state()
        self.restore_state(before)
        found: list[VerifiedOperand] = []
        for part in split_by_counters(group):
            right = self._verify_loaded_part(instruction, part, operands)
            if not right:
                self.restore_state(after)
                return None
            found += right
        return found

    def _verify_loaded_part(
        self, instruction: Instruction, part: list[DescriptorUse], operands: list[LoadedOperand]
    ) -> list[VerifiedOperand]:
        """Return the operands of uses in the same stages if a placement by loads makes them right, else []."""
        before = self.save_state()
        places = (placed for tiles in self.loads.list_tilings() for placed in list_loaded_places(part, operands, tiles))
        for placed in islice(places, MOST_PLACEMENTS):
            right = self._verify_places(instruction, [use for _, use in placed], [place for place, _ in placed])
            if len(right) == len(operands) and all(operand.verdict == "match" for operand in right):
                return right
            self.restore_state(before)
        return []

    def _verify_places(
        self, instruction: Instruction, group: list[DescriptorUse], where: list[SlicePlace]
    ) -> list[VerifiedOperand]:
        """Verify the operands of uses in these slices."""
        turns = {
            name: verification.list_turns(group, where, name)
            for name in "ab"
            if any(name in use.arguments for use in group)
        }
        seen = {name: make_view(instruction, name, "K") for name in turns}
        rows = {name: operand.rows for name, operand in seen.items()}
        crossed = exchanged_buffers.find_exchanged_buffers(group, self.stores, rows, self.code, self.text)
        verified = []
        for case in self._make_cases(instruction, group, turns, crossed):
            other = crossed.get(case.name)
            if (operand := self._verify_case(case, other, turns.get(other.named_for, []) if other else [])) is not None:
                verified.append(operand)
        return verified

    def _make_cases(
        self,
        instruction: Instruction,
        group: list[DescriptorUse],
        turns: Mapping[str, list[verification.OperandTurn]],
        crossed: Mapping[str, exchanged_buffers.FollowedBuffer],
    ) -> list[OperandCase]:
        """Return the operands of an instruction, each with the store that holds it."""
        filled = find_filled_tiles(self.loads, turns)
        clues = [self._collect_clues(name, group, crossed.get(name), filled[name]) for name in turns]
        chosen = pair_stores(self.stores, clues, self.used)
        for name, of_operand in turns.items():
            if chosen[name][0] is not None and is_overwritten(
                self.loads, make_view(instruction, name, "K"), of_operand
            ):
                chosen[name] = (None, OVERWRITTEN)
            if why := self._describe_unmoved(of_operand):
                chosen[name] = (None, why)
        self.used.update(store.piece for store, _ in chosen.values() if store is not None)
        named = drop_doubtful_names(chosen, group, self.groups)
        doubtful = {name for name, (store, _) in named.items() if store is not chosen[name][0]}
        maps = {name: store.map for name, (store, _) in named.items() if store is not None and store.map is not None}
        inner = find_inner_dimensions(self.kernel_text, self.loads, maps, turns, doubtful) if self.kernel_text else {}
        known = self.inner.setdefault(tuple(sorted((name, id(one)) for name, one in maps.items())), {})
        known.update({name: found for name, found in inner.items() if name not in known})
        return [
            OperandCase(self, instruction, name, of_operand, *named[name], filled[name], self.why, known.get(name))
            for name, of_operand in turns.items()
        ]

    def _describe_unmoved(self, turns: list[verification.OperandTurn]) -> str:
        """Return why the address of a read does not move with the loop of its copies; "" if it does."""
        described = (self.loads.describe_unmoved(turn.argument.address) for turn in turns if turn.argument.address)
        return next(filter(None, described), "")

    def _verify_case(
        self, case: OperandCase, other: exchanged_buffers.FollowedBuffer | None, turns: list[verification.OperandTurn]
    ) -> VerifiedOperand | None:
        """Return an operand with its verdict; None if an assumed value is refused, then reported as missing."""
        try:
            operand = case.verify()
            return operand if other is None else self._make_exchanged_operand(operand, other, turns)
        except LayoutError as error:
            if error.field in self.choices:
                raise
            self.missing.append(f"{error.message} {error.hint}")
            return None

    def _collect_clues(
        self,
        name: str,
        group: list[DescriptorUse],
        crossed: exchanged_buffers.FollowedBuffer | None,
        filled: FilledTile | None,
    ) -> Clues:
        """Collect the facts in the text about an operand's place in memory."""
        arguments = [use.arguments[name] for use in group if name in use.arguments]
        starts = (argument.address for argument in arguments)
        return Clues(
            operand=name,
            buffer=name if crossed is None else crossed.named_for,
            chosen=self.choices.get(f"storage.{name}"),
            addresses=tuple(dict.fromkeys(part for argument in arguments for part in list_start_names(argument.value))),
            start=next((line for line in starts if line is not None), None),
            function=group[0].function,
            loaded=frozenset() if filled is None else filled.maps,
        )

    def _make_exchanged_operand(
        self, operand: VerifiedOperand, other: exchanged_buffers.FollowedBuffer, turns: list[verification.OperandTurn]
    ) -> VerifiedOperand:
        """Make an operand that reads the other one's buffer; turns: the iterations of the operand it is named for."""
        if other.deliberate:
            note = exchanged_buffers.format_exchange_note(operand.name, other)
            return replace(operand, notices=(*operand.notices, note))
        names = (name for turn in turns for name in list_start_names(turn.argument.value))
        own = next((name for name in names if find_operand_letter(name) == operand.name), "")
        steps = exchanged_buffers.mark_wrong_steps(operand.name, other, operand.steps, self.symbols.get(own))
        if operand.stored is not None:
            return replace(operand, steps=tuple(steps))
        notes = [cause.message for cause in steps[0].causes] if steps else []
        return replace(operand, notices=(*operand.notices, *notes))

    def _name_operands(self, group: list[DescriptorUse]) -> list[DescriptorUse]:
        """Return the uses with the requested operand if the text does not determine it."""
        unsure = [use for use in group if use.assumed]
        if not unsure:
            return group
        assumed_name = next(iter(unsure[0].arguments))
        value = self.choices.get("operand", assumed_name).lower()
        if value not in ("a", "b"):
            raise LayoutError(
                "bad_operand", f"operand is '{inputs.shorten_value(value)}'.", "Allowed: a, b.", "operand"
            )
        why = "as given" if "operand" in self.choices else "the text does not say"
        self.assume(Assumption("operand", "Operand of the descriptor", value, why, ("a", "b")))
        if value == assumed_name:
            return group
        return [_rename_operand(use, value) for use in group]


def _note_overlap(operands: list[VerifiedOperand], bits: Mapping[str, int]) -> list[VerifiedOperand]:
    """Return the operands of one instruction, without verdicts if A and B overlap."""
    overlap = alignment.describe_overlap(operands[0], operands[1], bits) if len(operands) == 2 else ""
    if not overlap:
        return operands
    return [replace(operand, missing=(overlap, *operand.missing), left=max(operand.left, 1)) for operand in operands]


def _rename_operand(use: DescriptorUse, operand: str) -> DescriptorUse:
    """Return a use of one descriptor with the requested operand instead of the assumed one."""
    if not use.assumed:
        return use
    return replace(use, arguments={operand: next(iter(use.arguments.values()))}, why={operand: "as given"})
