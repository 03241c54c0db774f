"""Rate limit of computations per client."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from lanescope.errors import LayoutError


class TooOftenError(LayoutError):
    """Raised if a client sends too many requests; says after how many seconds it may retry."""

    def __init__(self, rate: float, seconds: float) -> None:
        self.retry_seconds = max(1, math.ceil(seconds))
        every = f"{rate:g} a second" if rate >= 1 else f"one in {1 / rate:g} seconds"
        super().__init__(
            "too_many_requests",
            f"This server computes {every} for one client.",
            f"Try again in {self.retry_seconds} s.",
        )


class RateLimit:
    """A token bucket per client: `rate` tokens per second, capacity two seconds' worth and at least one. Old clients
    are forgotten.
    """

    def __init__(self, rate: float, clients: int = 10_000, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.most, self.clients, self.clock = rate, max(1.0, 2 * rate), clients, clock
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()  # client → (tokens, time)

    def take_token(self, client: str) -> None:
        """Take a token of a client. TooOftenError if there is none."""
        if not self.rate:
            return
        now = self.clock()
        tokens, when = self._held.pop(client, (self.most, now))
        tokens = min(self.most, tokens + (now - when) * self.rate)
        self._held[client] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._held) > self.clients:
            self._held.popitem(last=False)
        if tokens < 1:
            raise TooOftenError(self.rate, (1 - tokens) / self.rate)
