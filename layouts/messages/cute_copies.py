"""Static assertions of CuTe's copy atoms and TMA, one row per message, as worded in CUTLASS 4.2.0."""

from __future__ import annotations

from lanescope.messages.cute_programs import make_row

_COPY = ("TiledCopy", "/tiles/copy")
_TILE = ("One tile of wgmma", "/guide/one-tile")
_SWIZZLE = ("Swizzles", "/guide/swizzle")
_ATOM_HEADER = "cute/atom/copy_atom.hpp"
_TRAITS, _SM80 = "cute/atom/copy_traits.hpp", "cute/atom/copy_traits_sm80.hpp"
_TMA, _TMA_SWIZZLE = "cute/atom/copy_traits_sm90_tma.hpp", "cute/atom/copy_traits_sm90_tma_swizzle.hpp"
_ATOM = "Copy_Atom<UniversalCopy<uint128_t>, half_t>{}"
_ASYNC = "Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, half_t>{}.with(true)"
_GMEM, _SMEM = "make_gmem_ptr((half_t*)nullptr)", "make_smem_ptr((half_t*)nullptr)"
_LDSM = "Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}"
_VECTORS = (
    "The atom moves one vector at a time, but the values of a thread are not one vector in memory: their stride is"
    " not 1, or their number does not fit the atom's width."
)
_NARROWER = (
    "Give each thread adjacent elements along the contiguous mode, as many as the atom moves (8 of 16 bits for"
    " uint128_t), in source and destination; or use a narrower atom. The page of TiledCopy shows which thread reads"
    " which elements."
)


def _copy(source: str, target: str, atom: str = _ATOM) -> str:
    return f"auto s = make_tensor({source});\nauto d = make_tensor({target});\ncopy({atom}, s, d);"


def _copy_arrays(source: str, target: str) -> str:
    return f"half_t a[16], b[16];\n{_copy(f'&a[0], {source}', f'&b[0], {target}')}"


def _tma(smem: str, tile: str) -> str:
    return (
        f"auto g = make_tensor({_GMEM}, Layout<Shape<int, int>, Stride<int, _1>>{{}});\n"
        f"auto s = {smem};\nauto x = make_tma_copy(SM90_TMA_LOAD{{}}, g, s, {tile}{{}}, Int<1>{{}});"
    )


_SW128 = "tile_to_shape(SM90::GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{})"
COPY_ROWS = (
    make_row(
        "copy-few-values",
        "A thread of the TiledCopy has too few values",
        ("TiledCopy uses too few vals for selected CopyAtom",),
        _ATOM_HEADER,
        reason="The number of a thread's values is not a multiple of the atom's: uint128_t moves 8 elements of 16"
        " bits, and ldmatrix .x4 loads 8 per thread.",
        change="Enlarge the value layout to the atom's number of values, or use an atom that moves fewer (LDSM x2 or"
        " x1, uint64_t)."
        " With make_tiled_copy_A or _B the values are those of the TiledMMA: a wider K or N of its tile.",
        wrong=f"auto x = make_tiled_copy({_ATOM}, Layout<Shape<_16, _8>>{{}}, Layout<Shape<_1, _4>>{{}});",
        right=f"auto x = make_tiled_copy({_ATOM}, Layout<Shape<_16, _8>>{{}}, Layout<Shape<_1, _8>>{{}});",
        links=(_COPY,),
    ),
    make_row(
        "copy-few-threads",
        "The TiledCopy has too few threads",
        ("TiledCopy uses too few thrs for selected CopyAtom",),
        _ATOM_HEADER,
        reason="The atom needs a complete warp, as ldmatrix does, but the number of threads in the thread layout is"
        " not a multiple of it.",
        change="Use a thread layout of 32, 64, 128, … threads.",
        wrong=f"auto x = make_tiled_copy({_LDSM}, Layout<Shape<_16, _1>>{{}}, Layout<Shape<_1, _8>>{{}});",
        right=f"auto x = make_tiled_copy({_LDSM}, Layout<Shape<_16, _2>>{{}}, Layout<Shape<_1, _8>>{{}});",
        links=(_COPY, ("ldmatrix", "/guide/ldmatrix")),
    ),
    make_row(
        "copy-partition",
        "The partition does not match the copy atom",
        ("CopyAtom: Src/Dst partitioning does not match the instruction requirement.",),
        _ATOM_HEADER,
        reason="The first mode of source and destination does not have the atom's number of values, and cannot be"
        " split further: the tensors were not partitioned by this TiledCopy, or their element width differs from the"
        " atom's.",
        change="Partition both with the same TiledCopy (partition_S, partition_D, retile_S, retile_D), and make the"
        " atom for the tensor's element type.",
        wrong="half_t a[4], b[4];\nauto s = make_tensor(&a[0], Layout<_4>{});\nauto d = make_tensor(&b[0],"
        f" Layout<_4>{{}});\n{_ATOM}.call(s, d);",
        right="half_t a[8], b[8];\nauto s = make_tensor(&a[0], Layout<_8>{});\nauto d = make_tensor(&b[0],"
        f" Layout<_8>{{}});\n{_ATOM}.call(s, d);",
        links=(_COPY,),
    ),
    make_row(
        "copy-source-vector",
        "The source of a copy is not a vector",
        ("Copy_Traits: src failed to vectorize into registers. Layout is incompatible with this CopyOp.",),
        _TRAITS,
        reason=_VECTORS,
        change=_NARROWER,
        wrong=_copy_arrays("Layout<_8, _2>{}", "Layout<_8>{}"),
        right=_copy_arrays("Layout<_8, _1>{}", "Layout<_8>{}"),
        links=(_COPY,),
    ),
    make_row(
        "copy-destination-vector",
        "The destination of a copy is not a vector",
        ("Copy_Traits: dst failed to vectorize into registers. Layout is incompatible with this CopyOp.",),
        _TRAITS,
        reason=_VECTORS,
        change=_NARROWER,
        wrong=_copy_arrays("Layout<_8>{}", "Layout<_8, _2>{}"),
        right=_copy_arrays("Layout<_8>{}", "Layout<_8, _1>{}"),
        links=(_COPY,),
    ),
    make_row(
        "cp-async-source-vector",
        "The source of cp.async is not a vector",
        (
            "In CopyAtom, src layout doesn't vectorize into registers. This src layout is incompatible with this tiled"
            " copy.",
        ),
        _SM80,
        reason=_VECTORS,
        change=_NARROWER,
        wrong=_copy(f"{_GMEM}, Layout<_8, _64>{{}}", f"{_SMEM}, Layout<_8>{{}}", _ASYNC),
        right=_copy(f"{_GMEM}, Layout<_8, _1>{{}}", f"{_SMEM}, Layout<_8>{{}}", _ASYNC),
        links=(_COPY,),
    ),
    make_row(
        "cp-async-destination-vector",
        "The destination of cp.async is not a vector",
        (
            "In CopyAtom, dst layout doesn't vectorize into registers. This dst layout is incompatible with this tiled"
            " copy.",
        ),
        _SM80,
        reason=_VECTORS,
        change=_NARROWER,
        wrong=_copy(f"{_GMEM}, Layout<_8>{{}}", f"{_SMEM}, Layout<_8, _64>{{}}", _ASYNC),
        right=_copy(f"{_GMEM}, Layout<_8>{{}}", f"{_SMEM}, Layout<_8, _1>{{}}", _ASYNC),
        links=(_COPY,),
    ),
    make_row(
        "cp-async-source",
        "The source of cp.async is not in global memory",
        ("Expected gmem source for cp.async.",),
        _SM80,
        reason="cp.async copies from global to shared memory, but the source's pointer is not tagged as global.",
        change="Make the source with make_gmem_ptr, or exchange source and destination.",
        wrong=_copy("(half_t*)nullptr, Layout<_8>{}", f"{_SMEM}, Layout<_8>{{}}", _ASYNC),
        right=_copy(f"{_GMEM}, Layout<_8>{{}}", f"{_SMEM}, Layout<_8>{{}}", _ASYNC),
        links=(_COPY,),
    ),
    make_row(
        "cp-async-destination",
        "The destination of cp.async is not in shared memory",
        ("Expected smem destination for cp.async.",),
        _SM80,
        reason="cp.async copies from global to shared memory, but the destination is in registers, or its pointer is"
        " not tagged as shared.",
        change="Make the destination with make_smem_ptr; to load into registers, use UniversalCopy.",
        wrong=_copy(f"{_GMEM}, Layout<_8>{{}}", "(half_t*)nullptr, Layout<_8>{}", _ASYNC),
        right=_copy(f"{_GMEM}, Layout<_8>{{}}", f"{_SMEM}, Layout<_8>{{}}", _ASYNC),
        links=(_COPY,),
    ),
    make_row(
        "copy-ranks",
        "Source and destination of a copy have different ranks",
        ("CopyAtom rank-mismatch.",),
        "cute/algorithm/copy.hpp",
        reason="copy iterates over the modes after the first in both tensors, and one tensor has more of them: a"
        " mode of stages or K blocks is not sliced, or only one side is partitioned.",
        change="Slice the extra mode (s(_, _, _, stage)), or group modes (group_modes<1, 3>) until both have the same"
        " rank.",
        wrong="auto s = make_tensor<half_t>(Shape<_8, _4>{});\nauto d = make_tensor<half_t>(Shape<_8, _2, _2>{});\n"
        f"copy({_ATOM}, s, d);",
        right="auto s = make_tensor<half_t>(Shape<_8, _4>{});\nauto d = make_tensor<half_t>(Shape<_8, _4>{});\n"
        f"copy({_ATOM}, s, d);",
        links=(_COPY,),
    ),
    make_row(
        "copy-atom-rank",
        "A copy atom is called with a complete matrix",
        ("Expected rank-1 src tensor", "Expected rank-1 dst tensor"),
        _ATOM_HEADER,
        reason="Copy_Atom::call moves the values of one instruction, and the tensor has more modes.",
        change="Call copy(atom, s, d), which iterates over the modes after the first, or slice them.",
        wrong="half_t a[16], b[16];\nauto s = make_tensor(&a[0], Layout<Shape<_8, _2>>{});\n"
        f"auto d = make_tensor(&b[0], Layout<Shape<_8, _2>>{{}});\n{_ATOM}.call(s, d);",
        right=_copy_arrays("Layout<Shape<_8, _2>>{}", "Layout<Shape<_8, _2>>{}"),
        links=(_COPY,),
    ),
    make_row(
        "partition-rank",
        "The rank of a partitioned tensor is too small",
        ("Rank of tensor to be partitioned too small.",),
        _ATOM_HEADER,
        reason="partition_S and partition_D tile the modes of the TiledCopy, but the tensor has fewer modes.",
        change="Partition the tile with both of its modes, before it is sliced or flattened.",
        wrong="auto t = make_tiled_copy(Copy_Atom<UniversalCopy<half_t>, half_t>{}, Layout<Shape<_16, _8>>{});\n"
        "auto s = make_tensor<half_t>(Shape<_128>{});\nauto x = t.get_slice(0).partition_S(s);",
        right="auto t = make_tiled_copy(Copy_Atom<UniversalCopy<half_t>, half_t>{}, Layout<Shape<_16, _8>>{});\n"
        "auto s = make_tensor<half_t>(Shape<_16, _8>{});\nauto x = t.get_slice(0).partition_S(s);",
        links=(_COPY,),
    ),
    make_row(
        "copy-traits",
        "CuTe has no traits for this copy operation",
        ("Copy_Traits not implemented for this CopyOperation.",),
        _TRAITS,
        reason="Copy_Atom is made from a type without Copy_Traits: an element type instead of an operation, an"
        " operation whose header is not included, or your own operation.",
        change="Use an operation (UniversalCopy<T>, SM75_U32x4_LDSM_N, SM90_TMA_LOAD), include its header, or define"
        " Copy_Traits for your operation.",
        wrong="struct Mine {};\nCopy_Atom<Mine, half_t> x;",
        right="Copy_Atom<UniversalCopy<half_t>, half_t> x;",
        links=(_COPY,),
    ),
    make_row(
        "tma-sizes",
        "The tile of a TMA copy and its shared memory have different sizes",
        ("TMA requires CTA_Tile and SLayout top-level size equivalence.",),
        _TMA,
        reason="The shared-memory layout and the tile of make_tma_copy have different numbers of elements. Often the"
        " layout still contains the mode of stages.",
        change="Pass the layout of one stage, s_layout(_, _, 0), and a tile of the same shape.",
        wrong=_tma(_SW128, "Shape<_128, _64>"),
        right=_tma(_SW128, "Shape<_64, _64>"),
        links=(_TILE, ("Tensor maps", "/messages#driver")),
    ),
    make_row(
        "tma-vector",
        "No mode is contiguous in both global and shared memory",
        ("Could not find a common tile-gmem vectorization. Does the Tile select out major GMEM modes?",),
        _TMA,
        reason="A TMA box is contiguous along the innermost mode of global memory. The shared-memory layout has no"
        " mode with stride 1, or the tile has a single element along the contiguous mode.",
        change="Use a shared-memory layout with the constant stride 1 along one mode, and a tile that is wide along"
        " it.",
        wrong=_tma("Layout<Shape<_64, _64>, Stride<_2, _128>>{}", "Shape<_64, _64>"),
        right=_tma("Layout<Shape<_64, _64>, Stride<_64, _1>>{}", "Shape<_64, _64>"),
        links=(_TILE,),
    ),
    make_row(
        "tma-swizzle-shift",
        "TMA has no swizzle with this shift",
        ("Expected S = 3 when M == 4. Unsupported layout swizzle.",),
        _TMA_SWIZZLE,
        reason="TMA's swizzles in bytes are Swizzle<B, 4, 3> with B = 0 to 3, but the layout has a different shift.",
        change="Use a GMMA atom, or Swizzle<3, 3, 3> for 16-bit, <3, 2, 3> for 32-bit and <3, 4, 3> for 8-bit"
        " elements.",
        wrong="auto x = detail::get_tma_swizzle_base(Swizzle<3, 4, 4>{});",
        right="auto x = detail::get_tma_swizzle_base(Swizzle<3, 4, 3>{});",
        links=(_SWIZZLE,),
    ),
    make_row(
        "tma-swizzle-bits",
        "TMA has no swizzle with this number of bits",
        ("Expected B = 0,1,2, or 3 when M == 4. Unsupported layout swizzle.",),
        _TMA_SWIZZLE,
        reason="TMA swizzles within 128 bytes at most: B is 3 for 128B, 2 for 64B, 1 for 32B and 0 for none.",
        change="Use B ≤ 3.",
        wrong="auto x = detail::get_tma_swizzle_bits(Swizzle<4, 4, 4>{});",
        right="auto x = detail::get_tma_swizzle_bits(Swizzle<3, 4, 3>{});",
        links=(_SWIZZLE,),
    ),
)
