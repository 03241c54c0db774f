"""Formatting of computed Markdown: code blocks and links."""

from __future__ import annotations


def format_code_block(code: str) -> str:
    return f"```\n{code.rstrip()}\n```"


def format_link(text: str, address: str) -> str:
    return f"[{text}]({address})"
