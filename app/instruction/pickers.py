"""Pickers of the instruction page: every option is the path of a legal instruction, by construction."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from layouts import catalog
from layouts.instruction import Instruction
from layouts.syntax import Syntax


@dataclass(frozen=True, slots=True)
class Option:
    ptx: str
    text: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Picker:
    name: str
    options: tuple[Option, ...]


def pickers(found: Instruction) -> list[Picker]:
    """Shape (N for wgmma), types, layout and modifier pickers; one with a single option is left out.

    An option keeps as many other parts as are legal with it, and its text says which part it must change.
    """
    relatives = [i for i in catalog.instructions() if i.syntax.opcode == found.syntax.opcode]
    warpgroup = found.family.by_descriptor
    shaped = [i for i in relatives if i.sizes.get("k") == found.sizes.get("k")] if warpgroup else relatives
    made = [
        _picker("N" if warpgroup else "shape", found, shaped, lambda s: s.shape, lambda s: s.shape),
        _picker("types", found, relatives, lambda s: s.types, lambda s: ".".join(s.types)),
        _picker(
            "layout",
            found,
            [i for i in relatives if i.shape == found.shape],
            lambda s: s.layouts,
            lambda s: ".".join(s.layouts),
        ),
        _picker(
            "modifiers",
            found,
            [i for i in relatives if i.shape == found.shape and i.syntax.types == found.syntax.types],
            lambda s: tuple(sorted(s.modifiers)),
            lambda s: ".".join(s.modifiers) or "none",
        ),
    ]
    return [picker for picker in made if len(picker.options) > 1]


def _picker(
    name: str,
    found: Instruction,
    among: list[Instruction],
    part: Callable[[Syntax], Hashable],
    text: Callable[[Syntax], str],
) -> Picker:
    best: dict[Hashable, tuple[tuple[float, ...], Instruction]] = {}
    for candidate in among:
        rank = _likeness(found, candidate)
        key = part(candidate.syntax)
        if key not in best or rank < best[key][0]:
            best[key] = (rank, candidate)
    options = []
    for _, candidate in best.values():
        note = _other_changes(found.syntax, candidate.syntax, name)
        options.append(
            Option(candidate.ptx, text(candidate.syntax) + (f"  ({note})" if note else ""), candidate is found)
        )
    return Picker(name, tuple(options))


def _likeness(found: Instruction, candidate: Instruction) -> tuple[float, ...]:
    one, other = found.syntax, candidate.syntax
    return (
        float(one.types != other.types),
        float(set(one.modifiers) != set(other.modifiers)),
        float(one.layouts != other.layouts),
        catalog.apart(one.shape, other.shape),
    )


def _other_changes(one: Syntax, other: Syntax, picked: str) -> str:
    changes = []
    if picked not in ("shape", "N") and one.shape != other.shape:
        changes.append(other.shape)
    if picked != "types" and one.types != other.types:
        changes.append(".".join(other.types))
    if picked not in ("types", "modifiers") and set(one.modifiers) != set(other.modifiers):
        changes.append(".".join(other.modifiers) or "no modifiers")
    return ", ".join(changes)
