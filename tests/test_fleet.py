"""A fleet as processes on the loopback interface: a scheduler, workers with stand-in devices, and what is left of it
when any of them is killed. A run's seed says how its device behaves (tests/fake_worker.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from starlette.testclient import TestClient

from lanescope.app.hardware import fleet_verification, jobs, pieces, runs, verification
from lanescope.app.hardware.connection import TlsFiles
from lanescope.app.hardware.fleet import Fleet
from lanescope.app.hardware.members import FleetMember
from lanescope.app.main import create_app
from lanescope.app.runs.hardware import NO_CUPY, ServerHardware
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.command import run_lanescope
from tests.sample import choose_count
from tests.test_process import list_children

pytestmark = [
    pytest.mark.thorough,  # test_fleet_failures.py asks the parts
    pytest.mark.waits,
    pytest.mark.usefixtures("dask"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
CLI = [sys.executable, "-c", "from lanescope.app.cli import main; main()"]
FAKE = str(Path(__file__).with_name("fake_worker.py"))
HANGS, DIES, SLOW = 1, 3, 10


def find_free_port() -> int:
    """A port that no connection gets as its own: one that waits for its server could otherwise reach itself."""
    for port in range(20_000 + os.getpid() % 10_000, 32_000):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


class FleetSite:
    """A scheduler and its workers, each a process; what is started is ended."""

    def __init__(self, variants: Path) -> None:
        self.environment = os.environ | {"LANESCOPE_FAKE_VARIANTS": str(variants)}
        self.port = find_free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.started: list[subprocess.Popen[bytes]] = []
        self.hosts: dict[str, subprocess.Popen[bytes]] = {}
        self.scheduler = self.schedule()

    def begin(self, *argv: str) -> subprocess.Popen[bytes]:
        self.started.append(
            subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment)
        )
        return self.started[-1]

    def schedule(self) -> subprocess.Popen[bytes]:
        return self.begin(*CLI, "gpu", "scheduler", "--port", str(self.port))

    def worker(self, name: str, capabilities: str, program: str = "") -> subprocess.Popen[bytes]:
        """The process of one host's nannies."""
        command = (sys.executable, "-m", "tests.fleet_worker", self.address, name, capabilities, program)
        self.hosts[name] = self.begin(*command)
        return self.hosts[name]

    def fleet(self, **more: Any) -> Fleet:
        return Fleet(self.address, TlsFiles(), **more)

    def end(self) -> None:
        for process in reversed(self.started):
            process.kill()
        for process in self.started:
            process.wait(20)


def write_variants(path: Path) -> Path:
    """Write the variants of sm_90a in the order in which pieces count them: every fake worker would list them again."""
    path.write_text(json.dumps([job.key for job in verification.generate_jobs("sm_90a")]))
    return path


def wait_for_fleet(fleet: Fleet, wanted: Callable[[Sequence[FleetMember]], bool]) -> Sequence[FleetMember]:
    """Until the fleet is as wanted."""
    until = time.monotonic() + 240  # five processes start, beside whatever else the machine does
    while True:
        with contextlib.suppress(LayoutError):
            if wanted(found := fleet.members().result(60)):
                return found
        assert time.monotonic() < until, "the fleet did not come up"
        time.sleep(0.05)


def list_ready(found: Sequence[FleetMember]) -> int:
    return sum(not member.refused for member in found)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetSite]:
    made = FleetSite(write_variants(tmp_path_factory.mktemp("fleet") / "variants.json"))
    made.worker("a", "9.0")
    made.worker("b", "9.0,8.0")
    made.worker("old", "9.0", program="0.1.0")
    yield made
    made.end()


@pytest.fixture(scope="module")
def fleet(site: FleetSite) -> Iterator[Fleet]:
    made = site.fleet(connect_seconds=15, run_seconds=300)
    wait_for_fleet(made, lambda found: list_ready(found) == 3 and len(found) == 4)
    yield made
    made.close()


def build_request(seed: int = 0, instruction: str = MMA, **more: Any) -> dict[str, Any]:
    return {"kind": "mma", "backend": "cuda", "device": 0, "instruction": instruction, "seed": seed} | more


def get_refusal(fleet: Fleet, given: dict[str, Any]) -> LayoutError:
    with pytest.raises(LayoutError) as caught:
        fleet.submit(given).result(60)
    return caught.value


def test_many_runs_over_3_workers_are_each_answered_once(fleet: Fleet) -> None:
    runs_asked = choose_count(200, 24)
    asked = [fleet.submit(build_request(1000 + n)) for n in range(runs_asked)]
    told = [future.result(300) for future in asked]
    assert [answer["request"]["seed"] for answer in told] == [1000 + n for n in range(runs_asked)]
    by = Counter(answer["ran_by"]["worker"] for answer in told)
    assert set(by) == {"a:0", "b:0", "b:1"}
    assert fleet.ledger.counts["mma", "agrees"] == runs_asked and fleet.waiting == 0


def test_an_instruction_goes_where_it_can_run_and_a_run_where_it_says(fleet: Fleet) -> None:
    for _ in range(4):
        assert fleet.submit(build_request(instruction=WGMMA)).result(60)["ran_by"]["worker"] in ("a:0", "b:0")
    assert fleet.submit(build_request(architecture="sm_80")).result(60)["ran_by"]["worker"] == "b:1"
    assert fleet.submit(build_request(worker="b:1")).result(60)["ran_by"]["worker"] == "b:1"
    by_both = runs.parse_run(build_request() | {"worker": "b", "device": 1})
    assert by_both == runs.parse_run(by_both) == build_request(worker="b:1") | {"device": 1, "a_from": "registers"}
    assert fleet.submit(by_both).result(60)["ran_by"]["worker"] == "b:1"


@for_each(
    ("given", "field", "words"),
    [
        (build_request(architecture="sm_75"), "architecture", "No worker with sm_75"),
        (build_request(worker="e:0"), "worker", "No worker 'e:0'"),
        (
            build_request(instruction=WGMMA, architecture="sm_80"),
            "instruction",
            "does not assemble for this device's sm_80",
        ),
        (build_request(worker="old:0"), "worker", "No worker 'old:0' is ready"),
        (build_request() | {"device": 1}, "device", "device is 1, and the host is missing."),
    ],
)
def test_no_such_worker_says_what_there_is(fleet: Fleet, given: dict[str, Any], field: str, words: str) -> None:
    error = get_refusal(fleet, given)
    assert error.code == ("bad_device" if field == "device" else "no_worker")
    assert error.field == field and words in error.message
    assert "a:0 stand-in 9.0 (sm_90)" in error.hint and "it is Lanescope 0.1.0, this is" in error.hint


def test_a_worker_of_another_version_refuses_the_job_itself(fleet: Fleet) -> None:
    found = {member.name: member for member in fleet.members().result(60)}
    old = found["old:0"]
    assert old.refused == f"it is Lanescope 0.1.0, this is {jobs.compute_program_version()}"
    text = fleet.start_coroutine(fleet._request_answer(old, jobs.format_job("run", build_request()))).result(30)
    assert '"other_version"' in text and "This worker is Lanescope 0.1.0" in text


@for_each(
    ("text", "code"),
    [
        (jobs.format_job("run", build_request(seed=-1)), "bad_number"),
        (jobs.format_job("run", build_request(source="__global__ void k() {}")), "unknown_key"),
        (jobs.format_job("run", build_request(instruction="nop")), "bad_instruction"),
        (jobs.format_job("shell", {"command": "true"}), "bad_job"),
        ("{", "bad_job"),
        (17, "bad_job"),
    ],
)
def test_a_tampered_job_is_refused_by_the_worker(fleet: Fleet, text: Any, code: str) -> None:
    member = fleet.members().result(60)[0]
    assert f'"{code}"' in fleet.start_coroutine(fleet._request_answer(member, text)).result(30)


def find_pid(member: FleetMember) -> int:
    """The process that listens at a member's address."""
    port = int(member.address.rpartition(":")[2])
    inodes = {
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
    }
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if (name := str(link.readlink())).startswith("socket:[") and name[8:-1] in inodes:
                return int(link.parts[2])
    raise LookupError(member.address)


def submit_alone(fleet: Fleet, request: Any) -> Any:
    """Submit a run when no other is left, so that the busy member is the one that has it."""
    wait_for_fleet(fleet, lambda members: not any(member.queue for member in members))
    return fleet.submit(request)


def find_busy_member(fleet: Fleet) -> FleetMember:
    """The member that a run is at."""
    return next(m for m in wait_for_fleet(fleet, lambda found: any(m.queue for m in found)) if m.queue)


def test_a_run_whose_worker_is_killed_is_answered_by_another_and_says_so(site: FleetSite, fleet: Fleet) -> None:
    slow = submit_alone(fleet, build_request(SLOW, instruction=WGMMA))
    first = find_busy_member(fleet)
    os.kill(find_pid(first), signal.SIGKILL)
    ran_by = slow.result(60)["ran_by"]
    assert ran_by.get("after") == first.name and ran_by["worker"] == ({"a:0", "b:0"} - {first.name}).pop()
    assert fleet.retries >= 1
    wait_for_fleet(fleet, lambda found: any(m.name == first.name for m in found))


def test_a_run_that_is_given_up_as_it_is_served_keeps_no_worker(fleet: Fleet) -> None:
    member = fleet.members().result(60)[0]

    async def given_up() -> bool:
        def only(one: FleetMember) -> bool:
            return one.name == member.name

        task = asyncio.ensure_future(fleet._take_member(build_request(), [], only))
        while not any(waiter.is_allowed is only for waiter in fleet._queue):
            await asyncio.sleep(0)
        while any(waiter.is_allowed is only for waiter in fleet._queue):  # until its place is set, and no longer
            await asyncio.sleep(0)
        taken = member.address in fleet._busy
        task.cancel()
        await asyncio.wait({task})
        return taken and task.cancelled() and member.address not in fleet._busy

    assert fleet.start_coroutine(given_up()).result(60)


def test_a_device_that_fails_is_no_worker_that_dies(fleet: Fleet) -> None:
    error = get_refusal(fleet, build_request(DIES))
    assert error.code == "worker_ended" and "status 7" in error.message
    assert fleet.submit(build_request()).result(60)["agrees"]


def test_no_function_that_somebody_sends_is_run(fleet: Fleet, tmp_path: Path) -> None:
    """Neither by the scheduler, whose graph names it, nor through the ports of scheduler and worker."""
    told = tmp_path / "told"
    member = fleet.members().result(60)[0]

    async def hostile() -> list[str]:
        from distributed import Client
        from distributed.core import rpc

        out = []
        async with Client(fleet.address, asynchronous=True, set_as_default=False) as client:
            asked = client.submit(os.mkdir, str(told), workers=[member.address], allow_other_workers=False)
            for work in (asked, client.run(os.mkdir, str(told)), client.run_on_scheduler(os.mkdir, str(told))):
                with pytest.raises((Exception, asyncio.CancelledError)) as caught:
                    await asyncio.wait_for(work, 20)
                out.append(str(caught.value))
        worker = rpc(member.address)
        assert await worker.run(function=cloudpickle.dumps(os.mkdir), args=cloudpickle.dumps((str(told),))) is None
        await worker.close_rpc()
        return out

    assert "deseri" in fleet.start_coroutine(hostile()).result(60)[0]
    assert not told.exists()
    assert fleet.submit(build_request()).result(60)["agrees"]


def test_pages_and_the_api_show_the_fleet_and_who_ran(fleet: Fleet) -> None:
    with TestClient(create_app(ServerHardware(why_not=NO_CUPY, fleet=Fleet(fleet.address)))) as client:
        told = client.get("/api/v1/gpu").json()
        assert told["available"] and told["fleet"]["connected"] and len(told["devices"]) == 3
        workers = {row["name"]: row for row in told["fleet"]["workers"]}
        assert workers["b:1"]["architecture"] == "sm_80" and workers["b:1"]["ready"]
        assert not workers["old:0"]["ready"] and "0.1.0" in workers["old:0"]["reason"]
        ran = client.get("/gpu/run", params={"kind": "mma", "instruction": MMA, "backend": "cuda", "worker": "b:1"})
        assert ran.status_code == 200 and "Ran by worker <b>b:1</b>" in ran.text
        page = client.get("/gpu").text
        assert "stand-in 8.0" in page and "gets no jobs: it is Lanescope 0.1.0" in page and ">b:1</td>" in page
        told = client.post("/api/v1/gpu/runs", json={"kind": "mma", "instruction": MMA, "architecture": "sm_75"})
        assert told.status_code == 503 and told.json()["error"]["code"] == "no_worker"
        told = client.post("/api/v1/gpu/runs", json={"kind": "mma", "instruction": MMA, "device": 1})
        assert told.status_code == 422 and told.json()["error"]["field"] == "device"
        told = client.post("/api/v1/gpu/runs", json={"kind": "mma", "instruction": MMA, "backend": "numpy"})
        assert told.json()["simulation"] and "ran_by" not in told.json()


def test_the_command_line_asks_the_fleet(fleet: Fleet) -> None:
    done = run_lanescope("gpu", "run", "mma", MMA, "--scheduler", fleet.address, "--architecture", "sm_80")
    assert done.returncode == 0 and "stand-in of b:1" in done.stdout, done.stderr


def test_a_verification_is_spread_merged_and_resumed(site: FleetSite, fleet: Fleet, tmp_path: Path) -> None:
    told: list[str] = []
    journal = tmp_path / "state" / "verify.jsonl"

    def stop(what: str, weight: int, total: int) -> None:
        told.append(what)
        if len(told) == 12:
            raise RuntimeError("the power went")

    with contextlib.closing(site.fleet(connect_seconds=15)) as first, fleet_verification.PieceJournal(journal) as kept:
        with pytest.raises(RuntimeError, match="the power"):
            fleet_verification.verify_fleet(first, stop, kept, architecture="sm_90")
        with pytest.raises(LayoutError, match="is the journal of a verification that is running"):
            fleet_verification.PieceJournal(journal)
    before = journal.read_text().splitlines()
    assert len(before) >= 12
    with journal.open("a") as file:
        file.write('{"program": "half a li')
    wait_for_fleet(fleet, lambda found: not any(member.queue for member in found))
    again: list[tuple[str, int, int]] = []
    with fleet_verification.PieceJournal(journal) as kept:
        (found,) = fleet_verification.verify_fleet(fleet, lambda *row: again.append(row), kept, architecture="sm_90")
        assert journal.exists(), "until what it holds is told"
        kept.delete()
    assert sum(what.endswith("done before") for what, _, _ in again) >= len(before)
    assert sum(weight for _, weight, _ in again) == again[0][2] and not journal.exists()
    assert set(found["meta"]["ran_by"]) == {"a:0", "b:0"} and found["meta"]["device"] == "stand-in 9.0"
    todo = pieces.split_verification("sm_90a")
    assert sum(found["meta"]["ran_by"].values()) == len(todo) == len(set(todo))
    for part in ("chains", "code", "programs"):  # every case once: the pieces' sums are the wholes
        assert found[part]["all"]["ran"] == sum(piece.count for piece in todo if piece.part == part)
    assert set(found["results"]) == {job.key for job in verification.generate_jobs("sm_90a")}


def test_a_run_that_two_killed_workers_had_is_given_up_and_costs_no_other(site: FleetSite, fleet: Fleet) -> None:
    """kill -9 of the worker, then of the nanny of the one that has the run now."""
    run = submit_alone(fleet, build_request(HANGS, instruction=WGMMA))
    first = find_busy_member(fleet)
    os.kill(find_pid(first), signal.SIGKILL)
    other = ({"a:0", "b:0"} - {first.name}).pop()  # the only one left that has the instruction
    second = next(
        m for m in wait_for_fleet(fleet, lambda found: any(m.queue and m.name == other for m in found)) if m.queue
    )
    # Its nanny starts the first anew: of a run that is lost with one of b's workers, no other of b's may take over.
    wait_for_fleet(fleet, lambda found: any(m.name == first.name for m in found))
    others = [fleet.submit(build_request(2000 + n)) for n in range(8)]
    next(p for p in site.started if find_pid(second) in list_children(p.pid)).kill()
    with pytest.raises(LayoutError) as caught:
        run.result(60)
    assert caught.value.code == "worker_ended" and "It is not tried a third time" in caught.value.hint
    assert [future.result(60)["request"]["seed"] for future in others] == [2000 + n for n in range(8)]
    assert all(m.name != second.name for m in fleet.members().result(60))
