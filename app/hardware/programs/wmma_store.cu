extern "C" __global__ void $name(unsigned char* out, const $kind* in, unsigned long long bytes, unsigned stride) {
  $kind r[$count];
  for (int n = 0; n < $count; ++n) r[n] = in[(blockIdx.x * 32 + threadIdx.x) * ${count}ul + n];
  $function(out + blockIdx.x * bytes, r, stride);
}
