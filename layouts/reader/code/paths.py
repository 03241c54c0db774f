"""What may have happened: a condition that the text leaves open is followed both ways, and both are joined where the
paths meet again.

A path that leaves early (return, break, continue, throw) is kept until the place that it goes to is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lanescope.reader.code.values import Cell

Journal = dict[int, tuple[Cell, Any]]  # cells that were written, by their id, with what they held before
Run = Callable[[], "Left | None"]


@dataclass(frozen=True, slots=True)
class Left:
    """Why a block ended early: return, break, continue, goto or throw, and with which value or label."""

    word: str
    value: Any = None


class ThrownError(Exception):
    """An exception of the evaluated text on its way through calls."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@dataclass(slots=True, eq=False)
class Escape:
    """A path that left under an open condition: what it had written that the others may not have.

    start: where the log of writes stood; born: the last variable that there was then.
    """

    text: str
    value: Any
    changes: Journal
    start: int
    born: int


@dataclass(slots=True)
class Target:
    """Where break and continue go: a loop, or a switch, which takes break alone. depth: the branches around it."""

    loop: bool
    depth: int
    breaks: list[Escape] = field(default_factory=list)
    continues: list[Escape] = field(default_factory=list)


class Paths:
    """The open paths of one evaluation."""

    log: list[tuple[Cell, Any]]  # what each write took the place of
    branches: list[int]  # where the log stood when the branches that are being followed began
    gone: list[Escape]  # every path that left and has not been joined
    targets: list[Target]
    tries: list[tuple[list[Escape], int]]
    frames: list[Any]
    temporaries: list[tuple[Any, str]]
    merge: Any
    renote: Any
    lose_control: Any
    python: bool

    def put(self, cell: Cell, value: Any) -> None:
        """Write a cell, so that a branch not taken can be undone."""
        self.log.append((cell, cell.value))
        cell.value = value

    def writes_since(self, start: int) -> Journal:
        """Return what has been written since the log had a length."""
        journal: Journal = {}
        for entry in self.log[start:]:
            journal.setdefault(id(entry[0]), entry)
        return journal

    def rewrite(self, start: int, journal: Journal) -> None:
        """Put other entries in the place of those after a start."""
        self.log[start:] = journal.values()
        for one in reversed(self.gone):
            if one.start <= start:
                break
            one.start = start  # what was written from there to the path's end is among its changes

    def followed(self, run: Run) -> tuple[Left | None, Journal]:
        """Run a branch and take back what it wrote; return why it ended early, and what it wrote."""
        start, first, made = len(self.log), Cell(None).born, len(self.temporaries)
        self.branches.append(start)
        try:
            left = run()
        except ThrownError as thrown:
            left = Left("throw", thrown.value)
        finally:
            self.branches.pop()
            self.temporaries[made:] = [(value, "perhaps") for value, _ in self.temporaries[made:]]
            journal = self.writes_since(start)
            if not self.python:  # a branch's own variables end with it
                journal = {key: entry for key, entry in journal.items() if entry[0].born <= first}
            self.rewrite(start, journal)
            changed = {key: (cell, cell.value) for key, (cell, _) in journal.items()}
            for cell, old in journal.values():
                cell.value = old
        return left, changed

    def alternatives(self, runs: Sequence[tuple[str, Run]]) -> Left | None:
        """Follow every one of some paths of which the text leaves open which is taken, and join them."""
        ended = [(text, *self.followed(run)) for text, run in runs]
        going = [(text, changed) for text, left, changed in ended if left is None]
        gone = [(text, left, changed) for text, left, changed in ended if left is not None]
        final: Left | None = None
        if not going:
            words = {left.word for _, left, _ in gone}
            if len(words) == 1 and words <= {"return", "break", "continue"}:
                final = gone[-1][1]
                for text, left, _ in reversed(gone[:-1]):
                    final = Left(final.word, self.merge(text, left.value, final.value))
                going, gone = [(text, changed) for text, _, changed in gone], []
            else:
                text, final, changed = gone.pop()
                going = [(text, changed)]
        for text, left, changed in gone:
            self.escape(text, left, changed)
        self._join(going)
        return final

    def _join(self, going: Sequence[tuple[str, Journal]]) -> None:
        """Make the values that paths end with one."""
        cells = {key: cell for _, changed in going for key, (cell, _) in changed.items()}
        for key, cell in cells.items():
            values = [changed[key][1] if key in changed else cell.value for _, changed in going]
            value = values[-1]
            for (text, _), other in zip(reversed(going[:-1]), reversed(values[:-1]), strict=True):
                value = self.merge(text, other, value)
            self.put(cell, value)
            if len(going) > 1:
                self.renote(cell)

    def escape(self, text: str, left: Left, changed: Journal) -> None:
        """Keep a path that left until the place that it goes to is reached."""
        one = Escape(text, left.value, changed, len(self.log), Cell(None).born)
        match left.word:
            case "return":
                depth, escapes = self.frames[-1].depth, self.frames[-1].escapes
            case "break" if self.targets:
                depth, escapes = self.targets[-1].depth, self.targets[-1].breaks
            case "continue":
                loop = next((target for target in reversed(self.targets) if target.loop), None)
                if loop is None:
                    return
                depth, escapes = loop.depth, loop.continues
            case "throw":
                if not self.tries:
                    return  # the program ends
                escapes, depth = self.tries[-1]
            case _:
                self.lose_control(changed)
                return
        escapes.append(one)
        if left.word == "return" and self.frames[-1].entry:
            return  # what it wrote is seen by nobody
        self.gone.append(one)
        if len(self.branches) > depth:  # branches that end on the way
            here = {key: (cell, cell.value) for key, (cell, _) in self.writes_since(self.branches[depth]).items()}
            one.changes = {**here, **changed}

    def _taken(self, one: Escape) -> list[tuple[Cell, Any]]:
        """What variables hold on a path that left, where others may hold something else."""
        since: Journal = {}
        if one in self.gone:
            self.gone.remove(one)
            since = self.writes_since(one.start)
        held = {key: entry for key, entry in since.items() if entry[0].born <= one.born}
        return list({**held, **one.changes}.values())

    def rejoin(self, escapes: list[Escape]) -> None:
        """Join paths that left with the one that came here; the list is empty then."""
        while escapes:
            one = escapes.pop()
            for cell, value in self._taken(one):
                if value is not cell.value:
                    self.put(cell, self.merge(one.text, value, cell.value))
                    self.renote(cell)

    def return_to(self, escapes: list[Escape]) -> Any:
        """Take the state of the last path that left for that of one that never comes here; return its value."""
        one = escapes.pop()
        for cell, value in self._taken(one):
            self.put(cell, value)
        return one.value
