"""The order of instructions around a wgmma: every pattern assembles, and ptxas says of it what the pages say."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import pytest

from lanescope.ptx.table.wgmma_order import ORDER
from lanescope.render.wgmma_order import PATTERNS, OrderPattern
from tests.cases import for_each
from tests.ptxas import assembler

needs_ptxas = pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
_HEAD = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 q) { .reg .b64 out; .shared .align 1024 .b8 smem[4096];
.reg .b32 a<4>, new; .reg .f32 d<4>, e<4>; .reg .b64 descA, descB; .reg .b32 tile;
ld.param.u64 out, [q]; mov.u32 tile, smem; ld.global.b64 descA, [out+64]; ld.global.b64 descB, [out+72];
ld.global.b32 new, [out+80];
ld.global.v4.b32 {a0, a1, a2, a3}, [out]; ld.global.v4.f32 {d0, d1, d2, d3}, [out+16];
ld.global.v4.f32 {e0, e1, e2, e3}, [out+32];
"""
_TAIL = "\nst.global.v4.f32 [out], {d0, d1, d2, d3}; st.global.v4.f32 [out+16], {e0, e1, e2, e3}; ret; }"


def assemble_pattern(pattern: OrderPattern) -> str:
    """ptxas -v over a pattern. It must assemble."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pattern.ptx"
        path.write_text(_HEAD + pattern.text + _TAIL)
        command = [str(assembler.find_ptxas()), "-v", "-arch=sm_90a", str(path), "-o", str(Path(folder) / "out.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr + done.stdout


@needs_ptxas
@for_each("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_ptxas_says_of_each_pattern_what_the_pages_say(pattern: OrderPattern) -> None:
    assert set(re.findall(r"\((C75\d\d)\)", assemble_pattern(pattern))) == (
        {pattern.diagnosed} if pattern.diagnosed else set()
    )


@needs_ptxas
@for_each(
    ("row", "pattern"),
    [("wgmma.fence", "no-fence"), ("wgmma.commit_group", "no-commit"), ("wgmma.wait_group", "no-wait")],
)
def test_rows_and_patterns_agree_on_what_is_diagnosed(row: str, pattern: str) -> None:
    assert next(r.diagnosed for r in ORDER if r.name == row) == next(p.diagnosed for p in PATTERNS if p.name == pattern)


@needs_ptxas
@for_each("row", ORDER, ids=lambda row: row.name)
def test_least_version_and_target(row: object) -> None:
    """It assembles for its PTX version and target, and for nothing older."""
    assert hasattr(row, "syntax")
    older = {"sm_90": "sm_89", "sm_90a": "sm_90"}[row.target]
    for text in row.syntax:
        line = assembler.Line(text.removesuffix(";").replace(" N", " 0"), "")
        assert assembler.find_accepted([line], row.target, row.ptx_version) == {0}, text
        assert not assembler.find_accepted([line], older, row.ptx_version) and not assembler.find_accepted(
            [line], row.target, "7.8"
        ), text


@needs_ptxas
@for_each(("n", "legal"), [("0", True), ("7", True), ("-1", False), ("r0", False)])
def test_n_of_wait_group_is_a_constant(n: str, legal: bool) -> None:
    assert bool(assembler.find_accepted([assembler.Line("wgmma.wait_group.sync.aligned", n)], "sm_90a", "8.0")) == legal


def test_right_patterns_are_those_nothing_is_left_out_of() -> None:
    assert [p.name for p in PATTERNS if p.right] == ["shared-a", "registers-a", "pipelined", "empty-groups"]
    assert not any(p.diagnosed for p in PATTERNS if p.right)
