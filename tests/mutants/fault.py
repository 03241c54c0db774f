"""A fault that somebody thought of, and the list of them, by_hand.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.operators import Mutant

LIST = Path(__file__).with_name("by_hand.toml")


@dataclass(frozen=True)
class Fault:
    """What it is a fault of, the file, a text that stands there once, what is written instead, and the tests that ought
    to notice, as pytest names them; a test without its parameters stands for all of them.
    """

    kind: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied(self, source: str) -> str:
        """ValueError: the old text does not stand in the source exactly once."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.file} has {source.count(self.old)} times {self.old!r}")
        return source.replace(self.old, self.new)

    def mutant(self, source: str) -> Mutant:
        self.applied(source)
        before = source[: source.index(self.old)]
        line, start = before.count("\n") + 1, len(before.encode())
        stop = start + len(self.old.encode())
        return Mutant(self.file, line, line, line, self.kind, start, stop, self.old, self.new, self.old)

    @property
    def live(self) -> bool:
        """Whether a browser alone can be given the changed file: a script (style sheets are served as one), and all its
        tests open pages of a server.
        """
        pages = all("/browser/" in test and "test_site" not in test for test in self.tests)
        return self.file.endswith(".js") and pages


def faults(path: Path = LIST) -> list[Fault]:
    rows = tomllib.loads(path.read_text())["fault"]
    return [Fault(row["kind"], row["file"], row["old"], row["new"], tuple(row["tests"])) for row in rows]


def fits(nodeid: str, name: str) -> bool:
    """Whether a name of a list stands for a test: its file's, its own, or its own without parameters."""
    return nodeid == name or nodeid.startswith((f"{name}[", f"{name}::"))
