"""static/ and templates/: modules and style sheets say themselves what belongs together, and nothing lies
there unused.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import pytest

from lanescope.app.kit import assets
from lanescope.app.main import create_app
from lanescope.app.widget import front_end
from tests.cases import for_each
from tests.client import Client

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(str(path.relative_to(assets.STATIC)) for path in assets.STATIC.rglob("*.js"))
SHEETS = sorted(str(path.relative_to(assets.STATIC)) for path in assets.STATIC.rglob("*.css"))
TEMPLATES = {
    str(path.relative_to(ROOT / "templates")): path.read_text() for path in (ROOT / "templates").rglob("*.html")
}
PYTHON = "\n".join(path.read_text() for path in sorted((ROOT / "app").rglob("*.py")))


@for_each("name", SCRIPTS)
def test_a_bundle_is_one_script_in_the_order_of_its_imports(name: str) -> None:
    parts, text = assets.list_modules(name), assets.render_bundle(name)
    assert parts[-1] == name and all(
        parts.index(needed) < n for n, part in enumerate(parts) for needed in assets.find_imports(part)
    )
    assert not re.search(r"^\s*(?:import|export)\b", text, re.M)
    assert len(re.findall(r"^const module\d+ = ", text, re.M)) == len(parts)


@for_each("name", SCRIPTS, sample=30)
def test_a_bundle_takes_only_what_its_modules_hand_on(name: str) -> None:
    """Every module ends with what it exports, and what another takes of it, or all of it, is among that."""
    handed: dict[str, set[str]] = {}
    bundle = assets.render_bundle(name).removesuffix("})();\n")
    _, *parts = re.split(r"^const (module\d+) = \(\(\) => \{\n", bundle, flags=re.M)
    for module, whole in zip(parts[::2], parts[1::2], strict=True):
        text = whole.removesuffix("})();\n")
        assert text != whole
        body, _, last = text.rstrip("\n").rpartition("\n")
        names = re.fullmatch(r"return \{ (.*) \};", last)
        assert names, last
        handed[module] = {one for one in names[1].split(", ") if one}
        assert all(re.search(rf"\b(?:const|function|class) {re.escape(one)}(?!\w)", body) for one in handed[module])
        given = re.findall(r"^const (\{[^{}]*\}|\w+) = (module\d+);$", body, re.M)
        assert len(given) == len(re.findall(r"\bmodule\d+\b", body))
        for taken, source in given:
            if taken[0] == "{":
                assert {one.strip().partition(":")[0] for one in taken[1:-1].split(",") if one.strip()} <= handed[
                    source
                ]
    assert len(handed) == len(assets.list_modules(name))


def test_style_css_joins_every_sheet() -> None:
    joined = assets.render_style_sheet()
    assert "@import" not in joined
    for name in set(SHEETS) - {assets.STYLE, *front_end.STYLES[1:]}:
        assert joined.count((assets.STATIC / name).read_text()) == 1, name


def test_an_address_changes_with_anything_it_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kit").mkdir()
    (tmp_path / "page.js").write_text('import { one } from "./kit/one.js";\none();\n')
    (tmp_path / "kit" / "one.js").write_text("export const one = () => 1;\n")
    (tmp_path / "style.css").write_text('@import "kit/base.css";\n')
    (tmp_path / "kit" / "base.css").write_text("a { color: red; }\n")
    monkeypatch.setattr(assets, "STATIC", tmp_path)
    seen = []
    for value in ("1", "2"):
        (tmp_path / "kit" / "one.js").write_text(f"export const one = () => {value};\n")
        (tmp_path / "kit" / "base.css").write_text(f"a {{ top: {value}px; }}\n")
        assets.render_style_sheet.cache_clear()
        seen.append([assets.static_url.__wrapped__(name) for name in ("page.js", "style.css")])
    assets.render_style_sheet.cache_clear()
    assert all(before != after for before, after in zip(*seen, strict=True))


def test_a_page_names_every_module_by_the_address_that_others_import_it_by() -> None:
    """Under two addresses a browser would run it twice; under one without its digest it would ask each time."""
    with Client(create_app()) as client:
        page = client.get("/smem").text
        preloaded = re.findall(r'<link rel="modulepreload" href="/static/([^"]+)"', page)
        entries = re.findall(r'<script type="module" src="/static/([^"]+)"', page)
        imported = set()
        for address in (*preloaded, *entries):
            name, text = address.partition("?")[0], client.get(f"/static/{address}").text
            paths = re.findall(r'^import .*"(\..*)";$', text, re.M)
            imported |= {posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) for path in paths}
            assert re.sub(r"\?\w{10}(?=\";)", "", text) == (assets.STATIC / name).read_text()
        assert imported == set(preloaded) and len(imported) > 3 and entries
        assert all(assets.static_url(each.partition("?")[0]) == f"/static/{each}" for each in imported)


def test_every_script_and_template_is_used() -> None:
    entries = {
        name for text in TEMPLATES.values() for name in re.findall(r"(?:script|static_url)\('([\w/.-]+\.js)'", text)
    }
    entries |= {name for name in SCRIPTS if f'"{name}"' in PYTHON}
    assert {part for name in entries for part in assets.list_modules(name)} == set(SCRIPTS)
    named = "\n".join(TEMPLATES.values()) + PYTHON
    assert [name for name in TEMPLATES if f'"{name}"' not in named] == []


def test_every_class_and_id_of_the_style_sheets_is_used() -> None:
    """By an attribute in a template or in markup that Python writes, or by a script's own word for it."""
    markup = "\n".join(
        [*TEMPLATES.values(), PYTHON, *(path.read_text() for path in (ROOT / "layouts" / "render").glob("*.py"))]
    )
    scripts = "\n".join((assets.STATIC / name).read_text() for name in SCRIPTS)
    given = re.findall(r'(?:class|id)="([^"]*)"', markup) + re.findall(r"\bclass=(\w+)", markup)
    given += re.findall(
        r"(?:className[:=]|className = |classList\.\w+\(|\$\(|getElementById\()\s*[\"'`]([\w -]+)", scripts
    )
    for text in re.findall(r'(?:setAttribute\("class", |\bclass: )([^;\n]*)', scripts):
        given += re.findall(r"[\"'`]([^\"'`]*)", text)
    used = {word for text in given for word in re.findall(r"[\w-]+", text)}
    rules = re.sub(r"/\*.*?\*/|\{[^{}]*\}", " ", assets.render_style_sheet(), flags=re.S)
    selectors = set(re.findall(r"[.#]([A-Za-z][\w-]*)", rules))
    assert len(selectors) > 60
    numbered = {name for name in selectors if any(stem.endswith("-") and name.startswith(stem) for stem in used)}
    assert selectors - used - numbered == {"differs"}, "a kind of evidence"
