"""Find names of CuTe's atoms, layouts and enumerators that CuTe does not have.

A name is judged if it has the form of CuTe's and one of CuTe's is near it. Names that the text declares are its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache
from math import inf, log2

from lanescope.deadline import check_deadline
from lanescope.inputs import join_words
from lanescope.ptx.table.cute_names import (
    COMPLETE,
    ENUMERATORS,
    GROWING,
    GROWING_WORDS,
    MEMBERS,
    NUMERIC_TYPES,
    list_complete_names,
)
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.ptx.ptx_module import is_ptx_module
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax.source_text import is_python
from lanescope.workbench.source.missing_includes import list_unread_includes
from lanescope.workbench.text.function_texts import blank_text

UNKNOWN_NAME = "cute_name_unknown"
TITLES = {UNKNOWN_NAME: "CuTe has no such name"}
_MENTIONED = re.compile(r"\b(?:SM\d{2,3}_|G?MMA_\d|[GU]MMA\s*::|(?:cutlass|cute)\s*::\s*\w+_t\b)")
_ATOM = re.compile(
    r"\b(?:SM\d{2,3}_[A-Z0-9][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*|G?MMA_\d+x\d+x\d+_[A-Z0-9]+(?:_[A-Z0-9]+)*)\b"
)
_MEMBER = re.compile(r"\b(GMMA|UMMA)\s*::\s*(\w+)(?:\s*::\s*(\w+))?")
_TYPE = re.compile(r"\b(cutlass|cute)\s*::\s*((?!u?int\d+_t\b)\w+_t)\b")
_LISTED = re.compile(r"Layout_(?:K|MN)_SW\d+_|float_u?e\dm\d_t")  # names of which all numbers are known
_TEST = re.compile(r"^[ \t]*#[ \t]*(?:if|elif|ifdef|ifndef|undef)\b[^\n]*", re.M)
_DECLARED = (
    r"\b(?:struct|class|union|enum|using|typename|concept|namespace|define|auto|bool|int|unsigned|char|void|size_t"
    r"|u?int\d+_t)\s+{0}\b|\b{0}\s*=(?!=)|\benum\b[^;{{}}]*\{{[^{{}}]*\b{0}\b|\btypedef\b[^;]*\b{0}\s*;"
)
# ratios of difflib from which a name, or a word of one, is a misspelling
_NEAR_ATOM, _NEAR_WORD, _NEAR_SHORT, _NEAR_MEMBER = 0.85, 0.6, 0.5, 0.75
_DIGITS = re.compile(r"\d+")


def check_names(text: str) -> tuple[list[Pitfall], list[tuple[str, Span]]]:
    """Return (names that CuTe does not have, the same as open points if a file that is not found may declare them)."""
    found = list(find_unknown_names(text))
    include = next(list_unread_includes(text), "") if found else ""
    if not include:
        return found, []
    return [], [(f"{name.message} {include}, which is not found, may declare it.", name.span) for name in found]


def find_unknown_names(text: str) -> Iterator[Pitfall]:
    """Find the names of a text that look like CuTe's and are not.

    >>> [found.message for found in find_unknown_names("using Load = SM90_TMA_LAOD;")]
    ["CuTe has no atom 'SM90_TMA_LAOD'. Nearest: SM90_TMA_LOAD."]
    """
    if not _MENTIONED.search(text) or is_ptx_module(text) or is_python(text):
        return
    code = _TEST.sub(lambda match: " " * len(match[0]), blank_text(text))
    is_declared = _make_cached(lambda name: _is_declared(name, code))
    for match in _ATOM.finditer(code):
        if (near := find_nearest_atom(match[0])) and not is_declared(match[0]):
            yield Pitfall(UNKNOWN_NAME, f"CuTe has no atom '{match[0]}'. Nearest: {near}.", match.span())
    yield from _find_unknown_members(code)
    for match in _TYPE.finditer(code):
        if (near := _find_nearest_listed(match[2], NUMERIC_TYPES, _NEAR_ATOM)) and not is_declared(match[2]):
            yield Pitfall(UNKNOWN_NAME, f"{match[1]} has no type '{match[2]}'. Nearest: {near}.", match.span())


@lru_cache(maxsize=1024)
def find_nearest_atom(name: str) -> str:
    """Return the atom of CuTe that a name misspells; "" if it is one, or is like none."""
    arch, _, rest = name.partition("_")
    if arch in GROWING:
        return _correct_words(arch, rest)
    known = list_complete_names()
    if name in known or not (arch in (*COMPLETE, "MMA", "GMMA") or len(arch) < len("SM100")):
        return ""
    return _find_atom_of_other_arch(name, known) or _find_atom_of_family(name, known)


def _find_atom_of_other_arch(name: str, known: Iterable[str]) -> str:
    """Return the atom that differs from a name in its architecture only; "" if there is none."""
    arch, _, rest = name.partition("_")
    same = [other for other in known if other.partition("_")[2] == rest and other.startswith("SM")]
    return min(same, key=lambda other: (-_count_common(other, name), other)) if same and arch.startswith("SM") else ""


def _find_atom_of_family(name: str, known: Iterable[str]) -> str:
    """Return the atom of an architecture that a name is most like: with its types, the one of the nearest shape."""
    arch, _, rest = name.partition("_")
    family = [other for other in known if other.startswith(f"{arch}_")]
    shape, _, types = rest.partition("_")
    sizes, alike = _parse_sizes(shape), [other for other in family if types and other.endswith(f"_{types}")]
    if sizes and alike:
        return min(alike, key=lambda other: (_measure_distance(sizes, other.split("_")[1]), other))
    near = get_close_matches(name, family or sorted(known), 1, _NEAR_ATOM)
    return near[0] if near and _has_near_words(name, near[0]) else ""


def _count_common(name: str, other: str) -> int:
    """Return how many characters two names share at the same places."""
    return sum(a == b for a, b in zip(name, other, strict=False))


def _parse_sizes(shape: str) -> list[int]:
    """Return the sizes of a shape such as 64x128x16; [] if it is none."""
    return [int(size) for size in shape.split("x")] if re.fullmatch(r"\d{1,4}x\d{1,4}x\d{1,4}", shape) else []


def _measure_distance(sizes: list[int], other: str) -> float:
    """Return how far a shape is from sizes, as the sum of the ratios in octaves."""
    own = _parse_sizes(other)
    return sum(abs(log2(max(a, 1) / max(b, 1))) for a, b in zip(sizes, own, strict=True)) if own else inf


def _has_near_words(name: str, other: str) -> bool:
    """Return whether each word of a name is like that of another at its place."""
    words, others = name.split("_"), other.split("_")
    if len(words) != len(others):
        return False
    return all(
        word == near
        or (len(near) > 1 and get_close_matches(word, [near], 1, _NEAR_SHORT if len(near) == 2 else _NEAR_WORD))
        for word, near in zip(words, others, strict=True)
    )


def _correct_words(arch: str, rest: str) -> str:
    """Return a name with its one misspelt word corrected; "" without one. Numbers may be newer."""
    words = rest.split("_")
    wrong = [n for n, word in enumerate(words) if word not in GROWING_WORDS and not _DIGITS.search(word)]
    if len(wrong) != 1 or len(words) == 1:
        return ""
    near = get_close_matches(words[wrong[0]], sorted(GROWING_WORDS), 1, _NEAR_MEMBER)
    return "_".join((arch, *words[: wrong[0]], near[0], *words[wrong[0] + 1 :])) if near else ""


def _find_unknown_members(code: str) -> Iterator[Pitfall]:
    """Find names after GMMA:: and UMMA:: that these namespaces do not have."""
    is_own = _make_cached(lambda space: re.search(rf"\b(?:struct|class|namespace|using|typename)\s+{space}\b", code))
    for match in _MEMBER.finditer(code):
        space, member, inner = match.groups()
        if is_own(space):
            continue
        allowed = ENUMERATORS.get((space, member))
        if allowed and inner and inner not in allowed:
            message = f"{space}::{member} has no '{inner}': it has {join_words(list(allowed))}."
            yield Pitfall(UNKNOWN_NAME, message, match.span())
        elif near := _find_nearest_member(space, member):
            yield Pitfall(UNKNOWN_NAME, f"{space} has no '{member}'. Nearest: {space}::{near}.", match.span())


def _find_nearest_member(space: str, member: str) -> str:
    """Return the name of a namespace that another misspells; "" if it is one, or is like none."""
    return "" if member.startswith("MMA_") else _find_nearest_listed(member, MEMBERS[space], _NEAR_MEMBER)


def _find_nearest_listed(name: str, names: Collection[str], ratio: float) -> str:
    """Return which of some names another misspells; "" if it is one, is like none, or has numbers that may be newer."""
    near = get_close_matches(name, sorted(names), 1, ratio) if name not in names else []
    if not near or not _has_near_words(name, near[0]):
        return ""
    newer = _DIGITS.sub("", near[0]) == _DIGITS.sub("", name) and not _LISTED.match(name)
    return "" if newer else near[0]


def _is_declared(name: str, code: str) -> bool:
    check_deadline()
    return re.search(_DECLARED.format(name), code) is not None


def _make_cached(find: Callable[[str], object]) -> Callable[[str], object]:
    return lru_cache(maxsize=None)(find)
