"""Descriptors of tcgen05.mma in source files: right ones are verified, planted mistakes are found at their line."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import check_text, list_findings

MAPS = """void maps() {
  uint32_t box_a[2] = {64, 128}, box_b[2] = {64, 64};
  cuTensorMapEncodeTiled(&tma_a, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, gmem_a, dims, strides, box_a, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cuTensorMapEncodeTiled(&tma_b, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, gmem_b, dims, strides, box_b, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
"""
KERNEL = r"""__device__ uint64_t make_desc(uint32_t a) {
  uint64_t d = (a & 0x3FFFF) >> 4;
  d |= (uint64_t)(16 >> 4) << 16;
  d |= (uint64_t)(1024 >> 4) << 32;
  d |= 1ull << 46;
  d |= 2ull << 61;
  return d;
}
__device__ void mma(uint32_t t, uint64_t a, uint64_t b, uint32_t i, uint32_t acc) {
  asm volatile("{\n.reg .pred p;\n\tsetp.ne.b32 p, %4, 0;\n\t"
               "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}\n"
      :: "r"(t), "l"(a), "l"(b), "r"(i), "r"(acc));
}
__global__ void gemm(uint32_t taddr) {
  extern __shared__ __align__(1024) char smem[];
  uint32_t sA = __cvta_generic_to_shared(smem), sB = sA + 128 * 128;
  constexpr uint32_t idesc = (1u << 4) | (1u << 7) | (1u << 10) | ((64u >> 3) << 17) | ((128u >> 4) << 24);
  for (int k = 0; k < 4; ++k)
    mma(taddr, make_desc(sA + k * 32), make_desc(sB + k * 32), idesc, k != 0);
}
"""
RIGHT = MAPS + KERNEL


def plant(old: str, new: str) -> str:
    assert old in RIGHT
    return RIGHT.replace(old, new, 1)


def test_every_read_of_a_right_kernel_is_verified() -> None:
    made = check_text(RIGHT)
    assert (made.steps, made.findings, made.open, made.multiplier) == (8, (), (), "tcgen05")
    assert [one.gap for one in made.checked] == ["", ""]


@for_each(
    ("old", "new", "code", "line"),
    [
        ("1024 >> 4", "512 >> 4", "sbo_other_width", "(512 >> 4) << 32"),
        ("2ull << 61", "4ull << 61", "mode_at_bit_62", "4ull << 61"),
        ("sB + k * 32", "sB", "k_step_missing", "make_desc(sB)"),
        ("sB + k * 32", "sB + k * 16", "k_step_in_elements", "sB + k * 16"),
        ("  d |= 1ull << 46;\n", "", "version_wrong", "d |= 2ull << 61;"),  # beside which it is missing
        ("| ((64u", "| 1u << 16 | ((64u", "wrong_transpose", "constexpr uint32_t idesc"),
    ],
    sample=3,
)
def test_a_planted_mistake_is_found_at_its_line(old: str, new: str, code: str, line: str) -> None:
    found = dict(list_findings(plant(old, new)))
    assert line in found.get(code, ""), found


@for_each("old", ["1ull << 46", "2ull << 61"])
def test_every_descriptor_has_the_version_of_its_format(old: str) -> None:
    """It is judged by the instruction that takes it, also if nothing else of the read is known."""
    text = plant(old, "1ull << 45").replace("constexpr uint32_t idesc =", "uint32_t idesc = open |")
    found = [("version_wrong", "d |= 1ull << 45;")] if "46" in old else []
    assert [one for one in list_findings(text) if one[0] == "version_wrong"] == found


@for_each(
    ("old", "new"),
    [
        ("2ull << 61", "1ull << 62"),  # the same bit
        ("(16 >> 4) << 16", "(1024 >> 4) << 16"),  # LBO is not read
        ("cta_group::1", "cta_group::%5"),  # without its operand the opcode is open
        ("constexpr uint32_t idesc =", "uint32_t idesc = open |"),
    ],
)
def test_what_is_right_or_open_is_no_finding(old: str, new: str) -> None:
    made = check_text(plant(old, new))
    assert made.findings == () and (made.steps == 8) == ("%5" not in new and "open" not in new)


@for_each(
    ("old", "new", "found"),
    [
        ("1ull << 61", "1ull << 61", ["wgmma_swizzle_code"]),
        ("1ull << 61", "2ull << 61", []),
        ("SWIZZLE_128B,", "SWIZZLE_128B_ATOM_32B,", []),
        ("__device__ void mma(", "// st.shared.b32\n__device__ void mma(", []),  # threads may fill a tile
    ],
)
def test_no_map_stores_what_code_1_reads_even_if_no_read_is_known(old: str, new: str, found: list[str]) -> None:
    text = plant("2ull << 61", "1ull << 61").replace("constexpr uint32_t idesc =", "uint32_t idesc = open |")
    assert [one.code for one in check_text(text.replace(old, new)).findings] == found


def test_an_opcode_takes_the_number_of_its_operand() -> None:
    text = plant("cta_group::1", "cta_group::%5").replace('"r"(acc));', '"r"(acc), "n"(1));')
    made = check_text(text)
    assert (made.steps, made.findings) == (8, ())


@for_each("name", ["FILL", "Usage::FILL"])
def test_an_opcode_takes_the_string_of_its_operand(name: str) -> None:
    """The constraint "C" writes it into the PTX."""
    head = 'constexpr char FILL[] = "fill";\nstruct Usage { static constexpr char FILL[] = "fill"; };\n'
    text = plant("__device__ void mma(", f"{head}template <const char* Use> __device__ void mma(")
    text = text.replace("mma(taddr", f"mma<{name}>(taddr").replace('"r"(acc)', '"r"(acc), "C"(Use)')
    made = check_text(text.replace("kind::f16 [", "kind::f16.collector::a::%5 ["))
    assert (made.steps, made.findings) == (8, ())


def test_of_a_pair_of_ctas_each_holds_half_of_a_and_of_b() -> None:
    """PTX ISA 9.1, 9.7.16.2: with M = 256 and N = 128 of cta_group::2 a CTA has 128 rows of A and 64 of B."""
    text = plant("cta_group::1", "cta_group::2").replace("64u >> 3", "128u >> 3").replace("128u >> 4", "256u >> 4")
    assert (check_text(text).steps, check_text(text).findings) == (8, ())


@for_each(
    ("kind", "types", "step", "inner"),
    [
        ("tf32", 2 << 7 | 2 << 10, 32, 32),
        ("f8f6f4", 0, 32, 128),
        ("f8f6f4", 3 << 7 | 5 << 10, 32, 128),  # e2m3 and e2m1: 16 elements take 16 bytes, too
        ("i8", 1 << 7 | 1 << 10, 32, 128),
    ],
)
def test_the_kind_and_the_types_say_how_wide_elements_are(kind: str, types: int, step: int, inner: int) -> None:
    data = {"tf32": "FLOAT32", "f8f6f4": "UINT8", "i8": "UINT8"}[kind]
    text = plant("kind::f16", f"kind::{kind}").replace("DATA_TYPE_BFLOAT16", f"DATA_TYPE_{data}")
    text = text.replace("{64, 128}", f"{{{inner}, 128}}").replace("{64, 64}", f"{{{inner}, 64}}")
    accumulator = 2 << 4 if kind == "i8" else 1 << 4
    text = text.replace("(1u << 4) | (1u << 7) | (1u << 10)", f"{accumulator | types}u")
    made = check_text(text)
    assert (made.steps, made.findings) == (8, ()), [one.message for one in made.open]


HALVES = """  for (int half = 0; half < 2; ++half)
    for (int k = 0; k < 2; ++k)
      mma(taddr, make_desc(sA + half * {0} + k * 32), make_desc(sB + half * {0} + k * 32), idesc, k + half);
"""


@for_each(("distance", "right"), [(64, True), (32, False), (96, False)])
def test_k_may_be_multiplied_in_nested_loops(distance: int, right: bool) -> None:
    """Each half has two slices of 32 bytes; at another distance one is multiplied twice, or the tile ends before it."""
    loop = KERNEL[KERNEL.index("  for (int k") : KERNEL.rindex("}")]
    made = check_text(plant(loop, HALVES.format(distance)))
    assert (made.steps, not made.findings) == (8, True) if right else made.findings
