"""The kinds of run without a device: the NumPy reference executes them, and a wrong map, model or instruction is
found out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app.hardware import bank_runs, descriptor_runs, fragment_runs, mma_runs, movement_maps, runs
from lanescope.app.hardware.device import WINDOW, ProductJob
from lanescope.app.hardware.numpy_device import NumpyDevice
from lanescope.app.kit.run_results import parse_mma_result
from lanescope.app.steps.draw import render_steps
from lanescope.app.steps.facts import Steps, trace_steps
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor, encode_wgmma
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.pattern import Pattern
from tests.cases import for_each
from tests.sample import take_sample

DEVICE = NumpyDevice()
CHOSEN = (
    "mma.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.m16n8k32.row.col.s32.s8.u8.s32",
    "mma.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
    "mma.m8n8k128.row.col.s32.b1.b1.s32.and.popc",
    "mma.m8n8k4.row.col.f64.f64.f64.f64",
    "mma.m8n8k4.col.row.f16.f16.f16.f16",
    "mma.m8n8k4.row.col.f32.f16.f16.f32",
    "mma.m16n8k8.row.col.f32.tf32.tf32.f32",
    "mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32",
    "mma.sp::ordered_metadata.m16n8k16.row.col.f32.tf32.tf32.f32",
    "mma.sp::ordered_metadata.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
    "wmma.mma.row.col.m32n8k16.f32.f16",
    "wgmma.mma_async.m64n16k16.f32.f16.f16",
    "wgmma.mma_async.m64n8k256.s32.b1.b1.and.popc",
    "wgmma.mma_async.sp.m64n8k32.f32.f16.f16",
    "ldmatrix.m8n8.x4.trans.shared.b16",
    "ldmatrix.m16n16.x1.trans.shared.b8",
    "stmatrix.m8n8.x2.shared.b16",
    "stmatrix.m16n8.x4.trans.shared.b8",
    "movmatrix.m8n8.trans.b16",
    "wmma.load.b.col.m8n8k32.u4",
    "wmma.store.d.col.m16n16k16.f16",
)


@for_each("name", take_sample(CHOSEN, 14), sample=6)
def test_the_reference_agrees_with_the_maps_and_numpy(name: str) -> None:
    i = find(name)
    if {"a", "b", "d"} <= set(i.operands):
        for form in ("registers", "shared") if i.threads == 128 else ("registers",):
            found = mma_runs.run_mma(DEVICE, i, form)
            assert found["agrees"] and found["compared"] == np.asarray(found["measured"]).size
    for measured in fragment_runs.measure_all(DEVICE, i):
        assert not measured.wrong.any(), measured.operand


class SwappedDevice(NumpyDevice):
    """A device whose hardware holds one operand otherwise than the table says: two names of its pattern are swapped."""

    def __init__(self, operand: str, old: str, new: str) -> None:
        self.operand, self.old, self.new = operand, old, new

    def _other(self, i: Instruction) -> Instruction:
        op = i.operands[self.operand]
        left, right = str(op.pattern).split(" -> ")
        assert self.old in right
        pattern = Pattern.parse(f"{left} -> {right.replace(self.old, self.new)}")
        changed = replace(i)
        changed.__dict__["operands"] = i.operands | {self.operand: replace(op, pattern=pattern)}
        return changed

    def product(self, job: ProductJob) -> Any:
        return super().product(replace(job, instruction=self._other(job.instruction)))

    def move(self, instruction: Instruction, words: Any, offsets: Any) -> Any:
        return super().move(self._other(instruction), words, offsets)

    def load_store(self, instruction: Instruction, given: Any, size: int, stride: int) -> Any:
        return super().load_store(self._other(instruction), given, size, stride)


@for_each(
    ("name", "operand", "old", "new"),
    [
        ("mma.m16n8k16.row.col.f32.f16.f16.f32", "a", "(i g) (j t e)", "(i g) (t j e)"),
        ("mma.m16n8k16.row.col.f32.f16.f16.f32", "b", "(j t e) (g)", "(t j e) (g)"),
        ("mma.m16n8k16.row.col.f32.f16.f16.f32", "c", "(i g) (t e)", "(g i) (t e)"),
        ("mma.m16n8k16.row.col.f32.f16.f16.f32", "d", "(i g) (t e)", "(i g) (e t)"),
        ("mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32", "a", "(i g) (j t e)", "(g i) (j t e)"),
        ("wgmma.mma_async.m64n16k16.f32.f16.f16", "d", "(w i g) (j t e)", "(w i g) (t j e)"),
        ("wgmma.mma_async.m64n16k16.f32.f16.f16", "a", "(w i g) (j t e)", "(w g i) (j t e)"),
        ("ldmatrix.m8n8.x4.shared.b16", "data", "(g) (t e)", "(t e) (g)"),
        ("stmatrix.m8n8.x4.shared.b16", "data", "(x) (g)", "(x) (g)"),
        ("wmma.load.a.row.m16n16k16.s8", "a", "(i g) (t e)", "(g i) (t e)"),
    ],
)
def test_a_map_that_hardware_does_not_have_is_found(name: str, operand: str, old: str, new: str) -> None:
    i = find(name)
    device = SwappedDevice(operand, old, new)
    wrong = {m.operand: bool(m.wrong.any()) for m in fragment_runs.measure_all(device, i)}
    assert any(wrong.values()) is (old != new), wrong
    if old != new and {"a", "b", "d"} <= set(i.operands) and operand != "c":
        assert not mma_runs.run_mma(device, i)["agrees"]


def test_a_sparse_b_is_judged_where_the_first_positions_do_not_reach() -> None:
    """A device that exchanges k % 4 = 2 and 3 of B: under metadata that keeps the first positions nobody would see
    it.
    """

    class Exchanged(NumpyDevice):
        def product(self, job: ProductJob) -> Any:
            b = job.registers["b"].copy()
            odd = np.arange(32) % 2 == 1
            b[:, odd] = b[:, odd] << 16 | b[:, odd] >> 16
            return super().product(replace(job, registers={**job.registers, "b": b}))

    i = find("mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32")
    wrong = fragment_runs.measure_operand(Exchanged(), i, "b").wrong
    assert wrong.any() and not wrong[::2].any()


def test_metadata_that_another_lane_supplies_is_found() -> None:
    class Swapped(NumpyDevice):
        def product(self, job: ProductJob) -> Any:
            registers = dict(job.registers)
            registers["e"] = registers["e"][:, ::-1]
            return super().product(replace(job, registers=registers))

    i = find("mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32")
    assert fragment_runs.measure_operand(Swapped(), i, "e").wrong.any()
    assert not mma_runs.run_mma(Swapped(), i)["agrees"]


@for_each("major", ["K", "MN"])
@for_each("operand", ["a", "b"])
@for_each("mode", ["none", "32B", "64B", "128B"])
def test_descriptor_runs_find_the_byte_of_every_element(operand: str, major: str, mode: str) -> None:
    i = find("wgmma.mma_async.m64n32k16.f32.f16.f16")
    found = descriptor_runs.run_descriptor(DEVICE, i, encode_wgmma(0x2010, 528, 1040, 3, mode), operand, major)
    assert found["agrees"] and found["compared"] == (64 if operand == "a" else 32) * 16


def test_a_device_that_adds_the_base_offset_is_found() -> None:
    class Adds(NumpyDevice):
        def product(self, job: ProductJob) -> Any:
            words = {
                name: Descriptor(word).replace(base_offset=(8 - Descriptor(word).base_offset) % 8).word
                for name, word in job.descriptors.items()
            }
            return super().product(replace(job, descriptors=words))

    found = descriptor_runs.run_descriptor(
        Adds(), find("wgmma.mma_async.m64n32k16.f32.f16.f16"), encode_wgmma(0x2000, 16, 1024, 3, "128B"), "b", "K"
    )
    assert not found["agrees"] and found["mismatches"][0].keys() == {"row", "k", "expected", "got"}


def test_descriptors_that_read_outside_are_refused_and_low_ones_are_moved() -> None:
    i = find("wgmma.mma_async.m64n64k16.f32.f16.f16")
    with pytest.raises(LayoutError) as caught:
        descriptor_runs.run_descriptor(DEVICE, i, encode_wgmma(0x38000, 16, 1024, 0, "128B"), "a", "K")
    assert caught.value.code == "reads_outside" and "was not executed" in caught.value.message
    moved = descriptor_runs.run_descriptor(DEVICE, i, encode_wgmma(0, 16, 1024, 0, "128B"), "a", "K")
    assert moved["moved_bytes"] == 1024 and moved["agrees"] and int(np.min(moved["measured"])) == 0


def test_the_other_operand_never_lies_where_a_descriptor_reads() -> None:
    """On 1,024 bytes, inside the run's shared memory: above what is read where that leaves a kilobyte, else below."""
    rng = np.random.default_rng(8)
    view = desc.view(find("wgmma.mma_async.m64n16k16.f32.f16.f16"), "a", "K")
    above = below = 0
    for _ in range(400):
        start, lbo, sbo = (int(n) * 16 for n in (*rng.integers(0, 0x3C00, 1), *rng.integers(0, 64, 2)))
        size = int(rng.choice([0, 1, 1023, 1024, 1025, 32768, 131072, 229376 - 1024, 229376]))
        word = encode_wgmma(start, lbo, sbo, 0, "none")
        try:
            run, moved, at = descriptor_runs.place_descriptor(word, view, size)
        except LayoutError as error:
            assert error.code in ("no_room", "reads_outside")
            continue
        reads = desc.reads(run, view)
        low, high = int(reads.min()), int(reads.max()) + 2
        end, room = WINDOW + descriptor_runs.MOST, -(-size // 1024) * 1024
        assert np.array_equal(reads, desc.reads(word, view) + moved) and low >= WINDOW and high <= end
        assert moved == (0 if start >= WINDOW else WINDOW) and at % 1024 == 0
        assert at >= WINDOW and at + room <= end and (at >= high or at + room <= low)
        assert (at >= high) is (end - high >= room + 1024)
        assert at in (WINDOW, (end - room) // 1024 * 1024)
        above, below = above + (at >= high), below + (at < low)
    assert above > 100 and below > 20


def test_banks_runs_compare_clocks_with_wavefronts() -> None:
    class Slow(NumpyDevice):
        def cycles(self, access: Any, offsets: Any) -> tuple[float, str]:
            return 2 * super().cycles(access, offsets)[0], ""

    conflict = [128 * lane for lane in range(32)]
    assert bank_runs.run_banks(DEVICE, "ld.shared.b32", conflict)["predicted"] == {
        "wavefronts": 32,
        "ideal": 1,
        "ways": 32,
    }
    assert bank_runs.run_banks(DEVICE, "ld.shared.b32", conflict)["agrees"]
    assert not bank_runs.run_banks(Slow(), "ld.shared.b32", conflict)["agrees"]


def trace_random_run(i: Instruction, seed: int, row: int, col: int) -> Steps:
    """The steps of one run of random numbers in NumPy."""
    request = runs.parse_run({"kind": "mma", "instruction": i.ptx, "seed": seed, "backend": "numpy"})
    found = trace_steps(i, parse_mma_result(runs.execute_run(DEVICE, request)), row, col)
    assert isinstance(found, Steps)
    return found


def test_steps_of_the_seed_instruction_add_up() -> None:
    i = find("mma.m8n8k16.row.col.s32.s8.s8.s32")
    found = trace_random_run(i, 1, 3, 2)
    element = found.element
    assert element.c + sum(term.a * term.b for term in element.terms) == element.d == element.sum
    assert element.terms[4].a_at == "T13:a0" and element.terms[4].b_at == "T9:b0"
    load = found.loads["a"]
    assert load and load.lane_offsets[0][:8].tolist() == [16 * lane for lane in range(8)]
    assert "T13:a0" in render_steps(found) and "NumPy simulation" in render_steps(found)


@for_each("name", [n for n in CHOSEN if n.startswith(("mma", "wmma.mma"))])
def test_steps_add_up_for_every_kind_of_mma(name: str) -> None:
    i = find(name)
    element = trace_random_run(i, 5, 1, 2).element
    assert element.sum == element.d and len(element.terms) == i.sizes["k"]


def test_every_wmma_product_has_its_loads_and_store() -> None:
    for i in catalog.instructions():
        if i.family.name == "wmma" and ".mma" in i.ptx:
            for operand in "abcd":
                through = movement_maps.find_wmma_access(i, operand)
                assert through.operands[operand].pattern == i.operands[operand].pattern
