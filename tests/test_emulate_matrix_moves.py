"""ldmatrix, stmatrix and movmatrix in the emulator, by the figures of PTX as tests/oracle has them."""

from __future__ import annotations

import numpy as np

from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from tests.emulated_kernels import execute, spell
from tests.oracle import movement

MEMORY = 4096


def list_rows(family: str) -> list[Instruction]:
    return [i for i in catalog.instructions() if i.family.name == family and i.family.opcode.text == family]


def fill_shared(words: int) -> str:
    """Store %i0… to the thread's place in shared memory."""
    stores = "".join(f"st.shared.b32 [%t0+{128 * n}], %i{n};\n" for n in range(words))
    return f"shl.b32 %t0, %tid, 2; add.u32 %t0, %t0, %s;\n{stores}bar.sync 0;\n"


def draw_rows(instruction: Instruction, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of the lanes' rows, none twice, and for lanes whose address does not count one that no GPU takes."""
    per = 16 if instruction.shape == "m16n16" else 8
    used = per * int(next(word for word in instruction.ptx.split(".") if word in ("x1", "x2", "x4"))[1:])
    offsets = rng.permutation(MEMORY // 16)[:32] * 16
    return np.where(np.arange(32) < used, offsets, 3).astype(np.uint32), offsets


def read_place(memory: np.ndarray, instruction: Instruction, offsets: np.ndarray, place: tuple[int, ...]) -> int:
    """The element of a matrix in memory: its row's lane gives the address."""
    matrix, row, col = place
    start = int(offsets[matrix * (16 if instruction.shape == "m16n16" else 8) + row])
    packed = next((word for word in instruction.ptx.split(".") if word in ("b6x16_p32", "b4x16_p64")), "")
    if instruction.shape == "m8n8":
        return int(memory[start + 2 * col]) | int(memory[start + 2 * col + 1]) << 8
    bits = int(packed[1]) if packed else 8
    whole = int.from_bytes(memory[start : start + 16].tobytes(), "little")
    return whole >> (col * bits) & ((1 << bits) - 1)


def test_loads_of_rows() -> None:
    rng = np.random.default_rng(1)
    for instruction in list_rows("ldmatrix"):
        memory = rng.integers(0, 256, MEMORY, dtype=np.uint8)
        given, offsets = draw_rows(instruction, rng)
        count = instruction.operands["data"].registers
        fragment = movement.data(instruction.shape, ".trans" in instruction.ptx)
        bits = 16 if instruction.shape == "m8n8" else 8
        expected = np.zeros((count, 32), np.uint32)
        for lane in range(32):
            for value in range(count * 32 // bits):
                element = read_place(memory, instruction, offsets, fragment(lane, value))
                expected[value * bits // 32, lane] |= np.uint32(element << (value * bits % 32))
        for text, address in ((instruction.ptx, "%t1"), (instruction.in_space("").ptx, "%d0")):
            out, machine = execute(
                f"{fill_shared(32)}add.u32 %t1, %s, %i32; cvt.u64.u32 %d0, %t1; cvta.shared.u64 %d0, %d0;"
                f" {text} {spell('o', 0, count)}, [{address}];",
                np.concatenate([memory.view(np.uint32).reshape(32, 32), given[None]]),
                count,
                shared=MEMORY,
            )
            assert (machine.status, machine.findings) == ("finished", []), text
            assert np.array_equal(out, expected), text


def test_stores_of_rows() -> None:
    rng = np.random.default_rng(2)
    for instruction in list_rows("stmatrix"):
        registers = rng.integers(0, 1 << 32, (4, 32), dtype=np.uint32)
        given, offsets = draw_rows(instruction, rng)
        count = instruction.operands["data"].registers
        fragment = movement.data(instruction.shape, ".trans" in instruction.ptx)
        bits = 16 if instruction.shape == "m8n8" else 8
        memory = np.zeros(MEMORY, np.uint8)
        for lane in range(32):
            for value in range(count * 32 // bits):
                matrix, row, col = fragment(lane, value)
                element = int(registers[value * bits // 32, lane]) >> (value * bits % 32) & ((1 << bits) - 1)
                at = int(offsets[matrix * 8 + row]) + col * bits // 8
                memory[at : at + bits // 8] = list(element.to_bytes(bits // 8, "little"))
        zero = "mov.b32 %t2, 0; shl.b32 %t0, %tid, 2; add.u32 %t0, %t0, %s;\n" + "".join(
            f"st.shared.b32 [%t0+{128 * n}], %t2;\n" for n in range(32)
        )
        loads = "bar.sync 0;\n" + "".join(f"ld.shared.b32 %o{n}, [%t0+{128 * n}];\n" for n in range(32))
        out, machine = execute(
            f"{zero}bar.sync 0; add.u32 %t1, %s, %i4; {instruction.ptx} [%t1], {spell('i', 0, count)};\n{loads}",
            np.concatenate([registers, given[None]]),
            32,
            shared=MEMORY,
        )
        assert (machine.status, machine.findings) == ("finished", []), instruction.ptx
        assert np.array_equal(out, memory.view(np.uint32).reshape(32, 32)), instruction.ptx


def test_transpose_in_registers() -> None:
    registers = np.random.default_rng(3).integers(0, 1 << 32, (1, 64), dtype=np.uint32)
    out, machine = execute("movmatrix.sync.aligned.m8n8.trans.b16 %o0, %i0;", registers, 1)
    assert (machine.status, machine.findings) == ("finished", [])
    halves = registers.view(np.uint16).reshape(2, 8, 8)  # a warp's registers are the rows of its matrix
    assert np.array_equal(out.view(np.uint16).reshape(2, 8, 8), halves.transpose(0, 2, 1))


def run_row_load(offset: int, shared: int = MEMORY) -> tuple[str, list[str]]:
    body = f"{fill_shared(1)}add.u32 %t1, %s, {offset}; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%o0}}, [%t1];"
    _, machine = execute(body, np.zeros((1, 32), np.uint32), 1, shared=shared)
    return machine.status, [finding.code for finding in machine.findings]


def test_rows_that_no_gpu_loads() -> None:
    assert run_row_load(8) == ("fault", ["misaligned"])
    assert run_row_load(MEMORY) == ("fault", ["out_of_bounds"])
    assert run_row_load(112) == ("finished", [])
    assert run_row_load(128) == ("finished", ["unwritten_shared"])


def test_a_part_of_a_warp_may_not_load_rows() -> None:
    body = (
        f"{fill_shared(1)}setp.lt.u32 %p, %lane, 16; @!%p bra OUT;"
        " ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%o0}, [%s]; OUT: bar.sync 0;"
    )
    _, machine = execute(body, np.zeros((1, 32), np.uint32), 1, shared=MEMORY)
    assert [finding.code for finding in machine.findings] == ["diverged"]
