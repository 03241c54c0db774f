"""The starts of tiles that a verified read depends on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from lanescope.workbench.reads.alignment import find_declared_alignments
from lanescope.workbench.reads.tile_starts import describe_assumed_start
from tests.cases import for_each


@for_each(
    ("label", "name"),
    [("smem", "smem"), ("As[it % S]'12", "As[it % S]"), ("(s' == 4 ? 0 : s'10 + 1) …387e", "the start of its tile")],
)
def test_a_start_is_named_as_the_text_does(label: str, name: str) -> None:
    operand: Any = SimpleNamespace(name="a", instruction="wgmma", stored={"swizzle": "128B"})
    start: Any = SimpleNamespace(label=label)
    assert f" if {name} is a multiple of 1024 bytes" in describe_assumed_start(operand, start)


def test_a_reference_to_an_object_has_the_alignment_of_its_type() -> None:
    text = (
        "template <int N> struct alignas(1024) Storage { half a[N]; };\nauto& s = *reinterpret_cast<Storage<64>*>(raw);"
    )
    assert find_declared_alignments(text)["s"] == 1024
