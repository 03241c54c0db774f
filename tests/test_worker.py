"""The worker's protocol, driven by a fake device that hangs, crashes, exits and answers garbage; and the real NumPy
worker.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from lanescope.app.hardware.pool import Json, RunLedger, WorkerPool
from lanescope.app.main import create_app
from lanescope.app.runs.hardware import NO_CUPY, ServerHardware
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.client import Client

pytestmark = pytest.mark.waits
FAKE = str(Path(__file__).with_name("fake_worker.py"))
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def start_fake(mode: str = "ready") -> WorkerPool:
    return WorkerPool(
        lambda device: [sys.executable, FAKE, mode],
        job_seconds=60.0,
        most=2,
        start_seconds=60.0 if mode != "silent" else 0.2,
    )


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    made = start_fake()
    yield made
    made.close()


def submit_hanging(pool: WorkerPool, do: int) -> Future[Json]:
    """Submit a job that never ends; it may take a fifth of a second, others as long as they need."""
    lane = pool.get_queue(0)
    usual, lane.job_seconds = lane.job_seconds, 0.2
    try:
        return pool.submit(build_request(do))
    finally:
        lane.job_seconds = usual


def wait_for_job(pool: WorkerPool, number: int) -> None:
    """Wait until the worker has its job of this number."""
    deadline = time.monotonic() + 60
    while pool.get_queue(0).request_count < number and time.monotonic() < deadline:
        time.sleep(0.005)


def kill_worker(pool: WorkerPool) -> None:
    worker = pool.get_queue(0).worker
    assert worker
    worker.process.kill()


def build_request(do: int = 0) -> dict[str, object]:
    return {"kind": "mma", "backend": "cuda", "device": 0, "instruction": MMA, "seed": do}


def test_one_worker_serves_many_jobs(pool: WorkerPool) -> None:
    first, second = (pool.submit(build_request()).result(60)["source"] for _ in range(2))
    assert first == second != str(os.getpid())
    assert pool.ledger.counts["mma", "agrees"] == 2 and pool.ledger.recent[0]["outcome"] == "agrees"


def test_a_run_is_cancelled_by_its_noted_future() -> None:
    ledger, waits, runs = RunLedger(), Future[Json](), Future[Json]()
    assert ledger.watch_run(build_request(), waits).cancel() and waits.cancelled()
    assert ledger.counts == {("mma", "cancelled"): 1}
    runs.set_running_or_notify_cancel()
    assert ledger.watch_run(build_request(), runs).cancel()
    runs.set_result({"agrees": True})  # it could not be cancelled any more
    assert ledger.counts["mma", "agrees"] == 1


@pytest.mark.parametrize(
    ("do", "code"),
    [
        (1, "timed_out"),
        (2, "worker_ended"),
        (3, "worker_ended"),
        (4, "worker_garbage"),
        (5, "worker_garbage"),
        (6, "run_failed"),
        (7, "worker_garbage"),
        (8, "timed_out"),
    ],
)
def test_a_broken_job_costs_itself_and_no_other(pool: WorkerPool, do: int, code: str) -> None:
    before = pool.submit(build_request()).result(60)["source"]
    run = submit_hanging(pool, do) if code == "timed_out" else pool.submit(build_request(do))
    with pytest.raises(LayoutError) as caught:
        run.result(60)
    assert caught.value.code == code and caught.value.message
    after = pool.submit(build_request()).result(60)["source"]
    assert after != before and pool.restarts == 1
    with pytest.raises(ProcessLookupError):  # the broken one is gone, not left behind
        os.kill(int(before), 0)
    assert pool.ledger.counts["mma", code] == 1


@for_each(("mode", "code"), [("silent", "timed_out"), ("dies", "worker_ended"), ("unready", "no_device")])
def test_a_worker_that_does_not_start(mode: str, code: str) -> None:
    pool = start_fake(mode)
    for _ in range(2):  # it is tried anew every time
        with pytest.raises(LayoutError) as caught:
            pool.submit(build_request()).result(20)
        assert caught.value.code == code
    pool.close()


def test_a_worker_that_cannot_be_started() -> None:
    pool = WorkerPool(lambda device: ["/no/such/program"])
    with pytest.raises(LayoutError, match="could not be used"):
        pool.submit(build_request()).result(60)
    pool.close()


def test_the_queue_is_bounded(pool: WorkerPool) -> None:
    hanging = pool.submit(build_request(1))
    wait_for_job(pool, 1)
    waiting = [pool.submit(build_request()) for _ in range(2)]
    with pytest.raises(LayoutError) as caught:
        pool.submit(build_request())
    assert caught.value.code == "busy"
    kill_worker(pool)
    assert isinstance(hanging.exception(60), LayoutError)
    assert all(future.result(60)["agrees"] for future in waiting)


def test_closing_ends_a_hanging_job_at_once() -> None:
    pool = start_fake()
    future = pool.submit(build_request(1))
    queued = pool.submit(build_request())
    lane = pool.lanes[0]
    wait_for_job(pool, 1)
    pool.close()
    assert not lane.thread.is_alive()
    assert future.exception(5) is not None and (queued.cancelled() or queued.exception(5))


def test_without_a_device_runs_are_refused_and_pages_say_why() -> None:
    with TestClient(create_app(ServerHardware(why_not=NO_CUPY))) as client:
        told = client.post("/api/v1/gpu/runs", json={"kind": "mma", "instruction": MMA})
        assert told.status_code == 503 and "CuPy is not installed" in told.json()["error"]["message"]
        page = client.get(f"/i/{MMA}").text
        assert re.search(r'value="cuda"[^>]* disabled', page) and "CuPy is not installed" in page
        run = client.get("/gpu/run", params={"kind": "mma", "instruction": MMA, "backend": "cuda"})
        assert run.status_code == 503 and "CuPy is not installed" in run.text


def test_a_device_without_a_driver_is_told_apart() -> None:
    with TestClient(create_app(ServerHardware(start_fake("unready"), why_not=""))) as client:
        assert client.get("/api/v1/gpu").json() | {"recent": 0} == {
            "available": False,
            "reason": "no driver",
            "devices": [],
            "queue": 0,
            "recent": 0,
        }
        assert client.post("/api/v1/gpu/runs", json={"kind": "mma", "instruction": MMA}).status_code == 503


def test_the_numpy_worker_runs_every_kind_and_says_it_is_a_simulation() -> None:
    requests = [
        {"kind": "mma", "instruction": MMA},
        {"kind": "fragment", "instruction": MMA, "operand": "b"},
        {
            "kind": "descriptor",
            "instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16",
            "descriptor": "0x4000004000010000",
        },
        {"kind": "banks", "access": "ldmatrix.x4", "address": [128 * lane for lane in range(32)]},
    ]
    with TestClient(create_app(ServerHardware(why_not=NO_CUPY))) as client:
        for given in requests:
            answer = client.post("/api/v1/gpu/runs", json=given | {"backend": "numpy"}).json()
            assert answer["simulation"] is True and answer["agrees"] and "no GPU" in answer["device"]["name"], given
            assert {"device", "predicted", "measured", "agrees", "mismatches", "duration_ms", "source"} <= set(answer)
        page = client.get("/gpu/run", params={**requests[1], "backend": "numpy"}).text
        assert "simulation in NumPy, no GPU" in page and "T0:0" in page


@pytest.fixture(scope="module")
def idle() -> Iterator[tuple[Client, WorkerPool]]:
    """A server whose worker would die, and the pool that starts it."""
    pool = start_fake("dies")
    with Client(create_app(ServerHardware(pool, why_not=""))) as client:
        yield client, pool
    pool.close()


@for_each(
    ("given", "field"),
    [
        ({"kind": "nothing"}, "kind"),
        ({"kind": "mma", "instruction": MMA, "backend": "opencl"}, "backend"),
        ({"kind": "mma", "instruction": "mma.m16n8k15.row.col.f32.f16.f16.f32"}, "instruction"),
        ({"kind": "mma", "instruction": "ldmatrix.m8n8.x4.shared.b16"}, "instruction"),
        ({"kind": "mma", "instruction": MMA, "a_from": "shared"}, "a_from"),
        ({"kind": "mma", "instruction": MMA, "seed": -1}, "seed"),
        ({"kind": "mma", "instruction": MMA, "source": "__global__"}, "source"),
        ({"kind": "mma", "instruction": MMA, "device": "0; rm"}, "device"),
        ({"kind": "fragment", "instruction": MMA, "operand": "q"}, "operand"),
        ({"kind": "descriptor", "instruction": MMA, "descriptor": "0x0"}, "instruction"),
        (
            {
                "kind": "descriptor",
                "instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16",
                "descriptor": "0x7FFF3FFF3FFF3FFF",
            },
            "descriptor",
        ),
        ({"kind": "banks", "access": "ld.global", "address": [0] * 32}, "access"),
        ({"kind": "banks", "access": "ld.shared.b128", "address": [4] * 32}, "address"),
        ({"kind": "banks", "access": "ld.shared.b32", "address": "0"}, "address"),
    ],
)
def test_a_bad_request_names_its_field_before_any_worker_starts(
    idle: tuple[Client, WorkerPool], given: dict[str, object], field: str
) -> None:
    client, pool = idle
    refusal = client.post("/api/v1/gpu/runs", json=given)
    assert refusal.status_code == 422 and refusal.json()["error"]["field"] == field, refusal.json()
    assert not pool.lanes
