"""Facts as JSON: names, what is left out, arrays, facts in facts; and what is refused."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from lanescope.app.kit.encode import dumps
from lanescope.app.kit.fact import ByThread, Says, extended, fact, plain, sometimes


@fact
class Alone:
    """One field."""

    from_: Annotated[int, Says("Where it begins.")]


@fact
class Whole(Alone):
    """An array, a fact inside, and two fields that may be left out."""

    moved: ByThread
    inner: tuple[Alone, ...]
    note: str | None = sometimes()
    left: ByThread | None = sometimes()


def whole(**more: Any) -> Whole:
    return Whole(from_=1, moved=np.arange(6).reshape(2, 3).T, inner=(Alone(from_=2), Alone(from_=3)), **more)


def test_a_fact_is_json_in_the_order_of_its_fields() -> None:
    assert dumps(Alone(from_=1)) == b'{"from":1}'
    assert dumps(whole()) == b'{"from":1,"moved":[[0,3],[1,4],[2,5]],"inner":[{"from":2},{"from":3}]}'
    assert json.loads(dumps(whole(note="", left=np.zeros((1, 1), int)))) == {
        **json.loads(dumps(whole())),
        "note": "",
        "left": [[0]],
    }


def test_what_is_extended_has_the_same_fields_and_more() -> None:
    made = extended(Alone(from_=7), Whole, moved=np.zeros((1, 1), int), inner=(), note="x")
    assert (made.from_, made.note, made.left) == (7, "x", None) and list(plain(made)) == [
        "from",
        "moved",
        "inner",
        "note",
    ]
    with pytest.raises(TypeError, match="moved"):
        extended(Alone(from_=7), Whole, inner=())
    with pytest.raises(TypeError, match="other"):
        extended(Alone(from_=7), Alone, other=1)


def test_what_is_no_fact_is_refused() -> None:
    for wrong in (object(), Alone, {1, 2}):
        with pytest.raises(TypeError):
            dumps({"x": wrong})
    with pytest.raises(TypeError):
        plain("text")


def test_the_schema_names_and_requires_what_an_answer_has() -> None:
    schema = TypeAdapter(Whole).json_schema()
    assert list(schema["properties"]) == ["from", "moved", "inner", "note", "left"] and schema["required"] == [
        "from",
        "moved",
        "inner",
    ]
    assert schema["additionalProperties"] is False and schema["description"] == Whole.__doc__
    assert schema["properties"]["from"] == {"type": "integer", "title": "From", "description": "Where it begins."}
    rows = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}, "description": "[thread][value]"}
    assert (
        schema["properties"]["moved"] == rows | {"title": "Moved"}
        and rows | {"title": "Left"} == schema["properties"]["left"]
    )


def test_a_mapping_may_be_spread_into_fields() -> None:
    from lanescope.app.kit.fact import spread

    @fact
    class Place:
        name: str
        at: dict[str, int] = spread(lambda: ["lane", "column"])
        end: int

    told = TypeAdapter(Place).json_schema()
    assert set(told["properties"]) == {"name", "lane", "column", "end"} and told["required"] == ["name", "end"]
    assert list(plain(Place(name="d", at={"lane": 1, "column": 2}, end=3)).items()) == [
        ("name", "d"),
        ("lane", 1),
        ("column", 2),
        ("end", 3),
    ]
