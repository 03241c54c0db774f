"""A stamp of the installed code, for the keys of caches."""

from __future__ import annotations

import hashlib
import importlib.metadata
from functools import cache
from pathlib import Path

import lanescope


@cache
def compute_code_stamp() -> str:
    """Return a stamp that changes with the code: version, and names, sizes and times of all files."""
    stamp = hashlib.sha256(importlib.metadata.version("lanescope").encode())
    for root in sorted({Path(str(lanescope.__file__)).parent, Path(__file__).parents[1]}):
        for path in sorted(root.rglob("*.py")):
            state = path.stat()
            stamp.update(f"{path.relative_to(root)}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return stamp.hexdigest()
