"""Two whole pages as they are served: what a reader of HTML sees, and what all pages share. `make golden` writes the
two; read the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from lanescope.app.kit.folders import find_folder
from tests.cases import for_each
from tests.client import Client

FOLDER = Path(__file__).parent / "golden" / "pages"
TEMPLATES = find_folder("templates")
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


def test_the_frame_of_a_page_hides_no_variable_of_its_template() -> None:
    """What base.html sets is set in every page, whatever the page's own variables are."""
    templates = {path: path.read_text() for path in TEMPLATES.rglob("*.html")}
    frame = templates.pop(TEMPLATES / "kit" / "base.html")
    names = re.findall(r"\{% set (\w+)", frame)
    assert names
    for path, text in templates.items():
        assert not [name for name in names if re.search(rf"\b{name}\b", text)], path.name


def test_a_verdict_says_what_was_found(client: Client) -> None:
    assert "<h2>54 of 128 columns of B are zero: " in client.get("/zero-column-mask").text
    assert "<p>768 wavefronts of shared memory for the tile, no bank conflicts." in client.get("/tiles/loop").text
