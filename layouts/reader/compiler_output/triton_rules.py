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
    threads = params.get("threadsPerWarp")
    if attribute == "blocked" and _is_sizes(threads) and prod(threads) not in (32, 64):
        yield f"threadsPerWarp = {threads} is {prod(threads)} threads; a warp has 32, of AMD 64 or 32."
    shape, name = params.get("instrShape"), _INSTRUCTIONS.get(params.get("versionMajor", 0))
    if attribute == "nvidia_mma" and _is_sizes(shape) and len(shape) == _LENGTHS.get(name) and not has_instruction:
        said = "×".join(map(str, shape))
        if name == "wgmma":
            said = join_words([f"{letter} {size}" for letter, size in zip("MNK", [64, *shape[1:]], strict=True)])
        yield f"instrShape = {shape}: no {name} has {said}."


def _is_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int for size in value)
