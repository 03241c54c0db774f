"""A chain in the address of its page: fields, defaults, and the body of POST /chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanescope.app.chain import facts as chains
from lanescope.app.chain.draw import draw_operand, draw_rows
from lanescope.app.chain.facts import LoadChainBody
from lanescope.app.kit.question import fields_of
from lanescope.app.kit.question_form import Control, fill_fields, form_of
from lanescope.app.memory import storage
from lanescope.app.memory.storage import STORAGE, fill_storage, parse_storage
from lanescope.errors import LayoutError

FIELDS = {name: field for name, field in fields_of(LoadChainBody, {}).items() if not name.startswith("s_")}
CHAIN_STORAGE = STORAGE | {"kind": "rows", "swizzle": "none", "pitch_bytes": "144", "base": "0", "swizzle_by": "tile"}


def parse_query(query: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the fields of a chain and of its storage from the page's address."""
    fields = fill_fields(FIELDS, query)
    spec = fill_storage(query, CHAIN_STORAGE)
    if spec["kind"] == "canonical":
        spec["swizzle_by"] = query.get("s_swizzle_by") or STORAGE["swizzle_by"]
    spec["inner"] = fields["major"]
    return fields, spec


def build_form(
    fields: Mapping[str, str], spec: Mapping[str, str], loads: Mapping[str, str], error: LayoutError | None
) -> dict[str, Control]:
    """Return the controls of the form. loads: load → its text in the menu."""
    stores = fields["operand"] in ("c", "d")
    choices = {
        "load": loads,
        "major": {"K": "N (rows)", "MN": "M (columns)"} if stores else {"K": "K", "MN": "M or N"},
    }
    form = form_of(LoadChainBody, fields, choices, error)
    names = ("mma", "operand", *(("major",) if spec["kind"] != "cute" else ()), "load")
    return {name: form[name] for name in names} | storage.build_form(spec, but=("inner",), error=error)


def build_request(fields: dict[str, str], spec: dict[str, str]) -> dict[str, Any]:
    """Return the body of POST /chain without the load."""
    return {name: fields[name] for name in ("mma", "operand", "major")} | {
        "storage": parse_storage(spec, fields["major"])
    }


def draw_figure(query: Mapping[str, str]) -> str:
    """Return the guide's picture of a chain: the elements of each row and the lane that receives them; on a mismatch,
    the received elements.
    """
    fields, spec = parse_query(query)
    found = chains.parse_chain(build_request(fields, spec) | {"load": fields["load"]})
    return draw_rows(found) if found.match else draw_operand(found)
