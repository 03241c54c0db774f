"""CuTe's UMMA atoms by name, a row a family of them: which kind of tcgen05.mma each is, and what its arguments say.

CUTLASS 4.7, cute/arch/mma_sm100_umma.hpp (structs and their static_asserts) and
python/CuTeDSL/cutlass/cute/nvgpu/tcgen05/mma.py (operations). M, N, K and types stand in layouts/ptx/table/kinds.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SHARED, TENSOR = "SS", "TS"  # where A comes from: shared memory by a descriptor, tensor memory
PAIRED = "2x1SM"


@dataclass(frozen=True, slots=True)
class AtomRow:
    """Atoms of one stem. kinds: the atom's VS → its kind, 0 where it has no VS; endings: what stands behind the stem
    and the 2x1SM of a pair; k: of the instruction, 0 for the kind's own; signs: whether a_neg and b_neg are arguments
    of an SS atom.
    """

    stem: str
    kinds: Mapping[int, str]
    endings: tuple[str, ...]
    k: int = 0
    signs: bool = True

    def __hash__(self) -> int:
        return hash(self.stem)


PLAIN = ("SS", "TS", "SS_SPARSE")
SCALED_D = ("SS_SCALED", "TS_SCALED")
ROWS = (
    AtomRow("SM100_MMA_F16BF16", {0: "f16"}, (*PLAIN, *SCALED_D)),
    AtomRow("SM100_MMA_TF32", {0: "tf32"}, (*PLAIN, *SCALED_D)),
    AtomRow("SM100_MMA_S8", {0: "i8"}, PLAIN, signs=False),
    AtomRow("SM100_MMA_F8F6F4", {0: "f8f6f4"}, PLAIN),
    AtomRow("SM100_MMA_MXF8F6F4", {0: "mxf8f6f4"}, ("SS", "SS_SPARSE")),
    AtomRow("SM100_MMA_MXF4", {16: "mxf4nvf4", 32: "mxf4"}, ("SS",)),
    AtomRow("SM100_MMA_MXF4NVF4", {32: "mxf4nvf4", 64: "mxf4"}, ("SS_SPARSE",)),
    AtomRow("SM103_MXF4_ULTRA", {16: "mxf4nvf4", 32: "mxf4nvf4"}, ("SS_VS",), k=96),
)
# Atoms of complex numbers: one struct issues several instructions. No row says their tiles.
COMPLEX = "INTERLEAVED_C"

# Where CUTLASS asks more than PTX: (kind, ending, pair, M or 0 for any) → the step of N; a kind "" is any kind.
STEPS: Mapping[tuple[str, str, bool, int], int] = {
    ("", "TS", False, 128): 16,
    ("", "TS", True, 0): 32,
    ("f8f6f4", "SS_SPARSE", False, 128): 16,
    ("f8f6f4", "SS_SPARSE", True, 0): 32,
}
ONLY_M = {("mxf8f6f4", True): 256}  # (kind, pair) → the one M that CUTLASS has an atom of


@dataclass(frozen=True, slots=True)
class OperationRow:
    """An operation of cute.nvgpu.tcgen05. types: its arguments before the shape, as fields of the instruction
    descriptor ("ab" is both A and B); majors: whether it is told them; title: what printing it begins with.
    """

    kind: str
    types: tuple[str, ...]
    title: str
    majors: bool = True
    factors: str = ""
    k: int = 0


OPERATIONS: Mapping[str, OperationRow] = {
    "MmaTF32Op": OperationRow("tf32", (), "tcgen05 TF32 MMA Operation"),
    "MmaF16BF16Op": OperationRow("f16", ("ab", "d"), "tcgen05 F16/BF16 MMA Operation"),
    "MmaI8Op": OperationRow("i8", ("ab",), "tcgen05 I8 MMA Operation"),
    "MmaFP8Op": OperationRow("f8f6f4", ("ab", "d"), "tcgen05 F8 MMA Operation"),
    "MmaF8F6F4Op": OperationRow("f8f6f4", ("a", "b", "d"), "tcgen05 F8F6F4 MMA Operation"),
    "MmaMXF8Op": OperationRow("mxf8f6f4", ("ab",), "tcgen05 MXF8 BlockScaled MMA Operation", factors="1X"),
    "MmaMXF8F6F4Op": OperationRow("mxf8f6f4", ("a", "b"), "tcgen05 MXF8F6F4 BlockScaled MMA Operation", factors="1X"),
    "MmaMXF4Op": OperationRow("mxf4", (), "tcgen05 MXF4 BlockScaled MMA Operation", False, "2X"),
    "MmaMXF4NVF4Op": OperationRow(
        "mxf4nvf4", ("scale_type",), "tcgen05 MXF4NVF4 BlockScaled MMA Operation", False, "4X"
    ),
    "SM103MmaMXF4Op": OperationRow("mxf4nvf4", (), "tcgen05 SM103 MXF4 BlockScaled MMA Operation", False, "2X", 96),
    "SM103MmaMXF4NVF4Op": OperationRow(
        "mxf4nvf4", ("scale_type",), "tcgen05 SM103 MXF4NVF4 BlockScaled MMA Operation", False, "4X", 96
    ),
}
