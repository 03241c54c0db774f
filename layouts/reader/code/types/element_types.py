"""Parse element types of tensors as CUDA, PyTorch and Triton spell them."""

from __future__ import annotations

import re
from typing import Any

from lanescope.cxx.sizes import ELEMENT_BITS
from lanescope.reader.code.calling import call_layouts
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.values import OpaqueValue, Pointer, ResolvedType, can_be_element
from lanescope.shared.map_enums import MAP_TYPES

# spelling in PyTorch's C++, Triton and others → name in ELEMENT_BITS
_TORCH = {
    **dict.fromkeys("kBFloat16 BF16".split(), "bfloat16"),
    **dict.fromkeys("kFloat16 kHalf F16".split(), "float16"),
    **dict.fromkeys("float8e4nv kFloat8_e4m3fn E4M3".split(), "e4m3"),
    "kFloat": "float32",
    **dict.fromkeys("float8e5 kFloat8_e5m2 E5M2".split(), "e5m2"),
    **dict.fromkeys("int8 uint8 kInt8 kByte kUInt8 kChar".split(), "fp8_t"),
}
_C10_NAMES = {  # of torch::kHalf and the like
    "Half": "float16",
    "Float16": "float16",
    "BFloat16": "bfloat16",
    "Float": "float32",
    "Float32": "float32",
    "Float8_e4m3fn": "float8_e4m3fn",
    "Float8_e5m2": "float8_e5m2",
    "Byte": "uint8",
    "UInt8": "uint8",
    "Char": "int8",
    "Int8": "int8",
}
_C10 = re.compile(rf"(?:torch|at|c10)(?:::ScalarType)?::k?({'|'.join(_C10_NAMES)})\b")


def parse_element_type(value: Any) -> tuple[int | None, str | None]:
    """Parse (bits, name) of an element type: a CUtensorMapDataType, a torch or Triton dtype, or a pointer's type."""
    if isinstance(value, OpaqueValue) and value.head in ("pointer_type", "dtype", "block_type") and value.arguments:
        inner = value.arguments[0]  # tl.pointer_type(tl.float16), or the dtype of a tensor
        return parse_element_type(inner) if value.head != "dtype" else find_tensor_element(inner)
    read = get_integer(value) if not isinstance(value, str) else None
    if read is not None and read.known is not None:
        known = read.known
        row = MAP_TYPES[known] if 0 <= known < len(MAP_TYPES) else None
        return (row.shared_bits, row.name) if row else (None, None)
    name = value.name if isinstance(value, ResolvedType) else str(value)
    last = re.split(r"[.:]", name)[-1]
    short = _TORCH.get(last, last)
    return ELEMENT_BITS.get(short), (last if short in ELEMENT_BITS else None)


def find_tensor_element(value: Any) -> tuple[int | None, str | None]:
    """Find (bits, name) of the element type of a tensor made in the text: torch.empty(…, dtype=torch.float16)."""
    for inner in call_layouts.walk_values(value):
        element_type: tuple[int | None, str | None] = (None, None)
        if isinstance(inner, OpaqueValue):
            named = dict(inner.named)
            if "dtype" in named:
                element_type = parse_element_type(named["dtype"])
            elif kinds := [k[1] for v in inner.arguments if (k := _C10.search(str(v))) is not None]:
                element_type = parse_element_type(OpaqueValue(_C10_NAMES[kinds[0]]))
            elif inner.head in ("half", "bfloat16", "float"):
                element_type = parse_element_type(
                    OpaqueValue({"half": "float16", "float": "float32"}.get(inner.head, inner.head))
                )
            elif inner.head == "to" and inner.arguments:
                element_type = parse_element_type(inner.arguments[0])
            elif inner.kind is not None and can_be_element(inner.kind):
                element_type = inner.kind.bits, inner.kind.name
        elif isinstance(inner, Pointer) and inner.element is not None and can_be_element(inner.element):
            element_type = inner.element.bits, inner.element.name
        if element_type[0]:
            return element_type
    return None, None
