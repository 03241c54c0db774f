"""Generated CUDA C++ for prepacked weights, compiled by NVRTC and executed in the emulator."""

from __future__ import annotations

from typing import Any

import pytest
from numpy.typing import NDArray

from lanescope.emulate.launching.kernel import prepare_kernel
from lanescope.emulate.launching.launch import parse_launch
from lanescope.emulate.run import run_kernel
from lanescope.emulate.text.parser import parse_module
from tests.ptxas import nvrtc

needs_nvrtc = pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC")


def run_cuda(source: str, kernel: str, threads: int, args: list[Any], out: NDArray[Any], **arrays: Any) -> NDArray[Any]:
    """What a kernel writes over `out` in the emulator, in blocks of at most 256 threads."""
    block = min(threads, 256)
    ptx, log = nvrtc.compile_ptx(source, "sm_90a")
    assert not log, log[:2000]
    module = parse_module(ptx)
    buffers = {name: array.reshape(-1) for name, array in arrays.items()} | {"out": out.reshape(-1)}
    launch = {
        "kernel": kernel,
        "grid": [-(-threads // block), 1, 1],
        "block": [block, 1, 1],
        "args": args,
        "buffer": {name: {"type": f"u{8 * array.itemsize}"} for name, array in buffers.items()},
    }
    launch["buffer"]["out"]["output"] = "out"
    result = run_kernel(prepare_kernel(module, parse_launch(launch), buffers))
    assert result.passed, result.findings
    return result.outputs["out"].array
