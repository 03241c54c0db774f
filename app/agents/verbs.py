"""The commands mcp and skill."""

from __future__ import annotations

import typer

app = typer.Typer(rich_markup_mode=None)


@app.command()
def mcp() -> None:
    """Serve tools to a coding agent: the Model Context Protocol over standard input and output. An agent starts it; its
    settings name the command `lanescope mcp`.
    """
    from lanescope.app.kit.extras import require_extra

    require_extra("mcp")
    from lanescope.app.agents.server import serve_stdio

    serve_stdio()


@app.command()
def skill() -> None:
    """Print a SKILL.md: which tool or command an agent uses when, with examples."""
    from lanescope.app.agents.skill import render_skill

    print(render_skill(), end="")
