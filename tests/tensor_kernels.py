"""Right kernels with tcgen05 for tests that plant mistakes: warp 4 multiplies, warps 0 to 3 store the result."""

GEMM = r"""__device__ uint32_t shared(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ void init(uint64_t* bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(bar)), "r"(count));
}
__device__ void arrive(uint64_t* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared(bar)));
}
__device__ void wait(uint64_t* bar, int parity) {
  asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}"
               :: "r"(shared(bar)), "r"(parity));
}
__device__ void multiply(uint32_t d, uint64_t a, uint64_t b, int on) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}"
               :: "r"(d), "l"(a), "l"(b), "r"(0x8080490), "r"(on));
}
__device__ void commit(uint64_t* bar) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(shared(bar)));
}
__global__ void __launch_bounds__(192) gemm(uint64_t a, uint64_t b, float* C) {
  __shared__ uint64_t full[2], empty[2], done;
  __shared__ uint32_t slot;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) { init(&full[i], 1); init(&empty[i], 1); }
    init(&done, 1);
  }
  if (warp == 1)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" :: "r"(shared(&slot)), "r"(32));
  __syncthreads();
  const uint32_t d = slot;
  if (warp == 4 && lane == 0) {
    for (int t = 0; t < 3; ++t) {
      wait(&full[t % 2], t / 2 & 1);
      for (int k = 0; k < 4; ++k)
        multiply(d, a + 2 * k, b + 2 * k, t > 0 || k > 0);
      commit(&empty[t % 2]);
    }
    commit(&done);
  } else if (warp == 5 && lane == 0) {
    for (int t = 0; t < 3; ++t) {
      wait(&empty[t % 2], (t / 2 & 1) ^ 1);
      arrive(&full[t % 2]);
    }
  } else if (warp < 4) {
    wait(&done, 0);
    asm volatile("tcgen05.fence::after_thread_sync;");
    for (int c = 0; c < 32; c += 2) {
      float r[2];
      const uint32_t at = d + (warp * 32 << 16) + c;
      asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0, %1}, [%2];" : "=f"(r[0]), "=f"(r[1]) : "r"(at));
      asm volatile("tcgen05.wait::ld.sync.aligned;");
      C[threadIdx.x * 32 + c] = r[0];
      C[threadIdx.x * 32 + c + 1] = r[1];
    }
  }
  __syncthreads();
  if (warp == 1)
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" :: "r"(d), "r"(32));
}
"""

# the scale factors of each K step are copied to columns of their own
SCALED = (
    GEMM.replace("kind::f16 [%0], %1, %2, %3, p;", "kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%5], [%6], p;")
    .replace("int on)", "int on, uint32_t sfa, uint32_t sfb)")
    .replace('"r"(0x8080490), "r"(on)', '"r"(1 << 27 | 1 << 23 | 4 << 17), "r"(on), "r"(sfa), "r"(sfb)')
    .replace(
        "__global__",
        r"""__device__ void copy(uint32_t to, uint64_t from) {
  asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" :: "r"(to), "l"(from));
}
__global__""",
    )
    .replace(
        "        multiply(d, a + 2 * k, b + 2 * k, t > 0 || k > 0);",
        """      {
        copy(d + 32 + 4 * k, 0x400800000000 | 64 + 32 * k);
        copy(d + 48 + 4 * k, 0x400800000000 | 256 + 32 * k);
        multiply(d, a + 2 * k, b + 2 * k, t > 0 || k > 0, d + 32 + 4 * k, d + 48 + 4 * k);
      }""",
    )
    .replace('"r"(32)', '"r"(64)')
)

# two accumulators of 32 columns, which tiles take in turns
TILES = (
    GEMM.split("__global__ void")[0]
    + r"""__device__ void load_column(float* r, uint32_t at) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0}, [%1];" : "=f"(r[0]) : "r"(at));
}
__global__ void __launch_bounds__(160) tiles(uint64_t a, uint64_t b, float* C, int M) {
  __shared__ uint64_t full[2], empty[2];
  __shared__ uint32_t slot;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; ++i) { init(&full[i], 1); init(&empty[i], 4); }
  if (warp == 4)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" :: "r"(shared(&slot)), "r"(64));
  __syncthreads();
  const uint32_t d = slot;
  int n = 0;
  if (warp == 4 && lane == 0) {
    for (int tile = blockIdx.x; tile < M / 16; tile += gridDim.x, ++n) {
      wait(&empty[n % 2], (n / 2 & 1) ^ 1);
      for (int k = 0; k < 2; ++k)
        multiply(d + n % 2 * 32, a + k, b + k, k > 0);
      commit(&full[n % 2]);
    }
  } else if (warp < 4) {
    for (int tile = blockIdx.x; tile < M / 16; tile += gridDim.x, ++n) {
      float r[32];
      wait(&full[n % 2], n / 2 & 1);
      for (int c = 0; c < 32; c += 16)
        load_column(r + c, d + (warp * 32 << 16) + n % 2 * 32 + c);
      asm volatile("tcgen05.wait::ld.sync.aligned;");
      if (lane == 0) arrive(&empty[n % 2]);
      C[tile * 128 + threadIdx.x] = r[0];
    }
  }
  __syncthreads();
  if (warp == 4)
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" :: "r"(d), "r"(64));
}
"""
)

# D = A·B of tiles that TMA brings: one thread copies and multiplies, all store
BY_TMA = (
    GEMM.split("__global__ void")[0].replace(
        '"r"(0x8080490)', '"r"(1u << 4 | 1u << 7 | 1u << 10 | BN / 8 << 17 | 8u << 24)'
    )
    + r"""__device__ uint64_t describe(const void* p) {
  return (uint64_t)((shared(p) & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 46 | 2ull << 61;
}
__device__ void load(void* to, const CUtensorMap* map, uint64_t* bar, int k, int row) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               :: "r"(shared(to)), "l"(map), "r"(shared(bar)), "r"(k), "r"(row));
}
__global__ void __launch_bounds__(128) gemm(const __grid_constant__ CUtensorMap ta,
                                            const __grid_constant__ CUtensorMap tb, float* C, int M, int N, int K) {
  extern __shared__ __align__(1024) __nv_bfloat16 tiles[];
  __nv_bfloat16 *sA = tiles, *sB = tiles + 128 * BK;
  __shared__ uint64_t full, done;
  __shared__ uint32_t slot;
  const int warp = threadIdx.x / 32, row = blockIdx.y * 128, col = blockIdx.x * BN;
  if (warp == 0)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" :: "r"(shared(&slot)), "r"(BN));
  if (threadIdx.x == 32) { init(&full, 1); init(&done, 1); }
  __syncthreads();
  const uint32_t d = slot;
  for (int t = 0; t < K / BK; ++t) {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared(&full)),
                   "r"((128 + BN) * BK * 2));
      load(sA, &ta, &full, t * BK, row);
      load(sB, &tb, &full, t * BK, col);
    }
    wait(&full, t & 1);
    if (threadIdx.x == 0) {
      for (int k = 0; k < BK / 16; ++k) multiply(d, describe(sA + k * 16), describe(sB + k * 16), t > 0 || k > 0);
      commit(&done);
    }
    wait(&done, t & 1);
  }
  asm volatile("tcgen05.fence::after_thread_sync;");
  for (int c = 0; c < BN; c += 2) {
    float r[2];
    const uint32_t at = d + (warp * 32 << 16) + c;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0, %1}, [%2];" : "=f"(r[0]), "=f"(r[1]) : "r"(at));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    for (int i = 0; i < 2; ++i) C[(row + threadIdx.x) * N + col + c + i] = r[i];
  }
  __syncthreads();
  if (warp == 0)
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" :: "r"(d), "r"(BN));
}
void make_map(CUtensorMap* map, void* data, uint64_t rows, uint64_t k, uint32_t box_rows) {
  uint64_t dims[2] = {k, rows}, strides[1] = {k * 2};
  uint32_t box[2] = {BK, box_rows}, ones[2] = {1, 1};
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, data, dims, strides, box, ones,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
void run(void* A, void* B, float* C, int M, int N, int K) {
  CUtensorMap ta, tb;
  make_map(&ta, A, M, K, 128);
  make_map(&tb, B, N, K, BN);
  const int bytes = (128 + BN) * BK * 2;
  gemm<<<dim3(N / BN, M / 128), 128, bytes>>>(ta, tb, C, M, N, K);
}
"""
)
BY_TMA = "constexpr int BN = 32, BK = 64;\n" + BY_TMA

# D = A·B of 4-bit elements with scale factors, 512 bytes for 128 rows and 64 elements of K
PACKED = (
    BY_TMA.replace("BN = 32, BK = 64", "BN = 128, BK = 256")
    .replace("__nv_bfloat16", "uint8_t")
    .replace("128 * BK", "128 * BK / 2")
    .replace("(128 + BN) * BK * 2", "(128 + BN) * BK / 2 + 2 * BK * 8")
    .replace("sA + k * 16), describe(sB + k * 16)", "sA + k * 32), describe(sB + k * 32)")
    .replace("BK / 16; ++k", "BK / 64; ++k")
    .replace("strides[1] = {k * 2}", "strides[1] = {k / 2}")
    .replace("BFLOAT16", "16U4_ALIGN8B")
    .replace('"r"(BN)', '"r"(2 * BN)')
    .replace("1u << 4 | 1u << 7 | 1u << 10 | BN / 8 << 17 | 8u << 24", "1u << 7 | 1u << 10 | BN / 8 << 17 | 1u << 27")
    .replace("kind::f16 [%0], %1, %2, %3, p;", "kind::mxf4nvf4.block_scale.block16 [%0], %1, %2, %3, [%5], [%6], p;")
    .replace("int on)", "int on, uint32_t sfa, uint32_t sfb)")
    .replace('"r"(on)', '"r"(on), "r"(sfa), "r"(sfb)')
    .replace("t > 0 || k > 0)", "t > 0 || k > 0, d + BN + 4 * k, d + BN + 32 + 4 * k)")
    .replace("float* C, int M", "const uint8_t* SFA, const uint8_t* SFB, float* C, int M")
    .replace("void* B, float* C", "void* B, const uint8_t* SFA, const uint8_t* SFB, float* C")
    .replace("(ta, tb, C,", "(ta, tb, SFA, SFB, C,")
    .replace(
        "void run(void* A, void* B, const uint8_t* SFA, const uint8_t* SFB,",
        "void run(void* A, void* B, uint8_t* SFA, uint8_t* SFB,",
    )
    .replace(
        "__global__",
        r"""__device__ void bring(void* to, const uint8_t* from, uint64_t* bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(shared(to)), "l"(from), "r"(BK * 8), "r"(shared(bar)));
}
__device__ void copy(uint32_t to, const void* from) {
  const uint64_t of = (shared(from) & 0x3FFFF) >> 4 | 8ull << 32 | 1ull << 46;
  asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" :: "r"(to), "l"(of));
}
__global__""",
    )
    .replace(
        "  __shared__ uint64_t full, done;",
        "  uint8_t *sSFA = sB + BN * BK / 2, *sSFB = sSFA + BK * 8;\n  __shared__ uint64_t full, done;",
    )
    .replace(
        "t * BK, col);\n",
        """t * BK, col);
      bring(sSFA, SFA + (row / 128 * (K / 64) + t * (BK / 64)) * 512, &full);
      bring(sSFB, SFB + (col / 128 * (K / 64) + t * (BK / 64)) * 512, &full);
""",
    )
    .replace(
        "      for (int k = 0; k < BK",
        """      for (int k = 0; k < BK / 64; ++k) {
        copy(d + BN + 4 * k, sSFA + 512 * k);
        copy(d + BN + 32 + 4 * k, sSFB + 512 * k);
      }
      for (int k = 0; k < BK""",
    )
)
