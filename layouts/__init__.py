"""Lanescope's engine: which lane and register holds which element of a tensor-core fragment.

>>> from layouts import find
>>> a = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").operand("a")
>>> a.owner(11, 2)
[(13, 2)]
>>> str(a.pattern)
'(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)'
"""

from layouts import notebook  # draws objects in Jupyter
from layouts.bound import bind
from layouts.catalog import families, find, instructions
from layouts.errors import LayoutError
from layouts.pattern import Pattern
from layouts.tiles.bulk import tma_copy
from layouts.tiles.copy import tiled_copy
from layouts.tiles.gluon import triton_layout
from layouts.tiles.loop import feed
from layouts.tiles.mma import tiled_mma
from layouts.tiles.tv import tv

__all__ = [
    "LayoutError",
    "Pattern",
    "bind",
    "families",
    "feed",
    "find",
    "instructions",
    "notebook",
    "tiled_copy",
    "tiled_mma",
    "tma_copy",
    "triton_layout",
    "tv",
]
