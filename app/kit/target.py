"""The option of questions whose answer depends on the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanescope.app.kit.question import word_field
from lanescope.inputs import parse_choice
from lanescope.ptx.targets import TARGETS


def target_field() -> Any:
    """Declare the target that ptxas compiles for; any where it is left out."""
    return word_field(
        TARGETS, "Target", "What ptxas compiles for; any when left out.", "", code="unknown_target", called={"": "any"}
    )


def parse_target(given: Mapping[str, Any]) -> str:
    """Return the target of a request, "" for any; LayoutError lists the targets."""
    target = str(given.get("target") or "")
    return parse_choice(target, "target", TARGETS, "unknown_target") if target else ""
