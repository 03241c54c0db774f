"""D of tcgen05.mma is followed from the boxes of TMA through tensor memory to its rows and columns in global memory."""

from __future__ import annotations

import re

import pytest

from lanescope.reader.code.descriptors.builders import find_evaluation_builders
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.workbench.products.result_origins import OriginReport
from tests.cases import for_each
from tests.checked import check_text, check_whole, locate_findings, run_blocks
from tests.tensor_kernels import BY_TMA, PACKED
from tests.transfer_kernels import plant


def test_a_right_kernel_is_verified() -> None:
    report = check_whole(BY_TMA)
    assert (report.findings, report.open, report.steps) == ((), (), 8)


(LOADED,) = (f"{line}\n" for line in BY_TMA.split("\n") if "tcgen05.ld" in line)
HALF = BY_TMA.replace("8u << 24", "4u << 24").replace("128 + BN", "64 + BN").replace("128 * BK", "64 * BK")
HALF = HALF.replace("blockIdx.y * 128", "blockIdx.y * 64").replace("K, 128)", "K, 64)").replace("M / 128", "M / 64")
HALF = HALF.replace("    for (int i = 0", "    if (threadIdx.x % 32 < 16) for (int i = 0").replace(
    "C[(row + threadIdx.x) * N", "C[(row + warp * 16 + threadIdx.x % 32) * N"
)  # M = 64: 16 rows for each warp


@pytest.mark.thorough
def test_the_lanes_of_64_rows_are_followed() -> None:
    report = run_blocks(HALF)
    assert (report.mistakes, report.open) == ((), ())
    (found,) = run_blocks(plant(("row + warp * 16", "row + warp * 8"), text=HALF)).mistakes
    assert found.code == "result_misplaced"
    (found,) = run_blocks(plant(("t * BK, row)", "t * BK, col)"), text=HALF)).mistakes
    assert found.code == "row_coordinate_wrong"


IN_TURN = BY_TMA.replace("row = blockIdx.y * 128, col", "col").replace("M / 128), 128", "M / 256), 128")
IN_TURN = IN_TURN.replace(
    "  const uint32_t d = slot;\n", "  const uint32_t d = slot;\n  int n = 0;\n  LOOP {\n  ROW;\n"
)
IN_TURN = IN_TURN.replace("LOOP", "for (int tile = 0; tile < 2; ++tile)").replace("(&full, t & 1)", "(&full, n & 1)")
IN_TURN = IN_TURN.replace("ROW", "const int row = (blockIdx.y * 2 + tile) * 128").replace(
    "(&done, t & 1)", "(&done, n++ & 1)"
)
IN_TURN = IN_TURN.replace("  __syncthreads();\n  if (warp == 0)\n", "  __syncthreads();\n  }\n  if (warp == 0)\n")


@pytest.mark.thorough
def test_tiles_take_turns_in_the_same_columns() -> None:
    report = run_blocks(IN_TURN)
    assert (report.mistakes, report.open) == ((), ())
    (found,) = run_blocks(plant(("C[(row + thr", "C[((row ^ 128) + thr"), text=IN_TURN)).mistakes
    assert found.code == "result_misplaced"
    again = plant(("    for (int i = 0; i < 2; ++i) C", LOADED + "    for (int i = 0; i < 2; ++i) C"), text=IN_TURN)
    assert not run_blocks(again).mistakes and len(run_blocks(again).open) == 1  # each tile is loaded twice


LOADS = """  for (int c = 0; c < BN; c += 8)
    for (int h = 0; h < 2; ++h) {
      float r[4];
      const uint32_t at = d + (warp * 32 + h * 16 << 16) + c;
      asm volatile("tcgen05.ld.sync.aligned.16x256b.x1.b32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3]) : "r"(at));
      asm volatile("tcgen05.wait::ld.sync.aligned;");
      for (int i = 0; i < 4; ++i) {
        const int m = warp * 32 + h * 16 + i / 2 * 8 + threadIdx.x % 32 / 4, n = c + threadIdx.x % 4 * 2 + i % 2;
        C[(row + m) * N + col + n] = r[i];
      }
    }
"""
BY_QUADS = re.sub(r"(?s)  for \(int c = 0; c < BN; c \+= 2\) \{.*?\n  \}\n", lambda _: LOADS, BY_TMA)


@pytest.mark.thorough
def test_a_load_gives_each_thread_its_lanes_and_columns() -> None:
    assert BY_QUADS != BY_TMA and run_blocks(BY_QUADS) == OriginReport()
    (found,) = run_blocks(plant(("(row + m) * N + col + n", "(row + m) * N + row + n"), text=BY_QUADS)).mistakes
    assert found.code == "result_misplaced"
    (found,) = run_blocks(plant(("i / 2 * 8", "i % 2 * 8"), text=BY_QUADS)).mistakes
    assert found.code == "result_misplaced"


(PRODUCTS,) = (f"{line}\n" for line in BY_TMA.split("\n") if "multiply(d, describe(sA" in line)
OF_HALF = """      for (int h = 0; h < 2; ++h) {
        uint64_t b = describe(sB + h * 32 * BK);
        for (int k = 0; k < BK / 16; ++k) multiply(d + h * 32, describe(sA + k * 16), b + k * 2, t > 0 || k > 0);
      }
"""
LOAD_HALF = "for (int h = 0; h < 2; ++h) load(sB + h * 32 * BK, &tb, &full, t * BK, col + h * 32);"
STORE = "for (int i = 0; i < 2; ++i) C[(row + threadIdx.x) * N + col + c + i] = r[i];"
BY_HALVES = plant(
    ("BN = 32", "BN = 64"),
    ("BN / 8 << 17", "32 / 8 << 17"),
    ("B, N, K, BN)", "B, N, K, 32)"),
    ("load(sB, &tb, &full, t * BK, col);", LOAD_HALF),
    (PRODUCTS, OF_HALF),
    (STORE, "const int n = col + c / 32 * 32 + c % 32;\n    " + STORE.replace("col + c", "n")),
    text=BY_TMA,
)


@for_each(
    ("old", "new", "code"),
    [
        ("uint64_t b = describe(sB + h * 32 * BK)", "uint64_t b = describe(sB)", "operand_rows_wrong"),  # both the same
        ("const int n = col + c / 32 * 32", "const int n = col + c / 32 * 16", "result_misplaced"),
    ],
)
def test_a_tile_may_be_of_several_products(old: str, new: str, code: str) -> None:
    assert run_blocks(BY_HALVES) == OriginReport()
    wrong = plant((old, new), text=BY_HALVES)
    ((found, at),) = locate_findings(wrong, run_blocks(wrong).mistakes)
    assert found == code and at.startswith(new)


MISTAKES = [  # what stands there, what is planted, code, line
    ("bytes = (128 + BN)", "bytes = (128)", "shared_memory_short", "const int bytes"),
    (
        "load(sB, &tb, &full, t * BK, col)",
        "load(sB, &tb, &full, t * BK, blockIdx.y * BN)",
        "row_coordinate_wrong",
        "load(sB",
    ),
    ("&full, t * BK, col)", "&full, t * BK, row)", "row_coordinate_wrong", "load(sB"),
    ("load(sB, &tb, &full, t * BK", "load(sB, &tb, &full, t * BK + BK", "k_coordinate_wrong", "load(sB"),
    ("t < K / BK;", "t < K / BK - 1;", "k_slices_left", "for (int t"),
    ("row + threadIdx.x) * N", "row + warp * 16 + threadIdx.x % 32) * N", "result_misplaced", "for (int i"),
    ("row + threadIdx.x) * N", "row + threadIdx.x) * BN", "result_misplaced", "for (int i"),  # over other blocks' rows
    ("C[(row + threadIdx.x)", "C[(row + threadIdx.x + warp / 2 * 128)", "result_misplaced", "for (int i"),
    ("= r[i];", "= r[0];", "result_misplaced", "for (int i"),
    ("N + col + c", "N + col + BN * (blockIdx.y & 1) + c", "result_misplaced", "for (int i"),  # also past its end
    ("describe(sB + k * 16)", "describe(sB + (k ^ 1) * 16)", "k_slice_repeated", "for (int k = 0"),
]


@for_each(("old", "new", "code", "line"), MISTAKES, sample=3)
def test_a_mistake_is_found_at_its_line(old: str, new: str, code: str, line: str) -> None:
    text = plant((old, new), text=BY_TMA)
    found = dict(locate_findings(text, run_blocks(text).mistakes))
    assert found.get(code, f"none of it: {found}").startswith(line)


def test_later_warps_that_store_d_count_their_rows_from_the_first_of_four() -> None:
    text = plant(
        ("__launch_bounds__(128) gemm", "__launch_bounds__(256) gemm"),
        (", 128, bytes>>>", ", 256, bytes>>>"),
        (
            "  for (int c = 0; c < BN; c += 2) {",
            "  float* out = C + (row + warp % 4 * 32 + threadIdx.x % 32) * N + col;\n"
            "  for (int c = 0; warp >= 4 && c < BN; c += 2) {",
        ),
        ("C[(row + threadIdx.x) * N + col + c + i]", "out[c + i]"),
        text=BY_TMA,
    )
    assert run_blocks(text) == OriginReport()
    wrong = plant(("row + warp % 4 * 32", "row + warp * 32"), text=text)
    assert locate_findings(wrong, run_blocks(wrong).mistakes) == [
        ("result_misplaced", "float* out = C + (row + warp * 32 + threadIdx.x % 32) * N + col;")
    ]


def test_warps_may_leave_their_lanes_to_the_hardware() -> None:
    """tcgen05.ld with lane 0 reads the lanes of its warp."""
    assert run_blocks(plant(("(warp * 32 << 16) + c", "c"), text=BY_TMA)) == OriginReport()


def test_lanes_may_be_counted_on_by_warps_after_the_first_four() -> None:
    beyond = ("(warp * 32 << 16) + c", "((warp + 4) * 32 << 16) + c")
    assert run_blocks(plant(beyond, text=BY_TMA)) == OriginReport()


@for_each("result", ["std::tuple<int, int>", "Place"], sample=1)
def test_a_function_may_return_the_place_of_a_tile(result: str) -> None:
    """By a braced list, of which a structured binding takes the parts."""
    helper = f"  auto find = [&](int tile) -> {result} {{ return {{tile / (N / BN) * 128, tile % (N / BN) * BN}}; }};\n"
    struct = "struct Place { int row, col; };\n" * (result == "Place")
    place = (", row = blockIdx.y * 128, col = blockIdx.x * BN;", f";\n{helper}  auto [row, col] = find(blockIdx.x);")
    grid = ("dim3(N / BN, M / 128)", "M / 128 * (N / BN)")
    text = struct + plant(place, grid, text=BY_TMA)
    assert run_blocks(text) == OriginReport()


def test_elements_that_are_stored_elsewhere_too_are_open() -> None:
    """No element is missed if one is stored through a pointer that is not known."""
    half = plant(("c < BN; c += 2", "c < BN - 2; c += 2"), text=BY_TMA)
    store = ("    for (int i = 0; i < 2; ++i) C", "    P[c][0] = r[0];\n    for (int i = 0; i < 2; ++i) C")
    given = (("float* C, int M, int N, int K) {\n  extern", "float* C, float** P, int M, int N, int K) {\n  extern"),)
    report = run_blocks(plant(store, *given, ("(ta, tb, C,", "(ta, tb, C, nullptr,"), text=half))
    assert not report.mistakes and len(report.open) == 1


def test_a_column_of_another_block_is_found() -> None:
    report = run_blocks(plant(("N + col + c", "N + blockIdx.y * BN + c"), text=BY_TMA))
    assert [one.code for one in report.mistakes] == ["result_misplaced"]


def test_exchanged_operands_of_square_tiles_are_found() -> None:
    """Each tile is stored where it belongs, with its rows and columns exchanged."""
    exchanged = ("describe(sA + k * 16), describe(sB + k * 16)", "describe(sB + k * 16), describe(sA + k * 16)")
    report = run_blocks(plant(("BN = 32", "BN = 128"), exchanged, text=BY_TMA))
    assert [one.code for one in report.mistakes] == ["operands_exchanged"]


def test_a_wrong_read_is_told_once() -> None:
    """That D is not A·B follows from it."""
    text = plant(("describe(sB + k * 16)", "describe(sB + k * 8)"), text=BY_TMA)
    assert [finding.code for finding in check_whole(text).findings] == ["k_step_in_elements"]


@pytest.mark.thorough
def test_a_template_may_be_given_maps_of_several_ranks() -> None:
    """A copy has as many coordinates as its map has dimensions."""
    box = "      load(sA, &ta, &full, t * BK, row);\n      load(sB, &tb, &full, t * BK, col);\n"
    deep = box.replace("load(", "load_panel(").replace("t * BK, ", "0, ").replace(");", ", t);")
    helper = BY_TMA[BY_TMA.index("__device__ void load(") : BY_TMA.index("__global__")]
    of_panel = helper.replace("load(", "load_panel(").replace(".2d.", ".3d.").replace("int row", "int row, int panel")
    of_panel = of_panel.replace("{%3, %4}", "{%3, %4, %5}").replace('"r"(row)', '"r"(row), "r"(panel)')
    maps = """  if (deep) {
    uint64_t dims[3] = {BK, rows, k / BK}, strides[2] = {k * 2, BK * 2};
    uint32_t box[3] = {BK, box_rows, 1}, ones[3] = {1, 1, 1};
    cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, data, dims, strides, box, ones,
                           CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                           CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return;
  }
"""
    text = plant(
        ("__global__", f"{of_panel}template <bool DEEP> __global__"),
        (box, f"      if constexpr (DEEP) {{\n{deep}      }} else {{\n{box}      }}\n"),
        ("uint32_t box_rows) {\n", f"uint32_t box_rows, bool deep) {{\n{maps}"),
        ("K, 128)", "K, 128, DEEP)"),
        ("K, BN)", "K, BN, DEEP)"),
        ("void run(", "template <bool DEEP> void start("),
        ("  gemm<<<", "  gemm<DEEP><<<"),
        text=BY_TMA,
    )
    text += "void run(void* A, void* B, float* C, int M, int N, int K) {\n"
    text += "  start<false>(A, B, C, M, N, K);\n  start<true>(A, B, C, M, N, K);\n}\n"
    report = check_whole(text)
    assert (report.findings, report.open) == ((), ())
    (found,) = check_whole(plant(("(sB, &tb, &full, 0, col, t)", "(sB, &tb, &full, 0, row, t)"), text=text)).findings
    assert found.code == "row_coordinate_wrong"


@pytest.mark.thorough
def test_a_template_may_have_nothing_but_specializations() -> None:
    asm_ = LOADED.replace('"r"(at)', '"r"(from)').strip()
    helper = "template <int N> __device__ void load_d(float* r, uint32_t from);\n"
    helper += "".join(
        f"template <> __device__ void load_d<{n}>(float* r, uint32_t from) {{ {asm_ if n == 2 else ''} }}\n"
        for n in (1, 2)
    )
    called = plant(("__global__", f"{helper}__global__"), (LOADED, "    load_d<2>(r, at);\n"), text=BY_TMA)
    assert run_blocks(called) == OriginReport()
    assert run_blocks(plant(("load_d<2>(r, at)", "load_d<1>(r, at)"), text=called)).open


@pytest.mark.thorough
def test_an_opcode_may_take_its_parts_from_constant_strings() -> None:
    """The constraint "C" writes an array of characters into the PTX: CUDA's Inline PTX Assembly, "Constraints"."""
    struct = 'struct Shape { static constexpr char lanes[] = ".32x32b", other[] = ".16x64b"; };\n'
    helper = (
        LOADED.replace(".32x32b", "%3")
        .replace("r[0]", "p[0]")
        .replace("r[1]", "p[1]")
        .replace('"r"(at)', '"r"(from), "C"(SHAPE)')
    )
    helper = f"template <const char* SHAPE> __device__ void load_d(float* p, uint32_t from) {{\n{helper}}}\n"
    struct = struct.replace(", other", ";\n  static constexpr char other")
    text = plant(
        ("__global__", f"{struct}{helper}__global__"), (LOADED, "    load_d<Shape::lanes>(r, at);\n"), text=BY_TMA
    )
    assert run_blocks(text) == OriginReport()
    assert run_blocks(plant(("load_d<Shape::lanes>", "load_d<Shape::other>"), text=text)) != OriginReport()


def test_a_shuffle_of_a_constant_is_the_constant() -> None:
    shuffle = '  int step;\n  asm("shfl.sync.idx.b32 %0, %1, 0, 31, -1;" : "=r"(step) : "r"(2));\n'
    text = plant(("  for (int c = 0; c < BN; c += 2", f"{shuffle}  for (int c = 0; c < BN; c += step"), text=BY_TMA)
    assert run_blocks(text) == OriginReport()


_LINE = [  # a grid of one row, with more blocks than D has tiles
    ("const int warp", "if (blockIdx.x >= M / 128 * (N / BN)) return;\n  const int warp"),
    ("blockIdx.y * 128, col = blockIdx.x * BN", "blockIdx.x % (M / 128) * 128, col = blockIdx.x / (M / 128) * BN"),
    ("dim3(N / BN, M / 128)", "1 << 14"),
]


def test_a_block_may_have_no_tile() -> None:
    line = plant(*_LINE, text=BY_TMA)
    assert run_blocks(line) == OriginReport()
    half = run_blocks(plant(("blockIdx.x >= M / 128 * (N / BN)", "blockIdx.x >= M / 128 * (N / BN) / 2"), text=line))
    assert ["computes nothing" in one.message for one in half.open] == [True]


@pytest.mark.thorough
def test_tiles_may_be_in_groups_that_divide_larger_matrices() -> None:
    of_group = plant(
        ("blockIdx.x % (M / 128)", "blockIdx.x % 16"), ("/ (M / 128)", "/ 16"), text=plant(*_LINE, text=BY_TMA)
    )
    assert run_blocks(of_group) == OriginReport()
    assert run_blocks(plant(("C[(row +", "C[(col +"), text=of_group)).mistakes


_LAUNCH = """  make_map(&tb, B, N, K, {0});
  gemm<{0}><<<dim3(N / {0}, M / 128), 128, (128 + {0}) * BK * 2>>>(ta, tb, C, M, N, K);
"""
_MULTIPLIED = "uint32_t d, uint64_t a, uint64_t b, int on)"
TEMPLATE = plant(
    ("BN = 32, ", ""),
    (_MULTIPLIED, _MULTIPLIED.replace(")", ", int BN)")),
    ("t > 0 || k > 0)", "t > 0 || k > 0, BN)"),
    ("__global__", "template <int BN> __global__"),
    text=BY_TMA.split("  make_map(&tb")[0],
)


@pytest.mark.thorough
def test_launches_of_a_template_may_have_maps_of_different_boxes() -> None:
    text = f"{TEMPLATE}{_LAUNCH.format(32)}{_LAUNCH.format(64)}}}"
    assert run_blocks(text).proved == {"gemm"}
    smaller = run_blocks(plant(("dim3(N / 64", "dim3(N / 128"), text=text))
    assert ["all of its tiles are computed" in one.message for one in smaller.open] == [True]


_RUN = "void* A, void* B, float* C, int M, int N, int K) {\n"
HOSTS = [
    "void* A, void* B, float* C, int M, int N) {\n  constexpr int K = 1536;\n",
    "at::Tensor A, at::Tensor B, float* C) {\n  const int M = A.size(0), N = B.size(0), K = A.size(1);\n",
    "at::Tensor A, at::Tensor B, float* C) {\n  const int M = A.sizes()[0], N = B.sizes()[0], K = 2304;\n",
    "TensorView A, TensorView B, float* C) {\n  const int M = A.shape()[0], N = B->shape[0], K = A.dim(-1);\n",
]


@for_each("host", HOSTS, sample=1)
def test_sizes_of_tensors_and_a_number_for_k_are_known(host: str) -> None:
    right = plant((_RUN, host), ("ta, A, M", "ta, A.data_ptr(), M"), ("tb, B, N", "tb, B.data_ptr(), N"), text=BY_TMA)
    assert run_blocks(right).proved == {"gemm"}
    assert run_blocks(plant(("threadIdx.x) * N", "threadIdx.x) * M"), text=right)).mistakes


def test_a_number_for_k_needs_a_grid_of_the_other_sizes() -> None:
    """M and N may be the numbers, and both names that of K."""
    host = HOSTS[2]
    text = plant((_RUN, host), ("dim3(N / BN, M / 128)", "132"), text=BY_TMA)
    assert run_blocks(text).open


def test_an_absolute_lbo_is_why_a_descriptor_is_not_verified() -> None:
    """Bit 52 of tcgen05's descriptors: PTX does not say which bytes are read then."""
    report = check_text(plant(("1ull << 46", "1ull << 46 | 1ull << 52"), text=BY_TMA))
    assert [one.gap for one in report.checked] == ["with an absolute address as LBO"] * 2
    assert ["bit 52 makes LBO an absolute address" in one.message for one in report.open].count(True) == 2


@for_each(
    ("strides", "doubts"),
    [("8ull << 32", 0), ("1ull << 16 | 8ull << 32", 0), ("1ull << 16 | 4ull << 32", 1), ("8ull << 16 | 4ull << 32", 1)],
)
def test_a_copy_of_16_bytes_a_row_reads_no_lbo(strides: str, doubts: int) -> None:
    code = evaluate_text(plant(("| 8ull << 32 | 1ull << 46;", f"| {strides} | 1ull << 46;"), text=PACKED))
    assert code is not None
    copied = [one for one in find_evaluation_builders(code) if one.copied]
    assert copied
    assert {len(one.doubts) for one in copied} == {doubts}


OPEN = [  # what stands there, what is planted, the reason
    ("c + i] = r[i]", "c + (i ^ 1)] = r[i]", "not stored as the rows and columns"),
    ("C[(row + thr", "C[(row + 1 + thr", "not stored as the rows and columns"),  # D may begin there
    ("describe(sA + k * 16), describe(sB + k * 16)", "describe(sB + k * 16), describe(sA + k * 16)", "is not known"),
    ("  __shared__ uint64_t full", "  if (blockIdx.x == 1) return;\n  __shared__ uint64_t full", "computes nothing"),
    ("8u << 24", "4u << 24", "not stored as the rows and columns"),  # half of the lanes hold none
    ("t > 0 || k > 0", "k > 0", "the order of its copies and products"),
    ("t > 0 || k > 0", "1", "that no other has set"),
]


@for_each(("old", "new", "reason"), OPEN, sample=2)
def test_what_is_not_shown_to_be_the_product_is_open(old: str, new: str, reason: str) -> None:
    report = run_blocks(plant((old, new), text=BY_TMA))
    assert not report.mistakes
    assert [reason in one.message for one in report.open] == [True]
