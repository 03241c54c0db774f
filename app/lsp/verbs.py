"""The command lsp."""

from __future__ import annotations

import typer

app = typer.Typer(rich_markup_mode=None)


@app.command()
def lsp() -> None:
    """Run a language server over standard input and output, for editors: hover, findings of `check` while typing, their
    repairs, and the fields behind calls that build descriptors. docs/editors.md has the settings of editors.
    """
    from lanescope.app.kit.extras import require_extra

    require_extra("lsp")

    from lanescope.app.lsp.server import serve

    raise typer.Exit(serve())
