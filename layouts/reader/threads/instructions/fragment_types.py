"""Class templates of libraries, as far as they are followed: nvcuda::wmma's fragments and arrays such as std::array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from lanescope.ptx import catalog
from lanescope.ptx.instruction import Operand
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.numbers import ThreadNumber, make_number
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.types import SizedType, StructMember

_STATE = "pipeline_shared_state"
ARRAYS = frozenset(("array", "Array"))  # of std, cuda::std and CUTLASS
FRAGMENT_BYTES, REGISTER_BYTES = 1024, 4  # FRAGMENT_BYTES: more than any fragment has
_HALF = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
_BFLOAT = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
_OPCODES = {  # by the element type, and the K of the wmma
    ("half", 16): _HALF,
    ("__half", 16): _HALF,
    ("__nv_bfloat16", 16): _BFLOAT,
    ("nv_bfloat16", 16): _BFLOAT,
    ("tf32", 8): "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    ("signed char", 16): "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32",
    ("char", 16): "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32",
    ("unsigned char", 16): "mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32",
}
_SIZES = ((16, 16), (32, 8))  # M and N of those that are several mma
_ROWS, _COLUMNS = 16, 8  # of an mma
_LETTERS = {"matrix_a": "a", "matrix_b": "b", "accumulator": "d"}


@dataclass(frozen=True, slots=True)
class FragmentShape:
    """A type of fragment: matrix_a, matrix_b or accumulator, the mma of its matrices, "" if it is not several mma, the
    layout, and where the type is.

    rows, columns: of D.
    """

    use: str
    opcode: str
    layout: str
    span: tuple[int, int]
    rows: int
    columns: int

    @property
    def operand(self) -> Operand:
        """What it is in an mma."""
        return catalog.find(self.opcode).operand(_LETTERS[self.use])

    @property
    def registers(self) -> int:
        """The registers of each mma."""
        return self.operand.registers

    @property
    def count(self) -> int:
        """All registers."""
        return self.registers * len(list(self.list_parts()))

    def list_parts(self) -> Iterator[tuple[int, int]]:
        """Yield the first row and column of each mma in the fragment."""
        for row in range(0, _ROWS if self.use == "matrix_b" else self.rows, _ROWS):
            for column in range(0, _COLUMNS if self.use == "matrix_a" else self.columns, _COLUMNS):
                yield row, column


def list_arguments(type_: tree.Type) -> Sequence[tree.Expression]:
    """Return the template arguments of a type of a library, such as a fragment's; () for any other type."""
    return (type_.path[-1][1] or ()) if type_.path and type_.name in ("fragment", _STATE, *ARRAYS) else ()


def make_library_type(type_: tree.Type, values: Sequence[Any]) -> SizedType | None:
    """Return the type of an array, a fragment or a pipeline's state; None for any other type. values: of its template
    arguments.
    """
    if type_.name in ARRAYS:
        return _make_array_type(type_.name, *values) if len(values) == 2 else None
    if type_.name == _STATE:
        return _make_state_type(type_, values)
    return _make_fragment_type(type_, values) if len(values) >= 5 else None


def _make_state_type(type_: tree.Type, values: Sequence[Any]) -> SizedType | None:
    """Return the type of what the threads of a block share for a cuda::pipeline: two barriers a stage and a count of
    threads (libcu++, <cuda/pipeline>); None for other threads.
    """
    stages = values[1].known if len(values) == 2 and isinstance(values[1], ThreadNumber) else None
    of_block = _get_word(list_arguments(type_)[0]) == "thread_scope_block" if stages else False
    return SizedType(f"cuda::{_STATE}", 16 * stages + 8, align=8) if stages and of_block else None


def _make_fragment_type(type_: tree.Type, values: Sequence[Any]) -> SizedType:
    """Return the type of a fragment, followed if it is one of several mma."""
    words = [_get_word(argument) for argument in list_arguments(type_)]
    m, n, k = (size.known if isinstance(size, ThreadNumber) else None for size in values[1:4])
    name = values[4].name if isinstance(values[4], SizedType) else words[4]
    opcode = _OPCODES.get((name, k or 0), "") if words[0] != "accumulator" else _HALF
    layout = words[5] if len(words) > 5 else ""
    followed = opcode and (m, n) in _SIZES and words[0] in _LETTERS
    shape = FragmentShape(words[0], opcode if followed else "", layout, type_.span, m or 0, n or 0)
    return SizedType("fragment", FRAGMENT_BYTES, target=shape, scope=_make_scope(shape.count if followed else 0))


def _make_scope(count: int) -> Scope:
    """Return the constants of a fragment's class. count: its elements in a thread, 0 if they are not known."""
    scope = Scope(None)
    scope.names["num_elements"] = make_number(count)
    return scope


def _make_array_type(name: str, element: Any, count: Any) -> SizedType | None:
    """Return the type of std::array<T, n>: a class of one member without a name; None if it is not known."""
    number = count.known if isinstance(count, ThreadNumber) else None
    if not isinstance(element, SizedType) or not element.size or not number:
        return None
    member = StructMember("", 0, replace(element, dims=()), (number, *element.dims))
    return SizedType(name, element.size * prod(member.dims), members=(member,), scope=Scope(None))


def _get_word(node: tree.Expression) -> str:
    return node.name if isinstance(node, tree.Type) else node.last if isinstance(node, tree.Name) else ""
