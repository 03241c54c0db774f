"""The macros that conditions of a text test, and that neither the text nor anything known defines."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from lanescope.reader.code.predefined import ARCHITECTURE, NOT_DEFINED, is_feature_macro
from lanescope.reader.code.preprocessor import Preprocessor
from lanescope.reader.code.source import ParsedSource
from lanescope.reader.code.source_text import blank_printed

_MOST_NESTED = 4  # conditions in one another
_NAME = re.compile(r"[A-Za-z_]\w*")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:el)?if", re.M)
_SWITCH = re.compile(r"!?(?:defined\()?[A-Za-z_]\w*\)?")  # a condition that only asks whether a macro is set


def list_undecided_macros(text: str, macros: Mapping[str, str]) -> dict[str, bool]:
    """Map the undecided macros of a text to whether every condition on it only asks whether it is set.

    macros: given values.
    """
    tests_by_macro: dict[str, bool] = {}
    if not _CONDITION.search(text):
        return tests_by_macro
    code = blank_printed(text)
    for _ in range(_MOST_NESTED):
        added = dict(tests_by_macro)
        plain = Preprocessor(code, 1, {**macros, **dict.fromkeys(tests_by_macro, NOT_DEFINED)})
        for condition in plain.read_text().met:
            for name in _NAME.findall(condition):
                if name != "defined" and name != ARCHITECTURE and not is_feature_macro(name) and name not in macros:
                    added[name] = added.get(name, True) and _SWITCH.fullmatch(condition) is not None
        if added.keys() == tests_by_macro.keys():
            break
        tests_by_macro = added
    return tests_by_macro


@dataclass(frozen=True, slots=True)
class VariantSources:
    """The code of a text with its undecided macros undefined, and in its other variants."""

    plain: ParsedSource
    others: tuple[ParsedSource, ...]

    def needs_macros(self, place: int) -> bool:
        """Return whether a place of the text is code only where an undecided macro is defined."""
        return not self.plain.has_place(place) and any(other.has_place(place) for other in self.others)


def parse_variants(text: str, macros: Mapping[str, str], undecided: Collection[str]) -> VariantSources:
    """Preprocess a text without its undecided macros, with all of them, and with each condition on them true."""
    code = blank_printed(text)
    plain, defined = (
        Preprocessor(code, 1, {**macros, **dict.fromkeys(undecided, value)}).read_text() for value in (NOT_DEFINED, "1")
    )
    open_text = Preprocessor(code, 1, macros)  # #if LEVEL == 2 holds for another value
    ways = (open_text.read_text({condition: True}) for condition in open_text.read_text().met)
    return VariantSources(plain.source, (defined.source, *(way.source for way in ways)))
