"""C++'s preprocessor as gcc has it: macros within a budget, conditions that the text leaves open, large texts."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from lanescope.reader import recognise_text
from lanescope.reader.code import evaluation_merge
from lanescope.reader.code.evaluation import Evaluation, evaluate_text
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.preprocessing.lexing import split_tokens
from lanescope.reader.code.preprocessing.preprocessor import Preprocessor, prepare_source
from lanescope.reader.code.preprocessing.variants import list_leaves, make_variants
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import cxx, cxx_parsing, top_declarations
from lanescope.reader.code.syntax.brackets import blank_brackets
from lanescope.reader.code.syntax.source import make_plain_source
from lanescope.workbench import build_workbench
from lanescope.workbench.check import check_text
from tests import cpp_conditions, cpp_macros
from tests.cases import for_each
from tests.found_in_code import find_builders
from tests.sample import choose_count

GXX = shutil.which("g++") or ""
DESC = "uint64_t desc = (uint64_t)((smem & 0x3FFFF) >> 4) | (uint64_t)LBO << 16 | (uint64_t)64 << 32 | 1ull << 62;\n"


RAW = 'R"(\n#define H 5\n)"'


def list_tokens(text: str) -> list[str]:
    return [token.text for token in split_tokens(text)]


def list_fields(text: str) -> dict[str, int | str | None]:
    (built,) = find_builders(text)
    return built.fields


def list_open_macros(text: str) -> dict[str, str]:
    (built,) = find_builders(text)
    return dict(built.free)


def make_doubled(levels: int) -> str:
    """Macros of which each uses the one below twice."""
    return "".join(f"#define A{n}(x) A{n - 1}(A{n - 1}(x))\n" for n in range(levels, 0, -1)) + "#define A0(x) (x+x)\n"


# macros ---------------------------------------------------------------------------------------------------------------


@for_each(
    ("given", "made"),
    [
        ("#define f(x) x*f\nf(2)(9)", "2*f(9)"),  # C++17 [cpp.rescan]/4 leaves this open; gcc paints f
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define f(x) x + 1\nf(f(f(2)))", "2 + 1 + 1 + 1"),
        ("#define g f\n#define f(x) [x]\ng (3)", "[3]"),
        ('#define S(x) #x\nS( a  "b\\n" )', r'"a \"b\\n\""'),
        ("#define J(a, b) a ## b\n#define x1 9\nJ(x, 1) J(, y) J(x,) J(0x, 40)", "9 y x 0x40"),
        ("#define K(a) a ## 2 a\n#define n 7\nK(n)", "n2 7"),
        ("#define P(f, ...) p(f, ## __VA_ARGS__)\nP(a) P(a, b, c) P(a,)", "p(a) p(a, b, c) p(a,)"),
        ("#define O(a, ...) f(a __VA_OPT__(,) __VA_ARGS__)\nO(1) O(1, 2)", "f(1) f(1, 2)"),
        ("#define G(r...) g(r)\nG(1, 2) G()", "g(1, 2) g()"),
        ("#define M 1\n#define M 2\nM\n#undef M\nM", "2 M"),
        ("#define N \\\n 4\nint x = N;", "int x = 4;"),
        ("int x = 0x40\\\n00; re\\\nturn 1\\  \n2;", "int x = 0x4000; return 12;"),
        ("#def\\\nine Q 5\nQ", "5"),
        (f"#define H 3\n/*\n#define H 4\n*/ auto s = {RAW}; // H\nH", f"auto s = {RAW}; 3"),
        ("#define neg(x) -x\nneg(-1)", "- -1"),
        ("#define E\nE x E", "x"),
        ("#define NUM_DEVICE 4\nint y = NUM_DEVICE + 3;", "int y = 4 + 3;"),
        ("[[nodiscard]] MY_DEVICE int f() noexcept;", "int f();"),
        ("#define MY_DEVICE __forceinline__ __device__\nMY_DEVICE int f();", "__device__ int f();"),
    ],
)
def test_macros_become_what_the_standard_says(given: str, made: str) -> None:
    assert list_tokens(prepare_source(given).text) == list_tokens(made)


@pytest.mark.skipif(not GXX, reason="needs g++")
def test_random_macros_and_conditions_become_what_gcc_makes_of_them() -> None:
    """Those that gcc refuses are left out, and so are uses that take too long."""
    compared, count = 0, choose_count(30, 14)
    for n, text in enumerate([*cpp_macros.make_programs(count, 71), *cpp_macros.make_programs(count, 72, True)]):
        made = subprocess.run(
            [GXX, "-E", "-P", "-xc++", "-w", "-"], input=f"#undef UU\n{text}", capture_output=True, text=True
        )
        ours = Preprocessor(f"#undef UU\n{text}").read_text()
        if not made.returncode and not ours.unread:
            assert list_tokens(ours.source.text) == list_tokens(blank_brackets(made.stdout)), f"text {n}:\n{text}"
            compared += 1
    assert compared > 10


def test_every_character_keeps_its_place() -> None:
    text = "#define N 4\nint a\\\nb = N + 0x1\\\n0;\n#if 0\nno\n#endif\nlast c;\n"
    source = prepare_source(text)
    for word in ("int", "last", "c"):
        at = source.text.index(word)
        first, past = source.get_original(at, at + len(word))
        assert text[first:past] == word
    at = source.text.index("4")
    assert text[slice(*source.get_original(at, at + 1))] == "N"
    at = source.text.index("0x10")
    assert text[slice(*source.get_original(at, at + 4))] == "0x1\\\n0"


# the budget -----------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@for_each(
    "use",
    [
        f"{make_doubled(17)}int n = A17(1);\n",
        f"{make_doubled(30)}int n = A30(1);\n",
        "#define F(x) (x+1)\nint n = " + "F(" * 1000 + "1" + ")" * 1000 + ";\n",
        "".join(f"#define B{n} B{n + 1}, B{n + 1}\n" for n in range(40)) + "#define B40 1\nint n = (B0);\n",
        "#define S(x) #x\n#define T(x) S(x)\nint n = sizeof(" + "T(" * 40 + '"\\"' + ")" * 40 + ");\n",
    ],
    ids="four-posts thirty thousand objects strings".split(),
)
def test_an_expansion_that_takes_too_long_is_unknown_and_ends(use: str) -> None:
    text = (
        use + "uint64_t desc = (uint64_t)(smem >> 4) | (uint64_t)n << 16 | 64ull << 32 | 1ull << 62;\nuse(desc, n);\n"
    )
    began = time.monotonic()
    made = evaluate_text(text)
    assert time.monotonic() - began < 5
    assert made is not None
    for one in made.bodiless_calls:
        assert all((value := get_integer(given)) is None or value.known is None for given in one.term.arguments)
    line = use.count("\n")
    assert any(f"Line {line}: the macro" in one.message for one in made.unread) and not made.complete
    assert any(one.message.startswith("The macro") for one in check_text(text).open)


def test_two_uses_that_are_not_expanded_are_not_taken_for_the_same() -> None:
    made = evaluate_text(f"{make_doubled(20)}void f() {{ use_desc(A20(1) - A20(2)); }}")
    assert made is not None and get_integer(made.bodiless_calls[0].term.arguments[0]).known is None  # type: ignore[union-attr]


def test_a_use_that_may_store_takes_its_declaration_with_it() -> None:
    deep = make_doubled(20).replace("(x+x)", "(x+x)\n#define SET desc = A20(1)")
    text = f"{deep}void f() {{ uint64_t desc = 1ull << 62; SET; use(desc); }}\n"
    text += "void g() { uint64_t desc = 5; use(desc); }"
    made = evaluate_text(text)
    assert made is not None
    assert [[str(given) for given in one.term.arguments] for one in made.bodiless_calls] == [["5"]]


def test_other_macros_are_expanded_beside_one_that_takes_too_long() -> None:
    text = make_doubled(20) + f"#define LBO 1\nint n = A20(1);\n{DESC}"
    assert list_fields(text)["lbo_bytes"] == 16


# conditions -----------------------------------------------------------------------------------------------------------


@for_each(
    "condition",
    [
        "#ifdef __GNUC__",
        "#ifdef __linux__",
        "#ifndef _MSC_VER",
        "#if defined(__clang__)",
        "#ifdef NDEBUG",
        "#if __GNUC__ >= 9",
        "#if SOME_OPTION",
        "#if __has_include(<x.h>)",
        "#if defined(A) && B > 2",
        "#ifdef __cpp_concepts",
        "#if OTHER * 2 == 6",
    ],
)
def test_a_value_that_an_unknown_macro_decides_depends_on_it(condition: str) -> None:
    text = f"{condition}\n#define LBO 1\n#else\n#define LBO 2\n#endif\n{DESC}"
    assert list_fields(text)["lbo_bytes"] is None
    assert list_fields(text)["sbo_bytes"] == 1024 and list_fields(text)["swizzle"] == "128B"
    name = next(word for word in list_tokens(condition)[2:] if word not in ("defined", "(", "__has_include"))
    assert name.strip("()<>") in list_open_macros(text)["lbo_bytes"] or "x.h" in list_open_macros(text)["lbo_bytes"]


@for_each(
    ("lines", "lbo"),
    [
        ("#if __cplusplus >= 202002L\n#define LBO 1\n#else\n#define LBO 2\n#endif", 32),
        ("#if __cplusplus >= 201703L\n#define LBO 1\n#else\n#define LBO 2\n#endif", 16),
        ("#ifdef __CUDACC__\n#define LBO 1\n#else\n#define LBO 2\n#endif", 16),
        ("#ifdef __CUDACC_RTC__\n#define LBO 1\n#else\n#define LBO 2\n#endif", 32),
        ("#if __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 900\n#define LBO 1\n#else\n#define LBO 2\n#endif", 32),
        ("#if __CUDACC_VER_MAJOR__ == 11\n#define LBO 1\n#else\n#define LBO 2\n#endif", 32),
        ("#if defined(CUTE_ARCH_MMA_SM90A_ENABLED)\n#define LBO 1\n#else\n#define LBO 2\n#endif", 16),
        ("#ifndef LBO\n#define LBO 3\n#endif", 48),
    ],
)
def test_what_is_taken_of_a_macro_is_said(lines: str, lbo: int) -> None:
    text = f"{lines}\n{DESC}"
    assert list_fields(text)["lbo_bytes"] == lbo
    name = next(
        word
        for word in list_tokens(lines)
        if word.startswith("__C") or "_SM90" in word or word in ("LBO", "__cplusplus")
    )
    (built,) = (one for one in recognise_text(text).found if one.kind == "builder")
    assert any(notice.startswith(f"Taken: {name} is ") for notice in built.notices)
    assert f"macro.{name}" in [one.key for one in build_workbench(text).assumed]


def test_functions_of_the_host_alone_are_read_beside_those_of_the_device() -> None:
    """nvcc compiles a file for both: with __CUDA_ARCH__ and without."""
    text = (
        "#ifndef __CUDA_ARCH__\nvoid host() { use_desc(1); }\n#endif\n"
        "void device() { uint64_t desc = 2;\n#ifndef __CUDA_ARCH__\ndesc = 3;\n#endif\nuse(desc); }"
    )
    made = evaluate_text(text)
    assert made is not None
    assert sorted(str(one.term.arguments[0]) for one in made.bodiless_calls) == ["1", "2"]


def test_a_macro_can_be_given() -> None:
    text = f"#if __cplusplus >= 202002L\n#define LBO 1\n#else\n#define LBO 2\n#endif\n{DESC}"
    (piece,) = (p for p in build_workbench(text, {"macro.__cplusplus": "202002L"}).pieces if p.kind == "descriptor")
    assert piece.facts["fields"]["lbo_bytes"] == 16


@for_each(
    "lines",
    [
        "#ifdef X\n#define LBO 4\n#endif\n#ifndef X\n#define LBO 4\n#endif",
        "#ifdef X\n#define LBO 4\n#else\n#define LBO 4\n#endif",
        "#ifndef A_H\n#define A_H\n#define LBO 4\n#endif",
        "#define LBO 4\n#ifdef X\n#include <a.h>\n#pragma once\n#else\nstatic_assert(sizeof(int) == 4);\n#endif",
        "#ifdef _MSC_VER\n#define INL inline\n#else\n#define INL __attribute__((unused))\n#endif\n#define LBO 4",
        "#if defined(X)\n#define LBO 4\n#else\n#error no\n#endif",
        "#if defined(X) == !defined(X)\n#define LBO 5\n#else\n#define LBO 4\n#endif",
        "#define LBO 4\n#ifdef X\nint unrelated = 1;\n#endif",
        "#define LBO 4\n" + "".join(f"#ifdef X{n}\nint u{n} = {n};\n#endif\n" for n in range(20)),
    ],
)
def test_conditions_that_decide_nothing_leave_a_value_known(lines: str) -> None:
    assert list_fields(f"{lines}\n{DESC}")["lbo_bytes"] == 64


def test_conditions_on_one_macro_are_decided_together() -> None:
    """Eight conditions on one macro are two texts."""
    one = "#ifdef X\nint a{0};\n#endif\n#if !defined(X)\nint b{0};\n#endif\n#if defined X\nint c{0};\n#endif\n"
    text = "".join(one.format(n) for n in range(3))
    assert len(list(list_leaves(make_variants(Preprocessor(text))))) == 2


def test_what_depends_on_more_conditions_than_are_told_apart_is_left_out() -> None:
    many = "".join(f"#ifdef X{n}\n#define L{n} 1\n#else\n#define L{n} 0\n#endif\n" for n in range(7))
    text = (
        f"{many}void f() {{ use_desc(L0 * L1 * L2 * L3 * L4 * L5 * L6); }}\nvoid g(int desc) {{ use(3); }}\n"
        "int kept = L6; enum E { one = L5, two }; void h() { use_desc(kept, two); }\n"
    )
    made = evaluate_text(text)
    assert made is not None
    found = [[get_integer(given) for given in one.term.arguments] for one in made.bodiless_calls]
    assert [value.known for values in found for value in values if value is not None and value.known is not None] == [3]
    assert made.unread


def test_a_pitfall_under_one_choice_names_the_condition() -> None:
    made = evaluate_text(
        "void f() {\n#ifdef X\nuint64_t desc = 1 << 40;\n#else\nuint64_t desc = 1ull << 40;\n#endif\nuse(desc);\n}"
    )
    assert made is not None
    (warning,) = made.warnings
    assert warning.message.endswith("This applies if defined(X) holds.")


def test_an_evaluation_merged_with_itself_is_itself() -> None:
    made = evaluate_text(
        f"#define LBO 4\nvoid f(uint32_t smem) {{ for (int k = 0; k < 2; ++k) {{ {DESC} use(desc + k); }} }}"
    )
    assert isinstance(made, Evaluation)
    own = evaluation_merge.EvaluationRecords(
        made.descriptors, made.bodiless_calls, made.warnings, made.asm_runs, lambda _: True, lambda _: False
    )
    both = evaluation_merge.merge_records("X", own, own)
    assert (both.descriptors, both.warnings) == (made.descriptors, made.warnings)
    assert [one.term for one in both.bodiless_calls] == [one.term for one in made.bodiless_calls]


@pytest.mark.thorough
@pytest.mark.skipif(not GXX, reason="needs g++")
def test_what_is_known_holds_whatever_the_macros_are(tmp_path: Path) -> None:
    """Random programs run by g++ under some of the choices of their macros."""
    known = 0
    for n in range(choose_count(8, 4)):
        rng = random.Random(f"conditions {n}")
        text = cpp_conditions.make_program(rng)
        made = evaluate_text(f"// desc\n{text}")
        assert made is not None
        claims: dict[int | None, list[SymbolicInt]] = {}
        for one in made.bodiless_calls:
            if one.term.head == "use":
                value, which = (get_integer(given) for given in one.term.arguments)
                assert value is not None and which is not None
                claims.setdefault(which.known, []).append(value)
        for flags in rng.sample(
            choices := cpp_conditions.list_assignments(text), min(choose_count(6, 3), len(choices))
        ):
            for which, word in cpp_conditions.run_program(text, flags, GXX, tmp_path):
                for value in claims.get(which, []):
                    decided = (1 << 64) - 1
                    for piece in value.pieces:
                        decided &= ~(((1 << piece.width) - 1) << piece.low)
                    assert not (value.const ^ word) & decided, f"{flags}: use {which} of\n{text}"
                    known += value.known is not None
    assert known


# large texts ----------------------------------------------------------------------------------------------------------


def test_a_declaration_that_cannot_be_parsed_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cxx_parsing, "MOST_PROGRESS", 20)
    monkeypatch.setattr(cxx_parsing, "PROGRESS_PER_KB", 10)
    monkeypatch.setattr(cxx, "PART", 100)
    bad = "int bad = " + "a<" * 3000 + ";\n"
    text = f"namespace one {{ int first = 1; }}\n{bad}namespace two {{ int last = 2; int more; }}\n"
    found, unread = cxx.parse_cxx_parts(make_plain_source(text))
    inside = [inner for one in found for inner in getattr(one, "body", ())]
    assert [getattr(one, "name", "") for one in inside] == ["first", "last", "more"]
    assert [text[a:b].strip() for a, b in unread] == [bad.strip()]


def test_declarations_are_told_apart() -> None:
    text = (
        "int a = 1; void f(int x) { if (x) { g(); } }\nstruct S { int b; } s; enum E { c };\n"
        "namespace n { template <class T> T h() { return T{}; } namespace m { int d; } }\n"
        'auto v = [] { return 1; }; if (a) { b(); } else { c(); } const char* q = "};{"; last'
    )
    found = [text[one.start : one.end].strip() for one in top_declarations.find_declarations(text)]
    assert found == [
        "int a = 1;",
        "void f(int x) { if (x) { g(); } }",
        "struct S { int b; } s;",
        "enum E { c };",
        "template <class T> T h() { return T{}; }",
        "int d;",
        "auto v = [] { return 1; };",
        "if (a) { b(); } else { c(); }",
        'const char* q = "};{";',
        "last",
    ]
