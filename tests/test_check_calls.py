"""`lanescope check` follows every call of a helper, each with its own line: in a row, in loops, through two wrappers,
templates and methods.
"""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import check_text
from tests.sample import FULL

HEAD = """__device__ uint64_t make_desc(uint32_t a) {
  uint64_t d = (a & 0x3ffff) >> 4; d |= 1ull << 16; d |= 64ull << 32; d |= 1ull << 62; return d; }
__device__ void mma(uint64_t da, uint64_t db) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0}, %1, %2, 1, 1, 1, 0, 0;"
      : "+f"(x) : "l"(da), "l"(db)); }
"""
HELPERS = {
    "other_desc": "__device__ uint64_t other_desc(uint32_t a) {\n"
    "  uint64_t d = (a & 0x3ffff) >> 4; d |= 1ull << 16; d |= 64ull << 32; d |= 2ull << 62; return d; }",
    "Wg": "struct Wg { static __device__ void run(uint64_t a, uint64_t b) { mma(a, b); } };",
    "step": "template <int OFF> __device__ void step(uint32_t a, uint32_t b) {\n"
    "  Wg::run(make_desc(a + OFF), make_desc(b + OFF)); }",
    "both": "__device__ void both(uint32_t a, uint32_t b) { mma(make_desc(a), make_desc(b)); }",
    "gemm": "__device__ void gemm(uint32_t a, uint32_t b) {\n"
    "  for (int k = 0; k < 4; ++k) both(a + 32 * k, b + 32 * k); }",
    "narrow": "__device__ void narrow(uint32_t a, uint32_t b) {\n"
    "  for (int k = 0; k < 4; ++k) mma(other_desc(a + 32 * k), make_desc(b + 32 * k)); }",
}
MAP = (
    "  cuTensorMapEncodeTiled(&map{0}, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {0}, dims, strides, box, es,"
    " CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,"
    " CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);\n"
)
HOST = "void host() {\n  uint32_t box[2] = {64, 64};\n" + MAP.format("A") + MAP.format("B") + "}\n"
KERNEL = """__global__ void k() {
  __shared__ alignas(1024) half sA[64 * 64], sB[64 * 64], sA2[64 * 64], sB2[64 * 64];
  uint32_t a = __cvta_generic_to_shared(sA), b = __cvta_generic_to_shared(sB);
  uint32_t a2 = __cvta_generic_to_shared(sA2), b2 = __cvta_generic_to_shared(sB2);
"""
# calls of a kernel, one a line; a comment marks the lines that are wrong
BODIES = {
    "in a row": "both(a, b);\nboth(a + 32, b + 32);\n"
    "both(a + 48, b + 64);  // wrong\nboth(a + 96, b + 80);  // wrong\n",
    "of a wrapper with the words": "mma(make_desc(a), make_desc(b));\n"
    "mma(make_desc(a + 48), make_desc(b + 32));  // wrong\n",
    "of templates": "step<0>(a, b);\nstep<32>(a, b);\nstep<48>(a, b);  // wrong\nstep<96>(a, b);\n",
    "of two wrappers": "Wg::run(make_desc(a), make_desc(b));\n"
    "Wg::run(make_desc(a + 32), make_desc(b + 48));  // wrong\n",
    "in a loop": "for (int k = 0; k < 4; ++k)\n  both(a + 32 * k, b + 32 * k);\n"
    "for (int k = 0; k < 4; ++k)\n  both(a2 + 16 * k, b2 + 32 * k);  // wrong\n",
    "of a loop in a wrapper": "gemm(a, b);\ngemm(a2, b2);\nnarrow(a, b);\n",
    "with another swizzle": "both(a, b);\nmma(other_desc(a), make_desc(b));  // wrong\n",
    "of other tiles": "both(a, b);\nboth(a2, b2);\nboth(a2 + 32, b2 + 32);\nboth(a2 + 56, b2 + 64);  // wrong\n",
}
RIGHT = {
    "in a row": "both(a, b);\nboth(a + 32, b + 32);\nboth(a + 64, b + 64);\nboth(a + 96, b + 96);\n",
    "of templates": "step<0>(a, b);\nstep<32>(a, b);\nstep<64>(a, b);\nstep<96>(a, b);\n",
    "of a loop in a wrapper": "gemm(a, b);\ngemm(a2, b2);\ngemm(a, b);\n",
    "of stages": "gemm(a, b);\ngemm(a + 16384, b + 16384);\ngemm(a + 32768, b + 32768);\n",
    "crosswise": "gemm(a, b);\ngemm(a, b2);\ngemm(a2, b);\ngemm(a2, b2);\n",
    "twice": "both(a, b);\nboth(a, b);\nboth(a + 32, b + 32);\nboth(a + 32, b + 32);\n",
}


def find_line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def add_helpers(rest: str) -> str:
    """The text with the helpers that it calls and that those call, in their order."""
    chosen = ""
    for name, code in reversed(HELPERS.items()):
        if name in rest + chosen:
            chosen = f"{code}\n{chosen}"
    return HEAD + chosen + rest


def build_kernel(body: str) -> str:
    return add_helpers(HOST + KERNEL + body + "}\n")


@for_each("name", BODIES, sample=4)
def test_every_wrong_call_is_told_at_its_line(name: str) -> None:
    text = build_kernel(BODIES[name])
    wanted = {n for n, line in enumerate(text.split("\n"), 1) if "// wrong" in line}
    if "narrow" in BODIES[name]:  # wrong whoever calls it
        wanted = {n for n, line in enumerate(text.split("\n"), 1) if "mma(other_desc" in line}
    made = check_text(text)
    assert {find_line(text, one.span[0]) for one in made.findings} == wanted
    assert not any("wrong place" in one.message for one in made.open)


@for_each("name", RIGHT)
def test_right_calls_are_verified_and_clean(name: str) -> None:
    made = check_text(build_kernel(RIGHT[name]))
    assert not made.findings and not made.open and made.steps >= 4


def test_another_map_stores_another_tile() -> None:
    """Each tile is verified against the map that is named as it is: V is stored with another swizzle than K."""
    maps = "".join(MAP.format(name) for name in "QKV")
    host = "void host() {\n  uint32_t box[2] = {64, 64};\n" + maps + "}\n"
    body = "__global__ void k() {\n  __shared__ alignas(1024) half sQ[4096], sK[4096], sP[4096], sV[4096];\n" + "".join(
        f"  gemm(__cvta_generic_to_shared(s{one}), __cvta_generic_to_shared(s{two}));\n" for one, two in ("QK", "PV")
    )
    assert not check_text(add_helpers(host + body + "}\n")).findings
    head, _, tail = host.rpartition("SWIZZLE_128B")
    text = add_helpers(head + "SWIZZLE_64B" + tail + body + "}\n")
    told = {one.code: find_line(text, one.span[0]) for one in check_text(text).findings}
    of_map = next(n for n, line in enumerate(text.split("\n"), 1) if "&mapV" in line)
    assert told == {"tma_inner_over_swizzle": of_map, "stored_swizzle": of_map}


TYPED = """void maps({type}* g, int rows, int cols) {{
  uint64_t dims[2] = {{cols, rows}}, strides[1] = {{cols * sizeof({type})}};
  uint32_t box[2] = {{{wide}, 64}}, ones[2] = {{1, 1}};
  cuTensorMapEncodeTiled(&tA, CU_TENSOR_MAP_DATA_TYPE_{map}, 2, g, dims, strides, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cuTensorMapEncodeTiled(&tB, CU_TENSOR_MAP_DATA_TYPE_{map}, 2, g, dims, strides, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}}
__device__ uint64_t desc({type}* p) {{
  uint32_t a = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  return (uint64_t)((a & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}}
__device__ void wg(float* d, {type}* X, {type}* Y) {{
  uint64_t da = desc(X), db = desc(Y);
  asm volatile("wgmma.mma_async.sync.aligned.{ptx} {{%0}}, %1, %2, {rest};" : "+f"(d[0]) : "l"(da), "l"(db));
}}
__global__ void kern(float* d) {{
  __shared__ alignas(1024) {type} As[64 * {wide}];
  __shared__ alignas(1024) {type} Bs[64 * {wide}];
{calls}}}
"""
ELEMENTS = {  # type → its map's, elements in 128 bytes, the instruction, its immediates
    "__nv_fp8_e4m3": ("UINT8", 128, "m64n64k32.f32.e4m3.e4m3", "1, 1, 1"),
    "int8_t": ("UINT8", 128, "m64n64k32.s32.s8.s8", "1"),
    "float": ("FLOAT32", 32, "m64n64k8.f32.tf32.tf32", "1, 1, 1"),
    "__nv_bfloat16": ("BFLOAT16", 64, "m64n64k16.f32.bf16.bf16", "1, 1, 1, 0, 0"),
}


@for_each(
    ("type_", "call", "operand", "repeats"),
    [
        (type_, *place)
        for number, type_ in enumerate(ELEMENTS)
        for at, place in enumerate([(3, "b", 2), (1, "a", 0), (2, "b", 0), (3, "a", 1)])
        if FULL or at == number
    ],
    sample=2,
)
def test_a_descriptor_that_is_repeated_is_wrong_for_elements_of_every_size(
    type_: str, call: int, operand: str, repeats: int
) -> None:
    """The box's inner dimension is no way out: wgmma reads elements of 8 and of 32 bits K-major only."""
    map_, wide, ptx, rest = ELEMENTS[type_]

    def text(at: dict[tuple[int, str], int]) -> str:
        lines = (
            f"  wg(d, &As[{at.get((n, 'a'), n) * wide // 4}], &Bs[{at.get((n, 'b'), n) * wide // 4}]);\n"
            for n in range(4)
        )
        return TYPED.format(type=type_, map=map_, wide=wide, ptx=ptx, rest=rest, calls="".join(lines))

    right = check_text(text({}))
    assert (right.findings, right.open, right.steps) == ((), (), 8)
    wrong = text({(call, operand): repeats})
    made = check_text(wrong)
    (one,) = made.findings
    assert find_line(wrong, one.span[0]) == find_line(wrong, wrong.index("  wg(d")) + call
    assert one.level == "error" and f"{operand.upper()} of wgmma" in one.message
    assert bool(one.assumed) == (type_ == "__nv_bfloat16"), "nothing rests on what wgmma cannot read otherwise"
    assert made.open == () and made.steps == 7, "verified are the reads that match"
