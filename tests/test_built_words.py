"""Code that builds a descriptor is read back as it was meant: every form the editor prints, random words, and what is
refused.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings, strategies as st

from lanescope.app.memory import descriptors as memory
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.reader.code.descriptors.code_words import build_word
from lanescope.reader.words.descriptor_word import recognise_word
from lanescope.render.descriptor import render_code
from tests.cases import for_each
from tests.sample import choose_count

WORD = 0x4000004000010100


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**64 - 1))
@example(WORD)
@example(2**64 - 1)
def test_every_form_the_editor_prints_is_read_back(word: int) -> None:
    descriptor = Descriptor(word)
    forms = render_code(descriptor)
    assert set(forms) == {"constant", "function", "cutlass"}
    for name, text in forms.items():
        for spelled in (text, text.replace("\n", " \r\n\t"), re.sub(r"//[^\n]*", "", text)):
            read, notices = memory.read_descriptor(spelled, descriptor.start_address)
            assert read == descriptor, (name, spelled)
            assert len(notices) == (name == "function")
    assert build_word(forms["function"]).start == "tile"


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 0x3FFF),
    st.integers(0, 0x3FFF),
    st.integers(0, 0x3FFF),
    st.integers(0, 7),
    st.integers(0, 3),
    st.permutations(range(5)),
)
def test_what_programs_write(start: int, lbo: int, sbo: int, base: int, code: int, order: list[int]) -> None:
    """CUTLASS's members in any order, and the seed's `uint64_t(64) << 16` terms in one expression or several
    statements.
    """
    want = Descriptor(0).replace(
        start_address_encoded=start, lbo_encoded=lbo, sbo_encoded=sbo, base_offset=base, swizzle=code
    )
    members = [
        f"descA.bitfield.start_address_ = static_cast<uint16_t>({start * 16} >> 4);",
        f"descA.bitfield.leading_byte_offset_ = {lbo};",
        f"descA . bitfield.stride_byte_offset_={sbo}u;",
        f"descA->bitfield.base_offset_ = {base}; /* rows */",
        f"descA.bitfield.layout_type_ = {code};  // mode",
    ]
    terms = [
        f"uint64_t({start})",
        f"uint64_t({lbo}) << 16",
        f"((uint64_t){sbo} << 32)",
        f"{base}ull << 49",
        f"static_cast<uint64_t>({code}) << 62",
    ]
    texts = [
        "GmmaDescriptor descA;\n" + "\n".join(members[n] for n in order),
        " | ".join(terms[n] for n in order),
        "return " + " + ".join(f"({terms[n]})" for n in order) + ";",
        "uint64_t make() { uint64_t desc = 0; " + " ".join(f"desc |= {terms[n]};" for n in order) + " return desc; }",
        "unsigned long long d = "
        + f"({terms[order[0]]})"
        + "; "
        + " ".join(f"d = d | ({terms[n]});" for n in order[1:])
        + " return d",
    ]
    for text in texts:
        assert memory.parse_descriptor(text) == want, text


@for_each(
    "text",
    [
        "uint2 v = make_uint2(0x10100, 64 | 1u << 30); return *reinterpret_cast<uint64_t*>(&v);",
        "uint2 v{0x10100, 64 | 1u << 30}; return std::bit_cast<uint64_t>(v);",
        "uint2 v; v.x = 0x10100; v.y = 64 | 1u << 30; return (uint64_t)v.y << 32 | v.x;",
        "uint64_t d; uint2* v = reinterpret_cast<uint2*>(&d); v->x = 0x10100; v->y = 64 | 1u << 30; return d;",
        "union { uint2 v; uint64_t d; } u; u.v.x = 0x10100; u.v.y = 64 | 1u << 30; return u.d;",
        "ushort4 v = make_ushort4(0x100, 1, 64, 1 << 14); uint64_t d; memcpy(&d, &v, 8); return d;",
        "uint4 v = make_uint4(7, 7, 0x10100, 64 | 1u << 30); return reinterpret_cast<uint64_t*>(&v)[1];",
        "ulonglong2 v = make_ulonglong2(7, 0x4000004000010100); return v.y;",
        "struct uint2 { uint32_t hi, lo; }; uint2 v{64 | 1u << 30, 0x10100}; return (uint64_t)v.hi << 32 | v.lo;",
    ],
)
def test_cudas_vectors_are_structs_of_their_items(text: str) -> None:
    """g++ gives this word for each text, with vector_types.h of CUDA 13.0."""
    assert build_word(f"uint64_t make() {{ {text} }}").word == WORD


@for_each(
    "text",
    [
        "return (__cvta_generic_to_shared(smem) & 0x3FFFF) >> 4 | 1ull << 62;",
        "(uint64_t)(__cvta_generic_to_shared(smem) & 0x3FFFF) >> 4 | (uint64_t)1 << 62",
        "uint32_t at = cute::cast_smem_ptr_to_uint(&smem[0]); return uint64_t((at & 0x3FFFF) >> 4) | 1ull << 62;",
        (
            "uint64_t f(void const* smem) {\n  auto p = __cvta_generic_to_shared(smem);\n  return (p >> 4) + (1ull <<"
            " 62);\n}"
        ),
        (
            "GmmaDescriptor d; d.bitfield.layout_type_ = 1; d.bitfield.start_address_ ="
            " static_cast<uint16_t>(cast_smem_ptr_to_uint(smem) >> 4);"
        ),
    ],
)
def test_the_start_may_be_left_open(text: str) -> None:
    read, notices = memory.read_descriptor(text, 0x1230)
    assert (read.word, len(notices)) == (1 << 62 | 0x123, 1) and "0x1230 is kept" in notices[0] and "smem" in notices[0]
    with pytest.raises(LayoutError, match=r"The start address is 'smem.*', which is not a number"):
        memory.parse_descriptor(text)


@for_each(
    ("text", "says"),
    [
        ("return __cvta_generic_to_shared(p) | 1ull << 62;", "not bits 4 and up of the address 'p'"),
        ("d.bitfield.start_address_ = cast_smem_ptr_to_uint(p);", "not bits 4 and up of the address 'p'"),
        (
            "descA.bitfield.leading_byte_offset_ = 64; descB.bitfield.leading_byte_offset_ = 1;",
            "builds 2 descriptors, descA and descB",
        ),
        ("desc.bitfield.version_ = 1;", "'version_' is not a member"),
        ("desc.bitfield.stride_byte_offset_ = sbo;", "sbo: no value"),
        ("return f(x) | g(y);", "has no value|no value"),
        ("return f(x) | (uint64_t)g(x) << 32;", "no value"),
        ("d |= 1; return d;", "'d' has no value before it is changed"),
        ("uint64_t d = 1; if (x) d = 2; return d;", "not bits 4 and up of the address"),
        ("uint64_t d = 1; return", "nothing is returned"),
        ("return " + "1 + " * 2000 + "1;", "characters"),
    ],
)
def test_code_that_is_refused(text: str, says: str) -> None:
    with pytest.raises(LayoutError, match=says) as caught:
        memory.parse_descriptor(text)
    assert caught.value.field == "descriptor" and caught.value.hint and caught.value.code == "bad_word"


def test_values_are_those_of_cpp() -> None:
    read, notices = memory.read_descriptor("uint64_t d = 1 << 62; d |= 0x100; return d;")
    assert read.word == 0x100 and "a shift by 62 loses them all" in notices[0]
    read, notices = memory.read_descriptor(
        "desc.bitfield.leading_byte_offset_ = 16384; desc.bitfield.layout_type_ = 1;"
    )
    assert read.lbo_bytes == 0 and "16384 does not fit the bit field's 14 bits: 0 is stored." in notices[0]


@settings(max_examples=choose_count(120, 40), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "uint64_t",
                " d",
                "= ",
                "|= ",
                "; ",
                "return ",
                "1 << 62",
                "p",
                "f(",
                ")",
                "{",
                "}",
                "d.bitfield.",
                "layout_type_ ",
                "//",
                "/*",
                "\n",
                "7ull",
                "::",
            ]
        ),
        max_size=24,
    ).map("".join)
)
def test_any_code_is_read_or_refused(text: str) -> None:
    try:
        assert 0 <= build_word(text).word < 1 << 64
    except LayoutError as error:
        assert error.message and error.hint


@for_each(
    ("text", "words"),
    [
        ("LBO 16, SBO 1024, 128B swizzle, K-major, bf16", [0x4000004000010000]),
        ("leading dimension byte offset 128, stride dimension byte offset 256, no swizzle", [0x0000001000080000]),
        ("LBO=1 SBO=64 swizzle 128B", [0x4000004000010000]),  # 1 is not a multiple of 16
        ("SBO 64, 128B swizzle", [0x4000004000000000, 0x4000000400000000]),  # 8 rows of 128 bytes take 1,024
        ("tcgen05 LBO 16 SBO 1024 swizzle 128B start 0x400", [0x4000404000010040]),
        ("LBO = 1 KB, SBO = 2KiB, swizzle 64B", [0x8000008000400000]),
        ("lbo=1 sbo=64 layout_type=1 start_address=0x100", [0x4000004000010100]),  # all as the fields have them
        ("lbo=1 sbo=64 layout_type=1 addr=0x4000", [0x4000004000010400]),  # in 16 bytes the start would not fit
        ("umma desc: start 0x100, lbo 1, sbo 64, layout_type 2", [0x4000404000010100]),
        ("desc = {start_address: 0x100, leading: 1, stride: 64, base_offset: 0, layout_type: 1}", [0x4000004000010100]),
    ],
)
def test_a_line_of_fields_is_the_word_that_has_them(text: str, words: list[int]) -> None:
    """By hand, PTX ISA 9.7.15.5.1.2.2 and table 41: LBO >> 4 at bit 16, SBO >> 4 at bit 32, the swizzle above."""
    assert [int(meaning.facts["word"], 0) for meaning in recognise_word(text)] == words


@for_each(
    "text",
    [
        "(1ull << 62) | (64ull << 32) | (1ull << 16) | ((smem & 0x3FFFF) >> 4)",
        "smem >> 4 | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | 1ull << 62",
    ],
)
def test_an_expression_alone_may_leave_the_start_open(text: str) -> None:
    (meaning,) = recognise_word(text)
    assert meaning.facts["start"] == "smem" and meaning.undetermined == ("start",)
    fields = {"lbo_bytes": 16, "sbo_bytes": 1024, "base_offset": 0, "swizzle": "128B"}
    assert meaning.facts["fields"] == fields and not meaning.notices


def test_a_swizzle_code_that_the_format_lacks_is_refused_with_those_it_has() -> None:
    with pytest.raises(LayoutError, match="code 6 is reserved in wgmma") as caught:
        recognise_word("wgmma desc: lbo=1 sbo=64 layout_type=6")
    assert caught.value.hint == "Allowed: 0 none, 1 128B, 2 64B, 3 32B."


@for_each("text", ["what is SBO 1024 with 128B swizzle", "SBO = 1024", "LBO 16 and SBO 1024", "M 64, 128B swizzle"])
def test_a_line_with_other_words_or_without_a_swizzle_is_no_word(text: str) -> None:
    assert recognise_word(text) == ()
