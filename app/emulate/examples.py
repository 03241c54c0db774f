"""The kernel to try: a ring of two stages, TMA and wgmma, right or with one mistake in its PTX. No framework.

programs/pipeline.ptx is what nvcc makes of programs/pipeline.cu.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

SLOT = "pipeline"


@dataclass(frozen=True, slots=True)
class Example:
    """One variant of the kernel. old, new: the text that its mistake replaces; cause: what that does, in a sentence."""

    name: str
    title: str
    old: str = ""
    new: str = ""
    cause: str = ""


WAIT = "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%r10], %r8;"
ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [%r26];"
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r93], "
EXAMPLES = (
    Example("right", "A correct pipeline", cause="Every wait is released: the ring goes round."),
    Example(
        "arrive",
        "The consumers never release a stage",
        ARRIVE,
        f"// {ARRIVE}",
        "Without the arrival on empty, the producer waits for ever when it comes to the first stage again.",
    ),
    Example(
        "phase",
        "The producer waits for the wrong phase",
        "not.b32 \t%r78, %r77;",
        "mov.b32 \t%r78, %r77;",
        "The producer begins with parity 0 instead of 1, so it waits for consumers that wait for it.",
    ),
    Example(
        "bytes",
        "expect_tx names more bytes than the boxes have",
        f"{EXPECT}16384;",
        f"{EXPECT}32768;",
        "The two boxes bring 16,384 bytes; the phase of full waits for 16,384 more.",
    ),
)
BY_NAME = {example.name: example for example in EXAMPLES}


@cache
def read_program(name: str) -> str:
    """Return a file of programs/."""
    return (files("lanescope.app.emulate") / "programs" / name).read_text(encoding="utf-8")


@cache
def build_example(name: str) -> tuple[str, str]:
    """Return (PTX, launch as TOML) of an example."""
    example = BY_NAME[name]
    text = read_program("pipeline.ptx")
    if example.old:
        assert text.count(example.old) == 1
        text = text.replace(example.old, example.new)
    return text, read_program("pipeline.toml")
