"""Products of packed weights in the emulator: words, conversion, mma and mma.sp, against NumPy's product of W."""

from __future__ import annotations

import numpy as np

from lanescope.render.weights import render_weights
from lanescope.weights import sparse
from lanescope.weights.layout import packed_weights
from tests.cases import for_each
from tests.weight_kernels import needs_nvrtc, run_cuda

# A, B, C and D of m16n8k16 and the dense B of m16n8k32: PTX ISA 9.1, 9.7.14.5.8 and 9.7.14.6.2.2. Lane 4g + t.
MARLIN = """
__global__ void product(const unsigned* words, const unsigned* a, float* out) {
  const unsigned lane = threadIdx.x, g = lane / 4, t = lane % 4;
  Fragments b;
  load_fragments(words, lane, b);
  const unsigned a0 = a[8 * g + t], a1 = a[8 * (g + 8) + t], a2 = a[8 * g + t + 4], a3 = a[8 * (g + 8) + t + 4];
  for (unsigned i = 0; i < 8; ++i) {
    float d[4] = {};
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b[i][0]), "r"(b[i][1]));
    for (unsigned v = 0; v < 4; ++v) out[64 * (g + v / 2 * 8) + 8 * i + 2 * t + v % 2] = d[v];
  }
}"""
SPARSE = """
template <int SELECTOR>
__device__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[4], unsigned e) {
  asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7},"
      " {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, %13;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(e), "n"(SELECTOR));
}

// x: [8][32] halves, each row 16 words. metadata: as ldmatrix.x2 reads it, row r of a matrix at lane r's address.
__global__ void product(const unsigned* words, const unsigned* metadata, const unsigned* x, float* out) {
  const unsigned lane = threadIdx.x, g = lane / 4, t = lane % 4;
  __shared__ alignas(16) unsigned stored[64];
  stored[lane] = metadata[lane], stored[lane + 32] = metadata[lane + 32];
  __syncwarp();
  unsigned e[2];
  const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(stored + 4 * (lane % 16)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(e[0]), "=r"(e[1]) : "r"(row));
  const unsigned b[4] = {x[16 * g + t], x[16 * g + t + 4], x[16 * g + t + 8], x[16 * g + t + 12]};
  Fragments a;
  load_fragments(words, lane, a);
  for (unsigned j = 0; j < 4; ++j) {
    float d[4] = {};
    j % 2 ? multiply<1>(d, a[j], b, e[j / 2]) : multiply<0>(d, a[j], b, e[j / 2]);
    for (unsigned v = 0; v < 4; ++v) out[64 * (2 * t + v % 2) + 8 * g + 4 * (v / 2) + j] = d[v];
  }
}"""


@needs_nvrtc
@for_each("bits", [4, 8])
def test_marlins_tile_is_multiplied(bits: int) -> None:
    layout, rng = packed_weights("marlin", bits=bits), np.random.default_rng(bits)
    weights = rng.integers(0, 1 << bits, (16, 64))
    a = rng.integers(-4, 5, (16, 16)).astype(np.float16)
    source = render_weights(layout)["fragments"] + MARLIN
    out = np.empty((16, 64), np.uint32)
    words = layout.pack(weights)
    given = run_cuda(source, "product", 32, ["words", "a", "out"], out, words=words, a=a.view(np.uint32))
    assert (given.view(np.float32).reshape(out.shape) == a.astype(np.float32) @ (weights - (1 << bits - 1))).all()


@needs_nvrtc
@for_each("bits", [4, 8])
def test_sparse_marlins_tile_is_multiplied_with_its_metadata(bits: int) -> None:
    """The transposed product: W' (n, k) is A, and activations x (n of mma, k) are B."""
    layout, rng = packed_weights("sparse-marlin", bits=bits), np.random.default_rng(bits)
    zero = 1 << bits - 1
    pruned = np.argsort(rng.random((8, 4, 64)), axis=1).reshape(32, 64) < 2
    dense = np.where(pruned, zero, rng.integers(0, 1 << bits, (32, 64)))
    kept, metadata = sparse.compress_weights(layout, dense, zero)
    x = rng.integers(-4, 5, (8, 32)).astype(np.float16)
    arrays = {"words": layout.pack(kept), "metadata": metadata, "x": x.view(np.uint32)}
    source = render_weights(layout)["fragments"] + SPARSE
    out = np.empty((8, 64), np.uint32)
    given = run_cuda(source, "product", 32, [*arrays, "out"], out, **arrays)
    assert (given.view(np.float32).reshape(out.shape) == x.astype(np.float32) @ (dense - zero)).all()
