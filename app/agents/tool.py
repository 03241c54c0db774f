"""A tool of `lanescope mcp`: a question, its answer, and the part of the answer that an agent reads first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

from lanescope.app.agents.excerpt import excerpt_answer, excerpt_part, to_plain_json
from lanescope.app.kit.errors import build_error_body
from lanescope.app.kit.fact import Json
from lanescope.app.kit.feature import Tool
from lanescope.app.kit.question import declare_question, number_field, options_of, text_field
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys


@declare_question
class PartQuestion:
    """Which part of an answer is wanted; every tool takes it beside its own input."""

    show: str = text_field(
        "", "Show", "One part of the answer instead of its summary: a name that left_out lists.", most=200
    )
    from_: int = number_field(0, "From", "With show: the first item, or character, that is wanted.")


PART = options_of(PartQuestion)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """A question that agents ask, and what of the answer they read first.

    about: when to use it, and what comes back; keep: names of the answer, the most important first; assumed: fields
    whose default decides the answer, each with the fields that decide it instead; example: an input.
    """

    name: str
    title: str
    about: str
    tool: Tool[Any, Any]
    keep: tuple[str, ...]
    assumed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    example: Json

    def call(self, body: Mapping[str, Any]) -> Json:
        """Answer a call. LayoutError names the wrong field."""
        known = options_of(self.tool.question)
        check_keys(body, [*known, *PART])
        asked = {name: value for name, value in body.items() if name in known}
        for name in self.required:
            if asked.get(name) in (None, ""):
                raise LayoutError("bad_request", f"{name} is missing.", f"{known[name].help}", name)
        show, first = (option.parse(body.get(name, option.default), name) for name, option in PART.items())
        if first and not show:
            raise LayoutError("bad_part", "from is given without show.", "Name the part that it goes on in.", "from")
        answer = to_plain_json(self.tool.answer(self.tool.read_request(asked, blank=False)))
        head = sign_call(self.name, body)
        if show:
            return excerpt_part(answer, show, first, head)
        assumed = self.list_assumed(asked)
        return excerpt_answer(answer | {"assumed": assumed}, (*self.keep, "assumed"), head)

    def list_assumed(self, body: Mapping[str, Any]) -> Json:
        """List the defaults that stand for what a call leaves out, by the path of their field."""
        out = {}
        for path, instead in self.assumed.items():
            *outer, name = path.split(".")
            kind, held = self._open_part(outer, body)
            if kind is None or name in held or any(other in body for other in instead):
                continue
            option = options_of(kind).get(name)
            if option is not None:
                out[path] = int(option.default) if option.numeric and option.default else option.default
        return out

    def _open_part(self, outer: list[str], body: Mapping[str, Any]) -> tuple[type | None, Mapping[str, Any]]:
        """Return the question that a path leads into, and what of it is given; None if it is left out whole."""
        kind: type = self.tool.question
        held: Mapping[str, Any] = body
        for name in outer:
            option = options_of(kind)[name]
            given = held.get(name, option.default)
            if not isinstance(given, Mapping):
                return None, {}
            parts = {options_of(part)["kind"].default: part for part in option.parts} if option.parts[1:] else {}
            kind = parts.get(given.get("kind"), option.parts[0])
            held = given
        return kind, held


def sign_call(name: str, body: Mapping[str, Any]) -> Json:
    """Return what a review cites: the version that answered, and a hash of the tool's name and its input.

    The hash is the beginning of the SHA-256 of {"input": …, "tool": …} as JSON with sorted keys and no blanks.
    """
    canonical = json.dumps({"tool": name, "input": body}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
    return {"version": _get_version(), "input_hash": f"sha256:{digest[:16]}"}


def require_utf8(body: Mapping[str, Any]) -> None:
    """LayoutError for an input with half of a surrogate pair: no answer could carry it."""
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        what = f"The input has {error.object[error.start : error.end]!a}, which is not UTF-8 text."
        raise LayoutError("bad_json", what, "Send no lone surrogates.") from None


@cache
def _get_version() -> str:
    return version("lanescope")


def refuse_call(name: str, given: Mapping[str, Any], error: LayoutError) -> Json:
    """Return the error of a call: what was given, why not, what is allowed."""
    body = to_plain_json(build_error_body(error))
    return excerpt_answer({"error": body}, ("error",), sign_call(name, given))
