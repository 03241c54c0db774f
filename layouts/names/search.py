"""Search the catalogue: an instruction has keys, and a query is a set of required keys.

The server matches with `has_keys`; an exported site receives these rules as data (app/catalogue/site_search.py) and
matches with static/catalogue/site.js, which has no other rules:
  - every filter is an exact key, `name=value`;
  - a text that is the PTX of one instruction requires its exact key `line=…` and nothing else;
  - in any other text every word is required, in any order, with its synonyms in `vocabulary.SYNONYMS`;
  - a product of two types, `bf16 × bf16`, requires the exact key `product=…`;
  - a target, sm_90a, requires the exact key `target=…`;
  - a shape, m16n8k16 or 16x8x16 or a part of one, requires the exact key `shape=…` of each of its sizes;
  - a word that some form has requires that word or the exact key `type=…`; any other word of two letters or more
  matches the beginning of a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from lanescope.names import vocabulary
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.syntax import LAYOUTS, SILENT

FILTERS = ("family", "type", "target", "shape", "q")
ORDERED = frozenset((*LAYOUTS, *DTYPES))  # parts of PTX whose order is significant
BLANKS = " \t\r\n"
# The same in Python and JavaScript: ASCII only, everything else is a blank.
FOREIGN, END, WORD = r"[^\x00-\x7f]", r"[{\[%;]", r"[0-9a-z_:]+"
PRODUCT, PART = r"([0-9]+)x([0-9]+)(?:x([0-9]+))?", r"(m[0-9]+)?(n[0-9]+)?(k[0-9]+)?"
OPCODE = re.compile(catalog.OPCODE.pattern, re.I | re.A)
TYPES = r"([0-9a-z_]+)\s*[×*x]\s*([0-9a-z_]+)"
TARGET = "sm_"


@dataclass(frozen=True, slots=True)
class SearchKeys:
    """The keys of an instruction: exact keys, and words that match by their beginnings."""

    exact_keys: frozenset[str]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Exact keys and words, all of which an instruction must have."""

    exact_keys: tuple[str, ...]
    words: tuple[str, ...]

    def has_keys(self, keys: SearchKeys) -> bool:
        return keys.exact_keys.issuperset(self.exact_keys) and all(has_word(keys, word) for word in self.words)


def normalize_ptx(text: str) -> str:
    """Return the first PTX text of a line in a normal form, unordered parts sorted and first; "" without PTX.

    >>> normalize_ptx("@p mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, ...};")
    'm16n8k16.mma.row.col.f32.f16.f16.f32'
    """
    match = OPCODE.search(re.sub(FOREIGN, " ", text))
    if not match:
        return ""
    parts = [
        part
        for part in re.sub(r"\s", "", match[0].lower(), flags=re.A).rstrip(":").split(".")
        if part and part not in SILENT
    ]
    return ".".join(
        [*sorted(part for part in parts if part not in ORDERED), *(part for part in parts if part in ORDERED)]
    )


@lru_cache(maxsize=1)
def index_instructions() -> dict[str, SearchKeys]:
    """Map the PTX text of every instruction to its keys."""
    return {instruction.ptx: _build_keys(instruction) for instruction in catalog.instructions()}


@lru_cache(maxsize=1)
def list_lines() -> frozenset[str]:
    """Return the keys `line=…` of all spellings of all instructions."""
    return frozenset(
        key for keys in index_instructions().values() for key in keys.exact_keys if key.startswith("line=")
    )


def _build_keys(i: Instruction) -> SearchKeys:
    parts = [part for part in i.ptx.split(".") if part not in catalog.SPACES]
    spelled = {i.ptx, *(".".join(filter(None, (*parts, space))) for space in i.family.spaces)}
    shapes = (i.shape, *(f"{dim}{size}" for dim, size in i.sizes.items()))
    exact_keys = {
        f"family={i.family.name}",
        *(f"type={name}" for name in i.types.values()),
        *(f"target={name}" for name in catalog.get_target_support(i).targets),
        *(f"shape={shape}" for shape in shapes),
        *(f"line={normalize_ptx(text)}" for text in spelled),
        *([f"product={i.types['a']}*{i.types['b']}"] if {"a", "b"} <= i.types.keys() else ()),
    }
    words = dict.fromkeys(word for part in i.ptx.lower().split(".") for word in (part, *part.split("::")))
    return SearchKeys(frozenset(exact_keys), tuple(words))


@lru_cache(maxsize=1)
def list_known_words() -> frozenset[str]:
    """Return all words and types of all forms."""
    return frozenset(
        word
        for keys in index_instructions().values()
        for word in (*keys.words, *(key[5:] for key in keys.exact_keys if key.startswith("type=")))
    )


def split_shape(word: str) -> tuple[str, ...]:
    """Split a shape or a part of one into its sizes; () for other words.

    >>> split_shape("16x8x16"), split_shape("n8k16"), split_shape("x4")
    (('m16', 'n8', 'k16'), ('n8', 'k16'), ())
    """
    if match := re.fullmatch(PRODUCT, word):
        return tuple(f"{dim}{size}" for dim, size in zip("mnk", match.groups(), strict=True) if size)
    match = re.fullmatch(PART, word)
    return tuple(part for part in match.groups() if part) if match else ()


def has_word(keys: SearchKeys, word: str) -> bool:
    """Return whether a form has a word or one of its synonyms."""
    return any(_has_spelling(keys, spelling) for spelling in vocabulary.SYNONYMS.get(word, (word,)))


def _has_spelling(keys: SearchKeys, word: str) -> bool:
    if sizes := split_shape(word):
        return all(f"shape={size}" in keys.exact_keys for size in sizes)
    if word.startswith(TARGET):
        return f"target={word}" in keys.exact_keys
    if word in list_known_words():
        return word in keys.words or f"type={word}" in keys.exact_keys
    return len(word) > 1 and not word.isdecimal() and any(key.startswith(word) for key in keys.words)


def parse_query(filters: Mapping[str, str]) -> SearchQuery:
    """Parse the filters and the text of a search into the required keys."""
    exact_keys = [
        f"{name}={value}" for name in FILTERS if name != "q" and (value := filters.get(name, "").strip(BLANKS).lower())
    ]
    text = filters.get("q", "")
    spelled = f"line={normalize_ptx(text)}"
    if spelled in list_lines():
        return SearchQuery((*exact_keys, spelled), ())
    exact_keys += find_products(text)
    words = re.findall(WORD, re.split(END, re.sub(FOREIGN, " ", text))[0].lower())
    return SearchQuery(tuple(exact_keys), tuple(word for word in dict.fromkeys(words) if word not in vocabulary.SILENT))


def find_products(text: str) -> list[str]:
    """Return the products of two types in a text, as exact keys.

    >>> find_products("f32 += bf16 × half, 16x8")
    ['product=bf16*f16']
    """
    keys = []
    for match in re.finditer(TYPES, text.lower()):
        pair = [vocabulary.SYNONYMS.get(word, (word,)) for word in match.groups()]
        if all(len(names) == 1 and names[0] in DTYPES for names in pair):
            keys.append(f"product={pair[0][0]}*{pair[1][0]}")
    return keys


@lru_cache(maxsize=1)
def _index_exact_keys() -> dict[str, list[Instruction]]:
    """Return the instructions that have an exact key, in the catalogue's order."""
    index: dict[str, list[Instruction]] = {}
    for instruction in catalog.instructions():
        for key in index_instructions()[instruction.ptx].exact_keys:
            index.setdefault(key, []).append(instruction)
    return index


def find_instructions(filters: Mapping[str, str]) -> list[Instruction]:
    """Return the instructions that match a search, in the catalogue's order."""
    query, keys, index = parse_query(filters), index_instructions(), _index_exact_keys()
    found = min((index.get(key, ()) for key in query.exact_keys), key=len, default=catalog.instructions())
    return [instruction for instruction in found if query.has_keys(keys[instruction.ptx])]
