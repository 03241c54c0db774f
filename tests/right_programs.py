"""Programs that build a wgmma descriptor rightly: many tiles, and the word of one slice of each, packed by this file's
own arithmetic.

Nothing here asks the engine what a right word is; only the instruction texts are shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

MASK = (1 << 64) - 1
WIDTH = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
CODE = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
TMA = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
TYPES = {
    "f32.f16.f16": (16, 16),
    "f32.bf16.bf16": (16, 16),
    "f32.tf32.tf32": (32, 8),
    "s32.s8.s8": (8, 32),
    "f32.e4m3.e5m2": (8, 32),
}


@dataclass(frozen=True)
class DescriptorProgram:
    """A program that gets everything right: what it puts into the fields (bytes) for one slice of one tile."""

    types: str
    n: int
    operand: str
    major: str
    swizzle: str
    mn: int
    k: int
    order: str
    base: int
    at_mn: int
    at_k: int
    kind: str
    start: int = 0
    lbo: int = 0
    sbo: int = 0
    base_offset: int = 0
    code: int = 0

    @property
    def bits(self) -> int:
        return TYPES[self.types][0]

    @property
    def rows(self) -> int:
        return 64 if self.operand == "a" else self.n

    @property
    def instruction(self) -> str:
        d = "wgmma.mma_async.sync.aligned.m64n{}k{}.{}"
        return d.format(self.n, TYPES[self.types][1], self.types)

    @property
    def size(self) -> int:
        return self.bits // 8

    @property
    def wide(self) -> int:
        """Elements across an atom along the contiguous dimension."""
        return WIDTH[self.swizzle] // self.size

    @property
    def atom(self) -> int:
        return 8 * WIDTH[self.swizzle]

    @property
    def storage(self) -> dict[str, Any]:
        if self.kind == "canonical":
            return {
                "kind": "canonical",
                "element_bits": self.bits,
                "major": self.major,
                "swizzle": self.swizzle,
                "mn": self.mn,
                "k": self.k,
                "order": self.order,
                "base": self.base,
            }
        if self.kind == "rows":
            return {
                "kind": "rows",
                "inner": self.major,
                "pitch_bytes": WIDTH[self.swizzle],
                "swizzle": self.swizzle,
                "base": self.base,
            }
        outer, inner = compute_strides(self)
        return {
            "kind": "atoms",
            "inner": self.major,
            "width_bytes": WIDTH[self.swizzle],
            "outer8_stride": outer,
            "inner_stride": inner,
            "swizzle": self.swizzle,
            "base": self.base,
        }

    def with_right_fields(self) -> DescriptorProgram:
        outer, inner = compute_strides(self)
        lines, along = (self.at_mn, self.at_k) if self.major == "K" else (self.at_k, self.at_mn)
        start = self.base + lines // 8 * outer + along // self.wide * inner + along % self.wide * self.size
        if self.major == "K":
            lbo, sbo = (inner, outer) if self.swizzle == "none" else (16, outer)
        elif self.swizzle == "none":  # LBO runs along K, SBO along M/N
            lbo, sbo = outer, inner
        else:
            lbo, sbo = inner, outer
        return replace(self, start=start, lbo=lbo, sbo=sbo, code=CODE[self.swizzle])

    def ask(self, word: int, storage: dict[str, Any] | None = None) -> dict[str, Any]:
        return {
            "descriptor": f"0x{word:016x}",
            "instruction": self.instruction,
            "operand": self.operand,
            "major": self.major,
            "storage": storage or self.storage,
            "slice": {"mn": self.at_mn, "k": self.at_k},
        }


def compute_strides(p: DescriptorProgram) -> tuple[int, int]:
    """(bytes from 8 lines to the next 8, bytes from one atom's width to the next)."""
    lines, across = (p.mn, p.k) if p.major == "K" else (p.k, p.mn)
    many_lines, many_across = lines // 8, across // p.wide
    lines_first = (p.order == "mn") == (p.major == "K")
    return (p.atom, p.atom * many_lines) if lines_first else (p.atom * many_across, p.atom)


def pack_word(start: int, lbo: int, sbo: int, base_offset: int, code: int) -> int:
    return (
        (start & 0x3FFFF) >> 4
        | (lbo & 0x3FFFF) >> 4 << 16
        | (sbo & 0x3FFFF) >> 4 << 32
        | base_offset << 49
        | code << 62
    )


def build_word(p: DescriptorProgram) -> int:
    return pack_word(p.start, p.lbo, p.sbo, p.base_offset, p.code)


def make_programs(seed: int, count: int) -> Iterator[DescriptorProgram]:
    """Random right programs over types, operands, majors, modes, orders, sizes, slices and kinds of storage."""
    random = Random(seed)
    made = 0
    while made < count:
        types = random.choice(list(TYPES))
        bits, step = TYPES[types]
        operand = random.choice("ab")
        n = random.choice((8, 16, 32, 64, 96, 128, 192, 256))
        major = random.choice(("K", "MN")) if bits == 16 else "K"
        swizzle = random.choice(("none", "32B", "64B", "128B", "128B"))
        wide = WIDTH[swizzle] * 8 // bits
        rows = 64 if operand == "a" else n
        unit_mn, unit_k = (8, max(wide, step)) if major == "K" else (max(wide, 8), step)
        mn = -(-rows // unit_mn) * unit_mn * random.choice((1, 1, 2, 3))
        k = unit_k * random.choice((1, 2, 3, 4, 8))
        if mn * k * bits // 8 > 100 * 1024:
            continue
        kind = random.choice(("canonical", "canonical", "atoms", "rows"))
        order = {"K": "mn", "MN": "k"}[major] if random.random() < 0.75 else random.choice(("mn", "k"))
        if kind == "rows":  # one panel
            mn, k = (mn, max(wide, step)) if major == "K" else (max(wide, 8), k)
            if rows > mn or step > k or swizzle == "none" or (k % wide and major == "K"):
                continue
            order = "mn" if major == "K" else "k"
        at_mn = random.randrange(0, mn - rows + 1, max(8, wide if major == "MN" else 8)) if random.random() < 0.3 else 0
        at_k = random.randrange(0, k, step) if random.random() < 0.7 else 0
        if at_mn % (wide if major == "MN" else 8):
            continue
        base = random.randrange(1, 60) * 1024
        made += 1
        yield DescriptorProgram(
            types,
            n,
            operand,
            major=major,
            swizzle=swizzle,
            mn=mn,
            k=k,
            order=order,
            base=base,
            at_mn=at_mn,
            at_k=at_k,
            kind=kind,
        ).with_right_fields()
