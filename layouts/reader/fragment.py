"""nvcuda::wmma::fragment<…> of CUDA C++: the wmma.load that fills it, and its operand."""

from __future__ import annotations

import re
from functools import lru_cache

from layouts import wmma
from layouts.errors import LayoutError
from layouts.reader.found import Found, instruction

_FRAGMENT = re.compile(r"(?<!\w)fragment\s*<([^<>]*)>")
_SAID = {"__half": "half", "nv_bfloat16": "__nv_bfloat16", "signedchar": "signedchar", "int8_t": "signedchar",
"uint8_t": "unsignedchar", "int32_t": "int"}  # fmt: skip


def _key(text: str) -> str:
    """A fragment's arguments without blanks and namespaces, types as mma.h names them."""
    parts = [re.sub(r"\s|(?:\w+::)+", "", part) for part in text.split(",")]
    return ",".join(_SAID.get(part, part) for part in parts if part not in ("void", ""))


@lru_cache(maxsize=1)
def _known() -> dict[str, wmma.Fragment]:
    return {_key(match[1]): one for one in wmma.fragments() if (match := _FRAGMENT.search(one.cpp))}


def read(text: str) -> tuple[Found, ...]:
    """The fragments of a text; LayoutError where it names one that does not exist and no other."""
    given = [match[1] for match in _FRAGMENT.finditer(text)]
    if not given:
        return ()
    found = [_known()[_key(one)] for one in given if _key(one) in _known()]
    if not found:
        first = _key(given[0])
        near = [one.cpp for key, one in _known().items() if key.split(",")[0] == first.split(",")[0]][:3]
        raise LayoutError(
            "unknown_fragment",
            f"There is no fragment<{' '.join(given[0].split())}>.",
            f"e.g. {', '.join(near)}." if near else "The first argument is matrix_a, matrix_b or accumulator.",
            "text",
        )
    same = {one.instruction.ptx for one in found}
    letter = found[0].operand.name if len(same) == 1 else None
    return instruction((one.instruction for one in found), "wmma fragments", operand=letter)
