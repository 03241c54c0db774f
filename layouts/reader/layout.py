"""A CuTe layout as text: what it says of shape, stride, size and swizzle."""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod
from typing import Any

from layouts import catalog, cute
from layouts.instruction import Instruction
from layouts.reader.found import Found, instruction

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
    notices: tuple[str, ...] = ()
    if modes == 3:
        facts |= _staged(found)
        notices = ("The third mode is the pipeline's stage: the storage is that of stage 0.",)
    undetermined = () if found.unit_bits else ("element_bits",)
    fragments = _fragments(found)
    if fragments:
        notices = (*notices, "As (thread, value) → element this is also a fragment of an instruction.")
    whole = Found("layout", f"CuTe layout {found}", facts, notices, not halves, undetermined)
    return (whole, *fragments)


def _staged(found: cute.CuteLayout) -> dict[str, Any]:
    """The facts of a layout whose third mode is the stage."""
    one = cute.CuteLayout(found.shape[:2], found.stride[:2], found.swizzle, found.unit_bits, found.offset)
    sizes, strides = cute.leaves(found.shape[2]), cute.leaves(found.stride[2])
    steps = [step for n, step in zip(sizes, strides, strict=True) if n > 1]
    return {
        "stages": prod(sizes),
        "stage_stride": steps[0] if len(steps) == 1 else None,
        "storage": {"kind": "cute", "layout": str(one)},
    }


def _coalesced(shape: Any, stride: Any) -> tuple[tuple[tuple[int, int], ...], ...] | None:
    """The digits (size, stride) of the modes thread and value without size 1, neighbours that run on joined."""
    if not isinstance(shape, tuple) or len(shape) != 2:
        return None
    out = []
    for sizes, steps in zip(shape, stride, strict=True):
        mode: list[tuple[int, int]] = []
        for size, step in zip(cute.leaves(sizes), cute.leaves(steps), strict=True):
            if size > 1 and mode and mode[-1][0] * mode[-1][1] == step:
                mode[-1] = (mode[-1][0] * size, mode[-1][1])
            elif size > 1:
                mode.append((size, step))
        out.append(tuple(mode))
    return tuple(out)


@lru_cache(maxsize=1)
def _known() -> dict[object, dict[str, list[Instruction]]]:
    """TV layout, as the pages print it and, for B, as CuTe has it → operand → instructions."""
    out: dict[object, dict[str, list[Instruction]]] = {}
    spelled: dict[tuple[str, bool], object] = {}
    for i in catalog.instructions():
        for op in i.operands.values():
            for turned in (False, True) if op.name == "b" and i.family.multiplies else (False,):
                key = op.cute, turned
                if key not in spelled:
                    layout = cute.parse(op.cute)
                    stride = _turned(layout.stride, op.row_count, op.col_count) if turned else layout.stride
                    spelled[key] = _coalesced(layout.shape, stride)
                out.setdefault(spelled[key], {}).setdefault(op.name, []).append(i)
    return out


def _turned(stride: Any, rows: int, cols: int) -> Any:
    """Strides of the same elements in the transposed matrix, column-major."""
    if isinstance(stride, tuple):
        return tuple(_turned(one, rows, cols) for one in stride)
    return stride % rows * cols + stride // rows


def _fragments(found: cute.CuteLayout) -> tuple[Found, ...]:
    """The instructions' fragments that a TV layout is, an entry an operand."""
    if found.swizzle or found.unit_bits or found.offset:
        return ()
    key = _coalesced(found.shape, found.stride)
    threads = prod(cute.leaves(found.shape[0])) if key else 0
    if key is None or threads not in (8, 32, 128):
        return ()
    out = []
    operands = _known().get(key, {})
    for letter, held in operands.items():
        if letter == "c" and operands.get("d", [])[: len(held)] == held:
            continue
        (one,) = instruction(held, f"Operand {letter.upper()}", operand=letter)
        out.append(Found(one.kind, one.title, one.facts, one.notices, False))
    return tuple(out)
