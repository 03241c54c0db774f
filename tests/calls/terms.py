"""What the small grammar of types, calls and attributes makes of every mark, joint, bracket and word, and of texts that
are almost a term.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from lanescope.reader import terms
from lanescope.reader.grammar import DEEPEST, computed
from tests.calls import Call

TERMS = (
    # names and their joints
    "A", "a::b::C", "::a::B", "a.b.c", "p->q.r", "a::template b<3>", "f(x).template g<2>(1).h", "f(1)(2)", "f<1>(2)(3)",
    "f(1).g", "f(1).g(2, k=3).h(4)", "f(1)::g", "f(1)->g(2)", "a::1", "a.", "a. b", "A<1>::B<2>::C", "A<1>.b(2)",
    "typename T::X", "const half", "struct S", "decltype(a)", "decltype(f(1), 2)", "decltype()", "decltype(1)::x",
    "constexpr auto", "unsigned int", "cute::Int<3>{}", "Int<3>{}{}", "X{}{1}", "X{1}", "X{a=1}", "X(1){2}", "X(1)[2]",
    "x[3]", "x[]", "x[1][2]", "(half const*)", "A<half const, 2>", "A<B*>", "A<B&, C>", "A<...>", "A<.x>", "A<?>",
    # angle brackets and comparisons
    "A<>", "A<B<C<1>>>", "A<1 < 2>", "A<(1 < 2)>", "a < b", "a < 2 && b > 3", "A<{b = 1, c = [2, 3]}>", "A<1, {b = 1}>",
    "#ttg.blocked<{order = [1, 0], n = 4}>", "memdesc<64x[2]:x>", "A<b:c, 3>", "A<1 >> 2>", "A<x == 1>", "A<(a, b)>",
    # numbers, texts, tuples
    "1", "-1", "+1", "!1", "!0", "!a", "-f(1)", "&a", "*a", "-a", "--1", "0x1F", "0Xfu", "1'000ull", "12z", "1.5", "07",
    "9" * 19, "9" * 20, "0x" + "f" * 17, "0x" + "f" * 18, f"A<{'9' * 20}>",
    '"text"', "'t'", '""', "()", "(1)", "(1,)", "(1, 2)", "[1, 2]", "[]", "[1]", "{}", "{1, 2}", "{a = 1}", "{a: 1}",
    '{"a": 1, "b": 2}', "(a=1)", "(int){3}", "(int)3", "[64:+8] {order = [1, 0]}", "([64:+8] {order = [1, 0]}, 3)",
    "f([4:+2] {1}, [8:2])", "(1 2)", "(1, 2", "(", "f(", "f(1,, 2)", "f(,)", "f(1,)", "f(*a)", "f(a, *b)", "f(a=)",
    # arithmetic
    "1 + 2 * 3", "(1 + 2) * 3", "7 // 2", "7 / 2", "7 % 4", "7 / 0", "7 % 0", "-7 / 2",
    "7 / -2", "-8 / 2", "-7 // 2", "-7 % 2", "7 % -2",
    "A<-7 / 2>", "A<-7 % 2>", "A<7 % -2>", "A<-7 % 2>;", "-7 % 2;", "-8 % 2;", "-8 // 2",
    "1 << 4", "1 << 31", "1 << 32",
    "1 << -1", "2 - 3 - 4", "a + 1", "a * 2 + 1", "1 == 1", "1 != 2", "1 && 2", "1 || 0", "1 < 2", "1 > 2", "1 <= 2",
    "1 >= 2", "[1] + [2, 3]", "[1] * 3", "[1, 2] * 0", "[1] * 64", "[1] * 65", "[1] * 4096", "[1] * -1", "3 * [1]",
    "[1] - [1]", "(1, 2) + (3,)", "(1,) + 2", "1 ? 2 : 3", "a ? b : c", "a ? b", "a if b else c", "a if b", "1 | 2",
    "a if b else", "f(a ? 1 : 2, 3)", "f(1 if x else 2)",
    # comments, blanks, ends
    "f( /* a */ 1 // b\n , 2)", "f(\n1\n,\n2\n)", "f(1) # x", "", " ", "@", "f(@)", "a b", "a; b", "f(1); g(2)",
)  # fmt: skip
DEFINED = (
    ("using X = A<1>;\nX", "X"), ("X = f(2)\nX", "X"), ("auto X = A<1>{};\nX", "X"), ("#define X A<3>\nX", "X"),
    ("typedef A<4> X;\nX", "X"), ("constexpr int X = 5;\nX", "X"), ("X = Y\nY = 3\nX", "X"), ("X = X\nX", "X"),
    ("X == 3\nX", "X"), ("f(X = 3)\nX", "X"), ("X: int = 7\nX", "X"), ("X: tl.constexpr = 7\nX", "X"), 
    ("a.X = 3\nX", "X"),
    ("int X = 1; int X = 2;\nX", "X"), ("Y = 2\nX = Y * 3\nX", "X"), ("using X = Y<Z>;\nusing Z = B;\nX", "X"),
    ("X\nX = 3", "X"), ("X = (1,\n 2)\nX", "X"), ("  X = 4\nX", "X"), ("#X = #b<{n = 1}>\n#X", "#X"), ("X", "X"),
)  # fmt: skip


def of_terms() -> Iterator[Call]:
    for text in TERMS:
        for alone in (False, True):
            yield f"{text!r:.70} {alone}", partial(term, text, alone)
    for deep in (DEEPEST - 2, DEEPEST - 1, DEEPEST, DEEPEST + 1):
        yield f"{deep} brackets", lambda deep=deep: terms.of("").__class__("(" * deep + "1" + ")" * deep).term(0)
    for text in (
        " + ".join("1" * 3 * DEEPEST),
        f"f({', '.join('1' * 3 * DEEPEST)})",
        f"[{', '.join(['(1)'] * 2 * DEEPEST)}]",
    ):
        yield f"{text:.20} of {len(text)}", partial(term, text, True)
    for op in ("+", "-", "*", "/", "//", "%", "<<", "|"):
        for left, right in (
            (7, 2),
            (1 << 40, 1),
            ((1 << 40) + 1, 1),
            (1, 1 << 40),
            (1, -(1 << 40) - 1),
            (1, 31),
            (1, 32),
        ):
            yield f"{left} {op} {right}", partial(computed, op, left, right, False)
        for left, right in product((-7, -8, 7, 8), (2, -2)):
            yield f"{left} {op} {right}", lambda op=op, a=left, b=right: [computed(op, a, b, p) for p in (False, True)]
    for text in ("Y = -7\nX = Y % 2\n", "using X = Y;\nconstexpr int Y = Z % 2; constexpr int Z = -7;"):
        yield f"number {text!r}", lambda text=text: terms.of(text).number(terms.Term("X"))
    for text, name in DEFINED:
        yield f"meant {text!r}", lambda text=text, name=name: meant(text, name)
    one = terms.Term("a::b.c", None, (1, 2), (("k", 3),))
    for place, names in ((0, ()), (1, ()), (2, ()), (2, ("k",)), (0, ("k",)), (2, ("x", "k")), (2, ("x",))):
        yield f"at {place} {names}", partial(one.at, place, *names)


def term(text: str, alone: bool) -> list[Any]:
    place = terms.of(text)
    return [told(place.term(0, alone)), place.steps]


def meant(text: str, name: str) -> list[Any]:
    place = terms.of(text)
    return [told(place.meant(terms.Term(name))), told(place.meant(place.term(text.rindex(name))))]


def told(value: Any) -> Any:
    """A term as what it says; its span where it begins and ends."""
    if isinstance(value, terms.Term):
        named = {key: told(one) for key, one in value.named}
        return [value.path, value.name, told(value.angle), told(value.args), named, value.span, value.symbol]
    return tuple(told(one) for one in value) if isinstance(value, tuple) else value
