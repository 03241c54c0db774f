"""A tool of `lanescope mcp`: a question, its answer, and the fields of the answer that come first."""

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
    """The requested part of an answer; every tool accepts it in addition to its own input."""

    show: str = text_field(
        "", "Show", "One part of the answer instead of its summary: a name that left_out lists.", most=200
    )
    from_: int = number_field(0, "From", "With show: the first item, or character, that is wanted.")


PART = options_of(PartQuestion)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """A question of agents, and the fields of the answer that come first.

    about: when to use it, and what it returns; keep: names of the answer, the most important first; assumed: fields
    whose default affects the answer, each with the fields that replace it; example: an input.
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
        request = {name: value for name, value in body.items() if name in known}
        for name in self.required:
            if request.get(name) in (None, ""):
                raise LayoutError("bad_request", f"{name} is missing.", f"{known[name].help}", name)
        show, first = (option.parse(body.get(name, option.default), name) for name, option in PART.items())
        if first and not show:
            raise LayoutError("bad_part", "from needs show.", "Name the part to continue in show.", "from")
        answer = to_plain_json(self.tool.answer(self.tool.read_request(request, blank=False)))
        head = sign_call(self.name, body)
        if show:
            return excerpt_part(answer, show, first, head)
        assumed = self.list_assumed(request)
        return excerpt_answer(answer | {"assumed": assumed}, (*self.keep, "assumed"), head)

    def list_assumed(self, body: Mapping[str, Any]) -> Json:
        """List the defaults of the omitted fields of a call, by path."""
        out = {}
        for path, instead in self.assumed.items():
            *outer, name = path.split(".")
            kind, part = self._find_part(outer, body)
            if kind is None or name in part or any(other in body for other in instead):
                continue
            option = options_of(kind).get(name)
            if option is not None:
                out[path] = int(option.default) if option.numeric and option.default else option.default
        return out

    def _find_part(self, outer: list[str], body: Mapping[str, Any]) -> tuple[type | None, Mapping[str, Any]]:
        """Return the question at a path, and its fields in the call; None if it is omitted."""
        kind: type = self.tool.question
        part: Mapping[str, Any] = body
        for name in outer:
            option = options_of(kind)[name]
            value = part.get(name, option.default)
            if not isinstance(value, Mapping):
                return None, {}
            parts = {options_of(part)["kind"].default: part for part in option.parts} if option.parts[1:] else {}
            kind = parts.get(value.get("kind"), option.parts[0])
            part = value
        return kind, part


def sign_call(name: str, body: Mapping[str, Any]) -> Json:
    """Return the citation of an answer: the version, and a hash of the tool's name and its input.

    The hash is the beginning of the SHA-256 of {"input": …, "tool": …} as JSON with sorted keys and no blanks.
    """
    canonical = json.dumps({"tool": name, "input": body}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
    return {"version": _get_version(), "input_hash": f"sha256:{digest[:16]}"}


def require_utf8(body: Mapping[str, Any]) -> None:
    """Raise LayoutError for an input with half of a surrogate pair, which UTF-8 cannot encode."""
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        what = f"The input has {error.object[error.start : error.end]!a}, which is not UTF-8 text."
        raise LayoutError("bad_json", what, "Send no lone surrogates.") from None


@cache
def _get_version() -> str:
    return version("lanescope")


def refuse_call(name: str, arguments: Mapping[str, Any], error: LayoutError) -> Json:
    """Return the error of a call: the wrong value, why it is wrong, and what is allowed."""
    body = to_plain_json(build_error_body(error))
    return excerpt_answer({"error": body}, ("error",), sign_call(name, arguments))
