"""tcgen05's matrix descriptor on sm_107, against PTX ISA 9.4's table, and what is said of it without a target."""

from __future__ import annotations

import pytest

from lanescope.blackwell import idesc, umma
from lanescope.blackwell.bound import bind
from lanescope.blackwell.idesc import IdescWord
from lanescope.descriptor.matrix import Descriptor, View, encode_descriptor, reads
from lanescope.descriptor.notices import find_outside_reads, find_warnings
from lanescope.descriptor.verify import verify
from lanescope.errors import LayoutError
from lanescope.ptx.architectures import get_architecture
from lanescope.ptx.catalog import find
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA, fit_format, get_format_of_word
from lanescope.render.descriptor import render_code
from lanescope.shared.storage import storage
from tests.cases import for_each
from tests.checked import check_text
from tests.client import share_client
from tests.found_in_code import find_builders
from tests.oracle.tcgen05 import SMEM_93, SMEM_94
from tests.test_check_tcgen05 import RIGHT

RUBIN = fit_format(TCGEN05, "sm_107a")
HIGH, LOW = 0x4000404000014100, 0x4000404000010100  # the start 0x41000, and its lower 18 bits
F16, F8 = "tcgen05.mma.cta_group::1.kind::f16", "tcgen05.mma.cta_group::1.kind::f8f6f4"
MXF4 = "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X"
NVF4 = "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X"
SEEN = View(128, 16, 16, "K", RUBIN)
TILE = {"kind": "canonical", "swizzle": "128B", "mn": 128, "k": 64}


@for_each(("target", "table"), [("", SMEM_93), ("sm_100a", SMEM_93), ("sm_107f", SMEM_94), ("sm_107a", SMEM_94)])
def test_the_fields_are_those_of_the_target(target: str, table: list[tuple[int, int, str]]) -> None:
    form = fit_format(TCGEN05, target)
    fields = [(field.low, field.high, field.name) for field in form.fields]
    assert sorted(fields + [(low, high, "reserved") for low, high in form.reserved]) == table
    assert form.query == {"format": "tcgen05", **({"target": target} if target else {})}


def test_a_block_of_the_format_is_one_of_the_architecture() -> None:
    assert RUBIN.block_bytes == get_architecture("sm_107a").block_shared_memory
    assert TCGEN05.block_bytes == get_architecture("sm_100a").block_shared_memory
    assert fit_format(WGMMA, "sm_90a") is WGMMA


@for_each("bit", range(64))
def test_a_reserved_bit_is_named_as_the_field_that_it_is_on_sm_107(bit: int) -> None:
    """Bits 14, 30 and 53 are fields' there; with a target, and for every other bit, it is reserved."""
    named = {14: "start address 0x41000", 30: "LBO 262160 B", 53: "K segment 1"}
    word = LOW | 1 << bit
    if not Descriptor(word, TCGEN05).reserved:
        return
    said = {target: find_warnings(Descriptor(word, fit_format(TCGEN05, target))) for target in ("", "sm_100a")}
    any_target, other = ([one.message for one in found if one.code == "reserved_bits"] for found in said.values())
    assert ("On sm_107" in any_target[0]) == (bit in named) and named.get(bit, "") in any_target[0]
    assert "sm_107" not in other[0] and "They must be 0." in other[0]
    there = [one.code for one in find_warnings(Descriptor(word, RUBIN))]
    assert ("reserved_bits" in there) == (bit not in named)


def test_a_word_with_a_bit_that_no_target_has_is_none_of_sm_107() -> None:
    (message,) = [w.message for w in find_warnings(Descriptor(HIGH | 1 << 31, TCGEN05)) if w.code == "reserved_bits"]
    assert "sm_107" not in message


def test_a_word_without_a_name_is_of_tcgen05_on_every_target() -> None:
    assert get_format_of_word(HIGH) is TCGEN05 and get_format_of_word(HIGH ^ 1 << 46) is WGMMA


def test_amounts_above_18_bits_are_encoded_for_sm_107_alone() -> None:
    amounts = {"start_address": 0x41000, "lbo_bytes": 0x50000, "sbo_bytes": 1024}
    made = encode_descriptor(RUBIN, amounts, "128B")
    assert made.word == HIGH & ~0xFFFF0000 | 0x5000 << 16 and [made.facts[name] for name in amounts] == list(
        amounts.values()
    )
    with pytest.raises(LayoutError, match="18-bit") as refused:
        encode_descriptor(TCGEN05, amounts, "128B")
    assert "sm_107" in refused.value.hint
    with pytest.raises(LayoutError, match="19-bit") as refused:
        encode_descriptor(RUBIN, {"start_address": 1 << 19}, "128B")
    assert "sm_107" not in refused.value.hint


def test_the_start_moves_what_is_read() -> None:
    high, low = reads(Descriptor(HIGH, RUBIN), SEEN), reads(Descriptor(LOW, RUBIN), SEEN)
    assert (high - low == 0x40000).all()
    assert not find_outside_reads(Descriptor(HIGH, RUBIN), SEEN)
    end = encode_descriptor(RUBIN, {"start_address": 328 * 1024 - 1024, "sbo_bytes": 1024, "lbo_bytes": 16}, "128B")
    assert find_outside_reads(end, SEEN)[0].code == "reads_beyond_shared"


def test_a_start_that_ptxs_function_cut_is_the_cause() -> None:
    """(x & 0x3FFFF) >> 4 of 0x41000 is the start 0x1000."""
    stored = storage({**TILE, "base": 0x41000}, 16, "K", RUBIN)
    assert verify(Descriptor(HIGH, RUBIN), SEEN, stored).match
    (cause,) = verify(Descriptor(LOW, RUBIN), SEEN, stored).diagnoses
    assert cause.code == "start_wrong" and "0x3FFFF" in cause.message and "0x7FFFF" in cause.message
    assert cause.fix is not None and cause.fix.word == HIGH


def test_what_ptx_leaves_open_is_open() -> None:
    """Bit 53 is of .decompress::lut::b; the function of Table 49 never sets bits 14 and 30."""
    with pytest.raises(LayoutError, match="K segment") as refused:
        reads(Descriptor(LOW | 1 << 53, RUBIN), SEEN)
    assert refused.value.code == "open_k_segment"
    codes = {bit: [one.code for one in find_warnings(Descriptor(LOW | 1 << bit, RUBIN))] for bit in (14, 30, 53)}
    assert codes == {14: ["upper_bit"], 30: ["upper_bit"], 53: ["k_segment"]}
    (absolute,) = find_warnings(Descriptor(LOW | 1 << 52, RUBIN))
    assert "sm_107a" in absolute.message and "sm_103a" in absolute.message


def test_a_match_without_a_target_names_sm_107() -> None:
    stored = storage({**TILE, "base": 0x1000}, 16, "K", TCGEN05)
    verdict = verify(Descriptor(HIGH, TCGEN05), View(128, 16, 16, "K", TCGEN05), stored)
    assert verdict.match and any("sm_107" in one and "0x41000" in one for one in verdict.caution)


def test_code_for_cutlass_has_every_bit() -> None:
    code = render_code(Descriptor(HIGH, RUBIN))
    assert "0x7FFFF" in code["function"] and "start_address_ = 256;" in code["cutlass"]
    assert "desc_ |= 0x4000ull" in code["cutlass"]


def test_a_struct_with_15_bits_of_start_is_one() -> None:
    """Its name and its fields' names say nothing; the fields' bits are those of Table 49."""
    text = """union Desc { uint64_t word; struct { uint64_t start : 15, : 1, lbo : 15, : 1, sbo : 14, ver : 3, base : 3,
      mode : 1, seg : 1, : 7, swz : 3; }; };
    void f() { Desc d; d.word = 0; d.start = 0x100; d.lbo = 1; d.sbo = 64; d.ver = 1; d.swz = 2; use(d.word); }"""
    assert [one.format for one in find_builders(text)] == ["tcgen05"]


CODE = """__global__ void k(uint32_t tmem, uint64_t b) {
  uint64_t a_desc = (uint64_t)1 << 46 | 2ull << 61 | 64ull << 32 | 1ull << 16 | (0x41000 >> 4);
  asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, 1;"
               :: "r"(tmem), "l"(a_desc), "l"(b), "r"(0x08200490));
}"""


def test_check_reads_the_word_for_its_target() -> None:
    found = {target: check_text(CODE, target=target).findings for target in ("", "sm_100a", "sm_107a")}
    assert [one.code for one in found[""]] == [one.code for one in found["sm_100a"]] == ["reserved_bits"]
    assert "sm_107" in found[""][0].message and "sm_107" not in found["sm_100a"][0].message
    assert not found["sm_107a"]


F8_CODE = (
    RIGHT.replace("BFLOAT16", "UINT8")
    .replace("{64, ", "{128, ")
    .replace("kind::f16", "kind::f8f6f4")
    .replace("(1u << 7) | (1u << 10)", "(1u << 29)")
    .replace("k < 4", "k < 2")
    .replace("k * 32", "k * 64")
)


@for_each(
    ("text", "target", "steps", "codes"),
    [
        (F8_CODE, "sm_107a", 4, set()),  # two operands, two steps of K = 64
        (F8_CODE, "", 0, {"idesc_reserved_bits"}),
        (RIGHT.replace("0x3FFFF", "0x7FFFF"), "sm_107a", 8, set()),
    ],
)
def test_check_verifies_what_sm_107_reads(text: str, target: str, steps: int, codes: set[str]) -> None:
    made = check_text(text, target=target)
    assert ({one.code for one in made.findings}, made.steps) == (codes, steps)


# bound products -------------------------------------------------------------------------------------------------------


@for_each(
    ("ptx", "wish", "k", "left"),
    [
        (F8, "k=64,m=128,n=128", 64, {"a"}),
        (F8, "m=128,n=128", 32, set()),
        (NVF4, "k=128,m=128,n=128", 128, {"a", "scale_a", "scale_b"}),
        (MXF4.replace("mma", "mma.sp"), "k=96,m=128,n=128", 192, {"a", "metadata", "scale_a", "scale_b"}),
        (MXF4, "sfa_layout=128,m=128,n=128", 64, {"scale_a"}),
    ],
)
def test_a_product_is_bound_with_the_k_of_sm_107(ptx: str, wish: str, k: int, left: set[str]) -> None:
    made = bind(find(ptx), wish, "sm_107a")
    assert made.sizes["k"] == made.word.k == k and left == set(made.open)
    assert made.operand("d").owner(7, 44) == bind(find(ptx), "m=128,n=128").operand("d").owner(7, 44)


def test_a_word_of_sm_107_is_refused_without_its_target() -> None:
    word = str(bind(find(F8), "k=64,m=128,n=128", "sm_107a").word)
    for target in ("", "sm_100a"):
        with pytest.raises(LayoutError) as refused:
            bind(find(F8), word, target)
        assert ("sm_107" in refused.value.message) == (target == "")


def test_narrow_types_with_the_wide_k_are_open() -> None:
    """PTX ISA 9.4, 9.7.18.10.4.4: without padding, so no byte an element."""
    row = idesc.get_kind("mxf8f6f4")
    by = umma.parse_mma_opcode("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale")
    word = idesc.encode(row, {"m": 128, "n": 128, "k": "64", "a": "e2m1", "b": "e4m3"}, target="sm_107a")
    assert umma.make_view(by, word, "b") == View(128, 64, 8, "K", RUBIN)
    with pytest.raises(LayoutError) as refused:
        umma.make_view(by, word, "a")
    assert refused.value.code == "open_packing"


# pages, JSON, command -------------------------------------------------------------------------------------------------


def test_a_bound_product_takes_the_target() -> None:
    client = share_client()
    told = client.get(f"/api/v1/instructions/{F8}?idesc=k=64,m=128,n=128&target=sm_107a").json()
    assert told["shape"]["k"] == 64 and told["operands_open"].keys() == {"a"}
    assert client.get(f"/api/v1/instructions/{F8}?idesc={told['idesc']}").status_code == 422
    page = client.get(f"/i/{F8}?idesc={told['idesc']}&target=sm_107a").text
    assert "M 128 × N 128 × K 64" in page and f"/idesc/{told['idesc']}?kind=f8f6f4&amp;target=sm_107a" in page
    assert "aria-invalid" in client.get(f"/i/{F8}?idesc={told['idesc']}").text
    assert IdescWord(int(told["idesc"], 16), idesc.get_kind("f8f6f4"), "sm_107a").k == 64
