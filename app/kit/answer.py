"""What a page says first of a pinned place: sentences from templates, which static/instruction/headline.js fills, too.

A browser test compares both. No framework.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanescope.app.kit.fact import fact
from lanescope.inputs import join_words
from lanescope.ptx.instruction import Operand
from lanescope.render.view import ADDRESS


@fact
class AnswerWords:
    """Templates of the sentences. `product`: what an element of each panel meets, "" where nothing is multiplied;
    `nobody`: of an element that is not held; `shown`: which lanes are shown alone, one or several, with what they hold;
    `lines`: of whole rows or columns, one or several of each; `most`: other values of a register, and other holders,
    that are named.
    """

    nothing: str = "Which element?"
    invitation: str
    value: tuple[str, str]
    mates: tuple[str, str, str]
    copies: tuple[str, str] = ("{holders} holds the same element.", "{holders} hold the same element.")
    lane: str = "`{holder}` holds {counts}"
    count: str = "{count} values of {title}"
    groups: str
    together: str
    apart: str
    most: int = 7
    product: dict[str, str]
    nobody: str = ""
    shown: tuple[str, str] = ("", "")
    lines: tuple[str, str, str, str] = (
        "row {numbers} of {title}",
        "rows {numbers} of {title}",
        "column {numbers} of {title}",
        "columns {numbers} of {title}",
    )


@fact
class Answer:
    """What a page says first: a line for each pin, with `code` between backticks, then sentences."""

    lines: tuple[str, ...]
    text: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class PinnedPlace:
    """What is said of one pin: its line, its sentences, and who holds it (None: nobody)."""

    line: str
    text: str
    holder: int | None


def join_answer(words: AnswerWords, places: Sequence[PinnedPlace]) -> Answer:
    """Build the answer about the pins of a page, or the question where nothing is pinned."""
    if not places:
        return Answer(lines=(words.nothing,), text=words.invitation, pinned=False)
    holders = {place.holder for place in places}
    text = places[0].text if len(places) == 1 else words.together if len(holders) == 1 else words.apart
    return Answer(lines=tuple(place.line for place in places), text=text, pinned=True)


def name_mates(words: AnswerWords, names: Sequence[str], per_register: int) -> str:
    """Say what else lies in the register of a value; "" where nothing does. names: those that do, in their order."""
    if not names:
        return ""
    half, some, many = words.mates
    if len(names) > words.most:
        return many.format(count=len(names))
    return (half if per_register == len(names) + 1 == 2 else some).format(mates=join_words(list(names)))


def name_holders(words: AnswerWords, holders: Sequence[str]) -> str:
    """Say who else holds an element; "" where nobody does."""
    if not holders:
        return ""
    more = len(holders) - words.most
    named = [*holders[: words.most], f"{more} more"] if more > 0 else list(holders)
    return capitalize_first(words.copies[len(holders) > 1].format(holders=join_words(named)))


def count_held(words: AnswerWords, holder: str, counts: Sequence[tuple[str, int]]) -> str:
    """Say how many values of each matrix a thread holds. counts: (title, how many)."""
    said = [words.count.format(count=count, title=title) for title, count in counts if count]
    return capitalize_first(words.lane.format(holder=holder, counts=join_words(said) or "nothing here"))


def capitalize_first(text: str) -> str:
    """Return a text whose first letter is a capital, also inside backticks."""
    at = next((n for n, letter in enumerate(text) if letter.isalpha()), 0)
    return text[:at] + text[at : at + 1].upper() + text[at + 1 :]


def list_value_bits(op: Operand) -> tuple[str, ...]:
    """List what the first sentence says of each value's bits in its register; "" if it fills the register."""
    bits = op.element.bits
    if bits >= op.register_bits or op.name == ADDRESS:
        return ("",) * op.values
    firsts = [op.register_of(value)[1] + op.padding_below for value in range(op.values)]
    return tuple(f", bits `{first + bits - 1}:{first}`" if bits > 1 else f", bit `{first}`" for first in firsts)


def get_per_register(op: Operand) -> int:
    """Return how many values a register has room for; 0 for addresses, which are not values."""
    return 0 if op.name == ADDRESS else op.register_bits // op.container_bits
