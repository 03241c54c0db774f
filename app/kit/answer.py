"""The first sentences of a page about its pinned cells, from templates that static/instruction/headline.js fills as
well.

A browser test compares both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lanescope.app.kit.fact import fact
from lanescope.inputs import join_words
from lanescope.ptx.instruction import Operand
from lanescope.render.view import ADDRESS


@fact
class AnswerWords:
    """Templates of the sentences.

    `product`: what an element of each panel is multiplied with, "" if nothing is multiplied; `nobody`: for an element
    that no lane holds; `shown`: which lanes are selected (one, several) and what they hold; `lines`: for whole rows or
    columns (one, several); `most`: how many other values of a register, and other holders, are named.
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
    """The first sentences of a page: a line for each pin, with `code` between backticks, then the text below them."""

    lines: tuple[str, ...]
    text: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class PinnedPlace:
    """The description of one pin: its line, its sentences, and its holder (None if no thread holds it)."""

    line: str
    text: str
    holder: int | None


def join_answer(words: AnswerWords, places: Sequence[PinnedPlace]) -> Answer:
    """Return the answer for the pins of a page, or the page's question if nothing is pinned."""
    if not places:
        return Answer(lines=(words.nothing,), text=words.invitation, pinned=False)
    holders = {place.holder for place in places}
    text = places[0].text if len(places) == 1 else words.together if len(holders) == 1 else words.apart
    return Answer(lines=tuple(place.line for place in places), text=text, pinned=True)


def name_mates(words: AnswerWords, names: Sequence[str], per_register: int) -> str:
    """Return a sentence that names the other values in the same register, "" if there are none. names: their names, in
    order.
    """
    if not names:
        return ""
    half, some, many = words.mates
    if len(names) > words.most:
        return many.format(count=len(names))
    return (half if per_register == len(names) + 1 == 2 else some).format(mates=join_words(list(names)))


def name_holders(words: AnswerWords, holders: Sequence[str]) -> str:
    """Return a sentence that names the other holders of an element, "" if there are none."""
    if not holders:
        return ""
    more = len(holders) - words.most
    named = [*holders[: words.most], f"{more} more"] if more > 0 else list(holders)
    return capitalize_first(words.copies[len(holders) > 1].format(holders=join_words(named)))


def count_held(words: AnswerWords, holder: str, counts: Sequence[tuple[str, int]]) -> str:
    """Return a phrase with the number of values of each matrix that a thread holds. counts: (title, count)."""
    phrases = [words.count.format(count=count, title=title) for title, count in counts if count]
    return capitalize_first(words.lane.format(holder=holder, counts=join_words(phrases) or "nothing here"))


def capitalize_first(text: str) -> str:
    """Return a text whose first letter is a capital, also inside backticks."""
    at = next((n for n, letter in enumerate(text) if letter.isalpha()), 0)
    return text[:at] + text[at : at + 1].upper() + text[at + 1 :]


def list_value_bits(op: Operand) -> tuple[str, ...]:
    """Return the bits of each value in its register as the first sentence words them; "" if the value fills the
    register.
    """
    bits = op.element.bits
    if bits >= op.register_bits or op.name == ADDRESS:
        return ("",) * op.values
    firsts = [op.register_of(value)[1] + op.padding_below for value in range(op.values)]
    return tuple(f", bits `{first + bits - 1}:{first}`" if bits > 1 else f", bit `{first}`" for first in firsts)


def get_per_register(op: Operand) -> int:
    """Return how many values a register has room for; 0 for addresses, which are not values."""
    return 0 if op.name == ADDRESS else op.register_bits // op.container_bits


def format_runs(numbers: Iterable[int], dash: str = "–", comma: str = ", ") -> str:
    """Format numbers in ascending order as ranges.

    >>> format_runs([4, 0, 1, 2]), format_runs([])
    ('0–2, 4', '')
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return comma.join(str(first) if first == last else f"{first}{dash}{last}" for first, last in runs)
