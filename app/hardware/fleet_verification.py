"""A verification spread over a fleet: each kind of device gets all pieces, shared by the workers that have it.

A journal keeps what is done, one line a piece, so that an interrupted verification continues where it was.
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
from lanescope.app.hardware.members import DEVICE, FleetMember, describe_fleet
from lanescope.app.hardware.pieces import KIND, VerificationPiece, check_result, merge_results, split_verification
from lanescope.errors import LayoutError

Json = dict[str, Any]
Progress = Callable[[str, int, int], None]  # (text, weight of the piece, weight of all)
AWAY_SECONDS, AGAIN_SECONDS = 120.0, 2.0
MOST_SECONDS = 4 * 3600.0  # for one piece, including its wait for a worker


@dataclass(frozen=True, slots=True)
class DeviceGroup:
    """The workers with the same device and software, which may change during a verification; they share an evidence
    file. worker: the only one, or its host; "" for any.
    """

    device: Mapping[str, str]
    worker: str = ""

    @property
    def key(self) -> str:
        return " | ".join(self.device[name] for name in DEVICE)

    def has_member(self, member: FleetMember) -> bool:
        """Return whether a member may run one of its pieces."""
        alike = all(member.device.get(name) == self.device[name] for name in DEVICE)
        return alike and self.worker in ("", member.name, member.name.rpartition(":")[0])


def group_members(members: Sequence[FleetMember], architecture: str = "", worker: str = "") -> list[DeviceGroup]:
    """Group a fleet's ready workers by kind of device; LayoutError if none is left."""
    groups: dict[str, DeviceGroup] = {}
    for member in members:
        if not member.refused and architecture in ("", member.architecture):
            group = DeviceGroup(member.device, worker)
            if group.has_member(member):
                groups.setdefault(group.key, group)
    if not groups:
        raise LayoutError("no_worker", "No worker of the fleet is ready for that.", describe_fleet(members), "worker")
    return list(groups.values())


class PieceJournal:
    """Pieces that are done, by group, in a file of JSON lines; one verification writes it at a time.

    LayoutError if the file cannot be written.
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
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise LayoutError(
                "bad_journal", f"'{path}' cannot be written: {reason}.", "Name another --journal.", "journal"
            ) from None
        self._file.seek(0)
        for line in self._file:
            self._read_line(line)

    def _read_line(self, line: str) -> None:
        try:
            entry = json.loads(line)
            piece = VerificationPiece(*entry["piece"])
            target = str(entry["target"])
            if entry["program"] == jobs.compute_program_version():
                result = check_result(piece, target, entry["found"])
                self.done[str(entry["group"]), piece] = {"found": result, "worker": str(entry["worker"])}
        except (ValueError, KeyError, TypeError, RecursionError, LayoutError):
            return  # the power failed while this line was written

    def __enter__(self) -> PieceJournal:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._file.closed:
            if not self.done:
                self.path.unlink(missing_ok=True)
            self._file.close()

    @property
    def summary(self) -> str:
        """Return a sentence with the number of pieces that are done."""
        count = len(self.done)
        return f"{count} {'piece is' if count == 1 else 'pieces are'} done and kept in {self.path}."

    def write_piece(self, group: DeviceGroup, piece: VerificationPiece, result: Json, worker: str) -> None:
        """Record that a piece is done; the file is synchronized to disk before this returns."""
        self.done[group.key, piece] = {"found": result, "worker": worker}
        line: Json = {
            "program": jobs.compute_program_version(),
            "group": group.key,
            "target": group.device["target"],
            "worker": worker,
        }
        line |= {"piece": [piece.part, piece.first, piece.count], "found": result}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def delete(self) -> None:
        """Delete the file, once everything in it has been reported."""
        self.path.unlink(missing_ok=True)
        self._file.close()


def get_default_journal_path() -> Path:
    """Return the default path of a journal."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "lanescope" / "verify.jsonl"


def verify_fleet(
    fleet: Fleet, progress: Progress, journal: PieceJournal, architecture: str = "", worker: str = "", part: str = ""
) -> list[Json]:
    """Return the evidence of every kind of device of a fleet. LayoutError names the pieces that no worker could do;
    finished pieces stay in the journal until the caller deletes it.
    """
    groups = group_members(fleet.members().result(), architecture, worker)
    pending = [(group, piece) for group in groups for piece in split_verification(group.device["target"], part)]
    total = sum(piece.weight for _, piece in pending)
    for group, piece in pending:
        if (group.key, piece) in journal.done:
            progress(f"{piece.part or 'variants'} {piece.first}: done before", piece.weight, total)
    fleet.start_coroutine(
        _run_pieces(
            fleet,
            [row for row in pending if (row[0].key, row[1]) not in journal.done],
            journal,
            lambda text, weight: progress(text, weight, total),
        )
    ).result()
    return [
        _merge_evidence(group, [piece for piece_group, piece in pending if piece_group is group], journal)
        for group in groups
    ]


async def _run_pieces(
    fleet: Fleet,
    pending: Sequence[tuple[DeviceGroup, VerificationPiece]],
    journal: PieceJournal,
    progress: Callable[[str, int], None],
) -> None:
    failed: list[str] = []

    async def run_one(group: DeviceGroup, piece: VerificationPiece) -> None:
        name = f"{piece.part or 'variants'} {piece.first}"
        try:
            answer = await _run_piece(fleet, group, piece)
            by = str(answer["ran_by"]["worker"])
            result = check_result(piece, group.device["target"], answer.get("found"), by)
        except LayoutError as error:
            failed.append(f"{name}: {error.message}")
            return
        journal.write_piece(group, piece, result, by)
        progress(f"{name} by {by}", piece.weight)

    await asyncio.gather(*(run_one(group, piece) for group, piece in pending))
    if failed:
        raise LayoutError(
            "run_failed",
            f"{len(failed)} of {len(pending)} pieces failed; {failed[0]}",
            "The same command goes on with what is left.",
        )


async def _run_piece(fleet: Fleet, group: DeviceGroup, piece: VerificationPiece) -> Json:
    """Return a piece's answer. Wait if the scheduler goes away: hours of work are not discarded because it restarts."""
    away_since: float | None = None
    while True:
        started = time.monotonic()
        try:
            return await fleet.run(KIND, piece.params, MOST_SECONDS, group.has_member)
        except LayoutError as error:
            now = time.monotonic()
            away_since = now if away_since is None or now - started > AWAY_SECONDS else away_since
            if error.code != "no_scheduler" or now - away_since > AWAY_SECONDS:
                raise
            await asyncio.sleep(AGAIN_SECONDS)


def _merge_evidence(group: DeviceGroup, done: Sequence[VerificationPiece], journal: PieceJournal) -> Json:
    rows = [journal.done[group.key, piece] for piece in done]
    ran_by = Counter(row["worker"] for row in rows)
    return merge_results(group.device, [(piece, row["found"]) for piece, row in zip(done, rows, strict=True)], ran_by)
