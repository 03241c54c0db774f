"""What a run says of itself, wherever it is told: how a product's operands lie."""

from __future__ import annotations

from app.kit.fact import fact


@fact
class Options:
    """Every option by side, spelled in full: what was given, and the defaults."""

    a: dict[str, str]
    b: dict[str, str]
    d: dict[str, str]
