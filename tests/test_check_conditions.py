"""Macros that conditions test and nothing defines: the text is checked as nvcc compiles it, without them."""

from __future__ import annotations

import pytest

from lanescope.deadline import omit_when
from lanescope.workbench.check import check_text
from lanescope.workbench.check_report import CheckReport
from tests.transfer_kernels import TMA, plant

SIZES = "constexpr int BM = 64, BN = 128, BK = 64, STAGES = 4;"
STRIDE = "  d |= encode(1024) << 32;\n"
FEWER = SIZES.replace("STAGES = 4", "STAGES = 2")
DEBUG = plant((SIZES, f"#ifdef DEBUG\n{FEWER}\n#else\n{SIZES}\n#endif"))


def put_stride(defined: int, undefined: int) -> str:
    """Return the kernel with a stride for either variant."""
    strides = [STRIDE.replace("1024", str(stride)) for stride in (defined, undefined)]
    return plant((STRIDE, f"#ifdef DEBUG\n{strides[0]}#else\n{strides[1]}#endif\n"), text=DEBUG)


def list_notes(report: CheckReport) -> list[str]:
    return [point.message for point in report.open]


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("#ifdef DEBUG", ("DEBUG",)),
        ("#if LEVEL > 1", ("LEVEL",)),
        ("#if defined(PROFILE) || DEPTH == 2", ("PROFILE", "DEPTH")),
    ],
)
def test_reads_are_verified_with_the_macros_undefined(condition: str, names: tuple[str, ...]) -> None:
    report = check_text(DEBUG.replace("#ifdef DEBUG", condition))
    assert report.steps == 24 and not report.findings and not report.unverified
    assert [point.needs for point in report.open] == [names]
    assert f"with {' and '.join(names)} undefined" in list_notes(report)[0]


def test_a_given_macro_needs_no_note() -> None:
    report = check_text(DEBUG, {"macro.DEBUG": "1"})
    assert report.steps == 24 and not report.open


def test_a_mistake_of_both_variants_is_found() -> None:
    (finding,) = check_text(DEBUG.replace(STRIDE, STRIDE.replace("1024", "512"))).findings
    assert finding.code == "sbo_other_width"


def test_a_mistake_where_a_level_is_low_is_a_note() -> None:
    """A condition that compares: defining the macro does not decide it, so all variants are compared together."""
    report = check_text(put_stride(1024, 512).replace("#ifdef DEBUG", "#if LEVEL > 1"))
    assert not report.findings and any(note.startswith("With LEVEL undefined: A of") for note in list_notes(report))


def test_a_mistake_of_one_variant_is_a_note() -> None:
    report = check_text(put_stride(1024, 512))
    assert not report.findings and {one.gap for one in report.checked} == {"depends on DEBUG"}
    assert any(note.startswith("With DEBUG undefined: A of") for note in list_notes(report))
    assert [one.code for one in check_text(put_stride(512, 1024), {"macro.DEBUG": "1"}).findings] == ["sbo_other_width"]


PRINTED = '\n#ifdef DEBUG\n  { uint64_t word = make_desc(sA); printf("%llx", word); }\n#endif\n'


def test_a_missing_fence_is_found_beside_code_that_only_a_macro_adds() -> None:
    call = "warpgroup_arrive();"
    assert call in DEBUG.split("__global__", 1)[1]
    start = DEBUG.index(call, DEBUG.index("__global__"))
    printed = DEBUG[:start] + call + PRINTED + DEBUG[start + len(call) :]
    without = DEBUG[:start] + PRINTED + DEBUG[start + len(call) :]
    assert not check_text(printed).findings
    assert [finding.code for finding in check_text(without).findings] == ["wgmma_fence_missing"]


def test_code_that_stands_only_where_a_macro_is_defined_is_checked() -> None:
    wrong = TMA.replace(STRIDE, STRIDE.replace("1024", "512"))
    at = wrong.index("__global__")
    (finding,) = check_text(f"{wrong[:at]}#ifdef WITH_WGMMA\n{wrong[at:]}#endif\n").findings
    assert finding.code == "sbo_other_width"


def test_a_mistake_that_is_not_confirmed_in_time_is_a_note() -> None:
    with omit_when(lambda: True):
        report = check_text(DEBUG.replace(STRIDE, STRIDE.replace("1024", "512")))
    assert not report.findings and any(note.startswith("With DEBUG undefined: A of") for note in list_notes(report))
