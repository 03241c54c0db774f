"""Kernels that store D at other rows or columns than those of the A and B that TMA brings, and right ones beside them.

A matrix product is run for several blocks: the coordinates of the copies say where an element of D comes from, the
address of the store where it goes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from lanescope.reader.code.findings import Pitfall
from tests.cases import for_each
from tests.checked import check_whole, list_findings, locate_findings, run_blocks
from tests.test_tile_overwrites import STAGED as TWO_GROUPS
from tests.transfer_kernels import EPILOGUE, READ_A, READ_B, plant

STORES = "    C[r * N + c] = d[j * 4];\n    C[(r + 8) * N + c] = d[j * 4 + 2];\n"
EACH = (
    "    for (int h = 0; h < 2; ++h) for (int e = 0; e < 2; ++e) C[(r + 8 * h) * N + c + e] = d[j * 4 + 2 * h + e];\n"
)
PLACE = "C[(r + 8 * h) * N + c + e]"
ROW_COL = "int row = blockIdx.y * BM, col = blockIdx.x * BN;"
GRID = "dim3(N / BN, M / BM)"
KERNEL = plant(  # a grid in one direction, whose kernel says which tile a block has
    (STORES, EACH),
    (ROW_COL, "int tiles = N / BN, m = blockIdx.x / tiles, n = blockIdx.x % tiles, row = m * BM, col = n * BN;"),
    (GRID, "M / BM * (N / BN)"),
)
STAGED = EPILOGUE.replace("  int lane", "  bf16* stage = sA;\n  int lane").replace(
    STORES, EACH.replace(PLACE, "stage[(r - row + 8 * h) * (BN + 8) + c - col + e]")
)
STAGED = (
    STAGED[: STAGED.rindex("}")]
    + """  __syncthreads();
  for (int i = threadIdx.x; i < BM * BN; i += 128)
    C[(row + i / BN) * N + col + i % BN] = stage[i / BN * (BN + 8) + i % BN];
}
"""
)
THROUGH_SHARED = plant((EPILOGUE.replace(STORES, EACH), STAGED), text=KERNEL)
STAGE_READ = "= stage[i / BN * (BN + 8)"
LOAD_B = "t * BK, col);"
GROUP = "threadIdx.x / 128 * 64 * BK"  # the rows of a warpgroup

HALVES = plant(  # each warpgroup copies two boxes to the tensor of C
    (
        "      tma_store(&tc, staged, col, row + group * BM);\n",
        "      tma_store(&tc, staged, col, row + group * BM);\n"
        "      tma_store(&tc, staged + 32 * BN, col, row + group * BM + 32);\n",
    ),
    ("make_map(&tc, C, M, N, BM, BN", "make_map(&tc, C, M, N, BM / 2, BN"),
    text=TWO_GROUPS,
)
ONE_COPY = plant(  # of both warpgroups
    ('"bar.sync %0, 128;" ::"r"(group + 2)', '"bar.sync 1, 256;"'),
    (
        "threadIdx.x % 128 == 0) {\n      tma_store(&tc, staged, col, row + group * BM);",
        "threadIdx.x == 128) {\n      tma_store(&tc, staged, col, row);",
    ),
    ("init_barrier(tile_end, 2)", "init_barrier(tile_end, 1)"),
    ("make_map(&tc, C, M, N, BM, BN", "make_map(&tc, C, M, N, 2 * BM, BN"),
    text=TWO_GROUPS,
)
BATCHED = plant(
    (
        "const CUtensorMap* map, uint64_t* bar, int x, int y)",
        "const CUtensorMap* map, uint64_t* bar, int x, int y, int z = 0)",
    ),
    ("cp.async.bulk.tensor.2d.shared", "cp.async.bulk.tensor.3d.shared"),
    ("{%3, %4}", "{%3, %4, %5}"),
    ('"r"(x), "r"(y)', '"r"(x), "r"(y), "r"(z)'),
    ("t * BK, row);", "t * BK, row, blockIdx.z);"),
    (LOAD_B, "t * BK, col, blockIdx.z);"),
    ("dims[2] = {cols, rows}", "dims[3] = {cols, rows, 2}"),
    ("strides[1] = {cols * sizeof(bf16)}", "strides[2] = {cols * sizeof(bf16), rows * cols * sizeof(bf16)}"),
    ("box[2] = {box_cols, box_rows}, ones[2] = {1, 1}", "box[3] = {box_cols, box_rows, 1}, ones[3] = {1, 1, 1}"),
    ("BFLOAT16, 2,", "BFLOAT16, 3,"),
    (PLACE, PLACE.replace("C[", "D[")),
    ("  float d[64]", "  bf16* D = C + (size_t)blockIdx.z * M * N;\n  float d[64]"),
    ("M / BM * (N / BN)", "dim3(M / BM * (N / BN), 1, 2)"),
    text=KERNEL,
)
MISTAKES = [
    (HALVES, "BM + 32);", "BM + 16);", "result_misplaced", "tma_store(&tc, staged + 32"),
    (HALVES, "sB + group * BN * BK;", "sB + group * BM * BK;", "store_order_missing", "bf16* staged ="),
    (ONE_COPY, "sB + group * BN * BK;", "sB + group * BM * BK;", "result_misplaced", "bf16* staged ="),
    (
        plant(
            (
                "for (int j = 0; j < 16; ++j)\n      for (int h",
                "bf16* mine = staged + (threadIdx.x % 128 / 32 * 16 + lane / 4) * BN;\n"
                "    for (int j = 0; j < 16; ++j)\n      for (int h",
            ),
            ("staged[(threadIdx.x % 128 / 32 * 16 + lane / 4 + 8 * h) * BN +", "mine[8 * h * BN +"),
            text=ONE_COPY,
        ),
        "/ 32 * 16 + lane",
        "/ 32 * 8 + lane",
        "result_misplaced",
        "bf16* mine =",
    ),
    (BATCHED, "z * M * N", "z * M * K", "result_misplaced", "bf16* D ="),
    (KERNEL, LOAD_B, "t * BK, m * BN);", "row_coordinate_wrong", "m * BN"),
    (
        KERNEL,
        LOAD_B,
        "t * BK, blockIdx.x % (M / BM) * BN);",  # outside the matrix in the last blocks
        "result_misplaced",
        "C[(r",
    ),
    (KERNEL, PLACE, "C[(n * BM + r - row + 8 * h) * N + c + e]", "result_misplaced", "C[(n * BM"),
    (
        KERNEL,
        READ_B,
        "sB + (slot + STAGES - min(t, 1)) % STAGES * BN * BK + k * 16",
        "k_slice_repeated",
        "multiply<1>(",
    ),
    (KERNEL, "= STAGES * (BM + BN) * BK", "= STAGES * (BM + BM) * BK", "shared_memory_short", "constexpr int bytes"),
    (KERNEL, LOAD_B, "t * 2 * BK, col);", "k_coordinate_wrong", "t * 2 * BK"),
    (KERNEL, "t < K / BK;", "t < K / BK - 1;", "k_slices_left", "t < K / BK - 1;"),
    (KERNEL, "{cols * sizeof(bf16)}", "{rows * sizeof(bf16)}", "pitch_of_other_size", "strides[1] ="),
    (
        THROUGH_SHARED,
        "  __syncthreads();\n  for (int i = threadIdx.x; i < BM",
        "  for (int i = threadIdx.x; i < BM",
        "barrier_missing",
        "for (int i = threadIdx.x; i < BM",
    ),
]


def find_mistakes(text: str) -> Sequence[Pitfall]:
    return run_blocks(text).mistakes


@for_each(("kernel", "old", "new", "code", "line"), MISTAKES, sample=1)
def test_a_wrong_row_or_column_is_found(kernel: str, old: str, new: str, code: str, line: str) -> None:
    text = plant((old, new), text=kernel)
    places = dict(locate_findings(text, find_mistakes(text)))
    assert line in places.get(code, f"none of it: {places}")


RIGHT = {
    "column by column": (PLACE, "C[(c + e) * M + r + 8 * h]"),
    "a part of a larger matrix": (PLACE, "C[(r + 8 * h + 64) * N + c + e]"),
    "heads of 64 columns": (PLACE, "C[((c + e) / 64 * M + r + 8 * h) * 64 + (c + e) % 64]"),
    "a part of a wider A and B": ("{cols * sizeof(bf16)}", "{2 * cols * sizeof(bf16)}"),
    "rows of an expert": (LOAD_B, "t * BK, gridDim.z * N + col);"),
    "columns beyond the matrix of the run": ("m = blockIdx.x / tiles, n = blockIdx.x % tiles", "m = 0, n = blockIdx.x"),
    "bytes from a function of a header": ("bytes = STAGES *", "bytes = get_bytes(STAGES) *"),
    "a snake of tiles": ("n * BN;", "(m % 2 ? tiles - 1 - n : n) * BN;"),
}


@for_each(("old", "new"), list(RIGHT.values()), ids=list(RIGHT), sample=1)
def test_other_orders_of_d_are_right(old: str, new: str) -> None:
    assert not find_mistakes(plant((old, new), text=KERNEL))


VALUE = "d[j * 4 + 2 * h + e]"
PROGRAMS = {
    "K split along x": (
        KERNEL,
        ("m = blockIdx.x / tiles, n", "part = blockIdx.x / (M / BM * tiles), m = blockIdx.x / tiles % (M / BM), n"),
        ("t < K / BK;", "t < K / BK / 2;"),
        ("t * BK, row);", "part * K / 2 + t * BK, row);"),
        (LOAD_B, "part * K / 2 + t * BK, col);"),
        (f"{PLACE} = {VALUE};", f"atomicAdd(&{PLACE}, {VALUE});"),
        ("M / BM * (N / BN)", "M / BM * (N / BN) * 2"),
    ),
    "two epilogues of one product": (
        KERNEL,
        (f"{PLACE} = {VALUE};", f"{PLACE.replace('[', '[blockIdx.z * M * N + ')} = {VALUE} * (blockIdx.z + 1);"),
        ("M / BM * (N / BN)", "dim3(M / BM * (N / BN), 1, 2)"),
    ),
    "Q and K in one matrix": (
        KERNEL,
        (LOAD_B, "K + t * BK, col);"),
        ("make_map(&map_a, A, M, K,", "make_map(&map_a, A, M, 3 * K,"),
        ("make_map(&map_b, B, N, K,", "make_map(&map_b, B, N, 3 * K,"),
    ),
    "Q, K and V in matrices of their own": (KERNEL, (PLACE, "C[(c + e) / K * M * K + (r + 8 * h) * K + (c + e) % K]")),
    "a part of an A with rows of N elements": (
        KERNEL,
        ("{cols * sizeof(bf16)}", "{pitch * sizeof(bf16)}"),
        ("uint32_t box_cols) {", "uint32_t box_cols, uint64_t pitch) {"),
        ("M, K, BM, BK)", "M, K, BM, BK, N)"),
        ("N, K, BN, BK)", "N, K, BN, BK, K)"),
    ),
    "a pitch of the model": (KERNEL, (PLACE, "C[(r + 8 * h) * 1536 + c + e]")),
    "a causal mask": (THROUGH_SHARED, (f"= {VALUE};", f"= r + 8 * h >= c + e ? {VALUE} : bf16(0.f);")),
    "windows of 49 rows": (
        KERNEL,
        (f"{PLACE} = {VALUE};", f"if (r + 8 * h - row < 49) C[(m * 49 + r - row + 8 * h) * N + c + e] = {VALUE};"),
    ),
    "the first rows again": (
        KERNEL,
        ("bf16* C, int M, int N, int K) {\n  extern", "bf16* C, bf16* head, int M, int N, int K) {\n  extern"),
        ("map_b, C, M", "map_b, C, A, M"),
        (f"{PLACE} = {VALUE};", f"{{ {PLACE} = {VALUE}; head[(r % 16 + 8 * h) * N + c + e] = {VALUE}; }}"),
    ),
    "a product of A with itself, and its mirror": (
        KERNEL,
        ("make_map(&map_b, B, N, K, BN, BK)", "make_map(&map_b, A, M, K, BN, BK)"),
        (f"{PLACE} = {VALUE};", f"{{ {PLACE} = {VALUE}; C[(c + e) * N + r + 8 * h] = {VALUE}; }}"),
    ),
    "slices that 512 of K are divided into": (KERNEL, ("t < K / BK;", "t < K / 512 * (512 / BK);")),
    "a ring of rows": (
        KERNEL,
        ("bf16* C, int M, int N, int K) {\n  extern", "bf16* C, int start, int M, int N, int K) {\n  extern"),
        ("map_b, C, M", "map_b, C, 3000, M"),
        (PLACE, "C[(start + r + 8 * h) % 4096 * N + c + e]"),
    ),
    "a triangle": (THROUGH_SHARED, ("    C[(row + i", "    if (row + i / BN >= col + i % BN) C[(row + i")),
}


@for_each("program", list(PROGRAMS.values()), ids=list(PROGRAMS), sample=1)
def test_other_programs_are_right(program: tuple[str, *tuple[tuple[str, str], ...]]) -> None:
    text, *changes = program
    assert not find_mistakes(plant(*changes, text=text))


def test_d_may_go_through_shared_memory() -> None:
    assert not find_mistakes(THROUGH_SHARED)
    other_pitch = plant((STAGE_READ, "= stage[i / BN * (BN + 16)"), text=THROUGH_SHARED)
    [(code, line)] = list_findings(other_pitch)
    assert code == "result_misplaced" and STAGE_READ[:9] in line


def make_tall(text: str) -> str:
    """Return a kernel of two warpgroups, with tiles of 128 rows."""
    threads = ("__launch_bounds__(128)", "__launch_bounds__(256)"), (", 128, bytes>>>", ", 256, bytes>>>")
    rows = ("row + warp * 16", "row + threadIdx.x / 128 * 64 + warp % 4 * 16")
    return plant(("BM = 64", "BM = 128"), *threads, (READ_A, f"{READ_A} + {GROUP}"), rows, text=text)


def test_each_kernel_is_run_for_the_blocks_of_its_grid() -> None:
    """The last block of a kernel with smaller tiles is none of another kernel's."""
    tall = make_tall(KERNEL)
    second = tall[tall.index("__global__") : tall.index("void make_map")] + tall[tall.index("void run") :]
    second = re.sub(r"\bBM\b", "128", re.sub(r"\b(gemm|run)\b", r"\1_tall", second))
    assert not run_blocks(KERNEL + second).open


def test_dynamic_shared_memory_may_be_an_object() -> None:
    storage = """struct Storage { alignas(1024) bf16 a[STAGES * BM * BK], b[STAGES * BN * BK]; uint64_t full[STAGES]; };
__global__ void __launch_bounds__(128) gemm("""
    dynamic = KERNEL[KERNEL.index("  extern __shared__") : KERNEL.index("  int tiles")]
    text = plant(
        (dynamic, "  extern __shared__ Storage s;\n  bf16 *sA = s.a, *sB = s.b;\n  uint64_t* full = s.full;\n"),
        ("__global__ void __launch_bounds__(128) gemm(", storage),
        text=KERNEL,
    )
    assert not run_blocks(text).open
    wrong = plant((LOAD_B, "t * BK, m * BN);"), text=text)
    assert [one.code for one in find_mistakes(wrong)] == ["row_coordinate_wrong"]


def test_an_address_of_shared_memory_may_become_a_pointer() -> None:
    pointer = "reinterpret_cast<bf16*>(__cvta_shared_to_generic(__cvta_generic_to_shared(smem)))"
    assert not run_blocks(plant(("sA = reinterpret_cast<bf16*>(smem)", f"sA = {pointer}"), text=KERNEL)).open


@pytest.mark.thorough
def test_a_descriptor_may_be_an_object_that_asm_converts() -> None:
    """As CUTLASS's GmmaDescriptor: a variable is copied, and the result of a call is moved."""
    descriptor = """union Descriptor {
  __device__ constexpr Descriptor() noexcept : word(0) {}
  __device__ constexpr Descriptor& operator=(Descriptor const& o) noexcept { word = o.word; return *this; }
  __device__ constexpr Descriptor& operator=(Descriptor&& o) noexcept { word = o.word; return *this; }
  __device__ constexpr operator uint64_t() const noexcept { return word; }
  uint64_t word;
  struct { uint16_t start : 14, : 2, lbo : 14, : 2, sbo : 14, : 2; uint8_t : 8; uint8_t : 6, mode : 2; } fields;
};
__device__ Descriptor make_desc(const bf16* p) {
  Descriptor d;
  d.word = make_smem_desc(p);
  return d;
}
template <int ScaleD>"""
    text = plant(
        ("template <int ScaleD>", descriptor),
        ("uint64_t desc_a, uint64_t desc_b", "Descriptor desc_a, Descriptor desc_b"),
        (
            "    for (int k = 0; k < BK / 16; ++k)\n      multiply<1>",
            "    for (int k = 0; k < BK / 16; ++k) {\n      multiply<1>",
        ),
        (
            f"multiply<1>(d, make_smem_desc({READ_A}), make_smem_desc({READ_B}));",
            f"Descriptor a, b, c; a = make_desc({READ_A}); c = make_desc({READ_B}); b = c; multiply<1>(d, a, b); }}",
        ),
        text=KERNEL,
    )
    assert not run_blocks(text).open
    wrong = plant((LOAD_B, "t * BK, m * BN);"), text=text)
    assert [one.code for one in find_mistakes(wrong)] == ["row_coordinate_wrong"]


SCALE = "SA[t * M + line + (i / 2 % 2) * 8]"
PROMOTED = plant(  # the sum of each slice of K is scaled, and added to another one
    ("bf16* C, int M, int N, int K) {\n  extern", "bf16* C, const float* SA, int M, int N, int K) {\n  extern"),
    ("map_b, C, M", "map_b, C, nullptr, M"),
    (
        "  float d[64] = {};\n",
        "  float sum[64] = {};\n  const int line = row + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;\n",
    ),
    ("    warpgroup_arrive();\n", "    float d[64] = {};\n    warpgroup_arrive();\n"),
    (
        "    warpgroup_wait<0>();\n",
        f"    warpgroup_wait<0>();\n    for (int i = 0; i < 64; ++i) sum[i] += {SCALE} * d[i];\n",
    ),
    (f"= {VALUE};", f"= {VALUE.replace('d[', 'sum[')};"),
    text=KERNEL,
)


@for_each(
    ("change", "why"),
    [
        ((SCALE, SCALE), ""),
        ((SCALE, "SA[(line + (i / 2 % 2) * 8) * (K / BK) + t]"), ""),
        ((SCALE, "SA[col / 128 * (K / BK) + t]"), ""),
        ((SCALE, "SA[t * M + line]"), "elements of SA"),
        ((SCALE, "SA[t * N + line + (i / 2 % 2) * 8]"), "elements of SA"),
    ],
    sample=1,
)
def test_sums_of_slices_of_k_may_be_scaled_and_added(change: tuple[str, str], why: str) -> None:
    report = run_blocks(plant(change, text=PROMOTED))
    assert [why in point.message for point in report.open] == [True] * bool(why) and not report.mistakes


@pytest.mark.thorough
def test_a_sum_that_is_overwritten_leaves_slices_of_k() -> None:
    text = plant(("sum[i] +=", "sum[i] ="), text=PROMOTED)
    ((code, line),) = locate_findings(text, find_mistakes(text))
    assert code == "k_slices_left" and line.startswith("multiply<1>")


@pytest.mark.thorough
def test_maps_may_be_members_of_a_struct() -> None:
    """Each copy has the map of its member, and a kernel without a map of its own in its head is judged, too."""
    text = plant(
        (
            "const __grid_constant__ CUtensorMap ta,\n    const __grid_constant__ CUtensorMap tb,",
            "const __grid_constant__ Maps maps,",
        ),
        (
            "__global__ void __launch_bounds__(128) gemm(",
            "struct Maps { CUtensorMap a, b; };\n__global__ void __launch_bounds__(128) gemm(",
        ),
        ("&ta,", "&maps.a,"),
        ("&tb,", "&maps.b,"),
        ("CUtensorMap map_a, map_b;", "Maps maps;"),
        ("&map_a,", "&maps.a,"),
        ("&map_b,", "&maps.b,"),
        ("(map_a, map_b, C", "(maps, C"),
        text=KERNEL,
    )
    assert run_blocks(text).proved == {"gemm"}
    assert run_blocks(plant((PLACE, "C[(r + 8 * h) * 4096 + c + e]"), text=text)).open
    wrong = plant((LOAD_B, "t * BK, m * BN);"), text=text)
    assert [one.code for one in find_mistakes(wrong)] == ["row_coordinate_wrong"]


@pytest.mark.thorough
def test_arrays_of_a_fixed_size_are_no_dynamic_shared_memory() -> None:
    """A launch of a kernel with only such arrays, `extern` or not, gives no bytes; a wrong column is still found."""
    dynamic = KERNEL[KERNEL.index("  extern __shared__") : KERNEL.index("  int tiles")]
    static = """  __shared__ __align__(1024) bf16 sA[STAGES * BM * BK], sB[STAGES * BN * BK];
  __shared__ uint64_t full[STAGES];
"""
    text = plant((dynamic, static), ("STAGES = 4", "STAGES = 1"), (", 128, bytes>>>", ", 128>>>"), text=KERNEL)
    assert not find_mistakes(text) + find_mistakes(text.replace("  __shared__", "  extern __shared__"))
    wrong = plant((LOAD_B, "t * BK, m * BN);"), text=text)
    assert [one.code for one in find_mistakes(wrong)] == ["row_coordinate_wrong"]


OPEN = {
    "a pitch that is a number": ((PLACE, "C[(r + 8 * h) * 4096 + c + e]"), "rows and columns of one matrix"),
    "tiles along N counted along M": (("tiles = N / BN", "tiles = M / BN"), "outside the matrices"),
    "a column that is not stored": (("for (int e = 0; e < 2; ++e)", "for (int e = 0; e < 1; ++e)"), "stored nowhere"),
    "other K of A and of B": ((LOAD_B, "t * BK % 128, col);"), "same slices of K"),
}


@for_each(("change", "why"), list(OPEN.values()), ids=list(OPEN), sample=1)
def test_what_is_not_shown_to_be_the_product_is_open(change: tuple[str, str], why: str) -> None:
    report = run_blocks(plant(change, text=KERNEL))
    assert report.mistakes or any(why in one.message for one in report.open)


def test_a_product_that_is_right_is_not_open() -> None:
    assert not check_whole(KERNEL).open
    assert not run_blocks(THROUGH_SHARED).open


@pytest.mark.thorough
def test_a_ring_may_have_to_be_filled_an_even_number_of_times() -> None:
    """Every tile begins with the first phase again: with 12 slices of K in 4 stages the last wait would never end."""
    again = plant(("  int lane", "  wait(&full[0], 1);\n  int lane"), text=KERNEL)
    assert not run_blocks(again).open
    assert [one.code for one in find_mistakes(plant((LOAD_B, "t * BK, m * BN);"), text=again))] == [
        "row_coordinate_wrong"
    ]


@pytest.mark.thorough
def test_a_warpgroup_takes_the_rows_of_the_tile_that_it_stores() -> None:
    """The copy begins where D does, and the first warpgroup reads 64 rows further: its address is wrong."""
    two = make_tall(KERNEL)
    assert not find_mistakes(two)
    wrong = plant((GROUP, "(threadIdx.x / 128 + 1) * 64 * BK"), text=two)
    assert [one.code for one in find_mistakes(wrong)] == ["operand_rows_wrong"]
    stored = plant(("threadIdx.x / 128 * 64 + warp", "(threadIdx.x / 128 + 1) * 64 + warp"), text=two)
    assert [one.code for one in find_mistakes(stored)] == ["result_misplaced"]


def test_numbers_of_tiles_are_no_sizes_of_matrices() -> None:
    """24 tiles of rows are no multiple of 18; M, N and K are multiples of all that they are divided by."""
    text = plant(
        ("int M, int N, int K) {\n  extern", "int M, int N, int K, int tiles, int rows) {\n  extern"),
        ("int tiles = N / BN, m =", "int m = rows / tiles - 1 +"),
        ("C, M, N, K);\n}", "C, M, N, K, N / BN, M / BM);\n}"),
        text=KERNEL,
    )
    assert run_blocks(text).proved == {"gemm"}


def test_a_stride_that_a_kernel_is_given_brings_no_box_twice() -> None:
    """What the run takes for it makes a descriptor read some rows of its one box again."""
    text = plant(
        ("make_smem_desc(const bf16* p)", "make_smem_desc(const bf16* p, int pitch)"),
        ("encode(1024) << 32", "encode(pitch) << 32"),
        ("C, int M, int N, int K) {\n  extern", "C, int M, int N, int K, int pitch) {\n  extern"),
        ("(map_a, map_b, C, M, N, K)", "(map_a, map_b, C, M, N, K, config->find())"),
        ("N, int K) {\n  CUtensorMap map_a", "N, int K, Config* config) {\n  CUtensorMap map_a"),
        (STORES, EACH),
    ).replace("* 16)", "* 16, pitch)")
    assert not run_blocks(text).mistakes
