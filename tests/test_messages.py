"""Every refusal, warning, note and limit: what the API says to a wide list of requests, held word for word.

golden/wrong_words.json: descriptors of tests/blunders.py that were searched for diagnoses no other golden text has; a
request each.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pytest

from lanescope import errors
from lanescope.app.main import create_app
from tests import asked, called, called_app, posted
from tests.client import Client
from tests.held import FOLDER, held

ROOT = Path(__file__).parents[1]
SAYS = 3  # words of a sentence; shorter texts are names


GETS = 40  # addresses of a part


@lru_cache(maxsize=1)
def client() -> Client:
    return Client(create_app())


@lru_cache(maxsize=64)
def said_to(part: str) -> tuple[str, frozenset[tuple[str, int]]]:
    """(what was asked and said, (file, line) of every LayoutError that was made)."""
    with noting() as made:
        text = "".join(PARTS[part]())
    return text, frozenset(made)


@contextmanager
def noting() -> Iterator[set[tuple[str, int]]]:
    """Where each LayoutError is made while this lasts."""
    made: set[tuple[str, int]] = set()
    plain = errors.LayoutError.__init__

    def noted(self: errors.LayoutError, *given: Any, **named: Any) -> None:
        plain(self, *given, **named)
        frame = sys._getframe(1)
        made.add((str(Path(frame.f_code.co_filename).resolve().relative_to(ROOT)), frame.f_lineno))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(errors.LayoutError, "__init__", noted)
        yield made


def gets(first: int) -> Iterator[str]:
    for address in asked.GETS[first : first + GETS]:
        yield exchange(f"GET {address}", client().get(address))


def posts(path: str) -> Iterator[str]:
    for body in posted.POSTS[path]:
        sent = json.dumps(body)
        answered = client().post(f"{asked.API}/{path}", content=sent, headers={"content-type": "application/json"})
        yield exchange(f"POST {path} {sent}", answered)


def wrong_words() -> Iterator[str]:
    for given in json.loads((FOLDER / "wrong_words.json").read_text()):
        told = client().post(f"{asked.API}/descriptors/verify", json=given)
        yield exchange(f"POST descriptors/verify {json.dumps(given)}", told)


def bodies() -> Iterator[str]:
    ask, steps = client(), f"{asked.API}/steps"
    for raw in posted.RAW:
        told = ask.post(steps, content=raw, headers={"content-type": "application/json"})
        yield exchange(f"POST steps {raw}", told)
    yield exchange("POST steps as a form", ask.post(steps, content="a=1", headers={"content-type": "text/plain"}))
    form = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    yield exchange("POST /read as JSON", ask.post("/read", json={}, headers={"accept": "application/json"}))
    yield exchange("POST /read, 0xff", ask.post("/read", content=b"text=\xff", headers=form))
    yield exchange("PUT banks", ask.put(f"{asked.API}/banks"))


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    **{f"{asked.GETS[n]} and more": partial(gets, n) for n in range(0, len(asked.GETS), GETS)},
    **{path: partial(posts, path) for path in posted.POSTS},
    "wrong words": wrong_words, "bodies": bodies,
}  # fmt: skip


def exchange(question: str, answer: Any) -> str:
    """A request and the sentences of its answer, one a line; a refusal with status, code, field and hint."""
    short = question if len(question) <= 300 else f"{question[:240]}… ({len(question)} characters)"
    kind = answer.headers.get("content-type", "")
    told = answer.json() if "json" in kind else {}
    if "error" in told:
        error = told["error"]
        lines = [f"{answer.status_code} {error['code']} {error['field']}: {error['message']}", f"hint: {error['hint']}"]
    else:
        lines = [str(answer.status_code), *dict.fromkeys(sentences(told))]
    return short.encode("unicode_escape").decode() + "\n" + "".join(f"  {line}\n" for line in lines)


def sentences(told: Any, name: str = "") -> Iterator[str]:
    """Texts of several words anywhere in an answer; generated code has tests of its own."""
    if isinstance(told, dict):
        for key, value in told.items():
            yield from (
                ()
                if key in ("code", "source", "ptx", "formula", "evidence") and not _is_note(told)
                else sentences(value, key)
            )
    elif isinstance(told, list):
        for value in told:
            yield from sentences(value, name)
    elif isinstance(told, str) and "\n" not in told and len(re.findall(r"[A-Za-z]{2,}", told)) >= SAYS and " " in told:
        yield f"{name}: {told}"


def _is_note(told: dict[str, Any]) -> bool:
    return "message" in told


@pytest.mark.parametrize("part", PARTS)
def test_what_is_said_to(part: str) -> None:
    """Apart, so that a fault costs the answers of its own route; the whole is held below."""
    told = said_to(part)[0]
    assert os.environ.get("LANESCOPE_GOLDEN") == "write" or told in (FOLDER / "messages.txt").read_text(), told


def test_what_is_said() -> None:
    held("messages", "".join(said_to(part)[0] for part in PARTS))


@lru_cache(maxsize=2)
def calling(functions: Callable[[], list[called.Call]]) -> tuple[str, frozenset[tuple[str, int]]]:
    """The same of the engine's functions, or of the app's."""
    with noting() as made:
        text = "".join(
            f"{words.encode('unicode_escape').decode()}\n" + "".join(f"  {line}\n" for line in answer(call))
            for words, call in functions()
        )
    return text, frozenset(made)


def answer(call: Callable[[], Any]) -> list[str]:
    try:
        told = call()
    except errors.LayoutError as error:
        return [f"{error.code} {error.field}: {error.message}", f"hint: {error.hint}"]
    told = [f"{name}: {text}" for name, text in told.items()] if isinstance(told, dict) else told
    return [str(part) for part in told] if isinstance(told, list) else [str(told)]


def test_what_the_engine_says() -> None:
    held("engine", calling(called.calls)[0])


def test_what_the_app_refuses() -> None:
    held("app", calling(called_app.calls)[0])


# nothing is said that no golden text holds ----------------------------------------------------------------------------

# Places that make a LayoutError and that neither list reaches, by file: the tests that drive them, or why none can. A
# new place in any other file needs a request or a call of its own.
ELSEWHERE = {
    "app/cli.py": "test_cli, test_cli_fuzz",
    "app/*/verbs.py": "the command line: test_cli, test_banks, test_kernel_api", "app/export.py": "test_site",
    "app/guide/*": "test_guide, test_guide_reference",
    "app/kit/[!a]*": "the server and its pictures: test_server, test_settings, test_limits, test_work, test_pictures",
    "app/hardware/boxes.py": "a device: test_tma", "app/hardware/device.py": "a device: test_card",
    "app/hardware/runs.py": "a device: test_card",
    "app/hardware/verify.py": "a device: test_card, test_gpu", "app/hardware/pool.py": "a worker: test_worker",
    "app/*/page.py": "a page: test_refusals, test_tools",
    "layouts/dump/*": "files of every kind, test_dump",
    "layouts/capture/*": "files and fills of every kind, test_capture_format, test_capture_verify",
    "app/hardware/captures.py": "a device",
    "app/hardware/fleet.py": "a scheduler and its workers: test_fleet", "app/hardware/evidence.py": "a device: test_gpu",
    "app/hardware/posts.py": "a port: test_fleet_site", "app/hardware/contact.py": "a scheduler: test_fleet_site",
    "app/kit/tls.py": "certificates: test_fleet_site",
    "app/hardware/jobs.py": "a worker: test_fleet",
    "app/hardware/pieces.py": "a worker: test_fleet", "app/hardware/spread.py": "a fleet: test_fleet",
    "app/hardware/members.py": "a fleet: test_fleet", "app/runs/hardware.py": "a device or a fleet: test_fleet",
    "app/runs/workers.py": "the command line: test_terminal_held",
    "app/check/facts.py": "files that cannot be read, test_check_files",
    "app/read/bench.py": "an address, test_workbench_page",
}  # fmt: skip
# One place of a file whose others are reached: a part of its text, and why not.
UNREACHED = {
    "The code has": "a long text: test_reader_code",
    "'bad_row'": "a row of a table that is wrong, test_rows and tests.called",
    "The lanes' rows are no sum of bit fields.": "every row of a table has such a sum",
    "No ldmatrix fills": "a form of the page, test_chain_api",
    "leaves its matrices to": "the engine alone, test_pictures", "'too_deep'": "any door, test_nesting",
    "The worker's answer is of no kind of run": "a worker that answers nonsense, test_worker",
    "stands before any access": "a form of the page, test_banks",
    "'bad_view', f\"view is": "a page's address, tests/browser/test_bench and test_window",
    "unpacks 4- and 6-bit elements: no fragment run": "test_runs", "is not UTF-8 text.', 'Send JSON": "test_refusals",
}  # fmt: skip


def refusals() -> Iterator[tuple[str, int, int, str]]:
    """(file, first line, last line, text) of every place that makes a LayoutError."""
    for path in [*sorted((ROOT / "layouts").rglob("*.py")), *sorted((ROOT / "app").rglob("*.py"))]:
        if "LayoutError(" not in (text := path.read_text()):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "LayoutError":
                yield str(path.relative_to(ROOT)), node.lineno, node.end_lineno or node.lineno, ast.unparse(node)


def test_every_refusal_has_its_example() -> None:
    made = calling(called.calls)[1].union(calling(called_app.calls)[1], *(said_to(part)[1] for part in PARTS))
    places = [*refusals()]
    stale = [files for files in ELSEWHERE if not any(fnmatch(place[0], files) for place in places)]
    assert not stale, f"fit no file that refuses anything: {stale}"
    silent = [
        place
        for place in places
        if not any(fnmatch(place[0], files) for files in ELSEWHERE)
        and not any(part in place[3] for part in UNREACHED)
        and not any(name == place[0] and place[1] <= line <= place[2] for name, line in made)
    ]
    assert not silent, silent
