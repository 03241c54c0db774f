"""The types of nvcuda::wmma's fragments, as far as they are followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.language.types import SizedType

FRAGMENT_BYTES = 1024  # apart: more than any fragment has
_OPCODES = {  # by the element type, and the K of the wmma
    ("half", 16): "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    ("__half", 16): "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    ("__nv_bfloat16", 16): "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    ("nv_bfloat16", 16): "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    ("signed char", 16): "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32",
    ("char", 16): "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32",
    ("unsigned char", 16): "mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32",
}


@dataclass(frozen=True, slots=True)
class FragmentShape:
    """A type of fragment: matrix_a, matrix_b or accumulator, its mma, and the layout; span: of the type."""

    use: str
    opcode: str
    layout: str
    span: tuple[int, int]


def list_arguments(type_: tree.Type) -> Sequence[tree.Expression]:
    """Return the template arguments of a fragment's type; () for any other type."""
    return (type_.path[-1][1] or ()) if type_.path and type_.name == "fragment" else ()


def make_fragment_type(type_: tree.Type, values: Sequence[Any]) -> SizedType | None:
    """Return the type of a fragment, followed if it is one of 16×16×16; None for any other type.

    values: of its template arguments.
    """
    if len(values) < 5:
        return None
    words = [_get_word(argument) for argument in list_arguments(type_)]
    sizes = [size.known if isinstance(size, ThreadNumber) else None for size in values[1:4]]
    name = values[4].name if isinstance(values[4], SizedType) else words[4]
    opcode = _OPCODES.get((name, 16), "") if sizes == [16, 16, 16] else ""
    layout = words[5] if len(words) > 5 else ""
    return SizedType("fragment", FRAGMENT_BYTES, target=FragmentShape(words[0], opcode, layout, type_.span))


def _get_word(node: tree.Expression) -> str:
    return node.name if isinstance(node, tree.Type) else node.last if isinstance(node, tree.Name) else ""
