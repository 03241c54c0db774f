"""Code of a text that no compiler emits: below `#if 0`, an `#ifdef` of a macro that is not defined, or `if (false)`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce

from lanescope.cxx.expression import evaluate_constant
from lanescope.cxx.source_text import MACRO, blank, blank_comments_and_literals, find_closing
from lanescope.errors import LayoutError
from lanescope.reader.code.preprocessing.preprocessor import Preprocessor
from lanescope.reader.code.preprocessing.variants import list_leaves, make_variants
from lanescope.reader.code.ptx.ptx_module import is_ptx_module
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax.source_text import blank_printed, is_python

_BRANCH = re.compile(r"\b(if|while)\s*(?:constexpr\s*)?\(")
_DIRECTIVE = re.compile(r"^[ \t]*#|\\\n", re.M)  # also of a macro that goes on
_VALUE = r"(true|false|0[xX][0-9a-fA-F]+|\d+)"
_CONSTANT = re.compile(rf"\bconst(?:expr)?\s+(?:static\s+)?(?:bool|int|unsigned)\s+([A-Za-z_]\w*)\s*=\s*{_VALUE}\s*;")
_NUMBER = re.compile(rf"\(?\s*{_VALUE}\s*\)?")
# a name after a type; also after an operator, where it only seems to be declared
_DECLARED = re.compile(
    r"(?<!\breturn)(?<!\belse)(?:(?<=[\w>])\s+|(?<=[\w>\s])[&*]\s*)([A-Za-z_]\w*)(?=\s*[=,;:(){}\[>])"
)
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_EXPRESSION = re.compile(r"[^;{}()]*(?:\((?:[^;{}()]|\([^;{}()]*\))*\)[^;{}()]*)*")
_LABEL = re.compile(r"^[ \t]*([A-Za-z_]\w*)[ \t]*:(?!:)|\b(case|default)\b", re.M)
_ELSE = re.compile(r"\s*\belse\b")
_LONGEST = 200  # characters of a condition
_NAME = re.compile(r"[A-Za-z_]\w*")
_CONDITION = re.compile(r"^[ \t]*(?:#|%:)[ \t]*if", re.M)


def blank_uncompiled_code(text: str, macros: Mapping[str, str]) -> str:
    r"""Blank the branches of #if directives that are read for no value of the undecided macros; keeps all places.

    A branch that depends on the device or the compiler (`__CUDA_ARCH__`) is kept unless `macros` has the value.

    >>> blank_uncompiled_code("a;\n#if 0\nb;\n#else\nc;\n#endif\n", {})
    'a;\n#if 0\n  \n#else\nc;\n#endif\n'
    """
    if not (_CONDITION.search(text) or _BRANCH.search(text)) or is_ptx_module(text) or is_python(text):
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


def find_dead_blocks(text: str, macros: Mapping[str, str]) -> Iterator[Span]:
    """Yield the statements that a constant condition excludes. macros: given values, which replace definitions."""
    quiet = blank_comments_and_literals(text)
    values = _list_constants(quiet, macros)
    for match in _BRANCH.finditer(quiet):
        closing = find_closing(quiet, match.end() - 1)
        condition = quiet[match.end() : closing]
        met = _decide(condition, values) if len(condition) <= _LONGEST else None
        if met is None:
            continue
        body = _skip_space(quiet, closing + 1)
        if match[1] == "while":  # behind a block it may end a do
            before = quiet[: match.start()].rstrip()[-1:]
            dead = None if met or quiet[body : body + 1] != "{" or before == "}" else _find_inside(quiet, body)
        else:
            dead = _find_else(quiet, body) if met else _find_inside(quiet, body)
        if dead is not None and dead[1] > dead[0] and not _DIRECTIVE.search(quiet, *dead) and _is_closed(quiet, dead):
            yield dead


def _list_constants(quiet: str, macros: Mapping[str, str]) -> dict[str, str]:
    """Map the constants and macros that a text defines once, as a number, to their values."""
    constants = dict(_CONSTANT.findall(quiet))
    declared = Counter(name for name in (_DECLARED.findall(quiet) if constants else ()) if name in constants)
    definitions = [(macro[1], macro[2].strip()) for macro in MACRO.finditer(quiet) if macro[1] not in macros]
    defined = Counter(name for name, _ in definitions)
    for name, body in definitions:
        number = _NUMBER.fullmatch(body)
        if number is not None and defined[name] == 1:
            declared[name] += 1
            constants[name] = number[1]
    return {name: value for name, value in constants.items() if declared[name] == 1 and name not in macros}


def _decide(condition: str, values: Mapping[str, str]) -> bool | None:
    """Return whether a condition is met; None if it is not constant."""
    if "||" in condition or "?" in condition or "," in condition:
        return _evaluate(condition, values)
    parts = [_evaluate(part, values) for part in condition.split("&&")] if condition.strip() else [None]
    return False if False in parts else None if None in parts else True


def _evaluate(text: str, values: Mapping[str, str]) -> bool | None:
    words = {word for word in _WORD.findall(text) if word not in ("true", "false")}
    if words - values.keys() or not text.strip() or "::" in text or "." in text:
        return None
    try:
        return evaluate_constant(_WORD.sub(lambda match: values.get(match[0], match[0]), text)).word != 0
    except LayoutError:
        return None


def _skip_space(quiet: str, at: int) -> int:
    while quiet[at : at + 1].isspace():
        at += 1
    return at


def _find_inside(quiet: str, body: int) -> Span | None:
    """Return the inside of a block, or a statement of one expression without its `;`."""
    if quiet[body : body + 1] == "{":
        return body + 1, find_closing(quiet, body)
    end = _skip_statement(quiet, body)
    return (body, end - 1) if end is not None and not _BRANCH.match(quiet, body) else None


def _find_else(quiet: str, body: int) -> Span | None:
    """Return the else that follows a statement, with its own statement; None if there is none."""
    end = _skip_statement(quiet, body)
    match = _ELSE.match(quiet, end) if end is not None else None
    past = _skip_statement(quiet, _skip_space(quiet, match.end())) if match is not None else None
    return (match.start(), past) if match is not None and past is not None else None


def _skip_statement(quiet: str, at: int) -> int | None:
    """Return the place behind a block, an expression statement, or an if with its else; None for another one."""
    if quiet[at : at + 1] == "{":
        return find_closing(quiet, at) + 1
    branch = _BRANCH.match(quiet, at)
    if branch is not None and branch[1] == "if":
        end = _skip_statement(quiet, _skip_space(quiet, find_closing(quiet, branch.end() - 1) + 1))
        match = _ELSE.match(quiet, end) if end is not None else None
        return _skip_statement(quiet, _skip_space(quiet, match.end())) if match is not None else end
    expression = _EXPRESSION.match(quiet, at)
    past = expression.end() if expression is not None else at
    return past + 1 if quiet[past : past + 1] == ";" else None


def _is_closed(quiet: str, block: Span) -> bool:
    """Return whether no label leads into a block from outside."""
    labels = [match[1] for match in _LABEL.finditer(quiet, *block)]
    gotos = Counter(re.findall(r"\bgoto\s+([A-Za-z_]\w*)", quiet))
    inside = Counter(re.findall(r"\bgoto\s+([A-Za-z_]\w*)", quiet[slice(*block)]))
    return None not in labels and all(gotos[label] == inside[label] for label in labels if label)
