// Byte of the factor of row m and block s; count: factors a row, a multiple of 4.
__host__ __device__ inline unsigned scale_offset(unsigned m, unsigned s, unsigned count) {
  const unsigned atom = m / $rows * (count / $columns) + s / $columns;
  return $bytes * atom + $line * (m % $groups) + $columns * (m % $rows / $groups) + s % $columns;
}
