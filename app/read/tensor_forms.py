"""Names of tcgen05.mma with M, N, K and types, which are in the instruction descriptor and not in the opcode.

They give the forms, each with its descriptor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from lanescope.app.kit import links
from lanescope.app.read.facts import Meaning
from lanescope.blackwell import bound
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.names import forms, search, vocabulary
from lanescope.names.form_names import name_form
from lanescope.ptx.instruction import Instruction

MOST_LISTED = 12
_MOST_SIZES = 3  # forms whose sizes a refusal lists
_KINDS = ("f16", "tf32", "f8f6f4", "i8")  # which kind a name means first
_OPCODE = re.compile(r"\btcgen05(?:\.mma)?\b|\bumma\b|\b(?:instruction descriptor|idesc)\b(?=.*\bm\s*=)", re.I)
_CODE = re.compile(r"[<>{}()\[\];%]|umma::|\b0x", re.I)


@dataclass(frozen=True, slots=True)
class _SoughtMma:
    """The sizes of a name, the types of PTX that its types may mean, and the forms with its other words."""

    sizes: dict[str, int]
    types: list[tuple[str, ...]]
    forms: list[Instruction]


def _list_words(text: str) -> list[str]:
    """Return the words that select a tcgen05.mma; none for a complete name, or another text."""
    if not _OPCODE.search(text) or _CODE.search(text) or len(text) > forms.LONGEST or forms.find_forms(text).exact:
        return []
    plain = re.sub(r"\b([mnk])\s*=\s*(\d+)", r"\1\2", _OPCODE.sub(" ", text).lower())
    return [word for word in forms.split_words(plain) if word not in vocabulary.SILENT]


def _list_issued(words: list[str]) -> list[Instruction]:
    """List the forms of tcgen05.mma that words name, the plain kind first."""
    matches = forms.find_forms(f"tcgen05 mma {' '.join(words)}")
    if any(re.search(r"\d", word) for word in matches.ignored):
        return []
    found = [form for form in matches.forms if form.family.issue]
    return sorted(found, key=_rank_kind)


def find_meanings(text: str) -> tuple[Meaning, ...]:
    """Find the forms of tcgen05.mma with the shape and types of a text, as find_bindings does.

    >>> find_meanings("tcgen05.mma 128x256x16 bf16")[0].link
    '/i/tcgen05.mma.cta_group::1.kind::f16?idesc=0x08400490'
    """
    bindings = find_bindings(text)
    return tuple(_build_meaning(binding, form_count=len(bindings)) for binding in bindings[:MOST_LISTED])


@lru_cache(maxsize=64)
def find_bindings(text: str) -> tuple[bound.BoundMma, ...]:
    """Find the forms of tcgen05.mma with the shape and types of a text, the plain one first, each with its descriptor;
    () if the text has neither, is a full name, or names another instruction.
    """
    sought = _parse_name(text)
    if sought is None:
        return ()
    found = tuple(binding for form in sought.forms if (binding := _bind(form, sought.sizes, sought.types)))
    is_sparse = all(bound.get_mma_opcode(form).sparse for form in found)
    return () if is_sparse and not re.search(r"\bsp\b|spars|metadata", text, re.I) else found


@lru_cache(maxsize=64)  # each way to split a question asks the same
def explain_none(text: str) -> str:
    """Return why no tcgen05.mma has the shape and types of a text, with the sizes that its forms have; "" if one has,
    or for another text.
    """
    sought = _parse_name(text)
    if sought is None or not sought.sizes or not sought.forms or find_bindings(text):
        return ""
    shape = "".join(f"{dim}{size}" for dim, size in sought.sizes.items())
    legal = _list_sizes(sought, sought.types) or _list_sizes(sought, [])
    return f"No tcgen05.mma{' with these types' * bool(sought.types)} has {shape}. Allowed: {'; '.join(legal)}."


def _list_sizes(sought: _SoughtMma, types: list[tuple[str, ...]]) -> list[str]:
    """List the sizes of the first forms that have some types."""
    legal: dict[str, str] = {}  # by opcode
    is_sparse = bound.get_mma_opcode(sought.forms[0]).sparse
    for form in sought.forms:
        opcode = bound.get_mma_opcode(form)
        sizes = opcode.kind.sizes.get((opcode.form, opcode.sparse))
        if sizes is None or opcode.sparse != is_sparse or opcode.ptx in legal or (types and not _bind(form, {}, types)):
            continue
        m = join_words([str(size) for size in sizes.m], "or")
        k = bound.bind_fields(form, {"m": sizes.m[-1], "n": sizes.n[-1]} | _wish_sparse(form)).sizes["k"]
        legal[opcode.ptx] = f"{opcode.ptx.partition('.')[2]}: M {m}, N {sizes.n_words}, K {k}"
        if len(legal) == _MOST_SIZES:
            break
    return [*legal.values()]


def _parse_name(text: str) -> _SoughtMma | None:
    """Parse the sizes, types and forms of a name; None if it has neither sizes nor types, or names a size twice."""
    words = _list_words(text)
    type_words = [
        word for word in words if forms.list_types(word) and not re.search(rf"::{re.escape(word)}", text.lower())
    ]
    sizes = [size for word in words for size in search.split_shape(word)]
    wanted = {size[0]: int(size[1:]) for size in sizes}
    if len(wanted) < len(sizes) or not (sizes or type_words):
        return None
    rest = [word for word in words if word not in type_words and not search.split_shape(word) and word != "mma"]
    return _SoughtMma(wanted, [forms.list_types(word) for word in type_words], _list_issued(rest))


def _wish_sparse(form: Instruction) -> dict[str, object]:
    """Return the field that a descriptor of a sparse form has."""
    return {"sparse": 1} if bound.make_default_idesc(form).format_field("sparse") not in ("", "0") else {}


def _rank_kind(form: Instruction) -> tuple[int, int]:
    assert form.family.issue is not None
    kind = form.family.issue.kind
    return (len(form.syntax.modifiers), _KINDS.index(kind) if kind in _KINDS else len(_KINDS))


def _bind(form: Instruction, sizes: dict[str, int], types: list[tuple[str, ...]]) -> bound.BoundMma | None:
    """Bind a form to a descriptor with these sizes and types; None if the form does not have them."""
    kind = bound.get_mma_opcode(form).kind
    codes = {part.name: [*part.codes] for part in kind.parts if part.chosen}
    default = bound.make_default_idesc(form)
    wish: dict[str, object] = {"m": sizes.get("m", default.m), "n": sizes.get("n", default.n)} | _wish_sparse(form)
    fitting = [code for names in types if (code := next((name for name in names if name in codes.get("a", ())), ""))]
    if fitting:
        wish |= {"a": fitting[0], "b": fitting[min(1, len(fitting) - 1)]}
    results = [name for names in types for name in names if name in codes.get("d", ())]
    used = {wish.get("a"), wish.get("b")}
    if others := [name for name in results if name not in used]:
        wish["d"] = others[0]
    if any(not used.union({wish.get("d")}).intersection(names) for names in types):
        return None
    try:
        bound_form = bound.bind_fields(form, wish)
    except LayoutError:
        return None
    return bound_form if sizes.get("k", bound_form.sizes.get("k")) == bound_form.sizes.get("k") else None


def make_descriptor_query(instruction: Instruction) -> dict[str, str]:
    """Make the part of a page's query that has the descriptor of a tcgen05.mma."""
    return {"idesc": f"0x{instruction.word.word:08x}"} if isinstance(instruction, bound.BoundMma) else {}


def _build_meaning(instruction: bound.BoundMma, form_count: int) -> Meaning:
    size = instruction.sizes
    title = f"{name_form(instruction).text}: M {size['m']}, N {size['n']}, K {size['k']}"
    link = links.link_instruction(instruction, query=make_descriptor_query(instruction))
    facts = {"ptx": instruction.listed_ptx, "candidates": [], "operand": None, "all": [instruction.listed_ptx]}
    notices: tuple[str, ...] = ("M, N and the types are in the instruction descriptor, not in the opcode.",)
    if form_count > MOST_LISTED:
        notices = (*notices, f"{form_count} forms take them; the first {MOST_LISTED} are listed.")
    return Meaning(kind="instruction", title=title, link=link, facts=facts, notices=notices)
