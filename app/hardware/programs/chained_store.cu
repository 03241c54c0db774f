extern "C" __global__ void $name(unsigned* out, const unsigned* in, unsigned words) {
  extern __shared__ __align__(1024) unsigned shared[];
  unsigned r[$registers];
  for (int n = 0; n < $registers; ++n) r[n] = in[(blockIdx.x * blockDim.x + threadIdx.x) * $registers + n];
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) shared[i] = 0xFFFFFFFFu;
  __syncthreads();
  $function(r, (unsigned)__cvta_generic_to_shared(shared) + ${base}u);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) out[blockIdx.x * words + i] = shared[i];
}
