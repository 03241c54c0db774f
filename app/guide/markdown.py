"""Formatting of computed Markdown: tables, code blocks, links."""

from __future__ import annotations

from collections.abc import Sequence


def format_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Format a Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def format_code_block(code: str) -> str:
    return f"```\n{code.rstrip()}\n```"


def format_link(text: str, address: str) -> str:
    return f"[{text}]({address})"
