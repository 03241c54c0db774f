"""Every byte that a product reads is filled by a copy: for each warpgroup, in each stage, from its own tensor map."""

from __future__ import annotations

import pytest

from lanescope.cxx.integers import UINT
from lanescope.reader.code.symbolic_integers import SymbolicInt, and_ints, make_free, shift_int
from lanescope.workbench.kernels.running_groups import BlockShape, evaluate_for_thread, evaluate_terms
from lanescope.workbench.text.shared_variables import are_separate
from tests.cases import for_each
from tests.checked import check_text as check, locate_findings
from tests.transfer_kernels import HEADS, HELPERS, TAPS, TMA, WINDOW, plant

SIZES = "constexpr int BM = 64, BN = 128, BK = 64, STAGES = 4;"
HEAD = """struct Storage {
  alignas(1024) bf16 A[STAGES][BM * BK];
  alignas(1024) bf16 B[STAGES][BN * BK];
  uint64_t full[STAGES], empty[STAGES];
};
__global__ void __launch_bounds__(THREADS) gemm(const __grid_constant__ CUtensorMap ta,
    const __grid_constant__ CUtensorMap tb, float* C, int M, int N, int K) {
  extern __shared__ __align__(1024) uint8_t raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  int row = blockIdx.y * BM, col = blockIdx.x * BN, q = 0, phase = 0;
"""
LOADS = """wait(&s.empty[q], phase ^ 1);
      expect_bytes(&s.full[q], (BM + BN) * BK * sizeof(bf16));
      tma_load(s.A[q], &ta, &s.full[q], t * BK, row);
      tma_load(s.B[q], &tb, &s.full[q], t * BK, col);
"""
PRODUCT = """wait(&s.full[q], phase);
      warpgroup_arrive();
      for (int k = 0; k < BK / 16; ++k)
        multiply<1>(d, make_smem_desc(s.A[q] + me * 64 * BK + k * 16), make_smem_desc(s.B[q] + k * 16));
      warpgroup_commit();
      warpgroup_wait<0>();
"""
NEXT = "if (++q == STAGES) { q = 0; phase ^= 1; }"
OUT = "for (int j = 0; j < 64; ++j) C[(row + threadIdx.x) * N + col + j] = d[j];"
HOST = """void make_map(CUtensorMap* map, bf16* ptr, uint64_t rows, uint64_t cols, uint32_t box_rows) {
  uint64_t dims[2] = {cols, rows}, strides[1] = {cols * sizeof(bf16)};
  uint32_t box[2] = {64, box_rows}, ones[2] = {1, 1};
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, ptr, dims, strides, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
void run(bf16* A, bf16* B, float* C, int M, int N, int K) {
  CUtensorMap map_a, map_b;
  make_map(&map_a, A, M, K, BM);
  make_map(&map_b, B, N, K, BN);
  cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  gemm<<<dim3(N / BN, M / BM), THREADS, sizeof(Storage)>>>(map_a, map_b, C, M, N, K);
}
"""


def write_kernel(body: str, threads: int = 384, rows: int = 128) -> str:
    sizes = f"constexpr int BM = {rows}, BN = 128, BK = 64, STAGES = 4, THREADS = {threads};"
    assert HELPERS.count(SIZES) == 1
    return HELPERS.replace(SIZES, sizes) + HEAD + body + "}\n" + HOST


# warpgroup 0 copies, the others multiply 64 rows each
SPLIT = f"""  int group = threadIdx.x >> 7;
  if (group == 0) {{
    for (int t = 0; threadIdx.x == 0 && t < K / BK; ++t) {{
      {LOADS}      {NEXT}
    }}
    return;
  }}
  int me = group - 1;
  float d[64] = {{}};
  for (int t = 0; t < K / BK; ++t) {{
      {PRODUCT}      {NEXT}
  }}
  {OUT}
"""
RIGHT = write_kernel(SPLIT)
HALVES = (
    "tma_load(s.A[q], &ta, &s.full[q], t * BK, row);",
    "for (int h = 0; h < 2; ++h) tma_load(s.A[q] + h * 64 * BK, &ta, &s.full[q], t * BK, row + h * 64);",
)
OWN_HALVES = write_kernel(SPLIT.replace(*HALVES)).replace("A, M, K, BM)", "A, M, K, 64)")
THREE = write_kernel(SPLIT, 512, 192)
IN_TURN = (  # one warpgroup multiplies the 128 rows
    PRODUCT.replace("  for (int k = 0;", "  for (int m = 0; m < 2; ++m) for (int k = 0;")
    .replace("multiply<1>(d,", "multiply<1>(d[m],")
    .replace("me * 64", "m * 64")
)
ROWS_IN_TURN = write_kernel(
    SPLIT.replace(PRODUCT, IN_TURN).replace("d[64]", "d[2][64]").replace("d[j]", "d[0][j]"), 256
)

BY_POINTER = (  # one warpgroup, by a launch through a pointer to one of two kernels
    plant(
        ("__launch_bounds__(128) ", ""),
        ("  gemm<<<", "  auto* kernel = gemm;\n  kernel<<<"),
        ("make_smem_desc(sA + ", "make_smem_desc(sA + threadIdx.x / 128 * 16 * STAGES * BM * BK + "),
        text=TMA,
    )
    + "__global__ void other() {}\n"
)


def change(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


@for_each("text", [RIGHT, OWN_HALVES, THREE, BY_POINTER, ROWS_IN_TURN, WINDOW, TAPS, HEADS], sample=3)
def test_tiles_that_copies_fill_are_verified_for_every_warpgroup(text: str) -> None:
    found = check(text)
    assert [finding.code for finding in found.findings] == []
    assert not found.unverified and found.steps >= 2 * 3 * 4  # two operands, three turns, four K steps


BARRIER = "struct Barrier { uint64_t state; __device__ void expect(int n) { expect_bytes(&state, n); } };"
COPY_OF_A = "tma_load(s.A[q], &ta, &s.full[q], t * BK, row);"
COPY_OF_B = "tma_load(s.B[q], &tb, &s.full[q], t * BK, col);"
WRONG = [
    (RIGHT, "A, M, K, BM)", "A, M, K, 64)", "A, M, K, 64)"),  # the second warpgroup's rows are not copied
    (RIGHT, "me * 64 * BK", "me * 128 * BK", "multiply<1>(d"),  # it reads the next stage
    (RIGHT, "tma_load(s.A[q]", "tma_load(s.A[0]", "tma_load(s.A[0]"),  # every stage into the first
]


@for_each(("text", "old", "new", "line"), WRONG, sample=2)
def test_a_read_of_bytes_that_no_copy_fills_is_a_mistake(text: str, old: str, new: str, line: str) -> None:
    text = change(text, old, new)
    found = check(text)
    places = dict(locate_findings(text, found.findings))
    by_place = {"tma_load": "copies_overlap", "multiply": "bytes_not_copied", "A, M, K,": "tma_tile_part"}
    code = by_place[line[:8]]
    assert line in places.get(code, f"none of it: {places}")
    assert found.steps <= 12 < check(RIGHT).steps  # the other operand's reads


@pytest.mark.thorough
def test_a_barrier_whose_member_function_expects_the_bytes_is_that_of_the_copies() -> None:
    text = change(RIGHT, "struct Storage {", f"{BARRIER}\nstruct Storage {{")
    text = change(text, "uint64_t full[STAGES],", "Barrier full[STAGES]; uint64_t")
    text = change(text, "expect_bytes(&s.full[q], ", "s.full[q].expect(")
    text = text.replace("&s.full[q]", "&s.full[q].state").replace("&s.full[i]", "&s.full[i].state")
    wrong = change(text, "(BM + BN) * BK * sizeof", "BM * BK * sizeof")
    assert [[one.code for one in check(made).findings] for made in (text, wrong)] == [[], ["expect_tx_bytes"]]


@pytest.mark.thorough
@for_each(
    ("old", "new"),
    [
        ("A, M, K, BM)", "A, M, K, 64)"),
        (COPY_OF_B, ";"),
    ],
)
def test_a_mistake_that_other_code_may_repair_leaves_the_operand_open(old: str, new: str) -> None:
    """What wait() does is not known, so that nothing is certain of the order."""
    begin = RIGHT.index("__device__ void wait(")
    end = RIGHT.index("\n}\n", begin) + 3
    text = change(RIGHT[:begin] + "__device__ void wait(uint64_t* bar, int phase);\n" + RIGHT[end:], old, new)
    found = check(text)
    assert not found.findings and found.steps == 12
    assert [reads.count for reads in found.unverified] == [12]


def test_bytes_that_come_from_the_other_map_are_not_verified() -> None:
    """In one buffer the stages of A, as far as the text says how many there are, reach the tiles of B."""
    text = plant(("tma_load(sB + slot * BN * BK, &tb, &full[slot], t * BK, col);", ";"))
    verified = check(TMA).steps
    assert (check(text).steps, [reads.count for reads in check(text).unverified]) == (verified / 2, [verified / 2])


def test_a_copy_of_code_that_is_not_known_may_fill_the_tile() -> None:
    text = change(RIGHT, COPY_OF_B, "load_weights(s.B[q], &s.full[q], t);")
    assert [finding.code for finding in check(text).findings] == []


COPIED = "(BM + BN) * BK * sizeof"
FILLS = [  # before the loops: threads fill all stages of B
    "uint4* w = reinterpret_cast<uint4*>(raw + STAGES * BM * BK * 2);\n"
    "  for (int i = threadIdx.x; i < STAGES * BN * BK / 8; i += THREADS) w[i] = reinterpret_cast<uint4*>(C)[i];",
    "uint32_t w = shared_address(raw) + STAGES * BM * BK * 2;\n"
    "  for (int i = threadIdx.x; i < STAGES * BN * BK / 2; i += THREADS)\n"
    '    asm volatile("st.shared.b32 [%0], %1;" ::"r"(w + 4 * i), "r"(0));',
]


@pytest.mark.thorough
@for_each("code", FILLS)
def test_threads_may_fill_a_tile_through_the_array_that_an_object_is_in(code: str) -> None:
    fence = 'asm volatile("fence.proxy.async;");\n  __syncthreads();\n'
    text = change(change(RIGHT, COPY_OF_B, ""), COPIED, "BM * BK * sizeof")
    found = check(change(text, "  int group =", f"  {code}\n  {fence}  int group ="))
    assert [finding.code for finding in found.findings] == []


@pytest.mark.thorough
@for_each(
    "call",
    ["cuda::memcpy_async(s.A[q], src + t * BK, cuda::aligned_size_t<16>(BM * BK * 2), bar);", "fill_async(s.A[q], t);"],
)
def test_a_function_that_copies_asynchronously_may_fill_the_tile(call: str) -> None:
    found = check(change(change(RIGHT, COPY_OF_A, call), COPIED, "BN * BK * sizeof"))
    assert [finding.code for finding in found.findings] == [] and not found.unverified


def test_a_warpgroup_waits_for_the_barrier_of_what_it_reads() -> None:
    """Each half of A has its own barrier: who multiplies the second one must wait for that."""
    own = OWN_HALVES.replace("full[STAGES], empty", "full[STAGES], half[STAGES], empty")
    own = own.replace("&ta, &s.full[q], t", "&ta, h ? &s.half[q] : &s.full[q], t")
    own = own.replace(
        "expect_bytes(&s.full[q], (BM + BN)",
        "expect_bytes(&s.half[q], 64 * BK * 2);\n      expect_bytes(&s.full[q], (64 + BN)",
    )
    waited = change(own, "wait(&s.full[q], phase);", "wait(&s.full[q], phase);\n      wait(&s.half[q], phase);")
    assert [finding.code for finding in check(waited).findings] == []
    assert [finding.code for finding in check(own).findings] == ["bytes_not_copied"]


FULL = "wait(&s.full[q], phase);"
LOOP = "for (int t = 0; t < K / BK; ++t) {\n      wait(&s.full"
TRY = """__device__ bool try_wait(uint64_t* bar, int phase) {
  uint32_t done;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
      : "=r"(done) : "r"((uint32_t)__cvta_generic_to_shared(bar)), "r"(phase) : "memory");
  return done;
}
"""


def wait_in_loops(text: str) -> str:
    """Return a kernel whose waits are loops of C++."""
    return text.replace("struct Storage {", TRY + "struct Storage {").replace(
        FULL, "while (!try_wait(&s.full[q], phase)) {}"
    )


UNAWAITED = [
    (RIGHT, FULL, ""),
    (RIGHT, FULL, "wait(&s.empty[q], phase);"),
    (wait_in_loops(RIGHT), "try_wait(&s.full", "try_wait(&s.empty"),
]


@for_each(("text", "old", "new"), UNAWAITED, sample=1)
def test_a_read_before_any_wait_for_its_copies_is_a_mistake(text: str, old: str, new: str) -> None:
    found = check(change(text, old, new))
    assert [finding.code for finding in found.findings] == ["bytes_not_copied"]
    assert "whose copy it has not waited for" in found.findings[0].message


@for_each(
    ("old", "new"),
    [
        (FULL, f"if (threadIdx.x % 128 == 0) {FULL}\n      __syncthreads();"),  # one thread waits for the others
        (FULL, "wait_for_tile(&s.full[q], phase);"),  # its code is not in the text
        (LOOP, f"for (int i = 0; i < STAGES; ++i) wait(&s.full[i], 0);\n  {LOOP}"),
    ],
    sample=1,
)
def test_a_wait_that_may_be_for_the_copies_is_no_mistake(old: str, new: str) -> None:
    text = change(RIGHT, old, new).replace("struct Storage {", TRY + "struct Storage {")
    found = check(text)
    assert not found.findings and not found.unverified and found.steps == check(RIGHT).steps


@pytest.mark.thorough
def test_another_warpgroup_may_wait_and_pass_it_on() -> None:
    """The thread that copies waits for the bytes as well, and arrives on the barrier that the others wait for."""
    text = change(RIGHT, "full[STAGES], empty", "full[STAGES], ready[STAGES], empty")
    text = change(text, FULL, "wait(&s.ready[q], phase);")
    assert [finding.code for finding in check(text).findings] == ["bytes_not_copied"]
    passed = change(text, "t * BK, col);\n", f"t * BK, col);\n      {FULL}\n      arrive(&s.ready[q]);\n")
    assert [finding.code for finding in check(passed).findings] == []


@for_each(
    ("text", "old", "new", "code"),
    [
        (RIGHT, "s.A[q] + me * 64 * BK", "s.A[q]", "warpgroups_overlap"),  # and nobody reads the other rows
        (ROWS_IN_TURN, "s.A[q] + m * 64 * BK", "s.A[q] + m * BK", "warpgroups_overlap"),
        (OWN_HALVES, "row + h * 64)", "row)", "box_repeated"),
    ],
    sample=2,
)
def test_rows_that_come_twice_are_a_mistake(text: str, old: str, new: str, code: str) -> None:
    assert code in [finding.code for finding in check(change(text, old, new)).findings]


def test_rows_overlap_whatever_code_waits_for_them() -> None:
    text = change(RIGHT, "wait(&s.full", "wait_for_tile(&s.full")
    assert [finding.code for finding in check(text).findings] == []
    overlapping = change(text, "s.A[q] + me * 64 * BK", "s.A[q] + me * 32 * BK")
    assert [finding.code for finding in check(overlapping).findings] == ["warpgroups_overlap"]


def test_a_box_that_a_lambda_repeats_is_shown_in_its_loop() -> None:
    copies = "for (int h = 0; h < 2; ++h) tma_load(s.A[q] + h * 64 * BK, &ta, &s.full[q], t * BK, row);"
    text = change(OWN_HALVES, copies.replace("row)", "row + h * 64)"), "load(q, t);")
    text = change(text, "  int group =", f"  auto load = [&](int q, int t) {{ {copies} }};\n  int group =")
    found = check(text).findings
    assert [finding.code for finding in found] == ["box_repeated"]
    assert copies in text[text.rindex("\n", 0, found[0].span[0]) : found[0].span[1] + 16]


def test_a_product_reads_no_rows_of_two_stages() -> None:
    """A row too late, the last of its 64 rows is the first one of the next stage, which has other elements of K."""
    found = check(change(ROWS_IN_TURN, "s.A[q] + m * 64 * BK", "s.A[q] + m * 64 * BK + BK")).findings
    assert [finding.code for finding in found] == ["bytes_not_copied"]
    assert "two stages" in found[0].message


def test_exchanged_descriptors_are_one_mistake_that_names_the_arguments() -> None:
    """That B's rows overlap from warpgroup to warpgroup follows from the exchange."""
    call = "multiply<1>(d, make_smem_desc(s.A[q] + me * 64 * BK + k * 16), make_smem_desc(s.B[q] + k * 16));"
    named = "{ uint64_t da = make_smem_desc(s.A[q] + me * 64 * BK + k * 16), db = make_smem_desc(s.B[q] + k * 16);"
    found = check(change(RIGHT, call, f"{named} multiply<1>(d, db, da); }}"))
    assert [finding.code for finding in found.findings] == ["operands_exchanged"]
    assert found.findings[0].message.startswith("db is passed as A and da as B")


@for_each(
    ("expression", "thread", "block", "value"),
    [
        ("threadIdx.x/128 == 2", 300, BlockShape(384), 1),
        ("(threadIdx.x & 0x7f) == 0", 256, BlockShape(384), 1),
        ("threadIdx.y - 1", 130, BlockShape(128, 3), 0),
        ("threadIdx.y", 130, BlockShape(), None),  # the block's shape is not known
        ("threadIdx.x + lane", 1, BlockShape(384), None),
    ],
)
def test_an_expression_has_a_value_in_each_thread(
    expression: str, thread: int, block: BlockShape, value: int | None
) -> None:
    assert evaluate_for_thread(expression, thread, block) == value


@for_each(("mask", "places"), [(1, [0, 8192, 0, 8192]), (3, [0, 8192, 16384, 24576])])
def test_the_bits_of_a_masked_number_have_values_of_their_own(mask: int, places: list[int]) -> None:
    """The part of A of warpgroup 2 of a 2 × 2 arrangement is that of warpgroup 0: (threadIdx.x / 128 & 1) * 8192."""
    group = and_ints(make_free("threadIdx.x/128", UINT), SymbolicInt(mask, UINT))
    line = shift_int(group, 13).make_linear()
    assert [evaluate_terms(line, n, BlockShape(512)).const for n in range(4)] == places


def test_dynamic_shared_memory_has_one_address() -> None:
    text = "extern __shared__ half a[]; extern __shared__ char b[]; __shared__ half c[64], d[N * 2]; __shared__ B e;"
    assert are_separate("a", "&c", text) and are_separate("c", "d", text) and are_separate("c", "e", text)
    assert not are_separate("a", "b", text)  # all extern arrays begin at one address
    assert not are_separate("c", "N", text)  # not a variable in shared memory
    assert are_separate("s.full", "s.empty", text) and not are_separate("s.full", "c", text)


@pytest.mark.thorough
def test_a_k_major_read_is_wrong_whichever_dimension_is_inside() -> None:
    """The names do not tell which one it is, but with M inside a 16-byte chunk would hold elements of one K."""
    head = "int M, int N, int K) {\n  CUtensorMap"
    text = change(ROWS_IN_TURN, head, "int size) {\n  int M = size, N = size, K = size;\n  CUtensorMap")
    text = change(change(text, "A, M, K, BM)", "A, size, size, BM)"), "B, N, K, BN)", "B, size, size, BN)")
    for name, place in (("A", "row"), ("B", "col")):
        tensor_map = f"&t{name.lower()}"
        called = "cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_cluster, cuda::ptx::space_global"
        text = change(
            text,
            f"tma_load(s.{name}[q], {tensor_map}, &s.full[q], t * BK, {place});",
            f"const int32_t c{name}[2] = {{t * BK, {place}}};\n"
            f"{called}, s.{name}[q], {tensor_map}, c{name}, &s.full[q]);",
        )
    assert [finding.code for finding in check(text).findings] == []
    wrong = change(text, "encode(1024)", "encode(512)")
    assert [finding.code for finding in check(wrong).findings] == ["sbo_other_width"]
