"""Generated loads and stores of operands, executed on the device: the predictions and the code of /chain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanescope.app.hardware import kernel_source
from lanescope.app.hardware.device import Array, CudaDevice
from lanescope.ptx import catalog
from lanescope.render.chain import render_code
from lanescope.shared import chain, pieces
from lanescope.shared.chain import Chain
from lanescope.shared.operand_storage import make_operand_storage

WORDS = 8192  # 32 KiB of shared memory, more than any case needs
F16, TF32 = "mma.m16n8k16.row.col.f32.f16.f16.f32", "mma.m16n8k8.row.col.f32.tf32.tf32.f32"
S8, S4, B1 = (
    "mma.m16n8k32.row.col.s32.s8.s8.s32",
    "mma.m16n8k64.row.col.s32.s4.s4.s32",
    "mma.m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
)
WGMMA, WGMMA_8 = "wgmma.mma_async.m64n64k16.f32.f16.f16", "wgmma.mma_async.m64n64k32.f32.e4m3.e4m3"
# (mma, operand, contiguous dimension): a and b are loaded, d is converted to 16 bits and stored.
CASES = (
    (F16, "a", "K"),
    (F16, "a", "MN"),
    (F16, "b", "K"),
    (F16, "b", "MN"),
    (F16, "d", "K"),
    (F16, "d", "MN"),
    ("mma.m8n8k16.row.col.s32.s8.s8.s32", "a", "K"),
    (S8, "a", "K"),
    (S8, "b", "K"),
    (S4, "a", "K"),
    (TF32, "a", "K"),
    (TF32, "b", "K"),
    ("mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32", "a", "K"),
    (WGMMA, "a", "K"),
    (WGMMA, "a", "MN"),
    (WGMMA_8, "a", "K"),
    (WGMMA, "d", "K"),
    (WGMMA, "d", "MN"),
)
# Each storage holds each operand; swizzled by address and by tile, on the pattern's boundary and off it.
STORAGES: tuple[dict[str, Any], ...] = (
    {"kind": "rows", "pitch_bytes": 144, "swizzle": "none"},
    {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "swizzle_by": "tile"},
    {"kind": "rows", "pitch_bytes": 272, "swizzle": "none"},
    {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "swizzle_by": "address", "base": 0x190},
    {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "swizzle_by": "tile", "base": 0x190},
    {"kind": "rows", "pitch_bytes": 144, "swizzle": "32B", "swizzle_by": "address", "base": 0x70},
    {
        "kind": "atoms",
        "width_bytes": 64,
        "outer8_stride": 512,
        "inner_stride": 4096,
        "swizzle": "64B",
        "swizzle_by": "address",
        "base": 0xC0,
    },
    {"kind": "canonical", "swizzle": "none", "mn": 64, "k": 256, "base": 0x10},
    {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 256, "base": 0x480},
    {"kind": "canonical", "swizzle": "64B", "swizzle_by": "tile", "mn": 64, "k": 256, "base": 0x80},
)
# 16-bit pieces along M or N of elements of any size: (mma, operand, layout (mn, k), unit).
PIECES = (
    ("mma.m8n8k16.row.col.s32.s8.s8.s32", "b", "(8,(2,8)):(2,(1,16))", "bytes"),
    (S8, "a", "(16,(2,16)):(2,(1,32))", "bytes"),
    (S8, "a", "Sw<1,4,3> o smem_ptr[8b](unset) o (16,(2,16)):(2,(1,32))", "elements"),
    (S8, "b", "(8,(2,16)):(2,(1,48))", "bytes"),
    (S4, "a", "(16,(4,16)):(4,(1,64))", "elements"),
    (S4, "b", "(8,(2,16)):(2,(1,16))", "bytes"),
    (B1, "a", "(16,(2,16)):(2,(1,32))", "bytes"),
    (TF32, "a", "(16,(2,2,8)):(2,(1,32,64))", "bytes"),
    (WGMMA_8, "a", "(64,(2,16)):(2,(1,128))", "bytes"),
    (F16, "a", "(16,(8,2)):(16,(1,8))", "elements"),
)


@dataclass(frozen=True)
class ChainCase:
    """One load or store of one operand over one storage; key: the operand that it serves and how it is stored."""

    key: str
    chain: Chain

    @property
    def name(self) -> str:
        return f"{self.key}: {self.chain.load.instruction.ptx}, {self.chain.where.text}, base {self._base}"

    @property
    def _base(self) -> int:
        assert self.chain.where.placed is not None
        return self.chain.where.placed.base

    def render_kernel(self) -> str:
        operand, store = self.chain.want.operand, self.chain.store
        function = f"{'store' if store else 'load'}_{operand.name}"
        return kernel_source.render_chain(render_code(self.chain), "k", function, operand.registers, store, self._base)

    def compute_addresses(self) -> Array:
        """Compute the byte address of every byte of every register: [thread, register, byte]."""
        operand = self.chain.want.operand
        per = 8 // self.chain.want.granule_bits
        return self.chain.expected.reshape(operand.threads, operand.registers, -1)[..., ::per] >> 3

    def run_case(self, device: CudaDevice) -> bool:
        """Return whether every byte arrives where /chain predicts; each run transfers one byte of the addresses."""
        expected = self.compute_addresses()
        slots = np.arange(expected.size).reshape(expected.shape)
        threads, registers = expected.shape[:2]
        out = np.zeros((2, WORDS) if self.chain.store else (2, threads, registers), np.uint32)
        whole = slots if self.chain.store else np.arange(4 * WORDS)
        sent = np.stack([(whole >> shift & 255).astype(np.uint8).view(np.uint32) for shift in (0, 8)])
        words = sent[..., 0] if self.chain.store else sent
        (raw,) = device.run_kernel(
            self.render_kernel(), out, words, np.uint32(WORDS), grid=(2,), threads=threads, shared=4 * WORDS
        )
        got = raw.view(np.uint8).reshape(2, -1).astype(np.int64)
        both = got[0] | got[1] << 8
        return bool(((both[expected] == slots) if self.chain.store else (both == expected.ravel())).all())


def generate_cases() -> Iterator[ChainCase]:
    """Yield every load that feeds each operand from each storage."""
    for text, letter, major in CASES:
        instruction = catalog.find(text)
        operand = pieces.convert_for_memory(instruction.operand(letter))
        for spec in STORAGES:
            if spec["kind"] == "canonical" and (major == "MN" and operand.container_bits != 16):
                continue
            for best in chain.list_best_chains(operand, make_operand_storage(spec, operand, major), letter == "d"):
                yield ChainCase(f"{instruction.ptx} {letter} {major}", best)
    for text, letter, layout, unit in PIECES:
        instruction = catalog.find(text)
        operand = instruction.operand(letter)
        for best in chain.list_best_chains(
            operand,
            make_operand_storage({"kind": "cute", "layout": layout, "unit": unit, "base": 64}, operand, "K"),
        ):
            yield ChainCase(f"{instruction.ptx} {letter} pieces", best)
