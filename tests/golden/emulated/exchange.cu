// Distributed shared memory: each CTA of a cluster of four sums its part, reads its neighbours' sums, and adds to one
// CTA's shared memory by remote atomics; st.async signals the last step. Warp votes, shuffles, match and atomics.
#include <cooperative_groups.h>
#include <cstdint>
#ifndef MISTAKE
#define MISTAKE 0
#endif
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(128)
exchange(const int* in, int* sums, int* ranks, int* votes) {
  __shared__ int total, from_all[4];
  cg::cluster_group cluster = cg::this_cluster();
  const int rank = cluster.block_rank(), thread = threadIdx.x, lane = thread % 32;
  if (thread == 0) total = 0, from_all[0] = from_all[1] = from_all[2] = from_all[3] = 0;
  cluster.sync();
  int value = in[blockIdx.x * 128 + thread];
  int sum = value;
  for (int offset = 16; offset; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, MISTAKE == 1 ? offset - 1 : offset);
  if (lane == 0) atomicAdd(&total, sum);
  __syncthreads();
  if (thread < 4) cluster.map_shared_rank(from_all, thread)[rank] = total;
  cluster.sync();
  int all = 0;
  for (int r = 0; r < 4; ++r) all += from_all[r];
  if (thread == 0) {
    sums[blockIdx.x] = all;
    atomicMax(cluster.map_shared_rank(&total, 0), all + rank);
  }
  cluster.sync();
  const unsigned same = __match_any_sync(0xffffffff, value % 7), odd = __ballot_sync(0xffffffff, value & 1);
  votes[(blockIdx.x * 128 + thread) * 2] = same, votes[(blockIdx.x * 128 + thread) * 2 + 1] = __popc(odd & ((1u << lane) - 1));
  ranks[blockIdx.x * 128 + thread] = rank == 0 ? total : __reduce_max_sync(0xffffffff, value);
}
