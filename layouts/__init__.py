"""Lanescope's engine: which lane and register holds which element of a tensor-core fragment.

>>> from lanescope import find
>>> a = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").operand("a")
>>> a.owner(11, 2)
[(13, 2)]
>>> str(a.pattern)
'(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)'
"""

from lanescope.blackwell.bound import bind
from lanescope.errors import LayoutError
from lanescope.ptx.catalog import families, find, instructions
from lanescope.ptx.pattern import Pattern
from lanescope.render import notebook  # draws objects in Jupyter
from lanescope.tiles.bulk import tma_copy
from lanescope.tiles.copy import tiled_copy
from lanescope.tiles.loop import feed
from lanescope.tiles.mma import tiled_mma
from lanescope.tiles.tv import tv
from lanescope.triton.gluon import triton_layout

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
