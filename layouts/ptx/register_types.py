"""PTX's fundamental types, and the NumPy types of their values. PTX ISA 9.1, 5.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class RegisterType:
    """A type of a register or an operation.

    kind: u, s, f (IEEE formats that NumPy has), b (untyped), pred, or packed and alternate formats (bf16, e4m3, f16x2:
    held as bits).
    """

    name: str
    bits: int
    kind: str

    @property
    def bytes(self) -> int:
        return max(1, self.bits // 8)

    @property
    def storage(self) -> np.dtype[Any]:
        """The unsigned dtype (bool for predicates) that holds the bits of such a register."""
        return STORAGE[self.bits]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype in which arithmetic reads it."""
        if self.kind in "su" and self.kind:
            return np.dtype(f"{'int' if self.kind == 's' else 'uint'}{self.bits}")
        if self.kind == "f":
            return np.dtype(f"float{self.bits}")
        return self.storage


U128 = np.dtype([("low", "<u8"), ("high", "<u8")])
STORAGE: dict[int, np.dtype[Any]] = {
    1: np.dtype(bool),
    8: np.dtype(np.uint8),
    16: np.dtype(np.uint16),
    32: np.dtype(np.uint32),
    64: np.dtype(np.uint64),
    128: U128,
}

_ROWS = (
    *(RegisterType(f"{kind}{bits}", bits, kind) for kind in "usb" for bits in (8, 16, 32, 64)),
    RegisterType("b128", 128, "b"),
    RegisterType("f16", 16, "f"),
    RegisterType("f32", 32, "f"),
    RegisterType("f64", 64, "f"),
    RegisterType("pred", 1, "pred"),
    # no NumPy type: the instructions decode the bits
    RegisterType("bf16", 16, "alternate"),
    RegisterType("tf32", 32, "alternate"),
    RegisterType("f16x2", 32, "packed"),
    RegisterType("bf16x2", 32, "packed"),
    RegisterType("u16x2", 32, "packed"),
    RegisterType("s16x2", 32, "packed"),
    RegisterType("f32x2", 64, "packed"),
    RegisterType("u8x4", 32, "packed"),
    RegisterType("s8x4", 32, "packed"),
    RegisterType("e4m3", 8, "alternate"),
    RegisterType("e5m2", 8, "alternate"),
    RegisterType("e4m3x2", 16, "packed"),
    RegisterType("e5m2x2", 16, "packed"),
    RegisterType("e2m1x2", 8, "packed"),
    RegisterType("e2m3x2", 16, "packed"),
    RegisterType("e3m2x2", 16, "packed"),
    RegisterType("ue8m0x2", 16, "packed"),
    RegisterType("e4m3x4", 32, "packed"),
    RegisterType("e5m2x4", 32, "packed"),
    RegisterType("e2m1x4", 16, "packed"),
    RegisterType("e2m3x4", 32, "packed"),
    RegisterType("e3m2x4", 32, "packed"),
)
TYPES: dict[str, RegisterType] = {row.name: row for row in _ROWS}
