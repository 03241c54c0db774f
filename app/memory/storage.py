"""The storage of a form: its fields, their defaults, and which of them a kind reads. Its pages and those of chains say
a storage by them.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from lanescope.shared.storage import KEYS, UNITS
from lanescope.shared.swizzle import BY_WIDTH
from lanescope.shared.tiling import DEFAULT_ORDER, SWIZZLED_BY

# The storage of the verifier's form: query name → default. `kind` chooses which of them are read.
STORAGE = {
    "kind": "canonical",
    "swizzle": "128B",
    "mn": "64",
    "k": "64",
    "order": "",
    "base": "0x1000",
    "inner": "K",
    "pitch_bytes": "128",
    "width_bytes": "128",
    "outer8_stride": "1024",
    "inner_stride": "8192",
    "line_stride": "128",
    "swizzle_by": "address",
    "layout": "Sw<3,3,3> o ((8,8),(64,1)):((64,512),(1,0))",
    "unit": "elements",
}


# What the verifier's form calls the kinds.
KINDS = {
    "canonical": "canonical tile (CuTe, CUTLASS)",
    "rows": "rows with a pitch, or one TMA box",
    "atoms": "panels, or several TMA boxes",
    "cute": "a CuTe layout",
}

# The keys that take one of a few words.
WORDS = {
    "swizzle": tuple(mode.name for mode in BY_WIDTH),
    "inner": tuple(DEFAULT_ORDER),
    "swizzle_by": SWIZZLED_BY,
    "unit": UNITS,
}

# The keys of each kind that the form asks for; the instruction and "read as" say the others.
USED = {kind: tuple(name for name in names if name not in ("element_bits", "major")) for kind, names in KEYS.items()}


# What the forms say of the order of the atoms; "" is the engine's default, lanescope.shared.tiling.DEFAULT_ORDER.
ORDERS = {"": "CUTLASS's order", "mn": "M or N", "k": "K"}


def replace_storage(query: dict[str, str], spec: dict[str, Any]) -> str:
    """The page's query with another storage in it."""
    kept = {name: value for name, value in query.items() if name != "part" and not name.startswith("s_")}
    return urlencode(
        kept | {f"s_{name}": value for name, value in spec.items() if name in ("kind", *USED[spec["kind"]])}
    )


def parse_storage(spec: dict[str, str], major: str) -> dict[str, str]:
    """The storage that a form's fields say: the keys its kind has."""
    fixed = {"major": major} if spec["kind"] == "canonical" else {}
    return {"kind": spec["kind"], **fixed, **{name: spec[name] for name in USED.get(spec["kind"], ())}}
