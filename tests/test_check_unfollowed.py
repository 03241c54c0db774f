"""Kernels whose fragments have no verdict: each is counted in the last line, with what is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lanescope.app.check.running import describe_kernel_gaps
from lanescope.app.check.verbs import app
from lanescope.workbench.check import check_text
from lanescope.workbench.fragments.thread_gaps import close_settled_gaps, list_kernels_by_text
from tests import workbench_cases
from tests.cases import for_each
from tests.command import CliRunner
from tests.known_kernels import TILED
from tests.transfer_kernels import plant

RIGHT = r"""__global__ void __launch_bounds__(32) gemm(const half* A, const half* B, float* C) {
  __shared__ half s[16 * 16], u[8 * 16];
  int t = threadIdx.x;
  for (int i = t; i < 256; i += 32) s[i] = A[i];
  for (int i = t; i < 128; i += 32) u[i] = B[i];
  __syncthreads();
  unsigned a[4], b[2]; float d[4] = {};
  unsigned p = __cvta_generic_to_shared(&s[(t % 16) * 16 + t / 16 * 8]);
  unsigned q = __cvta_generic_to_shared(&u[(t % 8) * 16 + t / 8 % 2 * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(p));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(q));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
"""
ALONE = RIGHT.replace("__launch_bounds__(32) ", "")
OPEN_TYPE = "template <class T> " + ALONE.replace("half", "T")
OPEN_SIZE = "template <int BK> " + RIGHT.replace("s[16 * 16]", "s[BK * 16]")
SPARSE = RIGHT.replace("mma.sync.aligned.m16n8k16", "mma.sp::ordered_metadata.sync.aligned.m16n8k32").replace(
    "{%0,%1,%2,%3};", "{%0,%1,%2,%3}, %8, 0x0;"
)
LONG = RIGHT.replace(
    "  __syncthreads();", "  for (int i = 0; i < 4000; ++i)\n    for (int j = 0; j < 4000; ++j) d0 += j;"
)
HEAD = "__global__ void __launch_bounds__(32) gemm(half* a)"
WMMA = HEAD + " { wmma::load_matrix_sync(f, a, 16); wmma::mma_sync(c, f, f, c); }\n"
CUTE = f"using Atom = SM80_16x8x16_F32F16F16F32_TN;\n{HEAD} {{ cute::gemm(mma, x, y, z); }}\n"
MACRO_LAUNCHER = """template <int BK> void launch() { gemm<BK><<<1, 32>>>(A, B, C); }
#define CALL(N) launch<N>()
#define DEFINE(NAME, N) void NAME() { CALL(N); }
DEFINE(launch16, 16)
"""


@for_each(
    ("text", "gap"),
    [
        (RIGHT, ""),
        (ALONE, "without a number of threads"),
        (ALONE + "int main() { gemm<<<1, 32>>>(A, B, C); }\n", ""),
        (ALONE + "int main() { gemm<<<1, threads>>>(A, B, C); }\n", "without a number of threads"),
        (RIGHT.replace("= threadIdx.x", "= threadIdx.y * 8 + threadIdx.x"), "without a number of threads"),
        (
            ALONE + "int main() { gemm<<<1, 2048>>>(A, B, C); }\n",
            "2,048 threads, more than a block's 1,024",
        ),
        (ALONE + "int main() { gemm<<<1, 20>>>(A, B, C); }\n", "launched with 20 threads, which are no whole warps"),
        (OPEN_TYPE + "int main() { half *a, *b; float* c; cudaMalloc(&a, 512); gemm<<<1, 32>>>(a, b, c); }\n", ""),
        (OPEN_TYPE + "int main() { gemm<<<1, 32>>>(open(), open(), c); }\n", "depends on T"),
        (OPEN_SIZE, "depends on BK"),
        (OPEN_SIZE + "int main() { gemm<16><<<1, 32>>>(A, B, C); }\n", ""),
        (OPEN_SIZE + MACRO_LAUNCHER, ""),
        (RIGHT.replace("s[i] = A[i]", "s[index(i)] = A[i]"), "stored by code that is not followed"),
        (
            RIGHT.replace("unsigned a[4]", "unsigned a[4] = {load()}").replace('"r"(a[0])', '"r"(load())'),
            "unknown origin",
        ),
        (SPARSE, "with sparse, f64 or m8n8k4 mma"),
        (LONG, "too long to be followed"),
        (RIGHT.replace("__global__", "__device__"), "in functions that no kernel of the file calls"),
        (WMMA.replace("__global__", "__device__"), "in functions that no kernel of the file calls"),
        (WMMA, "with fragments of wmma"),
        (
            f'{HEAD} {{ asm("wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {{%0}}, {{%1}};" :: "r"(a)); }}\n',
            "of wmma",
        ),
        (WMMA.replace("wmma::", ""), "with fragments of wmma"),
        (CUTE, "with fragments that CuTe loads"),
        (CUTE.replace("__launch_bounds__(32) ", ""), "without a number of threads"),
        (
            ".version 8.8\n.target sm_80\n.entry k() { mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 x; }\n",
            "in PTX",
        ),
    ],
    sample=10,
)
def test_a_kernel_without_a_verdict_says_why(text: str, gap: str) -> None:
    report = check_text(text)
    (kernel,) = report.kernels
    assert gap in kernel.gap
    assert bool(kernel.gap) == bool(gap)
    assert any(point.message == kernel.message for point in report.open) == bool(gap)
    assert (report.steps == 2) == (not gap)
    assert [finding.code for finding in report.findings if finding.code != "ptxas_refuses"] == []


def test_a_kernel_of_a_header_that_is_not_compiled_names_its_macro() -> None:
    header = f"#ifdef DEBUG\n#endif\n#ifdef FAST\n{RIGHT}#endif\n"
    for defined, gap in (({}, "compiled only with -D FAST"), ({"macro.FAST": "1"}, "")):
        (kernel,) = check_text(header + "int main() {}\n", defined, [(0, len(header))]).kernels
        assert kernel.gap == gap


def test_a_variable_or_a_comment_with_the_name_of_a_helper_does_not_call_it() -> None:
    helper = (
        'struct X4 { static __device__ void load(int* p) { asm("ldmatrix.sync.aligned.m8n8.x4.shared.b16 %0;"); } };\n'
    )
    kernel = "__global__ void copy(float* x, float* y) { float load = x[threadIdx.x]; y[threadIdx.x] = load; }"
    for right in (kernel, kernel.replace("{ float load", "{ /* load */ float first").replace("= load;", "= first;")):
        assert not list(list_kernels_by_text(helper + right))
    assert list(list_kernels_by_text(helper + kernel.replace("= x[threadIdx.x]", "= X4::load(x)")))


def test_a_kernel_that_a_macro_makes_stands_where_it_is_made() -> None:
    """The macro itself makes none, and its parts of names lead to the functions that they name."""
    mma = '__device__ void mma_one() { asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 %0;"); }\n'
    text = mma + "#define MAKE(NAME, TAG) __global__ void NAME() { mma_##TAG(); }\nMAKE(first, one)\n"
    [kernel] = list_kernels_by_text(text)
    assert (kernel.name, kernel.gap, text[slice(*kernel.span)]) == ("first", "", "first")
    assert text.count("\n", 0, kernel.span[0]) == 2
    begun = mma + "#define BEGIN(NAME) __global__ void NAME() {\n#define END }\nBEGIN(first) mma_one(); END\n"
    [lost] = list_kernels_by_text(begun)
    assert lost.gap == "in functions that no kernel of the file calls"


LOADS = r"""__global__ void load(unsigned* d, unsigned s) {
  unsigned x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(s));
  d[threadIdx.x] = x;
}
"""


@for_each(
    ("text", "gap"),
    [
        (LOADS, "without an mma that takes what it loads"),
        (LOADS.replace("__global__", "__device__"), "with ldmatrix in functions that no kernel of the file calls"),
        (
            ".version 8.8\n.target sm_80\n.entry k() { ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r}, [%s]; }\n",
            "without an mma that takes what it loads",
        ),
    ],
)
def test_a_kernel_that_only_loads_is_not_called_one_with_mma(text: str, gap: str) -> None:
    (kernel,) = check_text(text).kernels
    assert kernel.gap == gap
    assert describe_kernel_gaps(1, {gap: 1}) == f"the kernel with ldmatrix is not verified: {gap}"
    mixed = describe_kernel_gaps(3, {gap: 1, "in PTX": 1})
    assert mixed == f"2 of 3 kernels with mma or ldmatrix not verified: 1 {gap}, 1 in PTX"


def test_reads_that_are_not_verified_are_told_with_their_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = next(case.text for case in workbench_cases.CASES if "gmma_desc_b.set(smem_k + ki * 32" in case.text)
    text = re.sub(r"cuTensorMapEncodeTiled\(&desc_k.*?;\n", "", text, flags=re.S).replace("&desc_q", "&desc_x")
    (tmp_path / "a.cu").write_text(text)
    output = CliRunner().invoke(app, ["a.cu", "--no-cache"]).output
    notes = re.findall(r"^(.*)note: \d+ reads? not verified", output, re.M)
    assert notes and all(re.fullmatch(r"a\.cu:\d+:\d+: ", place) for place in notes)
    (run,) = json.loads(CliRunner().invoke(app, ["a.cu", "--no-cache", "--sarif"]).output)["runs"]
    told = run["invocations"][0]["toolExecutionNotifications"]
    unverified = [one for one in told if "not verified: Nothing says" in one["message"]["text"]]
    assert unverified and all(one["locations"] for one in unverified)


def test_a_kernel_without_mma_is_not_counted() -> None:
    assert check_text("__global__ void add(float* a) { a[threadIdx.x] += 1; }\n// mma.sync, ldmatrix.\n").kernels == ()


def test_d_gives_the_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cu").write_text(ALONE)

    def run(*options: str) -> tuple[int, str]:
        made = CliRunner().invoke(app, ["a.cu", "--no-cache", *options])
        return made.exit_code, made.output

    code, output = run("--fail-on", "unverified")
    assert code == 1
    assert "the kernel with mma is not verified: without a number of threads" in output
    assert output.count("-D blockDim.x=") == 1
    code, output = run("--fail-on", "unverified", "-D", "blockDim.x=32")
    assert code == 0
    assert "2 reads verified" in output
    assert "the fragments of the kernel with mma have a verdict" in output
    assert "changes nothing" not in output


def test_a_helper_counts_where_a_kernel_includes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone the header has mma that no kernel calls; with the kernel that includes it there is no gap."""
    monkeypatch.chdir(tmp_path)
    asm = RIGHT[RIGHT.index('  asm volatile("mma') : RIGHT.rindex("}")]
    (tmp_path / "mma.cuh").write_text(
        "__device__ void multiply(float (&d)[4], unsigned (&a)[4], unsigned (&b)[2]) {\n" + asm + "}\n"
    )
    (tmp_path / "a.cu").write_text('#include "mma.cuh"\n' + RIGHT.replace(asm, "  multiply(d, a, b);\n"))
    output = CliRunner().invoke(app, ["mma.cuh", "--no-cache"]).output
    assert "in functions that no kernel of the file calls" in output
    (tmp_path / "host.cu").write_text('#include "mma.cuh"\nint main() { return 0; }\n')
    output = CliRunner().invoke(app, ["mma.cuh", "host.cu", "--no-cache"]).output
    assert "in functions that no kernel of the file calls" in output
    output = CliRunner().invoke(app, ["mma.cuh", "host.cu", "a.cu", "--no-cache"]).output
    assert "the fragments of the kernel with mma have a verdict" in output
    assert "no kernel of the file" not in output


def test_what_a_file_without_code_of_its_own_includes_is_checked(tmp_path: Path) -> None:
    (tmp_path / "gemm.cuh").write_text(RIGHT)
    for text in ('// one instance\n#define SIZE \\\n  16\n#include "gemm.cuh"\n', '#include "gemm.cuh"'):
        (tmp_path / "gemm.cu").write_text(text)
        output = CliRunner().invoke(app, [str(tmp_path / "gemm.cu"), "--no-cache"]).output
        assert "the fragments of the kernel with mma have a verdict" in output


@for_each(
    ("wrapped", "operand"),
    [(False, "A in mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), (True, "A in multiply(d, a, b)")],
)
def test_an_operand_that_is_not_known_is_named(wrapped: bool, operand: str) -> None:
    """By the call of the kernel, or the opcode of its own statement."""
    text = RIGHT.replace("unsigned a[4]", "unsigned a[4] = {load()}").replace('"r"(a[0])', '"r"(load())')
    if wrapped:
        start, past = text.index('asm volatile("mma.'), text.rindex("}")
        head = "__device__ void multiply(float (&d)[4], unsigned (&a)[4], unsigned (&b)[2])"
        text = f"{head} {{ {text[start:past]} }}\n{text[:start]}multiply(d, a, b);\n}}\n"
    (kernel,) = check_text(text).kernels
    assert (
        kernel.message == f"The fragments of gemm are not verified: what the registers of {operand} hold is not known."
    )


NO_TURNS = """constexpr int K = 64;
__device__ void multiply(float* c, const uint32_t* x) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]));
}
__global__ void gemm(float* out, const uint32_t* x) {
  float c[4] = {};
  for (int i = 0; i < 0; ++i) out[i] = 0;
  for (int k = 0; k < K % 16; k += 16) multiply(c, x + k);
  out[threadIdx.x] = c[0];
}
void run(float* out, const uint32_t* x) { gemm<<<1, 32>>>(out, x); }
"""


def test_a_loop_over_mma_without_iterations_is_named_at_its_condition() -> None:
    (note,) = (one for one in check_text(NO_TURNS).open if "not verified" in one.message)
    assert NO_TURNS[slice(*note.span)] == "k < K % 16" and "has no iterations" in note.message
    named = NO_TURNS.replace("out[i] = 0;", "out[i] = compute(0 /* of the mma that multiply(c, x) commands */);")
    (note,) = (one for one in check_text(named).open if "not verified" in one.message)
    assert named[slice(*note.span)] == "k < K % 16"
    twice = NO_TURNS.replace("out[i] = 0;", "multiply(c, x);")  # which of the two loops is meant to run is not known
    apart = NO_TURNS.replace("multiply(c, x + k);", "c[0] += x[k];  // mma\n  if (threadIdx.x > 64) multiply(c, x);")
    later = NO_TURNS.replace("for (int k = 0; k < K % 16", "for (int j = 0; j < 2; ++j) for (int k = j * 16; k < 16")
    later = later.replace("multiply(c, x + k);", "if (threadIdx.x > 64) multiply(c, x);")  # it has turns where j = 0
    for text in (twice, apart, later):
        (note,) = (one for one in check_text(text).open if "not verified" in one.message)
        assert text[slice(*note.span)] == "gemm" and "none of its mma is reached" in note.message
    never = NO_TURNS.replace("  for (int k", "  if (false)\n  for (int k")
    (note,) = (one for one in check_text(never).open if "not verified" in one.message)
    assert never[slice(*note.span)] == "gemm" and "none of its mma is reached" in note.message


def test_reads_of_a_kernel_that_d_settles_are_counted() -> None:
    """Rows of B are divided by a number of the launch: A is read right, and B if D is A·B."""
    divided = "(blockIdx.x * BN + r) * K", "(blockIdx.x * BN + r) / group * K"
    report = check_text(plant(divided, ("int N, int K)", "int N, int K, int group)"), text=TILED))
    (kernel,) = report.kernels
    assert (report.steps, kernel.left, bool(kernel.gap)) == (1, 1, True)
    assert close_settled_gaps(report.kernels, {}, ()) == ([kernel], 0)
    (closed,), more = close_settled_gaps(report.kernels, {kernel.name: True}, ())
    assert (closed.gap, more) == ("", 1)
