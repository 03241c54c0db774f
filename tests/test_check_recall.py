"""Mistakes in styles of code that check once passed over, each at its own line; the right kernels have none."""

from __future__ import annotations

import pytest

from tests.cases import for_each
from tests.checked import check_text, list_findings, locate_findings, search_cause
from tests.planted_mistakes import read_kernel
from tests.recall_kernels import KERNELS, MISTAKES
from tests.sample import FULL
from tests.transfer_kernels import plant

# copies over one another ----------------------------------------------------------------------------------------------


def test_copies_that_fill_the_same_bytes() -> None:
    """B begins inside A."""
    ((code, line),) = list_findings(plant(("sA + STAGES * BM * BK;", "sA + 32 * BK;")))
    assert code == "copies_overlap" and "sA + 32 * BK;" in line


def test_a_copy_that_waits_for_the_one_before_may_fill_its_bytes() -> None:
    """Once the barrier has completed, the bytes may have been read and may be filled again."""
    b_in_a = plant(("sA + STAGES * BM * BK;", "sA + 32 * BK;"))
    first = b_in_a.index("      tma_load(sB")
    waited = b_in_a[:first] + "      wait(&full[slot], 0);\n" + b_in_a[first:]
    assert "copies_overlap" not in {code for code, _ in list_findings(waited)}


@pytest.mark.thorough
def test_a_stage_may_not_begin_in_the_other_operand_s_stage_before() -> None:
    """A producer fills the next stage while this one is read; one that waits for it first has nothing to overwrite."""
    waiting = plant(("sA + STAGES * BM * BK;", "sA + BM * BK;"))
    assert "copies_overlap" not in {code for code, _ in list_findings(waiting)}
    alone = waiting.replace("    wait(&full[slot], (t / STAGES) & 1);\n", "").replace("    __syncthreads();\n", "")
    found = list_findings(alone)
    assert [line for code, line in found if code == "copies_overlap"] == [
        "tma_load(sA + slot * BM * BK, &ta, &full[slot], t * BK, row);"
    ]


INITIALIZED = r"""  auto emptyAddress = (uint64_t*)__cvta_generic_to_shared(&empty);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "l"(fullAddress));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "l"(emptyAddress));
  }
  if (threadIdx.x < 32)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;"
        :: "r"((uint32_t)__cvta_generic_to_shared(&columns)), "r"(TN));
  __syncthreads();
"""


LOADED = """    phase ^= 1;
  }
  float sum;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=f"(sum)
      : "r"(columns + (threadIdx.x / 32 * 32 << 16)));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  out[blockIdx.x * 128 + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" :: "r"(columns), "r"(TN));
}
"""


@for_each("spelled", ["ptx::", "cuda::ptx::"])
def test_functions_of_cudas_ptx_are_known_by_an_alias_and_by_their_whole_name(spelled: str) -> None:
    """The first left the kernel unchecked; of the second nothing was taken to arrive at the mbarrier of the copies."""
    text = KERNELS["ptxns"].replace(INITIALIZED.partition("\n")[0] + "\n", INITIALIZED).replace("ptx::", spelled)
    text = text.replace("    phase ^= 1;\n  }\n}\n", LOADED)
    assert "mbarrier.init" in text and "tcgen05.ld" in text and not check_text(text).findings
    wrong = check_text(text.replace("(TM + TN) * TK * sizeof", "(TM + TM) * TK * sizeof"))
    assert [finding.code for finding in wrong.findings] == ["expect_tx_bytes"]


# flags of template arguments ------------------------------------------------------------------------------------------


@pytest.mark.thorough
@for_each("said", ["0", "false", "TRANSPOSED"] if FULL else ["false", "TRANSPOSED"])
def test_a_wrong_transpose_stands_where_the_template_argument_is_given(said: str) -> None:
    """tests/test_kernels.py verifies the right kernel, and has the 0."""
    text = read_kernel("mn_major_b").replace("wgmma<1>(d", f"wgmma<{said}>(d")
    if said == "TRANSPOSED":
        text = text.replace("template <int trans_b>", "constexpr int TRANSPOSED = 0;\ntemplate <int trans_b>")
    (finding,) = check_text(text).findings
    place = "constexpr int TRANSPOSED = 0;" if said == "TRANSPOSED" else f"wgmma<{said}>(d"
    ((code, line),) = locate_findings(text, [finding])
    assert code == "wrong_transpose" and place in line
    assert finding.edits


# styles ---------------------------------------------------------------------------------------------------------------


@for_each("name", KERNELS, sample=3)
def test_a_right_kernel_is_verified_and_clean(name: str) -> None:
    found = check_text(KERNELS[name])
    assert found.steps and not found.findings and not found.unverified


def sample_mistakes() -> list[tuple[str, str, str]]:
    """The first mistake of every kernel, all of them in a full run."""
    return MISTAKES if FULL else list({row[0]: row for row in reversed(MISTAKES)}.values())[::-1]


@for_each(("name", "old", "new"), sample_mistakes(), sample=1)
def test_a_wrong_number_stands_at_its_line(name: str, old: str, new: str) -> None:
    right = KERNELS[name]
    at = right.index(old)
    text = right[:at] + new + right[at + len(old) :]
    lines = {text.count("\n", 0, finding.span[0]) for finding in search_cause(text).findings}
    assert text.count("\n", 0, at) in lines
