__device__ inline unsigned prmt(unsigned a, unsigned b, unsigned selector) {
  unsigned d;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
  return d;
}

__device__ inline unsigned shfl(unsigned a, unsigned lane) {
  unsigned d;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(d) : "r"(a), "r"(lane));
  return d;
}

__device__ inline unsigned movmatrix(unsigned a) {
  unsigned d;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}

__device__ inline unsigned blend(unsigned a, unsigned b, unsigned mask) {  // the bits of a where the mask has ones
  return (a & mask) | (b & ~mask);
}

__device__ inline void u4_to_f16(unsigned (&h)[4], unsigned w) {  // 1024 + x, or 1024 + 16x, then x
  const unsigned low = 0x000f000f, high = 0x00f000f0, magic = 0x64006400, v = w >> 8;
  const unsigned t[4] = {(w & low) | magic, (w & high) | magic, (v & low) | magic, (v & high) | magic};
  asm("sub.f16x2 %0, %1, %2;" : "=r"(h[0]) : "r"(t[0]), "r"(magic));
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(h[1]) : "r"(t[1]), "r"(0x2c002c00), "r"(0xd400d400));
  asm("sub.f16x2 %0, %1, %2;" : "=r"(h[2]) : "r"(t[2]), "r"(magic));
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(h[3]) : "r"(t[3]), "r"(0x2c002c00), "r"(0xd400d400));
}

__device__ inline void u4_to_bf16(unsigned (&h)[4], unsigned w) {  // 128 + x, then x
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned t = ((w >> 4 * i) & 0x000f000f) | 0x43004300;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(h[i]) : "r"(t), "r"(0x3f803f80), "r"(0xc300c300));
  }
}

__device__ inline void u4_to_u8(unsigned (&b)[2], unsigned w) {
  b[0] = w & 0x0f0f0f0f;
  b[1] = (w >> 4) & 0x0f0f0f0f;
}

__device__ inline unsigned u8_to_f16(unsigned w, unsigned selector) {  // 1024 + x of two bytes, then x
  unsigned h;
  asm("sub.f16x2 %0, %1, %2;" : "=r"(h) : "r"(prmt(w, 0x64646464, selector)), "r"(0x64006400));
  return h;
}

__device__ inline unsigned f32_to_f16(unsigned low, unsigned high) {
  unsigned d;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(__uint_as_float(high)), "f"(__uint_as_float(low)));
  return d;
}

__device__ inline unsigned f32_to_bf16(unsigned low, unsigned high) {
  unsigned d;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(__uint_as_float(high)), "f"(__uint_as_float(low)));
  return d;
}

__device__ inline unsigned f32_to_e4m3(unsigned a, unsigned b, unsigned c, unsigned e) {
  unsigned d;
  asm("{\n.reg .b16 l, h;\ncvt.rn.satfinite.e4m3x2.f32 l, %2, %1;\ncvt.rn.satfinite.e4m3x2.f32 h, %4, %3;\n"
      "mov.b32 %0, {l, h};\n}"
      : "=r"(d)
      : "f"(__uint_as_float(a)), "f"(__uint_as_float(b)), "f"(__uint_as_float(c)), "f"(__uint_as_float(e)));
  return d;
}

__device__ inline unsigned f32_to_e5m2(unsigned a, unsigned b, unsigned c, unsigned e) {
  unsigned d;
  asm("{\n.reg .b16 l, h;\ncvt.rn.satfinite.e5m2x2.f32 l, %2, %1;\ncvt.rn.satfinite.e5m2x2.f32 h, %4, %3;\n"
      "mov.b32 %0, {l, h};\n}"
      : "=r"(d)
      : "f"(__uint_as_float(a)), "f"(__uint_as_float(b)), "f"(__uint_as_float(c)), "f"(__uint_as_float(e)));
  return d;
}

__device__ inline unsigned f16_to_e4m3(unsigned low, unsigned high) {
  unsigned d;
  asm("{\n.reg .b16 l, h;\ncvt.rn.satfinite.e4m3x2.f16x2 l, %1;\ncvt.rn.satfinite.e4m3x2.f16x2 h, %2;\n"
      "mov.b32 %0, {l, h};\n}"
      : "=r"(d)
      : "r"(low), "r"(high));
  return d;
}

__device__ inline unsigned f16_to_e5m2(unsigned low, unsigned high) {
  unsigned d;
  asm("{\n.reg .b16 l, h;\ncvt.rn.satfinite.e5m2x2.f16x2 l, %1;\ncvt.rn.satfinite.e5m2x2.f16x2 h, %2;\n"
      "mov.b32 %0, {l, h};\n}"
      : "=r"(d)
      : "r"(low), "r"(high));
  return d;
}

__device__ inline void e4m3_to_f16(unsigned (&h)[2], unsigned w) {
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.rn.f16x2.e4m3x2 %0, l;\ncvt.rn.f16x2.e4m3x2 %1, h;\n}"
      : "=r"(h[0]), "=r"(h[1])
      : "r"(w));
}

__device__ inline void e5m2_to_f16(unsigned (&h)[2], unsigned w) {
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.rn.f16x2.e5m2x2 %0, l;\ncvt.rn.f16x2.e5m2x2 %1, h;\n}"
      : "=r"(h[0]), "=r"(h[1])
      : "r"(w));
}
