"""Place the members of a struct or a union in its bytes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from lanescope.reader.threads.language.types import SizedType, StructMember


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
