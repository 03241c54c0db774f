extern "C" __global__ void $name(unsigned* out, const unsigned* in, unsigned words) {
  extern __shared__ __align__(1024) unsigned shared[];
  unsigned r[$registers];
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) shared[i] = in[blockIdx.x * words + i];
  __syncthreads();
  $function(r, (unsigned)__cvta_generic_to_shared(shared) + ${base}u);
  for (int n = 0; n < $registers; ++n) out[(blockIdx.x * blockDim.x + threadIdx.x) * $registers + n] = r[n];
}
