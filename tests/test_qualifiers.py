"""Every word of every opcode has a meaning, and `.sync` and `.aligned` say what PTX says of them."""

from __future__ import annotations

from lanescope import find
from lanescope.ptx import catalog
from lanescope.ptx.qualifiers import describe_convergence, list_opcode_parts
from tests.cases import for_each


def test_every_word_of_the_catalogue_is_explained_and_nothing_is_lost() -> None:
    kinds = set()
    for i in catalog.instructions():
        words = list_opcode_parts(i)
        assert "".join(word.text for word in words) == i.ptx
        assert all(word.meaning and word.meaning == word.meaning.strip() for word in words), i.ptx
        kinds |= {word.kind for word in words}
        assert sum(word.kind == "type" for word in words) == len(i.syntax.types), i.ptx
    assert kinds == {"opcode", "convergence", "shape", "layout", "type", "modifier"}
    assert {i.syntax.opcode for i in catalog.instructions()} == set(catalog.OPCODES)


@for_each(
    ("ptx", "word", "meaning"),
    [
        ("mma.m16n8k32.row.col.s32.s8.u8.s32", ".u8", "type of B's elements: 4 a .b32 register"),
        ("mma.m16n8k16.row.col.f32.f16.f16.f32", ".m16n8k16", "A is 16×16, B is 16×8, C and D are 16×8"),
        (
            "wgmma.mma_async.m64n64k16.f32.f16.f16",
            ".aligned",
            "all 128 threads of the warpgroup must execute this same instruction",
        ),
        ("wmma.load.b.col.m16n16k16.shared.f16", ".col", "the matrix is column-major in memory"),
        ("mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32", ".e2m1", "type of A's elements: 4 a .b32 register"),
        ("ldmatrix.m8n8.x4.trans.shared::cta.b16", ".x4", "4 matrices"),
    ],
)
def test_words(ptx: str, word: str, meaning: str) -> None:
    assert next(part.meaning for part in list_opcode_parts(find(ptx)) if part.text == word) == meaning


def test_convergence_is_what_ptx_asks() -> None:
    warp, group = (
        describe_convergence(find("mma.m16n8k16.row.col.f32.f16.f16.f32")),
        describe_convergence(find("wgmma.mma_async.m64n8k16.f32.f16.f16")),
    )
    assert "all 32 threads of the warp" in warp and "has exited" in warp
    assert "all 128 threads of the warpgroup" in group and "has exited" not in group
    for load in ("wmma.load.a.row.m16n16k16.f16", "wmma.store.d.row.m16n16k16.f32"):
        assert "the same address and stride" in describe_convergence(find(load))
    assert "has exited" not in describe_convergence(find("movmatrix.m8n8.trans.b16"))
