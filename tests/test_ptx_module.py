"""Files of PTX: what wgmma and tcgen05.mma are given is what the source builds, whatever the compiler made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.reader.code.evaluation import evaluate_text
from tests.cases import for_each
from tests.checked import check_text
from tests.command import run_lanescope
from tests.found_in_code import find_builders
from tests.ptxas import nvrtc
from tests.test_check_tcgen05 import KERNEL as TCGEN05

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry gemm(.param .u64 gemm_param_0, .param .u32 gemm_param_1)
{
  .reg .pred %p<9>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<40>;
  .reg .f32 %f<4>;
"""
MMA = "  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd20, %rd20, 1, 1, 1, 0, 0;\n"
UPPER = 1 << 62 | 64 << 32 | 1 << 16  # the 128B swizzle, SBO 1024, LBO 16
LAST = f"or.b64 %rd20, %rd1, {UPPER}"


def write_module(*lines: str) -> str:
    return HEAD + "".join(f"  {line};\n" if not line.endswith(":") else f"{line}\n" for line in lines) + MMA + "}\n"


def read_word(*lines: str, **given: int | str) -> str:
    """Return what %rd20 is at the wgmma, in hexadecimal where it is known."""
    evaluation = evaluate_text(write_module(*lines), 1, (), tuple((n, str(v)) for n, v in given.items()))
    assert evaluation is not None
    value = evaluation.asm_runs[-1].inputs[0][1]
    assert value is not None
    return f"{value.known % (1 << 64):#x}" if value.known is not None else str(value)


@for_each(
    "lines",
    [
        [f"mov.u64 %rd20, {UPPER | 0x40}"],
        [f"mov.u64 %rd1, {0x40}", f"or.b64 %rd20, %rd1, {UPPER}"],
        ["mov.u32 %r1, 0x10040", "mov.u32 %r2, 0x40000040", "mov.b64 %rd20, {%r1, %r2}"],
        [f"mov.u64 %rd1, {UPPER}", "add.s64 %rd20, %rd1, 64"],
        ["mov.u32 %r1, 1024", "and.b32 %r2, %r1, 0x3FFFF", "shr.u32 %r3, %r2, 4", "cvt.u64.u32 %rd1, %r3", LAST],
        ["mov.u64 %rd1, 1", "shl.b64 %rd2, %rd1, 62", "mov.u64 %rd3, 0x4000010040", "xor.b64 %rd20, %rd2, %rd3"],
        ["mov.u64 %rd1, 64", f"mov.u64 %rd2, {UPPER}", "bfi.b64 %rd20, %rd1, %rd2, 0, 14"],
        ["mov.u64 %rd1, 1024", "bfe.u64 %rd2, %rd1, 4, 14", f"or.b64 %rd20, %rd2, {UPPER}"],
        ["mov.u32 %r1, 0x00004000", "prmt.b32 %r2, %r1, 0, 0x4441", "cvt.u64.u32 %rd1, %r2", LAST],
        ["mov.u32 %r1, 3", "setp.eq.u32 %p1, %r1, 3", f"selp.b64 %rd20, {UPPER | 0x40}, 0, %p1"],
        ["mov.u32 %r1, 4", "mad.lo.s32 %r2, %r1, 16, 0", "cvt.u64.u32 %rd1, %r2", f"or.b64 %rd20, %rd1, {UPPER}"],
        ["mov.u32 %r1, 4", "mul.wide.u32 %rd1, %r1, 16", f"or.b64 %rd20, %rd1, {UPPER}"],
        [f"mov.u64 %rd1, {UPPER | 0x40}", "{", ".reg .b64 %rd1", "mov.u64 %rd1, 5", "}", "mov.b64 %rd20, %rd1"],
        [f"mov.u64 %rd20, {UPPER | 0x40}", "setp.ne.u32 %p1, 1, 1", "@%p1 mov.u64 %rd20, 0"],
    ],
    ids=lambda lines: lines[-1].split()[0],
)
def test_a_word_is_followed_to_its_last_bit(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert read_word(*lines) == f"{UPPER | 0x40:#x}", text


def test_a_symbol_is_followed_through_mask_and_shift() -> None:
    module = write_module(
        "mov.u64 %rd1, smem",
        "cvta.shared.u64 %rd2, %rd1",
        "cvta.to.shared.u64 %rd3, %rd2",
        "cvt.u32.u64 %r1, %rd3",
        "add.s32 %r2, %r1, 96",
        "and.b32 %r3, %r2, 261216",  # 0x3FC60: without the bits that the alignment makes 0
        "shr.u32 %r4, %r3, 4",
        "cvt.u64.u32 %rd4, %r4",
        f"or.b64 %rd20, %rd4, {UPPER}",
    )
    (built,) = find_builders(module)
    assert (built.start, built.lbo_bytes, built.sbo_bytes, built.swizzle) == ("smem + 96", 16, 1024, "128B")


@for_each("mask", [0x3FC40, 0x3F060, 0x3FC20])
def test_a_mask_that_cuts_bits_of_the_address_is_not_an_address_shifted_by_4(mask: int) -> None:
    module = write_module(
        "mov.u32 %r1, smem",
        "add.s32 %r2, %r1, 1120",  # 1024 + 96: bits 10, 6 and 5
        f"and.b32 %r3, %r2, {mask}",
        "shr.u32 %r4, %r3, 4",
        "cvt.u64.u32 %rd4, %r4",
        f"or.b64 %rd20, %rd4, {UPPER}",
    )
    assert all(built.start != "smem + 1120" for built in find_builders(module))


ADDRESS = ["mov.u32 %r1, smem", "shr.u32 %r2, %r1, 4", "cvt.u64.u32 %rd1, %r2", "and.b64 %rd2, %rd1, 16383"]
WARP = ["ld.param.u32 %r3, [gemm_param_1]", "shl.b32 %r4, %r3, 7", "and.b32 %r5, %r4, 384", "cvt.u64.u32 %rd3, %r5"]


def test_a_step_may_be_one_number_with_the_fields() -> None:
    """Triton's PTX adds the step of K, in units of 16 bytes, and the upper fields in one instruction."""
    module = write_module(*ADDRESS, f"add.s64 %rd20, %rd2, {UPPER | 2}")
    (built,) = find_builders(module)
    assert (built.start, built.lbo_bytes, built.sbo_bytes, built.swizzle) == ("smem + 32", 16, 1024, "128B")
    assert check_text(module).doubts == ()


def test_bits_of_a_warp_may_be_added_to_an_address_before_the_fields() -> None:
    module = write_module(*ADDRESS, *WARP, "add.s64 %rd4, %rd2, %rd3", f"add.s64 %rd20, %rd4, {UPPER | 4}")
    (built,) = find_builders(module)
    assert built.start == "smem + 2048·((gemm_param_1) & 3) + 64"
    assert check_text(module).doubts == ()


def test_an_operand_belongs_to_the_descriptor_that_its_address_is_in() -> None:
    """nvcc masks what the alignment makes 0, and the step of K may be in these bits: the start is open then."""
    masked = "and.b32 %r{0}, %r{0}, 261120", "shr.u32 %r{0}, %r{0}, 4", "cvt.u64.u32 %rd{0}, %r{0}"
    module = write_module(
        "mov.u32 %r1, smem",
        "ld.param.u32 %r2, [gemm_param_1]",
        "and.b32 %r3, %r2, 253952",
        "add.s32 %r4, %r1, %r3",
        *(line.format(4) for line in masked),
        f"or.b64 %rd20, %rd4, {UPPER | 2}",
        "add.s32 %r5, %r1, 32768",
        *(line.format(5) for line in masked),
        f"or.b64 %rd21, %rd5, {UPPER | 2}",
    )
    points = check_text(module.replace("%rd20, %rd20, 1", "%rd20, %rd21, 1")).open
    lines = [module[: point.span[0]].count("\n") for point in points]
    made = [module[: module.index(f"or.b64 {name}")].count("\n") for name in ("%rd20", "%rd21")]
    assert lines == made and all("depends on" in point.message for point in points)


def test_where_ways_meet_a_register_of_two_values_is_open() -> None:
    """Only one of the two is taken: neither may be reported."""
    lines = ["mov.u64 %rd20, 1", "@%p5 bra $L1", f"mov.u64 %rd20, {UPPER | 0x40}", "$L1:"]
    assert read_word(*lines) == "rd20"
    assert read_word(*lines[:2], "mov.u64 %rd21, 2", *lines[3:]) == "0x1"


def test_a_loop_does_not_keep_the_first_turn() -> None:
    lines = [f"mov.u64 %rd20, {UPPER}", "$L1:", "add.s64 %rd20, %rd20, 2", "@%p1 bra $L1"]
    assert read_word(*lines).startswith("rd20")


def test_what_is_not_evaluated_is_open() -> None:
    assert read_word("mov.u64 %rd20, 3", "ld.shared.u64 %rd20, [smem]") == "rd20"
    assert read_word("mov.u64 %rd20, 3", "@%p1 mov.u64 %rd20, 5") == "rd20"
    assert read_word("mov.u32 %r1, 3", "shfl.sync.idx.b32 %r2|%p1, %r1, 0, 31, -1", "cvt.u64.u32 %rd20, %r1") == "0x3"


def test_a_parameter_takes_the_value_that_is_given() -> None:
    lines = ["ld.param.u32 %r1, [gemm_param_1]", "setp.gt.u32 %p1, %r1, 7", "selp.b64 %rd20, 5, 6, %p1"]
    assert read_word(*lines, gemm_param_1=8) == "0x5"
    assert read_word(*lines, gemm_param_1=7) == "0x6"
    assert read_word(*lines, gemm_param_1="0x8") == "0x5"
    assert read_word(*lines) == "rd20"


# what nvrtc makes of sources -----------------------------------------------------------------------------------------

WGMMA = """typedef unsigned long long uint64_t;
typedef unsigned uint32_t;
__device__ uint64_t make_desc(uint32_t a, uint32_t lbo, uint32_t sbo, uint64_t mode) {
  return (uint64_t)((a & 0x3FFFF) >> 4) | (uint64_t)(lbo >> 4) << 16 | (uint64_t)(sbo >> 4) << 32 | mode << 62;
}
extern "C" __global__ void gemm(float* out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t a = (uint32_t)__cvta_generic_to_shared(smem), b = a + 64 * 128;
  float d[4] = {};
  for (int k = 0; k < 4; ++k) {
    uint64_t desc_a = make_desc(a + k * 32, 16, 1024, 1), desc_b = make_desc(b + k * 2048, 4096, 512, 2);
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 1;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(desc_a), "l"(desc_b));
  }
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}
"""
TYPES = "typedef unsigned long long uint64_t;\ntypedef unsigned uint32_t;\n"


def list_fields(builders: tuple[DescriptorBuilder, ...]) -> set[tuple[object, ...]]:
    return {(one.start, one.lbo_bytes, one.sbo_bytes, one.swizzle, one.format) for one in builders}


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_a_compiled_kernel_has_the_descriptors_of_its_source() -> None:
    text, log = nvrtc.compile_ptx(WGMMA, "sm_90a", optimized=True)
    assert text, log
    right = {(f"smem + {32 * k}" if k else "smem", 16, 1024, "128B", "wgmma") for k in range(4)}
    right |= {(f"smem + {8192 + 2048 * k}", 4096, 512, "64B", "wgmma") for k in range(4)}
    assert list_fields(find_builders(text)) == right
    made = check_text(text)
    assert (made.findings, {one.gap for one in made.checked}) == ((), {"without a storage"})


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_a_compiled_tcgen05_kernel_has_the_descriptors_of_its_source() -> None:
    source = TYPES + TCGEN05.replace("__global__", 'extern "C" __global__')
    text, log = nvrtc.compile_ptx(source, "sm_100a", optimized=True)
    assert text, log
    right = {(f"smem + {at + 32 * k}" if at + k else "smem", 16, 1024, "128B") for at in (0, 16384) for k in range(4)}
    assert list_fields(find_builders(text)) == {(*one, "tcgen05") for one in right}
    assert check_text(text).multiplier == "tcgen05"


# what check says ------------------------------------------------------------------------------------------------------


def test_a_finding_stands_at_its_line_of_ptx_and_names_that_of_the_source(tmp_path: Path) -> None:
    lines = ["mov.u32 %r1, smem", "shr.u32 %r2, %r1, 4", "cvt.u64.u32 %rd1, %r2"]
    module = write_module(*lines, '.file 1 "/home/me/gemm.cu"', f"or.b64 %rd20, %rd1, {UPPER | 1 << 50}")
    module = module.replace('.cu";', '.cu"\n  .loc 1 41 3').replace(f"{UPPER | 1 << 50}", f"{UPPER | 1 << 53}")
    file = tmp_path / "gemm.ptx"
    file.write_text(module)
    line = module[: module.index("or.b64")].count("\n") + 1
    made = run_lanescope("check", str(tmp_path), "--no-cache", "--quiet", "--fail-on", "warning")
    assert made.returncode == 1
    assert f"gemm.ptx:{line}:" in made.stdout and "It comes from gemm.cu:41. [reserved_bits]" in made.stdout


def test_the_words_of_ptx_name_no_swizzle() -> None:
    made = check_text(write_module(f"mov.u64 %rd1, {64}", f"or.b64 %rd20, %rd1, {UPPER}"))
    assert made.doubts == () and made.findings == ()
