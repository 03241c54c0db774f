"""Programs around ldmatrix and stmatrix: g++ builds them, PTX's figures as tests/oracle has them take the instruction's
place, and what they print is compared with NVIDIA's words and with the notes this project began from.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import re
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.errors import LayoutError
from lanescope.product.move_plan import MovePlan, make_move_plan, moves_rows
from lanescope.ptx import catalog
from lanescope.render import cuda, kernel, move_program
from tests import cpp
from tests.emulator import PRELUDE
from tests.oracle import movement
from tests.ptxas import nvcc, nvrtc

X1, TRANS = "ldmatrix.m8n8.x1.shared.b16", "ldmatrix.m8n8.x1.trans.shared.b16"
CASES = [
    *((i.ptx, "") for i in catalog.instructions() if moves_rows(i)),
    (X1, "fill=s8"),
    (TRANS, "fill=s8"),
    (TRANS, "fill=s8,pitch_bytes=80"),
    ("ldmatrix.m8n8.x4.shared.b16", "pitch_bytes=128,swizzle=128B"),
    ("ldmatrix.m16n16.x2.trans.shared.b8x16.b6x16_p32", "pitch_bytes=64,swizzle=64B"),
    ("stmatrix.m8n8.x4.trans.shared.b16", "pitch_bytes=32,swizzle=32B"),
    ("stmatrix.m16n8.x4.trans.shared.b8", "pitch_bytes=144"),
]
PACKED = {"b6x16_p32": 6, "b4x16_p64": 4}


class MoveEmulator:
    """The programs as one library; `wrong` is what is XORed into every element that the instruction moves."""

    def __init__(self, folder: Path) -> None:
        self.plans = [make_move_plan(find(ptx), data) for ptx, data in CASES]
        self.wrong, self.running, self.failure = 0, 0, None
        source, library = folder / "moves.cpp", folder / "moves.so"
        source.write_text(PRELUDE + "".join(_translate(number, plan) for number, plan in enumerate(self.plans)))
        program = cpp.find_compiler()
        assert program is not None
        options = ["-std=c++20", "-O0", "-fno-strict-aliasing", "-fPIC", "-shared", "-pthread"]
        options += ["-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]
        built = subprocess.run([program, *options, str(source), "-o", str(library)], capture_output=True, text=True)
        assert built.returncode == 0, built.stderr[:3000]
        self.library = ctypes.CDLL(str(library))
        self._called = ctypes.CFUNCTYPE(None, ctypes.c_int)(self._call)
        ctypes.c_void_p.in_dll(self.library, "call").value = ctypes.cast(self._called, ctypes.c_void_p).value

    def _call(self, number: int) -> None:
        """Move every element from where PTX's figures say it lies to the lane that they say holds it."""
        plan = self.plans[number]
        i = plan.instruction
        lanes = np.frombuffer((ctypes.c_ubyte * (128 * 4096)).in_dll(self.library, "lanes"), np.uint8)
        lanes = lanes.reshape(128, 4096)[:32]
        address = lanes[:, :4].copy().view(np.uint32)[:, 0]
        function = self.library[f"shared{number}"]
        function.restype = ctypes.c_void_p
        memory = np.frombuffer((ctypes.c_ubyte * plan.shared_bytes).from_address(function()), np.uint8)
        fragment = movement.data(i.shape, "trans" in i.modifiers)
        size = plan.data.container_bits // 8
        bits = next((PACKED[word] for word in i.ptx.split(".") if word in PACKED), 8 * size)
        rows = 16 if i.shape == "m16n16" else 8
        for lane in range(32):
            for value in range(plan.data.values):
                matrix, row, col = fragment(lane, value)
                start = int(address[matrix * rows + row])  # the lane that names this row
                held = slice(4 + value * size, 4 + (value + 1) * size)
                if not i.family.loads:
                    moved = int.from_bytes(lanes[lane, held].tobytes(), "little") ^ self.wrong
                    at = start + col * size
                    memory[at : at + size] = np.frombuffer(moved.to_bytes(size, "little"), np.uint8)
                    continue
                word = int.from_bytes(memory[start : start + 16].tobytes(), "little")
                moved = (word >> col * bits & (1 << bits) - 1) ^ self.wrong
                lanes[lane, held] = np.frombuffer(moved.to_bytes(size, "little"), np.uint8)

    def main(self, number: int) -> int:
        """The exit status of a program's own main."""
        return int(self.library[f"main{number}"]())

    def script(self, number: int) -> tuple[int, str]:
        """(exit status, what is printed) of the Python form."""
        scope: dict[str, Any] = {"__name__": "program"}
        said = io.StringIO()
        with self.as_cupy(number), contextlib.redirect_stdout(said):
            exec(compile(move_program.render_script_program(self.plans[number]), "move.py", "exec"), scope)
            return int(scope["main"]()), said.getvalue()

    @contextlib.contextmanager
    def as_cupy(self, number: int) -> Iterator[None]:
        """Modules cupy and cupy_backends whose one kernel is a program's."""
        plan = self.plans[number]
        names = ("cupy", "cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.libs")
        stand_in: dict[str, Any] = {name: types.ModuleType(name) for name in names}
        cupy, libs = stand_in["cupy"], stand_in["cupy_backends.cuda.libs"]
        cupy.asarray, cupy.asnumpy, cupy.zeros = np.ascontiguousarray, np.asarray, np.zeros

        def launch(grid: Any, block: Any, arguments: Any, shared_mem: int) -> None:
            assert (grid, block, shared_mem) == ((1,), (32,), plan.shared_bytes)
            assert all(array.dtype == np.uint32 for array in arguments)
            pointers = (ctypes.c_void_p * 2)(*(array.ctypes.data for array in arguments))
            self.library[f"launch{number}"](pointers)

        def compile_(text: str, options: list[str]) -> None:
            assert text == "\n" + move_program.render_device(plan, 'extern "C" ')

        module = types.SimpleNamespace(load=lambda cubin: None, get_function=lambda name: launch)
        cupy.cuda = types.SimpleNamespace(
            Device=lambda: types.SimpleNamespace(compute_capability="00"),
            function=types.SimpleNamespace(Module=lambda: module),
        )
        libs.nvrtc = types.SimpleNamespace(
            createProgram=lambda text, name, headers, names: text,
            compileProgram=compile_,
            getCUBIN=lambda program: b"",
            NVRTCError=OSError,
        )
        kept = {name: sys.modules.get(name) for name in stand_in}
        sys.modules.update(stand_in)
        try:
            yield
        finally:
            for name, old in kept.items():
                sys.modules.pop(name) if old is None else sys.modules.__setitem__(name, old)


def _translate(number: int, plan: MovePlan) -> str:
    """One program for the host: the body of its wrapper hands address and registers to the test."""
    text = re.sub(r"#include <\w+>\n", "", move_program.render_program(plan))
    original = cuda.render_wrapper(plan.instruction)
    assert original in text
    head = original[: original.index("{\n") + 2]
    body = (
        "  unsigned char* const at = lanes[threadIdx.x].bytes;\n"
        "  std::memcpy(at, &p, 4);\n"
        f"  {'' if plan.instruction.family.loads else 'std::memcpy(at + 4, r, sizeof(r));'}\n"
        f"  together({number});\n"
        f"  {'std::memcpy((void*)r, at + 4, sizeof(r));' if plan.instruction.family.loads else ''}\n}}\n"
    )
    text = text.replace(original, head + body)
    text = text.replace("  extern __shared__ __align__(1024) unsigned char shared[];\n", "")
    text = re.sub(r"move<<<1, 32, (\d+)>>>\(", "launch(32, move, ", text)
    assert "asm" not in text and "<<<" not in text
    return (
        f"namespace n{number} {{\nalignas(1024) unsigned char shared[{plan.shared_bytes}];\n"
        "[[maybe_unused]] static size_t __cvta_generic_to_shared(const void* p) "
        f"{{ return (const unsigned char*)p - shared; }}\n{text}}}\n"
        f'extern "C" void* shared{number}() {{ return n{number}::shared; }}\n'
        f'extern "C" int main{number}() {{ const int s = n{number}::main(); std::fflush(stdout); return s; }}\n'
        f'extern "C" void launch{number}(void** pointers) '
        f"{{ launch(32, n{number}::move, (const unsigned*)pointers[0], (unsigned*)pointers[1]); }}\n"
    )


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> MoveEmulator:
    if cpp.find_compiler() is None:
        pytest.skip(cpp.MISSING)
    return MoveEmulator(tmp_path_factory.mktemp("moves"))


def _read_lanes(said: str) -> list[list[int]]:
    """What the lanes hold, from the lines that a program prints."""
    return [[int(word) for word in found[1].split()] for found in re.finditer(r"lane +\d+:(.*)", said)]


@pytest.mark.parametrize("number", range(len(CASES)), ids=[" ".join(case) for case in CASES])
def test_a_program_prints_what_every_lane_holds(
    emulator: MoveEmulator, number: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every form of both instructions: the C++ program and the script agree with the map, and print the same."""
    capfd.readouterr()
    assert emulator.main(number) == 0
    said = capfd.readouterr().out
    values = 32 * emulator.plans[number].data.values
    assert said.endswith(f"OK: 0 of {values} values differ from the map\n")
    status, script_said = emulator.script(number)
    assert status == 0 and _read_lanes(script_said) == _read_lanes(said) and len(_read_lanes(said)) == 32


def test_an_instruction_that_moves_other_bits_is_reported(
    emulator: MoveEmulator, capfd: pytest.CaptureFixture[str]
) -> None:
    """Both forms end with 1 where the hardware does not do what the map says."""
    emulator.wrong = 1
    try:
        for number in (0, CASES.index((TRANS, "fill=s8")), len(CASES) - 1):
            assert emulator.main(number) == 1 and emulator.script(number)[0] == 1
            values = 32 * emulator.plans[number].data.values
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
    emulator: MoveEmulator,
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


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("target", ["sm_90", "sm_100a"])
def test_nvrtc_compiles_every_form_without_a_header(target: str) -> None:
    text, log = nvrtc.compile_ptx(_join_devices(target), target)
    assert not log and "ldmatrix" in text


@pytest.mark.skipif(nvcc.find_nvcc() is None, reason=nvcc.MISSING)
@pytest.mark.parametrize("ptx", [X1, "stmatrix.m8n8.x4.trans.shared.b16", "ldmatrix.m16n16.x2.trans.shared.b8"])
def test_a_saved_program_compiles_as_its_build_line_says(ptx: str, tmp_path: Path) -> None:
    plan = make_move_plan(find(ptx))
    good, said = nvcc.compile_object(move_program.render_program(plan), tmp_path, kernel.get_arch_option(plan).split())
    assert good and not said.strip(), said[:2000]


def test_forms_that_no_device_ran_say_so() -> None:
    assert "Not yet run on hardware" in move_program.render_program(
        make_move_plan(find("ldmatrix.m16n16.x1.trans.shared.b8"))
    )
    assert "Not yet run on hardware" not in move_program.render_program(make_move_plan(find(X1)))
