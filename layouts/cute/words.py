"""The names of CuTe's values in C++, the Python DSL and pycute."""

from __future__ import annotations

TUPLES = frozenset("Shape Stride Step Coord Tile tuple Tuple IntTuple".split()) | frozenset(
    f"make_{what}" for what in ("shape", "stride", "step", "coord", "tile", "tuple")
)
INTEGERS = frozenset(("Int", "C", "constant", "integral_constant", "Constant", "Number"))
LAYOUTS = frozenset(("Layout", "make_layout", "make_ordered_layout"))  # of a shape and strides or an order
SWIZZLES = frozenset(("Swizzle", "make_swizzle"))
PRINTED_SWIZZLES = ("Swizzle", "Sw", "S")  # of C++, of its print, of the DSL's print
UNDERSCORES = frozenset(("_", "Underscore", "X", "None"))  # a mode that is taken whole
CONSTANTS = {  # the names that are values: underscores, and compact strides with the first or the last mode fastest
    **dict.fromkeys(UNDERSCORES),
    **dict.fromkeys(("LayoutLeft", "GenColMajor"), "left"),
    **dict.fromkeys(("LayoutRight", "GenRowMajor"), "right"),
}
