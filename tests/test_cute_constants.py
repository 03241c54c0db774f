"""CuTe's constants in C++ and Python: what get, size, Shape_MNK and their kin compute, and where a name is visible.

A name that the text does not decide is open, and named; it never takes a value from another scope.
"""

from __future__ import annotations

from typing import Any

from lanescope.cxx.integers import INT
from lanescope.reader import recognise_text
from lanescope.reader.code.cute.cute_values import CuteEvaluator
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.values import OpaqueValue
from lanescope.reader.cute import smem_layouts, tiled_copy, tiled_mma
from lanescope.reader.grammars import terms
from lanescope.reader.meaning import TextMeaning
from tests.cases import for_each

ATOM = "SM80_16x8x16_F32F16F16F32_TN"


def read_number(text: str, name: str = "n") -> int | None:
    """Return the number that the last `name` of a text stands for."""
    home = terms.make_term_text(text)
    return home.parse_number(home.parse_term(text.rindex(name), alone=True))


def read_mma(text: str) -> TextMeaning:
    (meaning,) = tiled_mma.recognise_tiled_mmas(text)
    return meaning


def read_copies(text: str) -> list[dict[str, Any]]:
    return [dict(meaning.facts) for meaning in tiled_copy.recognise_tiled_copies(text)]


def read_layout(text: str) -> str | None:
    (meaning,) = smem_layouts.recognise_smem_layouts(text)
    cute: str | None = meaning.facts["cute"]
    return cute


# where a name is visible ----------------------------------------------------------------------------------------------


def test_a_name_does_not_leave_its_function() -> None:
    assert read_number("void f() { constexpr int n = 4; } void g() { use(n); }", "n)") is None


def test_a_parameter_hides_what_stands_outside() -> None:
    assert read_number("constexpr int n = 4; template <int n> struct A { int a = n; };", "n;") is None
    assert read_number("constexpr int n = 4; template <int m> struct A { int a = n; };", "n;") == 4


def test_a_default_argument_is_not_the_argument() -> None:
    template = "template <int n = 4> struct A { static constexpr int m = n; };"
    assert read_number(f"{template} int a = A::m;", "A::m") is None
    assert read_number(f"{template} A<> x; int a = A<>::m;", "A<>::m") == 4
    assert read_number(f"{template} A<8> x; int a = A<8>::m;", "A<8>::m") == 8
    assert read_number(f"{template} A<8> x; A<9> y; int a = A<8>::m;", "A<8>::m") is None


def test_a_variable_that_changes_is_open() -> None:
    assert read_number("void f() { int n = 4; use(n); }", "n)") == 4
    for change in ("n = 5", "n += 1", "++n", "n--", "scan(&n)"):
        assert read_number(f"void f() {{ int n = 4; {change}; use(n); }}", "n);") is None, change


def test_a_loop_variable_is_open() -> None:
    assert read_number("constexpr int n = 4; void f() { for (int n = 0; n < 3; ++n) { use(n); } }", "n)") is None


def test_definitions_that_differ_are_open() -> None:
    both = "#ifdef X\nconstexpr int n = 4;\n#else\nconstexpr int n = {};\n#endif\nint a = n;"
    assert read_number(both.format(8), "n;") is None
    assert read_number(both.format(4), "n;") == 4


def test_the_argument_of_the_only_instantiation_reaches_a_kernel_through_its_configuration() -> None:
    text = """
    template <typename Config> __global__ void run() { constexpr int tile = Config::kTile; }
    namespace config { template <class T, int kTile_ = 32> struct Tiles { static constexpr int kTile = kTile_ * 2; }; }
    int main() { config::Tiles<half_t, 64> tiles; run<decltype(tiles)><<<1, 128>>>(); }
    """
    assert read_number(text, "Config::kTile") == 128
    assert read_number(text.replace("run<decltype(tiles)><<<1, 128>>>();", ""), "Config::kTile") is None
    assert read_number(f"{text} config::Tiles<half_t, 32> others;", "Config::kTile") is None


def test_a_specialised_template_is_open() -> None:
    text = "template <int n> struct A { int a = n; }; template <> struct A<4> { }; A<4> x;"
    assert read_number(text, "n; }; template") is None


def test_members_are_found_in_base_classes() -> None:
    text = "struct Base { static constexpr int kN = 48; }; struct A : public Base { using S = Shape<Int<kN>>; };"
    assert read_number(text, "kN>") == 48


def test_a_member_function_that_is_defined_outside_sees_its_class() -> None:
    text = "constexpr int n = 4; struct A { static constexpr int n = 8; void f(); }; void A::f() { use(n); }"
    assert read_number(text, "n); }") == 8


def test_a_python_name_belongs_to_its_function_or_its_class() -> None:
    text = "n = 2\ndef f(n=4):\n    use(n)\n"
    assert read_number(text, "n)") is None
    assert read_number(f"{text}f(8)\n", "n)\nf") == 8
    assert read_number(f"{text}f()\n", "n)\nf") == 4
    assert read_number(f"{text}f(8)\nf(9)\n", "n)\nf") is None
    assert read_number("def f():\n    n = 4\ndef g():\n    use(n)\n", "n)") is None
    assert (
        read_number(
            "class A:\n    def __init__(self):\n        self.n = 4\n    def f(self):\n        use(self.n)\n", "self.n)"
        )
        == 4
    )
    assert read_number("def f(x):\n    n = 4\n    if x:\n        n = 8\n    use(n)\n", "n)") is None


# what is computed -----------------------------------------------------------------------------------------------------


@for_each(
    ("expression", "value"),
    [
        ("get<1>(Shape<_16,_8,_4>{})", 8),
        ("get<0,1>(Shape<Shape<_2,_3>,_8>{})", 3),
        ("size(Shape<Shape<_2,_3>,_8>{})", 48),
        ("size<0>(Shape<Shape<_2,_3>,_8>{})", 6),
        ("size<1>(Layout<Shape<_4,_8>,Stride<_8,_1>>{})", 8),
        ("cosize(Layout<Shape<_4,_8>,Stride<_16,_1>>{})", 56),
        ("rank(Shape<_4,_8,_2>{})", 3),
        ("size(select<0,2>(Shape<_16,_8,_4>{}))", 64),
        ("size<2>(append(Shape<_16,_8>{}, _3{}))", 3),
        ("size<0>(prepend(Shape<_16,_8>{}, _3{}))", 3),
        ("size(append<3>(Shape<_16,_8>{}, _2{}))", 256),
        ("product(Shape<_16,Shape<_2,_4>>{})", 128),
        ("get<0>(shape_div(Shape<_16,_8>{}, Shape<_4,_2>{}))", 4),
        ("cute::min(Int<12>{}, _8{})", 8),
        ("ceil_div(70, 32)", 3),
        ("round_up(70, 32)", 96),
        ("true ? 3 : 4", 3),
        ("(3 < 4 && 2 == 2) ? 5 : 6", 5),
        ("sizeof(half_t)", 2),
        ("sizeof_bits_v<float_e4m3_t>", 8),
        ("cute::sizeof_bits<float>::value", 32),
        ("std::is_same_v<half_t, bfloat16_t> ? 1 : 2", 2),
        ("cutlass::NumThreadsPerWarpGroup", 128),
        ("size(std::conditional_t<(8 > 4), Shape<_2>, Shape<_3>>{})", 2),
        (f"get<1>(typename MMA_Traits<{ATOM}>::Shape_MNK{{}})", 8),
        (f"size<2>(MMA_Atom<{ATOM}>::Shape_MNK{{}})", 16),
        (f"size(TiledMMA<MMA_Atom<{ATOM}>, Layout<Shape<_2,_4>>>{{}})", 256),
        (f"tile_size<1>(TiledMMA<MMA_Atom<{ATOM}>, Layout<Shape<_2,_2>>, Tile<_32,_32,_16>>{{}})", 32),
        (f"tile_size<0>(TiledMMA<MMA_Atom<{ATOM}>, Layout<Shape<_2,_2>>, Tile<_16,_32,_16>>{{}})", 32),
    ],
)
def test_a_constant_has_the_value_that_cute_computes(expression: str, value: int) -> None:
    assert read_number(f"constexpr int a = {expression};\nInt<a>", "a>") == value


@for_each("mode", [1, (1,)])
def test_mode_chooses_a_mode_in_the_dsl(mode: Any) -> None:
    sizes = tuple(map(make_integer, (4, 8)))
    chosen = make_integer(mode) if isinstance(mode, int) else tuple(map(make_integer, mode))
    call = OpaqueValue("cute.size(x, mode=[1])", None, "cute.size", (sizes,), (("mode", chosen),))
    assert CuteEvaluator("", None).evaluate_value(call) == 8


def make_integer(number: int) -> SymbolicInt:
    return SymbolicInt(number, INT)


@for_each(
    "expression",
    [
        "get<3>(Shape<_16,_8,_4>{})",
        "get<0>(Shape<Int<BM>,_8>{})",
        "size(Shape<Int<BM>,_8>{})",
        "BM > 2 ? 3 : 4",
        "std::is_same_v<T, half_t> ? 1 : 2",
        "cute::min(BM, 8)",
        "sizeof(T)",
        "tile_size<0>(mma)",
    ],
)
def test_a_constant_of_something_open_is_open(expression: str) -> None:
    assert read_number(f"constexpr int a = {expression};\nInt<a>", "a>") is None


def test_a_function_that_the_text_defines_is_not_cutes() -> None:
    assert (
        read_number(
            "constexpr int ceil_div(int a, int b) { return a; }\nconstexpr int n = ceil_div(70, 32); use(n)", "n)"
        )
        is None
    )


def test_the_tile_of_a_multistage_gemm_follows_from_its_atom() -> None:
    meaning = read_mma(
        f"using op = {ATOM}; using traits = MMA_Traits<op>; using shape = traits::Shape_MNK;"
        "static constexpr int kM = 1 * 2 * get<0>(shape{}); static constexpr int kN = 2 * 2 * get<1>(shape{});"
        "using P = Tile<Int<kM>, Int<kN>, Int<get<2>(shape{})>>;"
        "using MMA = decltype(make_tiled_mma(MMA_Atom<traits>{}, make_layout(Shape<_2,_2,_1>{}), P{}));"
    )
    assert meaning.facts["tile_mnk"] == [32, 32, 16] and not meaning.undetermined


def test_what_is_missing_is_named_by_the_names_of_the_text() -> None:
    meaning = read_mma(
        f"auto m = make_tiled_mma({ATOM}{{}}, Layout<Shape<Int<kWarps>>>{{}}, Tile<Int<16 * kWarps>,_8,_16>{{}});"
    )
    assert "kWarps" in meaning.undetermined and "16 * kWarps" not in meaning.undetermined


def test_the_only_instantiation_is_named() -> None:
    meaning = read_mma(
        f"template <int W> struct A {{ using M = TiledMMA<MMA_Atom<{ATOM}>, Layout<Shape<Int<W>,_1>>>; }}; A<4> a;"
    )
    assert (
        meaning.facts["threads"] == 128 and "Evaluated for A<4>, the only instantiation in the text." in meaning.notices
    )


def test_a_permutation_that_does_not_divide_is_judged_as_the_tile_page_does() -> None:
    meaning = read_mma(f"TiledMMA<MMA_Atom<{ATOM}>, Layout<Shape<_2,_2,_1>>, Tile<_32,_24,_16>>")
    assert meaning.facts["tile_mnk"] == [32, 24, 16] and meaning.facts["body"]["tile"] == [32, 48, 16]
    assert any("close after (32,48,16): 2 atoms of 8 cover 16 of N" in said for said in meaning.notices)


def test_universal_fma_is_one_element_in_each_thread() -> None:
    meaning = read_mma("make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16,_16,_1>>{})")
    assert (meaning.facts["threads"], meaning.facts["tile_mnk"]) == (256, [16, 16, 1])
    assert meaning.facts["body"]["atom"] is None


# copies ---------------------------------------------------------------------------------------------------------------

MMA = f"using M = TiledMMA<MMA_Atom<{ATOM}>, Layout<Shape<_2,_2,_1>>, Tile<_32,_32,_16>>;"


def test_c_atom_takes_the_first_values_of_c() -> None:
    # stmatrix.x2 stores 4 of the 8 halves of C: one m16n8 atom of each of 2×2 warps
    _, facts = [
        {},
        *read_copies(f"{MMA} auto c = make_tiled_copy_C_atom(Copy_Atom<SM90_U32x2_STSM_N, half_t>{{}}, M{{}});"),
    ]
    assert (facts["threads"], facts["values_per_thread"], facts["tiler_mn"]) == (128, 4, [32, 16])


def test_a_copy_like_another_has_its_threads_and_tile() -> None:
    wide = "Copy_Atom<UniversalCopy<uint128_t>, half_t>{}"
    made = f"auto c = make_tiled_copy({wide}, Layout<Shape<_16,_8>>{{}}, Layout<Shape<_1,_8>>{{}});"
    first, second = read_copies(f"{made} auto s = make_tiled_copy_S(Copy_Atom<UniversalCopy<int>, half_t>{{}}, c);")
    assert [second[name] for name in ("threads", "values_per_thread", "tiler_mn")] == [128, 8, [16, 64]]
    assert second["body"]["like"] == first["body"] and second["body"]["side"] == "S"


def test_a_cotiled_copy_reads_the_addresses_of_its_data() -> None:
    text = (
        "make_cotiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<Shape<_128,_8>,Stride<_8,_1>>{},"
        " Layout<Shape<_32,_32>,Stride<{stride},_1>>{})"
    )
    (facts,) = read_copies(text.replace("{stride}", "_32"))
    assert (facts["threads"], facts["values_per_thread"], facts["tiler_mn"]) == (128, 8, [32, 32])
    (padded,) = read_copies(text.replace("{stride}", "_40"))  # rows of 40: thread 4's values are none of the data
    assert padded["tiler_mn"] is None


def test_a_copy_may_have_three_modes() -> None:
    (facts,) = read_copies(
        "make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_8,_4,_2>>{},"
        " Layout<Shape<_1,_4,_1>>{})"
    )
    assert (facts["threads"], facts["tiler_mn"], facts["body"]["tile"]) == (64, [8, 16, 2], None)


def test_a_stage_count_comes_from_the_instantiation() -> None:
    text = """
    template <typename T, int kStage_ = 5> struct Config {
      using L = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<T>{}, make_shape(_128{}, _64{}, Int<kStage_>{})));
    };
    Config<half_t, 3> c;
    """
    assert read_layout(text) == "Sw<3,4,3> o smem_ptr[16b](unset) o ((8,16),(64,1),(1,3)):((64,512),(1,0),(0,8192))"
    assert read_layout(text.replace("Config<half_t, 3> c;", "")) is None


def test_recognition_reads_the_constants() -> None:
    found = recognise_text(
        "constexpr int kN = size<1>(Shape<_16,_32>{});"
        f" TiledMMA<MMA_Atom<{ATOM}>, Layout<Shape<_2,_2>>, Tile<_32,Int<kN>,_16>>"
    )
    assert found.found[0].facts["tile_mnk"] == [32, 32, 16]


# tensors --------------------------------------------------------------------------------------------------------------

KERNEL = f"""
{MMA}
using Copy = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{{}},
                                      Layout<Shape<_32,_4>,Stride<_4,_1>>{{}}, Layout<Shape<_1,_8>>{{}}));
__global__ void run(half_t const* a, int m, int k) {{
  Tensor A = make_tensor(make_gmem_ptr(a), make_shape(m, k), make_stride(k, Int<1>{{}}));
  Tensor gA = local_tile(A, make_tile(_128{{}}, _64{{}}), make_coord(blockIdx.x, _));
  M mma; auto thr_mma = mma.get_slice(threadIdx.x);
  auto tCrA = thr_mma.partition_fragment_A(gA(_, _, 0));
  auto acc = partition_fragment_C(mma, Shape<_128, _96>{{}});
  auto copy_a = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{{}}, mma);
  auto view = copy_a.get_slice(threadIdx.x).retile_D(tCrA);
  Copy g2s; auto tAgA = g2s.get_slice(threadIdx.x).partition_S(gA);
  Tensor part = local_partition(make_tensor(p, Layout<Shape<_128,_64>>{{}}), Layout<Shape<_32,_8>>{{}}, threadIdx.x);
  use(QUESTION);
}}
"""


@for_each(
    ("question", "value"),
    [
        ("size<0>(tCrA)", 8),  # m16n8k16 holds 8 halves of A in a thread
        ("size<1>(tCrA)", 4),  # 128 rows, 2 warps of 16 each
        ("size<2>(tCrA)", 4),  # 64 of K, 16 at a time
        ("size(acc)", 4 * 4 * 6),
        ("size<1>(view)", 4),
        ("size<2>(view)", 4),
        ("size<0>(gA)", 128),
        ("rank(gA)", 3),
        ("size<2>(gA)", None),  # k / 64
        ("size<1>(tAgA)", 4),
        ("size<2>(tAgA)", 2),
        ("size<3>(tAgA)", None),
        ("size(part)", 4 * 8),
    ],
)
def test_a_size_follows_through_tiles_and_fragments(question: str, value: int | None) -> None:
    assert read_number(KERNEL.replace("QUESTION", f"constexpr_n = {question}"), question) == value


def test_the_shapes_that_a_kernel_cuts_are_told() -> None:
    said = recognise_text(KERNEL).found[0].notices
    assert "tCrA = partition_fragment_A: modes of 8, 4 and 4, 128 elements of each thread." in said
    (c,) = (sentence for sentence in said if sentence.startswith("acc = partition_fragment_C"))
    assert c.endswith("modes of 4, 4 and 6, 96 elements of each thread. Registers ((2,2),4,6):((1,2),4,16).")
    assert "part = local_partition: modes of 4 and 8, 32 elements of each thread." in said
    assert not any(sentence.startswith("gA") for sentence in said), "its last mode is k / 64"


def read_tma(layout: str, kind: str = ", internal_type=cutlass.Float16") -> TextMeaning:
    text = (
        f"def host(a):\n    layout = {layout}\n"
        "    op = cpasync.CopyBulkTensorTileG2SOp()\n"
        f"    atom, tensor = cpasync.make_tiled_tma_atom(op, a, layout, (128, 64){kind})\n"
    )
    (meaning,) = (one for one in recognise_text(text).found if one.kind == "tensor_map")
    return meaning


def test_a_tma_atom_has_the_box_of_its_literal_layout() -> None:
    swizzled = "cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((128, 64), stride=({}, 1)))"
    facts = read_tma(swizzled.format(64)).facts
    assert (facts["box"], facts["swizzle"], facts["element_bits"]) == ([64, 128], "128B", 16)
    assert (facts["storage"]["major"], facts["storage"]["mn"], facts["storage"]["k"]) == ("K", 128, 64)
    assert read_tma(swizzled.format(72)).facts["box"] == [], "rows of 144 bytes are no 128B tile"
    assert read_tma(swizzled.format(64), "").facts["element_bits"] is None, "the type is the tensor's"
    assert read_tma("cute.make_layout((64, 32), stride=(1, 64))").facts["box"] == [64, 32]
