"""Texts nested far deeper than anybody writes: each is read or refused, in a time that grows with its length, and never
a failure of the server or a traceback of the command.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lanescope import reader
from lanescope.app.kit.settings import Settings
from lanescope.app.main import create_app
from lanescope.errors import LayoutError
from lanescope.reader.code.syntax.source_text import is_python
from lanescope.reader.grammars.terms import make_term_text
from lanescope.workbench import build_workbench
from lanescope.workbench.check import check_text
from tests.asgi import fetch, parse_refusal
from tests.cases import for_each
from tests.command import run_lanescope
from tests.sample import FULL, is_chosen, take_sample

CODE = "uint64_t desc = (uint64_t)(smem >> 4) | (64ull << 32) | "
TILED = "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, "
BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"


def make_nested(opening: str, inside: str, closing: str) -> Callable[[int], str]:
    return lambda times: opening * times + inside + closing * times


def nest_in_code(inside: Callable[[int], str]) -> Callable[[int], str]:
    return lambda times: f"{CODE}{inside(times)};"


SHAPES: dict[str, Callable[[int], str]] = {
    "parentheses": nest_in_code(make_nested("(", "1", ")")),
    "open parentheses": nest_in_code(lambda n: "(" * n),
    "indices": nest_in_code(make_nested("a[", "1", "]")),
    "braces": nest_in_code(make_nested("{", "1", "}")),
    "template arguments": nest_in_code(make_nested("T<", "int", ">")),
    "open angles": nest_in_code(lambda n: "T<" * n),
    "calls": nest_in_code(make_nested("f(", "1", ")")),
    "casts": nest_in_code(make_nested("static_cast<uint64_t>(", "1", ")")),
    "C casts": nest_in_code(lambda n: "(uint64_t)" * n + "1"),
    "lambdas": nest_in_code(make_nested("[&]{return ", "1", "}()")),
    "signs": nest_in_code(lambda n: "- " * n + "a"),
    "a sum": nest_in_code(lambda n: "a + " * n + "1"),
    "comparisons": nest_in_code(lambda n: "a < " * n + "1"),
    "conditions": nest_in_code(lambda n: "a ? b : " * n + "c"),
    "members": nest_in_code(lambda n: "a." * n + "b"),
    "a path": nest_in_code(lambda n: "a::" * n + "b"),
    "blocks": lambda n: f"void f() {{ {CODE}1; {'{' * n}{'}' * n} }}",
    "else if": lambda n: f"void f(int x) {{ {CODE}1; {'if (x) {} else ' * n}{{}} }}",
    "structs": make_nested("struct a {", f"{CODE}1;", "};"),
    "structs of members": make_nested("struct {", f"{CODE}1;", "} a;"),
    "namespaces": make_nested("namespace a {", f"{CODE}1;", "}"),
    "names of names": lambda n: (
        "constexpr int c0 = 1;\n" + "".join(f"constexpr int c{k + 1} = c{k} + 1;\n" for k in range(n)) + f"{CODE}c{n};"
    ),
    "Python lists": lambda n: "import torch\ndesc = " + "[" * n + "1" + "]" * n,
    "Python not": lambda n: "import torch\ndesc = " + "not " * n + "1",
    "a shape": lambda n: "(" * n + "8" + ")" * n + ":1",
    "layouts": make_nested("make_layout(", "make_shape(8,8)", ")"),
    "a tile's product": lambda n: f"{TILED}Layout<Shape<_2,_2>>{{}}, Tile<{'2 * ' * n}_32, _32, _16>{{}})",
    "a tile's sum of names": lambda n: f"{TILED}Layout<Shape<_2,_2>>{{}}, Tile<{'a + ' * n}_32, _32, _16>{{}})",
    "TiledMMA": lambda n: "TiledMMA<MMA_Atom<" * n + "SM80_16x8x16_F32F16F16F32_TN" + ">>" * n,
    "slices": make_nested("#ttg.slice<{dim = 0, parent = ", BLOCKED, "}>"),
    "slices of names": lambda n: (
        f"#b0 = {BLOCKED}\n" + "".join(f"#b{k + 1} = #ttg.slice<{{dim = 0, parent = #b{k}}}>\n" for k in range(n))
    ),
    "lines": lambda n: f"{CODE}1" + "\n" * n,
    "continued lines": lambda n: f"{CODE}1" + "\\\n" * n,
}
DEPTHS = (30, 300, 3000, 30_000)
SECONDS = 5.0  # of the slowest; each takes less than one on a quiet machine


def generate_texts(most: int) -> Iterator[tuple[str, str]]:
    for name, make in SHAPES.items():
        for depth in DEPTHS:
            text = make(depth)
            if len(text) <= most:
                yield f"{name} × {depth}", text


@for_each("name", SHAPES, sample=10)
def test_a_nested_text_is_read_or_refused_in_time(name: str) -> None:
    depths = [depth for depth in DEPTHS if len(SHAPES[name](depth)) <= reader.LONGEST]
    for depth in depths if FULL else depths[-1:] if is_chosen(name, 12) else depths[1:2]:
        text = SHAPES[name](depth)
        for door in (reader.recognise_text, build_workbench):
            begun = time.process_time()
            try:
                door(text)
            except LayoutError as error:
                assert error.code == "too_deep", (depth, door)
            assert time.process_time() - begun < SECONDS, (depth, door)


def test_nested_texts_are_answered_by_the_server() -> None:
    app = create_app(settings=Settings(seconds=60, cache_bytes=0))
    texts = [one for one in generate_texts(reader.LONGEST) if one[0].endswith("× 300")]
    for name, text in take_sample(texts, 6):  # deeper ones cost the reader more, not the server
        answer = fetch(app, "/api/v1/read", "POST", {"text": text})
        assert answer.status in (200, 422), (name, answer.body[:200])


def raise_overflow(*_: Any, **__: Any) -> Any:
    return raise_overflow()


def test_what_is_nested_too_deeply_is_refused_by_every_door(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "deep.cu"
    file.write_text(CODE + "1;")
    app = create_app()
    app.get("/api/v1/deep")(lambda: raise_overflow())
    assert parse_refusal(fetch(app, "/api/v1/deep")) == (422, "too_deep")
    monkeypatch.setattr("lanescope.workbench.text.contents.evaluate_text", raise_overflow)
    for door in (build_workbench, check_text):
        with pytest.raises(LayoutError, match="nested too deeply") as refusal:
            door(CODE + "1;")
        assert refusal.value.code == "too_deep" and refusal.value.hint
    read = run_lanescope("read", str(file))
    assert read.returncode == 2 and read.stderr.startswith("lanescope: The text is nested too deeply")
    checked = run_lanescope("check", str(file), str(file))
    assert checked.returncode == 0 and checked.stderr.count("note: The file is not checked. The text is nested") == 1
    assert checked.stdout.endswith("2 files not read: not verified\n")


def test_one_recogniser_that_gives_up_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = list(reader.RECOGNISERS)
    monkeypatch.setattr(reader, "RECOGNISERS", [reader.Recogniser("x", "x", raise_overflow), *rows])
    told = reader.recognise_text("SM75_U32x4_LDSM_N")
    assert [one.kind for one in told.found] == ["instruction"] and [one.code for one in told.refused] == ["too_deep"]


def test_blank_lines_do_not_change_what_is_python() -> None:
    for text, python in (
        ("def f(x):\n    return x << 4\n", True),
        ("import torch\ndesc = a | b\n", True),
        ("void f() {\n  int a = 1;\n}\n", False),
        ("auto d = x;\n", False),
    ):
        for blank in ("\n", "\n\n\n", "\n \t\n", " \n" * 3000):
            assert is_python(text.replace("\n", blank)) is python


def test_a_number_of_many_operators_is_not_known() -> None:
    assert make_term_text("").parse_number(make_term_text("Int<2> + Int<3> * Int<4>").parse_term(0)) == 14
    assert make_term_text("").parse_number(make_term_text("a + " * 3000 + "1").parse_term(0)) is None
