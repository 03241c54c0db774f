extern "C" __global__ void $name($parameters, const unsigned* image, unsigned words, const unsigned* overlay, unsigned overlay_words, unsigned overlay_at, int relative, unsigned* base) {
  const unsigned long long x = blockIdx.x, y = blockIdx.y;
  $registers
  extern __shared__ __align__(1024) unsigned shared[];
  const unsigned window = (unsigned)__cvta_generic_to_shared(shared);
  if (threadIdx.x == 0) *base = window;
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) shared[i] = image[y * words + i];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < overlay_words; i += blockDim.x) shared[overlay_at + i] = overlay[x * overlay_words + i];
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
  __syncthreads();
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
  $call
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
  $out
}
