"""The reader's rows for code: what a text's builders and tensor maps mean, as the contract has it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any

from lanescope.bits import format_word
from lanescope.inputs import join_words
from lanescope.reader.code import builders, tensor_maps
from lanescope.reader.code.builders import DescriptorBuilder
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.tensor_maps import TensorMap
from lanescope.reader.meaning import TextMeaning

_ENUM = re.compile(
    r"\b(?:CU_TENSOR_MAP_SWIZZLE_|(?:CU)?[tT]ensorMapSwizzle(?:Mode)?(?:::|\.)(?:\w+_)?)(NONE|(?:32|64|128)B)(?!\w)"
)
_CALLED = {"lbo_bytes": "LBO", "sbo_bytes": "SBO", "base_offset": "base offset"}
_MOST_MENTION = 4000  # characters of a text that is about the one swizzle it names
_MODES = {"NONE": "none", "32B": "32B", "64B": "64B", "128B": "128B"}


def recognise_code(text: str) -> tuple[TextMeaning, ...]:
    """Recognise the descriptors and tensor maps that a text's code makes, those with known fields first."""
    built, maps, notices = _evaluate_code(text)
    found = (*map(_make_builder_meaning, built), *map(make_map_meaning, maps))
    return tuple(replace(one, notices=(*one.notices, *notices)) for one in found) or _recognise_swizzle(text)


def _recognise_swizzle(text: str) -> tuple[TextMeaning, ...]:
    """Recognise a swizzle of the tensor map's enum, alone: all else is open."""
    named = {_MODES[match[1]] for match in _ENUM.finditer(text)}
    if len(named) != 1 or len(text) > _MOST_MENTION:
        return ()
    mode = named.pop()
    facts: dict[str, Any] = {"storage": None, "element_bits": None, "box": [], "swizzle": mode}
    said = "without a swizzle" if mode == "none" else f"with the {mode} swizzle"
    notice = f"TMA stores {said}; the box and the element type say the rest."
    if "EncodeIm2col" in text:
        notice = f"A tensor map of im2col stores {said}. It has no box: what it stores is not read."
    opened = ("storage", "element_bits", "box")
    return (TextMeaning("tensor_map", f"TMA tensor map: swizzle {mode}", facts, (notice,), False, opened),)


def is_code(text: str) -> bool:
    """Return whether a text is code for this recogniser."""
    return any(_evaluate_code(text)[:2])


@lru_cache(maxsize=8)
def _evaluate_code(text: str) -> tuple[tuple[DescriptorBuilder, ...], tuple[TensorMap, ...], tuple[str, ...]]:
    """Evaluate the descriptors and maps of a text, and what they rest on or leave out."""
    made = evaluate_text(text)
    if made is None:
        return (), (), ()
    notices = (*(one.said for one in made.presumed), *(one.message for one in made.unread))
    return builders.find_evaluation_builders(made), tensor_maps.find_evaluation_maps(made), notices


def _make_builder_meaning(one: DescriptorBuilder) -> TextMeaning:
    left_open = one.undetermined + (("start",) if isinstance(one.start, str) else ())
    facts = {
        "fields": one.fields,
        "start": one.start,
        "format": one.format,
        "word": None if one.word is None else format_word(one.word),
        "warnings": [w.message for w in one.warnings],
        **({"free": dict(one.free)} if one.free else {}),
    }
    told = f"start address from '{one.start}'" if isinstance(one.start, str) else format_word(one.word or one.known)
    if one.word is None and not isinstance(one.start, str) and not one.known:
        told = join_words([f"{_CALLED.get(name, name)} from '{given}'" for name, given in list(one.free.items())[:3]])
    notices = tuple(w.message for w in (*one.warnings, *one.doubts))
    return TextMeaning(
        "builder",
        f"Code that builds a descriptor: {told}",
        facts,
        notices,
        not one.warnings and not one.free,
        left_open,
    )


def make_map_meaning(one: TensorMap) -> TextMeaning:
    """Make the meaning of a tensor map, in the form of the contract."""
    facts = {
        "storage": None if one.storage is None else dict(one.storage),
        "element_bits": one.element_bits,
        "box": list(one.box),
        "swizzle": one.swizzle,
    }
    sizes = "×".join("?" if size is None else str(size) for size in one.box) or "unknown"
    title = f"TMA tensor map: box {sizes}, swizzle {one.swizzle or 'unknown'}"
    return TextMeaning(
        "tensor_map", title, facts, tuple(p.message for p in one.problems), not one.problems, one.undetermined
    )
