"""Kernels that a run-time compiler instantiates: atoms through aliases, stages by lambdas, maps encoded elsewhere."""

from __future__ import annotations

from lanescope.app.check.defines import list_unused
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.preprocessing.supplied_values import select_names
from lanescope.workbench.check_report import CheckReport
from lanescope.workbench.copies.loaded_maps import parse_swizzle
from lanescope.workbench.source.open_kernels import find_open_parameters
from tests.cases import for_each
from tests.checked import check_text
from tests.sample import FULL

# The atom is chosen by if constexpr and comes through a template parameter; its code is CUTLASS's.
HOPPER = r"""
enum class Major { K = 0, MN = 1 };
template <int N> struct Choice {
  static constexpr auto choose() {
    if constexpr (N == 64) return MMA_64x64x16_F32BF16BF16_SS<Major::K, Major::K>();
    if constexpr (N == 128) return MMA_64x128x16_F32BF16BF16_SS<Major::K, Major::K>();
  }
  using type = decltype(choose());
};
template <typename Atom> struct Product {
  template <size_t... I>
  static __device__ void run(uint64_t a, uint64_t b, float* d, std::index_sequence<I...>) {
    Atom::fma(a, b, d[I]..., 1);
  }
};
template <typename F> struct Visitor {
  F func;
  __device__ explicit Visitor(F&& f) : func(f) {}
  __device__ auto operator[](uint32_t i) const { return func(i); }
};
template <typename T>
__device__ uint64_t make_desc(T* tile) {
  uint64_t word = (__cvta_generic_to_shared(tile) & 0x3FFFF) >> 4;
  return word | uint64_t(1024 >> 4) << 32 | 1ull << 62;
}
template <uint32_t BM, uint32_t BN, uint32_t BK, Mode kMode, typename out_t>
__global__ void __launch_bounds__(128) gemm(const __grid_constant__ CUtensorMap map_a,
                                            const __grid_constant__ CUtensorMap map_b, int blocks, out_t* out) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  constexpr uint32_t OUT = (BM * BN * sizeof(out_t) + 1023) / 1024 * 1024;
  auto a = Visitor([&](uint32_t i) { return reinterpret_cast<bf16*>(buffer + OUT + i * BM * BK * 2); });
  uint8_t* second = buffer + OUT + 2 * BM * BK * 2;
  auto b = Visitor([&](uint32_t i) { return reinterpret_cast<bf16*>(second + i * BN * BK * 2); });
  __shared__ uint64_t full[2];
  float d[BN / 2];
  for (int n = 0; n < blocks; n++) {
    SM90_TMA_LOAD_2D::copy(&map_a, &full[n % 2], 0ull, a[n % 2], n * BK, 0);
    SM90_TMA_LOAD_2D::copy(&map_b, &full[n % 2], 0ull, b[n % 2], n * BK, 0);
    for (uint32_t k = 0; k < BK / 16; k++)
      Product<typename Choice<BN>::type>::run(make_desc(a[n % 2]) + k * 2, make_desc(b[n % 2]) + k * 2, d,
                                              std::make_index_sequence<BN / 2>());
  }
  SM90_TMA_STORE_2D::copy(&map_b, out, 0, 0);
}
"""
NAMED = HOPPER + "static void use() { auto p = reinterpret_cast<void*>(&gemm<64, 64, 64, Mode::Plain, float>); }\n"
BOXES = {
    **{f"map_{x}.box_0": "64" for x in "ab"},
    **{f"map_{x}.box_1": "64" for x in "ab"},
    **{f"map_{x}.swizzle": "128" for x in "ab"},
}
PARAMETERS = {"BM": "64", "BN": "64", "BK": "64", "kMode": "Mode::Plain", "out_t": "cutlass::bfloat16_t"}


def check_with(text: str, **given: str) -> CheckReport:
    return check_text(text, {f"macro.{name}": value for name, value in given.items()})


def list_gaps(report: CheckReport) -> set[str]:
    return {one.gap for one in report.checked}


def test_a_map_that_is_encoded_elsewhere_is_asked_for_by_name() -> None:
    """Nothing of the kernel says its box or its swizzle."""
    report = check_with(NAMED)
    assert report.steps == 0 and not report.findings
    assert list_gaps(report) == {f"depends on map_{x}.box_0, map_{x}.box_1, map_{x}.swizzle" for x in "ab"}


def test_reads_are_verified_with_the_box_and_the_swizzle_that_are_given() -> None:
    """Three turns over blocks, each with four K steps of A and B; the atom stands in no call."""
    report = check_with(NAMED, **BOXES)
    assert report.steps == 3 * 4 * 2 and not report.findings and list_gaps(report) == {""}


@for_each(
    ("right", "wrong", "code"),
    [("1024 >> 4", "512 >> 4", "sbo_other_width"), ("1ull << 62", "1ull << 63", "swizzle_mode")]
    + [("k * 2", "k * 4", "element_size")] * FULL,
    sample=1,
)
def test_a_wrong_number_is_a_finding_once_the_map_is_given(right: str, wrong: str, code: str) -> None:
    """SBO, the swizzle mode and, in a full run, A's step along K, which is one of 32-bit elements."""
    assert {one.code for one in check_with(NAMED.replace(right, wrong, 1), **BOXES).findings} == {code}


def test_a_box_that_the_loads_do_not_fill_is_open() -> None:
    """32 elements of 64 along K are loaded: the rest of the tile is not known."""
    report = check_with(NAMED, **{**BOXES, "map_a.box_0": "32", "map_a.swizzle": "64B"})
    assert report.steps == 12 and not report.findings


def test_parameters_by_name_stand_for_what_a_jit_prints() -> None:
    """Integers, an enumerator and a type: sizeof(out_t) moves the tiles, and the reads are the same."""
    assert check_with(HOPPER, **PARAMETERS, **BOXES).steps == 3 * 4 * 2


def test_a_template_without_an_instance_asks_for_its_parameters() -> None:
    assert find_open_parameters(HOPPER, ()) == tuple(PARAMETERS)
    assert find_open_parameters(HOPPER, ("BM", "BN")) == ("BK", "kMode", "out_t")
    assert find_open_parameters(NAMED, ()) == ()


def test_types_and_enumerators_are_of_template_parameters() -> None:
    given = (("kMode", "Mode::Plain"), ("out_t", "float"), ("BM", "64"), ("TYPE", "half"))
    assert select_names(HOPPER, given) == {"kMode": "Mode::Plain", "out_t": "float"}


def test_values_of_a_map_are_used_where_the_map_is() -> None:
    assert list(list_unused(["map_a.box_0", "map_c.box_0"], [HOPPER])) == ["map_c.box_0"]


@for_each(
    ("text", "mode"),
    [("CU_TENSOR_MAP_SWIZZLE_32B", "32B"), ("64", "64B"), ("128B", "128B"), ("0", "none"), ("3", "128B"), ("x", None)],
)
def test_a_swizzle_in_any_spelling(text: str, mode: str | None) -> None:
    assert parse_swizzle(text) == mode


# what the evaluator follows -------------------------------------------------------------------------------------------

LANES = r"""
__global__ void kernel(int s) {
  extern __shared__ __align__(1024) uint8_t tiles[];
  uint32_t lane = threadIdx.x % 32;
  uint32_t first = ((uint32_t)__cvta_generic_to_shared(tiles) & 0x3FFFF) >> 4;
  uint32_t word = lane < 4 ? first + lane * 512 : 0u;
  uint64_t desc = uint64_t(__shfl_sync(0xffffffff, word, 2)) | uint64_t(1024 >> 4) << 32 | 1ull << 62;
  uint64_t late = uint64_t(__shfl_sync(0xffffffff, word, 9)) | uint64_t(1024 >> 4) << 32 | 1ull << 62;
  use_desc(desc, late, uint64_t(__shfl_sync(0xffffffff, word, s)));
}
"""


def test_a_shuffle_takes_the_word_of_its_lane() -> None:
    """Lane 2 has first + 1024, in units of 16 B; lane 9 has 0; an open lane has neither."""
    evaluation = evaluate_text(LANES)
    assert evaluation is not None
    desc, late, open_ = next(call for call in evaluation.bodiless_calls if call.term.head == "use_desc").term.arguments
    assert str(desc).startswith("(tiles + 16384 >> 4)")
    assert late.known == (64 << 32) + (1 << 62)
    assert open_.known is None and "16384" not in str(open_)


FOLD = r"""
template <uint32_t most, uint32_t... I, typename F>
__device__ void each(std::integer_sequence<uint32_t, I...>, F&& f) {
  ((I < most ? f.template operator()<I>() : void()), ...);
}
__global__ void kernel() {
  auto step = [&]<uint32_t k>() { use_desc(k * 32); };
  each<3>(std::make_integer_sequence<uint32_t, 4>(), step);
}
"""


def test_a_fold_runs_a_lambda_for_each_number_of_its_sequence() -> None:
    """Each item is a turn, as of a loop over the numbers."""
    evaluation = evaluate_text(FOLD)
    assert evaluation is not None
    calls = [call for call in evaluation.bodiless_calls if call.term.head == "use_desc"]
    assert [call.term.arguments[0].known for call in calls] == [0, 32, 64]
    assert [[(name, value.known) for name, value in call.loops] for call in calls] == [[("I", n)] for n in range(3)]


@for_each(
    ("first", "second", "same"),
    [
        ("cutlass::bfloat16_t", "half_t", "0"),
        ("half_t", "cutlass::half_t", "1"),
        ("half_t", "uint8_t", "0"),
        ("half_t", "__half", None),  # one may be an alias of the other
    ],
)
def test_number_classes_of_one_library_differ(first: str, second: str, same: str | None) -> None:
    evaluation = evaluate_text(f"__global__ void f() {{ use_desc(std::is_same_v<{first}, {second}>); }}")
    assert evaluation is not None
    known = getattr(evaluation.bodiless_calls[0].term.arguments[0], "known", None)
    assert (None if known is None else str(int(known))) == same


@for_each("name", ["__CLION_IDE__", "__INTELLISENSE__"])
def test_what_an_editor_defines_is_not_defined(name: str) -> None:
    evaluation = evaluate_text(
        f"__global__ void f() {{\n#ifdef {name}\n use_desc(1);\n#else\n use_desc(2);\n#endif\n}}"
    )
    assert evaluation is not None and [call.term.arguments[0].known for call in evaluation.bodiless_calls] == [2]


def test_a_condition_that_both_devices_meet_is_no_variant() -> None:
    """A text of both has one evaluation where Hopper and Blackwell decide alike."""
    body = "\n#if __CUDA_ARCH__ >= 900\n use_desc(1);\n#else\n use_desc(2);\n#endif\n"
    both = "// SM90_ and SM100_\nSM90_A x; SM100_MMA_B y;"
    evaluation = evaluate_text(f"{both}\n__global__ void f() {{{body}}}")
    assert evaluation is not None and not evaluation.merged
    assert [call.term.arguments[0].known for call in evaluation.bodiless_calls] == [1]
