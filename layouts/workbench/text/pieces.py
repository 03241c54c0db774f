"""Make the pieces of a text, with titles and facts: tensor maps, layouts, descriptor builders, words, instructions.

`contents.py` finds them in the text and calls the functions below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lanescope.bits import format_word
from lanescope.inputs import join_words
from lanescope.ptx.table.descriptors import LBO_MODE
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.workbench.results import Span, TextPiece
from lanescope.workbench.source.open_names import NAME, can_be_given, list_names
from lanescope.workbench.text import scan
from lanescope.workbench.text.scan import InstructionMention

OPEN = "open"  # in titles, instead of a term that says nothing to a reader
MOST_TERM, MOST_NAMES = 48, 4  # characters of a term in a title; names in a message
_UNREADABLE = re.compile(r"…|'|several values|another value")
_OPEN_FIELDS = {"sbo_bytes": "SBO", "lbo_bytes": "LBO", "swizzle": "the swizzle mode"}


def make_map_piece(tensor_map: TensorMap) -> TextPiece:
    """Return the piece of a tensor map."""
    sizes = " × ".join("?" if size is None else str(size) for size in tensor_map.box) or "unknown"
    kind = (tensor_map.data_type or "").lower().replace("bfloat16", "bf16").replace("float", "f")
    mode = "no" if tensor_map.swizzle == "none" else tensor_map.swizzle or "unknown"
    title = f"{kind + ', ' if kind else ''}box {sizes}, {mode} swizzle"
    facts: dict[str, Any] = {
        "storage": None if tensor_map.storage is None else dict(tensor_map.storage),
        "element_bits": tensor_map.element_bits,
        "box": list(tensor_map.box),
        "swizzle": tensor_map.swizzle,
        "undetermined": list(tensor_map.undetermined),
    }
    return TextPiece("tensor_map", title, (tensor_map.span,), facts, tuple(p.message for p in tensor_map.problems))


def make_layout_piece(
    layout: scan.PrintedLayout | None, spans: tuple[tuple[int, int], ...], text: str = ""
) -> TextPiece:
    """Return the piece of a CuTe layout. If its value is unknown (None), its source text is the title."""
    if layout is None:
        return TextPiece("layout", _shorten_title(" ".join(text[slice(*spans[0])].split())), spans)
    facts = {"cute": layout.notation, "label": layout.label}
    return TextPiece(
        "layout", _shorten_title(layout.notation), spans, facts, (layout.overlap,) if layout.overlap else ()
    )


def _shorten_title(title: str) -> str:
    return title if len(title) <= 80 else title[:79] + "…"


def get_start_terms(builder: DescriptorBuilder) -> tuple[str, ...]:
    """Return the terms of a descriptor's start, without the loop variables."""
    loops = builder.steps[0].loops if builder.steps else {}
    parts = re.split(r" [+-] |·", builder.start) if isinstance(builder.start, str) else []
    return tuple(part for part in parts if not part.isdecimal() and part not in loops)


def make_tile_key(builder: DescriptorBuilder) -> tuple[Any, ...]:
    """Return a key that is the same for all descriptors of one tile: they differ only in their start."""
    return (
        builder.format,
        tuple(builder.fields.items()),
        tuple(builder.free.items()),
        get_start_terms(builder) or builder.name,
        builder.operand,
    )


def make_builder_piece(same: list[DescriptorBuilder]) -> TextPiece:
    """Return the piece of the descriptors of one tile, which differ only in their start."""
    first = same[0]
    swizzle = first.swizzle or _format_open(first.free.get("swizzle", ""))
    spans = dict.fromkeys(s for b in same for s in (b.span, *(s for origin in b.origins.values() for s in origin)))
    start = _format_open(first.start) if isinstance(first.start, str) else hex(first.start)
    if len(same) > 1:
        start = f"{start}, {'…' if len(same) > 2 else same[1].start}"
    facts = {
        "fields": first.fields,
        "start": first.start,
        "format": first.format,
        "name": first.name,
        "copied": any(builder.copied for builder in same),
        "absolute_lbo": _has_absolute_lbo(first),
        "word": None if first.word is None else format_word(first.word),
        "open": {name: first.free.get(key, "") for key, name in _OPEN_FIELDS.items() if key in first.free},
    }
    mode = "swizzle open" if swizzle == OPEN else f"{'no' if swizzle == 'none' else swizzle} swizzle"
    strides = f"SBO {_format_stride(first, 'sbo_bytes')}, LBO {_format_stride(first, 'lbo_bytes')}"
    title = f"{strides}, {mode}, start {start}"
    notices = tuple(w.message for w in first.warnings)
    return TextPiece("descriptor", title, tuple(spans), facts, notices, origins=dict(first.origins))


def _has_absolute_lbo(builder: DescriptorBuilder) -> bool:
    return builder.format.startswith("tcgen05") and bool(LBO_MODE.get(builder.known))


def _format_stride(builder: DescriptorBuilder, field: str) -> str:
    value = getattr(builder, field)
    return _format_open(builder.free.get(field, "")) if value is None else f"{value} B"


def _format_open(term: str) -> str:
    """Return a term as titles show it: OPEN if it is truncated or unknown after a loop."""
    return OPEN if not term or _UNREADABLE.search(term) or len(term) > MOST_TERM else term


def describe_unread(piece: TextPiece) -> tuple[str, Span, tuple[str, ...]]:
    """Return (message, place, names for -D) about a descriptor that no known instruction reads."""
    open_: Mapping[str, str] = piece.facts.get("open") or {}
    copied = piece.facts.get("copied")
    nobody = "tcgen05.cp reads it" if copied else "no instruction of the file is known to read it"
    if piece.facts.get("absolute_lbo"):
        nobody = f"bit {LBO_MODE.low} makes LBO an absolute address, and which bytes are read then is not documented"
    if not open_:
        return f"{piece.title}: {nobody}; its fields alone were checked.", piece.spans[0], ()
    found = (name for term in open_.values() for name in list_names(term, functions=False))
    names = tuple(name for name in dict.fromkeys(found) if can_be_given(name))
    fields, verb = join_words(list(open_)), "is" if len(open_) == 1 else "are"
    of = f" of {piece.facts['name']}" if NAME.fullmatch(str(piece.facts.get("name") or "")) else ""
    by = f" (by {', '.join(names[:MOST_NAMES])}{', …' if len(names) > MOST_NAMES else ''})" if names else ""
    rest = "nothing of it" if len(open_) == len(_OPEN_FIELDS) else "only the rest of it"
    return f"{fields}{of} {verb} open{by}, and {nobody}: {rest} was checked.", piece.spans[0], names


def make_word_piece(label: str, words: list[scan.PrintedWord]) -> TextPiece:
    """Return the piece of descriptors that are written as numbers; label: their name in the text."""
    shown = ", ".join(format_word(word.word) for word in words[:2]) + (", …" if len(words) > 2 else "")
    facts = {"words": [format_word(word.word) for word in words], "name": label}
    return TextPiece("descriptor", f"{label}: {shown}" if label else shown, tuple(word.span for word in words), facts)


def make_instruction_piece(mention: InstructionMention, spans: tuple[tuple[int, int], ...]) -> TextPiece:
    """Return the piece of an instruction and the spans that mention it."""
    instruction = mention.instruction
    facts = {"ptx": instruction.ptx, "majors": dict(mention.majors), "a_in_registers": mention.registers}
    return TextPiece("instruction", instruction.ptx, spans, facts)
