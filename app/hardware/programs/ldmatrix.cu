extern "C" __global__ void $name(unsigned* out, const unsigned* in, const unsigned* offset) {
  __shared__ __align__(128) unsigned shared[$words];
  const unsigned base = (unsigned)__cvta_generic_to_shared(shared);
  unsigned r[$count];
  for (unsigned i = threadIdx.x; i < $words; i += 32) shared[i] = in[blockIdx.x * $words + i];
  __syncwarp();
  $function(r, base + offset[threadIdx.x]);
  for (int n = 0; n < $count; ++n) out[(blockIdx.x * 32 + threadIdx.x) * $count + n] = r[n];
}
