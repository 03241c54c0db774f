"""The instructions' semantics in NumPy, from the fragment registers: the same runs without a GPU. A simulation, and
named so.

It reads registers by the maps and shared memory by the descriptor model, so it shows what those predict; it proves
nothing about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware import product_inputs, whole_product
from lanescope.app.hardware.device import WINDOW, ProductJob, RunDevice
from lanescope.app.hardware.kernel_source import MOVE_WORDS
from lanescope.app.hardware.whole_product import StagedProduct
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.product.plan import DescribedSide, ProductPlan, ProductSide, RowsSide, WmmaSide
from lanescope.ptx import fragment_words
from lanescope.ptx.element_bytes import read_codes, write_codes
from lanescope.ptx.instruction import Instruction, Operand, OperandFeed
from lanescope.ptx.product_values import (
    compute_product,
    locate_row_elements,
    read_elements,
    spread_scales,
    spread_sparse,
)
from lanescope.render import kernel_device
from lanescope.shared.banks import BANKS, BankAccess, check_addresses

Array = NDArray[Any]
SOURCE = "NumPy simulation: app/hardware/numpy_device.py\n"


class NumpyDevice:
    """NumPy stand-in for a GPU."""

    simulated = True

    def info(self) -> dict[str, str]:
        return {
            "name": "NumPy simulation, no GPU",
            "compute_capability": "",
            "driver": "",
            "cuda": "",
            "nvrtc": "",
            "target": "",
        }

    def supports(self, instruction: Instruction) -> str:
        return ""

    def product(self, job: ProductJob) -> tuple[Array, str]:
        i, (x, y) = job.instruction, job.grid
        a, b = self._decode_a(job), self._decode_b(job)
        c = _decode_matrix(i.operands.get("c", i.operands["d"]), job.registers["c"])
        d = i.operands["d"]
        if job.kept_registers < d.registers:  # only the columns that the first registers hold
            values = job.kept_registers * (d.values // d.registers)
            cols, index = np.unique(d.cols[:, :values], return_inverse=True)
            part = c[None][..., cols] + compute_product(i, a, b[..., cols, :])
            fragments = fragment_words.encode_values(part, d.element.name)[
                ..., d.rows[:, :values], index.reshape(d.threads, values)
            ]
            return fragment_words.pack_values(d, np.broadcast_to(fragments, (x, y, *fragments.shape[2:]))), SOURCE
        d_values = c[None] + compute_product(i, a, b)
        bits = fragment_words.encode_values(np.broadcast_to(d_values, (x, y, *d_values.shape[2:])), d.element.name)
        return fragment_words.pack(d, bits)[..., : job.kept_registers], SOURCE

    def program(self, plan: ProductPlan, staged: StagedProduct) -> tuple[Array, str]:
        return simulate_plan(self, plan, staged), SOURCE

    def _decode_a(self, job: ProductJob) -> Array:
        """Decode dense A, scaled: [x (or 1), row, k, product], or [x, y, …] from shared memory."""
        i = job.instruction
        op = i.operands["a"]
        if job.a_from == "shared":
            view = View(
                i.sizes["m"], op.col_count, op.element.bits, "MN" if job.immediates.get("imm_trans_a") == "1" else "K"
            )
            stored = _read_shared(job, "a_desc", view, op.element.name)[..., None]
        else:
            stored = _decode_matrix(op, job.registers["a"])
            stored = stored if len(op.axes) == 3 else stored[..., None]
        if op.sparsity:
            words = job.registers["e"].reshape(-1, i.threads)
            stored = spread_sparse(op, stored, words, int(job.immediates.get("f", "0")))
        return self._apply_scales(job, "a", stored, 1) * _get_sign(job, "a")

    def _decode_b(self, job: ProductJob) -> Array:
        """Decode B [y (or 1), k, col, product], or [x, y, …] from shared memory."""
        i = job.instruction
        if i.family.by_descriptor:
            name, bits = i.types["b"], i.operands["a"].element.bits
            view = View(i.sizes["n"], i.sizes["k"], bits, "MN" if job.immediates.get("imm_trans_b") == "1" else "K")
            return np.swapaxes(_read_shared(job, "b_desc", view, name), -1, -2)[..., None] * _get_sign(job, "b")
        op = i.operands["b"]
        matrix = _decode_matrix(op, job.registers["b"])
        return self._apply_scales(job, "b", matrix if len(op.axes) == 3 else matrix[..., None], 2)

    def _apply_scales(self, job: ProductJob, letter: str, matrix: Array, axis: int) -> Array:
        scale = job.instruction.scales.get(f"scale_{letter}")
        if scale is None:
            return matrix
        spread = spread_scales(job.instruction, scale, job.registers[f"scale_{letter}_data"].reshape(-1, 32))
        scaled: Array = matrix * (spread if axis == 1 else spread.transpose(0, 2, 1))[..., None]
        return scaled

    def move(self, instruction: Instruction, words: Array, offsets: Array) -> tuple[Array, str]:
        if instruction.family.moves:
            source, target = instruction.operands["a"], instruction.operands["d"]
            return fragment_words.pack(target, fragment_words.unpack(source, words[:, None].astype(np.uint32))[0])[
                :, 0
            ], SOURCE
        op = instruction.operands["data"]
        offsets_of_elements = locate_row_elements(instruction, offsets)
        memory_type = np.uint16 if op.container_bits == 16 else np.uint8
        if instruction.family.loads:
            memory = np.ascontiguousarray(words, dtype=np.uint32).view(memory_type)
            return fragment_words.pack(
                op, memory[:, offsets_of_elements // (op.container_bits // 8)].astype(np.uint64)
            ), SOURCE
        images = np.zeros((len(words), MOVE_WORDS * 4 * 8 // op.container_bits), memory_type)
        images[:, offsets_of_elements // (op.container_bits // 8)] = fragment_words.unpack(op, words)[0]
        return images.view(np.uint32), SOURCE

    def load_store(self, instruction: Instruction, images: Array, size: int, stride: int) -> tuple[Array, str]:
        (op,) = instruction.operands.values()
        row, col = np.arange(op.row_count)[:, None], np.arange(op.col_count)[None, :]
        element_index = row * stride + col if "row" in instruction.syntax.layouts else col * stride + row
        bits = op.element.bits
        if instruction.family.loads:
            return fragment_words.pack(op, read_elements(images, element_index, bits)), SOURCE
        stored = np.zeros((len(images), size), np.uint8)
        values = fragment_words.unpack(op, images)[0]
        write_codes(stored, element_index * (bits // 8), values, bits)
        return stored, SOURCE

    def cycles(self, access: BankAccess, offsets: Sequence[int | None]) -> tuple[float, str]:
        """Serve the lanes turn by turn: every bank delivers one word a turn, to all lanes that want it."""
        addresses = check_addresses(access, offsets)
        turns = 0
        for lanes in access.list_phases(addresses):
            waiting = {
                (address + byte) // 4
                for lane in lanes
                if (address := addresses[lane]) is not None
                for byte in range(0, access.bytes, 4)
            }
            while waiting:
                served = {word % BANKS: word for word in waiting}
                waiting -= set(served.values())
                turns += 1
        return float(turns), SOURCE


def _get_sign(job: ProductJob, letter: str) -> int:
    """Return the imm-scale of a multiplicand: 1, or -1."""
    return int(job.immediates.get(f"imm_scale_{letter}", "1"))


def _decode_matrix(op: Operand, registers: Array) -> Array:
    return fragment_words.decode_bits(fragment_words.unpack(op, registers)[0], op.element.name)


def _read_shared(job: ProductJob, name: str, view: View, element: str) -> Array:
    """Read the values of an operand's descriptor, [x, y, row, k]."""
    assert job.image is not None
    x, y = job.grid
    base = WINDOW if job.absolute else 0
    addresses = desc.reads(Descriptor(job.descriptors[name]), view) - base
    image = np.ascontiguousarray(job.image).view(np.uint8)
    values = np.zeros((x, y, *addresses.shape))
    for n in range(x):
        shared = image.copy()
        if job.overlay is not None and job.overlay.size:
            overlay = np.ascontiguousarray(job.overlay[n % len(job.overlay)]).view(np.uint8)
            shared[:, job.overlay_at * 4 : job.overlay_at * 4 + overlay.size] = overlay
        values[n] = fragment_words.decode_bits(read_codes(shared, addresses, view.bits), element)
    return values


# whole products -------------------------------------------------------------------------------------------------------


def simulate_plan(device: RunDevice, plan: ProductPlan, staged: StagedProduct) -> Array:
    """Return D's memory, with every instruction executed by the NumPy reference."""
    i = plan.instruction
    shared = whole_product.build_shared_image(plan, staged).view(np.uint32)[None]
    if i.family.feed is OperandFeed.LOADS:
        return _simulate_wmma(device, plan, staged, shared)
    c = i.operands.get("c", i.operands["d"])
    start = staged.inputs.c if plan.accumulate else 0 * staged.inputs.c
    registers: dict[str, Array] = {"c": product_inputs.pack_values(c, start)[None]}
    for name, codes in staged.inputs.scales.items():
        registers[f"{name}_data"] = product_inputs.pack_scales(i, name, codes)[None]
    immediates = {name: str(value) for name, value in plan.immediates.items()}
    d = registers["c"]
    for step in range(plan.steps):
        registers["c"] = d
        if i.operands["a"].sparsity:
            registers["e"] = staged.inputs.metadata[step][None]
        descriptors = {
            f"{s.letter}_desc": s.get_descriptor(step).word for s in (plan.a, plan.b) if isinstance(s, DescribedSide)
        }
        if not i.family.by_descriptor:
            registers |= {side.letter: _load_operand(plan, side, staged, shared) for side in (plan.a, plan.b)}
        elif plan.a_from == "registers":
            op = i.operands["a"]
            part = staged.inputs.stored_a[:, :, step * op.col_count : (step + 1) * op.col_count]
            registers["a"] = product_inputs.pack_values(op, part)[None]
        job = ProductJob(
            i, plan.a_from, registers, descriptors, shared if i.family.by_descriptor else None, immediates=immediates
        )
        d = device.product(job)[0][0]
    bits, _ = fragment_words.unpack(i.operands["d"], d[0])
    matrix = np.moveaxis(bits, -1, 0) if bits.ndim == 3 else bits[None]
    return matrix.astype(whole_product.allocate_d(plan).dtype)


def _load_operand(plan: ProductPlan, side: ProductSide, staged: StagedProduct, shared: Array) -> Array:
    """Load a warp's registers of one operand from shared memory, [1, lane, register]: by ldmatrix's rows, or an element
    at a time.
    """
    op = plan.instruction.operands[side.letter]
    if isinstance(side, RowsSide) and side.chain:
        addresses, size = (
            side.chain.read.reshape(op.threads, op.registers, -1),
            side.chain.want.granule_bits,
        )  # bit addresses
        granules = shared.view(np.uint8)[0][addresses >> 3].astype(np.uint32) >> (addresses & 7).astype(
            np.uint32
        ) & np.uint32((1 << size) - 1)
        shifts = size * np.arange(addresses.shape[2], dtype=np.uint32)
        registers: Array = np.bitwise_or.reduce(granules << shifts, axis=2)[None].astype(np.uint32)
        return registers
    matrix = staged.inputs.stored_a if side.letter == "a" else staged.inputs.b
    return product_inputs.pack_values(op, matrix)[None]


def _simulate_wmma(device: RunDevice, plan: ProductPlan, staged: StagedProduct, shared: Array) -> Array:
    i, accesses = plan.instruction, kernel_device.find_accesses(plan)
    registers: dict[str, Array] = {}
    memory = shared.view(np.uint8)
    for side in (plan.a, plan.b):
        assert isinstance(side, WmmaSide)
        part = memory[:, side.base : side.end]
        registers[side.letter] = device.load_store(accesses[side.letter], part, part.shape[1], side.ldm)[0]
    c = staged.memory["C"].view(np.uint8).reshape(1, -1)
    registers["c"] = device.load_store(accesses["c"], c, c.shape[1], plan.d_ldm)[0]
    raw = device.product(ProductJob(i, "registers", registers))[0][0]
    memory_of_d = whole_product.allocate_d(plan)
    stored = device.load_store(accesses["d"], raw, memory_of_d.nbytes, plan.d_ldm)[0]
    return np.ascontiguousarray(stored).view(memory_of_d.dtype).reshape(memory_of_d.shape)
