"""Open documents: the editor's texts, and positions in them in the editor's units.

pygls keeps documents too, but ends lines where the protocol does not (form feeds, U+2028), and moves a column past the
end of a line before its last character. Lines end at \\n, \\r\\n and \\r only: LSP 3.17, Text Documents.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from lanescope.app.check.facts import SourceSpan
from lanescope.app.check.fixing import LINE_END

_HALF = re.compile("[\ud800-\udfff]")
_UNITS = {"utf-8": lambda text: len(text.encode("utf-8", "surrogatepass")), "utf-32": len}


def _count_utf16(text: str) -> int:
    return len(text) + sum(letter > "\uffff" for letter in text)


@dataclass(frozen=True)
class PlacedText:
    """A text with the editor's positions: lines from 0, columns in units of `encoding`."""

    text: str
    encoding: str = "utf-16"

    @cached_property
    def lines(self) -> list[tuple[int, int]]:
        """Return the first and past last character of each line, without its end."""
        ends = [match.span() for match in LINE_END.finditer(self.text)]
        return list(zip([0, *(past for _, past in ends)], [*(first for first, _ in ends), len(self.text)], strict=True))

    @cached_property
    def plain(self) -> str:
        """Return the text with LF line ends, for a check."""
        return LINE_END.sub("\n", self.text) if "\r" in self.text else self.text

    @property
    def line_end(self) -> str:
        """Return the document's line end: that of its first line."""
        match = LINE_END.search(self.text)
        return match[0] if match else "\n"

    def find_offset(self, position: types.Position) -> int:
        """Return the character at a position; one past the end of a line or of the text is that end."""
        if position.line >= len(self.lines):
            return len(self.text)
        first, past = self.lines[position.line]
        line = self.text[first:past]
        if line.isascii() or self.encoding == "utf-32":
            return first + min(position.character, len(line))
        units = 0
        for at, letter in enumerate(line):
            units += self._count(letter)
            if units > position.character:
                return first + at
        return past

    def locate(self, line: int, column: int) -> types.Position:
        """Return the editor's position of a check's place, whose lines and columns count characters from 1."""
        if line > len(self.lines):
            first, past = self.lines[-1]
            return types.Position(len(self.lines) - 1, self._count(self.text[first:past]))
        first, past = self.lines[line - 1]
        return types.Position(line - 1, self._count(self.text[first : min(first + column - 1, past)]))

    def locate_span(self, span: SourceSpan) -> types.Range:
        """Return the editor's range of a check's span."""
        return types.Range(self.locate(span.line, span.column), self.locate(span.end_line, span.end_column))

    def locate_offset(self, offset: int) -> types.Position:
        """Return the position of a character."""
        line = bisect_right(self.lines, (offset, len(self.text) + 1)) - 1
        return self.locate(line + 1, offset - self.lines[line][0] + 1)

    def get_line(self, line: int) -> str:
        """Return a line, from 1, without its end."""
        return self.text[slice(*self.lines[line - 1])] if line <= len(self.lines) else ""

    def apply(self, changes: Iterable[types.TextDocumentContentChangeEvent]) -> PlacedText:
        """Return the text after changes, applied one after another."""
        placed = self
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                first, past = sorted(map(placed.find_offset, (change.range.start, change.range.end)))
                placed = PlacedText(placed.text[:first] + change.text + placed.text[past:], self.encoding)
            else:
                placed = PlacedText(change.text, self.encoding)
        return placed

    def _count(self, text: str) -> int:
        return len(text) if text.isascii() else _UNITS.get(self.encoding, _count_utf16)(text)


@dataclass(frozen=True)
class OpenDocument:
    """A document of the editor. name: the name of its file in a check."""

    uri: str
    name: str
    version: int
    placed: PlacedText


@dataclass(slots=True)
class DocumentStore:
    """The documents that are open, by the names of their files."""

    encoding: str = "utf-16"
    documents: dict[str, OpenDocument] = field(default_factory=dict)

    def open(self, item: types.TextDocumentItem) -> OpenDocument:
        placed = PlacedText(_replace_halves(item.text), self.encoding)
        document = OpenDocument(item.uri, name_uri(item.uri), item.version, placed)
        self.documents[document.name] = document
        return document

    def change(self, params: types.DidChangeTextDocumentParams) -> OpenDocument | None:
        """Apply changes to a document; return it, None if it is not open."""
        document = self.documents.get(name_uri(params.text_document.uri))
        if document is None:
            return None
        version = params.text_document.version
        placed = document.placed.apply(params.content_changes)
        placed = PlacedText(_replace_halves(placed.text), self.encoding)
        changed = replace(document, version=version, placed=placed)
        self.documents[document.name] = changed
        return changed

    def close(self, uri: str) -> OpenDocument | None:
        """Remove a document and return it, None if it is not open."""
        return self.documents.pop(name_uri(uri), None)

    def get(self, uri: str) -> OpenDocument | None:
        return self.documents.get(name_uri(uri))

    def snapshot(self) -> Mapping[str, OpenDocument]:
        """Return a snapshot of the documents, for another thread."""
        return dict(self.documents)

    def link(self, name: str) -> str:
        """Return the URI of a file: its document's, if it is open."""
        document = self.documents.get(name)
        return document.uri if document is not None else str(from_fs_path(name))


def _replace_halves(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON can hold and UTF-8 cannot."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def name_uri(uri: str) -> str:
    """Return the name of a URI's file in a check; the URI itself if it has no file: untitled:1."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return Path(path or uri).as_posix()
