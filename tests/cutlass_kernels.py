"""Kernels of CUTLASS for Hopper and Blackwell: a ring of barriers that a block fills and empties, a PipelineTmaAsync
between a warpgroup that copies and two that multiply, and barriers for copies and for tcgen05.mma.
"""

HOST = """
template <class T> void multiply(int m, int n, int k, T const* A, T const* B, T* C) {
  auto shape = make_shape(int(m), int(n), int(k));
  auto tile = make_shape(Int<128>{}, Int<128>{}, Int<64>{});
  auto sA = tile_to_shape(GMMA::Layout_K_INTER_Atom<T>{}, make_shape(Int<128>{}, Int<64>{}, Int<4>{}));
  auto sB = tile_to_shape(GMMA::Layout_K_INTER_Atom<T>{}, make_shape(Int<128>{}, Int<64>{}, Int<4>{}));
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, Int<1>{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, k), make_stride(k, Int<1>{}));
  auto tma_a = make_tma_atom(SM90_TMA_LOAD{}, mA, sA(_, _, 0), make_shape(Int<128>{}, Int<64>{}));
  auto tma_b = make_tma_atom(SM90_TMA_LOAD{}, mB, sB(_, _, 0), make_shape(Int<128>{}, Int<64>{}));
  TiledMMA mma = make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}, Layout<Shape<_2>>{});
  cutlass::ClusterLaunchParams params{dim3(m / 128, n / 128), dim3(THREADS), dim3(1), 1 << 17};
  void const* kernel = (void const*)&ring<decltype(shape), decltype(tile), decltype(sA), decltype(sB), decltype(tma_a),
                                          decltype(tma_b), decltype(mma), T>;
  cutlass::launch_kernel_on_cluster(params, kernel, shape, tile, tma_a, tma_b, mma, C);
}
"""
HEAD = """#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
template <class T, class LayoutA, class LayoutB> struct Storage {
  alignas(1024) ArrayEngine<T, cosize_v<LayoutA>> A;
  alignas(1024) ArrayEngine<T, cosize_v<LayoutB>> B;
BARRIERS
};
template <class Problem, class Tile, class LayoutA, class LayoutB, class TmaA, class TmaB, class Mma, class T>
__global__ void ring(Problem shape, Tile tile, CUTLASS_GRID_CONSTANT TmaA const tma_a,
                     CUTLASS_GRID_CONSTANT TmaB const tma_b, Mma mma, T* C) {
  auto [M, N, K] = shape;
  Tensor mA = tma_a.get_tma_tensor(make_shape(M, K));
  Tensor mB = tma_b.get_tma_tensor(make_shape(N, K));
  auto at = make_coord(blockIdx.x, blockIdx.y, _);
  Tensor gA = local_tile(mA, tile, at, Step<_1, X, _1>{});
  Tensor gB = local_tile(mB, tile, at, Step<X, _1, _1>{});
  extern __shared__ char memory[];
  auto& s = *reinterpret_cast<Storage<T, LayoutA, LayoutB>*>(memory);
  Tensor sA = make_tensor(make_smem_ptr(s.A.begin()), LayoutA{});
  Tensor sB = make_tensor(make_smem_ptr(s.B.begin()), LayoutB{});
  auto [tAgA, tAsA] = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(gA));
  auto [tBgB, tBsB] = tma_partition(tma_b, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sB), group_modes<0, 2>(gB));
  constexpr int bytes = sizeof(make_tensor_like(tensor<0>(tAsA))) + sizeof(make_tensor_like(tensor<0>(tBsB)));
  constexpr int stages = size<2>(LayoutA{});
  int tiles = size<1>(tAgA);
"""
MULTIPLY = """
    warpgroup_arrive();
    gemm(mma, tCrA(_, _, _, STAGE), tCrB(_, _, _, STAGE), sum);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
"""
FRAGMENTS = """
  auto part = mma.get_slice(THREAD);
  Tensor tCrA = part.make_fragment_A(part.partition_A(sA));
  Tensor tCrB = part.make_fragment_B(part.partition_B(sB));
  Tensor sum = partition_fragment_C(mma, make_shape(Int<128>{}, Int<128>{}));
  clear(sum);
"""
RING = (
    HEAD.replace("BARRIERS", "  uint64_t full[size<2>(LayoutA{})];\n  cutlass::arch::ClusterBarrier empty[4];")
    + FRAGMENTS.replace("THREAD", "threadIdx.x")
    + """
  using Full = cutlass::arch::ClusterTransactionBarrier;
  bool leads = threadIdx.x < 32 && elect_one_sync();
  if (leads)
    for (int i = 0; i < stages; ++i) { Full::init(&s.full[i], 1); s.empty[i].init(256); }
  cutlass::arch::fence_barrier_init();
  __syncthreads();
  auto fill = cutlass::make_producer_start_state<cutlass::PipelineState<stages>>();
  cutlass::PipelineState<stages> read;
  int next = 0;
  for (int k = 0; k < tiles; ++k) {
    while (leads && next < tiles && next < k + stages - 1) {
      s.empty[fill.index()].wait(fill.phase());
      Full::arrive_and_expect_tx(&s.full[fill.index()], bytes);
      copy(tma_a.with(s.full[fill.index()]), tAgA(_, next), tAsA(_, fill.index()));
      copy(tma_b.with(s.full[fill.index()]), tBgB(_, next), tBsB(_, fill.index()));
      ++fill;
      ++next;
    }
    Full::wait(&s.full[read.index()], read.phase());
"""
    + MULTIPLY.replace("STAGE", "read.index()")
    + """
    s.empty[read.index()].arrive();
    ++read;
  }
}
"""
    + HOST.replace("THREADS", "256")
)
PIPELINE = (
    HEAD.replace("BARRIERS", "  typename cutlass::PipelineTmaAsync<4>::SharedStorage pipeline;")
    + """
  using Pipeline = cutlass::PipelineTmaAsync<stages>;
  int group = cutlass::canonical_warp_group_idx();
  typename Pipeline::Params params;
  params.transaction_bytes = bytes;
  params.role = group == 0 ? Pipeline::ThreadCategory::Producer : Pipeline::ThreadCategory::Consumer;
  params.is_leader = threadIdx.x == 0;
  params.num_consumers = 256;
  Pipeline pipeline(s.pipeline, params, Shape<_1, _1, _1>{});
  __syncthreads();
  if (group == 0) {
    if (threadIdx.x == 0) {
      auto fill = cutlass::make_producer_start_state<Pipeline>();
      for (int k = 0; k < tiles; ++k, ++fill) {
        pipeline.producer_acquire(fill);
        auto* full = pipeline.producer_get_barrier(fill);
        copy(tma_a.with(*full), tAgA(_, k), tAsA(_, fill.index()));
        copy(tma_b.with(*full), tBgB(_, k), tBsB(_, fill.index()));
      }
    }
  } else {
"""
    + FRAGMENTS.replace("THREAD", "threadIdx.x - 128")
    + """
    typename Pipeline::PipelineState read;
    for (int k = 0; k < tiles; ++k) {
      pipeline.consumer_wait(read, pipeline.consumer_try_wait(read));
"""
    + MULTIPLY.replace("STAGE", "read.index()")
    + """
      pipeline.consumer_release(read);
      ++read;
    }
  }
}
"""
    + HOST.replace("THREADS", "384")
)

TENSOR = (
    HEAD.replace("BARRIERS", "  uint64_t tma, mma;")
    + FRAGMENTS.replace("THREAD", "0").replace("clear(sum)", "mma.accumulate_ = UMMA::ScaleOut::Zero")
    + """
  bool warp0 = threadIdx.x < 32, leads = elect_one_sync();
  if (warp0 && leads) {
    initialize_barrier(s.tma, 1);
    initialize_barrier(s.mma, 1);
  }
  __syncthreads();
  int tma_bit = 0, mma_bit = 0;
  for (int k = 0; k < tiles; ++k) {
    if (warp0 && leads) {
      set_barrier_transaction_bytes(s.tma, bytes);
      copy(tma_a.with(s.tma), tAgA(_, k), tAsA(_, 0));
      copy(tma_b.with(s.tma), tBgB(_, k), tBsB(_, 0));
    }
    wait_barrier(s.tma, tma_bit);
    tma_bit ^= 1;
    if (warp0) {
      gemm(mma, tCrA(_, _, _, 0), tCrB(_, _, _, 0), sum);
      mma.accumulate_ = UMMA::ScaleOut::One;
      cutlass::arch::umma_arrive(&s.mma);
    }
    wait_barrier(s.mma, mma_bit);
    mma_bit ^= 1;
  }
}
"""
    + HOST.replace("THREADS", "128").replace(
        "SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}, Layout<Shape<_2>>{}",
        "SM100_MMA_F16BF16_SS<T, T, float, 128, 128, UMMA::Major::K, UMMA::Major::K>{}",
    )
)

COPIES = """    if (warp0 && leads) {
      set_barrier_transaction_bytes(s.tma, bytes);
      copy(tma_a.with(s.tma), tAgA(_, k), tAsA(_, 0));
      copy(tma_b.with(s.tma), tBgB(_, k), tBsB(_, 0));
    }
    wait_barrier(s.tma, tma_bit);
    tma_bit ^= 1;
"""
STORED = TENSOR.replace(
    COPIES,
    """    cooperative_copy<128>(threadIdx.x, gA(_, _, k), sA(_, _, 0));
    cooperative_copy<128>(threadIdx.x, gB(_, _, k), sB(_, _, 0));
    fence_view_async_shared();
  __syncthreads();  // stored
""",
)
