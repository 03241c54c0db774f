"""A feature is a folder and a line of app/features.py: this one has a page, a route, a command and a menu's entry."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema_rs
import pytest
from jinja2 import ChoiceLoader, DictLoader

from lanescope.app import cli, features
from lanescope.app.kit import menus
from lanescope.app.kit.examples import BODIES, EXAMPLES
from lanescope.app.kit.fact import fact
from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.kit.page import templates
from lanescope.app.kit.question import (
    declare_question,
    flag_field,
    kind_field,
    list_field,
    number_field,
    options_of,
    question_field,
    read_question,
    text_field,
    word_field,
)
from lanescope.app.main import create_app
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope
from tests.release import ROOT

HELP = "Bytes of a tile of elements."
PAGE = """{% extends "kit/base.html" %}{% from "kit/form.html" import fields %}{% block main %}
{% if error %}<p class="notice" role="alert">{{ error|format_error(labels) }}</p>{% endif %}
<p id="answer">{{ answer.bytes }} bytes</p><form action="/tile-bytes">{{ fields(form) }}</form>
<a href="{{ link(rows=1) }}">one row</a>
{% for one in examples %}<a href="{{ one.href }}">{{ one.title }}</a>{% endfor %}
{% endblock %}"""


@declare_question
class TileQuestion:
    """A tile of elements."""

    rows: int = number_field(8, "Rows", "Rows of the tile.", least=1, most=64)
    element: str = word_field(("f16", "f32"), "Element", "The type of an element.", called={"f16": "half"})
    padded: bool = flag_field("Padded", "1: each row takes 16 bytes more.")


@fact
class TileBytes:
    """What a tile takes."""

    bytes: int


def answer_bytes(question: TileQuestion) -> TileBytes:
    """The bytes of a tile of 16 columns."""
    return TileBytes(bytes=question.rows * (16 * (2 if question.element == "f16" else 4) + 16 * question.padded))


TOOL = Tool(
    question=TileQuestion,
    answer=answer_bytes,
    api="tile-bytes",
    page="/tile-bytes",
    template="toy/page.html",
    command="tile-bytes",
    lines=lambda question, answer: [f"{question.rows} rows: {answer.bytes} bytes"],
    succeeds=lambda answer: answer.bytes < 2048,
    examples=(("Four rows of f32", {"rows": "4", "element": "f32"}),),
)
KINDS = {"rows": "rows with a pitch", "cute": "a CuTe layout"}


@declare_question
class ToyRows:
    """Rows with a pitch."""

    kind: str = kind_field("rows", KINDS, "Placed as", called=KINDS)
    pitch: int = number_field(128, "Pitch", "Bytes from row to row.", least=16)


@declare_question
class ToyCute:
    """A CuTe layout."""

    kind: str = kind_field("cute", KINDS, "Placed as", called=KINDS)
    layout: str = text_field("", "Layout", "Its text.", required=True)


@declare_question
class ToyPlace:
    """A tile, where it lies, and tiles beside it."""

    tile: TileQuestion = question_field(TileQuestion, "Tile", "The tile.", prefix="tile_")
    placed: ToyRows | ToyCute = question_field(
        (ToyRows, ToyCute), "Placed", "Where it lies.", prefix="p_", default={"kind": "rows"}
    )
    also: tuple[TileQuestion, ...] = list_field(TileQuestion, "Also", "Tiles beside it.", most=2)
    after: TileQuestion | None = question_field(TileQuestion, "After", "The tile after it.", default="", prefix="a_")


def answer_place(question: ToyPlace) -> TileBytes:
    """The bytes of the tiles."""
    return TileBytes(
        bytes=sum(answer_bytes(one).bytes for one in (question.tile, *question.also, question.after) if one)
    )


PLACE = Tool(
    question=ToyPlace,
    answer=answer_place,
    api="tile-places",
    body="ToyPlaceBody",
    instead={"rows": Tool(question=TileQuestion, answer=answer_bytes)},
    page="/tile-places",
    template="toy/page.html",
    command="tile-places",
    lines=lambda question, answer: [f"{question.placed}: {answer.bytes} bytes"],
)
TOY = ModuleType("lanescope.app.toy.feature")
TOY.FEATURE = Feature(  # type: ignore[attr-defined]
    tools=(TOOL, PLACE),
    menu=(Entry("Tiles", 99, "Bytes of a tile", "/tile-bytes", "how many bytes it takes"),),
    examples={"/api/v1/tile-bytes": "/api/v1/tile-bytes?rows=4"},
)


def forget() -> None:
    """Forget the menus and commands of the features that there were."""
    for kept in (menus.list_entries, menus._map_places, cli._build_command):
        kept.cache_clear()


@pytest.fixture(scope="module", autouse=True)
def toy() -> Iterator[None]:
    """The feature, as a folder and its line add it."""
    loader = templates.env.loader
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(features.FEATURES, "toy", {"tile-bytes": HELP, "tile-places": "Bytes of tiles."})
        patch.setitem(sys.modules, "lanescope.app.toy.feature", TOY)
        patch.setitem(EXAMPLES, "/api/v1/tile-bytes", "/api/v1/tile-bytes?rows=4")
        patch.setitem(BODIES, "/api/v1/tile-places", {"tile": {"rows": 4}})
        patch.setattr(templates.env, "loader", ChoiceLoader([loader, DictLoader({"toy/page.html": PAGE})]))
        forget()
        yield
    forget()


@pytest.fixture(scope="module")
def client(toy: None) -> Iterator[Client]:
    with Client(create_app(), raise_server_exceptions=False) as made:
        yield made


def test_its_route_answers_and_refuses(client: Client) -> None:
    assert client.get("/api/v1/tile-bytes?rows=4&element=F32&padded=1").json() == {"bytes": 320}
    assert client.get("/api/v1/tile-bytes").json() == {"bytes": 256}
    for query, error in {
        "rows=65": ("bad_number", "rows is '65'.", "Give an integer from 1 to 64.", "rows"),
        "element=f8": ("bad_choice", "element is 'f8'.", "Allowed: f16, f32.", "element"),
        "row=4": ("bad_filter", "There is no parameter 'row'.", "Did you mean 'rows'?", "row"),
    }.items():
        reply = client.get(f"/api/v1/tile-bytes?{query}")
        error_body = reply.json()["error"]
        assert reply.status_code == 422 and error_body["hint"].startswith(error[2])
        assert (error_body["code"], error_body["message"], error_body["field"]) == (error[0], error[1], error[3])


@pytest.mark.thorough
def test_its_route_is_documented(client: Client) -> None:
    document = client.get("/openapi.json").json()
    operation = document["paths"]["/api/v1/tile-bytes"]["get"]
    assert operation["description"] == "The bytes of a tile of 16 columns."
    parameters = {one["name"]: (one["description"], one["schema"]) for one in operation["parameters"]}
    assert parameters["rows"][0] == "Rows of the tile." and parameters["rows"][1]["default"] == "8"
    assert parameters["element"][1]["enum"] == ["", "f16", "f32"] and parameters["padded"][1]["default"] == "0"
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    check = jsonschema_rs.validator_for(schema | {"components": document["components"]})
    check.validate(client.get("/api/v1/tile-bytes").json())
    assert not check.is_valid({"bytes": "many"})


def test_its_page_shows_a_wrong_field_beside_it(client: Client) -> None:
    answer = client.get("/tile-bytes?rows=x")
    assert answer.status_code == 422
    note = answer.text.partition("data-error")[2].partition("</small>")[0]
    assert "Rows is &#39;x&#39;. Give an integer from 1 to 64" in note and 'name="rows" value="x"' in answer.text
    assert '<p id="answer">256 bytes</p>' in answer.text


def test_its_command_prints_and_fails() -> None:
    done = run_lanescope("tile-bytes", "--rows", "4", "--padded")
    assert (done.returncode, done.stdout) == (0, "4 rows: 192 bytes\n")
    assert json.loads(run_lanescope("tile-bytes", "--element", "f32", "--json").stdout) == {"bytes": 512}
    assert run_lanescope("tile-bytes", "--rows", "64").returncode == 1
    refused = run_lanescope("tile-bytes", "--rows", "65")
    assert refused.returncode == 2 and "rows is '65'." in refused.stderr
    assert HELP in run_lanescope("--help").stdout
    help = " ".join(run_lanescope("tile-bytes", "--help").stdout.split())
    assert HELP in help and "The type of an element: f16 or f32; f16 when left out." in help
    assert "Each row takes 16 bytes more." in help


def test_a_body_has_questions_inside(client: Client) -> None:
    def post(**body: Any) -> Any:
        return client.post("/api/v1/tile-places", json=body).json()

    assert post() == {"bytes": 256} and post(tile={"rows": 2}, also=[{"rows": 1}, {}]) == {"bytes": 352}
    assert post(placed={"kind": "CUTE", "layout": "8"}, after={}) == {"bytes": 512}
    assert post(rows=1) == {"bytes": 32}  # answered instead
    for body, field, message in (
        ({"tile": {"rows": ""}}, "tile.rows", "rows is empty."),
        ({"tile": {"row": 1}}, "tile.row", "tile has no key 'row'."),
        ({"tile": 1}, "tile", "tile is 1."),
        ({"placed": {"kind": "sums"}}, "placed.kind", "kind is 'sums'."),
        ({"placed": {"kind": "cute", "pitch": 1}}, "placed.pitch", "placed has no key 'pitch'."),
        ({"placed": {"kind": "cute"}}, "placed.layout", "layout is missing."),
        ({"also": [{}, {"rows": 0}]}, "also.1.rows", "rows is '0'."),
        ({"also": [{}, {}, {}]}, "also", "3 also."),
        ({"also": {}}, "also", "also is an object."),
        ({"also": [1]}, "also.0", "0 is 1."),
    ):
        error_body = post(**body)["error"]
        assert (error_body["field"], error_body["message"]) == (field, message)


def test_a_body_is_documented(client: Client) -> None:
    document = client.get("/openapi.json").json()
    operation = document["paths"]["/api/v1/tile-places"]["post"]
    assert operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/ToyPlaceBody")
    check = jsonschema_rs.validator_for(
        {"$ref": "#/components/schemas/ToyPlaceBody"} | {"components": document["components"]}
    )
    for body in (
        {},
        {"tile": {"rows": "0x2"}},
        {"placed": {"kind": "cute", "layout": "8"}},
        {"also": [{}]},
        {"rows": 4},
    ):
        check.validate(body)
    for body in (
        {"tile": 1},
        {"placed": {"kind": "cute"}},
        {"placed": {}},
        {"also": [{}, {}, {}]},
        {"placed": {"kind": "x"}},
    ):
        assert not check.is_valid(body)
    schemas = document["components"]["schemas"]
    assert schemas["ToyRows"]["properties"]["kind"]["const"] == "rows" and "ToyPlace" in schemas


def test_a_page_has_the_fields_of_questions_inside(client: Client) -> None:
    page = client.get("/tile-places?tile_rows=2").text
    assert '<p id="answer">64 bytes</p>' in page and 'name="tile_rows" value="2"' in page and "a_rows" not in page
    assert '<p id="answer">288 bytes</p>' in client.get("/tile-places?a_rows=1").text
    assert 'name="p_pitch" value="128"' in page and "p_layout" not in page
    assert '<option value="cute">a CuTe layout</option>' in page
    other = client.get("/tile-places?p_kind=cute").text
    assert 'name="p_layout"' in other and "p_pitch" not in other
    assert client.get("/tile-places?p_kind=x").status_code == 422
    wrong = client.get("/tile-places?tile_rows=x").text
    assert "Rows is &#39;x&#39;." in wrong.partition("data-error")[2].partition("</small>")[0]


def test_a_command_takes_questions_inside() -> None:
    done = run_lanescope("tile-places", "--tile-rows", "2", "--placed", "kind=rows,pitch=64")
    assert done.stdout == "ToyRows(kind='rows', pitch=64): 64 bytes\n"
    refused = run_lanescope("tile-places", "--placed", "kind=rows", "--placed", "pitch=8")
    assert refused.returncode == 2 and "pitch is '8'." in refused.stderr


def test_a_question_is_read_as_its_fields_say() -> None:
    assert read_question(TileQuestion, {"rows": "0x10"}) == TileQuestion(rows=16)
    assert TileQuestion() == read_question(TileQuestion, {"rows": "", "padded": " "})
    with pytest.raises(LayoutError, match="There is no key 'elements'"):
        read_question(TileQuestion, {"elements": "f16"})


@for_each("folder", [folder for folder in features.FEATURES if folder != "toy"])
def test_the_list_names_the_verbs_that_a_feature_has(folder: str) -> None:
    """And a feature with tools has their help there; another has a verbs.py, which --help may load."""
    verbs = features.FEATURES[folder]
    feature = features.load_feature(folder)
    declared = {tool.command.partition(" ")[0] for tool in feature.tools} - {""}
    written = (ROOT / "app" / folder / "verbs.py").exists()
    assert {verb for verb, help in verbs.items() if help} == declared
    assert written == (any(not help for help in verbs.values()) or "verbs" in feature.written)


def test_every_folder_of_a_feature_is_in_the_list() -> None:
    folders = {path.parent.name for path in Path(ROOT / "app").glob("*/feature.py")} - {"kit"}
    assert folders == {folder for folder in features.FEATURES if folder != "toy"}


def test_no_feature_declares_the_route_of_another() -> None:
    routes = [route for feature in features.load_features().values() for route in (*feature.examples, *feature.bodies)]
    assert len(routes) == len(set(routes)) and set(EXAMPLES) | set(BODIES) >= set(routes)


@for_each("name", ["rows", "element", "padded"])
def test_each_option_has_its_words(name: str) -> None:
    option: Any = options_of(TileQuestion)[name]
    assert option.label and option.help.endswith(".")
