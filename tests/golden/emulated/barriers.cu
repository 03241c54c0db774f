// libcu++: cuda::barrier with a transaction count, cuda::memcpy_async, a cuda::pipeline, and 1-D bulk copies.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
#ifndef MISTAKE
#define MISTAKE 0
#endif
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void __launch_bounds__(128) barriers(const int* in, int* out, int count) {
  __shared__ alignas(128) int buffer[2][256];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier bar[2];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int staged[2][128];
  if (threadIdx.x == 0) {
    init(&bar[0], blockDim.x), init(&bar[1], blockDim.x);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  int sum = 0;
  for (int step = 0; step < count; ++step) {
    barrier& b = bar[step % 2];
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
      cuda::device::experimental::cp_async_bulk_global_to_shared(buffer[step % 2], in + step * 256, sizeof buffer[0], b);
      token = cuda::device::barrier_arrive_tx(b, 1, sizeof buffer[0]);
    } else {
      token = b.arrive();
    }
    b.wait(std::move(token));
    sum += buffer[step % 2][threadIdx.x] - buffer[step % 2][255 - threadIdx.x - (MISTAKE == 1 ? 1 : 0)] * 3;
    __syncthreads();
  }
  auto group = cooperative_groups::this_thread_block();
  auto pipe = cuda::make_pipeline(group, &state);
  for (int step = 0; step < count + 1; ++step) {
    if (step < count) {
      pipe.producer_acquire();
      cuda::memcpy_async(group, staged[step % 2], in + step * 256, sizeof staged[0], pipe);
      pipe.producer_commit();
    }
    if (step > 0) {
      pipe.consumer_wait();
      sum = sum * 5 + staged[(step - 1) % 2][threadIdx.x ^ 1];
      pipe.consumer_release();
    }
  }
  out[threadIdx.x] = sum;
}
