"""Named jobs, as a fleet's workers take them: one line of JSON in, one line of JSON out, everything checked anew where
it runs.

A job is {"job": its name, "program": which Lanescope asks, "params": …}, and never code. What it may be is the table
JOBS: a name, the reader of its parameters, and the seconds it may take.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import lanescope
from lanescope.app.hardware import pieces, runs
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, shorten_value

Json = dict[str, Any]
LONGEST_JOB = 64 << 20
MARGIN_SECONDS = 70.0  # for a worker process that has to be started first


@dataclass(frozen=True)
class JobKind:
    """One kind of job: what reads and checks its parameters, and the seconds it may run."""

    check: Callable[[Mapping[str, Any]], Json]
    seconds: float


JOBS = {"run": JobKind(runs.parse_run, 20.0), pieces.KIND: JobKind(pieces.parse_piece, 900.0)}


@lru_cache(maxsize=1)
def compute_program_version() -> str:
    """Which Lanescope this is: its version and a digest of the code that decides what a run says."""
    digest = hashlib.sha256()
    engine, here = Path(lanescope.__file__).parent, Path(__file__).parent
    code = [path for folder in (engine, here) for kind in ("*.py", "table/*.json") for path in folder.rglob(kind)]
    for path in sorted(code):
        if here in path.parents or engine / "app" not in path.parents:  # a wheel has app/ inside
            digest.update(path.name.encode() + path.read_bytes())
    return f"{importlib.metadata.version('lanescope')} (code {digest.hexdigest()[:10]})"


def format_job(job: str, params: Json) -> str:
    """A job as it travels."""
    return json.dumps({"job": job, "program": compute_program_version(), "params": params})


def parse_job(text: object, own: str) -> tuple[str, Json]:
    """Return (name, checked parameters) of a job that has arrived.

    Raise LayoutError for garbage, for a wrong parameter, and if another version of Lanescope asks.
    """
    try:
        given = json.loads(text) if isinstance(text, str) and len(text) <= LONGEST_JOB else None
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or not isinstance(given.get("params"), dict):
        raise LayoutError("bad_job", "This is not a job.", "An object with job, program and params.", "job")
    check_keys(given, ("job", "program", "params"))
    name = parse_choice(given.get("job"), "job", tuple(JOBS), "bad_job")
    if (asking := given.get("program")) != own:
        raise LayoutError(
            "other_version",
            f"This worker is Lanescope {own}; the job is from '{shorten_value(asking)}'.",
            "Install the same version on both.",
            "program",
        )
    return name, JOBS[name].check(given["params"])


class JobQueue(Protocol):
    """What executes a checked request: a lane of app/hardware/pool.py."""

    def submit(self, request: Json, seconds: float | None = None) -> Future[Json]: ...


class Station:
    """What stands behind a worker: the queue of one device, and which program this is."""

    def __init__(self, lane: JobQueue, own: str) -> None:
        self.lane, self.own = lane, own

    def answer_job(self, text: object) -> str:
        """The answer to a job: {"result"} or {"error": {code, message, hint, field}}."""
        try:
            name, params = parse_job(text, self.own)
            seconds = JOBS[name].seconds
            found = self.lane.submit(params, seconds).result(seconds + MARGIN_SECONDS)
            return json.dumps({"result": found})
        except LayoutError as error:
            told = {"code": error.code, "message": error.message, "hint": error.hint, "field": error.field}
        except TimeoutError:
            told = {"code": "timed_out", "message": "The device's queue did not move.", "hint": "", "field": ""}
        return json.dumps({"error": told})


_stations: list[Station] = []


def set_station(station: Station) -> None:
    """Make a station the one of this process."""
    _stations[:] = [station]


def perform(text: object) -> str:
    """The one function that a scheduler may name: a job as text, answered by this process's station."""
    if not _stations:
        raise LayoutError("no_device", "This process is not a Lanescope worker.", "lanescope gpu worker starts one.")
    return _stations[0].answer_job(text)
