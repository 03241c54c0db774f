"""What a kernel with tcgen05 leaves out: it is found where nothing is open, and only there. PTX ISA 9.1, 9.7.16."""

from __future__ import annotations

import pytest

from lanescope.workbench.check import check_text

RIGHT = r"""__device__ void mma(uint32_t d, uint64_t a, uint64_t b, uint32_t i, int on) {
  asm volatile("{\n.reg .pred p;\n"  // the predicate of enable-input-d
               "setp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}\n"
      :: "r"(d), "l"(a), "l"(b), "r"(i), "r"(on));
}
__global__ void gemm(uint64_t a, uint64_t b, uint32_t at, uint32_t bar, float* C) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" :: "r"(at));
  uint32_t d = load(at);
  for (int k = 0; k < 4; ++k)
    mma(d, a + 2 * k, b + 2 * k, 0x8100490, k != 0);
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(bar));
  float r;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=f"(r) : "r"(d));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  C[threadIdx.x] = r;
}
""".replace("load(at)", "at + 0")


def list_findings(text: str) -> list[tuple[str, str]]:
    """Return the codes of tcgen05's order, each with its line."""
    found = [one for one in check_text(text).findings if one.code.startswith("tcgen05_")]
    return [(one.code, text.split("\n")[text.count("\n", 0, one.span[0])].strip()) for one in found]


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("k != 0", "1", "tcgen05_accumulator_unset", "mma(d, a + 2 * k"),
        ("tcgen05.wait::ld.sync.aligned;", "", "tcgen05_wait_missing", 'asm volatile("tcgen05.ld'),
        ("tcgen05.commit.cta_group::1.mb", "mb", "tcgen05_commit_missing", "mma(d, a + 2 * k"),
    ],
)
def test_what_is_left_out_is_found(old: str, new: str, code: str, line: str) -> None:
    assert old in RIGHT and list_findings(RIGHT) == []
    ((found, at),) = list_findings(RIGHT.replace(old, new))
    assert found == code and at.startswith(line)


def test_a_statement_may_wait_for_its_own_load() -> None:
    wait = '  asm volatile("tcgen05.wait::ld.sync.aligned;");\n'
    assert wait in RIGHT
    inside = RIGHT.replace(wait, "").replace('{%0}, [%1];"', '{%0}, [%1];\\ntcgen05.wait::ld.sync.aligned;"')
    assert "[%1];\\ntcgen05.wait" in inside and list_findings(inside) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("k != 0", "keep | k"),  # D may go on from an earlier tile
        ("  C[threadIdx.x] = r;", "  finish(C);"),  # a call that may do it
        ("float r;", 'asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" :: "r"(d), "r"(0)); float r;'),
    ],
)
def test_what_may_be_right_is_no_finding(old: str, new: str) -> None:
    missing = RIGHT.replace("k != 0", "1") if old != "k != 0" else RIGHT
    assert old in missing and list_findings(missing.replace(old, new)) == []
