"""Define the meaning of a text, and make it from instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lanescope.ptx.instruction import Instruction


@dataclass(frozen=True, slots=True)
class TextMeaning:
    """A possible meaning of a text: its kind, a title, facts (their names depend on the kind), and notices.

    sure: the text can mean nothing else. fits: only a number suggests this meaning; the text does not name it.
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
    """Return the meaning of a text that names these instructions; () without an instruction.

    A single instruction is certain; several are candidates. majors: of A and B in shared memory, if the text has them.
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
    """Return at most `most` meanings, without repeats."""
    seen: dict[str, TextMeaning] = {}
    for meaning in meanings:
        seen.setdefault(repr(meaning.facts), meaning)
    return tuple(seen.values())[:most]
