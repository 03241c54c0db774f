"""The `target` option of questions whose answer depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from lanescope.app.kit.enumerations import Target
from lanescope.app.kit.question import word_field
from lanescope.ptx.targets import TARGETS, parse_target_name


def target_field() -> Any:
    """Declare the target that ptxas compiles for; any if left out."""
    return word_field(
        TARGETS,
        "Target",
        "What ptxas compiles for; any when left out.",
        "",
        parse=parse_optional_target,
        called={"": "any"},
        type=Target | Literal[""],
    )


def parse_target(body: Mapping[str, Any]) -> str:
    """Return the target of a request, "" for any; LayoutError lists the targets."""
    return parse_optional_target(body.get("target", ""), "target")


def parse_optional_target(value: Any, field: str) -> str:
    """Return a target, "" for any; LayoutError names the nearest."""
    return "" if value == "" else parse_target_name(value, field)
