"""One meaning of a text, and how instructions are found by shape and types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lanescope.ptx.instruction import Instruction


@dataclass(frozen=True, slots=True)
class TextMeaning:
    """One possible meaning of a text: its kind, a title, facts as the kind defines them, and notices.

    sure: whether it can mean nothing else. fits: the text does not say that it is this, its number only may be.
    """

    kind: str
    title: str
    facts: Mapping[str, Any]
    notices: tuple[str, ...] = ()
    sure: bool = False
    undetermined: tuple[str, ...] = field(default=())
    fits: bool = False


def make_instruction_meaning(
    instructions: Iterable[Instruction],
    what: str,
    notices: tuple[str, ...] = (),
    operand: str | None = None,
    majors: Mapping[str, str] | None = None,
) -> tuple[TextMeaning, ...]:
    """Make the meaning of a text that names these instructions: a single one is certain, several are candidates.

    No meaning without an instruction.

    majors: the majors of A and B in shared memory, where the text gives them.
    """
    names = tuple(dict.fromkeys(i.ptx for i in instructions))
    if not names:
        return ()
    certain = len(names) == 1
    facts = {
        "ptx": names[0] if certain else None,
        "candidates": [] if certain else list(names),
        "operand": operand,
        "all": [names[0]] if certain else [],
        **({"majors": dict(majors)} if majors else {}),
    }
    title = names[0] if certain else f"{what}: {len(names)} instructions fit"
    return (TextMeaning("instruction", title, facts, notices, sure=certain),)


def drop_repeats(meanings: Iterable[TextMeaning], most: int) -> tuple[TextMeaning, ...]:
    """Drop meanings that say the same as one before them."""
    seen: dict[str, TextMeaning] = {}
    for meaning in meanings:
        seen.setdefault(repr(meaning.facts), meaning)
    return tuple(seen.values())[:most]
