"""Macros that conditions test and nothing defines: the text is checked as nvcc compiles it, without them."""

from __future__ import annotations

from lanescope.deadline import omit_when
from lanescope.workbench.check import check_text
from lanescope.workbench.check_report import CheckReport
from lanescope.workbench.source.missing_includes import find_possible_definers
from tests.cases import for_each
from tests.transfer_kernels import plant
from tests.workbench_cases import CASES

KERNEL = next(case.text for case in CASES if case.title == "K-major, 128B, all right")
STRIDE = "  d |= (uint64_t)enc(1024) << 32;\n"
PLACE = "  half* sB = smem + 64 * 64;\n"
FARTHER = PLACE.replace("64 * 64", "128 * 64")
DEBUG = plant((PLACE, f"#ifdef DEBUG\n{FARTHER}#else\n{PLACE}#endif\n"), text=KERNEL)


def put_stride(defined: int, undefined: int) -> str:
    """Return the kernel with a stride for either variant."""
    strides = [STRIDE.replace("1024", str(stride)) for stride in (defined, undefined)]
    return plant((STRIDE, f"#ifdef DEBUG\n{strides[0]}#else\n{strides[1]}#endif\n"), text=DEBUG)


def list_notes(report: CheckReport) -> list[str]:
    return [point.message for point in report.open]


@for_each(
    ("condition", "names"),
    [
        ("#ifdef DEBUG", ("DEBUG",)),
        ("#if defined(PROFILE) || DEPTH == 2", ("PROFILE", "DEPTH")),
    ],
)
def test_reads_are_verified_with_the_macros_undefined(condition: str, names: tuple[str, ...]) -> None:
    report = check_text(DEBUG.replace("#ifdef DEBUG", condition))
    assert report.steps == 8 and not report.findings and not report.unverified
    assert [point.needs for point in report.open] == [names]
    assert f"with {' and '.join(names)} undefined" in list_notes(report)[0]


def test_a_given_macro_needs_no_note() -> None:
    report = check_text(DEBUG, {"macro.DEBUG": "1"})
    assert report.steps == 8 and not report.open


def test_a_mistake_of_both_variants_is_found() -> None:
    (finding,) = check_text(DEBUG.replace(STRIDE, STRIDE.replace("1024", "512"))).findings
    assert finding.code == "sbo_other_width"


def test_a_mistake_of_the_default_is_found_though_another_variant_is_right() -> None:
    """A condition that compares: 0 is not greater than 1."""
    (finding,) = check_text(put_stride(1024, 512).replace("#ifdef DEBUG", "#if LEVEL > 1")).findings
    assert finding.code == "sbo_other_width"


def test_a_mistake_of_another_variant_is_a_note_with_its_definition() -> None:
    report = check_text(put_stride(512, 1024))
    assert not report.findings and report.steps == 8
    assert any(note.startswith("With -D DEBUG: A of") for note in list_notes(report))
    assert [one.code for one in check_text(put_stride(512, 1024), {"macro.DEBUG": "1"}).findings] == ["sbo_other_width"]


def test_a_file_that_is_not_found_may_define_the_macro() -> None:
    report = check_text('#include "config.h"\n' + put_stride(1024, 512))
    assert not report.findings and {one.gap for one in report.checked} == {"depends on DEBUG"}
    (note,) = (note for note in list_notes(report) if note.startswith("With DEBUG undefined: A of"))
    assert "config.h, which is not found, may define DEBUG" in note


@for_each("header", ["<cuda_bf16.h>", "<vector>", "<stdint.h>", "<cuda/barrier>", '"cutlass/cutlass.h"'])
def test_known_headers_do_not_define_the_macro(header: str) -> None:
    assert find_possible_definers(f"#include {header}\n#ifdef DEBUG\n#endif\n", ["DEBUG"]) == {}


def test_a_header_or_the_compiler_may_define_names_of_its_own() -> None:
    text = '#include "cutlass/cutlass.h"\n#if defined(CUTLASS_DEBUG) || defined(__GNUC__)\n#endif\n#include "late.h"\n'
    definers = find_possible_definers(text, ["CUTLASS_DEBUG", "__GNUC__"])
    assert definers == {"CUTLASS_DEBUG": "cutlass/cutlass.h", "__GNUC__": "the compiler"}


def test_code_that_stands_only_where_a_macro_is_defined_is_checked() -> None:
    wrong = KERNEL.replace(STRIDE, STRIDE.replace("1024", "512"))
    at = wrong.index("__global__")
    report = check_text(f"{wrong[:at]}#ifdef WITH_WGMMA\n{wrong[at:]}#endif\n")
    assert not report.findings and any(note.startswith("With -D WITH_WGMMA: A of") for note in list_notes(report))


def test_a_mistake_that_is_not_confirmed_in_time_is_a_note_where_a_file_is_missing() -> None:
    with omit_when(lambda: True):
        report = check_text('#include "config.h"\n' + DEBUG.replace(STRIDE, STRIDE.replace("1024", "512")))
    assert not report.findings and any(note.startswith("With DEBUG undefined: A of") for note in list_notes(report))


def test_a_line_that_every_variant_compiles_needs_no_confirmation() -> None:
    head = f'#include "config.h"\n#ifdef FAST\n{RIGHT}\n#endif\n'
    with omit_when(lambda: True):
        findings = check_text(wrap_code(head + WRONG)).findings
    assert [finding.code for finding in findings] == ["ptxas_refuses"]


def test_without_the_macro_that_an_error_asks_for_nothing_is_compiled() -> None:
    text = wrap_code(f"#ifndef TILE\n#error define TILE\n#endif\n{WRONG}")
    assert [finding.code for finding in check_text(text).findings] == ["ptxas_refuses"]


# lines of PTX that ptxas refuses --------------------------------------------------------------------------------------

RIGHT = 'asm volatile("wgmma.fence.sync.aligned;\\n" ::: "memory");'
WRONG = 'asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(at));'


def wrap_code(code: str) -> str:
    """Return a function with some code."""
    return f"__device__ void load(unsigned r, unsigned at) {{\n{code}\n}}\n"


@for_each(
    "name,code",
    [
        ("#if 0", f"#if 0\n{WRONG}\n#endif"),
        ("#if 0 with an #else", f"#if 0\n{WRONG}\n#else\n{RIGHT}\n#endif"),
        ("the #else of #if 1", f"#if 1\n{RIGHT}\n#else\n{WRONG}\n#endif"),
        ("an undefined macro", f"#undef FAST\n#ifdef FAST\n{WRONG}\n#endif"),
        ("a macro that is 0", f"#define FAST 0\n#if FAST\n{WRONG}\n#endif"),
        ("the wrong branches of a chain", f"#define V 2\n#if V > 2\n{WRONG}\n#elif V == 2\n#else\n{WRONG}\n#endif"),
        ("a condition inside #if 0", f"#if 0\n#ifdef X\n{WRONG}\n#else\n{WRONG}\n#endif\n{WRONG}\n#endif"),
        ("a conjunction with 0", f"#if defined(FAST) && 0\n{WRONG}\n#endif"),
        ("a contradiction", f"#ifdef FAST\n#ifndef FAST\n{WRONG}\n#endif\n#endif"),
        ("a macro that only #if 0 uses", f"#define LOAD {WRONG}\n#if 0\nLOAD\n#endif"),
        ("a false block", f"if (false) {{ {WRONG} }}"),
        ("a false block in another", f"if (0) {{ if (false) {{ {WRONG} }} {WRONG} }} {RIGHT}"),
        ("a false statement", f"if (false) {WRONG} else {{ {RIGHT} }}"),
        ("a false conjunction", f"if (false && (at > 0)) {{ {WRONG} }}"),
        ("a macro of C++ code", f"#define FAST false\nif constexpr (FAST) {{ {WRONG} }}"),
        ("a constant", f"constexpr bool kFast = false;\nif constexpr (kFast) {{ {WRONG} }}"),
        ("a number", f"constexpr int LEVEL = 2;\nif constexpr (LEVEL > 2) {{ {WRONG} }}"),
        ("a negation", f"if (!true) {{ {WRONG} }}"),
        ("the else of a true block", f"if constexpr (true) {{ {RIGHT} }} else {{ {WRONG} }}"),
        ("the else of a true statement", f"if (1) {RIGHT} else if (at > 0) {{ {WRONG} }} else {WRONG}"),
        ("a loop that never runs", f"while (false) {{ {WRONG} }}"),
    ],
)
def test_code_that_is_never_compiled_has_no_mistakes(name: str, code: str) -> None:
    assert not check_text(wrap_code(code)).findings


@for_each(
    "name,code",
    [
        ("the #else of #if 0", f"#if 0\n{RIGHT}\n#else\n{WRONG}\n#endif"),
        ("#if 0 in a comment", f"/*\n#if 0\n*/\n{WRONG}\n/*\n#endif\n*/"),
        ("#if 0 in a raw string", f'const char* s = R"(\n#if 0\n)";\n{WRONG}\nconst char* e = R"(\n#endif\n)";'),
        ("another device", f"#if __CUDA_ARCH__ >= 900\n{RIGHT}\n#else\n{WRONG}\n#endif"),
        ("an undefined macro", f"#ifndef FAST\n{WRONG}\n#endif"),
        ("a macro that is used", f"#define LOAD {WRONG}\nLOAD\n#if 0\nLOAD\n#endif"),
        ("a macro that another file may use", f"#define LOAD {WRONG}"),
        ("a label in a false block", f"goto HERE;\nif (0) {{\nHERE:\n{WRONG} }}"),
        ("a block behind a loop that runs once", f"do {{ {RIGHT} }} while (0);\n{{ {WRONG} }}"),
        (
            "a number of two structs",
            f"struct A {{ static constexpr int N = 1; }};\nstruct B {{ static constexpr int N = 0; }};\n"
            f"if constexpr (A::N) {{ {WRONG} }}",
        ),
        *(
            (
                f"a parameter named like a constant: {kind}",
                f"}}\nconstexpr int fast = 0;\n__device__ void f({kind} fast,"
                f" int r, int at) {{ if (fast) {{ {WRONG} }}",
            )
            for kind in ("bool", "uint32_t", "unsigned long", "const bool&", "Flags<2>")
        ),
        ("a choice that begins with 0", f"if (0 && r ? at : 1) {{ {WRONG} }}"),
        ("a list that begins with 0", f"if (0 && r, 1) {{ {WRONG} }}"),
        (
            "a template parameter",
            f"}}\ntemplate <bool kFast> __device__ void f(int r, int at) {{ if (kFast) {{ {WRONG} }}",
        ),
    ],
)
def test_code_that_is_compiled_is_checked(name: str, code: str) -> None:
    assert [finding.code for finding in check_text(wrap_code(code)).findings] == ["ptxas_refuses"]


@for_each(
    "name,code,head",
    [
        ("#ifdef", f"#ifdef FAST\n{WRONG}\n#endif", "With -D FAST:"),
        ("the second of two", f"#ifdef A\n{RIGHT}\n#elif defined(B)\n{WRONG}\n#endif", "With -D B:"),
        ("a level", f"#if LEVEL == 3\n{WRONG}\n#else\n{RIGHT}\n#endif", "With -D LEVEL=3:"),
        ("both of two", f"#if defined(A) && defined(B)\n{WRONG}\n#endif", "With -D A and -D B:"),
        ("a default", f"#ifndef FAST\n#define FAST 1\n#endif\n#if !FAST\n{WRONG}\n#endif", "With -D FAST=0:"),
    ],
)
def test_a_note_gives_the_definition_that_compiles_the_mistake(name: str, code: str, head: str) -> None:
    report = check_text(wrap_code(code))
    assert not report.findings and any(note.startswith(head) for note in list_notes(report))


def test_a_target_decides_conditions_on_the_device() -> None:
    code = wrap_code(f"#if __CUDA_ARCH__ >= 900\n{RIGHT}\n#else\n{WRONG}\n#endif")
    assert not check_text(code, target="sm_90a").findings
    assert check_text(code, target="sm_80").findings
