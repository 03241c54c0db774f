"""Static assertions of CuTe's MMA atoms and descriptors, one row per message, as worded in CUTLASS 4.2.0."""

from __future__ import annotations

from lanescope.messages.cute_programs import make_row

_MMA, _TILE = ("TiledMMA", "/tiles/mma"), ("One tile of wgmma", "/guide/one-tile")
_ATOMS, _DESCRIPTOR = ("Swizzle atoms of shared memory", "/smem/atoms"), ("Descriptor", "/descriptor")
_MMA_HEADER, _TRAITS = "cute/atom/mma_atom.hpp", "cute/atom/mma_traits.hpp"
_GMMA = "cute/atom/mma_traits_sm90_gmma.hpp"
_OP = "SM80_16x8x16_F32F16F16F32_TN"
_SMEM, _GMEM = "make_smem_ptr((half_t*)nullptr)", "make_gmem_ptr((half_t*)nullptr)"
_PLAIN = "Layout<Shape<_64, Shape<_8, _2>>, Stride<_8, Stride<_1, _512>>>{}"
_CANONICAL = "Use tile_to_shape(SM90::GMMA::Layout_K_SW128_Atom<T>{}, shape), or another atom of this family."


def _descriptor(layout: str, major: str = "K", memory: str = _SMEM, of: str = "s") -> str:
    statement = f"auto x = SM90::GMMA::make_gmma_desc<SM90::GMMA::Major::{major}>({of});"
    return f"auto s = make_tensor({memory}, {layout});\n{statement}"


def _atom(name: str, shape: str) -> str:
    return f"tile_to_shape(SM90::GMMA::Layout_{name}_Atom<half_t>{{}}, {shape}{{}})"


def _tiled(atoms: str, tile: str = "") -> str:
    return f"TiledMMA<MMA_Atom<{_OP}>, Layout<{atoms}>{f', {tile}' if tile else ''}> x;"


def _call(a: str) -> str:
    return (
        f"auto a = {a};\nauto b = make_tensor<half_t>(Shape<_4>{{}});\nauto c = make_tensor<float>(Shape<_4>{{}});\n"
        f"MMA_Atom<{_OP}>{{}}.call(c, a, b, c);"
    )


def _gemm(m: int) -> str:
    return (
        f"auto t = make_tiled_mma({_OP}{{}});\nauto a = make_tensor<half_t>(Shape<_8, _{m}, _1>{{}});\n"
        "auto b = make_tensor<half_t>(Shape<_4, _1, _1>{});\nauto c = make_tensor<float>(Shape<_4, _1, _1>{});\n"
        "gemm(t, a, b, c);"
    )


def _fragment(tensor: str) -> str:
    return (
        "auto t = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<SM90::GMMA::Major::K, SM90::GMMA::Major::K>{});\n"
        f"auto g = make_tensor({tensor});\nauto x = t.get_slice(0).partition_fragment_A(g);"
    )


MMA_ROWS = (
    make_row(
        "mma-atom-layout-rank",
        "The atom layout of a TiledMMA does not have three modes",
        ("TiledMMA requires rank-3 AtomLayoutMNK",),
        _MMA_HEADER,
        reason="The atoms of a TiledMMA are arranged along M, N and K, but the layout has a different rank.",
        change="Write all three modes: Layout<Shape<_2, _2, _1>>. make_tiled_mma adds modes of 1.",
        wrong=_tiled("Shape<_2, _2>"),
        right=_tiled("Shape<_2, _2, _1>"),
        links=(_MMA,),
    ),
    make_row(
        "mma-permutation-rank",
        "The permutation of a TiledMMA does not have three modes",
        ("TiledMMA requires rank-3 PermutationMNK", "TiledMMA requires independent permutations of MNK."),
        _MMA_HEADER,
        reason="PermutationMNK has a size, a layout or an underscore for each of M, N and K.",
        change="Write Tile<_32, _32, _16>, or leave the permutation out.",
        wrong=_tiled("Shape<_2, _2, _1>", "Tile<_32, _32>"),
        right=_tiled("Shape<_2, _2, _1>", "Tile<_32, _32, _16>"),
        links=(_MMA,),
    ),
    make_row(
        "mma-permutation-static",
        "The permutation of a TiledMMA is not constant",
        ("TiledMMA requires static permutations of MNK.",),
        _MMA_HEADER,
        reason="A mode of PermutationMNK is a dynamic int.",
        change="Use constants: Int<32>{}, _32.",
        wrong=_tiled("Shape<_2, _2, _1>", "Tile<int, _32, _16>"),
        right=_tiled("Shape<_2, _2, _1>", "Tile<_32, _32, _16>"),
        links=(_MMA,),
    ),
    make_row(
        "mma-registers",
        "An operand of mma.sync is not in registers",
        ("Expected registers in MMA_Atom::call",),
        _TRAITS,
        reason="The instruction needs fragments, but a tensor in shared or global memory is passed.",
        change="Copy the operand into a fragment first (partition_fragment_A, copy), or use an atom that reads"
        " shared memory: SM90_…_SS.",
        wrong=_call(f"make_tensor({_SMEM}, Layout<_8>{{}})"),
        right=_call("make_tensor<half_t>(Shape<_8>{})"),
        links=(_MMA,),
    ),
    make_row(
        "mma-operand-rank",
        "An MMA atom is called with a complete fragment",
        ("Expected rank-1 {operand} tensor",),
        _MMA_HEADER,
        reason="MMA_Atom::call needs the values of one instruction, but the fragment still has the modes MMA_M and"
        " MMA_K.",
        change="Call gemm(tiled_mma, a, b, c), or slice a(_, m, k).",
        wrong=_call("make_tensor<half_t>(Shape<_4, _2>{})"),
        right=_call("make_tensor<half_t>(Shape<_8>{})"),
        links=(_MMA,),
    ),
    make_row(
        "mma-traits",
        "CuTe has no traits for this MMA operation",
        ("MMA_Traits not implemented for this MMA_Operation.",),
        _TRAITS,
        reason="The type passed to MMA_Atom or make_tiled_mma has no MMA_Traits: a misspelled operation, or one"
        " whose header is not included.",
        change="Include cute/atom/mma_atom.hpp, and use an operation of cute/arch.",
        wrong="struct Mine {};\nMMA_Atom<Mine> x;",
        right=f"MMA_Atom<{_OP}> x;",
        links=(_MMA,),
    ),
    make_row(
        "gemm-sizes",
        "The fragments of a gemm have different sizes",
        ("size<1>(A) == size<1>(C)", "size<1>(B) == size<2>(C)", "size<2>(A) == size<2>(B)"),
        "cute/algorithm/gemm.hpp",
        reason="In gemm(mma, a, b, c) the modes are (MMA, MMA_M, MMA_K), (MMA, MMA_N, MMA_K) and (MMA, MMA_M, MMA_N),"
        " and two that must be equal differ. The assertion has no text: its condition is all that is printed.",
        change="Partition A, B and C from tiles that fit: (M, K), (N, K) and (M, N), by the same TiledMMA. B is (N, K)"
        " in CuTe, not (K, N).",
        wrong=_gemm(2),
        right=_gemm(1),
        links=(_MMA,),
    ),
    make_row(
        "gmma-mn-size",
        "The rows of a K-major operand of wgmma are not a multiple of 8",
        ("Not a canonical GMMA_K Layout: Expected MN-size multiple of 8.",),
        _GMMA,
        reason="wgmma reads core matrices of 8 rows, and the tensor's number of rows is not a multiple of 8.",
        change="Make M and N multiples of 8; M of an instruction is 64.",
        wrong=_descriptor("Layout<Shape<_4, _16>, Stride<_16, _1>>{}"),
        right=_descriptor(_atom("K_SW32", "Shape<_8, _16>")),
        links=(_TILE, _ATOMS),
    ),
    make_row(
        "gmma-k-size",
        "A descriptor is made from more than one K step",
        ("Not a canonical GMMA_K Layout: Expected K-size 2 for dense or 4 for sparse (in units of uint128_t).",),
        _GMMA,
        reason="One wgmma reads 32 bytes of K, two units of 16 bytes, but the tensor is longer or shorter. Usually"
        " the complete tile was passed.",
        change="Make the descriptor of one K step: partition the tile by the TiledMMA (partition_fragment_A), or use"
        " local_tile.",
        wrong=_descriptor(_atom("K_SW128", "Shape<_64, _64>")),
        right=_descriptor(_atom("K_SW128", "Shape<_64, _64>"), of="local_tile(s, Shape<_64, _16>{}, make_coord(0, 0))"),
        links=(_TILE, _DESCRIPTOR),
    ),
    make_row(
        "gmma-k-stride",
        "A K-major tile that no descriptor of wgmma reads: strides",
        ("Not a canonical GMMA_K Layout: Expected stride failure.",),
        _GMMA,
        reason="The rows of a core matrix must be one swizzle width apart (16 bytes without a swizzle), but here"
        " they are not. The rows of a row-major tile without a swizzle are too far apart.",
        change=_CANONICAL,
        wrong=_descriptor("Layout<Shape<_64, _16>, Stride<_64, _1>>{}"),
        right=_descriptor(_atom("K_INTER", "Shape<_64, _16>")),
        links=(_TILE, _ATOMS, ("Does a descriptor read my tile?", "/smem")),
    ),
    make_row(
        "gmma-k-profile",
        "A K-major tile that no descriptor of wgmma reads: modes",
        ("Not a canonical GMMA_K Layout: Expected profile failure.",),
        _GMMA,
        reason="Divided into core matrices, the layout has more modes than (8, n) × 2, because the 8 rows of a core"
        " matrix are not one mode.",
        change=_CANONICAL,
        wrong=_descriptor("Layout<Shape<Shape<_4, _16>, _16>, Stride<Stride<_8, _64>, _1>>{}"),
        right=_descriptor(_PLAIN),
        links=(_TILE, _ATOMS),
    ),
    make_row(
        "gmma-mn-k-size",
        "A descriptor is made from more than one K step of an MN-major tile",
        (
            "Not a canonical GMMA_MN Layout: Expected K-size 256/sizeof_bits<T> for dense or (128|512)/sizeof_bits<T>"
            " for sparse.",
        ),
        _GMMA,
        reason="One wgmma reads 16 rows of K of 16-bit elements, but the tensor has a different number. Usually the"
        " complete tile was passed.",
        change="Make the descriptor of one K step: partition the tile by the TiledMMA.",
        wrong=_descriptor(_atom("MN_SW128", "Shape<_64, _64>"), "MN"),
        right=_descriptor(_atom("MN_SW128", "Shape<_64, _16>"), "MN"),
        links=(_TILE, _DESCRIPTOR),
    ),
    make_row(
        "gmma-mn-stride",
        "An MN-major tile that no descriptor of wgmma reads: strides",
        ("Not a canonical GMMA_MN Layout: Expected stride failure.",),
        _GMMA,
        reason="The 16-byte units of an MN-major atom are not in the order of the swizzle mode. A column-major tile"
        " without a swizzle does not consist of core matrices.",
        change="Use tile_to_shape(SM90::GMMA::Layout_MN_SW128_Atom<T>{}, shape), or another of its family.",
        wrong=_descriptor("Layout<Shape<_64, _16>, Stride<_1, _64>>{}", "MN"),
        right=_descriptor(_atom("MN_SW128", "Shape<_64, _16>"), "MN"),
        links=(_TILE, _ATOMS),
    ),
    make_row(
        "gmma-swizzle",
        "wgmma has no such swizzle",
        ("Unsupported layout swizzle",),
        _GMMA,
        reason="In bytes, wgmma's swizzles are Swizzle<B, 4, 3> with B = 0 to 3, but here M, S or B is different. In"
        " a layout with smem_ptr_flag they refer to bytes, not elements.",
        change="Use an atom of SM90::GMMA. In elements of 16 bits the 128B swizzle is Swizzle<3, 3, 3>.",
        wrong=_descriptor(
            "make_composed_layout(Swizzle<3, 3, 3>{}, smem_ptr_flag{}, Layout<Shape<_64, _16>, Stride<_64, _1>>{})"
        ),
        right=_descriptor(_atom("K_SW32", "Shape<_64, _16>")),
        links=(("Swizzles", "/guide/swizzle"), _ATOMS),
    ),
    make_row(
        "gmma-descriptor-memory",
        "A descriptor of a tensor that is not in shared memory",
        ("GMMA Descriptors can only be constructed on smem.", "UMMA Descriptors can only be constructed on smem."),
        _GMMA,
        reason="The tensor's pointer is not tagged as shared memory.",
        change="Make the tensor with make_smem_ptr(pointer).",
        wrong=_descriptor(_PLAIN, memory=_GMEM),
        right=_descriptor(_PLAIN),
        links=(_TILE,),
    ),
    make_row(
        "gmma-descriptor-rank",
        "A descriptor of a tensor with stages",
        (
            "GMMA Descriptors can only be constructed on rank-2 tensors.",
            "UMMA Descriptors can only be constructed on rank-2 tensors.",
        ),
        _GMMA,
        reason="A descriptor reads a matrix, but the tensor has a mode of stages or K steps.",
        change="Slice the mode: s(_, _, stage), or use partition_fragment_A.",
        wrong=_descriptor(_atom("K_SW128", "Shape<_64, _64, _2>")),
        right=_descriptor(
            _atom("K_SW128", "Shape<_64, _64, _2>"),
            of="local_tile(s(_, _, 0), Shape<_64, _16>{}, make_coord(0, 0))",
        ),
        links=(_TILE,),
    ),
    make_row(
        "gmma-fragment-memory",
        "The tensor of an SS atom is not in shared memory",
        (
            "Expected SMEM Tensor to construct a GMMA Desc Tensor",
            "Expected SMEM Tensor to construct a UMMA Desc Tensor",
        ),
        _GMMA,
        reason="The fragment of an SS atom is a tensor of descriptors, but the source tensor is in global memory or"
        " in registers.",
        change="Pass the tensor in shared memory to partition_fragment_A and _B; for A in registers, use an RS atom.",
        wrong=_fragment(f"{_GMEM}, Layout<Shape<_64, _64>>{{}}"),
        right=_fragment(f"{_SMEM}, {_atom('K_SW128', 'Shape<_64, _64>')}"),
        links=(_TILE, _MMA),
    ),
)
