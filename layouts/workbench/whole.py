"""One text → its Bench: pieces found, paired, unrolled and verified."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from layouts import catalog, pasted, reading
from layouts.bits import hex_word
from layouts.descriptor import WINDOW_BYTES, View, view
from layouts.errors import LayoutError
from layouts.instruction import Instruction
from layouts.reader.code import builders, tensor_maps
from layouts.reader.code.builders import Builder
from layouts.reader.code.doubts import UNSEEN
from layouts.reader.code.evaluate import Evaluation, evaluate
from layouts.reader.code.finding import Pitfall
from layouts.workbench import exchanged, helpers, judge, named, pieces, placed, said, scan, sizes, uses
from layouts.workbench.found import Assumed, Bench, Operand, Piece
from layouts.workbench.order import places
from layouts.workbench.stores import Store, Tile, pair, tile
from layouts.workbench.uses import Use, of_code, of_words

LONGEST = 1 << 16
MOST_GROUPS = 8  # instructions of one text that are verified
_BLACKWELL = re.compile(r"\btcgen05\.mma\b|\bSM100_MMA_\w+|\bUMMA::", re.I)


def bench(
    text: str, given: Mapping[str, str] | None = None, patience: int = 1, copied: bool = True, why: bool = True
) -> Bench:
    """What a text holds, verified as far as it says enough.

    given: values for what it leaves open, by the keys of `Bench.assumed` (`at.smem_A`, `inner.a`, `panel.a`,
    `major.b`, `instruction` …). LayoutError `bad_text` where the text is too long, and for a value that is none; of
    another key nothing is said.
    patience: how many times as many steps code may take as a server grants it; copied: whether quotes, diffs, entities
    and the like are read past. A source file is what it is. why: whether the causes of a mismatch are looked for, which
    costs more than all the rest; without them steps have their verdicts alone.

    >>> bench("desc_a: 0x4000004000010040 \\nwgmma.mma_async.m64n8k16.f32.f16.f16").missing
    ('The text does not say how A is stored: paste its tensor map or its layout.',)
    """
    text = reading.text(text, "text", LONGEST * patience)
    made = _Making(pasted.legible(text, places=True) if copied else text, dict(given or {}), patience, why).made()
    moved = pasted.own_places(text) if copied else None
    return made.moved(moved) if moved else made


class _Making:
    """One text on its way to a Bench."""

    def __init__(self, text: str, given: dict[str, str], patience: int, why: bool) -> None:
        self.text = text
        self.given = given
        self.why = why
        self.pieces: list[Piece] = []
        self.stores: list[Store] = []
        self.assumed: dict[str, Assumed] = {}
        self.missing: list[str] = []
        self.used: set[int] = set()  # stores of the tiles so far
        self.symbols: dict[str, int] = {}
        self.mentions = tuple(scan.mentions(text))
        self.code: Evaluation | None = evaluate(text, patience)
        self.helpers = helpers.called(self.code, self.mentions)
        for one in (*helpers.asked(self.helpers, given), *helpers.encoders(self.code)):
            self.assumed[one.key] = one
        chosen = tuple((h, one.value) for h in self.helpers if not (one := self.assumed[f"builder.{h}"]).missing)
        if chosen:
            self.code = evaluate(text, patience, chosen)
        if self.code and not any(m.instruction.family.by_descriptor for m in self.mentions):
            maps = tensor_maps.named_maps(self.code)
            if (called := named.called(self.code, (one.data_type for one in maps))) is not None:
                self.mentions = (*self.mentions, called[0])
                self.assumed["instruction"] = called[1]
        self.aligned = placed.declared(text)
        self.sizes: list[Assumed] = []
        self.doubtful: dict[int, list[Pitfall]] = {}
        if self.code:
            taken = sizes.taken(self.code, self._reads(), self.given)
            self.sizes = [one for _, one in taken]
            self.code = sizes.put(self.code, {size: int(one.value) for size, one in taken})

    def _reads(self) -> Instruction | None:
        """The first instruction of the text that reads a descriptor, or the one that was given."""
        if "instruction" in self.given:
            return catalog.named(self.given["instruction"], "instruction")
        return next((m.instruction for m in self.mentions if m.instruction.family.by_descriptor), None)

    def made(self) -> Bench:
        found = self._read()
        operands: list[Operand] = []
        for group in self._groups(found):
            operands += self._verified(group)

        def held(one: Operand) -> tuple[int | None, ...]:
            return one.descriptor, one.storage, *one.others

        used = {n for one in operands for n in held(one) if n is not None}
        told = tuple(
            piece if n not in used
            else replace(piece, operands=tuple(dict.fromkeys(o.name for o in operands if n in held(o))))
            for n, piece in enumerate(self.pieces)
        )  # fmt: skip
        verified = {one.descriptor for one in operands if one.verdict != "unknown"}
        told = tuple(replace(piece, doubts=self._doubts(n, n in verified)) for n, piece in enumerate(told))
        operands = judge.blamed(operands)
        if not operands:
            self._nothing()
        missing = tuple(dict.fromkeys([*self.missing, *(m for one in operands for m in one.missing)]))
        line, why = said.headline(operands, told, missing)
        why = " ".join(filter(None, [why, *(said.resting(list(self.assumed.values())) if operands else ())]))
        wrong = any(one.wrong for one in operands) or any(p.notices for p in told if p.kind == "tensor_map")
        right = bool(operands) and all(one.verdict == "match" for one in operands)
        verdict = "mismatch" if wrong else "match" if right else "unknown"
        complete = self.code is None or self.code.complete
        return Bench(told, tuple(operands), tuple(self.assumed.values()), missing, verdict, line, why, complete)

    def _doubts(self, piece: int, verified: bool) -> tuple[str, ...]:
        """What is unusual in the code of a piece; of one whose reads were verified only what they cannot say."""
        own = self.doubtful.get(piece, ())
        return tuple(dict.fromkeys(one.message for one in own if not verified or one.code in UNSEEN))

    # what the text holds ----------------------------------------------------------------------------------------------

    def _read(self) -> list[Use]:
        """The pieces, and every use of a descriptor."""
        for one in tensor_maps.named_maps(self.code) if self.code else ():
            self.stores.append(Store(len(self.pieces), map=one))
            self.pieces.append(pieces.of_map(one))
        inside = [piece.spans[0] for piece in self.pieces]
        reads = self._reads()
        open_bits = reads.operand("a").element.bits if reads else None
        for layout in (*scan.layouts(self.text), *scan.tiled(self.text, open_bits)):
            if not any(a <= layout.span[0] < b for a, b in inside):
                self.stores.append(Store(len(self.pieces), layout=layout, name=layout.label))
                title = layout.whole if len(layout.whole) <= 80 else layout.whole[:79] + "…"
                facts = {"cute": layout.whole, "label": layout.label}
                said = (layout.overlap,) if layout.overlap else ()
                self.pieces.append(Piece("layout", title, (layout.span,), facts, said))
        found = list(builders.of_evaluation(self.code)) if self.code else []
        taken = of_code(self.code, self.mentions) if self.code else []
        self.built: list[tuple[int, Builder]] = []
        alike: dict[tuple[Any, ...], list[Builder]] = {}
        for builder in found:
            alike.setdefault(pieces.alike(builder), []).append(builder)
        for same in alike.values():
            self.built += [(len(self.pieces), builder) for builder in same]
            self.pieces.append(pieces.of_builders(same))
            self.doubtful[len(self.pieces) - 1] = [doubt for builder in same for doubt in builder.doubts]
        for head, calls in self.helpers.items():
            if self.assumed[f"builder.{head}"].missing:
                self.pieces.append(helpers.piece(head, calls))
                self.missing.append(helpers.missing(head))
        covered = [span for _, one in self.built for span in (one.span, *(s for o in one.origins.values() for s in o))]
        printed = [w for w in scan.words(self.text) if not any(a <= w.span[0] < b for a, b in covered)]
        self.printed = len(self.pieces)
        labels: dict[str, list[scan.Word]] = {}
        for word in printed:
            labels.setdefault(scan.plain_label(word.label), []).append(word)
        self.printed_pieces: dict[str, int] = {}
        for label, words in labels.items():
            self.printed_pieces[label] = len(self.pieces)
            self.pieces.append(pieces.of_words(label, words))
        if printed and not taken:
            taken = of_words(printed, self.mentions)
        seen = set()
        for mention in self.mentions:
            key = (mention.instruction.ptx,)
            spans = tuple(m.span for m in self.mentions if m.instruction is mention.instruction)
            if key not in seen:
                seen.add(key)
                self.pieces.append(pieces.of_mention(mention, spans))
        return taken

    def _nothing(self) -> None:
        """Say what is missing where nothing could be verified."""
        kinds = {piece.kind for piece in self.pieces}
        if _BLACKWELL.search(self.text):
            self.missing.append("tcgen05.mma reads descriptors of another format; Lanescope verifies those of wgmma.")
        if "descriptor" not in kinds:
            self.missing.append("The text has no matrix descriptor: paste its words, or the code that builds it.")
        if not any(m.instruction.family.by_descriptor for m in self.mentions):
            self.missing.append(
                "The text does not say which wgmma reads the descriptor: paste its PTX line or its CUTLASS atom."
            )

    # verifying --------------------------------------------------------------------------------------------------------

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
        where = places(group, endless)
        names = [name for name in "ab" if any(name in use.given for use in group)]
        rows = {name: view(instruction, name, "K").rows for name in names}
        crossed = exchanged.followed(group, self.stores, rows, self.code, self.text)
        addresses = {
            name: dict.fromkeys(n for use in group if name in use.given for n in uses.names(use.given[name].value))
            for name in names
        }
        buffers = {name: one.of for name, one in crossed.items()}
        chosen = pair(self.stores, names, self.given, buffers, addresses, self.used)
        self.used.update(store.piece for store, _ in chosen.values() if store is not None)
        out = []
        for name in names:
            found = judge.turns(group, where, name)
            try:
                one = self._operand(instruction, name, found, *chosen[name])
                if name in crossed:
                    one = self._crossed(one, crossed[name], judge.turns(group, where, crossed[name].of))
            except LayoutError as error:
                if error.field in self.given:
                    raise
                self.missing.append(f"{error.message} {error.hint}")
                continue
            out.append(one)
        return out

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
        self._assume(Assumed("operand", "Operand of the descriptor", value, "the text does not say", ("a", "b")))
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
        why = "the text has no imm-trans-" + name
        self._assume(Assumed(key, f"Major of {name.upper()}", value, why, ("K", "MN")))
        return value

    def _operand(
        self, instruction: Instruction, name: str, found: list[judge.Turn], store: Store | None, why: str
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
        if store is not None:
            made = tile(store, name, seen, rows, depth, self.given)
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
                    missing.append(f"{one.label} is open: {one.why}.")
        else:
            missing.append(f"The text does not say how {name.upper()} is stored: paste its tensor map or its layout.")
        base, first_k = self._begin(found, name, seen, stored)
        pitfalls = self.code.warnings if self.code else ()
        by_tma = store is not None and store.map is not None
        endless = self.code.endless if self.code else ()
        steps = judge.steps(found, seen, stored, self.symbols, base, first_k, pitfalls, by_tma, endless, self.why)
        if store is not None and stored is not None and any(step.verdict == "mismatch" for step in steps):
            turned = self._turned(instruction, name, found, store, seen)
            if turned is not None:
                self.assumed = {key: one for key, one in self.assumed.items() if one not in stored.assumed}
                stored = turned
                for one in turned.assumed:
                    why = f"then every step is right but for imm-trans-{name}"
                    self._assume(replace(one, why=why) if one.key.startswith("inner.") else one)
                steps = judge.steps(
                    found, seen, stored, self.symbols, base, first_k, pitfalls, by_tma, endless, self.why
                )
        if stored is not None and any(step.verdict == "unknown" for step in steps):
            lies = stored.at(0, seen)
            side = "m" if name == "a" else "n"
            missing.append(
                f"The steps of {name.upper()} take {rows} × {depth} elements ({side} × k); {stored.why} has"
                f" {lies.mn or 'any'} × {lies.k or 'any'}."
            )
        fits = judge.fitting(found[0], seen, self.symbols) if stored is None else ()
        first = found[0]
        stages = 1 + max(t.place.stage for t in found)
        notices = placed.notices(name, steps, seen, stored, sorted(own), self.aligned, stages > 1, by_tma)
        return Operand(
            name, instruction.ptx, seen.major, first.use.why[name], self._piece_of(found),
            store.piece if store else None,
            None if stored is None else {**stored.spec, "base": self._base_of(found, base)},
            f"{stored.why} ({why})" if stored is not None and why else stored.why if stored else "",
            tuple(steps), fits, tuple(dict.fromkeys(missing)), notices, depth // seen.k,
            stages, min(len(found), judge.MOST_STEPS) - len(steps),
            tuple(dict.fromkeys(n for t in found for p in t.given.value.pieces for n, _ in p.source.terms)),
            tuple(dict.fromkeys(self._piece_of([turn]) for turn in found[: judge.MOST_STEPS])),
        )  # fmt: skip

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
            made = tile(store, name, other, *judge.extents(found, other), self.given)
            if not isinstance(made, Tile):
                return None
            base, first_k = self._begin(found, name, other, made)
            steps = judge.steps(found, other, made, self.symbols, base, first_k, (), why=False)
        except LayoutError:
            return None
        return made if steps and all(step.verdict == "match" for step in steps) else None

    def _base_of(self, found: list[judge.Turn], base: int | None) -> int:
        begins = judge.bases(found, self.symbols, False)
        return base if base is not None else begins.get((0, 0), 0)

    def _begin(self, found: list[judge.Turn], name: str, seen: View, stored: Tile | None) -> tuple[int | None, int]:
        """(the tile's first byte where it is not the first step's start, the first step's k). A printed word may be of
        any step: what its start lies past the pattern's boundary is taken for K.
        """
        key = f"base.{name}"
        given = reading.number(self.given[key], key, 0, WINDOW_BYTES) if key in self.given else None
        first = found[0]
        if first.use.computed or stored is None:
            if given is not None:
                self._assume(Assumed(key, f"{name.upper()}’s tile begins at", self.given[key], "as given"))
            return given, 0
        start = judge.bases(found, self.symbols, False).get((0, 0), 0)
        mode = stored.at(0, seen).mode
        pattern = mode.pattern_bytes if mode.chunks > 1 else 16
        base = start // pattern * pattern if given is None else given
        why = f"the first start, {start:#x}, taken back to {pattern} bytes" if given is None else "as given"
        self._assume(Assumed(key, f"{name.upper()}’s tile begins at", hex(base), why))
        past = start - base
        step = seen.k * seen.bits // 8
        k = past // step * seen.k if seen.major == "K" and not past % step and past < mode.width_bytes else 0
        return base, k

    def _piece_of(self, found: list[judge.Turn]) -> int:
        """The piece of the descriptor that a turn has."""
        given = found[0].given
        if found[0].use.site[0] == "word":
            return self.printed_pieces[scan.plain_label(given.name)]
        if given.value.known is not None:  # a number that the code spells out
            number = hex_word(given.value.known % (1 << 64))
            own = (n for n, piece in enumerate(self.pieces) if number in piece.facts.get("words", ()))
            if (spelled := next(own, None)) is not None:
                return spelled
            if not any(one.known >> 16 == given.value.known >> 16 for _, one in self.built):
                self.pieces.append(Piece("descriptor", number, (given.span,), {"words": [number], "name": given.name}))
                return len(self.pieces) - 1
        if not self.built:  # no code here builds a descriptor: what is given for one, as it is spelled
            spelled = next((n for n, piece in enumerate(self.pieces) if piece.spans == (given.span,)), None)
            if spelled is None:
                title = " ".join(self.text[slice(*given.span)].split())
                self.pieces.append(Piece("descriptor", title, (given.span,), {"name": given.name}))
            return len(self.pieces) - 1 if spelled is None else spelled
        upper = given.value.const >> 16
        names = set(uses.names(given.value))
        line, _ = uses.address(given.value)
        start = "" if line is None else str(line) if line.terms else str(line.const)

        def unlike(judged: tuple[int, Builder]) -> tuple[bool, bool, bool, bool]:
            one = judged[1]
            begins = {str(step.start) for step in one.steps} or {str(one.start)}
            return (
                one.known >> 16 != upper, start not in begins, names.isdisjoint(pieces.base(one)),
                one.name != given.name,
            )  # fmt: skip

        return min(self.built, key=unlike)[0]

    def _assume(self, one: Assumed, operand: str = "") -> None:
        """Keep what was taken; operand: the only one, so far, that it can change."""
        old = self.assumed.get(one.key)
        if old is None:
            self.assumed[one.key] = replace(one, operands=(operand,)) if operand else one
        elif old.operands and operand not in old.operands:
            self.assumed[one.key] = replace(old, operands=(*old.operands, operand) if operand else ())


def _renamed(use: Use, operand: str) -> Use:
    """A use of one descriptor, of which operand was assumed, as one of the operand that was given."""
    if not use.assumed:
        return use
    return replace(use, given={operand: next(iter(use.given.values()))}, why={operand: "as given"})
