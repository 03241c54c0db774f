// Pixels of images in im2col mode, for filters of 3 × 3 with a padding of 1: every block writes down what its load brought,
// and one block of each image stores it into a second batch with im2col_no_offs. z = 1: a convolution with stride 2.
#include "hopper_async.cuh"
constexpr int WORDS = 16 * 40;  // channels × pixels

__device__ inline void load_pixels(uint32_t to, const TensorMap* map, uint32_t barrier, int c, int w, int h, int n, int x, int y) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
               ::"r"(to), "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(n), "h"((uint16_t)x), "h"((uint16_t)y) : "memory");
}

extern "C" __global__ void __launch_bounds__(128)
im2col(const __grid_constant__ TensorMap images, const __grid_constant__ TensorMap strided,
       const __grid_constant__ TensorMap stored, int* out) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ __align__(8) uint64_t arrived;
  const uint32_t barrier = shared_address(&arrived), to = shared_address(shared);
  const int base = blockIdx.x, filter = blockIdx.y * 2;
  const int w = 2 * (base % 5) - 1, h = base < 5 ? -1 : 3, n = base % 3, c = base % 2 * 16;
  if (threadIdx.x == 0) {
    init(barrier, 1);
    fence_async();
    expect(barrier, WORDS * 4);
    load_pixels(to, blockIdx.z ? &strided : &images, barrier, c, w, h, n, filter % 3, filter / 3);
  }
  __syncthreads();
  wait(barrier, 0);
  out += ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + base) * WORDS;
  for (int i = threadIdx.x; i < WORDS; i += blockDim.x) out[i] = reinterpret_cast<const int*>(shared)[i];
  if (threadIdx.x == 0 && base < 3 && blockIdx.y + blockIdx.z == 0) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
                 ::"l"(&stored), "r"(to), "r"(16), "r"(2 * base), "r"(base), "r"(base) : "memory");
    stores_done();
  }
}
