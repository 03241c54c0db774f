"""Nothing is computed on the event loop, and pictures are drawn in another process, which is bounded."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
from fastapi.routing import APIRoute

from lanescope import find
from lanescope.app.diagram import forms as pictures
from lanescope.app.kit import picture as raster, picture_worker as raster_worker
from lanescope.app.kit.examples import BODIES, EXAMPLES
from lanescope.app.main import create_app
from lanescope.errors import LayoutError
from tests import asgi
from tests.asgi import send_request
from tests.cases import for_each
from tests.sample import THOROUGH, take_sample

ROOT = Path(__file__).parents[1]
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
WORD = "0x4000004004000101"
PAGES = (
    "/kernel",
    "/kernel/",
    "/tmem/epilogue",
    "/scale-factors",
    "/triton-dot",
    "/weights",
    "/deliver",
    "/messages",
    "/messages/wgmma-accumulator-read",
    "/targets",
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
    "/check",
    "/metadata",
    "/steps",
    "/instructions?q=bf16&part=rows",
    f"/go?ptx={M16}",
    "/docs",
    "/docs/integrations",
    "/docs/integrations.md",
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
    "/emulate",
    "/emulate?example=arrive",
    "/guide/barriers-and-pipelines",
    "/gallery",
    "/gpu",
    f"/gpu/run?kind=mma&instruction={M16}&backend=numpy",
    f"/steps/{M16}",
    f"/steps/{M16}.txt",
    "/guide",
    "/guide/swizzle",
    "/guide/swizzle.md",
    "/llms.txt",
    "/guide/worked-examples",
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
    "/embed/banks",
    "/picture/banks.svg",
    "/api/v1/share?address=/banks",
)
PNGS = (f"/i/{M16}/a.png?scale=0.5", f"/i/{M16}/a.pdf", "/smem.png?mn=8&scale=0.5", "/card/banks.png")
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
    "app/kit/local_fetch.py",  # of the client here
    "app/main.py",
    "app/kit/errors.py",
    "app/kit/fact.py",
    "app/kit/api.py",
    "app/kit/work.py",
    "app/kit/job.py",
    "app/kit/rate.py",
    "app/kit/limits.py",
    "app/kit/prefix.py",
    "app/kit/logs.py",
    "app/kit/wire.py",
    "app/kit/metrics.py",
    "app/runs/page.py",
    "app/runs/api.py",
    "app/runs/hardware.py",
    "app/steps/api.py",
    "app/steps/page.py",
    "app/share/page.py",
    "app/share/api.py",
    "app/share/fetching.py",
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
    ("app/kit/menus.py", "find_menu"),
    ("layouts/ptx/catalog.py", "get_assembler"),
    ("layouts/inputs.py", "shorten_value"),
    ("layouts/ptx/instruction.py", "threads"),
}  # a look-up; made once; bounded; a number


class LoopWatcher:
    """The project's functions that ran in this thread while it was watched."""

    def __init__(self) -> None:
        self.seen: set[CodeType] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self.seen.add(frame.f_code)

    def __enter__(self) -> LoopWatcher:
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def computed(self) -> set[tuple[str, str]]:
        """Return (file, function) of each that computed."""
        own = [code for code in self.seen if code.co_filename.startswith(str(ROOT))]
        called = {(str(Path(code.co_filename).relative_to(ROOT)), code.co_name) for code in own}
        return {
            (file, name)
            for file, name in called
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


@pytest.mark.thorough
def test_no_route_computes_on_the_event_loop(app: Any) -> None:
    plotly = (
        asgi.run_coroutine(send_request(app, "GET", f"/i/{M16}")).body.decode().split('data-plotly="')[1].split('"')[0]
    )
    gets = [*PAGES, *([] if raster.explain_missing_renderer() else PNGS), *EXAMPLES.values(), plotly]
    requests = [("GET", address, b"", "identity") for address in (*gets, *REFUSED)]
    # some are asked for twice: the second answer is the one that was kept
    requests += [("GET", address, b"", "br") for address in take_sample((*gets, *REFUSED), 40 if THOROUGH else 12)]
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
    assert answer.status == 200 and b"are outside the dump" in answer.body
    assert watched.computed() <= {
        ("app/dump/page.py", "post_dump"),
        ("app/kit/wire.py", "read_upload_form"),
    }


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
    drawing = raster.DrawingJob("png", str(pictures.render_instruction("svg", find(M16), None, {})))
    with pytest.raises(LayoutError) as slow:
        easel.submit(drawing).result(30)
    assert slow.value.code == "timed_out" and easel._lane is not None and easel._lane.worker is None
    easel.close()


@pytest.mark.skipif(bool(raster.explain_missing_renderer()), reason=raster.explain_missing_renderer())
def test_the_pixels_of_a_picture_are_bounded() -> None:
    for options in ({"cell": "200", "scale": "8"}, {"cell": "200x200", "scale": "3"}):
        with pytest.raises(LayoutError) as refused:
            pictures.render_instruction("png", find(M16), None, options)
        assert (refused.value.code, refused.value.field) == ("too_large", "scale")


WIDE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"


@pytest.mark.skipif(bool(raster.explain_missing_renderer()), reason=raster.explain_missing_renderer())
@for_each(
    ("address", "field"),
    [
        (f"/i/{M16}.png?cell=60&scale=3", "scale"),
        (f"/i/{WIDE}/d.png?cell=40&scale=0.5", "label"),
        (f"/i/{WIDE}/d.pdf?cell=40", "label"),
        ("/smem.png?mn=896&k=128&scale=2", "scale"),
    ],
    sample=2,
)
def test_a_server_draws_less_than_the_command_does(app: Any, address: str, field: str) -> None:
    answer = asgi.run_coroutine(send_request(app, "GET", address))
    error = answer.json()["error"]
    assert (answer.status, error["code"], error["field"]) == (422, "too_large", field) and "lanescope diagram" in error[
        "hint"
    ]
