"""Tool pages: one title, one sentence, links that lead on with the state; a chart that says what its table says."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from urllib.parse import parse_qs, quote, urlsplit

from tests.cases import for_each
from tests.client import Client

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
PAGES = (
    "/banks",
    "/banks?row_bytes=144",
    "/banks?swizzle=128B",
    "/dump",
    "/dump?example=fp8",
    "/capture",
    "/capture?example=k-step",
    "/chain",
    "/chain?operand=d",
    "/chain?s_kind=canonical&s_swizzle=128B&operand=b",
    f"/reuse?from={MMA}&to={MMA}",
    f"/compare?left={MMA}/d&right={MMA}/c",
    "/gpu",
    f"/gpu/run?kind=mma&backend=numpy&instruction={MMA}",
    f"/kernel/{WGMMA}",
    f"/diagram?ptx={MMA}&colour=t&lanes=0-3",
    "/gallery",
    "/docs",
    "/docs/integrations",
)


def list_next_links(page: str) -> list[str]:
    """The addresses under "Next"."""
    found = re.search(r'<nav class="next".*?</nav>', page, re.S)
    return [html.unescape(link) for link in re.findall(r'href="([^"]+)"', found[0])] if found else []


@for_each("path", PAGES)
def test_a_tool_page_says_what_it_answers_and_leads_on(client: Client, opens: Callable[[str], bool], path: str) -> None:
    page = client.get(path).text
    assert len(re.findall(r"<h1\b", page)) == 1 and len(re.findall(r'<p class="lead">[^<]{20}', page)) == 1
    assert re.search(r"<title>[^<]{8,} · Lanescope</title>", page)
    links = list_next_links(page)
    assert path.startswith("/docs") or len(set(links)) == len(links) >= 2
    for link in links:
        if "backend=" not in link:  # a run takes its time; its own tests run it
            assert opens(link), link


def test_state_is_handed_on(client: Client) -> None:
    """From a figure back to the view it came from; from a chain to its access's conflicts; from there to a tile."""
    view = {"colour": "t", "label": "index", "lanes": "0-3", "pin": "d:1,2"}
    page = client.get("/diagram", params={"ptx": MMA, **view}).text
    back = next(link for link in list_next_links(page) if link.startswith("/i/"))
    assert {name: value for name, (value,) in parse_qs(urlsplit(back).query).items()} == view
    assert 'name="pin" value="d:1,2"' in page
    conflicts = next(link for link in list_next_links(client.get("/chain").text) if link.startswith("/banks"))
    assert "No bank conflicts" in client.get(conflicts).text
    crowded = next(
        link for link in list_next_links(client.get("/chain?s_pitch_bytes=128").text) if link.startswith("/banks")
    )
    assert "8-way bank conflicts" in client.get(crowded).text
    apply = re.search(r'href="([^"]*)">Apply it', client.get("/banks").text)  # the swizzle that frees them
    assert apply and "No bank conflicts" in client.get(html.unescape(apply[1])).text
    rows = next(link for link in list_next_links(client.get("/banks?row_bytes=272&pad=16").text) if "/chain" in link)
    assert 's_pitch_bytes" value="288"' in client.get(rows).text


def test_the_chart_says_what_the_table_says(client: Client) -> None:
    page = client.get("/banks").text
    chart = json.loads(html.unescape(re.findall(r'data-chart="([^"]+)"', page)[0]))
    facts = client.post("/api/v1/banks", json={"access": "ldmatrix.x4", "pattern": "ldmatrix"}).json()
    for number, phase in enumerate(facts["phases"]):
        served = [word[0] for one in chart["wavefronts"] if one["phase"] == number for word in one["words"]]
        assert [served.count(bank) for bank in range(32)] == phase["words"]
    assert page.count('<tr>\n  <th scope="row">') == len(chart["wavefronts"]) == facts["wavefronts"]
    assert chart["fills"] == [f"--four-{n}" for n in range(4)] and "data-plotly=" in page
    refused = client.get("/banks?row_bytes=0&pattern=pink").text
    assert re.findall(r'data-chart="([^"]+)"', refused) == re.findall(r'data-chart="([^"]+)"', page), "a default access"


@for_each(
    ("query", "says", "way"),
    [
        ("mma=mma.m8n8k4.row.col.f32.f16.f16.f32", "four products at once", "which ldmatrix feeds"),
        (
            "mma=mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32&load="
            + quote("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64"),
            "unpacks 4- or 6-bit elements",
            "one element per byte",
        ),
    ],
)
def test_a_chain_that_is_refused_says_why_and_what_is_possible(client: Client, query: str, says: str, way: str) -> None:
    page = client.get(f"/chain?{query}")
    alert = re.findall(r'role="alert">(.*?)</small>', page.text, re.S)[0]
    assert page.status_code == 422 and says in alert and way in alert, alert


@for_each(
    ("ptx", "across", "largest"),
    [  # C is not counted; an f64 takes two registers; A of a wgmma is 4 where it comes from registers
        ("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", "N", [4, 128]),
        ("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "Shape", [16, 8, 8]),
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "K", [4, 4, 4]),
    ],
)
def test_register_pressure_counts_what_the_operands_hold(
    client: Client, ptx: str, across: str, largest: list[int]
) -> None:
    page = client.get(f"/i/{ptx}").text
    chart = json.loads(html.unescape(re.findall(r'data-chart="([^"]+)"', page)[0]))
    assert chart["across"] == across and [one["values"][-1] for one in chart["series"]] == largest
    table = page[page.index("Register pressure") :].partition("</details>")[0]
    assert len(chart["names"]) == len(set(chart["names"])) == table.count("</tr>") - 1


def test_no_register_pressure_where_there_is_one_shape_or_no_product(client: Client) -> None:
    for ptx in (
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    ):
        assert "Register pressure" not in client.get(f"/i/{ptx}").text
