"""When a computation has to end: whoever starts it says how that is known, and its long loops ask.

The engine has no clock. Where nobody sets a condition, nothing ends early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_over: ContextVar[Callable[[], bool] | None] = ContextVar("over", default=None)


class OverdueError(BaseException):
    """The time of a computation is over. No LayoutError and no Exception: a reader that tries one thing after another
    would take it for a refusal and answer from what it has so far. place: the character that reading had come to.
    """

    place: int | None = None


@contextmanager
def end_when(over: Callable[[], bool]) -> Iterator[None]:
    """Let `check_deadline` end what is computed inside, in this thread, once over() or a condition around is true."""
    around = _over.get()
    token = _over.set(over if around is None else lambda: over() or around())
    try:
        yield
    finally:
        _over.reset(token)


@contextmanager
def note_reading_place(place: Callable[[], int]) -> Iterator[None]:
    """Have an OverdueError from inside say where reading stopped; the innermost place counts."""
    try:
        yield
    except OverdueError as error:
        if error.place is None:
            error.place = place()
        raise


def check_deadline() -> None:
    """Raise OverdueError if the time of this computation is over. Costs about 0.1 µs: call it in each turn of a loop
    that an input can make long.
    """
    over = _over.get()
    if over is not None and over():
        raise OverdueError
