"""The texts that a text is under each choice of what its #if leave open: a tree of conditions, texts at its leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.reader.code.preprocess import Preprocessor
from lanescope.reader.code.source import Prepared

MOST_VARIANTS = 8
MOST_CHOSEN = 3  # conditions that are told apart where all would be too many


@dataclass(frozen=True, slots=True)
class Choice:
    """An undecided condition, and what the text is where it holds and where it does not."""

    condition: str
    yes: Variant
    no: Variant


Variant = Choice | Prepared


def variants(text: Preprocessor, most: int = MOST_VARIANTS) -> Variant:
    """Every text that a text can be. Where they are more than `most`, the first few conditions are told apart, and what
    depends on the others is left out of each text.
    """
    found = _explored(text, {}, None, most)
    if found is None:
        first = text.run().met
        chosen = min(MOST_CHOSEN, max(most.bit_length() - 1, 0))
        found = _explored(text, {}, frozenset(first[:chosen]), 1 << chosen)
    assert found is not None  # n conditions make at most 2ⁿ texts
    return _without_failed(found) or found


def _explored(
    text: Preprocessor, decisions: dict[str, bool], chosen: frozenset[str] | None, room: int
) -> Variant | None:
    """The texts under some decisions; None where they are more than there is room for."""
    return _branched(text, decisions, chosen, room, text.run(decisions, chosen))


def _branched(
    text: Preprocessor, decisions: dict[str, bool], chosen: frozenset[str] | None, room: int, made: Prepared
) -> Variant | None:
    """The same, of which the text that has no other condition hold is made already."""
    open_ = [key for key in made.met if key not in decisions]
    if not open_:
        return made
    if room < 2:
        return None
    no = _branched(text, {**decisions, open_[0]: False}, chosen, room - 1, made)
    if no is None:
        return None
    yes = _explored(text, {**decisions, open_[0]: True}, chosen, room - sum(1 for _ in leaves(no)))
    return None if yes is None else Choice(open_[0], yes, no)


def leaves(one: Variant) -> Iterator[Prepared]:
    """The texts of a tree of conditions."""
    if isinstance(one, Prepared):
        yield one
    else:
        yield from leaves(one.yes)
        yield from leaves(one.no)


def _without_failed(one: Variant) -> Variant | None:
    """The texts that compile, as far as #error says; None where none does."""
    if isinstance(one, Prepared):
        return None if one.failed else one
    yes, no = _without_failed(one.yes), _without_failed(one.no)
    if yes is None or no is None:
        return yes or no
    return Choice(one.condition, yes, no)
