"""Targets of ptxas: their order, what one includes of another, and how they are written in a sentence.

A number alone (sm_100) compiles for every later architecture, with `f` for later ones of its family, with `a` for
that one alone; each has what the one before has (CUDA's NVCC documentation, GPU feature list).
"""

from __future__ import annotations

from collections.abc import Iterable

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
