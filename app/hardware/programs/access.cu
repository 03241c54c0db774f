extern "C" __global__ void $name(long long* out, const unsigned* offset, int repeat, unsigned zero) {
  extern __shared__ __align__(1024) unsigned shared[];
  const unsigned mine = offset[threadIdx.x % 32];
  const bool active = mine != 0xffffffff;
  const unsigned at = (unsigned)__cvta_generic_to_shared(shared) + mine;
  unsigned r[$unroll][$count], sum = 0;
  for (int u = 0; u < $unroll; ++u) for (int n = 0; n < $count; ++n) r[u][n] = threadIdx.x;
  long long first = 0;
  for (int turn = -$warm_up; turn < repeat; ++turn) {
    if (turn == 0) { __syncthreads(); first = clock64(); }
  #pragma unroll
    for (int u = 0; u < $unroll; ++u) if (active) $access
  #pragma unroll
    $use
  }
  const long long last = clock64();
  if (threadIdx.x % 32 == 0) { out[threadIdx.x / 32 * 2] = first; out[threadIdx.x / 32 * 2 + 1] = last; }
  if (sum == 0x12345678 && repeat < 0) out[0] = sum;
}
