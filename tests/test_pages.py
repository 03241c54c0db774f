"""Two whole pages as they are served: what a reader of HTML sees, and what all pages share. `make golden` writes the
two; read the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.cases import for_each
from tests.client import Client

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
