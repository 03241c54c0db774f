// Byte of D[row, col] of 16 bits: $how, $rows rows. shared: a multiple of 1024.
__device__ inline unsigned tile_offset(unsigned row, unsigned col) {
  const unsigned before = $before;
  return $swizzled;
}
