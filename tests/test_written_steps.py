"""K steps that are written out as calls: a descriptor that repeats an earlier one is wrong at its own line and operand,
and calls that really multiply tiles of M or N stay what they are.
"""

from __future__ import annotations

import itertools

import pytest

from lanescope.workbench import build_workbench
from tests.cases import for_each
from tests.checked import check_text
from tests.sample import take_sample
from tests.test_tma_loads import read_kernel
from tests.workbench_cases import format_verdicts

MAP = """cuTensorMapEncodeTiled(&map_{n}, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, g{n}, {{K, M}}, strides,
  (uint32_t[]){{64, {rows}}}, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
"""
HEAD = """__device__ uint64_t make(bf16* p) {
  return (((uint64_t)__cvta_generic_to_shared(p) & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
__device__ void product(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0}, %1, %2, 1, 1, 1, 0, 0;"
    : "+f"(d[0]) : "l"(a), "l"(b));
}
"""
TILES = "__shared__ alignas(1024) bf16 sA[128 * 64]; __shared__ alignas(1024) bf16 sB[64 * 64];\n"
ASM = (
    'asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{%0}}, %1, %2, 1, 1, 1, 0, 0;"'
    ' : "+f"({d}) : "l"(make(&sA[{a}])), "l"(make(&sB[{b}])));\n'
)
# how people write one call; d: the accumulator, a and b: the elements where the operands begin
STYLES = {
    "call": "product({d}, make(&sA[{a}]), make(&sB[{b}]));\n",
    "call without a body": "wgmma_m64n64k16(make(&sA[{a}]), make(&sB[{b}]), {d});\n",
    "pointers": "product({d}, make(sA + {a}), make(sB + {b}));\n",
    "asm": ASM,
}


def build_text(style: str, calls: list[tuple[str, int, int]], rows: int = 64) -> str:
    body = "".join(STYLES[style].format(d=d, a=a, b=b) for d, a, b in calls)
    maps = MAP.format(n="A", rows=rows) + MAP.format(n="B", rows=64)
    tail = "// wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16\n" if "without" in style else ""
    return maps + HEAD + f"__global__ void k() {{ {TILES} float acc[32], other[32];\n{body}}}\n{tail}"


def find_line(code: str, at: int) -> str:
    return code[code.rfind("\n", 0, at) + 1 : code.find("\n", at)]


@for_each(
    ("style", "operand", "step", "repeats"),
    take_sample(
        [
            (style, operand, step, repeats)
            for (style, operand), (step, repeats) in itertools.product(
                itertools.product(STYLES, ("a", "b")), ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2))
            )
        ],
        4,
    ),
)
def test_a_call_that_repeats_one_operand_is_wrong_there_alone(
    style: str, operand: str, step: int, repeats: int
) -> None:
    calls = [("acc", 16 * k, 16 * k) for k in range(4)]
    d, a, b = calls[step]
    calls[step] = (d, 16 * repeats, b) if operand == "a" else (d, a, 16 * repeats)
    code = build_text(style, calls)
    made = build_workbench(code)
    other = "b" if operand == "a" else "a"
    assert format_verdicts(made, other) == "...."
    assert format_verdicts(made, operand) == "".join("x" if k == step else "." for k in range(4))
    (wrong,) = next(one for one in made.operands if one.name == operand).wrong
    assert wrong.k == 16 * step and wrong.causes[0].code == ("k_step_missing" if not repeats else "other_slice")
    here = find_line(code, wrong.span[0])
    assert here == find_line(code, code.index(STYLES[style].format(d=d, a=calls[step][1], b=calls[step][2])))
    found = check_text(code).findings
    assert [find_line(code, one.span[0]) for one in found] in ([here], [])  # a call by its name alone proves nothing


@pytest.mark.thorough
@for_each("style", ["call", "pointers", "asm"])
@for_each(("step", "repeats"), [(1, 0), (2, 1), (3, 2), (2, 0)])
def test_a_call_that_is_there_twice_is_a_step_too_few(style: str, step: int, repeats: int) -> None:
    calls = [("acc", 16 * k, 16 * k) for k in range(4)]
    calls[step] = calls[repeats]
    made = build_workbench(build_text(style, calls))
    wanted = "".join("x" if k == step else "." for k in range(4))
    assert (format_verdicts(made, "a"), format_verdicts(made, "b")) == (wanted, wanted)


@for_each("style", ["call", "pointers", "asm"])
@for_each("order", ["tile in step", "step in tile"])
def test_tiles_of_m_with_accumulators_of_their_own_are_no_steps(style: str, order: str) -> None:
    """Two tiles of M with one B: every address of B stands there twice, and rightly."""
    pairs = [(k, m) for k in range(4) for m in range(2)]
    pairs = sorted(pairs, key=lambda one: one[::-1]) if order == "step in tile" else pairs
    calls = [("acc" if not m else "other", 64 * 64 * m + 16 * k, 16 * k) for k, m in pairs]
    made = build_workbench(build_text(style, calls, rows=128))
    assert (
        made.verdict == "match"
        and len(format_verdicts(made, "a")) == 8
        and set(format_verdicts(made, "a") + format_verdicts(made, "b")) == {"."}
    )


def test_the_same_tile_in_two_rounds_is_no_sequence_of_eight() -> None:
    calls = [("acc", 16 * k, 16 * k) for k in range(4)]
    made = build_workbench(build_text("call", calls + calls))
    assert (made.verdict, format_verdicts(made, "a")) == ("match", "....")
    split = build_text("call", calls + calls).replace(
        "make(&sB[48]));\n", "make(&sB[48]));\nwait_for_the_next_tile();\n", 1
    )
    assert (build_workbench(split).verdict, format_verdicts(build_workbench(split), "a")) == ("match", "....")


def test_a_branch_gives_the_first_step_in_two_ways() -> None:
    """The first product does not add to D: the same descriptors stand in both branches."""
    first = STYLES["call"].format(d="acc", a=0, b=0)
    code = build_text("call", [("acc", 16 * k, 16 * k) for k in range(4)]).replace(
        first, f"if (n) {first} else {first}", 1
    )
    made = build_workbench(code)
    assert (made.verdict, format_verdicts(made, "a")) == ("match", "....")


FORGOTTEN = ("&sA[2 * 16], &sB[0]", "&sA[0], &sB[2 * 16]", "&sA[2 * 16], &sB[16]", "&sA[16], &sB[16]")


@for_each("wrong", take_sample(FORGOTTEN, 2), sample=1)
def test_a_kernel_with_a_forgotten_step_is_told_where(wrong: str) -> None:
    code = read_kernel("one_stage", ("&sA[2 * 16], &sB[2 * 16]", wrong))
    found = check_text(code).findings
    assert found and {find_line(code, one.span[0]).strip() for one in found} == {f"wgmma_n64<1, 0, 0>(d, {wrong});"}


def test_two_by_two_tiles_are_tiles_however_the_accumulator_is_written() -> None:
    """An excerpt that writes one name for all accumulators: each address of A meets each of B."""
    calls = [("acc", 64 * 64 * m, 64 * 64 * n) for m in range(2) for n in range(2)]
    code = build_text("call", calls, rows=128).replace("{64, 64}", "{64, 128}").replace("bf16 sB[64 ", "bf16 sB[128 ")
    made = build_workbench(code)
    assert made.verdict == "match" and {step.k for one in made.operands for step in one.steps} == {0}
