"""After a loop: what it wrote is known where all of its turns were gone through, and open where they were not."""

from __future__ import annotations

import pytest

from lanescope.reader.code import evaluation
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.evaluator import Evaluator
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.running import loops
from lanescope.reader.code.running.loops import FREE_ITERATIONS, MOST_ITERATIONS, MOST_QUIET
from tests.cases import for_each
from tests.found_in_code import find_builders

CXX = "void f(int n) {{ uint64_t t = 5; uint64_t a[40] = {{}}; {loop} uint64_t desc = t | 1ull << 62; wgmma(desc); }}"
PYTHON = "def f(n):\n    t = 5\n    {loop}\n    desc = t | 1 << 62\n    wgmma(desc)\n"


def evaluate_word(text: str, loop: str) -> int | None:
    """What is or-ed into the last word of the text; None where it is open."""
    value = evaluate_text(text.format(loop=loop)).descriptors[-1].value
    return None if value.pieces else value.const & ~(1 << 62)


@for_each(
    ("loop", "wanted"),
    [
        (f"for (int i = 0; i < {MOST_ITERATIONS[0]}; ++i) t += 16;", 5 + 16 * MOST_ITERATIONS[0]),
        (f"for (int i = 0; i < {MOST_QUIET + 1}; ++i) t += 16;", None),
        (f"int i = 0; do t += 16; while (++i < {MOST_ITERATIONS[0]});", 5 + 16 * MOST_ITERATIONS[0]),
        (f"int i = 0; do t += 16; while (++i < {MOST_QUIET + 1});", None),
        ("for (int i = 0; i < n; ++i) t += 16;", None),
        ("for (int i = 0; i < n; ++i) { t += 16; break; }", None),
        ("for (int i = 0; i < n; ++i) use(t);", 5),
        ("for (;;) t += 16;", None),
        ("for (int i = 0;; ++i) { t += 16; if (i == 1) break; }", 37),
        ("for (int i = 0; i < 2; ++i) for (int k = 0; k < n; ++k) t += 16;", None),
        ("for (int i = 0; i < n; ++i) { int t = 7; t += i; }", 5),
        (f"for (int i = 0; i < {MOST_ITERATIONS[0] + 1}; ++i) a[i] = 9; t = a[0];", 9),
        (f"for (int i = 0; i < {MOST_ITERATIONS[0] + 1}; ++i) a[i] = 9; t = a[{MOST_ITERATIONS[0]}];", 9),
        (f"for (int i = 0; i < n; ++i) a[i] = 9; t = a[{FREE_ITERATIONS[0]}];", None),
        ("for (int i = 0; i < 3; ++i) a[i] = 9; t = a[3];", 0),
    ],
)
def test_what_a_loop_wrote(loop: str, wanted: int | None) -> None:
    assert evaluate_word(CXX, loop) == wanted


@for_each(
    ("loop", "wanted"),
    [
        (f"for i in range({MOST_ITERATIONS[0]}): t = i * 16", 16 * (MOST_ITERATIONS[0] - 1)),
        (f"for i in range({MOST_ITERATIONS[0] + 1}): t = i * 16", None),
        (f"for i in range({2 * MOST_ITERATIONS[0]}, 0, -2): t = i * 16", 32),
        ("for i in range(n): t = 16", None),
        ("for i in range(2, n): t = 16", None),
        ("for i in range(0, 8, n): t = 16", None),
        ("for i in things: t = 16", None),
        ("for i in [16, 32]: t = i", 32),
        (f"for i in {[0] * (MOST_ITERATIONS[0] + 1)}: t = i", None),
        (f"for i in {dict.fromkeys(range(MOST_ITERATIONS[0]), 0)}: t = i", MOST_ITERATIONS[0] - 1),
        (f"for i in {dict.fromkeys(range(MOST_ITERATIONS[0] + 1), 0)}: t = i", None),
        (f"for i, v in enumerate(range({MOST_ITERATIONS[0]})): t = v", MOST_ITERATIONS[0] - 1),
        (f"for i, v in enumerate(range({MOST_ITERATIONS[0] + 1})): t = v", None),
        (f"for i in range({MOST_ITERATIONS[0] + 1}):\n        t = i\n        if i == 2: break", 2),
    ],
)
def test_what_a_loop_of_python_wrote(loop: str, wanted: int | None) -> None:
    assert evaluate_word(PYTHON, loop) == wanted


# long loops over numbers are not run ----------------------------------------------------------------------------------

HEAD = """uint64_t mk(uint64_t p) { return ((p & 0x3FFFF) >> 4) | 64ull << 32 | 1ull << 62; }
__global__ void kernel() { uint64_t desc = mk(0x800); use(desc); }
void add(uint64_t& x) { x += 16; }
void idle(int i) { int x = i; }
void take(uint64_t& x);
"""
LONG = "for (int i = 0; i < 100000; i++)"


def find_start(body: str) -> object:
    """Return the start of the descriptor that a host function builds from n after some statements."""
    text = (
        f"{HEAD}void f(int c, int k, int count, float* a, uint64_t* p) {{ {body} uint64_t desc = mk(n); use(desc); }}"
    )
    (start,) = [one.start for one in find_builders(text) if one.start != 0x800]
    return start


@for_each(
    "body",
    [
        f"uint64_t n = 4096; {LONG} a[i] = 0;",
        f"uint64_t n = 4096; {LONG} {{ float sum = 0; for (int j = 0; j < count; j++) sum += a[j]; a[i] = sum; }}",
        f"uint64_t n = 4096; {LONG} {{ if (a[i] > 3) return; }}",
        f'uint64_t n = 4096; {LONG} std::cout << a[i] << "\\n";',
        "uint64_t n = 0; for (int i = 0; i < 4; i++) { a[i] = 0; n += 1024; }",
        f"uint64_t n = 4096; {LONG} use(n);",
        "p[0] = 4096; p[1] = 2; uint64_t n = p[0];",
        "p[0] = 1; p[k] = 2; uint64_t n = p[0] - p[0] + 4096;",
        "p[0] = 1; if (c) p[k] = 2; uint64_t n = p[0] - p[0] + 4096;",
    ],
)
def test_what_a_loop_or_a_store_leaves_alone_is_known(body: str) -> None:
    assert find_start(body) == 4096


@for_each(
    "body",
    [
        f"uint64_t n = 4096; {LONG} {{ a[i] = 0; n += i; }}",
        f"uint64_t n = 4096; {LONG} add(n);",
        f"uint64_t n = 4096; {LONG} {{ take(n); a[i] = 1; }}",
        f"uint64_t n = 4096; {LONG} {{ set(n); a[i] = 1; }}",
        f"uint64_t n = 4096; {LONG} {{ {{ int n = 1; n += 1; }} n += 8; }}",
        f"using R = uint64_t&; uint64_t n = 4096; {LONG} {{ R r = n; r += 8; }}",
        f"uint64_t n = 4096, m = 1; {LONG} add(i & 1 ? n : m);",
        f"uint64_t n = 4096; {LONG} {{ set(&n); a[i] = 1; }}",
        f"uint64_t n = 4096; {LONG} std::swap(n, p[i]);",
        f"uint64_t n = 4096; auto fill = [&](int i) {{ n = i; }}; {LONG} fill(i);",
        f"uint64_t n = 4096; uint64_t* r = &n; {LONG} *r += 1;",
        f"uint64_t n = 4096; uint64_t& r = n; {LONG} r += 1;",
        f"uint64_t n = 4096, m[4] = {{4096, 1, 2, 3}}; {LONG} m[i % 4] += 1; n = m[0];",
        f"uint64_t m[2] = {{4096, 8192}}; uint64_t* r = m; {LONG} r += 1; uint64_t n = *r;",
        f"struct S {{ uint64_t n; }} s; s.n = 4096; {LONG} s.n += 1; uint64_t n = s.n;",
        f"struct S {{ uint64_t n; }} s; s.n = 4096; S* t = &s; {LONG} t->n += 1; uint64_t n = s.n;",
        f"p[0] = 4096; {LONG} p[i] = 0; uint64_t n = p[0];",
        "uint64_t n = 4096; for (int i = 0; i < count; i++) n += 16;",
        f"uint64_t n = 4096; struct S {{ uint64_t& x; S(uint64_t& y) : x(y) {{ x = 0; }} }}; {LONG} S(n);",
        f"uint64_t n = 4096; auto run = [&](auto g) {{ {LONG} g(i); }}; run(idle); run([&](int i) {{ n = i; }});",
        "uint64_t n = 4096; for (int i = 0; i < 100000; (n += 1, i++)) a[i] = 1;",
        "uint64_t n = 4096; for (int i = 0; (n += 1) < 100000; i++) a[i] = 1;",
        "int n; for (n = 0; n < 100000; n++) a[n] = 0;",
        "p[0] = 4096; p[k] = 1; uint64_t n = p[0];",
        "p[0] = 4096; if (c) p[k] = 1; uint64_t n = p[0];",
        "uint64_t n = 4096; if (c) p[0] = 4096; n = p[0];",
        "p[0] = 4096; uint64_t n = p[0]; p[k] = 1; n += p[0] - n;",
    ],
)
def test_what_a_loop_or_a_store_may_write_is_unknown(body: str) -> None:
    assert not isinstance(find_start(body), int)


def test_a_long_loop_over_numbers_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop with a launch, with a descriptor, or that ends within its step limit is run."""
    run: list[str] = []
    run_turns = loops._run_turns

    def note_loop(ev, loop, *rest):  # type: ignore[no-untyped-def]
        run.append(ev.text[slice(*loop.body.span)])
        return run_turns(ev, loop, *rest)

    monkeypatch.setattr(loops, "_run_turns", note_loop)
    evaluation.evaluate_text.cache_clear()
    find_start(
        f"uint64_t n = 0; {LONG} a[i] = 0; for (int i = 0; i < 4; i++) n += 1024; {LONG} kernel<<<1, 32>>>();"
        f" {LONG} sync(a[i]);"
    )
    assert run == ["n += 1024;", "kernel<<<1, 32>>>();", "sync(a[i]);"]


# the evaluator's log of writes ----------------------------------------------------------------------------------------


def test_each_cell_is_listed_once_in_the_order_of_first_writes_with_its_value_before() -> None:
    ev = Evaluator("", 100)
    before, first, second = Cell(0), Cell(1), Cell(2)
    ev.write_cell(before, 5)
    start = len(ev.write_log)
    for cell, value in ((second, 20), (first, 10), (second, 21), (first, 11), (second, 22)):
        ev.write_cell(cell, value)
    journal = list(ev.list_writes_since(start).values())
    assert [cell for cell, _ in journal] == [second, first]
    assert [old for _, old in journal] == [2, 1]


def test_a_stretch_without_writes_lists_nothing() -> None:
    ev = Evaluator("", 100)
    ev.write_cell(Cell(0), 1)
    assert ev.list_writes_since(1) == {}
