"""Compute a tcgen05.mma in NumPy, by the maps of tensor memory and the model of matrix descriptors.

Documented; not compared with hardware.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.blackwell import tmem, umma
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.kind import MmaKind
from lanescope.blackwell.tmem import TmemOperandLayout
from lanescope.blackwell.umma import MmaOpcode
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.ptx.codec import decode_bits, encode_values
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.element_bytes import read_codes
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.ptx.table.kinds import PAIR

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class TensorProduct:
    """One tcgen05.mma.

    a: the descriptor of A in shared memory, None if A is in tensor memory; at: operand → address in tensor memory,
    lane << 16 | column; scale_vec: 1X, 2X or 4X of a block-scaled kind, "" for the kind's first.
    """

    idesc: IdescWord
    form: str
    a: int | None
    b: int
    at: Mapping[str, int] = field(default_factory=dict)
    scale_vec: str = ""

    @property
    def kind(self) -> MmaKind:
        return self.idesc.kind

    @property
    def ctas(self) -> int:
        return 2 if self.form == PAIR else 1

    @property
    def mma(self) -> tmem.TmemMma:
        """The instruction with the sizes that determine its operands in tensor memory."""
        word = self.idesc
        return tmem.TmemMma(self.kind, self.form, word.sparse, word.m, word.n, word.k, scale_vec=self.scale_vec)


def gather_units(memory: Array, layout: TmemOperandLayout, address: int) -> Array:
    """Return the units of an operand in tensor memory: uint64 [lane][unit]."""
    per = 32 // layout.bits
    unit = np.arange(layout.pattern.value_count)
    words = memory[:, (address & 0xFFFF) + unit // per].astype(np.uint64)
    return words >> (unit % per * layout.bits).astype(np.uint64) & np.uint64((1 << layout.bits) - 1)


def multiply(
    product: TensorProduct,
    memory: Array,
    shared: Sequence[Array],
    numbers_read: dict[tuple[str, int], Array],
    *,
    base: int = 0,
    accumulate: bool = False,
    scale_d: int = 0,
    keep: Array | None = None,
) -> None:
    """Compute D of a tcgen05.mma in place: memory is uint32 [ctas, 128, columns].

    shared: a byte image of each CTA's shared memory, whose first byte has the address `base`. numbers_read: a cache of
    the operands; clear it if the bytes change. scale_d: D is multiplied by 2 ** -scale_d before the product is added.
    keep: bool [ctas, 128], lanes that are not written. PTX ISA 9.1, 9.7.16.10.
    """
    idesc_word, mma = product.idesc, product.mma
    opcode = MmaOpcode(product.kind, product.form, idesc_word.sparse)
    sign = {side: -1.0 if idesc_word.format_field(f"negate_{side}") == "yes" else 1.0 for side in "ab"}
    read = _SharedReader(product, opcode, shared, base, numbers_read)
    b = np.concatenate([read.read("b", cta) for cta in range(product.ctas)]) * sign["b"]  # [n, k]
    d = tmem.make_tmem_layout(mma, "d")
    coords = d.pattern.evaluate()
    in_d = coords[2] == (product.at["d"] >> 16 & 16) // 16 if len(coords) == 3 else np.ones(coords[0].shape, bool)
    kind = idesc_word.types["d"]
    for cta in range(product.ctas):
        before = memory[cta].copy()
        a = _gather_a_rows(product, read, cta, before, mma) * sign["a"]  # [lane, k]: of the row that the lane holds
        a_scale, b_scale = (
            _gather_scales(product, before, "scale_a", mma),
            _gather_scales(product, before, "scale_b", mma),
        )
        scaled_b = b * b_scale if b_scale is not None else b
        row = coords[0][:, 0]
        scaled_a = a * a_scale[row] if a_scale is not None else a
        value = np.take_along_axis(scaled_a @ scaled_b.T, coords[1], axis=1)
        columns = (product.at["d"] & 0xFFFF) + np.arange(value.shape[1])
        if accumulate:
            old = before[:, columns].astype(np.uint64) & np.uint64((1 << get_dtype(kind).bits) - 1)
            value = value + decode_bits(old, kind) * 2.0**-scale_d
        code = encode_values(value, kind).astype(np.uint32)
        written = in_d if keep is None else in_d & ~keep[cta][:, None]
        memory[cta][:, columns] = np.where(written, code, before[:, columns])


class _SharedReader:
    """Reads the operands of a product from the CTAs' shared memory, through its descriptors."""

    def __init__(
        self,
        product: TensorProduct,
        opcode: MmaOpcode,
        shared: Sequence[Array],
        base: int,
        numbers_read: dict[tuple[str, int], Array],
    ) -> None:
        self.product, self.opcode, self.shared, self.base, self.known = product, opcode, shared, base, numbers_read

    def read(self, side: str, cta: int) -> Array:
        """Return the numbers that a descriptor reads in a CTA: [row, k]."""
        word = self.product.b if side == "b" else self.product.a
        assert word is not None
        image = self.shared[cta].view(np.uint8)
        key = (side, int(image.__array_interface__["data"][0]))
        if key not in self.known:
            view = umma.make_view(self.opcode, self.product.idesc, side)
            address = compute_addresses(word, view) - self.base
            self.known[key] = decode_bits(read_codes(image, address, view.bits), self.product.idesc.types[side])
        return self.known[key]


@lru_cache(maxsize=8)
def compute_addresses(word: int, view: View) -> Array:
    """Return the byte addresses of a descriptor, cached for the runs of a job."""
    return desc.reads(Descriptor(word, TCGEN05), view)


def _gather_a_rows(product: TensorProduct, read: _SharedReader, cta: int, memory: Array, mma: tmem.TmemMma) -> Array:
    """Return dense A of the row of D that each lane holds: [lane, k]."""
    row = tmem.make_tmem_layout(mma, "d").pattern.evaluate()[0][:, 0]
    if product.a is not None:
        stored = read.read("a", cta)[row]
    else:
        layout = tmem.make_tmem_layout(mma, "a")
        columns = layout.pattern.evaluate()[1]
        stored = np.zeros(columns.shape)
        code = gather_units(memory, layout, product.at["a"])
        np.put_along_axis(stored, columns, decode_bits(code, product.idesc.types["a"]), axis=1)
    return _expand_sparse_a(product, memory, stored, row, mma) if product.idesc.sparse else stored


def _expand_sparse_a(product: TensorProduct, memory: Array, stored: Array, row: Array, mma: tmem.TmemMma) -> Array:
    """Expand a sparse A by the metadata in tensor memory: [lane, k]."""
    layout = tmem.make_tmem_layout(mma, "metadata")
    lane, unit = (index[..., 0] for index in layout.pattern.inverse()[:2])
    if lane.ndim == 3:
        lane, unit = (index[..., (product.at["metadata"] >> 16 & 16) // 16] for index in (lane, unit))
    nibble = gather_units(memory, layout, product.at["metadata"])[lane, unit].astype(np.int64)[row]  # [lane, group]
    dense = np.zeros((len(stored), mma.k))
    groups = nibble.shape[1]
    size, kept_per_group = mma.k // groups, stored.shape[1] // groups
    group_starts = np.arange(groups) * size
    lanes = np.arange(len(stored))[:, None]
    pairs = kept_per_group // 2 if kept_per_group > 2 else 1
    for index in range(2 if kept_per_group > 1 else 1):
        position = nibble >> 2 * index & 3 if kept_per_group > 1 else (nibble & 3) // 2
        for offset in range(pairs):
            values = stored[:, (np.arange(groups) * kept_per_group + index * pairs + offset)]
            dense[lanes, group_starts + position * pairs + offset] += values
    return dense


def _gather_scales(product: TensorProduct, memory: Array, operand: str, mma: tmem.TmemMma) -> Array | None:
    """Return the scale factor of each row (or column of B) and k, [row, k], from the bytes that the ids select."""
    if not product.kind.scaled:
        return None
    layout = tmem.make_tmem_layout(mma, operand)
    number = product.idesc.get_code(f"sf{operand[-1]}_id")
    code = gather_units(memory, layout, product.at[operand])
    lane, unit = layout.pattern.inverse()  # [row, scale, copies]
    per = lane.shape[1]
    copy_index = np.argmax(unit % 4 // per == number // per, axis=2)[..., None]
    owner = (np.take_along_axis(lane, copy_index, 2)[..., 0], np.take_along_axis(unit, copy_index, 2)[..., 0])
    factor = decode_bits(code[owner], product.idesc.format_field("scale_type"))
    repeated: Array = np.repeat(factor, mma.k // per, axis=1)
    return repeated if operand == "scale_a" else repeated[: mma.n]
