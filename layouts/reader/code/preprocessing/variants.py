"""The variants of a text: one preprocessed text for each combination of its undecided #if conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lanescope.reader.code.preprocessing.preprocessor import Preprocessor
from lanescope.reader.code.syntax.source import PreparedSource

MOST_VARIANTS = 8
MOST_CHOSEN = 3  # conditions that are distinguished if all of them give too many variants


@dataclass(frozen=True, slots=True)
class VariantChoice:
    """An undecided condition, with the variants for true and false."""

    condition: str
    yes: Variant
    no: Variant


Variant = VariantChoice | PreparedSource


def make_variants(text: Preprocessor) -> Variant:
    """Make every variant of a text.

    If there are more than MOST_VARIANTS, only the first few conditions are distinguished, and each variant omits what
    depends on the others.
    """
    source = text.read_text()
    variant = _branch_text(text, {}, None, MOST_VARIANTS, source)
    if variant is None:
        variant = _explore_texts(text, {}, frozenset(source.met[:MOST_CHOSEN]), 1 << MOST_CHOSEN)
    assert variant is not None  # n conditions make at most 2ⁿ texts
    return _drop_failed(variant) or variant


def _explore_texts(
    text: Preprocessor, decisions: dict[str, bool], chosen: frozenset[str] | None, room: int
) -> Variant | None:
    """Return the variants under some decisions; None if there are more than `room`."""
    return _branch_text(text, decisions, chosen, room, text.read_text(decisions, chosen))


def _branch_text(
    text: Preprocessor, decisions: dict[str, bool], chosen: frozenset[str] | None, room: int, source: PreparedSource
) -> Variant | None:
    """Return the variants under some decisions, given the text in which all other conditions are false."""
    undecided = [key for key in source.met if key not in decisions]
    if not undecided:
        return source
    if room < 2:
        return None
    no = _branch_text(text, {**decisions, undecided[0]: False}, chosen, room - 1, source)
    if no is None:
        return None
    yes = _explore_texts(text, {**decisions, undecided[0]: True}, chosen, room - sum(1 for _ in list_leaves(no)))
    return None if yes is None else VariantChoice(undecided[0], yes, no)


def list_leaves(variant: Variant) -> Iterator[PreparedSource]:
    """Yield the texts at the leaves of a tree of variants."""
    if isinstance(variant, PreparedSource):
        yield variant
    else:
        yield from list_leaves(variant.yes)
        yield from list_leaves(variant.no)


def _drop_failed(variant: Variant) -> Variant | None:
    """Drop the variants that reach an #error; None if all of them do."""
    if isinstance(variant, PreparedSource):
        return None if variant.failed else variant
    yes, no = _drop_failed(variant.yes), _drop_failed(variant.no)
    if yes is None or no is None:
        return yes or no
    return VariantChoice(variant.condition, yes, no)
