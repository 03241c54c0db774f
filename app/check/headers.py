"""Headers that a source includes: beside the file, in -I folders, in those of a compile_commands.json, and in the
folders of its repository that are around it.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanescope.app.check.defines import find_target
from lanescope.app.check.facts import SourceText, read_source
from lanescope.app.check.includes import IncludeLine, is_known_header
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.ptx.targets import TARGETS

_MOST_BYTES = 1 << 19  # of a header: those of generated code are larger
_TARGET_OPTIONS = (  # of nvcc, and of clang
    *("-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code"),
    *("--cuda-gpu-arch", "--offload-arch"),
)
_TARGET = re.compile(r"(?:sm|compute|lto)_(\d+[af]?)(?!\w)")
_FOLDER_OPTIONS = ("-I", "-isystem", "-iquote", "--include-path", "-idirafter")


@dataclass(frozen=True, slots=True)
class CompileCommand:
    """How a file is compiled: the folders of its includes, the defined macros, and the target, "" if there are several
    or none.
    """

    folders: tuple[str, ...] = ()
    macros: tuple[tuple[str, str], ...] = ()
    target: str = ""


@dataclass(slots=True)
class HeaderFinder:
    """Finds headers on disk. folders: of -I; commands: of files by their resolved paths; changed: texts that replace
    files, by name.
    """

    folders: Sequence[str] = ()
    commands: Mapping[str, CompileCommand] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)
    _texts: dict[str, SourceText | None] = field(default_factory=dict)
    _around: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def read_file(self, path: Path) -> SourceText:
        """Read a source file, or the text that replaces it; raise LayoutError if it cannot be read."""
        name = path.as_posix()
        return SourceText(name, self.changed[name]) if name in self.changed else read_source(path)

    def find_of(self, source: SourceText) -> CompileCommand:
        """Return how a source is compiled."""
        return self.commands.get(str(Path(source.name).resolve()), CompileCommand())

    def make_finder(self, source: SourceText) -> _FileHeaders:
        """Return a function that finds the headers of a source and of its includes."""
        return _FileHeaders(self, (*self.folders, *self.find_of(source).folders))

    def read_header(self, path: str) -> SourceText | None:
        """Read a header once; None if it is missing or cannot be read."""
        if path in self.changed:
            return SourceText(path, self.changed[path])
        if path not in self._texts:
            file = Path(path)
            try:
                fits = file.is_file() and file.stat().st_size <= _MOST_BYTES
                text = read_source(file) if fits else None
            except (OSError, ValueError, LayoutError):
                text = None
            self._texts[path] = text if text is not None and not text.unread else None
        return self._texts[path]

    def list_folders_around(self, name: str) -> tuple[str, ...]:
        """List the folders around a file and their `include`, nearest first: up to its repository's or, in none, up to
        the working directory. A build names them with -I.
        """
        beside = posixpath.dirname(name)
        if beside not in self._around:
            parents = [(path := Path(beside).resolve()), *path.parents]
            outermost = next((path for path in parents if (path / ".git").exists()), Path.cwd())
            depth = parents.index(outermost) + 1 if outermost in parents else 0
            folders = [posixpath.normpath(posixpath.join(beside, *[".."] * up)) for up in range(depth)]
            self._around[beside] = tuple(
                path for folder in folders for path in (folder, posixpath.join(folder, "include"))
            )
        return self._around[beside]


@dataclass(frozen=True, slots=True)
class _FileHeaders:
    finder: HeaderFinder
    folders: tuple[str, ...]

    def __call__(self, line: IncludeLine, source: SourceText) -> SourceText | None:
        """Return the text of an include of a source."""
        if is_known_header(line.name):
            return None
        beside = (posixpath.dirname(source.name),) if line.quoted else ()
        for folder in (*beside, *self.folders, *self.finder.list_folders_around(source.name)):
            header = self.finder.read_header(posixpath.normpath(posixpath.join(folder, line.name)))
            if header is not None:
                return header
        return None


def parse_folders(names: Sequence[str]) -> Sequence[str]:
    """Return the folders of -I; LayoutError for one that does not exist."""
    for name in names:
        if not Path(name).is_dir():
            raise LayoutError(
                "bad_usage", f"-I: '{shorten_value(name, 200)}' is not a folder.", "Name folders of headers.", "include"
            )
    return names


def read_commands(name: str) -> dict[str, CompileCommand]:
    """Read a compile_commands.json, or the one of a folder: resolved path of a file → how it is compiled.

    Source: clang.llvm.org/docs/JSONCompilationDatabase.html.
    """
    path = Path(name)
    path = path / "compile_commands.json" if path.is_dir() else path
    try:
        entries = json.loads(path.read_text("utf-8"))
        return dict(_parse_entry(entry) for entry in entries)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)[:100]
        raise LayoutError(
            "bad_usage",
            f"'{shorten_value(name, 200)}' is not a compile_commands.json: {why or type(error).__name__}.",
            "Name the file that CMake writes with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON.",
            "compile_commands",
        ) from None


def _parse_entry(entry: Mapping[str, Any]) -> tuple[str, CompileCommand]:
    folder = Path(str(entry["directory"]))
    words = [str(word) for word in entry["arguments"]] if "arguments" in entry else shlex.split(str(entry["command"]))
    folders = tuple((folder / value).as_posix() for value in _list_values(words, _FOLDER_OPTIONS))
    macros = tuple(_parse_macro(value) for value in _list_values(words, ("-D",)))
    target = _find_command_target(words) or find_target(dict(macros))
    return str((folder / str(entry["file"])).resolve()), CompileCommand(folders, macros, target)


def _find_command_target(words: Sequence[str]) -> str:
    """Return the target of a command of nvcc or clang, "" if there are several or none."""
    values = " ".join(_list_values(words, _TARGET_OPTIONS))
    targets = {f"sm_{number}" for number in _TARGET.findall(values)} & set(TARGETS)
    return targets.pop() if len(targets) == 1 else ""


def _list_values(words: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """Yield the values of options, attached or separate."""
    for n, word in enumerate(words):
        for option in options:
            if word == option and n + 1 < len(words):
                yield words[n + 1]
            elif word.startswith(option) and word != option:
                yield word[len(option) :].removeprefix("=")


def _parse_macro(value: str) -> tuple[str, str]:
    name, _, meaning = value.partition("=")
    return name, meaning if "=" in value else "1"
