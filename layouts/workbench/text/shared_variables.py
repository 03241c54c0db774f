"""Variables in shared memory, by their declarations."""

from __future__ import annotations

import re
from functools import lru_cache


def are_separate(one: str, other: str, blank: str) -> bool:
    """Return whether two variables are different members of one object, or shared variables that lie apart.

    All `extern __shared__` arrays of a kernel begin at one address (CUDA C++ Programming Guide, __shared__). blank: the
    text without comments.
    """
    names = [name.removeprefix("&") for name in (one, other)]
    owners = {name.rpartition(".")[0] for name in names}
    if owners != {""}:
        return len(owners) == 1
    declared = [_find_declaration(name, blank) for name in names]
    return all(declared) and not all("extern" in text for text in declared)


@lru_cache(maxsize=256)
def _find_declaration(name: str, blank: str) -> str:
    """Return the declaration of a shared variable up to its name; "" if the text has none."""
    match = re.search(rf"(?:\bextern\s[^;{{}}]*)?__shared__[^;{{}}]*?[\s*&]{re.escape(name)}\s*[\[,;(]", blank)
    return match[0] if match else ""
