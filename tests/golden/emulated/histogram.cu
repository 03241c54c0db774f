// A histogram with atomics in shared and global memory; a loop whose threads leave it one by one; compare and swap.
extern "C" __global__ void histogram(const unsigned char *in, int count, unsigned *bins, unsigned long long *most, float *sum, unsigned *steps, int *lock, int *protected_sum) {
    extern __shared__ unsigned local[];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[in[i]], 1u);
        atomicMax(most, (unsigned long long)in[i] << 32 | (unsigned)i);
        atomicAdd(sum, (float)in[i]);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (local[i]) atomicAdd(&bins[i], local[i]);
    unsigned n = blockIdx.x * blockDim.x + threadIdx.x + 1, taken = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        ++taken;
    }
    steps[blockIdx.x * blockDim.x + threadIdx.x] = taken;
    if ((threadIdx.x & 31) == 0) {
        while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
        __threadfence();
        *(volatile int *)protected_sum = *(volatile int *)protected_sum + (int)threadIdx.x;
        __threadfence();
        atomicExch(lock, 0);
    }
}
