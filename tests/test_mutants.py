"""`make mutants` itself: it finds the faults of a text, plants them, kills those that a test notices, and says which
survive.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import by_hand, equivalent, fault, report
from tests.mutants.__main__ import ROOT, of_file
from tests.mutants.operators import Mutant, Mutations
from tests.mutants.plant import Verdict
from tests.mutants.reach import Reach
from tests.mutants.texts import mutations

TOY = '''"""A module with a fault no test can notice."""

from functools import cache

PARTS = 2


@cache
def half(n: int) -> int:
    if n < 0:
        raise ValueError("below 0")
    return n // PARTS


def unused(n: int) -> int:
    return n + 1
'''
TOY_TEST = """import gc

from layouts.toy import half

gc.freeze()  # as the project's tests do


def test_half():
    assert [half(n) for n in (0, 1, 7)] == [0, 0, 3]
"""


# The same lines from another file, in the same process of the recorder: what is cached is run again.
TOY_AGAIN = """from layouts.toy import half


def test_again():
    assert half(7) == 3
"""


def changes(text: str) -> set[tuple[str, str]]:
    return {(m.operator, m.change) for m in Mutations("a.py", text)}


@pytest.mark.parametrize(
    ("text", "operator", "change"),
    [
        ("a = b + c", "arithmetic", "b + c → (b - c)"),
        ("a = b << c", "arithmetic", "b << c → (b >> c)"),
        ("a = b <= c", "comparison", "b <= c → (b < c)"),
        ("a = b in c", "comparison", "b in c → (b not in c)"),
        ("a = b and c", "boolean", "b and c → (b or c)"),
        ("a = b and c", "operand removed", "b and c → (c)"),
        ("a = not b", "condition negated", "not b → (b)"),
        ("if b == 1:\n    c()", "condition negated", "b == 1 → (not (b == 1))"),
        ("a = b if c else d", "condition negated", "c → (not (c))"),
        ("a = 7", "constant", "7 → 8"),
        ("a = 7", "constant", "7 → 6"),
        ("a = True", "constant", "True → False"),
        ("a = 'text'", "string", "'text' → 'teXXxt'"),
        ("a = f'one {b + 1} two'", "arithmetic", "f'one {b + 1} two' → f'one {b - 1} two'"),
        ("a(b, c)", "arguments swapped", "a(b, c) → (a(c, b))"),
        ("a(b=1, c=2)", "arguments swapped", "a(b=1, c=2) → (a(b=2, c=1))"),
        ("a(b)", "statement removed", "a(b) → pass"),
        ("a[b] = c", "statement removed", "a[b] = c → pass"),
        ("def a():\n    return b", "return", "return b → return None"),
        ("for a in b:\n    continue", "loop", "continue → break"),
        ("a = -b", "sign removed", "-b → (b)"),
    ],
)
def test_each_operator(text: str, operator: str, change: str) -> None:
    assert (operator, change) in changes(text)


def test_what_no_run_depends_on_is_left_alone() -> None:
    text = (
        '"""Module."""\nimport a\n__all__ = ["b"]\n\n\ndef f(x: "int") -> "int":\n    """Text."""\n    return'
        ' cast("int", x)\n'
    )
    assert {operator for operator, _ in changes(text)} == {"return"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "for a, b in zip(c, d, strict=True):\n    e()",
            {"e() → pass", "zip(c, d, strict=True) → (zip(d, c, strict=True))"},
        ),
        ("raise AssertionError", set()),
        ("raise ValueError(a)", {"raise ValueError(a) → pass"}),
        ("a = max(b, c)", set()),
        ("a = math.gcd(b, c)", set()),
        ("a = max(b, c, key=d)", {"max(b, c, key=d) → (max(c, b, key=d))"}),
    ],
)
def test_what_changes_no_answer_is_not_planted(text: str, left: set[str]) -> None:
    assert {change for _, change in changes(text)} == left


def test_a_mutant_is_the_source_with_one_change() -> None:
    source = "µ = (1 +\n     2) * 3  # kept\nb = µ\n"
    for mutant in Mutations("a.py", source):
        changed = mutant.apply(source.encode()).decode()
        assert changed != source
        assert changed.endswith("b = µ\n")
        compile(changed, "a.py", "exec")


@pytest.mark.parametrize(
    ("file", "text", "change"),
    [
        ("a.js", "  if (a < b && c) {", "< → <="),
        ("a.js", "  if (a < b && c) {", "&& → ||"),
        ("a.js", "  return a + 1;", "+ → -"),
        ("a.js", "  return a + 1;", "1 → 2"),
        ("a.js", "  if (!open) {", "! → "),
        ("a.js", "  show(a);", "show(a); → ;"),
        ("a.html", '<a class="b" href="{{ c }}">go on</a>', 'class="b" → '),
        ("a.html", '<a class="b" href="{{ c }}">go on</a>', "{{ c }} → "),
        ("a.html", '<a class="b" href="{{ c }}">go on</a>', "go on → goXX on"),
        ("a.html", "{% if a == b %}x{% endif %}", "a == b → not (a == b)"),
        ("a.css", "a { color: red; margin: 0 }", "color: red; → "),
    ],
)
def test_texts(file: str, text: str, change: str) -> None:
    assert change in {m.change for m in mutations(file, text + "\n")}


def test_texts_leave_comments_alone() -> None:
    assert list(mutations("a.js", "// a < b\n * c + d\nimport e from './f.js';\n")) == []


def test_a_planted_fault_is_killed_and_another_is_not(tmp_path: Path) -> None:
    """The whole way over a tree of two files: coverage, copies, forks, verdicts, page."""
    tests = {"tests/test_toy.py": TOY_TEST, "tests/test_toy_again.py": TOY_AGAIN}
    for name, text in {"layouts/__init__.py": "", "layouts/toy.py": TOY, **tests}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "docs").mkdir()
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    command = [sys.executable, "-m", "tests.mutants", "--root", str(tmp_path), "-n", "50", "--jobs", "1", "layouts"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "docs" / "mutants.md").read_text()
    told = {
        line.split(" layouts/toy.py:")[1].split()[0]: line.split()[1]
        for line in done.stdout.splitlines()
        if "layouts/toy.py:" in line and "/" in line.split()[0]
    }
    # line 5 runs when the module is imported, the others in a process that has it already
    assert told == {"5": "killed", "10": told["10"], "11": told["11"], "12": "killed", "16": "unreached"}
    assert "test_half" in done.stdout
    assert re.search(r"^\| \*\*all\*\* \| 5 \| \d \| \d+ % \|", page, re.M)
    assert "reached by no test" in page
    reached = Reach.at(tmp_path, tmp_path / "build" / "mutants" / "reach.pickle", record=False)
    assert {test.partition("::")[0] for test in reached.of("layouts/toy.py", [12])} == set(tests)
    assert (tmp_path / "layouts" / "toy.py").read_text() == TOY


def test_a_survivor_that_has_a_test_since_is_marked_and_changes_no_figure() -> None:
    one, other = [
        m for m in Mutations("a/b.py", "def f(n):\n    return n + 1\n") if m.operator in ("arithmetic", "return")
    ]
    verdicts = [Verdict(one, "survived", "", 1, 0.1), Verdict(other, "survived", "", 1, 0.1)]
    text = report.written(verdicts, [], 7, 2, {one.known_by})
    assert text.count("(noticed since)") == 1
    assert "| **all** | 2 | 0 | 0 % | 2 | 0 | 0 |" in text and "Of the 2 that survived this run, 1 have a test" in text


def test_every_equivalent_mutant_still_exists_and_has_a_reason() -> None:
    known = equivalent.read()
    assert all(len(reason) > 15 for reason in known.values())
    mutants: list[Mutant] = [m for file in {file for file, _, _ in known} for m in of_file(ROOT, file)]
    assert equivalent.stale(known, mutants) == []


def test_every_fault_thought_of_still_fits_and_names_its_tests() -> None:
    listed = fault.faults()
    assert len(listed) >= 150 and len(set(listed)) == len(listed)
    for one in listed:
        source = (ROOT / one.file).read_text()
        assert one.applied(source) != source
        for test in one.tests:
            path, _, name = test.partition("::")
            assert f"def {name}(" in (ROOT / path).read_text() if name else (ROOT / path).is_file(), test


def test_a_fault_thought_of_is_planted_and_the_file_is_left_as_it_was(tmp_path: Path) -> None:
    for name, text in {"layouts/__init__.py": "", "layouts/toy.py": TOY, "tests/test_toy.py": TOY_TEST}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    changes = (("n // PARTS", "n // 3"), ("n + 1", "n + 2"))
    both = [fault.Fault("halves", "layouts/toy.py", *change, ("tests/test_toy.py::test_half",)) for change in changes]
    # in a process of its own: one that has threads, as a test's may, is not to be forked
    code = "import sys, pathlib; from tests.mutants import by_hand; from tests.mutants.fault import Fault\n"
    code += f"print([by_hand.tried(pathlib.Path(sys.argv[1]), one, 1) for one in {both!r}])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    (failed, reason), unnoticed = ast.literal_eval(done.stdout)
    assert failed == "tests/test_toy.py::test_half" and "assert" in reason and unnoticed == ("", "")
    assert (tmp_path / "layouts" / "toy.py").read_text() == TOY
    assert "1 were noticed" in by_hand.written(list(zip(both, (failed, ""), strict=True)))
    with pytest.raises(ValueError, match="0 times"):
        both[0].applied("nothing")
