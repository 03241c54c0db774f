"""Names in a kernel whose threads fill its tiles: of classes, namespaces, specializations and tables."""

from __future__ import annotations

import pytest

from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from tests.cases import for_each
from tests.checked import check_text
from tests.test_skipped_slices import BYTES
from tests.thread_tile_kernels import HELPERS, KERNEL, PADDED
from tests.transfer_kernels import plant


def test_an_object_with_an_operator_of_its_own_is_not_converted() -> None:
    """As C++ chooses, the operator[] of a pointer that converts; this one reads other rows."""
    cursor = (
        "struct Rows {\n  const half* at;\n  __device__ Rows(const half* at_) : at(at_) {}\n"
        "  __device__ const half& operator[](int n) const { return at[n / 2]; }\n"
        "  __device__ operator const half*() const { return at; } };\n"
    )
    edits = (
        (KERNEL, cursor + KERNEL),
        ("      *reinterpret_cast<uint4*>(&As", "      Rows from(A);\n      *reinterpret_cast<uint4*>(&As"),
        ("&A[(blockIdx.y", "&from[(blockIdx.y"),
    )
    report = check_thread_tiles(plant(*edits, text=PADDED), {})
    assert report.findings or report.kernels[0].gap


def test_a_specialization_that_is_not_certain_is_not_followed() -> None:
    """Both fit 32 and half, and neither is more specialized; a pointer's pattern is not compared with an alias."""
    for patterns in (("int W", "half, W"), ("class T", "T, 32")), (("class T", "T*, 32"), ("class T", "T, 32")):
        rows = "".join(
            f"template <{own}> struct Rows<{of}> {{ __device__ static int find(int row) {{ return row; }} }};\n"
            for own, of in patterns
        )
        edits = (
            ("lane % 16) * PITCH + kk", "lane % 16) * Rows<half, 32>::find(1) + kk"),
            (KERNEL, f"template <class T, int W> struct Rows;\n{rows}{KERNEL}"),
        )
        report = check_thread_tiles(plant(*edits, text=PADDED), {})
        assert (report.findings, report.verified) == ([], 1)


def test_a_class_of_a_kernel_hides_the_built_in_type_of_its_name() -> None:
    """The reads have the size of a row as their pitch, and its class the name of a vector of CUDA."""
    edits = (
        ("  int tid", "  struct float2 { half values[PITCH]; };\n  float2 line;\n  int tid"),
        ("lane % 16) * PITCH + kk", "lane % 16) * (sizeof(line) / 2) + kk"),
    )
    report = check_thread_tiles(plant(*edits, text=PADDED), {})
    assert (report.findings, report.verified) == ([], 2)


def test_a_member_of_an_unknown_class_is_no_constant_of_the_text() -> None:
    """The pitch of the reads is a template argument's; the text has another of that name."""
    edits = (
        ("lane % 16) * PITCH + kk", "lane % 16) * Rows::STRIDE + kk"),
        (KERNEL, f"constexpr int STRIDE = BK;\ntemplate <class Rows> {KERNEL}"),
    )
    report = check_thread_tiles(plant(*edits, text=PADDED), {})
    assert (report.findings, report.verified) == ([], 1)


def test_a_constant_is_that_of_the_namespace_of_the_kernel() -> None:
    """Two kernels of one name, whose pitches differ; the reads have them as numbers."""
    own = PADDED.removeprefix(HELPERS)
    spaces = []
    for n in (8, 24):
        edits = (("BK + 8;", f"BK + {n};"), ("lane % 16) * PITCH", f"lane % 16) * {32 + n}"))
        spaces.append(f"namespace pad{n} {{{plant(*edits, text=own)}}}\n")
    report = check_thread_tiles(HELPERS + "".join(spaces), {})
    assert (report.findings, report.verified) == ([], 4)


@pytest.mark.thorough
def test_a_qualified_name_is_that_of_the_namespace() -> None:
    """Kernels, classes and functions of one name, launched from outside; the mistake is that of one of them."""
    own = plant(
        ("constexpr int BM = 64, BN = 64, BK = 32, PITCH = BK + 8;", "constexpr int BM = 64, BN = 64, BK = 32;"),
        ("__global__ void __launch_bounds__(128)", "template <class Config> __global__ void"),
        ("  int tid", "  constexpr int PITCH = Config::PITCH;\n  int tid"),
        ("[BM * PITCH]", "[BM * Config::PITCH]"),
        ("[BN * PITCH]", "[BN * Config::PITCH]"),
        text=PADDED.removeprefix(HELPERS),
    )
    spaces = [
        f"namespace pad{n} {{ template <int K> struct Config {{ static constexpr int PITCH = K + {n}; }};\n{own}}}\n"
        for n in (8, 24)
    ]
    launches = "void run(half* a, half* b, float* c) { dim3 block(128);\n"
    for n in (8, 24):
        launches += (
            f"  using Config{n} = pad{n}::Config<32>;\n  pad{n}::gemm<Config{n}><<<1, block>>>(a, b, c, 64, 64, 64);\n"
        )
    made = check_text(HELPERS + "".join(spaces) + launches + "}\n")
    assert (made.findings, made.steps, len(made.kernels)) == ((), 4, 2)
    wrong = spaces[1].replace("lane % 16) * PITCH", "lane % 16) * (PITCH - 8)")
    text = HELPERS + spaces[0] + wrong + launches + "}\n"
    (finding,) = check_text(text).findings
    assert text[: finding.span[0]].count("namespace ") == 2


def test_a_type_that_only_the_host_knows_leaves_the_other_arguments_known() -> None:
    """gemm<Config<8>, decltype(copy)>: the pitch is that of Config."""
    text = plant(
        ("PITCH = BK + 8;", "LEAST = 8;\ntemplate <int PAD> struct Config { static constexpr int PITCH = BK + PAD; };"),
        ("__global__ void __launch_bounds__(128)", "template <class Config, class Copy> __global__ void"),
        ("  int tid", "  constexpr int PITCH = Config::PITCH;\n  int tid"),
        ("[BM * PITCH]", "[BM * Config::PITCH]"),
        ("[BN * PITCH]", "[BN * Config::PITCH]"),
        text=PADDED,
    )
    taken = "auto copy = make_copy(a);\n  auto kernel = gemm<Config<8>, decltype(copy)>;"
    launch = f"{taken}\n  kernel<<<1, 128>>>(a, b, c, n, n, n);"
    made = check_thread_tiles(f"{text}void run(half* a, half* b, float* c, int n) {{\n  {launch}\n}}\n", {})
    assert (made.findings, made.verified) == ([], 2)


STATIC = (  # a class whose static function is the kernel, with structs of its own
    plant(
        (
            "__global__ void __launch_bounds__(64) bytes(const int8_t* A, const int8_t* B, int* C, int N, int K) {",
            "template <int kStep_> struct Product {\n  static constexpr int kStep = kStep_;\n"
            "  struct Params { const int8_t *A, *B; int *C, N, K; };\n"
            "  static __device__ void run(const Params& p) {\n"
            "    const int8_t *A = p.A, *B = p.B;\n    int *C = p.C, N = p.N, K = p.K;",
        ),
        ("k += 32", "k += kStep"),
        text=BYTES,
    )
    + "};\ntemplate <class Kernel> __global__ void __launch_bounds__(64) launched(typename Kernel::Params p) {"
    " Kernel::run(p); }\nvoid start(Product<32>::Params p) {\n"
    "  using Kernel = Product<32>;\n  launched<Kernel><<<1, 64>>>(p);\n}"
)


@for_each("text", [STATIC, STATIC.replace("Kernel::run", "Product<32>::run")])
def test_structs_within_a_class_are_known(text: str) -> None:
    report = check_text(text)
    assert (report.steps, report.findings) == (2, ())


@for_each(("index", "verified"), [("B[{0} + j]", 2), ("B[{0} + j] + j", 1)])
def test_a_table_gives_a_number_for_each_code(index: str, verified: int) -> None:
    """Bytes of B are codes of halves. A number that is added to one may lead to another table."""
    at = "(blockIdx.x * BN + r) * K + k0 + c"
    text = plant(
        ("const half* B", "const uint8_t* B, const half* table"),
        (
            f"*reinterpret_cast<uint4*>(&Bs[r * PITCH + c]) =\n          *reinterpret_cast<const uint4*>(&B[{at}]);",
            f"for (int j = 0; j < 8; j++) Bs[r * PITCH + c + j] = table[{index.format(at)}];",
        ),
        text=PADDED,
    )
    assert check_thread_tiles(text, {}).verified == verified


@for_each(("depth", "verified"), [("p.shape.k()", 2), ("p.shape.next()", 0)])
def test_an_argument_may_have_a_member_of_an_unknown_class(depth: str, verified: int) -> None:
    """Its sizes are numbers; what another function returns is not known."""
    text = plant(
        (KERNEL, f"struct Problem {{ Unknown::Shape shape; const half *A, *B; float* C; }};\n{KERNEL}"),
        ("const half* A, const half* B, float* C, int M, int N, int K", "Problem p"),
        ("  __shared__ half As", f"  const half *A = p.A, *B = p.B;\n  const int K = {depth};\n  __shared__ half As"),
        text=PADDED,
    )
    assert check_thread_tiles(text, {}).verified == verified
