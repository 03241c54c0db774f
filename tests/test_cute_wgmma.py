"""Kernels of CuTe whose threads fill the tiles of wgmma: D of right ones is A·B, mistakes are found at their place."""

from __future__ import annotations

import pytest

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


@for_each("atom", ["", "GMMA::ss_op_selector<E, E, float, Shape<_64, _64, _64>>()"], sample=1)
def test_d_of_a_right_kernel_is_known(atom: str) -> None:
    """The atom is named, or selected by the types of its operands and sums."""
    made = check_whole(
        plant(("SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}", atom), text=GEMM) if atom else GEMM
    )
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


@pytest.mark.thorough
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


# Two warpgroups multiply tiles that one thread copies by TMA
BULK = r"""#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;

template <class T, class LA, class LB, int Stages>
struct Smem {
  alignas(128) ArrayEngine<T, cosize_v<LA>> a;
  alignas(128) ArrayEngine<T, cosize_v<LB>> b;
  uint64_t full[Stages];
  uint64_t empty[Stages];
};

template <class Shape, class Tile, class T, class LA, class TmaA, class LB, class TmaB, class TD, class StrideD,
          class Mma>
__global__ static __launch_bounds__(256)
void tma_gemm(Shape problem, Tile tile, CUTLASS_GRID_CONSTANT TmaA const load_a,
              CUTLASS_GRID_CONSTANT TmaB const load_b, TD* D, StrideD dD, Mma mma, float alpha) {
  constexpr int P = size<2>(LA{});
  auto [M, N, K] = problem;
  Tensor tensor_a = load_a.get_tma_tensor(make_shape(M, K));
  Tensor tensor_b = load_b.get_tma_tensor(make_shape(N, K));
  Tensor tensor_d = make_tensor(make_gmem_ptr(D), make_shape(M, N), dD);

  auto where = make_coord(blockIdx.y, blockIdx.x, _);
  Tensor gA = local_tile(tensor_a, tile, where, Step<_1, X, _1>{});
  Tensor gB = local_tile(tensor_b, tile, where, Step<X, _1, _1>{});
  Tensor gD = local_tile(tensor_d, tile, where, Step<_1, _1, X>{});

  extern __shared__ __align__(1024) char storage[];
  auto& s = *reinterpret_cast<Smem<T, LA, LB, P>*>(storage);
  Tensor sA = make_tensor(make_smem_ptr(s.a.begin()), LA{});
  Tensor sB = make_tensor(make_smem_ptr(s.b.begin()), LB{});

  auto [tAgA, tAsA] = tma_partition(load_a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(gA));
  auto [tBgB, tBsB] = tma_partition(load_b, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sB), group_modes<0, 2>(gB));
  constexpr int bytes = int(sizeof(T)) * (size<0>(LA{}) * size<1>(LA{}) + size<0>(LB{}) * size<1>(LB{}));

  bool leader = threadIdx.x / 32 == 0 && cute::elect_one_sync();
  if (leader) {
    for (int i = 0; i < P; ++i) {
      cute::initialize_barrier(s.full[i], 1);
      cute::initialize_barrier(s.empty[i], 256);
    }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();

  int tiles = size<1>(tAgA);
  int issued = 0;
  for (; issued < P; ++issued) {
    if (leader) {
      cute::set_barrier_transaction_bytes(s.full[issued], bytes);
      copy(load_a.with(s.full[issued]), tAgA(_, issued), tAsA(_, issued));
      copy(load_b.with(s.full[issued]), tBgB(_, issued), tBsB(_, issued));
    }
  }

  auto thread_mma = mma.get_thread_slice(threadIdx.x);
  Tensor tCgD = thread_mma.partition_C(gD);
  Tensor tCrA = thread_mma.make_fragment_A(thread_mma.partition_A(sA));
  Tensor tCrB = thread_mma.make_fragment_B(thread_mma.partition_B(sB));
  Tensor accum = thread_mma.make_fragment_C(tCgD);
  mma.accumulate_ = GMMA::ScaleOut::Zero;

  int stage = 0, phase = 0;
  for (int t = 0; t < tiles; ++t) {
    cute::wait_barrier(s.full[stage], phase);
    warpgroup_arrive();
    CUTE_UNROLL
    for (int k = 0; k < size<2>(tCrA); ++k) {
      gemm(mma, tCrA(_, _, k, stage), tCrB(_, _, k, stage), accum);
      mma.accumulate_ = GMMA::ScaleOut::One;
    }
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    cute::arrive_barrier(s.empty[stage]);
    if (leader && issued < tiles) {
      cute::wait_barrier(s.empty[stage], phase);
      cute::set_barrier_transaction_bytes(s.full[stage], bytes);
      copy(load_a.with(s.full[stage]), tAgA(_, issued), tAsA(_, stage));
      copy(load_b.with(s.full[stage]), tBgB(_, issued), tBsB(_, stage));
    }
    ++issued;
    if (++stage == P) {
      stage = 0;
      phase ^= 1;
    }
  }

  for (int i = 0; i < size(accum); ++i) {
    tCgD(i) = TD(alpha * accum(i));
  }
}

void launch(cutlass::bfloat16_t const* A, cutlass::bfloat16_t const* B, cutlass::bfloat16_t* D, int m, int n, int k,
            float alpha) {
  using T = cutlass::bfloat16_t;
  auto problem = make_shape(m, n, k);
  auto tile = make_shape(Int<128>{}, Int<256>{}, Int<64>{});
  auto la = tile_to_shape(GMMA::Layout_K_SW128_Atom<T>{}, make_shape(Int<128>{}, Int<64>{}, Int<4>{}));
  auto lb = tile_to_shape(GMMA::Layout_K_SW128_Atom<T>{}, make_shape(Int<256>{}, Int<64>{}, Int<4>{}));
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, Int<1>{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, k), make_stride(k, Int<1>{}));
  auto load_a = make_tma_atom(SM90_TMA_LOAD{}, mA, la(_, _, 0), make_shape(Int<128>{}, Int<64>{}));
  auto load_b = make_tma_atom(SM90_TMA_LOAD{}, mB, lb(_, _, 0), make_shape(Int<256>{}, Int<64>{}));
  TiledMMA mma = make_tiled_mma(SM90_64x256x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::K>{},
                                Layout<Shape<_2, _1, _1>>{});
  auto dD = make_stride(n, Int<1>{});
  auto* kernel = &tma_gemm<decltype(problem), decltype(tile), T, decltype(la), decltype(load_a), decltype(lb),
                           decltype(load_b), T, decltype(dD), decltype(mma)>;
  int smem = sizeof(Smem<T, decltype(la), decltype(lb), 4>);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
  dim3 grid(n / 256, m / 128);
  kernel<<<grid, size(mma), smem>>>(problem, tile, load_a, load_b, D, dD, mma, alpha);
}
"""


def test_d_of_tiles_that_tma_copies_is_known() -> None:
    report = check_whole(BULK)
    assert (report.findings, report.open) == ((), ())


BULK_MISTAKES = [
    ("auto dD = make_stride(n, Int<1>{})", "auto dD = make_stride(m, Int<1>{})", "product_broken", "m, Int<1>{}"),
    ("make_shape(n, k), make_stride(k,", "make_shape(n, k), make_stride(n,", "product_broken", "n,"),
    ("t < tiles; ++t", "t < tiles - 1; ++t", "k_slices_left", "t < tiles - 1"),
    ("Step<X, _1, _1>", "Step<_1, X, _1>", "cute_copy_misfit", "_1, X, _1>{});\n  Tensor gD"),
    ("    warpgroup_commit_batch();\n", "", "wgmma_commit_missing", "gemm(mma, "),
]


def test_an_exchanged_block_is_named_where_it_is_chosen() -> None:
    wrong = "make_coord(blockIdx.x, blockIdx.y, _)"
    planted = plant(("make_coord(blockIdx.y, blockIdx.x, _)", wrong), text=BULK)
    (found,) = check_whole(planted).findings
    assert found.code == "tiles_left" and "exchanged, or those of the index of the block" in found.message


# One CTA multiplies through tensor memory
UMMA = r"""#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;

template <class TA, class TB, class LA, class LB>
struct Shared {
  alignas(128) ArrayEngine<TA, cosize_v<LA>> A;
  alignas(128) ArrayEngine<TB, cosize_v<LB>> B;
  alignas(16) uint64_t mma_done;
  alignas(16) uint64_t tma_done;
  alignas(16) uint32_t tmem_base;
  CUTE_DEVICE constexpr auto tensor_sA() { return make_tensor(make_smem_ptr(A.begin()), LA{}); }
  CUTE_DEVICE constexpr auto tensor_sB() { return make_tensor(make_smem_ptr(B.begin()), LB{}); }
};

template <class Storage, class TensorA, class TensorB, class TensorD, class Tiler, class Mma, class TmaA, class TmaB>
__global__ static void umma_kernel(TensorA mA, TensorB mB, TensorD mD, Tiler tiler, Mma mma,
                                   CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b) {
  auto coord = make_coord(blockIdx.x, blockIdx.y, _);
  Tensor gA = local_tile(mA, tiler, coord, Step<_1, X, _1>{});
  Tensor gB = local_tile(mB, tiler, coord, Step<X, _1, _1>{});
  Tensor gD = local_tile(mD, tiler, coord, Step<_1, _1, X>{});

  extern __shared__ char smem[];
  Storage& st = *reinterpret_cast<Storage*>(smem);
  Tensor tCsA = st.tensor_sA();
  Tensor tCsB = st.tensor_sB();

  ThrMMA cta_mma = mma.get_slice(0);
  Tensor tCgA = cta_mma.partition_A(gA);
  Tensor tCgB = cta_mma.partition_B(gB);
  Tensor tCgD = cta_mma.partition_C(gD);
  Tensor tCrA = cta_mma.make_fragment_A(tCsA);
  Tensor tCrB = cta_mma.make_fragment_B(tCsB);
  Tensor tCtAcc = cta_mma.make_fragment_C(tCgD);

  uint32_t elect = cute::elect_one_sync();
  bool warp0 = threadIdx.x / 32 == 0;
  using Alloc = cute::TMEM::Allocator1Sm;
  Alloc alloc{};
  if (warp0) {
    alloc.allocate(Alloc::Sm100TmemCapacityColumns, &st.tmem_base);
  }
  __syncthreads();
  tCtAcc.data() = st.tmem_base;

  auto [tAgA, tAsA] = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 3>(tCsA), group_modes<0, 3>(tCgA));
  auto [tBgB, tBsB] = tma_partition(tma_b, Int<0>{}, Layout<_1>{}, group_modes<0, 3>(tCsB), group_modes<0, 3>(tCgB));
  int bytes = sizeof(make_tensor_like(tAsA)) + sizeof(make_tensor_like(tBsB));

  if (warp0 && elect) {
    cute::initialize_barrier(st.mma_done, 1);
    cute::initialize_barrier(st.tma_done, 1);
  }
  int mma_phase = 0, tma_phase = 0;
  __syncthreads();

  mma.accumulate_ = UMMA::ScaleOut::Zero;
  for (int kt = 0; kt < size<3>(tCgA); ++kt) {
    if (warp0 && elect) {
      cute::set_barrier_transaction_bytes(st.tma_done, bytes);
      copy(tma_a.with(st.tma_done), tAgA(_, kt), tAsA);
      copy(tma_b.with(st.tma_done), tBgB(_, kt), tBsB);
    }
    cute::wait_barrier(st.tma_done, tma_phase);
    tma_phase ^= 1;
    if (warp0) {
      for (int kb = 0; kb < size<2>(tCrA); ++kb) {
        gemm(mma, tCrA(_, _, kb), tCrB(_, _, kb), tCtAcc);
        mma.accumulate_ = UMMA::ScaleOut::One;
      }
      cutlass::arch::umma_arrive(&st.mma_done);
    }
    cute::wait_barrier(st.mma_done, mma_phase);
    mma_phase ^= 1;
  }

  TiledCopy t2r = make_tmem_copy(SM100_TMEM_LOAD_32dp32b1x{}, tCtAcc);
  ThrCopy thr = t2r.get_slice(threadIdx.x);
  Tensor tDtAcc = thr.partition_S(tCtAcc);
  Tensor tDgD = thr.partition_D(tCgD);
  Tensor tDrD = make_fragment_like(tDgD);
  copy(t2r, tDtAcc, tDrD);
  copy(tDrD, tDgD);
  __syncthreads();
  if (warp0) {
    alloc.release_allocation_lock();
    alloc.free(st.tmem_base, Alloc::Sm100TmemCapacityColumns);
  }
}

void launch(half_t const* A, half_t const* B, float* D, int m, int n, int k) {
  Tensor mA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(m, k), make_stride(k, Int<1>{})));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_layout(make_shape(n, k), make_stride(k, Int<1>{})));
  Tensor mD = make_tensor(make_gmem_ptr(D), make_layout(make_shape(m, n), make_stride(n, Int<1>{})));
  using Atom = SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 128, UMMA::Major::K, UMMA::Major::K>;
  TiledMMA mma = make_tiled_mma(Atom{});
  auto bM = tile_size<0>(mma);
  auto bN = tile_size<1>(mma);
  auto bK = tile_size<2>(mma) * Int<4>{};
  auto tiler = make_shape(bM, bN, bK);
  auto shape_a = partition_shape_A(mma, make_shape(size<0>(tiler), size<2>(tiler)));
  auto shape_b = partition_shape_B(mma, make_shape(size<1>(tiler), size<2>(tiler)));
  auto sA = UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{}, shape_a);
  auto sB = UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{}, shape_b);
  using Storage = Shared<half_t, half_t, decltype(sA), decltype(sB)>;
  Copy_Atom tma_a = make_tma_atom(SM90_TMA_LOAD{}, mA, sA, select<0, 2>(tiler));
  Tensor tA = tma_a.get_tma_tensor(shape(mA));
  Copy_Atom tma_b = make_tma_atom(SM90_TMA_LOAD{}, mB, sB, select<1, 2>(tiler));
  Tensor tB = tma_b.get_tma_tensor(shape(mB));
  auto* kernel = &umma_kernel<Storage, decltype(tA), decltype(tB), decltype(mD), decltype(tiler), decltype(mma),
                              decltype(tma_a), decltype(tma_b)>;
  int bytes = sizeof(Storage);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  dim3 grid(ceil_div(m, bM), ceil_div(n, bN));
  kernel<<<grid, 128, bytes>>>(tA, tB, mD, tiler, mma, tma_a, tma_b);
}
"""


def test_d_of_a_right_kernel_in_tensor_memory_is_known() -> None:
    report = check_whole(UMMA)
    assert (report.findings, report.open) == ((), ())


UMMA_MISTAKES = [
    ("make_shape(m, n), make_stride(n,", "make_shape(m, n), make_stride(m,", "product_broken", "m,"),
    ("tCrB(_, _, kb), tCtAcc", "tCrB(_, _, 0), tCtAcc", "product_broken", "0), tCtAcc"),
    ("kt < size<3>(tCgA)", "kt < size<3>(tCgA) - 1", "k_slices_left", "kt < size<3>(tCgA) - 1"),
    ("        mma.accumulate_ = UMMA::ScaleOut::One;\n", "", "accumulator_reset", "mma.accumulate_"),
]


ASYNC_MISTAKES = [(BULK, *row) for row in BULK_MISTAKES] + [(UMMA, *row) for row in UMMA_MISTAKES]


@for_each(("text", "right", "wrong", "code", "place"), ASYNC_MISTAKES, sample=2)
def test_a_mistake_in_a_kernel_of_asynchronous_copies_is_found(
    text: str, right: str, wrong: str, code: str, place: str
) -> None:
    planted = plant((right, wrong), text=text)
    (found,) = check.check_text(planted, search=True).findings
    lines = [planted.count("\n", 0, at) for at in (found.span[0], planted.index(place, planted.index(wrong)))]
    assert (found.code, lines[0]) == (code, lines[1])
