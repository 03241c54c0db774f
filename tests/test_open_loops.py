"""After a loop: what it wrote is known where all of its turns were gone through, and open where they were not."""

from __future__ import annotations

from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.running.loops import FREE_ITERATIONS, MOST_ITERATIONS, MOST_QUIET
from tests.cases import for_each

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
