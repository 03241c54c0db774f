// $upper in shared memory: .$layout, $ldm elements from a $line to the next.
__device__ inline void fill_$letter($kind* tile, const $kind* global) {
  for (unsigned i = threadIdx.x; i < $units; i += blockDim.x) tile[$at] = global[i];
}
