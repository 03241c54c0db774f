"""No browser test reads a page right after it acted on it: between the two it waits for the state (`expect`, `until`,
`wait_for_…`). A page answers a click a moment later, on a loaded machine much later: such a test fails now and then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from tests.browser import conftest
from tests.cases import for_each

BROWSER = Path(__file__).parent / "browser"
ACTS = {
    "click",
    "dblclick",
    "press",
    "type",
    "fill",
    "hover",
    "check",
    "uncheck",
    "select_option",
    "set_input_files",
    "drag_and_drop",
    "tap",
    "focus",
    "wheel",
    "move",
    "down",
    "up",
    "go_back",
    "send",
}
READS = {
    "evaluate",
    "evaluate_all",
    "eval_on_selector",
    "eval_on_selector_all",
    "inner_text",
    "inner_html",
    "text_content",
    "all_inner_texts",
    "all_text_contents",
    "get_attribute",
    "input_value",
    "count",
    "bounding_box",
    "is_visible",
    "is_hidden",
    "is_enabled",
    "is_disabled",
    "is_checked",
    "url",
    "screenshot",
}
WAITS = {"expect", "until", "rested", "goto", "reload", "open_page"}


def is_wait(name: str) -> bool:
    return name in WAITS or name.startswith(("wait_for_", "expect_"))


def get_called_name(node: ast.AST) -> str:
    """The last word of what is called or of an attribute that is read."""
    given = node.func if isinstance(node, ast.Call) else node
    return given.attr if isinstance(given, ast.Attribute) else given.id if isinstance(given, ast.Name) else ""


def list_words(tree: ast.AST) -> set[str]:
    return {get_called_name(node) for node in ast.walk(tree) if isinstance(node, ast.Call | ast.Attribute)}


class StatementWalk:
    """Statements in their order; a loop's body twice, as its end comes before its beginning."""

    def __init__(self, kinds: dict[str, str]) -> None:
        self.kinds, self.acted, self.found = kinds, 0, set[tuple[int, int]]()

    def kind(self, node: ast.AST) -> str:
        name = get_called_name(node)
        if name == "url":
            return "reads"
        if not isinstance(node, ast.Call):
            return ""
        plain = isinstance(node.func, ast.Name)
        if is_wait(name):
            return "waits"
        if plain:
            return self.kinds.get(name, "")
        return "acts" if name in ACTS else "reads" if name in READS else ""

    def expression(self, tree: ast.AST) -> None:
        kind = self.kind(tree)
        if kind != "waits":  # what is read inside of a wait is read until it is right
            for child in ast.iter_child_nodes(tree):
                self.expression(child)
        if kind == "acts":
            self.acted = tree.lineno  # type: ignore[attr-defined]
        elif kind == "waits":
            self.acted = 0
        elif kind == "reads" and self.acted:
            self.found.add((self.acted, tree.lineno))  # type: ignore[attr-defined]

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if isinstance(statement, ast.FunctionDef):
                continue
            if isinstance(statement, ast.For | ast.While):
                self.expression(statement.iter if isinstance(statement, ast.For) else statement.test)
                for _ in range(2):
                    self.block(statement.body)
            elif isinstance(statement, ast.With | ast.Try | ast.If):
                for item in getattr(statement, "items", []):
                    if not is_wait(get_called_name(item.context_expr)):
                        self.expression(item.context_expr)
                self.block(statement.body)
                if isinstance(statement, ast.With) and any(
                    is_wait(get_called_name(i.context_expr)) for i in statement.items
                ):
                    self.acted = 0
                self.block([*getattr(statement, "orelse", []), *getattr(statement, "finalbody", [])])
            else:
                self.expression(statement)


def list_functions(trees: list[ast.Module]) -> Iterator[ast.FunctionDef]:
    for tree in trees:
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def classify_helpers(trees: list[ast.Module]) -> dict[str, str]:
    """Helpers of the tests by what they do; one that also waits is a wait."""
    words = {one.name: list_words(one) for one in list_functions(trees) if not one.name.startswith("test_")}
    kinds: dict[str, str] = {}
    for _ in range(3):  # helpers of helpers
        for name, used in words.items():
            known = {kinds.get(word) for word in used}
            if any(map(is_wait, used)) or "waits" in known:
                kinds[name] = "waits"
            elif used & ACTS or "acts" in known:
                kinds[name] = "acts"
            elif used & READS or "reads" in known:
                kinds[name] = "reads"
    return kinds


def find_hasty_reads(kinds: dict[str, str], tree: ast.Module) -> list[tuple[int, int]]:
    """(line of the action, line of the read) of every read without a wait."""
    found = set()
    for function in list_functions([tree]):
        if function.name.startswith("test_"):
            walk = StatementWalk(kinds)
            walk.block(function.body)
            found |= walk.found
    return sorted(found)


FILES = sorted(BROWSER.glob("*.py"))


@lru_cache(maxsize=1)
def classify_all_helpers() -> dict[str, str]:
    return classify_helpers([ast.parse(one.read_text()) for one in FILES])


@for_each("path", [path for path in FILES if path.name.startswith("test_")], ids=lambda path: path.stem)
def test_what_is_read_after_an_action_is_waited_for(path: Path) -> None:
    hurried = find_hasty_reads(classify_all_helpers(), ast.parse(path.read_text()))
    assert [f"{path.name}:{at}: line {before} acted" for before, at in hurried] == []


HASTY = """
def test_it(page):
    page.click("a")
    {between}
    assert {read}
"""


@for_each(
    ("between", "read", "found"),
    [
        ("pass", "page.evaluate('1')", True),
        ("pass", "page.url", True),
        ("pass", "lit(page)", True),
        ("pass", "all(n.count() for n in page)", True),
        ("for _ in range(2): page.click('b')", "page.count()", True),
        ("expect(page).to_have_url('x')", "page.url", False),
        ("pass", "expect(page)", False),
        ("until(page, lambda: lit(page), 1)", "lit(page)", False),
        ("page.goto('/')", "page.url", False),
        ("until(page, 'a', 1); page.press('b')", "page.url", True),
    ],
)
def test_it_would_be_found(between: str, read: str, found: bool) -> None:
    helpers = ast.parse("def lit(page):\n    return page.get_attribute('a', 'b')")
    assert (
        bool(find_hasty_reads(classify_helpers([helpers]), ast.parse(HASTY.format(between=between, read=read))))
        is found
    )


def test_only_a_browser_test_is_run_once_more() -> None:
    class Item:
        def __init__(self, path: Path) -> None:
            self.path, self.markers = path, list[pytest.MarkDecorator]()

        def add_marker(self, marker: pytest.MarkDecorator) -> None:
            self.markers.append(marker)

    items = [Item(BROWSER / "test_run.py"), Item(BROWSER.parent / "test_api.py")]
    conftest.pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    assert [[(one.name, one.kwargs) for one in item.markers] for item in items] == [[("flaky", {"reruns": 1})], []]
