"""The macros that conditions of a text test, and that neither the text nor anything known defines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lanescope.reader.code.predefined import ARCHITECTURE, NOT_DEFINED, is_feature_macro
from lanescope.reader.code.preprocessor import Preprocessor
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
        for condition in (
            Preprocessor(code, 1, {**macros, **dict.fromkeys(tests_by_macro, NOT_DEFINED)}).read_text().met
        ):
            for name in _NAME.findall(condition):
                if name != "defined" and name != ARCHITECTURE and not is_feature_macro(name) and name not in macros:
                    added[name] = added.get(name, True) and _SWITCH.fullmatch(condition) is not None
        if added.keys() == tests_by_macro.keys():
            break
        tests_by_macro = added
    return tests_by_macro


def needs_macros(text: str, macros: Mapping[str, str], undecided: Iterable[str], places: Iterable[int]) -> bool:
    """Return whether some places of a text are code only where the undecided macros are defined."""
    code, names = blank_printed(text), tuple(undecided)
    without = Preprocessor(code, 1, {**macros, **dict.fromkeys(names, NOT_DEFINED)}).read_text().source
    ways = [Preprocessor(code, 1, {**macros, **dict.fromkeys(names, "1")}).read_text().source]
    open_text = Preprocessor(code, 1, macros)  # #if LEVEL == 2 holds for another value
    ways += [open_text.read_text({condition: True}).source for condition in open_text.read_text().met]
    return any(not without.has_place(at) and any(way.has_place(at) for way in ways) for at in places)
