"""The stored evidence of every device, as pages and the command line show it. No framework."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from app.gpu.verify import PARTS, summary
from layouts import catalog


@lru_cache(maxsize=1)
def table() -> list[dict[str, Any]]:
    """One entry a stored evidence file: its meta, its summary by family, and the cases of the other parts."""
    return [
        {"meta": data["meta"], "rows": summary(data), "parts": {name: data[name] for name in PARTS if name in data}}
        for data in catalog.evidence_files()
    ]
