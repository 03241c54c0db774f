"""A verification spread over a fleet: each kind of device gets all pieces, shared by the workers that have it.

What is done is kept in a journal, a line a piece, so that a verification that was interrupted goes on where it was.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.gpu import jobs
from app.gpu.fleet import Fleet
from app.gpu.members import Member, there_is
from app.gpu.pieces import KIND, Piece, merged, pieces
from layouts.errors import LayoutError

Json = dict[str, Any]
Progress = Callable[[str, int, int], None]  # (which piece by whom, its weight, the weight of all)
SAME = ("name", "compute_capability", "driver", "cuda", "nvrtc", "target")
MOST_SECONDS = 4 * 3600.0  # of one piece, its wait for a worker among them


@dataclass(frozen=True, slots=True)
class Group:
    """Workers with the same device and software: one file of evidence."""

    device: Mapping[str, str]
    workers: frozenset[str]

    @property
    def key(self) -> str:
        return " | ".join(self.device[name] for name in SAME)


def groups(known: Sequence[Member], architecture: str = "", worker: str = "") -> list[Group]:
    """The kinds of device among a fleet's ready workers; LayoutError where none is left."""
    held: dict[tuple[str, ...], list[Member]] = {}
    for member in known:
        if member.refused or architecture not in ("", member.architecture) or worker not in ("", member.name):
            continue
        held.setdefault(tuple(member.device[name] for name in SAME), []).append(member)
    if not held:
        raise LayoutError("no_worker", "No worker of the fleet is ready for that.", there_is(known), "worker")
    return [Group(some[0].device, frozenset(member.name for member in some)) for some in held.values()]


class Journal:
    """Pieces that are done, by group, in a file of JSON lines; "" keeps none."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.done: dict[tuple[str, Piece], Json] = {}
        text = path.read_text() if path and path.is_file() else ""
        for line in text.splitlines():
            try:
                told = json.loads(line)
                piece = Piece(*told["piece"])
                if told["program"] == jobs.program() and isinstance(told["found"], dict):
                    self.done[told["group"], piece] = {"found": told["found"], "worker": str(told["worker"])}
            except (ValueError, KeyError, TypeError):
                continue  # a line that was being written when the power went

    def keep(self, group: Group, piece: Piece, found: Json, worker: str) -> None:
        self.done[group.key, piece] = {"found": found, "worker": worker}
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            line: Json = {"program": jobs.program(), "group": group.key, "worker": worker}
            line |= {"piece": [piece.part, piece.first, piece.count], "found": found}
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def end(self) -> None:
        """Nothing is left to go on with."""
        if self.path:
            self.path.unlink(missing_ok=True)


def home() -> Path:
    """Where a journal lies unless somebody says otherwise."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "lanescope" / "verify.jsonl"


def verify(
    fleet: Fleet,
    progress: Progress,
    architecture: str = "",
    worker: str = "",
    part: str = "",
    journal: Path | None = None,
) -> list[Json]:
    """The evidence of every kind of device of a fleet. LayoutError names the pieces that no worker could do; what is
    done stands in the journal.
    """
    chosen = groups(fleet.members().result(), architecture, worker)
    kept = Journal(journal)
    todo = [(group, piece) for group in chosen for piece in pieces(group.device["target"], part)]
    total = sum(piece.weight for _, piece in todo)
    for group, piece in todo:
        if (group.key, piece) in kept.done:
            progress(f"{piece.part or 'variants'} {piece.first}: done before", piece.weight, total)
    fleet.start(_all(fleet, [row for row in todo if (row[0].key, row[1]) not in kept.done], kept,
                     lambda text, weight: progress(text, weight, total))).result()  # fmt: skip
    out = [_evidence(group, [piece for one, piece in todo if one is group], kept) for group in chosen]
    kept.end()
    return out


async def _all(
    fleet: Fleet, todo: Sequence[tuple[Group, Piece]], kept: Journal, progress: Callable[[str, int], None]
) -> None:
    failed: list[str] = []

    async def one(group: Group, piece: Piece) -> None:
        name = f"{piece.part or 'variants'} {piece.first}"
        try:
            told = await fleet.run(KIND, piece.params, MOST_SECONDS, group.workers)
        except LayoutError as error:
            failed.append(f"{name}: {error.message}")
            return
        kept.keep(group, piece, told["found"], told["ran_by"]["worker"])
        progress(f"{name} by {told['ran_by']['worker']}", piece.weight)

    await asyncio.gather(*(one(group, piece) for group, piece in todo))
    if failed:
        raise LayoutError(
            "run_failed", f"{len(failed)} of {len(todo)} pieces failed; {failed[0]}",
            "The same command goes on with what is left.",
        )  # fmt: skip


def _evidence(group: Group, done: Sequence[Piece], kept: Journal) -> Json:
    rows = [kept.done[group.key, piece] for piece in done]
    ran_by = Counter(row["worker"] for row in rows)
    return merged(group.device, [(piece, row["found"]) for piece, row in zip(done, rows, strict=True)], ran_by)
