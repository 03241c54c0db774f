"""Nothing is computed on the event loop, what is kept is bounded in bytes, and one server computes no more at once than
it says.
"""

from __future__ import annotations

import asyncio
import gc
import io
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from lanescope import find
from lanescope.app.diagram import forms as pictures
from lanescope.app.kit import picture as raster
from lanescope.app.kit import picture_worker as raster_worker
from lanescope.app.kit.examples import BODIES, EXAMPLES
from lanescope.app.kit.job import Computation
from lanescope.app.kit.settings import Settings
from lanescope.app.kit.wire import OVERHEAD, BodyCache, CachedBody
from lanescope.app.kit.work import WorkThreads
from lanescope.app.main import create_app
from lanescope.deadline import check_deadline
from lanescope.errors import LayoutError
from tests import asgi
from tests.asgi import send_request

ROOT = Path(__file__).parents[1]
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
WORD = "0x4000004004000101"
PAGES = (
    "/tmem/epilogue",
    "/scale-factors",
    "/metadata/order",
    "/tmem",
    "/descriptor/tcgen05",
    "/descriptor/tcgen05/0x4000404000010100",
    "/idesc",
    "/idesc/0x08400490?kind=f16",
    "/zero-column-mask",
    "/zero-column-mask/0x0003028000000000",
    "/instructions",
    "/favicon.ico",
    "/kernel/wgmma.mma_async.m64n32k16.f32.f16.f16",
    "/smem/atoms",
    "/",
    "/?q=bf16",
    "/read?text=LDSM",
    "/read.json?text=LDSM",
    "/read/files",
    "/metadata",
    "/instructions?q=bf16&part=rows",
    f"/go?ptx={M16}",
    "/docs",
    "/help",
    f"/i/{M16}",
    f"/i/{M16}/a.svg",
    f"/i/{M16}.json",
    f"/i/{M16}.cu",
    "/smem",
    "/smem.svg",
    "/descriptor",
    "/descriptor/wgmma",
    f"/descriptor/wgmma/{WORD}",
    f"/descriptor/wgmma/{WORD}.svg",
    f"/descriptor/wgmma/{WORD}.svg?s_swizzle=64B",
    "/chain",
    "/banks",
    "/diagram",
    "/dump",
    "/dump?example=swizzle",
    "/capture",
    "/capture?example=k-step",
    "/capture/lanescope.cuh",
    "/gallery",
    "/gpu",
    f"/gpu/run?kind=mma&instruction={M16}&backend=numpy",
    f"/steps/{M16}",
    f"/steps/{M16}.txt",
    "/guide",
    "/guide/swizzle",
    "/guide/k-major-none",
    "/guide/benchmarks",
    "/guide/k-major-needs-no-transpose",
    "/reuse",
    "/compare",
    f"/metadata/{SPARSE}",
    f"/api/v1/instructions/{SPARSE}/metadata",
    "/palette.css",
    "/openapi.json",
    f"/kernel/{M16}",
    "/tiles/mma",
    "/tiles/mma.svg",
    "/tiles/mma/chain",
    "/tiles/copy",
    "/tiles/copy.svg",
    "/tiles/loop",
    "/tiles/loop.svg",
    "/layouts/triton",
    "/layouts/tv",
    "/cute",
)
PNGS = (f"/i/{M16}/a.png", f"/i/{M16}/a.pdf", "/smem.png")
NPY = io.BytesIO()
np.save(NPY, np.eye(8, dtype=np.int8))
FORMS = {
    "/descriptor/read.json": {"text": WORD},
    "/steps/file.json": NPY.getvalue(),
    f"/steps/{M16}": b"a=i",
}  # what the pages post beside the API
REFUSED = (
    "/i/mma.m16n8k12.row.col.f32.f16.f16.f32",
    "/api/v1/instructions/nothing",
    "/smem?mn=7",
    "/smem.svg?mn=7",
    "/api/v1/instructions?q=mma.m9",
    "/nothing",
    f"/{M16}",
)
# What may run on the event loop: the server's own plumbing, waiting for the device's worker, and errors.
PLUMBING = {
    "app/main.py",
    "app/kit/errors.py",
    "app/kit/fact.py",
    "app/kit/api.py",
    "app/kit/work.py",
    "app/kit/job.py",
    "app/kit/rate.py",
    "app/kit/limits.py",
    "app/kit/headers.py",
    "app/kit/prefix.py",
    "app/kit/logs.py",
    "app/kit/wire.py",
    "app/kit/metrics.py",
    "app/runs/page.py",
    "app/runs/api.py",
    "app/runs/hardware.py",
    "app/steps/api.py",
    "app/steps/page.py",
    "app/hardware/pool.py",
    "app/kit/page.py",
    "app/kit/picture.py",
    "layouts/errors.py",
}
WORK_OF_PLUMBING = {
    ("app/kit/api.py", "parse_json"),
    ("app/kit/wire.py", "prepare"),
    ("app/kit/page.py", "render_page"),
    ("app/runs/facts.py", "load_evidence"),
    *(("app/steps/page.py", name) for name in ("_form", "_text")),
    ("app/kit/picture.py", "find_fonts"),
    ("app/kit/picture.py", "__post_init__"),
    ("app/kit/picture.py", "decode_answer"),
}
HARMLESS = {
    ("app/kit/menus.py", "menu_of"),
    ("layouts/ptx/catalog.py", "get_assembler"),
    ("layouts/inputs.py", "shorten_value"),
    ("layouts/ptx/instruction.py", "threads"),
}  # a look-up; made once; bounded; a number


class LoopWatcher:
    """The project's functions that ran in this thread while it was watched: (file, function)."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(ROOT)):
            self.seen.add((str(Path(name).relative_to(ROOT)), frame.f_code.co_name))

    def __enter__(self) -> LoopWatcher:
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def computed(self) -> set[tuple[str, str]]:
        return {
            (file, name)
            for file, name in self.seen
            if file.startswith(("app/", "layouts/"))
            and (file, name) not in HARMLESS
            and (file not in PLUMBING or (file, name) in WORK_OF_PLUMBING)
        }


@pytest.fixture(scope="module")
def app() -> Iterator[Any]:
    made = create_app()
    asgi.run_coroutine(send_request(made, "GET", "/i/nothing"))  # the error page's frame is worked out once
    yield made
    made.state.work.close()
    made.state.hardware.pool.close()


def list_routes(app: Any) -> set[str]:
    routes = [
        route for entry in app.routes for route in getattr(getattr(entry, "original_router", None), "routes", [entry])
    ]
    return {route.path for route in routes if isinstance(route, APIRoute)}


def test_no_route_computes_on_the_event_loop(app: Any) -> None:
    plotly = (
        asgi.run_coroutine(send_request(app, "GET", f"/i/{M16}")).body.decode().split('data-plotly="')[1].split('"')[0]
    )
    gets = [*PAGES, *([] if raster.explain_missing_renderer() else PNGS), *EXAMPLES.values(), plotly]
    codings = ("identity", "br")  # a page is asked for twice: the second answer is the one that was kept
    requests = [("GET", address, b"", coding) for coding in codings for address in (*gets, *REFUSED)]
    requests += [("POST", path, body, "br") for path, body in {**BODIES, **FORMS}.items()]

    async def run() -> set[str]:
        visited = set()
        for method, address, body, coding in requests:
            answer = await send_request(app, method, address, body, headers={"accept-encoding": coding})
            visited.add(answer.route)
            assert answer.status in ((404, 422, 200) if address in REFUSED else (200, 303)), (
                address,
                answer.status,
                answer.body[:300],
            )
        return visited

    with LoopWatcher() as watched:
        visited = asgi.run_coroutine(run())
    assert not watched.computed(), watched.computed()
    assert visited >= list_routes(app), (
        f"routes without an address in PAGES, FORMS or app/kit/examples.py: {list_routes(app) - visited}"
    )


def test_a_posted_dump_is_examined_off_the_loop(app: Any) -> None:
    part = b'--b\r\ncontent-disposition: form-data; name="dump"; filename="x"\r\n\r\n' + bytes(64) + b"\r\n--b--\r\n"
    kind = {"content-type": "multipart/form-data; boundary=b"}
    with LoopWatcher() as watched:
        answer = asgi.run_coroutine(send_request(app, "POST", "/dump", part, headers=kind))
    assert answer.status == 200 and b"lie outside the dump" in answer.body
    assert watched.computed() <= {("app/dump/page.py", "post_dump")}


def test_the_watch_bites() -> None:
    from lanescope import inputs

    with LoopWatcher() as watched:
        inputs.parse_integer("1", "x")
    assert ("layouts/inputs.py", "parse_integer") in watched.computed()


def test_a_second_request_needs_no_thread(app: Any) -> None:
    first = asgi.run_coroutine(send_request(app, "GET", f"/api/v1/instructions/{M16}/operands/a"))
    app.state.work.run, kept = None, app.state.work.run  # nothing can be computed now
    try:
        again = asgi.run_coroutine(send_request(app, "GET", f"/api/v1/instructions/{M16}/operands/a"))
        assert (again.status, again.body, again.headers) == (
            200,
            first.body,
            first.headers,
        ) and again.route == first.route
    finally:
        app.state.work.run = kept


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
    assert name.startswith("work") and work.held == 0
    work.close()


async def run_limited(work: WorkThreads, make: Any) -> Any:
    async with work.limit_time():
        return await work.run(make)


def test_slow_work_is_refused_in_time_and_keeps_its_place_until_it_ends() -> None:
    work, gate = WorkThreads(Settings(threads=1, waiting=1, seconds=0.05)), threading.Event()

    async def run() -> None:
        with pytest.raises(LayoutError, match=r"longer than 0\.05 s") as slow:
            await run_limited(work, gate.wait)
        assert slow.value.code == "too_slow" and work.held == 1  # the thread is still at it
        with pytest.raises(LayoutError) as queued:
            await run_limited(work, lambda: pytest.fail("it was given up before it began"))
        assert queued.value.code == "too_slow" and work.held == 1  # one that had not begun is dropped
        waiting = asyncio.ensure_future(work.run(lambda: 1))
        await asyncio.sleep(0)
        with pytest.raises(LayoutError) as full:
            await work.run(lambda: 2)
        assert full.value.code == "busy"
        gate.set()
        assert await waiting == 1
        assert await work.run(lambda: 3) == 3

    asgi.run_coroutine(run())
    assert work.held == 0
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


@pytest.mark.parametrize(
    "make",
    [partial(count_forever, True), partial(count_forever, False), swallow_forever],
    ids=["asks", "never asks", "catches exceptions"],
)
def test_a_computation_ends_with_its_request(make: Callable[[], None]) -> None:
    work = WorkThreads(Settings(threads=1, waiting=0, seconds=0.05))

    async def run() -> None:
        with pytest.raises(LayoutError, match=r"longer than 0\.05 s"):
            await run_limited(work, make)
        while work.held:
            await asyncio.sleep(0.005)
        assert await work.run(lambda: 3) == 3  # in the one thread there is

    asgi.run_coroutine(asyncio.wait_for(run(), 30))
    work.close()


def test_what_computes_when_the_server_shuts_down_is_ended() -> None:
    work = WorkThreads(Settings(threads=2))

    async def run() -> None:
        running = [asyncio.ensure_future(work.run(partial(count_forever, asks))) for asks in (True, False)]
        while work.held < 2:
            await asyncio.sleep(0)
        await asyncio.to_thread(work.close)
        for one in await asyncio.gather(*running, return_exceptions=True):
            assert isinstance(one, LayoutError) and one.code == "too_slow"

    asgi.run_coroutine(asyncio.wait_for(run(), 30))
    assert work.held == 0


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


@pytest.mark.usefixtures("threads_that_change_often")
def test_interrupts_that_race_a_computation_hit_neither_its_result_nor_what_the_thread_does_next() -> None:
    ended, turns = 0, 5000
    with ThreadPoolExecutor(1) as pool:
        for wait in range(1000):
            job = Computation(partial(count_to, turns), lambda: LayoutError("too_slow", "x"))
            future, after = pool.submit(job.run), pool.submit(count_to, 10)
            while not (job.began or future.done()):
                pass
            count_to(wait * 7 % (2 * turns))
            job.interrupt()
            try:
                assert future.result(30) == turns
            except LayoutError as error:
                assert error.code == "too_slow"
                ended += 1
            assert after.result(30) == 10
    assert 0 < ended < 1000


def test_an_interrupt_that_comes_as_a_computation_leaves_takes_no_result() -> None:
    class Late(Computation[int]):
        def _leave(self) -> None:
            self.interrupt()
            super()._leave()

    assert Late(lambda: 5, lambda: LayoutError("too_slow", "x")).run() == 5


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


def test_refusals_of_work_say_when_to_come_again() -> None:
    gate = threading.Event()
    app = create_app(settings=Settings(threads=1, waiting=0, seconds=0.05))
    app.get("/wait")(gate.wait)

    async def run() -> None:
        slow = await send_request(app, "GET", "/wait")
        busy = await send_request(app, "GET", "/api/v1/instructions")
        gate.set()
        assert slow.status == 503
        assert busy.status == 503 and busy.json()["error"]["code"] == "busy" and int(busy.headers["retry-after"]) > 0
        assert (await send_request(app, "GET", "/healthz")).status == 200

    asgi.run_coroutine(run())
    app.state.work.close()


@pytest.mark.skipif(bool(raster.explain_missing_renderer()), reason=raster.explain_missing_renderer())
def test_pngs_and_pdfs_are_drawn_in_another_process(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raster_worker, "render_png", lambda *_: pytest.fail("drawn here"))
    answer = asgi.run_coroutine(send_request(app, "GET", f"/i/{M16}/b.png?scale=1"))
    assert answer.status == 200 and answer.body.startswith(b"\x89PNG") and "content-encoding" not in answer.headers
    lane = app.state.work.easel._lane
    assert lane is not None and lane.worker is not None and lane.worker.process.poll() is None


@pytest.mark.skipif(bool(raster.explain_missing_renderer()), reason=raster.explain_missing_renderer())
def test_a_picture_that_takes_too_long_is_given_up_and_its_process_ended() -> None:
    easel = raster.DrawingProcess(seconds=0.0)
    drawing = raster.DrawingJob("png", pictures.render_instruction("svg", find(M16), None, {})[0].decode())
    with pytest.raises(LayoutError) as slow:
        easel.submit(drawing).result(30)
    assert slow.value.code == "timed_out" and easel._lane is not None and easel._lane.worker is None
    easel.close()


@pytest.mark.skipif(bool(raster.explain_missing_renderer()), reason=raster.explain_missing_renderer())
def test_the_pixels_of_a_picture_are_bounded() -> None:
    for options in ({"cell": "200", "scale": "8"}, {"cell": "200x200", "scale": "3"}):
        with pytest.raises(LayoutError) as refused:
            pictures.render_instruction("png", find(M16), None, options, draw=lambda drawing: pytest.fail("drawn"))
        assert (refused.value.code, refused.value.field) == ("too_large", "scale")


WIDE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"


@pytest.mark.skipif(bool(raster.explain_missing_renderer()), reason=raster.explain_missing_renderer())
@pytest.mark.parametrize(
    ("address", "field"),
    [
        (f"/i/{M16}.png?cell=60&scale=3", "scale"),
        (f"/i/{WIDE}/d.png?cell=40&scale=0.5", "label"),
        (f"/i/{WIDE}/d.pdf?cell=40", "label"),
        ("/smem.png?mn=896&k=128&scale=2", "scale"),
    ],
)
def test_a_server_draws_less_than_the_command_does(app: Any, address: str, field: str) -> None:
    answer = asgi.run_coroutine(send_request(app, "GET", address))
    error = answer.json()["error"]
    assert (answer.status, error["code"], error["field"]) == (422, "too_large", field) and "lanescope diagram" in error[
        "hint"
    ]


@pytest.mark.skipif(bool(raster.explain_missing_renderer()), reason=raster.explain_missing_renderer())
@pytest.mark.parametrize(("high", "scale"), [(1000, 2.0), (2000, 2.0), (4000, 1.41), (8000, 1.0), (100_000, 0.25)])
def test_a_scale_that_nobody_gave_is_two_or_what_fits(high: int, scale: float) -> None:
    svg = f'<svg width="1000" height="{high}">'
    assert raster.limit_scale(svg, 2.0) == scale
    if high <= 8000:
        raster.check_drawing(raster.DrawingJob("png", svg, scale))


def test_a_server_takes_what_stays_out_of_the_garbage_collectors_sight() -> None:
    with TestClient(create_app()):
        assert gc.get_freeze_count() > 50_000 and sys.getswitchinterval() == pytest.approx(0.001)
