"""The macros that conditions of a text test and nothing defines, and the definitions that compile other code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from lanescope.cxx.source_text import COMMENT, blank_matches
from lanescope.deadline import is_late
from lanescope.reader.code.preprocessing.predefined import ARCHITECTURE, NOT_DEFINED, is_feature_macro
from lanescope.reader.code.preprocessing.preprocessor import Preprocessor
from lanescope.reader.code.preprocessing.uncompiled import find_uncompiled_parts, intersect_spans
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax.source import ParsedSource, PreparedSource
from lanescope.reader.code.syntax.source_text import blank_printed

MOST_DEFINITIONS = 3  # ways to define macros that are checked
_MOST_TRIED, _MOST_READ = 24, 2_000_000  # definitions that are tried, and characters that are preprocessed for them
_MOST_NESTED = 4  # conditions in one another
_DEFAULT = re.compile(
    r"^[ \t]*#[ \t]*(?:ifndef[ \t]+|if[ \t]+!\s*defined\s*\(?\s*)(\w+)\b[^\n]*\n"
    r"[ \t]*#[ \t]*define[ \t]+\1[ \t]+[^\n\\]+$",
    re.M,
)
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?![\w.])")
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
        plain = Preprocessor(code, 1, {**macros, **dict.fromkeys(tests_by_macro, NOT_DEFINED)}, expands=False)
        for condition in plain.read_text().met:
            for name in _NAME.findall(condition):
                if name != "defined" and name != ARCHITECTURE and not is_feature_macro(name) and name not in macros:
                    added[name] = added.get(name, True) and _SWITCH.fullmatch(condition) is not None
        if added.keys() == tests_by_macro.keys():
            break
        tests_by_macro = added
    return tests_by_macro


@dataclass(frozen=True)
class VariantSources:
    """The code of a text with its undecided macros undefined, and in its other variants.

    refused: whether an #error is reached without the macros; make_others: preprocesses the other variants.
    """

    plain: ParsedSource
    refused: bool
    make_others: Callable[[], Iterable[ParsedSource]]

    @cached_property
    def others(self) -> tuple[ParsedSource, ...]:
        return tuple(self.make_others())

    def has_everywhere(self, place: int) -> bool:
        """Return whether a place of the text is code in every variant."""
        return all(source.has_place(place) for source in (self.plain, *self.others))

    def needs_macros(self, place: int) -> bool:
        """Return whether a place of the text is code only where an undecided macro is defined."""
        return not self.plain.has_place(place) and any(other.has_place(place) for other in self.others)


def parse_variants(text: str, macros: Mapping[str, str], undecided: Collection[str]) -> VariantSources:
    """Preprocess a text without its undecided macros, with all of them, and with each condition on them true."""
    code = blank_printed(text)

    def read_with(value: str) -> PreparedSource:
        return Preprocessor(code, 1, {**macros, **dict.fromkeys(undecided, value)}).read_text()

    def make_others() -> Iterator[ParsedSource]:
        yield read_with("1").source
        open_text = Preprocessor(code, 1, macros)  # #if LEVEL == 2 holds for another value
        for condition in open_text.read_text().met:
            yield open_text.read_text({condition: True}).source

    plain = read_with(NOT_DEFINED)
    return VariantSources(plain.source, plain.failed, make_others)


def list_default_macros(text: str, macros: Mapping[str, str]) -> list[str]:
    r"""List the macros that a text gives a value unless they are defined, without those that have one.

    >>> list_default_macros("#ifndef USE_TMA\n#define USE_TMA 1\n#endif\n", {})
    ['USE_TMA']
    """
    return [name for name in dict.fromkeys(_DEFAULT.findall(text)) if name not in macros]


def list_definitions(
    text: str,
    macros: Mapping[str, str],
    undecided: Collection[str],
    defaults: Collection[str] = (),
    headers: Collection[Span] = (),
) -> list[dict[str, str]]:
    r"""List definitions of macros, together enough to compile every branch outside headers that the default excludes.

    undecided: macros that are undefined otherwise; defaults: those that the text then gives a value. A macro whose
    value the code uses (`constexpr int BM = BLOCK_M;`) is left undefined, since it may have any value.

    >>> code = "#if LEVEL == 2\na;\n#endif\n#ifdef DEBUG\nb;\n#endif\n"
    >>> list_definitions(code, {}, ["LEVEL", "DEBUG"])
    [{'LEVEL': '2'}, {'DEBUG': '1'}]
    """
    text = blank_matches(COMMENT, text)
    tests = {name: "".join(_list_tests(text, name)) for name in (*undecided, *defaults)}
    words = Counter(_NAME.findall(text))
    switches = [name for name in tests if words[name] == len(re.findall(rf"\b{name}\b", tests[name]))]
    values = {name: _list_values(tests[name], ("1", "0") if name in defaults else ("1",)) for name in switches}
    undefined = dict.fromkeys(undecided, NOT_DEFINED)
    left: Sequence[Span] = [
        span
        for span in find_uncompiled_parts(text, {**macros, **undefined})
        if not any(first <= span[0] < past for first, past in headers)
    ]
    chosen: list[dict[str, str]] = []
    for defined in islice(_list_candidates(values), min(_MOST_TRIED, 1 + _MOST_READ // len(text))):
        done = not any(text[slice(*span)].strip() for span in left) or len(chosen) == MOST_DEFINITIONS
        if done or is_late():
            break
        rest = intersect_spans(left, find_uncompiled_parts(text, {**macros, **undefined, **defined}))
        if rest != left:
            chosen.append(defined)
            left = rest
    return chosen


def _list_tests(text: str, name: str) -> list[str]:
    """List the #if directives of a text that name a macro, and the #define of its default."""
    tests = re.findall(rf"^[ \t]*#[ \t]*(?:el)?if(?:[^\n]|(?<=\\)\n)*?\b{name}\b(?:[^\n]|(?<=\\)\n)*\n?", text, re.M)
    return [*tests, *(match[0].partition("\n")[2] for match in _DEFAULT.finditer(text) if match[1] == name)]


def _list_values(tests: str, first: Sequence[str]) -> list[str]:
    """List values of a macro that its conditions may ask for."""
    near = (str(int(number) + step) for number in _NUMBER.findall(tests) for step in (0, 1, -1))
    return list(dict.fromkeys((*first, *near)))


def _list_candidates(values: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """Yield ways to define macros: each alone with each value, then all of them."""
    for name in values:
        yield from ({name: value} for value in values[name])
    if len(values) > 1:
        every = {name: value[0] for name, value in values.items()}
        yield every
        for name in values:
            yield from ({**every, name: value} for value in values[name][1:])
