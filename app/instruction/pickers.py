"""Pickers of the instruction page: every option is the path of a legal instruction, by construction."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from lanescope.app.instruction import words
from lanescope.app.kit.rows import issued
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.syntax import Syntax
from lanescope.ptx.table.umma import SCALED, VECTOR_WORDS


@dataclass(frozen=True, slots=True)
class Option:
    ptx: str
    text: str
    chosen: bool
    group: str = ""


@dataclass(frozen=True, slots=True)
class Picker:
    """A menu: `name` in the address, `label` on the page; options of one group stand together, under its name."""

    name: str
    label: str
    options: tuple[Option, ...]

    @property
    def groups(self) -> list[tuple[str, list[Option]]]:
        """The options by group, in their order."""
        out: dict[str, list[Option]] = {}
        for option in self.options:
            out.setdefault(option.group, []).append(option)
        return list(out.items())


def pickers(found: Instruction) -> list[Picker]:
    """Shape (N for wgmma), types, layout and modifier pickers; one with a single option is left out.

    An option keeps as many other parts as are legal with it, and its text says which part it must change.
    """
    relatives = [i for i in catalog.instructions() if i.syntax.opcode == found.syntax.opcode]
    if found.family.issue:
        return [picker for picker in _issued(found, relatives) if len(picker.options) > 1]
    warpgroup = found.family.by_descriptor
    shaped = [i for i in relatives if i.sizes.get("k") == found.sizes.get("k")] if warpgroup else relatives
    made = [
        _picker("shape", "Shape", found, shaped, lambda s: s.shape, lambda i: i.shape),
        _types(found, relatives),
        _picker(
            "layout",
            "Layout",
            found,
            [i for i in relatives if i.shape == found.shape],
            lambda s: s.layouts,
            lambda i: ".".join(i.syntax.layouts),
        ),
        _picker(
            "modifiers",
            "Modifiers",
            found,
            [i for i in relatives if i.shape == found.shape and i.syntax.types == found.syntax.types],
            lambda s: tuple(sorted(s.modifiers)),
            lambda i: ".".join(i.syntax.modifiers) or "none",
        ),
    ]
    return [picker for picker in made if len(picker.options) > 1]


def _issued(found: Instruction, among: list[Instruction]) -> list[Picker]:
    """Kind, CTAs and the rest of a product in tensor memory, whose text has neither shape nor types."""

    def words(i: Instruction) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        (group, *rest), kind = i.modifiers, issued(i)
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
        options = tuple(Option(i.ptx, ".".join(p) or "none", i.ptx == found.ptx) for p, (_, i) in best.items())
        out.append(Picker(name, label, options))
    return out


def _types(found: Instruction, among: list[Instruction]) -> Picker:
    """Types by kind, those that this shape has first; the others say which shape they lead to."""
    made = _picker("types", "Types", found, among, lambda s: s.types, words.assignment)
    kinds = {kind: n for n, kind in enumerate((words.kind_of(found), *words.KIND_OF.values(), "other")[::-1])}
    shapes = {i.ptx: (i.shape, words.kind_of(i)) for i in among}
    options = [replace(each, group=shapes[each.ptx][1]) for each in made.options]
    options.sort(key=lambda each: (-kinds[each.group], shapes[each.ptx][0] != found.shape))
    return replace(made, options=tuple(options))


def _picker(
    name: str,
    label: str,
    found: Instruction,
    among: list[Instruction],
    part: Callable[[Syntax], Hashable],
    text: Callable[[Instruction], str],
) -> Picker:
    best: dict[Hashable, tuple[tuple[float, ...], Instruction]] = {}
    for candidate in among:
        rank = _likeness(found, candidate, name)
        key = part(candidate.syntax)
        if key not in best or rank < best[key][0]:
            best[key] = (rank, candidate)
    options = []
    for _, candidate in best.values():
        note = _other_changes(found, candidate, name)
        options.append(Option(candidate.ptx, text(candidate) + (f"  → {note}" if note else ""), candidate is found))
    return Picker(name, label, tuple(options))


def _likeness(found: Instruction, candidate: Instruction, picked: str) -> tuple[float, ...]:
    """How far a candidate is from what is shown; a choice of types keeps the shape before anything else."""
    one, other = found.syntax, candidate.syntax
    apart = catalog.apart(one.shape, other.shape)
    return (
        apart if picked == "types" else 0.0,
        float(one.types != other.types),
        float(set(one.modifiers) != set(other.modifiers)),
        float(one.layouts != other.layouts),
        apart,
    )


def _other_changes(found: Instruction, candidate: Instruction, picked: str) -> str:
    one, other = found.syntax, candidate.syntax
    changes = []
    if picked != "shape" and one.shape != other.shape:
        changes.append(other.shape)
    if picked != "types" and one.types != other.types:
        changes.append(words.assignment(candidate))
    if picked not in ("types", "modifiers") and set(one.modifiers) != set(other.modifiers):
        changes.append(".".join(other.modifiers) or "no modifiers")
    return ", ".join(changes)
