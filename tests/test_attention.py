"""O of attention kernels that are run with numbers: it is softmax(Q·Kᵀ)·V, or a statement is certainly wrong."""

from __future__ import annotations

from lanescope.reader.threads.memory.number_tape import find_function
from lanescope.workbench.products.product_report import ProductReport
from lanescope.workbench.products.result_judge import judge_results
from tests.cases import for_each
from tests.checked import check_whole
from tests.known_kernels import KERNEL as PROJECTION
from tests.transfer_kernels import plant

KERNEL = """#include <cuda_fp16.h>
#include <cstdint>
__device__ void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ uint32_t pack(float x, float y) {
  half2 both = __floats2half2_rn(x, y);
  return *reinterpret_cast<uint32_t*>(&both);
}
__device__ void take(uint32_t (&r)[2], const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
      : "=r"(r[0]), "=r"(r[1]) : "r"((uint32_t)__cvta_generic_to_shared(row)));
}
constexpr int D = 16, BC = 16;
__global__ void attend(const half* Q, const half* K, const half* V, half* O, int heads, int seq_len) {
  __shared__ half v[BC][D];
  const int lane = threadIdx.x, g = lane / 4, t = lane % 4, q0 = blockIdx.x * 16;
  const int first = blockIdx.y * seq_len * D;
  Q += first; K += first; V += first; O += first;
  uint32_t q[4];
  for (int i = 0; i < 4; ++i)
    q[i] = *reinterpret_cast<const uint32_t*>(Q + (q0 + g + i % 2 * 8) * D + i / 2 * 8 + t * 2);
  float o[D / 8][4] = {}, m[2] = {-INFINITY, -INFINITY}, l[2] = {0.f, 0.f};
  for (int kv = 0; kv < seq_len; kv += BC) {
    __syncthreads();
    reinterpret_cast<uint4*>(&v[lane / 2][lane % 2 * 8])[0] =
        *reinterpret_cast<const uint4*>(V + (kv + lane / 2) * D + lane % 2 * 8);
    __syncthreads();
    float s[BC / 8][4] = {};
    for (int j = 0; j < BC / 8; ++j) {
      const half* k = K + (kv + j * 8 + g) * D + t * 2;
      uint32_t b[2] = {*reinterpret_cast<const uint32_t*>(k), *reinterpret_cast<const uint32_t*>(k + 8)};
      multiply(s[j], q, b);
    }
    for (int h = 0; h < 2; ++h) {
      float most = m[h], sum = 0.f;
      for (int j = 0; j < BC / 8; ++j) most = fmaxf(most, fmaxf(s[j][2 * h], s[j][2 * h + 1]) * 0.25f);
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
      const float factor = __expf(m[h] - most);
      for (int j = 0; j < BC / 8; ++j)
        for (int e = 2 * h; e < 2 * h + 2; ++e) {
          s[j][e] = __expf(s[j][e] * 0.25f - most);
          sum += s[j][e];
        }
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      l[h] = l[h] * factor + sum;
      m[h] = most;
      for (int n = 0; n < D / 8; ++n) {
        o[n][2 * h] *= factor;
        o[n][2 * h + 1] *= factor;
      }
    }
    uint32_t p[4];
    for (int i = 0; i < 4; ++i) p[i] = pack(s[i / 2][i % 2 * 2], s[i / 2][i % 2 * 2 + 1]);
    for (int n = 0; n < D / 8; ++n) {
      uint32_t b[2];
      take(b, &v[lane % 16][n * 8]);
      multiply(o[n], p, b);
    }
  }
  for (int n = 0; n < D / 8; ++n)
    for (int e = 0; e < 4; ++e)
      O[(q0 + g + e / 2 * 8) * D + n * 8 + t * 2 + e % 2] = __float2half(o[n][e] / l[e / 2]);
}
void run(const half* Q, const half* K, const half* V, half* O, int batch, int heads, int seq_len) {
  attend<<<dim3(seq_len / 16, batch * heads), 32>>>(Q, K, V, O, heads, seq_len);
}
"""
_MASK = """    for (int j = 0; j < BC / 8; ++j)
      for (int e = 0; e < 4; ++e)
        if (kv + j * 8 + t * 2 + e % 2 > q0 + g + e / 2 * 8) s[j][e] = -INFINITY;
"""
_SCALE = "    for (int h = 0; h < 2; ++h) {\n      float most"
_MAXIMUM = "most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));"

RIGHT: dict[str, tuple[tuple[str, str], ...]] = {
    "as it is": (),
    "one maximum for all rows of a warp": (
        (_MAXIMUM, _MAXIMUM + " for (int x = 4; x < 32; x *= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, x));"),
    ),
    "causal": ((_SCALE, _MASK + _SCALE),),
    "heads beside each other": (
        ("blockIdx.y * seq_len * D", "(blockIdx.y / heads * seq_len * heads + blockIdx.y % heads) * D"),
        ("(q0 + g + i % 2 * 8) * D", "(q0 + g + i % 2 * 8) * heads * D"),
        ("(kv + lane / 2) * D", "(kv + lane / 2) * heads * D"),
        ("(kv + j * 8 + g) * D", "(kv + j * 8 + g) * heads * D"),
        ("(q0 + g + e / 2 * 8) * D", "(q0 + g + e / 2 * 8) * heads * D"),
    ),
}
_COMBINED, _ADDED = "of rows 0 and 8 of Q are combined", "multiply(o[n], p, b)"
WRONG: dict[str, tuple[tuple[str, str], str, str]] = {  # change, what is reported, in which line
    "the factor of another row": (("[2 * h + 1] *= factor", "[3 - 2 * h] *= factor"), _COMBINED, "o[n][3 - 2 * h]"),
    "the sum of another row": (("/ l[e / 2]", "/ l[e % 2]"), _COMBINED, "l[e % 2]"),
    "a sum of the last maximum": (("l[h] * factor + sum", "l[h] + sum"), "divided by the sum", "l[h] + sum"),
    "O of the last maximum": (
        ("o[n][2 * h] *= factor;\n        o[n][2 * h + 1] *= factor;", ""),
        "P·V of some keys is added",
        _ADDED,
    ),
    "V of the first keys": (
        ("(kv + lane / 2) * D", "lane / 2 * D"),
        "P of row 16 of K meets row 0",
        "V + lane",
    ),
    "rows of O": (("O[(q0 + g + e / 2 * 8)", "O[(g + e / 2 * 8)"), "is stored at row", "O[(g"),
}


def judge(text: str) -> ProductReport:
    return judge_results(text, {}, (), {"attend"})


@for_each("changes", RIGHT.values(), ids=list(RIGHT), sample=1)
def test_right_kernel_is_proved(changes: tuple[tuple[str, str], ...]) -> None:
    report = check_whole(plant(*changes, text=KERNEL))
    assert (report.findings, report.open) == ((), ())


@for_each("change, message, line", WRONG.values(), ids=list(WRONG), sample=2)
def test_wrong_statement_is_found(change: tuple[str, str], message: str, line: str) -> None:
    text = plant(change, text=KERNEL)
    (found,) = judge(text).mistakes
    assert found.code == "attention_mismatch" and message in found.message
    start = text.rfind("\n", 0, found.span[0])
    assert line in text[start : text.find("\n", found.span[1])]


OTHER = ["s[0][0] += 0.5f * g;", "if (kv > q0 + 64) continue;", "s[1][3] = fminf(s[1][3], 0.f);"]


@for_each("statement", OTHER, sample=1)
def test_other_function_of_scores_is_open(statement: str) -> None:
    """A kernel with a bias, or with some keys, may be right."""
    report = judge(plant((_SCALE, f"    {statement}\n" + _SCALE), text=KERNEL))
    assert report.mistakes == []
    assert [one.message for one in report.open if "softmax" in one.message]


_STORE = "O[(q0 + g + e / 2 * 8)"
PARTS = {
    "columns": ("for (int n = 0; n < D / 8; ++n)\n    for (int e", "for (int n = 0; n < 1; ++n)\n    for (int e"),
    "rows": (_STORE, "if (e < 2) " + _STORE),
    "lanes": (_STORE, "if (lane < 16) " + _STORE),
    "first rows": (_STORE, "if (blockIdx.x > 0) " + _STORE),
    "another function": ("__expf(s", "exp10f(s"),
}


@for_each("change", PARTS.values(), ids=list(PARTS), sample=1)
def test_part_of_output_is_open(change: tuple[str, str]) -> None:
    report = judge(plant(change, text=KERNEL))
    assert report.mistakes == []
    assert [one.message for one in report.open if "softmax" in one.message]


@for_each("name", ["exp10f", "log10f", "log1pf", "atanhf", "__hadd_sat", "add.sat.f32", "fma.rn.relu.f16", "<<"])
def test_other_functions_are_not_taken_for_known_ones(name: str) -> None:
    assert not any(find_function(name, count) for count in (1, 2, 3))


@for_each("name", ["__expf", "fmaxf", "__fdividef", "__hfma2_rn", "h2exp2", "__frcp_rn", "hexp2", "ex2.approx.f16x2"])
def test_functions_are_known_by_all_their_names(name: str) -> None:
    assert any(find_function(name, count) for count in (1, 2, 3))


def test_a_projection_to_q_k_and_v_is_no_attention() -> None:
    """It stores to them: its D is compared with A·B."""
    text = plant(
        ("float* C,", "float* q, float* k, float* v,"),
        ("float* c = C +", "float* c = (blockIdx.y ? k : q) +"),
        ("int d[4] = {};", "int d[4] = {};\n  v[0] = 0;"),
        text=PROJECTION,
    )
    assert judge_results(text, {}, (), {"gemm"}) == ([], [], {"gemm": False})
