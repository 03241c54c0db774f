"""One operand of one instruction on its way to a verdict: its tile laid, its steps verified, what is missing named.

`bench_builder.py` makes one OperandCase for each operand of a group of uses and keeps the VerifiedOperand that it
returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lanescope import inputs
from lanescope.descriptor.matrix import WINDOW_BYTES, View
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction
from lanescope.reader.code.findings import Pitfall
from lanescope.shared.swizzle import Mode
from lanescope.workbench import alignment, verification
from lanescope.workbench.addresses import evaluate_linear, get_start_address, start_names, word_of
from lanescope.workbench.contents import TextContents
from lanescope.workbench.loads import FilledTile
from lanescope.workbench.presets import lay_preset
from lanescope.workbench.results import Assumption, OperandStep, VerifiedOperand
from lanescope.workbench.stores import BY_ORDER, GUESSED, TileStore
from lanescope.workbench.symbols import list_symbols, take_symbols
from lanescope.workbench.tcgen05 import Tcgen05Mma, make_view
from lanescope.workbench.tiles import StoredTile, TileRequest, lay_tile
from lanescope.workbench.verification import OperandTurn


@dataclass(slots=True)
class OperandCase:
    """One operand, all its turns. store: the tensor map or layout that holds it, why: what says so; filled: what the
    text's TMA loads fill of its tile; causes: whether the causes of a mismatch are looked for.
    """

    contents: TextContents
    instruction: Instruction
    name: str
    turns: list[OperandTurn]
    store: TileStore | None
    why: str
    filled: FilledTile | None
    causes: bool
    tile: StoredTile | None = None
    missing: list[str] = field(default_factory=list)
    turned: str = ""  # why the tile is taken in the other major
    uneven: str = ""  # why it is open what other threads read

    def verify(self) -> VerifiedOperand:
        """Return the operand with every step verified. LayoutError if a given value is wrong, or the word's slice
        is not in the tile.
        """
        seen = make_view(self.instruction, self.name, self._choose_major())
        self._assume_sizes()
        self._assume_symbols(seen)
        self._lay_stored_tile(seen)
        self._assume_order()
        start = self._find_tile_start(seen, self.tile)
        steps = self._verify_turns(seen, start)
        self._name_gaps(seen, steps)
        return self._make_operand(seen, start, steps)

    # what is assumed --------------------------------------------------------------------------------------------------

    @property
    def _has_instruction_descriptor(self) -> bool:
        """Whether an instruction descriptor says the majors."""
        return isinstance(self.instruction, Tcgen05Mma)

    def _choose_major(self) -> str:
        """Return K or MN: what the transpose immediates say, what was given, or K."""
        stated = [turn.use.majors[self.name] for turn in self.turns if self.name in turn.use.majors]
        key, choices = f"major.{self.name}", self.contents.choices
        if self.instruction.operand("a").element.bits != 16 and not self._has_instruction_descriptor:
            return "K"
        if stated and key not in choices:  # one that is set for a few instructions alone is wrong there
            return "MN" if 2 * stated.count("MN") > len(stated) else "K"
        value = choices.get(key, "K").upper()
        if value not in ("K", "MN"):
            raise LayoutError("bad_major", f"{key} is '{inputs.shorten_value(value)}'.", "Allowed: K, MN.", key)
        why = "as given" if key in choices else "the text has no imm-trans-" + self.name
        self.contents.assume(Assumption(key, f"Major of {self.name.upper()}", value, why, ("K", "MN")))
        return value

    def _assume_sizes(self) -> None:
        """Keep the sizes of elements that this operand's addresses count in, and those of types."""
        names = self._list_address_names()
        for size in self.contents.sizes:
            if size.key.removeprefix("size.") in names or not size.label.startswith("Bytes that"):
                self.contents.assume(size, self.name)

    def _assume_symbols(self, seen: View) -> None:
        contents = self.contents
        for assumption in take_symbols(self.turns, contents.choices, contents.symbols, seen, contents.aligned):
            contents.assume(assumption, self.name)
            if assumption.missing:
                self.missing.append(
                    f"The descriptor of {self.name.upper()} depends on {assumption.label}: give its value."
                )
        for symbol in set(list_symbols(self.turns)):  # another operand's symbol is this one's, too
            if f"at.{symbol}" in contents.assumed:
                contents.assume(contents.assumed[f"at.{symbol}"], self.name)

    def _assume_order(self) -> None:
        """Keep that a tile is as this map or layout says, where the text has others unlike it and names none."""
        store = self.store
        if store is None or self.tile is None or self.why not in BY_ORDER:
            return
        others = [
            other for other in self.contents.stores if other.piece != store.piece and not other.is_same_layout(store)
        ]
        if others:
            label = f"Storage of {self.name.upper()}, by its number,"
            message = f"{self.why}; nothing in the text names it"
            choices = tuple(str(other.piece) for other in (store, *others))
            self.contents.assume(Assumption(f"storage.{self.name}", label, str(store.piece), message, choices))

    def _list_address_names(self) -> set[str]:
        """Return what the start addresses of the descriptors are made of."""
        return {name for turn in self.turns for name in start_names(turn.argument.value)}

    # where the tile is ----------------------------------------------------------------------------------------------

    def _make_request(self, seen: View) -> TileRequest:
        rows, depth = verification.get_extents(self.turns, seen)
        return TileRequest(self.name, seen, rows, depth, self.contents.choices)

    def _lay_stored_tile(self, seen: View) -> None:
        """Find the operand's tile, or say what is missing for it."""
        name = self.name.upper()
        if self._lay_preset(seen):
            return
        if self.store is None:
            rest = self.why or "paste its tensor map or its layout"
            self.missing.append(f"The text does not say how {name} is stored: {rest}.")
            return
        if self.store.open:
            self.missing.append(f"The layout of {self.store.name}, which holds {name}, {self.store.open}.")
            self.store = None
            return
        laid = lay_tile(self.store, replace(self._make_request(seen), filled=self.filled))
        if isinstance(laid, StoredTile):
            self.tile = laid
            for assumption in laid.assumed:
                self.contents.assume(assumption)
        else:
            self._request_values(laid, self.store)

    def _lay_preset(self, seen: View) -> bool:
        """Take the common way of storing that was given for the operand; return whether one was."""
        chosen = self.contents.choices.get(f"stored.{self.name}")
        words = (word_of(turn.argument.value, self.contents.symbols) for turn in self.turns)
        word = next((word for word in words if word is not None), None)
        if chosen is None or word is None:
            return False
        self.tile, self.store, self.why = lay_preset(chosen, self._make_request(seen), word), None, "as given"
        for assumption in self.tile.assumed:
            self.contents.assume(assumption)
        return True

    def _request_values(self, open_values: Iterable[Assumption], store: TileStore) -> None:
        """Say which values of a tensor map or a layout have to be given, and of which map where there are several."""
        several = sum(other.map is not None for other in self.contents.stores) > 1
        for assumption in open_values:
            if several and store.map and store.map.names:
                whose = f"tensor map ‘{store.map.names[0].lstrip('&')}’"
                assumption = replace(assumption, label=assumption.label.replace("the tensor map", whose))
            self.contents.assume(assumption)
            verb = "are" if assumption.label.startswith(("Boxes", "Bytes")) else "is"
            self.missing.append(f"{assumption.label} {verb} open: {assumption.why}.")

    def _get_first_address(self) -> int:
        """Return where the first step begins."""
        return verification.find_bases(self.turns, self.contents.symbols, False).get((0, 0), 0)

    def _find_tile_start(self, seen: View, tile: StoredTile | None) -> verification.Start:
        """Return where the tile begins, and the K of the first step."""
        key = f"base.{self.name}"
        choices = self.contents.choices
        base = inputs.parse_integer(choices[key], key, 0, WINDOW_BYTES) if key in choices else None
        if self.turns[0].use.computed or tile is None:
            return self._find_code_start(tile, base)
        return self._find_word_start(seen, tile, base)

    def _find_code_start(self, tile: StoredTile | None, base: int | None) -> verification.Start:
        """Return where a tile begins whose descriptors code builds: where it was given, where a tensor says it, or at
        the first step.
        """
        key, label = f"base.{self.name}", f"{self.name.upper()}’s tile begins at"
        if base is not None:
            self.contents.assume(Assumption(key, label, self.contents.choices[key], "as given"))
            return verification.Start(base)
        line, _ = get_start_address(self.turns[0].argument.value)
        begins = self.store.begins if self.store is not None else None
        if line is None:
            return verification.Start()
        if begins is not None and begins.terms == line.terms and begins != line:
            return verification.Start(evaluate_linear(begins, self.contents.symbols))
        if tile is not None and begins is None and not line.terms:
            why = "the code spells the start out as a number"
            self.contents.assume(Assumption(key, label, hex(self._get_first_address()), why))
        return verification.Start()

    def _find_word_start(self, seen: View, tile: StoredTile, chosen_base: int | None) -> verification.Start:
        """Return where a printed word's tile begins. The word may be of any step: what its start is past the
        pattern's boundary is taken for K.
        """
        start, mode = self._get_first_address(), tile.make_storage(0, seen).mode
        pattern = mode.pattern_bytes if mode.chunks > 1 else 16
        base = start // pattern * pattern if chosen_base is None else chosen_base
        start_of_tile = verification.Start(base, _compute_first_k(start - base, seen, mode))
        why = "as given"
        if chosen_base is None:
            why = f"the first start, {start:#x}, taken back to {pattern} bytes"
            if tile.start is not None:  # the text says where the tile, or a stage of it, begins
                past = base - tile.start
                if not (past % tile.stage_bytes if tile.stage_bytes else past):
                    return start_of_tile
                why += f"; the layout says {tile.start:#x}"
        label = f"{self.name.upper()}’s tile begins at"
        self.contents.assume(Assumption(f"base.{self.name}", label, hex(base), why))
        return start_of_tile

    # its steps --------------------------------------------------------------------------------------------------------

    @property
    def _is_loaded_by_tma(self) -> bool:
        return self.store is not None and self.store.map is not None

    def _verify_steps(self, seen: View, start: verification.Start) -> list[OperandStep]:
        code = self.contents.code
        ground = verification.Ground(
            seen=seen, tile=self.tile, symbols=self.contents.symbols, start=start, by_tma=self._is_loaded_by_tma
        )
        return verification.verify_steps(
            self.turns,
            ground,
            pitfalls=code.warnings if code else (),
            endless=code.endless if code else (),
            why=self.causes,
        )

    def _verify_turns(self, seen: View, start: verification.Start) -> list[OperandStep]:
        """Return every turn as a step; the tile is read in the other major where that alone makes all of them right."""
        steps = self._verify_steps(seen, start)
        if self.tile is not None and self.store is not None and any(step.verdict == "mismatch" for step in steps):
            turned = self._lay_other_major(self.store, seen)
            if turned is not None:
                self._use_other_major(self.tile, turned)
                steps = self._verify_steps(seen, start)
        warnings = (warning for turn in self.turns for warning in self._list_warnings(turn))
        pitfall = next((warning for warning in warnings if warning.code == "generic_pointer"), None)
        return steps if self.tile is None or pitfall is None else verification.mark_spoilt_steps(steps, pitfall)

    def _lay_other_major(self, store: TileStore, seen: View) -> StoredTile | None:
        """Return the tile as the other major has it, where that alone makes every step right: then the transpose
        immediate, or the atom's major, is what is wrong.
        """
        stated = any(self.name in turn.use.majors for turn in self.turns)
        if seen.bits != 16 or not stated or f"major.{self.name}" in self.contents.choices:
            return None
        other = make_view(self.instruction, self.name, "MN" if seen.major == "K" else "K")
        try:
            turned = lay_tile(store, self._make_request(other))
            if not isinstance(turned, StoredTile):
                return None
            start = self._find_tile_start(other, turned)
            ground = verification.Ground(seen=other, tile=turned, symbols=self.contents.symbols, start=start)
            steps = verification.verify_steps(self.turns, ground, pitfalls=(), why=False)
        except LayoutError:
            return None
        return turned if steps and all(step.verdict == "match" for step in steps) else None

    def _use_other_major(self, before: StoredTile, turned: StoredTile) -> None:
        """Put the other major's tile, and what it assumes, in place of the one before."""
        self.contents.assumed = {
            key: assumption for key, assumption in self.contents.assumed.items() if assumption not in before.assumed
        }
        self.tile = turned
        if turned.assumed:
            said = "the transpose bit of" if self._has_instruction_descriptor else "imm-trans-"
            self.turned = f"then every step is right but for {said}{' ' * self._has_instruction_descriptor}{self.name}"
        for assumption in turned.assumed:
            self.contents.assume(
                replace(assumption, why=self.turned) if assumption.key.startswith("inner.") else assumption
            )

    def _list_warnings(self, turn: OperandTurn) -> list[Pitfall]:
        """Return C's pitfalls in what a turn's descriptor is made of."""
        piece = self.contents.find_piece([turn])
        return [warning for n, builder in self.contents.built if n == piece for warning in builder.warnings]

    # what is told -----------------------------------------------------------------------------------------------------

    def _name_gaps(self, seen: View, steps: list[OperandStep]) -> None:
        """Say which steps have no verdict though their tile is known, and which threads were not followed."""
        tile = self.tile
        if tile is None:
            return
        if any(step.verdict == "unknown" for step in steps):
            rows, depth = verification.get_extents(self.turns, seen)
            lies, side = tile.make_storage(0, seen), "m" if self.name == "a" else "n"
            self.missing.append(
                f"The steps of {self.name.upper()} take {rows} × {depth} elements ({side} × k); {tile.why} has"
                f" {lies.mn or 'any'} × {lies.k or 'any'}."
            )
        starts = [get_start_address(turn.argument.value)[0] for turn in self.turns]
        self.uneven = alignment.explain_uneven_start(self.name, starts, seen, tile)
        if self.uneven:
            self.missing.append(self.uneven)

    def _make_operand(self, seen: View, start: verification.Start, steps: list[OperandStep]) -> VerifiedOperand:
        contents, first = self.contents, self.turns[0]
        taken = self.turns[: verification.MOST_STEPS]
        stages = 1 + max(turn.place.stage for turn in self.turns)
        stored, stored_why = self._describe_storage(start)
        return VerifiedOperand(
            name=self.name,
            instruction=self.instruction.ptx,
            major=seen.major,
            seen=seen,
            why=first.use.why[self.name],
            descriptor=contents.find_piece(self.turns),
            storage=self.store.piece if self.store else None,
            stored=stored,
            stored_why=stored_why,
            guessed=self.store is not None and self.why in GUESSED,
            steps=tuple(steps),
            fits=verification.list_fitting_tiles(first, seen, contents.symbols) if self.tile is None else (),
            missing=tuple(dict.fromkeys(self.missing)),
            notices=self._list_notices(seen, steps, stages > 1),
            k_steps=verification.get_extents(self.turns, seen)[1] // seen.k,
            stages=stages,
            left=max(len(taken) - len(steps), int(bool(self.uneven))),
            symbols=tuple(dict.fromkeys(list_symbols(self.turns))),
            others=tuple(dict.fromkeys(contents.find_piece([turn]) for turn in taken)),
            assumed=self._list_storage_assumptions(),
        )

    def _list_notices(self, seen: View, steps: list[OperandStep], several_stages: bool) -> tuple[str, ...]:
        if self.tile is None:
            return ()
        names = sorted(self._list_address_names())
        by_tma, aligned = self._is_loaded_by_tma, self.contents.aligned
        return alignment.list_placement_notices(
            self.name,
            steps,
            self.tile,
            seen=seen,
            names=names,
            known=aligned,
            several=several_stages,
            by_tma=by_tma,
        )

    def _describe_storage(self, start: verification.Start) -> tuple[Mapping[str, Any] | None, str]:
        """Return the storage that was verified against, and where it comes from."""
        if self.tile is None:
            return None, ""
        base = self._get_first_address() if start.base is None else start.base
        why = self.turned or self.why
        return {**self.tile.spec, "base": base}, f"{self.tile.why} ({why})" if why else self.tile.why

    def _list_storage_assumptions(self) -> tuple[Assumption, ...]:
        """Return what the operand's storage rests on and the text does not say."""
        base = self.contents.assumed.get(f"base.{self.name}")
        assumptions = [*(self.tile.assumed if self.tile is not None else ()), *([base] if base else [])]
        return tuple(assumption for assumption in assumptions if assumption.of_storage)


def _compute_first_k(past: int, seen: View, mode: Mode) -> int:
    """Return the K of a word whose start is so many bytes past the tile's first one."""
    step = seen.k * seen.bits // 8
    inside = seen.major == "K" and not past % step and past < mode.width_bytes
    return past // step * seen.k if inside else 0
