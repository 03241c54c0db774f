"""The starts of tiles that a verified read depends on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from lanescope.workbench.reads.alignment import find_declared_alignments
from lanescope.workbench.reads.tile_starts import describe_assumed_start
from tests.cases import for_each
from tests.checked import check_whole, list_findings
from tests.transfer_kernels import STORES, plant


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


def test_an_array_begins_where_its_declaration_says() -> None:
    """Code that rounds the address of a tile up to 2,048 bytes leaves none of them out."""
    rounded = "reinterpret_cast<bf16*>((reinterpret_cast<uintptr_t>(raw) + 2047) & ~uintptr_t(2047))"
    head = f"__shared__ alignas(2048) bf16 raw[64 * 64];\n  bf16* sA = {rounded};"
    text = plant(("__shared__ __align__(1024) bf16 sA[64 * 64];", head), text=STORES)
    launch = "gemm<<<dim3(N / BN, M / BM), 128>>>(A, B, C, N, K);"
    text += f"void run(bf16* A, bf16* B, bf16* C, int M, int N, int K) {{ {launch} }}\n"
    assert not list_findings(text, check_whole)
