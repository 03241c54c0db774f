"""One computation in a thread, which another thread can end.

It ends at its next `check_deadline`. Code that never asks is interrupted: CPython raises OverdueError between two
instructions of the thread. That is sound for three reasons. A computation returns its result and writes into no state
that others read (the cache is filled after it); `with lock` and C code cannot be torn; and `_leave` waits for an
interrupt that comes late, so that it never hits what the thread does next. One call of C code (a regular expression, a
product of large integers) is not interrupted: the bounds on inputs have to keep these short.
"""

from __future__ import annotations

import ctypes
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from lanescope.deadline import OverdueError, end_when
from lanescope.errors import refuse_deep_recursion

Result = TypeVar("Result")
LOG = logging.getLogger("lanescope")
GRACE = 0.5  # seconds that a computation has to end by itself before it is interrupted


class Computation(Generic[Result]):
    """A computation: when it began (None: it waits), and its result.

    overdue: what is raised once it was ended. place: the character of its text that it had reached then, None if that
    is not known.
    """

    def __init__(
        self, make: Callable[[], Result], overdue: Callable[[], Exception], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.future: Future[Result]
        self.began: float | None = None
        self.place: int | None = None
        self._make, self._overdue, self._clock = make, overdue, clock
        self._over = self._interrupted = False
        self._thread: int | None = None
        self._lock = threading.Lock()

    def run(self) -> Result:
        """Compute, in this thread."""
        try:
            with end_when(lambda: self._over):
                return self._run_interruptible()
        except OverdueError as error:
            self.place = error.place
            raise self._overdue() from None
        except RecursionError:
            LOG.exception("a computation was nested too deeply")
            with refuse_deep_recursion():
                raise

    def _run_interruptible(self) -> Result:
        try:
            with self._lock:
                self._thread, self.began = threading.get_ident(), self._clock()
            return self._make()
        finally:
            try:
                self._leave()
            except OverdueError:  # it comes only once
                self._leave()

    def _leave(self) -> None:
        """Forget the thread, so that no interrupt reaches what it does next."""
        with self._lock:
            self._thread = None
        for _ in range(2):  # a thread checks for interrupts in each iteration: a pending one is raised here
            pass

    def end(self) -> None:
        """Ask the computation to end."""
        self._over = True

    def interrupt(self) -> None:
        """Interrupt it once between two instructions, if it did not end itself; do nothing if it has not begun or is
        over.
        """
        with self._lock:
            if self._thread is not None and not self._interrupted:
                self._interrupted = True
                thread, kind = ctypes.c_ulong(self._thread), ctypes.py_object(OverdueError)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, kind)


def run_within(seconds: float, make: Callable[[], Result], overdue: Callable[[int | None], Exception]) -> Result:
    """Compute in this thread, for so long at most; overdue: what is raised then, by the place that was reached."""
    job: Computation[Result] = Computation(make, lambda: overdue(job.place))
    timers = [threading.Timer(seconds, job.end), threading.Timer(seconds + GRACE, job.interrupt)]
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        return job.run()
    finally:
        for timer in timers:
            timer.cancel()
