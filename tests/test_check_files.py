"""`lanescope check` over files and folders: which are read, what the command prints and returns, SARIF, the hook."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from lanescope.app.check import checking, facts, sarif
from tests.test_check import RIGHT, plant_mistake

ROOT = Path(__file__).parents[1]


def make_folder(tmp_path: Path) -> Path:
    (tmp_path / "src" / ".hidden").mkdir(parents=True)
    (tmp_path / "src" / "right.cu").write_text(RIGHT)
    (tmp_path / "src" / "wrong.cuh").write_bytes(plant_mistake("sB + k * 16", "sB").replace("\n", "\r\n").encode())
    (tmp_path / "src" / "notes.md").write_text(plant_mistake("sB + k * 16", "sB"))
    (tmp_path / "src" / ".hidden" / "x.cu").write_text(plant_mistake("sB + k * 16", "sB"))
    (tmp_path / "src" / "blob.c").write_bytes(b"\0\1\2")
    (tmp_path / "src" / "long.py").write_text("x = 1\n" * 400_000)
    return tmp_path / "src"


def test_a_folder_is_read_by_its_endings(tmp_path: Path) -> None:
    told = checking.check_files(facts.find_sources([str(make_folder(tmp_path))]))
    assert told.files == 4 and [one.code for one in told.findings] == ["k_step_missing"]
    place = told.findings[0].place
    lines = plant_mistake("sB + k * 16", "sB").split("\n")
    assert place.file.endswith("wrong.cuh") and "make_desc(sB)" in lines[place.line - 1]
    assert lines[place.line - 1][place.column - 1 : place.end_column - 1].startswith("make_desc(sB)"[:4])
    assert sorted(Path(one.place.file).name for one in told.open) == ["blob.c", "long.py"]


def test_sarif_has_what_readers_of_it_need(tmp_path: Path) -> None:
    """The main points of SARIF 2.1.0: version, driver, rules by index, levels, regions from 1, notes apart."""
    log = json.loads(
        json.dumps(sarif.build_log(checking.check_files(facts.find_sources([str(make_folder(tmp_path))]))))
    )
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    driver, (result,) = run["tool"]["driver"], run["results"]
    assert driver["name"] and driver["version"] and run["columnKind"] == "unicodeCodePoints"
    rule = driver["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"] == "k_step_missing" and rule["shortDescription"]["text"].endswith(".")
    assert result["level"] in ("error", "warning", "note") and result["message"]["text"]
    where = result["locations"][0]["physicalLocation"]
    region = where["region"]
    assert re.fullmatch(r"(file:///|[^/:]).*wrong\.cuh", where["artifactLocation"]["uri"])
    assert 1 <= region["startLine"] <= region["endLine"] and region["startColumn"] >= 1
    assert (region["startLine"], region["startColumn"]) < (region["endLine"], region["endColumn"])
    assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is True and len(invocation["toolExecutionNotifications"]) == 2
    empty = sarif.build_log(checking.check_files([]))["runs"][0]
    assert empty["results"] == [] and empty["tool"]["driver"]["rules"] == []


def test_the_statuses_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lanescope.app.cli import main

    folder = make_folder(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["lanescope", "check", *words])
        status = 0
        try:
            main()
        except SystemExit as done:
            status = int(done.code or 0)
        out, err = capsys.readouterr()
        shown.append(err)
        return status, out

    shown: list[str] = []
    status, said = run(str(folder / "right.cu"))
    assert status == 0 and said == (
        "1 file: 1 descriptor, 2 tensor maps, 8 reads verified; 0 findings\nthe descriptor has a verdict\n"
    )
    status, said = run(str(folder))
    assert status == 1 and re.search(r"wrong\.cuh:\d+:\d+: error: B of wgmma.*\[k_step_missing\]\n", said)
    assert "blob.c:1:1: note: The file is not text" in shown[-1]
    assert said.endswith("all 2 descriptors have a verdict; 2 files not read: not verified\n")
    status, said = run(str(folder), "--json")
    assert (shown[0], shown[2]) == ("", "")
    assert status == 1 and json.loads(said)["findings"][0]["code"] == "k_step_missing"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run(str(folder), "--json") == (status, said) and "Checking files" in shown.pop()
    run(str(folder / "right.cu"))
    assert shown.pop() == ""
    monkeypatch.undo()
    assert run(str(folder / "none.cu"))[0] == 2 and run(str(folder), "--json", "--sarif")[0] == 2


def test_the_hook_and_the_workflow_name_what_there_is() -> None:
    """The pre-commit hook's command is the verb, its files are the verb's, and the documented workflow runs it."""
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text()
    assert re.search(r"^- id: lanescope$", hook, re.M) and re.search(r"^  entry: lanescope check$", hook, re.M)
    pattern = re.search(r"^  files: (.*)$", hook, re.M)
    assert pattern
    endings = [f"x{one}" for one in facts.ENDINGS - {".txt", ".ptx", ".pyi"}]
    assert all(re.search(pattern[1], name) for name in endings) and not re.search(pattern[1], "README.md")
    guide = (ROOT / "docs" / "check.md").read_text()
    command = next(line for line in guide.splitlines() if "--sarif" in line and "run:" in line)
    assert shlex.split(command.partition("run:")[2])[:2] == ["lanescope", "check"]
    assert "upload-sarif" in guide and "id: lanescope" in guide


@pytest.mark.thorough
def test_a_file_whose_time_is_over_is_named_with_the_line(tmp_path: Path) -> None:
    lines = [f"  desc |= (uint64_t)(s + {n}) << {n % 60};" for n in range(20_000)]
    slow, right = tmp_path / "slow.cu", tmp_path / "right.cu"
    slow.write_text("\n".join(["uint64_t f(uint32_t s) {", "  uint64_t desc = 0;", *lines, "  return desc; }"]))
    right.write_text(RIGHT)
    told = checking.check_files([slow, right], seconds=0.3)
    (left,) = [one for one in told.open if one.place.file.endswith("slow.cu")]
    reached = f"The file is not checked: 0.3 s did not suffice to read beyond line {left.place.line}. "
    assert left.message == f"{reached}Try `lanescope check {slow}`."
    assert told.files == 2 and told.descriptors, "the next file is checked"


@pytest.mark.thorough
def test_the_line_at_which_the_time_is_over_is_one_of_its_own_file(tmp_path: Path) -> None:
    """The text that is checked has the lines of the includes before it."""
    (tmp_path / "long.cuh").write_text("\n" * 900)
    lines = [f"  desc |= (uint64_t)(s + {n}) << {n % 60};" for n in range(20_000)]
    head = ['#include "long.cuh"', "uint64_t f(uint32_t s) {", "  uint64_t desc = 0;"]
    (tmp_path / "slow.cu").write_text("\n".join([*head, *lines, "  return desc; }"]))
    (left,) = checking.check_files([tmp_path / "slow.cu"], seconds=0.3).open
    assert f"beyond line {left.place.line}. " in left.message
