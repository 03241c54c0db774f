"""/docs/integrations: docs/integrations.md, whose `@code` lines are replaced by code blocks of other documents."""

from __future__ import annotations

import re
from functools import lru_cache

from lanescope.app.guide.index import DOCS

SLUG, TITLE, ADDRESS = "integrations", "Integrations", "/docs/integrations"
_CODE = re.compile(r"^@code (\w+) \| ([^|\n]+?)(?: \| (\d+))?$", re.M)
_FENCE = re.compile(r"^(`{3,})\w*\n.*?^\1$", re.M | re.S)


@lru_cache(maxsize=1)
def read_integrations() -> str:
    """Return the page's Markdown with its code blocks."""
    return _CODE.sub(lambda match: find_code(match[1], match[2], int(match[3] or 1)), (DOCS / f"{SLUG}.md").read_text())


def read_integrations_lead() -> str:
    """Return the paragraph under the title."""
    return " ".join(read_integrations().split("\n\n")[1].split())


def find_code(document: str, heading: str, number: int) -> str:
    """Return a block of code of docs/DOCUMENT.md, with its fence: that of this number below a heading, from 1.

    ValueError if there is no such heading, or too few blocks.
    """
    text = (DOCS / f"{document}.md").read_text()
    below = re.split(rf"^#+ {re.escape(heading)}$", text, maxsplit=1, flags=re.M)[1:]
    blocks = [match[0] for part in below for match in _FENCE.finditer(part)]
    if len(blocks) < number:
        raise ValueError(f"docs/{document}.md has no block {number} below '{heading}'.")
    return blocks[number - 1]
