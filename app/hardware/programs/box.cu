
extern "C" __global__ void k(unsigned char* out, const unsigned char* map, const int* at, unsigned bytes,
                             unsigned offset, unsigned size, unsigned* told) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ __align__(8) unsigned long long barrier;
  const unsigned window = (unsigned)__cvta_generic_to_shared(shared);
  const unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier);
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x) shared[i] = $untouched;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar));
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    told[0] = window;
    asm volatile("{.reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], %1;}" :: "r"(bar), "r"(bytes));
    asm volatile("cp.async.bulk.tensor.${rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {$places}], [%2];"
                 :: "r"(window + offset), "l"(map), "r"(bar), $coordinates : "memory");
  }
  unsigned done = 0;
  for (int n = 0; n < 100000 && !done; ++n)
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(bar) : "memory");
  __syncthreads();
  if (threadIdx.x == 0) told[1] = done;
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x) out[i] = shared[i];
}
