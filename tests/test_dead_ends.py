"""Texts that were not taken once: each is read, and the page of it says what it means or what is missing."""

from __future__ import annotations

import pytest

from lanescope import reader
from lanescope.errors import LayoutError
from lanescope.workbench import build_workbench
from tests import reader_corpus
from tests.cases import for_each
from tests.checked import check_text
from tests.client import Client
from tests.found_in_code import find_builders
from tests.test_reader_code import CASES

TURNED = "HGMMA.64x128x16.F32 R24, gdesc[UR8].tnspA.tnspB, R24, gsb0 ;"
BRANCH = (
    "__device__ uint64_t make_desc(uint32_t a, bool mn) {\n  uint64_t d = (a & 0x3ffff) >> 4;\n"
    "  if (mn) d |= (uint64_t)(2048 >> 4) << 16; else d |= 1ull << 16;\n"
    "  d |= (uint64_t)64 << 32;\n  d |= 1ull << 62;\n  return d; }\n"
)


def get_page(client: Client, text: str) -> str:
    answer = client.get("/read", params={"text": text})
    assert answer.status_code == 200
    return answer.text


def test_the_majors_of_sass_open_the_instruction_in_them(client: Client) -> None:
    assert "m64n128k16.f32.f16.f16?a_major=MN&amp;b_major=MN" in get_page(client, TURNED)
    assert "?a_major" not in get_page(client, TURNED.replace(".tnspA", "")) + get_page(
        client, "HGMMA.64x128x16.F32 R24, gdesc[UR8]"
    )
    assert "f16.f16?b_major=MN" in get_page(client, TURNED.replace(".tnspA", ""))


def test_the_majors_of_sass_are_those_of_the_workbench() -> None:
    made = build_workbench(f"{TURNED}\ndesc_a 0x4000004000010100 desc_b 0x4000004000010400")
    assert [(one.name, one.major) for one in made.operands] == [("a", "MN"), ("b", "MN")]
    assert not any(one.key.startswith("major") for one in made.assumed)


def test_a_field_that_a_branch_decides_is_shown_as_its_expression(client: Client) -> None:
    shown = get_page(client, BRANCH)
    assert "16·(mn ? 128 : 1)" in shown and "None" not in shown.partition("<main")[2]
    assert "LBO 16·(mn ? 128 : 1)" in get_page(client, f"{BRANCH}SM90_64x128x16_F32F16F16_SS")


@for_each("text", ["(1,2) to (3,4)", "see (1,2):(3,4) and (5,6):(7,8)", "ratio 16:9", "at 12:30 the job"])
def test_prose_with_colons_is_no_layout(text: str) -> None:
    assert not reader.recognise_text(text).found


def test_no_recogniser_is_left_out_of_a_text_that_it_reads() -> None:
    """The words that a kind has are only asked to save time."""
    texts = [entry.text for entry in reader_corpus.load_entries()] + [case.code for case in CASES]
    asked = 0
    for row in reader.RECOGNISERS:
        for text in texts:
            if row.words and not any(word in text.lower() for word in row.words):
                asked += 1
                try:
                    assert row.read(text) == (), (row.what, text)
                except LayoutError:
                    raise AssertionError(f"{row.what} refuses {text}") from None
    assert asked > 1000


CALLS = """__shared__ half sA[64 * 64];
for (int k = 0; k < 4; ++k) {
  uint64_t da = make_smem_desc(&sA[k * 16]), db = other;
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0}, %1, %2, 1, 1, 1, 0, 0;"
      : "+f"(x) : "l"(da), "l"(db)); }
sA: Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_8),(_64,_1)):((_64,_512),(_1,_0))
"""


@for_each("head", ["make_smem_desc", "make_desc", "get_gmma_descriptor", "create_matrix_desc", "desc"])
def test_a_builder_without_its_code_is_asked_for(head: str) -> None:
    """What is missing is said, and the descriptor that such tiles mostly have can be chosen."""
    text = CALLS.replace("make_smem_desc", head)
    made = build_workbench(text)
    assert made.verdict == "unknown" and any(f"calls {head} and has no code" in said for said in made.missing)
    (asked,) = (one for one in made.assumed if one.key == f"builder.{head}")
    assert asked.missing and asked.choices == ("128B", "64B", "32B")
    right, wrong = build_workbench(text, {asked.key: "128B"}), build_workbench(text, {asked.key: "64B"})
    assert [step.descriptor for step in right.operands[0].steps] == [f"0x400000400001{n:04x}" for n in (64, 66, 68, 70)]
    assert right.verdict == "match" and wrong.verdict == "mismatch" and not right.missing
    with pytest.raises(LayoutError, match="16B"):
        build_workbench(text, {asked.key: "16B"})
    assert any("is not checked" in one.message for one in check_text(text).open) and not check_text(text).findings


def test_a_builder_without_its_code_is_shown_alone(client: Client) -> None:
    shown = get_page(client, "uint64_t desc = make_smem_desc(&sA[0]);")
    assert "its code is not in the text" in shown and 'name="builder.make_smem_desc"' in shown


@for_each("head", ["make_tma_desc", "prefetch_tma_descriptor", "make_instr_desc", "print_desc", "foo"])
def test_other_functions_are_no_builders(head: str) -> None:
    assert not any(
        one.key.startswith("builder.") for one in build_workbench(CALLS.replace("make_smem_desc", head)).assumed
    )


ENCODE = """__device__ uint64_t make_smem_desc(bf16* ptr) {
  uint64_t desc = matrix_descriptor_encode(__cvta_generic_to_shared(ptr));
  desc |= matrix_descriptor_encode((uint64_t)16) << 16;
  desc |= matrix_descriptor_encode((uint64_t)1024) << 32;
  return desc | 1ull << 62; }
SM90_64x64x16_F32BF16BF16_SS
"""


def test_an_encoding_that_the_text_does_not_have_is_among_the_assumptions() -> None:
    (one,) = (one for one in build_workbench(ENCODE).assumed if one.key.startswith("encode."))
    assert one.value == "(x & 0x3FFFF) >> 4" and "PTX" in one.why and "matrix_descriptor_encode" in one.label
    own = "__device__ uint64_t matrix_descriptor_encode(uint64_t x) { return (x & 0x3FFFF) >> 0x4; }\n" + ENCODE
    assert not any(one.key.startswith("encode.") for one in build_workbench(own).assumed)


TYPES = {
    "a keyword": "d = tl.make_tensor_descriptor(p, shape=[M, K], strides=[K, 1], block_shape=[64, 64],\n"
    "    dtype=tl.float16)",
    "a pointer's type": "p = p.to(tl.pointer_type(tl.float16))\n"
    "d = tl.make_tensor_descriptor(p, shape=[M, K], strides=[K, 1], block_shape=[64, 64])",
    "a name for it": "T = tl.float16\n"
    "d = tl.make_tensor_descriptor(p.to(tl.pointer_type(T)), shape=[M, K], strides=[K, 1], block_shape=[64, 64])",
    "a tensor's dtype": "x = torch.empty((M, K), dtype=torch.float16)\n"
    "d = TensorDescriptor(torch.zeros(8, dtype=x.dtype), [M, K], [K, 1], [64, 64])",
}


@for_each("name", TYPES)
def test_the_type_of_a_triton_descriptor(name: str) -> None:
    (one,) = (found for found in reader.recognise_text(TYPES[name]).found if found.kind == "tensor_map")
    assert (one.facts["element_bits"], one.facts["swizzle"], one.facts["box"]) == (16, "128B", [64, 64])


def test_a_triton_descriptor_without_a_type_takes_the_instructions() -> None:
    """The swizzle is Triton's for that type, and is among the assumptions; K is the inner dimension by its name."""
    text = (
        "d = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[64, {}])\n"
        "desc_a 0x{}00004000010040 SM90_64x64x{}_F32{}_SS"
    )
    for block, code, k, types, mode in ((64, 40, 16, "F16F16", "128B"), (64, 80, 32, "E4M3E4M3", "64B")):
        made = build_workbench(text.format(block, code, k, types))
        (one,) = (one for one in made.assumed if one.key.startswith("swizzle."))
        assert one.value == mode and "Triton" in one.why and one.choices
        sbo = build_workbench(text.format(block, code, k, types).replace("0x8000004000", "0x8000002000"))
        assert (made if mode == "128B" else sbo).verdict == "match"


BELOW = """uint32_t ones[2] = {1, 1};
cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, p, dims, strides, box, ones,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
cuuint32_t box[2] = {64, 2 * 64};
cuuint64_t dims[2] = {4096, 4096}, strides[1] = {8192};
"""


def test_arrays_that_are_declared_below_the_call_are_not_its_arguments() -> None:
    (one,) = (found for found in reader.recognise_text(BELOW).found if found.kind == "tensor_map")
    assert "strides[0]" in one.undetermined


STAGED = "Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_8),(_64,_1),(_1,_3)):((_64,_512),(_1,_0),(_0,_4096))"


LOOP = """__device__ uint64_t make_desc(uint32_t a) {{
  uint64_t d = (a & 0x3ffff) >> 4; d |= 1ull << 16; d |= 64ull << 32; d |= 1ull << 62; return d; }}
{}
for (int stage = 0; stage < 3; ++stage) for (int k = 0; k < 4; ++k) {{
  uint64_t da = make_desc(sA + stage * {} + 32 * k);
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{%0}}, %1, %2, 1, 1, 1, 0, 0;"
      : "+f"(x) : "l"(da), "l"(db)); }}
"""
TILED = "using SmemLayoutA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<Element>{}, Shape<_64, _64, _3>{}));"


@for_each("layout", [f"sA: {STAGED}", TILED])
def test_stages_begin_where_the_layout_says(layout: str) -> None:
    """A print between the lines of code spoils none of them, and tile_to_shape is a storage wherever it stands."""
    right, wrong = build_workbench(LOOP.format(layout, 8192)), build_workbench(LOOP.format(layout, 16384))
    assert right.verdict == "match" and right.operands[0].stages == 3 and len(right.operands[0].steps) == 12
    assert [step.stage for step in wrong.operands[0].wrong] == [1] * 4 + [2] * 4
    assert wrong.headline.startswith("Every K step of A in stages 1 and 2")


@for_each(
    "line",
    [
        "sA: (_64,_64):(_64,_1)",
        "SM90_64x64x16_F32F16F16_SS",
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
        "desc_a 0x4000004000010100",
        "(cuda-gdb) p/x desc",
        "$1 = 0x4000004000010100",
        "/*0a90*/ HGMMA.64x64x16.F32 R24, gdesc[UR8], R24 ;",
    ],
)
def test_a_printed_line_above_code_spoils_no_loop(line: str) -> None:
    code = "for (int k = 0; k < 4; ++k) { uint64_t desc = (sA + 32 * k >> 4) | 64ull << 32 | 1ull << 62; f(desc); }"
    for text in (f"{line}\n{code}", f"int x = 1;\n{line}\n{code}"):
        (one,) = find_builders(text)
        assert one.start == "sA + 32·k" and len(one.steps) == 4
