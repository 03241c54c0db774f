"""Questions: the input of a page, a route of the API and a command, declared once.

    @declare_question
    class ScaleQuestion:
        m: int = number_field(128, "M", "Rows of D; of both CTAs with cta_group 2.")

The fields give the reader and its errors, the parameters or body in the OpenAPI document, the form, the options of the
command with their help, and the link. A field may be a question, one of several questions, or a list of them. Imports
no web framework: a command starts without pydantic (docs/adr/0017).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from keyword import iskeyword
from operator import or_
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, dataclass_transform
from urllib.parse import urlencode

from lanescope.app.kit.fact import LARGEST, Description, Json, TaggedUnion
from lanescope.errors import LayoutError, join_errors
from lanescope.inputs import (
    LONGEST_TEXT,
    check_keys,
    get_last_name,
    join_words,
    parse_choice,
    parse_integer,
    quote_value,
    require_object,
    require_text,
)

QuestionT = TypeVar("QuestionT")
Parse = Callable[[Any, str], Any]
NO_YES = {"0": "no", "1": "yes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A field of a question: its label and help, how it is read, and how its control looks."""

    label: str  # beside the control, and in error messages of the page
    help: str  # in the document and, followed by the default, in --help
    parse: Parse  # (value of the request, field) → value; LayoutError names the field
    default: Any = ""  # as a request spells it; "" for none
    words: tuple[str, ...] = ()  # allowed words
    called: Mapping[str, str] = dataclasses.field(default_factory=dict)  # word → its text in the form
    numeric: bool = False
    flag: bool = False  # allowed words are 0 and 1; a switch of the command
    required: bool = False  # in the API; a page uses the default
    derived: bool = False  # None if left out: the answer derives a value
    argument: bool = False  # of the command: a positional argument
    metavar: str | None = None  # name of a positional argument in the usage line, if not its own
    examples: tuple[str, ...] = ()  # in the document
    size: int = 5  # width of the control in characters; at least 40 if it has several lines
    wide: bool = False  # the control takes a whole row
    rows: int = 0  # lines of the control; 0: a single-line input
    placeholder: str = ""  # of the empty control
    suggest: str = ""  # id of the list of suggestions
    file: str | None = None  # endings of the files that its control takes, "" for any; None if it takes no file
    split: Callable[[str], Any] | None = None  # text of an address or a command → the value in a body
    type: Any = None  # type in the document, if not a number, a switch, a word or text
    parts: tuple[type, ...] = ()  # the questions it may be; `kind` chooses among several
    prefix: str = ""  # of their fields in an address
    covers: tuple[str, ...] = ()  # further paths in a body whose errors this control shows
    needs: tuple[str, ...] | None = None  # fields that decide its legal values; None: every other one may

    @property
    def needs_value(self) -> bool:
        """Return whether a form's field must not be emptied: a number or free text that has a default."""
        return bool(self.default) and not (self.words or self.parts or self.derived)

    @property
    def meaning(self) -> str:
        """Return the help without the value that sets a switch."""
        says = self.help.removeprefix("1: ") if self.flag else self.help
        return says[:1].upper() + says[1:] if self.flag else says

    @property
    def command_help(self) -> str:
        """Return the help of the command's option: meaning, allowed words, and default."""
        if self.argument:
            return self.help
        says = self.meaning.rstrip(".")
        if self.flag:
            return f"{says}."
        if self.words:
            what, semicolon, more = says.partition(";")
            says = f"{what}: {join_words(self.words, 'or')}{semicolon}{more}"
        has_default = self.default and not (self.derived or self.required)
        return f"{says}; {self.default} when left out." if has_default else f"{says}."


@dataclass_transform(frozen_default=True, kw_only_default=True)
def declare_question(cls: type[QuestionT]) -> type[QuestionT]:
    """Make a frozen dataclass whose fields are Options. A field's trailing `_` is not part of its name: `from_` is
    "from".
    """
    documented: Any = cls
    documented.__get_pydantic_core_schema__ = classmethod(_build_schema)
    return dataclass(frozen=True, kw_only=True)(cls)


def _build_schema(cls: type, source: Any, handler: Any) -> Json:
    """Return the schema of a body for pydantic, which is imported only where the document is made."""
    return dict(handler.generate_schema(import_module("lanescope.app.kit.schemas").build_model(cls)))


def make_question(name: str, says: str, fields: Mapping[str, Any], base: type = object) -> Any:
    """Make a question whose fields a table lists, after those of the base."""
    members = {"__doc__": says, "__annotations__": dict.fromkeys(fields, Any), **fields}
    return declare_question(type(name, (base,), members))


def parsed_field(parse: Parse, label: str, help: str, default: Any = "", **more: Any) -> Any:
    """Declare an option with its own parser: (value of the request, field) → value.

    The default is parsed when a question is made.
    """
    option = Option(label=label, help=help, parse=parse, default=default, **more)

    def make() -> Any:
        return None if option.derived else option.parse(option.default, "")

    return dataclasses.field(default_factory=make, metadata={"option": option})


def raw_field(label: str, help: str, default: Any = "", **more: Any) -> Any:
    """Declare an option that is not parsed here; the function that answers parses it."""
    return parsed_field(lambda value, field: value, label, help, default, **more)


def number_field(
    default: int | None, label: str, help: str, *, least: int = 0, most: int | None = None, **more: Any
) -> Any:
    """Declare an integer. With the default None it may be left out and is None."""

    def parse(value: Any, field: str) -> int | None:
        if value in ("", None) and default is None:
            return None
        number = parse_integer(value, field, least, most)
        return number if number <= LARGEST else parse_integer(value, field, least, LARGEST)

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
    """Declare one of several words; the default is the first. With the default "" it may be left out.

    code: of the error for another word; parse: its own parser.
    """
    allowed = tuple(words)

    def parse_word(value: Any, field: str) -> str:
        return "" if default == "" and value in ("", None) else parse_choice(value, field, allowed, code)

    return parsed_field(
        parse or parse_word, label, help, allowed[0] if default is None else default, words=allowed, **more
    )


def flag_field(label: str, help: str, parse: Parse | None = None, **more: Any) -> Any:
    """Declare a switch: 1 or 0 in a request. parse: its own parser."""
    return parsed_field(parse or _parse_flag, label, help, "0", words=tuple(NO_YES), called=NO_YES, flag=True, **more)


def _parse_flag(value: Any, field: str) -> bool:
    return parse_choice(value, field, tuple(NO_YES)) == "1"


def text_field(default: str, label: str, help: str, **more: Any) -> Any:
    """Declare free text. most: its characters, LONGEST_TEXT unless given; check: raises LayoutError for a text that no
    request allows.
    """
    most, check = more.pop("most", LONGEST_TEXT), more.pop("check", None)

    def parse(value: Any, field: str) -> str:
        text = require_text(value, field, most)
        try:
            if check and text.strip():
                check(text)
        except LayoutError as error:
            raise error.move_to_field(field) from None
        return text

    return parsed_field(parse, label, help, default, **more)


def kind_field(kind: str, kinds: Iterable[str], label: str, **more: Any) -> Any:
    """Declare the word by which a request chooses this question among several."""
    only: Any = Literal
    return word_field(kinds, label, "", kind, required=True, type=only[kind], **more)


def question_field(
    parts: type | tuple[type, ...],
    label: str,
    help: str,
    *,
    code: str = "bad_object",
    hint: str = "Give an object.",
    parse: Parse | None = None,
    **more: Any,
) -> Any:
    """Declare a nested question: an object in a body; in an address its fields have the `prefix`.

    parts: the question, or several that each have a `kind_field`. default: {} for the question's own defaults, "" if it
    may be left out and is then None. code, hint: of the error for a value that is not an object; parse: its own parser.
    """
    one_of = parts if isinstance(parts, tuple) else (parts,)

    def parse_object(value: Any, field: str) -> Any:
        if value in ("", None) and more.get("default") == "":
            return None
        body = require_object(value, field, hint, code)
        if len(one_of) == 1:
            return read_question(one_of[0], body, field, blank=False)
        kinds = {_get_kind(part): part for part in one_of}
        return read_question(
            kinds[parse_choice(body.get("kind"), f"{field}.kind", kinds, code)], body, field, blank=False
        )

    kind = tag_kinds(one_of) if len(one_of) > 1 else one_of[0]
    if more.setdefault("default", {}) == "":
        kind = join_types((kind, None))
    more.setdefault("type", kind)
    return parsed_field(parse or parse_object, label, help, parts=one_of, **more)


def tag_kinds(parts: tuple[type, ...]) -> Any:
    """Return the type of one of several questions, discriminated by `kind`."""
    return Annotated[join_types(parts), TaggedUnion("kind", tuple(_get_kind(part) for part in parts))]


def join_types(kinds: Iterable[Any]) -> Any:
    """Return the union of types."""
    return reduce(or_, kinds)


def list_field(item: type, label: str, help: str, *, least: int = 0, most: int, **more: Any) -> Any:
    """Declare a list of `least` to `most` questions, read as a tuple."""

    def parse(value: Any, field: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise LayoutError(
                "bad_list", f"{get_last_name(field)} is {quote_value(value)}.", "Give a list of objects.", field
            )
        if not least <= len(value) <= most:
            raise LayoutError("bad_list", f"{len(value)} {get_last_name(field)}.", f"From {least} to {most}.", field)
        bodies = (require_object(body, f"{field}.{at}", "Give an object.", "bad_list") for at, body in enumerate(value))
        return tuple(read_question(item, body, f"{field}.{at}", blank=False) for at, body in enumerate(bodies))

    of: Any = list
    kind = Annotated[of[item], Description(limits={"minItems": least, "maxItems": most})]
    more = {"type": kind, "default": []} | more
    return parsed_field(parse, label, help, **more)


def to_python_name(name: str) -> str:
    """Return the Python name of an option: `from` is `from_`."""
    return f"{name}_" if iskeyword(name) else name


def options_of(question: type) -> dict[str, Option]:
    """Return the options of a question by their names in requests."""
    return {field.name.rstrip("_"): field.metadata["option"] for field in dataclasses.fields(question)}


def labels_of(question: type) -> dict[str, str]:
    """Return the label of each field by its path in a body: `slice.mn` for a nested question."""
    out = {}
    for name, option in options_of(question).items():
        out[name] = option.label
        for part in option.parts:
            out |= {f"{name}.{inner}": label for inner, label in labels_of(part).items()}
    return out


def read_question(
    question: type[QuestionT], request: Mapping[str, Any], field: str = "", *, blank: bool = True
) -> QuestionT:
    """Read a request: a query, an object or the options of a command. LayoutError names every wrong field.

    A field that is left out gets its default, unless the API requires it. field: path of the object in a body. blank:
    whether blank text counts as left out, as in forms.
    """
    options = options_of(question)
    check_keys(request, options, field)
    values: Json = {}
    wrong: list[LayoutError] = []
    for name, option in options.items():
        value = request.get(name)
        left_out = name not in request or (blank and isinstance(value, str) and not value.strip())
        if option.required or not left_out or not option.derived:
            value = option.default if left_out and not option.required else value
            try:
                values[to_python_name(name)] = parse_option(option, value, f"{field}.{name}".lstrip("."))
            except LayoutError as error:
                wrong.append(error)
    if refused := join_errors(wrong):
        raise refused
    return question(**values)


def parse_option(option: Option, value: Any, path: str) -> Any:
    """Parse a value. A LayoutError of the parser names this field, or one inside it."""
    try:
        return option.parse(value, path)
    except LayoutError as error:
        if error.field == option.metavar or is_within(error.field, path):
            raise
        raise error.move_to_field(path) from None


def is_within(path: str, outer: str) -> bool:
    """Return whether a path equals `outer` or leads inside it: `slice.mn` and `slice[0]` are within `slice`."""
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


# questions inside a question ------------------------------------------------------------------------------------------


class Field(NamedTuple):
    """A field of an address or a command: its path in a body, and its option."""

    path: str
    option: Option


def fields_of(
    question: type, query: Mapping[str, Any] | None = None, prefix: str = "", path: str = ""
) -> dict[str, Field]:
    """Return the fields of a question by their names in an address: those of a nested question have its prefix.

    Of several nested questions the query's `kind` chooses one; without a query they stay one field, as in a command. An
    optional nested question has fields only if the query has one of them.
    """
    out = {}
    for name, option in options_of(question).items():
        if not option.parts or (query is None and len(option.parts) > 1):
            out[prefix + name] = Field(path + name, option)
            continue
        inside = prefix + option.prefix
        if query is None or option.default != "" or any(sent.startswith(inside) for sent in query):
            out |= fields_of(_choose_part(option.parts, query or {}, inside), query, inside, f"{path}{name}.")
    return out


def nest_fields(fields: Mapping[str, Field], values: Mapping[str, Any]) -> Json:
    """Return the nested object for the fields of an address.

    >>> part = Option(label="", help="", parse=require_text)
    >>> nest_fields({"s_mn": Field("slice.mn", part), "m": Field("m", part)}, {"s_mn": "8", "m": "64"})
    {'slice': {'mn': '8'}, 'm': '64'}
    """
    out: Json = {}
    for name, value in values.items():
        found = fields.get(name)
        *outer, last = found.path.split(".") if found else [name]
        within = out
        for step in outer:
            within = within.setdefault(step, {})
        within[last] = (found and found.option.split and found.option.split(value)) or value
    return out


def _choose_part(parts: tuple[type, ...], query: Mapping[str, Any], prefix: str) -> type:
    """Return the question that a query's `kind` names, or the first."""
    if len(parts) == 1:
        return parts[0]
    kind = str(query.get(f"{prefix}kind", "")).strip().lower()
    return next((part for part in parts if _get_kind(part).lower() == kind), parts[0])


def _get_kind(part: type) -> str:
    return str(options_of(part)["kind"].default)


def link_to(path: str, query: Mapping[str, object]) -> str:
    """Return the address of a page or route with a query."""
    return path + (f"?{urlencode(query)}" if query else "")
