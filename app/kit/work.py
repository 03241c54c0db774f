"""Where requests compute: a few threads beside the event loop, a bounded queue, a time limit, and a cache of what was
made.

A route written as a plain function runs in these threads (`api.OffLoop` sees to it); one written `async def` must
compute nothing itself and gives what it has to compute to `off_loop`. A plain function that returns a `wire.Body` for a
GET has it kept under the address, so that the next request for the same address is answered from the event loop without
a thread, a route or a dependency.

A computation ends with its request: when the time limit is over, or the server shuts down, its thread is freed
(kit/job).
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import ctypes
import gc
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from lanescope.app.kit.asgi import ASGIApp, Receive, Scope, Send
from lanescope.app.kit.job import GRACE, Job
from lanescope.app.kit.picture import Easel
from lanescope.app.kit.rate import Rate
from lanescope.app.kit.settings import Settings
from lanescope.app.kit.wire import Body, Cache, Sketch
from lanescope.errors import LayoutError

Made = TypeVar("Made")
M_ARENA_MAX, M_MMAP_THRESHOLD = -8, -3  # malloc.h
COME_AGAIN = "Try again in a few seconds."
MOMENT = 1.0  # seconds for which every thread may be at one computation before the server is not ready


@lru_cache(maxsize=1)
def settle() -> None:
    """Once a process, when what stays is loaded: nothing else may hold the interpreter for long.

    The catalogue's 150,000 objects leave the garbage collector's sight: a full collection of them took 0.3 s, with
    every request waiting. And a thread that computes gives way after 1 ms instead of 5: the event loop needs the
    interpreter several times for one answer. Large arrays are given back to the system when they are freed.
    """
    gc.freeze()
    gc.enable()  # `lanescope serve` starts without it
    sys.setswitchinterval(0.001)
    with contextlib.suppress(
        AttributeError, OSError
    ):  # glibc's: else each thread keeps what its largest answer took, 40 MB in all
        malloc = ctypes.CDLL(None).mallopt
        malloc(M_ARENA_MAX, 1)
        malloc(M_MMAP_THRESHOLD, 256 << 10)


class Work:
    """The threads of one server. `held` jobs are running or waiting; one that outlives its request is counted until it
    ends.
    """

    def __init__(self, settings: Settings = Settings(), clock: Callable[[], float] = time.monotonic) -> None:
        self.threads, self.most, self.seconds = settings.threads, settings.threads + settings.waiting, settings.seconds
        self.cache = Cache(settings.cache_bytes)
        self.easel = Easel(settings.seconds)
        self.rate = Rate(settings.rate)
        self.clock = clock
        self._jobs: dict[Future[Any], Job[Any]] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        return len(self._jobs)

    async def run(self, make: Callable[[], Made]) -> Made:
        """make() in a thread; LayoutError `busy` where too many wait. When this task is cancelled, as at the end of
        `limited`, the computation is ended.
        """
        job = self._submit(make)
        try:
            return await asyncio.wrap_future(job.future)
        except asyncio.CancelledError:
            job.end()
            asyncio.get_running_loop().call_later(GRACE, job.interrupt)
            raise

    def check_free(self) -> None:
        """LayoutError `busy` if every thread has been at one computation for longer than MOMENT."""
        with self._lock:
            began = [job.began for job in self._jobs.values() if job.began is not None]
        if len(began) >= self.threads and self.clock() - max(began) > MOMENT:
            many = f"All {self.threads} threads have" if self.threads > 1 else "The only thread has"
            raise LayoutError("busy", f"{many} been computing for longer than {MOMENT:g} s.", COME_AGAIN)

    async def drawn(self, sketch: Sketch) -> Body:
        """A sketch as PNG or PDF."""
        try:
            answer = await asyncio.wrap_future(self.easel.submit(sketch.drawing))
        except LayoutError as error:
            raise self.too_slow() if error.code == "timed_out" else error from None
        return await self.run(lambda: Body(Easel.bytes_of(answer), str(sketch.media_type)))

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[None]:
        """The time one request has; LayoutError `too_slow` after it. What has not begun is dropped, what has is
        ended.
        """
        try:
            async with asyncio.timeout(self.seconds):
                yield
        except TimeoutError:
            raise self.too_slow() from None

    def too_slow(self) -> LayoutError:
        return LayoutError(
            "too_slow",
            f"This took longer than {self.seconds:g} s.",
            "Ask for less: a smaller tile, fewer accesses, a window.",
        )

    def _submit(self, make: Callable[[], Made]) -> Job[Made]:
        with self._lock:
            if self.held >= self.most:
                raise LayoutError("busy", f"{self.held} requests are being computed.", COME_AGAIN)
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="work")
            job = Job(make, self.too_slow, self.clock)
            job.future = self._pool.submit(job.run)
            self._jobs[job.future] = job
        job.future.add_done_callback(self._left)
        return job

    def _left(self, future: Future[Any]) -> None:
        with self._lock:
            del self._jobs[future]

    def close(self) -> None:
        """Drop what waits and end what runs: its requests are answered."""
        with self._lock:
            pool, self._pool = self._pool, None
            jobs = dict(self._jobs)
        for job in jobs.values():
            job.end()
        if pool:
            pool.shutdown(wait=False, cancel_futures=True)
            for future in wait(jobs, GRACE).not_done:
                jobs[future].interrupt()
            pool.shutdown()
        self.easel.close()


@dataclass(frozen=True, slots=True)
class Answering:
    """The request of this task: whose threads it uses, under which key its body is kept (None: not at all), which
    coding it wants.
    """

    work: Work
    key: Hashable | None
    accepted: str
    scope: Scope

    def charge(self) -> None:
        """One computation to the client's account, once a request; TooOftenError where it has none left."""
        if self.work.rate.rate and not self.scope.get("charged"):
            self.scope["charged"] = True
            self.work.rate.take((self.scope.get("client") or ("",))[0])


_answering: contextvars.ContextVar[Answering] = contextvars.ContextVar("answering")


def answering() -> Answering:
    """The request of this task."""
    return _answering.get()


async def off_loop(make: Callable[..., Made], *args: Any) -> Made:
    """make(*args) in the threads of the server whose request this is; a body it makes is compressed there, and not
    kept.
    """
    now = answering()
    now.charge()
    async with now.work.limited():
        return await now.work.run(lambda: _prepared(make(*args), now))


def _prepared(made: Made, now: Answering) -> Made:
    if isinstance(made, Body):
        made.prepare(made.coding(now.accepted))
    return made


def kept(made: Any, now: Answering) -> Any:
    """In the thread: a body is compressed and kept."""
    made = _prepared(made, now)
    if isinstance(made, Body) and now.key is not None and made.keep and made.status_code == 200:
        made.route = now.scope.get("route")
        now.work.cache.put(now.key, made)
    return made


class Kept:
    """ASGI middleware: sends what the cache has, and tells the task below whose request it answers.

    `facts()` is what answers depend on beside their address."""

    def __init__(self, app: ASGIApp, work: Work, facts: Callable[[], Hashable]) -> None:
        self.app, self.work, self.facts = app, work, facts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        accepted = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept-encoding"), "")
        key = None
        if scope["method"] == "GET":
            key = (scope["path"], scope["query_string"], scope.get("root_path", ""), self.facts())
            body = self.work.cache.get(key)
            coding = body.coding(accepted) if body else ""
            if body and body.has(coding):
                scope["route"] = body.route
                return await body(scope, receive, send)
        _answering.set(Answering(self.work, key, accepted, scope))
        await self.app(scope, receive, send)
