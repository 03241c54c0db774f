"""Kernel templates that the text does not instantiate: a JIT compiler does, and -D gives their parameters by name."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from lanescope.cxx.source_text import split_arguments, strip_comments

MOST = 32  # parameters that are named
_KERNEL = re.compile(
    r"\btemplate\s*<(?P<parameters>[^{};]{1,4000}?)>\s*(?:\w+\s+){0,4}?(?:__global__|\w+_GLOBAL)\b"
    r"(?:[^{};()]|\([^{};]{0,200}?\)){0,200}?\b(?P<name>(?!__)\w+)\s*\("
)
_PARAMETER = re.compile(r"(\w+)\s*(=.*)?$", re.S)


def find_open_parameters(text: str, given_names: Collection[str]) -> tuple[str, ...]:
    """List the template parameters without a value, of kernel templates that the text does not instantiate."""
    names = dict.fromkeys(name for name in _list_parameters(text) if name not in given_names)
    return tuple(names)[:MOST]


@lru_cache(maxsize=4)
def _list_parameters(text: str) -> tuple[str, ...]:
    code = strip_comments(text)
    found: list[str] = []
    for match in _KERNEL.finditer(code):
        if re.search(rf"\b{match['name']}\s*<", code):  # launched, or named as a JIT does
            continue
        for parameter in split_arguments(match["parameters"], ("<([", ">)]")):
            named = _PARAMETER.search(parameter)
            if named is not None and not named[2] and "..." not in parameter:
                found.append(named[1])
    return tuple(found)
