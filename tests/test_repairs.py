"""The literal that is guilty: found in a helper, a macro, a constant or an argument, and offered only with a proof."""

from __future__ import annotations

import json
from functools import cache, partial
from pathlib import Path

import pytest

from lanescope.app.read.edits import format_edits, repair_text
from lanescope.errors import LayoutError
from lanescope.workbench import build_workbench
from lanescope.workbench.repair.repairs import apply_edits, combine_edits
from lanescope.workbench.results import TextEdit
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope
from tests.guilty_kernels import KERNELS, MAP, RIGHT, GuiltyKernel, plant
from tests.sample import choose_count
from tests.workbench_cases import CASES

repair_kernel = cache(partial(build_workbench, repair=True))


@for_each("kernel", KERNELS, ids=str, sample=8)
def test_the_guilty_literal_is_found_where_it_stands(kernel: GuiltyKernel) -> None:
    bench = repair_kernel(kernel.text)
    a = bench.operands[0]
    assert a.name == "a" and a.verdict == "mismatch"
    found = [tuple((kernel.text[slice(*edit.span)], edit.text) for edit in repair.edits) for repair in bench.repairs]
    assert found == list(kernel.repairs)
    assert a.place == bench.repairs[0].edits[0].span


@for_each("kernel", KERNELS, ids=str)
def test_with_a_repair_every_word_of_the_loop_is_right_and_undo_brings_the_text_back(kernel: GuiltyKernel) -> None:
    for repair in repair_kernel(kernel.text).repairs:
        after = repair_kernel(apply_edits(kernel.text, repair.edits))
        assert after.operands[0].verdict == "match" and not after.repairs
        assert repair.words == len(after.operands[0].steps) == 4
        fix = format_edits(repair.edits)
        assert fix is not None
        repaired = repair_text(kernel.text, fix)
        assert repaired.text == apply_edits(kernel.text, repair.edits)
        assert repair_text(repaired.before, repaired.fix.rpartition("~")[0]).text == kernel.text
        for mark, edit in zip(repaired.applied, repair.edits, strict=True):
            assert (repaired.text[slice(*mark.span)], mark.before) == (edit.text, kernel.text[slice(*edit.span)])


def test_a_right_kernel_has_nothing_to_repair() -> None:
    bench = build_workbench(RIGHT, repair=True)
    assert bench.operands[0].verdict == "match" and bench.repairs == ()


def test_no_repair_shortens_the_loop_that_it_mends() -> None:
    """With fewer steps the wrong ones would be gone, and the kernel another one."""
    text = plant(("sA + k * 16", "sA + k * 16 + (k == 3) * 8"))
    bench = build_workbench(text, repair=True)
    assert [step.verdict for step in bench.operands[0].steps].count("mismatch") == 1
    assert bench.repairs == ()


def test_both_operands_become_right_where_they_share_the_literal() -> None:
    both = plant(("(1024 >>", "(512 >>")).replace(MAP, MAP + MAP.replace("box", "box_b").replace("_a", "_b"))
    bench = build_workbench(both, repair=True)
    (repair,) = bench.repairs
    assert [bench.operands[at].name for at in repair.operands] == ["a", "b"] and repair.words == 8


def test_every_repair_of_the_known_texts_is_right() -> None:
    repaired = 0
    for case in CASES[:: choose_count(4, 8)]:
        bench = build_workbench(case.text, repair=True, copied=False)
        for repair in bench.repairs[:1]:
            after = build_workbench(apply_edits(case.text, repair.edits), copied=False)
            assert all(after.operands[at].verdict == "match" for at in repair.operands), case.title
            repaired += 1
    assert repaired >= 3


def test_a_repair_may_have_any_text() -> None:
    """What separates edits and repairs in an address is encoded there."""
    new = "f(a, b) % 2 ~ %2C\n"
    assert repair_text("x = 1;", format_edits([TextEdit((4, 5), new)])).text == f"x = {new};"


def test_repairs_follow_one_another_and_unwind_in_turn() -> None:
    text = "a = 512; b = 16;"
    first = repair_text(text, "4-7:1024")
    assert first.text == "a = 1024; b = 16;"
    fix = first.extend([TextEdit((14, 16), "2")])
    assert fix == "4-7:1024~14-16:2"
    second = repair_text(text, fix)
    assert second.text == "a = 1024; b = 2;" and [m.span for m in second.applied] == [(4, 8), (14, 15)]
    back = repair_text(text, second.fix.rpartition("~")[0])
    assert back == first and repair_text(text, back.fix.rpartition("~")[0]).text == text
    before = repair_text(second.text, "0-1:name")
    assert before.text == "name = 1024; b = 2;"
    third = repair_text(text, f"{fix}~0-1:name")
    assert [(third.text[slice(*m.span)], m.before) for m in third.applied] == [
        ("1024", "512"),
        ("2", "16"),
        ("name", "a"),
    ]


@for_each("fix", ["x", "4-7", "7-4:1", "4-99:1", "4-7:1,5-8:2", "4-7:1~", "~", "4-7:1~90-91:2"])
def test_a_fix_that_is_not_of_this_text_is_refused(client: Client, fix: str) -> None:
    with pytest.raises(LayoutError) as refused:
        repair_text("a = 512; b = 16;", fix)
    assert refused.value.field == "fix"
    assert client.get("/read", params={"text": RIGHT, "fix": "4-7"}).status_code == 422


def test_check_and_the_api_tell_the_same_edit(client: Client, tmp_path: Path) -> None:
    kernel = KERNELS[0].text
    file = tmp_path / "kernel.cu"
    file.write_text(kernel)
    report = json.loads(run_lanescope("check", "--json", str(file)).stdout)
    (finding,) = report["findings"]
    (edit,) = finding["edits"]
    (repair,) = client.post("/api/v1/read", json={"text": kernel}).json()["bench"]["repairs"]
    (told,) = repair["edits"]
    assert (edit["text"], edit["place"]["line"], edit["place"]["column"]) == ("1024", told["line"], told["column"])
    assert kernel[told["first"] : told["past"]] == told["before"] == "512" and repair["words"] == 4
    assert (finding["place"]["line"], finding["place"]["column"]) == (told["line"], told["column"])


def test_a_literal_that_gives_two_fields_is_not_changed_in_two_ways_at_once() -> None:
    lbo, sbo, other = (TextEdit((3, 5), "64"), TextEdit((3, 5), "128"), TextEdit((9, 11), "128"))
    assert list(combine_edits([[(lbo,)], [(sbo,), (other,)]])) == [(lbo, other)]
    assert list(combine_edits([[(lbo,)], [(lbo,)]])) == [(lbo,)]  # one edit that both fields need
