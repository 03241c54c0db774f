"""CuTe TV layouts of CUTLASS's MMA atoms (include/cute/atom/mma_traits_sm70, 75, 80, 89, 90, 90_gmma.hpp), evaluated by
pycute.

(shape, bits of a multiplicand) → A, B, C as shape, stride; index = row + rows · col, B as (n, k). Facts only: the
numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pycute

from tests.oracle.missing import OracleTable

Layout = tuple[Any, Any]

_T = (4, 8)
_C8: Layout = ((_T, 2), ((16, 1), 8))
_C16: Layout = ((_T, (2, 2)), ((32, 1), (16, 8)))

_MMA: dict[tuple[str, int], tuple[Layout, Layout, Layout]] = {
    ("m8n8k4", 64): (((_T, 1), ((8, 1), 0)), ((_T, 1), ((8, 1), 0)), _C8),
    ("m8n8k16", 8): (((_T, 4), ((32, 1), 8)), ((_T, 4), ((32, 1), 8)), _C8),
    ("m8n8k32", 4): (((_T, 8), ((64, 1), 8)), ((_T, 8), ((64, 1), 8)), _C8),
    ("m8n8k128", 1): (((_T, 32), ((256, 1), 8)), ((_T, 32), ((256, 1), 8)), _C8),
    ("m16n8k4", 32): (((_T, 2), ((16, 1), 8)), ((_T, 1), ((8, 1), 0)), _C16),
    ("m16n8k4", 64): (((_T, 2), ((16, 1), 8)), ((_T, 1), ((8, 1), 0)), _C16),
    ("m16n8k8", 16): (((_T, (2, 2)), ((32, 1), (16, 8))), ((_T, 2), ((16, 1), 8)), _C16),
    ("m16n8k8", 32): (((_T, (2, 2)), ((16, 1), (8, 64))), ((_T, 2), ((8, 1), 32)), _C16),
    ("m16n8k8", 64): (((_T, (2, 2)), ((16, 1), (8, 64))), ((_T, 2), ((8, 1), 32)), _C16),
    ("m16n8k16", 64): (((_T, (2, 4)), ((16, 1), (8, 64))), ((_T, 4), ((8, 1), 32)), _C16),
    ("m16n8k16", 16): (((_T, (2, 2, 2)), ((32, 1), (16, 8, 128))), ((_T, (2, 2)), ((16, 1), (8, 64))), _C16),
    ("m16n8k16", 8): (((_T, (4, 2)), ((64, 1), (16, 8))), ((_T, 4), ((32, 1), 8)), _C16),
    ("m16n8k32", 8): (((_T, (4, 2, 2)), ((64, 1), (16, 8, 256))), ((_T, (4, 2)), ((32, 1), (8, 128))), _C16),
    ("m16n8k32", 4): (((_T, (8, 2)), ((128, 1), (16, 8))), ((_T, 8), ((64, 1), 8)), _C16),
    ("m16n8k64", 4): (((_T, (8, 2, 2)), ((128, 1), (16, 8, 512))), ((_T, (8, 2)), ((64, 1), (8, 256))), _C16),
    ("m16n8k128", 1): (((_T, (32, 2)), ((512, 1), (16, 8))), ((_T, 32), ((256, 1), 8)), _C16),
    ("m16n8k256", 1): (((_T, (32, 2, 2)), ((512, 1), (16, 8, 2048))), ((_T, (32, 2)), ((256, 1), (8, 1024))), _C16),
}
MMA = OracleTable(
    _MMA, "MMA of tests/oracle/cutlass.py", "the layouts of A, B and C of its MMA_Traits, by shape and bits"
)

# Volta quad pairs: threads (4, 2) of one quad pair, lanes 1 and 16 apart.
QUAD_ROW: Layout = ((8, 4), (1, 8))
QUAD_COL: Layout = (((4, 2), 4), ((8, 4), 1))
QUAD_C = {"f16": ((8, 8), (1, 8)), "f32": (((2, 2, 2), (2, 2, 2)), ((1, 16, 4), (8, 2, 32)))}

# Block scales, SM120 atoms (mma_traits_sm120.hpp): (lane, block) → row of A or column of B, whatever the selector.
SCALE_LINE: dict[str, Layout] = {"scale_a": (((2, 2, 8), 1), ((8, 0, 1), 16)), "scale_b": (((4, 8), 1), ((0, 1), 8))}

_W = (4, 8, 4)
_WGMMA_A: dict[int, Layout] = {
    32: ((_W, (2, 2)), ((64, 1, 16), (8, 256))),
    16: ((_W, (2, 2, 2)), ((128, 1, 16), (64, 8, 512))),
    8: ((_W, (4, 2, 2)), ((256, 1, 16), (64, 8, 1024))),
}
WGMMA_A = OracleTable(_WGMMA_A, "WGMMA_A of tests/oracle/cutlass.py", "the layout of A in registers, by bits")


def accumulator(m: int) -> Layout:
    return _C8 if m == 8 else _C16


def wgmma_d(n: int) -> Layout:
    return ((_W, (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512)))


def indices(layout: Layout, threads: int, values: int) -> Any:
    """pycute's evaluation of the layout at every (thread, value), whose arithmetic takes arrays as well as numbers:
    [thread, value].
    """
    return np.asarray(pycute.Layout(*layout)(np.arange(threads)[:, None], np.arange(values)[None, :]))
