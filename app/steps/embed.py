"""A stepper embedded in another page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from lanescope.app.steps.matrix_view import build_matrix_view
from lanescope.app.steps.stage import STATE, find_step
from lanescope.app.steps.view import build_view
from lanescope.app.steps.wgmma_view import build_wgmma_view, fill_storage
from lanescope.names import lookup
from lanescope.product.move_plan import moves_rows

STEPS = "/steps/"


def build_embed(address: str, state: Mapping[str, str]) -> dict[str, Any]:
    """Return the variables of steps/embedded.html for /steps/{ptx}?query. state: the query of the embedding page,
    which has the step, the pin and the speed.
    """
    parts = urlsplit(address)
    name = unquote(parts.path).removeprefix(STEPS)
    found, options = lookup.find(name), dict(parse_qsl(parts.query))
    query = fill_storage(name, options | {key: state[key] for key in STATE if key in state})
    view = build_matrix_view if moves_rows(found) else build_wgmma_view if found.family.by_descriptor else build_view
    return view(found, query) | {"found": found, "address": address, "first_step": find_step(options)}
