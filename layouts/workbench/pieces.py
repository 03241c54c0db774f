"""The pieces of a text: what a map, a layout, a builder, a word or an instruction is called, and its facts.

`contents.py` makes a piece with it of everything that it finds.
"""

from __future__ import annotations

import re
from typing import Any

from lanescope.bits import hex_word
from lanescope.reader.code.builders import Builder
from lanescope.reader.code.tma_rules import TensorMap
from lanescope.workbench import scan
from lanescope.workbench.found import Piece
from lanescope.workbench.scan import Mention


def of_map(one: TensorMap) -> Piece:
    sizes = " × ".join("?" if size is None else str(size) for size in one.box) or "unknown"
    kind = (one.data_type or "").lower().replace("bfloat16", "bf16").replace("float", "f")
    mode = "no" if one.swizzle == "none" else one.swizzle or "unknown"
    title = f"{kind + ', ' if kind else ''}box {sizes}, {mode} swizzle"
    facts: dict[str, Any] = {
        "storage": None if one.storage is None else dict(one.storage),
        "element_bits": one.element_bits,
        "box": list(one.box),
        "swizzle": one.swizzle,
        "undetermined": list(one.undetermined),
    }
    return Piece("tensor_map", title, (one.span,), facts, tuple(p.message for p in one.problems))


def of_layout(one: scan.Layout | None, spans: tuple[tuple[int, int], ...], text: str = "") -> Piece:
    """A CuTe layout; one that the text leaves open is called as it is written."""
    if one is None:
        return Piece("layout", _short(" ".join(text[slice(*spans[0])].split())), spans)
    facts = {"cute": one.whole, "label": one.label}
    return Piece("layout", _short(one.whole), spans, facts, (one.overlap,) if one.overlap else ())


def _short(title: str) -> str:
    return title if len(title) <= 80 else title[:79] + "…"


def base(one: Builder) -> tuple[str, ...]:
    """What the start of a descriptor is made of, but for the loops."""
    loops = one.steps[0].loops if one.steps else {}
    parts = re.split(r" [+-] |·", one.start) if isinstance(one.start, str) else []
    return tuple(part for part in parts if not part.isdecimal() and part not in loops)


def alike(one: Builder) -> tuple[Any, ...]:
    """What descriptors that only begin at other places of one tile have in common."""
    return one.format, tuple(one.fields.items()), tuple(one.free.items()), base(one) or one.name, one.operand


def of_builders(same: list[Builder]) -> Piece:
    """Descriptors that only begin at other places of one tile."""
    one = same[0]
    swizzle = one.swizzle or one.free.get("swizzle", "?")
    lbo = one.free.get("lbo_bytes", "?") if one.lbo_bytes is None else f"{one.lbo_bytes} B"
    sbo = one.free.get("sbo_bytes", "?") if one.sbo_bytes is None else f"{one.sbo_bytes} B"
    spans = dict.fromkeys(s for b in same for s in (b.span, *(s for origin in b.origins.values() for s in origin)))
    start = one.start if isinstance(one.start, str) else hex(one.start)
    if len(same) > 1:
        start = f"{start}, {'…' if len(same) > 2 else same[1].start}"
    facts = {
        "fields": one.fields,
        "start": one.start,
        "format": one.format,
        "name": one.name,
        "word": None if one.word is None else hex_word(one.word),
    }
    title = f"SBO {sbo}, LBO {lbo}, {'no' if swizzle == 'none' else swizzle} swizzle, start {start}"
    return Piece("descriptor", title, tuple(spans), facts, tuple(w.message for w in one.warnings))


def of_words(label: str, words: list[scan.Word]) -> Piece:
    told = ", ".join(hex_word(word.word) for word in words[:2]) + (", …" if len(words) > 2 else "")
    facts = {"words": [hex_word(word.word) for word in words], "name": label}
    return Piece("descriptor", f"{label}: {told}" if label else told, tuple(word.span for word in words), facts)


def of_mention(mention: Mention, spans: tuple[tuple[int, int], ...]) -> Piece:
    one = mention.instruction
    facts = {"ptx": one.ptx, "majors": dict(mention.majors), "a_in_registers": mention.registers}
    return Piece("instruction", one.ptx, spans, facts)
