"""What the pages of whole tiles are asked by their addresses: each query parameter in its API's words. No framework."""

from __future__ import annotations

import re
from collections.abc import Mapping

from app.kit.fact import Json

MMA = {"atom": "SM80_16x8x16_F32F16F16F32_TN", "atom_layout": "(2,2,1)", "permutation": "(32,32,16)",
       "tile": "64x64x32"}  # fmt: skip


def given(query: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """The form's fields: what the address says, else the page's example; an address that names an atom says all."""
    own = {name: query[name].strip() for name in names if name in query}
    return {name: own.get(name, "" if own.get("atom") else default) for name, default in names.items()}


def mma_body(asked: Mapping[str, str]) -> Json:
    """The body of POST /tiles/mma."""
    body: Json = {name: asked[name] for name in ("atom", "atom_layout", "permutation") if asked[name]}
    if asked["tile"]:
        body["tile"] = sizes(asked["tile"])
    return body


def sizes(text: str) -> list[str]:
    """64x64x32, 64 × 64 × 32, (64, 64, 32): the parts, whole numbers or not."""
    return [part.removeprefix("_") for part in re.split(r"\s*[x×*,;]\s*|\s+", text.strip(" ()[]")) if part]
