"""Generated loads and stores of operands on the device: what /chain says and writes, executed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.gpu import kernels
from app.gpu.device import Array, Cuda
from layouts import catalog, chain
from layouts.instruction import Operand
from layouts.render.chain import code

WORDS = 8192  # 32 KiB of shared memory, more than any case needs
# (mma, operand, contiguous dimension): a and b are loaded, d is converted to 16 bits and stored
CASES = (
    ("mma.m16n8k16.row.col.f32.f16.f16.f32", "a", "K"), ("mma.m16n8k16.row.col.f32.f16.f16.f32", "a", "MN"),
    ("mma.m16n8k16.row.col.f32.f16.f16.f32", "b", "K"), ("mma.m16n8k16.row.col.f32.f16.f16.f32", "b", "MN"),
    ("mma.m16n8k16.row.col.f32.f16.f16.f32", "d", "K"), ("mma.m16n8k16.row.col.f32.f16.f16.f32", "d", "MN"),
    ("mma.m8n8k16.row.col.s32.s8.s8.s32", "a", "K"), ("mma.m16n8k32.row.col.s32.s8.s8.s32", "a", "K"), ("mma.m16n8k32.row.col.s32.s8.s8.s32", "b", "K"),
    ("mma.m16n8k64.row.col.s32.s4.s4.s32", "a", "K"), ("mma.m16n8k8.row.col.f32.tf32.tf32.f32", "a", "K"), ("mma.m16n8k8.row.col.f32.tf32.tf32.f32", "b", "K"),
    ("mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32", "a", "K"), ("wgmma.mma_async.m64n64k16.f32.f16.f16", "a", "K"),
    ("wgmma.mma_async.m64n64k16.f32.f16.f16", "a", "MN"), ("wgmma.mma_async.m64n64k32.f32.e4m3.e4m3", "a", "K"),
    ("wgmma.mma_async.m64n64k16.f32.f16.f16", "d", "K"), ("wgmma.mma_async.m64n64k16.f32.f16.f16", "d", "MN"),
)  # fmt: skip
# pitch in bytes, swizzle of the offset, the same in C
STORAGES = ((144, "none", "x"), (128, "128B", "x ^ (x >> 3 & 0x70)"), (272, "none", "x"))


@dataclass(frozen=True)
class Case:
    """One load or store of one operand over one storage."""

    name: str
    found: chain.Chain
    operand: Operand
    major: str
    pitch: int
    swizzle: str
    xor: str

    @property
    def key(self) -> str:
        """The operand it serves."""
        return self.name.rsplit(": ", 1)[0]

    @property
    def store(self) -> bool:
        return self.found.load.instruction.family.name == chain.STORES

    def source(self) -> str:
        text = code(self.found)
        function = f"{'store' if self.store else 'load'}_{self.operand.name}"
        return kernels.chained(text, "k", function, self.operand.registers, self.store, self.pitch, self.xor)

    def expected(self) -> Array:
        """Byte address of every byte of every register: [thread, register, byte]."""
        spec = {"kind": "rows", "inner": self.major, "pitch_bytes": self.pitch, "swizzle": self.swizzle, "swizzle_by": "tile", "base": 0}
        told = chain.follow(self.found, chain.stored(spec, self.operand, self.major))
        return told.expected.reshape(self.operand.threads, self.operand.registers, 4)

    def agrees(self, device: Cuda) -> bool:
        """Whether every byte arrives where /chain says: addresses (slots) are told a byte a run."""
        want = self.expected()
        size = (self.operand.threads, self.operand.registers)
        if self.store:
            slots = np.arange(want.size).reshape(want.shape)
            given = np.stack([(slots >> shift & 255).astype(np.uint8).view(np.uint32)[..., 0] for shift in (0, 8)])
            raw = device.chained(self.source(), given, *size, WORDS, True).view(np.uint8).astype(np.int64)
            return bool((raw[0][want] | raw[1][want] << 8 == slots).all())
        place = np.arange(4 * WORDS)
        images = np.stack([(place >> shift & 255).astype(np.uint8).view(np.uint32) for shift in (0, 8)])
        raw = device.chained(self.source(), images, *size, WORDS, False)
        got = raw.view(np.uint8).reshape(2, *want.shape).astype(np.int64)
        return bool((got[0] | got[1] << 8 == want).all())


def cases() -> Iterator[Case]:
    """Every load that feeds each operand, over each storage."""
    for text, letter, major in CASES:
        instruction = catalog.find(text)
        store = letter == "d"
        operand = chain.in_memory(instruction.operand(letter))
        for found in chain.advise(operand, major, store):
            for pitch, swizzle, xor in STORAGES:
                name = f"{instruction.ptx} {letter} {major}: {found.load.instruction.ptx}, pitch {pitch}, swizzle {swizzle}"
                yield Case(name, found, operand, major, pitch, swizzle, xor)
