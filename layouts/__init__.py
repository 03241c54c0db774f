"""Lanescope's engine: which lane and register holds which element of a tensor-core fragment.

>>> from lanescope import find
>>> a = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").operand("a")
>>> a.owner(11, 2)
[(13, 2)]
>>> str(a.pattern)
'(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanescope.blackwell.bound import bind as bind
    from lanescope.delivery.ask import deliver as deliver
    from lanescope.emulate.run import emulate as emulate
    from lanescope.errors import LayoutError as LayoutError
    from lanescope.names.lookup import find as find
    from lanescope.ptx.catalog import families as families, instructions as instructions
    from lanescope.ptx.pattern import Pattern as Pattern
    from lanescope.tiles.bulk import tma_copy as tma_copy
    from lanescope.tiles.copy import tiled_copy as tiled_copy
    from lanescope.tiles.loop import feed as feed
    from lanescope.tiles.tiled_mma import tiled_mma as tiled_mma
    from lanescope.tiles.tv import tv as tv
    from lanescope.triton.gluon import triton_layout as triton_layout
    from lanescope.weights.layout import packed_weights as packed_weights

# Imported on first use: `lanescope --help` must not wait for NumPy and the tables.
_HOMES = {
    "LayoutError": "errors",
    "Pattern": "ptx.pattern",
    "bind": "blackwell.bound",
    "deliver": "delivery.ask",
    "emulate": "",
    "families": "ptx.catalog",
    "feed": "tiles.loop",
    "find": "names.lookup",
    "instructions": "ptx.catalog",
    "packed_weights": "weights.layout",
    "tiled_copy": "tiles.copy",
    "tiled_mma": "tiles.tiled_mma",
    "tma_copy": "tiles.bulk",
    "triton_layout": "triton.gluon",
    "tv": "tiles.tv",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    if not home:  # a callable package
        return import_module(f"{__name__}.{name}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
