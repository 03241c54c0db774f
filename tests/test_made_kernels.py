"""Kernels whose whole definition stands in a macro are checked one by one, with places in the macro."""

from __future__ import annotations

from lanescope.app.check.facts import SourceText
from lanescope.app.check.includes import write_kernels
from lanescope.cxx.made_kernels import list_written_spans
from tests.cases import for_each
from tests.checked import check_text
from tests.thread_tile_kernels import PADDED

HEAD, _, KERNEL = PADDED.partition("constexpr int BM")
BODY = KERNEL[KERNEL.index("__global__") :].rstrip().replace("gemm(", "NAME(").replace("\n", " \\\n")
MADE = f"{HEAD}constexpr int BM = 64, BN = 64, BK = 32;\n#define GEMM(NAME, PITCH) \\\n{BODY}\n"


def write_out(text: str) -> str:
    return "".join(text[slice(*span)] for span in list_written_spans(text))


@for_each(
    ("text", "written"),
    [
        (
            "#define F(T, n) __global__ void f##n(T* x) { g(x, n); }\nF(int, 4)",
            "\n __global__ void f4(int* x) { g(x, 4); }",
        ),
        (
            "#define F(n) __global__ void __launch_bounds__(n)\nF(4) f() { }",
            "\n __global__ void __launch_bounds__(4) f() { }",
        ),
        ("#define F(n) \\\n  __global__ void f() { \\\n  }\nF(1);\n", "\n \n  __global__ void f() { \n  };\n"),
        (
            '#define F(n) __global__ void n() { s("n"); }\nF(a) F(b)',
            '\n __global__ void a() { s("n"); }  __global__ void b() { s("n"); }',
        ),
    ],
)
def test_the_body_of_the_macro_replaces_its_use(text: str, written: str) -> None:
    assert write_out(text) == written


@for_each(
    "text",
    [
        "#define F(n) __global__ void n() { s(#n); }\nF(a)",
        "#define F(...) __global__ void f() { g(__VA_ARGS__); }\nF(a)",
        "#define F(n) __global__ void n() { }\n#define ALL F(a)\nALL",
        "#define F(n) __global__ void n() { }\n#undef F\n#define F(n) __global__ void n() { g(); }\nF(a)",
        "#define F(n) __global__ void n() { }\nALL(F)",
        "#define F(n) __global__ void n() {\nF(a) }",
        "#define F(n) __device__ void n() { }\nF(a)",
    ],
)
def test_other_macros_stay(text: str) -> None:
    assert list_written_spans(text) == []


def test_each_use_is_a_kernel_of_its_own() -> None:
    text = f"{MADE}GEMM(narrow, 40)\nGEMM(wide, BK + 24)\n"
    right = check_text(write_out(text))
    assert (right.findings, right.steps, [one.gap for one in right.kernels]) == ((), 4, ["", ""])
    source = write_kernels(SourceText("gemm.cu", text.replace("BK + 24", "24")))
    found = [(one.code, source.locate(one.span).line) for one in check_text(source.text).findings]
    assert ("stores_overlap", text.count("\n", 0, text.index("*reinterpret_cast<uint4*>(&As")) + 1) in found


def test_only_what_a_kernel_has_for_itself_is_edited() -> None:
    source = write_kernels(SourceText("gemm.cu", f"{MADE}GEMM(one, 40)\nGEMM(two, 56)\n"))
    argument, body = source.text.index("56"), source.text.rindex("lane / 16 * 8")
    assert source.has_alone((source.text.index("BM ="), source.text.index(" = 64")))
    assert not source.has_alone((body, body + 13))
    assert not source.has_alone((argument, argument + 2))  # the other rows have it, too
    once = write_kernels(SourceText("gemm.cu", f"{MADE}GEMM(one, 40)\n"))
    body = once.text.index("lane / 16 * 8")
    assert once.has_alone((body, body + 13))
