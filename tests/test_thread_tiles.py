"""Tiles that threads fill and mma reads: right kernels are verified, planted mistakes are found at their line."""

from __future__ import annotations

import numpy as np
import pytest

from lanescope.ptx import catalog
from lanescope.reader.threads.instructions.matrix_loads import gather_register
from lanescope.reader.threads.language.types import find_builtin
from lanescope.reader.threads.memory.storage import DataBytes
from lanescope.workbench.fragments.thread_gaps import UNREAD_PARTS
from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from tests.cases import for_each
from tests.checked import check_text
from tests.thread_tile_kernels import HELPERS, NARROW, PADDED, PLAIN, SWIZZLED, VECTORS
from tests.transfer_kernels import plant

PACKED = VECTORS.replace("b[i] = (high << 16) | low;", "low |= high << 16;\n        b[i] = low;")


@for_each(
    ("text", "fragments"),
    [
        (PADDED, 2),
        (SWIZZLED, 2),
        (PLAIN, 2),
        (VECTORS, 2),
    ],
    sample=2,
)
def test_every_fragment_of_a_right_kernel_is_verified(text: str, fragments: int) -> None:
    made = check_text(text)
    assert (made.steps, made.findings) == (fragments, ())


MISTAKES = [
    # an opcode
    (PADDED, "ldm_x2(b, smem", "ldm_x2_trans(b, smem", "trans_extra", "ldm_x2_trans(b"),
    (SWIZZLED, "ldm_x2_trans(b, smem", "ldm_x2(b, smem", "trans_missing", "ldm_x2(b"),
    # a pitch
    (PADDED, "lane % 16) * PITCH", "lane % 16) * BK", "fragment_mismatch", "lane % 16) * BK"),
    (PADDED, "&As[r * PITCH + c]", "&As[r * (BK - 8) + c]", "stores_overlap", "&As[r * (BK - 8)"),
    # rows and columns of the lanes
    (PADDED, "lane % 16) * PITCH", "lane % 8) * PITCH", "rows_repeated", "lane % 8) * PITCH + kk + lane / 16"),
    (PADDED, "kk + lane / 8 % 2 * 8", "kk", "k_repeated", "lane % 8) * PITCH + kk]"),
    (
        PADDED,
        "(warp * 16 + lane % 16) * PITCH + kk + lane / 16 * 8",
        "(warp * 16 + lane % 8 + lane / 16 * 8) * PITCH + kk + lane / 8 % 2 * 8",
        "matrices_exchanged",
        "lane % 8 + lane / 16 * 8",
    ),
    # an XOR
    # the filling
    (PADDED, "i < BM * BK / 8; i += 128", "i < BM * BK / 16; i += 128", "tile_not_filled", "lane % 16) * PITCH"),
    # plain loads
    # the value of a variable
    # a register
    (VECTORS, '"r"(a[2])', '"r"(a[1])', "register_repeated", '"r"(a[1]), "r"(a[1])'),
]


@for_each(("text", "old", "new", "code", "line"), MISTAKES, sample=4)
def test_a_planted_mistake_is_found_at_its_line(text: str, old: str, new: str, code: str, line: str) -> None:
    assert old in text
    wrong = text.replace(old, new, 1)
    lines = wrong.split("\n")
    found = [
        (one.code, " ".join(lines[wrong.count("\n", 0, one.span[0]) : wrong.count("\n", 0, one.span[1]) + 1]))
        for one in check_thread_tiles(wrong, {}).findings
    ]
    assert any(one == code and line in at for one, at in found), found


@for_each(
    ("text", "old", "new"),
    [
        (PADDED, "PITCH = BK + 8", "PITCH = BK + pad()"),  # a pitch that the file does not say
        (PADDED, "__launch_bounds__(128)", ""),  # no launch: the size of the block is not known
        (PADDED, "__syncthreads();\n    for", "prefetch_more(As); __syncthreads();\n    for"),  # what may store, too
        (SWIZZLED, "swz<BK>(row, chunk)", "table[row] + chunk * 8"),
    ],
    sample=2,
)
def test_what_is_not_known_is_no_finding(text: str, old: str, new: str) -> None:
    wrong = text.replace(old, new, 1)
    assert wrong != text
    assert check_thread_tiles(wrong, {}).findings == []


def test_a_macro_may_give_the_number_of_threads() -> None:
    macro = "#define WARPS 4  // of a block\n#define THREADS (WARPS * 32)\n"
    bounded = PADDED.replace("__launch_bounds__(128)", "__launch_bounds__(THREADS, 1)")
    assert check_thread_tiles(macro + bounded, {}).verified == check_thread_tiles(PADDED, {}).verified == 2
    twice = f"{macro}#undef THREADS\n#define THREADS 64\n{bounded}"
    assert check_thread_tiles(twice, {}).verified == 0


def test_a_macro_may_make_the_kernel() -> None:
    """Its head, with the number of threads, is that of the macro."""
    body = PADDED.replace("__global__ void __launch_bounds__(128) gemm(", "__device__ void multiply(")
    made = """
#define GEMM(THREADS) \\
  __global__ void __launch_bounds__(THREADS) gemm##THREADS(const half* A, const half* B, float* C, int K) { \\
    multiply(A, B, C, 64, 64, K); }
GEMM(128)
"""
    assert check_thread_tiles(body + made, {}).verified == 2


def test_both_operands_may_be_stored_in_another_order_along_k() -> None:
    """What matters is that A and B count K alike: here k and k + 8 of each pair of 8 are exchanged in both."""
    text = PADDED.replace("kk + lane / 16 * 8", "kk + (1 - lane / 16) * 8").replace(
        "kk + lane / 8 % 2 * 8", "kk + (1 - lane / 8 % 2) * 8"
    )
    report = check_thread_tiles(text, {})
    assert (report.findings, report.verified) == ([], 2)


def test_a_number_in_an_asm_statement_is_as_ptx_reads_it() -> None:
    """010 is 8 in PTX."""
    octal, decimal = (check_thread_tiles(PADDED.replace("[%4]", f"[%4 + {way}]"), {}) for way in ("010", "0x8"))
    assert octal == decimal


def test_types_have_the_sizes_and_alignments_of_cuda() -> None:
    """float3 and dim3 are aligned as their members are (CUDA C++ Programming Guide, "Built-in Vector Types")."""
    for name, size, vector, align in (
        ("dim3", 12, 4, 4),
        ("float3", 12, 4, 4),
        ("float4", 16, 4, 16),
        ("half2", 4, 2, 4),
    ):
        kind = find_builtin(name)
        assert kind is not None
        assert (kind.size, kind.vector, kind.alignment) == (size, vector, align)


def test_ldmatrix_gives_registers_as_the_catalogue_says() -> None:
    """An oracle of its own: the fragment of the row in the tables against the one that the reader gathers."""
    for turned in (False, True):
        text = f"ldmatrix.sync.aligned.m8n8.x4{'.trans' * turned}.shared.b16"
        operand = catalog.find(text).operand("data")
        lanes, bytes_ = np.meshgrid(np.arange(32), np.arange(16), indexing="ij")
        rows = DataBytes(lanes * 0 + 2, lanes, bytes_)
        for matrix in range(4):
            got = gather_register(rows, matrix, turned)
            for lane in range(32):
                for half in range(2):
                    at = 2 * matrix + half
                    row, col = int(operand.coords["row"][lane, at]), int(operand.coords["col"][lane, at])
                    assert int(operand.coords["matrix"][lane, at]) == matrix
                    assert int(got.thread[lane, 2 * half]) == 8 * matrix + row
                    assert int(got.byte[lane, 2 * half]) == 2 * col


@for_each(
    ("guard", "verified"),
    [
        ("setp.ne.u32 p, 1, 0; @p", True),
        ("shr.s32 n, -16, 4; setp.eq.s32 p, n, -1; @p", True),
        ("@!p", True),
    ],
    sample="verified",
)
def test_a_copy_under_a_predicate_is_one_of_an_inner_tile(guard: str, verified: bool) -> None:
    """An open predicate is a bound that the inner tiles meet."""
    copy = "cp.async.cg.shared.global [%0], [%1], 16;"
    registers = ".reg .pred p; .reg .b32 n; .reg .b64 w;"
    report = check_thread_tiles(SWIZZLED.replace(copy, f"{{ {registers} {guard} {copy} }}"), {})
    assert copy in SWIZZLED and (report.verified > 0) == verified
    assert {finding.code for finding in report.findings} <= (set() if verified else {"tile_not_filled"})


@pytest.mark.thorough
@for_each(("stored", "verified"), [("z", True), ("%0", False)])
def test_a_store_under_the_opposite_predicate_may_only_fill_with_zeros(stored: str, verified: bool) -> None:
    copy = "cp.async.cg.shared.global [%0], [%1], 16;"
    registers = ", ".join([stored] * 4)
    filled = f"{{ .reg .pred p; .reg .u32 z; mov.u32 z, 0; @p {copy} @!p st.shared.v4.u32 [%0], {{{registers}}}; }}"
    report = check_thread_tiles(SWIZZLED.replace(copy, filled), {})
    assert (report.findings, report.verified > 0) == ([], verified)


def test_rows_that_are_not_aligned_to_16_bytes_are_wrong() -> None:
    """ldmatrix traps on them: 36 elements of 16 bits are 72 bytes. PTX ISA 9.1, 9.7.14.5.15."""
    assert "PITCH = BK + 8" in PADDED
    report = check_thread_tiles(PADDED.replace("PITCH = BK + 8", "PITCH = BK + 4"), {})
    assert {finding.code for finding in report.findings} == {"rows_misaligned"} and report.verified == 0


def test_rows_that_overlap_are_not_called_exchanged_matrices() -> None:
    """Lanes 0 to 15 read from the same row: with .trans, element m + k is row m at k, which looks like a right tile."""
    text = plant(
        ("kk + lane / 16 * 8", "kk + lane % 16"),
        ("(warp * 16 + lane % 16) * PITCH", "(warp * 16 + lane / 16 * 8) * PITCH"),
        text=PADDED,
    )
    assert "m8n8.x4.shared" in text
    for changed in (text, text.replace("m8n8.x4.shared", "m8n8.x4.trans.shared", 1)):
        assert {one.code for one in check_thread_tiles(changed, {}).findings} == {"rows_misaligned"}


def test_exchanged_registers_of_mma_are_not_called_a_missing_trans() -> None:
    """Matrices 1 and 2 exchanged look as every matrix transposed; the order in which mma takes them tells."""
    taken = '"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])'
    assert taken in PADDED
    (finding,) = check_thread_tiles(PADDED.replace(taken, '"r"(a[0]), "r"(a[2]), "r"(a[1]), "r"(a[3])'), {}).findings
    assert finding.code == "registers_exchanged"


def test_the_loop_over_k_tells_that_trans_is_missing() -> None:
    right = check_thread_tiles(NARROW, {})
    assert (right.findings, right.verified) == ([], 2)
    wrong = NARROW.replace("x1.trans.shared", "x1.shared")
    (finding,) = check_thread_tiles(wrong, {}).findings
    assert (finding.code, wrong[slice(*finding.span)][:12]) == ("trans_missing", "ldmatrix.syn")
    packed = wrong.replace("B[(k0 + i / 8) * N + blockIdx.x * 8 + i % 8]", "B[blockIdx.x * K * 8 + k0 * 8 + i]")
    assert not check_thread_tiles(packed, {}).findings  # 8×8 blocks in global memory, transposed or not


def test_a_comma_left_out_between_the_operands_of_asm_is_read_as_nvcc_does() -> None:
    assert check_thread_tiles(NARROW.replace('"r"(a[0]), "r"(a[1])', '"r"(a[0])  "r"(a[1])'), {}).verified == 2


def test_an_instance_that_is_only_named_needs_no_block() -> None:
    named = SWIZZLED.replace("  dim3 grid", "  cudaFuncSetAttribute(gemm<64, 64, 64, 2>, kSize, 65536);\n  dim3 grid")
    assert [kernel.gap for kernel in check_thread_tiles(named, {}).kernels] == [""]


def test_registers_that_nothing_sets_are_named_at_the_load_that_fills_too_few() -> None:
    helper = """
__device__ void ldm_few(uint32_t (&r)[4], uint32_t addr) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(addr));
}
"""
    text = HELPERS + helper + PADDED.removeprefix(HELPERS).replace("ldm_x4(a,", "ldm_few(a,")
    findings = check_thread_tiles(text, {}).findings
    assert [(f.code, text[slice(*f.span)][:9]) for f in findings] == [("register_unset", "ldm_few(a")]


def test_a_slice_that_one_operand_takes_twice() -> None:
    """A loop over K that is unrolled by hand: B at K = 0, 16, 16, 48."""
    loop = "for (int kk = 0; kk < BK; kk += 16) {"
    text = PADDED.replace("BK = 32", "BK = 64").replace(loop, "auto step = [&](int kk, int kb) {")
    text = text.replace("kk + lane / 8", "kb + lane / 8").replace("    }\n    __syncthreads();\n  }", "    };\n@  }")
    steps = "    step(0, 0);\n    step(16, 16);\n    step(32, 32);\n    step(48, 48);\n    __syncthreads();\n"
    assert check_thread_tiles(text.replace("@", steps), {}).findings == []
    wrong = text.replace("@", steps.replace("step(32, 32)", "step(32, 16)"))
    (finding,) = check_thread_tiles(wrong, {}).findings
    assert finding.code == "k_slice_repeated" and wrong[slice(*finding.span)] == "step(32, 16)"


@pytest.mark.thorough
def test_template_arguments_and_threads_of_launches_in_macros() -> None:
    """The host's evaluation reaches the launch: through a macro, a template and a variable."""
    launcher = """
#define LAUNCH(st) { dim3 block(WARPS * 32); gemm<TILE, TILE, 64, st><<<dim3(1), block, 65536>>>(A, B, C, M, N, K); }
template <int WARPS> void start(const half* A, const half* B, float* C, int M, int N, int K) {
  constexpr int TILE = WARPS * 16;
  LAUNCH(2);
}
void launch(const half* A, const half* B, float* C, int M, int N, int K) { start<4>(A, B, C, M, N, K); }
"""
    text = SWIZZLED.partition("void launch")[0] + launcher
    report = check_text(text)
    assert [kernel.gap for kernel in report.kernels] == [""] and report.steps == 2
    assert {f.code for f in report.findings} == {"shared_memory_over"}  # nothing raises the limit


def test_a_kernel_with_too_few_warps_is_not_verified() -> None:
    """Two warps fill the tile of four, and multiply half of its rows."""
    few = plant(("__launch_bounds__(128)", "__launch_bounds__(64)"), text=PADDED).replace("i += 128", "i += 64")
    gaps = {kernel.gap for source in (PADDED, few) for kernel in check_thread_tiles(source, {}).kernels}
    assert gaps == {"", UNREAD_PARTS}
    assert not check_thread_tiles(few, {}).findings
