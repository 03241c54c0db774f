"""Threads that check documents. They end with the process: no check delays its exit."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")
COUNT = 2


class Workers:
    """A few daemon threads with one queue."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        for _ in range(COUNT):
            threading.Thread(target=self._work, daemon=True, name="lanescope-lsp").start()

    def submit(self, make: Callable[[], Result]) -> Future[Result]:
        """Compute in one of the threads; a future that is cancelled before it begins is not computed."""
        future: Future[Result] = Future()
        self._jobs.put((future, make))
        return future

    def _work(self) -> None:
        while True:
            future, make = self._jobs.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = make()
            except BaseException as error:  # OverdueError is not an Exception
                future.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
            else:
                future.set_result(result)
