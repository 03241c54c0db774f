"""Pickers of the instruction page: every option is the path of a legal instruction, by construction."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from lanescope.app.instruction import wording
from lanescope.app.kit.rows import find_issued_kind
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
    """A menu: `name` in the address, `label` on the page; options of one group stand together, under its name."""

    name: str
    label: str
    options: tuple[PickerOption, ...]

    @property
    def groups(self) -> list[tuple[str, list[PickerOption]]]:
        """The options by group, in their order."""
        out: dict[str, list[PickerOption]] = {}
        for option in self.options:
            out.setdefault(option.group, []).append(option)
        return list(out.items())


def build_pickers(found: Instruction) -> list[Picker]:
    """Shape (N for wgmma), types, layout and modifier pickers; one with a single option is left out.

    An option keeps as many other parts as are legal with it, and its text says which part it must change.
    """
    relatives = [i for i in catalog.instructions() if i.syntax.opcode == found.syntax.opcode]
    if found.family.issue:
        return [picker for picker in _build_tcgen05_pickers(found, relatives) if len(picker.options) > 1]
    warpgroup = found.family.by_descriptor
    shaped = [i for i in relatives if i.sizes.get("k") == found.sizes.get("k")] if warpgroup else relatives
    made = [
        _build_picker("shape", "Shape", found, shaped, lambda s: s.shape, lambda i: i.shape),
        _build_types_picker(found, relatives),
        _build_picker(
            "layout",
            "Layout",
            found,
            [i for i in relatives if i.shape == found.shape],
            lambda s: s.layouts,
            lambda i: ".".join(i.syntax.layouts),
        ),
        _build_picker(
            "modifiers",
            "Modifiers",
            found,
            [i for i in relatives if i.shape == found.shape and i.syntax.types == found.syntax.types],
            lambda s: tuple(sorted(s.modifiers)),
            lambda i: ".".join(i.syntax.modifiers) or "none",
        ),
    ]
    return [picker for picker in made if len(picker.options) > 1]


def _build_tcgen05_pickers(found: Instruction, among: list[Instruction]) -> list[Picker]:
    """Kind, CTAs and the rest of a product in tensor memory, whose text has neither shape nor types."""

    def words(i: Instruction) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        (group, *rest), kind = i.modifiers, find_issued_kind(i)
        own = tuple(m for m in rest if m == kind or m in VECTOR_WORDS)
        return own, (group,), tuple(m for m in rest if m not in own and m != SCALED)

    out = []
    for n, (name, label) in enumerate((("kind", "Kind"), ("ctas", "CTAs"), ("modifiers", "Collector"))):
        best: dict[tuple[str, ...], tuple[int, Instruction]] = {}
        for other in among:
            apart = len(set(found.modifiers) ^ set(other.modifiers))
            part = words(other)[n]
            if part not in best or apart < best[part][0]:
                best[part] = (apart, other)
        options = tuple(PickerOption(i.ptx, ".".join(p) or "none", i.ptx == found.ptx) for p, (_, i) in best.items())
        out.append(Picker(name, label, options))
    return out


def _build_types_picker(found: Instruction, among: list[Instruction]) -> Picker:
    """Types by kind, those that this shape has first; the others say which shape they lead to."""
    made = _build_picker("types", "Types", found, among, lambda s: s.types, wording.format_assignment)
    kinds = {
        kind: n for n, kind in enumerate((wording.find_types_group(found), *wording.KIND_OF.values(), "other")[::-1])
    }
    shapes = {i.ptx: (i.shape, wording.find_types_group(i)) for i in among}
    options = [replace(each, group=shapes[each.ptx][1]) for each in made.options]
    options.sort(key=lambda each: (-kinds[each.group], shapes[each.ptx][0] != found.shape))
    return replace(made, options=tuple(options))


def _build_picker(
    name: str,
    label: str,
    found: Instruction,
    among: list[Instruction],
    part: Callable[[OpcodeSyntax], Hashable],
    text: Callable[[Instruction], str],
) -> Picker:
    best: dict[Hashable, tuple[tuple[float, ...], Instruction]] = {}
    for candidate in among:
        rank = _rank_candidate(found, candidate, name)
        key = part(candidate.syntax)
        if key not in best or rank < best[key][0]:
            best[key] = (rank, candidate)
    options = []
    for _, candidate in best.values():
        note = _format_other_changes(found, candidate, name)
        options.append(
            PickerOption(candidate.ptx, text(candidate) + (f"  → {note}" if note else ""), candidate is found)
        )
    return Picker(name, label, tuple(options))


def _rank_candidate(found: Instruction, candidate: Instruction, picked: str) -> tuple[float, ...]:
    """How far a candidate is from what is shown; a choice of types keeps the shape before anything else."""
    one, other = found.syntax, candidate.syntax
    apart = measure_shape_distance(one.shape, other.shape)
    return (
        apart if picked == "types" else 0.0,
        float(one.types != other.types),
        float(set(one.modifiers) != set(other.modifiers)),
        float(one.layouts != other.layouts),
        apart,
    )


def _format_other_changes(found: Instruction, candidate: Instruction, picked: str) -> str:
    one, other = found.syntax, candidate.syntax
    changes = []
    if picked != "shape" and one.shape != other.shape:
        changes.append(other.shape)
    if picked != "types" and one.types != other.types:
        changes.append(wording.format_assignment(candidate))
    if picked not in ("types", "modifiers") and set(one.modifiers) != set(other.modifiers):
        changes.append(".".join(other.modifiers) or "no modifiers")
    return ", ".join(changes)
