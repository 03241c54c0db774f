__host__ __device__ inline unsigned $name(const unsigned char* factors, unsigned lane, unsigned first, unsigned count, unsigned s) {
  const unsigned row = first + $row;
  unsigned out;
  memcpy(&out, factors + row * count + s, 4);
  return out;
}
