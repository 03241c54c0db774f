"""One text → its Bench: every use of a descriptor grouped by its instruction, each operand given a store and judged.

`bench` is what the page, the command line and `check.py` call; it calls `contents.py`, `order.py`, `stores.py`,
`operands.py` and, for the sentences, `said.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lanescope import reading
from lanescope.descriptor.matrix import view
from lanescope.errors import LayoutError, refusing_depth
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.reader import pasted
from lanescope.reader.code.doubts import UNSEEN
from lanescope.reader.code.word import Linear
from lanescope.reader.excerpt import code_of
from lanescope.workbench import exchanged, judge, placed, said, uses
from lanescope.workbench.addresses import address, start_names
from lanescope.workbench.blame import Blame
from lanescope.workbench.contents import Contents
from lanescope.workbench.found import Assumed, Bench, Operand, Piece
from lanescope.workbench.loads import Filled, Loads
from lanescope.workbench.names import letter
from lanescope.workbench.operands import OperandCase
from lanescope.workbench.order import places
from lanescope.workbench.stores import Clues, pair
from lanescope.workbench.uses import Use

LONGEST = 1 << 16
MOST_GROUPS = 8  # instructions of one text that are verified


@refusing_depth()
def bench(
    text: str, given: Mapping[str, str] | None = None, patience: int = 1, copied: bool = True, why: bool = True
) -> Bench:
    """What a text holds, verified as far as it says enough.

    given: values for what it leaves open, by the keys of `Bench.assumed` (`at.smem_A`, `inner.a`, `panel.a`,
    `major.b`, `instruction` …). LayoutError `bad_text` where the text is too long, `too_deep` where it is nested too
    deeply, and for a value that is none; of another key nothing is said.
    patience: how many times as many steps code may take as a server grants it; copied: whether quotes, diffs, entities
    and the like are read past. A source file is what it is. why: whether the causes of a mismatch are looked for, which
    costs more than all the rest; without them steps have their verdicts alone.

    >>> bench("desc_a: 0x4000004000010040 \\nwgmma.mma_async.m64n8k16.f32.f16.f16").missing
    ('The text does not say how A is stored: paste its tensor map or its layout.',)
    """
    text = reading.text(text, "text", LONGEST * patience)
    seen = pasted.legible(text, places=True) if copied else text
    made = _Making(seen, code_of(text, seen), dict(given or {}), patience, why).made()
    moved = pasted.own_places(text) if copied else None
    return made.moved(moved) if moved else made


class _Making(Contents):
    """One text on its way to a Bench."""

    def __init__(self, text: str, source: str, given: dict[str, str], patience: int, why: bool) -> None:
        super().__init__(text, source, given, patience)
        self.why = why
        self.used: set[int] = set()  # stores of the tiles so far
        self.loads = Loads(self.code)

    def made(self) -> Bench:
        groups = self._groups(self.find_uses())
        operands = judge.blamed([one for group in groups for one in self._verified(group)])
        pieces = self._told(operands)
        if not operands:
            self.name_missing()
        missing = tuple(dict.fromkeys([*self.missing, *(m for one in operands for m in one.missing)]))
        assumed = tuple(self.assumed.values())
        told = said.message(operands, pieces, assumed, missing)
        made = Bench(
            pieces=pieces,
            operands=tuple(operands),
            assumed=assumed,
            missing=missing,
            verdict=said.verdict(operands, pieces),
            headline=told.headline,
            detail=told.detail,
            complete=self.code is None or self.code.complete,
            caution=told.caution,
        )
        blame = Blame(self.text, made, [builder for _, builder in self.built])
        placed_ = (replace(o, place=blame.of(o, o.first_wrong)) if o.first_wrong else o for o in operands)
        return replace(made, operands=tuple(placed_))

    def _told(self, operands: list[Operand]) -> tuple[Piece, ...]:
        """The pieces with the operands that they belong to, and what is unusual in them."""
        verified = {one.descriptor for one in operands if one.verdict != "unknown"}
        told = []
        for n, piece in enumerate(self.pieces):
            names = dict.fromkeys(o.name for o in operands if n in (o.descriptor, o.storage, *o.others))
            told.append(replace(piece, operands=tuple(names), doubts=self._doubts(n, n in verified)))
        return tuple(told)

    def _doubts(self, piece: int, verified: bool) -> tuple[str, ...]:
        """What is unusual in the code of a piece; of one whose reads were verified only what they cannot say."""
        own = self.doubtful.get(piece, ())
        return tuple(dict.fromkeys(one.message for one in own if not verified or one.code in UNSEEN))

    def _groups(self, taken: list[Use]) -> list[list[Use]]:
        """Uses of one instruction and its tiles in one function; those with most steps first where there are many."""
        groups: dict[tuple[str, str], list[Use]] = {}
        by_function = any(len(one.given) > 1 for one in taken)
        for use in taken:
            ptx = use.mention.instruction.ptx if use.mention else ""
            groups.setdefault((ptx, use.of if by_function else ""), []).append(use)
        known = [
            part
            for (ptx, _), group in groups.items()
            if ptx or "instruction" in self.given
            for part in (uses.tiles(group) if group[0].computed else [group])
        ]
        return sorted(known, key=lambda group: -len(group))[:MOST_GROUPS]

    def _instruction(self, group: list[Use]) -> Instruction | None:
        if "instruction" in self.given:
            found = catalog.named(self.given["instruction"], "instruction")
            choices = self.assumed["instruction"].choices if "instruction" in self.assumed else ()
            self.assumed["instruction"] = Assumed("instruction", "Instruction", found.ptx, "as given", choices)
            return found
        mention = group[0].mention
        others = dict.fromkeys(m.instruction.ptx for m in self.mentions if m.instruction.family.by_descriptor)
        if mention is None:
            return None
        if len(others) > 1 and not any(use.mention is not None and use.registers is not None for use in group):
            why = f"the text has {len(others)} instructions"
            self.assume(Assumed("instruction", "Instruction", mention.instruction.ptx, why, tuple(others)))
        return mention.instruction

    def _verified(self, group: list[Use]) -> list[Operand]:
        """The operands of one instruction and its tiles."""
        instruction = self._instruction(group)
        if instruction is None or not instruction.family.by_descriptor:
            return []
        group = self._named(group)
        where = places(group, self.code.endless if self.code else frozenset(), self.text)
        turns = {name: judge.turns(group, where, name) for name in "ab" if any(name in use.given for use in group)}
        seen = {name: view(instruction, name, "K") for name in turns}
        rows = {name: one.rows for name, one in seen.items()}
        crossed = exchanged.followed(group, self.stores, rows, self.code, self.text)
        out = []
        for case in self._cases(instruction, group, turns, crossed):
            other = crossed.get(case.name)
            if (one := self._judged(case, other, turns.get(other.of, []) if other else [])) is not None:
                out.append(one)
        bits = {name: one.bits for name, one in seen.items()}
        if len(out) == 2 and (overlap := placed.overlap(out[0], out[1], bits)):
            out = [replace(one, missing=(overlap, *one.missing), left=max(one.left, 1)) for one in out]
        return out

    def _cases(
        self,
        instruction: Instruction,
        group: list[Use],
        turns: Mapping[str, list[judge.Turn]],
        crossed: Mapping[str, exchanged.Followed],
    ) -> list[OperandCase]:
        """The operands of an instruction, each with the store that holds it."""
        filled = self._filled(turns)
        clues = [self._clues(name, group, crossed.get(name), filled[name]) for name in turns]
        chosen = pair(self.stores, clues, self.used)
        self.used.update(store.piece for store, _ in chosen.values() if store is not None)
        return [
            OperandCase(self, instruction, name, found, *chosen[name], filled[name], self.why)
            for name, found in turns.items()
        ]

    def _judged(self, case: OperandCase, other: exchanged.Followed | None, own: list[judge.Turn]) -> Operand | None:
        """An operand with its verdict; None where something is refused that was not given, which is then missing."""
        try:
            one = case.judged()
            return one if other is None else self._crossed(one, other, own)
        except LayoutError as error:
            if error.field in self.given:
                raise
            self.missing.append(f"{error.message} {error.hint}")
            return None

    def _clues(self, name: str, group: list[Use], crossed: exchanged.Followed | None, filled: Filled | None) -> Clues:
        """What the text says of where an operand's tile lies."""
        given = [use.given[name].value for use in group if name in use.given]
        starts = (address(value)[0] for value in given)
        return Clues(
            operand=name,
            buffer=name if crossed is None else crossed.of,
            chosen=self.given.get(f"storage.{name}"),
            addresses=tuple(dict.fromkeys(part for value in given for part in start_names(value))),
            start=next((line for line in starts if line is not None), None),
            function=group[0].of,
            loaded=frozenset() if filled is None else filled.maps,
        )

    def _filled(self, turns: Mapping[str, list[judge.Turn]]) -> dict[str, Filled | None]:
        """Operand → what the text's TMA loads fill of its first tile."""
        begins: dict[str, dict[tuple[int, int], Linear]] = {}
        for name, found in turns.items():
            for turn in found:
                line, _ = address(turn.given.value)
                if line is not None:
                    begins.setdefault(name, {}).setdefault((turn.place.stage, turn.tile), line)
        every = [line for lines in begins.values() for line in lines.values()]
        return {name: self.loads.of(next(iter(begins.get(name, {}).values()), None), every) for name in turns}

    def _crossed(self, one: Operand, other: exchanged.Followed, own: list[judge.Turn]) -> Operand:
        """An operand that is given the other one's buffer. own: the turns of the operand it is named for."""
        if other.deliberate:
            return replace(one, notices=(*one.notices, exchanged.note(one.name, other)))
        mine = [n for turn in own for n in start_names(turn.given.value) if letter(n) == one.name]
        at = self.symbols.get(mine[0]) if mine else None
        steps = exchanged.wrong(one.name, other, one.steps, at)
        if one.stored is None:  # no verdict without a storage: said, not judged
            return replace(one, notices=(*one.notices, *(c.message for c in steps[0].causes)) if steps else one.notices)
        return replace(one, steps=tuple(steps))

    def _named(self, group: list[Use]) -> list[Use]:
        """The uses with the operand that was given, where the text does not say which it is."""
        unsure = [use for use in group if use.assumed]
        if not unsure:
            return group
        own = next(iter(unsure[0].given))
        value = self.given.get("operand", own).lower()
        if value not in ("a", "b"):
            raise LayoutError("bad_operand", f"operand is '{reading.shown(value)}'.", "Allowed: a, b.", "operand")
        why = "as given" if "operand" in self.given else "the text does not say"
        self.assume(Assumed("operand", "Operand of the descriptor", value, why, ("a", "b")))
        if value == own:
            return group
        return [_renamed(use, value) for use in group]


def _renamed(use: Use, operand: str) -> Use:
    """A use of one descriptor, of which operand was assumed, as one of the operand that was given."""
    if not use.assumed:
        return use
    return replace(use, given={operand: next(iter(use.given.values()))}, why={operand: "as given"})
