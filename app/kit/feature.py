"""A feature is a folder of app/ whose feature.py declares its tools and menu entries; app/features.py lists them.

A Tool is a question with its answer: page, API route and command follow from it. Routes, pages and commands that are
written by hand are in the feature's api.py, page.py and verbs.py, which the server and the command line import by
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, get_type_hints

from lanescope.app.kit.question import fields_of, join_types, labels_of, link_to, nest_fields, read_question
from lanescope.app.kit.question_form import fill_fields, find_every_error, form_of, require_values
from lanescope.errors import LayoutError

QuestionT = TypeVar("QuestionT")
AnswerT = TypeVar("AnswerT")
Query = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A menu entry: the title of its menu, its position, its text, its link, and a phrase about it.

    badge: the first target that has it, if not all GPUs do. below: the href of the entry under which a rarely used tool
    is listed.
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
        """Return `about` as a sentence."""
        return f"{self.about[0].upper()}{self.about[1:]}."


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[QuestionT, AnswerT]):
    """A question, its answer, and everything that presents them."""

    question: type[QuestionT] | type[Any]
    answer: Callable[[QuestionT], AnswerT]  # its docstring describes the route, its return type documents the answer
    api: str = ""  # path of the route below /api/v1; an option in braces is part of the path
    body: str = ""  # the route is a POST with a JSON body; this is the name of its schema
    instead: Mapping[str, Tool[Any, Any]] = field(default_factory=dict)  # key → tool that answers bodies with this key
    raw: bool = False  # `answer` parses the request itself, because the fields depend on each other
    page: str = ""  # path of the page
    template: str = ""
    context: Callable[[QuestionT, AnswerT], dict[str, Any]] = lambda question, answer: {}  # further template variables
    picture: Callable[[QuestionT, AnswerT], str] | None = None  # returns SVG
    examples: tuple[tuple[str, Query], ...] = ()  # (title, query) of links on the page
    opening: Query = field(default_factory=dict)  # query that the page shows when its address has none
    pointing: tuple[str, ...] = ()  # fields that select something on the page and do not change the answer
    command: str = ""  # `scale-factors`, or a group and its verb: `tmem epilogue`
    help: str = ""  # of the command
    lines: Callable[[QuestionT, AnswerT], Iterable[str]] | None = None  # what the command prints
    run: Callable[..., None] | None = None  # the command, if it does more: takes the typed options and its own
    succeeds: Callable[[AnswerT], bool] = lambda answer: True  # False: the command ends with exit status 1
    name: str = ""  # operation in the OpenAPI document; the name of `answer` if left out

    @property
    def operation(self) -> str:
        return self.name or self.answer.__name__

    @property
    def model(self) -> Any:
        """Return the type of the answer."""
        return join_types([get_type_hints(self.answer)["return"], *(tool.model for tool in self.instead.values())])

    @property
    def body_type(self) -> Any:
        """Return the type of the body."""
        return join_types([self.question, *(tool.body_type for tool in self.instead.values())])

    def ask(self, request: Mapping[str, Any]) -> tuple[QuestionT, AnswerT]:
        """Read a request and answer it. LayoutError names the wrong field."""
        question = self.read_request(request)
        return question, self.answer(question)

    def read_request(self, request: Mapping[str, Any], blank: bool = True) -> Any:
        """Return the argument of `answer`. blank: whether blank text counts as left out, as in forms."""
        return request if self.raw else read_question(self.question, request, blank=blank)

    def answer_body(self, body: Mapping[str, Any]) -> Any:
        """Answer a JSON body. LayoutError names the wrong field."""
        other = next((tool for key, tool in self.instead.items() if key in body), None)
        return other.answer_body(body) if other else self.answer(self.read_request(body, blank=False))

    def ask_query(self, query: Query) -> tuple[QuestionT, AnswerT]:
        """Read the fields of an address and answer them. LayoutError names the wrong field."""
        return self.ask(nest_fields(fields_of(self.question, query), query))

    def link(self, query: Mapping[str, object]) -> str:
        """Return the address of the page for a query."""
        return link_to(self.page, query)

    def draw_query(self, query: Query) -> str:
        """Return the picture of a query, for the guide."""
        assert self.picture
        return self.picture(*self.ask_query(self.fill_query(query)))

    def fill_query(self, query: Query) -> dict[str, str]:
        """Return the fields of a page, each as sent or its default. Other parameters of the query are ignored."""
        names = [name for name in fields_of(self.question, query) if name not in self.pointing]
        opened = {**self.opening, **{name: query[name] for name in self.pointing if name in query}}
        effective = query if any(name in query for name in names) else opened
        return fill_fields(fields_of(self.question, effective), effective)

    def page_context(self, query: Query) -> dict[str, Any]:
        """Return the template's variables for a query. LayoutError names every wrong field."""
        filled = self.fill_query(query)
        require_values(fields_of(self.question, filled), filled)
        sent = {name: query[name] for name in filled if name in query}
        question, answer = self.ask_query(filled)
        context = self._context(question, answer, filled)
        return context | {"answered": filled, "takes": filled, "link": lambda **other: self.link(sent | other)}

    def refused_context(self, query: Query, error: LayoutError) -> dict[str, Any]:
        """Return the template's variables if fields are wrong: the form as sent, and the answer to the default
        question.
        """
        usual, filled = self.fill_query({}), self.fill_query(query)
        question, answer = self.ask_query(usual)
        every = find_every_error(self.ask_query, fields_of(self.question, filled), filled) or error
        context = self._context(question, answer, filled, every)
        return context | {"answered": usual, "takes": filled, "link": lambda **other: self.link(other)}

    def _context(
        self, question: QuestionT, answer: AnswerT, values: dict[str, str], error: LayoutError | None = None
    ) -> dict[str, Any]:
        """Return the template's variables.

        `given` are the fields as sent, `answered` those of the answer. The feature's own context may have `shown`,
        values that the form shows in empty fields, and `choices` (see form_of).
        """
        extra = self.context(question, answer)
        values = values | {name: value for name, value in extra.pop("shown", {}).items() if not values[name]}
        return {
            "answer": answer,
            "given": values,
            "form": form_of(self.question, values, extra.pop("choices", None), error),
            "labels": labels_of(self.question),
            "svg": self.picture(question, answer) if self.picture else "",
            "examples": [{"title": title, "href": self.link(query)} for title, query in self.examples],
            "error": error,
            **extra,
        }


@dataclass(frozen=True, kw_only=True)
class Feature:
    """What a folder of app/ adds to the application."""

    tools: tuple[Tool[Any, Any], ...] = ()
    written: tuple[str, ...] = ()  # modules with hand-written routes and commands: "api", "page", "verbs"
    menu: tuple[Entry, ...] = ()
    within: Mapping[str, str] = field(default_factory=dict)  # first part of a path without an entry → its menu
    examples: Mapping[str, str] = field(default_factory=dict)  # route → example link
    bodies: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # route → example body
