"""Values of device code that are made of the bytes of others, as in unions, mov.b64 and memcpy."""

from __future__ import annotations

from hypothesis import given, strategies as st

from lanescope.reader.threads.language.number_bytes import cut_number, join_numbers
from lanescope.reader.threads.language.numbers import ULONG, make_number
from lanescope.reader.threads.memory.storage import LocalMemory
from tests.cases import for_each
from tests.checked import check_whole, run_blocks
from tests.test_check_origins import KERNEL as BOXED
from tests.test_last_tiles import KERNEL as TAILED
from tests.transfer_kernels import plant


def read_number(memory: LocalMemory, offset: int, size: int) -> int | None:
    value = memory.read_value(offset, size)
    return None if value is None else value.known


PLACES = [(0, 8), (0, 4), (4, 4), (2, 2), (7, 1)]  # offset, bytes


@given(st.binary(min_size=8, max_size=8), st.lists(st.sampled_from(PLACES), max_size=6))
def test_a_variable_has_the_bytes_that_were_stored_last(first: bytes, stores: list[tuple[int, int]]) -> None:
    """As a CPU with little-endian words."""
    memory, truth = LocalMemory(), bytearray(first)
    memory.write_value(0, 8, make_number(int.from_bytes(first, "little"), ULONG), None)
    for n, (offset, size) in enumerate(stores):
        truth[offset : offset + size] = bytes([n + 1]) * size
        number = int.from_bytes(truth[offset : offset + size], "little")
        memory.write_value(offset, size, make_number(number, ULONG), None)
    for size in (1, 2, 4, 8):
        for offset in range(0, 8, size):
            expected = int.from_bytes(truth[offset : offset + size], "little")
            assert read_number(memory, offset, size) == expected


def test_bytes_that_nothing_stored_are_not_known() -> None:
    memory = LocalMemory()
    memory.write_value(0, 4, make_number(7), None)
    assert memory.read_value(0, 8) is None and memory.read_value(4, 4) is None
    memory.write_value(2, 2, None, None)
    assert memory.read_value(0, 4) is None and read_number(memory, 0, 2) == 7


def test_bytes_have_no_sign() -> None:
    low = cut_number(make_number(-2), 4, 0, 4)
    assert low is not None and low.known == 0xFFFFFFFE
    whole = join_numbers([(low, 4), (make_number(1), 4)])
    assert whole is not None and whole.known == 0x1FFFFFFFE and join_numbers([(low, 4), (low, 2)]) is None


BUILDER = BOXED[BOXED.index("__device__ uint64_t make_smem_desc") : BOXED.index("__device__ void warpgroup_arrive")]
HEAD = "__device__ uint64_t make_smem_desc(const bf16* p) {\n  uint32_t at = shared_address(p) >> 4;\n"
FIELDS = "struct Word { uint64_t start : 14, : 2, lbo : 14, : 2, sbo : 14, : 16, mode : 2; };\n"
WORDS = {
    "mov.b64": HEAD + '  uint64_t d;\n  asm("mov.b64 %0, {%1, %2};" : "=l"(d) : "r"(at | 1u << 16), "r"(0x40000040));',
    "components": HEAD
    + "  uint2 w;\n  w.x = at | 1u << 16;\n  w.y = 64u | 1u << 30;\n"
    + '  uint64_t d;\n  asm("mov.b64 %0, {%1, %2};" : "=l"(d) : "r"(w.x), "r"(w.y));',
    "a reference": "struct Word { uint32_t lo, hi; };\n"
    + HEAD
    + "  Word w;\n  w.lo = at | 1u << 16;\n  w.hi = 64u | 1u << 30;\n  uint64_t d = reinterpret_cast<uint64_t&>(w);",
    "memcpy": FIELDS
    + HEAD
    + "  Word w = {};\n  w.start = at; w.lbo = 1; w.sbo = 64; w.mode = 1;\n"
    + "  uint64_t d;\n  memcpy(&d, &w, sizeof(d));",
}


@for_each("words", WORDS.values(), ids=WORDS, sample=1)
def test_a_descriptor_may_be_made_of_two_words(words: str) -> None:
    assert not run_blocks(plant((BUILDER, f"{words}\n  return d;\n}}\n"), text=BOXED)).open


LOOP = "for (int k = 0; k < BK / 16; ++k)\n      multiply<1>(d, make_smem_desc(sA + slot * BM * BK + k * 16)"
UNROLLED = """template <int I, int End, class F> __device__ void unroll(F&& f) {
  if constexpr (I < End) { f(std::integral_constant<int, I>{}); unroll<I + 1, End>(f); }
}
__global__ void __launch_bounds__(128) gemm"""


@for_each(
    "changes",
    [
        (
            (
                "gemm<<<M / BM * (N / BN), 128,",
                "dim3 grid{unsigned(M / BM * (N / BN)), 1}, block{128};\n  gemm<<<grid, block,",
            ),
        ),
        (("int tiles = N / BN,", "unsigned tiles = unsigned(N) / BN; int"),),
        (
            (
                "bf16* C, int M, int N, int K) {\n  extern",
                "const Params p) {\n  bf16* C = p.out;\n  int N = p.n, K = p.k;\n  extern",
            ),
            ("__global__ void __launch", "struct Params { bf16* out; int m, n, k; };\n__global__ void __launch"),
            ("map_b, C, M, N, K);", "map_b, {C, M, N, K});"),
        ),
        (
            ("__global__ void __launch_bounds__(128) gemm", UNROLLED),
            (LOOP, LOOP.replace("for (int k = 0; k < BK / 16; ++k)", "unroll<0, BK / 16>([&](auto k) {")),
            ("slot * BN * BK + k * 16));", "slot * BN * BK + k * 16)); });"),
        ),
    ],
    ids=["sizes of a grid in braces", "unsigned(N)", "a launch with a braced argument", "std::integral_constant"],
    sample=1,
)
def test_what_modern_code_writes_is_followed(changes: tuple[tuple[str, str], ...]) -> None:
    assert not run_blocks(plant(*changes, text=BOXED)).open


@for_each(
    ("before", "condition"),
    [
        ("union { int i; short s[2]; } u; u.i = -2;", "u.s[0] == -2 && u.s[1] == -1"),
        ("int i = -2; short s[2]; memcpy(s, &i, 4);", "s[0] == -2"),
        ("union { unsigned i; int s; } u; u.i = 0xFFFFFFFEu;", "u.s < 0"),
        ("unsigned i = 0x80000000u; long long s = (int&)i;", "s < 0"),
        ("int i = -2; const int8_t* p = (const int8_t*)&i;", "p[0] == -2 && p[3] == -1"),
    ],
    sample=2,
)
def test_bytes_are_read_with_the_sign_of_their_type(before: str, condition: str) -> None:
    """The loop over K begins with its first slice only if the condition is met, as in C++."""
    text = plant(("  for (int k = t * 2;", f"  {before}\n  for (int k = t * 2 + ({condition} ? 0 : 16);"), text=TAILED)
    report = check_whole(text)
    assert (report.findings, report.open) == ((), ())


ROLES = "enum class Role : uint8_t { Other = 4, First = Other + 1 };\nenum class Step { First, Other };\n"


@for_each(
    ("text", "place"),
    [
        (f"{ROLES}__global__ void __launch", "static_cast<Role>(threadIdx.x == 0 ? 5 : 4)"),
        (f"{ROLES}__global__ void __launch", "threadIdx.x ? Role::Other : Role::First"),
        ("enum Role { Other, First };\n__global__ void __launch", "threadIdx.x ? Other : First"),
        ("__global__ void __launch", "threadIdx.x ? Role::Other : Role::First"),
    ],
    sample=1,
)
def test_threads_may_have_roles_of_an_enumeration(text: str, place: str) -> None:
    """A member belongs to its own enumeration, also if another one has the same name for another number."""
    local = "" if "enum" in text else "  enum class Role { Other, First };\n"
    changes = (
        ("__global__ void __launch", text),
        ("  float d[64] = {};", f"{local}  const Role role = {place};\n  float d[64] = {{}};"),
        ("    if (threadIdx.x == 0) {\n      expect", "    if (role == Role::First) {\n      expect"),
    )
    assert not run_blocks(plant(*changes, text=BOXED)).open


@for_each("words", ["uint64_t{1}", "uint64_t{} + uint64_t{1u}"], sample=1)
def test_a_number_in_braces_has_the_type_before_them(words: str) -> None:
    """An int has no bit 62."""
    assert not run_blocks(plant(("1ull << 62", f"({words}) << 62"), text=BOXED)).open


DESCRIPTORS_IN_STEPS = (
    "for (int k = 0; k < BK / 16; ++k)\n      multiply<1>(d, make_smem_desc(sA + slot * BM * BK + k * 16),"
    " make_smem_desc(sB + slot * BN * BK + k * 16));",
    "uint64_t x = make_smem_desc(sA + slot * BM * BK), y = make_smem_desc(sB + slot * BN * BK);\n"
    "    for (int k = 0; k < BK / 16; ++k, x += 2, y += 2) multiply<1>(d, x, y);",
)
SPARE = "__device__ uint64_t spare(uint64_t x) { return encode(x) | encode(512) << 32 | 1ull << 62; }\n"


def test_a_descriptor_that_a_right_kernel_builds_is_verified_whatever_reads_it() -> None:
    """One of a function that no kernel calls is not."""
    text = plant(DESCRIPTORS_IN_STEPS, text=BOXED)
    assert not check_whole(text).open and {one.gap for one in check_whole(text).checked} == {""}
    assert any("no instruction of the file is known" in one.message for one in check_whole(SPARE + text).open)
    stores = "__global__ void other(uint64_t* words, uint64_t at) { words[0] = spare(at); }\n"
    assert any("no instruction of the file is known" in one.message for one in check_whole(SPARE + stores + text).open)


def test_a_kernel_whose_blocks_take_tiles_in_turn_may_have_a_part_in_the_last_one() -> None:
    turns = (
        (
            "const int row = blockIdx.y * 16 + g, col = blockIdx.x * 16 +",
            "for (int i = blockIdx.x; i < 260; i += gridDim.x) {\n"
            "  const int row = i / 20 * 16 + g, col = i % 20 * 16 +",
        ),
        ("C[r * ldc + c] = d[i];\n  }\n}", "C[r * ldc + c] = d[i];\n  }\n  }\n}"),
        ("dim3(20, 13)", "132"),
    )
    assert not check_whole(plant(*turns, text=TAILED)).findings
