"""The pages that show what a text means."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any
from urllib.parse import urlencode

from lanescope.app.kit import links
from lanescope.app.memory.tile_descriptors import describe_tile, link_offset
from lanescope.app.read.facts import Meaning
from lanescope.blackwell import tmem
from lanescope.descriptor.tile_descriptors import describe_stored_tile
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.reader.code.descriptors.code_words import build_word
from lanescope.reader.meaning import TextMeaning
from lanescope.shared.tma import WIDTHS

MOST_CANDIDATES = 48  # in an answer; the catalogue has all
MOST_NAMED = 4096  # longest text that is searched for names of pages
MOST_STAGES = 16  # linked stages of a layout
FIRST = 0x1000  # first byte of a pasted tile
TOPICS = {  # topic of a recogniser → its page
    "tcgen05": "/tmem",
    "idesc": "/idesc",
    "fields": "/descriptor",
    "ptxas": "/instructions",
    "tma": "/guide/paste",
    "swizzle": "/guide/swizzle",
    **dict.fromkeys(("warp_group_dot", "kernel_name"), "/guide/wmma-mma-wgmma"),
}


def link_text(text: str) -> str:
    """Link the page of a text, without the text if an address cannot hold it."""
    return f"/read?{urlencode({'text': text})}" if len(text) <= MOST_NAMED else "/read"


def link_meaning(meaning: TextMeaning, text: str) -> str:
    """Link to the page that shows a meaning: its own, or that of the text."""
    facts = meaning.facts
    if meaning.kind == "instruction" and facts["ptx"] and len(set(facts["all"])) == 1:
        pin_query = {"pin": f"{facts['operand']}:0,0"} if facts["operand"] else {}
        return links.link_instruction(catalog.find(facts["ptx"]), query=pin_query | _build_major_query(facts))
    if meaning.kind == "descriptor" or (meaning.kind == "builder" and facts["word"]):
        return links.link_descriptor(facts["word"], {}, facts.get("format", "wgmma"))
    if meaning.kind == "tiled_mma" and facts.get("umma") and not meaning.undetermined:
        return links.link_atom_tile(facts["body"]["atom"])
    if meaning.kind == "builder" and _is_editable(text):
        return f"/descriptor?{urlencode({'word': text})}"
    return link_text(text)


def _build_major_query(facts: Mapping[str, Any]) -> dict[str, str]:
    return {f"{name}_major": major for name, major in (facts.get("majors") or {}).items() if major == "MN"}


def format_major_query(facts: Mapping[str, Any]) -> str:
    """Format the query that opens an instruction's page in the majors of a text; "" for K or none."""
    query = _build_major_query(facts)
    return f"?{urlencode(query)}" if query else ""


def link_stages(facts: Mapping[str, Any]) -> list[str]:
    """Link to the descriptor page of each stage of a shared-memory layout that a descriptor reads.

    Each has the word that reads the layout from the stage's start, the first at FIRST. [] if no descriptor reads it.
    """
    readable = (
        [width for width in describe_stored_tile(spec, facts["element_bits"]) if width.words]
        if (spec := build_storage(facts))
        else []
    )
    stride = facts.get("stage_bytes") or 0
    count = min(facts.get("stages") or 1, MOST_STAGES) if stride else 1
    return [link_offset(readable[0], n * stride) for n in range(count)] if readable else []


def build_storage(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Build the storage of a pasted layout's tile, at FIRST; None if the text leaves it open."""
    storage = facts["storage"]
    if storage is not None and facts["cute"] and facts["modes"] == 2:
        storage = {"kind": "cute", "layout": facts["cute"]}
    if storage is None or facts.get("tv") or any(v is None for n, v in storage.items() if n != "base"):
        return None
    return {**storage, "base": hex(FIRST)}


def link_tile(facts: Mapping[str, Any]) -> str:
    """Link the tile page of a tensor map's box; "" if the text leaves it open, or its rows are not whole patterns."""
    storage, box = facts.get("storage") or {}, facts["box"]
    bits, mode = facts["element_bits"], facts["swizzle"]
    if len(box) < 2 or None in box or not bits or mode not in WIDTHS or storage.get("kind") not in ("rows", "atoms"):
        return ""
    rows = prod(box[1:])
    if rows % 8 or box[0] * bits // 8 < 16 or box[0] * bits // 8 > WIDTHS[mode]:
        return ""
    query = {"element_bits": bits, "major": "K", "swizzle": mode, "mn": rows, "k": box[0], "base": hex(FIRST)}
    return links.link_smem(query)


def _is_editable(text: str) -> bool:
    """Return whether the descriptor editor accepts the code of a text."""
    try:
        build_word(text, "text")
    except LayoutError:
        return False
    return True


def link_topic(facts: dict[str, Any]) -> str:
    """Link the page of a topic: of a descriptor word its own, of an access to tensor memory the one that draws it."""
    page, name = TOPICS[facts["topic"]], str(facts.get("name", ""))
    if facts["topic"] == "ptxas":
        return "/tmem" if name.startswith("tcgen05") else f"{page}?{urlencode({'q': name})}"
    if "word" in facts:
        return f"{page}/{facts['word']}?{urlencode({'kind': facts['kind']})}"
    try:
        return f"{page}?{urlencode({'access': tmem.parse_access(name).ptx})}" if tmem.is_access(name) else page
    except LayoutError:
        return page


def build_meaning(meaning: TextMeaning, text: str) -> Meaning:
    """Build a meaning of a text from that of a recogniser."""
    facts = dict(meaning.facts)
    if meaning.kind == "topic":
        page = link_topic(facts)
        return Meaning(kind="topic", title=meaning.title, link=page, facts={"page": page}, notices=meaning.notices)
    if meaning.undetermined:
        facts["undetermined"] = list(meaning.undetermined)
    notices = meaning.notices
    if len(facts.get("candidates", ())) > MOST_CANDIDATES:
        notices = (*notices, f"{len(facts['candidates'])} fit; the first {MOST_CANDIDATES} are listed.")
        facts["candidates"] = facts["candidates"][:MOST_CANDIDATES]
    if meaning.kind == "layout" and (spec := build_storage(facts)) is not None:
        facts["descriptors"] = describe_tile(spec, facts["element_bits"])
    kind: Any = meaning.kind  # one of Kind
    return Meaning(kind=kind, title=meaning.title, link=link_meaning(meaning, text), facts=facts, notices=notices)
