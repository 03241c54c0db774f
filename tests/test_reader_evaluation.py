"""What code may do before it encodes a descriptor: statements, expressions, bit fields and words without a name."""

from __future__ import annotations

import pytest

from lanescope.errors import LayoutError
from lanescope.reader.code import evaluation
from lanescope.reader.code.descriptors.code_words import build_word
from tests.cases import for_each
from tests.found_in_code import find_builders


@for_each(
    ("written", "start"),
    [
        ("(buf) + k * 32", "buf + 32·k"),
        ("(uint64_t)(buf) + k * 32", "buf + 32·k"),
        ("(buf) - 64", "buf - 64"),
        ("(half*)(buf) + k * 16", "buf + 32·k"),
        ("(const half *)(buf) + 8", "buf + 16"),
        ("-(-64) + buf", "buf + 64"),
        ("static_cast<uint64_t>(buf) + k * 32", "buf + 32·k"),
    ],
)
def test_a_name_in_brackets_before_an_operator_is_no_cast(written: str, start: str) -> None:
    """C's grammar alone reads (buf) + k as a cast of +k."""
    code = f"""uint64_t mk(uint64_t p) {{ return ((p & 0x3FFFF) >> 4) | 64ull << 32 | 1ull << 62; }}
void f(uint64_t buf) {{ for (int k = 0; k < 2; k++) {{ uint64_t desc = mk((uint64_t)({written})); use(desc); }} }}"""
    (made,) = find_builders(code)
    assert made.start == start


CPP = (  # at file scope, in the function, what is 4096
    ("", "", "0x1000"),
    ("", "int n = 0; do { n += 1024; } while (n < 4096);", "n"),
    ("", "int n = 4096; do { n -= 4096; } while (false); n += 4096;", "n"),
    ("", "int n = 0; while (n < 4096) n += 1024;", "n"),
    ("", "int n = 0; while (true) { n += 2048; if (n >= 4096) break; }", "n"),
    ("", "int n = 0; for (int i = 0; i < 5; ++i) { if (i == 4) continue; n += 1024; }", "n"),
    ("", "int a[] = {4095, 1}; int n = 0; for (int x : a) n += x;", "n"),
    ("", "int n = false ? 3 : 4096;", "n"),
    ("", "int n; if (2 > 3) n = 1; else if (3 > 2) n = 4096; else n = 2;", "n"),
    ("", "int n = 0; switch (2) { case 1: n = 1; break; case 2: n = 4096; break; default: n = 3; }", "n"),
    ("", "int n = 0; switch (9) { case 1: n = 1; break; default: n = 4096; }", "n"),
    ("struct S { int v; int w; };", "S s; s.v = 4096;", "s.v"),
    ("struct S { int v; int w; };", "S s{4096, 2};", "s.v"),
    ("struct S { int w; int v = 4096; };", "S s{2};", "s.v"),
    ("struct S { unsigned w : 3 = 1, v : 16 = 4096; };", "S s{};", "s.v"),
    ("struct S { unsigned w : 3 {1}; unsigned v : 8 + 8 {4096}; };", "S s{};", "s.v"),
    ("template <int N> struct S { unsigned w : N = 1; unsigned v : N = 4096; };", "S<16> s{};", "s.v"),
    (  # arguments in which the grammar reads comparisons
        "template <class...> struct L {}; template <int N> struct Int {}; struct K {};\n"
        "template <class A, class B, class C, class... D> int g() { return 4096; }\n"
        "int f(int x, L<int> y) { return x; }",
        "",
        "f(g<int, int, float, L<Int<1>, Int<2>, Int<3>>, K, K>(), L<int>{})",
    ),
    ("struct S { int v; S(int x) : v(x) {} };", "S s(4096);", "s.v"),
    ("struct S { static constexpr int v = 4096; };", "", "S::v"),
    ("template <int N> struct S { static constexpr int v = N * 1024; };", "", "S<4>::v"),
    ("template <int N = 4> struct S { static constexpr int v = N * 1024; };", "", "S<>::v"),
    ("template <typename T> T n(T x) { return x * 1024; }", "", "n(4)"),
    ("template <int X> int n() { return X * 1024; }", "", "n<4>()"),
    ("", "auto n = [](int x) { return x * 1024; };", "n(4)"),
    ("", "int y = 1024; auto n = [&](int x) { return x * y; };", "n(4)"),
    ("enum { N = 4096 };", "", "N"),
    ("enum class E { M = 4095, N };", "", "E::N"),
    ("enum class E { M = 4095, N };", "", "int(E::N)"),
    ("", "using T = int; T n = 4096;", "n"),
    ("", "typedef unsigned T; T n = 4096;", "n"),
    ("constexpr int N = 4 << 10;", "", "N"),
    ("#define N (4 * 1024)", "", "N"),
    ("#define N(x) ((x) * 1024)", "", "N(4)"),
    ("typedef unsigned word;", "word a[2] = {1, 2}; word (&r)[2] = a; r[1] = 4096;", "a[1]"),
    ("enum class code { low };", "code a[2]; code (&r)[2] = a; r[1] = (code)4096;", "int(a[1])"),
    ("", "int n = 1; n <<= 12;", "n"),
    ("", "int n = 8192; n >>= 1;", "n"),
    ("", "int n = 8192; n /= 2;", "n"),
    ("", "int n = 4097; n -= n % 4096;", "n"),
    ("", "int n = 4096 | 0; n |= 0; n &= 0xffff; n ^= 0;", "n"),
    ("", "int n = 4095; n++;", "n"),
    ("", "int n = 4097; --n;", "n"),
    ("", "int n = 4095; int m = ++n;", "m"),
    ("", "int n = 4096; int m = n++;", "m"),
    ("", "int n[2] = {1, 4096};", "n[1]"),
    ("", "int n[2][2] = {{1, 2}, {3, 4096}};", "n[1][1]"),
    ("", "int n = 3; int *p = &n; *p = 4096;", "n"),
    ("", "int n = 3; int &p = n; p = 4096;", "n"),
    ("void set(int &x) { x = 4096; }", "int n = 3; set(n);", "n"),
    ("void set(int *x) { *x = 4096; }", "int n = 3; set(&n);", "n"),
    ("", "", "(int)4096u"),
    ("struct S { int a; int b; };", "", "sizeof(S) * 512"),
    ("", "", "sizeof(double) * 512"),
    ("", "", "max(4096, 2)"),
    ("", "", "min(4096, 8192)"),
    ("", "", "std::max(4096, 2)"),
    ("", "", "cute::max(4096, 2)"),
    ("namespace a { namespace b { constexpr int n = 4096; } }", "", "a::b::n"),
    ("namespace a { constexpr int n = 4096; } using namespace a;", "", "n"),
    ("struct A { int w = 1024; int n(int x) const { return x * w; } }; __device__ A a;", "", "a.n(4)"),
    ("struct A { int v; A operator+(A o) const { return A{v + o.v}; } };", "A a{4095}; A b{1}; A c = a + b;", "c.v"),
    ("struct A { int v; operator int() const { return v; } };", "A a{4096};", "int(a)"),
    ("", "int n = ~-4097;", "n"),
    ("", "bool y = !false && (3 < 4 || false); int n = y * 4096;", "n"),
    ("", "constexpr auto n = cute::Int<4096>{};", "n"),
    ("", "auto [x, y] = cute::make_tuple(4096, 3);", "x"),
    ("", "auto t = cute::make_tuple(4096, 3);", "cute::get<0>(t)"),
    ("", "if constexpr (sizeof(int) == 4) {} int n = sizeof(int) == 4 ? 4096 : 0;", "n"),
    ("", "int n = (3, 4096);", "n"),
    ("", "goto x; x: int n = 4096;", "n"),
    ("", "uint32_t n = __cvta_generic_to_shared((void*)4096);", "n"),
    ("constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }", "int n = ceil_div(8191, 2);", "n"),
    ("int f(int n) { return n == 0 ? 1 : 2 * f(n - 1); }", "int n = f(12);", "n"),
    ("int f(int n) { if (n == 0) return 1; return 2 * f(n - 1); }", "int n = f(12);", "n"),
    ("", "uint64_t x = 4096, y = 1; memcpy(&y, &x, 8);", "y"),
    ("", "", "ceil_div(8191, 2)"),
    ("", "", "cute::ceil_div(8191, 2)"),
    ("", "int x = 1, y = 4096; swap(x, y);", "x"),
    ("", "uint32_t a = 4096; auto p = reinterpret_cast<uint32_t*>(&a);", "*p"),
)
PYTHON = (  # before, what is 4096
    ("", "0x1000"),
    ("p=[0x1000,16,3]\nx,y,z=p", "x"),
    ("p=[0x1000,16]\nn=0\nfor q in p:\n    n += q", "n-16"),
    ("p=[0x1000,16]\nn=0\nfor i,q in enumerate(p):\n    n += i", "n*4096"),
    ("s={'a':1,'b':2}\nn=0\nfor k in s:\n    n += s[k]", "n*4096-8192"),
    ("n=0\nwhile n < 4096:\n    n += 1024", "n"),
    ("n=0\nfor i in range(10):\n    if i == 4:\n        break\n    n += 1024", "n"),
    ("n=0\nfor i in range(5):\n    if i == 4:\n        continue\n    n += 1024", "n"),
    ("a=[0x1000]", "*a"),
    ("n=min(0x1000, 0x2000)", "n"),
    ("n=max(0x1000, 0x200)", "n"),
    ("n=abs(-4096)", "n"),
    ("n=len([1,2,3,4])", "n*1024"),
    ("n=(4096).bit_length()", "n*4096//13"),
    ("n=1<<12", "n"),
    ("n=0x1000 if True else 3", "n"),
    ("n=2**12", "n"),
    ("n=~(-4097)", "n"),
    ("n=8192//2", "n"),
    ("n=4097-4097%4096", "n"),
    (
        "def f(w):\n    if w == 32:\n        m = 3\n    elif w == 64:\n        m = 2\n    elif w == 128:\n"
        "        m = 1\n    else:\n        m = 0\n    return m\nn=f(64)",
        "n*2048",
    ),
    ("t=(1,4096)\nn=t[-1]", "n"),
    ("class A:\n    x = 4096\nn=A.x", "n"),
    ("class A:\n    def __init__(self, v):\n        self.v = v\na=A(4096)\nn=a.v", "n"),
    ("from dataclasses import dataclass\n@dataclass\nclass A:\n    v: int\n    w: int = 4096\na=A(3)\nn=a.w", "n"),
    ("p=[0x1000, 0]", "*p"),
    ("a=4095\na+=1", "a"),
    ("n=0\nfor i in range(4):\n    n += 1024\nelse:\n    n += 0", "n"),
    ("def f(*, v=3):\n    return v\nn=f(v=4096)", "n"),
    ("f = lambda x: x * 1024\nn=f(4)", "n"),
    ("n=not False and 4096", "n"),
    ("n=0 or 4096", "n"),
    ("from enum import IntEnum\nclass E(IntEnum):\n    A = 4096", "E.A"),
    ("n=tuple([1, 4096])[1]", "n"),
    ("n=f'{1}'\nn=4096", "n"),
    ("n=0x1000 & 0xffff ^ 0", "n"),
    ("n, *m = [4096, 2, 3]", "n"),
)


def is_read(text: str) -> list[tuple[object, ...]]:
    return [(one.start, one.lbo_bytes, one.sbo_bytes, one.swizzle) for one in find_builders(text)]


def test_what_code_may_do_before_it_encodes() -> None:
    """Every kind of statement and expression that is evaluated: a fault in one is another start, or an open one."""
    right = [(4096, 16, 1024, "128B")]
    rest = "field(16, 16) | field(1024, 32) | "
    for top, before, value in CPP:
        text = (
            f"uint64_t field(uint64_t x, int low) {{ return ((x & 0x3FFFF) >> 4) << low; }}\n{top}\n"
            f"void kernel() {{\n{before}\n  uint64_t desc = field({value}, 0) | {rest}1ull << 62;\n}}\n"
        )
        assert is_read(text) == right, text
    for before, value in PYTHON:
        text = (
            "def field(value, low=0):\n    return ((value & 0x3FFFF) >> 4) << low\n"
            f"{before}\ndesc = field({value}) | {rest}1 << 62\n"
        )
        assert is_read(text) == right, text


OF_WGMMA = "uint64_t p : 14, : 2, q : 14, : 2, r : 14, : 3, s : 3, : 10, t : 2;"
OF_TCGEN05 = "uint64_t p : 14, : 2, q : 14, : 2, r : 14, v : 2, : 1, s : 3, m : 1, : 8, t : 3;"
OF_HALVES = "uint32_t p : 14, : 2, q : 14, : 2; uint32_t r : 14, : 3, s : 3, : 10, t : 2;"
FILLED = "x.f.p = 0x1000 >> 4; x.f.q = 1; x.f.r = 64; x.f.t = 1;"


@for_each(
    ("fields", "statements", "word"),
    [
        (OF_WGMMA, FILLED, 0x4000004000010100),
        (OF_HALVES, FILLED, 0x4000004000010100),
        (OF_WGMMA.replace("q : 14", ": 14"), FILLED.replace("x.f.q = 1;", ""), 0x4000004000000100),
        (OF_TCGEN05, FILLED.replace("t = 1", "t = 6; x.f.v = 1"), 0xC000404000010100),
        (OF_WGMMA.replace(": 2, q", "q"), FILLED, None),  # q begins at bit 14
        ("uint64_t p : 14, q : 14, r : 14, t : 22;", FILLED, None),
    ],
)
def test_bit_fields_are_a_descriptors_by_their_places(fields: str, statements: str, word: int | None) -> None:
    """Whatever union, members and variable are called."""
    union = f"union Bits {{ uint64_t w; struct {{ {fields} }} f; }};"
    text = f"{union}\nuint64_t make() {{ Bits x{{}}; {statements} return x.w; }}"
    assert [built.word for built in find_builders(text)] == ([word] if word is not None else [])
    if word is not None:
        assert build_word(text).word == word


PUT_TOGETHER = "uint64_t(at >> 4) | uint64_t(1) << 16 | uint64_t(256) << 32 | uint64_t(1) << 62"
WITH_FIELDS = f"uint64_t with_fields(uint32_t at) {{ return {PUT_TOGETHER}; }}"


@for_each(
    "text",
    [
        f"void f(uint64_t* out, int i) {{ uint32_t at = 0x1000; out[i] = {PUT_TOGETHER}; }}",
        f"void f(uint64_t* out) {{ uint32_t at = 0x1000; *out = {PUT_TOGETHER}; }}",
        f"void f(uint64_t& out) {{ uint32_t at = 0x1000; out = {PUT_TOGETHER}; }}",
        f"void f() {{ __shared__ uint64_t table[4]; uint32_t at = 0x1000; table[threadIdx.x] = {PUT_TOGETHER}; }}",
        f"{WITH_FIELDS} void f(uint64_t* out) {{ out[threadIdx.x] = with_fields(0x1000); }}",
        f"{WITH_FIELDS} void f() {{ use(with_fields(0x1000)); }}",
        f"{WITH_FIELDS} uint64_t f() {{ return with_fields(0x1000); }}",
    ],
)
def test_a_word_without_a_descriptors_name_is_found_wherever_it_goes(text: str) -> None:
    """Also where a field's number is 256, whose lowest bit begins a byte and no field."""
    assert [built.word for built in find_builders(text)] == [0x4000010000010100]


def test_an_answer_does_not_depend_on_earlier_texts() -> None:
    """A variable without a known address is called by a number of its own text."""
    text = "void f() { int x; uint64_t desc = (((uint64_t)&x & 0x3FFFF) >> 4) | 1ull << 62; }"
    starts = []
    for earlier in ("", "int a, b; int* p = &b; uint64_t desc = (uint64_t)p >> 4;"):
        find_builders(earlier)
        evaluation.evaluate_text.cache_clear()
        starts.append([(built.start, built.free) for built in find_builders(text)])
    assert starts[0] == starts[1] != []


def test_code_of_a_word_that_is_too_long_is_refused() -> None:
    with pytest.raises(LayoutError, match="The code has 70000 characters") as refused:
        build_word("x" * 70_000, "word")
    assert (refused.value.code, refused.value.field) == ("bad_word", "word")
