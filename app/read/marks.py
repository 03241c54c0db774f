"""The pasted text, split at the boundaries of pieces, of fields of the shown descriptor, and of repairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lanescope.app.read.edits import AppliedEdit
from lanescope.workbench import Bench, TextPiece
from lanescope.workbench.results import Span

FAR = 64  # columns that the card of a text always shows
TAGS = {"tensor_map": "map", "descriptor": "desc", "instruction": "mma", "layout": "layout"}
FIELDS = ("start_address", "lbo", "sbo", "base_offset", "swizzle")


@dataclass(frozen=True, slots=True)
class TextRun:
    """Consecutive characters of one line with the same marks.

    piece: its number, -1 for none; first: whether it is the first run of its piece; wrong: whether it causes the first
    wrong step; field: the field of the shown descriptor that it sets; becomes: the text of a repair; before: the text
    before an applied repair; suspect: whether something about it is unusual.
    """

    text: str
    piece: int = -1
    kind: str = ""
    tag: str = ""
    first: bool = False
    wrong: bool = False
    field: str = ""
    becomes: str | None = None
    before: str | None = None
    suspect: bool = False

    @property
    def plain(self) -> bool:
        marked = self.piece >= 0 or self.wrong or self.field or self.suspect
        return not marked and self.becomes is None and self.before is None


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line. state: guilty, mended, suspect or ""; repairs: numbers of the repairs that begin here."""

    runs: tuple[TextRun, ...]
    state: str = ""
    repairs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TextMarks:
    """Marks besides the pieces. origins: field of the shown descriptor → where the text sets it; applied: the
    applied repairs.
    """

    origins: Mapping[str, Sequence[Span]] = field(default_factory=dict)
    suspects: Sequence[Span] = ()
    applied: Sequence[AppliedEdit] = ()


def _assign_pieces(size: int, pieces: Sequence[TextPiece]) -> list[int]:
    """Return the number of the piece that each character belongs to, the smallest of several; -1 for none."""
    owner = [-1] * size
    spans = [(b - a, a, b, n) for n, piece in enumerate(pieces) for a, b in piece.spans]
    for _, a, b, n in sorted(spans, reverse=True):
        owner[a:b] = [n] * (b - a)
    return owner


def mark_text(text: str, bench: Bench, marks: TextMarks) -> list[TextLine]:
    """Split a text into lines of runs; of nested pieces the smaller one gets the characters."""
    size = len(text)
    owner = _assign_pieces(size, bench.pieces)
    fields = _place_fields(size, marks.origins)
    wrong = _cover(size, (operand.place for operand in bench.operands if operand.place))
    suspect = _cover(size, marks.suspects)
    edits = {edit.span: edit.text for repair in bench.repairs for edit in repair.edits}
    applied = {mark.span: mark.before for mark in marks.applied}
    cuts = {at for span in (*edits, *applied) for at in span}
    tags = _place_tags(text, bench.pieces, owner)
    lines: list[TextLine] = []
    at = 0
    for line in text.removesuffix("\n").split("\n"):
        runs: list[TextRun] = []
        start, end = at, at + len(line)
        while start < end:
            key = (owner[start], fields[start], wrong[start], suspect[start])
            stop = start + 1
            while stop < end and stop not in cuts and (owner[stop], fields[stop], wrong[stop], suspect[stop]) == key:
                stop += 1
            n = key[0]
            made = TextRun(
                text[start:stop],
                n,
                field=key[1],
                wrong=key[2],
                suspect=key[3],
                becomes=edits.get((start, stop)),
                before=applied.get((start, stop)),
            )
            runs += _tag_run(made, bench.pieces, n >= 0 and start <= tags[n] < stop)
            start = stop
        lines.append(_make_line(tuple(runs), bench, (at, end)))
        at = end + 1
    return lines


def _make_line(runs: tuple[TextRun, ...], bench: Bench, span: Span) -> TextLine:
    begins = [n for n, repair in enumerate(bench.repairs) if span[0] <= repair.edits[0].span[0] <= span[1]]
    if any(run.wrong or run.becomes is not None for run in runs):
        return TextLine(runs, "guilty", tuple(begins))
    if any(run.before is not None for run in runs):
        return TextLine(runs, "mended")
    return TextLine(runs, "suspect" if any(run.suspect for run in runs) else "")


def _cover(size: int, spans: Iterable[Span]) -> list[bool]:
    covered = [False] * size
    for a, b in spans:
        covered[a:b] = [True] * (min(b, size) - a)
    return covered


def _place_fields(size: int, origins: Mapping[str, Sequence[Span]]) -> list[str]:
    """Return the field that each character sets; of nested places the smaller one, but no fragment of a place."""
    out = [""] * size
    spans = [(b - a, a, b, name) for name, places in origins.items() if name in FIELDS for a, b in places]
    outermost = [span for span in spans if not any(_is_within(span, other) for other in spans)]
    for _, a, b, name in sorted(outermost, reverse=True):
        out[a:b] = [name] * (b - a)
    return out


def _is_within(span: tuple[int, int, int, str], other: tuple[int, int, int, str]) -> bool:
    return span[3] == other[3] and span[0] < other[0] and other[1] <= span[1] and span[2] <= other[2]


def _place_tags(text: str, pieces: Sequence[TextPiece], owner: Sequence[int]) -> list[int]:
    """Return the position of the tag of each piece: its first place, unless that is far to the right in its line and
    another is not; -1 if other pieces own all its characters.
    """
    tags = []
    for n, piece in enumerate(pieces):
        places = (next((i for i in range(a, b) if _is_owned(text, owner, i, n)), -1) for a, b in piece.spans)
        owned = [place for place in places if place >= 0]
        visible = [place for place in owned if place - text.rfind("\n", 0, place) <= FAR]
        tags.append((visible or owned or [-1])[0])
    return tags


def _is_owned(text: str, owner: Sequence[int], at: int, piece: int) -> bool:
    return owner[at] == piece and not text[at].isspace()


def _tag_run(run: TextRun, pieces: Sequence[TextPiece], tagged: bool) -> list[TextRun]:
    """Return a run with its tag; its blanks in front are not marked."""
    body = run.text.lstrip()
    runs = [TextRun(run.text[: len(run.text) - len(body)])] if len(body) < len(run.text) else []
    if not body:
        return runs
    if run.piece < 0:
        return [*runs, replace(run, text=body)]
    piece = pieces[run.piece]
    tag = " ".join((TAGS[piece.kind], *(name.upper() for name in piece.operands)))
    return [*runs, replace(run, text=body, kind=piece.kind, tag=tag, first=tagged)]
