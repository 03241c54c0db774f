"""Kernels whose fragments CuTe loads: right ones are verified, planted mistakes are found at their line."""

from __future__ import annotations

import pytest

from lanescope.reader.threads.language.program import Scope, parse_expression
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.check import check_text as check_file
from tests.cases import for_each
from tests.checked import check_text, check_whole, locate_findings, search_cause
from tests.sample import take_rows
from tests.transfer_kernels import plant

# A is M×K, B is N×K; a ring of stages, and fragments that are loaded a step ahead
RING = r"""#include <cute/tensor.hpp>
using namespace cute;

template <class T_, int BM_, int BN_, int BK_, int kStages_>
struct Traits {
  using T = T_;
  static constexpr int BM = BM_, BN = BN_, BK = BK_;
  static constexpr int kStages = kStages_;
  using Atom = decltype(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, Int<BK>>, Stride<Int<BK>, _1>>{}));
  using LayoutA = decltype(tile_to_shape(Atom{}, make_shape(Int<BM>{}, Int<BK>{}, Int<kStages>{})));
  using LayoutB = decltype(tile_to_shape(Atom{}, make_shape(Int<BN>{}, Int<BK>{}, Int<kStages>{})));
  using Mma = decltype(make_tiled_mma(MMA_Atom<MMA_Traits<SM80_16x8x16_F32F16F16F32_TN>>{},
                                      make_layout(Shape<_2, _2, _1>{}), Tile<_32, _32, _16>{}));
  using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, T>{},
                                        Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
  using Ldsm = Copy_Atom<SM75_U32x4_LDSM_N, T>;
};

template <class Config>
__global__ void ring_gemm(const void* pa, const void* pb, float* pc, int M, int N, int K) {
  using T = typename Config::T;
  constexpr int kStages = Config::kStages;
  extern __shared__ __align__(128) uint8_t smem[];
  T* sa = reinterpret_cast<T*>(smem);
  T* sb = sa + cosize(typename Config::LayoutA{});
  Tensor mA = make_tensor(make_gmem_ptr(static_cast<const T*>(pa)), make_shape(M, K), make_stride(K, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(static_cast<const T*>(pb)), make_shape(N, K), make_stride(K, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(pc), make_shape(M, N), make_stride(N, _1{}));
  Tensor gA = local_tile(mA, Shape<Int<Config::BM>, Int<Config::BK>>{}, make_coord(blockIdx.y, _));
  Tensor gB = local_tile(mB, Shape<Int<Config::BN>, Int<Config::BK>>{}, make_coord(blockIdx.x, _));
  Tensor gC = local_tile(mC, Shape<Int<Config::BM>, Int<Config::BN>>{}, make_coord(blockIdx.y, blockIdx.x));
  Tensor sA = make_tensor(make_smem_ptr(sa), typename Config::LayoutA{});
  Tensor sB = make_tensor(make_smem_ptr(sb), typename Config::LayoutB{});

  typename Config::Load load;
  auto my_load = load.get_slice(threadIdx.x);
  Tensor tAgA = my_load.partition_S(gA);
  Tensor tAsA = my_load.partition_D(sA);
  Tensor tBgB = my_load.partition_S(gB);
  Tensor tBsB = my_load.partition_D(sB);

  typename Config::Mma mma;
  auto my_mma = mma.get_slice(threadIdx.x);
  Tensor tCrA = my_mma.partition_fragment_A(gA(_, _, 0));
  Tensor tCrB = my_mma.partition_fragment_B(gB(_, _, 0));
  Tensor tCgC = my_mma.partition_C(gC);
  Tensor tCrC = my_mma.make_fragment_C(tCgC);
  clear(tCrC);

  auto read_a = make_tiled_copy_A(typename Config::Ldsm{}, mma);
  auto my_read_a = read_a.get_slice(threadIdx.x);
  Tensor tXsA = my_read_a.partition_S(sA);
  Tensor tXrA = my_read_a.retile_D(tCrA);
  auto read_b = make_tiled_copy_B(typename Config::Ldsm{}, mma);
  auto my_read_b = read_b.get_slice(threadIdx.x);
  Tensor tXsB = my_read_b.partition_S(sB);
  Tensor tXrB = my_read_b.retile_D(tCrB);

  int next_tile = 0, slot_write = 0, slot_read = 0;
  for (int s = 0; s < kStages - 1; ++s) {
    copy(load, tAgA(_, _, _, s), tAsA(_, _, _, s));
    copy(load, tBgB(_, _, _, s), tBsB(_, _, _, s));
    cp_async_fence();
    ++next_tile;
    ++slot_write;
  }
  cp_async_wait<kStages - 2>();
  __syncthreads();
  copy(read_a, tXsA(_, _, 0, slot_read), tXrA(_, _, 0));
  copy(read_b, tXsB(_, _, 0, slot_read), tXrB(_, _, 0));

  int tiles = K / Config::BK;
  for (int tile = 0; tile < tiles; ++tile) {
    int steps = size<2>(tCrA);
    CUTE_UNROLL
    for (int k = 0; k < steps; ++k) {
      int k_next = (k + 1) % steps;
      if (k == steps - 1) {
        cp_async_wait<kStages - 2>();
        __syncthreads();
        slot_read = (slot_read + 1) % kStages;
      }
      copy(read_a, tXsA(_, _, k_next, slot_read), tXrA(_, _, k_next));
      copy(read_b, tXsB(_, _, k_next, slot_read), tXrB(_, _, k_next));
      if (k == 0) {
        if (next_tile < tiles) {
          copy(load, tAgA(_, _, _, next_tile), tAsA(_, _, _, slot_write));
          copy(load, tBgB(_, _, _, next_tile), tBsB(_, _, _, slot_write));
          ++next_tile;
          slot_write = (slot_write + 1) % kStages;
        }
        cp_async_fence();
      }
      gemm(mma, tCrC, tCrA(_, _, k), tCrB(_, _, k), tCrC);
    }
  }
  copy(tCrC, tCgC);
}

void run(const void* a, const void* b, float* c, int M, int N, int K) {
  using Config = Traits<half_t, 64, 64, 32, 3>;
  dim3 block(size(typename Config::Mma{}));
  ring_gemm<Config><<<dim3(N / 64, M / 64), block, 3 * 2 * 64 * 32 * 2>>>(a, b, c, M, N, K);
}
"""
# B is K×N with N contiguous: its fragments are transposed by ldmatrix; every type is an argument of the kernel
TURNED = r"""#include <cute/tensor.hpp>
template <class TA, class TB, class SA, class SB>
struct Storage {
  cute::ArrayEngine<TA, cute::cosize_v<SA>> A;
  cute::ArrayEngine<TB, cute::cosize_v<SB>> B;
};

template <class Problem, class Tiler, class T, class LayoutA, class LoadA, class LayoutB, class LoadB, class Mma>
__global__ static __launch_bounds__(decltype(size(Mma{}))::value)
void turned_gemm(Problem problem, Tiler tiler, T const* A, LayoutA layout_a, LoadA load_a, T const* B, LayoutB layout_b,
                 LoadB load_b, float* C, Mma mma) {
  using namespace cute;
  Tensor mA = make_tensor(make_gmem_ptr(A), select<0, 2>(problem), make_stride(get<2>(problem), Int<1>{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), select<1, 2>(problem), make_stride(Int<1>{}, get<1>(problem)));
  Tensor mC = make_tensor(make_gmem_ptr(C), select<0, 1>(problem), make_stride(get<1>(problem), Int<1>{}));
  auto where = make_coord(blockIdx.x, blockIdx.y, _);
  Tensor gA = local_tile(mA, tiler, where, Step<_1, X, _1>{});
  Tensor gB = local_tile(mB, tiler, where, Step<X, _1, _1>{});
  Tensor gC = local_tile(mC, tiler, where, Step<_1, _1, X>{});
  extern __shared__ char bytes[];
  using Shared = Storage<T, T, LayoutA, LayoutB>;
  Shared& shared = *reinterpret_cast<Shared*>(bytes);
  Tensor sA = make_tensor(make_smem_ptr(shared.A.begin()), layout_a);
  Tensor sB = make_tensor(make_smem_ptr(shared.B.begin()), layout_b);
  ThrCopy thread_a = load_a.get_slice(threadIdx.x);
  ThrCopy thread_b = load_b.get_slice(threadIdx.x);
  Tensor from_a = thread_a.partition_S(gA);
  Tensor to_a = thread_a.partition_D(sA);
  Tensor from_b = thread_b.partition_S(gB);
  Tensor to_b = thread_b.partition_D(sB);
  ThrMMA thread = mma.get_slice(threadIdx.x);
  Tensor out = thread.partition_C(gC);
  Tensor ra = thread.partition_fragment_A(sA);
  Tensor rb = thread.partition_fragment_B(sB);
  Tensor acc = thread.make_fragment_C(out);
  clear(acc);
  auto ldsm_a = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, T>{}, mma);
  auto ldsm_b = make_tiled_copy_B(Copy_Atom<SM75_U16x8_LDSM_T, T>{}, mma);
  auto slice_a = ldsm_a.get_slice(threadIdx.x);
  auto slice_b = ldsm_b.get_slice(threadIdx.x);
  Tensor read_a = slice_a.partition_S(sA);
  Tensor view_a = slice_a.retile_D(ra);
  Tensor read_b = slice_b.partition_S(sB);
  Tensor view_b = slice_b.retile_D(rb);
  for (int tile = 0; tile < size<3>(from_a); ++tile) {
    copy(load_a, from_a(_, _, _, tile), to_a);
    copy(load_b, from_b(_, _, _, tile), to_b);
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    copy(ldsm_a, read_a, view_a);
    copy(ldsm_b, read_b, view_b);
    gemm(mma, ra, rb, acc);
    __syncthreads();
  }
  axpby(1.0f, acc, 0.0f, out);
}

void run(cute::bfloat16_t const* A, cute::bfloat16_t const* B, float* C, int m, int n, int k) {
  using namespace cute;
  using T = bfloat16_t;
  auto problem = make_shape(m, n, k);
  auto bM = Int<128>{};
  auto bN = Int<64>{};
  auto bK = Int<64>{};
  auto tiler = make_shape(bM, bN, bK);
  auto atom_a = composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  auto atom_b = composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _8>, Stride<_1, _64>>{});
  auto layout_a = tile_to_shape(atom_a, make_shape(bM, bK));
  auto layout_b = tile_to_shape(atom_b, make_shape(bN, bK));
  TiledCopy load_a = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, T>{},
                                     Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  TiledCopy load_b = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, T>{},
                                     Layout<Shape<_8, _16>, Stride<_1, _8>>{}, Layout<Shape<_8, _1>>{});
  TiledMMA mma = make_tiled_mma(SM80_16x8x16_F32BF16BF16F32_TN{}, Layout<Shape<_4, _1>>{}, Tile<_64, _16, _16>{});
  auto kernel = turned_gemm<decltype(problem), decltype(tiler), T, decltype(layout_a), decltype(load_a),
                            decltype(layout_b), decltype(load_b), decltype(mma)>;
  kernel<<<dim3(size(ceil_div(m, bM)), size(ceil_div(n, bN))), dim3(size(mma)), 49152>>>(
      problem, tiler, A, layout_a, load_a, B, layout_b, load_b, C, mma);
}
"""


# The copies of a whole K of 32 have one part along K, which every index of a mode of stride 0 is.
WHOLE_K = RING.replace("Tile<_32, _32, _16>", "Tile<_32, _32, _32>")

# The last step of a tile is after the loop, behind the wait for the next one.
STEPS = RING[RING.index("      int k_next =") : RING.index("      if (k == 0) {")]
FILL = RING[RING.index("      if (k == 0) {") : RING.index("      gemm(mma, tCrC, tCrA")]
AHEAD = plant(
    ("k < steps; ++k", "k < steps - 1; ++k"),
    (FILL, ""),
    (
        STEPS,
        "      copy(read_a, tXsA(_, _, k + 1, slot_read), tXrA(_, _, k + 1));\n"
        "      copy(read_b, tXsB(_, _, k + 1, slot_read), tXrB(_, _, k + 1));\n",
    ),
    ("    CUTE_UNROLL\n", FILL.replace("if (k == 0) ", "") + "    CUTE_UNROLL\n"),
    (
        "tCrB(_, _, k), tCrC);\n    }\n",
        "tCrB(_, _, k), tCrC);\n    }\n    cp_async_wait<kStages - 2>();\n    __syncthreads();\n"
        "    slot_read = (slot_read + 1) % kStages;\n"
        "    copy(read_a, tXsA(_, _, 0, slot_read), tXrA(_, _, 0));\n"
        "    copy(read_b, tXsB(_, _, 0, slot_read), tXrB(_, _, 0));\n"
        "    gemm(mma, tCrC, tCrA(_, _, steps - 1), tCrB(_, _, steps - 1), tCrC);\n",
    ),
    text=RING,
)
# A comment after a macro for attributes, and a comma without the composition that its writer has left out.
SPELLED = plant(
    ("    CUTE_UNROLL\n", "    CUTE_UNROLL  // all steps\n"),
    ("decltype(composition(Swizzle", "decltype(Swizzle"),
    ("Stride<Int<BK>, _1>>{}));", "Stride<Int<BK>, _1>>{});"),
    text=RING,
)
# Only the arguments of calls, and an explicit instantiation, tell the type of the elements.
DEDUCED = plant(
    ("void run(const void* a, const void* b,", "template <class T> void run(const T* a, const T* b,"),
    ("Traits<half_t, 64", "Traits<T, 64"),
    text=RING
    + """template <class T> int launch(const T* a, float* c, int n) { run(a, a, c, n, n, n); return 0; }
template int launch<half_t>(const half_t* a, float* c, int n);
""",
)


@pytest.mark.parametrize(
    ("text", "fragments"),
    take_rows([(RING, 4), (TURNED, 2), (WHOLE_K, 2), (SPELLED, 4), (AHEAD, 6), (DEDUCED, 4)], 2),
)
def test_every_fragment_of_a_right_kernel_is_verified(text: str, fragments: int) -> None:
    made = check_text(text)
    assert (made.steps, made.findings) == (fragments, ())
    assert not any(kernel.gap for kernel in made.kernels)


WAIT = "cp_async_wait<kStages - 2>();"
# the kernel, what is right, what is planted, the code of the finding, and what stands at its place
MISTAKES = [
    (RING, "tBgB(_, _, _, next_tile)", "tAgA(_, _, _, next_tile)", "operand_array", "tAgA(_, _, _, next_tile)"),
    (
        RING,
        "make_shape(Int<BN>{}, Int<BK>{}, Int<kStages>{})",
        "make_shape(Int<BN>{}, Int<BK>{}, Int<kStages - 1>{})",
        "cute_index_over",
        "kStages - 1>",
    ),
    (
        RING,
        f"        {WAIT}",
        "        cp_async_wait<kStages - 1>();",
        "copy_wait_short",
        "1>();",
    ),
    (RING, "tBgB(_, _, _, next_tile)", "tBgB(_, _, _, tile)", "k_slice_wrong", "tile), tBsB("),
    (RING, "copy(read_a, tXsA(_, _, 0, slot_read), tXrA(_, _, 0));", "", "register_unset", "gemm(mma, tCrC"),
    (RING, "Tile<_32, _32, _16>", "Tile<_32, _16, _16>", "cute_copy_misfit", "SM75_U32x4_LDSM_N, T>;"),
]


@pytest.mark.thorough
def test_stages_that_an_argument_ends_are_not_counted() -> None:
    """The argument is 2, so the fourth stage, which the tensor does not have, is never filled."""
    text = plant(
        ("float* pc, int M, int N, int K)", "float* pc, int M, int N, int K, int prefetch)"),
        ("for (int s = 0; s < kStages - 1; ++s) {", "for (int s = 0; s < 4; ++s) {\n    if (s == prefetch) break;"),
        ("(a, b, c, M, N, K)", "(a, b, c, M, N, K, 2)"),
        text=RING,
    )
    assert check_text(text).findings == ()


@for_each(("text", "right", "wrong", "code", "place"), MISTAKES, sample=1)
def test_a_planted_mistake_is_found_at_its_place(text: str, right: str, wrong: str, code: str, place: str) -> None:
    planted = plant((right, wrong), text=text)
    found = [(one.code, planted[one.span[0] :][: len(place)]) for one in search_cause(planted).findings]
    assert (code, place) in found and {one for one, _ in found} == {code}


def test_the_type_of_a_copy_operation_is_its_width() -> None:
    run = KernelRunner("#include <cute/tensor.hpp>\nusing namespace cute;", 32, (32, 1, 1), Scope())
    for moved, element, count in (("float", "float", 1), ("uint128_t", "half_t", 8), ("uint64_t", "half_t", 4)):
        atom = f"Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<{moved}>, {element}>{{}}"
        assert run.evaluate(parse_expression(atom), run.globals).values == (count, count), atom


def test_a_swizzle_that_cute_does_not_compile_is_not_known() -> None:
    """Of 4 bits by 3: CuTe's Swizzle needs a shift of at least as many."""
    run = KernelRunner("#include <cute/tensor.hpp>\nusing namespace cute;", 32, (32, 1, 1), Scope())
    assert run.evaluate(parse_expression("Swizzle<4, 3, 3>{}"), run.globals) is None
    assert run.evaluate(parse_expression("Swizzle<3, 3, 3>{}"), run.globals) is not None


@pytest.mark.parametrize("text", ["shape<1>(make_layout(make_shape(64, K)))", "size<1>(make_shape(64, K))"])
def test_an_extent_that_is_not_known_is_a_symbol(text: str) -> None:
    run = KernelRunner("#include <cute/tensor.hpp>\nusing namespace cute;\n" + text, 32, (32, 1, 1), Scope())
    run.globals.names["K"] = None
    value = run.evaluate(parse_expression(text), run.globals)
    assert value is None or value.known is None
    compared = run.evaluate(parse_expression(f"{text} < 64"), run.globals)
    assert compared is None or compared.known is None


def test_a_pointer_that_is_not_known_is_another_one_in_another_turn() -> None:
    run = KernelRunner("#include <cute/tensor.hpp>\nusing namespace cute;", 32, (32, 1, 1), Scope())
    run.globals.names["tiles"] = None
    pointer = parse_expression("make_gmem_ptr((const half_t*)tiles)")
    arrays = []
    for turns in ([], [0], [0], [1]):
        run.turns = turns
        arrays.append(run.evaluate(pointer, run.globals).array)
    assert arrays[1] == arrays[2] and len(set(arrays)) == 3


def test_a_slice_of_a_swizzled_layout_keeps_its_offset() -> None:
    run = KernelRunner("#include <cute/tensor.hpp>\nusing namespace cute;", 32, (32, 1, 1), Scope())
    layout = "composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64,_2>,Stride<_64,_1,_512>>{})(_, _, 1)"
    assert str(run.evaluate(parse_expression(layout), run.globals)) == "Sw<3,3,3> o 512 o (8,64):(64,1)"
    index = run.evaluate(parse_expression("make_layout(make_shape(8, K), make_stride(K, _1{}))(1, 2)"), run.globals)
    assert index is None or index.known is None


@pytest.mark.thorough
def test_sizes_that_a_shape_names_are_told_apart() -> None:
    """The kernel has no parameter M, N or K, but one whose modes its launch gives by these names."""
    assert check_whole(TURNED).open == ()
    wrong = plant(
        ("select<0, 1>(problem), make_stride(get<1>", "select<0, 1>(problem), make_stride(get<0>"), text=TURNED
    )
    (open_,) = check_whole(wrong).open
    assert open_.message.startswith("D of turned_gemm is not known to be A·B")


# D is staged by stmatrix, and stored in rows of 16 bytes
STAGED = plant(
    ("SM80_16x8x16_F32F16F16F32_TN", "SM80_16x8x16_F16F16F16F16_TN"),
    ("float* pc, int M, int N, int K) {\n  using T", "half_t* pc, int M, int N, int K) {\n  using T"),
    ("float* c, int M", "half_t* c, int M"),
    (
        "  using Ldsm =",
        """  using AtomC = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
  using LayoutC = decltype(tile_to_shape(AtomC{}, make_shape(Int<BM>{}, Int<BN>{})));
  using Store = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, T>{},
                                         Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
  using Ldsm =""",
    ),
    (
        "  copy(tCrC, tCgC);\n",
        """  __syncthreads();
  Tensor sC = make_tensor(make_smem_ptr(sa), typename Config::LayoutC{});
  auto stage = make_tiled_copy_C(Copy_Atom<SM90_U32x4_STSM_N, T>{}, mma);
  auto my_stage = stage.get_slice(threadIdx.x);
  copy(stage, my_stage.retile_S(tCrC), my_stage.partition_D(sC));
  __syncthreads();
  typename Config::Store store;
  auto my_store = store.get_slice(threadIdx.x);
  copy(store, my_store.partition_S(sC), my_store.partition_D(gC));
""",
    ),
    text=RING,
)


@pytest.mark.thorough
def test_stmatrix_is_followed() -> None:
    report = check_whole(STAGED)
    assert (report.findings, report.open) == ((), ())
    planted = plant(("  __syncthreads();\n  typename Config::Store", "  typename Config::Store"), text=STAGED)
    assert [one.code for one in check_text(planted).findings] == ["barrier_missing"]
    wrong = plant(("make_coord(blockIdx.y, blockIdx.x))", "make_coord(blockIdx.x, blockIdx.y))"), text=STAGED)
    (open_,) = check_whole(wrong).open
    assert open_.message.startswith("D of ring_gemm is not known to be A·B")


@pytest.mark.thorough
def test_a_copy_that_is_wider_than_its_tile_stores_over_the_next_block() -> None:
    """Each block's own elements are right, and the 64 columns beside them are other bytes of shared memory."""
    wide = plant(("Layout<Shape<_16, _8>, Stride<_8, _1>>", "Layout<Shape<_8, _16>, Stride<_1, _8>>"), text=STAGED)
    (open_,) = check_whole(wide).open
    assert "bytes that are no elements of D are stored over its elements" in open_.message


@pytest.mark.thorough
def test_a_kernel_that_leaves_parts_of_a_tile_unread_is_judged_by_d() -> None:
    planted = plant(("tXsA(_, _, k + 1, slot_read)", "tXsA(_, _, k, slot_read)"), text=AHEAD)
    assert locate_findings(planted, check_file(planted, search=True).findings) == [
        ("product_broken", "copy(read_a, tXsA(_, _, k, slot_read), tXrA(_, _, k + 1));")
    ]


def test_a_tensor_of_predicates_is_not_the_source_of_a_copy() -> None:
    right = "copy(load, tAgA(_, _, _, s), tAsA(_, _, _, s));"
    guarded = "copy_if(load, tAsA(_, _, 0, _), tAgA(_, _, _, s), choose(tAsA)(_, _, _, s));"
    assert not check_text(plant((right, guarded), text=RING)).findings
