"""Code of a text that no compiler emits: below `#if 0`, an `#ifdef` of a macro that is not defined, or `if (false)`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, reduce

from lanescope.cxx.source_text import MACRO, blank
from lanescope.reader.code.preprocessing.dead_blocks import find_dead_blocks, has_branch
from lanescope.reader.code.preprocessing.preprocessor import Preprocessor
from lanescope.reader.code.preprocessing.variants import list_leaves, make_variants
from lanescope.reader.code.ptx.ptx_module import is_ptx_module
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax.source_text import blank_printed, is_python

_NAME = re.compile(r"[A-Za-z_]\w*")
_CONDITION = re.compile(r"^[ \t]*(?:#|%:)[ \t]*if", re.M)


def blank_uncompiled_code(text: str, macros: Mapping[str, str]) -> str:
    r"""Blank the branches of #if directives that are read for no value of the undecided macros; keeps all places.

    A branch that depends on the device or the compiler (`__CUDA_ARCH__`) is kept unless `macros` has the value.

    >>> blank_uncompiled_code("a;\n#if 0\nb;\n#else\nc;\n#endif\n", {})
    'a;\n#if 0\n  \n#else\nc;\n#endif\n'
    """
    if not (_CONDITION.search(text) or has_branch(text)) or is_ptx_module(text) or is_python(text):
        return text
    blanked = _blank_spans(text, find_uncompiled_parts(text, macros)) if _CONDITION.search(text) else text
    blanked = _blank_spans(blanked, _join_spans(find_dead_blocks(blanked, macros)))
    while blanked != text and (spans := _find_unused_macros(text, blanked)):
        blanked = _blank_spans(blanked, spans)
    return blanked


def _blank_spans(text: str, spans: Iterable[Span]) -> str:
    parts: list[str] = []
    at = 0
    for first, past in spans:
        parts += text[at:first], blank(text[first:past])
        at = past
    return "".join((*parts, text[at:]))


def _find_unused_macros(text: str, blanked: str) -> list[Span]:
    """List the replacements of macros that only blanked code uses."""
    macros = [macro for macro in MACRO.finditer(blanked) if macro[2].strip()]
    if not macros:
        return []
    before, after = Counter(_NAME.findall(text)), Counter(_NAME.findall(blanked))
    return [macro.span(2) for macro in macros if after[macro[1]] == 1 < before[macro[1]]]


def find_uncompiled_parts(text: str, macros: Mapping[str, str]) -> Sequence[Span]:
    """Find the spans of a text that no choice of its undecided macros compiles, in order."""
    return _find_uncompiled_parts(text, tuple(macros.items()))


@lru_cache(maxsize=32)
def _find_uncompiled_parts(text: str, macros: tuple[tuple[str, str], ...]) -> Sequence[Span]:
    variants = make_variants(Preprocessor(blank_printed(text), 1, dict(macros), expands=False))
    return reduce(intersect_spans, (_join_spans(leaf.skipped) for leaf in list_leaves(variants)))


def _join_spans(spans: Iterable[Span]) -> list[Span]:
    """Return ordered spans without those inside others."""
    joined: list[Span] = []
    for span in sorted(spans):
        if not joined or span[0] >= joined[-1][1]:
            joined.append(span)
    return joined


def intersect_spans(left: Sequence[Span], right: Sequence[Span]) -> Sequence[Span]:
    """Return what two ordered lists of spans have in common."""
    common: list[Span] = []
    n = m = 0
    while n < len(left) and m < len(right):
        first, past = max(left[n][0], right[m][0]), min(left[n][1], right[m][1])
        if first < past:
            common.append((first, past))
        if left[n][1] < right[m][1]:
            n += 1
        else:
            m += 1
    return common
