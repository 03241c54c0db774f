"""C mistakes in expressions that make a descriptor, and edits that remove them: a shift amount, or a cast before it.

`check.py` calls it for each mistake. As in `repairs.py`, every edit is verified: the edited text is evaluated, and the
edit is offered only if the mistake is gone and no other mistake appears.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from lanescope.reader.code.descriptors import builders
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.reader.code.findings import Pitfall
from lanescope.workbench.repair.repairs import apply_edits
from lanescope.workbench.results import CheckFinding, Span, TextEdit, WrongRead, make_finding
from lanescope.workbench.source.guesses import evaluate_file
from lanescope.workbench.tensor_memory.tcgen05 import TARGET_KEY

_DIGITS = re.compile(r"\d+")
MOST_CHARACTERS = 1 << 18  # of a text whose edits are tried
_NUMBER = re.compile(r"(?:^|= *)[\d'][\w']*$")  # 0, or d = 0x0: what an address is put into
Edits = tuple[TextEdit, ...]


def list_repaired_pitfalls(
    text: str, built: Iterable[DescriptorBuilder], choices: Mapping[str, str]
) -> Iterator[CheckFinding]:
    """Yield C pitfalls with the edits that remove them. choices: those of build_workbench."""

    def count_codes(edited: str) -> Counter[str]:
        code = evaluate_file(edited, choices)
        found = builders.find_evaluation_builders(code, choices.get(TARGET_KEY, "")) if code else ()
        return Counter(pitfall.code for pitfall in find_pitfalls(edited, found))

    for pitfall, places in group_pitfalls(text, built):
        follows = tuple(WrongRead("This descriptor gets it.", place) for place in places)
        edits = find_pitfall_edits(text, pitfall, count_codes)
        yield replace(make_finding(pitfall), edits=edits, follows=follows)


def group_pitfalls(text: str, built: Iterable[DescriptorBuilder]) -> Iterator[tuple[Pitfall, tuple[Span, ...]]]:
    """Yield C pitfalls in descriptor expressions, each once, with the other places that they affect: calls of the
    helper with the number.
    """
    found: dict[tuple[str, Span], tuple[Pitfall, dict[Span, None]]] = {}
    for builder in built:
        for pitfall in find_pitfalls(text, [builder]):
            _, places = found.setdefault((pitfall.code, pitfall.span), (pitfall, {}))
            if not _holds_place(text, builder.span, pitfall.span[0]):
                places.setdefault(builder.span)
    for pitfall, places in found.values():
        yield pitfall, tuple(sorted(places))


def _holds_place(text: str, span: Span, at: int) -> bool:
    """Return whether a place is on the lines of a span."""
    first, past = _extend_to_lines(text, span)
    return first <= at < past


def find_pitfalls(text: str, built: Iterable[DescriptorBuilder]) -> Iterator[Pitfall]:
    """Yield C pitfalls in the expressions that make descriptors; pitfalls in other lines are ignored."""
    for builder in built:
        lines = [
            _extend_to_lines(text, span)
            for span in (builder.span, *(s for spans in builder.origins.values() for s in spans))
        ]
        start = builder.origins.get("start_address", ())
        for pitfall in builder.warnings:
            first, past = pitfall.span
            if pitfall.span in start and not text[slice(*pitfall.span)].isdigit():
                # of several places that make the start, the most specific
                named = [span for span in start if not _NUMBER.search(text[slice(*span)])] or start
                yield replace(pitfall, span=max(named, key=lambda span: span[1] - span[0]))
            elif pitfall.code == "reserved_bits" or any(low < past and first < high for low, high in lines):
                yield pitfall


def _extend_to_lines(text: str, span: Span) -> Span:
    """Extend a span to the ends of its lines."""
    end = text.find("\n", span[1])
    return text.rfind("\n", 0, span[0]) + 1, end if end >= 0 else len(text)


def find_pitfall_edits(text: str, pitfall: Pitfall, find_codes: Callable[[str], Counter[str]]) -> Edits:
    """Find the edits that remove a mistake, () if none is known. find_codes: counts each mistake of a text."""
    if len(text) > MOST_CHARACTERS:
        return ()
    for edits in _list_edits(text, pitfall):
        before, after = find_codes(text), find_codes(apply_edits(text, edits))
        if after[pitfall.code] < before[pitfall.code] and not after - before:
            return edits
    return ()


def _list_edits(text: str, pitfall: Pitfall) -> Iterator[Edits]:
    first, past = pitfall.span
    if pitfall.code == "not_shifted" and (digits := _DIGITS.match(text, first, past)):
        yield (TextEdit(digits.span(), "4"),)
    elif pitfall.code == "shifts_of_32_bits":
        yield (TextEdit((first, first), "(uint64_t)"),)
