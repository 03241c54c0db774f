"""Whole runs of the emulator: how they end, what they say of barriers, spread over processes, as API and page."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lanescope
from lanescope.app.emulate.blocks import parse_block, parse_blocks
from lanescope.app.emulate.draw import draw_ring, draw_timeline
from lanescope.app.emulate.examples import BY_NAME, EXAMPLES, RINGS, build_example
from lanescope.app.emulate.feature import ADD
from lanescope.app.emulate.forms import prepare_bounded, run_cluster
from lanescope.app.emulate.printing import build_result_timeline
from lanescope.app.emulate.spread import run_spread
from lanescope.emulate.launching.elements import TYPES, decode_elements, encode_elements, fill_elements
from lanescope.emulate.launching.kernel import Kernel, prepare_kernel
from lanescope.emulate.launching.launch import parse_launch, parse_toml
from lanescope.emulate.machine import Schedule
from lanescope.emulate.observing.waits import strip_scope
from lanescope.emulate.result import Comparison, EmulationResult, compare_arrays
from lanescope.emulate.run import run_kernel
from lanescope.emulate.text.parser import parse_module
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.client import TestClient

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
# C[i] += i by blocks of 32 threads; OFFSET bytes further the element of another block
SUM = (
    HEAD
    + """.visible .entry sum(.param .u64 p)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 32, %r1;
  mul.wide.u32 %rd2, %r3, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r4, [%rd3];
  add.u32 %r4, %r4, %r3;
  st.global.u32 [%rd3+OFFSET], %r4;
  ret;
}
"""
)
LAUNCH = {"grid": [5], "block": [32], "args": ["C"], "buffer": {"C": {"shape": [256], "type": "u32", "fill": 7}}}


def prepare(ptx: str, launch: dict[str, Any]) -> Kernel:
    return prepare_kernel(parse_module(ptx), parse_launch(launch))


def run_example(name: str, late: bool = True) -> EmulationResult:
    ptx, toml = build_example(name)
    kernel = prepare_bounded(parse_module(ptx), parse_toml(toml), {})
    return run_cluster(kernel, (0, 0, 0), schedule=Schedule(late=late), events=True)


def test_the_pipeline_multiplies() -> None:
    """TMA, mbarriers and wgmma against NumPy; inputs are small integers, so that every sum is exact."""
    ptx, toml = build_example("right")
    kernel = prepare_kernel(parse_module(ptx), parse_toml(toml))
    a, b = ((kernel.buffers[name].array.astype(np.uint32) << 16).view(np.float32) for name in "AB")
    result = run_kernel(kernel, compare={"D": a @ b.T})
    assert result.passed and result.outputs["D"].changed


def test_the_ring_adds_one() -> None:
    ptx, toml = build_example("ring")
    kernel = prepare_kernel(parse_module(ptx), parse_toml(toml))
    result = run_kernel(kernel, compare={"C": kernel.buffers["A"].array + np.int32(1)})
    assert result.passed
    phases = {row["name"]: (row["phase"], row["pending"], row["bytes"]) for row in result.barriers if row.get("name")}
    assert phases == {"full[0]": (2, 1, 0), "full[1]": (2, 1, 0), "empty[0]": (2, 32, 0), "empty[1]": (2, 32, 0)}


@for_each("late", [False, True])
@for_each("name", [one.name for one in (*EXAMPLES, *RINGS) if one.old])
def test_a_planted_mistake_is_a_deadlock(name: str, late: bool) -> None:
    result = run_example(name, late)
    assert result.status == "deadlock" and not result.passed
    wrong_bytes = {"expect_tx_bytes"} if name.endswith("bytes") else set()
    assert {one.code for one in result.findings} == {"deadlock"} | wrong_bytes
    lines = build_example(name)[0].splitlines()
    assert all("mbarrier.try_wait" in lines[one.line - 1] for one in result.findings if one.code == "deadlock")


def test_a_deadlock_names_barrier_bytes_and_who_arrived() -> None:
    message = run_example("ring-bytes").findings[0].message
    for part in ("Warp 1", "phase 0", "full[0]", "line 21", "128 of 256 bytes", "lane 0 of warp 0 in line 76"):
        assert part in message


def test_a_finding_names_the_line_of_the_source() -> None:
    """nvcc -lineinfo: the wait of an inlined function, and the call that it is inlined at."""
    assert run_example("arrive").findings[0].place == "pipeline.cu:13, inlined at pipeline.cu:71"


@for_each("own", ["", "kernel::"])
def test_a_shared_variable_has_its_own_name(own: str) -> None:
    assert strip_scope(f"{own}_ZZ8pipelineE5empty") == "empty"
    assert strip_scope(f"{own}stages") == "stages"


def test_mistakes_change_one_place() -> None:
    """Each example differs from its kernel in one line."""
    for example in BY_NAME.values():
        base = build_example("right" if example.program == "pipeline" else "ring")[0].splitlines()
        lines = build_example(example.name)[0].splitlines()
        assert sum(a != b for a, b in zip(base, lines, strict=True)) == bool(example.old)


# a grid over processes


@for_each("offset", [0, 128, 4], sample=1)
def test_processes_come_to_what_one_comes_to(offset: int) -> None:
    """Also where a block loads what another stored: 128 bytes further, and 4."""
    kernel = prepare(SUM.replace("OFFSET", str(offset)), LAUNCH)
    alone, spread = run_kernel(kernel), run_spread(kernel, 3)
    assert (alone.status, alone.steps, alone.findings) == (spread.status, spread.steps, spread.findings)
    assert (alone.outputs["C"].array == spread.outputs["C"].array).all()


def test_a_fault_ends_the_blocks_behind_it() -> None:
    """One process stops at the first fault; of several those behind it do not count."""
    launch = LAUNCH | {"buffer": {"C": {"shape": [64], "type": "u32"}}}
    kernel = prepare(SUM.replace("OFFSET", "0"), launch)
    alone, spread = run_kernel(kernel), run_spread(kernel, 5)
    assert alone.status == spread.status == "fault" and alone.findings == spread.findings
    assert "byte 256" in alone.findings[0].message
    assert (alone.outputs["C"].array == spread.outputs["C"].array).all()


def test_chosen_blocks_run_alone() -> None:
    result = run_kernel(prepare(SUM.replace("OFFSET", "0"), LAUNCH), blocks=[(1, 0, 0), (3, 0, 0)])
    array = result.outputs["C"].array
    assert (array[32:64] == 7 + np.arange(32, 64)).all() and (array[:32] == 7).all() and (array[96] == 103)
    assert result.notes == ("Only 2 of 5 clusters ran; the outputs do not contain the stores of the others.",)
    with pytest.raises(LayoutError, match=r"No block \[5, 0, 0\]"):
        run_kernel(prepare(SUM.replace("OFFSET", "0"), LAUNCH), blocks=[(5, 0, 0)])


def test_blocks_are_spelled_with_commas() -> None:
    assert parse_blocks(["0,0,0", "1,2;3,4,5"]) == [(0, 0, 0), (1, 2, 0), (3, 4, 5)]
    assert parse_blocks(["1,0,0,2,0,0"]) == [(1, 0, 0), (2, 0, 0)]
    assert parse_blocks(["7 8,9"]) == [(7, 0, 0), (8, 9, 0)] and parse_blocks(None) is None
    assert parse_block([1, 2, 3], "block") == (1, 2, 3)
    for wrong in ("1,2,3,4", "", "a", "-1", [1, 2], None, {"x": 1}):
        with pytest.raises(LayoutError) as refused:
            parse_block(wrong, "block")
        assert refused.value.field == "block"


@for_each("steps", [1, 5, 1000, 10_000])
def test_a_loop_without_end_ends_with_the_budget(steps: int) -> None:
    ptx = HEAD + ".entry k() { L: bra L; }\n"
    result = lanescope.emulate(ptx, {"grid": [1], "block": [1]}, most_steps=steps)
    assert result.status == "budget" and not result.passed and result.steps == steps


def test_the_budget_is_that_of_all_processes_together() -> None:
    """Of five blocks of 10 statements each, 30 steps are three blocks, and 47 end inside the fifth."""
    kernel = prepare(SUM.replace("OFFSET", "0"), LAUNCH)
    for steps in (30, 47):
        alone, spread = run_kernel(kernel, most_steps=steps), run_spread(kernel, 2, most_steps=steps)
        assert alone.steps == spread.steps == steps and alone.findings == spread.findings
        assert alone.status == spread.status == "budget"
        assert (alone.outputs["C"].array == spread.outputs["C"].array).all()


# comparison


def hold(name: str, array: np.ndarray) -> Kernel:
    """Return a kernel that does nothing, with a buffer C of a type."""
    launch = parse_launch({"grid": [1], "block": [1], "buffer": {"C": {"type": name}}})
    return prepare_kernel(parse_module(HEAD + ".entry k() { ret; }\n"), launch, {"C": array})


@for_each("name", ["e2m1", "s4", "u4", "b1", "e4m3", "bf16", "f32", "u64"])
def test_differing_elements_are_counted_and_the_first_is_named(name: str) -> None:
    """Codes are compared, not items of the array: a byte holds two elements of 4 bits and eight of 1 bit."""
    row = TYPES[name]
    got = fill_elements("C", "random", (3, 2, 16), row, "C")
    kernel = hold(name, got)
    numbers = decode_elements(got, row)
    changed = numbers.copy()
    for place in ((1, 0, 9), (1, 0, 11), (2, 1, 15)):
        changed[place] = 1 - changed[place] if name == "b1" else (changed[place] + 1) % 2
    expected = encode_elements(changed, row)
    compared = compare_arrays(kernel, "C", got, expected)
    assert not compared.equal and (compared.mismatches, compared.total) == (int((changed != numbers).sum()), 96)
    first = compared.first_mismatch
    assert first is not None
    place = tuple(np.argwhere(changed != numbers)[0].tolist())
    assert first.index == place and (first.got, first.expected) == (numbers[place], changed[place])
    assert first.got_bits < 1 << row.bits and first.got_bits != first.expected_bits
    assert compare_arrays(kernel, "C", got, got) == Comparison(True, 0, 96, None)


def test_zeros_of_both_signs_and_nans_are_compared_by_their_bits() -> None:
    kernel = hold("e2m1", np.zeros(2, np.uint8))
    first = compare_arrays(kernel, "C", np.array([0, 0x80], np.uint8), np.zeros(2, np.uint8)).first_mismatch
    assert first is not None and first.index == (3,) and (first.got_bits, first.expected_bits) == (8, 0)


def test_a_map_that_the_driver_refuses_is_a_finding() -> None:
    ptx = HEAD + ".entry k(.param .u64 p) { ret; }\n"
    maps = {"m": {"buffer": "C", "dims": [256], "strides": [], "box": [512]}}
    result = lanescope.emulate(ptx, LAUNCH | {"grid": [1], "args": ["&m"], "tensor_map": maps})
    assert result.status == "fault" and "tensor_map.m.box" in result.findings[0].message


def test_python_takes_files_and_writes_outputs(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(SUM.replace("OFFSET", "0"))
    np.save(tmp_path / "c.npy", np.zeros(256, np.uint32))
    toml = 'grid = [8]\nblock = [32]\nargs = ["C"]\n[buffer.C]\nfile = "c.npy"\noutput = "out.npy"\n'
    (tmp_path / "launch.toml").write_text(toml)
    result = lanescope.emulate(
        tmp_path / "k.ptx", str(tmp_path / "launch.toml"), compare={"C": np.arange(256, dtype="u4")}
    )
    assert result.passed and (np.load(tmp_path / "out.npy") == np.arange(256)).all()


# timeline


# API and page


def encode(array: np.ndarray) -> str:
    stream = io.BytesIO()
    np.save(stream, array)
    return base64.b64encode(stream.getvalue()).decode()


def test_the_api_runs_a_cluster(client: TestClient) -> None:
    launch = {"grid": [1], "block": [32], "args": ["C"], "buffer": {"C": {"type": "u32"}}}
    start = np.arange(32, dtype=np.uint32)
    body = {"ptx": ADD, "launch": launch, "buffers": {"C": encode(start)}, "compare": {"C": encode(start + 1)}}
    told = client.post("/api/v1/emulate", json=body).json()
    assert told["status"] == "finished" and told["findings"] == [] and told["outputs"]["C"]["compared"]["equal"]
    assert (np.load(io.BytesIO(base64.b64decode(told["outputs"]["C"]["npy"]))) == start + 1).all()


@for_each(
    ("change", "field"),
    [
        ({"ptx": "int main"}, "ptx"),
        ({"launch": {"grid": [1]}}, "block"),
        ({"buffers": {"C": "!"}}, "buffers.C"),
        ({"block": [1]}, "block"),
        (
            {"launch": {"grid": [1], "block": [1], "args": ["C"], "buffer": {"C": {"shape": [1 << 26], "type": "u8"}}}},
            "",
        ),
        (
            {"launch": {"grid": [1], "block": [1], "args": ["C"], "buffer": {"C": {"shape": [1 << 27], "type": "u8"}}}},
            "launch",
        ),
    ],
)
def test_the_api_refuses_by_field(client: TestClient, change: dict[str, Any], field: str) -> None:
    answer = client.post("/api/v1/emulate", json={"ptx": ADD, "launch": LAUNCH} | change)
    assert (answer.status_code == 200) == (not field)
    assert answer.json().get("error", {}).get("field", "") == field


def test_the_page_runs_what_is_posted(client: TestClient) -> None:
    ptx, toml = build_example("ring-phase")
    page = client.post("/emulate", files={"ptx": (None, ptx), "launch": (None, toml)}).text
    assert 'data-verdict="deadlock"' in page and 'id="line-74"' in page and 'class="span run-stuck"' in page
    filled = client.post("/emulate", files={"ptx": (None, ptx), "launch": (None, "")}).text
    assert "block = [64" in filled and "data-verdict" not in filled

    assert client.post("/emulate", files={"ptx": (None, "mov"), "launch": (None, toml)}).status_code == 422


def test_an_empty_file_leaves_the_typed_ptx(client: TestClient) -> None:
    ptx, toml = build_example("ring-phase")
    answer = client.post("/emulate", files={"ptx": (None, ptx), "launch": (None, toml), "file": ("k.ptx", b"")})
    assert (
        answer.status_code == 422 and "is empty" in answer.text and ".version" in answer.text.partition('name="ptx"')[2]
    )


def test_a_wait_without_end_stays_open() -> None:
    timeline = build_result_timeline(run_example("ring-arrive"))
    stuck = [lane.name for lane in timeline.lanes for span in lane.spans if span.kind == "wait" and span.open]
    assert stuck == ["warp 0", "warp 1"]
    assert draw_timeline(timeline).rows.count('class="span run-stuck"') == 2
    assert draw_ring(run_example("ring-arrive").barriers, frozenset()) is not None
