"""Encode an instruction descriptor from fields given as types, numbers or flags."""

from __future__ import annotations

from collections.abc import Mapping

from lanescope.blackwell.idesc.rules import find_form_problems, find_legal_forms, find_problems, find_problems_by_form
from lanescope.blackwell.idesc.word import CALLED, K128, IdescWord, fit_kind
from lanescope.blackwell.kind import KindField, MmaKind
from lanescope.errors import LayoutError, join_errors
from lanescope.inputs import check_keys, join_words, parse_choice, parse_integer, quote_value

_TRUE = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0, "k": 0, "mn": 1}


def encode(row: MmaKind, fields: Mapping[str, object], form: str = "", target: str = "") -> IdescWord:
    """Return the descriptor with the given fields: name → type, number or flag.

    m and n are required. Defaults: the first type of the kind, K-major, dense, ids 0. LayoutError names every field
    that does not fit, or one that is illegal: in `form`, or in every form if none is given.
    """
    row = fit_kind(row, target)
    check_keys(fields, (part.name for part in row.parts), "", "unknown_field")
    if row.has_field("k_high") and str(fields.get("k", "")) == K128:
        fields = {**fields, "k": "", "k_high": 1}
    word, wrong = 0, []
    for part in row.parts:
        try:
            word = part.field.put(word, _encode_field(row, part, fields.get(part.name)))
        except LayoutError as error:
            wrong.append(error)
    if refused := join_errors(wrong):
        raise refused
    encoded = IdescWord(word, row, target)
    problems = find_problems(encoded)
    if problems:
        raise LayoutError(problems[0].code, problems[0].message, f"See {problems[0].source}.", problems[0].field)
    if form and (form_problems := find_form_problems(encoded, form)):
        legal = join_words([CALLED[other] for other in find_legal_forms(encoded)], "or")
        hint = f"It is legal with {legal}." if legal else _format_sizes(encoded)
        raise LayoutError(form_problems[0].code, form_problems[0].message, hint, form_problems[0].field)
    if not form and not find_legal_forms(encoded):
        raise _make_form_error(encoded)
    return encoded


def _make_form_error(word: IdescWord) -> LayoutError:
    """Return the error for a word that is illegal in every form, about the form with the fewest problems."""
    first = min(find_problems_by_form(word).values(), key=len)[0]
    sizes = {"m": f"M is {word.m}.", "n": f"N is {word.n}."}
    message = sizes.get(first.field, first.message) if first.code != "shift_without_ws" else first.message
    return LayoutError(first.code, message, _format_sizes(word), first.field)


def _format_sizes(word: IdescWord) -> str:
    """Format the legal M and N of every form."""
    rows = [(CALLED[name], row) for (name, sparse), row in word.kind.sizes.items() if sparse == word.sparse]
    return " ".join(f"{name}: M {join_words([str(m) for m in row.m], 'or')}, N {row.n_words}." for name, row in rows)


def _encode_field(row: MmaKind, part: KindField, value: object) -> int:
    """Return the code of one field; LayoutError if the value is missing or does not fit."""
    blank = value is None or value == ""
    if part.chosen:
        return (
            part.codes[parse_choice(str(value), part.name, tuple(part.codes), "bad_type")]
            if not blank
            else next(iter(part.codes.values()))
        )
    if part.codes and set(part.codes) <= {"no", "yes", "K", "MN"}:
        return 0 if blank else _encode_flag(row, part, value)
    if blank and part.name in ("m", "n"):
        raise LayoutError("bad_number", f"{part.name} is missing.", f"Give {part.field.title}.", part.name)
    amount = 0 if blank else parse_integer(value, part.name)
    if amount // part.field.unit > part.field.most or amount % part.field.unit:
        raise LayoutError("bad_number", f"{part.name} is {amount}.", _format_range(row, part), part.name)
    return amount // part.field.unit


def _format_range(row: MmaKind, part: KindField) -> str:
    if part.name == "m":
        legal = sorted({size for sizes in row.sizes.values() for size in sizes.m})
        return f"Allowed: {join_words([str(size) for size in legal], 'or')}, by the form."
    unit, most = part.field.unit, part.field.most * part.field.unit
    return f"Multiples of {unit} up to {min(most, 256)}." if unit > 1 else f"From 0 to {most}."


def _encode_flag(row: MmaKind, part: KindField, value: object) -> int:
    """Return 0 or 1 for a flag: a boolean, a number, or a word; LayoutError if the kind has only 0."""
    text = str(value).strip().lower()
    if text not in _TRUE:
        raise LayoutError("bad_choice", f"{part.name} is {quote_value(value)}.", "Allowed: 0, 1.", part.name)
    if _TRUE[text] not in part.codes.values():
        names = {"K": "MN-major operands", "no": part.field.title}
        what = names[next(iter(part.codes))]
        raise LayoutError("bad_choice", f"kind::{row.name} has no {what}.", f"{part.name}: 0.", part.name)
    return _TRUE[text]
