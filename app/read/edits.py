"""Repairs that a reader applied to a text, as the address has them: the text as pasted, and `fix`.

`fix=502-505:1024` replaces characters 502 to 504 by 1024. Edits of one repair are joined by commas, repairs by ~; each
counts characters of the text after the repairs before it. A comma, ~, % or line break in a text is percent-encoded.
Undo drops the last repair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import unquote

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.workbench.repair.repairs import apply_edits
from lanescope.workbench.results import TextEdit

_EDIT = re.compile(r"(\d{1,7})-(\d{1,7}):([^,~\n]*)")
_RESERVED = re.compile(r"[%,~\n]")
MOST_REPAIRS = 32


@dataclass(frozen=True, slots=True)
class AppliedEdit:
    """An edit of the repaired text: (first, past last) characters, and the text before."""

    span: tuple[int, int]
    before: str


@dataclass(frozen=True, slots=True)
class RepairedText:
    """A text with repairs applied. before: as it was pasted; fix: the repairs, as the address has them."""

    text: str
    before: str
    fix: str = ""
    applied: tuple[AppliedEdit, ...] = ()

    def extend(self, edits: Iterable[TextEdit]) -> str:
        """Return the repairs with one more."""
        return "~".join(filter(None, (self.fix, format_edits(edits))))


def format_edits(edits: Iterable[TextEdit]) -> str:
    """Format the edits of one repair, in the order of the text.

    >>> format_edits([TextEdit((8, 9), "f(a, b)"), TextEdit((2, 3), "1024")])
    '2-3:1024,8-9:f(a%2C b)'
    """
    parts = sorted((edit.span, _RESERVED.sub(lambda match: f"%{ord(match[0]):02X}", edit.text)) for edit in edits)
    return ",".join(f"{first}-{past}:{text}" for (first, past), text in parts)


def repair_text(text: str, fix: str) -> RepairedText:
    """Apply repairs to a text. LayoutError `bad_fix` if they do not fit the text."""
    now, marks = text, list[AppliedEdit]()
    for n, repair in enumerate(fix.split("~") if fix else ()):
        edits = [_parse_edit(part, now) for part in repair.split(",")]
        if n >= MOST_REPAIRS or _overlap(edits):
            raise _refuse(fix)
        replaced = [now[slice(*edit.span)] for edit in edits]
        marks = [_shift_edit(mark, edits) for mark in marks if not _is_inside(mark, edits)]
        marks += [
            AppliedEdit((moved := _shift_position(edit.span[0], edits), moved + len(edit.text)), before)
            for edit, before in zip(edits, replaced, strict=True)
        ]
        now = apply_edits(now, edits)
    return RepairedText(now, text, fix, tuple(marks))


def _parse_edit(part: str, text: str) -> TextEdit:
    match = _EDIT.fullmatch(part)
    if match is None or not int(match[1]) <= int(match[2]) <= len(text):
        raise _refuse(part)
    return TextEdit((int(match[1]), int(match[2])), unquote(match[3]))


def _refuse(fix: str) -> LayoutError:
    return LayoutError(
        "bad_fix",
        f"fix is '{shorten_value(fix)}'.",
        "Give first-past:text of places in the text, e.g. 502-505:1024, and a comma between two of one repair.",
        "fix",
    )


def _overlap(edits: Sequence[TextEdit]) -> bool:
    spans = sorted(edit.span for edit in edits)
    return any(span[1] > following[0] for span, following in pairwise(spans))


def _shift_position(at: int, edits: Iterable[TextEdit]) -> int:
    """Return the position of a character after the edits before it."""
    return at + sum(len(edit.text) - (edit.span[1] - edit.span[0]) for edit in edits if edit.span[1] <= at)


def _shift_edit(mark: AppliedEdit, edits: Sequence[TextEdit]) -> AppliedEdit:
    first = _shift_position(mark.span[0], edits)
    return AppliedEdit((first, first + mark.span[1] - mark.span[0]), mark.before)


def _is_inside(mark: AppliedEdit, edits: Iterable[TextEdit]) -> bool:
    """Return whether an edit changes characters of an earlier one."""
    return any(edit.span[0] < mark.span[1] and mark.span[0] < edit.span[1] for edit in edits)
