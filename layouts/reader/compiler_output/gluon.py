"""Evaluate Gluon's NVMMASharedLayout.get_default_for and PaddedSharedLayout.with_identity_for.

Source: Triton 3.9, triton/experimental/gluon/language/_layouts.py. Results that depend on a symbol stay open.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any, TypeGuard

_BITS = re.compile(r"(?:.*\.)?(?:b?float|u?int|fp|bf|f|i|u)(\d{1,2})(?:e\d.*)?\Z")
MAKERS = {
    "NVMMASharedLayout.get_default_for": ("block_shape", "dtype", "transposed", "fp4_padded", "cga_layout"),
    "PaddedSharedLayout.with_identity_for": ("interval_padding_pairs", "shape", "order", "cga_layout"),
}


def make_layout_parameters(maker: str, arguments: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the parameters (MLIR's names) of the layout that a factory returns; text: formats an unknown number."""
    cga = arguments.get("cga_layout") or []
    if maker.startswith("NVMMA"):
        return _choose_default_swizzle(arguments, cga, text)
    shape, order = arguments.get("shape"), arguments.get("order")
    parameters = {"intervals": arguments.get("interval_padding_pairs")}
    if not (_is_integers(shape) and _is_integers(order) and sorted(order) == list(range(len(shape)))):
        return {**parameters, "offset": text}
    part = _get_block_shape(shape, cga)
    offset = [
        [1 << bit if at == dim else 0 for at in range(len(shape))]
        for dim in order
        for bit in range(part[dim].bit_length() - 1)
    ]
    return {**parameters, "offset": offset, "block": cga, "shape": shape}


def _choose_default_swizzle(arguments: dict[str, Any], cga: Any, text: str) -> dict[str, Any]:
    """Return the widest swizzle that divides the shape."""
    shape, transposed, packed = (
        arguments.get("block_shape"),
        arguments.get("transposed", False),
        arguments.get("fp4_padded", False),
    )
    match = _BITS.match(str(arguments.get("dtype")))
    bits: Any = int(match[1]) if match else arguments.get("dtype", text)
    width: Any = text
    if _is_integers(shape) and shape and isinstance(bits, int):
        part = _get_block_shape(shape, cga)
        if transposed is True:
            part = part[1:] + part[:1]
        row = part[-1] * (2 if packed is True else 1) * bits // 8
        flat = len(part) < 2 or prod(part[:-1]) < 8
        width = 0 if flat else next((n for n in (128, 64, 32) if row >= n and row % n == 0), 0)
    result = {"swizzlingByteWidth": width, "transposed": transposed, "elementBitWidth": bits}
    if packed is not False:
        result["fp4Padded"] = packed
    if _is_integers(shape) and len(shape) != 2:
        result["rank"] = len(shape)
    return {**result, **({"CGALayout": cga} if cga else {})}


def _is_integers(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(n) is int for n in value)


def _get_block_shape(shape: list[int], cga: Any) -> list[int]:
    """Return the shape of one CTA's part."""
    bases = cga if isinstance(cga, list) and all(_is_integers(basis) for basis in cga) else []
    moved = [max([1, *(2 * basis[at] for basis in bases if len(basis) == len(shape))]) for at in range(len(shape))]
    return [max(1, size // by) for size, by in zip(shape, moved, strict=True)]
