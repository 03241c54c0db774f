"""Questions about the sizes that an instruction has. Sizes by hand: PTX ISA 9.1, 9.7.14.5 and 9.7.15.2."""

from __future__ import annotations

from lanescope.app.read import text_meanings
from tests.cases import for_each

_OF_INTEGERS = "8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240 or 256"


@for_each(
    ("text", "title", "notices"),
    [
        ("max N of wgmma bf16", "N of wgmma bf16", ("N is a multiple of 8 from 8 to 256.",)),
        ("which n does wgmma s8 allow?", "N of wgmma s8", (f"N is {_OF_INTEGERS}.",)),
        (
            "what is the K of wgmma e4m3",
            "K of wgmma e4m3",
            ("K of wgmma.mma_async is 32.", "K of wgmma.mma_async.sp is 64."),
        ),
        ("valid M for wgmma", "M of wgmma", ("M is 64.",)),
        ("step of N in wgmma f16", "N of wgmma f16", ("N is a multiple of 8 from 8 to 256.",)),
    ],
)
def test_the_sizes_of_an_instruction_are_told(text: str, title: str, notices: tuple[str, ...]) -> None:
    told = text_meanings.read_text(text)
    assert (told.title, told.notices) == (title, notices)


@for_each("text", ["is m64n264k16 legal", "does wgmma m64n264k16 f16 exist?", "is m64n264k16 a valid shape?"])
def test_a_shape_that_is_asked_for_is_refused_with_the_nearest(text: str) -> None:
    told = text_meanings.read_text(text)
    assert told.title == "No such instruction" and "m64n256k16" in told.notices[0]


@for_each(
    ("text", "title"),
    [
        ("is m16n8k64 legal for int4?", "18 instructions with 'm16n8k64 int4'"),
        ("is m64n24k16 a legal shape for wgmma bf16", "wgmma.m64n24k16 f32 += bf16 × bf16"),
        ("can m64n256k16 be used with wgmma bf16?", "wgmma.m64n256k16 f32 += bf16 × bf16"),
        ("is N = 40 allowed for wgmma s8", "No such instruction"),
        ("is m16n8k8 bf16 legal on sm_75", "What sm_75 has"),
        ("is m16n8k16 supported by an A100?", "What sm_80 has"),
    ],
)
def test_whether_a_shape_is_legal_for_a_type_or_a_target_is_answered(text: str, title: str) -> None:
    assert text_meanings.read_text(text).title == title


@for_each("text", ["what is K", "why does N matter for wgmma", "A[3][5] of mma.m16n8k16 f16", "M=64 N=128 wgmma"])
def test_other_words_are_no_question_about_sizes(text: str) -> None:
    assert not text_meanings.read_text(text).title.startswith(("M of", "N of", "K of"))
