"""Explain which words an opcode of PTX has too many or at a wrong place, and which it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from lanescope.inputs import join_words
from lanescope.ptx.catalog import OPCODES, find_instruction, instructions
from lanescope.ptx.syntax import STATE_SPACES
from lanescope.ptx.table.async_syntax import FORMS
from lanescope.ptx.table.opcodes import SECOND_WORDS
from lanescope.reader.instructions.misspelt_opcodes import is_modifier

_SCOPES = ("cta", "cluster")  # ptxas ignores them in copies
GATHERED = 5  # coordinates of tile::gather4 and tile::scatter4: a column and four rows
_TENSOR = re.compile(r"cp\.(?:reduce\.)?async\.bulk\.(?:prefetch\.)?tensor\.(?P<rank>[1-5])d(?![\w:])")
_GROUP = re.compile(r"[{\[]([^}\]]*)[}\]]|(\S+)")


def explain_words(opcode: str) -> str:
    """Return why PTX has no such opcode: a word that is not allowed or missing; "" if it does, or for other families.

    >>> explain_words("mbarrier.init.shared::cta.b32")
    "PTX has no 'mbarrier.init.shared::cta.b32': '.b32' is not allowed, '.b64' is missing."
    >>> explain_words("tcgen05.alloc.cta_group::1.sync.aligned.b32")
    ''
    """
    given, nearest, forms = _compare_forms(opcode)
    if not all(map(is_modifier, given)):
        return ""  # newer than the tables, or misspelt
    extra, missing = find_extra_words(opcode), [word for word in nearest if word not in given]
    if not (extra or missing):
        return ""
    known = set().union(*forms)
    reasons = [f"'.{word}' is not allowed" + (" beside the others" if word in known else "") for word in extra]
    instead = sorted({word for words in forms for word in words if _differ_by(words, nearest, word, missing)})
    if len(missing) == 1 and len(instead) > 1:
        reasons.append(f"{_quote_words(instead, 'or')} is missing")
    elif missing:
        reasons.append(f"{_quote_words(missing, 'and')} {'is' if len(missing) == 1 else 'are'} missing")
    return f"PTX has no '{opcode}': {', '.join(reasons)}."


def explain_second_word(opcode: str) -> str:
    """Return which words follow the first one of an opcode, if its own does not; "" otherwise, or for other families.

    >>> explain_second_word("griddepcontrol.sync")
    "PTX has no 'griddepcontrol.sync': griddepcontrol has launch_dependents and wait."
    """
    first, _, rest = opcode.partition(".")
    second = rest.partition(".")[0]
    families = {head.partition(".")[0] for head in _list_forms()}
    if first not in families or not second or second in SECOND_WORDS[first]:
        return ""
    return f"PTX has no '{first}.{second}': {first} has {join_words(list(SECOND_WORDS[first]))}."


def explain_order(opcode: str) -> str:
    """Return which opcode has the words of one that ptxas refuses for their order; "" if it does not, or for others.

    ptxas takes most modifiers in any order. The words of the instruction's name come first, and those of two state
    spaces are the destination and the source.

    >>> explain_order("wgmma.sync.aligned.mma_async.m64n8k16.f32.f16.f16")
    "PTX has no 'wgmma.sync.aligned.mma_async.m64n8k16.f32.f16.f16': its words have another order. \
Nearest: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16."
    >>> explain_order("cp.async.cg.global.shared")
    "PTX has no 'cp.async.cg.global.shared': its words have another order. Nearest: cp.async.cg.shared.global."
    """
    words = opcode.split(".")
    if words[0] not in _list_names():
        return ""
    ordered = _index_orders().get(tuple(sorted(words)), ())
    fits = any(f"{opcode}.".startswith(f"{form.head}.") and _keep_spaces(words) == form.spaces for form in ordered)
    if not ordered and find_instruction(opcode) is None:
        ordered = _index_matrix_orders().get(tuple(sorted(words)), ())
    if fits or not ordered:
        return ""
    return f"PTX has no '{opcode}': its words have another order. Nearest: {ordered[0].opcode}."


@dataclass(frozen=True, slots=True)
class _OrderedForm:
    """An opcode with its words in order: its name, and its state spaces."""

    opcode: str
    head: str
    spaces: tuple[str, ...] = ()


def _keep_spaces(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word in STATE_SPACES)


@lru_cache(maxsize=1)
def _list_names() -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in (*OPCODES, *_list_forms()))


@lru_cache(maxsize=1)
def _index_orders() -> dict[tuple[str, ...], tuple[_OrderedForm, ...]]:
    """Map the sorted words of every asynchronous copy, mbarrier and the like to the forms that have them."""
    found: dict[tuple[str, ...], tuple[_OrderedForm, ...]] = {}
    for head, words in _list_ordered_forms():
        opcode = ".".join((head, *words))
        key = tuple(sorted(opcode.split(".")))
        found[key] = (*found.get(key, ()), _OrderedForm(opcode, head, _keep_spaces(words)))
    return found


@lru_cache(maxsize=1)
def _index_matrix_orders() -> dict[tuple[str, ...], tuple[_OrderedForm, ...]]:
    """Map the sorted words of every matrix instruction to its opcode."""
    return {tuple(sorted(i.ptx.split("."))): (_OrderedForm(i.ptx, i.ptx),) for i in reversed(instructions())}


def find_extra_words(opcode: str) -> list[str]:
    """Return the words of an opcode that the nearest opcode of PTX does not have, or that are there twice."""
    given, nearest, forms = _compare_forms(opcode)
    if not all(map(is_modifier, given)):
        return []
    wrong = {word for word in given if word not in nearest or given.count(word) > 1}
    return sorted(wrong, key=given.index) if forms else []


def _compare_forms(opcode: str) -> tuple[list[str], tuple[str, ...], frozenset[tuple[str, ...]]]:
    """Return an opcode's words after its family's name, those of the nearest form, and all forms of the family."""
    head, forms = _find_forms(opcode)
    words = opcode.removeprefix(head).split(".")[1:]
    given = [word for word in words if not (head.startswith("cp.") and word in _SCOPES)]
    nearest = max(forms, key=lambda form: (len(set(form) & set(given)), -len(form), form), default=())
    return given, nearest, forms


def _quote_words(words: list[str], last: str) -> str:
    return join_words([f"'.{word}'" for word in words], last)


def _differ_by(words: tuple[str, ...], nearest: tuple[str, ...], word: str, missing: list[str]) -> bool:
    """Return whether a form is the nearest one with another word in place of the missing one."""
    return (
        len(missing) == 1
        and word in {*missing, *(set(words) - set(nearest))}
        and {*words} - {word} == {*nearest} - {*missing}
    )


def _find_forms(opcode: str) -> tuple[str, frozenset[tuple[str, ...]]]:
    """Return (first words, the sorted other words of each form) of the family with the longest name that begins it."""
    heads = [head for head in _list_forms() if f"{opcode}.".startswith(f"{head}.")]
    head = max(heads, key=len, default="")
    return head, _list_forms().get(head, frozenset())


@lru_cache(maxsize=1)
def _list_forms() -> dict[str, frozenset[tuple[str, ...]]]:
    forms: dict[str, set[tuple[str, ...]]] = {}
    for head, words in _list_ordered_forms():
        forms.setdefault(head, set()).add(tuple(sorted(words)))
    return {head: frozenset(written) for head, written in forms.items()}


def _list_ordered_forms() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (first words, the other words in order) of each form of the table."""
    for line in FORMS.strip().splitlines():
        head, *_ = line.split()
        places = [_list_choices(match) for match in _GROUP.finditer(line[len(head) :])]
        for words in product(*places):
            yield head, tuple(word for part in words for word in part)


def _list_choices(match: re.Match[str]) -> list[tuple[str, ...]]:
    """Return the words that may be at one place of a form, () if none has to be."""
    choices = [tuple(choice.split(".")) for choice in (match[1] or match[2]).split("|")]
    return [*choices, *([()] if match[0].startswith("[") else [])]


def explain_coordinates(opcode: str, count: int) -> str:
    """Return why a copy of a tensor has another number of coordinates; "" if it has this one.

    >>> explain_coordinates("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes", 2)
    'ptxas refuses 2 coordinates: cp.async.bulk.tensor.3d has 3.'
    """
    match = _TENSOR.match(opcode)
    if match is None:
        return ""
    expected = GATHERED if re.search(r"tile::(?:gather|scatter)4\b", opcode) else int(match["rank"])
    return "" if count == expected else f"ptxas refuses {count} coordinates: {match[0]} has {expected}."
