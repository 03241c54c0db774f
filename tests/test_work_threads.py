"""What is kept is bounded in bytes, and one server computes no more at once than it says."""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from lanescope.app.kit.job import Computation
from lanescope.app.kit.settings import Settings
from lanescope.app.kit.wire import OVERHEAD, BodyCache, CachedBody
from lanescope.app.kit.work import WorkThreads
from lanescope.app.main import create_app
from lanescope.deadline import check_deadline
from lanescope.errors import LayoutError
from tests import asgi
from tests.asgi import send_request
from tests.cases import for_each


def make_body(size: int) -> CachedBody:
    return CachedBody(bytes(size - OVERHEAD), "text/plain")


def test_the_cache_is_bounded_in_bytes() -> None:
    cache = BodyCache(100 * OVERHEAD)
    for number in range(60):
        cache.put(number, make_body(10 * OVERHEAD))
    assert len(cache) == 10 and cache.held_bytes == cache.most_bytes
    assert cache.get(49) is None and cache.get(50) is not None
    cache.put(60, make_body(10 * OVERHEAD))
    assert cache.get(51) is None and cache.get(50) is not None  # 50 was used after 51
    cache.put("large", make_body(26 * OVERHEAD))
    assert cache.get("large") is None and len(cache) == 10


def test_a_body_that_grew_is_counted_anew() -> None:
    cache, grown = BodyCache(100 * OVERHEAD), CachedBody(bytes(range(256)) * 40, "text/plain")
    cache.put("x", grown)
    before = cache.held_bytes
    cache.put("x", grown.prepare("gzip"))
    assert cache.held_bytes == grown.size > before and len(cache) == 1


def test_work_runs_in_its_own_threads() -> None:
    work = WorkThreads(Settings(threads=1))
    name = asgi.run_coroutine(work.run(lambda: threading.current_thread().name))
    assert name.startswith("work") and work.jobs == 0
    work.close()


async def run_limited(work: WorkThreads, make: Any) -> Any:
    async with work.limit_time():
        return await work.run(make)


def test_slow_work_is_refused_in_time_and_keeps_its_place_until_it_ends() -> None:
    work, gate = WorkThreads(Settings(threads=1, waiting=1, seconds=0.05)), threading.Event()

    async def run() -> None:
        with pytest.raises(LayoutError, match=r"longer than 0\.05 s") as slow:
            await run_limited(work, gate.wait)
        assert slow.value.code == "too_slow" and work.jobs == 1  # the thread is still at it
        with pytest.raises(LayoutError) as queued:
            await run_limited(work, lambda: pytest.fail("it was given up before it began"))
        assert queued.value.code == "too_slow" and work.jobs == 1  # one that had not begun is dropped
        waiting = asyncio.ensure_future(work.run(lambda: 1))
        await asyncio.sleep(0)
        with pytest.raises(LayoutError) as full:
            await work.run(lambda: 2)
        assert full.value.code == "busy"
        gate.set()
        assert await waiting == 1
        assert await work.run(lambda: 3) == 3

    asgi.run_coroutine(run())
    assert work.jobs == 0
    work.close()


def count_forever(asks: bool) -> None:
    for _ in itertools.count():
        if asks:
            check_deadline()


def swallow_forever() -> None:
    while True:
        try:
            check_deadline()
        except Exception:
            pytest.fail("a reader takes the end for a refusal")


@for_each(
    "make",
    [partial(count_forever, True), partial(count_forever, False), swallow_forever],
    ids=["asks", "never asks", "catches exceptions"],
)
def test_a_computation_ends_with_its_request(make: Callable[[], None]) -> None:
    work = WorkThreads(Settings(threads=1, waiting=0, seconds=0.05))

    async def run() -> None:
        with pytest.raises(LayoutError, match=r"longer than 0\.05 s"):
            await run_limited(work, make)
        while work.jobs:
            await asyncio.sleep(0.005)
        assert await work.run(lambda: 3) == 3  # in the one thread there is

    asgi.run_coroutine(asyncio.wait_for(run(), 30))
    work.close()


def test_what_computes_when_the_server_shuts_down_is_ended() -> None:
    work = WorkThreads(Settings(threads=2))

    async def run() -> None:
        running = [asyncio.ensure_future(work.run(partial(count_forever, asks))) for asks in (True, False)]
        while work.jobs < 2:
            await asyncio.sleep(0)
        await asyncio.to_thread(work.close)
        for one in await asyncio.gather(*running, return_exceptions=True):
            assert isinstance(one, LayoutError) and one.code == "too_slow"

    asgi.run_coroutine(asyncio.wait_for(run(), 30))
    assert work.jobs == 0


@pytest.fixture
def threads_that_change_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def count_to(turns: int) -> int:
    for _ in range(turns):
        pass
    return turns


@pytest.mark.thorough
@pytest.mark.usefixtures("threads_that_change_often")
def test_interrupts_that_race_a_computation_hit_neither_its_result_nor_what_the_thread_does_next() -> None:
    ended, turns, rounds = 0, 60_000, 300  # long enough for a busy machine to interrupt some of them in time
    with ThreadPoolExecutor(1) as pool:
        for wait in range(rounds):
            job = Computation(partial(count_to, turns), lambda: LayoutError("too_slow", "x"))
            future, after = pool.submit(job.run), pool.submit(count_to, 10)
            while not (job.began or future.done()):
                pass
            count_to(wait * 419 % (2 * turns))
            job.interrupt()
            try:
                assert future.result(30) == turns
            except LayoutError as error:
                assert error.code == "too_slow"
                ended += 1
            assert after.result(30) == 10
    assert 0 < ended < rounds


def test_the_server_is_not_ready_while_every_thread_is_at_one_computation() -> None:
    gate, begun, now = threading.Event(), threading.Semaphore(0), 0.0
    app = create_app(settings=Settings(threads=2, seconds=60))
    app.state.work.clock = lambda: now

    @app.get("/wait")
    def wait() -> None:
        begun.release()
        gate.wait()

    async def run() -> None:
        nonlocal now
        waiting = [
            asyncio.ensure_future(send_request(app, "GET", "/wait")) for _ in range(3)
        ]  # one of them waits for a thread
        for _ in range(2):
            await asyncio.to_thread(begun.acquire)
        assert (await send_request(app, "GET", "/readyz")).status == 200  # for a moment all may be busy
        now = 1.5
        answer = await send_request(app, "GET", "/readyz")
        assert answer.status == 503 and int(answer.headers["retry-after"]) > 0
        error = answer.json()["error"]
        assert error["code"] == "busy"
        assert error["message"] == "All 2 threads have been computing for longer than 1 s."
        assert (await send_request(app, "GET", "/healthz")).status == 200
        gate.set()
        await asyncio.gather(*waiting)
        assert (await send_request(app, "GET", "/readyz")).status == 200

    asgi.run_coroutine(run())
    app.state.work.close()


def test_a_thread_that_is_free_or_has_just_begun_keeps_the_server_ready() -> None:
    gate, begun, now = threading.Event(), threading.Semaphore(0), 0.0
    work = WorkThreads(Settings(threads=2), clock=lambda: now)

    def wait() -> None:
        begun.release()
        gate.wait()

    async def run() -> None:
        nonlocal now
        waiting = []
        for started in (0.0, 100.0):
            now = started
            waiting.append(asyncio.ensure_future(work.run(wait)))
            await asyncio.to_thread(begun.acquire)
            now += 0.5
            work.check_free()
        now = 102.0
        with pytest.raises(LayoutError, match="All 2 threads"):
            work.check_free()
        gate.set()
        await asyncio.gather(*waiting)
        work.check_free()

    asgi.run_coroutine(run())
    work.close()
