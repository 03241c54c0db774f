"""lanescope.cuh in a cluster, on a device: one cluster of several is recorded, and none of its blocks faults.

The blocks of a cluster signal each other's barriers at every step and end without waiting, as the last stages of a
pipeline do. With one block of the two recorded alone, its signals would reach shared memory of a block that has ended.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from lanescope import capture, find
from lanescope.capture import file_format
from lanescope.render.capture_header import render_header
from tests.cases import for_each

STEPS, CLUSTERS = 16, 4
KERNEL = r"""
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) paired(float* out, void* buffer) {
  extern __shared__ __align__(1024) unsigned char tile[];
  __shared__ __align__(8) unsigned long long barrier;
  const unsigned a = (unsigned)__cvta_generic_to_shared(tile), b = a + 64 * @DEPTH@ * 2;
  const unsigned own = (unsigned)__cvta_generic_to_shared(&barrier);
  for (unsigned n = threadIdx.x; n < 64 * @DEPTH@; n += 128) {
    const unsigned row = n / @DEPTH@, k = n % @DEPTH@;
    const unsigned at = k / 8 * 1024 + row / 8 * 128 + row % 8 * 16 + k % 8 * 2;
    *reinterpret_cast<unsigned short*>(tile + at) = lanescope::code_bf16(row + 64 * blockIdx.x, k, 'a');
    if (row < 8)
      *reinterpret_cast<unsigned short*>(tile + 64 * @DEPTH@ * 2 + k / 8 * 128 + row * 16 + k % 8 * 2) =
          lanescope::code_bf16(row, k, 'b');
  }
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(own) : "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  unsigned rank, peer;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(own), "r"(rank ^ 1));
  float d[4] = {0, 0, 0, 0};
  for (unsigned step = 0; step < @STEPS@; ++step) {
    const unsigned long long desc_a = (unsigned long long)((a + step * 2048 & 0x3FFFF) >> 4) | 64ull << 16 | 8ull << 32;
    const unsigned long long desc_b = (unsigned long long)((b + step * 256 & 0x3FFFF) >> 4) | 8ull << 16 | 8ull << 32;
    LANESCOPE_WGMMA(buffer, "AB", desc_a, desc_b, "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16", 1, 1, 0, 0);
    asm volatile("wgmma.fence.sync.aligned;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\n"
                 "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(desc_a), "l"(desc_b) : "memory");
    if (threadIdx.x == 0)
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(peer) : "memory");
  }
  out[blockIdx.x * 128 + threadIdx.x] = d[0] + d[1] + d[2] + d[3];
  const long long until = clock64() + 500000;  // what the blocks of one cluster may be apart
  while (clock64() < until) {}
}
""".replace("@DEPTH@", str(16 * STEPS)).replace("@STEPS@", str(STEPS))


def open_device() -> Any:
    """The device of this machine; the test is skipped without one that has clusters."""
    from lanescope.app.hardware.device import CudaDevice
    from lanescope.errors import LayoutError

    try:
        device = CudaDevice()
        lacking = device.supports(find("wgmma.mma_async.m64n8k16.f32.bf16.bf16"))
    except LayoutError as error:
        pytest.skip(error.message)
    if lacking:
        pytest.skip(lacking)
    return device


def run_kernel(device: Any, first: int, last: int) -> bytes:
    """The capture of one launch that is asked for blocks first … last."""
    from lanescope.app.hardware.device import compile_text

    cupy = device.cupy
    module = cupy.cuda.function.Module()
    module.load(compile_text(f"#define LANESCOPE 1\n{render_header()}{KERNEL}", device.target))
    kernel = module.get_function("paired")
    driver, size = cupy.cuda.driver, 72 * 16 * STEPS * 2
    driver.funcSetAttribute(kernel.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, size)
    buffer = cupy.asarray(file_format.empty(8 << 20, (first, last)))
    out = cupy.zeros(2 * CLUSTERS * 128, np.float32)
    kernel((2 * CLUSTERS,), (128,), (out, buffer), shared_mem=size)
    cupy.cuda.runtime.deviceSynchronize()
    raw = cupy.asnumpy(buffer)
    used = int(raw[: file_format.HEADER_BYTES].view(file_format.HEADER_TYPE)["used"][0])
    return bytes(raw[:used])


def test_the_kernel_is_whole() -> None:
    assert not re.search(r"@\w+@", KERNEL) and KERNEL.count("{") == KERNEL.count("}")


@for_each(("asked", "blocks"), [((0, 0), {0, 1}), ((5, 5), {4, 5}), ((1, 2), {0, 1, 2, 3})])
def test_one_cluster_of_several_is_recorded_whole(asked: tuple[int, int], blocks: set[int]) -> None:
    raw = run_kernel(open_device(), *asked)
    read = file_format.read_capture(raw)
    assert {one.block[0] for one in read.records} == blocks and not read.dropped
    assert len(read.records) == STEPS * len(blocks)
    assert capture.verify(raw).ok
