"""What a fleet's processes read from their ports: what a job is made of, and nothing else. A stranger's messages run
nothing, whichever way of Dask's they take.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgpack
import pytest

from lanescope.app.hardware import jobs, pickle_guard
from tests.cases import for_each

pytestmark = [pytest.mark.usefixtures("dask"), pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]


class PickleBomb:
    """Read by pickle itself, it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.fixture(autouse=True)
def installed() -> None:
    pickle_guard.install_guard()


@for_each("named", [os.system, subprocess.Popen, Path, print, jobs.parse_job])
def test_a_pickle_names_only_what_a_job_is_made_of(named: Any) -> None:
    with pytest.raises(pickle_guard.RefusedPickle, match="is not part"):
        pickle_guard.loads(pickle.dumps(named))
    assert pickle_guard.loads(pickle.dumps((jobs.perform, "text", b"", 1))) == (jobs.perform, "text", b"", 1)


def test_no_module_of_dask_reads_pickles_by_itself(tmp_path: Path) -> None:
    """Nor by a name that it took before: one that did let a stranger's event, and a worker's answer, run anything."""
    from distributed.protocol import pickle as dasks

    evil = pickle.dumps(PickleBomb(tmp_path / "told"))
    asked = 0
    for name, module in list(sys.modules.items()):
        if not (name == "distributed" or name.startswith("distributed.")):
            continue
        for reads in (getattr(module, "pickle", None), module):
            if (found := getattr(reads, "loads", None)) and found.__module__.endswith(("guard", "pickle")):
                asked += 1
                with pytest.raises(pickle_guard.RefusedPickle):
                    found(evil)
    assert asked > 10 and dasks.loads is pickle_guard.loads
    assert not (tmp_path / "told").exists() and pickle.loads(evil) is None and (tmp_path / "told").exists()


def test_a_message_names_no_attribute_of_a_module(tmp_path: Path) -> None:
    from distributed.core import Status
    from distributed.protocol import core

    def said(**told: str) -> Any:
        return core.loads([msgpack.packb({"__Enum__": True} | told)])

    assert said(__module__="distributed.core", __name__="Status", name="running") is Status.running
    for module, name, attribute in (("distributed.utils", "os", "system"), ("distributed.core", "Server", "close")):
        with pytest.raises(pickle_guard.RefusedPickle, match=f"{module}.{name}"):
            said(__module__=module, __name__=name, name=attribute)


def test_a_strangers_event_reaches_no_client(tmp_path: Path) -> None:
    """Over the port: neither the stream of others' operations nor what does not speak Dask gets through."""

    async def hostile() -> tuple[bytes, int]:
        from distributed import Client
        from distributed.comm import connect

        from lanescope.app.hardware.fleet_processes import FleetScheduler

        async with (
            FleetScheduler(port=0, host="127.0.0.1", protocol="tcp", dashboard=False, dashboard_address=":0") as desk,
            Client(desk.address, asynchronous=True, set_as_default=False) as client,
        ):
            comm = await connect(desk.address)
            await comm.write({"op": "connection_stream"})
            said = {"message": pickle.dumps(PickleBomb(tmp_path / "told"))}
            await comm.write([{"op": "log-event", "worker": "x", "topic": "warn", "msg": said}])
            await comm.close()
            desk.log_event("warn", said)  # as if it had got through
            reader, writer = await asyncio.open_connection("127.0.0.1", desk.port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            told = await asyncio.wait_for(reader.read(), 20)  # the handshake, and then the end
            writer.close()
            await writer.wait_closed()
            return told, len((await client.scheduler.identity())["workers"])

    told, workers = asyncio.run(hostile())
    assert told and workers == 0 and not (tmp_path / "told").exists()
