"""Common template variables of all steppers: script data, the current step, links to other steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode

from lanescope.app.chain.forms import CHAIN_STORAGE
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.question import fields_of
from lanescope.app.kit.question_form import add_wrong_fields, answer_without_wrong, find_refused
from lanescope.app.memory.storage import fill_storage
from lanescope.errors import LayoutError
from lanescope.inputs import parse_digits

MOST_QUERY = 7000  # characters; a longer query is posted, and cannot be linked
StepperT = TypeVar("StepperT")
STATE = ("step", "pin", "one", "speed", "more")  # fields that the script keeps in the address


def build_stage(stepper: Any, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's variables that all steppers share."""
    kept = urlencode({name: value for name, value in query.items() if value and name != "step"})
    return {
        "stepper": stepper,
        "stepper_data": encode_json(stepper).decode().replace("</", "<\\/"),
        "step": min(find_step(query), len(stepper.steps)) - 1,
        "query_at": kept + "&" * bool(kept),
        "too_long": len(kept) > MOST_QUERY,
        "more": query.get("more") == "1",
    }


def answer_stepper(
    build: Callable[[dict[str, str]], StepperT], question: type, query: Mapping[str, str]
) -> tuple[StepperT, LayoutError | None]:
    """Return the stepper of a page's query, built without the fields that are wrong, and their errors."""
    fields = fields_of(question, query)
    sent = {name: text for name, text in query.items() if name in fields and text.strip()}

    def depends(name: str, wrong: str) -> bool:
        return wrong.startswith("s_") and name.startswith(("s_", "load_", "k_step"))

    stepper, error = answer_without_wrong(build, sent, lambda error: find_refused(fields, error), depends)
    if stepper is None:
        raise error or AssertionError
    return stepper, add_wrong_fields(error, fields, sent) if error else None


def find_step(query: Mapping[str, str]) -> int:
    """Return the step number of an address, from 1; 1 by default."""
    step = parse_digits(query.get("step", ""))
    return max(step[0], 1) if step else 1


def blank_usual(
    usual: Mapping[str, str], typed: Mapping[str, str], choices: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the values and the choices of a form with "" in place of the usual word of each field."""
    return (
        {name: "" if text == usual.get(name) else text for name, text in typed.items()},
        {
            name: {"" if word == usual.get(name) else word: text for word, text in texts.items()}
            for name, texts in choices.items()
        },
    )


def collect_storage(query: Mapping[str, str], usual: Mapping[str, str] = CHAIN_STORAGE) -> dict[str, str]:
    """Return the fields of a storage form (s_kind, s_pitch_bytes …), with those of the default storage if they are
    left out.
    """
    return fill_storage(query, usual) | {"inner": "K"}
