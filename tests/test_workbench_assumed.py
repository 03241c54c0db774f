"""What the workbench assumes of a text, says so, and lets a person change."""

from __future__ import annotations

import pytest

from lanescope.errors import LayoutError
from lanescope.workbench import build_workbench
from tests.cases import for_each
from tests.checked import check_text
from tests.workbench_cases import BOTH, MAPS, format_verdicts, replace_all

MAKE = """template <typename T>
__device__ uint64_t make_desc(T smem_ptr) {
  uint32_t at = (uint32_t)__cvta_generic_to_shared(smem_ptr);
  return (uint64_t)((at & 0x3FFFF) >> 4) | (uint64_t)64 << 32 | 1ull << 62;
}
cuTensorMapEncodeTiled(&map_a, CU_TENSOR_MAP_DATA_TYPE_%s, 2, A, {K, M}, strides, (uint32_t[]){%d, 64}, ones,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
for (int k = 0; k < 4; ++k) wgmma(acc, make_desc(%s));
// wgmma.mma_async.sync.aligned.m64n64k%d.f32.%s
"""


@for_each(
    ("given", "right"),
    [
        ("smem_a + k * 16", True),
        ("&smem_a[k * 16]", True),
        ("smem_a[s] + k * WGMMA::K", True),
        ("(void*)(smem_a + k * 16)", True),
        ("smem_a + k * 32", False),
        ("(half*)(smem_a + k * 32)", True),
        ("reinterpret_cast<half*>(smem_a) + k * 16", True),
        ("smem_a + k * 8", False),
    ],
    sample=2,
)
def test_the_size_of_an_undeclared_pointers_elements_is_assumed(given: str, right: bool) -> None:
    """A template's parameter says nothing of what it points to: the instruction's type does, and it is said."""
    made = build_workbench(MAKE % ("FLOAT16", 64, given, 16, "f16.f16"))
    assert format_verdicts(made, "a") in (("....", "...") if right else (".xxx",)) and "major.a" in {
        a.key for a in made.assumed
    }
    sizes = [one for one in made.assumed if one.key.startswith("size.")]
    if "reinterpret" in given:
        assert not sizes
        return
    (size,) = sizes
    assert size.value == ("1" if "(half*)" in given else "2") and size.choices and "is not declared" in size.why
    assert size.summary in made.detail and (right or not check_text(build_text(given)).findings)
    other = build_workbench(MAKE % ("FLOAT16", 64, given, 16, "f16.f16"), {size.key: "1" if size.value == "2" else "2"})
    assert (format_verdicts(other, "a") in ("....", "...")) == (given == "smem_a + k * 32")


STAGED = """template <class %s> __global__ void kernel(const __grid_constant__ CUtensorMap map_a) {
  extern __shared__ __align__(1024) char smem[];
  char* at = smem + %s;
  for (int k = 0; k < 4; ++k) {
    uint64_t desc = (uint64_t)((__cvta_generic_to_shared(at + k * 32) & 0x3FFFF) >> 4) | 64ull << 32 | 1ull << 62;
    wgmma(acc, desc);
  }
}  // wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
"""


@for_each(
    ("of", "size"),
    [
        ("CUtensorMap", 128),
        ("cudaStream_t", 8),
        ("cute::TmaDescriptor", 128),
        ("void*", 8),
        ("float4", 16),
        ("dim3", 12),
        ("SharedStorage", None),
        ("Params", None),
        ("barrier_t", None),
        ("TensorMap", None),
        ("Context", None),
        ("*full_barrier", None),
        ("*params", None),
    ],
)
def test_a_handle_a_struct_and_a_barrier_are_no_operands_element(of: str, size: int | None) -> None:
    """A tensor map has 128 bytes and a pointer 8; of what the text does not define nothing is assumed."""
    made = build_workbench(STAGED % ("Args", f"1024 * sizeof({of})"))
    assert "This takes" not in made.detail and not any(one.key.startswith("size.") for one in made.assumed)
    (first,) = made.operands
    if size is not None:
        assert (first.steps[0].read, first.symbols) == (1024 + 1024 * size, ("smem",))
    else:
        assert f"sizeof({of})" in first.symbols


@for_each("name", ["T", "Element", "InT", "TA", "scalar_t", "DType", "AType", "Tin"])
def test_a_templates_type_of_elements_is_the_operands(name: str) -> None:
    made = build_workbench(STAGED % (name, f"1024 * sizeof({name})"))
    assert made.operands[0].steps[0].read == 1024 + 1024 * 2 and f"This takes {name} as 2 bytes" in made.detail


def build_text(given: str) -> str:
    return MAKE % ("FLOAT16", 64, given, 16, "f16.f16")


def test_the_size_is_that_of_the_instructions_type() -> None:
    for kind, box, step, types in (("UINT8", 128, 32, "e4m3.e4m3"), ("TFLOAT32", 32, 8, "tf32.tf32")):
        made = build_workbench(MAKE % (kind, box, f"smem_a + k * {step}", step, types))
        assert made.verdict == "match" and "elements of" in made.detail
    alone = build_workbench(MAKE.replace("// wgmma", "// hgmma") % ("FLOAT16", 64, "smem_a + k * 16", 16, "f16.f16"))
    assert alone.verdict == "unknown" and not any(one.key.startswith("size.") for one in alone.assumed)
    with pytest.raises(LayoutError):
        build_workbench(build_text("smem_a + k * 16"), {"size.smem_a": "x"})


def test_steps_whose_descriptor_is_open_keep_a_verdict_back() -> None:
    """Of four steps only the first is known: the operand is not right, it is open."""
    text = MAKE % ("FLOAT16", 64, "smem_a + k * STEP", 16, "f16.f16")
    assert build_workbench(text).verdict == "unknown" and build_workbench(text).operands[0].left == 3
    assert (
        build_workbench(text, {"at.STEP": "16"}).verdict == "match"
        and build_workbench(text, {"at.STEP": "24"}).verdict == "mismatch"
    )


def test_a_box_shorter_than_the_operand_is_said_to_be() -> None:
    made = build_workbench(replace_all(("m64n64k16", "m64n128k16")))
    (boxes,) = [one for one in made.assumed if one.key == "boxes.b"]
    assert made.verdict == "match" and boxes.value == "2" and boxes.summary in made.detail
    assert "the box has 64 of N and one instruction takes 128" in boxes.why
    alone = build_workbench(replace_all(("m64n64k16", "m64n128k16")), {"boxes.b": "1"})
    assert alone.verdict == "unknown" and any("address of the rest" in one for one in alone.missing)
    assert not any(one.key.startswith("boxes.") for one in build_workbench(BOTH).assumed)


LOOP = """for (int k = 0; k < 4; ++k) {
  uint64_t desc_a = (((uint64_t)%s & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
  uint64_t desc_b = (((uint64_t)__cvta_generic_to_shared(sB + 16 * k) & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32
    | 1ull << 62;
  %s(acc, desc_a, desc_b);
}"""


@for_each(
    ("name", "ptx"),
    [
        ("wgmma_m64n128k16", "m64n128k16.f32.bf16.bf16"),
        ("wgmma_m64n128k16_f32_f16_f16", "m64n128k16.f32.f16.f16"),
        ("warpgroup_mma_64x128x16_F16F16F16_SS", "m64n128k16.f16.f16.f16"),
        ("mma_bf16_m64n128k16", "m64n128k16.f32.bf16.bf16"),
    ],
)
def test_a_call_by_its_name_alone_is_an_assumption(name: str, ptx: str) -> None:
    code = MAPS + LOOP % ("__cvta_generic_to_shared(sA + 16 * k)", name)
    made = build_workbench(code)
    (taken,) = [one for one in made.assumed if one.key == "instruction"]
    assert taken.value.endswith(ptx) and taken.value in taken.choices and name in taken.why
    assert made.verdict == "match" and f"{name} is taken as {taken.value}" in made.detail
    assert "This takes sA and sB to count" in made.detail
    other = build_workbench(code, {"instruction": "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"})
    assert other.operands[0].instruction.endswith("m64n64k16.f32.bf16.bf16")
    assert [one.choices for one in other.assumed if one.key == "instruction"] == [taken.choices]
    assert build_workbench(MAPS + LOOP % ("sA", "launch_n128_64x3")).verdict == "unknown"


def test_a_cast_sum_of_an_undeclared_name_is_an_assumption_that_can_be_changed() -> None:
    for name, size in (("pA", "2"), ("smem_A", "2"), ("q", "1")):
        code = MAPS + LOOP % (f"({name} + 16 * k)", "wgmma_m64n128k16")
        made = build_workbench(code)
        (taken,) = [one for one in made.assumed if one.key == f"size.{name}"]
        assert taken.value == size and "not declared" in taken.why
        assert (made.verdict, format_verdicts(made, "a")) == (
            ("match", "....") if size == "2" else ("mismatch", ".xxx")
        )
        turned = build_workbench(code, {f"size.{name}": "1" if size == "2" else "2"})
        assert turned.verdict != made.verdict
        assert not check_text(code).findings  # it rests on what the name is
    sure = build_workbench(MAPS + LOOP % ("(addr_a + 32 * k)", "wgmma_m64n128k16"))
    assert sure.verdict == "match" and not [one for one in sure.assumed if one.key == "size.addr_a"]
    static = build_workbench(
        MAPS + LOOP.replace("(uint64_t)%s", "static_cast<uint64_t>(%s)") % ("pA + 32 * k", "mma_64x128x16")
    )
    assert static.verdict == "match" and not [one for one in static.assumed if one.key == "size.pA"]


def test_a_printed_word_that_is_there_twice_is_a_step_only_where_its_place_says_so() -> None:
    layout = "sA: Sw<3,4,3> o smem_ptr[16b](0x400) o ((_8,_8),(_64,_1)):((_64,_512),(_1,_0))\n"

    def read(*starts: int) -> str:
        words = "".join(f"desc_a: {0x4000004000010000 | at:#x}\n" for at in starts)
        return format_verdicts(build_workbench(words + layout + "SM90_64x64x16_F32BF16BF16_SS"), "a")

    assert read(0x40, 0x42, 0x44, 0x46) == "...."
    assert read(0x40, 0x42, 0x42, 0x46) == "..x."
    words = "".join(f"desc_a: {0x4000004000010000 | at:#x}\n" for at in (0x40, 0x42, 0x42, 0x46))
    wrong = build_workbench(words + layout + "SM90_64x64x16_F32BF16BF16_SS")
    assert "K step 1 is repeated here" in wrong.detail
    assert read(0x40, 0x40, 0x42, 0x42, 0x44, 0x44, 0x46, 0x46) == "...."  # two threads print
    assert read(0x40, 0x42, 0x44, 0x46, 0x40, 0x42, 0x44, 0x46) == "...."  # the loop's next turn


def test_what_moves_a_tile_is_computed_with_the_value_that_is_told() -> None:
    """However far the start lies below 0 without it."""
    multiply = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0}, %1, %2, 1, 1, 1, 0, 0;"
    made = build_workbench(
        "void kernel(int group) {\n"
        "  uint64_t desc_a = (((sA + group * 16 - 0x400000) & 0x3FFFF) >> 4) | 1ull << 62;\n"
        f'  asm volatile("{multiply}" : "+f"(d) : "l"(desc_a), "l"(desc_b));\n}}\n'
    )
    values = {one.key: int(one.value, 0) for one in made.assumed if one.key.startswith("at.")}
    (a,) = (one for one in made.operands if one.name == "a")
    assert values["at.group"] == 0x40000
    assert a.steps[0].read == values["at.sA"] + 16 * values["at.group"] - 0x400000
