"""Format CuTe values as C++ types and as code of the Python DSL; str() of a layout is what CuTe prints."""

from __future__ import annotations

import re

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import Nested
from lanescope.shared.swizzle import Swizzle


def _format_ctype(nested: Nested, name: str) -> str:
    """Return `Shape<_4,Shape<_2,_8>>`; an int is `_4`."""
    return (
        f"_{nested}" if isinstance(nested, int) else f"{name}<{','.join(_format_ctype(item, name) for item in nested)}>"
    )


def _shorten_constants(text: str) -> str:
    """Replace _N by Int<N> unless CuTe defines _N."""
    return re.sub(r"_(\d+)", lambda m: m[0] if int(m[1]) in NAMED else f"Int<{m[1]}>", text)


# CUTLASS 4.7, include/cute/numeric/integral_constant.hpp
NAMED = {*range(11), 12, 16, 384, 512, 768, *range(24, 257, 8), *(1 << n for n in range(10, 20))}


def format_cxx(layout: CuteLayout) -> str:
    """Return a layout as a C++ type: `Layout<Shape<_4,_8>,Stride<_8,_1>>`."""
    plain = _shorten_constants(
        f"Layout<{_format_ctype(layout.shape, 'Shape')},{_format_ctype(layout.stride, 'Stride')}>"
    )
    if not layout.swizzle and not layout.offset:
        return plain
    xor = layout.swizzle or Swizzle(0, 4, 3)
    return (
        f"ComposedLayout<Swizzle<{xor.bits},{xor.base},{xor.shift}>,{_shorten_constants(f'_{layout.offset}')},{plain}>"
    )


def format_cxx_tiler(tiler: algebra.Tiler) -> str:
    """Return a tiler as a C++ type: `Tile<_32,_,Layout<…>>`."""
    if isinstance(tiler, tuple):
        return f"Tile<{','.join(map(format_cxx_tiler, tiler))}>"
    return (
        "Underscore"
        if tiler is None
        else _shorten_constants(f"_{tiler}")
        if isinstance(tiler, int)
        else format_cxx(tiler)
    )


def format_python(layout: CuteLayout) -> str:
    """Return a layout in CuTe's Python DSL: `cute.make_layout((4, 8), stride=(8, 1))`."""
    plain = f"cute.make_layout({layout.shape}, stride={layout.stride})"
    if not layout.swizzle and not layout.offset:
        return plain
    xor = layout.swizzle or Swizzle(0, 4, 3)
    swizzle = f"cute.make_swizzle({xor.bits}, {xor.base}, {xor.shift})"
    return f"cute.make_composed_layout({swizzle}, {layout.offset}, {plain})"
