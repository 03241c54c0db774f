"""Whether Triton's Python takes a tl.dot, from its wheel: kernels whose TTIR is made, in a process of their own.

    python -m tests.oracle.triton_frontend < cases.json > answers.json

A case is [capability, type of A, type of B, M, N, K, max_num_imprecise_acc or null]; its answer the element type of D
as MLIR names it, or null where Triton's Python refuses.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

Case = tuple[int, str, str, int, int, int, int | None]
NAMES = {"int8": "i8"}
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def multiply(a, b, d, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, IMPRECISE: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(d + m[:, None] * N + n[None, :], tl.dot(left, right, max_num_imprecise_acc=IMPRECISE))
"""


def ask_frontend(cases: list[Case]) -> list[str | None]:
    """Return the element type of D of every case; None where Triton's Python refuses it."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.oracle.triton_frontend"]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, timeout=300, check=True)
    return list(json.loads(done.stdout.splitlines()[-1]))


def make_ttir(kernel: Any, case: Case) -> str:
    """Return the TTIR of a case."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    capability, a, b, *sizes, imprecise = case
    target = GPUTarget("cuda", capability, 32)
    backend = make_backend(target)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    constants = dict(zip(("M", "N", "K", "IMPRECISE"), (*sizes, imprecise), strict=True))
    kinds = {"a": f"*{NAMES.get(a, a)}", "b": f"*{NAMES.get(b, b)}", "d": "*fp32"}
    source = ASTSource(kernel, kinds | dict.fromkeys(constants, "constexpr"), constants)
    generation, modules = backend.get_codegen_implementation(options), backend.get_module_map()
    return str(source.make_ir(target, options, generation, modules, context))


def main() -> None:
    import importlib.util
    import tempfile
    from pathlib import Path

    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    out: list[str | None] = []
    with tempfile.TemporaryDirectory() as folder:  # Triton reads a kernel's source from its file
        path = Path(folder, "kernel.py")
        path.write_text(KERNEL)
        spec = importlib.util.spec_from_file_location("kernel", path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for case in json.load(sys.stdin):
            try:
                found = re.search(r"tt\.dot .*-> tensor<\d+x\d+x(\w+)>", make_ttir(module.multiply, case))
                out.append(found[1] if found else None)
            except Exception as error:  # whatever Triton raises is a refusal; a test asks cases of both kinds
                print(case, error, file=sys.stderr)
                out.append(None)
    print(json.dumps(out))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
