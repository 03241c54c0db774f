"""A run that waits for a worker of the fleet, and the worker's answer."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

from lanescope.app.hardware.members import FleetMember, MemberFilter
from lanescope.errors import LayoutError

Json = dict[str, Any]
BACK_SECONDS = 20.0  # in which a nanny restarts a worker that died


class WorkerLostError(Exception):
    """The worker went away before it answered."""


@dataclass(slots=True, eq=False)
class WaitingRun:
    """A run that waits for a worker: its request, the workers that died while running it, and the allowed workers."""

    params: Json
    lost: list[FleetMember]
    is_allowed: MemberFilter
    place: asyncio.Future[FleetMember]
    known: bool = False
    until: float = field(default_factory=lambda: time.monotonic() + BACK_SECONDS)

    def note_worker(self) -> None:
        """Record that a suitable worker is present."""
        self.known, self.until = True, time.monotonic() + BACK_SECONDS

    def is_hopeless(self) -> bool:
        """Return whether waiting is pointless: at once if there never was a suitable worker, else after a nanny had
        time to restart the one that died.
        """
        return not (self.lost or self.known) or time.monotonic() > self.until

    def fail(self, error: LayoutError) -> None:
        if self.lost and error.code == "no_worker":
            error = LayoutError(
                "worker_ended",
                f"{self.lost[0].name} went away during the run, and no other worker can run it.",
                error.hint,
            )
        if not self.place.done():
            self.place.set_exception(error)


def parse_answer(text: str, member: FleetMember, lost: list[FleetMember]) -> Json:
    """Parse a worker's answer and return its result, with the worker; raise LayoutError if the answer is an error."""
    try:
        answer = json.loads(text)
        error = answer.get("error")
        if error is None:
            ran_by = {"worker": member.name, "host": member.host, "program": member.program}
            if lost:
                ran_by["after"] = lost[0].name
            result: Json = answer["result"] | {"ran_by": ran_by}
            return result
        refusal = {key: str(error.get(key, "")) for key in ("code", "message", "hint", "field")}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise LayoutError(
            "worker_garbage", f"{member.name} answered something else than a run.", "See the worker's log."
        ) from None
    raise LayoutError(refusal["code"], refusal["message"], refusal["hint"], refusal["field"])
