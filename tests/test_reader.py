"""Any text: what the recognisers say of it, held to CUTLASS's own headers where it is an atom."""

from __future__ import annotations

import gzip
import html
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from lanescope import reader
from lanescope.app.kit.encoding import encode_json
from lanescope.app.read import certain_links, draw, text_meanings
from lanescope.cute.text import parse_layout
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from tests import reader_corpus
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope
from tests.sample import is_chosen

GOLDEN = Path(__file__).parent / "golden" / "cutlass_ptx.txt.gz"
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"


def list_instructions(text: str) -> list[str]:
    """The instructions that a text names, or may name."""
    facts = reader.recognise_text(text).found[0].facts
    return [facts["ptx"]] if facts["ptx"] else list(facts["candidates"])


def test_every_atom_of_cutlass_is_the_instruction_that_it_emits() -> None:
    """Names and asm lines of include/cute/arch of CUTLASS 4, but for the operands; each name once."""
    rows = [line.rsplit(" ", 1) for line in gzip.decompress(GOLDEN.read_bytes()).decode().splitlines()]
    assert len(rows) > 2300
    several = []
    for name, ptx in rows:
        if not (is_chosen(name, 4) or "ue8m0_t, VS" in name):
            continue
        found = list_instructions(name)
        assert catalog.find(ptx).ptx in found, name
        if len(found) > 1:
            several.append(name)
    assert len(several) == 2 and all("float_ue8m0_t, VS" in name for name in several)  # the vector size is left open


def test_an_atom_with_a_in_registers_has_no_mn_major_a() -> None:
    (error,) = reader.recognise_text("SM90_64x128x16_F32BF16BF16_RS<GMMA::Major::MN, GMMA::Major::K>").refused
    assert error.message.endswith("A in registers is K-major.")


@for_each(
    ("text", "ptx"),
    [
        (f"/* was mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 */ {M16} {{%0}};", M16),
        ("wgmma.mma_async.m64n128k16.f32.bf16.bf16 {%0}, %1, %2, p, 1, 1, 0, 0;", WGMMA),
        ('asm volatile("mma.sync.aligned.m16n8k16.row.col"\n  ".f32.f16.f16.f32 {%0}, {%1};\\n" ::);', M16),
        ('"mma.sync.aligned.m16n8k16\\n\\t.row.col.f32.f16.f16.f32"', M16),
        ("using Atom = MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>;", M16),
        ("wgmma.m64n128k16.f32.bf16.bf16", WGMMA),
        ("SM90_64x128x16_F32BF16BF16_SS", WGMMA),
        ("cute::SM90::GMMA::MMA_64x128x16_F32BF16BF16_RS<GMMA::Major::K, GMMA::Major::MN>", WGMMA),
        ("Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}", LDMATRIX),
        ("nvcuda::wmma::fragment<matrix_a, 16, 16, 16, half, row_major>", "wmma.load.a.sync.aligned.row.m16n16k16.f16"),
        ("wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;", "wmma.load.c.sync.aligned.row.m16n16k16.f32"),
        (
            "mma.sync.aligned.kind::f8f6f4.sp::ordered_metadata.m16n8k64.row.col.f32.e2m1.e2m1.f32",
            "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32",
        ),
    ],
)
def test_one_instruction(client: Client, text: str, ptx: str) -> None:
    found = reader.recognise_text(text).found[0]
    assert list_instructions(text) == [ptx] and (found.sure or found.facts["refused"])
    answer = client.get("/read", params={"text": text}, follow_redirects=False)
    if not found.sure:  # a line that ptxas refuses stays where that is said
        assert answer.status_code == 200 and f'href="/i/{ptx}"' in answer.text
        return
    assert answer.status_code == 303 and urlsplit(answer.headers["location"]).path == f"/i/{ptx}"


@for_each(
    ("text", "expected"),
    [
        ("HMMA.16816.F32", [M16]),
        ("        /*0a50*/   HMMA.16816.F32.BF16 R4, R8, R10, R4 ;", [M16.replace("f16", "bf16")]),
        ("HMMA.1688.F32.TF32 R4", ["mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"]),
        ("IMMA.16832.S8.U8.SAT", ["mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32"]),
        ("BMMA.168256.XOR.POPC", ["mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc"]),
        ("HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24", [WGMMA]),
        ("QGMMA.64x8x32.F32.E4M3.E5M2", ["wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2"]),
        ("LDSM.16.M88.4 R4, [R2]", [LDMATRIX]),
        ("LDSM.16.MT88.2", ["ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16"]),
        ("STSM.16.M88", ["stmatrix.sync.aligned.m8n8.x1.shared.b16"]),
        ("MOVM.16.MT88", ["movmatrix.sync.aligned.m8n8.trans.b16"]),
    ],
)
def test_sass_names_candidates_and_never_more(client: Client, text: str, expected: list[str]) -> None:
    (found,) = reader.recognise_text(text).found
    assert list(found.facts["candidates"]) == expected and found.facts["ptx"] is None and not found.sure
    page = client.get("/read", params={"text": text}, follow_redirects=False)
    assert page.status_code == 200 and all(f'href="/i/{ptx}"' in page.text for ptx in expected)


@for_each(
    ("text", "word"),
    [
        ("0x4000004000010100", "0x4000004000010100"),
        ("4000004000010100", "0x4000004000010100"),
        ("40000040:00010100", "0x4000004000010100"),
        ("{0x00010100, 0x40000040}", "0x4000004000010100"),
        ("1ull << 62 | (uint64_t)(1024 >> 4) << 32 | 1 << 16 | 0x100", "0x4000004000010100"),
        ("constexpr uint64_t desc = 0x4000004000010100ull;", "0x4000004000010100"),
        ("desc.bitfield.stride_byte_offset_ = 64; desc.bitfield.layout_type_ = 1;", "0x4000004000000000"),
    ],
)
def test_one_word(client: Client, text: str, word: str) -> None:
    found = reader.recognise_text(text).found
    assert [one.facts["word"] for one in found] == [word] and found[0].sure
    answer = client.get("/read", params={"text": text}, follow_redirects=False)
    assert answer.status_code == 303 and answer.headers["location"] == f"/descriptor/wgmma/{word}"


def test_a_shift_of_32_bits_shows_both_words(client: Client) -> None:
    words = [one.facts["word"] for one in reader.recognise_text("1 << 62 | 0x100").found]
    assert words == ["0x0000000000000100", "0x4000000000000100"]
    page = client.get("/read", params={"text": "1 << 62 | 0x100"}, follow_redirects=False)
    assert page.status_code == 200 and "shifts a 32-bit value" in page.text and words[1] in page.text


def test_code_leaves_the_start_to_its_symbol() -> None:
    code = "uint64_t d = (uint64_t)(1024 >> 4) << 32 | 1ull << 62; return d | ((uint64_t)(addr & 0x3FFFF) >> 4);"
    (found,) = reader.recognise_text(code).found
    assert found.kind == "builder" and found.facts["word"] is None and found.facts["start"] == "addr"
    assert found.facts["fields"] == {"lbo_bytes": 0, "sbo_bytes": 1024, "base_offset": 0, "swizzle": "128B"}
    link = urlsplit(text_meanings.read_text(code).link)
    assert link.path == "/descriptor" and parse_qs(link.query)["word"] == [code]


def test_a_layout_says_what_it_is() -> None:
    text = "Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_8),_64):((_64,_512),_1)"
    (found,) = reader.recognise_text(text).found
    assert found.sure and {name: found.facts[name] for name in ("shape", "stride", "swizzle", "element_bits")} == {
        "shape": "((8,8),64)",
        "stride": "((64,512),1)",
        "swizzle": "3,4,3",
        "element_bits": 16,
    }
    assert (found.facts["size"], found.facts["cosize"], found.facts["modes"]) == (4096, 4096, 2)
    grid = draw.build_offset_table(text)
    assert grid and (grid.rows, grid.cols) == (64, 64)
    assert grid.index[1][:9] == (72, 73, 74, 75, 76, 77, 78, 79, 64)  # row 1 of a 128-byte atom: chunks 1, 0
    assert parse_layout(found.facts["cute"]) == parse_layout(text)


@for_each("text", ["8:1", "16:32"])
def test_what_may_be_two_things_is_not_decided(client: Client, text: str) -> None:
    kinds = [one.kind for one in reader.recognise_text(text).found]
    assert kinds == ["layout", "descriptor"] and certain_links.find_certain_link(text) == ""


@for_each(
    ("text", "code"),
    [
        ("mma.sync.aligned.m16n8k12.row.col.f32.f16.f16.f32", "unknown_instruction"),
        ("SM80_16x8x17_F32F16F16F32_TN", "unknown_atom"),
        ("SM80_8x8x4_C64C64C64C64_TN", "unknown_atom"),
        ("HMMA.99999.F32", "unknown_sass"),
        ("wmma::fragment<matrix_a, 16, 16, 17, half, row_major>", "unknown_fragment"),
        ("(8,64):(64", "bad_cute"),
        ("0x40000040000101001", "bad_word"),
        ("hello", ""),
        ("", ""),
        ("(", ""),
        ("&?#", ""),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_guessed(client: Client, text: str, code: str) -> None:
    told = reader.recognise_text(text)
    assert not told.found and [error.code for error in told.refused][:1] == ([code] if code else [])
    said = text_meanings.read_text(text)
    assert said.kind == "unknown" and said.facts == {} and said.notices and said.link.startswith("/read?")
    page = client.get("/read", params={"text": text})
    assert page.status_code == 200 and "What you can paste" in page.text


def test_several_instructions_stand_in_their_order(client: Client) -> None:
    text = f'asm("{LDMATRIX} ..."); asm("{M16} ..."); asm("{LDMATRIX} ..."); asm("wgmma.fence.sync.aligned;");'
    told = client.post("/api/v1/read", json={"text": text}).json()
    assert told["kind"] == "instruction" and told["facts"]["all"] == [LDMATRIX, M16, LDMATRIX]
    assert [one["link"] for one in told["also"]] == ["/guide/wgmma.fence"]
    assert certain_links.find_certain_link(text) == ""


def test_an_operand_is_pinned(client: Client) -> None:
    told = client.post("/api/v1/read", json={"text": f"{M16}/b"}).json()
    assert told["facts"]["operand"] == "b" and told["link"] == f"/i/{M16}?pin=b:0,0"


def test_what_was_typed_is_kept(client: Client) -> None:
    page = client.get("/read", params={"text": '"><script>alert(1)</script>'}).text
    assert "<script>alert" not in page and "&gt;&lt;script&gt;alert(1)&lt;/script&gt;</textarea>" in page


def test_too_long_and_too_many_keys(client: Client) -> None:
    with pytest.raises(LayoutError, match="65537 characters"):
        reader.recognise_text("x" * (reader.LONGEST + 1))
    assert client.post("/api/v1/read", json={"text": "x", "kind": "y"}).json()["error"]["code"] == "unknown_key"
    assert client.post("/api/v1/read", json={}).json()["error"]["field"] == "text"


def test_the_command_prints_what_the_api_answers(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "kernel.cu"
    file.write_text(f'asm("{M16}");')
    done = run_lanescope("read", str(file), "--json")
    assert json.loads(done.stdout) == client.post("/api/v1/read", json={"text": file.read_text()}).json()
    told = run_lanescope("read", str(file))
    assert told.returncode == 0 and told.stdout.splitlines() == [f"instruction: {M16}", f"  /i/{M16}"]
    file.write_text("nothing")
    assert run_lanescope("read", str(file)).returncode == 1
    assert run_lanescope("read", str(tmp_path / "missing")).returncode == 2


def test_the_command_lists_the_instructions_of_a_block() -> None:
    block = f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r0, %r1, %r2, %r3}}, [%r9];\n{M16} {{%f0}}, {{%r0}}, {{%r4}};"
    told = run_lanescope("read", block).stdout.splitlines()
    assert told[1:3] == ["  ldmatrix.sync.aligned.m8n8.x4.shared.b16", f"  {M16}"]


@for_each(
    "text, word",
    [
        ("lo=00010040 hi=40000040", "0x4000004000010040"),
        ("lo: 0x00010040 hi: 0x40000040", "0x4000004000010040"),
        ("desc hi 40000040 lo 00010040", "0x4000004000010040"),
        ("lo=65600 hi=1073741888", "0x4000004000010040"),
    ],
)
def test_halves_as_printf_writes_them(text: str, word: str) -> None:
    (found,) = [one for one in reader.recognise_text(text).found if one.kind == "descriptor"]
    assert found.facts["word"] == word


def test_a_refused_address_says_why_whatever_else_it_holds(client: Client) -> None:
    for query in ({"z": "@@"}, {"z": "@@", "major.a": "K"}):
        answer = client.get("/read", params=query)
        assert answer.status_code == 422 and 'role="alert"' in answer.text


@for_each(
    "text",
    [
        '#include "mma.cuh"\n#include <wgmma.h>',
        "auto part = mma.get_thread_slice(tid);",
        "Every warp issues its own MMA. All of them wait.",
        "T.ptx.wgmma.commit_group()",
    ],
)
def test_words_of_code_and_prose_are_no_wrong_instruction(text: str) -> None:
    told = reader.recognise_text(text)
    assert not told.found and not told.refused


def test_the_other_instructions_of_a_family_are_not_called_wrong() -> None:
    text = 'asm("wgmma.fence.sync.aligned;"); asm("{}.f32.bf16.bf16 {{%0}}, %1, %2, p, 1, 1, 0, 0;");'
    (found,) = reader.recognise_text(text.format("wgmma.mma_async.sync.aligned.m64n128k16")).found
    assert found.facts["ptx"] == WGMMA and found.sure and not found.notices
    (wrong,) = reader.recognise_text(text.format("wgmma.mma_async.sync.aligned.m64n100k16") + WGMMA).found
    assert "m64n100k16" in wrong.notices[0]


@for_each("end", ['%dk16.f32.f16.f16"', '" #N "k16.f32.f16.f16"', '{n}k16.f32.f16.f16"'])
def test_an_opcode_that_code_completes_is_said_to_go_on(end: str) -> None:
    told = reader.recognise_text('"wgmma.mma_async.sync.aligned.m64n' + end)
    assert not told.found and "is incomplete: code inserts numbers" in told.refused[0].message


@for_each(
    ("text", "kind", "sure"),
    [
        ("$1 = {x = 65792, y = 1073741888}", "descriptor", False),
        ("blockIdx = {x = 1, y = 1073741888}", "descriptor", False),
        ("desc_a = {x = 65792, y = 1073741888}", "descriptor", True),
        ("p desc_a\n$1 = {x = 65792, y = 1073741888}", "descriptor", True),
        ("$1 = {x = 65792, y = 1073758272}", "descriptor", True),  # Blackwell's version
        ("!tt.tensordesc<tensor<128x64xf8E4M3FN, #ttg.nvmma_shared<{swizzlingByteWidth = 77}>>>", "tensor_map", False),
        ("!tt.tensordesc<tensor<128x64xf8E4M3FN, #ttg.nvmma_shared<{swizzlingByteWidth = 64}>>>", "tensor_map", True),
    ],
)
def test_what_may_be_another_thing_is_not_sure(text: str, kind: str, sure: bool) -> None:
    """A point of a debugger may hold any two numbers; a mode that does not exist is said to be none."""
    told = [one for one in reader.recognise_text(text).found if one.kind == kind]
    assert [one.sure for one in told] == [sure]
    assert kind == "descriptor" or sure or "no swizzle of 77B" in told[0].notices[0]


@for_each("text", ["(8,64):(64,1,2) in the A tile", "Sw<3,4,3> o smem_ptr[16b](0x4) o (8,64):(64) at first"])
def test_a_wrong_layout_with_words_behind_it_is_refused(text: str) -> None:
    told = reader.recognise_text(text)
    assert not told.found and [one.code for one in told.refused] == ["bad_cute"]


def test_a_coordinate_tensor_is_refused_as_one() -> None:
    with pytest.raises(LayoutError, match="coordinate tensor"):
        reader.cute_layout.recognise_layouts("ArithTuple(_0,_0) o (_128,_64):(_1@0,_1@1)")


def test_a_lone_tensor_map_leads_to_its_tile(client: Client) -> None:
    """Its type, box and swizzle, and the page of the tile; none where the text leaves one open."""
    code = "a = torch.zeros((512, 256), dtype=torch.{})\nd = TensorDescriptor.from_tensor(a, [128, {}])"
    page = client.get("/read", params={"text": code.format("bfloat16", 64)}).text
    link = html.unescape(page.split('class="next"><a href="', 1)[1].split('"', 1)[0])
    assert link.startswith("/smem?") and "swizzle=128B" in link and "mn=128" in link and "k=64" in link
    assert client.get(link).status_code == 200 and "64 × 128" in page
    for kind, width in (("mystery", 64), ("bfloat16", "W")):
        page = client.get("/read", params={"text": code.format(kind, width)}).text
        assert "/smem?element_bits" not in page and "the text does not say" in page


def test_a_fragment_that_does_not_exist_is_compared_with_the_most_similar() -> None:
    (refusal,) = reader.recognise_text("wmma::fragment<wmma::matrix_b, 16, 8, 16, half, wmma::col_major> b;").refused
    assert refusal.hint.startswith("Try nvcuda::wmma::fragment<matrix_b, 16, 16, 16, __half, col_major>, ")


# every text of the corpus is read as it must be -----------------------------------------------------------------------


def read_text(text: str) -> dict[str, object]:
    return json.loads(encode_json(text_meanings.read_text(text)))  # type: ignore[no-any-return]


@for_each("entry", reader_corpus.load_entries(), ids=lambda e: f"{e.file}: {e.title}", sample=120)
def test_a_text_of_the_corpus(entry: reader_corpus.CorpusEntry) -> None:
    answer = read_text(entry.text)
    assert reader_corpus.find_wrong_facts(entry, answer) == []
