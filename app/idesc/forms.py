"""The template's variables of the pages of instruction descriptors and zero-column masks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from lanescope.app.idesc import facts
from lanescope.app.idesc.facts import BY_OPCODE, IdescBody, MaskBody, MaskProduct
from lanescope.app.kit.question import declare_question, fields_of, labels_of, parsed_field, word_field
from lanescope.app.kit.question_form import Control, form_of
from lanescope.app.kit.target import target_field
from lanescope.bits import BitField
from lanescope.blackwell import idesc, zeromask
from lanescope.blackwell.idesc import CALLED, IdescWord
from lanescope.blackwell.kind import KindField, MmaKind
from lanescope.blackwell.zeromask import ZeroMask
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx.table.kinds import KINDS

DEFAULT = IdescWord(0x08400490, idesc.get_kind("f16"))
DEFAULT_MASK = zeromask.encode_mask({"non_zero_mask": 1, "skip_span": 2, "use_span": 3})
FILLS = 8


@declare_question
class WordForm:
    """A word in the page's form."""

    word: int = parsed_field(
        lambda value, field: idesc.parse_idesc_word(value), "Word", "32 bits.", str(DEFAULT), size=14
    )
    kind: str = word_field(idesc.NAMES, "Read as kind", BY_OPCODE, DEFAULT.kind.name)
    target: str = target_field()


FIELDS = fields_of(IdescBody) | fields_of(WordForm)
NAMES = {*FIELDS, *facts.FORM}  # parameters of /idesc
LABELS = labels_of(IdescBody) | labels_of(WordForm) | {"form": "Form"}


def link_idesc(word: IdescWord) -> str:
    """Link to the page of a word."""
    target = {"target": word.target} if word.target else {}
    return f"/idesc/{word}?{urlencode({'kind': word.kind.name, **target})}"


def build_context(
    word: IdescWord, sent: Mapping[str, str] | None = None, error: LayoutError | None = None
) -> dict[str, Any]:
    """Return the template's variables of a word. sent: the fields of a form; error: of one of them."""
    sent = sent or {}
    shown = {"word": str(word), "kind": word.kind.name, "target": word.target}
    answer = facts.build_idesc(word)
    return {
        "answer": answer,
        "title": format_title(word),
        "issued": [CALLED[form] for form, why in answer.forms.items() if not why] if not answer.problems else [],
        "called": CALLED,
        "bits": list_bits(word),
        "bit_fields": list(zip(answer.fields, number_fills(word.kind), strict=True))[::-1],
        "kinds": [
            {"name": row.name, "href": link_idesc(convert_kind(word, row)), "on": row.name == word.kind.name}
            for row in KINDS
        ],
        "target": word.target,
        "word_form": form_of(WordForm, shown | dict(sent), error=error),
        "product_form": build_product_form(word, sent, error),
        "labels": LABELS,
        "others": list_other_kinds(word),
        "error": error,
    }


def format_title(word: IdescWord) -> str:
    """Return the product in a line: `f32 += bf16 × bf16, 128 × 256 × 16`."""
    types = word.types
    sparse = ", A sparse" if word.sparse else ""
    k = word.k or "?"
    return f"{types['d']} += {types['a']} × {types['b']}, M {word.m} × N {word.n} × K {k}{sparse}"


def number_fills(row: MmaKind) -> list[int]:
    """Return a fill for each field; neighbours differ."""
    return [n % FILLS for n in range(len(row.parts))]


def list_bits(word: IdescWord) -> list[dict[str, Any]]:
    """Return the 32 bits, highest first, each with its field and the word in which it is inverted."""
    fill = {part.name: n for part, n in zip(word.kind.parts, number_fills(word.kind), strict=True)}
    out = []
    for at in range(31, -1, -1):
        part = next((p for p in word.kind.parts if p.field.low <= at <= p.field.high), None)
        out.append(
            {
                "at": at,
                "value": word.word >> at & 1,
                "title": part.field.title if part else "reserved",
                "fill": fill[part.name] if part else None,
                "href": link_idesc(replace(word, word=word.word ^ 1 << at)),
            }
        )
    return out


def convert_kind(word: IdescWord, row: MmaKind) -> IdescWord:
    """Return a similar product in another kind: its first types, the nearest legal sizes."""
    if row.name == word.kind.name:
        return word
    row, same = idesc.fit_kind(row, word.target), {}
    for part in row.parts:
        if word.kind.has_field(part.name):
            text = word.format_field(part.name)
            if part.name in ("m", "n") or text in part.codes:
                same[part.name] = text
    if len({"a", "b"} & set(same)) == 1:
        same = {name: text for name, text in same.items() if name not in ("a", "b")}
    for size in ({}, {"n": "128"}, {"m": "128", "n": "128"}, {"m": "256", "n": "128"}):
        for flags in ({}, {"transpose_a": 0, "transpose_b": 0, "max_shift": "0"}):
            try:
                wish = {**same, **size, **{n: v for n, v in flags.items() if row.has_field(n)}}
                return idesc.encode(row, wish, target=word.target)
            except LayoutError:
                continue
    return idesc.encode(row, {"m": 128, "n": 128}, target=word.target)


def build_product_form(word: IdescWord, sent: Mapping[str, str], error: LayoutError | None) -> dict[str, Control]:
    """Return the controls of the product: the choices of the kind, and the values of the word, or those sent."""
    parts = [part for part in sorted(word.kind.parts, key=lambda part: ORDER.index(part.name)) if len(part.codes) != 1]
    values = {part.name: str(part.format_code(word.word)) for part in parts}
    form = form_of(IdescBody, values | dict(sent), {part.name: _list_choices(part) for part in parts}, error)
    return {name: form[name] for name in values}


ORDER = (
    "a",
    "b",
    "d",
    "scale_type",
    "m",
    "n",
    "k",
    "k_high",
    "transpose_a",
    "transpose_b",
    "sparse",
    "sparsity_selector",
    "negate_a",
    "negate_b",
    "saturate",
    "max_shift",
    "sfa_id",
    "sfb_id",
    "sfa_layout",
    "sparsity_version",
)


def _list_choices(part: KindField) -> dict[str, str]:
    """Return value → text of the choices; none for a number."""
    majors = {"K": "K-major", "MN": "MN-major"}
    return {name: majors.get(name, name) for name in part.codes}


def list_other_kinds(word: IdescWord) -> list[dict[str, Any]]:
    """Return the same 32 bits under every other kind: the product, and whether it is legal."""
    out = []
    for row in KINDS:
        if row.name == word.kind.name:
            continue
        other = replace(word, kind=row)
        forms, wrong = idesc.find_legal_forms(other), idesc.find_problems(other)
        why = wrong[0].message if wrong else "" if forms else "M and N are legal in no form."
        out.append(
            {
                "name": row.name,
                "href": link_idesc(other),
                "title": format_title(other),
                "forms": forms,
                "why": why,
                "called": [CALLED[form] for form in forms],
            }
        )
    return out


# the zero-column mask -------------------------------------------------------------------------------------------------


def link_mask(mask: ZeroMask, m: object, n: object) -> str:
    """Link to the page of a mask."""
    return f"/zero-column-mask/{mask}?{urlencode({'m': m, 'n': n})}"


@declare_question
class MaskForm(MaskProduct):
    """A mask word in the page's form."""

    word: int = parsed_field(
        lambda value, field: zeromask.parse_mask_word(value), "Word", "64 bits.", str(DEFAULT_MASK), size=20, wide=True
    )


MASK_FIELDS = fields_of(MaskBody) | fields_of(MaskForm)


def build_mask_context(
    mask: ZeroMask, m: int, n: int, sent: Mapping[str, str] | None = None, error: LayoutError | None = None
) -> dict[str, Any]:
    """Return the template's variables of a mask for an M × N product. sent: the fields of a form, and what is wrong
    of them.
    """
    answer, sent = facts.build_mask(mask, m, n), sent or {}
    bits_of = mask.expand_bits(m, n)
    runs = zeromask.find_runs(bits_of)
    shown = {"word": str(mask), "m": str(m), "n": str(n)}
    fields = {field.name: str(field.get(mask.word)) for field in zeromask.FIELDS if is_used(field, answer.sub_masks)}
    sizes = {"m": [str(m) for m in sorted(zeromask.SUBMASKS)], "n": [str(n) for n in zeromask.LEGAL_N]}
    form = form_of(MaskBody, fields | dict(sent), error=error)
    return {
        "answer": answer,
        "m": m,
        "n": n,
        "runs": [f"{a}" if a == b else f"{a}–{b}" for a, b in runs],
        "summary": _format_columns(bits_of),
        "labels": labels_of(MaskBody) | labels_of(MaskForm),
        "word_form": form_of(MaskForm, shown | dict(sent), sizes, error),
        "field_form": {name: form[name] for name in fields},
        "error": error,
    }


def is_used(field: BitField, sub_masks: int) -> bool:
    """Return whether a field is read with so many sub-masks."""
    name, _, number = field.name.rpartition("_")
    return name not in ("start_count", "first_span") or int(number) < sub_masks


def _format_columns(bits_of: list[int]) -> str:
    """Return a sentence with the number of zero columns of B."""
    zero = sum(bits_of)
    if not zero:
        return f"All {len(bits_of)} columns of B are used"
    ranges = [f"{a}" if a == b else f"{a}–{b}" for a, b in zeromask.find_runs(bits_of)]
    some = join_words(ranges) if len(ranges) < 5 else f"{', '.join(ranges[:3])} and so on"
    return f"{zero} of {len(bits_of)} columns of B are zero: {some}"
