"""Named jobs for a fleet's workers: one line of JSON in, one line of JSON out, everything checked again where it runs.

A job is {"job": its name, "program": the version of the client, "params": …}, and never code. The table JOBS lists the
kinds of job: a name, the parser of its parameters, and the seconds it may take.
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
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, shorten_value

Json = dict[str, Any]
LONGEST_JOB = 64 << 20
MARGIN_SECONDS = 70.0  # for starting a worker process


@dataclass(frozen=True)
class JobKind:
    """One kind of job: the reader that checks its parameters, and the seconds it may run."""

    check: Callable[[Mapping[str, Any]], Json]
    seconds: float


def _check_run(params: Mapping[str, Any]) -> Json:
    from lanescope.app.hardware import runs

    return runs.parse_run(params)


def _check_piece(params: Mapping[str, Any]) -> Json:
    from lanescope.app.hardware import pieces

    return pieces.parse_piece(params)


VERIFY = "verify"
# The readers are loaded with the first job: schedulers and nannies start without them.
JOBS = {"run": JobKind(_check_run, 20.0), VERIFY: JobKind(_check_piece, 900.0)}


@lru_cache(maxsize=1)
def compute_program_version() -> str:
    """Return the version of Lanescope and a digest of the code that determines the results of runs."""
    digest = hashlib.sha256()
    engine, hardware = Path(lanescope.__file__).parent, Path(__file__).parent
    code = [path for folder in (engine, hardware) for kind in ("*.py", "table/*.json") for path in folder.rglob(kind)]
    for path in sorted(code):
        if hardware in path.parents or engine / "app" not in path.parents:  # a wheel has app/ inside
            digest.update(path.name.encode() + path.read_bytes())
    return f"{importlib.metadata.version('lanescope')} (code {digest.hexdigest()[:10]})"


def format_job(job: str, params: Json) -> str:
    """Return a job as a line of JSON."""
    return json.dumps({"job": job, "program": compute_program_version(), "params": params})


def parse_job(text: object, version: str) -> tuple[str, Json]:
    """Return (name, checked parameters) of a received job.

    Raise LayoutError for garbage, for a wrong parameter, and if the client has another version of Lanescope.
    """
    try:
        job = json.loads(text) if isinstance(text, str) and len(text) <= LONGEST_JOB else None
    except (ValueError, RecursionError):
        job = None
    if not isinstance(job, dict) or not isinstance(job.get("params"), dict):
        raise LayoutError("bad_job", "This is not a job.", "An object with job, program and params.", "job")
    check_keys(job, ("job", "program", "params"))
    name = parse_choice(job.get("job"), "job", tuple(JOBS), "bad_job")
    if (sender := job.get("program")) != version:
        raise LayoutError(
            "other_version",
            f"This worker is Lanescope {version}; the job is from '{shorten_value(sender)}'.",
            "Install the same version on both.",
            "program",
        )
    return name, JOBS[name].check(job["params"])


class JobQueue(Protocol):
    """A queue that executes checked requests, such as a lane of app/hardware/pool.py."""

    def submit(self, request: Json, seconds: float | None = None) -> Future[Json]: ...


class Station:
    """The queue of one device behind a worker, and the version of this program."""

    def __init__(self, lane: JobQueue, version: str) -> None:
        self.lane, self.version = lane, version

    def answer_job(self, text: object) -> str:
        """Answer a job: {"result"} or {"error": {code, message, hint, field}}."""
        try:
            name, params = parse_job(text, self.version)
            seconds = JOBS[name].seconds
            result = self.lane.submit(params, seconds).result(seconds + MARGIN_SECONDS)
            return json.dumps({"result": result})
        except LayoutError as error:
            refusal = error
        except TimeoutError:
            refusal = LayoutError("timed_out", "The device's queue did not move.")
        return json.dumps({"error": refusal.to_json()})


_stations: list[Station] = []


def set_station(station: Station) -> None:
    """Set the station of this process."""
    _stations[:] = [station]


def perform(text: object) -> str:
    """Answer a job with this process's station; the only function that a scheduler may call."""
    if not _stations:
        raise LayoutError("no_device", "This process is not a Lanescope worker.", "lanescope gpu worker starts one.")
    return _stations[0].answer_job(text)
