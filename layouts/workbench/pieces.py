"""The pieces of a text: what a map, a layout, a builder, a word or an instruction is called, and its facts.

`contents.py` makes a piece with it of everything that it finds.
"""

from __future__ import annotations

import re
from typing import Any

from lanescope.bits import format_word
from lanescope.reader.code.builders import DescriptorBuilder
from lanescope.reader.code.tma_rules import TensorMap
from lanescope.workbench import scan
from lanescope.workbench.results import TextPiece
from lanescope.workbench.scan import InstructionMention


def piece_from_map(one: TensorMap) -> TextPiece:
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
    return TextPiece("tensor_map", title, (one.span,), facts, tuple(p.message for p in one.problems))


def piece_from_layout(one: scan.PrintedLayout | None, spans: tuple[tuple[int, int], ...], text: str = "") -> TextPiece:
    """Return the piece of a CuTe layout; its title is its source text if the text leaves it open."""
    if one is None:
        return TextPiece("layout", _shorten_title(" ".join(text[slice(*spans[0])].split())), spans)
    facts = {"cute": one.whole, "label": one.label}
    return TextPiece("layout", _shorten_title(one.whole), spans, facts, (one.overlap,) if one.overlap else ())


def _shorten_title(title: str) -> str:
    return title if len(title) <= 80 else title[:79] + "…"


def get_start_terms(one: DescriptorBuilder) -> tuple[str, ...]:
    """Return the terms of a descriptor's start, without the loop variables."""
    loops = one.steps[0].loops if one.steps else {}
    parts = re.split(r" [+-] |·", one.start) if isinstance(one.start, str) else []
    return tuple(part for part in parts if not part.isdecimal() and part not in loops)


def make_tile_key(one: DescriptorBuilder) -> tuple[Any, ...]:
    """Return a key that is equal for descriptors that differ only in their start within one tile."""
    return one.format, tuple(one.fields.items()), tuple(one.free.items()), get_start_terms(one) or one.name, one.operand


def piece_from_builders(same: list[DescriptorBuilder]) -> TextPiece:
    """Return the piece of descriptors that differ only in their start within one tile."""
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
        "word": None if one.word is None else format_word(one.word),
    }
    title = f"SBO {sbo}, LBO {lbo}, {'no' if swizzle == 'none' else swizzle} swizzle, start {start}"
    return TextPiece("descriptor", title, tuple(spans), facts, tuple(w.message for w in one.warnings))


def piece_from_words(label: str, words: list[scan.PrintedWord]) -> TextPiece:
    told = ", ".join(format_word(word.word) for word in words[:2]) + (", …" if len(words) > 2 else "")
    facts = {"words": [format_word(word.word) for word in words], "name": label}
    return TextPiece("descriptor", f"{label}: {told}" if label else told, tuple(word.span for word in words), facts)


def piece_from_mention(mention: InstructionMention, spans: tuple[tuple[int, int], ...]) -> TextPiece:
    one = mention.instruction
    facts = {"ptx": one.ptx, "majors": dict(mention.majors), "a_in_registers": mention.registers}
    return TextPiece("instruction", one.ptx, spans, facts)
