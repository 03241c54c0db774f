"""Find the forms of a name: a full name means one form, a shorter name every form with its words, the plain form first.

No word is ignored silently.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import lru_cache, reduce

from lanescope.names import search, vocabulary
from lanescope.names.form_names import format_assignment, format_short_name, name_form
from lanescope.ptx import catalog, syntax
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction

LONGEST = 400  # characters of the longest name
MOST_WORDS = 16
_WORD = re.compile(r"[0-9a-z_]+(?:::[0-9a-z_]+)*")
_TOKEN = re.compile(rf"{_WORD.pattern}|\+=|[=+×*]")
_SPARSE = re.compile(r"spars|metadata|\b2:4\b|_sp(?:_|\b)")
_SIGNS = ("+=", "=", "+", "×")  # words often omitted from a name
_ASSIGNED = re.compile(
    r"(\w+)\s*\+=\s*([\w|]+)\s*[×x*]\s*([\w|]+)|(\w+)\s*=\s*([\w|]+)\s*[×x*]\s*([\w|]+)\s*\+\s*(\w+)"
)
_LAYOUT_PAIR = re.compile(r"(?<![\w.])(?:[\w.:]*\.)?(row|col)[.\s]+(row|col)\b")  # of A and B
ALTERNATIVES = re.compile(r"\b\w+(?:\|\w+)+")  # e4m3|e5m2 in an assignment
_TYPE = re.compile("|".join(sorted(DTYPES, key=len, reverse=True)))
_TYPES_IN_A_ROW = re.compile(rf"(?:{_TYPE.pattern}){{2,4}}")
_TYPE_ORDER = ("f16", "bf16", "tf32", "f64", "e4m3", "s8")  # preference among products for a shorter name


@dataclass(frozen=True, slots=True)
class FormMatches:
    """The forms that match the words of a text.

    words: words that some form has, as typed; ignored: words that no form has; forms: the forms with all the words, the
    plain one first; exact: whether the text is the full name of the only form; spelled_out: whether no word is
    abbreviated; without: for each word the number of forms with all the others; assigned: whether the text says what is
    added to what, f16 += f16 × f16; lacking: the word without which no form has all words, sp or wmma.
    """

    words: tuple[str, ...]
    ignored: tuple[str, ...]
    forms: tuple[Instruction, ...]
    exact: bool = False
    spelled_out: bool = True
    without: tuple[tuple[str, int], ...] = ()
    assigned: bool = False
    lacking: str = ""

    @property
    def named(self) -> bool:
        """Whether the words include an opcode or a shape, even an illegal one, so that an instruction is meant."""
        return any(is_opcode(word) or search.split_shape(word) for word in (*self.words, *self.ignored))


@lru_cache(maxsize=64)
def find_forms(text: str) -> FormMatches:
    """Return the forms that a text names by its words, in any order, separated by dots or blanks.

    >>> [form.ptx for form in find_forms("wgmma 64x256x16 bf16").forms]
    ['wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16']
    """
    text = text.strip().lower()
    if not text or len(text) > LONGEST:
        return FormMatches((), (), ())
    text = _join_sizes(text)
    if (only := _index_names().get(_tokenize(text)) or _index_lines().get(_list_parts(text))) is not None:
        return FormMatches(tuple(_WORD.findall(text)), (), (only,), exact=True)
    words = [word for word in split_words(ALTERNATIVES.sub(" ", text)) if word not in vocabulary.SILENT]
    content = list(filter(_match_word, words))
    ignored = tuple(word for word in words if word not in content)
    if len(content) > MOST_WORDS:
        return FormMatches((), tuple(words), ())
    assigned = _match_assignment(text)
    is_assigned = assigned != _intersect([])
    content, refused, assigned = _choose_layouts(text, content, assigned)
    ignored += refused
    if not _intersect(content) & assigned and " " in text:
        content = [word for word in content if word not in vocabulary.ARTICLES]
    fits = _intersect(content) & assigned
    if not fits or not content:
        return _explain_none(content, ignored, assigned)
    if lacking := _find_lacking(fits, content, text):
        others = ~_match_spelling(lacking)
        return replace(_explain_none(content, ignored, assigned & others), lacking=lacking)
    spelled_out = all(_is_spelled_out(word) for word in content)
    forms = _sort_forms(fits, content, text)
    return FormMatches(tuple(content), ignored, forms, spelled_out=spelled_out, assigned=is_assigned)


def _choose_layouts(text: str, content: list[str], bits: int) -> tuple[list[str], tuple[str, ...], int]:
    """Return (the words, the layouts of A and B that no form with these words has, the forms with those that a text
    names); row.row is more than the word row.
    """
    pair = _LAYOUT_PAIR.search(text)
    if pair is None:
        return content, (), bits
    laid = _match_layouts(pair.groups()) & bits
    if not _intersect(content) & bits or _intersect(content) & laid:
        return content, (), laid
    return [word for word in content if word not in syntax.LAYOUTS], (".".join(pair.groups()),), bits


def _match_layouts(pair: tuple[str, ...]) -> int:
    """Return the forms with these layouts of A and B, as bits."""
    return sum(1 << n for n, form in enumerate(catalog.instructions()) if form.syntax.layouts[:2] == pair)


def _find_lacking(fits: int, content: list[str], text: str) -> str:
    """Return the word that all these forms have and a text with an opcode lacks: sp, or wmma if it has mma.sync."""
    if not any(map(is_opcode, content)) or _SPARSE.search(text):
        return ""
    lacking = ["sp"] * all(
        _match_word(word) & ~_match_spelling("sp") for word in content if not search.split_shape(word)
    )
    lacking += ["wmma"] * ("wmma" not in text and "mma.sync" in text)
    return next((word for word in lacking if not fits & ~_match_spelling(word)), "")


def _find_lines(text: str) -> tuple[Instruction, ...]:
    """Return the form that a text spells as PTX among other words; () unless it is one: mma.sync.aligned.…f32 A."""
    parts = [_list_parts(word) for word in text.split() if "." in word]
    lines = {line for words in parts if (line := _index_lines().get(words)) is not None}
    return tuple(lines) if len(lines) == 1 else ()


def _join_sizes(text: str) -> str:
    """Join the separate sizes of a shape: n=256, 16 8 16, 64 x 128 x 16."""
    text = re.sub(r"\b([mnk])\s*=\s*(\d+)\b", r"\1\2", text)
    text = re.sub(r"\bm\s?(\d+)\s*[x×,]\s*n\s?(\d+)\s*[x×,]\s*k\s?(\d+)\b", r"m\1n\2k\3", text)
    text = re.sub(r"(?<![\w.])(\d{1,3})\s*[x×*]\s*(\d{1,3})\s*[x×*]\s*(\d{1,3})(?![\w.])", r"\1x\2x\3", text)
    return re.sub(r"(?<![\w.])(\d{1,3})(?:,\s*|\s+)(\d{1,3})(?:,\s*|\s+)(\d{1,3})(?![\w.])", r"m\1n\2k\3", text)


def split_words(text: str) -> list[str]:
    """Split a text into its words, without repeats; PTX words with :: are kept, unknown names are split at _."""
    words: list[str] = []
    for word in _WORD.findall(text.replace("×", "x").lower() if re.search(r"\d\s?×\s?\d", text) else text.lower()):
        parts = [word]
        if not _match_word(word) and ("_" in word or "::" in word):
            parts = [part for joined in re.split(r"_|::", word) for part in _split_types(joined) if part]
            parts = parts if all(map(_match_word, parts)) else [word]
        words += parts
    return list(dict.fromkeys(words))


def _split_types(word: str) -> list[str]:
    """Split a word that is several types in a row: f16f16f32."""
    return _TYPE.findall(word) if not _match_word(word) and _TYPES_IN_A_ROW.fullmatch(word) else [word]


def is_opcode(word: str) -> bool:
    """Return whether a word is the beginning of an opcode: mma, wgmma, ldmatrix."""
    return any(opcode.partition(".")[0] == word for opcode in catalog.OPCODES)


def _explain_none(content: list[str], ignored: tuple[str, ...], assigned: int) -> FormMatches:
    """Return the words that exclude all forms, each with the number of forms that have all the others."""
    left = {word: _intersect([other for other in content if other != word]) & assigned for word in content}
    if len(content) < 2:
        return FormMatches(tuple(content), ignored, ())
    without = tuple((word, fits.bit_count()) for word, fits in left.items() if fits)
    return FormMatches(tuple(content), ignored, (), without=without)


@lru_cache(maxsize=1)
def _index_names() -> dict[tuple[str, ...], Instruction]:
    """Map the tokens of every full name on the pages (h1 and tab) to its form.

    Products in tensor memory are also listed with the types of the usual instruction descriptor. A name without types
    is listed only if no form with other types has its words.
    """
    from lanescope.blackwell import bound  # imports NumPy, which `lanescope show` does not need

    alike: defaultdict[tuple[str, str], int] = defaultdict(int)
    typed: defaultdict[tuple[object, ...], int] = defaultdict(int)
    for n, form in enumerate(catalog.instructions()):
        alike[form.syntax.opcode, form.shape] |= 1 << n
        typed[form.syntax.opcode, form.shape, *form.types.items()] |= 1 << n
    names: dict[tuple[str, ...], Instruction | None] = {}
    full_names: dict[tuple[str, ...], Instruction] = {}
    for form in catalog.instructions():
        name = usual = name_form(form)
        full_names[_tokenize(name.text)] = form
        if form.family.issue:
            usual = replace(name, types=format_assignment(form, bound.list_types(form, bound.make_default_idesc(form))))
        other_types = (
            alike[form.syntax.opcode, form.shape] & ~typed[form.syntax.opcode, form.shape, *form.types.items()]
        )
        for shown in {name, usual}:
            opcode = shown.name.removesuffix(f".{form.shape}")
            texts = {shown.text, f"{form.shape} {opcode} {shown.types} {shown.apart}"}
            if not _intersect(_WORD.findall(shown.apart.lower())) & other_types:
                texts.add(f"{shown.name} {shown.apart}")
            for tokens in map(_tokenize, texts):
                for key in (tokens, tuple(token for token in tokens if token not in _SIGNS)):
                    names[key] = form if names.get(key, form) is form else None
    return {tokens: form for tokens, form in {**names, **full_names}.items() if form is not None}


@lru_cache(maxsize=1)
def _index_lines() -> dict[tuple[str, ...], Instruction]:
    """Map the ordered parts of every form's PTX, without the parts common to all forms, to the form."""
    return {_list_parts(form.ptx): form for form in reversed(catalog.instructions())}


def _list_parts(text: str) -> tuple[str, ...]:
    """Return the parts of a PTX text, separated by dots or blanks."""
    return tuple(word for word in _WORD.findall(text.lower()) if word not in syntax.SILENT)


def _tokenize(text: str) -> tuple[str, ...]:
    """Return the words and signs of a name, in order."""
    return tuple("×" if token in ("x", "*") else token for token in _TOKEN.findall(text.lower()))


@lru_cache(maxsize=4096)
def _match_word(word: str) -> int:
    """Return the forms with a word, as bits in the catalogue's order."""
    return reduce(int.__or__, map(_match_spelling, vocabulary.SYNONYMS.get(word, (word,))), 0)


def _match_spelling(word: str) -> int:
    """Return the forms with a word's spelling, as bits; an index for search.has_word."""
    words, exact_keys = _index_keys()
    if sizes := search.split_shape(word):
        return reduce(int.__and__, (exact_keys.get(f"shape={size}", 0) for size in sizes))
    if word.startswith("sm_"):
        return exact_keys.get(f"target={word}", 0)
    if word in search.list_known_words():
        return words.get(word, 0) | exact_keys.get(f"type={word}", 0)
    if len(word) < 2 or word.isdecimal():
        return 0
    return reduce(int.__or__, (bits for key, bits in words.items() if _is_beginning(word, key)), 0)


def _is_beginning(word: str, key: str) -> bool:
    """Return whether a word abbreviates another; x3 does not abbreviate x32."""
    rest = key.removeprefix(word)
    return key.startswith(word) and not (word[-1].isdigit() and rest[:1].isdigit())


@lru_cache(maxsize=1)
def _index_keys() -> tuple[dict[str, int], dict[str, int]]:
    """Return (word → forms, exact key → forms), as bits in the catalogue's order."""
    words: dict[str, int] = {}
    exact_keys: dict[str, int] = {}
    keys = search.index_instructions()
    for n, form in enumerate(catalog.instructions()):
        for index, names in ((words, keys[form.ptx].words), (exact_keys, keys[form.ptx].exact_keys)):
            for name in names:
                index[name] = index.get(name, 0) | 1 << n
    return words, exact_keys


def _intersect(words: list[str]) -> int:
    return reduce(int.__and__, map(_match_word, words), (1 << len(catalog.instructions())) - 1)


def _is_spelled_out(word: str) -> bool:
    """Return whether a word is complete, not the beginning of another word."""
    spellings = vocabulary.SYNONYMS.get(word, (word,))
    return any(
        spelling in search.list_known_words() or bool(search.split_shape(spelling)) or spelling.startswith("sm_")
        for spelling in spellings
    )


def _match_assignment(text: str) -> int:
    """Return the forms with a text's assignment (f32 += bf16 × bf16), as bits; all forms without an assignment."""
    everything = _intersect([])
    match = _ASSIGNED.search(text)
    if not match:
        return everything
    d, a, b, *rest = match.groups() if match[1] else match.groups()[3:]
    expected = {"d": d, "a": a, "b": b, "c": d if match[1] else rest[0]}
    if not all(list_types(name) for name in expected.values()):
        return everything
    return sum(
        1 << n
        for n, form in enumerate(catalog.instructions())
        if {"a", "d"} <= set(form.types) and _has_types(form, expected)
    )


def list_types(name: str) -> tuple[str, ...]:
    """Return the element types of PTX that a word may mean; a|b: those of each."""
    words = [word for part in name.split("|") for word in vocabulary.SYNONYMS.get(part, (part,))]
    return tuple(word for word in words if word in DTYPES)


def _has_types(form: Instruction, expected: dict[str, str]) -> bool:
    types = form.types
    actual = {"c": types["d"], "b": types["a"], **types}
    return all(actual[operand] in list_types(name) for operand, name in expected.items())


def _sort_forms(bits: int, words: list[str], text: str) -> tuple[Instruction, ...]:
    """Return the forms of a bit set, the plain one first; only the one that the text spells as PTX if it does."""
    if spelled := _find_lines(text):
        return spelled
    spelled_words = _WORD.findall(text)  # in order, with repeats
    forms = [form for n, form in enumerate(catalog.instructions()) if bits >> n & 1]
    return tuple(sorted(forms, key=lambda form: _rank_form(form, words, spelled_words)))


def _is_in_order(types_in_text: list[str], order: list[str]) -> bool:
    """Return whether types are those of D, A, B and C in order, possibly with some omitted."""
    return types_in_text in (order, [name for name in order if name in types_in_text][: len(types_in_text)])


def spell_words(words: list[str]) -> set[str]:
    """Return words with PTX's spelling."""
    return {spelling for word in words for spelling in vocabulary.SYNONYMS.get(word, (word,))}


def _rank_form(form: Instruction, words: list[str], spelled_words: list[str]) -> tuple[int, ...]:
    """Return the sort key of a form for a shorter name.

    Preferred are the opcode and shape of the text, few modifiers, layouts and types in the text's order, row.col, an
    f32 accumulator and equal types.
    """
    parts, types = form.syntax, form.types
    kind = form.family.issue.kind if form.family.issue else ""
    spellings = spell_words(words)
    opcode = [word for word in re.split(r"\.|::", parts.opcode) if word not in spellings]
    modifiers = [word for word in parts.modifiers if word not in spellings and word not in catalog.SPACES]
    order = [types.get(name, "") for name in "dabc"]
    types_in_text = [word for word in spelled_words if word in DTYPES and word != types.get("s")]
    layouts = tuple(word for word in spelled_words if word in syntax.LAYOUTS)
    other_scale = types.get("s") == "ue8m0" or "scale_vec::2X" in form.ptx
    return (
        len(opcode),
        all(set(search.split_shape(word)) != {f"{dim}{size}" for dim, size in form.sizes.items()} for word in words),
        not form.family.multiplies,
        kind not in ("", "f16"),
        len(format_short_name(form)) if not form.family.multiplies else 0,
        "nvfp4" in words and other_scale,  # e2m1 with ue4m3
        len(modifiers),
        parts.layouts[: len(layouts)] != layouts,
        parts.layouts not in ((), ("row", "col"), ("row",)),
        not _is_in_order(types_in_text, order),
        types.get("d") != "f32",
        types.get("c", "") not in ("", types.get("d", "")),
        types.get("a") != types.get("b"),
        _TYPE_ORDER.index(types["a"]) if types.get("a") in _TYPE_ORDER else len(_TYPE_ORDER),
    )
