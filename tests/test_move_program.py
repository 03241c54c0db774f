"""Programs around ldmatrix and stmatrix: the emulator executes their PTX, and what they print is compared with the map,
with NVIDIA's words and with the notes this project began from.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.errors import LayoutError
from lanescope.product.move_plan import make_move_plan, moves_rows
from lanescope.ptx import catalog
from lanescope.render import kernel, move_program
from tests import cpp
from tests.cases import for_each
from tests.emulator import MISSING, ProgramEmulator
from tests.ptxas import nvcc, nvrtc
from tests.sample import FULL, take_sample

X1, TRANS = "ldmatrix.m8n8.x1.shared.b16", "ldmatrix.m8n8.x1.trans.shared.b16"
SAVED = (X1, "stmatrix.m8n8.x4.trans.shared.b16", "ldmatrix.m16n16.x2.trans.shared.b8")
NOTED = [find(ptx).ptx for ptx in (X1, TRANS, "stmatrix.m8n8.x1.shared.b16")]  # whose lanes the notes print
CASES = [
    *(
        (ptx, "")
        for ptx in sorted({*NOTED, *take_sample([i.ptx for i in catalog.instructions() if moves_rows(i)], 12)})
    ),
    (X1, "fill=s8"),
    (TRANS, "fill=s8"),
    (TRANS, "fill=s8,pitch_bytes=80"),
    ("ldmatrix.m8n8.x4.shared.b16", "pitch_bytes=128,swizzle=128B"),
    ("ldmatrix.m16n16.x2.trans.shared.b8x16.b6x16_p32", "pitch_bytes=64,swizzle=64B"),
    ("stmatrix.m8n8.x4.trans.shared.b16", "pitch_bytes=32,swizzle=32B"),
    ("stmatrix.m16n8.x4.trans.shared.b8", "pitch_bytes=144"),
]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> ProgramEmulator:
    if cpp.find_compiler() is None or nvrtc.find_library() is None:
        pytest.skip(MISSING)
    return ProgramEmulator([make_move_plan(find(ptx), data) for ptx, data in CASES], tmp_path_factory.mktemp("moves"))


def _count_values(number: int) -> int:
    """Values of a lane."""
    return make_move_plan(find(CASES[number][0]), CASES[number][1]).data.values


def _read_lanes(said: str) -> list[list[int]]:
    """What the lanes hold, from the lines that a program prints."""
    return [[int(word) for word in found[1].split()] for found in re.finditer(r"lane +\d+:(.*)", said)]


@pytest.mark.parametrize("number", range(len(CASES)), ids=[" ".join(case) for case in CASES])
def test_a_program_prints_what_every_lane_holds(
    emulator: ProgramEmulator, number: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """The C++ program and the script of forms of both instructions agree with the map, and print the same."""
    capfd.readouterr()
    assert emulator.main(number) == 0
    said = capfd.readouterr().out
    values = 32 * _count_values(number)
    assert said.endswith(f"OK: 0 of {values} values differ from the map\n")
    status, script_said = emulator.script(number), capfd.readouterr().out
    assert status == 0 and _read_lanes(script_said) == _read_lanes(said) and len(_read_lanes(said)) == 32


def test_an_instruction_that_moves_other_bits_is_reported(
    emulator: ProgramEmulator, capfd: pytest.CaptureFixture[str]
) -> None:
    """Both forms end with 1 where the hardware does not do what the map says."""
    emulator.wrong = 1
    try:
        for number in (0, CASES.index((TRANS, "fill=s8")), len(CASES) - 1):
            assert emulator.main(number) == 1 and emulator.script(number) == 1
            values = 32 * _count_values(number)
            assert f"FAILED: {values} of {values} values differ" in capfd.readouterr().out
    finally:
        emulator.wrong = 0


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        # Elements 0, 1, 2, …: lane T holds elements 2T and 2T + 1, the lower in the low half.
        ((find(X1).ptx, ""), lambda lane: [2 * lane, 2 * lane + 1]),
        # .trans: a column of 8 elements goes to 4 lanes.
        ((find(TRANS).ptx, ""), lambda lane: [lane % 4 * 16 + lane // 4, lane % 4 * 16 + 8 + lane // 4]),
        # stmatrix: lane T's two values return from the place where the map says it put them.
        ((find("stmatrix.m8n8.x1.shared.b16").ptx, ""), lambda lane: [2 * lane, 2 * lane + 1]),
        # B of mma.m8n8k16: "thread0 load first 4 element of matrix", straight and from byte pairs with .trans.
        ((X1, "fill=s8"), lambda lane: [-(4 * lane + n) for n in (1, 2, 3, 4)]),
        ((TRANS, "fill=s8"), lambda lane: [-(4 * lane + n) for n in (1, 2, 3, 4)]),
        ((TRANS, "fill=s8,pitch_bytes=80"), lambda lane: [-(4 * lane + n) for n in (1, 2, 3, 4)]),
    ],
)
def test_the_lanes_hold_what_the_notes_print(
    emulator: ProgramEmulator,
    case: tuple[str, str],
    expected: Callable[[int], list[int]],
    capfd: pytest.CaptureFixture[str],
) -> None:
    capfd.readouterr()
    emulator.main(CASES.index(case))
    assert _read_lanes(capfd.readouterr().out) == [expected(lane) for lane in range(32)]


def test_byte_pairs_are_stored_as_the_note_stores_them() -> None:
    """Byte i of memory is -(row · 2 + 1 + column pair · 16 + column mod 2), for 8 rows of 16 bytes."""
    plan = make_move_plan(find(TRANS), "fill=s8")
    scope: dict[str, Any] = {"np": np}
    text = move_program.render_script_program(plan)
    exec(text[text.index("def number") : text.index("def pack")], scope)
    stored = np.array(scope["number"](np.arange(64)), np.uint16).view(np.int8).tolist()
    assert stored == [-(i // 16 * 2 + 1 + i % 16 // 2 * 16 + i % 16 % 2) for i in range(128)]


@for_each(
    ("ptx", "data", "field", "part"),
    [
        (X1, "pitch_bytes=24", "data.pitch_bytes", "Nearest: 16 or 32."),
        (X1, "pitch_bytes=8", "data.pitch_bytes", "16"),
        (X1, "swizzle=96B", "data.swizzle", "none, 128B, 64B, 32B"),
        (X1, "fill=f16", "data.fill", "b16, s8"),
        ("ldmatrix.m8n8.x2.shared.b16", "fill=s8", "data.fill", "no key"),
        ("stmatrix.m8n8.x1.shared.b16", "fill=s8", "data.fill", "no key"),
        ("ldmatrix.m8n8.x1.b16", "", "ptx", "ldmatrix.sync.aligned.m8n8.x1.shared.b16"),
    ],
)
def test_what_no_program_has_is_refused_by_name(ptx: str, data: str, field: str, part: str) -> None:
    with pytest.raises(LayoutError) as caught:
        make_move_plan(find(ptx), data)
    assert caught.value.field == field and part in f"{caught.value.message} {caught.value.hint}"


def _join_devices(target: str) -> str:
    """The device half of every form that a target has, each in a namespace."""
    plans = [make_move_plan(find(ptx), data) for ptx, data in CASES]
    texts = [move_program.render_device(plan) for plan in plans if kernel.get_target(plan) in ("sm_75", target)]
    return "".join(f"namespace n{n} {{\n{text}}}\n" for n, text in enumerate(texts))


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
@for_each("target", ["sm_90", "sm_100a"])
def test_nvrtc_compiles_the_forms_without_a_header(target: str) -> None:
    text, log = nvrtc.compile_ptx(_join_devices(target), target)
    assert not log and "ldmatrix" in text


@pytest.mark.thorough
@pytest.mark.skipif(nvcc.find_nvcc() is None, reason=nvcc.MISSING)
@pytest.mark.parametrize("ptx", SAVED if FULL else SAVED[-1:])
def test_a_saved_program_compiles_as_its_build_line_says(ptx: str, tmp_path: Path) -> None:
    plan = make_move_plan(find(ptx))
    good, said = nvcc.compile_object(move_program.render_program(plan), tmp_path, kernel.get_arch_option(plan).split())
    assert good and not said.strip(), said[:2000]


def test_forms_that_no_device_ran_say_so() -> None:
    assert "Not yet run on hardware" in move_program.render_program(
        make_move_plan(find("ldmatrix.m16n16.x1.trans.shared.b8"))
    )
    assert "Not yet run on hardware" not in move_program.render_program(make_move_plan(find(X1)))
