__device__ inline void fill_$name($unit* tile, const $unit* global) {
  for (unsigned i = threadIdx.x; i < $units; i += blockDim.x) {
    const unsigned $order;
    tile[${name}_offset($row, k) / $size] = global[$source];
  }
$fence
}
