"""A source file joined with the files that it includes: others of the same check, and headers that a finder reads."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from lanescope.app.check.facts import SourcePiece, SourceText
from lanescope.cxx.made_kernels import list_written_spans
from lanescope.cxx.source_text import INCLUDE
from lanescope.workbench.results import LONGEST

_MOST_DEEP = 16
_TOOLKIT = re.compile(r"cuda(?:_\w+)?\.h|cu(?:blas|rand)\w*\.h|cooperative_groups(?:/\w+)*\.h")
# The reader knows the headers of CUTLASS and the CUDA toolkit. Only these are read: the instructions of the
# atoms, and the fields of descriptors.
_KNOWN = ("cute/", "cutlass/", "cuda/", "cub/", "thrust/", "torch/", "ATen/", "c10/", "pybind11/")
_KNOWN_BUT = ("cute/arch/mma_sm100", "cute/arch/mma_sm90_desc")


@dataclass(frozen=True, slots=True)
class IncludeLine:
    """An include of a source: the name in it, whether it is quoted, its characters."""

    name: str
    quoted: bool
    span: tuple[int, int]


# the text that an include of a source means, None if it is not followed
FindHeader = Callable[[IncludeLine, SourceText], SourceText | None]


def join_includes(
    source: SourceText, sources: Sequence[SourceText], find_header: FindHeader | None = None
) -> SourceText:
    """Return a source in which files replace the lines that include them, every file once.

    Replaced are `#include "…"` of a file in `sources`, and the includes that find_header finds. A line remains if no
    file, or more than one of `sources`, matches; `unfound` lists those that are quoted or are read of CUTLASS. Places
    are those of the files.
    """
    join = _Join(sources, find_header)
    join.append_source(source, 0)
    unfound = tuple(dict.fromkeys(join.unfound))
    if all(piece.name == source.name for piece in join.pieces):
        return replace(source, unfound=unfound) if unfound else source
    if join.pieces[-1].end > LONGEST:
        return replace(source, unfound=unfound, too_long=True)
    text = "".join(piece.file_text[piece.first : piece.first + piece.end - piece.start] for piece in join.pieces)
    return SourceText(source.name, text, source.unread, tuple(join.pieces), unfound)


def write_kernels(source: SourceText) -> SourceText:
    """Return a source in which kernels that macros define are written out, each with the places of its macro."""
    pieces = source.pieces or (SourcePiece(0, len(source.text), source.name, source.text, 0),)
    written = list[SourcePiece]()
    at = 0
    for first, past in list_written_spans(source.text):
        for piece in pieces:
            start, end = max(first, piece.start), min(past, piece.end)
            if start < end:
                written.append(replace(piece, start=at, end=at + end - start, first=piece.first + start - piece.start))
                at += end - start
    if not written or at > LONGEST:
        return source
    text = "".join(piece.file_text[piece.first : piece.first + piece.end - piece.start] for piece in written)
    return replace(source, text=text, pieces=tuple(written), written=True)


def list_include_lines(text: str) -> Iterator[IncludeLine]:
    """List the includes of a text in their order."""
    for match in INCLUDE.finditer(text):
        yield IncludeLine(match[1] or match[2], match[1] is not None, match.span())


def is_known_header(name: str) -> bool:
    """Return whether the reader knows the contents of a header, so that its text is not read."""
    return name.startswith(_KNOWN) and not name.startswith(_KNOWN_BUT)


def find_included(name: str, source: SourceText, sources: Sequence[SourceText]) -> SourceText | None:
    """Find the file of `sources` that an include means: beside the source, in the nearest folder around it, or the
    only one whose path ends so.
    """
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(source.name), name))
    plain = posixpath.normpath(name).lstrip("./")
    readable = [candidate for candidate in sources if not candidate.unread]
    if exact := [candidate for candidate in readable if candidate.name == beside]:
        return exact[0]
    ending = [candidate for candidate in readable if candidate.name == plain or candidate.name.endswith(f"/{plain}")]
    enclosing = [candidate for candidate in ending if source.name.startswith(candidate.name.removesuffix(plain))]
    nearest = [
        candidate for candidate in enclosing if len(candidate.name) == max(len(other.name) for other in enclosing)
    ]
    return nearest[0] if nearest else ending[0] if len(ending) == 1 else None


def _is_of_toolkit(name: str, text: str) -> bool:
    """Return whether a header is CUDA's. mma.h may be one of the program, too."""
    return _TOOLKIT.fullmatch(name) is not None or (name == "mma.h" and "nvcuda" in text)


class _Join:
    """The state of joining a source with its includes."""

    def __init__(self, sources: Sequence[SourceText], find_header: FindHeader | None) -> None:
        self.sources = sources
        self.find_header = find_header
        self.pieces: list[SourcePiece] = []
        self.unfound: list[str] = []
        self._seen: set[str] = set()

    def append_source(self, source: SourceText, depth: int) -> None:
        self._seen.add(source.name)
        at = 0
        for line in list_include_lines(source.text):
            included = self._find(line, source)
            if included is None:
                if not is_known_header(line.name) and (line.quoted or line.name.startswith(_KNOWN_BUT)):
                    self.unfound += [] if _is_of_toolkit(line.name, source.text) else [line.name]
                continue
            if depth == _MOST_DEEP or (self.pieces and self.pieces[-1].end > LONGEST):
                continue
            self._append_piece(source, at, line.span[0])
            at = line.span[1]
            if included.name not in self._seen:
                self.append_source(included, depth + 1)
        self._append_piece(source, at, len(source.text))

    def _find(self, line: IncludeLine, source: SourceText) -> SourceText | None:
        found = self.find_header(line, source) if self.find_header is not None else None
        return found or (find_included(line.name, source, self.sources) if line.quoted else None)

    def _append_piece(self, source: SourceText, first: int, past: int) -> None:
        start = self.pieces[-1].end if self.pieces else 0
        if past > first:
            self.pieces.append(SourcePiece(start, start + past - first, source.name, source.text, first))
