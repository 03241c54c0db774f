"""CuTe's UMMA atoms, one row per group of names: the kind of tcgen05.mma, and the meaning of the arguments.

CUTLASS 4.7, cute/arch/mma_sm100_umma.hpp (structs and their static_asserts) and
python/CuTeDSL/cutlass/cute/nvgpu/tcgen05/mma.py (operations). M, N, K and types stand in layouts/ptx/table/kinds.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SHARED, TENSOR = "SS", "TS"  # source of A: shared memory by a descriptor, or tensor memory
PAIRED = "2x1SM"


@dataclass(frozen=True, slots=True)
class AtomRow:
    """Atoms whose names begin with the same stem.

    kinds: the atom's VS (0 without) → its kind; endings: of the name, after the stem and a pair's 2x1SM; k: of the
    instruction, 0 for the kind's default; signs: whether a_neg and b_neg are arguments of an SS atom.
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
# Atoms of complex numbers issue several instructions; they have no row.
COMPLEX = "INTERLEAVED_C"

# CUTLASS's restrictions beyond PTX: (kind, ending, pair, M or 0 for any) → the step of N; kind "" is any kind.
STEPS: Mapping[tuple[str, str, bool, int], int] = {
    ("", "TS", False, 128): 16,
    ("", "TS", True, 0): 32,
    ("f8f6f4", "SS_SPARSE", False, 128): 16,
    ("f8f6f4", "SS_SPARSE", True, 0): 32,
}
ONLY_M = {("mxf8f6f4", True): 256}  # (kind, pair) → the only M for which CUTLASS has an atom


@dataclass(frozen=True, slots=True)
class OperationRow:
    """An operation of cute.nvgpu.tcgen05.

    types: its arguments before the shape, as fields of the instruction descriptor ("ab" is both A and B); majors:
    whether it has arguments for them; title: the first line when it is printed.
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
