"""Where requests compute: a few threads beside the event loop, a bounded queue, a time limit, and a cache of results.

A route written as a plain function runs in these threads (`api.OffLoopRoute`); one written `async def` must compute
nothing itself and passes its computations to `run_off_loop`. If a plain function returns a `wire.CachedBody` for a GET,
it is cached under the address: the event loop answers the next request without a thread, a route or a dependency.

A computation ends with its request: at the time limit, or when the server shuts down, its thread is freed (kit/job).
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
from lanescope.app.kit.job import GRACE, Computation
from lanescope.app.kit.picture import DrawingProcess
from lanescope.app.kit.rate import RateLimit
from lanescope.app.kit.settings import Settings
from lanescope.app.kit.wire import BodyCache, CachedBody, PictureSketch
from lanescope.errors import LayoutError

Result = TypeVar("Result")
M_ARENA_MAX, M_MMAP_THRESHOLD = -8, -3  # malloc.h
COME_AGAIN = "Try again in a few seconds."
MOMENT = 1.0  # seconds after which, with every thread at one computation, the server is not ready


@lru_cache(maxsize=1)
def freeze_memory() -> None:
    """Tune memory and threads once per process, when everything permanent is loaded.

    The catalogue's 150,000 objects are hidden from the garbage collector: a full collection of them took 0.3 s, during
    which every request waited. A thread that computes yields after 1 ms instead of 5: the event loop needs the
    interpreter several times per answer. Large arrays are returned to the system when they are freed.
    """
    gc.freeze()
    gc.enable()  # `lanescope serve` starts without it
    sys.setswitchinterval(0.001)
    with contextlib.suppress(
        AttributeError, OSError
    ):  # glibc: otherwise each thread keeps the memory of its largest answer, 40 MB in total
        malloc = ctypes.CDLL(None).mallopt
        malloc(M_ARENA_MAX, 1)
        malloc(M_MMAP_THRESHOLD, 256 << 10)


class WorkThreads:
    """The worker threads of one server. `jobs`: how many run or wait; a job that outlives its request counts until it
    ends.
    """

    def __init__(self, settings: Settings = Settings(), clock: Callable[[], float] = time.monotonic) -> None:
        self.threads, self.most, self.seconds = settings.threads, settings.threads + settings.waiting, settings.seconds
        self.cache = BodyCache(settings.cache_bytes)
        self.easel = DrawingProcess(settings.seconds)
        self.rate = RateLimit(settings.rate)
        self.clock = clock
        self._jobs: dict[Future[Any], Computation[Any]] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    @property
    def jobs(self) -> int:
        return len(self._jobs)

    async def run(self, make: Callable[[], Result]) -> Result:
        """Run make() in a thread. LayoutError `busy` if too many wait. Cancelling this task, as `limit_time` does, ends
        the computation.
        """
        job = self._submit_job(make)
        try:
            return await asyncio.wrap_future(job.future)
        except asyncio.CancelledError:
            job.end()
            asyncio.get_running_loop().call_later(GRACE, job.interrupt)
            raise
        finally:
            if job.future.done():  # the thread may not have reached the callback yet
                self._forget_job(job.future)

    def check_free(self) -> None:
        """Raise LayoutError `busy` if every thread has been at one computation for longer than MOMENT."""
        with self._lock:
            began = [job.began for job in self._jobs.values() if job.began is not None]
        if len(began) >= self.threads and self.clock() - max(began) > MOMENT:
            subject = f"All {self.threads} threads have" if self.threads > 1 else "The only thread has"
            raise LayoutError("busy", f"{subject} been computing for longer than {MOMENT:g} s.", COME_AGAIN)

    async def draw_sketch(self, sketch: PictureSketch) -> CachedBody:
        """Return a sketch drawn as PNG or PDF."""
        try:
            answer = await asyncio.wrap_future(self.easel.submit(sketch.drawing))
        except LayoutError as error:
            raise self.make_too_slow() if error.code == "timed_out" else error from None
        return await self.run(lambda: CachedBody(DrawingProcess.decode_answer(answer), str(sketch.media_type)))

    @asynccontextmanager
    async def limit_time(self) -> AsyncIterator[None]:
        """Limit the time of a request; LayoutError `too_slow` after it. A waiting computation is dropped, a running one
        ended.
        """
        try:
            async with asyncio.timeout(self.seconds):
                yield
        except TimeoutError:
            raise self.make_too_slow() from None

    def make_too_slow(self) -> LayoutError:
        return LayoutError(
            "too_slow",
            f"This took longer than {self.seconds:g} s.",
            "Request less: a smaller tile, fewer accesses, or a window of the matrix.",
        )

    def _submit_job(self, make: Callable[[], Result]) -> Computation[Result]:
        with self._lock:
            if self.jobs >= self.most:
                raise LayoutError("busy", f"{self.jobs} requests are being computed.", COME_AGAIN)
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="work")
            job = Computation(make, self.make_too_slow, self.clock)
            job.future = self._pool.submit(job.run)
            self._jobs[job.future] = job
        job.future.add_done_callback(self._forget_job)
        return job

    def _forget_job(self, future: Future[Any]) -> None:
        with self._lock:
            self._jobs.pop(future, None)

    def close(self) -> None:
        """Drop waiting jobs and end running ones: their requests are answered."""
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
class RequestContext:
    """The current request: its threads, its cache key (None: not cached), and the coding it wants."""

    work: WorkThreads
    key: Hashable | None
    accepted: str
    scope: Scope

    def charge_client(self) -> None:
        """Charge the client for one computation, once per request. TooOftenError if it has no tokens left."""
        if self.work.rate.rate and not self.scope.get("charged"):
            self.scope["charged"] = True
            self.work.rate.take_token((self.scope.get("client") or ("",))[0])


_answering: contextvars.ContextVar[RequestContext] = contextvars.ContextVar("answering")


def get_request_context() -> RequestContext:
    """Return the context of the current request."""
    return _answering.get()


async def run_off_loop(make: Callable[..., Result], *args: Any) -> Result:
    """Run make(*args) in the threads of the current request's server. A body is compressed there and not cached."""
    context = get_request_context()
    context.charge_client()
    async with context.work.limit_time():
        return await context.work.run(lambda: _compress_body(make(*args), context))


def _compress_body(result: Result, context: RequestContext) -> Result:
    if isinstance(result, CachedBody):
        result.prepare(result.select_coding(context.accepted))
    return result


def keep_body(result: Any, context: RequestContext) -> Any:
    """Compress and cache a body, in the thread that made it."""
    result = _compress_body(result, context)
    if isinstance(result, CachedBody) and context.key is not None and result.cacheable and result.status_code == 200:
        result.route = context.scope.get("route")
        context.work.cache.put(context.key, result)
    return result


class CacheMiddleware:
    """ASGI middleware that answers from the cache, and sets the context of the current request.

    `facts()`: what answers depend on besides their address.
    """

    def __init__(self, app: ASGIApp, work: WorkThreads, facts: Callable[[], Hashable]) -> None:
        self.app, self.work, self.facts = app, work, facts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        accepted = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept-encoding"), "")
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")  # a page's card contains it
        key = None
        if scope["method"] == "GET":
            origin = (scope["scheme"], host, scope.get("root_path", ""))
            key = (scope["path"], scope["query_string"], origin, self.facts())
            body = self.work.cache.get(key)
            coding = body.select_coding(accepted) if body else ""
            if body and body.has_coding(coding):
                scope["route"] = body.route
                return await body(scope, receive, send)
        _answering.set(RequestContext(self.work, key, accepted, scope))
        await self.app(scope, receive, send)
