"""Numbers that a text gives a name once, without evaluating it."""

from __future__ import annotations

import re


def find_named_number(code: str, name: str) -> str:
    """Return the number that a name stands for if a text without comments defines it once; the name itself otherwise.

    >>> find_named_number("constexpr int BK = 64;", "BK"), find_named_number("int BK;", "BK")
    ('64', 'BK')
    """
    if not name.isidentifier():
        return name
    value = rf"(?:\bconst\w*\s+(?:\w+\s+){{1,3}}{name}\s*=|#\s*define\s+{name}\b)\s*(\w+)\s*(?=[;,\n])"
    declared = rf"(?:\b(?:int|unsigned|size_t|auto|u?int\d+_t|typename|class)\s+|#\s*ifn?def\s+){name}\b"
    defined, named = re.findall(value, code), re.findall(declared, code)
    certain = len(named) <= 1 and not any(one.startswith("#") for one in named) and len(defined) == 1
    return defined[0] if certain and defined[0].isdecimal() else name
