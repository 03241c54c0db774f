"""The sizes that cp.async copies: PTX ISA 9.1, 9.7.9.25.3.1; ptxas refuses others."""

from __future__ import annotations

import re

_SIZES = {"ca": (4, 8, 16), "cg": (16,)}
_CACHE = re.compile(r"cp\.async\.(ca|cg)\b")


def explain_copy_size(opcode: str, size: int) -> str:
    """Return why cp.async does not copy so many bytes, "" if it does.

    >>> explain_copy_size("cp.async.cg.shared.global", 8)
    'ptxas refuses cp.async.cg of 8 bytes: it copies 16. cp.async.ca copies 4, 8 or 16.'
    """
    match = _CACHE.match(opcode)
    if match is None or size in _SIZES[match[1]]:
        return ""
    head = f"ptxas refuses cp.async.{match[1]} of {size} bytes"
    if match[1] == "ca":
        return f"{head}: it copies 4, 8 or 16."
    return f"{head}: it copies 16." + (" cp.async.ca copies 4, 8 or 16." if size in _SIZES["ca"] else "")
