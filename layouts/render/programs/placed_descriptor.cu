__device__ inline unsigned long long ${name}_descriptor(const void* shared, unsigned step) {
  constexpr unsigned long long words[] = {$words};  // starts count from shared memory's first byte
  const unsigned long long base = __cvta_generic_to_shared(shared);
  return words[step] + ((base & $mask) >> 4);
}
