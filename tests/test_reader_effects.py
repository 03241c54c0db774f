"""Values that C++ changes where no assignment is seen: the evaluator follows them or forgets them.

tests/golden/cxx/effects.txt has more of them, judged by g++.
"""

from __future__ import annotations

from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.expression.integer_values import get_integer
from tests.cases import for_each

CONVERSION = "struct C {{ int& r; operator {0}() {{ r = 5; return {0}(); }} }};"
FLOAT, INT = CONVERSION.format("float"), CONVERSION.format("int")


def find_value(declarations: str, body: str) -> int | None:
    """Return the value that n has at the end of a function; None if it is left open."""
    word = "uint64_t desc = 0x400 | 1ull << 16 | uint64_t(n) << 32 | 1ull << 62;"
    code = evaluate_text(f"{declarations}\nint main() {{ int n = 1; {body} {word} use(desc); }}")
    assert code is not None
    (used,) = [call for call in code.bodiless_calls if call.term.head == "use"]
    value = get_integer(used.term.arguments[0])
    known = value.known if value is not None else None
    return None if known is None else known >> 32 & 0x3FFF


FOLLOWED = {
    "a conversion to float": (FLOAT, "C c{n}; float f = c;", 5),
    "a condition that converts": (FLOAT, "C c{n}; if (c) {}", 5),
    "an index that converts": (INT, "C c{n}; int v[3] = {}; int z = v[c];", 5),
    "an offset that converts": (INT, "C c{n}; int v[3] = {}; int* p = v + c;", 5),
    "a conversion to a pointer": (
        "struct C { int v = 1; operator int*() { return &v; } };",
        "C c; int* p = c; *p = 5; n = c.v;",
        5,
    ),
    "a conversion to a class": ("struct H {}; " + CONVERSION.format("H"), "C c{n}; H h = c;", 5),
    "a constructor that takes a reference": ("struct H { H(int& r) { r = 5; } };", "H h = n;", 5),
    "decltype of an expression": ("", "decltype((n)) r = n; r = 5;", 5),
    "decltype of a name": ("", "decltype(n) r = n; r = 5;", 1),
    "decltype of a target": ("", "int* p = &n; decltype(*p) r = n; r = 5;", 5),
    "decltype of a reference": ("void f(int& x) { decltype(x) r = x; r = 5; }", "f(n);", 5),
    "std::move": ("", "int&& r = std::move(n); r = 5;", 5),
    "a member of reference type": ("template <class T> struct H { T v; };", "H<int&> h{n}; h.v = 5;", 5),
    "a while loop that counts down": ("", "int k = 3; n = 0; while (k--) ++n;", 3),
    "a loop whose condition calls": ("int g = 0; int step() { return ++g; }", "while (step() < 5) n += g;", 11),
}


@for_each("name", FOLLOWED)
def test_what_changes_a_value_is_followed(name: str) -> None:
    declarations, body, value = FOLLOWED[name]
    assert find_value(declarations, body) == value


FORGOTTEN = {
    "std::ref": "auto r = std::ref(n); n = 2; r.get() = 5;",
    "a tuple of references": "std::tuple<int&> t(n); std::get<0>(t) = 5;",
    "a reference wrapper": "std::reference_wrapper<int> r{n}; r.get() = 5;",
    "a type that is not known": "decltype(unknown(n)) r = n; r = 5;",
}


@for_each("name", FORGOTTEN)
def test_what_may_change_a_value_leaves_it_open(name: str) -> None:
    assert find_value("", FORGOTTEN[name]) is None
