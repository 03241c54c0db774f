"""What code says in ways that tile libraries and generated kernels have: aliases named as their template, CuTe's
functions of tuples, descriptors that an asm statement builds, a kernel after one with hundreds of asm statements.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from lanescope.reader.code.calling.launches import OPEN
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.objects import pointers
from lanescope.reader.code.ptx.asm_statements import list_products
from lanescope.reader.code.ptx.ptx_evaluation import AsmOperand, evaluate_outputs
from lanescope.reader.code.ptx.ptx_opcodes import get_integer_type
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free, make_symbol
from lanescope.reader.code.syntax import cxx, tree
from lanescope.reader.code.syntax.source import make_plain_source
from lanescope.reader.code.values import Pointer
from tests.cases import for_each
from tests.checked import check_text, check_whole
from tests.found_in_code import find_builders

TRAITS = """template <int M> struct Storage { static constexpr int kM = M; };
template <int M> struct Traits { using Storage = Storage<M>; static constexpr int kSbo = Storage::kM; };
template <class T> __global__ void kernel(uint32_t x) {
  uint64_t desc = (x & 0x3ffff) >> 4 | (uint64_t)T::kSbo << 32 | 1ull << 62;
  use(desc);
}
template <int M> void host() {
  using Traits = Traits<M>;
  kernel<Traits><<<1, 128>>>(0);
}
int main() { host<64>(); }
"""


def test_an_alias_may_have_the_name_of_its_template() -> None:
    assert find_builders(TRAITS)[0].fields["sbo_bytes"] == 64 * 16


TILES = """template <typename T> __device__ void stage(uint32_t s, T* tiles[], uint32_t k) {
  uint32_t x = __cvta_generic_to_shared(tiles[s] + k);
  uint64_t desc = (x & 0x3ffff) >> 4 | 64ull << 32 | 1ull << 62;
  use(desc);
}
__global__ void kernel() {
  extern __shared__ __align__(1024) char tile[];
  half* tiles[2];
  for (int i = 0; i < 2; ++i) tiles[i] = (half*)tile + i * 4096;
  stage(1, tiles, 16);
}
"""


def test_a_type_is_deduced_from_an_array_of_pointers() -> None:
    assert str(find_builders(TILES)[0].start) == "tile + 8224"


@for_each(
    ("argument", "named"),
    [("alpha * 2", "float"), ("alpha + 1.0", "double"), ("n * 2u", "unsigned int"), ("unread(n)", OPEN)],
)
def test_a_launch_deduces_the_type_of_its_argument(argument: str, named: str) -> None:
    kernel = 'template <uint64_t N, typename T> __global__ void scale(T by) { asm("wgmma.fence.sync.aligned;"); }\n'
    code = evaluate_text(
        f"{kernel}void run(float alpha, int n) {{ scale<UINT64_C(1) << 46><<<1, 128>>>({argument}); }}"
    )
    assert code is not None
    assert [launch.templates for launch in code.launches] == [(str(1 << 46), named)]


def test_a_call_as_a_template_argument_is_no_type_of_a_function() -> None:
    (said,) = cxx.parse_cxx(make_plain_source("auto a = f(A<size<0>(tile), B<int>(C)>{});"))
    assert isinstance(said, tree.Declaration) and isinstance(said.value, tree.Call)
    made: Any = said.value.arguments[0]
    inner = made.type.path[0][1]
    assert [type(one) for one in inner] == [tree.Call, tree.Type]


CUTE = """#include <cute/tensor.hpp>
using namespace cute;
template <class SA, class Mma, class TA> __global__ void kernel(SA layout, Mma mma) {
  extern __shared__ char memory[];
  Tensor sA = make_tensor(make_smem_ptr((TA*)memory), layout);
  Tensor tCrA = mma.get_slice(0).make_fragment_A(sA);
}
template <class TA> void host() {
  auto tile = Shape<_128, _16, _64>{};
  auto mma = make_tiled_mma(SM100_MMA_F16BF16_SS<TA, TA, float, size<0>(tile), 16, UMMA::Major::MN,
                                                 UMMA::Major::MN>{});
  using Mma = decltype(mma);
  using ThrID = typename Mma::AtomThrID;
  auto shape = partition_shape_A(mma, make_shape(size<0>(tile), size<2>(tile)));
  using Rows = decltype(shape_div(shape<0>(tile), shape_div(shape<0>(tile), size<0>(tile) / size(ThrID{}))));
  using Atom = decltype(cutlass::gemm::collective::detail::sm100_smem_selector<
      UMMA::Major::MN, TA, Rows, decltype(get<2>(tile))>());
  auto layout = UMMA::tile_to_mma_shape(Atom{}, append(shape, Int<ceil_div(5, 2)>{}));
  kernel<decltype(layout), decltype(mma), TA><<<1, 128>>>(layout, mma);
}
int main() { host<cutlass::half_t>(); }
"""


def test_functions_of_cute_on_tuples_are_evaluated() -> None:
    report = check_text(CUTE)
    assert (report.findings, report.steps) == ((), 12)  # 64 / 16 K steps in each of ceil(5 / 2) stages
    assert check_text(CUTE.replace("size<0>(tile) / size(ThrID{})", "size<0>(tile) / unknown")).steps == 0


ASM = (
    "{ .reg .b64 d; .reg .b32 lo, hi; mov.b32 lo, %1; mov.b32 hi, 0x40004040; mov.b64 d, {lo, hi};"
    " tcgen05.mma.cta_group::1.kind::f16 [%0], [%2], d, %3, p; add.u32 lo, lo, 2; mov.b64 d, {lo, hi};"
    " tcgen05.mma.cta_group::1.kind::f16 [%0], [%2 + 8], d, %3, p; }"
)


def test_every_product_of_an_asm_statement_has_its_own_descriptor() -> None:
    operands = [AsmOperand("r", "", SymbolicInt(value)) for value in (0, 64, 0, 5)]
    first, second = list_products(ASM, operands)
    assert first.text == '"tcgen05.mma.cta_group::1.kind::f16 [%0], [%2], %4, %3, p;"'
    assert [hex(one.values[0][1].known) for one in (first, second)] == ["0x4000404000000040", "0x4000404000000042"]
    assert not list(list_products("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;", operands))


@for_each(("of", "known"), [("blockIdx.x", True), ("threadIdx.x / 32", True), ("threadIdx.x", False), ("lane", False)])
def test_a_shuffle_of_what_a_warp_agrees_on_changes_nothing(of: str, known: bool) -> None:
    made = evaluate_outputs(
        "shfl.sync.idx.b32 %0, %1, 0, 0x1f, 0xffffffff;",
        [AsmOperand("=r"), AsmOperand("r", "", make_free(of, get_integer_type(32)))],
    )
    assert (made[0] is not None) == known


LONG = """__global__ void first(uint32_t x) {
  for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) for (int k = 0; k < 8; ++k)
    asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(y) : "r"(i + j + k));
}
__global__ void second(uint32_t a, uint32_t b) {
  uint64_t da = (a & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
  uint64_t db = (b & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0}, %1, %2, 1, 1, 1, 0, 0;"
      : "+f"(x) : "l"(da), "l"(db));
}
void host() { first<<<1, 32>>>(0); second<<<1, 128>>>(0, 0); }
"""


def test_a_kernel_with_many_asm_statements_leaves_room_for_the_next() -> None:
    assert all(one.readers for one in check_text(LONG).checked)


NAMED = """__device__ uint64_t make(const void* p) {
  // LBO is 16 (the next K core matrix), SBO
  // is SBO=1024 (the next 8 rows)
  constexpr uint64_t A_LBO = 16;
  constexpr uint64_t A_SBO = 1024;
  uint64_t a = __cvta_generic_to_shared(p);
  return (a & 0x3ffff) >> 4 | (A_LBO >> 4) << 16 | (A_SBO >> 4) << 32 | 1ull << 62;
}
"""


def test_a_constant_with_a_prefix_says_which_stride_it_is() -> None:
    assert check_text(NAMED).doubts == ()
    assert [one.code for one in check_text(NAMED.replace("A_LBO", "A_STRIDE")).doubts] == ["comment_contradicts"]


@for_each(
    "loop",
    [
        "for (auto& p : pointers) allocate(&p, 1024);",
        "for (int i = 0; i < 4; ++i) allocate(&pointers[i], 1024);",
        "for (auto& p : pointers) { allocate(&p, 1024); *p = 3; }",
    ],
)
def test_allocating_an_array_of_pointers_ends(loop: str) -> None:
    """What the function may write to one of them may be another: it is forgotten once, and the rest is evaluated."""
    text = f"""int main() {{
  half* pointers[4];
  {loop}
  uint64_t desc = (x & 0x3ffff) >> 4 | (uint64_t)64 << 32 | 1ull << 62;
  use(desc);
}}
"""
    assert evaluate_text(text).unfinished == ()
    assert find_builders(text)[0].fields["sbo_bytes"] == 64 * 16


def test_a_selector_of_an_open_major_is_not_followed() -> None:
    """FlashInfer's GEMM for small batches takes the major from a template argument."""
    made = check_whole(
        """#include <cute/tensor.hpp>
using namespace cute;
struct Tiles { static constexpr auto atom = sm100_smem_selector<kMajor, half_t, Int<128>, Int<64>>(); };
__global__ void __launch_bounds__(32) k(half_t const* a, float* c) {
  __shared__ half_t s[128 * 64];
  auto t = make_tensor(make_smem_ptr(s), tile_to_shape(Tiles::atom, make_shape(Int<128>{}, Int<64>{})));
  uint32_t r[4];
  float d[4] = {};
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]),
    "=r"(r[3]) : "r"(cast_smem_ptr_to_uint(&t(threadIdx.x % 16, 0))));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]),
      "r"(r[0]), "r"(r[1]));
  c[threadIdx.x] = d[0];
}
"""
    )
    assert not made.findings and len(made.kernels) == 1


@for_each(("low", "high"), [("desc_lo", "desc_hi"), ("descLo", "descHi"), ("DESC_LOW", "DESC_HIGH")])
def test_the_two_words_of_a_descriptor_are_no_descriptors(low: str, high: str) -> None:
    """CuTe DSL's helpers put the 64 bits together in the text of an asm statement; Python's integers have no width."""
    text = f"""
desc_base = ((start & 0x3FFFF) >> 4) | ((lbo & 0x3FFF) << 16) | ((1024 >> 4) << 32) | (1 << 46) | (2 << 61)
{low}, {high} = desc_base & 0xFFFFFFFF, (desc_base >> 32) & 0xFFFFFFFF
desc_a = {low} | ({high} << 32)
"""
    assert [found.name for found in evaluate_text(text).descriptors] == ["desc_base", "desc_a"]


def test_a_place_that_escapes_while_others_are_forgotten_is_kept() -> None:
    ev: Any = SimpleNamespace(python=True, escaped_places={1: "one"})
    ev.forget_place = lambda place, integers: ev.escaped_places.setdefault(2, "another")
    pointers._forget_aliases(ev, Pointer(make_symbol("p"), None))
    assert ev.escaped_places == {1: "one", 2: "another"}
