"""Pages as meanings of a text: by its words, by a message that it holds. No framework."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanescope.app.catalogue import full_text, topics
from lanescope.app.kit.menus import entries, entry_of
from lanescope.app.read import known_names, named_forms, target_meanings
from lanescope.app.read.facts import Meaning
from lanescope.app.read.languages import translate_words
from lanescope.reader import pasted_text

TOOLS = {  # page of a menu, or outside all menus → the words that find it
    "/descriptor": frozenset("descriptor descriptors gmmadesc lbo sbo word".split()),
    "/tmem": frozenset("tmem tcgen05 alloc allocate allocation".split()),
    "/tmem/epilogue": frozenset("epilogue epilogues".split()),
    "/idesc": frozenset("idesc instrdescriptor".split()),
    "/smem": frozenset("tile box smem shared swizzle k-major mn-major tma fill fills".split()),
    "/banks": frozenset("pad padding padded bank banks conflict conflicts wavefront wavefronts".split()),
    "/chain": frozenset("chain ldmatrix ldsm".split()),
    "/reuse": frozenset("reuse shuffle accumulator".split()),
    "/compare": frozenset("compare comparison differ differs difference".split()),
    "/metadata/order": frozenset("reorder compressor".split()),
    "/scale-factors": frozenset("sfa sfb nvfp4 mxf4 mxf8 mxf8f6f4 mxfp4 mxfp8".split()),
    "/steps": frozenset("step stepper steps animate animated animation visualize visualizer watch".split()),
    "/targets": frozenset("target targets gpu gpus occupancy limit limits budget capability".split()),
    "/capture": frozenset("capture record instrument".split()),
    "/dump": frozenset("dump dumps dumped memdump cuda-gdb bytes".split()),
    "/emulate": frozenset("emulate emulator simulate simulator interpreter cpu deadlock deadlocks hang hangs".split()),
    "/diagram": frozenset("figure figures diagram diagrams tikz latex svg pdf png paper slide slides".split()),
    "/gpu": frozenset("evidence hardware verified gpu run".split()),
    "/tiles/mma": frozenset("tiledmma tiled_mma make_tiled_mma partition_fragment_c permutationmnk".split()),
    "/tiles/mma/chain": frozenset(
        "convert_layout_acc_aregs flashattention attention flash back-to-back gemm feed feeds second".split()
    ),
    "/tiles/copy": frozenset("tiledcopy tiled_copy make_tiled_copy coalescing coalesced vectorized".split()),
    "/tiles/loop": frozenset("mainloop main-loop stage stages".split()),
    "/layouts/triton": frozenset(
        "triton gluon ttgir ttg blocked dot_op nvidia_mma convert_layout convert conversion linearlayout".split()
    ),
    "/layouts/tv": frozenset("tv thread-value".split()),
    "/docs/integrations": frozenset(
        "integration integrations install mcp lsp claude cursor vscode neovim nvim helix emacs sphinx mkdocs jupyter"
        " jupyterlab anywidget notebook notebooks pytest pre-commit github ci cmake pip pipx uvx llms layoutbench python"
        " header plugin action agent agents editor".split()
    ),
    "/docs": frozenset("api json openapi rest".split()),
    "/help": frozenset("shortcut shortcuts keyboard hotkey hotkeys key keys glossary dark theme".split()),
    "/help#report": frozenset("bug bugs report feedback".split()),
    "/help#licence": frozenset("licence license copyright".split()),
    "/help#privacy": frozenset("privacy private cookies cookie offline telemetry upload leave leaves internet".split()),
    "/cute": frozenset("cute algebra composition complement logical_divide zipped_divide raked_product".split()),
}
OUTSIDE = {  # pages outside the menus: title, what it answers
    "/docs": ("API", "Every answer as JSON, with its schema."),
    "/help": ("Keys and glossary", "What the keyboard does on every page, what the words mean, light and dark."),
    "/help#report": ("Report a wrong answer", "What to send, and to whom."),
    "/help#licence": ("Licence", "Apache License, version 2.0."),
    "/help#privacy": ("Privacy", "Pages load nothing from other hosts and keep nothing of what you paste."),
}
_ASKED = (  # questions whose words stand on many pages, and the page that answers them
    (re.compile(r".*\b(?:c|d|p|accumulators?|result)\b.*\b(?:as|to|into)\b.*\b(?:a|operand)\b.*", re.I), "/reuse"),
    (re.compile(r".*\bfigures?\b.*\b(?:paper|slides?|thesis|talk|document)\b.*", re.I), "/diagram"),
    (re.compile(r"(?:json|rest|http|web|open)? ?api\b", re.I), "/docs"),
    (re.compile(r"(?:which|what) (?:gpus?|targets?|architectures?) (?:has|have|supports?)\b.*", re.I), "/targets"),
    (
        re.compile(
            r"(?:.*\b(?:use|with|in|for|from) )?(?:(?:vs|visual studio) code|claude code|(?:coding )?agents?|editors?"
            r"|language server|llms\.txt|model context protocol)|(?:how (?:to|do i|can i) )?(?:pip |pipx )?install\b.*",
            re.I,
        ),
        "/docs/integrations",
    ),
    (re.compile(r"(?:shared )?(?:padding|padded rows?)", re.I), "/banks"),
    (re.compile(r".*\b(?:wgmma|hopper)\b.*\b(?:vs\.?|versus|to)\b.*\btcgen05\b.*", re.I), "/guide/wgmma-to-tcgen05"),
    (
        re.compile(r".*\b(?:volta|turing|ampere|ada|hopper|blackwell)\b.*\b(?:vs\.?|versus|to)\b.*", re.I),
        "/guide/wmma-mma-wgmma",
    ),
)
_EXPLAINING = re.compile(  # a question that a text answers rather than a tool
    r"\s*(?:why|how(?! (?:much|many)\b)|when|who|explain|difference|should|must|is|are|can|may|what (?:is|are)\b(?!.*\bthis\b))\b", re.I
)
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
    if page in OUTSIDE:
        title, notice = OUTSIDE[page]
        return _build_page(title, page, (notice,))
    entry = entry_of(page)
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
    is_of_types = len(words) > 1 and found and all(map(named_forms.is_type, named.words if named else ()))
    return [*found, *pages] if is_of_types else [*pages, *found]


def find_pages(text: str, *, by_title: bool = True) -> list[Meaning]:
    """Find pages by the words of a text: those that have all of them, then those that share some; [] if the text
    neither names one nor asks for one.
    """
    titled = [build_topic(found) for found in full_text.find_titled(text) if by_title]
    meanings = [build_topic(topic) for topic in topics.find_topics(text)]
    lone_words = set(re.findall(r"(?<![\w.%-])[\w-]+(?![\w-]|\.\w)", text.lower()))
    tools = _find_tools(lone_words)
    if not (titled or meanings or tools or full_text.is_asked(text)):
        return []
    searched = _search_pages(text)
    if len(lone_words) > 2 and not _EXPLAINING.match(text):
        ordered = [*tools, *meanings, *searched]  # a task
    elif meanings or len(lone_words) < 3:
        ordered = [*meanings, *tools, *searched]
    else:
        ordered = [*searched[:2], *tools, *searched[2:]]
    first: dict[str, Meaning] = {}
    for meaning in (*titled, *ordered):
        first.setdefault(meaning.link.partition("#")[0], meaning)
    return list(first.values())[: full_text.MOST + len(titled) + len(meanings)]


def _find_tools(words: set[str]) -> list[Meaning]:
    """Find the pages whose words a text has: those of which it has the whole title, then those with the rarest."""
    found = {page: own & words for page, own in TOOLS.items() if not own.isdisjoint(words)}
    ranked = sorted(found, key=lambda page: -sum(full_text.measure_rarity(word) for word in found[page]))
    said = set(full_text.split_words(" ".join(words)))
    titles = {page: full_text.split_words(entry_of(page).text) for page in _list_tool_pages()}
    titled = [page for page, title in titles.items() if len(title) > 1 and said.issuperset(title)]
    return [_describe_page(page) for page in dict.fromkeys((*titled, *ranked))]


def _list_tool_pages() -> list[str]:
    """List the pages of the menus but the guide's."""
    pages = (entry.href for links in entries().values() for entry in links)
    return [page for page in pages if not page.startswith("/guide")]


def find_asked(text: str) -> list[Meaning]:
    """Find the page that answers a question whose words stand on many pages, with others that share its words."""
    text = pasted_text.clean_text(text[: full_text.LONGEST + 1]).strip()
    if targets := target_meanings.describe_targets(text):
        return targets
    page = next((page for pattern, page in _ASKED if pattern.fullmatch(text)), "")
    if not page or len(text) > full_text.LONGEST or _OF_CODE.search(text):
        return []
    return [
        _describe_page(page),
        *(found for found in _search_pages(text) if found.link.partition("#")[0] != page),
    ]


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
