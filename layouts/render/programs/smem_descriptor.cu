__device__ inline unsigned long long ${name}_descriptor(const void* tile, unsigned mn, unsigned k) {
  const unsigned long long base = __cvta_generic_to_shared(tile);
  const unsigned long long start = base + mn / $atom_mn * $step_mn + k / $atom_k * $step_k$inside;
  return $word;
}
