"""Kernels with ldmatrix, cp.async and mma: right ones of four styles are verified, mistakes are found at their line."""

from __future__ import annotations

import re

import pytest

from tests.ampere_kernels import BYTES, KERNELS, MACROS, TEMPLATES
from tests.cases import for_each
from tests.checked import check_text
from tests.sample import take_rows
from tests.transfer_kernels import plant


@pytest.mark.parametrize("style", take_rows(list(KERNELS), 2))
def test_every_fragment_of_a_right_kernel_is_verified(style: str) -> None:
    text, fragments = KERNELS[style]
    report = check_text(text)
    assert (report.steps, report.findings) == (fragments, ())
    assert not any(kernel.gap for kernel in report.kernels)


# what the blocks choose, or compute together, is not wrong: a scale of each, warps with the same rows, registers of PTX
SCALED = MACROS.replace("] = acc", " + blockIdx.z * M * N] = (blockIdx.z ? 2.f : 1.f) * acc")
IN_PTX = plant(
    (
        "  const half *a_from = A + (blockIdx.y",
        '  unsigned cta;\n  asm("mov.u32 %0, %%ctaid.y;" : "=r"(cta));\n  const half *a_from = A + (cta',
    ),
    text=MACROS,
)


@pytest.mark.thorough
@pytest.mark.parametrize("text", take_rows([pytest.param(SCALED, id="scaled"), pytest.param(IN_PTX, id="in PTX")], 1))
def test_results_may_depend_on_the_block_in_any_way(text: str) -> None:
    report = check_text(text)
    assert (report.steps, report.findings) == (KERNELS["macros"][1], ())


# K of A and of B may move differently: [A | H] · Bᵀ, the taps of a convolution, every second row of B's memory
CONCATENATED = plant(
    ("const half *A, const half *B, float *C, int M,", "const half *A, const half *H, const half *B, float *C, int M,"),
    ("  uint32_t a_base =", "  const half *h_from = H + (blockIdx.y * BM + load_m) * K + load_k;\n  uint32_t a_base ="),
    (
        "CP_ASYNC_CG(a_to, a_from + next * BK, 16);",
        "const half *from = next < 4 ? a_from + next * BK : h_from + (next - 4) * BK;\n CP_ASYNC_CG(a_to, from, 16);",
    ),
    ("CP_ASYNC_CG(a_to + 16, a_from + next * BK + 8, 16);", "CP_ASYNC_CG(a_to + 16, from + 8, 16);"),
    text=MACROS,
)
CONVOLUTION = plant(
    ("load_m) * K + load_k;", "load_m) * lda + load_k;"),
    ("int M, int N, int K) {", "int M, int N, int K, int lda, int W) {"),
    ("a_from + s * BK,", "a_from + (s / 2 % 3 + s / 6 * W) * lda + s % 2 * BK,"),
    ("a_from + s * BK + 8", "a_from + (s / 2 % 3 + s / 6 * W) * lda + s % 2 * BK + 8"),
    ("a_from + next * BK,", "a_from + (next / 2 % 3 + next / 6 * W) * lda + next % 2 * BK,"),
    ("a_from + next * BK + 8", "a_from + (next / 2 % 3 + next / 6 * W) * lda + next % 2 * BK + 8"),
    text=MACROS,
)
INTERLEAVED = plant(
    ("b_from + s * BK", "b_from + s * 2 * BK"),
    ("b_from + next * BK", "b_from + next * 2 * BK"),
    ("load_n) * K + load_kb", "load_n) * 2 * K + load_kb"),
    text=MACROS,
)


# each turn of the loop loads a slice, and multiplies the one that was loaded four turns before
SKEWED = plant(
    ("STAGES = 3", "STAGES = 5"),
    ("for (int s = 0; s < STAGES - 1; ++s)", "for (int s = 0; s < 0; ++s)"),
    ("for (int t = 0; t < K / BK; ++t) {", "for (int next = 0; next < K / BK + STAGES - 1; ++next) {"),
    ("    CP_ASYNC_WAIT_GROUP(STAGES - 2);\n    __syncthreads();\n", ""),
    (
        "int next = t + STAGES - 1, write = next % STAGES, read = t % STAGES;",
        "int t = next - (STAGES - 1), write = next % STAGES, read = t % STAGES;\n"
        "    if (t >= 0) { CP_ASYNC_WAIT_GROUP(STAGES - 2); __syncthreads(); }",
    ),
    ("    CP_ASYNC_COMMIT_GROUP();\n#pragma", "    CP_ASYNC_COMMIT_GROUP();\n    if (t < 0) continue;\n#pragma"),
    text=MACROS,
)


def test_a_loop_may_multiply_after_several_turns() -> None:
    report = check_text(SKEWED)
    assert (report.steps, report.findings) == (2, ()) and not report.kernels[0].gap
    (found,) = check_text(plant(("lane_id / 16 * 8) * sizeof", "lane_id / 8 % 2 * 8) * sizeof"), text=SKEWED)).findings
    assert found.code == "k_repeated"


@pytest.mark.parametrize(
    "text",
    take_rows(
        [
            pytest.param(CONCATENATED, id="concatenated"),
            pytest.param(CONVOLUTION, id="taps"),
            pytest.param(INTERLEAVED, id="interleaved"),
        ],
        1,
    ),
)
def test_the_operands_may_move_differently_along_k(text: str) -> None:
    assert check_text(text).findings == ()


# the kernel, what is right, what is planted, the code of the finding, and what stands at its place
MISTAKES = [
    (MACROS, "load_k = (tid % 2) * 16", "load_k = (tid % 2) * 12", "store_misaligned", "(s * a_stage + load_m"),
    (MACROS, "row * LDS + kk * 16", "row * LDS + kk * 8", "k_step_differs", "a_base + (read * a_stage"),
    (MACROS, "col * LDS + kk * 16", "col * LDS", "k_slice_wrong", "(read * b_stage + col"),
    (MACROS, "(read * a_stage + row * LDS", "(read * a_stage + row * BK", "fragment_mismatch", "(read * a_stage + row"),
    (MACROS, "(write * b_stage", "(write * a_stage", "k_slice_repeated", "(read * b_stage + col"),
    (TEMPLATES, "load_tile((slot + kStages - 1)", "load_tile((slot + kStages - 2)", "refill_early", "load_tile((slot"),
    (BYTES, "__pipeline_wait_prior(1)", "__pipeline_wait_prior(2)", "copy_wait_short", "__pipeline_wait_prior(2)"),
]


@for_each(("text", "right", "wrong", "code", "place"), MISTAKES, sample=2)
def test_a_planted_mistake_is_found_at_its_place(text: str, right: str, wrong: str, code: str, place: str) -> None:
    planted = plant((right, wrong), text=text)
    found = [(one.code, planted[one.span[0] :][: len(place)]) for one in check_text(planted).findings]
    assert (code, place) in found and {one for one, _ in found} - {"tile_not_filled"} == {
        code
    }  # threads 12 apart leave gaps, too


def use_pipeline(made: str) -> str:
    """Return BYTES with copies, commits and waits of a cuda::pipeline, which an expression makes."""
    text = BYTES.replace("  const int lane", f"  auto pipe = {made};\n  const int lane", 1)
    text = text.replace(", 16);", ", cuda::aligned_size_t<16>(16), pipe);")
    text = text.replace("__pipeline_memcpy_async", "cuda::memcpy_async").replace("__pipeline_", "pipe.producer_")
    return re.sub(r"pipe\.producer_wait_prior\((\d)\)", r"cuda::pipeline_consumer_wait_prior<\1>(pipe)", text)


@pytest.mark.thorough
@for_each(("wait", "codes"), [("<1>", []), ("<2>", ["copy_wait_short"])])
def test_a_pipeline_of_one_thread_counts_groups(wait: str, codes: list[str]) -> None:
    report = check_text(use_pipeline("cuda::make_pipeline()").replace("<1>(pipe)", f"{wait}(pipe)"))
    assert (report.steps, [one.code for one in report.findings]) == (2, codes)


def test_the_order_of_a_pipeline_of_a_block_is_open() -> None:
    text = use_pipeline("cuda::make_pipeline(cg::this_thread_block(), &state)")
    text = text.replace(
        "  auto pipe", "  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;\n  auto pipe"
    )
    report = check_text(text.replace("<1>(pipe)", "<2>(pipe)"))
    assert (report.findings, report.kernels[0].gap) == ((), "with stores and barriers whose order is not followed")


def test_a_copy_of_a_group_has_the_same_arguments_in_all_threads() -> None:
    """libcu++, cuda::memcpy_async: for cooperative variants other parameters are undefined behavior."""
    text = use_pipeline("cuda::make_pipeline(block, &state)").replace("memcpy_async(", "memcpy_async(block, ")
    state = "  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;\n"
    text = text.replace("  auto pipe", f"{state}  cg::thread_block block = cg::this_thread_block();\n  auto pipe")
    report = check_text(text.replace("<1>(pipe)", "<2>(pipe)"))
    assert not report.findings and "of a group must have the same arguments" in report.kernels[0].gap
