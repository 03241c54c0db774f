"""Pickers of the instruction page: every option is the path of a legal instruction, by construction."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from lanescope.app.instruction import wording
from lanescope.names.form_names import find_issued_kind, format_assignment
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.refusals import measure_shape_distance
from lanescope.ptx.syntax import OpcodeSyntax
from lanescope.ptx.table.umma import SCALED, VECTOR_WORDS


@dataclass(frozen=True, slots=True)
class PickerOption:
    ptx: str
    text: str
    chosen: bool
    group: str = ""


@dataclass(frozen=True, slots=True)
class Picker:
    """A menu: `name` in the address, `label` on the page; options are grouped."""

    name: str
    label: str
    options: tuple[PickerOption, ...]

    @property
    def groups(self) -> list[tuple[str, list[PickerOption]]]:
        """Return the options by group, in their order."""
        options_by_group: dict[str, list[PickerOption]] = {}
        for option in self.options:
            options_by_group.setdefault(option.group, []).append(option)
        return list(options_by_group.items())


def build_pickers(instruction: Instruction) -> list[Picker]:
    """Build the shape (N for wgmma), types, layout and modifier pickers; one with a single option is left out.

    An option keeps as many other parts as are legal with it, and its text names the parts that it must change.
    """
    relatives = [i for i in catalog.instructions() if i.syntax.opcode == instruction.syntax.opcode]
    if instruction.family.issue:
        return [picker for picker in _build_tcgen05_pickers(instruction, relatives) if len(picker.options) > 1]
    warpgroup = instruction.family.by_descriptor
    same_depth = [i for i in relatives if i.sizes.get("k") == instruction.sizes.get("k")] if warpgroup else relatives
    pickers = [
        _build_picker("shape", "Shape", instruction, same_depth, lambda s: s.shape, lambda i: i.shape),
        _build_types_picker(instruction, relatives),
        _build_picker(
            "layout",
            "Layout",
            instruction,
            [i for i in relatives if i.shape == instruction.shape],
            lambda s: s.layouts,
            lambda i: ".".join(i.syntax.layouts),
        ),
        _build_picker(
            "modifiers",
            "Modifiers",
            instruction,
            [i for i in relatives if i.shape == instruction.shape and i.syntax.types == instruction.syntax.types],
            lambda s: tuple(sorted(s.modifiers)),
            lambda i: ".".join(i.syntax.modifiers) or "none",
        ),
    ]
    return [picker for picker in pickers if len(picker.options) > 1]


def _build_tcgen05_pickers(instruction: Instruction, candidates: list[Instruction]) -> list[Picker]:
    """Build kind, CTAs and the other modifiers of a product in tensor memory, whose text has neither shape nor
    types.
    """

    def split_modifiers(i: Instruction) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        (group, *rest), kind = i.modifiers, find_issued_kind(i)
        kind_words = tuple(m for m in rest if m == kind or m in VECTOR_WORDS)
        return kind_words, (group,), tuple(m for m in rest if m not in kind_words and m != SCALED)

    pickers = []
    for n, (name, label) in enumerate((("kind", "Kind"), ("ctas", "CTAs"), ("modifiers", "Collector"))):
        best: dict[tuple[str, ...], tuple[int, Instruction]] = {}
        for other in candidates:
            distance = len(set(instruction.modifiers) ^ set(other.modifiers))
            part = split_modifiers(other)[n]
            if part not in best or distance < best[part][0]:
                best[part] = (distance, other)
        options = tuple(
            PickerOption(i.ptx, ".".join(p) or "none", i.ptx == instruction.ptx) for p, (_, i) in best.items()
        )
        pickers.append(Picker(name, label, options))
    return pickers


def _build_types_picker(instruction: Instruction, candidates: list[Instruction]) -> Picker:
    """Build the types by kind, those of this shape first; the others name the shape that they select."""
    picker = _build_picker("types", "Types", instruction, candidates, lambda s: s.types, format_assignment)
    kinds = {
        kind: n
        for n, kind in enumerate((wording.find_types_group(instruction), *wording.KIND_OF.values(), "other")[::-1])
    }
    shapes = {i.ptx: (i.shape, wording.find_types_group(i)) for i in candidates}
    options = [replace(option, group=shapes[option.ptx][1]) for option in picker.options]
    options.sort(key=lambda option: (-kinds[option.group], shapes[option.ptx][0] != instruction.shape))
    return replace(picker, options=tuple(options))


def _build_picker(
    name: str,
    label: str,
    instruction: Instruction,
    candidates: list[Instruction],
    part: Callable[[OpcodeSyntax], Hashable],
    text: Callable[[Instruction], str],
) -> Picker:
    best: dict[Hashable, tuple[tuple[float, ...], Instruction]] = {}
    for candidate in candidates:
        rank = _rank_candidate(instruction, candidate, name)
        key = part(candidate.syntax)
        if key not in best or rank < best[key][0]:
            best[key] = (rank, candidate)
    options = []
    for _, candidate in best.values():
        note = _format_other_changes(instruction, candidate, name)
        options.append(
            PickerOption(candidate.ptx, text(candidate) + (f"  → {note}" if note else ""), candidate is instruction)
        )
    return Picker(name, label, tuple(options))


def _rank_candidate(instruction: Instruction, candidate: Instruction, picked: str) -> tuple[float, ...]:
    """Return the distance of a candidate from the shown instruction; a choice of types keeps the shape first of all."""
    shown, other = instruction.syntax, candidate.syntax
    distance = measure_shape_distance(shown.shape, other.shape)
    return (
        distance if picked == "types" else 0.0,
        float(shown.types != other.types),
        float(set(shown.modifiers) != set(other.modifiers)),
        float(shown.layouts != other.layouts),
        distance,
    )


def _format_other_changes(instruction: Instruction, candidate: Instruction, picked: str) -> str:
    shown, other = instruction.syntax, candidate.syntax
    changes = []
    if picked != "shape" and shown.shape != other.shape:
        changes.append(other.shape)
    if picked != "types" and shown.types != other.types:
        changes.append(format_assignment(candidate))
    if picked not in ("types", "modifiers") and set(shown.modifiers) != set(other.modifiers):
        changes.append(".".join(other.modifiers) or "no modifiers")
    return ", ".join(changes)
