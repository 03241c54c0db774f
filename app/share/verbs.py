"""The command share."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

import typer

from lanescope.app.kit.terminal import AsJson, print_json

app = typer.Typer(rich_markup_mode=None)


@app.command()
def share(
    address: Annotated[str, typer.Argument(help="A page's address, whole or from the root: '/banks?row_bytes=128'.")],
    *,
    text: Annotated[str, typer.Option(help="markdown, link, latex or embed.")] = "markdown",
    as_json: AsJson = False,
) -> None:
    """Print the texts of "Share" for a page: Markdown for an issue, with its picture, verdict and link."""
    from lanescope.app.kit.extras import require_extra

    require_extra("web")

    from lanescope.app.kit.local_fetch import fetch_address
    from lanescope.app.kit.settings import LOCAL_SITE, Settings
    from lanescope.app.kit.share import build_share, read_card
    from lanescope.app.main import create_app
    from lanescope.errors import LayoutError

    texts = ("markdown", "link", "latex", "embed")
    if text not in texts:
        raise LayoutError("bad_option", f"No text '{text[:20]}'.", f"Allowed: {', '.join(texts)}.", "text")
    parts = urlsplit(address)
    page = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    base = f"{parts.scheme}://{parts.netloc}" if parts.netloc else LOCAL_SITE
    try:
        body = fetch_address(create_app(settings=Settings(seconds=600, cache_bytes=0)), page)
    except RuntimeError as error:
        raise LayoutError("not_found", f"{error}.", "Name a page, as in /banks?row_bytes=128.", "address") from None
    links = build_share(read_card(body.decode()), page, base)
    if as_json:
        print_json(links)
    else:
        if getattr(links, text) is None:
            raise LayoutError("no_picture", f"{page} has no picture.", "Share its link or Markdown.", "text")
        print(getattr(links, text))
