"""Parse CuTe values: layouts, tilers, shapes and swizzles in C++, the Python DSL, pycute, and as CuTe prints them.

    (_8,_16):(_64,_1)                               printed
    Layout<Shape<_4,_8>,Stride<_8,_1>>{}            C++ types; a missing stride is compact column-major
    make_layout(make_shape(4, 8), LayoutRight{})    C++ calls
    cute.make_layout((4, 8), stride=(8, 1))         the DSL; Layout((4, 8), (8, 1)) is pycute's
    Tile<_32,Layout<Shape<_4,_2>,Stride<_1,_32>>,_> a tiler; so are (32:1,_,(4,2):(1,8)) and [32, None]
    Sw<3,4,3> o 0 o (8,64):(64,1)                   and ComposedLayout<Swizzle<3,4,3>,_0,Layout<…>>
    Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)

`_8`, `8`, `Int<8>`, `C<2*4>` and `Int<8>{}` are 8; `_`, `Underscore`, `X` and `None` are the underscore. A name of a
number is an error: its value is not in the text. A swizzle XORs the index; with smem_ptr it XORs the byte address, and
the index counts units of that many bits (cute/pointer_flagged.hpp). Sw<B,M,S> requires |S| ≥ B (cute/swizzle.hpp).
"""

from __future__ import annotations

from lanescope.cute import algebra
from lanescope.cute.grammar import SWIZZLE, CuteReader
from lanescope.cute.layout import LONGEST, CuteLayout
from lanescope.cute.making import PointerUnit, UnmadeValueError, make_swizzle
from lanescope.cute.tuples import Nested, is_coordinate, list_leaves
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.shared.swizzle import Swizzle


def parse_layout(text: str, field: str = "layout") -> CuteLayout:
    """Parse a layout as CuTe prints it, with swizzle, pointer and offset; LayoutError says what cannot be parsed.

    >>> parse_layout("Sw<3,3,3> o (_8,_64):(_64,_1)").swizzle
    Swizzle(bits=3, base=3, shift=3)
    """
    reader = CuteReader(text, field, printed=True)
    layout = reader.parse_text()
    if not isinstance(layout, CuteLayout):
        raise reader.make_error("is not a CuTe layout")
    return layout


def parse_swizzle(value: object) -> Swizzle:
    """Parse Sw<B,M,S>, Swizzle<B,M,S> or B,M,S; LayoutError for anything else."""
    match = SWIZZLE.fullmatch(value.strip()) if isinstance(value, str) and len(value) <= LONGEST else None
    if not match:
        hint = "none, 32B, 64B, 128B, or B,M,S in bytes with S ≥ B: 3,4,3."
        raise LayoutError("unknown_swizzle", f"No swizzle '{shorten_value(value)}'.", hint, "swizzle")
    try:
        return make_swizzle(*map(int, match.groups()))
    except UnmadeValueError as error:
        raise LayoutError("bad_cute", f"'{shorten_value(value)}' {error.why}.", error.hint, "swizzle") from None


def parse_cute_layout(text: str, field: str = "layout") -> CuteLayout:
    """Parse a layout in any notation, with swizzle, pointer and offset; a shape has compact column-major strides.

    >>> str(parse_cute_layout("Layout<Shape<_4,Int<8>>,Stride<_8,_1>>{}"))
    '(4,8):(8,1)'
    """
    reader = CuteReader(text, field)
    value = reader.parse_text()
    if value is None or isinstance(value, Swizzle | PointerUnit | str):
        raise reader.make_error("is not a layout")
    return reader.make_layout(value)


def parse_tiler(text: str, field: str = "tiler") -> algebra.Tiler:
    """Parse a tiler: a layout, an int, None for the underscore, or a tuple of tilers.

    >>> parse_tiler("Tile<_32,_,Layout<Shape<_4,_2>,Stride<_1,_8>>>")
    (32, None, CuteLayout(shape=(4, 2), stride=(1, 8), swizzle=None, unit_bits=None, offset=0))
    """
    reader = CuteReader(text, field)
    tiler = reader.parse_text()
    if isinstance(tiler, Swizzle | PointerUnit | str) or 0 in list_leaves(algebra.get_tiler_size(tiler)):
        raise reader.make_error(
            "is not a tiler", "Try Tile<_32,_,Layout<Shape<_4,_2>,Stride<_1,_8>>> or (32:1,_,(4,2):(1,8))."
        )
    return tiler


def parse_coordinate(text: str, field: str = "coord") -> Nested:
    """Parse a coordinate: ints, tuples, and None for underscores."""
    reader = CuteReader(text, field)
    coord = reader.parse_text()
    if not is_coordinate(coord):
        raise reader.make_error("is not a coordinate", "Try (3,_) or (_,(1,_)).")
    return coord
