"""Code samples of the capture page: the macro in a kernel, and input fills in CUDA, NumPy and PyTorch."""

from __future__ import annotations

KERNEL = """\
#define LANESCOPE 1
#include "lanescope.cuh"                       // lanescope capture header > lanescope.cuh

// in the K loop, where the data has arrived and before the wgmma:
LANESCOPE_WGMMA(buffer, "AB", desc_a, desc_b,
                "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", 1, 1, 0, 0);

// on the host:
void* buffer = lanescope::create(64 << 20);    // a kernel parameter
kernel<<<grid, block, shared>>>(..., buffer);
lanescope::save(buffer, "kernel.lscap");
"""

FILLS = (
    (
        "CUDA",
        """\
// A is (m, k), B (n, k); 16-bit types and tf32 take one run, 8-bit types two: pass 1 and 2.
a[m * K + k] = __ushort_as_bfloat16(lanescope::code_bf16(m, k, 'a'));
b[n * K + k] = __ushort_as_bfloat16(lanescope::code_bf16(n, k, 'b'));
""",
    ),
    (
        "NumPy",
        """\
from lanescope import capture

a = capture.fill((M, K), "bf16")               # codes, as uint16
b = capture.fill((K, N), "bf16", "b")          # nk=True: (N, K)
""",
    ),
    (
        "PyTorch",
        """\
import numpy as np, torch
from lanescope import capture

a = torch.from_numpy(capture.fill((M, K), "bf16").view(np.int16)).view(torch.bfloat16).cuda()
b = torch.from_numpy(capture.fill((K, N), "bf16", "b").view(np.int16)).view(torch.bfloat16).cuda()
""",
    ),
    (
        "Command line",
        """\
lanescope capture fill --shape 4096x4096 --type bf16 A.npy
lanescope capture fill --shape 4096x4096 --type bf16 --operand b B.npy
""",
    ),
)

TESTS = (
    (
        "pytest with CuPy",
        """\
import cupy
from lanescope import capture

def test_the_kernel_reads_its_tiles():
    buffer = cupy.asarray(capture.empty(64 << 20))
    a = cupy.asarray(capture.fill((M, K), "bf16"))
    b = cupy.asarray(capture.fill((N, K), "bf16", "b", nk=True))
    kernel((1, 1), (128,), (out, a, b, buffer), shared_mem=SHARED)
    capture.check(buffer)
""",
    ),
    (
        "pytest with PyTorch",
        """\
import numpy as np, torch
from lanescope import capture

def test_the_kernel_reads_its_tiles():
    buffer = torch.from_numpy(capture.empty(64 << 20)).cuda()
    a = torch.from_numpy(capture.fill((M, K), "bf16").view(np.int16)).view(torch.bfloat16).cuda()
    b = torch.from_numpy(capture.fill((N, K), "bf16", "b", nk=True).view(np.int16)).view(torch.bfloat16).cuda()
    extension.launch(a, b, buffer)             # your binding; buffer.data_ptr() is the kernel's void*
    capture.check(buffer)
""",
    ),
)
