"""Numbers that a host gives M, N and K are replaced by different ones: equal ones hide exchanged sizes."""

from __future__ import annotations

import re

import pytest

from lanescope.reader.code.evaluation import evaluate_text
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.products.known_sizes import DEPTH, WIDTHS, is_depth
from lanescope.workbench.products.replaced_sizes import SizedText, limits_depth, replace_sizes
from tests.cases import for_each
from tests.checked import run_blocks
from tests.test_check_origins import GRID, KERNEL, PLACE
from tests.transfer_kernels import plant

PARAMETERS = "bf16* A, bf16* B, bf16* C, int M, int N, int K"
CALL = "\nint main(int argc, char** argv) {{\n  bf16 *A, *B, *C;\n  {}\n  run(A, B, C, {});\n}}\n"
SQUARE = CALL.format("const int M = 8192, N = 8192, K = 8192;", "M, N, K")
STYLES = {
    "constants": SQUARE,
    "arguments": CALL.format("int M = atoi(argv[1]), N = atoi(argv[2]), K = atoi(argv[3]);", "M, N, K"),
    "defaults": CALL.format(
        "int M = 512, N = 512, K = 512;\n  if (argc > 3) { M = atoi(argv[1]); N = atoi(argv[2]); K = atoi(argv[3]); }",
        "M, N, K",
    ),
    "other names": CALL.format("const int rows = 4 * 1024, cols = 2048, inner{1024};", "rows, cols, inner"),
    "members": CALL.format("struct { int M, N, K; } p;\n  p.M = 4096; p.N = 4096; p.K = 1 << 13;", "p.M, p.N, p.K"),
    "macros": "\n#define DIM_M 4096\n#define DIM_N 4096  // columns\n#define DIM_K 4096"
    + CALL.format("", "DIM_M, DIM_N, DIM_K"),
}


def replace(text: str, depth: int = DEPTH) -> SizedText | None:
    code = evaluate_text(text)
    assert code is not None
    return replace_sizes(KernelText(code), code.launches, evaluate_text, depth)


@for_each("main", STYLES.values(), ids=STYLES, sample=3)
def test_maps_and_launches_follow_other_numbers(main: str) -> None:
    found = replace(KERNEL + main)
    assert found is not None and found.given is not None
    k, (m, n) = DEPTH, WIDTHS[DEPTH]
    assert [one.dims for one in found.source.maps[:2]] == [(k, m), (k, n)]
    assert found.given.arguments["gemm"] == {"M": m, "N": n, "K": k}
    assert found.certain is (main not in [STYLES[of] for of in ("constants", "members", "macros")])


def test_a_number_of_the_run_may_be_one_that_is_replaced() -> None:
    k, (m, n) = DEPTH, WIDTHS[DEPTH]
    numbers = f"const int M = {n}, N = {k}, K = {m};"
    main = CALL.format(numbers, "M, N, K")
    found = replace(KERNEL + main)
    assert found is not None and [one.dims for one in found.source.maps[:2]] == [(k, m), (k, n)]
    assert replace(KERNEL + main.replace("M, N, K)", f"M, N, K, {k})")) is None, "it may be K"


def test_a_place_is_restored() -> None:
    text = KERNEL + STYLES["other names"]
    found = replace(text)
    assert found is not None
    made, last = found.source.code.text, "run(A, B, C, rows"
    at = found.restore_span((made.index(last), made.index(last) + len(last)))
    assert text[slice(*at)] == last and made.index(last) != text.index(last)
    assert found.restore_span((3, 9)) == (3, 9)


@for_each(
    ("old", "new"),
    [
        (GRID, "dim3(64, 64)"),  # does not follow
        ("int M = 8192, N = 8192, K = 8192", "int M = 8192, N = M, K = M"),
        ("int M = 8192", "int half = 768, M = 8192"),  # a number of the run
    ],
)
def test_sizes_that_do_not_follow_stay(old: str, new: str) -> None:
    text = plant((old, new), text=KERNEL.replace("M / BM * (N / BN)", GRID) + SQUARE)
    assert replace(text) is None


@pytest.mark.thorough
def test_equal_numbers_leave_nothing_open() -> None:
    assert not run_blocks(KERNEL + SQUARE).open and not run_blocks(KERNEL + SQUARE).mistakes
    exchanged = plant((PLACE, PLACE.replace("N", "M")), text=KERNEL + SQUARE)  # M = N here
    assert not run_blocks(exchanged).mistakes and run_blocks(exchanged).open


LAUNCH = "gemm<<<M / BM * (N / BN), 128, bytes>>>(map_a, map_b, C, M, N, K);"
CONFIGURED = """cudaLaunchConfig_t config = {};
  config.gridDim.x = M / BM * (N / BN);
  config.blockDim = 128;
  config.dynamicSmemBytes = bytes;
  cudaLaunchKernelEx(&config, gemm, map_a, map_b, C, M, N, K);"""
HEAD = "bf16* C, int M, int N, int K) {\n  extern"
NAMES = "{{\n  const int M = {0}.{1}, N = {0}.{2}, K = {0}.{3};\n  extern"
LAUNCHES = {
    "a configuration": (LAUNCH, CONFIGURED),
    "a vector": (HEAD, "bf16* C, int3 sizes) " + NAMES.format("sizes", *"xyz")),
    "a struct in a struct": (HEAD, "Arguments p) {\n  bf16* C = p.C;\n" + NAMES.format("p.shape", *"mnk")[2:]),
}
PASSED = {"a vector": "make_int3(M, N, K)", "a struct in a struct": "Arguments{C, {M, N, K}}"}


@for_each("style", LAUNCHES, sample=1)
def test_sizes_are_followed_through_a_launch(style: str) -> None:
    text = "struct Shape { int m, n, k; };\nstruct Arguments { __nv_bfloat16* C; Shape shape; };\n" + KERNEL + SQUARE
    text = plant(LAUNCHES[style], text=text)
    if style in PASSED:
        text = plant(
            (LAUNCH, LAUNCH.replace("C, M, N, K" if "struct" in style else "M, N, K", PASSED[style])), text=text
        )
    assert not run_blocks(text).open
    short = plant(("t < K / BK;", "t < K / BK - 1;"), text=text)
    assert [one.code for one in run_blocks(short).mistakes] == ["k_slices_left"]


def describe(kernel: str, sizes: str, *changes: tuple[str, str]) -> set[str]:
    """Return the codes of what is found in a kernel that a program runs with these sizes."""
    text = plant(*changes, text=kernel + CALL.format(f"const int {sizes};", "M, N, K"))
    return {one.code for one in run_blocks(text).mistakes}


@pytest.mark.thorough
def test_d_may_be_added_to_the_first_columns_of_a_wider_matrix() -> None:
    stored, added = PLACE.replace("N", "K") + " =", PLACE.replace("N", "K") + " +="
    assert not describe(KERNEL, "M = 1024, N = 2048, K = 4096", (f"{PLACE} =", added))
    assert describe(KERNEL, "M = 1024, N = 4096, K = 2048", (f"{PLACE} =", added)) == {"result_misplaced"}  # overlap
    assert describe(KERNEL, "M = 1024, N = 2048, K = 4096", (f"{PLACE} =", stored)) == {"result_misplaced"}


@pytest.mark.thorough
def test_a_part_of_k_may_be_meant() -> None:
    """The first 1,024 of 4,096, by a number of its own; all but the last slice of a matrix with columns that pad it."""
    part = KERNEL.replace("int K)", "int K, int part)").replace("M, N, K);", "M, N, K, part);")
    sizes = CALL.format("const int M = 1024, N = 2048, K = 4096, part = 1024;", "M, N, K, part")
    short = "t < K / BK;", "t < K / BK - 1;"
    assert not run_blocks(plant(("t < K / BK;", "t < part / BK;"), text=part + sizes)).mistakes
    assert [one.code for one in run_blocks(plant(short, text=part + sizes)).mistakes] == ["k_slices_left"]
    padded = re.sub(r"\bK\b", "padded_k", plant(short, text=KERNEL))
    assert not run_blocks(padded + CALL.format("const int M = 1024, N = 2048, Kp = 4160;", "M, N, Kp")).mistakes


@pytest.mark.thorough
def test_different_numbers_of_the_text_show_another_pitch() -> None:
    text = KERNEL + CALL.format("", "4096, 2048, 1024")
    assert not run_blocks(text).open
    (found,) = run_blocks(plant((PLACE, PLACE.replace("N", "M")), text=text)).mistakes  # M is larger than N
    assert (found.code, text[slice(*found.span)]) == ("pitch_of_other_size", "N")


@for_each(
    ("condition", "limits"),
    [
        ("if (M % BM || K > STAGES * BK) { std::puts(usage); exit(1); }", True),
        ("if (K > longest) throw std::runtime_error(usage);", True),
        ("assert(K <= STAGES * BK);", True),
        ("TORCH_CHECK(M % 64 == 0 && K <= 512, usage);", True),
        ("if (K > 4096) return;", False),
        ("assert(K % 64 == 0 && K <= 65536);", False),
        ("if (M > 512) return;", False),
        ("for (int k = 0; k < K; ++k) { if (k > 0) wait(); } return;", False),
        ("while (K >= 64) { K -= 64; }", False),
    ],
)
def test_a_program_may_refuse_the_k_of_a_run(condition: str, limits: bool) -> None:
    text = f"constexpr int BM = 128, BK = 64, STAGES = 4;\nvoid run(int M, int K) {{ {condition} }}\n"
    assert limits_depth(text, DEPTH) is limits


@pytest.mark.thorough
def test_d_is_open_if_the_k_of_the_run_is_refused() -> None:
    """What is wrong with a longer K may be right with those that the program takes."""
    short = plant(("t < K / BK;", "t < K / BK - 1;"), text=KERNEL)
    assert run_blocks(short).mistakes
    report = run_blocks(short.replace("void run(", "void check(int K) { if (K > 512) exit(1); }\nvoid run(", 1))
    assert not report.mistakes and "K may have to be less than" in report.open[0].message


@for_each(("name", "deep"), [("kK", True), ("size_k", True), ("depth", True), ("kM", False), ("kN", False)])
def test_names_of_k(name: str, deep: bool) -> None:
    assert is_depth(name) is deep
