"""Programs in files: slots take text inside a line, and lines where they stand alone."""

from __future__ import annotations

import pytest

from lanescope.app import hardware
from lanescope.render.template import Templates, fill_lines
from tests.cases import for_each
from tests.release import ROOT

LOOP = "for (;;) {\n  $body\n  ${more}\n}  // ${count}u of $all"


def test_a_slot_alone_on_its_line_takes_lines_and_indents_them() -> None:
    lines = fill_lines(LOOP, {"body": "f();\n\ng();", "more": ["h();"], "count": 3, "all": "5"})
    assert lines == ["for (;;) {", "  f();", "", "  g();", "  h();", "}  // 3u of 5"]


def test_a_missing_slot_is_an_error() -> None:
    with pytest.raises(KeyError, match="count"):
        fill_lines(LOOP, {"body": "", "more": "", "all": ""})


@for_each(("package", "folder"), [("lanescope.render", "layouts/render"), (hardware.__name__, "app/hardware")])
def test_every_template_of_a_package_is_used_by_it(package: str, folder: str) -> None:
    code = "".join(path.read_text() for path in (ROOT / folder).glob("*.py"))
    names = [path.name for path in (ROOT / folder / "programs").iterdir()]
    assert names and all(f'"{name}"' in code and Templates(package).read_template(name) for name in names)
