"""Operations, atoms and layouts of CUTLASS and CuTe's DSL are read as the instructions and maps that they name."""

from __future__ import annotations

import numpy as np

from lanescope import reader
from lanescope.app.read import text_meanings
from lanescope.ptx import catalog
from lanescope.reader.cute import atom_traits
from tests.cases import for_each
from tests.client import share_client

# operations -----------------------------------------------------------------------------------------------------------


@for_each(
    ("name", "count", "ptx", "note"),
    [
        ("LdMatrix8x8x16bOp", 6, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "LdMatrix8x8x16bOp() is ldmatrix"),
        ("LdMatrix16x16x8bOp", 6, "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", "transpose=True"),
        ("warp.LdMatrix16x8x8bOp", 6, "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", "num_matrices=2|4"),
        ("cute.nvgpu.warp.StMatrix16x8x8bOp", 3, "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8", "transpose=True"),
        ("StMatrix8x8x16bOp\n", 6, "stmatrix.sync.aligned.m8n8.x1.shared.b16", "StMatrix8x8x16bOp() is stmatrix"),
    ],
)
def test_the_name_of_an_operation_alone_leaves_its_arguments_open(name: str, count: int, ptx: str, note: str) -> None:
    told = text_meanings.read_text(name)
    assert told.kind == "instruction" and told.facts["ptx"] is None
    assert len(told.facts["candidates"]) == count and ptx in told.facts["candidates"]
    assert note in told.notices[0]


# atoms ----------------------------------------------------------------------------------------------------------------


@for_each(
    ("text", "ptx"),
    [
        ("LdMatrix16x16x8bOp(2)", "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8"),
        ("warp.LdMatrix16x16x8bOp(num_matrices=1)", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8"),
        ("LdMatrix16x16x8bOp(True, 2)", "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8"),
        ("StMatrix16x8x8bOp(4)", "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8"),
        ("StMatrix16x8x8bOp(transpose=True, num_matrices=2)", "stmatrix.sync.aligned.m16n8.x2.trans.shared.b8"),
        ("LdMatrix16x8x8bOp(True, 4)", "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8"),
        (
            "LdMatrix16x8x8bOp(transpose=True, num_matrices=2, unpack_bits=4)",
            "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b4x16_p64",
        ),
        ("LdMatrix8x16x8bOp(num_matrices=2, unpack_bits=6)", "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32"),
        ("LdMatrix8x8x16bOp(False, 4)", "ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
    ],
)
def test_an_operation_that_moves_matrices_is_its_instruction(text: str, ptx: str) -> None:
    told = text_meanings.read_text(text)
    assert (told.kind, told.facts["ptx"]) == ("instruction", ptx)
    older = "True" not in text and "16x" in text.split("(")[0] and "x8b" in text
    assert any("before CUTLASS 4.4" in notice for notice in told.notices) == (older and "unpack" not in text)


@for_each(
    "text",
    [
        "LdMatrix16x16x8bOp(4)",
        "LdMatrix16x16x8bOp()",
        "LdMatrix16x16x8bOp(False, 2)",
        "StMatrix16x8x8bOp(3)",
        "LdMatrix16x8x8bOp(4)",
        "LdMatrix16x8x8bOp(True, 1)",
        "LdMatrix8x8x16bOp(4)",
        "StMatrix8x8x16bOp(False, 8)",
        "LdMatrix16x16x8bOp(num_matrices=2, unpack_bits=4)",
    ],
)
def test_an_operation_that_no_release_takes_is_refused_with_todays_signature(text: str) -> None:
    told = text_meanings.read_text(text)
    name = text.split("(")[0]
    assert told.kind == "unknown" and f"Allowed: {name}(transpose=" in told.notices[0]


ATOM = "Copy_Atom<DefaultCopy, half_t>{}"


@for_each(
    ("text", "tile"),
    [
        (f"make_tiled_copy({ATOM}, Layout<Shape<_16,_8>>{{}}, Layout<Shape<_4,_1>>{{}}, Shape<_64,_32>{{}})", [64, 32]),
        ("cute.make_tiled_copy(atom, cute.make_layout((16,8)), cute.make_layout((4,1)), (64,32))", [64, 32]),
        (
            "cute.make_tiled_copy(atom, thr_layout=cute.make_layout((16,8)), val_layout=cute.make_layout((4,4)),"
            " tiler_mn=(64,32))",
            [64, 32],
        ),
        (f"make_tiled_copy({ATOM}, Layout<Shape<_16,_8>>{{}}, Layout<Shape<_4,_1>>{{}})", [64, 8]),
        (f"make_tiled_copy({ATOM}, Layout<Shape<_16,_8,_1,_2>>{{}}, Layout<Shape<_4,_1,_2,_1>>{{}})", [64, 8, 2, 2]),
        (f"make_tiled_copy({ATOM}, Layout<Shape<_16,_8>>{{}}, Layout<Shape<_4,_1>>{{}}, tiler)", None),
        (f"make_tiled_copy({ATOM}, Layout<Shape<_16,_8>>{{}}, Layout<Shape<_4,_1>>{{}}, Shape<_32,_8>{{}})", None),
    ],
)
def test_the_tile_of_a_copy_is_the_one_that_it_is_given(text: str, tile: list[int] | None) -> None:
    told = text_meanings.read_text(text)
    assert told.kind == "tiled_copy" and told.facts["threads"] in (128, 256) and told.facts["tiler_mn"] == tile
    assert ("tiler_mn" in told.facts.get("undetermined", ())) == (tile is None)


TRAITS = """template <> struct MMA_Traits<SM80_16x8x16_F32F16F16F32_TN> {{
  using Shape_MNK = Shape<_16,_8,_16>;
  using ThrID = Layout<_32>;
  using {letter}Layout = Layout<Shape<Shape<_4,_8>,Shape<{shape}>>, Stride<Stride<{thread}>,Stride<{value}>>>;
}};"""


@for_each(
    ("letter", "shape", "thread", "value", "said"),
    [
        ("A", "_2,_2,_2", "_32,_1", "_16,_8,_32", "ALayout covers 160 of the 256 elements of its 16×16 tile"),
        ("B", "_2,_2", "_16,_1", "_8,_8", "BLayout covers 72 of the 128 elements of its 8×16 tile"),
        ("C", "_2,_2", "_32,_1", "_8,_8", "CLayout covers 96 of the 128 elements of its 16×8 tile"),
        ("A", "_2,_2,_2", "_32,_1", "_16,_8,_256", "outside the 256 elements"),
    ],
)
def test_traits_that_cover_a_part_say_so_and_that_they_are_not_the_atoms(
    letter: str, shape: str, thread: str, value: str, said: str
) -> None:
    told = text_meanings.read_text(TRAITS.format(letter=letter, shape=shape, thread=thread, value=value))
    notices = " ".join(told.notices)
    assert told.kind == "instruction" and said in notices
    assert f"{letter}Layout is not that of SM80_16x8x16_F32F16F16F32_TN" in notices


def test_the_layouts_of_every_atom_are_its_own() -> None:
    """As CUTLASS writes them, from the instruction's own maps: A, B over (n, k) and C; any other stride is another."""
    atom = "SM80_16x8x16_F32F16F16F32_TN"
    operands = catalog.find("mma.m16n8k16.row.col.f32.f16.f16.f32").operands
    spelled = {"A": operands["a"].cute, "B": operands["b"].transposed_cute, "C": operands["c"].cute}
    for letter, text in spelled.items():
        shape, stride = (part.replace("(", "Shape<").replace(")", ">") for part in text.split(":"))
        using = f"using {letter}Layout = Layout<{shape}, {stride.replace('Shape', 'Stride')}>;"
        body = f"MMA_Traits<{atom}> {{ using Shape_MNK = Shape<_16,_8,_16>; {using} }};"
        assert atom_traits.find_differences(body) == {}, using


OWN_ATOM = """{before}template <> struct MMA_Traits<XE_16x8x16_MY> {{
  using Shape_MNK = Shape<_16,_8,_16>;
  using ThrID = Layout<_32>;
  using BLayout = Layout<Shape<Shape<_4,_8>,Shape<_2,_2>>, Stride<Stride<_16,_1>,Stride<_8,_64>>>;
  using ALayout = {a};
}};"""
PART_OF_A = "Layout<Shape<Shape<_4,_8>,Shape<_2,_2,_2>>, Stride<Stride<_32,_1>,Stride<_16,_8,_32>>>"


@for_each(("before", "a"), [("", PART_OF_A), (f"using MyRow = {PART_OF_A};\n", "MyRow")])
def test_an_own_atom_is_told_first_what_its_layout_leaves_out(before: str, a: str) -> None:
    told = text_meanings.read_text(OWN_ATOM.format(before=before, a=a))
    assert told.title.endswith("(ALayout)") and "covers 160 of the 256 elements of its 16×16" in " ".join(told.notices)
    assert [one.title for one in told.also if one.kind == "layout"][-1] == "CuTe layout 32:1 (ThrID)"


@for_each(
    "text",
    [
        OWN_ATOM.format(before="", a=PART_OF_A),
        f"auto tv_layout = {PART_OF_A}{{}};",
        "template <> struct Copy_Traits<MY_LDSM> { using ThrID = Layout<_32>;"
        " using SrcLayout = Layout<Shape<_32,_128>, Stride<_128,_1>>;"
        " using DstLayout = Layout<Shape<_32,Shape<_32,_4>>, Stride<_32,Stride<_1,_1024>>>; };",
    ],
)
def test_a_thread_value_layout_is_not_judged_as_storage(text: str) -> None:
    told = text_meanings.read_text(text)
    laid = [one for one in (told, *told.also) if one.kind == "layout"]
    assert laid and all("descriptors" not in one.facts and one.facts["storage"] is None for one in laid)


def test_a_layout_without_traits_counts_its_elements() -> None:
    told = text_meanings.read_text(
        "using ALayout = Layout<Shape<Shape<_4,_8>,Shape<_2,_2,_2>>, Stride<Stride<_32,_1>,Stride<_16,_8,_32>>>;"
    )
    places = [
        32 * t + g + 16 * i + 8 * j + 32 * k
        for t in range(4)
        for g in range(8)
        for i in (0, 1)
        for j in (0, 1)
        for k in (0, 1)
    ]
    assert len(np.unique(places)) == 160
    assert any("covers 160 of 256 elements" in notice for notice in told.notices)


BF16, F16 = "SM80_16x8x16_F32BF16BF16F32_TN", "SM80_16x8x16_F32F16F16F32_TN"


@for_each(
    ("text", "said"),
    [
        (f"using M = std::conditional_t<kBf16, {BF16}, {F16}>;", [f"If kBf16, {BF16}", f"If not (kBf16), {F16}"]),
        (f"using M = typename std::conditional<(N > 64), {BF16}, {F16}>::type;", [f"If (N > 64), {BF16}"]),
        (
            f"using A = {BF16};\nusing M = std::conditional_t<x, A, std::conditional_t<y, {F16}, A>>;",
            [f"If x, A = {BF16}", f"If not (x) and y, {F16}", f"If not (x) and not (y), A = {BF16}"],
        ),
        (
            f"using M = std::conditional_t<b, {BF16}, {F16}>;\nusing T = TiledMMA<MMA_Atom<M>, Layout<Shape<_2,_2>>>;",
            [f"If b, {BF16}", f"If not (b), {F16}"],
        ),
        (
            "using C = std::conditional_t<T, Copy_Atom<SM75_U32x4_LDSM_N, half_t>,"
            " Copy_Atom<SM75_U16x8_LDSM_T, half_t>>;",
            ["SM75_U32x4_LDSM_N, half_t>: ldmatrix.sync.aligned.m8n8.x4.shared.b16"],
        ),
    ],
)
def test_the_page_of_a_conditional_says_which_atom_each_arm_is(text: str, said: list[str]) -> None:
    told = text_meanings.read_text(text)
    assert all(any(part in notice for notice in told.notices) for part in said), told.notices
    page = share_client().get("/read", params={"text": text}, follow_redirects=False)
    assert page.status_code == 200
    ptx = {BF16: "f32.bf16.bf16.f32", F16: "f32.f16.f16.f32"}
    for name, types in ptx.items():
        assert name not in text or f"{name}: mma.sync.aligned.m16n8k16.row.col.{types}." in " ".join(told.notices)


def test_a_conditionals_type_is_each_of_its_arms() -> None:
    text = f"using A = {BF16};\nusing X = typename std::conditional<c, A, {F16}>::type;\n"
    told = text_meanings.read_text(f"{text}using M = TiledMMA<MMA_Atom<X>, Layout<Shape<_2,_2,_1>>>;")
    assert told.kind == "tiled_mma" and len(told.facts["candidates"]) == 2


def test_layouts_of_one_mode_and_open_types_are_read_without_an_error() -> None:
    (line,) = reader.recognise_text("composition(Swizzle<3,4,3>{}, Layout<_64>{})").found
    assert (line.facts["cute"], line.facts["modes"]) == ("Sw<3,4,3> o 64:1", 1)
    (tiled,) = reader.recognise_text("tile_to_shape(composition<A,B>(), Shape<_8,_8>{})").found
    assert tiled.facts["cute"] is None and "cute" in tiled.undetermined
    (product,) = reader.recognise_text("warp.MmaF16BF16Op(ab_dtype=T, acc_dtype=U, shape_mnk=(16, 8, 16))").found
    assert product.facts["ptx"] is None and len(product.facts["candidates"]) > 1


@for_each(
    ("operation", "types"),
    [
        ("warp.MmaF16BF16Op(ab_dtype=T, acc_dtype=U, shape_mnk=(16, 8, 16))", {"f16", "bf16"}),
        ("warpgroup.MmaF16BF16Op(T, U, shape, src, a, b)", {"f16", "bf16"}),
        ("warpgroup.MmaF8Op(T, S, U, (64, 128, 32), src, a, b)", {"e4m3", "e5m2"}),
        ("warpgroup.MmaI8Op(T, S, U, (64, 128, 32), src, a, b)", {"s8", "u8"}),
    ],
)
def test_an_operation_with_open_types_has_those_of_its_name(operation: str, types: set[str]) -> None:
    (product,) = reader.recognise_text(operation).found
    found = [catalog.find(text).types for text in product.facts["candidates"]]
    assert {one[letter] for one in found for letter in "ab"} == types


@for_each(("middle", "layout"), [("_0", "Sw<3,4,3> o (8,64):(64,1)"), ("_8", "Sw<3,4,3> o 8 o (8,64):(64,1)")])
def test_the_offset_of_a_composed_layout_is_kept(middle: str, layout: str) -> None:
    text = "ComposedLayout<Swizzle<3,4,3>, {}, Layout<Shape<_8,_64>,Stride<_64,_1>>>"
    assert [found.facts["cute"] for found in reader.recognise_text(text.format(middle)).found] == [layout]
    assert reader.recognise_text(text.format("Offset")).found == ()


def test_an_atom_with_gaps_is_repeated_into_them_as_cute_does() -> None:
    """8 × 4 rows of a column lie in the first 32 of every 64 elements; the next 32 rows in the others."""
    atom = "Layout<Shape<Shape<_8,_4>,{}>, Stride<Stride<_1,_8>,_64>>{{}}"
    (tiled,) = reader.recognise_text(f"auto l = tile_to_shape({atom.format('_8')}, Shape<_64,_8>{{}});").found
    assert tiled.facts["cute"] == "(((8,4),2),(8,1)):(((1,8),32),(64,0))"
    (open_,) = reader.recognise_text(f"auto l = tile_to_shape({atom.format('Int<K>')}, Shape<_64,_8>{{}});").found
    assert open_.facts["cute"] is None


# prints of layouts ----------------------------------------------------------------------------------------------------


@for_each(
    ("text", "cute"),
    [
        ("tensor<ptr<f16, smem, align<1024>> o S<3,4,3> o 0 o (8,64):(64,1)>", "Sw<3,4,3> o (8,64):(64,1)"),
        (
            "smem_ptr[16b](0x7f8f00000c00) o Sw<3,3,3> o _0 o (64,(_64,_2)):(64,(1,4096))",
            "Sw<3,4,3> o smem_ptr[16b](unset) o (64,(64,2)):(64,(1,4096))",
        ),
        ("smem_ptr[16b](0x7f8f00000c10) o Sw<3,3,3> o _0 o (_8,_64):(_64,_1)", "Sw<3,3,3> o (8,64):(64,1)"),
        (
            "tensor(raw_ptr(0x0000000000000400: f16, smem, align<1024>) o (8,8):(8,1), data=\n       [[",
            "smem_ptr[16b](unset) o (8,8):(8,1)",
        ),
        ("((4,8),(2,2)):((32,1),(16,8))  // C of m16n8", "((4,8),(2,2)):((32,1),(16,8))"),
        ("smem_ptr[16b](0x7fff) o (_8,_4):(_4,_1):\n 0 1 2 3\n 4 5 6 7", "smem_ptr[16b](unset) o (8,4):(4,1)"),
        ("(8,8):(8,1)  # row-major", "(8,8):(8,1)"),
        ("cute.make_layout(shape=(8, (2, 4)), stride=(8, (1, 2)))", "(8,(2,4)):(8,(1,2))"),
    ],
)
def test_layouts_as_tensors_print_them(text: str, cute: str) -> None:
    assert [one.facts["cute"] for one in reader.cute_layout.recognise_layouts(text) if one.kind == "layout"] == [cute]


def test_a_print_of_a_descriptor_iterator_is_no_tile() -> None:
    """Of examples/cute/tutorial/hopper/wgmma_tma_sm90.cu: (MMA, MMA_M, MMA_K) has no stages."""
    (told,) = reader.cute_layout.recognise_layouts("tCrA: GMMA::DescriptorIterator o (_1,_2,_4):(_0,_1024,_2)")
    assert told.facts["storage"] is None and "stages" not in told.facts and told.facts["element_bits"] == 128
    assert told.title.endswith("descriptors tCrA") and "in units of 16 bytes" in told.notices[1]


# what no atom or layout has -------------------------------------------------------------------------------------------


@for_each("majors", ["MN, GMMA::Major::K", "K, GMMA::Major::MN"])
def test_an_atom_of_8_bit_operands_is_not_read_with_mn_major_ones(majors: str) -> None:
    """PTX ISA 9.1, 9.7.15.5.2: the transpose immediates are for .f16 and .bf16 only."""
    told = text_meanings.read_text(f"SM90_64x128x32_F32E4M3E4M3_SS_TN<GMMA::Major::{majors}>")
    assert told.title == "No such atom" and "those of e4m3 are K-major" in told.notices[0]
    assert text_meanings.read_text(f"SM90_64x128x16_F32F16F16_SS<GMMA::Major::{majors}>").kind == "instruction"


@for_each(
    ("layout", "notices"),
    [
        ("nvidia_mma<{versionMajor = 3, instrShape = [16, 100, 16]}>", ("no wgmma has M 64, N 100 and K 16.",)),
        ("nvidia_mma<{versionMajor = 2, instrShape = [16, 16]}>", ("no mma.sync has 16×16.",)),
        ("nvidia_mma<{versionMajor = 3, instrShape = [16, 128, 32]}>", ()),
        ("nvidia_mma<{versionMajor = 2, instrShape = [16, 8]}>", ()),
        ("nvidia_mma<{versionMajor = 2, instrShape = [1, 16, 8]}>", ()),  # of a batch
        ("blocked<{threadsPerWarp = [4, 4], order = [1, 0]}>", ("a warp has 32, of AMD 64 or 32.",)),
        ("blocked<{threadsPerWarp = [4, 8], order = [1, 0]}>", ()),
    ],
)
def test_a_layout_of_triton_names_what_no_target_has(layout: str, notices: tuple[str, ...]) -> None:
    (meaning,) = reader.recognise_text(f"#ttg.{layout}").found
    assert len(meaning.notices) == len(notices)
    assert all(notice.endswith(said) for notice, said in zip(meaning.notices, notices, strict=True))


PRINTED = """- register=1 -> (0, 1)
  register=2 -> (8, 0)
- lane=1 -> (0, 2)
  lane=2 -> (0, 4)
  lane=4 -> (1, 0)
  lane=8 -> (2, 0)
  lane=16 -> (4, 0)
- warp is a size 1 dimension
- block is a size 1 dimension
where out dims are: [dim0 (size 16), dim1 (size 8)]"""
LANES = "[(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]"
IN_CPP = '{S("register"), {{0, 1}, {8, 0}}}, {S("lane"), {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}}, {S("warp"), {}},'


@for_each(
    "made",
    [
        f'LinearLayout.from_bases([("register", [[0, 1], [8, 0]]), ("lane", {LANES})], ["dim0", "dim1"])',
        f"LinearLayout.from_bases([('register', [[0, 1], [8, 0]]), ('lane', {LANES})], ['dim0', 'dim1'], [16, 8])",
        f'LinearLayout({{{IN_CPP} {{S("block"), {{}}}}}}, {{S("dim0"), S("dim1")}})',
        f'LinearLayout({{"lane": {LANES}, "register": [[0, 1], [8, 0]]}})',
        f"LinearLayout({{'register': [(0, 1), (8, 0)], 'lane': {LANES}, 'warp': []}}, ['dim0', 'dim1'])",
        f'LinearLayout layout({{{IN_CPP}}}, {{{{S("dim0"), 16}}, {{S("dim1"), 8}}}}, /*requireSurjective=*/true);',
    ],
)
def test_a_linear_layout_is_read_from_its_constructor_as_from_its_print(made: str) -> None:
    (printed,), (meaning,) = reader.recognise_text(PRINTED).found, reader.recognise_text(made).found
    assert meaning.facts["body"] == printed.facts["body"]


@for_each(
    "made",
    [
        'LinearLayout({{S("register"), {{0, x}}}}, {S("dim0"), S("dim1")})',
        "LinearLayout([1], [2])",
        "LinearLayout({'register': bases, 'lane': lanes})",
        'LinearLayout({{"register", {{0, 1, 2}}}, {"lane", {{1, 0}}}}, {"dim0", "dim1"})',  # three outputs for two
        'LinearLayout({{"register", {{0, 1}}}, {"lane", {{8, 0}}}}, {{"dim0", 8}, {"dim1", 2}}, false)',  # row 8 of 8
    ],
)
def test_a_linear_layout_with_an_open_basis_is_not_read(made: str) -> None:
    read = reader.recognise_text(made)
    assert read.found == () and "not lists of numbers" in read.refused[0].message


def test_b_of_quad_pairs_has_the_layout_of_a() -> None:
    """CuTe's SM70_8x8x4_…_TN has SM70_8x4_Row for A and for B, here for the four quad pairs of a warp."""
    _, *fragments = reader.recognise_text("((4,4,2),4):((1,32,4),8)").found
    assert {fragment.facts["operand"] for fragment in fragments} == {"a", "b"}
    assert all(".m8n8k4." in name for fragment in fragments for name in fragment.facts["candidates"])
