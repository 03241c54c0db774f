"""What a kernel with tcgen05 leaves out: it is found where nothing is open, and only there. PTX ISA 9.1, 9.7.16."""

from __future__ import annotations

import re

from tests.cases import for_each
from tests.checked import list_findings
from tests.tensor_kernels import GEMM
from tests.transfer_kernels import plant

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


def list_order_findings(text: str) -> list[tuple[str, str]]:
    """Return the codes of tcgen05's order, each with its line."""
    return [one for one in list_findings(text) if one[0].startswith("tcgen05_")]


@for_each(
    ("old", "new", "code", "line"),
    [
        ("k != 0", "1", "tcgen05_accumulator_unset", "mma(d, a + 2 * k"),
        ("tcgen05.wait::ld.sync.aligned;", "", "tcgen05_wait_missing", 'asm volatile("tcgen05.ld'),
        ("tcgen05.commit.cta_group::1.mb", "mb", "tcgen05_commit_missing", "mma(d, a + 2 * k"),
    ],
)
def test_what_is_left_out_is_found(old: str, new: str, code: str, line: str) -> None:
    assert old in RIGHT and list_order_findings(RIGHT) == []
    ((found, at),) = list_order_findings(RIGHT.replace(old, new))
    assert found == code and at.startswith(line)


def test_a_statement_may_wait_for_its_own_load() -> None:
    wait = '  asm volatile("tcgen05.wait::ld.sync.aligned;");\n'
    assert wait in RIGHT
    inside = RIGHT.replace(wait, "").replace('{%0}, [%1];"', '{%0}, [%1];\\ntcgen05.wait::ld.sync.aligned;"')
    assert "[%1];\\ntcgen05.wait" in inside and list_order_findings(inside) == []


@for_each(
    ("old", "new"),
    [
        ("k != 0", "keep | k"),  # D may go on from an earlier tile
        ("  C[threadIdx.x] = r;", "  finish(C);"),  # a call that may do it
        (
            "float r;",
            'asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" :: "r"(d), "r"(0));'
            ' asm volatile("tcgen05.wait::st.sync.aligned;"); float r;',
        ),
    ],
)
def test_what_may_be_right_is_no_finding(old: str, new: str) -> None:
    missing = RIGHT.replace("k != 0", "1") if old != "k != 0" else RIGHT
    assert old in missing and list_order_findings(missing.replace(old, new)) == []


def test_the_same_product_may_be_measured_again() -> None:
    """A benchmark begins the sum of the same tiles again: nothing is lost, unless another copy has filled them."""
    again = RIGHT.replace("  for (int k", "  for (int t = 0; t < 3; ++t)\n  for (int k")
    assert list_order_findings(again) == []
    copied = 'asm volatile("cp.async.bulk.shared::cluster.global [%0], [%1], 64, [%2];" :: "r"(at), "l"(C), "r"(bar));'
    other = again.replace("++t)", "++t) {\n" + copied).replace("k != 0);", "k != 0);\n  }")
    assert [code for code, _ in list_order_findings(other)] == ["tcgen05_accumulator_reset"]


# a complete kernel ----------------------------------------------------------------------------------------------------

WAIT_LOADED = '      asm volatile("tcgen05.wait::ld.sync.aligned;");\n'
PLANTED = [  # (right, planted, code, the line where it is found)
    ("    commit(&done);\n", "", "tcgen05_commit_missing", "} else if (warp == 5"),  # where it was
    ("      commit(&empty[t % 2]);\n", "", "tcgen05_commit_missing", "}"),
    ("      arrive(&full[t % 2]);\n", "", "barrier_arrival_missing", "wait(&full"),
    ("    wait(&done, 0);\n", "", "tcgen05_read_early", 'asm volatile("tcgen05.fence::after'),
    ("t > 0 || k > 0", "k > 0", "tcgen05_accumulator_reset", "multiply(d, a"),
    ("t > 0 || k > 0", "k", "tcgen05_accumulator_reset", "multiply(d, a"),  # not at the head of the loop over k
    ("t > 0 || k > 0", "1", "tcgen05_accumulator_unset", "multiply(d, a"),
    (WAIT_LOADED, "", "tcgen05_wait_missing", "C[threadIdx.x * 32 + c] = r[0]"),
    ("warp == 4 && lane == 0", "warp == 4", "tcgen05_threads", "if (warp == 4)"),
    (
        'if (warp == 1)\n    asm volatile("tcgen05.alloc',
        'if (threadIdx.x == 32)\n    asm volatile("tcgen05.alloc',
        "tcgen05_threads",
        "if (threadIdx.x == 32)",
    ),
    ("  __syncthreads();\n  const", "  const", "tcgen05_barrier_missing", "multiply(d, a"),
    (
        "  __syncthreads();\n  if (warp == 1)",
        "  if (warp == 1)",
        "tmem_freed_early",
        'asm volatile("tcgen05.dealloc',
    ),
    ("warp * 32 << 16", "warp * 16 << 16", "tmem_lanes", "const uint32_t at"),
    ("warp * 32 << 16", "warp * 32 << 20", "tmem_lanes", "const uint32_t at"),  # lane 512
    ("warp * 32 << 16", "threadIdx.x << 16", "tmem_lanes", "const uint32_t at"),  # differs within a warp
    ("warp * 32 << 16", "warp * 32 << 8", "tmem_column_range", "const uint32_t at"),
    ("warp * 32 << 16", "warp * 32", "tmem_column_range", "const uint32_t at"),  # 32 of them are allocated
    ("c += 2", "c += 4", "tmem_column_step", "for (int c = 0"),
    ('"r"(d), "r"(32)', '"r"(d), "r"(64)', "tmem_dealloc", 'asm volatile("tcgen05.dealloc'),
    ("commit.cta_group::1", "commit.cta_group::2", "tcgen05_cta_group", 'asm volatile("tcgen05.commit'),
]


def test_the_lanes_of_another_warp_are_found_at_the_number_of_the_warp() -> None:
    at = "      const uint32_t at = d + (warp * 32 << 16) + c;"
    named = "      const int part = 3 - warp % 4;\n" + at.replace("warp", "part")
    ((code, line),) = list_findings(plant((at, named), text=GEMM))
    assert code == "tmem_lanes" and line == named.partition("\n")[0].strip()
    shifted = named.replace("3 - warp % 4", "warp % 4").replace("<< 16", "<< 15")
    ((code, line),) = list_findings(plant((at, shifted), text=GEMM))
    assert code == "tmem_lanes" and line.startswith("const uint32_t at")


def test_warps_do_not_depend_on_what_else_is_asked_of_other_warps() -> None:
    """Of the warps that load D, the rank in the cluster of the one that multiplies decides nothing."""
    role = ("} else if (warp == 5 && lane == 0) {", "} else if (warp == 5 && lane == 0 && rank() == 0) {")
    rank = '__device__ uint32_t rank() { uint32_t r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }\n'
    text = plant(role, ("warp * 32 << 16", "warp * 16 << 16"), text=GEMM)
    assert "tmem_lanes" in [code for code, _ in list_findings(text.replace("__global__", rank + "__global__", 1))]


def test_a_right_kernel_has_no_finding() -> None:
    assert list_findings(GEMM) == []


def test_a_function_may_load_and_wait() -> None:
    """The wait stands between the load and the use of its registers there, not in the kernel's own lines."""
    first, loop, rest = re.split(r"(?s)(    for \(int c = 0; c < 32.*?\n    }\n)", GEMM)
    (load,) = [line for line in loop.split("\n") if "tcgen05.ld" in line]
    functions = f"""__device__ void load(float* r, uint32_t at) {{ {load} }}
__device__ void wait_loaded() {{ {WAIT_LOADED} }}
__device__ void read(float* C, uint32_t d, int warp) {{
{loop.replace(load, "load(r, at);").replace(WAIT_LOADED, "wait_loaded();")} }}
"""
    text = first.replace("__global__", functions + "__global__") + "read(C, d, warp);" + rest
    assert list_findings(text) == []
    ((code, line),) = list_findings(text.replace("wait_loaded(); ", ""))
    assert code == "tcgen05_wait_missing" and line.startswith("C[threadIdx.x")


@for_each(
    ("right", "planted", "code", "line"), PLANTED, ids=[f"{n}-{row[2]}" for n, row in enumerate(PLANTED)], sample="code"
)
def test_a_mistake_in_a_kernel_is_found_once_at_its_line(right: str, planted: str, code: str, line: str) -> None:
    assert GEMM.count(right) == 1
    ((found, at),) = list_findings(GEMM.replace(right, planted))
    assert found == code and at.startswith(line), (found, at)


@for_each(
    ("lanes", "codes"),
    [("warp * 32", []), ("warp * 32 + 16", []), ("warp * 32 + 17", ["tmem_lanes"])],
)
def test_a_load_of_16_lanes_may_take_either_half_of_a_quarter(lanes: str, codes: list[str]) -> None:
    """PTX ISA 9.1, 9.7.16.8.1: shapes 16x64b, 16x128b and 16x256b have 16 lanes."""
    half = GEMM.replace("ld.sync.aligned.32x32b.x2", "ld.sync.aligned.16x64b.x1").replace("warp * 32", f"({lanes})")
    half = half.replace('.b32 {%0, %1}, [%2];" : "=f"(r[0]), "=f"(r[1])', '.b32 {%0}, [%1];" : "=f"(r[0])')
    assert half.count("16x64b.x1.b32 {%0}") == 1
    assert [code for code, _ in list_findings(half)] == codes


def test_all_threads_run_a_kernel_that_is_launched_and_does_not_leave() -> None:
    """Neither an error of the host before the launch, nor a condition that all threads share, leaves some out."""
    host = """int main() {
  float* C;
  if (cudaMalloc(&C, 64)) return 1;
  if (is_ready()) gemm<<<1, 192>>>(A, B, C, n);
}
"""
    text = GEMM.replace("float* C) {", "float* C, int n) {\n  if (n == 0) return;") + host
    assert list_findings(text) == []
    ((code, _),) = list_findings(text.replace("warp * 32 << 16", "warp * 32 << 8"))
    assert code == "tmem_column_range"


@for_each(
    ("old", "new"),
    [
        ("warp * 32 << 16", "0"),  # kernels rely on the hardware to choose the lanes of a warp
        ("t > 0 || k > 0", "t > first || k > 0"),
        ("wait(&done, 0);", "wait(which, 0);"),
        ("    commit(&done);", "    finish(&done);"),
        ("c += 2", "c += step"),
    ],
    sample=2,
)
def test_what_is_open_in_a_kernel_is_no_finding(old: str, new: str) -> None:
    changed = GEMM.replace(old, new).replace("float* C)", "float* C, int first, uint64_t* which, int step)")
    assert changed != GEMM and list_findings(changed) == []
