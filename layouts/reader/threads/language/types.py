"""Types of device code: sizes, signs, members of structs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import Any

from lanescope.cxx.integers import find_integer_type
from lanescope.cxx.sizes import find_size
from lanescope.cxx.value_class import value_class

_TYPEDEFS = {"__nv_fp8_storage_t": "unsigned char"}  # cuda_fp8.h
_VECTOR = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double|dim|(?:__)?half|(?:__)?nv_bfloat16)([1-4])")


@dataclass(frozen=True, slots=True)
class StructMember:
    """A member of a struct: its offset, its type and the dimensions of an array."""

    name: str
    offset: int
    type: SizedType
    dims: tuple[int, ...] = ()


@value_class(frozen=True, slots=True)
class SizedType:
    """A type and its size in bytes.

    integer: whether it is an integer of C; vector: the member size of a vector such as float4; target: of a pointer;
    field: (first bit, width) of a member that is a part of the bits of its struct, else (0, 0); enumeration: its
    declaration, and the scope of that; reference: whether it is a member that refers to a place, which it holds.
    """

    name: str
    size: int
    integer: bool = False
    signed: bool = True
    vector: int = 0
    pointer: bool = False
    target: Any = None
    dims: tuple[int, ...] = ()
    members: tuple[StructMember, ...] = ()
    scope: Any = None  # of a struct: its static members
    align: int = 0
    enumeration: Any = field(default=None, compare=False)
    field: tuple[int, int] = (0, 0)
    reference: bool = False

    @property
    def kind(self) -> tuple[int, bool]:
        """Width and sign of an integer."""
        return 8 * self.size, self.signed

    @property
    def is_object(self) -> bool:
        """Whether it is a class, not a pointer to one or an array."""
        return self.scope is not None and not self.pointer and not self.dims

    @property
    def alignment(self) -> int:
        """The alignment of the type."""
        return self.align or (max((m.type.alignment for m in self.members), default=1) if self.scope else self.size)


VOID = SizedType("void", 1)


@lru_cache(maxsize=1024)
def find_builtin(name: str) -> SizedType | None:
    """Return a type of C++ or CUDA by its name."""
    integer = find_integer_type(_TYPEDEFS.get(name, name))
    if integer is not None and integer.size <= 8:
        return SizedType(integer.name, integer.size, True, integer.signed)
    size = find_size(name)
    if size is None:
        return None
    last = name.rpartition("::")[2]
    count = _VECTOR.fullmatch(last)
    return SizedType(last, size.bytes, vector=size.bytes // int(count[1]) if count else 0, align=size.align)


def find_component(vector: SizedType, name: str = "x") -> SizedType:
    """Return the type of a component of a vector: unsigned int of a uint4 and of a dim3."""
    item = find_builtin({"dim": "uint"}.get(vector.name[:-1], vector.name[:-1]))
    return item or SizedType(f"{vector.name}.{name}", vector.vector)


def make_pointer_type(target: SizedType, dims: tuple[int, ...]) -> SizedType:
    """Return the type of a pointer."""
    return SizedType(f"{target.name}*", 8, pointer=True, target=target, dims=dims)


def make_reference_type(target: SizedType) -> SizedType:
    """Return the type of a member that is a reference."""
    return SizedType(f"{target.name}&", 8, pointer=True, target=target, reference=True)


@dataclass(slots=True)
class StructLayout:
    """The members of a struct or a union so far. sized: whether the sizes of all are known."""

    union: bool
    members: list[StructMember] = field(default_factory=list)
    align: int = 1
    past: int = 0
    sized: bool = True

    @property
    def size(self) -> int:
        """The bytes of the whole; 0 if unknown."""
        size = max((m.offset + m.type.size * prod(m.dims) for m in self.members), default=1)
        return -(-size // self.align) * self.align if self.sized else 0

    def append_member(self, name: str, kind: SizedType, align: int) -> None:
        offset = self._find_offset(align)
        item = replace(kind, dims=()) if kind.dims else kind
        self.members.append(StructMember(name, offset, item, kind.dims))
        self.past = offset + kind.size * prod(kind.dims)

    def append_members(self, inner: SizedType) -> None:
        """Append the members of a struct without a name."""
        offset = self._find_offset(inner.alignment)
        self.members += [replace(member, offset=offset + member.offset) for member in inner.members]
        self.past, self.sized = offset + inner.size, self.sized and inner.size > 0

    def _find_offset(self, align: int) -> int:
        self.align = max(self.align, align)
        return -(-self.past // align) * align if not self.union else 0
