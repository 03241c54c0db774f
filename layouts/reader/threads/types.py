"""Types as threads' code needs them: sizes, signs, the members of structs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StructMember:
    """A member of a struct: where it begins, its type, and the sizes of an array."""

    name: str
    offset: int
    type: SizedType
    dims: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SizedType:
    """A type: its size in bytes; integer: whether C computes with it; vector: the size of a float4's member; target: of
    a pointer.
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

    @property
    def kind(self) -> tuple[int, bool]:
        """Bits and sign of an integer."""
        return 8 * self.size, self.signed

    @property
    def alignment(self) -> int:
        """The alignment that the type asks for."""
        return self.align or (max((m.type.alignment for m in self.members), default=1) if self.scope else self.size)


def _integers(size: int, signed: bool, names: str) -> dict[str, SizedType]:
    return {name: SizedType(name, size, True, signed) for name in names.split()}


def _data(size: int, names: str, vector: int = 0) -> dict[str, SizedType]:
    return {name: SizedType(name, size, vector=vector) for name in names.split()}


BUILTIN: dict[str, SizedType] = {
    **_integers(1, True, "char int8_t"),
    **_integers(1, False, "uint8_t bool byte uchar"),
    **_integers(2, True, "short int16_t"),
    **_integers(2, False, "uint16_t ushort"),
    **_integers(4, True, "int int32_t"),
    **_integers(4, False, "unsigned uint32_t uint"),
    **_integers(8, True, "long int64_t ptrdiff_t intptr_t ssize_t"),
    **_integers(8, False, "uint64_t size_t uintptr_t"),
    **_data(1, "__nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp8_storage_t float_e4m3_t float_e5m2_t"),
    **_data(2, "half __half nv_bfloat16 __nv_bfloat16 half_t bfloat16_t bf16 fp16 nv_half __nv_half float16_t"),
    **_data(4, "float"),
    **_data(8, "double"),
    **_data(4, "half2 __half2 nv_bfloat162 __nv_bfloat162 bfloat162 short2 ushort2", 2),
    **_data(8, "float2 int2 uint2", 4),
    **_data(16, "float4 int4 uint4", 4),
    **_data(12, "dim3 uint3 int3", 4),
    **_data(16, "double2 longlong2 ulonglong2 long2 ulong2", 8),
    **_data(4, "char4 uchar4", 1),
    **_data(8, "short4 ushort4", 2),
}
VOID = SizedType("void", 1)
_WORDS = re.compile(r"\b(?:const|volatile|signed|static|constexpr|typename|struct|register)\b")
_LONG = {"long long": "long", "unsigned int": "unsigned", "unsigned char": "uint8_t", "unsigned short": "uint16_t"}


def find_builtin(name: str) -> SizedType | None:
    """Return a type of C++ or CUDA by its name."""
    words = " ".join(_WORDS.sub(" ", name).split())
    if words in BUILTIN:
        return BUILTIN[words]
    if words.startswith("unsigned long"):
        return BUILTIN["uint64_t"]
    if words.startswith("long"):
        return BUILTIN["long"]
    return BUILTIN.get(_LONG.get(words, words.removesuffix(" int")))


def make_pointer_type(target: SizedType, dims: tuple[int, ...] = ()) -> SizedType:
    """Return the type of a pointer."""
    return SizedType(f"{target.name}*", 8, pointer=True, target=target, dims=dims)
