"""Triton's own linear layouts, from its wheel, in a process of their own: an illegal layout aborts it.

    python -m tests.oracle.triton < cases.json > answers.json

A case is [kind, parameters by MLIR's names, shape]; its answer the bases by index, or null where Triton raises. A
parent is {"attribute": kind, "params": …}. The kind `text` has the attribute as MLIR's parser takes it; its answer is
null, too, where Triton aborts. The kind `view` has a layout in place of a parent; its answer is what Triton prints:
[warp][register][lane] → coordinates, as one list of numbers. A padded_shared has no linear layout in Triton; of tensor
memory it says rows and columns, not blocks.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

Case = tuple[str, dict[str, Any], tuple[int, ...]]
NAMES = {  # Gluon's → ours
    "reg_bases": "register",
    "lane_bases": "lane",
    "warp_bases": "warp",
    "block_bases": "block",
    "offset_bases": "offset",
    "rows": "row",
    "cols": "col",
}


def answers(cases: list[Case]) -> list[Any]:
    """Triton's bases of every case; RuntimeError where it aborts."""
    command = [sys.executable, "-m", "tests.oracle.triton"]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"Triton aborted: {done.stderr[-2000:]}")
    return list(json.loads(done.stdout.splitlines()[-1]))


def layout_of(kind: str, params: dict[str, Any], shape: tuple[int, ...]) -> Any:
    """The object of Gluon that a kind and its parameters are."""
    import triton.experimental.gluon.language as gl
    from triton.experimental.gluon.language import amd
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
        "amd_mfma": lambda: amd.AMDMFMALayout(
            params["version"],
            params["instrShape"],
            params["isTransposed"],
            params["warpsPerCTA"],
            params.get("elementBitWidth"),
            params.get("tilesPerWarp"),
            cga,
        ),
        "amd_wmma": lambda: amd.AMDWMMALayout(
            params["version"],
            params["isTranspose"],
            params["ctaLayout"]["warp"],
            params["ctaLayout"].get("register"),
            params["instrShape"],
            cga,
            len(params["ctaLayout"]["warp"][0]) if params["ctaLayout"]["warp"] else None,
        ),
        "shared_linear": lambda: gl.SharedLinearLayout(params["offset"], params.get("block", [])),
    }
    return made[kind]()


def parse_text(context: Any, builder: Any, params: dict[str, Any], shape: list[int]) -> Any:
    """The object of Gluon that MLIR's parser makes of an attribute."""
    from triton._C.libtriton import ir

    module = f"""module attributes {{
      "ttg.num-ctas" = {params["blocks"]} : i32, "ttg.num-warps" = {params["warps"]} : i32,
      ttg.target = "hip:gfx942", "ttg.threads-per-warp" = {params["lanes"]} : i32}} {{
      tt.func @f(%a: tensor<{"x".join(map(str, shape))}xf32, {params["text"]}>) {{ tt.return }} }}"""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(module)
        file.flush()
        parsed = ir.parse_mlir_module(file.name, context)
    return builder.get_gluon_layout_from_tensor(parsed.get_function("f").args(0))


def answer_in_child(work: Callable[[], Any]) -> Any:
    """What work returns in a child process; None if it raises or aborts."""
    there, here = os.pipe()
    if not os.fork():
        os.close(there)
        with contextlib.suppress(Exception), os.fdopen(here, "w") as end:
            json.dump(work(), end)
        os._exit(0)
    os.close(here)
    with os.fdopen(there) as end:
        text = end.read()
    os.wait()
    return json.loads(text) if text else None


def main() -> None:
    from triton._C.libtriton import gluon_ir, ir

    context = ir.context()
    ir.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)

    def find_bases(layout: Any, shape: list[int]) -> dict[str, Any]:
        found = builder.to_linear_layout(layout._to_ir(builder), shape)
        return {name: getattr(found, key) for key, name in NAMES.items() if hasattr(found, key)}

    def answer(kind: str, params: dict[str, Any], shape: list[int]) -> Any:
        if kind == "text":
            return answer_in_child(lambda: find_bases(parse_text(context, builder, params, shape), shape))
        if kind == "view":
            layout = layout_of(params["attribute"], params["params"], tuple(shape))
            text = gluon_ir.get_layout_view(layout, shape, True)
            return [int(number) for number in re.findall(r"\d+", re.sub(r"Warp\d+:", "", text))]
        return find_bases(layout_of(kind, params, tuple(shape)), shape)

    out: list[Any] = []
    for kind, params, shape in json.load(sys.stdin):
        try:
            out.append(answer(kind, params, shape))
        except (RuntimeError, AssertionError, ValueError, TypeError) as error:
            print(kind, params, shape, error, file=sys.stderr)
            out.append(None)
    print(json.dumps(out))
    sys.stdout.flush()
    os._exit(0)  # nanobind reports what a module leaves behind


if __name__ == "__main__":
    main()
