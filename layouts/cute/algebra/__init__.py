"""CuTe's layout algebra: coalesce, composition, complement, inverses, divides, products, casts and slices.

    composition((6,2):(8,2), (4,3):(3,1))         ((2,2),3):((24,2),8)
    logical_divide(32:1, 4:2)                     (4,(2,4)):(2,(1,8))

A tiler is a layout, an int N (for N:1), None (for the underscore: the mode is kept) or a tuple of tilers, one per mode.
A swizzle is kept in front of the result, as in CuTe's ComposedLayout. If CuTe does not compile an operation, or returns
a layout that contradicts its definition, a LayoutError names the failed condition, the mode, and what is allowed.

Source: CUTLASS 4.7 (7107b05), include/cute/layout.hpp, layout_composed.hpp and swizzle_layout.hpp.
"""

from lanescope.cute.algebra.casts import (
    downcast as downcast,
    flatten as flatten,
    format_coordinate as format_coordinate,
    recast as recast,
    require_inside as require_inside,
    slice_and_offset as slice_and_offset,
    swizzle_addresses as swizzle_addresses,
    swizzle_elements as swizzle_elements,
    upcast as upcast,
    with_shape as with_shape,
)
from lanescope.cute.algebra.fragments import (
    convert_layout_acc_aregs as convert_layout_acc_aregs,
    convert_layout_acc_rowcol as convert_layout_acc_rowcol,
    create_tma_multicast_mask as create_tma_multicast_mask,
    decay_swizzle as decay_swizzle,
    get_mode as get_mode,
    make_fragment_like as make_fragment_like,
    make_layout_like as make_layout_like,
    retile as retile,
)
from lanescope.cute.algebra.functions import (
    ONE as ONE,
    Tiler as Tiler,
    apply_behind_swizzle as apply_behind_swizzle,
    coalesce as coalesce,
    complement as complement,
    composition as composition,
    concatenate as concatenate,
    count_distinct as count_distinct,
    filter_layout as filter_layout,
    format_tiler as format_tiler,
    get_covered_size as get_covered_size,
    get_tiler_size as get_tiler_size,
    left_inverse as left_inverse,
    make_layout as make_layout,
    make_row_major as make_row_major,
    max_common_layout as max_common_layout,
    max_common_vector as max_common_vector,
    nullspace as nullspace,
    require_plain as require_plain,
    right_inverse as right_inverse,
    strip_swizzle as strip_swizzle,
)
from lanescope.cute.algebra.tilers import (
    blocked_product as blocked_product,
    flat_divide as flat_divide,
    flat_product as flat_product,
    logical_divide as logical_divide,
    logical_product as logical_product,
    make_ordered_layout as make_ordered_layout,
    raked_product as raked_product,
    tile_to_shape as tile_to_shape,
    tile_unzip as tile_unzip,
    tiled_divide as tiled_divide,
    tiled_product as tiled_product,
    zipped_divide as zipped_divide,
    zipped_product as zipped_product,
)
