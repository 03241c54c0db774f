"""The instruction descriptor against PTX's tables, CUTLASS's own words, ptxas and a C++ compiler."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from lanescope.blackwell import idesc, zeromask
from lanescope.blackwell.idesc import (
    IdescWord,
    encode,
    find_legal_forms,
    find_problems,
    find_problems_by_form,
    find_warnings,
)
from lanescope.blackwell.kind import FORMS, MmaKind
from lanescope.blackwell.zeromask import ZeroMask
from lanescope.errors import LayoutError
from lanescope.ptx.table.kinds import KINDS
from lanescope.reader.words.instruction_word import recognise_instruction_word
from lanescope.render import idesc as code
from tests.cases import for_each
from tests.client import Client, share_client
from tests.oracle import tcgen05 as oracle
from tests.ptxas import assembler, nvrtc
from tests.ptxas.assembler import Line
from tests.sample import take_sample

SAMPLES = json.loads((Path(__file__).parent / "golden" / "tcgen05.json").read_text())["instruction_descriptors"]


# the tables -----------------------------------------------------------------------------------------------------------


@for_each("row", KINDS, ids=lambda row: row.name)
def test_the_fields_are_ptxs(row: MmaKind) -> None:
    """Every bit, every code of every field, and which of them are reserved."""
    known = oracle.FIELDS[row.name]
    assert sum(high - low + 1 for low, high, _, _ in known) == 32
    for low, high, name, codes in known:
        if name == "reserved":
            assert all(row.reserved_mask >> bit & 1 for bit in range(low, high + 1)), (row.name, low)
            continue
        part = row.get_field(name)
        assert (part.field.low, part.field.high) == (low, high), (row.name, name)
        for value in range(1 << (high - low + 1)):
            word = value << low
            if isinstance(codes, int):
                assert part.format_code(word) == str(value << codes) and part.is_legal(word)
            else:
                assert part.is_legal(word) == (value in codes), (row.name, name, value)
                assert part.format_code(word) == codes.get(value, f"reserved ({value})")
    assert len(row.parts) == len([name for _, _, name, _ in known if name != "reserved"])


@for_each("row", KINDS, ids=lambda row: row.name)
def test_m_and_n_are_table_39(row: MmaKind) -> None:
    """M and N that the fields can say, dense and sparse, in every form; a full run asks all."""
    m_field, n_field = row.get_field("m").field, row.get_field("n").field
    base = encode(row, {"m": 256 if row.scaled else 128, "n": 64}).word
    for sparse, m, n in take_sample(list(product((0, 1), range(m_field.most + 1), range(n_field.most + 1))), 700):
        word = n_field.put(m_field.put(row.get_field("sparse").field.put(base, sparse), m), n)
        said = find_problems_by_form(IdescWord(word, row))
        for form in FORMS:
            ms, ns = oracle.shapes(row.name, form, bool(sparse))
            legal = m * m_field.unit in ms and n * n_field.unit in ns
            assert (not said[form]) == legal, (row.name, form, sparse, m, n)


def test_as_many_products_as_the_tables_have() -> None:
    """Kinds, densities, forms, M, N and types, mxf4nvf4 once a scale vector and scale type."""
    count = 0
    for row in KINDS:
        types = [
            (a, b, d)
            for a, b in product(row.get_field("a").codes, row.get_field("b").codes)
            for d in (row.get_field("d").codes if row.has_field("d") else ["f32"])
            if not (need := row.needs.get(d, ())) or {a, b} <= set(need)
            if row.name != "f16" or a == b
        ]
        vectors = 3 if row.name == "mxf4nvf4" else 1
        count += sum(len(size.m) * len(size.n) for size in row.sizes.values()) * len(types) * vectors
    assert count == 14902


# CUTLASS's words ------------------------------------------------------------------------------------------------------


def _parse_wish(sample: dict[str, Any]) -> tuple[MmaKind, dict[str, Any]]:
    """A sample of CUTLASS as kind and wish."""
    four = sample["a"] == "mx_e2m1"
    a, b = (sample[side].removeprefix("mx_") for side in "ab")
    if sample["t"] == "scaled":
        name = "mxf4nvf4" if four else "mxf8f6f4"
    else:
        name = {"f16": "f16", "tf32": "tf32", "s8": "i8"}.get(a, "f8f6f4")
    row = idesc.get_kind(name)
    same = {"ta": "transpose_a", "tb": "transpose_b", "na": "negate_a", "nb": "negate_b", "sat": "saturate"}
    wish = {"a": a, "b": b, "m": sample["m"], "n": sample["n"], "sparse": sample["sp"]}
    wish |= {ours: sample[theirs] for theirs, ours in same.items() if theirs in sample and row.has_field(ours)}
    if row.scaled:
        wish |= {"scale_type": sample["s"], "sfa_id": sample["ia"], "sfb_id": sample["ib"]}
        wish |= {"k": "96" if sample["k"] else "64"} if four else {}
    else:
        wish["d"] = sample["d"]
    return row, wish


@for_each("sample", SAMPLES, ids=lambda sample: sample["desc"])
def test_cutlass_says_the_same_word(sample: dict[str, Any]) -> None:
    row, wish = _parse_wish(sample)
    word = int(sample["desc"], 0)
    read = IdescWord(word, row)
    assert (read.m, read.n, read.types["a"], read.types["b"]) == (wish["m"], wish["n"], wish["a"], wish["b"])
    if row.name == "mxf4nvf4" and wish["sfa_id"] % 2:
        with pytest.raises(LayoutError, match="Scale A id 3 is not defined for kind::mxf4nvf4: 0 or 2"):
            encode(row, wish)
        assert read.format_field("sfa_id") == "reserved (3)"
    elif row.name == "mxf4nvf4" and wish["scale_type"] == "ue4m3" and wish["sfa_id"]:
        with pytest.raises(LayoutError, match=r"scale A id is 2\. ue4m3 means scale_vec::4X, .* must be 0"):
            encode(row, wish)
    else:
        assert encode(row, wish).word == word


_FORMATS = {"f16": "F16F32Format", "bf16": "F16F32Format", "tf32": "F16F32Format", "u8": "S8Format", "s8": "S8Format"}


def _spell_members(sample: dict[str, Any]) -> str:
    """Write the assignments to CUTLASS's union that make a sample's word."""
    row, wish = _parse_wish(sample)
    narrow = "MXF4Format" if row.name == "mxf4nvf4" else "MXF8F6F4Format"
    names = {"u8": "UINT8", "s8": "INT8"}
    types = {side: f"{_FORMATS.get(wish[side], narrow)}::{names.get(wish[side], wish[side].upper())}" for side in "ab"}
    members = {
        **{f"{side}_format_": f"uint8_t(UMMA::{name})" for side, name in types.items()},
        "m_dim_": f"{wish['m']} >> 4",
        "n_dim_": f"{wish['n']} >> 3",
        "sparse_flag_": int(wish["sparse"]),
        **{f"{side}_major_": int(wish.get(f"transpose_{side}") in ("MN", True, 1)) for side in "ab"},
        **{f"{side}_negate_": int(wish.get(f"negate_{side}") in ("yes", True, 1)) for side in "ab"},
    }
    if row.scaled:
        members |= {"scale_format_": f"uint8_t(UMMA::ScaleFormat::{wish['scale_type'].upper()})"}
        members |= {"a_sf_id_": wish["sfa_id"], "b_sf_id_": wish["sfb_id"], "k_size_": int(wish.get("k") == "96")}
    else:
        members |= {"c_format_": f"uint8_t(UMMA::CFormat::{wish['d'].upper()})"}
        members |= {"saturate_": int(wish.get("saturate") in ("yes", True, 1))}
    union = "cute::UMMA::InstrDescriptor" + "BlockScaled" * bool(row.scaled)
    return f"{union} d = {{}};\n" + "\n".join(f"d.{name} = {value};" for name, value in members.items())


@for_each("sample", SAMPLES, ids=lambda sample: sample["desc"])
def test_assignments_to_cutlass_members_are_read_as_the_word(sample: dict[str, Any]) -> None:
    """Of a word that no kind accepts, it is said."""
    (meaning, *_) = recognise_instruction_word(_spell_members(sample))
    assert f"{int(sample['desc'], 0):#010x}" in " ".join((meaning.title, *meaning.notices))


@for_each(("declared", "noticed"), [("d;", True), ("d{};", False), ("d = {};", False)])
def test_members_of_a_union_without_initializer_are_said_to_be_0(declared: str, noticed: bool) -> None:
    text = f"UMMA::InstrDescriptor {declared} d.c_format_ = 1; d.n_dim_ = 32; d.m_dim_ = 8;"
    (meaning,) = recognise_instruction_word(text)
    assert any("taken as 0" in notice for notice in meaning.notices) == noticed


@for_each(("union", "kind"), [("InstrDescriptor", "kind::f8f6f4"), ("InstrDescriptorBlockScaled", "kind::mxf4nvf4")])
def test_the_union_decides_whether_factors_scale(union: str, kind: str) -> None:
    (meaning,) = recognise_instruction_word(
        f"{union} d{{}}; d.a_format_ = d.b_format_ = 1; d.m_dim_ = 8; d.n_dim_ = 16;"
    )
    assert kind in meaning.title


@for_each(
    ("text", "words"),
    [
        ("UMMA::InstrDescriptor d; d.desc_ = 0; d.c_format_ = 1, d.n_dim_ = 32, d.m_dim_ = 8;", ["0x08400010"]),
        (
            "UMMA::InstrDescriptor d{}; d.c_format_ = 1; d.n_dim_ = 32; d.m_dim_ = 8; auto e = d; e.n_dim_ = 8;",
            ["0x08400010", "0x08100010"],
        ),
        ("d.c_format_ = 1; d.n_dim_ = 32; d.m_dim_ = 8;", []),
        ("d.a_format_ = d.b_format_ = 1; d.c_format_ = 1; d.n_dim_ = 32;", []),
        ("d.a_format_ = d.b_format_ = 1; d.c_format_ = 1; d.n_dim_ = 32; d.m_dim_ = 8;", ["0x08400490"]),
        (
            "auto d = make_instr_desc<half_t, half_t, float, 128, 64, Major::K, Major::K>(); d.m_dim_ = 4;",
            [],
        ),
        ("InstrDescriptor f() { InstrDescriptor d = {}; d.m_dim_ = M >> 4; d.n_dim_ = N >> 3; return d; }", []),
    ],
)
def test_each_object_is_a_word_if_its_value_is_known(text: str, words: list[str]) -> None:
    found = recognise_instruction_word(text)
    assert [word for word in words if any(word in one.title for one in found)] == words and len(found) == len(words)


def test_the_words_of_the_sheet() -> None:
    assert encode(idesc.get_kind("f16"), {"a": "bf16", "b": "bf16", "d": "f32", "m": 128, "n": 256}).word == 0x08400490
    assert encode(idesc.get_kind("mxf8f6f4"), {"m": 128, "n": 128}).word == 0x08A00000
    assert encode(idesc.get_kind("mxf4nvf4"), {"m": 256, "n": 256, "scale_type": "ue4m3"}).word == 0x10400480


def list_legal_words() -> list[tuple[IdescWord, str]]:
    """A word of every kind, density, form and K, with a form it is legal in."""
    out = []
    for row in KINDS:
        for (form, sparse), size in row.sizes.items():
            wish = {"m": size.m[-1], "n": size.n[-1], "sparse": int(sparse)}
            out.append((encode(row, wish, form), form))
            if row.has_field("k") and not sparse and form == "cta_group::2":
                out.append((encode(row, {**wish, "k": 96}, form), form))
    return out


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
def test_ptxas_takes_every_opcode() -> None:
    given = list_legal_words()
    assert len(given) == 36 + 2
    lines = []
    for made, form in given:
        metadata, scales = ["[r3]"] * made.sparse, ["[r4]", "[r5]"] if made.kind.scaled else []
        operands = ", ".join(["[r0]", "q0", "q1", *metadata, "r2", *scales, "p"])
        lines.append(Line(code.get_opcode(made, form), operands))
    deep = [n for n, (made, _) in enumerate(given) if made.k == 96]
    good = assembler.find_accepted([line for n, line in enumerate(lines) if n not in deep], "sm_100a", "9.0")
    group = [n for n in range(len(lines)) if n not in deep]
    assert [lines[group[n]].ptx for n in range(len(group)) if n not in good] == []
    one = [n for n, (made, form) in enumerate(given) if made.k == 96]
    assert len(assembler.find_accepted([lines[n] for n in one], "sm_103a", "9.0")) == 2


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_the_statements_compile() -> None:
    head = (
        'extern "C" __global__ void k(unsigned d_tmem, unsigned long long a_desc, unsigned long long b_desc,'
        " unsigned accumulate, unsigned metadata_tmem, unsigned scale_a_tmem, unsigned scale_b_tmem) {\n"
    )
    body = "\n".join(
        f"{{ {code.render_constant(made)}\n{code.render_statement(made, form)} }}"
        for made, form in list_legal_words()
        if form != "cta_group::2"
    )
    ptx, log = nvrtc.compile_ptx(f"typedef unsigned uint32_t;\n{head}{body}\n}}\n", "sm_100a")
    assert not log and ptx.count("tcgen05.mma") == len([1 for _, form in list_legal_words() if form != "cta_group::2"])


CUTLASS = Path(assembler.sysconfig.get_paths()["purelib"]) / "cutlass_library" / "source" / "include"


# what is refused, and what is said ------------------------------------------------------------------------------------


def _list_codes(word: int, kind: str) -> list[str]:
    return [notice.code for notice in find_problems(IdescWord(word, idesc.get_kind(kind)))]


@for_each("kind", ["f8f6f4", "mxf8f6f4"])
@for_each("element", ["e2m1", "e2m3", "e3m2"])
def test_narrow_elements_in_bytes_may_be_mn_major(kind: str, element: str) -> None:
    """As CUTLASS's narrow_precision tests have them (NN, NT and TT); PTX's Table 54 lists no such row."""
    word = encode(idesc.get_kind(kind), {"a": element, "b": element, "m": 128, "n": 64, "transpose_a": "MN"})
    assert not find_problems(word) and "cta_group::1" in find_legal_forms(word)
    (notice,) = idesc.find_warnings(word)
    assert (notice.code, notice.source) == ("narrow_major", "CUTLASS; not run on hardware")
    assert f"A ({element}) is MN-major" in notice.message and "B (" not in notice.message
    assert not idesc.find_warnings(encode(idesc.get_kind(kind), {"a": "e4m3", "m": 128, "n": 64, "transpose_a": "MN"}))


@for_each("kind", ["mxf4", "mxf4nvf4"])
def test_packed_elements_are_k_major(kind: str) -> None:
    """CUTLASS's builder refuses the rest: only its mxf8f6f4 takes inputs that are not K-major."""
    with pytest.raises(LayoutError, match="has no MN-major operands"):
        encode(idesc.get_kind(kind), {"m": 128, "n": 64, "transpose_b": "MN"})


@for_each(
    ("kind", "bit", "named"),
    [
        ("f8f6f4", 29, "K 64"),
        ("mxf8f6f4", 31, "K 64"),
        ("mxf4", 3, "K, upper bit yes"),
        ("f16", 29, ""),
        ("i8", 29, ""),
    ],
)
def test_a_reserved_bit_that_is_a_field_of_sm_107_is_named(kind: str, bit: int, named: str) -> None:
    """PTX ISA 9.4, Tables 51 to 53; kinds f16 and i8 give bit 29 no meaning."""
    word = encode(idesc.get_kind(kind), {"m": 128, "n": 64}).word | 1 << bit
    (notice,) = [one for one in idesc.find_problems(IdescWord(word, idesc.get_kind(kind))) if one.field == "reserved"]
    assert ("On sm_107" in notice.message) == bool(named) and named in notice.message


def test_a_bit_without_a_meaning_keeps_a_word_from_being_one_of_sm_107() -> None:
    """Bit 29 is K there, bit 6 is reserved there, too."""
    word = encode(idesc.get_kind("f8f6f4"), {"m": 128, "n": 64}).word | 1 << 29 | 1 << 6
    (notice,) = [
        one for one in idesc.find_problems(IdescWord(word, idesc.get_kind("f8f6f4"))) if one.field == "reserved"
    ]
    assert "sm_107" not in notice.message


def test_what_is_illegal_has_a_name() -> None:
    assert _list_codes(0x08400490 | 1 << 6, "f16") == ["reserved_bits"]
    assert _list_codes(0x08400490 | 2 << 7, "f16") == ["reserved_code"]
    assert _list_codes(0x08400480, "f16") == ["d_type"]
    assert _list_codes(0x08400490 | 1, "f16") == ["selector_of_dense"] and _list_codes(0x08400490 | 5, "f16") == []
    eight = encode(idesc.get_kind("f8f6f4"), {"m": 128, "n": 64, "sparse": 1}).word
    assert _list_codes(eight | 1, "f8f6f4") == ["selector_of_kind"]
    fine = encode(idesc.get_kind("mxf4nvf4"), {"m": 128, "n": 64, "scale_type": "ue4m3"}).word
    assert (
        _list_codes(fine | 2 << 4, "mxf4nvf4") == ["id_of_4x"]
        and _list_codes(fine | 2 << 4 | 1 << 31, "mxf4nvf4") == []
    )
    assert _list_codes(0x08400490 | 1 << 3, "f16") == ["reserved_code"]
    assert _list_codes(0x90400484, "mxf4nvf4") == ["k96_sparse"]
    pair = find_problems_by_form(IdescWord(0x04400490, idesc.get_kind("f16")))
    assert [n.code for n in pair["cta_group::2"]] == ["bad_m"] and "M of the pair" in pair["cta_group::2"][0].message
    eight = encode(idesc.get_kind("i8"), {"m": 128, "n": 32, "transpose_b": 1}, "cta_group::1")
    assert find_legal_forms(eight) == ("cta_group::1", "cta_group::2")
    assert find_legal_forms(IdescWord(eight.word ^ (32 >> 3 ^ 24 >> 3) << 17, eight.kind)) == ()  # N 24
    assert find_legal_forms(encode(idesc.get_kind("f16"), {"m": 64, "n": 64, "max_shift": 32})) == ("ws",)


def test_what_is_open_says_so() -> None:
    """A page that shows something open has the word in it."""
    wishes: list[tuple[str, dict[str, object]]] = [
        ("mxf4", {"m": 128, "n": 64, "k": 96}),
        ("mxf4", {"m": 256, "n": 64, "k": 96, "sfa_id": 1}),
        ("f16", {"m": 128, "n": 64, "sparse": 1, "sparsity_selector": 2}),
        ("f16", {"m": 128, "n": 64, "b": "bf16", "d": "f32"}),
    ]
    client = share_client()
    for kind, wish in wishes:
        made = encode(idesc.get_kind(kind), wish)
        assert any("not documented" in notice.message for notice in find_warnings(made)), wish
        page = client.get(f"/idesc/{made}?kind={kind}").text
        assert "not documented" in page and "agrees with CUTLASS" in page and "verified" not in page


@for_each(
    ("wish", "field", "says"),
    [
        ({"m": 96, "n": 64}, "m", "M is 96. .cta_group::1: M 64 or 128, N 8 to 256 in steps of 8."),
        ({"m": 128, "n": 12}, "n", "n is 12. Multiples of 8 up to 256."),
        ({"m": 128, "n": 264}, "n", "N is 264."),
        ({"n": 64}, "m", "m is missing. Give M."),
        ({"m": 128, "n": 64, "a": "e5m2"}, "a", "a is 'e5m2'. Allowed: f16, bf16."),
        ({"m": 128, "n": 64, "saturate": 1}, "saturate", "kind::f16 has no saturate. saturate: 0."),
        ({"m": 128, "n": 64, "sparse": "maybe"}, "sparse", "sparse is 'maybe'. Allowed: 0, 1."),
        ({"m": 128, "n": 64, "sfa_id": 1}, "sfa_id", "There is no key 'sfa_id'."),
        ({"m": 128, "n": 64, "sparsity_selector": 4}, "sparsity_selector", "sparsity_selector is 4. From 0 to 3."),
    ],
)
def test_a_wish_is_refused_by_its_field(wish: dict[str, object], field: str, says: str) -> None:
    with pytest.raises(LayoutError) as refused:
        encode(idesc.get_kind("f16"), wish)
    assert refused.value.field == field and str(refused.value).startswith(says)


@for_each(
    ("text", "word"),
    [
        ("0x0", 0),
        ("0xffffffff", 0xFFFFFFFF),
        ("4294967295", 0xFFFFFFFF),
        ("136315024", 0x08200090),
        ("0x08400490", 0x08400490),
        (1 << 31, 1 << 31),
    ],
)
def test_a_word_of_32_bits_is_read_in_hex_and_decimal(text: object, word: int) -> None:
    assert idesc.parse_idesc_word(text) == word


@for_each("text", ["0x100000000", "4294967296", "0x0840049000000000"])
def test_a_word_of_more_than_32_bits_is_refused(text: str) -> None:
    with pytest.raises(LayoutError) as error:
        idesc.parse_idesc_word(text)
    assert error.value.code == "bad_word" and ("0x08400490" in error.value.hint) == text.startswith("0x08")


def test_a_form_is_asked_for() -> None:
    with pytest.raises(LayoutError, match=r"M is 64. .cta_group::2 .* It is legal with .cta_group::1 or .ws"):
        encode(idesc.get_kind("f16"), {"m": 64, "n": 64}, idesc.get_form(2))
    with pytest.raises(LayoutError, match="issued by one CTA"):
        idesc.get_form(2, 1)
    with pytest.raises(LayoutError, match=r"kind::mxf4 has no .ws: block scaling has no such form"):
        encode(idesc.get_kind("mxf4"), {"m": 128, "n": 64}, "ws")
    with pytest.raises(LayoutError, match=r"kind is 'f4'. Allowed: f16, tf32"):
        idesc.get_kind("f4")
    with pytest.raises(LayoutError, match="CUTLASS's idescE holds it in the upper half: 0x08400490"):
        idesc.parse_idesc_word("0x0840049000000000")
    assert (
        idesc.get_kind(".kind::F16").name == "f16"
        and idesc.parse_idesc_word("1u << 4 | 0x80") == 0x90
        and idesc.parse_idesc_word("138413200") == 0x08400490
    )


# server and command ---------------------------------------------------------------------------------------------------


# the zero-column mask of tcgen05.mma ----------------------------------------------------------------------------------


@for_each(("start", "first", "skip", "use", "printed"), oracle.MASKS)
def test_masks_are_ptxs_examples(start: int, first: int, skip: int, use: int, printed: str) -> None:
    fields = {"start_count_2": start, "first_span_2": first, "skip_span": skip, "use_span": use}
    mask = zeromask.encode_mask({**fields, "non_zero_mask": 1})
    assert "".join(map(str, mask.expand_sub_mask(2, len(printed))))[::-1] == printed
    assert sum(zeromask.encode_mask(fields).expand_bits(32, 64)) == 0


def test_sub_masks_stand_side_by_side() -> None:
    mask = zeromask.encode_mask(
        {"non_zero_mask": 1, "skip_span": 1, "use_span": 2, "first_span_1": 1, "start_count_3": 1}
    )
    bits = mask.expand_bits(32, 64)
    assert (
        bits == [bit for part in range(4) for bit in mask.expand_sub_mask(part, 16)]
        and len(set(map(tuple, [bits[:16], bits[16:32], bits[48:]]))) == 3
    )
    assert mask.list_zero_columns(128, 64) == [n for n in range(64) if n % 5 >= 3]
    assert ZeroMask(33 << 56).find_problems(128) == ["The shift is 33; with M = 128 it is at most 32."]
    assert ZeroMask(17 << 56).find_problems(64) == [] and ZeroMask(17 << 56).find_problems(32)
    assert ZeroMask(1 << 36).find_problems(64) == ["Reserved bits are set: 0x0000001000000000. They must be 0."]


def test_the_api_lists_the_zero_columns(client: Client) -> None:
    """Of each quarter of 16 columns, three of seven."""
    told = client.get("/api/v1/zero-column-masks/0x0003028000000000?m=64&n=64").json()
    assert told["columns"] == [4, 5, 6, 11, 12, 13, 18, 19, 20, 25, 26, 27, *(n + 32 for n in told["columns"][:12])]
