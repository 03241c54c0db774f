"""The names of a page's query that the page does not use: a misspelt option must not look as if it had an effect."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from html import unescape
from urllib.parse import unquote_plus

from lanescope.inputs import find_nearest_word, shorten_value

LONGEST_NAME, MOST_NAMED, MOST_LISTED = 40, 3, 16
_HEADER = re.compile(r"<header\b.*?</header>", re.S)  # the paste box of every page
_CONTROL = re.compile(r'<(?:input|select|textarea|button)\b[^>]*?\sname="([^"]+)"')
_LINKED = re.compile(r'(?:\?|&amp;|&)([A-Za-z_]\w*)=([^&"]*)')
_LINK = re.compile(r'\b(?:href|data-\w+)="([^"#]*\?[^"]*)')
_ANYWHERE = frozenset({"pin", "pin2", "find", "part", "side", "legend", "theme"})  # of views and of figures


def describe_ignored_names(page: str, sent: Iterable[tuple[str, str]], takes: Iterable[str] = ()) -> list[str]:
    """Return a sentence for each name of a query that a rendered page has no control for and no link with another value
    of it, and for each one that occurs twice. A link with the same value only carries it on.

    takes: names that the page's route reads and the page does not show. `a` is also the object of `a.rows`; a name
    without a value has no effect anywhere.
    """
    pairs = [(name, value) for name, value in sent if value]
    if not pairs:
        return []
    body = _HEADER.sub("", page, count=1)
    controls = list(dict.fromkeys((*takes, *_CONTROL.findall(body))))
    pairs_linked = {pair for link in _LINK.findall(body) for pair in _LINKED.findall(link)}
    linked = {name for name, value in pairs_linked if (name, unquote_plus(unescape(value))) not in pairs}
    known = {*controls, *linked, *_ANYWHERE, *(name.partition(".")[0] for name in controls)}
    counted = Counter(name for name, _ in pairs)
    ignored = [name for name in counted if name not in known]
    sentences = [_word_ignored(name, controls, linked) for name in ignored[:MOST_NAMED]]
    if len(ignored) > MOST_NAMED:
        sentences.append(f"{len(ignored) - MOST_NAMED} more names of the address have no effect here.")
    twice = [name for name, times in counted.items() if times > 1 and name in controls]
    return sentences + [f"{name} occurs {counted[name]} times in the address. The last one counts." for name in twice]


def _word_ignored(name: str, controls: list[str], linked: set[str]) -> str:
    sentence = f"This page has no option '{shorten_value(name, LONGEST_NAME)}' and ignores it."
    if near := find_nearest_word(name, [*controls, *sorted(linked)]):
        return f"{sentence} Did you mean '{near}'?"
    listed = ", ".join(controls[:MOST_LISTED]) + (", …" if len(controls) > MOST_LISTED else "")
    return f"{sentence} It takes {listed}." if controls else f"{sentence} It takes no options."
