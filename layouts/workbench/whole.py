"""One text → its Bench: pieces found, paired, unrolled and verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lanescope import reading
from lanescope.descriptor.matrix import WINDOW_BYTES, View, summary_of, view
from lanescope.errors import LayoutError, refusing_depth
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.reader import pasted
from lanescope.reader.code.doubts import UNSEEN
from lanescope.reader.code.finding import Pitfall
from lanescope.reader.code.word import Linear
from lanescope.reader.excerpt import code_of
from lanescope.shared.swizzle import Mode
from lanescope.workbench import exchanged, judge, placed, said, uses
from lanescope.workbench.blame import Blame
from lanescope.workbench.contents import Contents
from lanescope.workbench.found import Assumed, Bench, Operand, Step
from lanescope.workbench.loads import Filled, Loads
from lanescope.workbench.order import places
from lanescope.workbench.stores import BY_ORDER, Store, Tile, pair, tile
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
        self.symbols: dict[str, int] = {}

    def made(self) -> Bench:
        found = self._read()
        operands: list[Operand] = []
        for group in self._groups(found):
            operands += self._verified(group)

        def held(one: Operand) -> tuple[int | None, ...]:
            return one.descriptor, one.storage, *one.others

        used = {n for one in operands for n in held(one) if n is not None}
        told = tuple(
            piece
            if n not in used
            else replace(piece, operands=tuple(dict.fromkeys(o.name for o in operands if n in held(o))))
            for n, piece in enumerate(self.pieces)
        )
        verified = {one.descriptor for one in operands if one.verdict != "unknown"}
        told = tuple(replace(piece, doubts=self._doubts(n, n in verified)) for n, piece in enumerate(told))
        operands = judge.blamed(operands)
        if not operands:
            self._nothing()
        missing = tuple(dict.fromkeys([*self.missing, *(m for one in operands for m in one.missing)]))
        assumed = tuple(self.assumed.values())
        line, why = said.headline(operands, told, missing)
        wrong = any(one.wrong for one in operands) or any(p.notices for p in told if p.kind == "tensor_map")
        right = bool(operands) and all(one.verdict == "match" for one in operands)
        verdict = "mismatch" if wrong else "match" if right else "unknown"
        caution = () if wrong else said.cautions(operands, assumed)
        resting = said.resting([one for one in assumed if right or one.detailed]) if operands else []
        why = " ".join(filter(None, [why, *(one for one in caution if right and one not in resting), *resting]))
        why = " ".join(filter(None, [why, said.addresses(assumed) if right else ""]))
        if right:
            reserved = [one for one in caution if one.startswith("Reserved")]
            line = summary_of(reserved) if reserved else line
            if rests := said.first_bytes(operands, assumed):
                line += f"; this holds {rests}" if reserved else f", {rests}"
        complete = self.code is None or self.code.complete
        made = Bench(
            pieces=told,
            operands=tuple(operands),
            assumed=assumed,
            missing=missing,
            verdict=verdict,
            headline=line,
            detail=why,
            complete=complete,
            caution=caution,
        )
        blame = Blame(self.text, made, [builder for _, builder in self.built])
        placed_ = (replace(o, place=blame.of(o, o.first_wrong)) if o.first_wrong else o for o in operands)
        return replace(made, operands=tuple(placed_))

    def _doubts(self, piece: int, verified: bool) -> tuple[str, ...]:
        """What is unusual in the code of a piece; of one whose reads were verified only what they cannot say."""
        own = self.doubtful.get(piece, ())
        return tuple(dict.fromkeys(one.message for one in own if not verified or one.code in UNSEEN))

    def _groups(self, taken: list[Use]) -> list[list[Use]]:
        """Uses of one instruction and its tiles in one function; those with most steps first where there are many."""
        groups: dict[tuple[str, str], list[Use]] = {}
        for use in taken:
            ptx = use.mention.instruction.ptx if use.mention else ""
            of = use.of if any(len(one.given) > 1 for one in taken) else ""
            groups.setdefault((ptx, of), []).append(use)
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
            self._assume(Assumed("instruction", "Instruction", mention.instruction.ptx, why, tuple(others)))
        return mention.instruction

    def _verified(self, group: list[Use]) -> list[Operand]:
        instruction = self._instruction(group)
        if instruction is None or not instruction.family.by_descriptor:
            return []
        endless = self.code.endless if self.code else frozenset()
        group = self._named(group)
        where = places(group, endless, self.text)
        names = [name for name in "ab" if any(name in use.given for use in group)]
        rows = {name: view(instruction, name, "K").rows for name in names}
        crossed = exchanged.followed(group, self.stores, rows, self.code, self.text)
        addresses = {
            name: dict.fromkeys(n for use in group if name in use.given for n in uses.names(use.given[name].value))
            for name in names
        }
        buffers = {name: one.of for name, one in crossed.items()}
        starts = {
            name: line
            for use in reversed(group)
            for name, given in use.given.items()
            if (line := uses.address(given.value)[0]) is not None
        }
        filled = self._filled({name: judge.turns(group, where, name) for name in names})
        loaded = {name: one.maps for name, one in filled.items() if one is not None}
        chosen = pair(
            self.stores,
            names,
            self.given,
            buffers=buffers,
            addresses=addresses,
            used=self.used,
            starts=starts,
            of=group[0].of,
            loaded=loaded,
        )
        self.used.update(store.piece for store, _ in chosen.values() if store is not None)
        out = []
        for name in names:
            found = judge.turns(group, where, name)
            try:
                store, why = chosen[name]
                one = self._operand(instruction, name, found=found, store=store, why=why, filled=filled[name])
                if name in crossed:
                    one = self._crossed(one, crossed[name], judge.turns(group, where, crossed[name].of))
            except LayoutError as error:
                if error.field in self.given:
                    raise
                self.missing.append(f"{error.message} {error.hint}")
                continue
            out.append(one)
        bits = {name: view(instruction, name, "K").bits for name in names}
        if len(out) == 2 and (said_ := placed.overlap(out[0], out[1], bits)):
            out = [replace(one, missing=(said_, *one.missing), left=max(one.left, 1)) for one in out]
        return out

    def _filled(self, turns: Mapping[str, list[judge.Turn]]) -> dict[str, Filled | None]:
        """Operand → what the text's TMA loads fill of its first tile."""
        begins: dict[str, dict[tuple[int, int], Linear]] = {}
        for name, found in turns.items():
            for turn in found:
                line, _ = uses.address(turn.given.value)
                if line is not None:
                    begins.setdefault(name, {}).setdefault((turn.place.stage, turn.tile), line)
        every = [line for lines in begins.values() for line in lines.values()]
        return {name: self.loads.of(next(iter(begins.get(name, {}).values()), None), every) for name in turns}

    def _crossed(self, one: Operand, other: exchanged.Followed, own: list[judge.Turn]) -> Operand:
        """An operand that is given the other one's buffer. own: the turns of the operand it is named for."""
        if other.deliberate:
            return replace(one, notices=(*one.notices, exchanged.note(one.name, other)))
        mine = [n for turn in own for n in uses.names(turn.given.value) if uses.letter(n) == one.name]
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
        self._assume(Assumed("operand", "Operand of the descriptor", value, why, ("a", "b")))
        if value == own:
            return group
        return [_renamed(use, value) for use in group]

    def _major(self, found: list[judge.Turn], name: str, instruction: Instruction) -> str:
        told = [t.use.majors[name] for t in found if name in t.use.majors]
        key = f"major.{name}"
        if instruction.operand("a").element.bits != 16:
            return "K"
        if told and key not in self.given:  # one that is set for a few instructions alone is wrong there
            return "MN" if 2 * told.count("MN") > len(told) else "K"
        value = self.given.get(key, "K").upper()
        if value not in ("K", "MN"):
            raise LayoutError("bad_major", f"{key} is '{reading.shown(value)}'.", "Allowed: K, MN.", key)
        why = "as given" if key in self.given else "the text has no imm-trans-" + name
        self._assume(Assumed(key, f"Major of {name.upper()}", value, why, ("K", "MN")))
        return value

    def _operand(
        self,
        instruction: Instruction,
        name: str,
        *,
        found: list[judge.Turn],
        store: Store | None,
        why: str,
        filled: Filled | None,
    ) -> Operand:
        seen = view(instruction, name, self._major(found, name, instruction))
        rows, depth = judge.extents(found, seen)
        missing: list[str] = []
        own = {n for turn in found for n in uses.names(turn.given.value)}
        for one in self.sizes:
            if one.key.removeprefix("size.") in own or not one.label.startswith("Bytes that"):
                self._assume(one, name)
        for one in judge.symbols_of(found, self.given, self.symbols, seen, self.aligned):
            self._assume(one, name)
            if one.missing:
                missing.append(f"The descriptor of {name.upper()} depends on {one.label}: give its value.")
        for n in {n for turn in found for piece in turn.given.value.pieces for n, _ in piece.source.terms}:
            if f"at.{n}" in self.assumed:
                self._assume(self.assumed[f"at.{n}"], name)
        stored: Tile | None = None
        if store is not None and store.open:
            missing.append(f"The layout of {store.name}, which holds {name.upper()}, {store.open}.")
            store = None
        elif store is not None:
            made = tile(store, name, seen, rows=rows, depth=depth, given=self.given, filled=filled)
            if isinstance(made, Tile):
                stored = made
                for one in made.assumed:
                    self._assume(one)
            else:
                for one in made:
                    if store.map and store.map.names and sum(other.map is not None for other in self.stores) > 1:
                        whose = f"tensor map ‘{store.map.names[0].lstrip('&')}’"
                        one = replace(one, label=one.label.replace("the tensor map", whose))
                    self._assume(one)
                    verb = "are" if one.label.startswith(("Boxes", "Bytes")) else "is"
                    missing.append(f"{one.label} {verb} open: {one.why}.")
        elif why:
            missing.append(f"The text does not say how {name.upper()} is stored: {why}.")
        else:
            missing.append(f"The text does not say how {name.upper()} is stored: paste its tensor map or its layout.")
        if store is not None and stored is not None and (choice := self._chosen(name, store, why)) is not None:
            self._assume(choice)
        base, first_k = self._begin(found, name, seen, stored, store)
        pitfalls = self.code.warnings if self.code else ()
        by_tma = store is not None and store.map is not None
        endless = self.code.endless if self.code else ()

        def judged(tile: Tile | None) -> list[Step]:
            return judge.steps(
                found,
                seen,
                tile,
                symbols=self.symbols,
                base=base,
                first_k=first_k,
                pitfalls=pitfalls,
                by_tma=by_tma,
                endless=endless,
                why=self.why,
            )

        steps = judged(stored)
        if store is not None and stored is not None and any(step.verdict == "mismatch" for step in steps):
            turned = self._turned(instruction, name, found, store, seen)
            if turned is not None:
                self.assumed = {key: one for key, one in self.assumed.items() if one not in stored.assumed}
                stored = turned
                for one in turned.assumed:
                    why = f"then every step is right but for imm-trans-{name}"
                    self._assume(replace(one, why=why) if one.key.startswith("inner.") else one)
                steps = judged(stored)
        spoilt = next((one for turn in found for one in self._warnings(turn) if one.code == "generic_pointer"), None)
        if stored is not None and spoilt is not None:
            steps = judge.spoilt(steps, spoilt)
        if stored is not None and any(step.verdict == "unknown" for step in steps):
            lies = stored.at(0, seen)
            side = "m" if name == "a" else "n"
            missing.append(
                f"The steps of {name.upper()} take {rows} × {depth} elements ({side} × k); {stored.why} has"
                f" {lies.mn or 'any'} × {lies.k or 'any'}."
            )
        starts = [uses.address(turn.given.value)[0] for turn in found]
        apart = placed.uneven(name, starts, seen, stored) if stored is not None else ""
        missing += [apart] if apart else []
        fits = judge.fitting(found[0], seen, self.symbols) if stored is None else ()
        first = found[0]
        stages = 1 + max(t.place.stage for t in found)
        notices = placed.notices(
            name,
            steps,
            seen=seen,
            stored=stored,
            names=sorted(own),
            known=self.aligned,
            several=stages > 1,
            by_tma=by_tma,
        )
        return Operand(
            name=name,
            instruction=instruction.ptx,
            major=seen.major,
            why=first.use.why[name],
            descriptor=self._piece_of(found),
            storage=store.piece if store else None,
            stored=None if stored is None else {**stored.spec, "base": self._base_of(found, base)},
            stored_why=f"{stored.why} ({why})" if stored is not None and why else stored.why if stored else "",
            steps=tuple(steps),
            fits=fits,
            missing=tuple(dict.fromkeys(missing)),
            notices=notices,
            k_steps=depth // seen.k,
            stages=stages,
            left=max(min(len(found), judge.MOST_STEPS) - len(steps), int(bool(apart))),
            symbols=tuple(dict.fromkeys(n for t in found for p in t.given.value.pieces for n, _ in p.source.terms)),
            others=tuple(dict.fromkeys(self._piece_of([turn]) for turn in found[: judge.MOST_STEPS])),
            assumed=self._of_storage(name, stored),
        )

    def _turned(
        self, instruction: Instruction, name: str, found: list[judge.Turn], store: Store, seen: View
    ) -> Tile | None:
        """The tile as the other major has it, where that alone makes every step right: then the transpose immediate,
        or the atom's major, is what is wrong.
        """
        if seen.bits != 16 or not any(name in turn.use.majors for turn in found) or f"major.{name}" in self.given:
            return None
        other = view(instruction, name, "MN" if seen.major == "K" else "K")
        try:
            rows, depth = judge.extents(found, other)
            made = tile(store, name, other, rows=rows, depth=depth, given=self.given)
            if not isinstance(made, Tile):
                return None
            base, first_k = self._begin(found, name, other, made, store)
            steps = judge.steps(
                found, other, made, symbols=self.symbols, base=base, first_k=first_k, pitfalls=(), why=False
            )
        except LayoutError:
            return None
        return made if steps and all(step.verdict == "match" for step in steps) else None

    def _warnings(self, turn: judge.Turn) -> list[Pitfall]:
        """C's pitfalls in what a turn's descriptor is made of."""
        piece = self._piece_of([turn])
        return [one for n, builder in self.built if n == piece for one in builder.warnings]

    def _of_storage(self, name: str, stored: Tile | None) -> tuple[Assumed, ...]:
        """What an operand's storage rests on and the text does not say."""
        base = self.assumed.get(f"base.{name}")
        own = [*(stored.assumed if stored is not None else ()), *([base] if base else [])]
        return tuple(one for one in own if one.of_storage)

    def _chosen(self, name: str, store: Store, why: str) -> Assumed | None:
        """That a tile lies as this map or layout says, where the text has others of another kind and names none."""
        if why not in BY_ORDER:
            return None
        others = [one for one in self.stores if one.piece != store.piece and not one.alike(store)]
        if not others:
            return None
        says = f"{why}; nothing in the text names it"
        pieces_ = tuple(str(one.piece) for one in (store, *others))
        return Assumed(f"storage.{name}", f"Storage of {name.upper()}, by its number,", str(store.piece), says, pieces_)

    def _base_of(self, found: list[judge.Turn], base: int | None) -> int:
        begins = judge.bases(found, self.symbols, False)
        return base if base is not None else begins.get((0, 0), 0)

    def _begin(
        self, found: list[judge.Turn], name: str, seen: View, stored: Tile | None, store: Store | None
    ) -> tuple[int | None, int]:
        """(the tile's first byte where it is not the first step's start, the first step's k). A tensor says where it
        begins. A printed word may be of any step: what its start lies past the pattern's boundary is taken for K.
        """
        key = f"base.{name}"
        given = reading.number(self.given[key], key, 0, WINDOW_BYTES) if key in self.given else None
        first = found[0]
        start = judge.bases(found, self.symbols, False).get((0, 0), 0)
        if first.use.computed or stored is None:
            line, _ = uses.address(first.given.value)
            if given is not None:
                self._assume(Assumed(key, f"{name.upper()}’s tile begins at", self.given[key], "as given"))
                return given, 0
            begins = store.begins if store is not None else None
            if begins is not None and line is not None and begins.terms == line.terms and begins != line:
                return uses.evaluated(begins, self.symbols), 0
            if stored is not None and begins is None and line is not None and not line.terms:
                why = "the code spells the start out as a number"
                self._assume(Assumed(key, f"{name.upper()}’s tile begins at", hex(start), why))
            return None, 0
        mode = stored.at(0, seen).mode
        pattern = mode.pattern_bytes if mode.chunks > 1 else 16
        base = start // pattern * pattern if given is None else given
        if given is None and stored.start is not None:  # the text says where the tile, or a stage of it, begins
            past = base - stored.start
            if not (past % stored.stage_bytes if stored.stage_bytes else past):
                return base, self._first_k(start - base, seen, mode)
        why = f"the first start, {start:#x}, taken back to {pattern} bytes" if given is None else "as given"
        if given is None and stored.start is not None:
            why += f"; the layout says {stored.start:#x}"
        self._assume(Assumed(key, f"{name.upper()}’s tile begins at", hex(base), why))
        return base, self._first_k(start - base, seen, mode)

    @staticmethod
    def _first_k(past: int, seen: View, mode: Mode) -> int:
        """The K of a word whose start lies so many bytes past the tile's first one."""
        step = seen.k * seen.bits // 8
        inside = seen.major == "K" and not past % step and past < mode.width_bytes
        return past // step * seen.k if inside else 0


def _renamed(use: Use, operand: str) -> Use:
    """A use of one descriptor, of which operand was assumed, as one of the operand that was given."""
    if not use.assumed:
        return use
    return replace(use, given={operand: next(iter(use.given.values()))}, why={operand: "as given"})
