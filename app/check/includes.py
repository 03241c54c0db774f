"""A source file with the files that it includes, where those were given too. No framework."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from lanescope.app.check.facts import SourcePiece, SourceText
from lanescope.workbench import check as engine

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]{1,200})"[^\n]*$', re.M)
_MOST_DEEP = 16


def join_includes(source: SourceText, given: Sequence[SourceText]) -> SourceText:
    """Return a source with each `#include "…"` of a given file in place of its line, every file once.

    A line stays where no given file, or more than one, is meant. Places of the result are those of the files.
    """
    pieces: list[SourcePiece] = []
    _append(source, given, pieces, {source.name}, 0)
    if len(pieces) < 2 or pieces[-1].end > engine.LONGEST:
        return source
    text = "".join(piece.own[piece.first : piece.first + piece.end - piece.start] for piece in pieces)
    return SourceText(source.name, text, source.unread, tuple(pieces))


def find_included(name: str, source: SourceText, given: Sequence[SourceText]) -> SourceText | None:
    """Find the given file that an include of a source means: beside it, or the only one whose path ends so."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(source.name), name))
    plain = posixpath.normpath(name).lstrip("./")
    readable = [one for one in given if not one.unread]
    if exact := [one for one in readable if one.name == beside]:
        return exact[0]
    ending = [one for one in readable if one.name == plain or one.name.endswith(f"/{plain}")]
    return ending[0] if len(ending) == 1 else None


def _append(
    source: SourceText, given: Sequence[SourceText], pieces: list[SourcePiece], seen: set[str], depth: int
) -> None:
    at = 0
    for match in _INCLUDE.finditer(source.text):
        included = find_included(match[1], source, given)
        if included is None or depth == _MOST_DEEP:
            continue
        _append_piece(source, at, match.start(), pieces)
        at = match.end()
        if included.name not in seen:
            seen.add(included.name)
            _append(included, given, pieces, seen, depth + 1)
    _append_piece(source, at, len(source.text), pieces)


def _append_piece(source: SourceText, first: int, past: int, pieces: list[SourcePiece]) -> None:
    start = pieces[-1].end if pieces else 0
    if past > first:
        pieces.append(SourcePiece(start, start + past - first, source.name, source.text, first))
