"""Generated code: it compiles, it assembles, and the Python snippets compute the map."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from lanescope import find
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import REGISTERS
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.slots import list_slots as slots_of
from lanescope.ptx.table import atoms
from lanescope.reader.cutlass_names import cutlass
from lanescope.render import cuda, python
from tests.ptxas import assembler, nvrtc
from tests.sample import take_sample

ATOMS = set(gzip.decompress((Path(__file__).parent / "golden" / "cutlass_atoms.txt.gz").read_bytes()).decode().split())


@cache
def sample_instructions() -> dict[str, list[Instruction]]:
    """Every family row and shape once (wgmma: the smallest, an odd and the largest N), by the newest target that takes
    it.
    """
    out: dict[str, list[Instruction]] = {}
    seen = set()
    for i in catalog.instructions():
        n = i.sizes.get("n", 0)
        plain = i.family.name == "mma_scaled" or i.family.tensor  # tests/test_tcgen05.py assembles every one of these
        key = (id(i.family), i.shape, "" if plain else i.syntax.modifiers)
        if key in seen or (i.family.scope.several and n not in (8, 24, 256)):
            continue
        seen.add(key)
        out.setdefault(catalog.get_target_support(i).targets[-1], []).append(i)
    return out


@pytest.mark.thorough
@pytest.mark.skipif(
    nvrtc.find_library() is None or assembler.find_ptxas() is None,
    reason="no NVRTC or no ptxas: make test installs both",
)
def test_cuda_compiles_and_assembles() -> None:
    for target, every in sample_instructions().items():
        chosen = take_sample(every, 8)
        parts = [f"namespace n{number} {{\n{cuda.render_program(i)}}}\n" for number, i in enumerate(chosen)]
        kernels = [render_kernel(i, number, form) for number, i in enumerate(chosen) for form in i.family.forms]
        text, log = nvrtc.compile_ptx("".join(parts + kernels), target)
        assert text, (target, log[:2000])
        code, said = assembler._run_ptxas(text, target)
        assert code == 0, (target, said[:2000])
        assert not [i.ptx for i in chosen if i.ptx not in text], target


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_immediates_are_template_parameters() -> None:
    """Each lands at its place of the PTX line, and the defaults are those of an unscaled, K-major product."""
    dense, sparse = find("wgmma.mma_async.m64n8k16.f32.f16.f16"), find("wgmma.mma_async.sp.m64n8k32.f32.f16.f16")
    name = cuda.get_wrapper_name(dense, "shared")
    calls = [
        f"{name}(d, w, w, 1);",
        f"{name}<-1, 1, 0, 1>(d, w, w, 1);",
        f"{cuda.get_wrapper_name(dense)}<1, -1, 1>(d, r, w, 0);",
    ]
    calls.append(f"{cuda.get_wrapper_name(sparse, 'shared')}<1, 1, -1, 1, 0>(d, w, w, 0x44444444, 1);")
    body = "float d[4] = {}; unsigned r[4] = {}; " + " ".join(calls) + " for (int n = 0; n < 4; ++n) out[n] = d[n];"
    head = "".join(cuda.render_wrapper(i, form) for i in (dense, sparse) for form in ("registers", "shared"))
    text, log = nvrtc.compile_ptx(
        f'{head}extern "C" __global__ void k(float* out, unsigned long long w) {{ {body} }}', "sm_90a"
    )
    assert not log
    lines = [
        line.rsplit("%rd", 1)[1]
        for line in text.splitlines()
        if line.strip().startswith("wgmma.mma_async") or "; wgmma.mma_async" in line
    ]
    assert [line.split(", ", 1)[1].split(";")[0] for line in lines] == [
        "p, 1, 1, 0, 0",
        "p, -1, 1, 0, 1",
        "p, 1, -1, 1",
        lines[3].split(", ", 1)[1].split(";")[0],
    ]
    assert lines[3].split(";")[0].endswith(", 1, p, 1, -1, 1, 0")


def render_kernel(i: Instruction, number: int, form: str) -> str:
    """A kernel that loads, runs and stores through the generated functions, so that the compiler keeps them."""
    body, arguments = [], []
    for slot in sorted(slots_of(i, form), key=lambda s: not s.written):
        kind = REGISTERS[slot.type].cpp if slot.type in REGISTERS else ""
        if slot.kind == "vector":
            body.append(f"  {kind} {slot.name}[{slot.registers}] = {{}};")
            operand = {"r": next(iter(i.operands))}.get(slot.name, slot.name)
            if not slot.written and f"load_{operand}(" in cuda.render_program(i):
                held = i.operands[operand]
                body.append(
                    f"  n{number}::load_{operand}({slot.name}, (decltype(n{number}::m_{operand}))m, 64);".replace(
                        f"decltype(n{number}::m_{operand})",
                        f"const {cuda.get_memory_type(held.element, held.container_bits)}*",
                    )
                )
            arguments.append(slot.name)
        elif slot.kind == "predicate":
            arguments.append("1")
        elif slot.kind in ("register", "address"):
            body.append(
                f"  {kind} {slot.name} = ({kind})m;"
                if slot.type in ("u64",)
                else f"  {kind} {slot.name} = ({kind})(unsigned long long)m;"
            )
            arguments.append(slot.name)
    name = cuda.get_function_name(i) + ("_shared_a" if form == "shared" else "")
    body.append(f"  n{number}::{name}({', '.join(arguments)});")
    if "d" in i.operands:
        out = i.operands["d"]
        written = next((s for s in slots_of(i, form) if s.written and s.kind == "vector"), None)
        if written:
            body.append(
                f"  n{number}::store_d({written.name}, ({cuda.get_memory_type(out.element, out.container_bits)}"
                f"*)m, 64);"
            )
    outputs = [s for s in slots_of(i, form) if s.written]
    for s in outputs:
        element = f"{s.name}[0]" if s.kind == "vector" else s.name
        body.append(f"  *(volatile unsigned*)m = (unsigned){element};")
    return f'extern "C" __global__ void k{number}_{form}(void* m) {{\n' + "\n".join(body) + "\n}\n"


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
def test_the_syntax_shown_assembles() -> None:
    """The operand list spelled on the page, with each name declared as the register type it says: a kernel for each, in
    one text for each target.
    """
    for target, chosen in sample_instructions().items():
        versions = [catalog.get_target_support(i).ptx_version.split(".") for i in chosen]
        major, minor = max((9, 0), *((int(major), int(minor)) for major, minor in versions))
        parts = [f".version {major}.{minor}\n.target {target}\n.address_size 64\n"]
        forms = [(i, form) for i in chosen for form in i.family.forms]
        for number, (i, form) in enumerate(forms):
            declared = []
            for slot in slots_of(i, form):
                if slot.kind == "vector":
                    declared += [f".reg .{slot.type} {slot.name}<{slot.registers}>;"]
                elif slot.kind != "immediate":
                    declared += [f".reg .{slot.type} {slot.name};"]
            operands = ", ".join(slot.text for slot in slots_of(i, form))
            parts.append(f".entry k{number}() {{ {' '.join(declared)}\n{i.ptx} {operands};\nret; }}\n")
        code, told = assembler._run_ptxas("".join(parts), target)
        assert code == 0, (target, [line for line in told.splitlines() if "error" in line][:5])


def test_python_snippets_pack_by_the_map() -> None:
    seen = set()
    for i in catalog.instructions():
        for op in i.operands.values():
            key = (op.pattern, op.container_bits, op.axes)
            if key in seen:
                continue
            seen.add(key)
            scope: dict[str, object] = {}
            exec(python.render_snippet(op), scope)
            matrix = np.arange(int(np.prod(op.pattern.extents)), dtype=np.uint64).reshape(op.pattern.extents)
            matrix &= np.uint64((1 << min(op.container_bits, 63)) - 1)
            registers = scope["pack"](matrix)  # type: ignore[operator]
            places = op.pattern.evaluate()
            for t, v in ((0, 0), (op.threads - 1, op.values - 1), (13 % op.threads, op.values // 2)):
                register, bit = op.register_of(v)
                element = int(registers[t, register]) >> bit & ((1 << op.container_bits) - 1)
                assert element == int(matrix[tuple(int(p[t, v]) for p in places)]), (i.ptx, op.name)
            assert np.array_equal(scope["unpack"](registers), matrix)  # type: ignore[operator]


def test_atoms_exist_in_cutlass() -> None:
    named = {i: name for i in catalog.instructions() if (name := atoms.get_atom_name(i))}
    assert len(named) > 500
    for i, name in named.items():
        bare = name.split(" ")[0].split("::")[-1]
        assert bare in ATOMS, (i.ptx, name)
        (read,) = cutlass.recognise_cutlass_atoms(name)
        assert read.facts["ptx"] == i.ptx, name
        if "_SS" in bare:
            assert bare.replace("_SS", "_RS") in ATOMS
