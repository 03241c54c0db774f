"""Questions: what a page, a route of the API and a command ask, declared once.

    @question
    class ScaleQuestion:
        m: int = number_field(128, "M", "Rows of D; of both CTAs with cta_group 2.")

From the fields follow the reader with its errors, the parameters in the OpenAPI document, the form of the page, the
options of the command with their help, and the link. No framework: a command starts without pydantic (docs/adr/0017).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, TypeVar, dataclass_transform
from urllib.parse import urlencode

from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, get_given, join_words, parse_choice, parse_integer, require_text

Asked = TypeVar("Asked")
Parse = Callable[[Any, str], Any]
NO_YES = {"0": "no", "1": "yes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A field of a question: how it is called, documented, read and drawn."""

    label: str  # beside the control, and in errors of the page
    help: str  # in the document and, with the default, in --help
    parse: Parse  # (what was given, field) → value; LayoutError names the field
    default: str = ""  # as a request spells it; "" where nothing stands for it
    words: tuple[str, ...] = ()  # what it may be
    called: Mapping[str, str] = dataclasses.field(default_factory=dict)  # word → what the form calls it
    numeric: bool = False
    flag: bool = False  # a word of 0 and 1; a switch of the command
    required: bool = False  # by the API, whose requests say it; a page takes the default
    argument: bool = False  # of the command: stands without its name
    examples: tuple[str, ...] = ()  # in the document
    size: int = 5  # characters of the control
    wide: bool = False  # the control takes the whole row
    rows: int = 0  # lines of the control; 0: it is one line
    placeholder: str = ""  # in the empty control
    suggest: str = ""  # the list of words that the control offers

    @property
    def command_help(self) -> str:
        """Help of the command's option: the words it may be, and what it is when left out."""
        if self.argument:
            return self.help
        says = self.help.rstrip(".")
        if self.flag:
            says = says.removeprefix("1: ")
            return f"{says[0].upper()}{says[1:]}."
        if self.words:
            what, semicolon, more = says.partition(";")
            says = f"{what}: {join_words(self.words, 'or')}{semicolon}{more}"
        return f"{says}; {self.default} when left out." if self.default else f"{says}."


@dataclass_transform(frozen_default=True, kw_only_default=True)
def question(made: type[Asked]) -> type[Asked]:
    """Make a frozen dataclass whose fields are Options. A field's trailing `_` is not part of its name: `from_` is
    "from".
    """
    return dataclass(frozen=True, kw_only=True)(made)


def _declared(option: Option, name: str = "") -> Any:
    """A dataclass's field: its value is the option's default, read when a question is made."""
    return dataclasses.field(default_factory=lambda: option.parse(option.default, name), metadata={"option": option})


def parsed_field(parse: Parse, label: str, help: str, default: str = "", **more: Any) -> Any:
    """Declare an option that is read by a function of its own: (what was given, field) → value."""
    return _declared(Option(label=label, help=help, parse=parse, default=default, **more))


def number_field(
    default: int | None, label: str, help: str, *, least: int = 0, most: int | None = None, **more: Any
) -> Any:
    """Declare a whole number; where the default is None, it may be left out and is None."""

    def parse(given: Any, field: str) -> int | None:
        return None if given == "" and default is None else parse_integer(given, field, least, most)

    return parsed_field(parse, label, help, "" if default is None else str(default), numeric=True, **more)


def word_field(
    words: Iterable[str],
    label: str,
    help: str,
    default: str | None = None,
    *,
    code: str = "bad_choice",
    parse: Parse | None = None,
    **more: Any,
) -> Any:
    """Declare one of several words, the first where it is left out; a default of "" stands for none of them.

    code: of the error where it is another word; parse: a reader of its own.
    """
    allowed = tuple(words)

    def parse_word(given: Any, field: str) -> str:
        return "" if given == default == "" else parse_choice(given, field, allowed, code)

    return parsed_field(
        parse or parse_word, label, help, allowed[0] if default is None else default, words=allowed, **more
    )


def flag_field(label: str, help: str, parse: Parse | None = None, **more: Any) -> Any:
    """Declare a switch: 1 or 0 in a request; parse: a reader of its own."""
    return parsed_field(parse or _parse_flag, label, help, "0", words=tuple(NO_YES), called=NO_YES, flag=True, **more)


def _parse_flag(given: Any, field: str) -> bool:
    return parse_choice(given, field, tuple(NO_YES)) == "1"


def text_field(default: str, label: str, help: str, **more: Any) -> Any:
    """Declare free text."""
    return parsed_field(require_text, label, help, default, **more)


def to_python_name(name: str) -> str:
    """Return the name of an option as Python has it: `from` is `from_`."""
    return f"{name}_" if iskeyword(name) else name


def options_of(asked: type) -> dict[str, Option]:
    """Return the options of a question by the names that requests use."""
    return {field.name.rstrip("_"): field.metadata["option"] for field in dataclasses.fields(asked)}


def labels_of(asked: type) -> dict[str, str]:
    """Return what the form calls each field."""
    return {name: option.label for name, option in options_of(asked).items()}


def read_question(wanted: type[Asked], given: Mapping[str, Any]) -> Asked:
    """Read a request: a query, an object or a command's options. LayoutError names the wrong field.

    What is left out or blank is the default; what the API requires is read as it is.
    """
    options = options_of(wanted)
    check_keys(given, options)
    values = {
        name: option.parse(given.get(name) if option.required else get_given(given, name, option.default), name)
        for name, option in options.items()
    }
    return wanted(**{to_python_name(name): value for name, value in values.items()})


def link_to(path: str, query: Mapping[str, object]) -> str:
    """Return the address of a page or route with a query."""
    return path + (f"?{urlencode(query)}" if query else "")


# the form -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Control:
    """A field of a form as templates/kit/form.html draws it."""

    name: str
    label: str
    value: str
    choices: tuple[tuple[str, str], ...]  # (word, what the form calls it); none for an input
    error: str
    option: Option


def _format_note(error: LayoutError, label: str) -> str:
    """Return what stands beside a wrong field: what was given, by the field's label, and what is allowed."""
    given = error.message.removeprefix(f"{error.field} is ")
    message = error.message if given == error.message else f"{label} is {given}"
    return f"{message} {error.hint}"


def form_of(
    asked: type,
    given: Mapping[str, str],
    choices: Mapping[str, Iterable[str]] | None = None,
    error: LayoutError | None = None,
) -> dict[str, Control]:
    """Return the controls of a question by name, with what was given in them.

    choices: those words of a field that this request may choose from, where they are not all of them.
    """
    return {
        name: Control(
            name,
            option.label,
            str(given.get(name) or option.default),
            tuple((one, option.called.get(one, one)) for one in (choices or {}).get(name, option.words)),
            _format_note(error, option.label) if error and error.field == name else "",
            option,
        )
        for name, option in options_of(asked).items()
    }
