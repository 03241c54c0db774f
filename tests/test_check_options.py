"""Options of `lanescope check` that are wrong or change nothing: each is named, with what is allowed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanescope.app.check import config, defines, sarif
from lanescope.app.check.defines import list_unused, parse_defines
from lanescope.app.check.verbs import app
from lanescope.app.guide.rendering import render_guide_page
from lanescope.errors import LayoutError
from lanescope.workbench.check import check_text
from lanescope.workbench.source import gaps
from tests.cases import for_each
from tests.command import CliRunner
from tests.guilty_kernels import RIGHT
from tests.test_tma_loads import read_kernel


@for_each("word", ["=3", "1X=3", "a b=1", "BK+1=2", "", "BK=", "BK= "])
def test_a_value_without_a_name_or_a_name_without_one_is_refused(word: str) -> None:
    with pytest.raises(LayoutError, match="is not NAME=VALUE"):
        parse_defines([word])


def test_a_name_alone_is_1_as_for_a_compiler() -> None:
    assert parse_defines(["BK=64", "WIDE", "Config::BN = 0x40"]) == {"BK": "64", "WIDE": "1", "Config::BN": "0x40"}


@for_each(
    ("text", "unused"),
    [
        ("template <int BK> void f() {}", []),
        ("template <int BK = 32> void f() {}", []),
        ("void f(int BK) {}", []),
        ("void f() { g(BK); }", []),
        ("#ifndef BK\n#define BK 32\n#endif", []),
        ("constexpr int BM = 64, BK = 32;", ["BK"]),
        ("#define BK 32", ["BK"]),
        ("// BK\nvoid f() {}", ["BK"]),
        ("int BKX = 3;", ["BK"]),
        ("for (int BK = 0; BK < 4; ++BK) f(BK);", ["BK"]),
        ("", ["BK"]),
    ],
)
def test_a_value_is_unused_where_no_file_asks_for_it(text: str, unused: list[str]) -> None:
    """A value that a file gives itself is not changed: the one of -D is unused there."""
    assert list(list_unused(["BK"], [text])) == unused
    assert list(list_unused(["BK"], [text, "void f(int BK) {}"])) == []


@for_each("name", ["int", "sizeof", "uint32_t", "threadIdx.x"])
def test_a_word_that_has_no_value_of_its_own_is_unused(name: str) -> None:
    assert list(list_unused([name], [f"void f(int n) {{ g({name}, n); }}"])) == [name]


@for_each(
    ("name", "text"),
    [
        ("c_0x210", "/*0000*/ ULDC UR8, c[0x0][0x210] ;"),
        ("gemm_param_0", "ld.param.u32 %r1, [gemm_param_0];"),
        ("gemm_param_0_8", "ld.param.u32 %r1, [gemm_param_0+8];"),
        ("r1_2", "ld.shared.u32 %r1, [%r2];"),
    ],
)
def test_a_value_is_used_where_an_assembled_file_spells_it_otherwise(name: str, text: str) -> None:
    assert list(list_unused([name], [text])) == []
    assert list(list_unused([f"x{name}"], [text])) == [f"x{name}"]


def test_a_value_for_a_parameter_that_a_launch_passes_changes_nothing() -> None:
    """A launch that passes the host's own parameter of that name passes the value."""
    launching = read_kernel("one_stage")
    head = "int K, bf16* A, bf16* B, bf16* C) {"
    constant = launching.replace(head, "int, bf16* A, bf16* B, bf16* C) {\n  int K = 512;")
    told = [check_text(text, {"macro.K": "4096"}).open for text in (launching, constant)]
    passed = "-D K changes nothing in gemm: this launch passes K."
    assert [[point.message for point in open_].count(passed) for open_ in told] == [0, 1]


@for_each("value", ["3x", "64q", "0x1g", "0b12", "09", "1''2"])
def test_a_value_that_begins_as_a_number_and_is_none_is_refused(value: str) -> None:
    """As a macro it would break the declaration of a parameter K, and hide what is wrong with its kernel."""
    with pytest.raises(LayoutError, match=f"K is '{value}', which is not a number"):
        parse_defines([f"K={value}"])
    for right in ("64", "0x40", "64u", "1'024", "1e3", "2f", "4_c", "90a", "true", "BK / 2", "float"):
        assert parse_defines([f"K={right}"]) == {"K": right}


def test_the_command_names_what_it_did_not_use(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(RIGHT)
    run = CliRunner().invoke(app, [str(tmp_path), "-D", "NOBODY=3", "--no-cache"])
    assert "note: -D NOBODY changes nothing: no file leaves NOBODY open.\n" in run.stderr and run.exit_code == 0
    report = json.loads(CliRunner().invoke(app, [str(tmp_path), "-D", "NOBODY=3", "--no-cache", "--json"]).stdout)
    assert report["unused"] == ["NOBODY"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("seconds = 0", "seconds is '0', not a number from 0.1 to 86400"),
        ("seconds = true", "seconds is 'true', not a number from 0.1 to 86400"),
        ("jobs = -1", "jobs is '-1', not an integer from 1 to 32"),
        ("jobs = 33", "jobs is '33', not an integer from 1 to 32"),
        ("jobs = 1.5", "jobs is '1.5', not an integer from 1 to 32"),
        ("site = 3", "site is '3', not a text"),
        ('include = "a"', "include is 'a', not a list of texts"),
    ],
)
def test_a_setting_out_of_its_range_is_refused_with_the_range(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "lanescope.toml").write_text(line)
    with pytest.raises(LayoutError) as refused:
        config.find_settings(tmp_path)
    assert said in refused.value.message
    for right in ("seconds = 5", "seconds = 0.5", "jobs = 32"):
        (tmp_path / "lanescope.toml").write_text(right)
        config.find_settings(tmp_path)


def test_each_rule_leads_to_its_own_row_of_the_guide() -> None:
    page = render_guide_page("check-rules")
    for code in sarif.read_rule_rows():
        assert page.count(f'<tr id="{code}">') == 1
    rule = sarif._build_help("sbo_unusual", "https://here/")
    assert rule["helpUri"] == "https://here/guide/check-rules#sbo_unusual"
    assert sarif.link_rule("tma_fill", "https://here/") == "https://here/messages/tensor-map-fill"  # no row there
    assert sarif.link_rule("tma_address", "https://here/") == "https://here/messages#driver"  # two messages
    assert sarif.link_rule("no_such_rule", "https://here/") == "https://here/guide/check-rules"


def test_given_integers_are_also_what_is_left_in_addresses() -> None:
    assert defines.make_choices({"BK": "64", "at": "0x1g", "T": "float"}) == {
        "macro.BK": "64",
        "at.BK": "64",
        "at.BK()": "64",
        "macro.at": "0x1g",
        "macro.T": "float",
    }


def test_an_item_of_an_array_is_named_as_one_and_no_value_of_the_array_is_asked_for() -> None:
    """-D gives a name one value: it cannot give those of an array."""
    told = gaps._join_names(["alo[stage] * 16", "BM"])
    assert told == "an item of the array alo, stage, BM"
    assert [name for name in told.split(", ") if defines.NAME.fullmatch(name)] == ["stage", "BM"]
