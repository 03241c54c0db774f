"""A fleet's processes, jobs and contact by stand-ins: what they are given, what they say, and why nothing answers."""

from __future__ import annotations

import json
import logging
import types
from functools import partial
from typing import Any

import pytest

from lanescope.app.hardware import contact, jobs
from lanescope.app.hardware.contact import Tls
from lanescope.errors import LayoutError
from tests.held import attempt, held, refusal

# scheduler and nannies ------------------------------------------------------------------------------------------------


def test_scheduler_and_nannies(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Dask's processes by stand-ins: what they are given, what is said of them, and that they are closed."""
    import asyncio

    from lanescope.app.hardware import posts

    told: list[str] = []

    class Stand:
        address = "tcp://1.2.3.4:8786"

        def __init__(self, *given: Any, **more: Any) -> None:
            more.pop("local_directory", None)
            told.append(
                f"{given} { {name: getattr(value, '__name__', str(value)[:40]) for name, value in more.items()} }"
            )

        def __await__(self) -> Any:
            told.append("begun")
            if not tries:
                raise OSError("not here")
            tries.pop()
            yield from asyncio.sleep(0).__await__()
            return self

        async def finished(self) -> None:
            told.append("finished")

        async def close(self, **more: Any) -> None:
            told.append(f"closed {more}")

    def served(main: Any) -> int:
        async def run() -> None:
            until = asyncio.Event()
            asyncio.get_running_loop().call_later(0.05, until.set)
            await main(until)

        asyncio.run(run())
        return 0

    monkeypatch.setattr(posts, "Desk", Stand)
    monkeypatch.setattr(posts, "Warden", Stand)
    monkeypatch.setattr(posts, "_served", served)
    monkeypatch.setattr(posts, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(posts.socket, "gethostname", lambda: "here")
    monkeypatch.setattr(posts.socket, "gethostbyname", lambda host: {"here": "127.0.0.1"}.get(host, host))
    monkeypatch.setattr(Tls, "security", lambda self: f"by {self.ca}")
    tries = [1, 1]
    for host, tls in (("127.0.0.1", Tls()), ("0.0.0.0", Tls()), ("127.0.0.1", Tls("ca"))):
        try:
            assert posts.serve_scheduler(host, 8786, tls) == 0
        except LayoutError as error:
            told.append(refusal(error))
    told += [str(posts._loopback(host)) for host in ("127.0.0.1", "here", "8.8.8.8", "elsewhere")]
    tries = [1]
    info = {"name": "H", "compute_capability": "9.0"}
    posts.serve_workers("tcp://h:1", "", [(1, info)], "", Tls(), "program", ["argv"])
    posts.serve_workers("tcp://h:1", "named", [(0, info)], "host", Tls("ca"), "p")
    told += capsys.readouterr().err.splitlines()
    record = logging.LogRecord("distributed", logging.ERROR, "", 0, " said \nmore", (), None)
    told.append(posts.Line().format(record).partition(" distributed")[2])
    record.exc_info = (OSError, ConnectionRefusedError(), None)
    told.append(posts.Line().format(record).partition(" distributed")[2])
    seen = list(dict.fromkeys(told))  # how often it is tried again is the clock's
    seen += [f"{name} {sorted(getattr(posts, name))}" for name in ("SCHEDULER", "WORKER", "NANNY")]
    held("processes/posts", "\n".join(seen) + "\n")


# a fleet's jobs -------------------------------------------------------------------------------------------------------


def test_jobs_as_they_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "LONGEST_JOB", 200_000)
    run = {"kind": "banks", "backend": "cuda", "device": 0, "access": "ldmatrix.x1", "address": [*range(0, 128, 16)]}
    piece = {"kind": "verify", "part": "banks", "first": 0, "count": 0}
    letters = [
        json.dumps({"job": job, "program": program, "params": params})
        for job, program, params in (
            ("run", "own", run), ("verify", "own", piece), ("run", "other", run), ("walk", "own", run),
            ("run", "own", []),
            ("run", "own", {**run, "device": 64}), ("verify", "own", {**piece, "first": -1}), ("run", None, {}),
            ("verify", "own", {**piece, "part": "x"}), ("verify", "own", {**piece, "kind": "run"}),
        )
    ]  # fmt: skip
    letters += [
        "",
        "[]",
        "{",
        "[" * 100_000,
        '{"job": "run"}',
        '{"params": {}, "more": 1}',
        "1" * (jobs.LONGEST_JOB + 1),
    ]
    letters += [7]  # type: ignore[list-item]

    class Lane:
        def submit(self, request: Any, seconds: float | None = None) -> Any:
            def result(within: float) -> Any:
                if request.get("access") == "ldmatrix.x2":
                    raise TimeoutError
                return {"asked": request, "seconds": seconds, "within": within}

            return types.SimpleNamespace(result=result)

    station = jobs.Station(Lane(), "own")
    lines = [f"{str(text)[:90]} → {station.perform(text)}" for text in letters]
    late = {**run, "access": "ldmatrix.x2", "address": [*range(0, 256, 16)]}
    lines.append(station.perform(json.dumps({"job": "run", "program": "own", "params": late})))
    held_stations = jobs._stations[:]
    try:
        jobs._stations.clear()
        lines.append(attempt(lambda: jobs.perform("x")))
        jobs.stand(station)
        lines += [jobs.perform("x"), jobs.letter("run", {"a": 1}).replace(jobs.program(), "…")]
    finally:
        jobs._stations[:] = held_stations
    held("processes/jobs", "\n".join(lines) + "\n")


def test_what_a_fleet_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices by number, Dask, an address, files; and in words why nothing answers."""
    import socket
    import ssl

    known = [{"name": f"H{n}", "compute_capability": "9.0"} for n in range(3)]
    hello: dict[str, Any] = {"ready": True, "devices": known}
    closed: list[str] = []

    class Asked:
        def __init__(self, argv: list[str], seconds: float) -> None:
            if not hello:
                raise contact.BrokenWorkerError("timed_out", "There was no answer.")
            self.hello = hello
            closed.append(f"{argv[1:]} {seconds}")

        def close(self) -> None:
            closed.append("closed")

    monkeypatch.setattr(contact, "Worker", Asked)
    lines = [
        f"{text!r} {attempt(partial(contact.chosen_devices, text))}" for text in ("", "1", "2,0,2", "3", "x", "0,")
    ]
    for told in ({"ready": False, "reason": "No driver."}, {"ready": False}, {}):
        hello.clear()
        hello.update(told)
        lines.append(attempt(lambda: contact.chosen_devices("")))
    lines += dict.fromkeys(closed)
    lines += [attempt(lambda: contact.need_scheduler("")), contact.need_scheduler("tcp://h:1"), contact.without_dask()]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    lines += [contact.without_dask(), attempt(contact.need_dask)]
    tls, alert, plain = (ssl.SSLError(1, text) for text in ("odd", "alert", "plain"))
    tls.reason, alert.reason, plain.reason = None, "TLSV1_ALERT_UNKNOWN_CA", "WRONG_VERSION_NUMBER"
    unsigned = ssl.SSLCertVerificationError(1, "no")
    unsigned.verify_message = "self-signed certificate"
    wrapped, around = OSError("Timed out"), OSError(" outside.\nmore ")
    wrapped.__cause__ = ConnectionRefusedError()
    around.__context__ = ValueError("Inner cause.\nsecond line")
    for error in (
        tls, alert, plain, unsigned, socket.gaierror(-2, "x"), ConnectionRefusedError(), ConnectionResetError(),
        BrokenPipeError(), OSError("Stream is closed"), OSError("cannot convert to SSL now"), wrapped, around,
        ValueError("name taken, a"), ValueError("other."), OSError(""), MemoryError("1 EiB"), EOFError("x"),
    ):  # fmt: skip
        lines.append(f"{error!r} → {contact.why(error)}")
    held("processes/contact", "\n".join(lines) + "\n")
