"""Operations of CuTe's Python DSL (cute.nvgpu.warp, .warpgroup): the instructions they are."""

from __future__ import annotations

from layouts.reader import atoms
from layouts.reader.found import Found, instruction


def read(text: str) -> tuple[Found, ...]:
    """The instructions of every operation that a text builds."""
    if not atoms.OPERATION.search(text):
        return ()
    found = [one for one in atoms.operations(text) if one.found]
    if not found:
        return ()
    majors = found[0].majors if len(found) == 1 else {}
    return instruction((i for one in found for i in one.found), f"'{found[0].name}'", majors=majors)
