// A product of matrices through shared memory, rows normalized by softmax, and a transposition of 16-byte vectors.
#include <cuda_bf16.h>
extern "C" __global__ void tiles(const float *a, const float *b, float *c, int n, const __nv_bfloat16 *rows, float *soft, const int4 *vectors, int4 *turned) {
    __shared__ float ta[16][17], tb[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        ta[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
        tb[y][x] = k + y < n && column < n ? b[(k + y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += ta[y][i] * tb[i][x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
    float value = __bfloat162float(rows[(blockIdx.y * 16 + y) * 16 + x]), most = value;
    for (int d = 8; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, d, 16));
    float power = expf(value - most), total = power;
    for (int d = 8; d > 0; d /= 2) total += __shfl_xor_sync(0xffffffff, total, d, 16);
    if (blockIdx.x == 0) soft[(blockIdx.y * 16 + y) * 16 + x] = power / total;
    if (blockIdx.x == 0 && blockIdx.y == 0) turned[x * 16 + y] = vectors[y * 16 + x];
}
