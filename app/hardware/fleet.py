"""The server's side of a fleet: runs go to a Dask scheduler, each to one worker that has the device for it.

A separate thread runs the event loop that speaks Dask. A run waits here until a suitable worker is free, so that a
worker that dies loses only its current run, which is retried once on another worker. Everything ends in bounded time:
the scheduler has seconds to answer, a run a minute.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import uuid
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from lanescope.app.hardware import jobs, pickle_guard
from lanescope.app.hardware.connection import HINT, TlsFiles, explain_failure, explain_missing_dask
from lanescope.app.hardware.members import (
    FleetMember,
    MemberFilter,
    accept_any,
    avoid_lost,
    parse_members,
    select_members,
)
from lanescope.app.hardware.pool import RunLedger
from lanescope.app.hardware.waiting_run import BACK_SECONDS, WaitingRun, WorkerLostError, parse_answer
from lanescope.errors import LayoutError

Json = dict[str, Any]
Result = TypeVar("Result")
CONNECT_SECONDS, RUN_SECONDS, WAITING = 3.0, 60.0, 256
LOOK_SECONDS, GONE_SECONDS = 0.25, 2.0


class Fleet:
    """The workers of one scheduler. Nothing is started, and Dask is not imported, before the first call."""

    def __init__(
        self,
        address: str,
        tls: TlsFiles | None = None,
        ledger: RunLedger | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        run_seconds: float = RUN_SECONDS,
    ) -> None:
        self.address, self.tls, self.ledger = address, tls or TlsFiles(), ledger or RunLedger()
        self.connect_seconds, self.run_seconds = connect_seconds, run_seconds
        self.waiting, self.retries = 0, 0
        self._queue: list[WaitingRun] = []
        self._changed = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._busy: set[str] = set()
        self._latest_members: tuple[float, tuple[FleetMember, ...]] | None = None
        self._recent_members: dict[str, tuple[float, FleetMember]] = {}  # name → (when it was last there, the member)
        self._client: Any = None
        self._connecting: asyncio.Task[None] | None = None
        self._fetching: asyncio.Task[tuple[FleetMember, ...]] | None = None
        self._unreachable: tuple[float, str] = (0.0, "")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock, self._closed = threading.Lock(), False

    # what others call, from any thread ------------------------------------------------------------------------------

    def submit(self, request: Json) -> Future[Json]:
        """Submit a checked request to a worker that can run it; the future holds the answer or a LayoutError."""
        if self.waiting >= WAITING:
            raise LayoutError("busy", f"{WAITING} runs are waiting.", "Try again in a few seconds.")
        return self.ledger.watch_run(request, self.start_coroutine(self.run("run", request, self.run_seconds)))

    def members(self) -> Future[tuple[FleetMember, ...]]:
        """Return the present members of the fleet; LayoutError "no_scheduler" if no scheduler answers."""
        return self.start_coroutine(self.get_members())

    def close(self) -> None:
        """End the connection now, for good: runs that wait fail."""
        with self._lock:
            self._closed = True
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop and thread:
            with contextlib.suppress(Exception):
                asyncio.run_coroutine_threadsafe(self._drop(), loop).result(5)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(5)

    def start_coroutine(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Start a coroutine of this fleet in its loop."""
        with self._lock:
            if self._closed:
                work.close()
                raise LayoutError(
                    "no_scheduler", "The connection to the fleet is closed.", "The server is shutting down."
                )
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run_loop, args=(self._loop,), name="fleet", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    @staticmethod
    def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        for task in (remaining := asyncio.all_tasks(loop)):
            task.cancel()
        loop.run_until_complete(asyncio.gather(*remaining, return_exceptions=True))
        loop.close()

    # in the loop ----------------------------------------------------------------------------------------------------

    async def run(self, job: str, params: Json, seconds: float, is_allowed: MemberFilter = accept_any) -> Json:
        """Run a job on an allowed worker and return its answer; if the worker dies, retry once on another."""
        text = jobs.format_job(job, params)
        lost: list[FleetMember] = []
        self.waiting += 1
        try:
            async with asyncio.timeout(seconds):
                while True:
                    member = await self._take_member(params, lost, is_allowed)
                    try:
                        answer_text = await self._request_answer(member, text)
                        break
                    except WorkerLostError:
                        lost.append(member)
                        if len(lost) > 1:
                            names = " and ".join(lost_member.name for lost_member in lost)
                            raise LayoutError(
                                "worker_ended",
                                f"The workers {names} went away during the run.",
                                "It is not tried a third time.",
                            ) from None
                        self.retries += 1
                    finally:
                        self._release_member(member)
        except TimeoutError:
            raise LayoutError(
                "timed_out", f"The fleet gave no answer within {seconds:g} s.", "/gpu shows its queues."
            ) from None
        finally:
            self.waiting -= 1
        return parse_answer(answer_text, member, lost)

    async def _take_member(self, params: Json, lost: list[FleetMember], is_allowed: MemberFilter) -> FleetMember:
        """Take a suitable member that is idle; requests are served in order."""
        waiter = WaitingRun(params, lost, is_allowed, asyncio.get_running_loop().create_future())
        self._queue.append(waiter)
        self._changed.set()
        if self._serving is None or self._serving.done():
            self._serving = asyncio.ensure_future(self._serve_waiters())
        try:
            return await waiter.place
        except asyncio.CancelledError:
            if waiter.place.done() and not waiter.place.cancelled() and not waiter.place.exception():
                self._release_member(waiter.place.result())  # it was served, but cancelled before it knew
            raise
        finally:
            if waiter in self._queue:
                self._queue.remove(waiter)

    def _release_member(self, member: FleetMember) -> None:
        self._busy.discard(member.address)
        self._changed.set()

    async def _serve_waiters(self) -> None:
        """Assign workers to waiting runs, as long as there are any."""
        while self._queue:
            self._changed.clear()
            try:
                self._match_waiters(await self.get_members())
            except Exception as error:
                failure = (
                    error
                    if isinstance(error, LayoutError)
                    else self._make_no_scheduler(f"The fleet failed: {explain_failure(error)}.")
                )
                for waiter in self._queue:
                    waiter.fail(failure)
                self._queue.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), LOOK_SECONDS)

    def _match_waiters(self, members: Sequence[FleetMember]) -> None:
        idle = [member for member in members if member.address not in self._busy and not member.refused]
        for waiter in list(self._queue):
            if waiter.place.done():  # no longer waiting
                self._queue.remove(waiter)
                continue
            try:
                fit = select_members(members, waiter.params, waiter.is_allowed)
            except LayoutError as error:
                if not waiter.known and self._has_recent_worker(waiter):
                    waiter.note_worker()
                if error.code != "no_worker" or waiter.is_hopeless():
                    self._queue.remove(waiter)
                    waiter.fail(error)
                continue
            allowed = avoid_lost(fit, waiter.lost)
            free = [member for member in idle if member in allowed]
            if free:
                chosen = min(free, key=lambda member: member.queue)
                idle.remove(chosen)
                self._busy.add(chosen.address)
                self._queue.remove(waiter)
                waiter.place.set_result(chosen)

    def _has_recent_worker(self, waiter: WaitingRun) -> bool:
        """Return whether a suitable worker was present a moment ago: its nanny may be restarting it."""
        try:
            return bool(
                select_members(
                    [member for _, member in self._recent_members.values()], waiter.params, waiter.is_allowed
                )
            )
        except LayoutError:
            return False

    async def _request_answer(self, member: FleetMember, text: str) -> str:
        """Return a member's answer; raise WorkerLostError if it goes away first."""
        client = await self._get_client()
        future = client.submit(
            jobs.perform,
            text,
            key=f"lanescope-{uuid.uuid4().hex}",
            workers=[member.address],
            allow_other_workers=False,
            resources={"gpu": 1},
        )
        waiter = asyncio.ensure_future(_get_result(future))
        try:
            while not (await asyncio.wait({waiter}, timeout=LOOK_SECONDS))[0]:
                if all(other.address != member.address for other in await self.get_members()):
                    raise WorkerLostError
            return str(waiter.result())
        except (LayoutError, WorkerLostError):
            raise
        except (Exception, asyncio.CancelledError) as error:
            if (task := asyncio.current_task()) and task.cancelling():
                raise
            if client.status != "running" or _is_disconnect(error):
                await self._drop()
                raise self._make_no_scheduler(f"The scheduler at {self.address} went away during the run.") from None
            if not isinstance(error, asyncio.CancelledError):
                raise LayoutError("worker_failed", f"{member.name}: {error}", "See the worker's log.") from None
            raise WorkerLostError from None
        finally:
            waiter.cancel()
            with contextlib.suppress(Exception):
                future.release_object()

    async def get_members(self) -> tuple[FleetMember, ...]:
        """Return the members, cached for a moment; concurrent callers share one request."""
        if self._latest_members and time.monotonic() - self._latest_members[0] <= LOOK_SECONDS:
            return self._latest_members[1]
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.ensure_future(self._fetch_members())
        return await asyncio.shield(self._fetching)

    async def _fetch_members(self) -> tuple[FleetMember, ...]:
        client = await self._get_client()
        try:
            async with asyncio.timeout(self.connect_seconds):
                identity = await client.scheduler.identity(n_workers=-1)
                processing = await client.scheduler.processing(workers=None)
            members = parse_members(identity, processing, jobs.compute_program_version(), time.time())
        except Exception as error:
            await self._drop()
            raise self._make_no_scheduler(self._explain_silence(error)) from None
        now = time.monotonic()
        self._latest_members = now, members
        self._recent_members = {name: row for name, row in self._recent_members.items() if row[0] > now - BACK_SECONDS}
        self._recent_members |= {member.name: (now, member) for member in members if not member.refused}
        return members

    async def _get_client(self) -> Any:
        """Return the client; LayoutError "no_scheduler" if no scheduler answers in time. It is then not contacted again
        for two seconds.
        """
        if self._client is not None and self._client.status == "running":
            return self._client
        if self._client is not None:
            await self._drop()
        until, reason = self._unreachable
        if time.monotonic() < until:
            raise LayoutError("no_scheduler", reason, HINT)
        if reason := explain_missing_dask():
            raise LayoutError("no_scheduler", reason, "LANESCOPE_SCHEDULER is set.")
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.ensure_future(self._connect())
        await asyncio.shield(self._connecting)
        return self._client

    async def _connect(self) -> None:
        from distributed import Client

        pickle_guard.install_guard()
        client = None
        try:
            async with asyncio.timeout(self.connect_seconds + 1):
                client = Client(
                    self.address,
                    asynchronous=True,
                    set_as_default=False,
                    timeout=self.connect_seconds,
                    security=self.tls.make_security(),
                    name="lanescope",
                )
                self._client = await client
        except Exception as error:
            raise self._make_no_scheduler(self._explain_silence(error)) from None
        finally:
            if client is not None and self._client is not client:
                await _close_client(client)

    def _explain_silence(self, error: Exception) -> str:
        late = f"not within {self.connect_seconds:g} s"
        return (
            f"The scheduler at {self.address} does not answer:"
            f" {late if _is_timeout(error) else explain_failure(error)}."
        )

    def _make_no_scheduler(self, reason: str) -> LayoutError:
        self._unreachable = time.monotonic() + GONE_SECONDS, reason
        self._latest_members = None
        return LayoutError("no_scheduler", reason, HINT)

    async def _drop(self) -> None:
        client, self._client, self._latest_members = self._client, None, None
        if client is not None:
            await _close_client(client)


def _is_disconnect(error: BaseException) -> bool:
    """Return whether the connection ended during a request; a client learns that before its status shows it."""
    from distributed.comm.core import CommClosedError

    return isinstance(error, CommClosedError)


def _is_timeout(error: BaseException) -> bool:
    """Return whether there was no answer, rather than a wrong one."""
    return isinstance(error, TimeoutError) or (error.__cause__ is not None and _is_timeout(error.__cause__))


async def _close_client(client: Any) -> None:
    """Close a client. One that cannot close in time counts as closed: it would start again when it is collected, where
    nobody waits for it.
    """
    try:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(client.close(timeout=2), 3)
    finally:
        client.status = "closed"


async def _get_result(future: Any) -> Any:
    return await future
