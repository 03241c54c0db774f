"""Query parameters of the pages of whole tiles, and the API's names for them."""

from __future__ import annotations

from collections.abc import Mapping

from lanescope.app.kit.fact import Json
from lanescope.app.tiles import questions
from lanescope.app.tiles.questions import parse_sizes

MMA = {
    "atom": "SM80_16x8x16_F32F16F16F32_TN",
    "atom_layout": "(2,2,1)",
    "permutation": "(32,32,16)",
    "tile": "64x64x32",
}


UMMA = dict.fromkeys(questions.UMMA, "")  # fields of a tcgen05.mma besides those of an MMA


def parse_fields(query: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the form's fields: from the address, or the page's example. An address with an atom defines all fields."""
    usual = get_defaults(query, names)
    return {name: query.get(name, usual[name]).strip() for name in names}


def get_defaults(query: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the defaults of fields: those of the example, or empty if the address names an atom."""
    first = next(iter(names))
    return dict(names) if not query.get(first) else {name: names[name] if name == first else "" for name in names}


def build_mma_body(fields: Mapping[str, str]) -> Json:
    """Return the body of POST /api/v1/tiles/mma."""
    body: Json = {name: fields[name] for name in ("atom", "atom_layout", "permutation") if fields[name]}
    if fields["tile"]:
        body["tile"] = parse_sizes(fields["tile"])
    return body | {name: fields[name] for name in (*UMMA, "target") if fields.get(name)}


def add_umma_fields(query: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a TiledMMA's form, and the UMMA fields of the address."""
    return parse_fields(query, MMA) | {name: query[name].strip() for name in (*UMMA, "target") if query.get(name)}
