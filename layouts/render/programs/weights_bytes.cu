// Four neighbouring 4-bit fields as four bytes, unsigned: the zero point is not taken off.
__device__ inline unsigned spread_fields(unsigned q) {
  q = (q | q << 8) & 0x00ff00ff;
  return (q | q << 4) & 0x0f0f0f0f;
}
