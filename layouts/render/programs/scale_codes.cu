// The least power of two not below a positive x, as UE8M0.
__host__ __device__ inline unsigned char ue8m0(float x) {
  unsigned bits;
  memcpy(&bits, &x, 4);
  const unsigned exponent = (bits >> 23 & 0xFF) + ((bits & 0x7FFFFF) != 0);
  return exponent < $largest ? exponent : $largest;
}
$offset
__global__ void to_atoms(const float* factors, unsigned char* atoms, unsigned rows, unsigned count) {
  const unsigned wide = (count + $last_column) / $columns * $columns;
  const unsigned all = (rows + $last_row) / $rows * $rows * wide;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x) {
    const unsigned m = i / wide, s = i % wide;
    atoms[scale_offset(m, s, wide)] = m < rows && s < count ? ue8m0(factors[m * count + s]) : 0;
  }
}
