"""CuTe's layout algebra: coalesce, composition, complement, inverses, divides, products, casts and slices.

    composition((6,2):(8,2), (4,3):(3,1))         ((2,2),3):((24,2),8)
    logical_divide(32:1, 4:2)                     (4,(2,4)):(2,(1,8))

A tiler is a layout, an int N (for N:1), None (for the underscore: the mode is kept) or a tuple of tilers, one per mode.
A swizzle is kept in front of the result, as in CuTe's ComposedLayout. If CuTe does not compile an operation, or returns
a layout that contradicts its definition, a LayoutError names the failed condition, the mode, and what is allowed.

Source: CUTLASS 4.7 (7107b05), include/cute/layout.hpp, layout_composed.hpp and swizzle_layout.hpp.
"""

from lanescope.cute.algebra.casts import (
    downcast,
    flatten,
    format_coordinate,
    recast,
    require_inside,
    slice_and_offset,
    upcast,
    with_shape,
)
from lanescope.cute.algebra.fragments import (
    convert_layout_acc_aregs,
    convert_layout_acc_rowcol,
    create_tma_multicast_mask,
    decay_swizzle,
    get_mode,
    make_fragment_like,
    make_layout_like,
    retile,
)
from lanescope.cute.algebra.functions import (
    ONE,
    Tiler,
    coalesce,
    complement,
    composition,
    concatenate,
    count_distinct,
    filter_layout,
    format_tiler,
    get_covered_size,
    get_tiler_size,
    left_inverse,
    make_layout,
    make_row_major,
    max_common_layout,
    max_common_vector,
    nullspace,
    right_inverse,
    strip_swizzle,
)
from lanescope.cute.algebra.tilers import (
    blocked_product,
    flat_divide,
    flat_product,
    logical_divide,
    logical_product,
    make_ordered_layout,
    raked_product,
    tile_to_shape,
    tile_unzip,
    tiled_divide,
    tiled_product,
    zipped_divide,
    zipped_product,
)

__all__ = [
    "ONE",
    "Tiler",
    "blocked_product",
    "coalesce",
    "complement",
    "composition",
    "concatenate",
    "convert_layout_acc_aregs",
    "convert_layout_acc_rowcol",
    "count_distinct",
    "create_tma_multicast_mask",
    "decay_swizzle",
    "downcast",
    "filter_layout",
    "flat_divide",
    "flat_product",
    "flatten",
    "format_coordinate",
    "format_tiler",
    "get_covered_size",
    "get_mode",
    "get_tiler_size",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_fragment_like",
    "make_layout",
    "make_layout_like",
    "make_ordered_layout",
    "make_row_major",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "raked_product",
    "recast",
    "require_inside",
    "retile",
    "right_inverse",
    "slice_and_offset",
    "strip_swizzle",
    "tile_to_shape",
    "tile_unzip",
    "tiled_divide",
    "tiled_product",
    "upcast",
    "with_shape",
    "zipped_divide",
    "zipped_product",
]
