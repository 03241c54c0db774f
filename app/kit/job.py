"""A computation in a thread that another thread can end.

It ends at its next `check_deadline`. Code without such checks is interrupted: CPython raises OverdueError between two
instructions of the thread. This is safe for three reasons: a computation changes no shared state (the cache is filled
afterwards); `with lock` and C code cannot be interrupted half-way; and `_leave` waits for a late interrupt, so that it
cannot hit the thread's next job.

A single call of C code (a regular expression, a product of large integers) cannot be interrupted: the limits on inputs
keep these short.
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
GRACE = 0.5  # seconds in which a computation may end by itself before it is interrupted


class Computation(Generic[Result]):
    """A computation, the time it began (None while it waits), and its result.

    overdue: the error to raise when it was ended. place: the position in its text that it had reached, None if unknown.
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
        """Run the computation in this thread."""
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
            except OverdueError:  # at most one interrupt arrives
                self._leave()

    def _leave(self) -> None:
        """Forget the thread, so that no interrupt reaches its next job."""
        with self._lock:
            self._thread = None
        for _ in range(2):  # a thread checks for interrupts in each iteration: a pending one is raised here
            pass

    def end(self) -> None:
        """Ask the computation to end."""
        self._over = True

    def interrupt(self) -> None:
        """Interrupt the computation if it has begun and has not ended by itself."""
        with self._lock:
            if self._thread is not None and not self._interrupted:
                self._interrupted = True
                thread, kind = ctypes.c_ulong(self._thread), ctypes.py_object(OverdueError)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, kind)


def run_within(seconds: float, make: Callable[[], Result], overdue: Callable[[int | None], Exception]) -> Result:
    """Run a function in this thread for at most `seconds`. overdue: makes the error from the place that was reached."""
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
