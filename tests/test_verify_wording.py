"""`lanescope descriptor verify`: the line of the verdict says what is wrong, the word's own bits too."""

from __future__ import annotations

from lanescope.app.cli import build_cli
from tests.cases import for_each
from tests.command import CliRunner

WGMMA = (
    *("--instruction", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "--operand", "a"),
    *("--storage", "swizzle=128B,mn=64,k=64,base=0"),
)
TCGEN05 = (
    *("--instruction", "tcgen05.mma.cta_group::2.kind::f16", "--operand", "b", "--idesc", "0x10400490"),
    *("--format", "tcgen05", "--storage", "swizzle=128B,mn=128,k=64,base=4096"),
)


@for_each(
    ("word", "options", "line"),
    [
        ("0x4000004000010000", WGMMA, "match: 1024 of 1024 elements"),
        ("0x4000004000010002", WGMMA, "mismatch: 1024 of 1024 elements are read from the wrong place"),
        (
            "0x4000002000010000",
            WGMMA,
            "mismatch: 896 of 1024 elements are read from the wrong place",
        ),  # SBO 512: row 8 on
        (
            "0x6000404000010100",
            TCGEN05,
            "mismatch: bits [63:61] are 3, a reserved swizzle code; which bytes are read is not defined",
        ),
        (
            "0x4000004000010100",
            TCGEN05,
            "mismatch: bits [48:46] are 0, not 1; all 2048 elements would be read from their places",
        ),
    ],
)
def test_the_verdict_names_the_bits_that_make_it_one(word: str, options: tuple[str, ...], line: str) -> None:
    output = CliRunner().invoke(build_cli(), ["descriptor", "verify", word, *options]).output
    assert line in output.split("\n")
    assert "-0x1" not in output
