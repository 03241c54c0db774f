"""What Triton's own compiler makes of one tl.dot or tl.dot_scaled, from its wheel, in a process of its own.

    python -m tests.oracle.triton_dot < cases.json > answers.json

A case is a dict of `Case`. `stage` "chosen" stops behind the pass that chooses instructions, "ttgir" at Triton's last
TTGIR, "ptx" gives the multiplications of the PTX text. An answer is the list of products in order, each {"op", "d",
"a", "b"} with layouts as Triton prints them; for "ptx" the opcodes; null where Triton stops.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Case = dict[str, Any]  # m, n, k, a, b, acc, capability, warps, blocks, precision, imprecise, computed, scales, factor
MLIR = {
    "fp16": "f16",
    "fp32": "f32",
    "fp64": "f64",
    "int8": "i8",
    "int32": "i32",
    "fp8e4nv": "f8E4M3FN",
    "fp8e5": "f8E5M2",
    "e2m1": "i8",
}
FORMATS = {"fp8e4nv": "e4m3", "fp8e5": "e5m2"}
MULTIPLIES = re.compile(r"^\s*(?:@\S+\s+)?((?:mma|wgmma\.mma_async|tcgen05\.mma|fma\.rn)\.\S+)", re.MULTILINE)
PRODUCT = re.compile(r"(tt\.dot_scaled|tt\.dot|ttng\.warp_group_dot|ttng\.tc_gen5_mma_scaled|ttng\.tc_gen5_mma) %")


def compile_dots(cases: list[Case], stage: str = "chosen") -> list[Any]:
    """Return the answer of every case; RuntimeError where Triton aborts."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.oracle.triton_dot", stage]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"Triton aborted: {done.stderr[-2000:]}")
    return list(json.loads(done.stdout.splitlines()[-1]))


def write_matrix(name: str, rows: int, cols: int, element: str) -> str:
    """TTIR of pointers to a row-major matrix: %NAME_q."""
    size = f"{rows}x{cols}"
    return f"""
  %{name}_r0 = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : tensor<{rows}xi32>
  %{name}_c0 = tt.make_range {{end = {cols} : i32, start = 0 : i32}} : tensor<{cols}xi32>
  %{name}_r1 = tt.expand_dims %{name}_r0 {{axis = 1 : i32}} : tensor<{rows}xi32> -> tensor<{rows}x1xi32>
  %{name}_c1 = tt.expand_dims %{name}_c0 {{axis = 0 : i32}} : tensor<{cols}xi32> -> tensor<1x{cols}xi32>
  %{name}_w = arith.constant dense<{cols}> : tensor<{rows}x1xi32>
  %{name}_m = arith.muli %{name}_r1, %{name}_w : tensor<{rows}x1xi32>
  %{name}_rb = tt.broadcast %{name}_m : tensor<{rows}x1xi32> -> tensor<{size}xi32>
  %{name}_cb = tt.broadcast %{name}_c1 : tensor<1x{cols}xi32> -> tensor<{size}xi32>
  %{name}_o = arith.addi %{name}_rb, %{name}_cb : tensor<{size}xi32>
  %{name}_p = tt.splat %{name}_arg : !tt.ptr<{element}> -> tensor<{size}x!tt.ptr<{element}>>
  %{name}_q = tt.addptr %{name}_p, %{name}_o : tensor<{size}x!tt.ptr<{element}>>, tensor<{size}xi32>"""


def write_load(name: str, rows: int, cols: int, element: str) -> str:
    """TTIR that loads a matrix as %NAME."""
    load = f"\n  %{name} = tt.load %{name}_q : tensor<{rows}x{cols}x!tt.ptr<{element}>>"
    return write_matrix(name, rows, cols, element) + load


def write_ttir(case: Case) -> str:
    """TTIR of a kernel that loads both operands, multiplies and stores D."""
    m, n, k = case["m"], case["n"], case["k"]
    a, b, acc = (MLIR.get(str(case[name]), str(case[name])) for name in ("a", "b", "acc"))
    of_a, of_b = (
        f"{m}x{k // (2 if case['a'] == 'e2m1' else 1)}x{a}",
        f"{k // (2 if case['b'] == 'e2m1' else 1)}x{n}x{b}",
    )
    rows_b, cols_a = int(of_b.split("x")[0]), int(of_a.split("x")[1])
    body = write_load("a", m, cols_a, a) + write_load("b", rows_b, n, b) + write_matrix("c", m, n, acc)
    factor, scale = (k // case.get("factor", 32), "f8E4M3FN" if case.get("factor") == 16 else "i8")
    words, kinds = {"a": "", "b": ""}, {"a": "", "b": ""}
    for name, rows in (("a", m), ("b", n)):
        if name in case.get("scales", ""):
            body += write_load(f"s{name}", rows, factor, scale)
            words[name], kinds[name] = f" scale %s{name}", f", tensor<{rows}x{factor}x{scale}>"
    left = "%a"
    if case.get("computed"):
        left = "%a2"
        body += f"\n  %a2 = arith.{'addi' if a == 'i8' else 'addf'} %a, %a : tensor<{of_a}>"
    if case.get("scales"):
        formats = f"lhs = {FORMATS.get(case['a'], case['a'])} rhs = {FORMATS.get(case['b'], case['b'])}"
        product = f"tt.dot_scaled {left}{words['a']}, %b{words['b']}, %z {formats} {{fastMath = false}}"
    else:
        how = "" if case["precision"] == "ieee" else f", inputPrecision = {case['precision']}"
        imprecise = case.get("imprecise") or 0
        product = f"tt.dot {left}, %b, %z{how}" + (f" {{maxNumImpreciseAcc = {imprecise} : i32}}" if imprecise else "")
    operands = f"tensor<{of_a}>{kinds['a']} * tensor<{of_b}>{kinds['b']} -> tensor<{m}x{n}x{acc}>"
    arguments = ", ".join(
        f"%{name}_arg: !tt.ptr<{kind}> {{tt.divisibility = 16 : i32}}"
        for name, kind in (("a", a), ("b", b), ("c", acc), ("sa", scale), ("sb", scale))
    )
    return f"""module {{
 tt.func public @kernel({arguments}) {{{body}
  %z = arith.constant dense<{"0" if acc == "i32" else "0.0"}> : tensor<{m}x{n}x{acc}>
  %d = {product} : {operands}
  tt.store %c_q, %d : tensor<{m}x{n}x!tt.ptr<{acc}>>
  tt.return
 }}
}}"""


def compile_case(case: Case, stage: str) -> Any:
    """Compile one case up to a stage."""
    from triton._C.libtriton import ir, nvidia, passes
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    capability, warps, blocks = case["capability"], case["warps"], case["blocks"]
    backend = make_backend(GPUTarget("cuda", capability, 32))
    options = backend.parse_options({"num_warps": warps, "num_ctas": blocks})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.ttir")
        path.write_text(write_ttir(case))
        module = ir.parse_mlir_module(str(path), context)
    module.context = context
    meta: dict[str, Any] = {}
    module = backend.make_ttir(module, meta, options, capability)
    if stage != "chosen":
        module = backend.make_ttgir(module, meta, options, capability)
        if stage == "ptx":
            text = backend.make_ptx(backend.make_llir(module, meta, options, capability), meta, options, capability)
            return sorted(set(MULTIPLIES.findall(text)))
        return find_products(str(module))
    manager = ir.pass_manager(context)
    passes.ttir.add_convert_to_ttgpuir(manager, f"cuda:{capability}", warps, 32, blocks)
    passes.ttgpuir.add_coalesce(manager)
    passes.ttgpuir.add_f32_dot_tc(manager, capability >= 80)
    nvidia.passes.ttnvgpuir.add_assign_cga_layouts(manager)
    passes.ttgpuir.add_remove_layout_conversions(manager)
    nvidia.passes.ttnvgpuir.add_optimize_cta_locality(manager)
    passes.ttgpuir.add_remove_layout_conversions(manager)
    passes.ttgpuir.add_optimize_thread_locality(manager)
    passes.ttgpuir.add_accelerate_matmul(manager)
    nvidia.passes.ttnvgpuir.add_check_matmul_two_cta(manager)
    passes.ttgpuir.add_remove_layout_conversions(manager)
    manager.run(module, "chosen")
    return find_products(str(module))


def find_products(text: str) -> list[dict[str, str]]:
    """List the products of a module in order, with the types of D, A and B, aliases resolved."""
    names = dict(re.findall(r"^(#\w+) = (#tt.*?)(?: loc\(.*\))?$", text, re.MULTILINE))

    def resolve(one: str) -> str:
        while (new := re.sub(r"#\w+\b(?![.<])", lambda match: names.get(match[0], match[0]), one)) != one:
            one = new
        return one

    out = []
    for line in text.splitlines():
        if found := PRODUCT.search(line):
            types = split_types(
                resolve(re.split(r" : (?=!ttg\.memdesc|tensor<)", re.sub(r" loc\(.*", "", line), maxsplit=1)[1])
            )
            d = types[2] if found[1].startswith("ttng.tc_gen5") else types[-1]
            b = types[2] if "dot_scaled" in found[1] and len(types) == 5 else types[1]
            out.append({"op": found[1], "d": d, "a": types[0], "b": b})
    return out


def split_types(text: str) -> list[str]:
    """Split a list of types at the signs between them, outside brackets."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "<[({") - (sign in ">])}" and text[at - 1] != "-")
        if (not depth and sign in ",*") or text[at : at + 2] == "->":
            parts.append(text[start:at].strip())
            start = at + (2 if sign == "-" else 1)
    return [part for part in (*parts, text[start:].strip()) if part]


def main() -> None:
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    out: list[Any] = []
    for case in json.load(sys.stdin):
        try:
            out.append(compile_case(case, sys.argv[1]))
        except RuntimeError as error:
            print(case, error, file=sys.stderr)
            out.append(None)
    print(json.dumps(out))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
