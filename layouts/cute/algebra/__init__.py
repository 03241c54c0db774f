"""CuTe's layout algebra: coalesce, composition, complement, inverses, divides, products, casts and slices.

    composition((6,2):(8,2), (4,3):(3,1))         ((2,2),3):((24,2),8)
    logical_divide(32:1, 4:2)                     (4,(2,4)):(2,(1,8))

A tiler is a layout, an int N (for N:1), None (for the underscore: the mode stays) or a tuple of tilers, one a mode. A
swizzle stays in front of a result: CuTe's ComposedLayout. Where CuTe would not compile, or would give a layout that is
not what the operation means, a LayoutError says which condition fails, for which mode, and what would do.

Source: CUTLASS 4.7 (7107b05), include/cute/layout.hpp, layout_composed.hpp and swizzle_layout.hpp.
"""

from lanescope.cute.algebra.casts import downcast, flattened, inside, recast, said, sliced, upcast, with_shape
from lanescope.cute.algebra.functions import (
    ONE,
    Tiler,
    body,
    coalesce,
    complement,
    composition,
    covered,
    distinct,
    filtered,
    joined,
    layout,
    left_inverse,
    max_common_layout,
    max_common_vector,
    nullspace,
    right_inverse,
    row_major,
    spelled_tiler,
    tiler_size,
)
from lanescope.cute.algebra.tilers import (
    blocked_product,
    flat_divide,
    flat_product,
    logical_divide,
    logical_product,
    ordered,
    raked_product,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    unzipped,
    zipped_divide,
    zipped_product,
)

__all__ = [
    "ONE",
    "Tiler",
    "blocked_product",
    "body",
    "coalesce",
    "complement",
    "composition",
    "covered",
    "distinct",
    "downcast",
    "filtered",
    "flat_divide",
    "flat_product",
    "flattened",
    "inside",
    "joined",
    "layout",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "ordered",
    "raked_product",
    "recast",
    "right_inverse",
    "row_major",
    "said",
    "sliced",
    "spelled_tiler",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "tiler_size",
    "unzipped",
    "upcast",
    "with_shape",
    "zipped_divide",
    "zipped_product",
]
