"""Find parameters of a Triton layout that no target has: the shape of an instruction, the threads of a warp."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from lanescope.inputs import join_words

_INSTRUCTIONS = {2: "mma.sync", 3: "wgmma"}
_LENGTHS = {"mma.sync": 2, "wgmma": 3}  # of instrShape


def find_broken_rules(attribute: str, params: Mapping[str, Any], has_instruction: bool) -> Iterator[str]:
    """Yield a sentence for each such parameter. has_instruction: whether an instruction has the layout's shape.

    >>> list(find_broken_rules("blocked", {"threadsPerWarp": [4, 4]}, False))
    ['threadsPerWarp = [4, 4] is 16 threads; a warp has 32, of AMD 64 or 32.']
    """
    threads = _get_sizes(params, "threadsPerWarp")
    if attribute == "blocked" and threads and prod(threads) not in (32, 64):
        yield f"threadsPerWarp = {threads} is {prod(threads)} threads; a warp has 32, of AMD 64 or 32."
    version = params.get("versionMajor", 0)
    shape, name = _get_sizes(params, "instrShape"), _INSTRUCTIONS.get(version, "") if isinstance(version, int) else ""
    if attribute == "nvidia_mma" and name and len(shape) == _LENGTHS[name] and not has_instruction:
        written = "×".join(map(str, shape))
        if name == "wgmma":
            written = join_words([f"{letter} {size}" for letter, size in zip("MNK", [64, *shape[1:]], strict=True)])
        yield f"instrShape = {shape}: no {name} has {written}."


def _get_sizes(params: Mapping[str, Any], key: str) -> list[int]:
    """Return a parameter that is a list of numbers, [] for another."""
    value = params.get(key)
    return value if isinstance(value, list) and all(type(size) is int for size in value) else []
