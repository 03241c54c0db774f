"""What `lanescope check` follows and accepts: headers, given values, comments, baselines, settings files, its cache."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from lanescope.app.check import cache, checking, config, defines, headers, running, sarif, suppress
from lanescope.app.check.facts import CheckedSource, CheckReport, SourceSpan, find_sources
from lanescope.app.check.headers import HeaderFinder
from lanescope.app.check.merging import merge_reports
from lanescope.app.check.notes import list_totals
from lanescope.app.check.printing import list_notes
from lanescope.app.check.running import SourceReport, describe_missing
from lanescope.errors import LayoutError
from lanescope.workbench import build_workbench
from lanescope.workbench.fragments.thread_gaps import PITCH_OPEN
from tests.guilty_kernels import CODE, MAP, RIGHT, plant
from tests.sample import take_rows

HELPER, KERNEL = CODE[: CODE.index("__global__")], CODE[CODE.index("__global__") :]
MAPS = MAP.replace("gmem_a", "A") + MAP.replace("gmem_a", "B").replace("tma_a", "tma_b").replace("box", "box_b")
WRONG = HELPER.replace("(1024 >>", "(512 >>")


def write_files(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_cuh", ".cuh").replace("_cu", ".cu")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def check(*names: str, include: tuple[str, ...] = (), define: tuple[str, ...] = ()) -> CheckReport:
    finder = HeaderFinder(include)
    made = checking.join_sources(find_sources(names), finder, defines.parse_defines(define), 3600)
    return suppress.apply_comments(merge_reports(checking.run_jobs(made.jobs)), made.texts)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# headers --------------------------------------------------------------------------------------------------------------


def test_a_header_beside_a_file_is_followed_though_it_was_not_named(tmp_path: Path) -> None:
    write_files(tmp_path, a_cu='#include "util.cuh"\n' + MAPS + KERNEL, util_cuh="#pragma once\n" + HELPER)
    report = check("a.cu")
    assert (report.verified, report.findings, report.gaps) == (8, [], {})
    assert report.sources[0].included == ["util.cuh"]


@pytest.mark.parametrize("line", ['#include "lib/util.cuh"', "#include <lib/util.cuh>"])
def test_a_header_in_an_include_folder_is_followed(tmp_path: Path, line: str) -> None:
    """The mistake stands in the header and is reported there, once, whichever files include it."""
    text = f"{line}\n{MAPS}{KERNEL}"
    write_files(tmp_path, src__a_cu=text, src__b_cu=text, inc__lib__util_cuh="// a helper\n" + WRONG)
    assert check("src").verified == 0
    report = check("src", include=("inc",))
    (finding,) = report.findings
    line_number = 2 + WRONG[: WRONG.index("512")].count("\n")
    assert (finding.place.file, finding.place.line, finding.code) == (
        "inc/lib/util.cuh",
        line_number,
        "sbo_other_width",
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("lib/src/a.cu", '#include "detail/util.cuh"'),  # lib/detail/util.cuh
        ("lib/include/lib/impls/a.cu", "#include <lib/util.cuh>"),  # lib/include/lib/util.cuh
        ("lib/src/sm90/a.cu", "#include <lib/util.cuh>"),  # lib/include/lib/util.cuh
    ],
)
def test_a_header_in_the_folders_of_the_repository_around_a_file_is_followed(
    tmp_path: Path, name: str, line: str
) -> None:
    """As a build with -I of those folders follows it: the nearest folder first, and nothing outside the repository."""
    write_files(tmp_path, lib__detail__util_cuh=HELPER, lib__include__lib__util_cuh=HELPER)
    write_files(tmp_path, detail__util_cuh=WRONG, include__lib__util_cuh=WRONG)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(f"{line}\n{MAPS}{KERNEL}")
    report = check(name)
    assert (report.verified, report.findings) == (8, [])
    (tmp_path / name).parent.joinpath(".git").mkdir()
    assert check(name).verified == 0


def test_compile_commands_name_folders_and_macros(tmp_path: Path) -> None:
    text = MAPS + KERNEL.replace("64 / 16", "STEPS")
    write_files(tmp_path, src__a_cu='#include "util.cuh"\n' + text, inc__util_cuh=HELPER)
    entry = {"directory": str(tmp_path / "build"), "file": "../src/a.cu", "command": "nvcc -I../inc -DSTEPS=4 -c"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    finder = HeaderFinder((), headers.read_commands("."))
    made = checking.join_sources(find_sources(["src"]), finder, {}, 3600)
    assert merge_reports(checking.run_jobs(made.jobs)).verified == 8
    (tmp_path / "compile_commands.json").write_text("{")
    with pytest.raises(LayoutError, match="is not a compile_commands"):
        headers.read_commands(".")


def test_a_header_tells_by_itself_only_what_no_file_that_includes_it_tells(tmp_path: Path) -> None:
    """Its builder is read by the kernel: that nothing in the header reads it is not worth a note."""
    write_files(tmp_path, util_cuh=HELPER)
    alone = check(".")
    assert alone.gaps == {"read by no instruction": 1} and alone.open
    write_files(tmp_path, a_cu='#include "util.cuh"\n' + MAPS + KERNEL)
    report = check(".")
    assert (report.files, report.descriptors, report.verified, report.open) == (2, 2, 8, [])
    assert list(list_totals(report))[-1] == "all 2 descriptors have a verdict"


def test_instructions_of_a_header_are_those_of_the_file_that_includes_it(tmp_path: Path) -> None:
    """Alone, it multiplies without a descriptor; the file that includes it has the descriptors."""
    start, past = KERNEL.index("asm volatile"), KERNEL.index(");", KERNEL.index('"l"(desc_b)')) + 2
    multiply = f"__device__ void multiply(float* acc, uint64_t desc_a, uint64_t desc_b) {{ {KERNEL[start:past]} }}"
    write_files(tmp_path, mma_cuh=multiply)
    assert any("nothing was verified" in note for note in list_notes(check(".")))
    kernel = f"{KERNEL[:start]}multiply(acc, desc_a, desc_b);{KERNEL[past:]}"
    write_files(tmp_path, a_cu='#include "mma.cuh"\n' + HELPER + MAPS + kernel)
    assert check(".").verified == 8
    assert not list(list_notes(check(".")))


UNUSED = """__device__ uint64_t make_other_desc(void* p) { return make_inner_desc(p) | 1ull << 62; }
__device__ uint64_t make_inner_desc(void* p) { return (__cvta_generic_to_shared(p) & 0x3FFFF) >> 4; }
struct Other { __device__ uint64_t make_desc(void* p) { return make_inner_desc(p) | 64ull << 32; } };
"""


@pytest.mark.parametrize(
    ("own", "count"),
    [
        ("", 2),
        ("uint64_t mine(void* p) { return make_other_desc(p); }", 3),
        ("#define USE(p) Other().make_desc(p)\n", 3),
    ],
)
def test_helpers_of_a_header_that_nothing_calls_are_not_run_alone(tmp_path: Path, own: str, count: int) -> None:
    write_files(tmp_path, a_cu=f'#include "util.cuh"\n{own}{MAPS}{KERNEL}', inc__util_cuh=HELPER + UNUSED)
    report = check("a.cu", include=("inc",))
    assert (report.verified, report.descriptors, report.findings) == (8, count, [])
    assert check("inc").descriptors > 2, "the header by itself is checked whole"


def test_what_is_missing_is_said_in_one_line(tmp_path: Path) -> None:
    write_files(tmp_path, a_cu='#include "gone.cuh"\n' + MAPS + KERNEL, b_cu=HELPER + KERNEL)
    report = check(".")
    assert list(list_totals(report))[-1] == (
        "3 of 3 descriptors not verified: 2 without a storage, 1 built by make_smem_desc, whose code is not in the text"
    )
    notes = "\n".join(list_notes(report))
    assert "a.cu: note:" in notes and "Give its include gone.cuh (-I)." in notes
    atoms = "cute/arch/mma_sm100_umma.hpp"
    write_files(tmp_path, a_cu=f"#include <cute/tensor.hpp>\n#include <{atoms}>\n" + MAPS + KERNEL)
    report = check("a.cu")
    assert f"Give its include {atoms} (-I)." in "\n".join(list_notes(report))
    of_pitch = dataclasses.replace(
        report.sources[0], gaps={}, kernel_gaps={f"{PITCH_OPEN}A is not determined": 1}, kernels=1
    )
    assert describe_missing(of_pitch).endswith("A is not determined."), "no header has it"
    write_files(tmp_path, a_cu='#include "mma.h"\n' + MAPS + KERNEL)
    assert "Give its include mma.h (-I)." in "\n".join(list_notes(check("a.cu")))
    write_files(tmp_path, a_cu='#include "mma.h"\nusing namespace nvcuda;\n' + MAPS + KERNEL)
    assert "its include" not in "\n".join(list_notes(check("a.cu"))), "a header of CUDA"


ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("name", "reads"), take_rows([("wgmma_tma_k_major", 16), ("wgmma_mn_major_b", 8), ("wgmma_fp8_a_registers", 8)], 2)
)
def test_our_own_kernels_are_verified_through_their_headers(
    monkeypatch: pytest.MonkeyPatch, name: str, reads: int
) -> None:
    """hopper.cuh has the descriptor and the wgmma, host.h the tensor map behind a driver entry point."""
    monkeypatch.chdir(ROOT / "examples")
    report = check(f"{name}.cu")
    assert (report.verified, report.findings, report.gaps) == (reads, [], {})


def test_a_pointer_that_a_call_may_set_is_not_null_behind_it(tmp_path: Path) -> None:
    """The driver's entry point is asked for by its name; without one the function returns before it makes the map."""
    guarded = """void maps() {
  void* encode = nullptr;
  cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &encode, 0, &found);
  if (!encode) return;
"""
    call = "reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)"
    text = guarded + MAPS.replace("cuTensorMapEncodeTiled(", f"{call}(") + "}\n" + HELPER + KERNEL
    write_files(tmp_path, a_cu=text)
    report = check("a.cu")
    assert (report.tensor_maps, report.verified, report.findings) == (2, 8, [])


# given values ---------------------------------------------------------------------------------------------------------

TEMPLATE = RIGHT.replace("__global__ void gemm", "template <int BK> __global__ void gemm").replace(
    "sA + k * 16", "sA + k * BK"
)


@pytest.mark.parametrize(("value", "codes"), take_rows([("16", []), ("0x10", []), ("32", ["element_size"])], 2))
def test_a_value_that_a_note_names_can_be_given(tmp_path: Path, value: str, codes: list[str]) -> None:
    write_files(tmp_path, a_cu=TEMPLATE)
    report = check("a.cu")
    assert any("depends on BK" in gap for gap in report.gaps)
    assert any("-D BK=VALUE" in note for note in list_notes(report))
    given = check("a.cu", define=(f"BK={value}",))
    assert not any("BK" in gap for gap in given.gaps)
    assert [finding.code for finding in given.findings] == codes


def test_a_given_value_leaves_the_text_s_own_alone(tmp_path: Path) -> None:
    """A constant that the text defines is not changed by -D, and neither is a shadowing variable."""
    write_files(tmp_path, a_cu="constexpr int BK = 16;\n" + RIGHT.replace("sA + k * 16", "sA + k * BK"))
    assert check("a.cu", define=("BK=32",)).findings == check("a.cu").findings == []


# what is accepted -----------------------------------------------------------------------------------------------------

CALL = plant(("make_smem_desc(sB + k * 16)", "make_smem_desc(sB)"), ("(1024 >> 4) << 32", "(512 >> 4) << 32"))


def test_a_comment_accepts_the_finding_beside_it(tmp_path: Path) -> None:
    line = "  d |= (uint64_t)(512 >> 4) << 32;"
    assert line in CALL
    write_files(tmp_path, a_cu=CALL)
    (finding,) = [one for one in check("a.cu").findings if one.code == "sbo_other_width"]
    for accepted in (
        f"{line}  // lanescope: ignore[sbo_other_width] a test's plant",
        f"  // lanescope: ignore[sbo_other_width] a test's plant\n{line}",
        f"{line}  // lanescope: ignore",
    ):
        write_files(tmp_path, a_cu=CALL.replace(line, accepted))
        report = check("a.cu")
        assert finding.code not in {one.code for one in report.findings}
        assert [one.finding.code for one in report.suppressed] == [finding.code]
    write_files(tmp_path, a_cu=CALL.replace(line, f"{line}  // lanescope: ignore[k_step_missing]"))
    report = check("a.cu")
    assert finding.code in {one.code for one in report.findings}
    assert any("accepts no finding" in one.message for one in report.open)


def test_a_baseline_accepts_what_it_has_and_nothing_new(tmp_path: Path) -> None:
    write_files(tmp_path, a_cu=CALL)
    report = check("a.cu")
    assert suppress.write_baseline(report, tmp_path / "known.json") == len(report.findings) > 0
    assert suppress.apply_baseline(report, tmp_path / "known.json").findings == []
    write_files(tmp_path, a_cu="\n\n" + CALL, b_cu=CALL)  # moved lines are the same finding, another file is not
    left = suppress.apply_baseline(check("."), tmp_path / "known.json")
    assert {one.place.file for one in left.findings} == {"b.cu"}
    with pytest.raises(LayoutError, match="is not a baseline"):
        suppress.apply_baseline(report, tmp_path / "a.cu")


def test_codes_are_selected_and_ignored(tmp_path: Path) -> None:
    write_files(tmp_path, a_cu=CALL)
    report, code = check("a.cu"), frozenset(["sbo_other_width"])
    assert {one.code for one in suppress.select_codes(report, code, frozenset()).findings} == code
    assert code.isdisjoint(one.code for one in suppress.select_codes(report, frozenset(), code).findings)
    with pytest.raises(LayoutError):
        suppress.parse_codes(["no_such_code"], "select")


# settings -------------------------------------------------------------------------------------------------------------


def test_settings_stand_in_a_file_and_the_command_adds_to_them(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.lanescope]\ninclude = ["inc"]\ndefine = {BK = 16}\nfail-on = "warning"\nignore = ["sbo_unusual"]\n'
    )
    (tmp_path / "deep").mkdir()
    found = config.find_settings(tmp_path / "deep")
    assert (found.include, found.define, found.fail_on) == (("inc",), ("BK=16",), "warning")
    more = found.override(include=["more"], ignore=["tma_box"], fail_on=None)
    assert (more.include, more.ignore, more.fail_on) == (("inc", "more"), ("tma_box",), "warning")
    (tmp_path / "lanescope.toml").write_text('jobs = "many"')
    with pytest.raises(LayoutError, match="jobs is 'many'"):
        config.find_settings(tmp_path)
    (tmp_path / "lanescope.toml").write_text("job = 1")
    with pytest.raises(LayoutError, match=r"lanescope\.toml: 'job' is not a setting"):
        config.find_settings(tmp_path)


# the cache ------------------------------------------------------------------------------------------------------------


def test_a_report_for_which_time_was_short_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more time it may say more."""
    write_files(tmp_path, b_cu=RIGHT)
    monkeypatch.setattr(checking, "REPAIRING", 0.0)
    made = checking.join_sources(find_sources(["b.cu"]), HeaderFinder(), {}, 3600, tmp_path / "kept")
    (report,) = checking.run_jobs(made.jobs)
    assert report.source.verified
    assert not list((tmp_path / "kept").rglob("*.json"))


def test_a_search_that_time_has_ended_names_the_command_that_searches_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its time the search moves this mistake, which the read shows, to the number in the text."""
    number = RIGHT.index("1024 >> 4")
    write_files(tmp_path, b_cu=RIGHT[:number] + "1040" + RIGHT[number + 4 :])
    monkeypatch.setattr(running, "REPAIRING", 0.0)
    (report,) = checking.run_jobs(checking.join_sources(find_sources(["b.cu"]), HeaderFinder(), {}, 60).jobs)
    assert report.findings and report.open[-1].place == report.findings[0].place
    assert report.open[-1].message.endswith("stopped after 0 s. Try `lanescope check --seconds 600 b.cu`.")


def test_a_kept_report_is_the_report(tmp_path: Path) -> None:
    write_files(tmp_path, a_cu=CALL, b_cu=RIGHT, c_cu=HELPER)
    folder = tmp_path / "kept"
    made = checking.join_sources(find_sources(["a.cu", "b.cu", "c.cu"]), HeaderFinder(), {}, 3600, folder)
    first = list(checking.run_jobs(made.jobs))
    assert len(list(folder.rglob("*.json"))) == 3
    assert [cache.load_report(folder, cache.make_key(job.source, job.choices)) for job in made.jobs] == first
    assert list(checking.run_jobs(made.jobs, 2)) == first, "several processes tell what one tells"
    keys = {cache.make_key(made.jobs[0].source, given) for given in ({}, {"macro.BK": "16"})}
    assert len(keys) == 2, "another value is another report"


def test_every_code_has_a_row_with_a_wrong_and_a_right_example() -> None:
    rows = sarif.read_rule_rows()
    of_captures = {  # reported for recorded runs and ldmatrix, not for sources
        *("address_not_swizzled matrices_exchanged other_rows pitch_wrong reads_past_recorded".split()),
        *("registers_exchanged registers_wrong slice_not_in_memory".split()),
    }
    assert set(suppress.list_codes()) - of_captures <= set(rows) <= set(suppress.list_codes())
    assert all(row.wrong != row.right for row in rows.values())


def test_a_header_keeps_the_gap_of_the_descriptor_that_no_other_file_reads() -> None:
    """Line 1 is verified in the file that includes the header; line 9 depends on BN and no other file reads it."""
    read, unread = (SourceSpan(file="a.cuh", line=line, column=1, end_line=line, end_column=2) for line in (1, 9))
    header = CheckedSource(
        file="a.cuh",
        lines=9,
        included=[],
        unfound=[],
        descriptors=2,
        tensor_maps=0,
        verified=8,
        gaps={"depends on BN": 1},
        multiplier="",
        target="",
        placed=0,
        kernels=0,
        kernel_gaps={},
    )
    kernel = dataclasses.replace(header, file="k.cu", descriptors=1, gaps={}, included=["a.cuh"])
    merged = merge_reports(
        [
            SourceReport(header, descriptors=((read, ""), (unread, "depends on BN"))),
            SourceReport(kernel, descriptors=((read, ""),), touched=(("a.cuh", 1),)),
        ]
    )
    assert merged.gaps == {"depends on BN": 1} and merged.descriptors == 2


STEP, BOX = KERNEL.replace("k * 16", "k * STEP"), MAPS.replace("{64, 64}", "{BOX, 64}")


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (MAPS + HELPER + STEP, "STEP=16"),  # a macro
        (MAPS + HELPER + STEP.replace("STEP", "Config::kStep"), "Config::kStep=16"),  # a constant of a missing header
        (MAPS + HELPER + STEP.replace("STEP", "p.step").replace("float* out", "Params p"), "p.step=16"),
        (MAPS + HELPER + STEP.replace("STEP", "step").replace("float* out", "int step"), "step=16"),
        (MAPS + HELPER + STEP.replace("STEP", "get_step()"), "get_step=16"),
        (MAPS + HELPER + "template <class T> " + STEP.replace("STEP", "T::kStep"), "T::kStep=16"),
        (MAPS + HELPER + "template <bool Wide> " + STEP.replace("STEP", "(Wide ? 16 : 8)"), "Wide=true"),
        (BOX + HELPER + KERNEL, "BOX=64"),
        (BOX.replace("BOX", "c.bk") + HELPER + KERNEL, "c.bk=64"),
        (
            "void maps(CUtensorMapSwizzle mode) {"
            + MAPS.replace("CU_TENSOR_MAP_SWIZZLE_128B", "mode")
            + "}"
            + HELPER
            + KERNEL,
            "mode=CU_TENSOR_MAP_SWIZZLE_128B",
        ),
    ],
)
def test_an_open_value_is_given_by_the_name_that_the_note_prints(tmp_path: Path, text: str, given: str) -> None:
    write_files(tmp_path, a_cu=text)
    report = check("a.cu")
    assert report.gaps and f"Give -D {given.partition('=')[0]}=VALUE." in "\n".join(list_notes(report))
    report = check("a.cu", define=(given,))
    assert (report.verified, report.gaps, report.findings) == (8, {}, [])


def test_the_page_has_a_field_for_each_name_of_an_open_term() -> None:
    """A value that is a term is given by its names, as -D takes them."""
    text = MAPS + HELPER + "template <bool Wide> " + STEP.replace("STEP", "(Wide ? 16 : 8)")
    asked = {one.key for one in build_workbench(text).assumed if one.missing}
    assert "macro.Wide" in asked
    given = build_workbench(text, {"macro.Wide": "true"})
    assert given.verdict == "match" and not {one.key for one in given.assumed if one.missing}
