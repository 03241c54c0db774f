"""The files of a check, and their findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from lanescope.app.check.config import is_excluded
from lanescope.app.kit.fact import Description, fact
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.workbench.results import LONGEST

ENDINGS = frozenset(".cu .cuh .h .hh .hpp .hxx .c .cc .cpp .cxx .inl .inc .py .pyi .txt .ptx .sass .ttgir".split())
_OF_CMAKE = "CMakeLists.txt"  # it may name instructions
MOST_FILES = 4096
MOST_BYTES = 4 * LONGEST  # bytes of the longest text in UTF-8


@fact
class SourceSpan:
    """A place in a file: lines and columns from 1; columns count characters, end_column is the one past."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


@fact
class SourceEdit:
    """The replacement of the text at a place."""

    place: SourceSpan
    text: str


@fact
class FollowingRead:
    """The place of a read that is wrong because of another mistake."""

    message: str
    place: SourceSpan


@fact
class CheckFinding:
    """One mistake."""

    code: Annotated[str, Description("The verifier's cause, or the pitfall of the code.")]
    title: str
    level: Literal["error", "warning", "note"]
    message: str
    place: SourceSpan
    reads: Annotated[int, Description("How many wrong reads follow from it.")]
    fix: Annotated[str | None, Description("The word that would be right, where the code decides it whole.")]
    assumed: Annotated[dict[str, str], Description("Assumptions that the text does not state: name → value.")]
    edits: Annotated[
        list[SourceEdit],
        Description("Changes of the text that were tried: with all of them every read that follows is right."),
    ]
    follows: Annotated[list[FollowingRead], Description("Where the wrong reads that follow from it are.")]


@fact
class OpenQuestion:
    """An open question of a file; nothing is assumed about it."""

    message: str
    place: SourceSpan
    needs: Annotated[list[str], Description("Names that -D takes for it.")]
    result: Annotated[str, Description("The result that is not known, such as D of a kernel; empty for others.")] = ""
    operand: Annotated[str, Description("The operand without a verdict: A or B; empty for others.")] = ""
    reader: Annotated[str, Description("The instruction that reads the operand.")] = ""
    reason: Annotated[str, Description("Why the operand has no verdict.")] = ""


@fact
class CheckedSource:
    """The results of one file with its includes."""

    file: str
    lines: int
    included: Annotated[list[str], Description("Files that were read with it.")]
    unfound: Annotated[list[str], Description("Its includes that would be read and were not found.")]
    descriptors: int
    tensor_maps: int
    verified: Annotated[int, Description("Reads that take every element from where the text stores it.")]
    gaps: Annotated[dict[str, int], Description("Why descriptors have no verdict, and how many for each reason.")]
    multiplier: Annotated[str, Description("tcgen05, wgmma or tiles of a library, which it multiplies with.")]
    target: Annotated[str, Description("What it is checked for; empty for any target.")]
    placed: Annotated[
        int,
        Description("Verified reads that are right only if their tiles start at multiples of the swizzle's pattern."),
    ]
    kernels: Annotated[int, Description("Kernels that multiply fragments by mma.")]
    kernel_gaps: Annotated[
        dict[str, int], Description("Why fragments of kernels have no verdict, and how many kernels for each reason.")
    ]


@fact
class SuppressedFinding:
    """A finding that a comment or the baseline accepts."""

    finding: CheckFinding
    why: Annotated[str, Description("The comment's reason, or baseline.")]


@fact
class CheckReport:
    """The result of a check."""

    files: Annotated[int, Description("Files that were read.")]
    descriptors: int
    tensor_maps: int
    verified: Annotated[
        int, Description("Reads that take every element from where the text stores it; a wrong read is not counted.")
    ]
    findings: list[CheckFinding]
    open: list[OpenQuestion]
    doubts: Annotated[list[CheckFinding], Description("What is unusual and may be right: no finding, and no failure.")]
    unverified: Annotated[dict[str, int], Description("Why reads were not verified, and how many for each reason.")]
    unverified_at: Annotated[dict[str, SourceSpan], Description("Where the first of them is, by the reason.")]
    gaps: Annotated[dict[str, int], Description("Why descriptors have no verdict, and how many for each reason.")]
    placed: Annotated[
        int,
        Description("Verified reads that are right only if their tiles start at multiples of the swizzle's pattern."),
    ]
    kernels: Annotated[int, Description("Kernels that multiply fragments by mma.")]
    kernel_gaps: Annotated[
        dict[str, int], Description("Why fragments of kernels have no verdict, and how many kernels for each reason.")
    ]
    sources: list[CheckedSource]
    suppressed: list[SuppressedFinding]
    unused: Annotated[list[str], Description("Names with a value that no file leaves open.")]


def find_sources(names: Iterable[str], exclude: Sequence[str] = ()) -> Iterator[Path]:
    """Yield the named files, and those in named folders that have a source file's extension, except the excluded ones.

    LayoutError for an empty name, and for too many files.
    """
    count = 0
    for name in names:
        if not name.strip():  # Path("") would be the whole current folder
            raise LayoutError("bad_usage", "A file's name is empty.", "Write . for the current folder.", "file")
        path = Path(name)
        try:
            sources = sorted(_walk_folder(path)) if path.is_dir() else [path]
        except (OSError, ValueError):
            sources = [path]
        for source in sources:
            if is_excluded(source, exclude):
                continue
            count += 1
            if count > MOST_FILES:
                raise LayoutError(
                    "bad_usage", f"There are more than {MOST_FILES} files.", "Name fewer, or a folder below.", "file"
                )
            yield source


def _walk_folder(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in ENDINGS and path.name != _OF_CMAKE and not hidden and path.is_file():
            yield path


@dataclass(frozen=True, slots=True)
class SourcePiece:
    """A part of a joined text: its characters from `start` up to `end` are those of a file from `first` on."""

    start: int
    end: int
    name: str
    file_text: str
    first: int


@dataclass(frozen=True, slots=True)
class SourceText:
    """A source file's text with LF line ends.

    unread: why it is not checked, "" if it is; pieces: the files that a joined text consists of; unfound: its quoted
    and CUTLASS includes for which no file was found; too_long: whether its includes were omitted because the text would
    be too long; written: whether the pieces of kernels that macros define are written out.
    """

    name: str
    text: str
    unread: str = ""
    pieces: tuple[SourcePiece, ...] = ()
    unfound: tuple[str, ...] = ()
    too_long: bool = False
    written: bool = False

    def has_alone(self, span: tuple[int, int]) -> bool:
        """Return whether characters are in one piece, which no other one repeats, so that they can be edited."""
        enclosing = [piece for piece in self.pieces if piece.start <= span[0] and span[1] <= piece.end]
        if not self.written or not enclosing:
            return not self.written
        return sum((one.name, one.first) == (enclosing[0].name, enclosing[0].first) for one in self.pieces) == 1

    def locate(self, span: tuple[int, int]) -> SourceSpan:
        """Return the place of characters of the text, in the file that contains the first of them."""
        for piece in self.pieces:
            if piece.start <= span[0] < piece.end:
                shift = piece.first - piece.start
                return _locate_span(piece.name, piece.file_text, (span[0] + shift, min(span[1], piece.end) + shift))
        return _locate_span(self.name, "" if self.pieces else self.text, (0, 0) if self.pieces else span)


def read_source(path: Path) -> SourceText:
    """Return a file's text."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise LayoutError(
            "bad_usage",
            f"'{shorten_value(str(path), 200)}' cannot be read: {reason}.",
            "Name source files or folders.",
            "file",
        ) from None
    return decode_source(path.as_posix(), raw)


def decode_source(name: str, raw: bytes) -> SourceText:
    """Decode a file's bytes, or return why they are not read."""
    if b"\0" in raw:
        return SourceText(name, "", "The file is not text; it was not read.")
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    if len(raw) > MOST_BYTES or len(text) > LONGEST:
        return SourceText(name, "", f"The file has more than {LONGEST:,} characters; it was not read.")
    return SourceText(name, text)


def _locate_span(name: str, text: str, span: tuple[int, int]) -> SourceSpan:
    first, past = min(span[0], len(text)), min(max(span), len(text))
    line, end = text.count("\n", 0, first), text.count("\n", 0, past)
    return SourceSpan(
        file=name,
        line=line + 1,
        column=first - (text.rfind("\n", 0, first) + 1) + 1,
        end_line=end + 1,
        end_column=past - (text.rfind("\n", 0, past) + 1) + 1,
    )
