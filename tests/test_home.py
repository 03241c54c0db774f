"""The home page: what it says is counted, its links open, and the catalogue's old addresses lead on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

import lanescope
from lanescope.app.home import facts
from lanescope.ptx import catalog, hardware_runs
from tests.cases import for_each
from tests.client import Client

EVIDENCE = Path(lanescope.__file__).parent / "evidence"


def test_its_figures_are_those_of_the_files(client: Client) -> None:
    files = [json.loads(path.read_text()) for path in EVIDENCE.glob("*.json")]
    ran = [{form.removesuffix(hardware_runs.SHARED_A) for form in told["results"]} for told in files]
    ran_everywhere = [i for i in catalog.instructions() if all(i.ptx in forms for forms in ran)]
    (reads,) = {sum(row["ran"] for row in told["descriptors"].values()) for told in files if told["descriptors"]}
    every = len(catalog.instructions())
    text = client.get("/").text
    shown = re.findall(r"<b>([\d,]+(?: of [\d,]+)?)</b>", text)
    assert shown == [f"{len(ran_everywhere):,} of {every:,}", f"{reads:,}", f"{every:,}"]
    assert f"The pages of the other {every - len(ran_everywhere):,} say that they have not run." in text
    assert "H100 and H200" in text and catalog.get_assembler_release() in text
    readme = (Path(lanescope.__file__).parents[1] / "README.md").read_text()
    assert f"Descriptors: {reads} on" in readme
    assert f"element by element: {len(ran_everywhere):,} on an H100 and an H200" in readme
    assert " every NVIDIA" not in text  # tcgen05 has no page, and some forms have not run


def test_numbers_beside_a_picture_lie_inside_it() -> None:
    from lanescope.app.home import draw

    picture = draw.draw_labelled(facts.PICTURED)
    ends = [float(x) for x in re.findall(r'<text x="([\d.-]+)"[^>]*text-anchor="end"', picture)]
    ends += [float(x) for x in re.findall(r'text-anchor="end"[^>]*><tspan x="([\d.-]+)"', picture)]
    assert len(ends) >= 1 and min(ends) >= 10


def test_a_run_that_differs_is_not_called_right(monkeypatch: pytest.MonkeyPatch) -> None:
    files = json.loads(json.dumps(hardware_runs.load_evidence()))
    form = next(iter(files[1]["results"]))
    files[1]["results"][form] = {"fragment": "lane 3 holds row 1"}
    files[0]["descriptors"] = {"one": {"ran": 40, "agreed": 39}}
    files[1]["descriptors"] = {}
    before = facts.count_evidence()
    monkeypatch.setattr(hardware_runs, "load_evidence", lambda: tuple(files))
    told = facts.count_evidence()
    assert (told.ran, told.agreed) == (before.ran, before.agreed - 1)
    assert (told.descriptors, told.descriptors_agreed) == (40, 39)


def test_every_link_of_it_opens(client: Client, opens: Callable[[str], bool]) -> None:
    text = client.get("/").text
    main = text[text.index("<main") :]
    links = re.findall(r'href="([^"]+)"', main)
    assert len(links) >= 3 + 3 + 12
    for link in links:
        assert opens(link), link
    assert len(re.findall("<svg", main)) == 3


def test_popular_instructions_say_their_types(client: Client) -> None:
    text = client.get("/").text
    rows = re.findall(r'<li><a href="/i/([^"]+)"><code>([^<]+)</code><span class="mono">([^<]+)', text)
    assert len(rows) == 12 and rows[0][1:] == ("mma.m16n8k16", "f32 += f16 × f16")
    for ptx, _, types in rows:
        form = catalog.find(ptx)
        assert set(re.findall(r"[a-z]+\d\w*", types)) <= {*form.types.values(), *re.split(r"[.:]+", form.ptx)}


@for_each("query", ["family=mma&type=e4m3", "q=wgmma+sp", "q=", "part=rows&q=x"])
def test_an_address_of_the_catalogue_leads_there(client: Client, query: str) -> None:
    answer = client.get(f"/?{query}", follow_redirects=False)
    assert answer.status_code == 303 and answer.headers["location"] == f"/instructions?{query}"


def test_any_other_query_is_the_home_page(client: Client) -> None:
    assert client.get("/?utm_source=x", follow_redirects=False).status_code == 200


def test_an_error_page_is_for_people_and_leads_on(client: Client) -> None:
    page = client.get("/i/mma.m16n8k12.row.col.f32.f16.f16.f32")
    assert page.status_code == 404 and "<title>No such instruction" in page.text
    assert 'value="mma.m16n8k12.row.col.f32.f16.f16.f32"' in page.text and "K is 12" in page.text
    assert 'href="/read?text=mma.m16n8k12' in page.text and 'href="/instructions"' in page.text
    missing = client.get("/nothing")
    assert missing.status_code == 404 and "<title>No such page" in missing.text and "not_found" not in missing.text
    assert client.get("/favicon.ico").headers["content-type"].startswith("image/svg")


@for_each(
    "words, page",
    [
        ("read your tile", "/descriptor"),
        ("bank conflicts", "/banks"),
        ("TMA box", "/smem"),
        ("scale factor", "/scale-factors"),
        ("sparse metadata", "/metadata/order"),
        ("Triton layout", "/layouts/triton"),
        ("conversion", "/layouts/triton"),
        ("epilogue", "/tmem/epilogue"),
        ("paste", "/read"),
        ("GPU", "/gpu"),
    ],
)
def test_a_tool_is_found_on_the_home_page_by_what_people_call_it(client: Client, words: str, page: str) -> None:
    text = client.get("/").text
    links = re.findall(rf'<a\b[^>]*href="{page}"[^>]*>(.*?)</a>', text, re.S)
    assert any(words.lower() in unescape(re.sub("<[^>]+>", " ", link)).lower() for link in links)
