// $operand $rows×$cols $element to memory row by row, ld elements apart.
__device__ inline void store_$name(const $register (&$name)[$registers], $unit* m, unsigned ld) {
$declarations
#pragma unroll
  for (unsigned i = 0; i < $values; ++i) {
    $places
    m[$at] = $value;
  }
}
