// One warp: $words words $from, then the registers of each lane to out.
extern "C" __global__ void $name(unsigned* out, const unsigned* in) {
  $fill
  unsigned r[$registers];
  deliver(r, $argument);
#pragma unroll
  for (int i = 0; i < $registers; ++i) out[$registers * threadIdx.x + i] = r[i];
}
