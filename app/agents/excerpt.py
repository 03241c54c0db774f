"""Answers that fit an agent's context: the most important fields, shortened with counts, and any part on request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.fact import Json
from lanescope.errors import LayoutError
from lanescope.inputs import quote_value

LIMIT = 1960  # bytes of an answer as the protocol carries it: JSON text inside a JSON string
SHORT = 80  # bytes of a value that is not cut
NOTE = 48  # bytes that the note about a cut takes
MORE = "Repeat the call with show='{name}' added (and from=N to go on in it)."
Path = tuple[str, ...]


def to_plain_json(answer: object) -> Any:
    """Return an answer as the JSON of the API: objects, lists, text and numbers."""
    return json.loads(encode_json(answer))


def format_json(content: object) -> str:
    """Format a value as one line of JSON."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def measure_json(content: object) -> int:
    """Return the bytes of a value's JSON text inside a JSON string.

    >>> measure_json({"a": "é"})
    14
    """
    return len(json.dumps(format_json(content), ensure_ascii=False).encode()) - 2


def excerpt_answer(answer: Json, keep: Iterable[str], head: Json) -> Json:
    """Return the head and the first fields of an answer, within the limit; `left_out` counts the rest.

    keep: names of the answer, the most important first; fields without a value are dropped.
    """
    filled = {name: value for name, value in answer.items() if value not in (None, "", [], {})}
    kept = {name: filled[name] for name in keep if name in filled}
    rest = {name: count_parts(value) for name, value in filled.items() if name not in kept}
    return _Excerpt(kept, head, rest).fit()


def excerpt_part(answer: Json, show: str, first: int, head: Json) -> Json:
    """Return one part of an answer from an index on: an item of a list, a character of a text. LayoutError if there is
    no such part.

    show: names and indices with dots: `phases`, `findings.0.message`.
    """
    part = _find_part(answer, show)
    if first:
        size = len(part) if isinstance(part, list | str) else 1
        if first >= size:
            hint = f"{show} has {count_parts(part)}: from 0 to {size - 1}."
            raise LayoutError("bad_part", f"from is {first}.", hint, "from")
        part = part[first:]
    return _Excerpt({show: part}, head, {}, first).fit()


def count_parts(value: object) -> str:
    """Return the size of a part of an answer, in words.

    >>> count_parts([1, 2, 3]), count_parts("abc"), count_parts({"a": 1})
    ('3 items', '3 characters', '1 field')
    """
    for kind, noun in ((list, "item"), (str, "character"), (dict, "field")):
        if isinstance(value, kind):
            return f"{len(value)} {noun}{'s' * (len(value) != 1)}"
    return "1 value"


def _find_part(answer: Json, show: str) -> Any:
    part: Any = answer
    names = show.split(".")
    for at, name in enumerate(names):
        known = _list_parts(part)
        if name not in known:
            where = ".".join(names[:at]) or "The answer"
            shown = ", ".join(known[:12]) + (" …" if len(known) > 12 else "")
            hint = f"{where} has {shown}." if known else f"{where} has no parts."
            raise LayoutError("bad_part", f"There is no part {quote_value(show)}.", hint, "show")
        part = _get_item(part, name)
    return part


def _list_parts(part: Any) -> list[str]:
    if isinstance(part, list):
        return [str(index) for index in range(len(part))]
    return list(part) if isinstance(part, dict) else []


def _get_item(part: Any, name: str) -> Any:
    return part[int(name)] if isinstance(part, list) else part[name]


class _Excerpt:
    """A body that is shortened until it fits. first: the index in the part at which the body begins."""

    def __init__(self, body: Json, head: Json, rest: Mapping[str, str], first: int = 0) -> None:
        self.head, self.rest, self.first = head, rest, first
        self.full_sizes: dict[Path, tuple[int, str]] = {}  # path of what was cut → its length, and that in words
        self.body: Json = self._copy(body, ())

    def _copy(self, value: Any, path: Path) -> Any:
        """Copy a value; of a list or a text at most what can fit."""
        if isinstance(value, dict):
            return {name: self._copy(item, (*path, name)) for name, item in value.items()}
        if not isinstance(value, list | str):
            return value
        copied: Any = value[:LIMIT]
        if isinstance(value, list):
            copied, room = [], LIMIT
            while room > 0 and len(copied) < len(value):
                copied.append(self._copy(value[len(copied)], (*path, str(len(copied)))))
                room -= measure_json(copied[-1])
        if len(copied) < len(value):
            self.full_sizes[path] = (len(value), count_parts(value))
        return copied

    def fit(self) -> Json:
        """Return head and body with notes about the omitted parts, within LIMIT."""
        while (excess := measure_json(out := self._build()) - LIMIT) > 0 and self.body:
            path = self._find_heaviest()
            self._cut(path, excess + NOTE)
        if excess > 0:
            more = "Repeat the call with show=NAME added for one part."
            return self.head | {"left_out": f"{len(self._list_notes())} parts", "more": more}
        return out

    def _build(self) -> Json:
        notes = self._list_notes()
        more = {"left_out": notes, "more": MORE.format(name=next(iter(notes)))} if notes else {}
        return self.head | self.body | more

    def _list_notes(self) -> dict[str, str]:
        notes = {}
        for path, (size, words) in self.full_sizes.items():
            if self._has(path):
                first = self.first if len(path) == 1 else 0
                last = first + len(self._get(path)) - 1
                notes[self._name_part(path)] = f"{first}–{last} of {first + size} shown"
            elif self._has(path[:-1]):
                notes[self._name_part(path)] = words
        return notes | dict(self.rest)

    def _name_part(self, path: Path) -> str:
        """Return the name of a part for `show`: an item of a list by its index in the full list."""
        shown, *inner = path
        if inner and self.first:
            inner[0] = str(self.first + int(inner[0]))
        return ".".join((shown, *inner))

    def _has(self, path: Path) -> bool:
        part: Any = self.body
        for name in path:
            if name not in _list_parts(part):
                return False
            part = _get_item(part, name)
        return True

    def _get(self, path: Path) -> Any:
        part: Any = self.body
        for name in path:
            part = _get_item(part, name)
        return part

    def _find_heaviest(self) -> Path:
        """Find the part to shorten: descend from the body while one part has more than half of the bytes."""
        path: Path = ()
        part: Any = self.body
        while isinstance(part, dict | list) and part:
            weights = {name: measure_json(_get_item(part, name)) for name in _list_parts(part)}
            heaviest = max(weights, key=weights.__getitem__)
            if path and 2 * weights[heaviest] <= sum(weights.values()):
                break
            inner = _get_item(part, heaviest)
            if path and (not isinstance(inner, dict | list | str) or weights[heaviest] <= SHORT):
                break
            path, part = (*path, heaviest), inner
        return path

    def _cut(self, path: Path, excess: int) -> None:
        """Remove `excess` bytes from the end of a part, or all of it."""
        part = self._get(path)
        self.full_sizes.setdefault(path, (len(part) if isinstance(part, dict | list | str) else 1, count_parts(part)))
        holder = self._get(path[:-1])
        name: Any = int(path[-1]) if isinstance(holder, list) else path[-1]
        shorter = _shorten(part, excess)
        if shorter or isinstance(holder, list):
            holder[name] = shorter
        else:
            del holder[name]


def _shorten(part: Any, excess: int) -> Any:
    """Return the beginning of a part, shorter by at least `excess` bytes; empty if it has no more than these."""
    if not isinstance(part, dict | list | str):
        return ""
    items: list[Any] = list(part.items()) if isinstance(part, dict) else list(part)
    while items and excess > 0:
        item = items.pop()
        excess -= measure_json(item) - (2 if isinstance(part, str) else -1)
    return dict(items) if isinstance(part, dict) else items if isinstance(part, list) else "".join(items)
