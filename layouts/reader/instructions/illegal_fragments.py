"""Find types of nvcuda::wmma::fragment that mma.h does not define: a shape, an element type, or no layout."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lanescope.cxx.named_numbers import find_named_number
from lanescope.cxx.source_text import blank_comments_and_literals
from lanescope.inputs import join_words
from lanescope.reader.instructions.fragment import FRAGMENT, FRAGMENT_WORDS, index_fragments, make_key

_WMMA = re.compile(r"\bwmma\b")
_OWN = re.compile(  # of another library
    r"\b(?:struct|class)\s+fragment\b|\brocwmma\b|\bnamespace\s+wmma\s*=\s*(?!(?:::)?nvcuda::wmma\b)"
)
_USING = re.compile(r"\busing\s+(?:namespace\s+(?:\w+::)*wmma\s*;|(?:\w+::)*wmma::fragment\b)")
_NAMESPACE = re.compile(r"(?:(\w+)\s*::\s*)?\Z")
_LONGEST_NAME = 64  # of a namespace
_USES = ("matrix_a", "matrix_b", "accumulator")
_SPELLED = {"signedchar": "signed char", "unsignedchar": "unsigned char"}
_LAYOUTS = ("row_major", "col_major")


def find_illegal_fragments(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield (message, place) of each fragment type whose arguments are known and that mma.h lacks.

    >>> [message for message, _ in find_illegal_fragments("wmma::fragment<wmma::accumulator, 16, 16, 8, half> c;")]
    ['mma.h has no accumulator of 16×16×8 with half: with half it has 8×32×16, 16×16×16 and 32×8×16.']
    """
    if not _WMMA.search(text) or _OWN.search(text):
        return
    code = blank_comments_and_literals(text)
    for match in FRAGMENT.finditer(code):
        namespace = _NAMESPACE.search(code, max(0, match.start() - _LONGEST_NAME), match.start())
        if namespace is None or (namespace[1] != "wmma" and (namespace[1] or not _USING.search(code))):
            continue  # another library's
        parts = make_key(match[1]).split(",")
        arguments = [part if part in FRAGMENT_WORDS else find_named_number(code, part) for part in parts]
        if _is_known(arguments) and ",".join(arguments) not in index_fragments():
            yield _explain(arguments), match.span()


def _is_known(arguments: Sequence[str]) -> bool:
    """Return whether the arguments are a use, three sizes, an element type and a layout, or none."""
    use, sizes, rest = arguments[0], arguments[1:4], arguments[4:]
    if use not in _USES or len(sizes) < 3 or not all(size.isdecimal() for size in sizes) or not rest:
        return False
    return rest[0] in FRAGMENT_WORDS and len(rest) < 3 and all(layout in _LAYOUTS for layout in rest[1:])


def _explain(arguments: Sequence[str]) -> str:
    """Return why mma.h has no fragment with these arguments, and which ones it has."""
    use, *sizes, element = arguments[:5]
    shape = "×".join(sizes)
    legal = [key.split(",") for key in index_fragments() if key.startswith(f"{use},")]
    shapes = dict.fromkeys("×".join(key[1:4]) for key in legal if key[4] == element)
    layouts = [layout for key in legal if key[1:5] == [*sizes, element] for layout in key[5:]]
    types = list(dict.fromkeys(_SPELLED.get(key[4], key[4]) for key in legal if key[1:4] == sizes))
    if shape in shapes:
        needs = f"needs the layout {' or '.join(layouts)}" if layouts else "takes no layout"
        return f"mma.h has no such fragment: {use} {needs}."
    element = _SPELLED.get(element, element)
    head = f"mma.h has no {use} of {shape} with {element}"
    if shapes:
        return f"{head}: with {element} it has {join_words(sorted(shapes, key=_sort_shape))}."
    return f"{head}: of this shape it has {join_words(types)}." if types else f"{head}."


def _sort_shape(shape: str) -> list[int]:
    return [int(size) for size in shape.split("×")]
