"""Addresses of pages, as every feature writes them. No framework."""

from __future__ import annotations

from urllib.parse import quote

from layouts.instruction import Instruction


def path_of(instruction: Instruction) -> str:
    return "/i/" + quote(instruction.ptx, safe=":.")
