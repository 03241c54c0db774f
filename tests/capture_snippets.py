"""The tests that the capture page shows, executed as they stand: CuPy's and PyTorch's, on the first example's kernel.

On a machine with a GPU, CuPy and PyTorch: `python -m tests.capture_snippets`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from lanescope.app.hardware import capture_examples, captures
from lanescope.app.hardware.device import CudaDevice
from lanescope.render.capture_snippets import TESTS

EXAMPLE = capture_examples.BY_NAME["wgmma_tma_k_major"]  # bf16, B as (n, k): what the texts fill


def run_snippet(title: str, text: str, mistake: int) -> str:
    """ "passes", or what the assertion of a test says, on a kernel that is right (0) or has a mistake."""
    device = CudaDevice()
    cupy = device.cupy
    made = captures.compile_kernel(device, EXAMPLE, mistake)
    out = cupy.zeros((EXAMPLE.a[0], EXAMPLE.n), np.float32)

    def kernel(grid: Any, block: Any, given: Any, shared_mem: int) -> None:
        """What a binding does: the tensor maps of A and B, then the launch."""
        into, a, b, buffer = given
        maps, _held = captures.map_tensors(device, EXAMPLE, (a, b))
        made(grid, block, (into, *maps, buffer), shared_mem=shared_mem)

    def launch(a: Any, b: Any, buffer: Any) -> None:
        a, b = (cupy.from_dlpack(one.view(torch.int16)).view(np.uint16) for one in (a, b))
        kernel((1,), (EXAMPLE.threads,), (out, a, b, np.uint64(buffer.data_ptr())), EXAMPLE.count_shared_bytes(mistake))

    scope = {
        "kernel": kernel,
        "out": out,
        "M": EXAMPLE.a[0],
        "K": EXAMPLE.a[1],
        "N": EXAMPLE.n,
        "SHARED": EXAMPLE.count_shared_bytes(mistake),
        "extension": SimpleNamespace(launch=launch),
    }
    if "torch" in text:
        import torch
    exec(compile(text, title, "exec"), scope)
    try:
        scope["test_the_kernel_reads_its_tiles"]()
    except AssertionError as error:
        return str(error)
    return "passes"


def main() -> int:
    good = True
    for title, text in TESTS:
        for mistake in range(capture_examples.MISTAKES + 1):
            told = run_snippet(title, text, mistake)
            code = EXAMPLE.mistakes[mistake - 1][1] if mistake else "passes"
            good &= code in told
            print(f"{title}, {EXAMPLE.mistakes[mistake - 1][0] if mistake else 'right'}: {told.splitlines()[0]}")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
