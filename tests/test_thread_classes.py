"""Kernels whose tiles and accumulators are objects: constructors, temporaries, and templates of member functions."""

from __future__ import annotations

import re

import pytest

from lanescope.workbench.products.result_judge import judge_results
from tests.cases import for_each
from tests.checked import check_whole
from tests.known_kernels import KERNEL as KNOWN, LAUNCH, TILED
from tests.test_barrier_protocol import FLIP, RIGHT as RING, find_lines
from tests.thread_tile_kernels import KERNEL
from tests.transfer_kernels import plant

FILL = TILED[TILED.index("    for (int i = tid;") : TILED.index("    __syncthreads();")]
CLASSES = plant(
    (
        KERNEL,
        """template <class T, int ROWS, int COLS>
class Tile {
 public:
  __device__ explicit Tile(T* shared) : base(shared) {}
  template <int THREADS>
  __device__ void load(const T* from, int ld, int tid) const {
    for (int i = tid; i < ROWS * COLS / 8; i += THREADS) {
      int r = i / (COLS / 8), c = i % (COLS / 8) * 8;
      *reinterpret_cast<uint4*>(&base[r * PITCH + c]) = *reinterpret_cast<const uint4*>(&from[r * ld + c]);
    }
  }

 private:
  T* base;
};
struct Sum {
  float v[4];
  __device__ explicit Sum() : v{0.f, 0.f} {}
};
"""
        + KERNEL,
    ),
    ("float acc[8][4] = {};", "using TileA = Tile<half, BM, BK>;\n  using TileB = Tile<half, BN, BK>;\n  Sum acc[8];"),
    (
        FILL,
        """    TileA(As).template load<128>(A + blockIdx.y * BM * K + k0, K, tid);
    const TileB b_tile(Bs);
    b_tile.template load<128>(B + blockIdx.x * BN * K + k0, K, tid);
""",
    ),
    ("mma16816(acc[n], a, b)", "mma16816(acc[n].v, a, b)"),
    ("= acc[n][e]", "= acc[n].v[e]"),
    text=TILED,
)


@for_each(
    ("change", "why"),
    [
        (("private:", "public:"), ""),
        (("float v[4];\n  __device__ explicit Sum() : v{0.f, 0.f} {}", "float v[4] = {};"), ""),
        (("v{0.f, 0.f}", "v{0.f, 1.f}"), "numbers other than 0"),
        (("explicit Sum() : v{0.f, 0.f} {}", "explicit Sum() {}"), "nothing is known to have written"),
        (("TileA(As).template load<128>", "TileA(As).template load<64>"), ""),  # twice the same rows
        (("b_tile.template load<128>", "b_tile.template load<256>"), "elements of one are not known"),  # half of them
    ],
    sample=2,
)
def test_objects_are_constructed_and_their_templates_called(change: tuple[str, str], why: str) -> None:
    found, open_, _ = judge_results(plant(change, text=CLASSES), {}, (), {"gemm"})
    assert [why in one.message for one in (*open_, *found)] == [True] * bool(why)


TILE = "struct Tile { int row, col; };\n__device__ Tile place() { return {(int)blockIdx.y, (int)blockIdx.x}; }\n"
PLACED = "(blockIdx.y * BM + warp * 16 + lane / 4) * N + blockIdx.x * BN"


@for_each(
    ("head", "code"),
    [
        (TILE, "auto [row, col] = place();"),
        (TILE, "Tile at = place(); auto other = at; other.row = 7; int row = at.row, col = at.col;"),  # a copy
        (TILE.replace("return {", "return Tile{"), "const Tile at = place(); int row = at.row, col = at.col;"),
        (
            "__device__ std::tuple<int, int> place() { return {blockIdx.y, blockIdx.x}; }\n",
            "auto [row, col] = place();",
        ),
        (
            "__device__ auto place() { return std::make_tuple(blockIdx.y, blockIdx.x); }\n",
            "auto at = place(); int row = std::get<0>(at), col = std::get<1>(at);",
        ),
        (
            "__device__ auto place() { return cuda::std::make_pair(int(blockIdx.y), int(blockIdx.x)); }\n",
            "const auto at = place(); int row = at.first, col = at.second;",
        ),
        (
            "",
            "auto place = [&](int y) -> std::tuple<int, int> { int x = blockIdx.x; return {y, x}; };\n"
            "  auto [row, col] = place(blockIdx.y);",
        ),
        ("", "int at[2] = {(int)blockIdx.y, (int)blockIdx.x};\n  auto& [row, col] = at;"),
        ("", "int n = CEIL_DIV(N, BN), at = blockIdx.y * n + blockIdx.x, row = at / n, col = at % n;"),  # of no header
    ],
    sample=1,
)
def test_several_results_of_a_function_are_known(head: str, code: str) -> None:
    placed = PLACED.replace("blockIdx.y", "row").replace("blockIdx.x", "col")
    text = plant((KERNEL, head + KERNEL), ("  float* c = ", f"  {code}\n  float* c = "), (PLACED, placed), text=TILED)
    assert judge_results(text, {}, (), {"gemm"}).open == []
    wrong = text.replace("col * BN", "row * BN")
    (point,) = judge_results(wrong, {}, (), {"gemm"}).open
    assert "not stored at their row and column" in point.message


def test_a_kernel_may_call_an_object() -> None:
    """As the kernels of CUTLASS do, whose operator() multiplies."""
    parameters = (
        "const int8_t* A, const int8_t* B, float* C, const float* sa,\n    const float* sb, int M, int N, int K"
    )
    text = plant(
        (
            f"__global__ void __launch_bounds__(64) gemm({parameters}) {{",
            f"struct Gemm {{\n  __device__ void operator()({parameters}) const {{",
        ),
        text=KNOWN,
    )
    head = f"}};\n__global__ void __launch_bounds__(64) gemm({parameters}) {{"
    kernel = f"{head} Gemm op; op(A, B, C, sa, sb, M, N, K); }}\n"
    report = check_whole(text + kernel + LAUNCH)
    assert [(one.name, one.gap) for one in report.kernels] == [("gemm", "")] and not report.open
    wrong = check_whole(plant(("c[r * N + n]", "c[r * M + n]"), text=text) + kernel + LAUNCH)
    assert wrong.findings or wrong.open


STEP = "if (++q == STAGES) { q = 0; phase ^= 1; }"
PREFIX = "__device__ State& operator++() { " + STEP + " return *this; }\n"


@pytest.mark.thorough
@for_each(
    ("operators", "step"),
    [
        (f"__device__ void operator++(int) {{ {STEP} }}", "s_++"),
        (PREFIX + "__device__ State operator++(int) { State old = *this; ++(*this); return old; }", "s_++"),
        (PREFIX + "__device__ State operator++(int) { auto old = *this; operator++(); return old; }", "s_++"),
        (PREFIX + "__device__ void advance(int n) { for (int i = 0; i < n; ++i) ++*this; }", "s_.advance(1)"),
        (PREFIX + "__device__ void advance() { this->operator++(); }", "++s_"),
    ],
    sample=2,
)
def test_the_state_of_a_pipeline_may_be_an_object(operators: str, step: str) -> None:
    """An operator may be void, and call another one for its own object."""
    state = f"struct State {{ int q = 0, phase = 0;\n{operators} }};\n__global__"
    declared = ("q = 0, phase = 0;\n  if (thr", "x;\n  State s_;\n  if (thr")
    text = plant(("__global__", state), declared, text=RING.replace(FLIP, step + ";"))
    for name in ("q", "phase"):
        head, kernel = text.split("__launch_bounds__")
        text = head + "__launch_bounds__" + re.sub(rf"\b{name}\b", f"s_.{name}", kernel)
    report = check_whole(text)
    assert (report.findings, report.unverified, report.steps > 0) == ((), (), True)
    assert find_lines(text.replace("phase ^= 1;", "")) != []
