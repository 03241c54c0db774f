typedef unsigned uint32_t;
extern "C" __global__ void ${cluster}__launch_bounds__($threads) k(unsigned* tensor_out, unsigned* registers_out,
    const unsigned* tensor_in, const unsigned* shared_in, const unsigned* registers_in, unsigned words,
    unsigned columns, unsigned* told) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned thread = threadIdx.x, warp = thread / 32, rank = blockIdx.x % $ctas;
  const unsigned window = (unsigned)__cvta_generic_to_shared(shared), first = (window & 0x3FFFF) >> 4;
  const unsigned slot = window + 4 * words, barrier = slot + 8;
  for (unsigned i = thread; i < words; i += $threads) ((unsigned*)shared)[i] = shared_in[blockIdx.x * words + i];
  $launched
  if (warp == 0) {
    asm volatile("tcgen05.alloc.$group.sync.aligned.shared::cta.b32 [%0], 512;" :: "r"(slot) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.$group.sync.aligned;");
  }
  if (thread == 0) {
    told[0] = window;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncwarp();
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  $meet
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  const unsigned tensor = *(volatile unsigned*)(shared + 4 * words), mine = tensor + (warp * 32 << 16);
  const unsigned held = (blockIdx.x * $lanes + thread) * columns;
  for (unsigned c = 0; c < columns; ++c)
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" :: "r"(mine + c), "r"(tensor_in[held + c]));
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  $meet
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  {
$operation

  }
  __syncwarp();
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  $meet
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  for (unsigned c = 0; c < columns; ++c) {
    unsigned value;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(value) : "r"(mine + c));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    tensor_out[held + c] = value;
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  $meet
  if (warp == 0) asm volatile("tcgen05.dealloc.$group.sync.aligned.b32 %0, 512;" :: "r"(tensor));
}
