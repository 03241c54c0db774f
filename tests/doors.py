"""Asking the engine at random, in seeded dice: the storages that are asked for, and what is held of the answers: a
refusal word for word, and of an answer the checksum of all that it says.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

from lanescope.errors import LayoutError
from tests.held import held, refusal, whole

MODES = ("none", "32B", "64B", "128B")


def answered(question: object, *asks: Callable[[], object]) -> list[str]:
    """A line: what was asked, and of each answer its checksum or its refusal."""
    told = []
    for ask in asks:
        try:
            told.append(hashlib.sha256(whole(ask()).encode()).hexdigest()[:12])
        except LayoutError as error:
            told.append(refusal(error))
    return [str(question), *(f"  {one}" for one in dict.fromkeys(told))]


def kept(name: str, lines: list[str]) -> None:
    held(f"doors/{name}", "\n".join(lines) + "\n")


def stored(dice: random.Random, mn: int, k: int, bits: int, major: str, base: int = 1024) -> dict[str, Any]:
    """A storage of a tile."""
    swizzle = dice.choice(MODES)
    match dice.randrange(3):
        case 0:
            return {
                "kind": "canonical",
                "mn": mn,
                "k": k,
                "swizzle": swizzle,
                "major": major,
                "base": base,
                "order": dice.choice(("mn", "k")),
            }
        case 1:
            length = (k if major == "K" else mn) * bits // 8
            return {
                "kind": "rows",
                "inner": major,
                "pitch_bytes": length + dice.choice((0, 0, 16)),
                "base": base,
                "swizzle": swizzle,
                "swizzle_by": dice.choice(("address", "tile")),
            }
        case _:
            layout = f"({mn},{k}):({k},1)" if major == "K" else f"({mn},{k}):(1,{mn})"
            xor = dice.choice(("", "Sw<3,4,3> o ", "Sw<2,4,3> o ", "Sw<3,3,3> o "))
            return {"kind": "cute", "layout": xor + layout, "unit": dice.choice(("elements", "bytes")), "base": base}
