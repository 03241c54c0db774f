"""A feature of the application: a folder whose feature.py says what it adds. The rows of app/features.py name them.

A Tool is one question with its answer: from it follow the page, the route of the API and the command. What a feature
writes by hand, its modules api.py, page.py and verbs.py hold; the server and the command import these by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, get_type_hints

from lanescope.app.kit.question import fields_of, form_of, join_types, labels_of, link_to, nest_fields, read_question
from lanescope.errors import LayoutError

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Query = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A link of a menu: the menu's title, its place there, its words, where it leads, and what stands there.

    badge: the first target that has it, for what only some GPUs have. below: the href of the entry that a rare tool
    stands with.
    """

    menu: str
    place: int
    text: str
    href: str
    about: str
    badge: str = ""
    below: str = ""

    @property
    def summary(self) -> str:
        """Return what stands there, as a sentence."""
        return f"{self.about[0].upper()}{self.about[1:]}."


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[Asked, Answer]):
    """One question and everything that asks it."""

    question: type[Asked] | type[Any]
    answer: Callable[[Asked], Answer]  # its docstring describes the route, the type it returns documents the answer
    api: str = ""  # the route's path below /api/v1; a name in braces is an option
    body: str = ""  # the schema's name of the JSON body in which the route takes the question, by POST
    instead: Mapping[str, Tool[Any, Any]] = field(default_factory=dict)  # key of a body → who answers a body with it
    raw: bool = False  # the answer takes the object as it was given, and reads it: one field depends on another
    page: str = ""  # the page's path
    template: str = ""
    context: Callable[[Asked, Answer], dict[str, Any]] = lambda asked, answer: {}  # what else the template shows
    picture: Callable[[Asked, Answer], str] | None = None  # its SVG
    examples: tuple[tuple[str, Query], ...] = ()  # (title, query) of the page
    opening: Query = field(default_factory=dict)  # what the page asks where its address asks nothing
    pointing: tuple[str, ...] = ()  # fields that point into what the page shows and ask nothing else
    command: str = ""  # `scale-factors`, or a group and its verb: `tmem epilogue`
    help: str = ""  # of the command
    lines: Callable[[Asked, Answer], Iterable[str]] | None = None  # what the command prints
    run: Callable[..., None] | None = None  # the command, where it is more: its typed options, and options of its own
    succeeds: Callable[[Answer], bool] = lambda answer: True  # False: the command ends with status 1
    name: str = ""  # of the operation in the OpenAPI document; the answering function's by default

    @property
    def operation(self) -> str:
        return self.name or self.answer.__name__

    @property
    def model(self) -> Any:
        """The type of the answer."""
        return join_types([get_type_hints(self.answer)["return"], *(tool.model for tool in self.instead.values())])

    @property
    def body_type(self) -> Any:
        """The type of the body."""
        return join_types([self.question, *(tool.body_type for tool in self.instead.values())])

    def ask(self, given: Mapping[str, Any]) -> tuple[Asked, Answer]:
        """Read a request and answer it. LayoutError names the wrong field."""
        asked = self.read_request(given)
        return asked, self.answer(asked)

    def read_request(self, given: Mapping[str, Any], blank: bool = True) -> Any:
        """Return what the answer takes. blank: whether blank text is left out, as forms send it."""
        return given if self.raw else read_question(self.question, given, blank=blank)

    def answer_body(self, given: Mapping[str, Any]) -> Any:
        """Answer a JSON body. LayoutError names the wrong field."""
        other = next((tool for key, tool in self.instead.items() if key in given), None)
        return other.answer_body(given) if other else self.answer(self.read_request(given, blank=False))

    def ask_query(self, given: Query) -> tuple[Asked, Answer]:
        """Read the fields of an address and answer them. LayoutError names the wrong field."""
        return self.ask(nest_fields(fields_of(self.question, given), given))

    def link(self, query: Mapping[str, object]) -> str:
        """Return the address of the page for a query."""
        return link_to(self.page, query)

    def draw_query(self, query: Query) -> str:
        """Return the picture of a query, as the guide shows it."""
        assert self.picture
        return self.picture(*self.ask_query(self.fill_query(query)))

    def fill_query(self, query: Query) -> dict[str, str]:
        """Return the query of a page: its fields, each as it was sent or its default; other parameters are ignored."""
        names = [name for name in fields_of(self.question, query) if name not in self.pointing]
        opened = {**self.opening, **{name: query[name] for name in self.pointing if name in query}}
        asked = query if any(query.get(name) for name in names) else opened
        return {
            name: asked.get(name) or field.option.default for name, field in fields_of(self.question, asked).items()
        }

    def page_context(self, query: Query) -> dict[str, Any]:
        """Return what the template shows for a query. LayoutError names the wrong field."""
        given = self.fill_query(query)
        sent = {name: query[name] for name in given if name in query}
        asked, answer = self.ask_query(given)
        return self._context(asked, answer, given) | {"link": lambda **other: self.link(sent | other)}

    def refused_context(self, query: Query, error: LayoutError) -> dict[str, Any]:
        """Return what the template shows where a field is wrong: the form as it was sent over the default answer."""
        asked, answer = self.ask_query(self.fill_query({}))
        return self._context(asked, answer, self.fill_query(query), error) | {"link": lambda **other: self.link(other)}

    def _context(
        self, asked: Asked, answer: Answer, given: dict[str, str], error: LayoutError | None = None
    ) -> dict[str, Any]:
        """`shown` of the feature's own context: what the form shows in place of an empty field; `choices`: see
        form_of.
        """
        own = self.context(asked, answer)
        given = given | {name: value for name, value in own.pop("shown", {}).items() if not given[name]}
        return {
            "told": answer,
            "given": given,
            "form": form_of(self.question, given, own.pop("choices", None), error),
            "labels": labels_of(self.question),
            "svg": self.picture(asked, answer) if self.picture else "",
            "examples": [{"title": title, "href": self.link(one)} for title, one in self.examples],
            "error": error,
            **own,
        }


@dataclass(frozen=True, kw_only=True)
class Feature:
    """What a folder of app/ adds to the application."""

    tools: tuple[Tool[Any, Any], ...] = ()
    written: tuple[str, ...] = ()  # its modules of routes and commands: "api", "page", "verbs"
    menu: tuple[Entry, ...] = ()
    within: Mapping[str, str] = field(default_factory=dict)  # first part of a path without an entry → its menu
    examples: Mapping[str, str] = field(default_factory=dict)  # route → a link to try
    bodies: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # route → a body to send
