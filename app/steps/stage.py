"""What the pages of all steppers show of one: its data for the script, the step in view, addresses of other steps."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlencode

from lanescope.app.chain.forms import CHAIN_STORAGE
from lanescope.app.kit.encoding import encode_json
from lanescope.errors import LayoutError
from lanescope.inputs import parse_digits

MOST_QUERY = 7000  # characters: a longer one is posted, and no link can hold it
STATE = ("step", "pin", "one", "speed", "more")  # what the script keeps in the address


def build_stage(stepper: Any, query: Mapping[str, str]) -> dict[str, Any]:
    """Build what every stepper's template takes."""
    kept = urlencode({name: value for name, value in query.items() if value and name != "step"})
    return {
        "stepper": stepper,
        "stepper_data": encode_json(stepper).decode().replace("</", "<\\/"),
        "step": min(find_step(query), len(stepper.steps)) - 1,
        "query_at": kept + "&" * bool(kept),
        "too_long": len(kept) > MOST_QUERY,
        "more": query.get("more") == "1",
    }


def find_step(query: Mapping[str, str]) -> int:
    """Return the step that an address shows, from 1; 1 where it says none."""
    step = parse_digits(query.get("step", ""))
    return max(step[0], 1) if step else 1


def place_refusal(error: LayoutError, tables_error: LayoutError | None, in_tables: Collection[str]) -> dict[str, Any]:
    """Return the template's variables of a refused question, and whether it stands in the panel of the options: not
    if it is of a field of the form above the tables, or if the tables are refused for another reason.
    """
    own = error.field.partition(".")[0] not in in_tables
    return {
        "stepper_error": error,
        "in_options": own and (tables_error is None or tables_error.message == error.message),
    }


def collect_storage(query: Mapping[str, str], usual: Mapping[str, str] = CHAIN_STORAGE) -> dict[str, str]:
    """Collect the fields of a storage form, s_kind, s_pitch_bytes …, where it is left out those of the usual one."""
    return {name: query.get(f"s_{name}") or default for name, default in usual.items()} | {"inner": "K"}
