extern "C" __global__ void $name($kind* out, const unsigned char* in, unsigned long long bytes, unsigned stride) {
  $kind r[$count];
  $function(r, in + blockIdx.x * bytes, stride);
  for (int n = 0; n < $count; ++n) out[(blockIdx.x * 32 + threadIdx.x) * ${count}ul + n] = r[n];
}
