"""Kernels that run single statements: every thread loads registers, executes one, and stores its result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tests.emulated_kernels import run_text

THREADS = 64
Case = tuple[str, str, list[str], int]  # text, type of %d, types of %a %b %c %e, which values


def write_kernel(cases: Sequence[Case], target: str = "sm_90a", version: str = "8.5") -> str:
    """Return a kernel that runs statements on the same registers, one after the other."""
    lines = [
        f".version {version}\n.target {target}\n.address_size 64",
        ".visible .entry k(.param .u64 in, .param .u64 out) {",
        ".reg .b64 %x<5>; .reg .b32 %t<4>; ld.param.u64 %x1, [in]; ld.param.u64 %x2, [out]; mov.u32 %t0, %tid.x;",
        "mul.wide.u32 %x0, %t0, 32; add.u64 %x1, %x1, %x0; mul.wide.u32 %x0, %t0, 8; add.u64 %x2, %x2, %x0;",
    ]
    for number, (text, result, operands, _) in enumerate(cases):
        lines.append(f"{{ .reg .{result} %d;")
        for place, kind in enumerate(operands):
            lines.append(f".reg .{kind} %{'abce'[place]}; ld.global.{kind} %{'abce'[place]}, [%x1+{8 * place}];")
        widen = {"pred": "selp.u64 %x3, 1, 0, %d;", "b64": "mov.b64 %x3, %d;"}
        lines.append(text)
        lines.append(widen.get(result, f"cvt.u64.u{result[1:]} %x3, %d;"))
        lines.append(f"st.global.u64 [%x2+{number * THREADS * 8}], %x3; }}")
    return "\n".join([*lines, "ret; }"])


def run_statement(
    text: str, result: str, operands: dict[str, NDArray[np.uint64]], target: str = "sm_90a"
) -> NDArray[np.uint64]:
    """Return what 64 threads get of one statement. operands: type and name ("b32 a") → register values."""
    values = np.zeros((THREADS, 4), np.uint64)
    for place, value in enumerate(operands.values()):
        values[:, place] = value
    out = np.zeros(THREADS, np.uint64)
    kernel = write_kernel([(text, result, [key.split()[0] for key in operands], 0)], target, "9.0")
    machine = run_text(kernel, [values, out], block=(THREADS, 1, 1))
    assert machine.status == "finished", machine.findings
    return out
