"""Messages as people paste them: with files, lines, functions, progress and other noise around; and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanescope.app.read import text_meanings
from lanescope.app.read.text_meanings import read_text
from lanescope.messages import recognise_messages
from lanescope.messages.map_rules import RULES
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope

PIPE = "Potential Performance Loss: wgmma.mma_async instructions are serialized due to"
STAGE = "a wgmma between start and end of the pipeline stage in the function"
MANGLED = (
    "_ZN7cutlass13device_kernelIN5flash20enable_sm90_or_laterINS1_16FlashAttnFwdSm90INS1_25CollectiveMainloopFwdSm90ILi"
    "2"
    "E"
    "N4cute5tupleIJNS5_1CILi1EEES8_S8_EEENS6_IJNS7_ILi128EEENS7_ILi96EEEEEEEEEEEEvNT_6ParamsE"
)
PASTES = (
    (
        "> When compiling, I see this\n> ptxas info    : (C7515) "
        f"{PIPE} non wgmma instructions defining accumulator registers of {STAGE} '{MANGLED}'",
        "wgmma-accumulator-written",
    ),
    (
        f"[12/96] c++ …\nptxas info    : (C7511) {PIPE} insufficient register resources for the wgmma pipeline in the"
        f" function"
        f" '{MANGLED}'\nptxas info    : (C7511) {PIPE} insufficient register resources for the wgmma pipeline",
        "wgmma-pipeline-registers",
    ),
    (
        "ptxas info    : (C7519) warpgroup.arrive is injected in around line 6317 by compiler to allow use of registers"
        " in GMMA in function '_Z22wgmma_m64nNk32_e4m3_RSILi8EEvPfPhS1_S0_hiPmS2_'",
        "wgmma-fence-injected",
    ),
    (
        "ptxas info    : (C7517) warpgroup.wait is injected in around line 27304 by compiler to allow use of registers"
        f" defined by GMMA in function '{MANGLED}'",
        "wgmma-wait-injected",
    ),
    (
        f"INFO ptxas info : (C7514) {PIPE} non wgmma instructions reading accumulator registers of  {STAGE} 'gemm' in"
        f" line 0",
        "wgmma-accumulator-read",
    ),
    (
        f"(C7510) {PIPE} wgmma pipeline crossing function boundary at a function call in the function 'matmul_kernel'",
        "wgmma-function-boundary",
    ),
    (
        f"ptxas info : (C7519) {PIPE} program dependence on compiler-inserted WG.AR in divergent path in the function"
        f" 'k'",
        "wgmma-fence-divergent",
    ),
    (
        f"ptxas info : (C7518) {PIPE} program dependence on compiler-inserted WG.DP in divergent path in the function"
        f" 'k'",
        "wgmma-wait-divergent",
    ),
    (
        "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count"
        " at"
        " entry.\nptxas info    : Compiling entry function 'k' for 'sm_90a'",
        "setmaxnreg-unknown-count",
    ),
    (
        "ptxas info    : (C7504) Potential Performance Loss: ‘setmaxnreg’ ignored to maintain compatibility across"
        " compilation units.",
        "setmaxnreg-compilation-units",
    ),
    (
        "ptxas fatal   : (C7602) Insufficient registers (64) to compile instruction at line 812 in function _Z4gemmv."
        " Try to"
        " compile with register target of 154 or higher.\nptxas fatal   : Ptx assembly aborted due to errors",
        "wgmma-too-few-registers",
    ),
    (
        "ptxas /tmp/tmpxft_00004c95_00000000-7_exl3.compute_70.ptx, line 477382; error   : Feature"
        " 'cp.async.wait_group'"
        " requires .target sm_80 or higher",
        "feature-needs-later-target",
    ),
    (
        "ptxas error: Instruction 'wgmma.fence' not supported on .target 'sm_120'\nptxas error: Instruction"
        " 'wgmma.mma_async"
        " with FP8 types' not supported on .target 'sm_120'",
        "instruction-not-on-target",
    ),
    (
        "/tmp/ds4_mmq.ptx, line 283031; error   : Instruction 'mma with block scale' not supported on .target"
        " 'sm_120'\n"
        "ptxas x, line 283031; error : Feature '.kind::mxf4' not supported on .target 'sm_120'",
        "instruction-not-on-target",
    ),
    ("ptxas a.ptx, line 2; error   : PTX .version 8.6 does not support .target sm_120a", "target-needs-later-ptx"),
    (
        "ptxas fatal   : PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90'",
        "module-not-for-architecture",
    ),
    (
        "ptxas error   : Function 'k' uses single CTA(.cta_group::1) and CTA pair granularity(.cta_group::2) and that"
        " is not"
        " allowed.",
        "cta-groups-mixed",
    ),
    ("ptxas /tmp/k.ptx, line 21; error   : Argument vector size mismatch for instruction 'ldmatrix'", "vector-size"),
    (
        '/deps/cutlass/include/cute/int_tuple.hpp(404): error: static assertion failed with "Static shape_div'
        ' failure"\n'
        '      static_assert(IntTupleA::value % IntTupleB::value == 0 || …, "Static shape_div failure");\n      ^\n'
        '          detected during:\n            instantiation of "auto cute::shape_div(const IntTupleA &, const'
        " IntTupleB"
        ' &) [with IntTupleA=cute::_96, IntTupleB=cute::C<64>]" at line 941 of layout.hpp',
        "cute-shape-div",
    ),
    (
        "error: static assertion failed due to requirement 'C<3>::value % C<2>::value == 0': Static shape_div"
        " failure\n  405 |"
        "     static_assert(…)\n      |                   ^~~~~",
        "cute-shape-div",
    ),
    (
        'include/cute/int_tuple.hpp(408): error: static assertion failed with "Divisibility Condition"\n'
        " static_assert(…);\n ^",
        "cute-shape-div",
    ),
    (
        'cute/layout.hpp(1792): error: static assertion failed with "tile_to_shape: block shape does not divide the'
        " target"
        ' shape."\n      static_assert(decltype(evenly_divides(target_shape, block_shape))::value, "tile_to_shape:'
        " block",
        "cute-tile-to-shape",
    ),
    (
        'copy_atom.hpp(206): error: static assertion failed with "TiledCopy uses too few vals for selected CopyAtom"\n'
        "    static_assert(decltype(TiledNumVal{} % AtomNumVal{} == Int<0>{})::value, …)\n    ^\n          detected"
        " during:",
        "cute-copy-few-values",
    ),
    (
        'error: static assertion failed with "Copy_Traits: src failed to vectorize into registers. Layout is'
        " incompatible with"
        ' this CopyOp."\n static_assert(decltype(size(rS) == Int<RegNumSrc>{})::value, …)',
        "cute-copy-source-vector",
    ),
    (
        "Getting `In CopyAtom, src layout doesn't vectorize into registers. This src layout is incompatible with this"
        " tiled"
        " copy.` from: error: static assertion failed with \"In CopyAtom, src layout doesn't vectorize into registers."
        " This src"
        ' layout is incompatible with this tiled copy."',
        "cute-cp-async-source-vector",
    ),
    (
        "cute/atom/mma_traits_sm90_gmma.hpp:271:3: error: static assertion failed: Not a canonical GMMA_K Layout:"
        " Expected"
        " MN-size multiple of 8.",
        "cute-gmma-mn-size",
    ),
    (
        'copy_traits_sm90_tma.hpp(739): error: static assertion failed with "TMA requires CTA_Tile and SLayout'
        " top-level size"
        ' equivalence."',
        "cute-tma-sizes",
    ),
    (
        "gemm.hpp(406): error: static assertion failed\n  static_assert(decltype(size<1>(A) == size<1>(C))::value,"
        " );\n  ^",
        "cute-gemm-sizes",
    ),
    (
        'mma_sm100_umma.hpp(88): error: static assertion failed with "SM100_MMA_F16BF16 M-mode size should be 64 or'
        " 128 for 1"
        ' CTA cluster MMA."',
        "cute-umma-m",
    ),
    (
        "TMA Desc Addr:   0x7ffd7d2800c0\nformat         6\ndim            4\ngmem_address   0x40167e202000\nglobalDim"
        "      "
        "(64,1,32,1,1)\nglobalStrides  (2,12288,128,0,0)\nboxDim         (64,192,1,1,1)\nelementStrides (1,1,1,1,1)\n"
        "interleave     0\nswizzle        3\nl2Promotion    2\noobFill        0\nError: Failed to initialize the TMA"
        " descriptor 715",
        "tensor-map-refused",
    ),
    (
        "terminate called: cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE (invalid argument)",
        "tensor-map-refused",
    ),
)
NONE = (
    f"ptxas info : (C7521) {PIPE} a full moon in the function 'k'",
    "error: expected ';' before '}' token",
    'foo.hpp(3): error: static assertion failed with "the width must be even"',
    "IndexError: list index out of range",
    "ptxas x.ptx, line 3; error : Unknown modifier '.mmio'",
    'static_assert(n % 8 == 0, "Divisibility Condition");',
    "ptxas info    : Used 168 registers, used 1 barriers, 64 bytes smem",
)


@for_each(("text", "slug"), PASTES, ids=[f"{n}-{slug}" for n, (_, slug) in enumerate(PASTES)])
def test_a_pasted_message_opens_its_page(text: str, slug: str) -> None:
    reading = text_meanings.read_text(text)
    pages = [one.link for one in (reading, *reading.also)]
    assert f"/messages/{slug}" in pages, pages
    assert reading.kind == "tensor_map" or pages[0] == f"/messages/{slug}", pages


@for_each("text", NONE, ids=range(len(NONE)))
def test_another_text_opens_none(text: str) -> None:
    reading = text_meanings.read_text(text)
    assert not reading.link.startswith("/messages/"), reading.link


def test_an_unknown_message_is_told_its_nearest(client: Client) -> None:
    answer = client.get("/api/v1/messages", params={"text": NONE[0]}).json()
    assert answer["count"] == 0 and answer["found"] == [] and answer["nearest"]
    assert client.get("/api/v1/messages", params={"text": NONE[1]}).json()["nearest"] == []


def test_a_number_alone_stands_for_each_release(client: Client) -> None:
    answer = client.get("/api/v1/messages", params={"text": "C7519"}).json()
    assert [one["slug"] for one in answer["numbers"]] == ["wgmma-fence-divergent", "wgmma-fence-injected"]
    assert text_meanings.read_text("C7514").link == "/messages/wgmma-accumulator-read"
    assert text_meanings.read_text("what does (C7511) mean?").link == "/messages/wgmma-pipeline-registers"


@for_each(
    ("part", "link"),
    [
        ("warpgroup.arrive is injected", "/messages/wgmma-fence-injected"),
        ("insufficient register resources for the wgmma pipeline", "/messages/wgmma-pipeline-registers"),
        ("Expected MN-size multiple of 8", "/messages/cute-gmma-mn-size"),
    ],
)
def test_a_part_that_one_message_has_stands_for_it(part: str, link: str) -> None:
    assert text_meanings.read_text(part).link == link


def test_a_part_that_several_have_stands_for_none() -> None:
    for part in ("the pipeline stage in the function", "Expected stride failure."):
        assert not text_meanings.read_text(part).link.startswith("/messages/")


def test_the_rule_that_a_call_breaks_has_its_page() -> None:
    for rule in RULES:
        if rule.row.slug in ("tensor-map-box", "tensor-map-inner-box", "tensor-map-stride", "tensor-map-swizzle-width"):
            reading = text_meanings.read_text(rule.row.wrong)
            pages = [one.link for one in (reading, *reading.also)]
            assert reading.kind == "tensor_map" and f"/messages/{rule.row.slug}" in pages, pages


@pytest.mark.thorough
def test_every_message_has_a_page_and_an_answer(client: Client) -> None:
    listed = client.get("/api/v1/messages").json()["listed"]
    assert len(listed) > 100
    for one in listed:
        page = client.get(one["page"])
        assert page.status_code == 200 and one["title"].split("'")[0] in page.text, one["page"]
    assert client.get("/messages/wgmma-nothing").status_code == 404


def test_a_message_behind_a_longer_one_that_has_its_words_is_found() -> None:
    text = (
        'layout.hpp(9): error: static assertion failed with "Stride Divisibility Condition"\n'
        'int_tuple.hpp(3): error: static assertion failed with "Divisibility Condition"'
    )
    slugs = [one.row.slug for one in recognise_messages(text).found]
    assert slugs == ["cute-composition-stride", "cute-shape-div"]


def test_another_call_of_the_driver_is_no_tensor_map() -> None:
    assert "tensor-map" not in read_text("cuMemAlloc failed: CUDA_ERROR_INVALID_VALUE").link
    assert read_text("CUDA driver error: 1 (CUDA_ERROR_INVALID_VALUE)").link == "/messages/tensor-map-refused"


# words of a message ---------------------------------------------------------------------------------------------------


def test_explain_takes_a_file_of_messages(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(PASTES[0][0])
    assert run_lanescope("explain", str(log)).stdout == run_lanescope("explain", PASTES[0][0]).stdout
