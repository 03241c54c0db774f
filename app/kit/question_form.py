"""The form of a question: its controls, filled from an address, with each error beside the field that it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lanescope.app.kit.question import NO_YES, Field, Option, fields_of, is_within, parse_option
from lanescope.errors import LayoutError, join_errors
from lanescope.inputs import get_last_name, join_words

Words = Sequence[str] | Mapping[str, str]  # allowed words of a control; a mapping gives their texts


@dataclass(frozen=True, slots=True)
class Control:
    """A field of a form, as templates/kit/form.html draws it."""

    name: str
    label: str
    value: str
    choices: tuple[tuple[str, str], ...]  # (word, its text in the form); empty for an input
    error: str
    option: Option
    refused: tuple[LayoutError, ...] = ()  # its errors, of which `error` words the first

    @property
    def help(self) -> str:
        """Return the meaning of the control as plain text; "" for a file, whose help describes a request's body."""
        return "" if self.option.file is not None else self.option.meaning.replace("`", "")

    @property
    def checkbox(self) -> bool:
        """Return whether it is a switch without words of its own."""
        return self.option.flag and self.choices == tuple(NO_YES.items())


def name_field(error: LayoutError, label: str) -> str:
    """Return an error's message with the label of its field in place of the field's name; "" if it does not name it.

    >>> name_field(LayoutError("bad", "mn is 'x'.", field="slice.mn"), "First row")
    "First row is 'x'."
    """
    name = get_last_name(error.field)
    named = re.match(rf"{re.escape(name)}(?:\[\d+\])?(?= (?:is|has) )", error.message)
    return f"{label}{error.message[named.end() :]}" if name and named else ""


def find_refused(fields: Mapping[str, Field], error: LayoutError) -> str:
    """Return the field that shows an error, the most specific whose path contains the error's; "" if there is none."""
    paths = (
        (len(path), name)
        for name, (own_path, option) in fields.items()
        for path in (own_path, *option.covers)
        if is_within(error.field, path)
    )
    return max(paths, default=(0, ""))[1]


def _list_words(option: Option) -> tuple[str, ...]:
    """Return the words of a control, including "" if it has a text."""
    return ("", *option.words) if "" in option.called else option.words


def form_of(
    question: type,
    query: Mapping[str, str],
    choices: Mapping[str, Words] | None = None,
    error: LayoutError | None = None,
) -> dict[str, Control]:
    """Return the controls of a question by name, filled with the values of the request.

    choices: for fields whose words depend on the request, the allowed ones; a mapping gives their texts.
    """
    return build_controls(fields_of(question, query), query, choices, error)


def build_controls(
    fields: Mapping[str, Field],
    query: Mapping[str, str],
    choices: Mapping[str, Words] | None = None,
    error: LayoutError | None = None,
) -> dict[str, Control]:
    """Return the controls of fields by name; see form_of."""
    refused: dict[str, list[LayoutError]] = {}
    for one in error.every if error else ():
        refused.setdefault(find_refused(fields, one), []).append(one)
    return {
        name: Control(
            name,
            field.option.label,
            str(query.get(name, field.option.default)),
            _list_choices(field.option, (choices or {}).get(name)),
            _word_error(refused[name][0], field) if name in refused else "",
            field.option,
            tuple(refused.get(name, ())),
        )
        for name, field in fields.items()
    }


def list_unplaced_errors(error: LayoutError | None, *forms: Mapping[str, Control]) -> list[LayoutError]:
    """Return the errors that no control of the forms shows."""
    shown = {str(one) for form in forms for control in form.values() for one in control.refused}
    return [one for one in (error.every if error else ()) if str(one) not in shown]


def join_wrong_labels(*forms: Mapping[str, Control]) -> str:
    """Return the labels of the controls that show errors, without their units: "Row pitch and Panel width"."""
    wrong = (one for form in forms for one in form.values() if one.refused)
    return join_words(list(dict.fromkeys(one.label.partition(", ")[0] for one in wrong)))


def _word_error(error: LayoutError, field: Field) -> str:
    """Return an error in the words of its control. A part of the field is named after the label: `B, swizzle`."""
    path, option = field
    inner = error.field.removeprefix(f"{path}.") if error.field.startswith(f"{path}.") else ""
    label = f"{option.label}, {inner}" if inner else option.label
    if error.message == f"{get_last_name(error.field)} is missing.":
        error = _make_empty_error(error.field, option)
    return f"{name_field(error, label) or error.message} {error.hint}".strip()


def _list_choices(option: Option, words: Words | None) -> tuple[tuple[str, str], ...]:
    """Return (word, text) of a control's choices; `words` replaces the option's own."""
    texts = words if isinstance(words, Mapping) else option.called
    return tuple((word, texts.get(word, word)) for word in (_list_words(option) if words is None else words))


def fill_fields(
    fields: Mapping[str, Field], query: Mapping[str, str], defaults: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the fields of a form, each as sent or, if blank, its default. A field that needs a value stays empty.

    defaults: of the page, where they are not those of the question.
    """
    return {
        name: query[name]
        if query.get(name, "").strip() or (name in query and option.needs_value)
        else (defaults or {}).get(name, option.default)
        for name, (_, option) in fields.items()
    }


def require_values(fields: Mapping[str, Field], query: Mapping[str, str]) -> None:
    """Raise LayoutError for the fields that a form sent empty: their defaults would be a different request."""
    if refused := join_errors(_find_empty(name, field, query) for name, field in fields.items()):
        raise refused


def find_wrong_fields(fields: Mapping[str, Field], query: Mapping[str, Any]) -> LayoutError | None:
    """Return the errors of all fields of a form whose values no request allows, as their options declare it."""
    return join_errors(
        _find_empty(name, field, query) or _find_wrong(name, field, query) for name, field in fields.items()
    )


def add_wrong_fields(
    error: LayoutError | None, fields: Mapping[str, Field], query: Mapping[str, Any]
) -> LayoutError | None:
    """Return an error with those of the other fields of its form; of an empty field that it is empty."""
    empty = join_errors(_find_empty(name, field, query) for name, field in fields.items())
    return join_errors((empty, error, find_wrong_fields(fields, query)))


def find_every_error(
    answer: Callable[[dict[str, str]], object], fields: Mapping[str, Field], sent: Mapping[str, str]
) -> LayoutError | None:
    """Return all errors of a request: those of its declarations, and those that only the answer finds, as far as they
    do not depend on another wrong field.
    """

    def depends(name: str, wrong: str) -> bool:
        needs = fields[name].option.needs
        return needs is None or wrong in needs

    _, error = answer_without_wrong(answer, sent, lambda error: find_refused(fields, error), depends)
    return add_wrong_fields(error, fields, sent)


def _find_empty(name: str, field: Field, query: Mapping[str, str]) -> LayoutError | None:
    path, option = field
    if not option.needs_value or name not in query or query[name].strip():
        return None
    return _make_empty_error(path, option)


def _make_empty_error(path: str, option: Option) -> LayoutError:
    example = option.examples[0] if option.examples else option.default
    hint = f"For example {example}." if example else ""
    return LayoutError("bad_request", f"{get_last_name(path)} is empty.", hint, path)


def _find_wrong(name: str, field: Field, query: Mapping[str, Any]) -> LayoutError | None:
    (path, option), value = field, query.get(name, "")
    if isinstance(value, str) and not value.strip():
        return None
    try:
        parse_option(option, (option.split and option.split(value)) or value, path)
    except LayoutError as error:
        return error
    return None


Answer = TypeVar("Answer")


def answer_without_wrong(
    answer: Callable[[dict[str, str]], Answer],
    sent: Mapping[str, str],
    find_name: Callable[[LayoutError], str] = lambda error: error.field,
    depends: Callable[[str, str], bool] = lambda name, wrong: False,
) -> tuple[Answer | None, LayoutError | None]:
    """Answer a request; where fields are wrong, without them. Return the answer and the error of all of them.

    For values that only the answer reads. An error without a field leads to the answer of an empty request, or to
    None if that is refused as well. find_name: the field of an error, "" if it has none. depends: (name, wrong) →
    whether the legal values of a field depend on a wrong one: its own errors are then not known.
    """
    kept, left_out = dict(sent), set[str]()
    wrong: list[LayoutError] = []
    while True:
        try:
            return answer(kept), join_errors(wrong)
        except LayoutError as error:
            names = {name for name in map(find_name, error.every) if name in kept}
            if not left_out or (names and not any(depends(name, other) for name in names for other in left_out)):
                wrong.append(error)
            if not kept:
                return None, join_errors(wrong)
            left_out |= names or set(kept)
            kept = {name: value for name, value in kept.items() if name not in left_out}
