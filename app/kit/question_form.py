"""The form of a question: its controls, filled from an address, with the error beside the field that it names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lanescope.app.kit.question import NO_YES, Field, Option, fields_of, is_within
from lanescope.errors import LayoutError
from lanescope.inputs import get_last_name


@dataclass(frozen=True, slots=True)
class Control:
    """A field of a form, as templates/kit/form.html draws it."""

    name: str
    label: str
    value: str
    choices: tuple[tuple[str, str], ...]  # (word, its text in the form); empty for an input
    error: str
    option: Option

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
    named = error.message.startswith((f"{name} is ", f"{name} has "))
    return f"{label}{error.message.removeprefix(name)}" if name and named else ""


def _find_refused(fields: Mapping[str, Field], error: LayoutError | None) -> str:
    """Return the field that shows an error, the most specific whose path contains the error's; "" if there is none."""
    paths = (
        (len(path), name)
        for name, (own_path, option) in fields.items()
        for path in (own_path, *option.covers)
        if error and is_within(error.field, path)
    )
    return max(paths, default=(0, ""))[1]


def _list_words(option: Option) -> tuple[str, ...]:
    """Return the words of a control, including "" if it has a text."""
    return ("", *option.words) if "" in option.called else option.words


def form_of(
    question: type,
    query: Mapping[str, str],
    choices: Mapping[str, Iterable[str]] | None = None,
    error: LayoutError | None = None,
) -> dict[str, Control]:
    """Return the controls of a question by name, filled with the values of the request.

    choices: for fields whose words depend on the request, the allowed ones; a mapping gives their texts.
    """
    return build_controls(fields_of(question, query), query, choices, error)


def build_controls(
    fields: Mapping[str, Field],
    query: Mapping[str, str],
    choices: Mapping[str, Iterable[str]] | None = None,
    error: LayoutError | None = None,
) -> dict[str, Control]:
    """Return the controls of fields by name; see form_of."""
    refused = _find_refused(fields, error)
    return {
        name: Control(
            name,
            field.option.label,
            str(query.get(name, field.option.default)),
            _list_choices(field.option, (choices or {}).get(name)),
            _word_error(error, field) if error and name == refused else "",
            field.option,
        )
        for name, field in fields.items()
    }


def _word_error(error: LayoutError, field: Field) -> str:
    """Return an error in the words of its control. A part of the field is named after the label: `B, swizzle`."""
    path, option = field
    inner = error.field.removeprefix(f"{path}.") if error.field.startswith(f"{path}.") else ""
    label = f"{option.label}, {inner}" if inner else option.label
    return f"{name_field(error, label) or error.message} {error.hint}".strip()


def _list_choices(option: Option, words: Iterable[str] | None) -> tuple[tuple[str, str], ...]:
    """Return (word, text) of a control's choices; `words` replaces the option's own."""
    texts = words if isinstance(words, Mapping) else option.called
    return tuple((word, texts.get(word, word)) for word in (_list_words(option) if words is None else words))


def fill_fields(
    fields: Mapping[str, Field], query: Mapping[str, str], defaults: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the fields of a form, each as sent or, if blank, its default. Emptied text stays empty.

    defaults: of the page, where they are not those of the question.
    """
    return {
        name: query[name]
        if query.get(name, "").strip() or (name in query and option.needs_text)
        else (defaults or {}).get(name, option.default)
        for name, (_, option) in fields.items()
    }


def require_text_fields(fields: Mapping[str, Field], query: Mapping[str, str]) -> None:
    """Raise LayoutError for a text field that a form sent empty: the default would be a different request."""
    for name, (path, option) in fields.items():
        if option.needs_text and name in query and not query[name].strip():
            example = option.examples[0] if option.examples else option.default
            raise LayoutError("bad_request", f"{get_last_name(path)} is empty.", f"For example {example}.", path)
