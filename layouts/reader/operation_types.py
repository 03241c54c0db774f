"""The types of A and B that an operation of CuTe's DSL takes by its name: MmaF16BF16Op takes f16 or bf16.

Source: CUTLASS 4, python/CuTeDSL/cutlass/cute/nvgpu/warp/mma.py and warpgroup/mma.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lanescope.ptx.instruction import Instruction

_FLOAT8 = frozenset({"e4m3", "e5m2"})
_TYPES: Mapping[str, frozenset[str]] = {
    "MmaF16BF16Op": frozenset({"f16", "bf16"}),
    "MmaTF32Op": frozenset({"tf32"}),
    "MmaF8Op": _FLOAT8,
    "MmaFP8Op": _FLOAT8,
    "MmaF8F6F4Op": _FLOAT8 | {"e3m2", "e2m3", "e2m1"},
    "MmaI8Op": frozenset({"s8", "u8"}),
}


def list_accepted_instructions(operation: str, found: Iterable[Instruction]) -> list[Instruction]:
    """List the instructions whose A and B an operation can take; all if its name contains no type."""
    types = _TYPES.get(operation)
    return [one for one in found if types is None or {one.types["a"], one.types["b"]} <= types]
