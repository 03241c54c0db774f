"""Words, messages and other names in the box: the page that each opens."""

from __future__ import annotations

import random

import pytest

from lanescope.app.catalogue import full_text
from lanescope.app.guide import index as guide_index
from lanescope.app.guide.rendering import list_sections
from lanescope.app.read.certain_links import find_certain_link
from lanescope.app.read.text_meanings import read_text
from lanescope.app.read.thread_names import find_thread
from lanescope.ptx import catalog
from tests.cases import for_each
from tests.client import Client

BF16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"


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
    assert read_text(text).link == page


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
        assert read_text(text).title != "Not recognized", text


# names with what an opcode does not say ------------------------------------------------------------------------------


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
    reading = read_text(text)
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
    reading = read_text(text)
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
    assert read_text(text).link == f"/banks?access={access}"


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
    assert read_text(text).link.partition("#")[0] == page and client.get(page).status_code == 200


@for_each("text", ["cutlass 1200", "https://github.com/NVIDIA/cutlass/pull/2"])
def test_a_thread_without_a_page_opens_no_other(text: str) -> None:
    assert (read_text(text).kind, read_text(text).title) == ("unknown", "No page on this thread")
    assert not find_certain_link(text)


def test_a_number_of_another_kind_names_no_thread() -> None:
    for text in ("lane #3", "flash-attention 3", "cutlass 3.5.0", "flash-attention 128", "mma issue 3"):
        assert find_thread(text) == "", text


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
    assert read_text(text).link == page and client.get(page).status_code == 200


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
    link = read_text(text).link
    assert link == f"/targets?target={target}" and client.get(link).status_code == 200


def test_a_question_about_a_target_and_instructions_counts_them() -> None:
    def count(name: str, target: str) -> int:
        return sum(
            form.family.name.startswith(name) and target in catalog.get_target_support(form).targets
            for form in catalog.instructions()
        )

    assert read_text("does sm_120 have wgmma").notices[0].startswith("sm_120 has none of the")
    one = read_text("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 on sm_75").notices[0]
    assert one.startswith("sm_75 does not have ") and "It assembles for sm_80" in one
    assert f"sm_90a has {count('wgmma', 'sm_90a'):,}." in read_text("does sm_90 have wgmma").notices[0]
    assert f"has {count('ldmatrix', 'sm_80')} of the" in read_text("does an A100 have ldmatrix").notices[0]
    assert read_text("wgmma h100").kind == "instruction"  # a list, narrowed to what an H100 has
    assert read_text("V100").title == "No target 'sm_70'" and read_text("sm_91").title == "No target 'sm_91'"


# shapes that do not exist --------------------------------------------------------------------------------------------
