"""Faults of scripts in one run of one server and one browser: the server has the files as they are,
the browser is handed the changed one. A fault costs its tests and nothing else.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from playwright.sync_api import Browser, BrowserContext, Error, Route

from tests.browser.waiting import PATIENCE
from tests.mutants.fault import Fault, fits


class Nothing:
    """What comes after a test: no other of its module, so that nothing of it stays but what the session has."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session

    def listchain(self) -> list[Any]:
        return [self.session]


class Live:
    """A pytest plugin: for each fault its tests until one fails; `told` hears (fault, test, why)."""

    def __init__(self, faults: list[Fault], told: Callable[[Fault, str, str], None]) -> None:
        self.faults, self.told = faults, told
        self.now: Fault | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        with self.handing_out():
            for fault in self.faults:
                self.now = fault
                items = [item for name in fault.tests for item in session.items if fits(item.nodeid, name)]
                assert items, f"{fault.tests}: no such test"
                self.told(fault, *next((found for item in items if (found := self.failed(session, item))), ("", "")))
        return True

    def failed(self, session: pytest.Session, item: pytest.Item) -> tuple[str, str] | None:
        nothing: Any = Nothing(session)
        for report in runtestprotocol(item, log=False, nextitem=nothing):
            if report.failed and report.when == "setup":
                raise RuntimeError(report.longreprtext)
            if report.failed:
                lines = [line[1:].strip() for line in report.longreprtext.split("\n") if line.startswith("E ")]
                return item.nodeid, next(iter(lines), "")
        return None

    @contextlib.contextmanager
    def handing_out(self) -> Iterator[None]:
        """Every page that is opened meanwhile asks here for the changed file."""
        plain = Browser.new_context

        def opened(browser: Browser, **options: Any) -> BrowserContext:
            context = plain(browser, **options)
            context.set_default_timeout(1000 * PATIENCE)
            context.set_default_navigation_timeout(60_000)
            context.route(re.compile(r"/static/.*\.js(\?.*)?$"), self.hand)
            return context

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Browser, "new_context", opened)
            patched.setattr(Browser, "new_page", lambda browser, **options: opened(browser, **options).new_page())
            yield

    def hand(self, route: Route) -> None:
        """A tab may serve many tests, so it asks here for every script."""
        now = self.now
        with contextlib.suppress(Error):  # the page was closed meanwhile
            if now is None or not re.search(rf"/{re.escape(now.file.partition('/')[2])}(\?.*)?$", route.request.url):
                return route.continue_()
            answer = route.fetch()
            route.fulfill(response=answer, body=now.applied(answer.text()))
