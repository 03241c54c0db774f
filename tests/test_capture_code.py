"""lanescope.cuh and the examples: they compile where they should, and leave nothing behind where compiled out."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from lanescope.app.hardware.capture_examples import EXAMPLES, MISTAKES, ExampleProgram, find_examples, render_program
from lanescope.capture.fills import EIGHT_BIT, compute_codes
from lanescope.render.capture_header import render_header
from tests.cases import for_each
from tests.cpp import find_compiler
from tests.ptxas import assembler, nvcc, nvrtc, sass
from tests.sample import FULL

needs_nvrtc = pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
needs_sass = pytest.mark.skipif(
    nvrtc.find_library() is None or assembler.find_ptxas() is None or sass.find_nvdisasm() is None,
    reason="no NVRTC, ptxas or nvdisasm: make test installs them",
)
MACRO = re.compile(r"^ *LANESCOPE_\w+\(.*?\);\n", re.M | re.S)


def test_the_header_is_complete() -> None:
    text = render_header()
    assert not re.search(r"@\w+@", text) and max(map(len, text.splitlines())) <= 120
    assert text.isascii() or "…" in text


def test_the_fills_of_the_header_are_those_of_the_engine(tmp_path: Path) -> None:
    """Compiled for the host and executed."""
    if not find_compiler():
        pytest.skip("no host compiler")
    (tmp_path / "lanescope.cuh").write_text(render_header())
    prints = "".join(
        f'std::printf("%u ", lanescope::{call});\n'
        for mn in (0, 1, 112, 113, 239, 240, 1000, 4095)
        for k in (0, 1, 112, 127, 128, 4095)
        for o in "ab"
        for call in (
            f"code_f16({mn}, {k}, '{o}')",
            f"code_bf16({mn}, {k}, '{o}')",
            f"code_tf32({mn}, {k}, '{o}')",
            f"code_8({mn}, {k}, '{o}', 1)",
            f"code_8({mn}, {k}, '{o}', 2)",
        )
    )
    text = f'#define __CUDACC_RTC__\n#include "lanescope.cuh"\n#include <cstdio>\nint main() {{\n{prints}}}\n'
    (tmp_path / "fills.cpp").write_text(text)
    subprocess.run(
        [str(find_compiler()), "-std=c++17", "-o", str(tmp_path / "fills"), str(tmp_path / "fills.cpp")], check=True
    )
    told = subprocess.run([str(tmp_path / "fills")], capture_output=True, text=True, check=True).stdout.split()
    wanted = [
        compute_codes(mn, k, name, o, part).item()
        for mn in (0, 1, 112, 113, 239, 240, 1000, 4095)
        for k in (0, 1, 112, 127, 128, 4095)
        for o in "ab"
        for name, part in (("f16", 1), ("bf16", 1), ("tf32", 1), (EIGHT_BIT[0], 1), (EIGHT_BIT[0], 2))
    ]
    assert list(map(int, told)) == wanted


@needs_nvrtc
@for_each("example", EXAMPLES, ids=lambda one: one.name, sample=2)
def test_examples_compile_with_nvrtc(example: ExampleProgram) -> None:
    """Right, and with a mistake; warnings of the compiler stand in the log of an error only."""
    for mistake in (0, MISTAKES - 1):
        assert nvrtc.compile_ptx(render_program(example, mistake), "sm_90a")[1] == ""


@needs_nvrtc
def test_a_block_reads_its_own_window() -> None:
    """In a cluster, bits 24 and up of a shared address are the block's rank; words and captures have none of them."""
    ptx, said = nvrtc.compile_ptx(render_program(EXAMPLES[3], 0), "sm_90a")
    assert said == "" and "lanescope_shared" in ptx
    assert re.search(r"and\.b32\s+%r\d+, %r\d+, -16777216;", ptx)
    text = render_header()
    begins = re.search(r"const unsigned (\w+) = shared_window\(\) \+ first;", text)
    assert begins and f'"r"({begins[1]} + n)' in text and text.count("ld.shared") == 1
    assert "[lane()] = address & OWN;" in text and "place.window_first & OWN" in text


@needs_nvrtc
@for_each("target", ["sm_75", "sm_80", "sm_100a"])
def test_the_header_compiles_for_other_targets(target: str) -> None:
    text = next(one for one in EXAMPLES if one.threads == 32).render_source()
    text = text.replace(".m16n8k16.", ".m16n8k8.").replace("%4, %5, %6, %7}, {%8, %9}", "%4, %5}, {%8}")
    ptx, said = nvrtc.compile_ptx("#define LANESCOPE 1\n" + text, target)
    assert said == "" and "ld.shared.v4" in ptx


@needs_nvrtc
def test_a_place_is_that_of_the_program() -> None:
    ptx, _ = nvrtc.compile_ptx(render_program(EXAMPLES[0], 0), "sm_90a")
    lines = (find_examples() / f"{EXAMPLES[0].name}.cu").read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "LANESCOPE_WGMMA" in line)
    name = ", ".join(str(letter) for letter in f"{EXAMPLES[0].name}.cu".encode())
    assert name in ptx and re.search(rf"\b{number}\b", ptx)


def compile_optimized(text: str) -> str:
    ptx, said = nvrtc.compile_ptx(text, "sm_90a", optimized=True)
    assert said == ""
    return ptx


def assemble(ptx: str, file: Path) -> str:
    assert assembler._run_ptxas(ptx, "sm_90a", file)[0] == 0
    return subprocess.run(
        [str(sass.find_nvdisasm()), "-c", str(file)], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.thorough
@needs_sass
@pytest.mark.parametrize("example", [EXAMPLES[0], EXAMPLES[3]] if FULL else [EXAMPLES[3]], ids=lambda one: one.name)
def test_compiled_out_it_costs_nothing(example: ExampleProgram, tmp_path: Path) -> None:
    """The machine code is that of the program without the header's macros; with them on it is another."""
    off = render_program(example, 0, recorded=False)
    begin = off.index(f'#line 1 "{example.name}.cu"')
    body = off.rindex('extern "C"')
    assert begin < body
    without = off[:body] + MACRO.sub("", off[body:])
    assert "LANESCOPE_" not in without[body:] and "LANESCOPE_" in off[body:]
    told, plain, recorded = map(compile_optimized, (off, without, render_program(example, 0)))
    assert told == plain or assemble(told, tmp_path / "off.cubin") == assemble(plain, tmp_path / "without.cubin")
    assert told.count("\n") < recorded.count("\n") / 2, "the macros are there when they are on"


def test_a_cluster_is_recorded_whole(tmp_path: Path) -> None:
    """Compiled for the host: every block of every cluster, against the blocks counted one by one."""
    if not find_compiler():
        pytest.skip("no host compiler")
    (tmp_path / "lanescope.cuh").write_text(render_header())
    asks = [
        (grid, cluster, first, last)
        for grid, cluster in (
            ((8, 1, 1), (2, 1, 1)),
            ((4, 6, 2), (2, 3, 1)),
            ((3, 2, 4), (1, 1, 1)),
            ((4, 2, 4), (1, 2, 2)),
        )
        for first, last in ((0, 0), (1, 1), (5, 6), (7, 7), (9, 3), (100, 200), (0, 1000))
    ]
    calls = "".join(
        f"  for (unsigned z = 0; z < {g[2]}; ++z) for (unsigned y = 0; y < {g[1]}; ++y)\n"
        f"  for (unsigned x = 0; x < {g[0]}; ++x) {{\n"
        f"    const unsigned grid[] = {{{g[0]}, {g[1]}, {g[2]}}}, cluster[] = {{{c[0]}, {c[1]}, {c[2]}}};\n"
        f"    const unsigned corner[] = {{x - x % {c[0]}, y - y % {c[1]}, z - z % {c[2]}}};\n"
        f"    std::putchar(lanescope::in_range({first}, {last}, grid, corner, cluster) ? '1' : '0');\n  }}\n"
        "  std::putchar('\\n');\n"
        for g, c, first, last in asks
    )
    text = f'#define __CUDACC_RTC__\n#include <cstdio>\n#include "lanescope.cuh"\nint main() {{\n{calls}}}\n'
    (tmp_path / "range.cpp").write_text(text)
    command = [str(find_compiler()), "-std=c++17", "-Wall", "-Wextra", "-Werror", str(tmp_path / "range.cpp")]
    subprocess.run([*command, "-o", str(tmp_path / "range")], check=True, capture_output=True)
    answers = subprocess.run([str(tmp_path / "range")], check=True, capture_output=True, text=True).stdout.split()
    for (grid, cluster, first, last), answer in zip(asks, answers, strict=True):
        blocks = [(x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])]
        own = [tuple(at // size for at, size in zip(block, cluster, strict=True)) for block in blocks]
        wanted = {own[n] for n in range(len(blocks)) if first <= n <= last}
        assert answer == "".join("1" if one in wanted else "0" for one in own), (grid, cluster, first, last)


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
def test_the_registers_of_a_cluster_assemble() -> None:
    moves = re.findall(r'asm\("(mov\.u32 %0, %%cluster_\w+\.[xyz];)"', render_header())
    assert len(moves) == 6
    body = "\n".join(move.replace("%%", "%").replace("%0", "r") for move in moves)
    text = f".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {{ .reg .u32 r;\n{body}\nret; }}"
    assert assembler.judge_text(text, "sm_90")[0] == 0


@pytest.mark.thorough
@pytest.mark.skipif(nvcc.find_nvcc() is None, reason=nvcc.MISSING)
@pytest.mark.parametrize("example", [EXAMPLES[1]], ids=lambda one: one.name)
def test_an_example_compiles_with_nvcc(example: ExampleProgram, tmp_path: Path) -> None:
    """Host side and all; every warning is an error but those about wgmma, which come as advice."""
    (tmp_path / "lanescope.cuh").write_text(render_header())
    options = ["-gencode", "arch=compute_90a,code=sm_90a", "-DLANESCOPE=1", f"-I{find_examples()}", f"-I{tmp_path}"]
    good, said = nvcc.compile_object(f'#include "{example.name}.cu"\n', tmp_path, options)
    assert good, said
