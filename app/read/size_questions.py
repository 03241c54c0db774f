"""Answer which sizes an instruction has: `max N of wgmma f16`, `which K does mma.sync s8 allow`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lanescope.app.kit.fact import copy_fact
from lanescope.app.read import page_meanings
from lanescope.app.read.facts import Reading
from lanescope.inputs import join_words
from lanescope.names import forms
from lanescope.ptx.instruction import Instruction

_PAGE = "/guide/shapes"
_LONGEST = 120  # characters
_ASKED = re.compile(
    r"\b(?:max(?:imum|imal)?|largest|biggest|greatest|min(?:imum|imal)?|smallest|least|which|what|legal|allow(?:s|ed)?|valid"
    r"|possible|supported|sizes?|values?|multiples?|steps?|range|granularity|can|be|is|are|does|do|has|have)\b",
    re.I,
)
_WANTED = re.compile(
    r"\b(?:max|min|larg|big|great|small|least|which|what|legal|allow|valid|possible|support|step|granular|multiple|range)",
    re.I,
)
_DIMENSION = re.compile(r"(?<![\w.])(?:the\s+)?(?P<name>[MNK])(?:\s+(?:sizes?|dim(?:ension)?|values?))?(?![\w.=]|\s*=)")
_SMALL = re.compile(r"(?<![\w.])[mnk](?=\s+(?:of|for|in|does|is|can|size|dim))")


def read_sizes(text: str) -> Reading | None:
    """Read a question about M, N or K of an instruction; None for any other text, or if the forms have no such size."""
    text = _SMALL.sub(lambda match: match[0].upper(), text) if len(text) <= _LONGEST else ""
    found = list(_DIMENSION.finditer(text))
    if len(found) != 1 or not _WANTED.search(text) or re.search(r"[;{}<>\[\]]", text):
        return None
    name = found[0]["name"].lower()
    rest = " ".join(_ASKED.sub(" ", _DIMENSION.sub(" ", text)).rstrip("? ").split())
    matches = forms.find_forms(rest)
    is_named = any(map(forms.is_opcode, matches.words)) and not matches.ignored
    products = [form for form in matches.forms if is_named and form.family.multiplies and name in form.sizes]
    if not products:
        return None
    title = f"{name.upper()} of {' '.join(matches.words)}"
    meaning = page_meanings.build_page_meaning(title, _PAGE, tuple(_describe_products(name, products)))
    return copy_fact(Reading, meaning, also=())


def _describe_products(name: str, products: Sequence[Instruction]) -> Iterator[str]:
    """Yield the sizes of a dimension, for each opcode where they differ."""
    sentences = {
        opcode: _describe_sizes(name, [form for form in products if form.syntax.opcode == opcode])
        for opcode in dict.fromkeys(form.syntax.opcode for form in products)
    }
    letter = name.upper()
    if len(set(sentences.values())) == 1:
        yield f"{letter} is {next(iter(sentences.values()))}."
        return
    yield from (f"{letter} of {opcode} is {sizes}." for opcode, sizes in sentences.items())


def _describe_sizes(name: str, products: Sequence[Instruction]) -> str:
    """Return the sizes of a dimension, for each type of A where they differ."""
    by_size: dict[tuple[int, ...], list[str]] = {}
    for kind in dict.fromkeys(form.types["a"] for form in products):
        sizes = tuple(sorted({form.sizes[name] for form in products if form.types["a"] == kind}))
        by_size.setdefault(sizes, []).append(kind)
    if len(by_size) == 1:
        return _format_sizes(next(iter(by_size)))
    return "; ".join(f"{_format_sizes(sizes)} for A of {join_words(kinds)}" for sizes, kinds in by_size.items())


def _format_sizes(sizes: tuple[int, ...]) -> str:
    """Return sizes as a range of multiples if they are one, else as a list.

    >>> _format_sizes((8, 16, 24, 32)), _format_sizes((8, 16, 24, 32, 48)), _format_sizes((16,))
    ('a multiple of 8 from 8 to 32', '8, 16, 24, 32 or 48', '16')
    """
    step = sizes[0]
    if len(sizes) > 2 and sizes == tuple(range(step, sizes[-1] + 1, step)):
        return f"a multiple of {step} from {step} to {sizes[-1]}"
    return join_words([str(size) for size in sizes], "or")
