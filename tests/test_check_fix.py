"""`check --fix` and `--diff`: repairs are put into the files, nothing else changes, and the next check is clean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanescope.app.check import fixing
from lanescope.app.check.facts import CheckFinding, SourceEdit, SourceSpan
from lanescope.errors import LayoutError
from tests import planted_mistakes
from tests.cases import for_each
from tests.command import run_lanescope
from tests.guilty_kernels import CODE, MAP, RIGHT, plant
from tests.sample import take_sample


def make_finding(*edits: tuple[int, int, int, str], file: str = "a.cu") -> CheckFinding:
    spans = [SourceSpan(file=file, line=line, column=at, end_line=line, end_column=end) for line, at, end, _ in edits]
    made = [SourceEdit(place=span, text=edit[3]) for span, edit in zip(spans, edits, strict=True)]
    return CheckFinding(
        code="x",
        title="",
        level="error",
        message="",
        place=spans[0],
        reads=1,
        fix=None,
        assumed={},
        edits=made,
        follows=[],
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_the_number_changes_and_lines_keep_their_ends(tmp_path: Path, end: str) -> None:
    file = tmp_path / "gemm.cu"
    wrong = plant(("(1024 >>", "(512 >>"))
    file.write_bytes(wrong.replace("\n", end).encode())
    first = run_lanescope("check", str(file), "--no-cache", "--fix")
    assert file.read_bytes() == RIGHT.replace("\n", end).encode()
    assert (first.returncode, "repaired" in first.stderr, "0 findings" in first.stdout) == (0, True, True)


def test_a_repair_in_a_header_is_written_into_the_header(tmp_path: Path) -> None:
    header, source = tmp_path / "desc.cuh", tmp_path / "gemm.cu"
    at = CODE.index("__global__")
    header.write_text(CODE[:at].replace("(1024 >>", "(512 >>"))
    kernel = f'#include "desc.cuh"\n{MAP}{CODE[at:]}'
    source.write_text(kernel)
    run_lanescope("check", str(source), "--no-cache", "--fix")
    assert (header.read_text(), source.read_text()) == (CODE[:at], kernel)


def test_a_diff_is_printed_and_nothing_is_written(tmp_path: Path) -> None:
    file = tmp_path / "gemm.cu"
    file.write_text(plant(("1llu << 62", "2llu << 62")))
    made = run_lanescope("check", str(file), "--no-cache", "--diff")
    assert made.returncode == 1 and file.read_text() == plant(("1llu << 62", "2llu << 62"))
    changed = [line for line in made.stdout.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ["-  d |= 2llu << 62;", "+  d |= 1llu << 62;"]
    file.write_text(RIGHT)
    assert run_lanescope("check", str(file), "--no-cache", "--diff").returncode == 0


def test_an_accepted_finding_is_not_repaired(tmp_path: Path) -> None:
    file = tmp_path / "gemm.cu"
    text = plant(("(1024 >> 4) << 32;", "(512 >> 4) << 32;  // lanescope: ignore[sbo_other_width] on purpose"))
    file.write_text(text)
    run_lanescope("check", str(file), "--no-cache", "--fix")
    assert file.read_text() == text


def test_sarif_has_the_repair_as_a_fix(tmp_path: Path) -> None:
    file = tmp_path / "gemm.cu"
    file.write_text(plant(("(1024 >>", "(512 >>")))
    log = json.loads(run_lanescope("check", str(file), "--no-cache", "--sarif").stdout)
    (result,) = log["runs"][0]["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    region = replacement["deletedRegion"]
    line = file.read_text().split("\n")[region["startLine"] - 1]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "512"
    assert replacement["insertedContent"] == {"text": "1024"}


def test_findings_whose_edits_overlap_are_not_repaired_together() -> None:
    one, two, same = make_finding((1, 5, 8, "1")), make_finding((1, 7, 9, "2")), make_finding((1, 5, 8, "1"))
    apart, lines = make_finding((1, 9, 10, "3")), make_finding((2, 1, 1, "a\nb"))
    assert fixing.choose_findings([one, two, same, apart, lines]) == [one, same, apart]


def test_a_file_that_has_changed_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "gemm.cu"
    file.write_text("a = 2;\n")
    with pytest.raises(LayoutError, match="changed while"):
        fixing.write_changes([fixing.FileChange(file.as_posix(), "a = 1;\n", "a = 3;\n")])
    assert file.read_text() == "a = 2;\n"


def test_two_forms_of_a_fix_are_refused(tmp_path: Path) -> None:
    assert run_lanescope("check", str(tmp_path), "--fix", "--diff").returncode == 2


PLACED = [m for m in planted_mistakes.MISTAKES if "address" in m.what and m.kernel != "wide_depth"] + [
    m for m in planted_mistakes.MISTAKES if m.what in ("bit of the swizzle mode", "version, bits 46 to 48")
]


@for_each("mistake", take_sample(PLACED, 2), ids=lambda mistake: mistake.what, sample=1)
def test_a_number_in_a_helper_is_one_finding_at_the_helper(mistake: planted_mistakes.PlantedMistake) -> None:
    made = planted_mistakes.plant_mistake(mistake)
    assert made.named and len(set(made.codes)) == 1
    assert made.fixed or mistake.what.startswith("version")


@for_each("source", ["(addr / 8) >> 3", "(offset & 0x3FFFF) >> 3"])
def test_what_is_not_an_array_may_be_shifted_by_any_number(source: str) -> None:
    """An amount of another unit: 16-byte units of an offset in halves are offset >> 3."""
    assert "not_shifted" not in planted_mistakes.find_codes(RIGHT.replace("(a & 0x3FFFF) >> 4", source))
