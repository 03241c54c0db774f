"""Counters for /metrics (prometheus_client), with one registry per server, so that tests share none."""

from __future__ import annotations

import time
from collections import Counter as Counts
from collections.abc import Callable
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from lanescope.app.kit.asgi import ASGIApp, Message, Receive, Scope, Send


class PoolCounts(Protocol):
    """Counters of the GPU worker pool: runs by (kind, outcome), waiting runs, workers killed or lost."""

    @property
    def counts(self) -> Counts[tuple[str, str]]: ...

    @property
    def waiting(self) -> int: ...

    @property
    def restarts(self) -> int: ...


class ServerMetrics:
    """Requests by route and status and their seconds; runs, queue and restarts are read from the pool on request."""

    def __init__(self, pool: Callable[[], PoolCounts]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "lanescope_requests", "Answers by route and status.", ["route", "status"], registry=self.registry
        )
        buckets = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)
        self.seconds = Histogram(
            "lanescope_request_seconds", "Time to the answer's head.", buckets=buckets, registry=self.registry
        )
        self.registry.register(_PoolCollector(pool))


class _PoolCollector(Collector):
    def __init__(self, pool: Callable[[], PoolCounts]) -> None:
        self.pool = pool

    def collect(self) -> list[Metric]:
        pool = self.pool()
        runs = CounterMetricFamily("lanescope_gpu_runs", "Runs by kind and outcome.", labels=["kind", "outcome"])
        for (kind, outcome), count in pool.counts.items():
            runs.add_metric([kind, outcome], count)
        queue = GaugeMetricFamily("lanescope_gpu_queue", "Runs that wait.", value=pool.waiting)
        restarts = CounterMetricFamily("lanescope_gpu_worker_restarts", "Workers killed or lost.", value=pool.restarts)
        return [runs, queue, restarts]


class CountingMiddleware:
    """ASGI middleware that counts responses by the route's template, never by the path that was requested."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        begun = time.perf_counter()

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", "none")
                self.metrics.requests.labels(route, str(message["status"])).inc()
                self.metrics.seconds.observe(time.perf_counter() - begun)
            await send(message)

        await self.app(scope, receive, counted)
