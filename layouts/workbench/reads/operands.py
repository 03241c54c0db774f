"""Verify one operand of one instruction: lay out its tile, verify its steps, record missing information.

`workbench_builder.py` makes one OperandCase for each operand of a group of uses and keeps the VerifiedOperand that it
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
from lanescope.workbench.copies.inner_dimensions import InnerDimension, doubt_other_inner
from lanescope.workbench.copies.loads import FilledTile
from lanescope.workbench.reads import alignment, verification
from lanescope.workbench.reads.presets import lay_preset
from lanescope.workbench.reads.stores import BY_ORDER, GUESSED, TileStore
from lanescope.workbench.reads.symbols import list_symbols, take_symbols
from lanescope.workbench.reads.tiles import StoredTile, TileRequest, lay_tile
from lanescope.workbench.reads.verification import OperandTurn
from lanescope.workbench.results import Assumption, OperandStep, VerifiedOperand
from lanescope.workbench.source.open_names import describe_open_value
from lanescope.workbench.tensor_memory.tcgen05 import Tcgen05Mma, make_view
from lanescope.workbench.text.addresses import evaluate_linear, evaluate_word, get_start_address, list_start_names
from lanescope.workbench.text.contents import TextContents


@dataclass(slots=True)
class OperandCase:
    """One operand with all its executions.

    store: the tensor map or layout that holds it, why: the reason for that choice; filled: the part of the tile that
    the text's TMA loads fill; causes: whether to look for the causes of a mismatch; inner: the inner dimension of its
    map, if the text determines it.
    """

    contents: TextContents
    instruction: Instruction
    name: str
    turns: list[OperandTurn]
    store: TileStore | None
    why: str
    filled: FilledTile | None
    causes: bool
    inner: InnerDimension | None = None
    fixed_inner: str = ""  # the inner dimension that no reading of the operand can change
    tile: StoredTile | None = None
    missing: list[str] = field(default_factory=list)
    turned: str = ""  # why the tile is taken in the other major
    uneven: str = ""  # why it is open what other threads read
    group_step: int = 0  # bytes between the starts of warpgroups that read rows of one tile

    def verify(self) -> VerifiedOperand:
        """Return the operand with every step verified.

        LayoutError if a given value is wrong, or the word's slice exceeds the tile.
        """
        seen = make_view(self.instruction, self.name, self._choose_major())
        if self.inner is not None and (self.inner.stated or self.inner.value == seen.major):
            self.fixed_inner = self.inner.value
        self._assume_sizes()
        self._assume_symbols(seen)
        self._lay_stored_tile(seen)
        self._assume_order()
        start = self._find_tile_start(seen, self.tile)
        steps = self._verify_turns(seen, start)
        self._name_gaps(seen, steps)
        if self._is_loaded_by_tma and self.tile and self.inner and f"inner.{self.name}" not in self.contents.choices:
            steps, doubt = doubt_other_inner(self.inner, self.name, self.tile, steps)
            self.missing += doubt
        return self._make_operand(seen, start, steps)

    # what is assumed --------------------------------------------------------------------------------------------------

    @property
    def _has_instruction_descriptor(self) -> bool:
        """Whether an instruction descriptor holds the majors."""
        return isinstance(self.instruction, Tcgen05Mma)

    def _choose_major(self) -> str:
        """Return K or MN: from the transpose immediates, else as given, else K."""
        stated = [turn.use.majors[self.name] for turn in self.turns if self.name in turn.use.majors]
        key, choices = f"major.{self.name}", self.contents.choices
        if self.instruction.operand("a").element.bits != 16 and not self._has_instruction_descriptor:
            return "K"
        if stated and key not in choices:  # the majority decides: an immediate of few instructions is a mistake
            return "MN" if 2 * stated.count("MN") > len(stated) else "K"
        value = choices.get(key, "K").upper()
        if value not in ("K", "MN"):
            raise LayoutError("bad_major", f"{key} is '{inputs.shorten_value(value)}'.", "Allowed: K, MN.", key)
        why = "as given" if key in choices else "the text has no imm-trans-" + self.name
        self.contents.assume(Assumption(key, f"Major of {self.name.upper()}", value, why, ("K", "MN")))
        return value

    def _assume_sizes(self) -> None:
        """Record assumed sizes of the elements that this operand's addresses count, and of types."""
        names = self._list_address_names()
        for size in self.contents.sizes:
            if size.key.removeprefix("size.") in names or not size.label.startswith("Bytes that"):
                self.contents.assume(size, self.name)

    def _assume_symbols(self, view: View) -> None:
        contents = self.contents
        for assumption in take_symbols(self.turns, contents.choices, contents.symbols, view, contents.aligned):
            if before := contents.assumed.get(assumption.key):  # the value for earlier tiles is too small for this one
                contents.assumed[assumption.key] = replace(before, value=assumption.value)
            contents.assume(assumption, self.name)
            if assumption.missing:
                self.missing.append(f"The descriptor of {self.name.upper()} {describe_open_value(assumption.label)}.")
        for symbol in set(list_symbols(self.turns)):  # another operand's symbol is this one's, too
            if f"at.{symbol}" in contents.assumed:
                contents.assume(contents.assumed[f"at.{symbol}"], self.name)

    def _assume_order(self) -> None:
        """Record that the store was chosen by order, if the text has other stores and names none."""
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
        """Return the names in the descriptors' start addresses."""
        return {name for turn in self.turns for name in list_start_names(turn.argument.value)}

    # where the tile is ----------------------------------------------------------------------------------------------

    def _make_request(self, view: View) -> TileRequest:
        rows, depth = verification.get_extents(self.turns, view)
        return TileRequest(self.name, view, rows, depth, self.contents.choices, inner=self.fixed_inner)

    def _lay_stored_tile(self, view: View) -> None:
        """Lay out the operand's tile, or record the missing information."""
        name = self.name.upper()
        if self._lay_preset(view):
            return
        if self.store is None:
            hint = self.why or "paste its tensor map or its layout"
            self.missing.append(f"The text does not say how {name} is stored: {hint}.")
            return
        if self.store.open:
            self.missing.append(f"The layout of {self.store.name}, which holds {name}, {self.store.open}.")
            self.store = None
            return
        layout = lay_tile(self.store, replace(self._make_request(view), filled=self.filled))
        if isinstance(layout, StoredTile):
            self.tile = layout
            for assumption in layout.assumed:
                self.contents.assume(assumption)
        else:
            self._request_values(layout, self.store)

    def _lay_preset(self, view: View) -> bool:
        """Use the preset storage that was chosen for the operand; return whether one was chosen."""
        chosen = self.contents.choices.get(f"stored.{self.name}")
        words = (evaluate_word(turn.argument.value, self.contents.symbols) for turn in self.turns)
        word = next((word for word in words if word is not None), None)
        if chosen is None or word is None:
            return False
        self.tile, self.store, self.why = lay_preset(chosen, self._make_request(view), word), None, "as given"
        for assumption in self.tile.assumed:
            self.contents.assume(assumption)
        return True

    def _request_values(self, open_values: Iterable[Assumption], store: TileStore) -> None:
        """Record which values of a tensor map or layout must be given, with the map's name if there are several."""
        several = sum(other.map is not None for other in self.contents.stores) > 1
        for assumption in open_values:
            if several and store.map and store.map.names:
                whose = f"tensor map ‘{store.map.names[0].lstrip('&')}’"
                assumption = replace(assumption, label=assumption.label.replace("the tensor map", whose))
            self.contents.assume(assumption)
            verb = "are" if assumption.label.startswith(("Boxes", "Bytes")) else "is"
            self.missing.append(f"{assumption.label} {verb} open: {assumption.why}.")

    def _get_first_address(self) -> int:
        """Return the start address of the first step."""
        return verification.find_bases(self.turns, self.contents.symbols, False).get((0, 0), 0)

    def _find_tile_start(self, view: View, tile: StoredTile | None) -> verification.Start:
        """Return the start of the tile and the K of the first step."""
        key = f"base.{self.name}"
        choices = self.contents.choices
        base = inputs.parse_integer(choices[key], key, 0, WINDOW_BYTES) if key in choices else None
        if self.turns[0].use.computed or tile is None:
            return self._find_code_start(tile, base)
        return self._find_word_start(view, tile, base)

    def _find_code_start(self, tile: StoredTile | None, base: int | None) -> verification.Start:
        """Return the start of a tile whose descriptors are built by code: as given, else from its tensor, else the
        first step's address.
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

    def _find_word_start(self, view: View, tile: StoredTile, chosen_base: int | None) -> verification.Start:
        """Return the start of a printed word's tile.

        The word may be of any step: its distance from the pattern's boundary is taken as a step along K.
        """
        start, mode = self._get_first_address(), tile.make_storage(0, view).mode
        pattern = mode.pattern_bytes if mode.chunks > 1 else 16
        base = start // pattern * pattern if chosen_base is None else chosen_base
        start_of_tile = verification.Start(base, _compute_first_k(start - base, view, mode))
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

    def _verify_steps(self, view: View, start: verification.Start) -> list[OperandStep]:
        code = self.contents.code
        ground = verification.Ground(
            seen=view, tile=self.tile, symbols=self.contents.symbols, start=start, by_tma=self._is_loaded_by_tma
        )
        return verification.verify_steps(
            self.turns,
            ground,
            pitfalls=code.warnings if code else (),
            endless=code.unbounded_variables if code else (),
            why=self.causes,
        )

    def _verify_turns(self, view: View, start: verification.Start) -> list[OperandStep]:
        """Return every execution as a step; use the other major if that alone makes all steps right."""
        steps = self._verify_steps(view, start)
        if self.tile is not None and self.store is not None and any(step.verdict == "mismatch" for step in steps):
            other_tile = self._lay_other_major(self.store, view)
            if other_tile is not None:
                self._use_other_major(self.tile, other_tile)
                steps = self._verify_steps(view, start)
        warnings = (warning for turn in self.turns for warning in self._list_warnings(turn))
        pitfall = next((warning for warning in warnings if warning.code == "generic_pointer"), None)
        return steps if self.tile is None or pitfall is None else verification.mark_spoilt_steps(steps, pitfall)

    def _lay_other_major(self, store: TileStore, view: View) -> StoredTile | None:
        """Return the tile in the other major if that alone makes every step right; then the transpose immediate or the
        atom's major is wrong.
        """
        stated = any(self.name in turn.use.majors for turn in self.turns)
        if view.bits != 16 or not stated or f"major.{self.name}" in self.contents.choices:
            return None
        other = make_view(self.instruction, self.name, "MN" if view.major == "K" else "K")
        try:
            other_tile = lay_tile(store, self._make_request(other))
            if not isinstance(other_tile, StoredTile):
                return None
            start = self._find_tile_start(other, other_tile)
            ground = verification.Ground(seen=other, tile=other_tile, symbols=self.contents.symbols, start=start)
            steps = verification.verify_steps(self.turns, ground, pitfalls=(), why=False)
        except LayoutError:
            return None
        return other_tile if steps and all(step.verdict == "match" for step in steps) else None

    def _use_other_major(self, before: StoredTile, other_tile: StoredTile) -> None:
        """Replace the tile and its assumptions by those of the other major."""
        self.contents.assumed = {
            key: assumption for key, assumption in self.contents.assumed.items() if assumption not in before.assumed
        }
        self.tile = other_tile
        if other_tile.assumed:
            bit_name = "the transpose bit of" if self._has_instruction_descriptor else "imm-trans-"
            self.turned = (
                f"then every step is right but for {bit_name}{' ' * self._has_instruction_descriptor}{self.name}"
            )
        for assumption in other_tile.assumed:
            self.contents.assume(
                replace(assumption, why=self.turned) if assumption.key.startswith("inner.") else assumption
            )

    def _list_warnings(self, turn: OperandTurn) -> list[Pitfall]:
        """Return the C pitfalls in the expression of a descriptor."""
        piece = self.contents.find_piece([turn])
        return [warning for n, builder in self.contents.built if n == piece for warning in builder.warnings]

    # what is told -----------------------------------------------------------------------------------------------------

    def _name_gaps(self, view: View, steps: list[OperandStep]) -> None:
        """Record which steps have no verdict although their tile is known, and which threads were not followed."""
        tile = self.tile
        if tile is None:
            return
        if any(step.verdict == "unknown" for step in steps):
            rows, depth = verification.get_extents(self.turns, view)
            lies, side = tile.make_storage(0, view), "m" if self.name == "a" else "n"
            self.missing.append(
                f"The steps of {self.name.upper()} take {rows} × {depth} elements ({side} × k); {tile.why} has"
                f" {lies.mn or 'any'} × {lies.k or 'any'}."
            )
        starts = [get_start_address(turn.argument.value)[0] for turn in self.turns]
        self.uneven = alignment.explain_uneven_start(self.name, starts, view, tile)
        self.group_step = alignment.measure_group_step(starts, view, tile)
        if self.uneven:
            self.missing.append(self.uneven)

    def _make_operand(self, view: View, start: verification.Start, steps: list[OperandStep]) -> VerifiedOperand:
        contents, first = self.contents, self.turns[0]
        verified_turns = self.turns[: verification.MOST_STEPS]
        stages = 1 + max(turn.place.stage for turn in self.turns)
        stored, stored_why = self._describe_storage(start)
        return VerifiedOperand(
            name=self.name,
            instruction=self.instruction.ptx,
            major=view.major,
            seen=view,
            why=first.use.why[self.name],
            descriptor=contents.find_piece(self.turns),
            storage=self.store.piece if self.store else None,
            stored=stored,
            stored_why=stored_why,
            guessed=self.store is not None and self.why in GUESSED,
            steps=tuple(steps),
            fits=verification.list_fitting_tiles(first, view, contents.symbols) if self.tile is None else (),
            missing=tuple(dict.fromkeys(self.missing)),
            notices=self._list_notices(view, steps, stages > 1),
            k_steps=verification.get_extents(self.turns, view)[1] // view.k,
            stages=stages,
            left=max(len(verified_turns) - len(steps), int(bool(self.uneven))),
            symbols=tuple(dict.fromkeys(list_symbols(self.turns))),
            terms=first.argument.address.terms if first.argument.address is not None else (),
            others=tuple(dict.fromkeys(contents.find_piece([turn]) for turn in verified_turns)),
            assumed=self._list_storage_assumptions(),
            group_step=self.group_step,
        )

    def _list_notices(self, view: View, steps: list[OperandStep], several_stages: bool) -> tuple[str, ...]:
        if self.tile is None:
            return ()
        names = sorted(self._list_address_names())
        by_tma, aligned = self._is_loaded_by_tma, self.contents.aligned
        return alignment.list_placement_notices(
            self.name,
            steps,
            self.tile,
            view=view,
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
        """List the assumptions about the operand's storage."""
        base = self.contents.assumed.get(f"base.{self.name}")
        assumptions = [*(self.tile.assumed if self.tile is not None else ()), *([base] if base else [])]
        return tuple(assumption for assumption in assumptions if assumption.of_storage)


def _compute_first_k(past: int, view: View, mode: Mode) -> int:
    """Return the K of a word whose start is so many bytes past the tile's first one."""
    step = view.k * view.bits // 8
    inside = view.major == "K" and not past % step and past < mode.width_bytes
    return past // step * view.k if inside else 0
