"""Variables that outlive a function hold their initialiser at its start only where nothing writes them."""

from __future__ import annotations

from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.running.static_writes import find_written_names
from tests.cases import for_each
from tests.checked import check_text
from tests.sample import take_sample


def parse_call_arguments(text: str) -> list[list[int | None]]:
    """What each call of `desc(…)` of a text is given: known values, None for unknown ones."""
    made = evaluate_text(text)
    assert made is not None
    calls = [one.term.arguments for one in made.bodiless_calls if one.term.head == "desc"]
    return [[None if (value := get_integer(one)) is None else value.known for one in given] for given in calls]


WRITTEN = [
    "void g() { n = 3; }",
    "void g() { n += 3; }",
    "void g() { n <<= 1; }",
    "void g() { ++n; }",
    "void g() { n--; }",
    "void g(int m) { if (n != m) n = m; }",
    "void g(int m) { int k = n = m; }",
    "void g() { read(&n); }",
    "void g() { for (n = 0; n < 3; n++) {} }",
    "void g(bool b) { if (b) {} else n = 1; }",
    "void g() { ::n = 3; }",
    'void g() { asm("ld.u32 %0, [0];" : "=r"(n)); }',
    'void g() { asm("ld.u32 %0, [0];" : "=r" (n)); }',
    "void g(int m) { cudaMemcpyToSymbol(n, &m, 4); }",
    "struct S { void g() { n = 3; } };",
    "void g() { x = 1, n = 3; }",
]
KEPT = [
    "",
    "void g() { int m = n; }",
    "void g() { use(n); }",
    "void g() { if (n == 3) {} }",
    "void g() { s.n = 3; }",
    "void g() { p->n = 3; }",
    "// n = 3\nvoid g() {}",
    "/* n = 3, ++n */ void g() {}",
    'void g() { puts("n = 3; n++"); }',
    "void g() { int m = 5 & n; }",
    "void g(int n = 3) {}",
    "void g() { a[n] = 3; }",
    "void g() { if (n <= 3) {} }",
    "int m = 3, n2 = 4;",
    "void g() { f(n); }",
    "void g() { n2 = 3; }",
]


@for_each("other", WRITTEN)
@for_each("kind", ["int n = 7;", "static int n = 7;", "__device__ int n = 7;", "int m = 1, n = 7;"])
def test_a_global_that_is_written_somewhere_is_unknown_in_a_function(kind: str, other: str) -> None:
    assert parse_call_arguments(f"{kind} {other} void k() {{ desc(n); }}") == [[None]]
    assert parse_call_arguments(f"{other} {kind} void k() {{ desc(n); }}") == [[None]]


@for_each("other", KEPT)
@for_each("kind", ["int n = 7;", "static int n = 7;", "int m = 1, n = 7, o = 2;", "inline int n{7};"])
def test_a_global_that_nothing_writes_keeps_its_initialiser(kind: str, other: str) -> None:
    assert parse_call_arguments(f"{kind} {other} void k() {{ desc(n); }}") == [[7]]


@for_each("kind", ["constexpr int", "const int", "static const int", "static constexpr int"])
def test_a_constant_is_known_though_a_local_variable_of_its_name_is_written(kind: str) -> None:
    assert parse_call_arguments(f"{kind} n = 7; void g() {{ int n = 0; n = 3; }} void k() {{ desc(n); }}") == [[7]]
    assert parse_call_arguments(f"void g() {{ int n = 0; n = 3; }} void k() {{ {kind} n = 7; desc(n); }}") == [[7]]


def test_a_pointer_to_const_is_no_constant() -> None:
    text = "const char* n = nullptr; void g(char* m) { n = m; } void k() { if (!n) desc(1); else desc(2); }"
    assert parse_call_arguments(text) == [[1], [2]]


def test_a_static_local_that_its_function_writes_is_unknown_at_its_start() -> None:
    assert parse_call_arguments("void k(int m) { static int n = 0; desc(n); n = 3; desc(n); }") == [[None], [3]]
    assert parse_call_arguments("void k(int m) { static int n = 7; desc(n); }") == [[7]]
    assert parse_call_arguments(
        "void k() { static bool first = true; if (first) { desc(1); first = false; } else desc(2); }"
    ) == [
        [1],
        [2],
    ]


def test_members_and_items_of_globals() -> None:
    text = """struct S { int a, b; float c; }; S s = {1, 2}; int t[2] = {3, 4}; S kept = {5, 6};
      void g() { s.a = 9; t[0] = 9; } void k() { desc(s.a, t[1], kept.b); }"""
    assert parse_call_arguments(text) == [[None, None, 6]]


def test_static_members() -> None:
    text = """struct S {
      inline static int a = 1; static constexpr int b = 2; static const int c = 3; inline static int d = 4; };"""
    assert parse_call_arguments(text + "void g() { S::a = 9; } void k() { desc(S::a, S::b, S::c, S::d); }") == [
        [None, 2, 3, 4]
    ]


@for_each(
    "test", ["!p", "p == nullptr", "p == 0", "nullptr == p", "p != q", "not p", "p == NULL", "!p || n != m", "n != m"]
)
def test_what_fills_a_cache_is_run_and_its_facts_stay(test: str) -> None:
    text = f"""struct S {{ int a; float f; }}; S* p = nullptr; int n = 0;
      template <int N> S* make() {{ desc(N); S* s = new S; return s; }}
      void k(int m, S* q) {{ if ({test}) {{ p = make<64>(); n = m; }} desc(n); }}"""
    assert parse_call_arguments(text) == [[64], [None]]


def test_a_pointer_of_which_nothing_is_known_may_be_null() -> None:
    assert parse_call_arguments("void k(float* bias) { if (bias) desc(1); else desc(2); }") == [[1], [2]]
    assert parse_call_arguments("void k() { int x[4]; if (x) desc(1); else desc(2); }") == [[1]]
    assert parse_call_arguments("void k() { float* x = nullptr; if (x) desc(1); else desc(2); }") == [[2]]


def test_a_kernel_that_a_condition_chooses_is_run_both_ways() -> None:
    text = """template <int BM, bool debug> void gemm(int n) { desc(BM, debug, n); }
      void k(int* log) { auto kernel = log ? gemm<128, true> : gemm<128, false>; kernel<<<1, 128>>>(9); }"""
    assert parse_call_arguments(text) == [[128, 1, 9], [128, 0, 9]]


def test_written_names_of_declarations_are_none() -> None:
    assert (
        find_written_names("int a = 1, b{2}, c(3); const int d = 4, e = 5; void f(int g = 6, int h = 7) { int i = 8; }")
        == frozenset()
    )


KERNEL = """
#include <cuda.h>
typedef __nv_bfloat16 bf16;
__device__ uint64_t encode(uint64_t x) { return (x & 0x3FFFF) >> 4; }
__device__ uint64_t descriptor(bf16* p) {
  uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  return encode(at) | encode(16) << 16 | encode(1024) << 32 | 1ull << 62;
}
template <int ROWS, int COLUMNS> CUtensorMap* create_map(bf16* from, int rows, int columns) {
  CUtensorMap map, *on_device;
  uint64_t shape[2] = {(uint64_t)columns, (uint64_t)rows}, stride[1] = {columns * sizeof(bf16)};
  uint32_t box[2] = {COLUMNS, ROWS}, steps[2] = {1, 1};
  cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, from, shape, stride, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, SWIZZLE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cudaMalloc(&on_device, sizeof(map)); cudaMemcpy(on_device, &map, sizeof(map), cudaMemcpyHostToDevice);
  return on_device;
}
template <int BM, int BN, int BK> __global__ void kernel(const CUtensorMap* map_a, const CUtensorMap* map_b) {
  __shared__ alignas(1024) bf16 sA[BM * BK];
  __shared__ alignas(1024) bf16 sB[BN * BK];
  float d[32];
  for (int k = 0; k < BK / 16; ++k) {
    uint64_t desc_a = descriptor(&sA[k * 16]), desc_b = descriptor(&sB[k * 16]);
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10,"
      " %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31},"
      " %32, %33, 1, 1, 1, 0, 0;"
      : FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28) : "l"(desc_a), "l"(desc_b));
  }
}
"""
FOUR = '#define FOUR(n) "+f"(d[n]), "+f"(d[n + 1]), "+f"(d[n + 2]), "+f"(d[n + 3])'
CACHES = [
    "CUtensorMap *a = 0, *b = 0; void run(bf16* x, bf16* y, int m, int n, int k) { if (!a) { FILL } LAUNCH }",
    "CUtensorMap *a = nullptr; CUtensorMap* b = nullptr; int last = 0;"
    " void run(bf16* x, bf16* y, int m, int n, int k) { if (last != m) { FILL last = m; } LAUNCH }",
    "void run(bf16* x, bf16* y, int m, int n, int k) { static CUtensorMap *a = nullptr, *b = nullptr;"
    " if (a == nullptr) { FILL } LAUNCH }",
    "CUtensorMap *a, *b; static bool ready = false;"
    " void run(bf16* x, bf16* y, int m, int n, int k) { if (!ready) { FILL ready = true; } LAUNCH }",
    "struct Cache { CUtensorMap *a = nullptr, *b = nullptr; }; Cache cache;"
    " void run(bf16* x, bf16* y, int m, int n, int k) { if (!cache.a) { cache.a = create_map<64, 64>(x, m, k);"
    " cache.b = create_map<64, 64>(y, n, k); } kernel<64, 64, 64><<<1, 128>>>(cache.a, cache.b); }",
]
FILL = "a = create_map<64, 64>(x, m, k); b = create_map<64, 64>(y, n, k);"
LAUNCH = "kernel<64, 64, 64><<<1, 128>>>(a, b);"


@for_each(
    ("host", "swizzle"),
    [*((host, "128B") for host in CACHES), *((host, "64B") for host in take_sample(CACHES, 2))],
    sample=2,
)
def test_maps_that_are_made_once_are_verified(host: str, swizzle: str) -> None:
    """Four steps of A and of B; with the map's swizzle of 64B every one of them reads other bytes."""
    text = f"{FOUR}{KERNEL}{host}".replace("SWIZZLE,", f"CU_TENSOR_MAP_SWIZZLE_{swizzle},")
    found = check_text(text.replace("FILL", FILL).replace("LAUNCH", LAUNCH))
    if swizzle == "128B":
        assert (found.steps, found.findings, found.open) == (8, (), ())
    else:
        assert found.findings
