"""Pages as meanings of a text: by its words, by a message that it holds. No framework."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanescope.app.catalogue import full_text, topics
from lanescope.app.kit.menus import entry_of
from lanescope.app.read import known_names, named_forms
from lanescope.app.read.facts import Meaning
from lanescope.app.read.languages import translate_words
from lanescope.app.read.weight_links import find_weights
from lanescope.ptx.targets import TARGETS, find_nearest_target
from lanescope.reader import pasted_text

TOOLS = {  # page of a menu → the words that find it
    "/descriptor": frozenset("descriptor descriptors gmmadesc lbo sbo".split()),
    "/tmem": frozenset("tmem tcgen05".split()),
    "/tmem/epilogue": frozenset("epilogue".split()),
    "/idesc": frozenset("idesc instrdescriptor".split()),
    "/smem": frozenset("tile smem shared swizzle k-major mn-major tma".split()),
    "/banks": frozenset("padding padded bank banks conflict conflicts wavefront wavefronts".split()),
    "/chain": frozenset("chain ldmatrix ldsm".split()),
    "/reuse": frozenset("reuse shuffle accumulator".split()),
    "/diagram": frozenset("figure figures diagram tikz latex svg pdf png paper slide slides".split()),
    "/gpu": frozenset("evidence hardware verified gpu".split()),
    "/tiles/mma": frozenset("tiledmma tiled_mma make_tiled_mma partition_fragment_c permutationmnk".split()),
    "/tiles/mma/chain": frozenset("convert_layout_acc_aregs flashattention".split()),
    "/tiles/copy": frozenset("tiledcopy tiled_copy make_tiled_copy coalescing coalesced vectorized".split()),
    "/tiles/loop": frozenset("mainloop main-loop".split()),
    "/layouts/triton": frozenset(
        "triton gluon ttgir ttg blocked dot_op nvidia_mma convert_layout convert conversion".split()
    ),
    "/layouts/tv": frozenset("tv thread-value".split()),
    "/docs/integrations": frozenset(
        "integration integrations install mcp lsp claude cursor vscode neovim nvim helix emacs sphinx mkdocs jupyter"
        " jupyterlab anywidget notebook notebooks pytest pre-commit github cmake pip pipx uvx llms layoutbench".split()
    ),
    "/cute": frozenset("cute algebra composition complement logical_divide zipped_divide raked_product".split()),
}
_ASKED = (  # questions whose words stand on many pages, and the page that answers them
    (re.compile(r".*\b(?:c|d|p|accumulators?|result)\b.*\b(?:as|to|into)\b.*\b(?:a|operand)\b.*", re.I), "/reuse"),
    (re.compile(r".*\bfigures?\b.*\b(?:paper|slides?|thesis|talk|document)\b.*", re.I), "/diagram"),
    (re.compile(r"(?:json|rest|http|web|open)? ?api\b", re.I), "/docs"),
    (re.compile(r"(?:which|what) (?:gpus?|targets?|architectures?) (?:has|have|supports?)\b.*", re.I), "/targets"),
    (
        re.compile(
            r"(?:vs|visual studio) code|claude code|(?:coding )?agents?|editors?|language server|llms\.txt"
            r"|model context protocol|(?:how (?:to|do i|can i) )?(?:pip |pipx )?install\b.*",
            re.I,
        ),
        "/docs/integrations",
    ),
    (re.compile(r"(?:shared )?(?:padding|padded rows?)", re.I), "/banks"),
    (
        re.compile(r".*\b(?:volta|turing|ampere|ada|hopper|blackwell)\b.*\b(?:vs\.?|versus|to)\b.*", re.I),
        "/guide/wmma-mma-wgmma",
    ),
)
_TARGET = re.compile(r"(?:what (?:does|is new in) )?((?:sm|compute)_\d{2,3}[a-z]?)(?: have| has| support)? ?\??", re.I)
API = "/docs"
MOST_WORDS = 8  # longest text that is looked up word by word
_OF_CODE = re.compile(
    r"[;{}=]|::|->|\w\(\w*[,)(]|[\"'],|(?:^|\s)\.(?:reg|pred|shared|global|param|local|const|entry|visible|func)\b"
)


def build_topic(page: topics.Topic | full_text.FoundPage) -> Meaning:
    """Build the meaning that a page is, with its summary."""
    return _build_page(page.title, page.page, (page.summary,) if page.summary else ())


def _build_page(title: str, page: str, notices: tuple[str, ...]) -> Meaning:
    return Meaning(kind="topic", title=title, link=page, facts={"page": page}, notices=notices)


def _describe_page(page: str) -> Meaning:
    """Describe a page of the guide, of a menu, or of the API."""
    if page in topics.BY_PAGE:
        return build_topic(topics.BY_PAGE[page])
    if page == API:
        return _build_page("API", API, ("Every answer as JSON, with its schema.",))
    entry = entry_of(page.partition("?")[0])
    return _build_page(entry.text, page, (entry.summary,))


def explain_name(text: str) -> list[Meaning]:
    """Explain a name of a library, as the page that shows what it is."""
    return _explain(known_names.find_name(pasted_text.clean_text(text[: known_names.LONGEST + 1])))


def explain_message(text: str) -> list[Meaning]:
    """Explain a name of a library or a message of a tool, as a page that helps."""
    text = text[: known_names.LONGEST + 1]
    return explain_name(text) or _explain(known_names.find_message(pasted_text.clean_text(text)))


def _explain(known: known_names.KnownMessage | None) -> list[Meaning]:
    return [_build_page(known.title, known.page, known.notices)] if known else []


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
        return _search_pages(text) if full_text.is_asked(text) else []
    pages = find_pages(text, by_title=not is_translated)  # a translated word is a subject, not a title
    if not pages and len(plain := re.sub(r"(?<!\S)(?=\S*\d)\S{1,6}(?!\S)", " ", text).split()) not in (0, len(words)):
        pages = find_pages(" ".join(plain))  # `core matrix 8x8`: drop the words that name no page
    named = named_forms.find_named(text)
    found = (
        [named_forms.build_meaning(text, named)]
        if named and named.forms and (not named.ignored or named_forms.has_shape(named))
        else []
    )
    return [*pages, *found]


def find_pages(text: str, *, by_title: bool = True) -> list[Meaning]:
    """Find pages by the words of a text: those that have all of them, then those that share some; [] if the text
    neither names one nor asks for one.
    """
    titled = [build_topic(found) for found in full_text.find_titled(text) if by_title]
    meanings = [build_topic(topic) for topic in topics.find_topics(text)]
    lone_words = set(re.findall(r"(?<![\w.%-])[\w-]+(?![\w-]|\.\w)", text.lower()))
    tools = [_describe_page(page) for page, words in TOOLS.items() if not words.isdisjoint(lone_words)]
    if not (titled or meanings or tools or full_text.is_asked(text)):
        return []
    searched = _search_pages(text)
    ordered = (
        [*meanings, *tools, *searched] if meanings or len(lone_words) < 3 else [*searched[:2], *tools, *searched[2:]]
    )
    first: dict[str, Meaning] = {}
    for meaning in (*titled, *ordered):
        first.setdefault(meaning.link.partition("#")[0], meaning)
    return list(first.values())[: full_text.MOST + len(titled) + len(meanings)]


def find_asked(text: str) -> list[Meaning]:
    """Find the page that answers a question whose words stand on many pages, with others that share its words."""
    text = pasted_text.clean_text(text[: full_text.LONGEST + 1]).strip()
    if target := _TARGET.fullmatch(text):
        return _describe_target(target[1].lower().replace("compute_", "sm_"))
    page = next((page for pattern, page in _ASKED if pattern.fullmatch(text)), "") or find_weights(text)
    if not page or len(text) > full_text.LONGEST or _OF_CODE.search(text):
        return []
    return [
        _describe_page(page),
        *(found for found in _search_pages(text) if found.link.partition("#")[0] != page.partition("?")[0]),
    ]


def _describe_target(name: str) -> list[Meaning]:
    """Describe the page of a target, or what a name that ptxas does not list may mean; none if nothing is near."""
    known = name if name in TARGETS else find_nearest_target(name)
    if not known:
        return []
    notice = "Families, types and shapes, what it lacks, and the limits of a block."
    page = _build_page(f"What {known} has", f"/targets?target={known}", (notice,))
    if known == name:
        return [page]
    why = f"ptxas has no target '{name}'. Did you mean {known}?"
    title = f"No target '{name}'"
    return [Meaning(kind="unknown", title=title, link=f"/read?text={name}", facts={}, notices=(why,)), page]


def find_sharing(text: str) -> list[Meaning]:
    """Find pages that share words with a text which does not ask for one; none for code."""
    text = translate_words(pasted_text.clean_text(text))
    return [] if len(text) > full_text.LONGEST or _OF_CODE.search(text) else _search_pages(text)


def search_question(text: str, meanings: Sequence[Meaning]) -> list[Meaning]:
    """Search the pages beside those of a text of several words; none for code."""
    if len(text.split()) < 2 or _OF_CODE.search(text):
        return []
    shown = {meaning.link.partition("#")[0] for meaning in meanings}
    return [page for page in _search_pages(text) if page.link.partition("#")[0] not in shown]


def _search_pages(text: str) -> list[Meaning]:
    return [build_topic(found) for found in full_text.find_pages(text)]
