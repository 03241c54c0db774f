// Sums and prefix sums by shuffles, votes, matches and warp reductions; a block of three dimensions with part of a warp.
#include <cuda_fp16.h>
__device__ int counter;
__constant__ int weights[4] = {1, -2, 3, -4};
extern "C" __global__ void reduce(const int *in, int *sums, int *scan, unsigned *votes, float *halves) {
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int count = blockDim.x * blockDim.y * blockDim.z;
    int lane = t & 31, warp = t >> 5;
    int first = blockIdx.x * count + t;
    int value = in[first] * weights[t & 3];
    unsigned mask = __activemask();
    int running = value;
    for (int d = 1; d < 32; d *= 2) {
        int below = __shfl_up_sync(mask, running, d);
        if (lane >= d) running += below;
    }
    __shared__ int totals[32];
    int last = 31 - __clz(mask);
    if (lane == last) totals[warp] = running;
    __syncthreads();
    int before = 0;
    for (int w = 0; w < warp; ++w) before += totals[w];
    scan[first] = running + before;
    votes[first] = __ballot_sync(mask, value > 0) ^ (__any_sync(mask, value == 7) ? 1u << 31 : 0) ^ (__all_sync(mask, value < 1000) << 5);
    votes[first] += __match_any_sync(mask, value & 3) * 3 + __reduce_add_sync(mask, (unsigned)value) + __reduce_max_sync(mask, value);
    int positive = __syncthreads_count(value > 0);
    if (__syncthreads_or(value == 12345)) positive = -1;
    if (t == count - 1) {
        sums[blockIdx.x] = running + before + positive;
        atomicAdd(&counter, running + before);
        __threadfence();
    }
    __half2 pair = __floats2half2_rn((float)value, 0.5f);
    pair = __hfma2(pair, pair, __float2half2_rn(1.0f));
    halves[first] = __low2float(pair) + __high2float(pair);
}
