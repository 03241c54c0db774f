"""Words, messages and other names in the box: the page that each opens."""

from __future__ import annotations

import random
import re

import pytest

from lanescope.app.catalogue import full_text
from lanescope.app.guide import index as guide_index
from lanescope.app.guide.rendering import list_sections
from lanescope.app.read import text_meanings
from lanescope.app.read.facts import Reading
from lanescope.app.read.text_meanings import find_certain_link
from lanescope.app.read.thread_names import find_thread
from lanescope.names import forms
from lanescope.names.form_names import name_form
from lanescope.ptx import catalog
from tests.cases import for_each
from tests.client import Client

BF16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"


def read(text: str) -> Reading:
    return text_meanings.read_text(text)


@for_each(
    ("text", "page"),
    [
        ("gdesc[UR4].tnspB", "/descriptor"),
        ("what is idesc[UR11]?", "/idesc"),
        ("tmem[UR8]", "/tmem"),
        ("MMASmemDescriptor.create[8, 64, TensorMapSwizzle.SWIZZLE_128B](ptr)", "/descriptor"),  # Mojo; no TMA
    ],
)
def test_an_operand_alone_opens_the_page_about_it(text: str, page: str) -> None:
    assert read(text).link == page


@for_each(
    ("text", "title"),
    [
        ("sttm.X16", "STTM.x16: compiled from tcgen05.st.sync.aligned.32x32b.x16.b32"),
        ("UTCCP.T.S.4x32dp128bit", "UTCCP.T.S.4x32dp128bit: compiled from tcgen05.cp.cta_group::1.32x128b.warpx4"),
        ("GemmShape<128, 128, 32>", "A tile of CUTLASS 2.x: M 128, N 128, K 32"),
        ("cutlass::gemm::GemmShape<64,64,32>", "A tile of CUTLASS 2.x: M 64, N 64, K 32"),  # also a shape of wgmma
        ("GemmShape<16,8,16>", "32 instructions with 'm16n8k16'"),
        ("GemmShape<16, 16, 16>", "64 instructions with 'm16n16k16'"),  # wmma
        ("gemm::GemmShape<1, 1, 1>", "GemmShape<1, 1, 1> of CUTLASS 2.x"),
    ],
)
def test_a_name_is_read_as_its_tool_spells_it(text: str, title: str) -> None:
    assert read(text).title == title


# words ---------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_every_anchor_of_the_search_stands_on_its_page() -> None:
    for slug in guide_index.ORDER:
        anchors = {anchor for anchor, _ in list_sections(slug)}
        sections = [one for one in full_text._build_index().sections if one.page == f"/guide/{slug}" and one.anchor]
        assert {one.anchor for one in sections} <= anchors, slug


def test_a_sentence_that_shares_words_with_a_page_is_recognised() -> None:
    draw = random.Random(3)
    words = [word for slug in guide_index.ORDER for word in full_text.split_words(guide_index.read_title(slug))]
    for _ in range(60):
        text = f"why does my {draw.choice(words)} and the {draw.choice(words)} look odd"
        assert read(text).title != "Not recognised", text


# names with what an opcode does not say ------------------------------------------------------------------------------


@for_each(
    ("text", "query"),
    [
        ("0x4000004000010000 wgmma m64n128k16 bf16 A K-major", "operand=a&major=K"),
        ("wgmma m64n128k16 bf16 operand b MN-major: 0x4000004000010000", "operand=b&major=MN"),
        ("desc_b = 0x4000004000010000, wgmma m64n128k16 bf16", "operand=b"),
        ("what does 0x4000004000010000 mean for A of wgmma.m64n128k16 bf16?", "operand=a"),
        ("{0x00010000, 0x40000040} for B of wgmma m64n128k16 bf16", "operand=b"),
        ("0x40000040:0x00010000 for A of HGMMA.64x128x16.F32.BF16", "operand=a"),
    ],
)
def test_a_word_beside_its_instruction_opens_what_it_reads(client: Client, text: str, query: str) -> None:
    opcode = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
    reading = read(text)
    assert reading.link == f"/descriptor/wgmma/0x4000004000010000?instruction={opcode}&{query}", reading
    assert not reading.notices and client.get(reading.link).status_code == 200


def test_a_word_of_tcgen05_beside_its_instruction_opens_what_it_reads(client: Client) -> None:
    reading = read("0x4000404000010000 for A of tcgen05.mma.cta_group::1.kind::f16")
    opcode = "tcgen05.mma.cta_group%3A%3A1.kind%3A%3Af16"
    assert reading.link == f"/descriptor/tcgen05/0x4000404000010000?instruction={opcode}&operand=a"
    assert client.get(reading.link).status_code == 200


@for_each(
    ("text", "says"),
    [
        ("0x4000004000010000 tcgen05.mma.cta_group::1.kind::f16", "tcgen05 needs version 1"),
        ("0x4000404000010000 wgmma m64n128k16 bf16", "wgmma.mma_async reads descriptors of wgmma"),
        ("0x4000004000010000 mma.m16n8k16 bf16", "mma reads no matrix descriptor"),
        ("UR4:UR5 = 0x10100:0x40000040 HGMMA.64x64x16.F32 R24, gdesc[UR4], R24, gsb0", "Not read: 0x40000040."),
        ("desc_a 0x4000004000010100 wgmma.mma_async.sync.aligned.m64n100k16.f32.f16.f16", "N is 100"),
    ],
)
def test_what_is_not_read_of_a_text_is_said(text: str, says: str) -> None:
    assert any(says in notice for notice in read(text).notices), read(text)


@for_each(
    "text",
    [
        "0x4000004000010100 + 2",
        "(0x4000004000010100 | 0x2)",
        "HMMA.16816.F32 R24, R4, R12, R24 ; /* 0x0000000c0804723c */",
        "wgmma.fence.sync.aligned;",
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 64;",
        "tcgen05.wait::ld.sync.aligned",
    ],
)
def test_what_is_read_is_not_called_unread(text: str) -> None:
    said = ("Not read", "Not used", "No instruction")  # an opcode without tables exists, too
    assert not any(notice.startswith(said) for notice in read(text).notices)


@for_each(
    ("text", "notices"),
    [
        ("0x4000004000010000 lbo=16 sbo=1024", ()),
        ("0x4000004000010100 start 0x1000, 128B swizzle", ()),
        ("0x4000004000010000 SBO 0x20", ("The text says SBO 0x20, but the word has SBO 0x400.",)),
        ("0x0000004000010000 128B swizzle", ("The text says swizzle 128B, but the word has swizzle none.",)),
        ("0x4000004000010000 tcgen05 128B swizzle", ("Not used: tcgen05 128B swizzle.",)),
    ],
)
def test_fields_beside_a_bare_word_are_compared_with_its_own(text: str, notices: tuple[str, ...]) -> None:
    reading = read(text)
    assert reading.kind == "descriptor" and reading.notices == notices


def test_a_labelled_word_keeps_its_label_beside_fields() -> None:
    assert read("desc: 0x4000004000010000 sbo=512").title.endswith("(desc)")


def test_a_start_in_other_units_than_the_strides_is_said() -> None:
    assert "The start address is read as bytes." in read("start 0x4000 LBO 1 SBO 64 swizzle 128B").notices
    assert not any("start are" in notice for notice in read("LBO=1 SBO=64 layout_type=3").notices)


def test_a_type_beside_a_word_names_no_instruction() -> None:
    assert read("0x4000004000010000 bf16").notices == ("Not used: bf16.",)


def test_the_shape_and_types_of_tcgen05_mma_become_its_instruction_descriptor(client: Client) -> None:
    """By hand, PTX ISA table 51: D f32 1 << 4, A bf16 1 << 7, B bf16 1 << 10, N / 8 << 17, M / 16 << 24."""
    reading = read("tcgen05.mma 128x256x16 bf16")
    word = 1 << 4 | 1 << 7 | 1 << 10 | (256 // 8) << 17 | (128 // 16) << 24
    assert reading.link == f"/i/tcgen05.mma.cta_group::1.kind::f16?idesc=0x{word:08x}"
    assert "f32 += bf16 × bf16" in reading.title and "f32 += bf16 × bf16" in client.get(reading.link).text
    pair = read("tcgen05.mma 2cta e4m3 e5m2")
    assert "kind::f8f6f4 f32 += e4m3 × e5m2 cta_group::2: M 256" in pair.title
    assert not any("wgmma" in one.link for one in (reading, *reading.also))


@for_each(
    ("text", "name", "types"),
    [
        ("imma 16832", "IMMA.16832", {"s8", "u8", "s4", "u4"}),
        ("hmma 16816 bf16", "HMMA.16816.BF16", {"bf16"}),
        ("qmma.16832", "QMMA.16832", {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}),
        ("igmma 64x128x32", "IGMMA.64x128x32", {"s8", "u8"}),
    ],
)
def test_sass_may_have_blanks_for_dots(text: str, name: str, types: set[str]) -> None:
    reading = read(text)
    assert reading.title.startswith(f"{name}: compiled from")
    assert {catalog.find(ptx).types["a"] for ptx in reading.facts["candidates"]} <= types


@for_each("text", ["tcgen05.mma f64", "tcgen05.mma m128n300k16 f16", "tcgen05.mma m128n256k64 bf16"])
def test_no_descriptor_is_made_up_for_what_none_says(text: str) -> None:
    reading = read(text)
    assert "idesc=" not in reading.link and not any("idesc=" in one.link for one in reading.also)


@for_each(
    ("text", "ptx"),
    [
        ("wgmma n=256 bf16 k=16", "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"),
        ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16"),
        ("mma f32 16 8 16 with bf16 for sm_80", None),
        ("mma.sync.m16n8k16 with f16 accumulator", None),
        ("bf16 x bf16 -> f32 m16n8k16", None),
        ("dmma", None),
    ],
)
def test_a_name_may_be_said_in_other_words(text: str, ptx: str | None) -> None:
    reading = read(text)
    assert reading.kind == "instruction" and (ptx is None or reading.facts["ptx"] == ptx), reading


@for_each(
    ("text", "page"),
    [
        ("port wmma to wgmma", "/guide/wmma-mma-wgmma"),
        ("ldmatrix trans 8 bit", "/guide/bytes-and-trans"),
        ("ldmatrix trans for fp8", "/guide/bytes-and-trans"),
        ("which row address does lane 13 give in ldmatrix x4", "/guide/ldmatrix"),
    ],
)
def test_a_question_with_an_opcode_ends_in_pages_too(text: str, page: str) -> None:
    reading = read(text)
    assert page in [one.link.partition("#")[0] for one in (reading, *reading.also)], reading


# names of libraries, messages of tools -------------------------------------------------------------------------------


@for_each(
    ("text", "page"),
    [
        ("GmmaDescriptor", "/descriptor"),
        ("GMMA::make_gmma_desc<GMMA::Major::K>(tensor)", "/descriptor"),
        ("cute::UMMA::make_instr_desc", "/idesc"),
        ("UMMA::InstrDescriptor", "/idesc"),
        ("cuTensorMapEncodeTiled", "/guide/paste#tensor-maps"),
        ("cuTensorMapEncodeTiled returned 1", "/messages/tensor-map-refused"),
        ("boxDim[0] must be <= 256", "/messages/tensor-map-refused"),
        ("ss_smem_selector", "/smem/atoms"),
        ("SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", "/tiles/copy"),
        ("partition_fragment_C", "/tiles/mma"),
        ("Swizzle<3,4,3>{}", "/guide/swizzle"),
        ("mbarrier.try_wait.parity", "/guide/barriers-and-pipelines"),
        ("Sm1xxBlkScaledConfig", "/scale-factors"),
        ("StructuredSparseCompressor", "/metadata/order"),
        ("TmemAllocator", "/tmem"),
        ("Not a name of any known instruction: 'wgmma'", "/messages/unknown-instruction"),
        ("ptxas error : Modifier '.trans' not allowed", "/guide/read-ptx"),
        ("========= Invalid __shared__ read of size 16 bytes\n===     Address 0x10a8 is misaligned", "/guide/ldmatrix"),
        ("=== Invalid __shared__ ? of size 2048 bytes", "/guide/capture#if-the-kernel-faults"),
        ("Warp Misaligned Address\nThe exception was triggered at PC 0x7fc0235be990", "/guide/ldmatrix"),
        ("ERROR : Arch conditional MMA instruction used without targeting appropriate compute", "/guide/shapes"),
        ("LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.tcgen05.fence.after.thread.sync", "/guide/shapes"),
        ("error: asm operand type size(8) does not match type/size implied by constraint 'r'", "/guide/read-ptx"),
        ("CUDA error: an illegal instruction was encountered", "/guide/debugging"),
        ("CUDA error: unspecified launch failure", "/guide/capture#if-the-kernel-faults"),
        ("Not a canonical GMMA_MN Layout: Expected stride failure.", "/messages/cute-gmma-mn-stride"),
    ],
    sample=12,
)
def test_a_symbol_or_a_message_has_a_page(client: Client, text: str, page: str) -> None:
    reading = read(text)
    assert reading.kind == "topic" and page in [one.link for one in (reading, *reading.also)][:2], reading
    assert client.get(page).status_code == 200


@for_each(
    ("text", "access"),
    [
        ("ld.shared.b32", "ld.shared.b32"),
        ("ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, [%r1];", "ld.shared.b128"),
        ("st.volatile.shared::cta.v2.u32 [%r1], {%r2, %r3};", "st.shared.b64"),
    ],
)
def test_a_load_or_store_of_shared_memory_leads_to_its_bank_conflicts(text: str, access: str) -> None:
    assert read(text).link == f"/banks?access={access}"


@for_each(
    ("text", "page"),
    [
        ("2:4 sparsity", "/guide/sparsity"),
        ("use C as A of the second gemm", "/reuse"),
        ("accumulator as next A", "/reuse"),
        ("figure for a paper", "/diagram"),
        ("JSON API", "/docs"),
        ("integrations", "/docs/integrations"),
        ("VS Code", "/docs/integrations"),
        ("mcp", "/docs/integrations"),
        ("sphinx", "/docs/integrations"),
        ("how to install lanescope", "/docs/integrations"),
        ("help", "/guide/five-minutes"),
        ("lane", "/guide/lanes-and-fragments"),
        ("how many threads in a warpgroup", "/guide/lanes-and-fragments"),
        ("hopper vs ampere", "/guide/wmma-mma-wgmma"),
        ("padding", "/banks"),
        ("what does retile do", "/guide/retile"),
        ("convert_layout_acc_rowcol(acc_s.layout())", "/guide/accumulator-rows"),
        ("permute_Aregs_fp8(tOrP)", "/guide/accumulator-to-a"),
        ("thr_mma.partition_fragment_B(sVtNoSwizzle)", "/guide/v-without-swizzle"),
        ("flash-attention #456", "/guide/v-transposed"),
        ("flash-attention 456", "/guide/v-transposed"),
        ("FlashAttention issue 1107", "/guide/v-without-swizzle"),
        ("cutlass 1199", "/guide/atom-and-figure"),
        ("https://github.com/NVIDIA/cutlass/issues/1688", "/guide/canonical-and-figure"),
        ("CUTLASS #2634", "/guide/swizzle-units"),
        ("https://github.com/Dao-AILab/flash-attention/issues/456#issuecomment-1", "/guide/v-transposed"),
        ("which lane does elect.sync elect", "/guide/elect-one"),
        ("create_tma_multicast_mask", "/guide/multicast"),
    ],
    sample=12,
)
def test_what_people_ask_for_opens_first(client: Client, text: str, page: str) -> None:
    assert read(text).link.partition("#")[0] == page and client.get(page).status_code == 200


@for_each("text", ["cutlass 1200", "https://github.com/NVIDIA/cutlass/pull/2"])
def test_a_thread_without_a_page_opens_no_other(text: str) -> None:
    assert (read(text).kind, read(text).title) == ("unknown", "No page on this thread")
    assert not find_certain_link(text)


def test_a_number_of_another_kind_names_no_thread() -> None:
    for text in ("lane #3", "flash-attention 3", "cutlass 3.5.0", "flash-attention 128", "mma issue 3"):
        assert find_thread(text) == "", text


def test_a_word_may_name_its_kind_after_it() -> None:
    reading = read("0x4000004000010100 wgmma")
    assert reading.kind == "descriptor" and reading.facts["word"] == "0x4000004000010100"
    assert read("cutlass::gemm::GemmShape<16,8,16>").title == read("m16n8k16").title


# tasks, targets and opcodes ------------------------------------------------------------------------------------------


@for_each(
    ("text", "page"),
    [
        ("what does this descriptor word mean", "/descriptor"),
        ("bank conflicts of my ldmatrix", "/banks"),
        ("epilogue of tcgen05", "/tmem/epilogue"),
        ("does D of my first GEMM feed the second", "/tiles/mma/chain"),
        ("a TMA box fills my tile?", "/smem"),
        ("dump of shared memory", "/dump"),
        ("instruction descriptor bits", "/idesc"),
        ("how much shared memory do my stages need", "/tiles/loop"),
        ("run on my GPU", "/gpu"),
        ("my kernel hangs", "/emulate"),
        ("emulator", "/emulate"),
        ("how do I use this in VS Code", "/docs/integrations"),
        ("keyboard shortcuts", "/help"),
        ("does my code leave this machine", "/help#privacy"),
        ("license", "/help#licence"),
        ("port wgmma to tcgen05", "/guide/wgmma-to-tcgen05"),
        ("Unexpected instruction types specified for 'mma'", "/messages/instruction-types"),  # a message first
        ("elect.sync", "/guide/elect-one"),  # an exact name first
        ("K-major vs MN-major", "/guide/k-major-needs-no-transpose#the-four-operands"),
        ("what is a core matrix", "/guide/one-tile"),  # an explanation: the guide first
        ("how to transpose with ldmatrix", "/guide/bytes-and-trans"),
        ("every other 8 columns are swapped", "/guide/debugging"),
        ("half the output is zero", "/guide/debugging"),
        ("print_latex(tiled_mma)", "/diagram"),
    ],
    sample=12,
)
def test_a_task_opens_its_tool_and_a_question_its_text(client: Client, text: str, page: str) -> None:
    assert read(text).link == page and client.get(page).status_code == 200


@for_each(
    ("text", "target"),
    [
        ("sm120", "sm_120"),
        ("compute capability 9.0", "sm_90"),
        ("RTX 4090", "sm_89"),
        ("5070", "sm_120a"),
        ("L40S", "sm_89"),
        ("Orin", "sm_87"),
        ("H100", "sm_90a"),
        ("which shapes does sm_120 have", "sm_120"),
        ("how much shared memory does an A100 have", "sm_80"),
        ("which tensor core instructions does an RTX 3090 have", "sm_86"),
    ],
)
def test_a_gpu_or_a_target_opens_what_it_has(client: Client, text: str, target: str) -> None:
    link = read(text).link
    assert link == f"/targets?target={target}" and client.get(link).status_code == 200


def test_a_question_about_a_target_and_instructions_counts_them() -> None:
    def count(name: str, target: str) -> int:
        return sum(
            form.family.name.startswith(name) and target in catalog.get_target_support(form).targets
            for form in catalog.instructions()
        )

    assert read("does sm_120 have wgmma").notices[0].startswith("sm_120 has none of the")
    one = read("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 on sm_75").notices[0]
    assert one.startswith("sm_75 does not have ") and "It assembles for sm_80" in one
    assert f"sm_90a has {count('wgmma', 'sm_90a'):,}." in read("does sm_90 have wgmma").notices[0]
    assert f"has {count('ldmatrix', 'sm_80')} of the" in read("does an A100 have ldmatrix").notices[0]
    assert read("wgmma h100").kind == "instruction"  # a list, narrowed to what an H100 has
    assert read("V100").title == "No target 'sm_70'" and read("sm_91").title == "No target 'sm_91'"


@for_each(
    "text",
    ["wgmma", "ldmatrix", "mma.sync", "tcgen05.mma", "tcgen05.ld", "wmma", "wgmma layouts", "wgmma register layout"],
)
def test_an_opcode_alone_lists_its_forms_first(text: str) -> None:
    reading, opcode = read(text), text.split()[0].split(".")[0]
    assert reading.link.startswith("/instructions?q=") and reading.facts["candidates"][0].startswith(opcode)


def test_the_parts_of_a_line_may_stand_apart() -> None:
    for form in catalog.instructions()[::97]:
        apart = [part for part in form.ptx.split(".") if part not in ("sync", "aligned")]
        found = forms.find_forms(" ".join(apart))
        assert found.exact and found.forms == (form,), form.ptx
    assert forms.find_forms("mma m16n8k8 f16 f16 f16").forms[0].types["d"] == "f16"  # as often as the text has it
    assert "row.row" in forms.find_forms("wmma row row m32n8k16 s32 u8").forms[0].ptx
    for form in catalog.instructions()[::53]:  # a name without its signs means the form first
        named = forms.find_forms(re.sub(r"\+=|×|,|=|\+", " ", name_form(form).text))
        assert named.forms[0] is form, (form.ptx, named.forms[0].ptx)
    assert read("wgmma 64 x 128 x 16 bf16").title == read("wgmma 64x128x16 bf16").title


def test_a_word_is_not_respelled_into_one_with_another_first_letter() -> None:
    assert "Did you mean" not in "".join(read("settings").notices)
    assert "Did you mean ‘mbarrier’?" in read("mbarier").notices
    assert "Did you mean" not in "".join(read("ping-pong kernel").notices)  # png is a word of the site


# shapes that do not exist --------------------------------------------------------------------------------------------


@for_each(
    ("text", "reason"),
    [
        ("wgmma m64n100k16", "Nearest shapes: m64n104k16, m64n96k16"),
        ("wgmma 64x100x16", "Nearest shapes: m64n104k16, m64n96k16"),
        ("wgmma n=100 bf16", "Nearest shapes: m64n104k16, m64n96k16"),
        ("m64n100k16", "No instruction has 'm64n100k16'. Nearest shapes: m64n104k16"),
        ("mma m100n8k16", "Nearest shapes: m16n8k16"),
        ("wmma m16n16k17", "Nearest shapes: m16n16k16"),
        ("D[6][3] of wgmma m64n100k16 f16", "Nearest shapes: m64n104k16"),
        ("tcgen05.mma m100n64k16", "mma.cta_group::1.kind::f16: M 64 or 128, N 8 to 256 in steps of 8, K 16;"),
        ("umma 128x300x16", "No tcgen05.mma has m128n300k16"),
        ("tcgen05.mma m64n8 bf16 cta_group::2", "kind::f16: M 128 or 256, N 16 to 256 in steps of 16, K 16."),
        ("D[6][3] of tcgen05.mma m100n64k16", "No tcgen05.mma has m100n64k16"),
        ("SM100_MMA_F16BF16_SS<half_t, half_t, float, 100, 256, UMMA::Major::K, UMMA::Major::K>", "32, 64, 128 or 256"),
        ("ldmatrix x3", "No instruction has 'x3'. Instead: x1, x2 or x4."),
        ("stmatrix x8", "Instead: x1, x2 or x4."),
        ("tcgen05.ld 32x64b x4", "Instead: 16x64b, 16x128b, 16x256b or 32x32b."),
        ("tcgen05.cp 128x512b", "or 128x256b."),
    ],
    sample=8,
)
def test_a_shape_that_does_not_exist_is_refused_with_what_does(text: str, reason: str) -> None:
    reading = read(text)
    assert reading.kind == "unknown", reading
    assert reason in reading.notices[0] and not find_certain_link(text)


@for_each("text", ["error: Illegal instruction 'wgmma.mma_async' without sm_90a", "llvm.nvvm.tcgen05.mma.shared"])
def test_a_matrix_opcode_is_neither_another_instruction_nor_refused(text: str) -> None:
    reading = read(text)
    assert reading.kind != "unknown" and "neither multiplies" not in "".join(reading.notices)
