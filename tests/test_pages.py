"""Two whole pages as they are served: what a reader of HTML sees, and what all pages share. `make golden` writes the
two; read the difference.
"""

from __future__ import annotations

import json
import os
import re
from html import unescape
from pathlib import Path

import lanescope
from lanescope.app.kit.query_names import describe_ignored_names
from lanescope.app.read.workbench import compress_text
from lanescope.ptx import catalog, hardware_runs
from tests.cases import for_each
from tests.client import Client

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
FOLDER = Path(__file__).parent / "golden" / "pages"
PAGES = {
    "home": "/",
    "unknown": "/i/mma.m16n8k12.row.col.f32.f16.f16.f32",
}


def normalize_page(text: str) -> str:
    """Digests of files, nonces and dates are left out, and so are pictures: tests/test_golden.py has those."""
    text = re.sub(r"<svg.*?</svg>", "<svg>…</svg>", text, flags=re.S)
    text = re.sub(r"(?<=[?&]v=)[0-9a-f]{8,}|(?<=/static/)[0-9a-f]{8,}|(?<=[?])[0-9a-f]{8,}", "DIGEST", text)
    text = re.sub(r"'(sha256|nonce)-[^']+'", r"'\1-…'", re.sub(r'nonce="[^"]+"', 'nonce="…"', text))
    return re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)


@for_each("name", PAGES)
def test_a_whole_page(name: str, client: Client) -> None:
    path = FOLDER / f"{name}.html"
    page = normalize_page(client.get(PAGES[name]).text)
    if os.environ.get("LANESCOPE_GOLDEN") == "write":
        path.write_text(page)
    assert page.splitlines() == path.read_text().splitlines()


# the home page --------------------------------------------------------------------------------------------------------

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


# the filter of /docs --------------------------------------------------------------------------------------------------

ROUTE = re.compile(r'<details class="route"\s*(hidden)?\s*(open)?>\s*<summary><h3 class="mono">(\w+ [^<]+)</h3>')


def list_shown(text: str) -> list[str]:
    return [name for hidden, _, name in ROUTE.findall(text) if not hidden]


def test_the_filter_asks_for_all_words_in_paths_words_and_parameters(client: Client) -> None:
    assert list_shown(client.get("/docs?q=BANKS+solve").text) == ["POST /api/v1/banks/solve"]
    shown = list_shown(client.get("/docs?q=byte_id").text)
    assert shown == ["GET /api/v1/instructions/{ptx}/operands/{name}"], "a parameter of that route alone"
    nothing = client.get("/docs?q=no+such+words").text
    assert list_shown(nothing) == [] and re.search(r"\b0 of \d+ routes, 0 models", nothing)


# names of an address that a page does not use -------------------------------------------------------------------------

NOTICE = re.compile(r'<p class="notice" role="status">((?:This page has no option|\w+ occurs)[^<]*)</p>')
MISSPELT = {
    "/?shpe=m16n8k16": "This page has no option 'shpe' and ignores it. Did you mean 'shape'?",
    "/instructions?shpe=m16n8k16": "This page has no option 'shpe' and ignores it. Did you mean 'shape'?",
    "/smem?swizle=64B": "This page has no option 'swizle' and ignores it. Did you mean 'swizzle'?",
    "/i/mma.m16n8k16.row.col.f32.f16.f16.f32?colur=lane": "This page has no option 'colur' and ignores it."
    " Did you mean 'colour'?",
    "/guide/swizzle?zzz=1": "This page has no option 'zzz' and ignores it. It takes no options.",
    "/banks?row_bytes=128&row_bytes=64": "row_bytes occurs 2 times in the address. The last one counts.",
}


def list_notices(client: Client, address: str) -> list[str]:
    return [unescape(text) for text in NOTICE.findall(client.get(address).text)]


@for_each("address", MISSPELT)
def test_a_name_that_a_page_does_not_use_is_named_with_the_nearest(address: str, client: Client) -> None:
    assert list_notices(client, address) == [MISSPELT[address]]


COMPRESSED = {
    "/read?step=1&name=gemm.cu&target=sm_90a": "tests/kernels/mn_major_b.cu",
    "/read?name=gemm.cu": "README.md",
    "/layouts/triton?shape=16x16": "tests/test_pages.py",
}


@for_each("address", COMPRESSED)
def test_a_text_that_the_address_holds_compressed_is_not_called_a_misspelt_option(address: str, client: Client) -> None:
    text = Path(COMPRESSED[address]).read_text()[:4000]
    assert list_notices(client, f"{address}&z={compress_text(text)}") == []


@for_each("example", ["/emulate?example=loop", "/dump?example=loop", "/capture?example=loop"])
def test_an_example_that_does_not_exist_is_refused(example: str, client: Client) -> None:
    assert "example is &#39;loop&#39;. Allowed: " in client.get(example).text


def test_a_link_that_only_carries_a_name_on_does_not_make_it_an_option() -> None:
    page = '<input name="rows"><a href="/x?rows=4&amp;zz=1">x</a><a href="/x?unit=chunk">y</a>'
    assert describe_ignored_names(page, [("zz", "1"), ("unit", "byte"), ("rows", "8")]) == [
        "This page has no option 'zz' and ignores it. It takes rows."
    ]


def test_a_dotted_option_may_be_sent_as_one_object() -> None:
    assert describe_ignored_names('<select name="a.swizzle">', [("a", "swizzle=none"), ("b", "")]) == []


@for_each(
    ("path", "name"),
    [
        ("/i/mma.m16n8k12.row.col.f32.f16.f16.f32", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"),
        (f"/kernel/{MMA}", MMA),
        (f"/steps/{MMA}", MMA),
        ("/targets?target=sm_90a", "cudaFuncAttributeNonPortableClusterSizeAllowed"),
    ],
)
def test_a_long_name_breaks_between_its_words(path: str, name: str, client: Client) -> None:
    """Without them a phone breaks it anywhere, as before its last letter."""
    parts = re.findall(r"(?:<code>|>)((?:\w|[.:]|<wbr>)+)</", client.get(path).text)
    (shown,) = {part for part in parts if part.replace("<wbr>", "") == name}
    assert max(map(len, shown.split("<wbr>"))) <= 12
