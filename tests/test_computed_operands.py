"""Operands that threads compute from D of an earlier product: P of attention, hidden layers, gradients."""

from __future__ import annotations

from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from tests.cases import for_each
from tests.transfer_kernels import plant

# one warp: 16 queries, tiles of 16 keys, a head of 16
ATTENTION = r"""#include <cuda_fp16.h>
__device__ void load(unsigned (&r)[4], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
    : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"((unsigned)__cvta_generic_to_shared(p)));
}
__device__ void load_t(unsigned (&r)[4], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
    : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"((unsigned)__cvta_generic_to_shared(p)));
}
__device__ void mma(float* d, const unsigned* a, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ unsigned pack(float x, float y) { half2 h = __floats2half2_rn(x, y); return *(unsigned*)&h; }
__global__ void __launch_bounds__(32) attend(const half* Q, const half* K, const half* V, half* O, int len, float w) {
  __shared__ half Qs[16][24], Ks[16][24], Vs[16][24];
  const int lane = threadIdx.x, r = lane / 2, c = lane % 2 * 8;
  *(uint4*)&Qs[r][c] = *(const uint4*)&Q[(blockIdx.x * 16 + r) * 16 + c];
  float o[2][4] = {}, m[2] = {-INFINITY, -INFINITY}, l[2] = {};
  for (int kv = 0; kv < len; kv += 16) {
    *(uint4*)&Ks[r][c] = *(const uint4*)&K[(kv + r) * 16 + c];
    *(uint4*)&Vs[r][c] = *(const uint4*)&V[(kv + r) * 16 + c];
    __syncthreads();
    float s[2][4] = {};
    unsigned a[4], b[4], v[4];
    load(a, &Qs[lane % 16][lane / 16 * 8]);
    load(b, &Ks[lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8]);
    mma(s[0], a, b[0], b[1]);
    mma(s[1], a, b[2], b[3]);
    for (int h = 0; h < 2; ++h) {
      float best = m[h], sum = 0.f;
      for (int j = 0; j < 2; ++j) best = fmaxf(best, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 2));
      const float old = __expf((m[h] - best) * w);
      for (int j = 0; j < 2; ++j)
        for (int e = 2 * h; e < 2 * h + 2; ++e) {
          sum += s[j][e] = __expf((s[j][e] - best) * w);
          o[j][e] *= old;
        }
      l[h] = l[h] * old + sum;
      m[h] = best;
    }
    unsigned p[4] = {pack(s[0][0], s[0][1]), pack(s[0][2], s[0][3]),
                     pack(s[1][0], s[1][1]), pack(s[1][2], s[1][3])};
    load_t(v, &Vs[lane % 16][lane / 16 * 8]);
    mma(o[0], p, v[0], v[1]);
    mma(o[1], p, v[2], v[3]);
    __syncthreads();
  }
  for (int j = 0; j < 2; ++j)
    for (int e = 0; e < 4; ++e)
      O[(blockIdx.x * 16 + lane / 4 + e / 2 * 8) * 16 + j * 8 + lane % 4 * 2 + e % 2] = __float2half(o[j][e]);
}
"""
ELEMENTS = "for (int e = 2 * h; e < 2 * h + 2; ++e) {"


def check(*edits: tuple[str, str]) -> tuple[list[tuple[str, str]], bool]:
    """Return (code and blamed text of each finding, whether all fragments have a verdict)."""
    text = plant(*edits, text=ATTENTION)
    report = check_thread_tiles(text, {})
    return [(found.code, text[slice(*found.span)]) for found in report.findings], not report.kernels[0].gap


@for_each(
    ("old", "new"),
    [
        ("__expf((s[j][e] - best) * w)", "exp2f(fmaf(s[j][e], w, -best * w))"),
        ("const int lane", "const int lane"),
        (
            ELEMENTS,
            ELEMENTS + "\n          s[j][e] = kv + j * 8 + e % 2 > blockIdx.x * 16 + lane ? -INFINITY : s[j][e];",
        ),
        (ELEMENTS, ELEMENTS + "\n          if (kv + j * 8 + e % 2 > blockIdx.x * 16 + lane) s[j][e] = -INFINITY;"),
        (ELEMENTS, ELEMENTS + "\n          s[j][e] += __half2float(Q[(kv + e) * 16 + lane]);"),  # a bias
        ("half2 h = __floats2half2_rn(x, y);", "half2 h = __float22half2_rn({x, y});"),
        (
            "half2 h = __floats2half2_rn(x, y); return *(unsigned*)&h;",
            'unsigned h; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(y), "f"(x)); return h;',
        ),
    ],
    sample=1,
)
def test_an_elementwise_function_of_d_is_verified_as_a(old: str, new: str) -> None:
    assert check((old, new)) == ([], True)


@for_each(
    ("old", "new", "code", "blamed"),
    [
        ("pack(s[0][2], s[0][3]),\n", "pack(s[1][2], s[1][3]),\n", "fragment_mismatch", "pack(s[1][2], s[1][3])"),
        ("pack(s[0][0], s[0][1])", "pack(s[0][0], s[0][2])", "fragment_mismatch", "pack(s[0][0], s[0][2])"),
        ("pack(s[0][2], s[0][3])", "pack(s[0][3], s[0][2])", "fragment_mismatch", "pack(s[0][3], s[0][2])"),
        ("load_t(v", "load(v", "trans_or_exchanged", "&Vs[lane % 16][lane / 16 * 8]"),
    ],
    sample=2,
)
def test_wrong_orders_of_the_registers_of_d_are_found(old: str, new: str, code: str, blamed: str) -> None:
    assert check((old, new)) == ([(code, blamed)], True)


HALF_MMA = """__device__ void multiply(unsigned* d, const unsigned* a, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
    : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ unsigned pack"""
HALVES = plant(("__device__ unsigned pack", HALF_MMA), ("float s[2][4]", "unsigned s[2][2]"), text=ATTENTION)
HALVES = HALVES[: HALVES.index("    for (int h")] + HALVES[HALVES.index("    load_t(v, &") :]
HALVES = HALVES.replace("mma(s[", "multiply(s[")
DIRECT = """asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%0,%1,%2,%3}}, {{%4,%5,%6,%7}}, "
      "{{%8,%9}}, {{%0,%1,%2,%3}};" : "+f"(o[{0}][0]), "+f"(o[{0}][1]), "+f"(o[{0}][2]), "+f"(o[{0}][3])
      : "r"(s[0][0]), "r"(s[0][1]), "r"(s[1][0]), "r"(s[1][1]), "r"(v[{1}]), "r"(v[{1} + 1]))"""
HALVES = plant(*((f"mma(o[{n}], p, v[{2 * n}], v[{2 * n + 1}])", DIRECT.format(n, 2 * n)) for n in (0, 1)), text=HALVES)


def test_registers_of_a_product_in_another_order_stand_where_the_next_one_takes_them() -> None:
    assert not check_thread_tiles(HALVES, {}).findings
    wrong = HALVES.replace('"r"(s[0][1]), "r"(s[1][0])', '"r"(s[1][0]), "r"(s[0][1])')
    found = check_thread_tiles(wrong, {}).findings
    assert {one.code for one in found} == {"fragment_mismatch"}
    assert all(wrong[slice(*one.span)].startswith("asm volatile") for one in found)
    assert all("+f" in wrong[slice(*one.span)] for one in found)  # the second product, not the one that set them


def test_d_that_is_exchanged_between_lanes_is_followed() -> None:
    moved = "__shfl_sync(~0u, s[j][e], {}) - best"
    assert check(("s[j][e] - best", moved.format("lane"))) == ([], True)
    assert check(("s[j][e] - best", moved.format("lane ^ 1")))[0][0][0] == "fragment_mismatch"  # columns
    assert check(("s[j][e] - best", moved.format("lane ^ 4"))) == ([], False)  # rows, which O may have


@for_each(
    ("old", "new"),
    [
        ("s[j][e] - best", "s[j][e] - s[j][e ^ 1]"),  # of two elements
        ("s[j][e] - best", "quad_transpose(s[j][e]) - best"),  # of a header that is not found
        ("V[(kv + r) * 16", "V[(kv + 1 + r) * 16"),  # V may begin after other rows than K
        ("V[(kv + r) * 16", "V[(kv + 16 + r) * 16"),
    ],
)
def test_other_values_than_elements_of_d_and_other_keys_of_v_stay_open(old: str, new: str) -> None:
    assert check((old, new)) == ([], False)


def test_v_of_another_pitch_is_not_compared_with_the_keys_of_p() -> None:
    wide = ("V[(kv + r) * 16", "V[(kv + 1 + r) * 32")
    assert check(wide) == ([], True)
