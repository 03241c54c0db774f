"""Parse places that a text names: an element, row, value, register or thread.

A find field takes one or two places; the paste box takes a question that contains them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from lanescope.app.kit.sought_place import SoughtPlace, check_whole
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

MOST_TOGETHER = 2  # places that a page can compare
_JOIN = re.compile(r"\s*(?:;|\bvs\.?(?=\s)|\band\b(?!\s*col)|\bversus\b)\s*", re.I)
_SEVERAL = re.compile(r"\b(lane|thread|row|column|col)s\s+(\d+)\s*,?\s*(?:and|vs\.?|versus)\s+(\d+)\b", re.I)
_VALUE = r"([a-d]\[?\d{1,9}\]?|r\d{1,9})"
_COL_AND_ROW = re.compile(r"\bcol(?:umn)?\s+(\d+)\s+and\s+row\s+(\d+)\b", re.I)  # one element
_SHARED = re.compile(  # c[2] and c[3] of lane 5
    rf"\b{_VALUE}\s+(?:and|vs\.?)\s+{_VALUE}\s+of\s+((?:warp\s*\d+\s*,?\s*)?(?:lane|thread)\s*\d+|[tl]\d+)\b", re.I
)
_ALIASES = {
    "d": ("accumulator", "acc", "result", "output"),
    "sfa": ("scale_a",),
    "sfb": ("scale_b",),
    "e": ("metadata", "meta"),
}
_NUMBER = r"-?\d{1,40}(?:\.\d{1,40})?"  # a number that is not an index gets an error of its own
_ROW, _COL = rf"(?P<row>{_NUMBER})", rf"(?P<col>{_NUMBER})"
_PLAIN = rf"{_ROW}\s*[,;]\s*{_COL}"  # 5,9
_MARKED = (  # spellings of (row, column) that need no further context
    rf"\[\s*(?P<row>{_NUMBER}|\w{{1,40}})\s*\]\s*\[\s*(?P<col>{_NUMBER}|\w{{1,40}})\s*\]"
    r"(?P<more>(?:\s*\[[^\]]*\])+)?",
    rf"\[\s*{_ROW}(?:\s*[,;]\s*|\s+){_COL}\s*\]",
    rf"\(\s*{_ROW}(?:\s*[,;]\s*|\s+){_COL}\s*\)",
    rf"\(?row\s*=?\s*{_ROW}\s*,?\s*(?:and\s+)?col(?:umn)?\s*=?\s*{_COL}\)?",
    rf"\(?col(?:umn)?\s*=?\s*{_COL}\s*,?\s*(?:and\s+)?row\s*=?\s*{_ROW}\)?",
    rf"[\[(]\s*(?P<dim>[mnk])\s*=\s*{_ROW}\s*(?:,|\]\s*\[)\s*(?P<other>[mnk])\s*=\s*{_COL}\s*[\])]",
)
_DIMS = {"a": "mk", "b": "kn", "c": "mn", "d": "mn"}
_BEFORE, _AFTER = r"(?<![\w.:])", r"(?!\w|\.\w)"
_LINE = rf"(?P<axis>row|col)(?:umn)?\s+(?P<line>{_NUMBER})"
# Templates of a place in a sentence, the most certain first. {m}: a matrix; {M}: a capital; {c}: one of _MARKED.
_SEARCHED = (
    rf"{_BEFORE}{{m}}(?:\s+(?:element|at))?\s*{{c}}(?![\w:(\[]|\s+(?:tile|block|box|shape)\b)",
    rf"{_BEFORE}(?:element\s+)?{{c}}\s+(?:of|in)\s+{{m}}{_AFTER}",
    rf"{_BEFORE}(?:element\s+)?{_PLAIN}\s+(?:of|in)\s+{{m}}{_AFTER}",
    rf"{_BEFORE}{{m}}\s+element\s+{_PLAIN}{_AFTER}",
    rf"{_BEFORE}{{M}}\s*{_PLAIN}{_AFTER}",
    rf"{_BEFORE}{{M}}\s+{_ROW}\s+{_COL}{_AFTER}",
    rf"{_BEFORE}(?:element|entry|holds?|owns?|has|have)\s+{{c}}",
    rf"{_BEFORE}(?:element|entry|holds?|owns?|has|have)\s+{_PLAIN}{_AFTER}",
    r"(?:(?<=\bof )|(?<=\bat )|^(?=\[)){c}",
    r"^{c}(?=\s+(?:of|in)\s)",
    rf"{_BEFORE}{_LINE}\s+(?:of|in)\s+{{m}}{_AFTER}",
)
_INDEXED = (  # the number of an element, row by row
    rf"{_BEFORE}element\s+(?P<index>{_NUMBER})\s+(?:of|in)\s+{{m}}{_AFTER}",
    rf"{_BEFORE}(?P<matrix>sf[ab])\[(?P<index>{_NUMBER})\](?![\w.:\[,])",
    rf"{_BEFORE}{{M}}\s+(?P<index>{_NUMBER}){_AFTER}(?!,)",
    rf"{_BEFORE}{{M}}\[(?P<index>{_NUMBER})\](?![\w.:\[,])",
)
_WHOLE = (  # Templates of a text that is only a place, besides those above; {o}: an optional matrix.
    r"{o}\s*{c}",
    rf"{{o}}\s*{_PLAIN}",
    rf"{{o}}\s*{_ROW}\s+{_COL}",
    rf"{{m}}\s*\(\s*(?P<index>{_NUMBER})\s*\)",
)
_LONE_LINE = rf"{_BEFORE}{_LINE}{_AFTER}"
_TAIL = re.compile(r"(?<![\w.:])(?:([A-E])|(accumulator|acc))\s*[?.]?\s*$")
_ASKING = re.compile(  # words of a question before a place: `which lane holds`
    r"^(?:(?:who|which|what|whose|where|does|do|is|are|find|show|the|(?:lane|thread|warp|register)s?(?!\s*[#=]?\s*\d)|"
    r"element|holds?|owns?|has|have)\s+)+(?=\S)",
    re.I,
)
# b1 beside a shape of its own K or an operation of it is the type, not a value of B
_NO_TYPE = (
    "".join(rf"(?<!{before}[ .])" for before in ("k128", "k256", "x128", "x256", "[×*]"))
    + r"(?!b1(?:[.,]?\s*(?:[×*]|x\b|b1\b|xor|popc|and[ .]popc)|\s+(?:w?mma|mma|bmma|type|m\d+n\d+k\d+)\b))"
)
_JOINING = re.compile(r"(?:\b(?:of|in|on|at|the)\b|[\s,@?])*", re.I)  # between the parts of a place


@dataclass(frozen=True, slots=True)
class FoundPlaces:
    """The places that a sentence names, and the rest of the sentence.

    narrowing: other places beside a place, which select a part of it: `row 3` of `lane 13 row 3`.
    """

    places: tuple[SoughtPlace, ...]
    rest: str
    narrowing: tuple[SoughtPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class _Grammar:
    """How the matrices of a page are named.

    bare: the page has one matrix, which needs no name. is_place_only: the text is only a place, so that lower-case
    letters name matrices, too. unit: what a holder is called besides lane and thread.
    """

    names: tuple[str, ...]
    bare: bool = False
    is_place_only: bool = False
    unit: str = ""


def parse_places(
    text: str, matrices: Iterable[str], example: str, bare: bool = False, unit: str = ""
) -> list[SoughtPlace]:
    """Parse one place, or two to compare (`lane 20 vs lane 21`).

    matrices: the names that the page has, in lower case; bare: whether they name one matrix, so that an element needs
    no name; example: what the hint of a refusal offers; unit: what a holder is called beside lane and thread (`bank`).
    LayoutError `bad_find` for any other text.
    """
    names = tuple(sorted({name.lower() for name in matrices}, key=len, reverse=True))
    grammar = _Grammar(names, bare or len(names) == 1, is_place_only=True, unit=unit)
    parts = _split(text)
    if not parts or len(parts) > MOST_TOGETHER:
        why = "names nothing" if not parts else f"names {len(parts)} places; a page compares two"
        raise LayoutError("bad_find", f"‘{shorten_value(text, 60)}’ {why}.", f"Try {example}.", "find")
    found = [_find_whole(part, grammar) for part in parts]
    places = _share_matrix([place for place in found if place])
    for part, place in zip(parts, places if len(places) == len(parts) else found, strict=True):
        if place is None or not (grammar.bare or place.matrix or place.thread is not None or place.is_warp):
            raise _refuse_part(part, place, names, example)
        check_whole(place, "bad_find", "find")
    return places


def _refuse_part(part: str, place: SoughtPlace | None, names: Sequence[str], example: str) -> LayoutError:
    """Return the error for a part that lacks its matrix or lane, or is not a place."""
    if place:
        letters = [name for name in names if len(name) == 1] or names
        titles = [replace(place, matrix=name).text for name in sorted(letters)]
        return LayoutError("bad_find", f"{place.text} of which matrix?", f"Write {' or '.join(titles)}.", "find")
    hint = f"Try {example}."
    if (value := re.fullmatch(r"([a-z])\d+", part.strip(), re.I)) and value[1].lower() in names:
        hint = f"A value needs its lane, as in {value[0]} of lane 20; an element is {value[1]}[5][9]."
    return LayoutError(
        "bad_find", f"‘{shorten_value(part, 60)}’ is not an element, a lane or a register.", hint, "find"
    )


def search_places(text: str, matrices: Iterable[str]) -> FoundPlaces | None:
    """Search a sentence for a place, or for the places that it joins; None if it names none.

    >>> found = search_places("which lanes hold A[5][9] and A[5][10] in mma.m16n8k16 bf16?", "abcd")
    >>> [place.text for place in found.places], found.rest
    (['A[5][9]', 'A[5][10]'], 'which lanes hold in mma.m16n8k16 bf16?')
    """
    grammar = _Grammar(tuple(sorted(matrices, key=len, reverse=True)))
    parts = _split(text)
    joined = [found for part in parts if (found := _search(part, grammar, joined=True))] if len(parts) > 1 else []
    if len(joined) == len(parts) > 1:
        places = tuple(_share_matrix([place for place, _ in joined]))
        return FoundPlaces(places, *_search_narrowing(" ".join(rest for _, rest in joined), grammar))
    found = _search(text, grammar)
    return FoundPlaces((found[0],), *_search_narrowing(found[1], grammar)) if found else None


def search_details(text: str, matrices: Iterable[str]) -> FoundPlaces:
    """Search a sentence without a place for details that only narrow one: a register, a value, bits, a matrix."""
    grammar = _Grammar(tuple(sorted(matrices, key=len, reverse=True)))
    rest, narrowing = _search_narrowing(text, grammar)
    return FoundPlaces((), rest, narrowing)


def _search_narrowing(text: str, grammar: _Grammar) -> tuple[str, tuple[SoughtPlace, ...]]:
    """Find the places that a text names beside its first; return the rest of the text, and these."""
    places: list[SoughtPlace] = []
    while found := _search(text, grammar) or _find_detail(text, grammar):
        places.append(found[0])
        text = found[1]
    return text, tuple(places)


def _find_detail(text: str, grammar: _Grammar) -> tuple[SoughtPlace, str] | None:
    """Find a register, a value, bits or a matrix that a text names without a thread or an element."""
    for pattern in _compile_details(grammar):
        if match := pattern.search(text):
            rest = f"{text[: match.start()]} {text[match.end() :]}"
            return _build_place(_get_groups(match)), " ".join(rest.split())
    return None


def _split(text: str) -> list[str]:
    """Split a text into the places that it joins: `lane 20 vs lane 21`, `lanes 20 and 21`."""
    text = _COL_AND_ROW.sub(r"row \2 column \1", text)
    text = _SEVERAL.sub(lambda match: f"{match[1]} {match[2]} and {match[1]} {match[3]}", text.strip())
    text = _SHARED.sub(lambda match: f"{match[1]} of {match[3]} and {match[2]} of {match[3]}", text)
    return [part for part in _JOIN.split(text) if part]


def _share_matrix(places: list[SoughtPlace]) -> list[SoughtPlace]:
    """Add the matrix that only one place names to the others: `(3,5) and (3,6) of A`, `lanes 5 and 6 of A`."""
    named = next((place.matrix for place in places if place.matrix and place.thread is None), "")
    whole = next((place.matrix for place in places if place.matrix and _is_whole_lane(place)), "")
    return [
        place
        if place.matrix
        else replace(place, matrix=whole if _is_whole_lane(place) else named if place.thread is None else "")
        for place in places
    ]


def _is_whole_lane(place: SoughtPlace) -> bool:
    """Return whether a place is all of what a thread holds, of one matrix or of each."""
    return place.thread is not None and place.value is None and place.register is None


def _find_whole(text: str, grammar: _Grammar) -> SoughtPlace | None:
    """Parse a text that is only a place, with or without the words of a question before it."""
    text = text.strip().rstrip("?").rstrip()
    for wording in (text, _ASKING.sub("", text, count=1)):
        for form in _compile(grammar):
            if match := form.fullmatch(wording):
                return _build_place(_get_groups(match))
        found = _find_holder(wording, grammar, warps=True)
        if found and _JOINING.fullmatch(found[1]):
            return found[0]
    return None


def _search(text: str, grammar: _Grammar, joined: bool = False) -> tuple[SoughtPlace, str] | None:
    """Find the most certain place in a text; return it with the rest of the text.

    joined: the text is one of several joined places, and another may name the matrix.
    """
    for form in _compile(grammar):
        if match := form.search(text):
            return _take(text, match, grammar)
    if found := _find_holder(text, grammar):
        return found
    lone = (_LONE_LINE, rf"^{_MARKED[0]}", rf"^{_MARKED[2]}") if joined else ()
    templates = (form for template in (*lone, *_INDEXED, _LONE_LINE) for form in _expand(template, grammar))
    found = next((_take(text, match, grammar) for form in templates if (match := form.search(text))), None)
    return found or _find_holder(text, grammar, warps=True)


def _get_groups(match: re.Match[str]) -> dict[str, str]:
    return {name: text for name, text in match.groupdict().items() if text is not None}


def _take(text: str, match: re.Match[str], grammar: _Grammar) -> tuple[SoughtPlace, str]:
    place, rest = (
        _build_place(_get_groups(match)),
        f"{text[: match.start()].rstrip()} {text[match.end() :].lstrip()}".strip(),
    )
    if place.coords and not place.matrix and (after := _TAIL.search(rest)):
        place, rest = replace(place, matrix=after[1].lower() if after[1] else "d"), rest[: after.start()].strip()
    return place, rest


@lru_cache(maxsize=256)
def _compile(grammar: _Grammar) -> tuple[re.Pattern[str], ...]:
    """Compile the templates of a grammar, the most certain first."""
    templates = _SEARCHED
    if grammar.is_place_only:
        lines = () if grammar.unit == "row" else (_LONE_LINE, rf"{{m}}\s+{_LINE}")
        templates = (*_WHOLE, *_SEARCHED, *_INDEXED, *lines)
    return tuple(form for template in templates for form in _expand(template, grammar))


@lru_cache(maxsize=1024)
def _expand(template: str, grammar: _Grammar) -> tuple[re.Pattern[str], ...]:
    """Return a template as one pattern per spelling of a coordinate."""
    named = rf"(?:the\s+)?(?:(?:matrix|operand|fragment)\s+)?(?:the\s+)?(?P<matrix>{_join_names(grammar)})"
    named += r"(?:\s+(?:fragment|matrix|operand))?"
    letters = "".join(name for name in grammar.names if len(name) == 1).upper() or "A"
    capital = named if grammar.is_place_only else rf"(?P<matrix>(?-i:[{letters}]))"
    optional = rf"(?:{named}\s*|element\s*)?"
    marked = _MARKED if "{c}" in template else ("",)
    fill = {"{m}": named, "{M}": capital, "{o}": optional}
    for mark, text in fill.items():
        template = template.replace(mark, text)
    return tuple(re.compile(template.replace("{c}", spelling), re.I) for spelling in marked)


def _join_names(grammar: _Grammar, least: int = 1) -> str:
    """Return a pattern of a grammar's matrix names, the longest first. least: minimum length of a name."""
    spellings = [*grammar.names, *(alias for name in grammar.names for alias in _ALIASES.get(name, ()))]
    ordered = sorted(filter(lambda name: len(name) >= least, spellings), key=len, reverse=True)
    return "|".join(re.sub(r"(\d+)$", r"\\s*\1", name) for name in ordered)


def _find_holder(text: str, grammar: _Grammar, warps: bool = False) -> tuple[SoughtPlace, str] | None:
    """Find a thread in a text, and the register, value, operand and warp named anywhere in it.

    warps: whether a warp without a thread counts as a holder.
    """
    groups: dict[str, str] = {}
    thread, *others = _compile_holder(grammar)
    patterns = (thread, *others)
    if warps and not thread.search(text):
        patterns = (others[-1], others[-2])
    for pattern in patterns:
        match = pattern.search(text)
        if match and groups.keys().isdisjoint(_get_groups(match)):
            groups |= _get_groups(match)
            text = f"{text[: match.start()]} {text[match.end() :]}"
        elif not groups:
            return None
    return _build_place(groups), " ".join(text.split())


@lru_cache(maxsize=256)
def _compile_holder(grammar: _Grammar) -> tuple[re.Pattern[str], ...]:
    """Compile the patterns about a thread: the thread itself, then its register, value, operand and warp."""
    unit = rf"|{grammar.unit}" if grammar.unit else ""
    short = (
        "[TL]" if grammar.is_place_only else r"(?<!\bon )(?<!\ban )(?<!\bfor )(?<!\ba )(?!t4 gpu)(?-i:[TL])"
    )  # but not L40
    letters = "".join(name for name in grammar.names if len(name) == 1) or "a"
    capital = _join_names(grammar) if grammar.is_place_only else rf"(?-i:[{letters.upper()}])|{_join_names(grammar, 2)}"
    number, free = rf"{_NUMBER}(?![\w\]]|\.\w)", r"(?<![\w.:%])"
    patterns = (
        rf"{free}(?:(?P<unit>lane|thread|tid{unit})\s*(?:id|#|=)?\s*|(?P<short>{short}))(?P<thread>{_NUMBER})"
        r"(?:\s*:\s*(?P<value>\d{1,9}))?(?![\w\]]|\.\w)(?:'s)?",
        rf"{free}(?:r|reg|register)\s*=?\s*(?P<register>{number})",
        rf"{free}(?:value\s*=?\s*|(?-i:V))(?P<value>{number})",
        rf"{free}(?!(?:a100|b[123]00)\b){_NO_TYPE}(?P<matrix>[{letters}]|acc(?:umulator)?(?=\[))"
        r"(?P<value>\d{1,9}|\[\d{1,9}\])(?![\w\[]|\.\w)",
        rf"{free}(?P<matrix>{capital})(?![\w.:\[(])",
        rf"{free}warp\s*(?P<warp>{number}),?",
    )
    return tuple(re.compile(pattern, re.I) for pattern in patterns)


@lru_cache(maxsize=256)
def _compile_details(grammar: _Grammar) -> tuple[re.Pattern[str], ...]:
    """Compile the patterns of what only narrows a place: bits, and a holder's parts without the holder."""
    _, register, value, element, matrix, _ = _compile_holder(grammar)
    parts = "|".join(re.sub(r"(\d+)$", r"\\s*\1", name) for name in grammar.names if name[-1].isdigit())
    patterns = (
        r"(?<![\w.])bits?\s*(?P<last>\d{1,3})(?:\s*(?:[:–-]|\.\.|to)\s*(?P<first>\d{1,3}))?(?!\w)",
        r"(?<![\w.])byte\s*(?P<byte>\d{1,3})(?!\w)",
        rf"(?<![\w.:%])(?P<matrix>{parts})(?![\w.:\[(])",
    )
    bits, byte, part = (re.compile(pattern, re.I) for pattern in patterns)
    return (bits, byte, register, value, element, *([part] if parts else []), matrix)


def _name_matrix(text: str) -> str:
    name = re.sub(r"\s", "", text).lower()
    return next((letter for letter, aliases in _ALIASES.items() if name in aliases), name)


def _build_place(groups: dict[str, str]) -> SoughtPlace:
    """Return the place of a match. groups: the matched texts, by the name of the group."""
    groups = {name: text.strip("[]") if name == "value" else text for name, text in groups.items()}
    indices = ("row", "col", "index", "line", "thread", "warp", "register", "value")
    odd = groups.get("more") or next((groups[name] for name in indices if not groups.get(name, "0").isdecimal()), "")
    number = {
        name: int(groups[name]) if re.fullmatch(r"-?\d+", groups[name]) else 0 for name in indices if name in groups
    }
    name = _name_matrix(groups.get("matrix", ""))
    if "dim" in groups and (dims := (groups["dim"] + groups["other"]).lower()) != _DIMS.get(name):
        odd = odd or f"{groups['dim']}, {groups['other']}"  # a row and a column of another matrix
        if dims[::-1] == _DIMS.get(name):
            odd, number["row"], number["col"] = "", number["col"], number["row"]
    unit = groups.get("unit", groups.get("short", "")).lower()
    return SoughtPlace(
        matrix=name,
        coords=(number["row"], number["col"]) if "row" in groups else None,
        line=(groups["axis"].lower(), number["line"]) if "line" in groups else None,
        is_lane=unit in ("lane", "l"),
        unit="" if unit in ("lane", "thread", "tid", "l", "t") else unit,
        odd=odd.strip(),
        bits=_parse_bits(groups),
        **{name: number[name] for name in ("index", "thread", "warp", "register", "value") if name in number},
    )


def _parse_bits(groups: dict[str, str]) -> tuple[int, int] | None:
    """Return the first and the last bit of a match, None if it names none."""
    if "byte" in groups:
        return 8 * int(groups["byte"]), 8 * int(groups["byte"]) + 7
    if "last" not in groups:
        return None
    ends = (int(groups["last"]), int(groups.get("first", groups["last"])))
    return min(ends), max(ends)
