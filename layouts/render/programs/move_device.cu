// $lines rows of 16 bytes in shared memory, $pitch bytes apart$swizzled.
__device__ inline unsigned row_offset(unsigned row, unsigned byte) {
  const unsigned before = row * $pitch + byte;
  return $offset;
}

// One warp. Dynamic shared memory: $shared_bytes bytes.
${linkage}__global__ void __launch_bounds__(32) $kernel(const unsigned* $source, unsigned* $target) {
  extern __shared__ __align__(1024) unsigned char shared[];
  // $lanes
  const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(shared)) + row_offset($lane, 0);
  unsigned r[$registers];

  $body
}
