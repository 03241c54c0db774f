"""The texts that a text is under each choice of what its #if leave open: a tree of conditions, texts at its leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.reader.code.preprocessor import Preprocessor
from lanescope.reader.code.source import PreparedSource

MOST_VARIANTS = 8
MOST_CHOSEN = 3  # conditions that are told apart where all would be too many


@dataclass(frozen=True, slots=True)
class VariantChoice:
    """An undecided condition, and what the text is where it holds and where it does not."""

    condition: str
    yes: Variant
    no: Variant


Variant = VariantChoice | PreparedSource


def make_variants(text: Preprocessor, most: int = MOST_VARIANTS) -> Variant:
    """Make every text that a text can be.

    If they are more than `most`, the first few conditions are told apart, and each text omits what depends on the
    others.
    """
    variant = _explore_texts(text, {}, None, most)
    if variant is None:
        first = text.read_text().met
        chosen = min(MOST_CHOSEN, max(most.bit_length() - 1, 0))
        variant = _explore_texts(text, {}, frozenset(first[:chosen]), 1 << chosen)
    assert variant is not None  # n conditions make at most 2ⁿ texts
    return _drop_failed(variant) or variant


def _explore_texts(
    text: Preprocessor, decisions: dict[str, bool], chosen: frozenset[str] | None, room: int
) -> Variant | None:
    """Return the texts under some decisions; None if there are more than there is room for."""
    return _branch_text(text, decisions, chosen, room, text.read_text(decisions, chosen))


def _branch_text(
    text: Preprocessor, decisions: dict[str, bool], chosen: frozenset[str] | None, room: int, source: PreparedSource
) -> Variant | None:
    """Branch a prepared text in which no other condition holds; else like _explore_texts."""
    open_ = [key for key in source.met if key not in decisions]
    if not open_:
        return source
    if room < 2:
        return None
    no = _branch_text(text, {**decisions, open_[0]: False}, chosen, room - 1, source)
    if no is None:
        return None
    yes = _explore_texts(text, {**decisions, open_[0]: True}, chosen, room - sum(1 for _ in list_leaves(no)))
    return None if yes is None else VariantChoice(open_[0], yes, no)


def list_leaves(variant: Variant) -> Iterator[PreparedSource]:
    """Yield the texts of a tree of conditions."""
    if isinstance(variant, PreparedSource):
        yield variant
    else:
        yield from list_leaves(variant.yes)
        yield from list_leaves(variant.no)


def _drop_failed(variant: Variant) -> Variant | None:
    """Drop the texts that #error says do not compile; None if none does."""
    if isinstance(variant, PreparedSource):
        return None if variant.failed else variant
    yes, no = _drop_failed(variant.yes), _drop_failed(variant.no)
    if yes is None or no is None:
        return yes or no
    return VariantChoice(variant.condition, yes, no)
