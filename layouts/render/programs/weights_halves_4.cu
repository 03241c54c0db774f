// Fields 0 and 4 of a word as two fp16, low half first: 0x6400 | v is 1024 + v in fp16. ZERO: the zero point, 0 to 15.
template <unsigned ZERO = 8> __device__ inline unsigned low_halves(unsigned q) {
  unsigned out;
  asm("sub.f16x2 %0, %1, %2;" : "=r"(out) : "r"((q & 0x000f000f) | 0x64006400), "r"(0x64006400 + ZERO * 0x10001));
  return out;
}

// Fields 1 and 5: 0x6400 | v << 4 is 1024 + 16 v, so divide by 16 and take away 64 + ZERO.
template <unsigned ZERO = 8> __device__ inline unsigned high_halves(unsigned q) {
  unsigned out;
  asm("fma.rn.f16x2 %0, %1, %2, %3;"
      : "=r"(out)
      : "r"((q & 0x00f000f0) | 0x64006400), "r"(0x2c002c00), "r"(0xd400d400 + 16 * ZERO * 0x10001));
  return out;
}
