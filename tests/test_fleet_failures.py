"""A fleet that does not come up: addresses, ports, files of TLS and answers that are wrong, each told by its cause."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lanescope.app.hardware import evidence, fleet as fleet_of_dask, fleet_verification, jobs, members, pieces
from lanescope.app.hardware.connection import TlsFiles, explain_failure
from lanescope.app.hardware.fleet import Fleet
from lanescope.app.hardware.members import avoid_lost, parse_members, select_members
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.command import run_lanescope
from tests.test_fleet import MMA, build_request

pytestmark = [
    pytest.mark.waits,
    pytest.mark.usefixtures("dask"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


def explain_silence(address: str, files: tuple[str, ...] = (), seconds: float = 15) -> str:
    """Why the scheduler at an address does not answer."""
    fleet = Fleet(address, TlsFiles(*files), connect_seconds=seconds)
    with contextlib.closing(fleet), pytest.raises(LayoutError) as caught:
        fleet.submit(build_request()).result(30)
    assert caught.value.code == "no_scheduler"
    return caught.value.message.partition("does not answer: ")[2]


@contextlib.contextmanager
def serve_answer(said: bytes) -> Iterator[str]:
    """The address of a server that says the same to everybody, and ends."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                one, _ = listening.accept()
                with one:
                    one.sendall(said)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def test_what_is_no_scheduler_is_told_at_once() -> None:
    """A web server's first bytes are a length of exabytes to Dask: the run used to hang for its whole minute."""
    with serve_answer(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        assert explain_silence(address) == "what is at the other end does not speak Dask."
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = f"tcp://127.0.0.1:{gone.getsockname()[1]}"
    # it is tried again for as long; on a loaded machine the last try may have no time left to be refused
    assert any(explain_silence(address, seconds=1) == "nothing listens there." for _ in range(3))
    wrapped = OSError("Timed out trying to connect")
    wrapped.__cause__ = socket.gaierror(-2, "Name or service not known")
    assert explain_failure(wrapped) == "this host knows no such host name"


def test_a_failure_that_nobody_foresaw_ends_the_runs_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(Fleet("tcp://127.0.0.1:1")) as fleet:

        async def look() -> Any:
            raise ZeroDivisionError("what now")

        monkeypatch.setattr(fleet, "get_members", look)
        with pytest.raises(LayoutError, match="what now"):
            fleet.submit(build_request()).result(20)
    with pytest.raises(LayoutError, match="closed"):
        fleet.submit(build_request())


def test_a_connection_that_ends_under_a_question_is_the_schedulers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's client still says that it runs: no worker is blamed for it."""
    from distributed.comm.core import CommClosedError

    class Running:
        status = "running"

        def submit(self, *_: object, **__: object) -> Any:
            return SimpleNamespace(release=lambda: None)

    async def cut(_: Any) -> Any:
        raise CommClosedError("in <TCP (closed)>")

    async def running() -> Any:
        return Running()

    member = SimpleNamespace(address="tcp://1", name="a:0")
    with contextlib.closing(Fleet("tcp://127.0.0.1:1")) as fleet:
        monkeypatch.setattr(fleet, "_get_client", running)
        monkeypatch.setattr(fleet_of_dask, "_get_result", cut)
        with pytest.raises(LayoutError) as caught:
            fleet.start_coroutine(fleet._request_answer(member, "{}")).result(20)  # type: ignore[arg-type]
    assert caught.value.code == "no_scheduler"


@for_each(
    "told",
    [
        {"name": "x", "compute_capability": "nine", "target": "sm_90a"},
        {"name": "x", "compute_capability": "9.0"},
        {"name": "x", "compute_capability": 9, "target": "sm_90a"},
        {"name": "x", "compute_capability": "9.0", "target": "../x"},
        [],
        None,
        "H100",
    ],
)
def test_a_worker_that_says_nonsense_of_its_device_is_not_asked(told: Any) -> None:
    post = {"name": "a:0", "host": "a", "program": jobs.compute_program_version(), "device": told}
    row = {"name": "a:0", "status": "running", "last_seen": 0.0, "lanescope": post}
    (found,) = parse_members({"workers": {"tcp://1": row}}, {}, jobs.compute_program_version(), 0.0)
    assert found.refused == "not a Lanescope worker"
    with pytest.raises(LayoutError, match="No worker is ready"):
        select_members([found], build_request())


def test_a_lost_run_goes_to_another_host_before_another_worker_of_the_same() -> None:
    """A host that is shut down loses its workers one after another; a run that followed them would be lost twice."""
    version, device = jobs.compute_program_version(), {"name": "x", "compute_capability": "9.0", "target": "sm_90a"}
    rows = {
        f"tcp://{name}": {
            "status": "running",
            "last_seen": 0.0,
            "lanescope": {"name": name, "host": "same", "program": version, "device": device},
        }
        for name in ("a:0", "b:0", "b:1")
    }
    a0, b0, b1 = members = parse_members({"workers": rows}, {}, version, 0.0)
    assert avoid_lost(members, []) == list(members)
    assert avoid_lost(members, [b1]) == [a0]
    assert avoid_lost([b0, b1], [b1]) == [b0], "no other host is there"
    assert avoid_lost([b1], [b1]) == [b1], "it was started anew, and the run names it"


def test_a_piece_is_answered_with_that_piece() -> None:
    piece = pieces.VerificationPiece(pieces.FORMS, 0, pieces.CUT[pieces.FORMS])
    right = {key: {"mma": "agrees"} for key in pieces._list_forms("sm_80")[piece.first : piece.first + piece.count]}
    assert pieces.check_result(piece, "sm_80", right) == right
    chains = pieces.VerificationPiece("chains", 0, 4)
    assert pieces.check_result(chains, "sm_80", {"x": {"ran": 4, "agreed": 3}})
    for one, found in (
        (piece, {}),
        (piece, right | {"nop": {"mma": "agrees"}}),
        (piece, {key: {} for key in right}),
        (piece, []),
        (piece, {key: {"mma": 1} for key in right}),
        (piece, None),
        (chains, {"x": {"ran": 3, "agreed": 3}}),
        (chains, {"x": {"ran": 4, "agreed": 5}}),
        (chains, {"x": {"ran": 4}}),
        (chains, {"x": 4}),
        (chains, {"x": {"ran": 4, "agreed": True}}),
    ):
        with pytest.raises(LayoutError, match="a:0 answered something else"):
            pieces.check_result(one, "sm_80", found, "a:0")


def test_a_journal_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LayoutError, match="cannot be written") as caught:
        fleet_verification.PieceJournal(tmp_path / "file" / "journal")
    assert caught.value.field == "journal"
    with fleet_verification.PieceJournal(tmp_path / "new" / "journal") as kept:
        assert kept.summary.startswith("0 pieces are done")
    assert not (tmp_path / "new" / "journal").exists(), "nothing was done"


class FlakyFleet:
    """A fleet whose scheduler is away for some calls."""

    def __init__(self, away: int, found: dict[str, Any]) -> None:
        self.away, self.found, self.asked = away, found, 0

    async def run(self, *_: object) -> dict[str, Any]:
        self.asked += 1
        if self.asked <= self.away:
            raise LayoutError("no_scheduler", "It is away.", "")
        return {"found": self.found, "ran_by": {"worker": "a:0"}}


def test_a_verification_waits_for_its_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_verification, "AGAIN_SECONDS", 0.0)
    group = fleet_verification.DeviceGroup(dict.fromkeys(members.DEVICE, "x") | {"target": "sm_80"})
    todo, found = [(group, pieces.VerificationPiece("chains", 0, 2))], {"x": {"ran": 2, "agreed": 2}}
    with fleet_verification.PieceJournal(tmp_path / "j") as kept:
        fleet: Any = FlakyFleet(3, found)
        asyncio.run(fleet_verification._run_pieces(fleet, todo, kept, lambda *_: None))
        assert fleet.asked == 4 and len(kept.done) == 1
        monkeypatch.setattr(fleet_verification, "AWAY_SECONDS", -1.0)
        with pytest.raises(LayoutError, match="1 of 1 pieces failed; chains 0: It is away"):
            asyncio.run(fleet_verification._run_pieces(FlakyFleet(1, found), todo, kept, lambda *_: None))  # type: ignore[arg-type]
    with fleet_verification.PieceJournal(tmp_path / "j") as kept:
        assert kept.done[group.key, todo[0][1]] == {"found": found, "worker": "a:0"}


def test_what_was_found_is_kept_until_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C says what is kept; evidence that cannot be written leaves the journal; then it goes."""
    path = tmp_path / "journal"
    words = ["gpu", "verify", "--scheduler", "tcp://127.0.0.1:1", "--journal", str(path)]
    group = fleet_verification.DeviceGroup(dict.fromkeys(members.DEVICE, "x") | {"target": "sm_80"})
    found = {"meta": {"device": "x"}, "results": {}}

    def verified(_: Any, __: Any, kept: fleet_verification.PieceJournal, **___: str) -> list[dict[str, Any]]:
        kept.write_piece(group, pieces.VerificationPiece("chains", 0, 2), {"x": {"ran": 2, "agreed": 2}}, "a:0")
        if interrupted:
            raise KeyboardInterrupt
        return [found]

    def unwritten(*_: object) -> Path:
        raise PermissionError(13, "Permission denied", "/evidence")

    monkeypatch.setattr(fleet_verification, "verify_fleet", verified)
    monkeypatch.setattr(evidence, "write_evidence", unwritten)
    interrupted = True
    got = run_lanescope(*words)
    assert got.returncode == 130 and f"1 piece is done and kept in {path}." in " ".join(got.stderr.split())
    interrupted = False
    got = run_lanescope(*words, "--write")
    assert got.returncode == 2 and "Permission denied" in got.stderr and path.exists()
    assert run_lanescope(*words).returncode == 0 and not path.exists()


def test_what_a_command_refuses(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_lanescope("gpu", "scheduler", "--port", str(port))
    assert done.returncode == 2
    assert f"No scheduler can listen on tcp://127.0.0.1:{port}: Address already in use." in done.stderr
    for words, told in (
        (["gpu", "run", "mma", MMA, "--worker", "a:0"], "--worker needs a --scheduler"),
        (["gpu", "status", "--scheduler", "tcp://host:99999"], "scheduler is 'tcp://host:99999'"),
        (["gpu", "status", "--scheduler", "tcp://host:0"], "scheduler is 'tcp://host:0'"),
        (["gpu", "verify", "--scheduler", "tcp://host:1", "--journal", "/proc/none"], "'/proc/none' cannot be written"),
    ):
        got = run_lanescope(*words)
        assert got.returncode == 2 and told in got.stderr, got.stderr
