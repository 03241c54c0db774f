"""Targets of ptxas: their order, what one includes of another, and how they are written in a sentence.

A number alone (sm_100) compiles for every later architecture, with `f` for later ones of its family, with `a` for
that one alone; each has what the one before has (CUDA's NVCC documentation, GPU feature list).
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
    """Return of each architecture the target that has all its instructions."""
    return list(dict.fromkeys(get_widest(strip_suffix(target)) for target in TARGETS))


def list_least(targets: Iterable[str]) -> list[str]:
    """Return of each architecture the target that asks least of it.

    >>> list_least(["sm_90a", "sm_100f", "sm_100a"])
    ['sm_90a', 'sm_100f']
    """
    least: dict[str, str] = {}
    for target in sorted(targets, key=TARGETS.index):
        least.setdefault(strip_suffix(target), target)
    return list(least.values())


def list_compiled(targets: Iterable[str]) -> list[str]:
    """Return of each architecture the target to compile a program for: without a suffix where that has it, else `a`.

    >>> list_compiled(["sm_90a", "sm_100f", "sm_100a", "sm_120", "sm_120f"])
    ['sm_90a', 'sm_100a', 'sm_120']
    """
    known = set(targets)
    return [one if one == strip_suffix(one) else get_widest(strip_suffix(one)) for one in list_least(known)]


def format_targets(targets: Iterable[str]) -> str:
    """Return targets in words: of each architecture the least that is needed, or the first of all later ones.

    >>> format_targets(TARGETS[1:]), format_targets(["sm_90a"]), format_targets(["sm_100f", "sm_100a", "sm_120a"])
    ('sm_80 and later', 'sm_90a', 'sm_100f, sm_120a')
    """
    least = list_least(targets)
    later = list_least(TARGETS[TARGETS.index(least[0]) :])
    return f"{least[0]} and later" if least == later and len(least) > 1 else ", ".join(least)


_RENAMED = {"101": "110"}  # sm_101 is sm_110 since CUDA 13.0


def find_nearest_target(text: str) -> str:
    """Return the target that a wrong name may mean: of the same architecture, else ""; never an older or newer one.

    >>> find_nearest_target("sm_90b"), find_nearest_target("compute_100f"), find_nearest_target("sm_95")
    ('sm_90a', 'sm_100f', '')
    """
    match = re.search(r"(?<!\d)(\d{2,3})(?!\d)([a-z]?)", text.lower())
    if match is None:
        return ""
    number = _RENAMED.get(match[1], match[1])
    named, widest = f"sm_{number}{match[2]}", get_widest(f"sm_{number}")
    return named if named in TARGETS else widest if widest in TARGETS else ""


def make_unknown_target_error(text: str, field: str, code: str = "unknown_target") -> LayoutError:
    """Return the error for a target that ptxas does not list, with the nearest that it does."""
    nearest = find_nearest_target(text)
    hint = f"Did you mean {nearest}? " if nearest else ""
    return LayoutError(code, f"No target '{text[:20]}'.", f"{hint}Allowed: {', '.join(TARGETS)}.", field)


def parse_target_name(given: object, field: str) -> str:
    """Return a target's name, whatever its case; LayoutError with the nearest where there is none."""
    name = given.strip().lower() if isinstance(given, str) else str(given)
    if name not in TARGETS:
        raise make_unknown_target_error(name if isinstance(given, str) else repr(given), field)
    return name
