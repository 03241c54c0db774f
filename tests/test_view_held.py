"""What cells are called and where warps part, worked out here from the pattern's owners alone; where a trace says that
lines lie.
"""

from __future__ import annotations

import numpy as np
import pytest

from lanescope import find
from lanescope.app.steps import facts as steps
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import View, encode
from lanescope.render import cuda
from lanescope.render.view import Grid, operand_figure
from tests.held import holding

held_answers = holding("cuda.load desc.outside desc.reads")

# copies in one lane and in several, packed elements of every width, 64-bit registers, a warpgroup
OPERANDS = (
    ("wmma.load.a.row.m16n16k16.f16", "a"), ("wmma.load.b.row.m8n32k16.s8", "b"),
    ("mma.m16n8k16.row.col.f32.f16.f16.f32", "a"), ("mma.m16n8k32.row.col.s32.s8.s8.s32", "b"),
    ("mma.m8n8k32.row.col.s32.s4.s4.s32", "a"), ("mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "a"),
    ("mma.m8n8k4.row.col.f64.f64.f64.f64", "d"), ("wgmma.mma_async.m64n16k16.f32.f16.f16", "d"),
    ("wgmma.mma_async.m64n16k32.f32.e4m3.e4m3", "a"),
    ("mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", "a"),
    ("mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", "b"),
)  # fmt: skip


def said_of(threads: int, thread: int) -> str:
    return f"warp {thread // 32}, lane {thread % 32}" if threads == 128 else f"lane {thread}"


@pytest.mark.parametrize(("ptx", "name"), OPERANDS)
def test_every_owner_of_a_cell_is_named_with_its_register(ptx: str, name: str) -> None:
    op = find(ptx).operand(name)
    grid = Grid(op)
    labels = {kind: grid.labels(kind) for kind in ("lane:value", "register", "row,col", "index")}
    for row in range(0, grid.rows, 3):
        for col in range(0, grid.cols, 3):
            owners = op.owner(row, col)
            assert labels["row,col"][row][col] == f"{row},{col}" and labels["index"][row][col] == str(
                row * grid.cols + col
            )
            said, registers, spoken = (
                labels["lane:value"][row][col],
                labels["register"][row][col],
                grid.spoken(row, col),
            )
            assert said.startswith(f"T{owners[0][0]}:") and spoken.count("lane") == len(owners)
            for thread, value in owners:
                register, bit = (
                    value * op.container_bits // op.register_bits,
                    value * op.container_bits % op.register_bits,
                )
                bit += 2 if (op.element.name, op.container_bits) == ("e2m1", 8) else 0  # PTX ISA 9.1, 9.7.14.5.14
                last = bit + op.element.bits - 1
                assert (
                    f"register {register}" in spoken
                    and said_of(op.threads, thread) in spoken
                    and f"{op.name}{value}" in spoken
                )
                assert (f"bits {bit} to {last}" if op.element.bits > 1 else f"bit {bit}") in spoken
                if thread == owners[0][0]:
                    assert str(value) in said and str(register) in registers


def test_a_value_padded_in_its_byte_is_read_out_where_it_lies() -> None:
    """e2m1 takes the middle four bits of its byte, e3m2 and e2m3 the low six: PTX ISA 9.1, 9.7.14.5.14."""
    i = find("mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32")
    a, b = Grid(i.operand("a")), Grid(i.operand("b"))
    assert [a.spoken_bits(value) for value in range(5)] == [f"bits {n} to {n + 3}" for n in (2, 10, 18, 26, 2)]
    assert [b.spoken_bits(value) for value in range(4)] == [f"bits {n} to {n + 5}" for n in (0, 8, 16, 24)]
    assert "padded as in the register: its value in bits 2 to 5." in cuda.load(i, a.operand)
    assert "padded as in the register: its value in bits 0 to 5." in cuda.load(i, b.operand)


def test_copies_are_named_every_one() -> None:
    op = find("wmma.load.a.row.m16n16k16.f16").operand("a")
    owners = op.owner(3, 2)
    assert len(owners) == 2 and Grid(op).spoken(3, 2).count(" and ") + Grid(op).spoken(3, 2).count(";") >= 1
    assert all(f"a{value}" in Grid(op).spoken(3, 2) for _, value in owners)


@pytest.mark.parametrize("window", [None, (0, 64), (16, 48), (24, 40)])
def test_warps_part_where_the_owner_of_a_row_is_of_another_warp(window: tuple[int, int] | None) -> None:
    op = find("wgmma.mma_async.m64n16k16.f32.f16.f16").operand("d")
    first, last = window or (0, 64)
    (panel,) = operand_figure(op, rows=None if window is None else (first, last - 1)).panels
    wanted = [
        row - first
        for row in range(first + 1, last)
        if op.owner(row, 0)[0][0] // 32 != op.owner(row - 1, 0)[0][0] // 32
    ]
    assert panel.warp_edges == wanted and (window or wanted == [16, 32, 48])
    (plain,) = operand_figure(find("mma.m16n8k16.row.col.f32.f16.f16.f32").operand("d")).panels
    assert plain.warp_edges == []


def test_reads_end_where_shared_memory_ends() -> None:
    """The last byte of shared memory may be read, the one after is told."""
    view = View(64, 16, 16, "K")
    size = int(desc.reads(encode(0, 128, 256, 0, "none"), view).max()) + 2
    last = encode((desc.SHARED_END - size) // 16 * 16, 128, 256, 0, "none")
    assert int(desc.reads(last, view).max()) + 2 == desc.SHARED_END and desc.outside(last, view) == []
    beyond = encode(last.start_address + 16, 128, 256, 0, "none")
    (told,) = desc.outside(beyond, view)
    assert told.code == "reads_beyond_shared" and told.message.startswith("8 of 1024 ")


@pytest.mark.parametrize(("ptx", "name"), [(ptx, name) for ptx in (
    "mma.m16n8k16.row.col.f32.f16.f16.f32", "mma.m16n8k32.row.col.s32.s8.s8.s32",
    "mma.m16n8k8.row.col.f32.tf32.tf32.f32", "mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32",
    "mma.m16n8k64.row.col.s32.s4.s4.s32",
) for name in "ab"])  # fmt: skip
def test_a_traces_loads_take_rows_a_line_apart(ptx: str, name: str) -> None:
    """Rows without padding: each lane's offset is its row times the bytes of a line, and the formula says the same."""
    op = find(ptx).operand(name)
    told = steps.load(op)
    assert told is not None
    across = (op.col_count if name == "a" else op.row_count) * op.element.bits // 8
    lines = op.row_count if name == "a" else op.col_count
    assert told.pitch_bytes == across
    starts = {line * across + 16 * part for line in range(lines) for part in range(across // 16)}
    given = np.asarray(told.lane_offsets)
    assert set(given[given >= 0].tolist()) == starts
    for lane in range(32):
        if (at := int(given[0, lane])) >= 0:
            assert eval(told.offset.replace("/", "//"), {"lane": lane}) == at
