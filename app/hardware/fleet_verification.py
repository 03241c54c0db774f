"""A verification spread over a fleet: each kind of device gets all pieces, shared by the workers that have it.

What is done is kept in a journal, a line a piece, so that a verification that was interrupted goes on where it was.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanescope.app.hardware import jobs
from lanescope.app.hardware.fleet import Fleet
from lanescope.app.hardware.members import FleetMember, describe_fleet
from lanescope.app.hardware.pieces import KIND, VerificationPiece, check_result, merge_results, split_verification
from lanescope.errors import LayoutError

Json = dict[str, Any]
Progress = Callable[[str, int, int], None]  # (which piece by whom, its weight, the weight of all)
SAME = ("name", "compute_capability", "driver", "cuda", "nvrtc", "target")
AWAY_SECONDS, AGAIN_SECONDS = 120.0, 2.0
MOST_SECONDS = 4 * 3600.0  # of one piece, its wait for a worker among them


@dataclass(frozen=True, slots=True)
class DeviceGroup:
    """The workers that share a device and software, whoever they are while it is verified: one file of evidence.
    worker: the only one, or its host; "" for any.
    """

    device: Mapping[str, str]
    worker: str = ""

    @property
    def key(self) -> str:
        return " | ".join(self.device[name] for name in SAME)

    def has_member(self, member: FleetMember) -> bool:
        """Whether a member may have one of its pieces."""
        alike = all(member.device.get(name) == self.device[name] for name in SAME)
        return alike and self.worker in ("", member.name, member.name.rpartition(":")[0])


def group_members(known: Sequence[FleetMember], architecture: str = "", worker: str = "") -> list[DeviceGroup]:
    """The kinds of device among a fleet's ready workers; LayoutError where none is left."""
    found: dict[str, DeviceGroup] = {}
    for member in known:
        if not member.refused and architecture in ("", member.architecture):
            one = DeviceGroup(member.device, worker)
            if one.has_member(member):
                found.setdefault(one.key, one)
    if not found:
        raise LayoutError("no_worker", "No worker of the fleet is ready for that.", describe_fleet(known), "worker")
    return list(found.values())


class PieceJournal:
    """Pieces that are done, by group, in a file of JSON lines; one verification writes it at a time. LayoutError where
    it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: dict[tuple[str, VerificationPiece], Json] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise LayoutError(
                "bad_journal",
                f"'{path}' is the journal of a verification that is running.",
                "Wait for it, or name another --journal.",
                "journal",
            ) from None
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise LayoutError(
                "bad_journal", f"'{path}' cannot be written: {why}.", "Name another --journal.", "journal"
            ) from None
        self._file.seek(0)
        for line in self._file:
            self._read_line(line)

    def _read_line(self, line: str) -> None:
        try:
            told = json.loads(line)
            piece = VerificationPiece(*told["piece"])
            target = str(told["target"])
            if told["program"] == jobs.compute_program_version():
                found = check_result(piece, target, told["found"])
                self.done[str(told["group"]), piece] = {"found": found, "worker": str(told["worker"])}
        except (ValueError, KeyError, TypeError, RecursionError, LayoutError):
            return  # a line that was being written when the power went

    def __enter__(self) -> PieceJournal:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._file.closed:
            if not self.done:
                self.path.unlink(missing_ok=True)
            self._file.close()

    @property
    def summary(self) -> str:
        """What it holds, in words."""
        count = len(self.done)
        return f"{count} {'piece is' if count == 1 else 'pieces are'} done and kept in {self.path}."

    def write_piece(self, group: DeviceGroup, piece: VerificationPiece, found: Json, worker: str) -> None:
        """A piece is done: it is on the disk when this returns."""
        self.done[group.key, piece] = {"found": found, "worker": worker}
        line: Json = {
            "program": jobs.compute_program_version(),
            "group": group.key,
            "target": group.device["target"],
            "worker": worker,
        }
        line |= {"piece": [piece.part, piece.first, piece.count], "found": found}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def delete(self) -> None:
        """Nothing is left to go on with: what it held is told."""
        self.path.unlink(missing_ok=True)
        self._file.close()


def get_default_journal_path() -> Path:
    """Where a journal lies unless somebody says otherwise."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "lanescope" / "verify.jsonl"


def verify_fleet(
    fleet: Fleet, progress: Progress, kept: PieceJournal, architecture: str = "", worker: str = "", part: str = ""
) -> list[Json]:
    """The evidence of every kind of device of a fleet. LayoutError names the pieces that no worker could do; what is
    done stands in the journal, until the caller ends it.
    """
    chosen = group_members(fleet.members().result(), architecture, worker)
    todo = [(group, piece) for group in chosen for piece in split_verification(group.device["target"], part)]
    total = sum(piece.weight for _, piece in todo)
    for group, piece in todo:
        if (group.key, piece) in kept.done:
            progress(f"{piece.part or 'variants'} {piece.first}: done before", piece.weight, total)
    fleet.start_coroutine(
        _run_pieces(
            fleet,
            [row for row in todo if (row[0].key, row[1]) not in kept.done],
            kept,
            lambda text, weight: progress(text, weight, total),
        )
    ).result()
    return [_merge_evidence(group, [piece for one, piece in todo if one is group], kept) for group in chosen]


async def _run_pieces(
    fleet: Fleet,
    todo: Sequence[tuple[DeviceGroup, VerificationPiece]],
    kept: PieceJournal,
    progress: Callable[[str, int], None],
) -> None:
    failed: list[str] = []

    async def one(group: DeviceGroup, piece: VerificationPiece) -> None:
        name = f"{piece.part or 'variants'} {piece.first}"
        try:
            told = await _run_piece(fleet, group, piece)
            by = str(told["ran_by"]["worker"])
            found = check_result(piece, group.device["target"], told.get("found"), by)
        except LayoutError as error:
            failed.append(f"{name}: {error.message}")
            return
        kept.write_piece(group, piece, found, by)
        progress(f"{name} by {by}", piece.weight)

    await asyncio.gather(*(one(group, piece) for group, piece in todo))
    if failed:
        raise LayoutError(
            "run_failed",
            f"{len(failed)} of {len(todo)} pieces failed; {failed[0]}",
            "The same command goes on with what is left.",
        )


async def _run_piece(fleet: Fleet, group: DeviceGroup, piece: VerificationPiece) -> Json:
    """A piece's answer. A scheduler that goes away is waited for: hours of work are not given up for its restart."""
    away: float | None = None
    while True:
        begun = time.monotonic()
        try:
            return await fleet.run(KIND, piece.params, MOST_SECONDS, group.has_member)
        except LayoutError as error:
            now = time.monotonic()
            away = now if away is None or now - begun > AWAY_SECONDS else away
            if error.code != "no_scheduler" or now - away > AWAY_SECONDS:
                raise
            await asyncio.sleep(AGAIN_SECONDS)


def _merge_evidence(group: DeviceGroup, done: Sequence[VerificationPiece], kept: PieceJournal) -> Json:
    rows = [kept.done[group.key, piece] for piece in done]
    ran_by = Counter(row["worker"] for row in rows)
    return merge_results(group.device, [(piece, row["found"]) for piece, row in zip(done, rows, strict=True)], ran_by)
