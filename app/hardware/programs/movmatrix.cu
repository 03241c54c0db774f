extern "C" __global__ void $name(unsigned* out, const unsigned* in) {
  unsigned d; $function(d, in[threadIdx.x]);
  out[threadIdx.x] = d;
}
