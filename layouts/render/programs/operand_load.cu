__device__ inline void load_$name($register (&$name)[$registers], $parameters) {
$declarations
#pragma unroll
  for (unsigned i = 0; i < $values; ++i) {
    $places
    $body
  }
}
