"""Launches whose blocks leave tiles of D out, although each block computes its own tile right."""

from __future__ import annotations

import pytest

from lanescope.workbench.check import check_text
from lanescope.workbench.products.missing_tiles import limits_sizes
from tests.cases import for_each
from tests.checked import check_whole, run_blocks
from tests.known_kernels import KERNEL as THREADS, LAUNCH as OF_THREADS
from tests.test_check_origins import KERNEL
from tests.test_cute_kernels import RING
from tests.transfer_kernels import plant

INDEX = "int tiles = N / BN, m = blockIdx.x / tiles, n = blockIdx.x % tiles, row = m * BM, col = n * BN;"
LINES = """int tiles = N / BN;
  int m = blockIdx.x / tiles;
  int n = blockIdx.x % tiles;
  int row = m * BM;
  int col = n * BN;"""
RIGHT = plant((INDEX, LINES), text=KERNEL)
PLANE = plant(
    (INDEX, "int row = blockIdx.y * BM;\n  int col = blockIdx.x * BN;"),
    ("M / BM * (N / BN)", "dim3(N / BN, M / BM)"),
    text=KERNEL,
)
# groups of 16 tiles of rows: in a last group of 8 of 24, as for M = 1,536, half of the blocks are beyond the rows
GROUPED = plant(
    (
        INDEX,
        "int tiles = N / BN, of_group = 16 * tiles, in_group = blockIdx.x % of_group;\n"
        "  int row = (blockIdx.x / of_group * 16 + in_group % 16) * BM, col = in_group / 16 * BN;",
    ),
    text=KERNEL,
)


def find_place(text: str, search: bool = False) -> tuple[str, str, str]:
    """Return (code, line, edit) of the only finding of a text."""
    (finding,) = check_text(text, search=search).findings
    first, past = text.rfind("\n", 0, finding.span[0]) + 1, text.find("\n", finding.span[0])
    return finding.code, text[first:past].strip(), "".join(edit.text for edit in finding.edits)


@for_each("text", [RIGHT, PLANE, GROUPED], ids=["line", "plane", "groups"], sample=1)
def test_a_launch_that_computes_all_tiles_has_no_finding(text: str) -> None:
    report = check_text(text)
    assert (report.findings, report.open) == ((), ())


@for_each(
    ("right", "wrong", "line"),
    [
        ("m = blockIdx.x / tiles", "m = blockIdx.x / BN", "int row = m * BM;"),  # two blocks compute one tile
        ("n = blockIdx.x % tiles", "n = blockIdx.x % (tiles - 1)", "int col = n * BN;"),
        ("row = m * BM", "row = m * BN", "int row = m * BN;"),  # beyond the rows
        ("col = n * BN", "col = n * BM", "int col = n * BM;"),  # tiles overlap
        ("tiles = N / BN", "tiles = N / BM", "int col = n * BN;"),
        ("tiles = N / BN", "tiles = M / BM", "int row = m * BM;"),
        (
            "<<<M / BM * (N / BN)",
            "<<<M / BN * (N / BN)",
            "gemm<<<M / BN * (N / BN), 128, bytes>>>(map_a, map_b, C, M, N, K);",
        ),
    ],
    sample=1,
)
def test_a_tile_that_no_block_computes_is_found(right: str, wrong: str, line: str) -> None:
    code, found, _ = find_place(plant((right, wrong), text=RIGHT))
    assert code == "tiles_left" and found.startswith(line)


@pytest.mark.thorough
def test_the_message_says_which_block_is_beyond_which_size() -> None:
    (finding,) = check_text(plant(("row = m * BM", "row = m * BN"), text=RIGHT)).findings
    assert finding.message == (
        "With 2,048 × 6,144 elements of D, block (1535, 0, 0) computes rows 3,968 to 4,031, which D does not have. The"
        " launch has 1,536 blocks then, as many as D has tiles, so that some tile is left out."
    )


@pytest.mark.thorough
def test_exchanged_dimensions_of_a_grid_are_named() -> None:
    """As the run sees them; where a copy names blockIdx itself, its coordinate is compared with the grid before."""
    (mistake,) = run_blocks(plant(("dim3(N / BN, M / BM)", "dim3(M / BM, N / BN)"), text=PLANE)).mistakes
    needed = "48 × 32 blocks of 64 × 128 are needed, and this launch has 32 × 48: its dimensions are exchanged"
    assert needed in mistake.message


@pytest.mark.thorough
def test_a_grid_may_be_larger_than_d() -> None:
    """TMA fills rows beyond the matrix with zeros, and stores may be bounded: only a note."""
    report = check_text(plant(("M / BM * (N / BN)", "M / BM * (N / BM)"), text=RIGHT))
    assert report.findings == () and len(report.open) == 1


TRIANGLE = """int m = 0, left = blockIdx.x;
  while (left >= 2 * (m + 1)) { left -= 2 * (m + 1); ++m; }
  int n = left / 2, row = (2 * m + left % 2) * BM, col = n * BN;"""
LAUNCH = "  gemm<<<M / BM"
SQUARE = ("tiles = N / BN", "tiles = M / BM")


@pytest.mark.thorough
@for_each(
    "changes",
    [
        [("<<<M / BM * (N / BN)", "<<<24")],
        [("<<<M / BM * (N / BN)", "<<<N / BN"), ("int m = blockIdx.x / tiles;", "int m = 0;")],  # for few rows
        [("m = blockIdx.x / tiles", "m = 0"), ("n = blockIdx.x % tiles", "n = blockIdx.x")],
        [(LINES, TRIANGLE), ("M / BM * (N / BN)", "M / BN * (M / BN + 1)")],
        [SQUARE, (LAUNCH, f"  assert(M == N);\n{LAUNCH}")],
        [SQUARE, (LAUNCH, f"  if (M != N) return;\n{LAUNCH}")],
        [("M / BM * (N / BN)", "M / BM / 2 * (N / BN)"), (LAUNCH, f"  other<<<M / BM, 128>>>(C, M, N, K);\n{LAUNCH}")],
        [("BN = 128", "BN = 160"), ("n128k16", "n160k16")],
    ],
    ids=["number", "row", "row of all blocks", "triangle", "assert", "return", "another kernel", "160 columns"],
)
def test_a_part_of_d_or_other_sizes_may_be_meant(changes: list[tuple[str, str]]) -> None:
    assert "tiles_left" not in {one.code for one in check_text(plant(*changes, text=RIGHT)).findings}


@pytest.mark.thorough
def test_a_note_says_what_leaves_tiles_out() -> None:
    """If sizes are compared, others than those of the run may be meant."""
    text = plant(("col = n * BN", "col = n * BM"), (LAUNCH, f"  if (M != N) return;\n{LAUNCH}"), text=RIGHT)
    (open_,) = check_text(text).open
    assert "blocks (0, 0, 0) and (1, 0, 0) both compute row 0, column 64." in open_.message


@pytest.mark.thorough
def test_the_search_moves_the_finding_to_the_number_of_tiles() -> None:
    text = plant(("tiles = N / BN", "tiles = N / BM"), text=RIGHT)
    assert find_place(text, search=True) == ("tiles_left", "int tiles = N / BM;", "BN")


def test_the_grid_of_the_launch_covers_d() -> None:
    assert not check_whole(THREADS + OF_THREADS).open
    for grid, codes in (("N / 16, M / 32", []), ("M / 32, N / 8", ["tiles_left"]), ("N / 8, N / 32", ["tiles_left"])):
        report = check_whole(THREADS + OF_THREADS.replace("N / 8, M / 32", grid))  # fewer may be meant
        assert [one.code for one in report.findings] == codes and (codes or report.open)


@for_each(
    ("sizes",),
    [
        ("int M = argc > 1 ? atoi(argv[1]) : 512, N = argc > 2 ? atoi(argv[2]) : 768, K = argc > 3 ? 64 : 256;",),
        ("int M = 4096, N = 4096, K = 64;\n  if (argc > 2) { M = std::stoi(argv[1]); N = std::stoi(argv[2]); }",),
        ("int M = atoi(argv[1]), N = atoi(argv[2]), K = atoi(argv[3]);",),
    ],
)
def test_a_grid_by_sizes_of_the_command_line_covers_d(sizes: str) -> None:
    host = f"""int main(int argc, char** argv) {{
  {sizes}
  int8_t *A, *B;
  float *C, *sa, *sb;
  gemm<<<dim3(N / 8, M / 32), 64>>>(A, B, C, sa, sb, M, N, K);
}}
"""
    assert not check_whole(THREADS + host).findings
    for wrong in ("M / 32, N / 8", "N / 16, M / 32"):
        (finding,) = check_whole(THREADS + host.replace("N / 8, M / 32", wrong)).findings
        assert finding.code == "tiles_left"
    half = host.replace("N / 8, M / 32", "N / 16, M / 32")  # another library computes the rest
    assert not check_whole(THREADS + half.replace("\n}", "\n  gemmEx(A, B, C + N / 2, M, N / 2, K);\n}")).findings


def test_blocks_leave_nothing_between_their_tiles() -> None:
    """Without a launch, too: the tile of a block has 32 rows, and those of the next one are 64 further."""
    assert not check_whole(THREADS).open
    [point] = check_whole(THREADS.replace("blockIdx.y * 32", "blockIdx.y * 64")).open
    assert "all of its tiles" in point.message


@for_each(
    ("code", "limits"),
    [
        ("for (int i = 0; i < M * N; ++i) c[i] = 0;", False),
        ("for (int i = 0; i < M; ++i) c[i] = rand();", False),
        ("for (int i = 0; i < M; i += 64) part(c + i);", True),
        ("for (int i = 0; i < M; i += 64) gemm<<<1, 32>>>(c + i);", True),
        ("for (int r = M / 2; r < M; ++r) cublasGemv(h, N, c + r * N);", True),
        ("\n#define SAME() if (M != N) exit(1)\n SAME();", True),
        ("if (M > 64) return; for (int i = 0; i < M; ++i) c[i] = 0;", True),
        ("if (argc > 1) M = atoi(argv[1]);", False),
        ("if (M > N) other(c);", True),
        ("gemm<\n    half,\n    128>(M, N);", False),
        ("int M = argc > 3 ? atoi(argv[1]) : 4096, N = argc > 3 ? atoi(argv[2]) : 4096;", False),
        ("CUDA_CHECK(cudaLaunchKernelEx(&config, gemm, A, B, C, M, N, K));", False),
        ("if (M % 128 || N % 64 != 0) return 1;", False),
        ("if (M > 4096) return 1;", True),
        ("TORCH_CHECK(is_small(M));", True),
        ("int tiles = M < 64 ? 1 : M / 64;", True),
    ],
)
def test_only_comparisons_limit_a_size(code: str, limits: bool) -> None:
    part = "void part(float* c) { gemm<<<1, 32>>>(c); }"
    assert limits_sizes(f"{part} void run(float* c, int M, int N) {{ {code} }}", {"M", "N"}) is limits


@pytest.mark.thorough
def test_an_open_stride_of_a_cute_tensor_is_the_length_of_a_line() -> None:
    """Else another stride, of which D has more rows, hides that the dimensions of the grid are exchanged."""
    strides = (
        ("int K) {\n  using T", "int K, int ldc) {\n  using T"),
        ("make_stride(N, _1{})", "make_stride(ldc, _1{})"),
    )
    passed = (
        ("int N, int K) {\n  using Config", "int N, int K, int ldc) {\n  using Config"),
        ("M, N, K);", "M, N, K, ldc);"),
    )
    right = plant(*strides, *passed, text=RING)
    assert (check_text(right).findings, check_text(right).open) == ((), ())
    (finding,) = check_text(plant(("dim3(N / 64, M / 64)", "dim3(M / 64, N / 64)"), text=right)).findings
    assert finding.code == "tiles_left"


def test_a_grid_of_a_launch_s_options_is_no_count_of_the_kernel() -> None:
    """The second block along y computes rows of the first one."""
    launch = "gemm<<<dim3(N / BN, M / BM), 128, bytes>>>(map_a, map_b, C, M, N, K);"
    options = (
        "cudaLaunchConfig_t options = {};\n  options.gridDim = dim3(N / BN, M / BM);\n"
        "  options.blockDim = dim3(128);\n  options.dynamicSmemBytes = bytes;\n"
        "  CUDA_CHECK(cudaLaunchKernelEx(&options, gemm, map_a, map_b, C, M, N, K));"
    )
    text = plant((launch, options), text=PLANE)
    report = check_text(text)
    assert (report.findings, report.open) == ((), ())
    wrong = plant(("row = blockIdx.y * BM", "row = blockIdx.y * (BM / 2)"), text=text)
    assert find_place(wrong)[:2] == ("tiles_left", "int row = blockIdx.y * (BM / 2);")
