"""The server's side of the worker processes: one a device, one job at a time from a bounded queue, a time limit a job.

If a worker hangs, dies or returns garbage, only its current job fails: the worker is killed, and the next job
starts a new one.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from selectors import EVENT_READ, DefaultSelector
from typing import Any

from lanescope.errors import LayoutError

Json = dict[str, Any]
JOB_SECONDS, START_SECONDS, QUEUE, RECENT = 20.0, 60.0, 16, 50
LONGEST_ANSWER = 64 << 20


NUMPY = -1  # the lane of the NumPy reference


def build_worker_command(device: int) -> list[str]:
    """Build the command that starts a worker."""
    return [
        sys.executable,
        "-m",
        "lanescope.app.hardware.worker",
        "--device",
        "numpy" if device == NUMPY else str(device),
    ]


def find_queue_number(request: Json) -> int:
    """Return the number of the queue for a checked request."""
    return NUMPY if request.get("backend") == "numpy" else int(request.get("device", 0))


class BrokenWorkerError(Exception):
    """The worker cannot go on: it hung, ended, or returned garbage."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class WorkerProcess:
    """One child process and its two pipes."""

    def __init__(self, argv: Sequence[str], start_seconds: float = START_SECONDS) -> None:
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._buffer = b""
        try:
            self.hello = self._read_answer(time.monotonic() + start_seconds, "start", start_seconds)
        except BrokenWorkerError:
            self.close()
            raise

    def send_request(self, number: int, request: Json, seconds: float) -> Json:
        """Send one request and return its answer; BrokenWorkerError if it is late, or answers another request."""
        assert self.process.stdin
        try:
            self.process.stdin.write((json.dumps({"id": number, "request": request}) + "\n").encode())
        except OSError:
            raise BrokenWorkerError(
                "worker_ended", f"The worker had ended with status {self.process.wait()}."
            ) from None
        answer = self._read_answer(time.monotonic() + seconds, "the run", seconds)
        if answer.get("id") != number or not isinstance(answer.get("result", answer.get("error")), dict):
            raise BrokenWorkerError("worker_garbage", "The worker answered something else than the request.")
        return answer

    def _read_answer(self, until: float, activity: str, seconds: float) -> Json:
        assert self.process.stdout
        with DefaultSelector() as selector:
            selector.register(self.process.stdout, EVENT_READ)
            while b"\n" not in self._buffer:
                seconds_left = until - time.monotonic()
                if seconds_left <= 0 or not selector.select(seconds_left):
                    raise BrokenWorkerError(
                        "timed_out", f"There was no answer to {activity} within {seconds:g} s; the worker was killed."
                    )
                part = self.process.stdout.read(1 << 20)
                if not part:
                    raise BrokenWorkerError(
                        "worker_ended", f"The worker ended with status {self.process.wait()} during {activity}."
                    )
                self._buffer += part
                if len(self._buffer) > LONGEST_ANSWER:
                    raise BrokenWorkerError("worker_garbage", "The worker's answer has no end.")
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise BrokenWorkerError("worker_garbage", "The worker wrote a line that is not a JSON object.")
        return answer

    def close(self) -> None:
        """End the process now, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()


@dataclass
class QueuedRun:
    """A request in the queue."""

    request: Json
    seconds: float
    future: Future[Json] = field(default_factory=Future)


class WorkerQueue:
    """The queue of one worker and the thread that serves it: of a device, or of another worker by name. The worker
    starts with the first job.
    """

    def __init__(
        self, number: int | str, argv: Callable[[Any], list[str]], job_seconds: float, most: int, start_seconds: float
    ) -> None:
        self.number, self.argv, self.job_seconds, self.start_seconds = number, argv, job_seconds, start_seconds
        self.jobs: queue.Queue[QueuedRun | None] = queue.Queue(most)
        self.worker: WorkerProcess | None = None
        self.restarts, self.request_count = 0, 0
        self.thread = threading.Thread(target=self._serve_queue, name=f"lane-{number}", daemon=True)
        self.thread.start()

    def submit(self, request: Json, seconds: float | None = None) -> Future[Json]:
        """Put a request into the queue; seconds: its time limit, if it differs from the default."""
        job = QueuedRun(request, seconds or self.job_seconds)
        try:
            self.jobs.put_nowait(job)
        except queue.Full:
            raise LayoutError("busy", f"{self.jobs.maxsize} runs are waiting.", "Try again in a few seconds.") from None
        return job.future

    def _serve_queue(self) -> None:
        while (job := self.jobs.get()) is not None:
            if not job.future.set_running_or_notify_cancel():
                continue
            try:
                job.future.set_result(self._run_request(job.request, job.seconds))
            except LayoutError as error:
                job.future.set_exception(error)
            except Exception as error:
                job.future.set_exception(
                    LayoutError("worker_failed", f"The worker could not be used: {error}.", "See the server's log.")
                )
        self._drop_queue()

    def _run_request(self, request: Json, seconds: float) -> Json:
        try:
            if self.worker is None:
                self.worker = WorkerProcess(self.argv(self.number), self.start_seconds)
            if not self.worker.hello.get("ready"):
                reason = str(self.worker.hello.get("reason", "The worker gave no reason."))
                self._drop_queue()
                raise LayoutError(
                    "no_device", reason, "GET /api/v1/gpu reports it, too; backend numpy simulates a run."
                )
            if request.get("kind") == "hello":
                return self.worker.hello
            self.request_count += 1
            answer = self.worker.send_request(self.request_count, request, seconds)
        except BrokenWorkerError as error:
            self._drop_queue()
            self.restarts += 1
            raise LayoutError(error.code, str(error), "The next run starts a new worker.") from None
        if "error" in answer:
            if answer.get("fatal"):
                self._drop_queue()
                self.restarts += 1
            refusal = {name: str(answer["error"].get(name, "")) for name in ("code", "message", "hint", "field")}
            raise LayoutError(refusal["code"], refusal["message"], refusal["hint"], refusal["field"])
        result: Json = answer["result"]
        return result

    def close(self) -> None:
        """End the worker now: a job in progress fails, jobs that wait are dropped."""
        worker = self.worker
        if worker:
            worker.process.kill()
        while True:
            try:
                job = self.jobs.get_nowait()
            except queue.Empty:
                break
            if job:
                job.future.cancel()
        self.jobs.put(None)
        self.thread.join(5)

    def _drop_queue(self) -> None:
        if self.worker:
            self.worker.close()
            self.worker = None


def classify_outcome(done: Future[Json]) -> str:
    """Classify how a run ended: it agrees, it differs, or the code of its error."""
    error = LayoutError("cancelled", "", "") if done.cancelled() else done.exception()
    if isinstance(error, LayoutError):
        return error.code
    if error:
        return "failed"
    return "agrees" if done.result()["agrees"] else "differs"


def pass_on_outcome(done: Future[Json], to: Future[Json]) -> None:
    """Copy the outcome of a future to another, unless that was cancelled."""
    if done.cancelled():
        to.cancel()
    if not to.set_running_or_notify_cancel():
        return
    if error := done.exception():
        to.set_exception(error)
    else:
        to.set_result(done.result())


class RunLedger:
    """The recent runs and how they ended, on all devices; counts for /metrics."""

    def __init__(self) -> None:
        self.recent: deque[Json] = deque(maxlen=RECENT)
        self.counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def watch_run(self, request: Json, future: Future[Json]) -> Future[Json]:
        """Return a future of the same run that is done once the run is noted: a future's own callbacks come after those
        who wait for it. Cancelling it cancels the run.
        """
        begun = time.monotonic()
        noted: Future[Json] = Future()

        def note_end(done: Future[Json]) -> None:
            try:
                self._note_run(request, done, begun)
            finally:
                pass_on_outcome(done, noted)

        noted.add_done_callback(lambda waited: future.cancel() if waited.cancelled() else None)
        future.add_done_callback(note_end)
        return noted

    def _note_run(self, request: Json, done: Future[Json], begun: float) -> None:
        outcome = classify_outcome(done)
        row = {
            "kind": request["kind"],
            "what": request.get("instruction") or request.get("access", ""),
            "operand": request.get("operand", ""),
            "backend": request.get("backend", ""),
            "outcome": outcome,
            "seconds": round(time.monotonic() - begun, 3),
            "at": time.strftime("%H:%M:%S", time.gmtime()),
        }
        if not done.cancelled() and not done.exception() and (ran_by := done.result().get("ran_by")):
            row["worker"] = ran_by["worker"]
        with self._lock:
            self.counts[request["kind"], outcome] += 1
            self.recent.appendleft(row)


class WorkerPool:
    """The queue of every device, and the ledger of their runs. Nothing is started before the first call."""

    def __init__(
        self,
        argv: Callable[[int], list[str]] = build_worker_command,
        job_seconds: float = JOB_SECONDS,
        most: int = QUEUE,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self.argv, self.job_seconds, self.most, self.start_seconds = argv, job_seconds, most, start_seconds
        self.lanes: dict[int, WorkerQueue] = {}
        self.ledger = RunLedger()
        self._lock = threading.Lock()

    def get_queue(self, number: int) -> WorkerQueue:
        with self._lock:
            if number not in self.lanes:
                self.lanes[number] = WorkerQueue(number, self.argv, self.job_seconds, self.most, self.start_seconds)
            return self.lanes[number]

    def submit(self, request: Json) -> Future[Json]:
        """Submit a checked request to its device's queue; the future holds the answer or a LayoutError."""
        future = self.get_queue(find_queue_number(request)).submit(request)
        return future if request.get("kind") == "hello" else self.ledger.watch_run(request, future)

    @property
    def waiting(self) -> int:
        """Return the number of runs in the queues."""
        return sum(lane.jobs.qsize() for lane in self.lanes.values())

    @property
    def restarts(self) -> int:
        return sum(lane.restarts for lane in self.lanes.values())

    def close(self) -> None:
        """End every worker now: a run in progress fails."""
        for lane in self.lanes.values():
            lane.close()
        self.lanes.clear()
