// Two bytes of a word as two fp16: 0x6400 | v is 1024 + v in fp16. SELECT: prmt's, 0x64 from its second source.
template <unsigned SELECT, unsigned ZERO = 128> __device__ inline unsigned byte_halves(unsigned q) {
  unsigned out;
  asm("sub.f16x2 %0, %1, %2;"
      : "=r"(out)
      : "r"(__byte_perm(q, 0x64646464, SELECT)), "r"(0x64006400 + ZERO * 0x10001));
  return out;
}
