// $upper in shared memory: $lines lines along $along, one for each $across, $pitch bytes apart$swizzled.
__device__ inline unsigned ${letter}_offset(unsigned line, unsigned byte) {
  const unsigned before = line * $pitch + byte;
  return $value;
}
__device__ inline void fill_$letter(unsigned char* tile, const $kind* global) {
  for (unsigned i = threadIdx.x; i < $units; i += blockDim.x)
    *reinterpret_cast<$kind*>(tile + ${letter}_offset(i / $line_units, i % $line_units * $unit_bytes)) = global[i];
}
