"""What a file launches decides the values of its kernels: of template parameters, and of arguments that are literals.

SBO of every descriptor is the kernel's template argument. With 1024 all 8 reads are right; with 512 A and B read wrong
places; where nothing says it, the value is open.
"""

from __future__ import annotations

import pytest

from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.threads.block_sizes import read_sizes
from lanescope.reader.threads.language.program import LaterValue, Scope, parse_expression, parse_program
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.check_report import CheckReport
from tests.cases import for_each
from tests.checked import check_text
from tests.guilty_kernels import CODE, MAP
from tests.sample import take_sample

HELPER, KERNEL = CODE[: CODE.index("__global__")], CODE[CODE.index("__global__") :]
HELPER = "template <int SBO>\n" + HELPER.replace("1024 >> 4", "SBO >> 4")
KERNEL = KERNEL.replace("make_smem_desc(", "make_smem_desc<SBO>(").replace("float* out", "float* out, int steps")
TEMPLATE = HELPER + "template <int SBO>\n" + KERNEL
MAPS = MAP + MAP.replace("tma_a", "tma_b").replace("gmem_a", "gmem_b").replace("box", "box_b")
PLAIN = TEMPLATE.replace("template <int SBO>\n__global__", "__global__").replace("desc<SBO>", "desc<1024>")
PLAIN = PLAIN.replace("64 / 16", "steps")

LAUNCHES = {
    "by its name": "gemm<SBO><<<1, 128>>>(out, 4);",
    "by a pointer": "auto* kernel = gemm<SBO>; kernel<<<1, 128>>>(out, 4);",
    "by its address": "auto kernel = &gemm<SBO>; (*kernel)<<<1, 128>>>(out, 4);",
    "by a typed pointer": "void (*kernel)(float*, int) = gemm<SBO>; kernel<<<1, 128>>>(out, 4);",
    "by a pointer to a function of types": "void (*kernel)(Out, Steps) = gemm<SBO>; kernel<<<1, 128>>>(out, 4);",
    "by an alias": "using F = void (*)(float*, int); F kernel = gemm<SBO>; kernel<<<1, 128>>>(out, 4);",
    "by constants": "constexpr int kSBO = SBO / 2 * 2; gemm<kSBO><<<1, 128>>>(out, 4);",
    "with an attribute": "cudaFuncSetAttribute(gemm<SBO>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 16);"
    " gemm<SBO><<<1, 128>>>(out, 4);",
    "with a cached attribute": "static bool once = [] { cudaFuncSetAttribute(gemm<SBO>, kSize, 1); return true; }();"
    " gemm<SBO><<<1, 128>>>(out, 4);",
    "with an attribute alone": "check(cudaFuncSetAttribute((const void*)gemm<SBO>, kSize, 1 << 16));",
    "by cudaLaunchKernelEx": "cudaLaunchKernelEx(&config, gemm<SBO>, out, 4);",
    "by cudaLaunchKernelEx and a pointer": "auto k = &gemm<SBO>; check(cudaLaunchKernelEx(&config, k, out, 4));",
    "by cudaLaunchKernel": "int steps = 4; void* list[] = {&out, &steps};"
    " cudaLaunchKernel((void*)gemm<SBO>, 1, 128, list, 0, 0);",
    "by cudaLaunchCooperativeKernel": "int steps = 4; void* list[] = {&out, &steps};"
    " cudaLaunchCooperativeKernel(reinterpret_cast<void*>(&gemm<SBO>), 1, 128, list);",
    "by cudaLaunchKernelExC": "cudaLaunchKernelExC(&config, (void*)gemm<SBO>, unknown_list);",
    "in a switch": "switch (n) { case 0: gemm<SBO><<<1, 128>>>(out, 4); break; default: return; }",
    "by a choice": "auto kernel = n > 3 ? gemm<SBO> : gemm<SBO>; kernel<<<1, 128>>>(out, 4);",
    "by a launcher": "launch(gemm<SBO>, out, 4);",
    "by a lambda": "auto go = [&](auto sbo) { gemm<decltype(sbo)::value><<<1, 128>>>(out, 4); };"
    " go(std::integral_constant<int, SBO>{});",
}
LAUNCHER = "template <class F, class... Args> void launch(F kernel, Args... args) { kernel<<<1, 128>>>(args...); }\n"
CLUSTER = TEMPLATE.replace(
    "__global__ void", "__global__ __launch_bounds__(SBO) void __cluster_dims__(SBO / 512, 1, 1)"
)


def check(kernel: str, launch: str, sbo: int = 1024) -> CheckReport:
    host = f"void run(float* out, int n) {{ {launch.replace('SBO>', f'{sbo}>').replace('SBO', str(sbo))} }}\n"
    return check_text(MAPS + kernel + LAUNCHER + host)


@for_each("launch", LAUNCHES.values(), ids=LAUNCHES, sample=6)
def test_a_kernel_is_what_the_file_launches(launch: str) -> None:
    """Without the launch SBO would be open, and no read verified."""
    right = check(TEMPLATE, launch)
    assert (right.steps, right.findings, right.open, right.descriptors) == (8, (), (), 2)


@for_each("launch", take_sample(list(LAUNCHES.values()), 6), sample=2)
def test_a_wrong_value_of_a_launch_is_found(launch: str) -> None:
    wrong = check(TEMPLATE, launch, 512)
    assert wrong.steps == 0 and {finding.code for finding in wrong.findings} == {"sbo_other_width"}


@pytest.mark.thorough
def test_a_loop_that_launches_a_kernel_is_none_of_its_loops() -> None:
    """The loop that measures a kernel's time has often a variable of the same name as one of the kernel's."""
    wrong = check(TEMPLATE, "for (int k = 0; k < 9; ++k) gemm<SBO><<<1, 128>>>(out + k, 4);", 512)
    (finding,) = wrong.findings
    assert " at k = 0: " in finding.message


@for_each("line", ["template __global__ void gemm<1024>(float*, int);", "template void gemm<1024>(float* o, int n);"])
def test_an_explicit_instantiation_is_an_instance(line: str) -> None:
    right = check_text(MAPS + TEMPLATE + line)
    assert (right.steps, right.findings, right.open) == (8, (), ())
    assert check_text(MAPS + TEMPLATE + line.replace("1024", "512")).findings
    assert not check_text(MAPS + TEMPLATE + f"extern {line}").steps, "extern says that it is elsewhere"


def test_an_instance_of_a_namespace_and_of_a_host_template() -> None:
    host = "template <int S> void run(float* out) { gemm<S><<<1, 128>>>(out, 4); }\ntemplate void run<1024>(float*);\n"
    report = check_text(MAPS + "namespace ns {\n" + TEMPLATE + host + "}\n")
    assert (report.steps, report.findings, report.open) == (8, (), ())


@for_each("use", ["template void run<1024>(float*);\n", "int main() { run<1024>(nullptr); }\n"])
def test_a_host_template_may_be_declared_before(use: str) -> None:
    """As in a header, with a default argument: the definition is still run for its instances alone."""
    declared = "template <int S> void run(float* out, int n = 4);\n"
    host = "template <int S> void run(float* out, int n) { gemm<S><<<1, 128>>>(out, n); }\n"
    right = check_text(MAPS + declared + TEMPLATE + host + use)
    assert (right.steps, right.findings, right.open) == (8, (), ())
    assert check_text(MAPS + declared + TEMPLATE + host + use.replace("1024", "512")).findings


@pytest.mark.thorough
@for_each("launch", ["gemm<SBO><<<1, 128>>>(out, 4);", "auto* k = gemm<SBO>; k<<<1, 128>>>(out, 4);"])
def test_attributes_of_a_kernel_do_not_hide_its_template(launch: str) -> None:
    assert check(CLUSTER, launch).steps == 8 and check(CLUSTER, launch, 512).findings


@for_each(
    "launch",
    [
        "gemm<<<1, 128>>>(out, 4);",
        "auto kernel = gemm; kernel<<<1, 128>>>(out, 4);",
        "cudaLaunchKernelEx(&config, gemm, out, 4);",
        "int steps = 4; void* list[] = {&out, &steps}; cudaLaunchKernel((void*)gemm, 1, 128, list);",
    ],
)
def test_an_argument_that_is_a_literal_is_the_value(launch: str) -> None:
    """With 4 steps all of K is read, with 2 half of it. The kernel is not run again with open arguments."""
    right = check(PLAIN, launch)
    assert (right.steps, right.findings, right.open) == (8, (), ())
    half = check(PLAIN, launch.replace("out, 4", "out, 2").replace("steps = 4", "steps = 2"))
    assert (half.steps, half.findings, half.open) == (4, (), ())


@for_each(("rest", "size"), [("", None), (", 4096, 0", 4096)])
def test_a_launch_by_address_has_its_sizes_and_numbers(rest: str, size: int | None) -> None:
    host = "void run(float* out) { int steps = 4; void* list[] = {&out, &steps};"
    code = evaluate_text(f"{MAPS}{PLAIN}{host} cudaLaunchKernel((void*)gemm, dim3(2, 3), dim3(128), list{rest}); }}")
    assert code is not None
    (launch,) = code.launches
    assert (launch.name, launch.block, launch.size) == ("gemm", (128,), size)
    assert [str(number) for number in launch.grid] == ["2", "3"] and str(launch.arguments[1]) == "4"


def test_a_uint3_is_the_grid_that_it_becomes() -> None:
    text = "void run(int n) { uint3 grid = {n / 2, 3, 1}; uint3 block = {64, 2, 1}; gemm<<<grid, block>>>(n); }"
    [record] = evaluate_text("__global__ void gemm(int n) {}\n" + text).launches
    assert record.block == (64, 2, 1)
    assert [str(size) for size in record.grid] == ["(n / 2)", "3", "1"]


def test_what_nothing_launches_stays_open() -> None:
    report = check_text(MAPS + TEMPLATE)
    assert not report.findings and not report.steps
    assert any("SBO" in gap.gap for gap in report.checked)


WRAPPERS = """template <int N> __device__ void mma64(uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %31}, %32, %33, 1, 1, 1, 0, 0;"
      : "+f"(acc[0]) : "l"(a), "l"(b)); }
template <int N> __device__ void mma128(__nv_bfloat16* a, __nv_bfloat16* b) {
  uint64_t wide_a = make_smem_desc<512>(a), wide_b = make_smem_desc<512>(b);
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0, %63}, %64, %65, 1, 1, 1, 0, 0;"
      : "+f"(acc[0]) : "l"(wide_a), "l"(wide_b)); }
"""
CALL = "    if constexpr (WIDE) mma128<1>(sA, sB); else mma64<1>(desc_a, desc_b);\n"
CHOOSING = TEMPLATE[: TEMPLATE.index("    asm")] + CALL + "  }\n}\n"
CHOOSING = CHOOSING.replace("template <int SBO>\n__global__", WRAPPERS + "template <int SBO, int N>\n__global__")


@for_each(
    ("condition", "made"),
    [
        ("N == 128", False),  # the launch says 64
        ("N == unknown()", True),
        ("N == 64 && pick(mma128<1>)", True),  # its address is given to a function without code
        ("N == 64 && each([&](auto i) { mma128<1>(sA, sB); })", True),  # which may call what it is given
    ],
    sample=2,
)
def test_a_wrapper_that_nothing_instantiates_is_left_out(condition: str, made: bool) -> None:
    """The wrapper of m64n128k16 has SBO 512: a mistake where an instance may be made, and nothing where none is."""
    text = MAPS + CHOOSING.replace("WIDE", condition) + "void run(float* out) { gemm<1024, 64><<<1, 128>>>(out, 4); }"
    report = check_text(text)
    assert {finding.code for finding in report.findings} == ({"sbo_other_width"} if made else set())
    assert len(report.checked) == (4 if made else 2) and (made or report.steps == 8)


ASM = """__device__ void mma{0}(uint64_t a, uint64_t b) {{
  asm volatile("wgmma.mma_async.sync.aligned.m64n{0}k16.f32.bf16.bf16 {{%0, %31}}, %32, %33, 1, 1, 1, 0, 0;"
      : "+f"(acc[0]) : "l"(a), "l"(b)); }}
"""


@for_each(
    ("call", "reads", "gap"),
    [
        ("mma64(desc_a, desc_b);", 8, ""),
        ("dispatch<64>(desc_a, desc_b);", 0, "one of 3 instructions"),
        ("table[n](desc_a, desc_b);", 0, "one of 3 instructions"),
    ],
)
def test_which_of_several_wrappers_a_descriptor_feeds_is_not_guessed(call: str, reads: int, gap: str) -> None:
    wrappers = "".join(map(ASM.format, (32, 64, 128)))
    kernel = CODE[: CODE.index("    asm")].replace("__global__", wrappers + "__global__")
    report = check_text(MAPS + kernel + f"    {call}\n  }}\n}}\n")
    assert (report.steps, report.findings) == (reads, ())
    assert [checked.gap for checked in report.checked] == [gap, gap]
    without_maps = check_text(f"{kernel}    {call}\n  }}\n}}\n").open
    named = {point.message.partition(" is not verified")[0].partition(" of ")[2] for point in without_maps}
    assert named == {gap or "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"}


SIZED = """struct Sizes {{ int m, k; }};
__global__ void gemm(float* out, Sizes size, int rows) {{}}
void run(float* out, int M, int K, int pitch) {{
  cudaMemset2D(out, pitch, 0, K, M);
  {};
}}
"""


@for_each(
    "launch",
    ["gemm<<<M / 64, 128>>>(out, Sizes{M, K}, M)", "Sizes s; s.m = M; s.k = K; gemm<<<M / 64, 128>>>(out, s, M)"],
)
def test_integers_in_structs_are_arguments(launch: str) -> None:
    """cudaMemset2D changes none of its arguments."""
    [record] = evaluate_text(SIZED.format(launch)).launches
    assert [(n, name, str(value)) for n, name, value in record.members] == [(1, "m", "M"), (1, "k", "K")]
    assert str(record.arguments[2]) == "M"


def test_a_grid_is_computed_from_members_of_other_dimensions() -> None:
    text = """#include <cute/tensor.hpp>
dim3 cluster(2);
dim3 grid(cute::round_up(129, cluster.x), 6 / cluster.y);
"""
    scope = Scope()
    for name, statement in [(one.name, one) for one in parse_program(text, ())[0] if hasattr(one, "arguments")]:
        scope.names[name] = LaterValue(statement)
    assert read_sizes(KernelRunner(text, 32, (32, 1, 1), scope), parse_expression("grid"), scope) == (130, 6)


LEAF = """template <class T> __global__ void kernel(T* a, int n) { a[0] = n; }
template <class T> void leaf(T* a, int n) { kernel<T><<<n, 128>>>(a, n); }
template <class T> void test(void (*f)(T*, int), int n) { T* a; f(a, n); }
int main() { test<half>(leaf, 4); }
"""


def test_a_template_that_is_passed_as_a_pointer_has_the_types_of_its_arguments() -> None:
    assert [launch.templates for launch in evaluate_text(LEAF).launches] == [("half",)]
    # a number is converted to the parameter's type, so that it does not tell this
    open_ = LEAF.replace("T* a, int n) { kernel", "T a, int n) { kernel")
    assert ("half",) not in [launch.templates for launch in evaluate_text(open_).launches]
