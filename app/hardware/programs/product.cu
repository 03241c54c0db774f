extern "C" __global__ void $name($parameters) {
  const unsigned long long x = blockIdx.x, y = blockIdx.y;
  $registers
  $call
  $out
}
