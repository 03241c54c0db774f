"""Kernels of CuTe whose threads fill the tiles of wgmma: D of right ones is A·B, mistakes are found at their place."""

from __future__ import annotations

from lanescope.workbench import check
from tests.cases import for_each
from tests.checked import check_whole
from tests.transfer_kernels import plant

# Two warpgroups; A is M×K and B is N×K, both with K contiguous; M, N and K are the modes of one argument
GEMM = r"""#include <cute/tensor.hpp>
using namespace cute;

template <class E, class SA, class SB>
struct Tiles {
  alignas(128) ArrayEngine<E, cosize_v<SA>> a;
  alignas(128) ArrayEngine<E, cosize_v<SB>> b;
};

template <class Problem, class Tile, class E, class SA, class SB, class Load, class Mma>
__global__ void warpgroup_gemm(Problem problem, Tile tile, E const* A, E const* B, float* C, SA sa, SB sb, Load load,
                               Mma mma) {
  Tensor mA = make_tensor(make_gmem_ptr(A), select<0, 2>(problem), make_stride(get<2>(problem), _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), select<1, 2>(problem), make_stride(get<2>(problem), _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), select<0, 1>(problem), make_stride(get<1>(problem), _1{}));
  auto where = make_coord(blockIdx.x, blockIdx.y, _);
  Tensor gA = local_tile(mA, tile, where, Step<_1, X, _1>{});
  Tensor gB = local_tile(mB, tile, where, Step<X, _1, _1>{});
  Tensor gC = local_tile(mC, tile, where, Step<_1, _1, X>{});
  extern __shared__ char bytes[];
  Tiles<E, SA, SB>& tiles = *reinterpret_cast<Tiles<E, SA, SB>*>(bytes);
  Tensor sA = make_tensor(make_smem_ptr(tiles.a.begin()), sa);
  Tensor sB = make_tensor(make_smem_ptr(tiles.b.begin()), sb);
  auto my_load = load.get_slice(threadIdx.x);
  Tensor from_a = my_load.partition_S(gA);
  Tensor to_a = my_load.partition_D(sA);
  Tensor from_b = my_load.partition_S(gB);
  Tensor to_b = my_load.partition_D(sB);
  auto my_mma = mma.get_slice(threadIdx.x);
  Tensor ra = my_mma.make_fragment_A(my_mma.partition_A(sA));
  Tensor rb = my_mma.partition_fragment_B(sB);
  Tensor out = my_mma.partition_C(gC);
  Tensor sums = my_mma.make_fragment_C(out);
  clear(sums);
  for (int k = 0; k < size<3>(from_a); ++k) {
    copy(load, from_a(_, _, _, k), to_a);
    copy(load, from_b(_, _, _, k), to_b);
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    warpgroup_arrive();
    gemm(mma, ra, rb, sums);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    __syncthreads();
  }
  copy(sums, out);
}

void launch(half_t const* A, half_t const* B, float* C, int m, int n, int k) {
  using E = half_t;
  auto problem = make_shape(m, n, k);
  auto tile = make_shape(_128{}, _64{}, _64{});
  auto sa = tile_to_shape(GMMA::Layout_K_SW128_Atom<E>{}, make_shape(_128{}, _64{}));
  auto sb = tile_to_shape(GMMA::Layout_K_SW128_Atom<E>{}, make_shape(_64{}, _64{}));
  TiledCopy load = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, E>{},
                                   Layout<Shape<_32, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  TiledMMA mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}, Layout<Shape<_2, _1>>{});
  auto kernel = warpgroup_gemm<decltype(problem), decltype(tile), E, decltype(sa), decltype(sb), decltype(load),
                               decltype(mma)>;
  kernel<<<dim3(size(ceil_div(m, _128{})), size(ceil_div(n, _64{}))), dim3(size(mma)), 24576>>>(
      problem, tile, A, B, C, sa, sb, load, mma);
}
"""


def test_d_of_a_right_kernel_is_known() -> None:
    made = check_whole(GEMM)
    assert (made.findings, made.open) == ((), ())


@for_each(
    ("right", "wrong"),
    [("gemm(mma, ra, rb, sums)", "gemm(mma, rb, ra, sums)"), ("from_b(_, _, _, k), to_b", "from_b(_, _, _, 0), to_b")],
    sample=1,
)
def test_what_makes_d_the_product_is_named_where_it_is_not(right: str, wrong: str) -> None:
    planted = plant((right, wrong), text=GEMM)
    (open_,) = check.check_text(planted, search=True).open
    place = planted.find(wrong)
    assert place <= open_.span[0] < place + len(wrong) and open_.message.endswith("here, D is A·B.")


MISTAKES = [
    ("    __syncthreads();\n    warpgroup_arrive", "    warpgroup_arrive", "barrier_missing", "warpgroup_arrive"),
    ("k < size<3>(from_a)", "k < size<3>(from_a) - 1", "k_slices_left", "k < size"),
    ("    warpgroup_wait<0>();\n    __syncthreads();\n", "    warpgroup_wait<0>();\n", "refill_early", "}"),
]


@for_each(("right", "wrong", "code", "place"), MISTAKES, sample=1)
def test_a_planted_mistake_is_found(right: str, wrong: str, code: str, place: str) -> None:
    planted = plant((right, wrong), text=GEMM)
    findings = check.check_text(planted, search=True).findings
    found = [(one.code, planted[one.span[0] :][: len(place)]) for one in findings]
    assert found == [(code, place)]


def test_the_warps_of_an_only_warpgroup_need_no_barrier_before_their_products() -> None:
    """As in CUTLASS's tutorial wgmma_sm90.cu, whose cp_async_wait<0>() is followed by warpgroup_arrive()."""
    text = plant(
        ("make_shape(_128{}, _64{}, _64{})", "make_shape(_64{}, _64{}, _64{})"),
        ("make_shape(_128{}, _64{})", "make_shape(_64{}, _64{})"),
        ("Layout<Shape<_32, _8>", "Layout<Shape<_16, _8>"),
        ("Layout<Shape<_2, _1>>{}", "Layout<Shape<_1, _1>>{}"),
        ("ceil_div(m, _128{})", "ceil_div(m, _64{})"),
        ("    __syncthreads();\n    warpgroup_arrive", "    warpgroup_arrive"),
        text=GEMM,
    )
    report = check_whole(text)
    assert (report.findings, report.open) == ((), ())


# D has contiguous columns, and the launch of another instance multiplies by scalar atoms
SCALAR = plant(
    ("make_stride(get<1>(problem), _1{})", "make_stride(_1{}, get<0>(problem))"),
    (
        "      problem, tile, A, B, C, sa, sb, load, mma);\n",
        """      problem, tile, A, B, C, sa, sb, load, mma);
  auto fma = make_tiled_mma(UniversalFMA<float, E, E>{}, Layout<Shape<_16, _16>>{});
  auto scalar = warpgroup_gemm<decltype(problem), decltype(tile), E, decltype(sa), decltype(sb), decltype(load),
                               decltype(fma)>;
  scalar<<<dim3(size(ceil_div(m, _128{})), size(ceil_div(n, _64{}))), dim3(size(fma)), 24576>>>(
      problem, tile, A, B, C, sa, sb, load, fma);
""",
    ),
    text=GEMM,
)


def test_a_tile_of_d_with_contiguous_columns_is_not_wide() -> None:
    """Blocks of a grid of 2 × 2 would be right for a tile that is stored at the block of exchanged coordinates, too."""
    assert check_whole(SCALAR).open == ()
    right = "Tensor gC = local_tile(mC, tile, where"
    wrong = right.replace("where", "make_coord(blockIdx.y, blockIdx.x, _)")
    (open_,) = check_whole(plant((right, wrong), text=SCALAR)).open
    assert "elements are not stored at their row and column" in open_.message


def test_a_type_that_a_call_deduces_is_that_of_its_only_alias() -> None:
    head = "void launch(half_t const* A, half_t const* B, float* C, int m, int n, int k) {\n  using E = half_t;\n"
    deduced = "template <class E>\nvoid launch(E const* A, E const* B, float* C, int m, int n, int k) {\n"
    calling = "void call(void* p, float* C) {\n  using E = half_t;\n  launch((E*)p, (E*)p, C, 512, 512, 512);\n}\n"
    text = plant((head, deduced), ("    __syncthreads();\n    warpgroup_arrive", "    warpgroup_arrive"), text=GEMM)
    assert [one.code for one in check.check_text(text + calling).findings] == ["barrier_missing"]
