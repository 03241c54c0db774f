// D = A · B with ldmatrix and mma.m16n8k16 from rows with padding, which keeps ldmatrix free of bank conflicts.
//
// f16; A is (m, k) = 16×64, B is stored (n, k) = 8×64. A row has 128 bytes of data and 16 of padding. One warp. sm_80.
#include "lanescope.cuh"

#ifndef MISTAKE
#define MISTAKE 0
#endif
enum Mistake { RIGHT, MATRICES_EXCHANGED, K_STEP_IN_ELEMENTS, SWIZZLED_ADDRESS, TRANSPOSE_FLAG, PITCH_WITHOUT_PADDING };
constexpr int mistake = MISTAKE;

constexpr int M = 16, N = 8, K = 64, STEP_K = 16;
constexpr unsigned PITCH = K * 2 + 16, A_BYTES = M * PITCH, B_BYTES = N * PITCH, SHARED_BYTES = A_BYTES + B_BYTES;

__device__ inline void store_rows(unsigned char* to, const uint4* from, unsigned rows) {
  for (unsigned chunk = threadIdx.x; chunk < rows * (K / 8); chunk += blockDim.x)
    *reinterpret_cast<uint4*>(to + chunk / (K / 8) * PITCH + chunk % (K / 8) * 16) = from[chunk];
}

// Byte offset of (row, byte of the row) in a tile.
__device__ inline unsigned place(unsigned row, unsigned byte) {
  const unsigned at = row * (mistake == PITCH_WITHOUT_PADDING ? K * 2 : PITCH) + byte;
  return mistake == SWIZZLED_ADDRESS ? at ^ (at >> 3 & 0x70) : at;  // the XOR of the 128B swizzle
}

extern "C" __global__ void __launch_bounds__(32)
example(float* out, const void* a_global, const void* b_global, void* capture) {
  extern __shared__ __align__(128) unsigned char shared[];
  store_rows(shared, static_cast<const uint4*>(a_global), M);
  store_rows(shared + A_BYTES, static_cast<const uint4*>(b_global), N);
  __syncthreads();

  const unsigned at = (unsigned)__cvta_generic_to_shared(shared), lane = threadIdx.x;
  // x4: lanes 0–7 give the rows of matrix 0, 8–15 of matrix 1 … Matrix 1 is the next 8 rows, matrix 2 the next 8 of K.
  const unsigned half = lane / 8 % 2, quarter = lane / 16;
  const unsigned row = lane % 8 + 8 * (mistake == MATRICES_EXCHANGED ? quarter : half);
  const unsigned byte = 16 * (mistake == MATRICES_EXCHANGED ? half : quarter);
  float d[4] = {};
#pragma unroll
  for (int step = 0; step < K / STEP_K; ++step) {
    const unsigned k_bytes = step * STEP_K * (mistake == K_STEP_IN_ELEMENTS ? 1 : 2);
    const unsigned from_a = at + place(row, k_bytes + byte);
    const unsigned from_b = at + A_BYTES + place(lane % 8, step * STEP_K * 2 + 16 * half);
    unsigned a[4], b[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from_a) : "memory");
    LANESCOPE_LDMATRIX(capture, "A", from_a, "ldmatrix.sync.aligned.m8n8.x4.shared.b16", a);
#if MISTAKE == 4
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1]) : "r"(from_b) : "memory");
    LANESCOPE_LDMATRIX(capture, "B", from_b, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", b);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1]) : "r"(from_b) : "memory");
    LANESCOPE_LDMATRIX(capture, "B", from_b, "ldmatrix.sync.aligned.m8n8.x2.shared.b16", b);
#endif
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9},"
                 " {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    LANESCOPE_MMA(capture, "", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", a, b, d);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) out[(lane / 4 + i / 2 * 8) * N + lane % 4 * 2 + i % 2] = d[i];
}

#if !defined(__CUDACC_RTC__)
#include "host.h"
int main(int count, char** arguments) {
  Matrix a(M, K, Type::f16, 'a'), b(N, K, Type::f16, 'b');
  return run(count, arguments, example, SHARED_BYTES, 32, M * N, a, b, a.device, b.device);
}
#endif
