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
from lanescope.app.kit.question import flag_field, number_field, options_of, question, read_question, word_field
from lanescope.app.main import create_app
from lanescope.errors import LayoutError
from tests.client import Client
from tests.command import run_lanescope
from tests.release import ROOT

HELP = "Bytes of a tile of elements."
PAGE = """{% extends "kit/base.html" %}{% from "kit/form.html" import fields %}{% block main %}
{% if error %}<p class="notice" role="alert">{{ error|told(labels) }}</p>{% endif %}
<p id="told">{{ told.bytes }} bytes</p><form action="/tile-bytes">{{ fields(form) }}</form>
<a href="{{ link(rows=1) }}">one row</a>
{% for one in examples %}<a href="{{ one.href }}">{{ one.title }}</a>{% endfor %}
{% endblock %}"""


@question
class TileQuestion:
    """A tile of elements."""

    rows: int = number_field(8, "Rows", "Rows of the tile.", least=1, most=64)
    element: str = word_field(("f16", "f32"), "Element", "The type of an element.", called={"f16": "half"})
    padded: bool = flag_field("Padded", "1: each row takes 16 bytes more.")


@fact
class TileBytes:
    """What a tile takes."""

    bytes: int


def answer_bytes(asked: TileQuestion) -> TileBytes:
    """The bytes of a tile of 16 columns."""
    return TileBytes(bytes=asked.rows * (16 * (2 if asked.element == "f16" else 4) + 16 * asked.padded))


TOOL = Tool(
    question=TileQuestion,
    answer=answer_bytes,
    api="tile-bytes",
    page="/tile-bytes",
    template="toy/page.html",
    command="tile-bytes",
    lines=lambda asked, told: [f"{asked.rows} rows: {told.bytes} bytes"],
    succeeds=lambda told: told.bytes < 2048,
    examples=(("Four rows of f32", {"rows": "4", "element": "f32"}),),
)
TOY = ModuleType("lanescope.app.toy.feature")
TOY.FEATURE = Feature(  # type: ignore[attr-defined]
    tools=(TOOL,),
    menu=(Entry("Tiles", 99, "Bytes of a tile", "/tile-bytes", "how many bytes it takes"),),
    examples={"/api/v1/tile-bytes": "/api/v1/tile-bytes?rows=4"},
)


def forget() -> None:
    """Forget the menus and commands of the features that there were."""
    for kept in (menus.entries, menus._places, cli._build_command):
        kept.cache_clear()


@pytest.fixture(scope="module", autouse=True)
def toy() -> Iterator[None]:
    """The feature, as a folder and its line add it."""
    loader = templates.env.loader
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(features.FEATURES, "toy", {"tile-bytes": HELP})
        patch.setitem(sys.modules, "lanescope.app.toy.feature", TOY)
        patch.setitem(EXAMPLES, "/api/v1/tile-bytes", "/api/v1/tile-bytes?rows=4")
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
        "rows=65": ("bad_number", "rows is '65'.", "An integer from 1 to 64.", "rows"),
        "element=f8": ("bad_choice", "element is 'f8'.", "Allowed: f16, f32.", "element"),
        "row=4": ("bad_filter", "There is no parameter 'row'.", "Did you mean 'rows'?", "row"),
    }.items():
        answer = client.get(f"/api/v1/tile-bytes?{query}")
        told = answer.json()["error"]
        assert answer.status_code == 422 and told["hint"].startswith(error[2])
        assert (told["code"], told["message"], told["field"]) == (error[0], error[1], error[3])


def test_its_route_is_documented(client: Client) -> None:
    document = client.get("/openapi.json").json()
    operation = document["paths"]["/api/v1/tile-bytes"]["get"]
    assert operation["description"] == "The bytes of a tile of 16 columns."
    told = {one["name"]: (one["description"], one["schema"]) for one in operation["parameters"]}
    assert told["rows"][0] == "Rows of the tile." and told["rows"][1]["default"] == "8"
    assert told["element"][1]["enum"] == ["", "f16", "f32"] and told["padded"][1]["default"] == "0"
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    check = jsonschema_rs.validator_for(schema | {"components": document["components"]})
    check.validate(client.get("/api/v1/tile-bytes").json())
    assert not check.is_valid({"bytes": "many"})


def test_its_page_has_the_form_the_links_and_the_menu(client: Client) -> None:
    page = client.get("/tile-bytes?rows=2&padded=1").text
    assert '<p id="told">96 bytes</p>' in page and 'name="rows" value="2"' in page
    assert '<option value="1" selected>yes</option>' in page and '<option value="f16" selected>half</option>' in page
    assert 'href="/tile-bytes?rows=1&amp;padded=1"' in page and 'href="/tile-bytes?rows=4&amp;element=f32"' in page
    assert "how many bytes it takes" in client.get("/").text and menus.menu_of("/tile-bytes") == "Tiles"


def test_its_page_shows_a_wrong_field_beside_it(client: Client) -> None:
    answer = client.get("/tile-bytes?rows=x")
    assert answer.status_code == 422
    note = answer.text.partition("data-error")[2].partition("</small>")[0]
    assert "Rows is &#39;x&#39;. An integer from 1 to 64" in note and 'name="rows" value="x"' in answer.text
    assert '<p id="told">256 bytes</p>' in answer.text


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


def test_a_question_is_read_as_its_fields_say() -> None:
    assert read_question(TileQuestion, {"rows": "0x10"}) == TileQuestion(rows=16)
    assert TileQuestion() == read_question(TileQuestion, {"rows": "", "padded": " "})
    with pytest.raises(LayoutError, match="There is no key 'elements'"):
        read_question(TileQuestion, {"elements": "f16"})


@pytest.mark.parametrize("folder", [folder for folder in features.FEATURES if folder != "toy"])
def test_the_list_names_the_verbs_that_a_feature_has(folder: str) -> None:
    """And a feature with tools has their help there; another has a verbs.py, which --help may load."""
    verbs = features.FEATURES[folder]
    declared = {tool.command.partition(" ")[0] for tool in features.load_feature(folder).tools} - {""}
    written = (ROOT / "app" / folder / "verbs.py").exists()
    assert {verb for verb, help in verbs.items() if help} == declared
    assert written == any(not help for help in verbs.values())


def test_every_folder_of_a_feature_is_in_the_list() -> None:
    folders = {path.parent.name for path in Path(ROOT / "app").glob("*/feature.py")} - {"kit"}
    assert folders == {folder for folder in features.FEATURES if folder != "toy"}


def test_no_feature_declares_the_route_of_another() -> None:
    routes = [route for feature in features.load_features().values() for route in (*feature.examples, *feature.bodies)]
    assert len(routes) == len(set(routes)) and set(EXAMPLES) | set(BODIES) >= set(routes)


@pytest.mark.parametrize("name", ["rows", "element", "padded"])
def test_each_option_has_its_words(name: str) -> None:
    option: Any = options_of(TileQuestion)[name]
    assert option.label and option.help.endswith(".")
