// Word and bit of the index of a row and group; rows: of the whole A.
__host__ __device__ inline uint2 metadata_at(unsigned row, unsigned group, unsigned rows) {
  const unsigned r = row % $down, g = group % $across;
  const unsigned atom = group / $across * (rows / $down) + row / $down;
  return make_uint2(atom * $words + $word, 4 * ($index));
}
