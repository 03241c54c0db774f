"""Pages that a text means: by its words, or by a message in it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from urllib.parse import urlencode

from lanescope.app.catalogue import full_text, topics
from lanescope.app.kit.menus import find_entry, list_entries
from lanescope.app.read import known_names, named_forms, target_meanings, tool_words
from lanescope.app.read.facts import Meaning
from lanescope.app.read.languages import translate_words
from lanescope.names import lookup
from lanescope.reader.grammars import pasted_text

MOST_LONE = 5  # words of a text in which one of a tool's is enough; a longer one has to ask
MOST_WORDS = 8  # longest text that is looked up word by word
_OF_CODE = re.compile(
    r"[;{}=]|::|->|\w\(\w*[,)(]|[\"'],|(?:^|\s)\.(?:reg|pred|shared|global|param|local|const|entry|visible|func)\b"
)

_TOKEN = re.compile(r"->|<<|>>|&&|\|\||::|(?<!\w)%?[A-Za-z_]\w*|\w+|\S")  # %laneid is a register of PTX
_COMPUTING = frozenset("* % ^ ~ [ << >> && ||".split())  # operators that prose and lists of words do not have
_IN_EXPRESSIONS = _COMPUTING | frozenset("+ - -> / & | ! ( ) ] . , ? : < > =".split())


def is_expression(text: str) -> bool:
    """Return whether a text is an expression of C++: operators between words, and no two words side by side.

    >>> [is_expression(text) for text in ("(*a)[3] * b", "lane / 4", "swizzle 128B * 2", "%laneid", "gmem -> smem")]
    [True, False, False, False, False]
    """
    tokens = _TOKEN.findall(text[: full_text.LONGEST])
    are_words = [token[-1].isalnum() or token[-1] == "_" for token in tokens]
    if any(map(all, itertools.pairwise(are_words))):
        return False
    marks = {token for token, is_word in zip(tokens, are_words, strict=True) if not is_word}
    is_complete = any(token[0].isalpha() for token in tokens) and (are_words[-1] or tokens[-1] in ")]")
    return is_complete and marks <= _IN_EXPRESSIONS and not marks.isdisjoint(_COMPUTING)


def build_topic(page: topics.Topic | full_text.FoundPage) -> Meaning:
    """Build the meaning of a page, with its summary."""
    return build_page_meaning(page.title, page.page, (page.summary,) if page.summary else ())


def build_page_meaning(title: str, page: str, notices: tuple[str, ...]) -> Meaning:
    return Meaning(kind="topic", title=title, link=page, facts={"page": page}, notices=notices)


def _describe_page(page: str) -> Meaning:
    """Describe a page of the guide, of a menu, or of the API."""
    if page in topics.BY_PAGE:
        return build_topic(topics.BY_PAGE[page])
    if page in tool_words.OUTSIDE:
        title, notice = tool_words.OUTSIDE[page]
        return build_page_meaning(title, page, (notice,))
    entry = find_entry(page.partition("?")[0])
    return build_page_meaning(entry.text, page, (entry.summary,))


def explain_name(text: str) -> list[Meaning]:
    """Return the meaning of a name of a library: the page that explains it."""
    return _explain(known_names.find_name(pasted_text.clean_text(text[: known_names.LONGEST + 1])))


def explain_message(text: str) -> list[Meaning]:
    """Return the meaning of a name of a library or a message of a tool: the page that helps."""
    text = text[: known_names.LONGEST + 1]
    return explain_name(text) or _explain(known_names.find_message(pasted_text.clean_text(text)))


def _explain(known: known_names.KnownMessage | None) -> list[Meaning]:
    return [build_page_meaning(known.title, known.page, known.notices)] if known else []


def _find_without_sizes(text: str, words: int) -> list[Meaning]:
    """Find the pages of `core matrix 8x8`: its words without those of no page. words: their number."""
    plain = re.sub(r"(?<!\S)(?=\S*\d)\S{1,6}(?!\S)", " ", text).split()
    return find_pages(" ".join(plain)) if len(plain) not in (0, words) else []


def look_up(text: str) -> list[Meaning]:
    """Find pages and instructions by the words of a text."""
    cleaned = pasted_text.clean_text(text)
    text = translate_words(cleaned)
    is_translated = text != cleaned
    if re.fullmatch(r"\s*[A-Za-z_][\w:]*\s*", text):
        text = text.replace("::", " ")  # a name of C++
    words = re.findall(r"[\w-]+", text.lower())
    if not words or len(text) > full_text.LONGEST or _OF_CODE.search(text):
        return []
    if len(words) > MOST_WORDS:
        return _order_task(text, words) if full_text.is_asked(text) else []
    # a translated word is a subject, not a title
    pages = find_pages(text, by_title=not is_translated) or _find_without_sizes(text, len(words))
    matches = lookup.find_named(text)
    if not matches or not matches.forms or (matches.ignored and not lookup.has_shape(matches)):
        return pages
    found = named_forms.build_meaning(text, matches)
    is_of_types = all(map(named_forms.is_type, matches.words))
    return [found, *pages] if is_of_types else [*pages, found]


def find_pages(text: str, *, by_title: bool = True) -> list[Meaning]:
    """Find pages by the words of a text: those that have all of them, then those that share some; [] if the text
    neither names a page nor is a question about one.
    """
    titled = [build_topic(found) for found in full_text.find_titled(text) if by_title]
    meanings = [build_topic(topic) for topic in topics.find_topics(text)]
    lone_words = set(re.findall(r"(?<![\w.%-])[\w-]+(?![\w-]|\.\w)", text.lower()))
    tools = _find_tools(lone_words)
    is_short = len(lone_words) <= MOST_LONE
    if not (titled or meanings or (tools and is_short) or full_text.is_asked(text)):
        return []
    searched = _search_pages(text)
    if len(lone_words) > 2 and not tool_words.EXPLAINING.match(text):
        ordered = [*tools, *meanings, *searched]  # a task
    elif meanings or len(lone_words) < 3:
        ordered = [*meanings, *tools, *searched]
    else:
        ordered = [*searched[:2], *tools, *searched[2:]]
    first: dict[str, Meaning] = {}
    for meaning in (*titled, *ordered):
        first.setdefault(meaning.link.partition("#")[0], meaning)
    return list(first.values())[: full_text.MOST + len(titled) + len(meanings)]


def _order_task(text: str, words: Sequence[str]) -> list[Meaning]:
    """Order the pages of a long question: if it describes a task, first the tool of which it has two words."""
    searched = _search_pages(text)
    if tool_words.EXPLAINING.match(text):
        return searched
    tools = [page for page, page_words in tool_words.TOOLS.items() if len(page_words.intersection(words)) > 1]
    shown = [_describe_page(page) for page in tools[:1]]
    return [*shown, *(found for found in searched if found.link.partition("#")[0] not in tools[:1])]


def _find_tools(words: set[str]) -> list[Meaning]:
    """Find the pages whose words a text has: those of which it has the whole title, then those with the rarest."""
    found = {
        page: page_words & words for page, page_words in tool_words.TOOLS.items() if not page_words.isdisjoint(words)
    }
    ranked = sorted(found, key=lambda page: -sum(full_text.measure_rarity(word) for word in found[page]))
    text_words = set(full_text.split_words(" ".join(words)))
    titles = {page: full_text.split_words(find_entry(page).text) for page in _list_tool_pages()}
    titled = [page for page, title in titles.items() if len(title) > 1 and text_words.issuperset(title)]
    return [_describe_page(page) for page in dict.fromkeys((*titled, *ranked))]


def _list_tool_pages() -> list[str]:
    """List the pages of all menus except the guide."""
    pages = (entry.href for links in list_entries().values() for entry in links)
    return [page for page in pages if not page.startswith("/guide")]


def find_asked(text: str) -> list[Meaning]:
    """Find the page that answers a question whose words occur on many pages, with others that share its words."""
    text = pasted_text.clean_text(text[: full_text.LONGEST + 1]).strip()
    if targets := target_meanings.describe_targets(text):
        return targets
    page = next((page for pattern, page in tool_words.ASKED if pattern.fullmatch(text)), "") or find_weights(text)
    if not page or len(text) > full_text.LONGEST or _OF_CODE.search(text):
        return []
    return [
        _describe_page(page),
        *(found for found in _search_pages(text) if found.link.partition("#")[0] != page.partition("?")[0]),
    ]


def find_sharing(text: str) -> list[Meaning]:
    """Find pages that share words with a text that names none; none for code."""
    text = translate_words(pasted_text.clean_text(text))
    return [] if len(text) > full_text.LONGEST or _OF_CODE.search(text) else _search_pages(text)


def search_question(text: str, meanings: Sequence[Meaning]) -> list[Meaning]:
    """Search for further pages about a text of several words; none for code."""
    if len(text.split()) < 2 or _OF_CODE.search(text):
        return []
    shown = {meaning.link.partition("#")[0] for meaning in meanings}
    return [page for page in _search_pages(text) if page.link.partition("#")[0] not in shown]


def _search_pages(text: str) -> list[Meaning]:
    return [build_topic(found) for found in full_text.find_pages(text)]


# prepacked weights ----------------------------------------------------------------------------------------------------


_FORMATS = (  # what people write, and its format; the first that a text names
    (r"sparse[- _]?marlin|marlin[- _]?(?:24|2:4)|2:4 marlin", "sparse-marlin"),
    (r"(?:gptq|awq)[- _]?marlin\w*|marlin\w*", "marlin"),
    (r"machete\w*", "machete"),
    (r"tinychat", "awq-tinychat"),
    (r"(?:auto)?awq\w*", "awq"),
    (r"(?:auto)?gptq\w*|g_idx|qzeros?", "gptq"),
    (r"qweights?|prepack(?:s|ed|ing)?|w4a16|(?:int4|4-?bit|int8|8-?bit|quantized) weights?", ""),
)
_NAMED = tuple((re.compile(rf"(?<![\w-])(?:{text})(?![\w-])", re.I), name) for text, name in _FORMATS)
_ELEMENT = re.compile(
    r"(?<!\w)(?:w\s*\[|k\s*=|row)\s*(\d{1,7})\s*(?:,|\]\s*\[|\s|and)\s*(?:n\s*=|col(?:umn)?)?\s*(\d{1,7})(?!\w)", re.I
)
_PLACE = re.compile(
    r"(?<!\w)(?:tile \d{1,7},? )?(?:warp \d{1,4},? )?(?:(?:lane|thread) \d{1,4},? )?word \d{1,9}"
    r"(?:,? (?:nibble|byte|field) \d{1,2})?(?!\w)",
    re.I,
)
_ACTIVATIONS = re.compile(r"(?<![a-z0-9])(?:w\d)?a8(?!\w)|(?:8-?bit|int8|fp8) activations", re.I)
_BITS = re.compile(r"(?<![\w-])(?:w(\d)a\d{1,2}|u?int(\d)|(\d)[- ]?bits?)(?![\w-])(?! activations)", re.I)
_OTHER = re.compile(r"\b(?:tiled_?mma|tiled_?copy|atom_?layout\w*|warps)\b", re.I)  # of Marlin, but not its words


def find_weights(text: str) -> str:
    """Find the page of the format of weights that a text names, "" if it names none.

    >>> find_weights("where is W[3, 9] in AWQ?")
    '/weights?format=awq&find=W%5B3%2C+9%5D'
    """
    format_ = next((name for pattern, name in _NAMED if pattern.search(text)), None)
    if format_ is None or _OTHER.search(text):
        return ""
    if format_ in ("marlin", "machete") and _ACTIVATIONS.search(text):
        format_ += "-a8"
    query = {"format": format_} if format_ else {}
    if format_ and (width := _BITS.search(text)) and (bits := next(filter(None, width.groups()))) != "4":
        query["bits"] = bits
    if found := _ELEMENT.search(text):
        query["find"] = f"W[{found[1]}, {found[2]}]"
    elif place := _PLACE.search(text):
        query["find"] = place[0]
    return f"/weights?{urlencode(query)}" if query else "/weights"
