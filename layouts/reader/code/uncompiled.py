"""Code of a text that no compiler emits: below `#if 0`, an `#ifdef` of a macro that is not defined, or `if (false)`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

from lanescope.cxx.source_text import MACRO, blank, blank_comments_and_literals, find_closing
from lanescope.reader.code.preprocessor import Preprocessor
from lanescope.reader.code.ptx_module import is_ptx_module
from lanescope.reader.code.source_text import blank_printed, is_python
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.variants import list_leaves, make_variants

_FALSE_IF = re.compile(
    r"\bif\s*(?:constexpr\s*)?\(\s*"
    r"(?:(?:0|false)(?:\s*&&[^;{}()|?,]*(?:\([^;{}()]*\)[^;{}()|?,]*)*)?|([A-Za-z_]\w*))\s*\)\s*(\{)?"
)
_DIRECTIVE = re.compile(r"^[ \t]*#|\\\n", re.M)  # also of a macro that goes on
_FALSE_CONSTANT = re.compile(
    r"\bconst(?:expr)?\s+(?:static\s+)?(?:bool|int|unsigned)\s+([A-Za-z_]\w*)\s*=\s*(?:false|0)\s*;"
)
# a name after a type; also after an operator, where it only seems to be declared
_DECLARED = re.compile(
    r"(?<!\breturn)(?<!\belse)(?:(?<=[\w>])\s+|(?<=[\w>\s])[&*]\s*)([A-Za-z_]\w*)(?=\s*[=,;:(){}\[>])"
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_CONDITION = re.compile(r"^[ \t]*(?:#|%:)[ \t]*if", re.M)


def blank_uncompiled_code(text: str, macros: Mapping[str, str]) -> str:
    r"""Blank the branches of #if directives that are read for no value of the undecided macros; keeps all places.

    A branch that depends on the device or the compiler (`__CUDA_ARCH__`) is kept unless `macros` has the value.

    >>> blank_uncompiled_code("a;\n#if 0\nb;\n#else\nc;\n#endif\n", {})
    'a;\n#if 0\n  \n#else\nc;\n#endif\n'
    """
    if not (_CONDITION.search(text) or _FALSE_IF.search(text)) or is_ptx_module(text) or is_python(text):
        return text
    blanked = _blank_spans(text, find_uncompiled_parts(text, macros)) if _CONDITION.search(text) else text
    blanked = _blank_spans(blanked, _join_spans(_find_false_blocks(blanked, macros)))
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


def _find_false_blocks(text: str, macros: Mapping[str, str]) -> Iterator[Span]:
    """Yield what `if (false)` guards, a block or a statement, also for a constant or macro that is defined once, as
    false. macros: given values, which replace definitions.
    """
    if not _FALSE_IF.search(text):
        return
    quiet = blank_comments_and_literals(text)
    false = set(_FALSE_CONSTANT.findall(quiet))
    declared = Counter(name for name in _DECLARED.findall(quiet) if name in false)
    definitions = [(macro[1], macro[2].strip()) for macro in MACRO.finditer(quiet) if macro[1] not in macros]
    defined = Counter(name for name, _ in definitions)
    declared.update(name for name, body in definitions if body in ("0", "false") and defined[name] == 1)
    for match in _FALSE_IF.finditer(quiet):
        if match[1] and declared[match[1]] != 1:
            continue
        first = match.end()
        past = find_closing(quiet, first - 1) if match[2] else _find_statement_end(quiet, first)
        if past > first and not _DIRECTIVE.search(quiet, first, past):
            yield first, past


def _find_statement_end(quiet: str, first: int) -> int:
    """Return the place of the `;` that ends a statement; `first` if it is none of one expression."""
    end = re.compile(r"[^;{}()]*(?:\((?:[^;{}()]|\([^;{}()]*\))*\)[^;{}()]*)*").match(quiet, first)
    return end.end() if end and quiet[end.end() : end.end() + 1] == ";" else first


def _find_unused_macros(text: str, blanked: str) -> list[Span]:
    """List the replacements of macros that only blanked code uses."""
    macros = [macro for macro in MACRO.finditer(blanked) if macro[2].strip()]
    if not macros:
        return []
    before, after = Counter(_NAME.findall(text)), Counter(_NAME.findall(blanked))
    return [macro.span(2) for macro in macros if after[macro[1]] == 1 < before[macro[1]]]


def find_uncompiled_parts(text: str, macros: Mapping[str, str]) -> Sequence[Span]:
    """Find the spans of a text that no choice of its undecided macros compiles, in order."""
    variants = make_variants(Preprocessor(blank_printed(text), 1, macros))
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
