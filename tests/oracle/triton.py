"""Triton's own linear layouts, from its wheel, in a process of their own: an illegal layout aborts it.

    python -m tests.oracle.triton < cases.json > answers.json

A case is [kind, parameters by MLIR's names, shape]; its answer the bases by index, or null where Triton raises. A
parent is {"attribute": kind, "params": …}. A padded_shared has no linear layout in Triton; of tensor memory it says
rows and columns, not blocks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

Case = tuple[str, dict[str, Any], tuple[int, ...]]


def answers(cases: list[Case]) -> list[dict[str, list[list[int]]] | None]:
    """Triton's bases of every case; RuntimeError where it aborts."""
    command = [sys.executable, "-m", "tests.oracle.triton"]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"Triton aborted: {done.stderr[-2000:]}")
    return list(json.loads(done.stdout.splitlines()[-1]))


def layout_of(kind: str, params: dict[str, Any], shape: tuple[int, ...]) -> Any:
    """The object of Gluon that a kind and its parameters are."""
    import triton.experimental.gluon.language as gl
    from triton.experimental.gluon.language.nvidia import blackwell

    cga = params.get("CGALayout", [])
    inner = None
    if "parent" in params:
        wide = shape
        if kind == "slice":
            wide = (*shape[: params["dim"]], 1, *shape[params["dim"] :])
        inner = layout_of(params["parent"]["attribute"], params["parent"]["params"], wide)
    made = {
        "blocked": lambda: gl.BlockedLayout(
            params["sizePerThread"], params["threadsPerWarp"], params["warpsPerCTA"], params["order"], cga
        ),
        "nvidia_mma": lambda: gl.NVMMADistributedLayout(
            [params["versionMajor"], 0], params["warpsPerCTA"], params["instrShape"], cga
        ),
        "dot_op": lambda: gl.DotOperandLayout(params["opIdx"], inner, params.get("kWidth", 0)),
        "slice": lambda: gl.SliceLayout(params["dim"], inner),
        "linear": lambda: gl.DistributedLinearLayout(
            params["register"], params["lane"], params["warp"], params.get("block", []), params.get("size", list(shape))
        ),
        "swizzled_shared": lambda: gl.SwizzledSharedLayout(
            params["vec"], params["perPhase"], params["maxPhase"], params["order"], cga
        ),
        "nvmma_shared": lambda: gl.NVMMASharedLayout(
            params["swizzlingByteWidth"],
            params["elementBitWidth"],
            len(shape),
            params.get("transposed", False),
            params.get("fp4Padded", False),
            cga,
        ),
        "get_default_for": lambda: gl.NVMMASharedLayout.get_default_for(
            list(shape), getattr(gl, params["dtype"]), transposed=params["transposed"]
        ),
        "tensor_memory_encoding": lambda: blackwell.TensorMemoryLayout(
            (params["blockM"], params["blockN"]),
            params["colStride"],
            cga,
            params.get("twoCTAs", False),
            params.get("fp4Padded", False),
        ),
        "tensor_memory_scales_encoding": lambda: blackwell.TensorMemoryScalesLayout(cga),
        "shared_linear": lambda: gl.SharedLinearLayout(params["offset"], params.get("block", [])),
    }
    return made[kind]()


def main() -> None:
    from triton._C.libtriton import gluon_ir, ir

    context = ir.context()
    ir.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    out: list[Any] = []
    for kind, params, shape in json.load(sys.stdin):
        try:
            found = builder.to_linear_layout(layout_of(kind, params, tuple(shape))._to_ir(builder), list(shape))
        except (RuntimeError, AssertionError, ValueError, TypeError) as error:
            print(kind, params, shape, error, file=sys.stderr)
            out.append(None)
            continue
        names = {
            "reg_bases": "register",
            "lane_bases": "lane",
            "warp_bases": "warp",
            "block_bases": "block",
            "offset_bases": "offset",
            "rows": "row",
            "cols": "col",
        }
        out.append({names[n]: getattr(found, n) for n in names if hasattr(found, n)})
    print(json.dumps(out))
    sys.stdout.flush()
    os._exit(0)  # nanobind reports what a module leaves behind


if __name__ == "__main__":
    main()
