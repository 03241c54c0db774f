"""Deadlines of computations: the caller sets a condition, long loops check it.

The engine has no clock. Without a condition nothing ends early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_over: ContextVar[Callable[[], bool] | None] = ContextVar("over", default=None)
_late: ContextVar[Callable[[], bool] | None] = ContextVar("late", default=None)


class OverdueError(BaseException):
    """The deadline of a computation has passed.

    Neither a LayoutError nor an Exception: code that tries alternatives would treat it as a rejection and return a
    partial answer. place: the character that parsing had reached.
    """

    place: int | None = None


@contextmanager
def end_when(over: Callable[[], bool]) -> Iterator[None]:
    """Make `check_deadline` raise inside the context, in this thread, once over() or an outer condition is true."""
    outer_condition = _over.get()
    token = _over.set(over if outer_condition is None else lambda: over() or outer_condition())
    try:
        yield
    finally:
        _over.reset(token)


@contextmanager
def omit_when(late: Callable[[], bool]) -> Iterator[None]:
    """Make `is_late` true inside the context, in this thread, once late() is."""
    token = _late.set(late)
    try:
        yield
    finally:
        _late.reset(token)


def is_late() -> bool:
    """Return whether what a result can do without, such as repairs, should be omitted for want of time."""
    late = _late.get()
    return late is not None and late()


@contextmanager
def note_reading_place(place: Callable[[], int]) -> Iterator[None]:
    """Give an OverdueError raised inside the position that parsing had reached; the innermost position wins."""
    try:
        yield
    except OverdueError as error:
        if error.place is None:
            error.place = place()
        raise


def check_deadline() -> None:
    """Raise OverdueError if the deadline has passed.

    It costs about 0.1 µs; call it in every iteration of a loop whose length depends on the input.
    """
    over = _over.get()
    if over is not None and over():
        raise OverdueError
