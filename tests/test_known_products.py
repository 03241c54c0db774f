"""D of kernels that are run with different M, N and K: it is A·B, it is open, or a sum is certainly wrong."""

from __future__ import annotations

import re

import pytest

from lanescope.deadline import OverdueError
from lanescope.reader.code.running.write_summaries import walk_nodes
from lanescope.reader.code.syntax.tree_statements import Loop
from lanescope.reader.threads.language.jumps import is_left_by_jumps
from lanescope.reader.threads.language.program import parse_program
from lanescope.workbench.products import known_products
from lanescope.workbench.products.result_judge import judge_results
from tests.cases import for_each
from tests.checked import check_whole
from tests.guilty_kernels import RIGHT as MAPPED
from tests.known_kernels import GROUPS, KERNEL, LAUNCH, TILED, list_wrong
from tests.test_check_results import WMMA
from tests.test_thread_descriptors import TENSOR
from tests.transfer_kernels import plant

ARRAYS = (  # registers in arrays of a library
    ("int (&d)[4], const uint32_t (&a)[4]", "std::array<int, 4>& d, const std::array<uint32_t, 4>& a"),
    ("uint32_t x[4];", "std::array<uint32_t, 4> x;"),
)
CLASS = (
    "template <class T, int N> struct Vector {\n  T items[N];\n  __device__ T& operator[](int i) { return items[i]; }\n"
    "  __device__ const T& operator[](int i) const { return items[i]; }\n};\n__device__ void multiply"
)
RIGHT: dict[str, tuple[tuple[str, str], ...]] = {
    "as it is": (),
    "column by column": (("c[r * N + n]", "c[n * M + r]"),),
    "leading dimensions": (("int K)", "int K, int ldb)"), ("(col + g) * K", "(col + g) * ldb")),
    "a stride of a batch": (("int K)", "int K, int stride_a)"), ("blockIdx.z * M * K", "blockIdx.z * stride_a")),
    "a bias": (("sa[r] * sb[n] * d[i]", "d[i] + sb[n]"),),
    "half of it": (("sa[r] * sb[n] * d[i]", "d[i] * 0.5f"),),
    "only what is positive": (("sa[r] * sb[n] * d[i]", "fmaxf(d[i], 0.f)"),),
    "an activation": (("sa[r] * sb[n] * d[i]", "d[i] / (1.f + expf(-d[i]))"),),
    "an activation by a polynomial": (("sa[r] * sb[n] * d[i]", "fminf(fmaxf(d[i] + 3.f, 0.f), 6.f) * d[i] / 6.f"),),
    "zeros by memset": (("int d[4] = {};", "int d[4]; memset(d, 0, sizeof(d));"),),
    "zeros by std::fill_n": (("int d[4] = {};", "int d[4]; std::fill_n(d, 4, 0);"),),
    "partial sums that are only read": (("  float* c =", "  if (d[0] > 1000) trap();\n  float* c ="),),
    "an endless loop that a break ends": (
        ("int k = 0; k < K / 32; ++k) {", "int k = 0;; ++k) {\n    if (k == K / 32) break;"),
    ),
    "a break at the end of while (true)": (
        ("for (int k = 0; k < K / 32; ++k) {", "int k = 0;\n  while (true) {"),
        ("b + k * 32 + 16));", "b + k * 32 + 16));\n    if (++k == K / 32) break;"),
    ),
    "a reference to what a function with a side effect counts": (
        (
            "__global__ void",
            "struct Place { int k; };\nstruct Ring {\n  Place* all; int at;\n"
            "  __device__ int advance() { return at++; }\n  __device__ Place& next() { return all[advance()]; }\n};\n"
            "__global__ void",
        ),
        (
            "int k = 0; k < K / 32; ++k) {",
            "int n = 0; n < K / 32; ++n) {\n    ring.next();\n    const int k = ring.at - 1;",
        ),
        ("  int d[4] = {};", "  int d[4] = {};\n  Place places[64];\n  Ring ring{places, 0};"),
    ),
    "zeros of a class": (("int d[4] = {};", "struct Sums { int d[4] = {}; } sums; int (&d)[4] = sums.d;"),),
    "an array of std": (*ARRAYS, ("int d[4] = {};", "std::array<int, 4> d{};")),
    "an array of std that is filled": (*ARRAYS, ("int d[4] = {};", "std::array<int, 4> d; d.fill(0);")),
    "an array of std from begin to end": (
        *ARRAYS,
        ("int d[4] = {};", "std::array<int, 4> d; std::fill(d.begin(), d.end(), 0);"),
    ),
    "a loop over an array of std": (*ARRAYS, ("int d[4] = {};", "std::array<int, 4> d; for (int& e : d) e = 0;")),
    "an array of arrays": (
        *ARRAYS,
        ("int d[4] = {};", "std::array<std::array<int, 4>, 2> all{}; auto& d = all[1];"),
    ),
    "a class with operator []": (
        ("__device__ void multiply", CLASS),
        *((old, new.replace("std::array", "Vector")) for old, new in ARRAYS),
        ("int d[4] = {};", "Vector<int, 4> d; for (int i = 0; i < 4; ++i) d[i] = 0;"),
    ),
    "a place that braces give to a function": (
        (
            "__global__ void",
            "struct Place { int row, col; };\n"
            "__device__ int find(Place p, int n) { return p.row * n + p.col; }\n__global__ void",
        ),
        ("c[r * N + n]", "c[find({r, n}, N)]"),
    ),
    "words of two": (
        ("float* C,", "int* C,"),
        ("float* c =", "int* c ="),
        ("++i) {\n    const int r", "i += 2) {\n    const int r"),
        ("c[r * N + n] = sa[r] * sb[n] * d[i]", "*(int64_t*)&c[r * N + n] = *(const int64_t*)&d[i]"),
    ),
    "bytes that a table has in shared memory": (
        ("float* C,", "int8_t* C,"),
        ("float* c =", "__shared__ __align__(16) int8_t table[32 * 16];\n  int8_t* c ="),
        (
            "c[r * N + n] = sa[r] * sb[n] * d[i];\n  }",
            "table[(r % 32) * 16 + n % 8] = max(-128, min(127, __float2int_rn(sa[r] * sb[n] * d[i])));\n  }\n"
            "  __syncthreads();\n  if (threadIdx.x < 32) *(int2*)(c + (blockIdx.y * 32 + threadIdx.x) * N + col) =\n"
            "      *(const int2*)(table + threadIdx.x * 16);",
        ),
    ),
    "bytes that shifts join": (
        ("float* C,", "int8_t* C,"),
        ("float* c =", "int8_t* c ="),
        ("++i) {\n    const int r", "i += 2) {\n    const int r"),
        (
            "c[r * N + n] = sa[r] * sb[n] * d[i];",
            "const int p = __float2int_rn(d[i] * 0.5f), q = __float2int_rn(d[i + 1] * 0.5f);\n"
            "    *(uint16_t*)(c + r * N + n) = (uint16_t)((p & 255) | ((q & 255) << 8));",
        ),
    ),
    "scales of 128 rows": (("sa[r]", "sa[r / 128]"),),
    "a bias of each matrix of a batch": (("sb[n]", "sb[blockIdx.z * N + n]"),),
    "elements of each matrix of a batch": (("sa[r]", "sa[(blockIdx.z * M + r) * N + n]"),),
    "a factor of some by fmaf": (("sa[r] * sb[n] * d[i]", "i % 2 ? fmaf(K, d[i], 0.f) : K * d[i]"),),
    "exchanged blocks": (("blockIdx.y * 32", "blockIdx.x * 32"), ("blockIdx.x * 8", "blockIdx.y * 8")),
    "columns of tiles that z counts": (
        ("row = blockIdx.y * 32", "row = (blockIdx.z % 2 ? gridDim.y - 1 - blockIdx.y : blockIdx.y) * 32"),
        ("int col = blockIdx.x", "int col = (blockIdx.z * gridDim.x + blockIdx.x)"),
        ("blockIdx.z * M * K + ", ""),
        ("blockIdx.z * N * K + ", ""),
        (" + blockIdx.z * M * N", ""),
    ),
    "K split over blocks": (
        ("blockIdx.z * M * K", "blockIdx.z * (K / 2)"),
        ("blockIdx.z * N * K", "blockIdx.z * (K / 2)"),
        ("k < K / 32", "k < K / 2 / 32"),
        (" + blockIdx.z * M * N", ""),
        ("c[r * N + n] = sa[r] * sb[n] * d[i]", "atomicAdd(&c[r * N + n], float(d[i]))"),
    ),
}
MULTIPLIED, NAME = "multiply(d", "gemm"  # where it is: at the call of the product, or at the kernel's name
OPEN = {
    "half of K": (("k < K / 32", "k < K / 64"), "sum over each", MULTIPLIED),
    "an endless loop that ends after half of K": (
        ("int k = 0; k < K / 32; ++k) {", "int k = 0;; ++k) {\n    if (k == K / 64) break;"),
        "sum over each",
        MULTIPLIED,
    ),
    "a number for a pitch": (("c[r * N + n]", "c[r * 4096 + n]"), "row and column", "c[r * 4096"),
    "the batch of another matrix": (("blockIdx.z * M * K", "blockIdx.z * M * N"), "different k", MULTIPLIED),
    "blocks that store nothing": (
        ("float* c =", "if (blockIdx.x % 2) return;\n  float* c ="),
        "stored",
        "asm volatile",
    ),
    "A of the first batch only": (("blockIdx.z * M * K + ", ""), "of one matrix that the block chooses", "c[r * N"),
    "A times A": (("b = B +", "b = A +"), "both operands are loaded from A", MULTIPLIED),
    "the scale of the next column": (("sb[n]", "sb[n + 1]"), "elements of sb", NAME),
    "rows that are not stored": (
        ("i < 4; ++i) {\n    const", "i < 2; ++i) {\n    const"),
        "where 64 of the elements",
        "asm volatile",
    ),
    "a register that nothing sets": (("i < 4; ++i) x", "i < 3; ++i) x"), "nothing sets this register of A", "a[3]"),
    "a register of unknown value": (("multiply(d, x", "x[1] = hash(k);\n    multiply(d, x"), "is known of", "a[1]"),
    "accumulators that memset sets in part": (("d[4] = {};", "d[4]; memset(d, 0, 8);"), "nothing is known", "asm"),
    "accumulators that std::fill sets to 1": (("d[4] = {};", "d[4]; std::fill(d, d + 4, 1);"), "other than 0", "asm"),
    "an accumulator of 1": (("d[4] = {}", "d[4] = {0, 1}"), "numbers other than 0", "asm"),
    "accumulators from memory": (("d[4] = {};", "d[4]; for (int& x : d) x = A[g];"), "elements of A", "asm"),
    "accumulators of another function": (("d[4] = {};", "d[4]; begin(d);"), "values that are not known", "asm"),
    "one accumulator that is set again": (("multiply(d", "d[3] = 0;\n    multiply(d"), "several products", "asm"),
    "an accumulator that is halved after each product": (
        ("b + k * 32 + 16));\n  }", "b + k * 32 + 16));\n    d[2] = d[2] / 2;\n  }"),
        "after arithmetic",
        "asm",
    ),
    "1 more": (("sa[r] * sb[n] * d[i]", "d[i] + 1.f"), "a number is added", "d[i] + 1"),
    "a size more": (("sa[r] * sb[n] * d[i]", "d[i] + K"), "a number is added", "d[i] + K"),
    "a size more in some": (("sa[r]", "(i == 1 ? d[i] + N : d[i])"), "added to only some", "d[i] + N"),
    "a factor of some": (("sa[r] * sb[n] * d[i]", "i % 2 ? K * d[i] : d[i]"), "factor of only some", "K * d[i]"),
    "the bias of another matrix": (("sb[n]", "sb[(blockIdx.z + 1) * N + n]"), "elements of sb", NAME),
    "5 more": (("  float* c =", "  for (int& x : d) x += 5;\n  float* c ="), "a number is added", "x += 5"),
    "columns that are multiplied by 0": (
        ("sa[r] * sb[n] * d[i]", "d[i] * float(n % 8 < 4)"),
        "multiplied by 0",
        "d[i] * float",
    ),
    "a row of unknown place": (("c[r * N", "c[hash(r) * N"), "where it is stored", "c[hash"),
}


def list_points(*changes: tuple[str, str], text: str = KERNEL) -> list[tuple[str, str]]:
    """List (why D of the kernel with these changes is not known to be A·B, the text from that place on)."""
    text = plant(*changes, text=text)
    wrong, open_, _ = judge_results(text, {}, (), {"gemm"})
    assert not wrong
    return [(one.message, text[one.span[0] :]) for one in open_]


@for_each("changes", list(RIGHT.values()), ids=list(RIGHT), sample=5)
def test_a_product_that_is_right_is_not_open(changes: tuple[tuple[str, str], ...]) -> None:
    assert list_points(*changes) == []


ENDLESS = {  # bodies of for (;;), and whether a jump in them ends it
    "if (x) break;": True,
    "if (x) ++x; else { if (y) return; }": True,
    "for (;;) return;": True,
    "switch (x) { case 1: return; }": True,
    "for (;;) break;": False,
    "while (x) { if (y) break; }": False,
    "switch (x) { case 1: break; }": False,
    "auto f = [] { return 1; };": False,
    "++x; // break": False,
    "continue;": False,
}


@for_each(("body", "left"), list(ENDLESS.items()))
def test_only_its_own_break_or_a_return_ends_an_endless_loop(body: str, left: bool) -> None:
    ((function,),) = parse_program(f"void f() {{ for (;;) {{ {body}\n}} }}", ())
    loop = next(node for node in walk_nodes(function) if isinstance(node, Loop))  # the outermost one
    assert is_left_by_jumps(loop) == left


def test_an_endless_loop_that_asm_ends_is_not_run_to_the_last_step() -> None:
    inner = 'int k = 0;; ++k) {\n    for (int i = 0; i < 2; ++i) if (i > 8) break;\n    if (sa[k] < 0) asm("exit;");'
    found = check_whole(plant(("int k = 0; k < K / 32; ++k) {", inner), text=KERNEL) + LAUNCH)
    (note,) = (point.message for point in found.open if "A·B" in point.message)
    assert "sum over each" in note


@for_each(("change", "why", "place"), list(OPEN.values()), ids=list(OPEN), sample="why")
def test_what_is_not_the_product_is_open_where_it_is_seen(change: tuple[str, str], why: str, place: str) -> None:
    ((message, at),) = list_points(change)
    assert why in message and at.startswith(place)


CONVERTED = plant(  # A is converted to half from elements of another width
    ("i < TM * TK / 8;", "i < TM * TK;"),
    (
        "*(uint4*)&sa[i / 4 * LDA + i % 4 * 8] = *(const uint4*)&A[(size_t)(m0 + i / 4) * K + t * TK + i % 4 * 8];",
        "sa[i / TK * LDA + i % TK] = __float2half(A[(size_t)(m0 + i / TK) * K + t * TK + i % TK]);",
    ),
    text=WMMA.partition("void run")[0],
)


@for_each("element", ["int8_t", "float"], sample=1)
def test_a_matrix_may_have_elements_of_another_width_in_memory(element: str) -> None:
    text = plant(("const half* A", f"const {element}* A"), text=CONVERTED)
    assert list_points(text=text) == []
    ((message, _),) = list_points(("(m0 + i / TK) * K", "(m0 + i / TK) * N"), text=text)
    assert "not all operands of its products are rows of A" in message
    ((message, _),) = list_points(("t * TK + i % TK]", "t * TK + (i ^ 1) % TK]"), text=text)
    assert "different k" in message


def test_tall_tiles_of_an_unknown_grid_are_inside_the_matrices() -> None:
    assert list_points(("bounds__(64)", "bounds__(1024)"), ("blockIdx.y * 32", "blockIdx.y * 512")) == []


def test_blocks_that_compute_tiles_of_others_again_are_open() -> None:
    alone = [(f"{name} + blockIdx.z * {sizes} + ", f"{name} + ") for name, sizes in (("A", "M * K"), ("B", "N * K"))]
    ((message, at),) = list_points(*alone, (" + blockIdx.z * M * N", " + (blockIdx.z > 8)"))
    assert "block (0, 0, 1), A, B and D are not of one matrix that the block" in message and at.startswith(NAME)
    ((message, _),) = list_points(
        *alone, (" + blockIdx.z * M * N", ""), ("blockIdx.x * 8", "(blockIdx.z * gridDim.y + blockIdx.x) * 8")
    )
    assert "each once" in message


def test_a_leading_dimension_that_the_host_is_given_may_be_any() -> None:
    text = plant(("int K)", "int K, int ldb)"), ("(col + g) * K", "(col + g) * ldb"), text=KERNEL)
    launch = plant(("int K)", "int K, int ldb)"), ("M, N, K);", "M, N, K, ldb);"), text=LAUNCH)
    assert check_whole(text + launch).open == ()


LAUNCHED_TILES = """
template <int ROWS, int STEP> void launch(const int8_t* A, const int8_t* B, float* C, int M, int N, int K) {
  gemm<ROWS, STEP><<<dim3(N / 8, M / ROWS), ROWS * 2>>>(A, B, C, nullptr, nullptr, M, N, K);
}
void run(const int8_t* A, const int8_t* B, float* C, int M, int N, int K, bool tall) {
  if (tall) launch<64, 64>(A, B, C, M, N, K); else launch<32, 32>(A, B, C, M, N, K);
}
"""


OTHER_NAMES = {"M": "rows", "N": "cols", "K / 32": "words / 8", "int K": "int words", "K": "(4 * words)"}


def test_a_size_that_the_host_computes_from_k_is_known() -> None:
    """The kernel's rows, columns and words of 4 elements are those of the host's grid, and K / 4."""
    kernel = KERNEL
    for name, other in OTHER_NAMES.items():
        kernel = re.sub(rf"\b{name}\b", other, kernel)
    text = kernel + plant(("M, N, K);", "M, N, K / 4);"), text=LAUNCH)
    assert check_whole(text).open == ()
    wrong = plant(("words / 8", "words / 4"), text=text)
    assert [point.message for point in check_whole(wrong).open if "none of its parameters is called" in point.message]


def test_launches_of_other_tiles_have_grids_of_their_own() -> None:
    tiles = (
        ("__global__ void __launch_bounds__(64)", "template <int ROWS, int STEP> __global__ void"),
        ("blockIdx.y * 32", "blockIdx.y * STEP"),
    )
    text = plant(*tiles, text=KERNEL) + LAUNCHED_TILES
    assert check_whole(text).open == ()
    (point,) = check_whole(plant(("launch<64, 64>", "launch<64, 32>"), text=text)).open  # blocks share rows
    assert "each once" in point.message


def test_a_search_for_the_cause_that_takes_too_long_leaves_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_error(*_: object) -> None:
        raise OverdueError

    monkeypatch.setattr(known_products.KnownJudge, "_find_edit", raise_error)
    change, why, place = OPEN["half of K"]
    ((message, at),) = list_points(change)
    assert why in message and at.startswith(place)


def test_a_pointer_called_k_is_no_size() -> None:
    """As in attention, whose depth is a constant: the kernel is not run with the usual K."""
    constant = re.sub(r"\bK\b", "64", KERNEL.replace(", int K)", ")"))
    [(message, _)] = list_points(text=re.sub(r"\bsb\b", "k", constant))
    assert message.endswith("none of its parameters is called K.")


def test_a_loop_without_turns_is_open() -> None:
    [(message, _)] = list_points(("k < K / 32", "k < K % 32"))
    assert message.endswith("a run with K = 384 executes no product: `k < K % 32` has no iterations.")


# sums of f16 in two registers, which are stored as pairs
PAIRS = """#include <cuda_fp16.h>
__global__ void __launch_bounds__(32) gemm(const half* A, const half* B, half* C, int M, int N, int K) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const half *a = A + (blockIdx.y * 16 + g) * K + t * 2, *b = B + (blockIdx.x * 8 + g) * K + t * 2;
  uint32_t d[2] = {};
  half (&h)[4] = reinterpret_cast<half (&)[4]>(d);
  for (int k = 0; k < K; k += 16) {
    uint32_t x[4], y[2];
    for (int i = 0; i < 4; ++i) x[i] = *reinterpret_cast<const uint32_t*>(a + i % 2 * 8 * K + k + i / 2 * 8);
    for (int i = 0; i < 2; ++i) y[i] = *reinterpret_cast<const uint32_t*>(b + k + i * 8);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
        : "+r"(d[0]), "+r"(d[1]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  }
  for (int i = 0; i < 4; ++i) h[i] = h[i] * half(2.f);
  half* c = C + (blockIdx.y * 16 + g) * N + blockIdx.x * 8 + t * 2;
  for (int i = 0; i < 2; ++i) *reinterpret_cast<uint32_t*>(c + i * 8 * N) = d[i];
}
"""
FLOATS = ("half* C", "float* C"), ("half* c =", "float* c =")
SINGLE = "for (int i = 0; i < 2; ++i) *reinterpret_cast<uint32_t*>(c + i * 8 * N) = d[i];"


@for_each(
    "changes",
    [
        (),
        ((SINGLE, "for (int i = 0; i < 4; ++i) c[i / 2 * 8 * N + i % 2] = h[i];"),),
        (
            *FLOATS,
            (
                SINGLE,
                "for (int i = 0; i < 4; ++i) {half2 v = *(half2*)&d[i / 2];\n    c[i / 2 * 8 * N + i % 2] = "
                "i % 2 ? __high2float(v) : __low2float(v); }",
            ),
        ),
        (*FLOATS, (SINGLE, "for (int i = 0; i < 4; ++i) c[i / 2 * 8 * N + i % 2] = __half2float(h[i]);")),
    ],
)
def test_sums_of_16_bits_are_stored_as_pairs_or_one_by_one(changes: tuple[tuple[str, str], ...]) -> None:
    assert list_points(*changes, text=PAIRS) == []


@for_each(("first", "codes"), [(0, []), (1, ["accumulator_unset"])])
def test_all_bytes_of_the_accumulators_are_set(first: int, codes: list[str]) -> None:
    zeros = f"(d);\n  for (int i = {first}; i < 4; ++i) h[i] = 0;\n"
    assert [code for code, _ in list_wrong(plant(("d[2] = {};", "d[2];"), ("(d);\n", zeros), text=PAIRS))] == codes


@for_each(
    ("kind", "opcode", "more", "codes"),
    [
        ("half", "f32.bf16.bf16.f32", "", ["element_type"]),
        ("__nv_bfloat16", "f32.f16.f16.f32", "", ["element_type"]),
        ("__nv_bfloat16", "f32.bf16.bf16.f32", "", []),
        ("uint16_t", "f32.bf16.bf16.f32", "", []),
        ("half", "f32.bf16.bf16.f32", "void pack(const __nv_bfloat16* x);\n", []),  # half carries its bits
        ("half", "f32.bf16.bf16.f32", "constexpr bool BF16 = true;\n", []),
        ("half", "f32.bf16.bf16.f32", "// the bits of bf16\n", []),
    ],
    sample="codes",
)
def test_the_arrays_have_the_type_that_is_multiplied(kind: str, opcode: str, more: str, codes: list[str]) -> None:
    text = TILED.replace("#include <cuda_fp16.h>\n", "").replace("half", kind).replace("f32.f16.f16.f32", opcode)
    assert [code for code, _ in list_wrong(text + more)] == codes


@for_each(
    ("kind", "opcode", "more", "codes"),
    [
        ("FLOAT16", "f32.bf16.bf16", "", ["element_type"]),
        ("BFLOAT16", "f32.f16.f16", "", ["element_type"]),
        ("FLOAT16", "f32.f16.f16", "", []),
        ("FLOAT16", "f32.bf16.bf16", "// the bits of bf16\n", []),
    ],
)
def test_the_tensor_maps_have_the_type_that_is_multiplied(kind: str, opcode: str, more: str, codes: list[str]) -> None:
    text = MAPPED.replace("__nv_bfloat16", "Element").replace("TYPE_BFLOAT16", f"TYPE_{kind}")
    report = check_whole(text.replace("f32.bf16.bf16", opcode) + more)
    assert [finding.code for finding in report.findings] == codes


def test_exchanged_pairs_are_not_stored_at_their_rows() -> None:
    assert "row and column" in list_points(("= d[i];", "= d[1 - i];"), text=PAIRS)[0][0]


@for_each(
    ("start", "why"),
    [
        ("{}", None),
        ("{1.f}", "numbers other than 0"),
        ("{}; memset(d, 255, 8)", "numbers other than 0"),
        ("{}; d[31] = A[0]", "elements of A"),
        ("{}; d[31] = 0", None),
    ],
    sample=2,
)
def test_sums_of_wgmma_begin_with_0(start: str, why: str | None) -> None:
    open_ = judge_results(plant(("d[32] = {}", f"d[32] = {start}"), text=GROUPS), {}, (), {"gemm"}).open
    assert [one.message.rpartition(" adds to ")[2] for one in open_] == ([f"{why}."] if why else [])


@for_each(("signs", "why"), [("1, 1", None), ("1, -1", "is subtracted"), ("-1, -1", None)], sample=2)
def test_products_of_wgmma_are_not_subtracted(signs: str, why: str | None) -> None:
    text = plant((", %33, 1, 1, 1,", f", %33, 1, {signs},"), text=GROUPS)
    open_ = judge_results(text, {}, (), {"gemm"}).open
    assert [why in one.message for one in open_] == ([True] if why else [])


def test_d_in_tensor_memory_is_open() -> None:
    changes = ("Sizes size, uint32_t d", "int M, int N, int K"), ('"r"(d)', '"r"(0)')
    sized = plant(*changes, text=TENSOR.replace("size.k", "K"))
    assert "tcgen05.ld loads" in judge_results(sized, {}, (), {"gemm"}).open[0].message
