"""Static assertions of CuTe's layouts and their algebra, one row per message, as worded in CUTLASS 4.2.0."""

from __future__ import annotations

from lanescope.messages.cute_programs import make_row

_ALGEBRA = ("CuTe's algebra, step by step", "/cute")
_GUIDE = ("CuTe in ten pictures", "/guide/cute-in-ten-pictures")
_ATOMS = ("Swizzle atoms of shared memory", "/smem/atoms")
_LAYOUT = "cute/layout.hpp"

LAYOUT_ROWS = (
    make_row(
        "shape-div",
        "Neither of two sizes divides the other",
        ("Divisibility Condition", "Static shape_div failure"),
        "cute/int_tuple.hpp",
        reason="shape_div(a, b) needs a % b = 0 or b % a = 0. Tiling, partitioning and tile_to_shape call it, for"
        " example for a tile of 96 with atoms of 64, or N = 136 with steps of 64. The two numbers are in the"
        " instantiation, as IntTupleA and IntTupleB.",
        change="Choose tile and atom so that one divides the other: powers of two, or a smaller atom (64B instead of"
        " 128B).",
        wrong="auto x = shape_div(Int<6>{}, Int<4>{});",
        right="auto x = shape_div(Int<8>{}, Int<4>{});",
        links=(_ALGEBRA, ("A tile from atoms", "/guide/atom-to-tile")),
    ),
    make_row(
        "composition-shape",
        "A composition cuts a mode in the middle",
        ("Shape Divisibility Condition",),
        _LAYOUT,
        reason="composition(A, B) applies B to the modes of A in turn. B's number of elements is not a multiple of"
        " the mode of A in which it begins, so it would end inside the next one. logical_divide, local_tile and"
        " partitions also use composition.",
        change="Make the tile a multiple or a divisor of the mode that it cuts. Print both layouts: the modes that"
        " coalesce count as one.",
        wrong="auto x = composition(Layout<Shape<_3, _2>, Stride<_2, _1>>{}, Layout<_4>{});",
        right="auto x = composition(Layout<Shape<_4, _2>, Stride<_2, _1>>{}, Layout<_4>{});",
        links=(_ALGEBRA, _GUIDE),
    ),
    make_row(
        "composition-stride",
        "A composition steps into the middle of a mode",
        ("Stride Divisibility Condition",),
        _LAYOUT,
        reason="In composition(A, B) the stride of B skips complete modes of A, but is not a multiple of the modes"
        " that it skips.",
        change="Make the stride of B a multiple of the sizes of A's modes that it skips, or a divisor of the first"
        " one.",
        wrong="auto x = composition(Layout<Shape<_4, _3>, Stride<_3, _1>>{}, Layout<_2, _6>{});",
        right="auto x = composition(Layout<Shape<_4, _3>, Stride<_3, _1>>{}, Layout<_2, _4>{});",
        links=(_ALGEBRA, _GUIDE),
    ),
    make_row(
        "tile-to-shape",
        "The atom does not divide the tile",
        ("tile_to_shape: block shape does not divide the target shape.",),
        _LAYOUT,
        reason="tile_to_shape repeats an atom until it fills the target shape, but a mode of the target is not a"
        " multiple of the atom's. For example, a 128B atom of 16-bit elements is 8 × 64, so K = 32 is too short.",
        change="Use a narrower atom (Layout_K_SW64_Atom for K = 32 of 16 bits, Layout_K_SW32_Atom for 16), or a larger"
        " tile.",
        wrong="auto x = tile_to_shape(Layout<Shape<_8, _64>>{}, Shape<_64, _32>{});",
        right="auto x = tile_to_shape(Layout<Shape<_8, _32>>{}, Shape<_64, _32>{});",
        links=(_ATOMS, ("One tile of wgmma", "/guide/one-tile")),
    ),
    make_row(
        "tile-to-shape-rank",
        "The atom has more modes than the tile",
        ("Rank of layout must be <= rank of target shape.",),
        _LAYOUT,
        reason="tile_to_shape appends modes to the atom and never removes one.",
        change="Give the target at least as many modes as the atom has; pipeline stages are the last mode of the"
        " target.",
        wrong="auto x = tile_to_shape(Layout<Shape<_8, _8, _2>>{}, Shape<_64, _64>{});",
        right="auto x = tile_to_shape(Layout<Shape<_8, _8>>{}, Shape<_64, _64, _2>{});",
        links=(_ATOMS,),
    ),
    make_row(
        "divide-modes",
        "A tiler with more modes than the layout",
        ("logical_divide: Too many modes in tiler.",),
        _LAYOUT,
        reason="logical_divide, zipped_divide and tiled_divide apply each mode of the tiler to a mode of the layout,"
        " but the layout has fewer modes.",
        change="Divide a layout of the same rank: do not slice a mode before, or drop a mode of the tiler.",
        wrong="auto x = logical_divide(Layout<_64>{}, Shape<_8, _8>{});",
        right="auto x = logical_divide(Layout<Shape<_64, _64>>{}, Shape<_8, _8>{});",
        links=(_ALGEBRA,),
    ),
    make_row(
        "product-modes",
        "A product with more modes than the layout",
        ("logical_product: Too many modes in tiler.",),
        _LAYOUT,
        reason="logical_product applies each mode of the tiler to a mode of the layout, but the layout has fewer"
        " modes.",
        change="Give tiler and layout the same rank.",
        wrong="auto x = logical_product(Layout<_8>{}, Tile<Layout<_2>, Layout<_2>>{});",
        right="auto x = logical_product(Layout<Shape<_8, _8>>{}, Tile<Layout<_2>, Layout<_2>>{});",
        links=(_ALGEBRA,),
    ),
    make_row(
        "ranks",
        "A coordinate and a shape of different rank",
        ("Mismatched Ranks", "Mismatched ranks"),
        "cute/stride.hpp, cute/underscore.hpp, cute/int_tuple.hpp",
        reason="A coordinate, a slice or a tile has a different number of modes than its layout: three coordinates"
        " for a matrix, or two for a tensor with a mode of stages.",
        change="Give one coordinate per mode; an underscore keeps a mode of a slice: s(_, _, stage).",
        wrong="auto x = Layout<Shape<_8, _8>>{}(make_coord(1, 2, 3));",
        right="auto x = Layout<Shape<_8, _8>>{}(make_coord(1, 2));",
        links=(_GUIDE,),
    ),
    make_row(
        "index",
        "A mode that does not exist",
        ("Index out of range",),
        "cute/int_tuple.hpp",
        reason="get<I>, size<I>, shape<I> or stride<I> selects a mode after the first of an integer: the layout has"
        " fewer modes than the code expects.",
        change="Print the layout with its rank. A slice removes modes; group_modes joins them.",
        wrong="auto x = get<1>(Int<8>{});",
        right="auto x = get<1>(Shape<_8, _4>{});",
        links=(_GUIDE,),
    ),
    make_row(
        "complement",
        "The complement of a layout that is not injective",
        ("Non-injective Layout detected in complement.",),
        _LAYOUT,
        reason="complement, and therefore every divide and product, needs a layout that maps no two coordinates to"
        " the same index. Here a stride is smaller than the extent of the modes before it.",
        change="Correct the strides of the tiler: a mode begins where the one before it ends, or later.",
        wrong="auto x = complement(Layout<Shape<_4, _4>, Stride<_1, _2>>{}, Int<64>{});",
        right="auto x = complement(Layout<Shape<_4, _4>, Stride<_1, _4>>{}, Int<64>{});",
        links=(_ALGEBRA, _GUIDE),
    ),
    make_row(
        "left-inverse",
        "The left inverse of a layout with a dynamic stride",
        ("Left inverse requires static strides.",),
        _LAYOUT,
        reason="left_inverse is computed at compile time, but a stride is an int.",
        change="Use constants: Int<2>{} or _2, and make_stride with them.",
        wrong="auto x = left_inverse(make_layout(Int<8>{}, 2));",
        right="auto x = left_inverse(Layout<_8, _2>{});",
        links=(_ALGEBRA,),
    ),
    make_row(
        "downcast",
        "A recast to narrower elements where no mode is contiguous",
        ("Downcast requires adjacent elements",),
        _LAYOUT,
        reason="recast to a narrower type splits each element, and needs a mode of stride 1 for the parts.",
        change="Recast before the tensor is partitioned or sliced, or recast a tensor whose innermost mode has stride"
        " 1.",
        wrong="auto x = recast_layout<float, half_t>(Layout<_8, _2>{});",
        right="auto x = recast_layout<float, half_t>(Layout<_8, _1>{});",
        links=(_ALGEBRA,),
    ),
    make_row(
        "swizzle-shift",
        "A swizzle whose bits overlap",
        ("abs(SShift) must be more than BBits.",),
        "cute/swizzle.hpp",
        reason="Swizzle<B, M, S> XORs B bits from bit M + S into the B bits from bit M. With S < B they overlap.",
        change="Let S be at least B. The 128B swizzle of bytes is Swizzle<3, 4, 3>, of 16-bit elements Swizzle<3, 3,"
        " 3>.",
        wrong="auto x = Swizzle<3, 4, 2>{};",
        right="auto x = Swizzle<3, 4, 3>{};",
        links=(("Swizzles", "/guide/swizzle"),),
    ),
    make_row(
        "owning-tensor",
        "A register tensor whose size is not constant",
        ("Dynamic owning tensors not supported",),
        "cute/tensor_impl.hpp",
        reason="make_tensor<T>(layout) makes an array in registers, whose size must be known at compile time.",
        change="Use constants (Int<8>{}, Shape<_8, _4>), or make a view of memory: make_tensor(pointer, layout).",
        wrong="int n = 8;\nauto x = make_tensor<float>(make_shape(n, Int<4>{}));",
        right="auto x = make_tensor<float>(Shape<_8, _4>{});",
        links=(_GUIDE,),
    ),
)
