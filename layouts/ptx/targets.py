"""Targets of ptxas: their order, which features they share, and how to format a list of them.

Code for sm_100 runs on every later architecture, for sm_100f on later ones of its family, for sm_100a on that one
only; each target has the features of the one before (CUDA's NVCC documentation, GPU feature list).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lanescope.errors import LayoutError

TARGETS = (
    *("sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a"),
    *(f"sm_{number}{suffix}" for number in (100, 103, 107, 110, 120, 121) for suffix in ("", "f", "a")),
)


def strip_suffix(target: str) -> str:
    """Return the architecture of a target.

    >>> strip_suffix("sm_100a")
    'sm_100'
    """
    return target.rstrip("fa")


def get_widest(architecture: str) -> str:
    """Return the target that has every instruction of an architecture.

    >>> get_widest("sm_90"), get_widest("sm_89")
    ('sm_90a', 'sm_89')
    """
    return f"{architecture}a" if f"{architecture}a" in TARGETS else architecture


def list_widest() -> list[str]:
    """Return the target with the most features of each architecture."""
    return list(dict.fromkeys(get_widest(strip_suffix(target)) for target in TARGETS))


def list_least(targets: Iterable[str]) -> list[str]:
    """Return the target with the fewest features of each architecture.

    >>> list_least(["sm_90a", "sm_100f", "sm_100a"])
    ['sm_90a', 'sm_100f']
    """
    least: dict[str, str] = {}
    for target in sorted(targets, key=TARGETS.index):
        least.setdefault(strip_suffix(target), target)
    return list(least.values())


def list_compiled(targets: Iterable[str]) -> list[str]:
    """Return the target to compile for on each architecture: the one without a suffix if it is given, else the `a` one.

    >>> list_compiled(["sm_90a", "sm_100f", "sm_100a", "sm_120", "sm_120f"])
    ['sm_90a', 'sm_100a', 'sm_120']
    """
    least = list_least(set(targets))
    return [target if target == strip_suffix(target) else get_widest(strip_suffix(target)) for target in least]


def format_targets(targets: Iterable[str]) -> str:
    """Format targets: the least of each architecture, or "sm_80 and later" if all later ones are included.

    >>> format_targets(TARGETS[1:]), format_targets(["sm_90a"]), format_targets(["sm_100f", "sm_100a", "sm_120a"])
    ('sm_80 and later', 'sm_90a', 'sm_100f, sm_120a')
    """
    least = list_least(targets)
    later = list_least(TARGETS[TARGETS.index(least[0]) :])
    return f"{least[0]} and later" if least == later and len(least) > 1 else ", ".join(least)


_RENAMED = {"101": "110"}  # sm_101 is called sm_110 since CUDA 13.0


def find_nearest_target(text: str) -> str:
    """Return the target of the same architecture as an invalid name; "" if there is none.

    >>> find_nearest_target("sm_90b"), find_nearest_target("compute_100f"), find_nearest_target("sm_95")
    ('sm_90a', 'sm_100f', '')
    """
    match = re.search(r"(?<!\d)(\d{2,3})(?!\d)([a-z]?)", text.lower())
    if match is None:
        return ""
    number = _RENAMED.get(match[1], match[1])
    target, widest = f"sm_{number}{match[2]}", get_widest(f"sm_{number}")
    return target if target in TARGETS else widest if widest in TARGETS else ""


def make_unknown_target_error(text: str, field: str, code: str = "unknown_target") -> LayoutError:
    """Return the error for a target that ptxas does not have, with the nearest one that it has."""
    nearest = find_nearest_target(text)
    hint = f"Did you mean {nearest}? " if nearest else ""
    return LayoutError(code, f"No target '{text[:20]}'.", f"{hint}Allowed: {', '.join(TARGETS)}.", field)


def parse_target_name(value: object, field: str) -> str:
    """Return a target's name, ignoring case; LayoutError names the nearest if there is none."""
    name = value.strip().lower() if isinstance(value, str) else str(value)
    if name not in TARGETS:
        raise make_unknown_target_error(name if isinstance(value, str) else repr(value), field)
    return name
