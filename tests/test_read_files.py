"""Several source files at once: each is read with those that it includes, and each finding names its file and line."""

from __future__ import annotations

import re
from html import unescape
from typing import get_args

import pytest

from lanescope import reader
from lanescope.app.check import answer
from lanescope.app.check.facts import SourceText
from lanescope.app.check.includes import join_includes
from lanescope.app.guide import index
from lanescope.app.guide.rendering import KINDS, PASTED, render_guide_page
from lanescope.app.read import text_meanings
from lanescope.app.read.facts import Kind
from tests.cases import for_each
from tests.client import Client
from tests.guilty_kernels import KERNELS, RIGHT


@pytest.fixture(autouse=True)
def without_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give slow machines time: the verdicts do not depend on it."""
    monkeypatch.setattr(answer, "SECONDS", 60.0)


def send(client: Client, *files: tuple[str, str | bytes]) -> tuple[int, str]:
    answer = client.post("/read/files", files=[("files", file) for file in files], follow_redirects=False)
    return answer.status_code, " ".join(unescape(answer.text).split())


def test_each_finding_names_its_file_and_line(client: Client) -> None:
    helper, call = KERNELS[0].text, "\n\n" + KERNELS[8].text
    code, shown = send(client, ("right.cu", RIGHT), ("src/helper.cuh", helper), ("src/call.cu", call))
    assert code == 200 and "3 files, 2 findings" in shown
    line = 1 + helper.count("\n", 0, helper.index("512"))
    in_call, in_helper = (
        part.partition("</section>")[0] for part in re.split(r"src/(?:call.cu|helper.cuh)</h2>", shown)[1:]
    )
    assert f"<b>line {line}</b>" in in_helper and "<code>512 → 1024</code>" in in_helper
    line = 1 + call.count("\n", 0, call.index("512"))
    assert f"<b>line {line}</b>" in in_call
    assert shown.index("src/call.cu") < shown.index("right.cu")  # what is wrong comes first


HELPER = KERNELS[0].text[KERNELS[0].text.index("__device__") : KERNELS[0].text.index("__global__")]  # SBO is 512
CALLER = KERNELS[0].text.replace(HELPER, '#include "util.cuh"\n')


def test_a_file_is_read_with_those_that_it_includes(client: Client) -> None:
    """The mistake stands in the header, and is found there through the file that includes it."""
    assert "0 finding" in send(client, ("main.cu", CALLER), ("other.cu", "int x;"))[1].replace(
        "no finding", "0 finding"
    )
    code, shown = send(client, ("src/main.cu", CALLER), ("src/util.cuh", "#pragma once\n" + HELPER))
    line = 2 + HELPER.count("\n", 0, HELPER.index("512"))
    assert code == 200 and "2 files, 1 finding" in shown and "with src/util.cuh" in shown
    assert f"<b>src/util.cuh, line {line}</b>" in shown and "<code>512 → 1024</code>" in shown


def test_a_repair_before_and_after_an_include_keeps_its_line() -> None:
    sources = [SourceText("a.cu", 'one\n#include "b.cuh"\nthree'), SourceText("b.cuh", "in b\nmore")]
    joined = join_includes(sources[0], sources)
    assert joined.text == "one\nin b\nmore\nthree"
    places = [
        joined.locate((joined.text.index(word), joined.text.index(word) + 2)) for word in ("one", "more", "three")
    ]
    assert [(place.file, place.line, place.column) for place in places] == [
        ("a.cu", 1, 1),
        ("b.cuh", 2, 1),
        ("a.cu", 3, 1),
    ]


@for_each(
    ("text", "names"),
    [
        ('#include "b.cuh"', ["x/b.cuh", "y/b.cuh"]),  # two files are meant
        ('#include "c.cuh"', ["b.cuh"]),
        ("#include <b.cuh>", ["b.cuh"]),
    ],
)
def test_an_include_that_no_single_file_answers_stays(text: str, names: list[str]) -> None:
    source = SourceText("a.cu", text)
    assert join_includes(source, [source, *(SourceText(name, "in b") for name in names)]).text == text


def test_of_two_files_an_include_means_the_one_in_the_nearest_folder_around() -> None:
    names = ["a/detail/k.cuh", "a/detail/b.cuh", "c/detail/b.cuh", "detail/b.cuh"]
    source, *others = [SourceText(name, f"of {name}") for name in names]
    source = SourceText(source.name, '#include "detail/b.cuh"\nint a;')
    assert join_includes(source, [source, *others]).text == "of a/detail/b.cuh\nint a;"
    assert join_includes(source, [source, *others[1:]]).text == "of detail/b.cuh\nint a;"


def test_files_that_include_each_other_are_read_once() -> None:
    sources = [SourceText("a.cu", '#include "b.cuh"\nA'), SourceText("b.cuh", '#include "a.cu"\n#include "b.cuh"\nB')]
    assert join_includes(sources[0], sources).text.split() == ["B", "A"]


def test_a_single_file_opens_in_the_workbench(client: Client) -> None:
    answer = client.post("/read/files", files=[("files", ("a.cu", KERNELS[0].text))], follow_redirects=False)
    assert answer.status_code == 303
    assert "SBO is <code>512</code>" in client.get(answer.headers["location"]).text


@pytest.mark.thorough
def test_a_file_past_the_workbench_s_limit_is_checked(client: Client) -> None:
    long = KERNELS[0].text + "// a comment\n" * 5000
    assert len(long) > 1 << 16
    code, shown = send(client, ("long.cu", long))
    assert code == 200 and "<b>line 9</b>" in shown and "Open and repair" not in shown


def test_what_is_no_text_and_no_file_is_told(client: Client) -> None:
    code, shown = send(client, ("a.cu", RIGHT), ("b.cu", b"\0\1\2"))
    assert code == 200 and "The file is not text" in shown
    assert client.post("/read/files", files={"other": ("a.cu", "x")}).status_code == 422
    assert client.post("/read/files", data={"text": "x"}).status_code == 415
    assert client.get("/read/files").status_code == 200


# what the guide says can be pasted ------------------------------------------------------------------------------------

EXAMPLES = re.findall(rf"^```{PASTED}(\w+)\n(.*?)^```$", index.read_source("paste"), re.M | re.S)


@for_each(("kind", "text"), EXAMPLES, ids=lambda part: part[:40])
def test_an_example_is_read_as_its_page_says(kind: str, text: str) -> None:
    told = text_meanings.read_text(text.strip())
    assert told.kind == kind and told.link.startswith("/")
    assert f"<strong>{KINDS[kind]}</strong>" in render_guide_page("paste")


def test_every_kind_and_every_recogniser_has_an_example() -> None:
    assert {kind for kind, _ in EXAMPLES} == set(get_args(Kind)) - {"unknown"} == set(KINDS) - {"unknown"}
    for row in reader.RECOGNISERS:
        assert any(row.read(text.strip()) for _, text in EXAMPLES), row.what
