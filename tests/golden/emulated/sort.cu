// A bitonic sort of 512 numbers, and the insertion sort of each thread's own eight by a device function.
__device__ __noinline__ void insert(int *values, int count) {
    for (int i = 1; i < count; ++i) {
        int value = values[i], at = i;
        while (at > 0 && values[at - 1] > value) {
            values[at] = values[at - 1];
            --at;
        }
        values[at] = value;
    }
}

extern "C" __global__ void sort(const int *in, int *out, int *eights) {
    __shared__ int part[512];
    int t = threadIdx.x;
    part[t] = in[t];
    part[t + 256] = in[t + 256];
    __syncthreads();
    for (int size = 2; size <= 512; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            for (int i = t; i < 512; i += 256) {
                int other = i ^ stride;
                if (other > i && (part[i] > part[other]) == ((i & size) == 0)) {
                    int value = part[i];
                    part[i] = part[other];
                    part[other] = value;
                }
            }
            __syncthreads();
        }
    out[t] = part[t];
    out[t + 256] = part[t + 256];
    if (t < 64) {
        int own[8];
        for (int i = 0; i < 8; ++i) own[i] = in[t * 8 + i];
        insert(own, 8);
        for (int i = 0; i < 8; ++i) eights[t * 8 + i] = own[i];
    }
}
