"""Facts as JSON: names, what is left out, arrays, facts in facts; and what is refused."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.fact import ByThread, Description, copy_fact, fact, fact_to_json, make_optional_field


@fact
class OneFieldFact:
    """One field."""

    from_: Annotated[int, Description("Where it begins.")]


@fact
class NestedFact(OneFieldFact):
    """An array, a fact inside, and two fields that may be left out."""

    moved: ByThread
    inner: tuple[OneFieldFact, ...]
    note: str | None = make_optional_field()
    left: ByThread | None = make_optional_field()


def make_nested_fact(**more: Any) -> NestedFact:
    return NestedFact(
        from_=1, moved=np.arange(6).reshape(2, 3).T, inner=(OneFieldFact(from_=2), OneFieldFact(from_=3)), **more
    )


def test_a_fact_is_json_in_the_order_of_its_fields() -> None:
    assert encode_json(OneFieldFact(from_=1)) == b'{"from":1}'
    assert encode_json(make_nested_fact()) == b'{"from":1,"moved":[[0,3],[1,4],[2,5]],"inner":[{"from":2},{"from":3}]}'
    assert json.loads(encode_json(make_nested_fact(note="", left=np.zeros((1, 1), int)))) == {
        **json.loads(encode_json(make_nested_fact())),
        "note": "",
        "left": [[0]],
    }


def test_what_is_extended_has_the_same_fields_and_more() -> None:
    made = copy_fact(NestedFact, OneFieldFact(from_=7), moved=np.zeros((1, 1), int), inner=(), note="x")
    assert (made.from_, made.note, made.left) == (7, "x", None) and list(fact_to_json(made)) == [
        "from",
        "moved",
        "inner",
        "note",
    ]
    with pytest.raises(TypeError, match="moved"):
        copy_fact(NestedFact, OneFieldFact(from_=7), inner=())
    with pytest.raises(TypeError, match="other"):
        copy_fact(OneFieldFact, OneFieldFact(from_=7), other=1)


def test_what_is_no_fact_is_refused() -> None:
    for wrong in (object(), OneFieldFact, {1, 2}):
        with pytest.raises(TypeError):
            encode_json({"x": wrong})
    with pytest.raises(TypeError):
        fact_to_json("text")


def test_the_schema_names_and_requires_what_an_answer_has() -> None:
    schema = TypeAdapter(NestedFact).json_schema()
    assert list(schema["properties"]) == ["from", "moved", "inner", "note", "left"] and schema["required"] == [
        "from",
        "moved",
        "inner",
    ]
    assert schema["additionalProperties"] is False and schema["description"] == NestedFact.__doc__
    assert schema["properties"]["from"] == {"type": "integer", "title": "From", "description": "Where it begins."}
    rows = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}, "description": "[thread][value]"}
    assert (
        schema["properties"]["moved"] == rows | {"title": "Moved"}
        and rows | {"title": "Left"} == schema["properties"]["left"]
    )


def test_a_mapping_may_be_spread_into_fields() -> None:
    from lanescope.app.kit.fact import make_spread_field

    @fact
    class Place:
        name: str
        at: dict[str, int] = make_spread_field(lambda: ["lane", "column"])
        end: int

    told = TypeAdapter(Place).json_schema()
    assert set(told["properties"]) == {"name", "lane", "column", "end"} and told["required"] == ["name", "end"]
    assert list(fact_to_json(Place(name="d", at={"lane": 1, "column": 2}, end=3)).items()) == [
        ("name", "d"),
        ("lane", 1),
        ("column", 2),
        ("end", 3),
    ]
