"""Example kernels: two-stage pipelines, correct or with one mistake in the PTX.

`pipeline` uses TMA and wgmma: nvcc compiled programs/pipeline.cu to programs/pipeline.ptx. `ring` is short enough to
read: the guide shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Example:
    """A variant of a kernel. old, new: the text that its mistake replaces; cause: its effect, in a sentence."""

    name: str
    title: str
    old: str = ""
    new: str = ""
    cause: str = ""
    program: str = "pipeline"


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
ADVANCE = "xor.b32 %parity, %parity, 1;                      // a fresh stage is empty: phase -1 has ended"
RELEASE = "mbarrier.arrive.shared::cta.b64 _, [%empty];      // release the stage"
RINGS = (
    Example(
        "ring",
        "Correct",
        cause="The producer runs two tiles ahead; from then on each stage is refilled when the consumer released it.",
        program="ring",
    ),
    Example(
        "ring-phase",
        "Swapped phase",
        ADVANCE,
        "                                                  // no XOR: it waits for phase 0 of a fresh stage",
        "The producer waits until the consumer has released stage 0; the consumer waits until stage 0 is filled.",
        "ring",
    ),
    Example(
        "ring-arrive",
        "Forgotten arrive",
        RELEASE,
        "                                                  // the stage is not released",
        "Two tiles pass. For the third the producer needs stage 0 again, which no consumer released.",
        "ring",
    ),
    Example(
        "ring-bytes",
        "Wrong byte count",
        "_, [%full], 128;",
        "_, [%full], 256;",
        "The copy brings 128 of the 256 bytes that expect_tx names, so phase 0 of the stage never ends.",
        "ring",
    ),
)
BY_NAME = {example.name: example for example in (*EXAMPLES, *RINGS)}


@cache
def read_program(name: str) -> str:
    """Return a file of programs/."""
    return (files("lanescope.app.emulate") / "programs" / name).read_text(encoding="utf-8")


@cache
def build_example(name: str) -> tuple[str, str]:
    """Return (PTX, launch as TOML) of an example."""
    example = BY_NAME[name]
    text = read_program(f"{example.program}.ptx")
    if example.old:
        assert text.count(example.old) == 1
        text = text.replace(example.old, example.new)
    return text, read_program(f"{example.program}.toml")
