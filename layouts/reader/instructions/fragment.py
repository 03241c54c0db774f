"""Recognise nvcuda::wmma::fragment<…> of CUDA C++: the wmma.load that fills it, and its operand."""

from __future__ import annotations

import re
from functools import lru_cache

from lanescope.errors import LayoutError
from lanescope.ptx import catalog, wmma
from lanescope.ptx.instruction import Instruction
from lanescope.reader.grammars import terms
from lanescope.reader.meaning import TextMeaning, make_instruction_meaning

FRAGMENT = re.compile(r"\bfragment\s*<([^<>]*)>")
_SPELLINGS = {
    "__half": "half",
    "nv_bfloat16": "__nv_bfloat16",
    "signedchar": "signedchar",
    "int8_t": "signedchar",
    "uint8_t": "unsignedchar",
    "int32_t": "int",
}
_MOST = 64  # fragments per text
FRAGMENT_WORDS = frozenset(
    "matrix_a matrix_b accumulator half float double int __nv_bfloat16 signedchar unsignedchar tf32 s4 u4 b1 row_major"
    " col_major".split()
)


def make_key(text: str) -> str:
    """Return a fragment's arguments without blanks and namespaces, with mma.h's names of the types."""
    parts = [re.sub(r"\s|(?:\w+::)+", "", part) for part in text.split(",")]
    return ",".join(_SPELLINGS.get(part, part) for part in parts if part not in ("void", ""))


@lru_cache(maxsize=1)
def index_fragments() -> dict[str, wmma.WmmaFragment]:
    return {
        make_key(match[1]): fragment for fragment in wmma.list_fragments() if (match := FRAGMENT.search(fragment.cpp))
    }


def _replace_names(home: terms.TermText, arguments: str) -> str:
    """Replace names in a fragment's arguments by the text's definitions: #define, constexpr and using."""
    names = []
    for part in arguments.split(","):
        name = part.strip()
        resolved = (
            home.resolve_value(terms.SyntaxTerm(name, span=(len(home.text), len(home.text))))
            if name.isidentifier()
            else name
        )
        names.append(str(resolved.path if isinstance(resolved, terms.SyntaxTerm) else resolved))
    return ",".join(names)


def _find_fitting(key: str) -> list[wmma.WmmaFragment]:
    """Return the fragments that match the known arguments; names of the program match anything."""
    parts = key.split(",")
    if parts[0] not in ("matrix_a", "matrix_b", "accumulator") or any(part.isdigit() for part in parts[1:4]):
        return []
    known = [part for part in parts if part in FRAGMENT_WORDS]
    return [
        fragment for other, fragment in index_fragments().items() if all(part in other.split(",") for part in known)
    ]


def _find_calls(text: str, fragments: list[wmma.WmmaFragment]) -> list[Instruction]:
    """Return the mma and the store that a text calls on its fragments, if they are unambiguous."""
    by_use: dict[str, set[tuple[str, str, str]]] = {}
    for fragment in fragments:
        words = fragment.instruction.ptx.split(".")  # wmma.load.a.sync.aligned.row.m16n16k16.f16
        by_use.setdefault(words[2], set()).add((words[5], words[6], words[-1]))
    if any(len(every) > 1 for every in by_use.values()) or "c" not in by_use:
        return []
    calls = []
    (_, shape, total), *_ = by_use["c"]
    if re.search(r"\bb?mma_sync\s*\(", text) and {"a", "b"} <= set(by_use):
        (a_layout, _, a), (b_layout, _, b) = next(iter(by_use["a"])), next(iter(by_use["b"]))
        types = f"{total}.{total}" if a == "f16" else f"{total}.{a}.{b}.{total}"
        calls.append(catalog.find_instruction(f"wmma.mma.sync.aligned.{a_layout}.{b_layout}.{shape}.{types}"))
    if (
        re.search(r"\bstore_matrix_sync\s*\(", text)
        and len(majors := set(re.findall(r"\bmem_(row|col)_major", text))) == 1
    ):
        calls.append(catalog.find_instruction(f"wmma.store.d.sync.aligned.{majors.pop()}.{shape}.{total}"))
    return [call for call in calls if call is not None]


def recognise_fragments(text: str) -> tuple[TextMeaning, ...]:
    """Return the fragments of a text. LayoutError if none of the fragments that it names exists."""
    spelled = [match[1] for match, _ in zip(FRAGMENT.finditer(text), range(_MOST), strict=False)]
    if not spelled or all(arguments.strip() in ("", "...") for arguments in spelled):
        return ()
    home = terms.make_term_text(text)
    keys = [
        key if (key := make_key(arguments)) in index_fragments() else make_key(_replace_names(home, arguments))
        for arguments in spelled
    ]
    fragments = [index_fragments()[key] for key in keys if key in index_fragments()]
    if not fragments:
        return _list_open_fragments(keys) or _make_refusal(spelled[0])
    if calls := _find_calls(text, fragments):
        return make_instruction_meaning(
            (*(arguments.instruction for arguments in fragments), *calls), "wmma fragments and calls"
        )
    same = {arguments.instruction.ptx for arguments in fragments}
    letter = fragments[0].operand.name if len(same) == 1 else None
    return make_instruction_meaning(
        (arguments.instruction for arguments in fragments), "wmma fragments", operand=letter
    )


def _list_open_fragments(keys: list[str]) -> tuple[TextMeaning, ...]:
    """Return the candidates for fragments whose arguments include names of the program."""
    fitting = [meaning.instruction for key in keys for meaning in _find_fitting(key)]
    if not fitting:
        return ()
    parts = dict.fromkeys(keys[0].split(","))
    open_ = tuple(part for part in parts if part not in FRAGMENT_WORDS and not part.isdigit())
    (meaning,) = make_instruction_meaning(fitting, "wmma fragments")
    return (TextMeaning(meaning.kind, meaning.title, meaning.facts, meaning.notices, False, open_),)


def _make_refusal(arguments: str) -> tuple[TextMeaning, ...]:
    """Raise LayoutError because no fragment has these arguments."""
    parts = make_key(arguments).split(",")
    of_letter = [
        (key.split(","), fragment) for key, fragment in index_fragments().items() if key.split(",")[0] == parts[0]
    ]
    of_letter.sort(key=lambda entry: -sum(a == b for a, b in zip(entry[0], parts, strict=False)))
    near = [fragment.cpp for _, fragment in of_letter[:3]]
    raise LayoutError(
        "unknown_fragment",
        f"There is no fragment<{' '.join(arguments.split())}>.",
        f"Try {', '.join(near)}." if near else "The first argument must be matrix_a, matrix_b or accumulator.",
        "text",
    )
