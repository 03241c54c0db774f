"""Recognise code for the reader: the descriptors and tensor maps that it builds, in the form of the contract."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any

from lanescope.bits import format_word
from lanescope.cxx.source_text import write_floor_divisions
from lanescope.inputs import join_words
from lanescope.reader.code.descriptors import builders
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.maps import tensor_maps
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.meaning import TextMeaning

_ENUM = re.compile(
    r"\b(?:CU_TENSOR_MAP_SWIZZLE_|(?:CU)?[tT]ensorMapSwizzle(?:Mode)?(?:::|\.)(?:\w+_)?)(NONE|(?:32|64|128)B)(?!\w)"
)
_OF_DESCRIPTOR = re.compile(r"(?:[sS]mem|SMem|[mM]atrix|Mma|MMA\w*)_?[dD]esc")
_FIELD_LABELS = {"lbo_bytes": "LBO", "sbo_bytes": "SBO", "base_offset": "base offset"}
_MOST_MENTION = 4000  # a longer text is not about the one swizzle that it names
_MODES = {"NONE": "none", "32B": "32B", "64B": "64B", "128B": "128B"}


def recognise_code(text: str) -> tuple[TextMeaning, ...]:
    """Recognise the descriptors and tensor maps that a text's code makes, those with known fields first."""
    built, maps, notices = _evaluate_code(text)
    meanings = (*map(make_builder_meaning, built), *map(make_map_meaning, maps))
    return tuple(replace(meaning, notices=(*meaning.notices, *notices)) for meaning in meanings) or _recognise_swizzle(
        text
    )


def _recognise_swizzle(text: str) -> tuple[TextMeaning, ...]:
    """Recognise a lone swizzle of the tensor map's enum; all other fields stay unknown."""
    named = {_MODES[match[1]] for match in _ENUM.finditer(text)}
    if len(named) != 1 or len(text) > _MOST_MENTION:
        return ()
    mode = named.pop()
    if _OF_DESCRIPTOR.search(text) and "CU_TENSOR_MAP" not in text:
        notice = "Its start, LBO and SBO are not in the text: paste the word, or the code that assigns its fields."
        return (TextMeaning("topic", f"A matrix descriptor: swizzle {mode}", {"topic": "fields"}, (notice,)),)
    facts: dict[str, Any] = {"storage": None, "element_bits": None, "box": [], "swizzle": mode}
    description = "without a swizzle" if mode == "none" else f"with the {mode} swizzle"
    notice = f"TMA stores {description}; the box and the element type say the rest."
    if "EncodeIm2col" in text:
        notice = f"A tensor map of im2col stores {description}. It has no box: what it stores is not read."
    undetermined = ("storage", "element_bits", "box")
    return (TextMeaning("tensor_map", f"TMA tensor map: swizzle {mode}", facts, (notice,), False, undetermined),)


def is_code(text: str) -> bool:
    """Return whether a text is code for this recogniser."""
    return any(_evaluate_code(text)[:2])


@lru_cache(maxsize=8)
def _evaluate_code(text: str) -> tuple[tuple[DescriptorBuilder, ...], tuple[TensorMap, ...], tuple[str, ...]]:
    """Return the descriptors and tensor maps of a text, with notices about assumptions and unread parts."""
    evaluation = evaluate_text(text if "\n" in text.strip() else write_floor_divisions(text))
    if evaluation is None:
        return (), (), ()
    notices = (*(remark.message for remark in evaluation.presumed), *(remark.message for remark in evaluation.unread))
    return builders.find_evaluation_builders(evaluation), tensor_maps.find_evaluation_maps(evaluation), notices


def make_builder_meaning(builder: DescriptorBuilder) -> TextMeaning:
    """Make the meaning of code that builds a descriptor, in the form of the contract."""
    left_open = builder.undetermined + (("start",) if isinstance(builder.start, str) else ())
    facts = {
        "fields": builder.fields,
        "start": builder.start,
        "format": builder.format,
        "word": None if builder.word is None else format_word(builder.word),
        "warnings": [w.message for w in builder.warnings],
        **({"free": dict(builder.free)} if builder.free else {}),
    }
    summary = (
        f"start address from '{builder.start}'"
        if isinstance(builder.start, str)
        else format_word(builder.word or builder.known)
    )
    if builder.word is None and not isinstance(builder.start, str) and not builder.known:
        summary = join_words(
            [f"{_FIELD_LABELS.get(name, name)} from '{source}'" for name, source in list(builder.free.items())[:3]]
        )
    notices = tuple(w.message for w in (*builder.warnings, *builder.doubts))
    return TextMeaning(
        "builder",
        f"Code that builds a descriptor: {summary}",
        facts,
        notices,
        not builder.warnings and not builder.free,
        left_open,
    )


def make_map_meaning(tensor_map: TensorMap) -> TextMeaning:
    """Make the meaning of a tensor map, in the form of the contract."""
    facts = {
        "storage": None if tensor_map.storage is None else dict(tensor_map.storage),
        "element_bits": tensor_map.element_bits,
        "box": list(tensor_map.box),
        "swizzle": tensor_map.swizzle,
    }
    sizes = "×".join("?" if size is None else str(size) for size in tensor_map.box) or "unknown"
    title = f"TMA tensor map: box {sizes}, swizzle {tensor_map.swizzle or 'unknown'}"
    return TextMeaning(
        "tensor_map",
        title,
        facts,
        tuple(p.message for p in tensor_map.problems),
        not tensor_map.problems,
        tensor_map.undetermined,
    )
