"""Element types of tl.dot and tl.dot_scaled, and the groups of targets in Triton 3.9."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OperandType:
    """An element type: Triton's name, MLIR's, PTX's, and its bits."""

    name: str
    mlir: str
    ptx: str
    bits: int

    @property
    def integer(self) -> bool:
        return self.name == "int8"

    @property
    def fp8(self) -> bool:
        return self.name.startswith("fp8")


TYPES = {
    row.name: row
    for row in (
        OperandType("fp16", "f16", "f16", 16),
        OperandType("bf16", "bf16", "bf16", 16),
        OperandType("fp32", "f32", "tf32", 32),
        OperandType("fp64", "f64", "f64", 64),
        OperandType("int8", "i8", "s8", 8),
        OperandType("fp8e4nv", "f8E4M3FN", "e4m3", 8),
        OperandType("fp8e5", "f8E5M2", "e5m2", 8),
        OperandType("e2m1", "i8", "e2m1", 4),
    )
}
ACCUMULATORS = {"fp32": "f32", "fp16": "f16", "int32": "i32", "fp64": "f64"}  # MLIR's names
RESULTS: dict[str, tuple[str, ...]] = {  # D of a type; fp16 and FP8 have two
    "int8": ("int32",),
    "fp64": ("fp64",),
    "fp32": ("fp32",),
    "bf16": ("fp32",),
}
SCALED_TYPES = ("fp8e4nv", "fp8e5", "e2m1", "bf16", "fp16")
LEAST_K = {8: 32, 16: 16, 32: 8, 64: 4}  # by bits; Triton rejects smaller tiles

PRECISIONS = ("tf32", "tf32x3", "bf16x3", "bf16x6", "ieee")
PRODUCTS = {"tf32x3": 3, "bf16x3": 3, "bf16x6": 6}  # products that replace one of fp32

TENSOR_MEMORY = (100, 103, 107, 110)  # compute capabilities on which Triton uses tcgen05
WARPGROUPS = (90,)
SCALED_MMA = (120, 121)  # block-scaled mma.sync
NATIVE_FP8_MMA = (89, *SCALED_MMA)  # mma.sync takes FP8 without conversion
F64_MMA = (80, 90, *TENSOR_MEMORY)

MOST_ELEMENTS = 1 << 20  # of a tensor
MOST_WARPS, MOST_CLUSTER = 32, 16
MOST_BLOCKS = 4  # of a cluster, up to which the rules were compared with Triton
