"""The controls for colours, labels, warps and lanes on a figure's page, and the errors of wrong values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from lanescope.app.kit.question import Field, declare_question, options_of, raw_field
from lanescope.app.kit.question_form import Control, build_controls
from lanescope.errors import LayoutError, join_errors
from lanescope.inputs import parse_ranges

Value = TypeVar("Value")
FOUND = ("find", "pin", "pin2")  # wrong values that the find field shows


@declare_question
class Look:
    """What the page of a figure can show of it."""

    colour: str = raw_field("Colour", "What the colours distinguish.")
    label: str = raw_field("Label", "The text in each cell.")
    warps: str = raw_field("Warps", "Numbers and ranges, as in 0-3,8.", placeholder="all")
    lanes: str = raw_field("Lanes", "Numbers and ranges, as in 0-3,8.", placeholder="all")


_OPTIONS = options_of(Look)


def read_values(
    query: Mapping[str, str], names: Iterable[str], parse: Callable[[str, str], Value]
) -> tuple[dict[str, Value], list[LayoutError]]:
    """Return the values of an address by name, as (name, text) is parsed, and the errors of those that are wrong."""
    values, refused = {}, []
    for name in names:
        try:
            if text := query.get(name, "").strip():
                values[name] = parse(name, text)
        except LayoutError as error:
            refused.append(error.move_to_field(name))
    return values, refused


def require_right(refused: Sequence[LayoutError]) -> None:
    """Raise the errors of a picture's address."""
    if error := join_errors(refused):
        raise error.move_to_field(error.field, "bad_option")


def parse_list(text: str, name: str, count: int) -> str:
    """Return a list of lanes or warps below `count` in decimal: 0-3,8."""
    spans = parse_ranges(text, name, count)
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def build_look(
    choices: Mapping[str, Mapping[str, str]],
    typed: Iterable[str],
    seen: Mapping[str, object],
    refused: Iterable[LayoutError],
    query: Mapping[str, str],
    *,
    labels: Mapping[str, str] | None = None,
) -> dict[str, Control]:
    """Return the controls of what is seen by name; wrong ones as in the query, with their error.

    choices: of each menu; typed: the names of the others; labels: where they are not those of Look.
    """
    named = {name: _OPTIONS.get(name, _OPTIONS["label"]) for name in (*choices, *typed)}
    named |= {name: replace(named[name], label=text) for name, text in (labels or {}).items()}
    fields = {name: Field(name, option) for name, option in named.items()}
    wrong = [error for error in refused if error.field in fields]
    given = {name: str(seen[name]) for name in fields} | {error.field: query[error.field] for error in wrong}
    return build_controls(fields, given, choices, join_errors(wrong))


def split_refused(refused: Sequence[LayoutError], look: Mapping[str, Control]) -> tuple[str, list[str]]:
    """Return what the find field says of the first wrong value that it shows, and the notices of the page about those
    that no control shows.
    """
    found = [f"{error.message} {error.hint}".strip() for error in refused if error.field in FOUND]
    others = [error for error in refused if error.field not in (*FOUND, *look)]
    return next(iter(found), ""), [f"{error.message} {error.hint} Shown with the default instead." for error in others]
