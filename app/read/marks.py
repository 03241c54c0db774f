"""The pasted text, split at the boundaries of pieces, of fields of the shown descriptor, and of repairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from lanescope.app.read.checked import FindingPlace
from lanescope.app.read.edits import AppliedEdit
from lanescope.workbench import TextPiece, Workbench
from lanescope.workbench.results import Span

FAR = 64  # columns that the card of a text always shows
TAGS = {"tensor_map": "map", "descriptor": "desc", "instruction": "mma", "layout": "layout"}
STATES = ("bad", "care")  # of findings
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
    """A line. state: guilty, mended, suspect or ""; finding: the first that begins here, None without one."""

    runs: tuple[TextRun, ...]
    state: str = ""
    finding: FindingPlace | None = None


@dataclass(frozen=True, slots=True)
class TextMarks:
    """Marks besides the pieces. origins: field of the shown descriptor → where the text sets it; applied: the
    applied repairs; findings: of check, in the order of its list.
    """

    origins: Mapping[str, Sequence[Span]] = field(default_factory=dict)
    suspects: Sequence[Span] = ()
    applied: Sequence[AppliedEdit] = ()
    findings: Sequence[FindingPlace] = ()

    def find_first(self, first: int, past: int) -> FindingPlace | None:
        """Return the first finding that begins between two characters."""
        return next((found for found in self.findings if first <= found.span[0] <= past), None)


def _assign_pieces(size: int, pieces: Sequence[TextPiece]) -> list[int]:
    """Return the number of the piece that each character belongs to, the smallest of several; -1 for none."""
    owner = [-1] * size
    spans = [(b - a, a, b, n) for n, piece in enumerate(pieces) for a, b in piece.spans]
    for _, a, b, n in sorted(spans, reverse=True):
        owner[a:b] = [n] * (b - a)
    return owner


def mark_text(text: str, bench: Workbench, marks: TextMarks) -> list[TextLine]:
    """Split a text into lines of runs; of nested pieces the smaller one gets the characters."""
    size = len(text)
    owner = _assign_pieces(size, bench.pieces)
    fields = _place_fields(size, marks.origins)
    found = {
        state: [_cut_line(text, one.span) for one in marks.findings if one.shown.state == state] for state in STATES
    }
    wrong = _cover(size, (*(operand.place for operand in bench.operands if operand.place), *found["bad"]))
    suspect = _cover(size, (*marks.suspects, *found["care"]))
    offered = (*(repair.edits for repair in bench.repairs), *(found.edits for found in marks.findings))
    edits = {edit.span: edit.text for of_one in offered for edit in of_one}
    applied = {mark.span: mark.before for mark in marks.applied}
    cuts = {at for span in (*edits, *applied) for at in span}
    inserted = {first: [TextRun("", becomes=new)] for (first, past), new in edits.items() if first == past}
    tags = _place_tags(text, bench.pieces, owner)
    keys = list(zip(owner, fields, wrong, suspect, strict=True))
    lines: list[TextLine] = []
    at = 0
    for line in text.removesuffix("\n").split("\n"):
        runs: list[TextRun] = []
        end = at + len(line)
        for start, stop in _split_line(keys, cuts, at, end):
            n, name, is_wrong, is_suspect = keys[start]
            text_run = TextRun(
                text[start:stop],
                n,
                field=name,
                wrong=is_wrong,
                suspect=is_suspect,
                becomes=edits.get((start, stop)),
                before=applied.get((start, stop)),
            )
            runs += inserted.get(start, [])
            runs += _tag_run(text_run, bench.pieces, n >= 0 and start <= tags[n] < stop)
        runs += inserted.get(end, [])
        lines.append(_make_line(tuple(runs), marks.find_first(at, end)))
        at = end + 1
    return lines


def _split_line(keys: Sequence[object], cuts: Set[int], start: int, end: int) -> Iterator[Span]:
    """Yield the places of consecutive characters with the same key, split at `cuts`."""
    while start < end:
        stop = start + 1
        while stop < end and stop not in cuts and keys[stop] == keys[start]:
            stop += 1
        yield start, stop
        start = stop


def _make_line(runs: tuple[TextRun, ...], finding: FindingPlace | None) -> TextLine:
    if any(run.wrong or run.becomes is not None for run in runs) or (finding and finding.shown.state == "bad"):
        return TextLine(runs, "guilty", finding)
    if any(run.before is not None for run in runs):
        return TextLine(runs, "mended", finding)
    return TextLine(runs, "suspect" if finding or any(run.suspect for run in runs) else "", finding)


def _cut_line(text: str, span: Span) -> Span:
    """Return the part of a span in its first line."""
    end = text.find("\n", span[0], span[1])
    return span if end < 0 else (span[0], end)


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
        places = (next((i for i in range(a, b) if owner[i] == n and not text[i].isspace()), -1) for a, b in piece.spans)
        owned = [place for place in places if place >= 0]
        visible = [place for place in owned if place - text.rfind("\n", 0, place) <= FAR]
        tags.append((visible or owned or [-1])[0])
    return tags


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
