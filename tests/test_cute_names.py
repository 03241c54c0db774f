"""Misspelt names of CuTe's atoms, layouts and enumerators."""

from __future__ import annotations

from lanescope.workbench.cute.cute_names import find_nearest_atom, find_unknown_names
from tests.cases import for_each
from tests.checked import check_text


@for_each(
    ("name", "nearest"),
    [
        ("SM90_64x128x16_F32F16F16_SSX", "SM90_64x128x16_F32F16F16_SS"),
        ("SM99_64x128x16_F32F16F16_SS", "SM90_64x128x16_F32F16F16_SS"),
        ("SM90_64x130x16_F32F16F16_SS", "SM90_64x128x16_F32F16F16_SS"),
        ("SM90_64x128x32_F32F16F16_RS", "SM90_64x128x16_F32F16F16_RS"),
        ("SM80_16x8x16_F32F16F16F32_TM", "SM80_16x8x16_F32F16F16F32_TN"),
        ("MMA_64x64x16_F32F16F16_SX", "MMA_64x64x16_F32F16F16_SS"),
        ("SM90_TMA_LAOD", "SM90_TMA_LOAD"),
        ("SM80_TMA_STORE", "SM90_TMA_STORE"),
        ("SM90_TMA_LOAD_MULTICST", "SM90_TMA_LOAD_MULTICAST"),
        ("SM75_U32x4_LDMS_N", "SM75_U32x4_LDSM_N"),
        ("SM80_CP_ASYNC_CACHEGLOBL", "SM80_CP_ASYNC_CACHEGLOBAL"),
        ("SM100_TMA_2SM_LAOD", "SM100_TMA_2SM_LOAD"),
        ("SM100_TMEM_LAOD_32dp32b32x", "SM100_TMEM_LOAD_32dp32b32x"),
    ],
)
def test_a_misspelt_atom_has_a_nearest_name(name: str, nearest: str) -> None:
    assert find_nearest_atom(name) == nearest


@for_each(
    "name",
    [
        *("SM90_64x256x32_F32E4M3E5M2_RS_TN", "GMMA_64x64x64_S32S8U8_SS_TN_SATURATE", "SM80_8x8x4_GC64C64C64GC64_TN"),
        *("SM100_MMA_F16BF16_2x1SM_SS", "SM100_MMA_F16BF16_4x1SM_SS", "SM120_16x8x32_TN", "SM110_TMA_LOAD"),
        *("SM90_NUM_STAGES", "SM80_SUPPORTED", "SM90_U32x4_STSM_T", "SM90_TMA_WS", "SM90_BULK_PREFETCH"),
    ],
)
def test_an_atom_and_what_is_like_none_are_not_judged(name: str) -> None:
    assert find_nearest_atom(name) == ""


def list_messages(text: str) -> list[str]:
    return [found.message for found in find_unknown_names(text)]


@for_each(
    ("code", "message"),
    [
        ("GMMA::Majr::K", "GMMA has no 'Majr'. Nearest: GMMA::Major."),
        ("cute::UMMA::Major::M", "UMMA::Major has no 'M': it has K and MN."),
        ("GMMA::ScaleIn::Zero", "GMMA::ScaleIn has no 'Zero': it has One and Neg."),
        ("GMMA::Layout_K_SW128_Atm<half_t>", "GMMA has no 'Layout_K_SW128_Atm'. Nearest: GMMA::Layout_K_SW128_Atom."),
        ("GMMA::Layout_K_SW96_Atom<half_t>", "GMMA has no 'Layout_K_SW96_Atom'. Nearest: GMMA::Layout_K_SW64_Atom."),
        ("cutlass::haf_t(1)", "cutlass has no type 'haf_t'. Nearest: half_t."),
        ("cute::float_e4m4_t{}", "cute has no type 'float_e4m4_t'. Nearest: float_e4m3_t."),
        ("UMMA::make_uma_desc<UMMA::Major::K>(t)", "UMMA has no 'make_uma_desc'. Nearest: UMMA::make_umma_desc."),
    ],
)
def test_a_misspelt_member_has_a_nearest_name(code: str, message: str) -> None:
    assert list_messages(f"auto x = {code};") == [message]


@for_each(
    "text",
    [
        "struct SM90_TMA_LAOD {}; using T = SM90_TMA_LAOD;",
        "template <class T>\nstruct SM90_64x130x16_F32F16F16_SS { };\nauto a = SM90_64x130x16_F32F16F16_SS<int>{};",
        "#define SM80_CP_ASYNC_CACHEGLOBL x\nint SM80_CP_ASYNC_CACHEGLOBL;",
        "enum Kind { SM90_TMA_LAOD, Other }; auto k = SM90_TMA_LAOD;",
        "using SM80_TMA_LOAD = cute::SM90_TMA_LOAD; SM80_TMA_LOAD load;",
        '// SM90_TMA_LAOD\nconst char* s = "SM90_TMA_LAOD";',
        "#ifdef SM90_TMA_LAOD\n#endif",
        "struct GMMA { enum Majr { A }; }; auto m = GMMA::Majr::A;",
        "auto a = GMMA::CLayout_64x96{}; auto b = UMMA::tmem_frg_ws_1sm<float>{}; GMMA::MMA_64x8x16_F16F16F16_SS<>{};",
        "auto m = SM90::GMMA::Major::MN;",
        "using T = cute::conditional_t<A, cutlass::half_t, cute::uint64_t>; cutlass::int3b_t x;",
    ],
)
def test_what_a_text_declares_or_cute_has_is_right(text: str) -> None:
    assert list_messages(text) == []


ATOM = "using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SSX<GMMA::Major::K, GMMA::Major::K>{}));"


def test_it_is_an_error_of_the_check() -> None:
    text = f"#include <cute/tensor.hpp>\nusing namespace cute;\n{ATOM}\n"
    (finding,) = check_text(text).findings
    assert (finding.code, finding.level) == ("cute_name_unknown", "error")
    assert text[slice(*finding.span)] == "SM90_64x128x16_F32F16F16_SSX"


@for_each("include", ['"atoms.cuh"', "<project/atoms.cuh>"])
def test_a_file_that_is_not_found_may_declare_the_name(include: str) -> None:
    report = check_text(f"#include <cute/tensor.hpp>\n#include {include}\n{ATOM}\n")
    assert not report.findings
    assert any("atoms.cuh, which is not found, may declare it" in point.message for point in report.open)
