"""Repairs that a reader applied to a text, as the address has them: the text as pasted, and `fix`.

`fix=502-505:1024` replaces characters 502 to 504 by 1024. Edits of one repair are joined by commas, repairs by ~; each
counts characters of the text after the repairs before it. Undo drops the last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.workbench.repairs import apply_edits
from lanescope.workbench.results import TextEdit

_EDIT = re.compile(r"(\d{1,7})-(\d{1,7}):([^,~\n]*)")
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

    def extend(self, edits: Iterable[TextEdit]) -> str | None:
        """Return the repairs with one more; None if an address cannot express its edits."""
        written = format_edits(edits)
        return None if written is None else "~".join(filter(None, (self.fix, written)))


def format_edits(edits: Iterable[TextEdit]) -> str | None:
    """Format the edits of one repair; None if a text has a comma, a ~ or a line break."""
    parts = [f"{edit.span[0]}-{edit.span[1]}:{edit.text}" for edit in edits]
    return ",".join(parts) if all(_EDIT.fullmatch(part) for part in parts) else None


def repair_text(text: str, fix: str) -> RepairedText:
    """Apply repairs to a text. LayoutError `bad_fix` if they do not fit the text."""
    now, marks = text, list[AppliedEdit]()
    for n, repair in enumerate(fix.split("~") if fix else ()):
        edits = [_parse_edit(part, now) for part in repair.split(",")]
        if n >= MOST_REPAIRS or _overlap(edits):
            raise _refuse(fix)
        made = [AppliedEdit(edit.span, now[slice(*edit.span)]) for edit in edits]
        marks = [_move(mark, edits) for mark in marks if not _is_inside(mark, edits)]
        marks += [
            AppliedEdit((moved := _shift(edit.span[0], edits), moved + len(edit.text)), mark.before)
            for edit, mark in zip(edits, made, strict=True)
        ]
        now = apply_edits(now, edits)
    return RepairedText(now, text, fix, tuple(marks))


def _parse_edit(part: str, text: str) -> TextEdit:
    match = _EDIT.fullmatch(part)
    if match is None or not int(match[1]) <= int(match[2]) <= len(text):
        raise _refuse(part)
    return TextEdit((int(match[1]), int(match[2])), match[3])


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


def _shift(at: int, edits: Iterable[TextEdit]) -> int:
    """Return the position of a character after the edits before it."""
    return at + sum(len(edit.text) - (edit.span[1] - edit.span[0]) for edit in edits if edit.span[1] <= at)


def _move(mark: AppliedEdit, edits: Sequence[TextEdit]) -> AppliedEdit:
    first = _shift(mark.span[0], edits)
    return AppliedEdit((first, first + mark.span[1] - mark.span[0]), mark.before)


def _is_inside(mark: AppliedEdit, edits: Iterable[TextEdit]) -> bool:
    """Return whether an edit changes characters of an earlier one."""
    return any(edit.span[0] < mark.span[1] and mark.span[0] < edit.span[1] for edit in edits)
