"""Which functions of a text are evaluated: those that lead to what is checked, and no others."""

from __future__ import annotations

import pytest

from lanescope.reader.code import evaluation
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.running.work_words import may_have_work
from lanescope.workbench.check import check_text
from tests.cases import for_each

SIMT = """
__global__ void scale(int* x, int n) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0}, [%1];" :: "r"(n << 3), "l"(x));
  x[0] = n;
}
"""
WGMMA = """
__device__ void product(uint64_t desc) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0}, %1, %1, 1, 1, 1, 0, 0;" :: "l"(desc));
}
"""
KERNEL = """
__global__ void gemm(uint32_t smem) {
  product((uint64_t)((smem & 0x3FFFF) >> 4) | (uint64_t)64 << 32 | 1ull << 62);
}
"""
SET = "cudaFuncSetAttribute(scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);"
MAIN = "int main() { scale<<<1, 128>>>(nullptr, 3); gemm<<<1, 128>>>(0); }\n"


def list_run(text: str) -> set[str]:
    """Return the functions whose asm statements a text's evaluation ran, and those around them."""
    code = evaluate_text(text)
    return {name for run in code.asm_runs for name, _ in run.calls} if code else set()


def test_kernel_that_does_nothing_checked_is_not_run() -> None:
    main = f"int main() {{ {SET} scale<<<1, 128>>>(nullptr, 3); }}"
    assert list_run(SIMT + main) == set()
    assert list_run(SIMT + WGMMA + KERNEL + MAIN) >= {"main", "gemm", "product", "scale"}


def test_kernels_are_run_where_their_instructions_are_asked_for() -> None:
    code = evaluate_text(SIMT, 1, (), (("__CUDA_ARCH__", "700"),))
    assert code is not None
    assert [run.calls[-1][0] for run in code.asm_runs] == ["scale"]


@for_each(("pointer", "bytes_"), [("&bytes", None), ("nullptr", 1024)])
def test_what_a_skipped_kernel_may_write_is_not_known(pointer: str, bytes_: int | None) -> None:
    limit = "cudaFuncSetAttribute(scale, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);"
    code = evaluate_text(f"{SIMT}int main() {{ int bytes = 1024; scale<<<1, 128>>>({pointer}, 3); {limit} }}")
    assert code is not None
    [call] = [call for call in code.bodiless_calls if call.term.head == "cudaFuncSetAttribute"]
    value = get_integer(call.term.arguments[2])
    assert (value.known if value is not None else None) == bytes_


@for_each(
    "way",
    [
        "#define START(x) product(x)\n__global__ void k(uint64_t d) { START(d); }",
        "struct P { P(uint64_t d) { product(d); } };\n__global__ void k(uint64_t d) { P p(d); }",
        "struct P { uint64_t d; ~P() { product(d); } };\n__global__ void k(uint64_t d) { P p{d}; }",
        "struct P { uint64_t d; };\nvoid operator!(P p) { product(p.d); }\n__global__ void k(uint64_t d) { !P{d}; }",
        "struct P { uint64_t d; operator int() { product(d); return 0; } };\nusing Q = P;\n"
        "__global__ void k(uint64_t d) { int x = Q{d}; }",
        "template <class T> __device__ void go(T f, uint64_t d) { f(d); }\n"
        "__global__ void k(uint64_t d) { go(product, d); }",
    ],
    ids=["macro", "constructor", "destructor", "operator", "conversion", "argument"],
)
def test_kernel_leads_to_work_without_naming_it(way: str) -> None:
    assert "k" in list_run(f"{WGMMA}{way}\nint main() {{ k<<<1, 128>>>(1); }}\n")


def test_text_without_a_word_of_what_is_checked_is_not_even_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "make_variants", lambda preprocessor: pytest.fail("it was read"))
    evaluation.evaluate_text.cache_clear()
    assert check_text("__global__ void scale(int* x, int n) { x[n << 3] = n; }").findings == ()
    with pytest.raises(pytest.fail.Exception):
        check_text("__global__ void scale(int* x, int n) { x[n << 3] = n; }  CUtensorMap tensor_map;")


@for_each(
    "words",
    [
        "// makes a descriptor: smem_desc\n",
        '#include "cutlass/matrix_coord.h"\n',
        "double EncodeScalar(int a) { return a << 2; }\n",
        "#define CUDA_12_0_SM90_FEATURES_SUPPORTED true\nbool has() { return CUDA_12_0_SM90_FEATURES_SUPPORTED; }\n",
        "using Epilogue = Builder<cutlass::epilogue::TmaWarpSpecialized>;\n",
        "template <size_t N> constexpr descr<N> type_descr(const descr<N>& left) { return left; }\n",
        "import torch\n\ndef measure(n):\n    for k in range(n):\n        print(torch.rand(k << 3).sum())\n",
    ],
    ids=["comment", "include", "letters", "macro", "schedule", "class", "python"],
)
def test_text_whose_words_only_look_like_what_is_checked_has_no_work(words: str) -> None:
    assert not may_have_work(words)


@for_each("words", ["auto d = make_desc(p);", "Desc d;", "SmemDESC d;", 'asm("// \\n wgmma.fence;");', "tma_load(p);"])
def test_words_of_what_is_checked_are_work(words: str) -> None:
    assert may_have_work(f"void f() {{ {words} }}")


@for_each(
    "words", ["cute.make_layout((8, 8))", "desc = 1 << 62 | addr >> 4", 'load("__global__ void f() { mma(d); }")']
)
def test_words_of_what_is_checked_are_work_in_python(words: str) -> None:
    assert may_have_work(f"import torch\n\ndef make(addr):\n    return {words}\n")


def test_block_outside_functions_runs_if_it_leads_to_what_is_checked() -> None:
    asm = 'asm volatile("wgmma.fence.sync.aligned;");'
    for body, functions in ((asm, ""), ("product(1ull << 62);", WGMMA)):
        code = evaluate_text(f"{functions}TEST(A, 1x1) {{ {body} }}")
        assert code is not None and code.asm_runs


def test_block_outside_functions_that_leads_to_nothing_checked_is_not_run() -> None:
    code = evaluate_text(f"int Run(int n) {{ return sum_of(n << 2); }}\n{WGMMA}TEST(A, 1x1) {{ Run(9); }}\n")
    assert code is not None
    assert "sum_of" not in {call.term.head for call in code.bodiless_calls}
