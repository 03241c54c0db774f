"""A CuTe layout as text: what it says of shape, stride, size and swizzle."""

from __future__ import annotations

import re
from math import prod

from layouts import cute
from layouts.reader.found import Found

_LOOKS = re.compile(r"\s*(?:(?:Swizzle|Sw|S)\s*<|smem_ptr|\(|_?\d+\s*:\s*_?\d)")
_HALVES = re.compile(r"\s*([0-9a-fA-F]+)\s*:\s*([0-9a-fA-F]+)\s*")  # may be hi:lo of a word as well
_WHOLE = 8  # hex digits of a half that is no size


def read(text: str) -> tuple[Found, ...]:
    """The layout that a text spells; LayoutError where it looks like one and is none."""
    if len(text) > cute.LONGEST or not (_LOOKS.match(text) and ":" in text.replace("::", "")):
        return ()
    halves = _HALVES.fullmatch(text)
    if halves and max(map(len, halves.groups())) >= _WHOLE:
        return ()
    found = cute.parse(text.rstrip().rstrip(";"), "text")
    modes = len(found.shape) if isinstance(found.shape, tuple) else 1
    sizes, strides = cute.leaves(found.shape), cute.leaves(found.stride)
    swizzle = found.swizzle
    facts = {
        "cute": str(found),
        "swizzle": f"{swizzle.bits},{swizzle.base},{swizzle.shift}" if swizzle else None,
        "element_bits": found.unit_bits,
        "shape": cute.spelled(found.shape),
        "stride": cute.spelled(found.stride),
        "modes": modes,
        "size": prod(sizes),
        "cosize": found.offset + 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True)),
        "storage": {"kind": "cute", "layout": str(found)} if modes == 2 else None,
    }
    undetermined = () if found.unit_bits else ("element_bits",)
    return (Found("layout", f"CuTe layout {found}", facts, (), not halves, undetermined),)
