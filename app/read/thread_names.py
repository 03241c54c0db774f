"""Threads of GitHub as people write them: `flash-attention 456`, `CUTLASS issue #1199`, an address."""

from __future__ import annotations

import re

_FLASH = r"flash[-_ ]?att(?:entio)?n(?:[-_ ]?[234])?"
_PROJECTS = rf"{_FLASH}|cutlass|cute|triton|vllm|marlin|flashinfer|deepgemm|tilelang"
_KIND = r"(?:issues?|discussions?|pull(?: requests?)?|prs?)"
_THREAD = re.compile(
    rf"(?:(?:https?://)?(?:www\.)?github\.com/[\w.-]+/([\w.-]+)/{_KIND}/|(?:[\w.-]+/)?(?<![\w.-])"
    rf"(?:({_PROJECTS})(?: github)?(?:[ /]+{_KIND}[ /]*\#?|[ ]*\#)|({_FLASH}|cutlass)[ ]+(?=\d{{3}})"
    r"(?!(?:128|256|512)\b)))"
    r"(\d{1,6})(?![\w.])(?:[#?/]\S*)?",
    re.I,
)


def _respell(match: re.Match[str]) -> str:
    name = match[1] or match[2] or match[3]
    return f"{re.sub(_FLASH, 'flash-attention', name.lower())} #{match[4]}"


def respell_threads(text: str) -> str:
    """Return a text with each thread as the guide's pages name it.

    >>> respell_threads("FlashAttention issue 456")
    'flash-attention #456'
    """
    return _THREAD.sub(_respell, text)


def find_thread(text: str) -> str:
    """Return the thread if a text is only its name, "" for any other text."""
    match = _THREAD.fullmatch(text.strip(" \t\n?."))
    return _respell(match) if match else ""
