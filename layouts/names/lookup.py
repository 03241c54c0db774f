"""The one instruction that a text must mean: PTX, or a name as people type it. Never a guess: a name that fits several
is refused with their list.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from lanescope import inputs
from lanescope.errors import LayoutError
from lanescope.inputs import join_words, shorten_value
from lanescope.names import forms, search
from lanescope.names.forms import FormMatches
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.refusals import measure_shape_distance
from lanescope.ptx.short_names import find_instruction

MOST_SHAPES = 4  # that a refusal names
MOST_NEAREST = 8  # instructions that a refusal lists
_CODE = re.compile(r"[{}\[\]<>;%\"'\\@$#&|?!\n]|0x|->|\w\(|\b[A-Za-z_]{2,}\s*=")
_DIGIT = re.compile(r"\d")  # a word with a digit is a part of a form, not of a sentence


def parse_instruction(value: object, field: str, opcodes: Sequence[str] = ()) -> Instruction:
    """Return the instruction that a field of a request names; LayoutError `bad_instruction` names the field.

    opcodes: those that the field takes, for the error about a text that names no instruction; all if empty.
    """
    try:
        return find(inputs.require_text(value, field, catalog.LONGEST))
    except LayoutError as error:
        if opcodes and isinstance(value, str) and not catalog.extract_opcode(value):
            hint = f"Allowed: a PTX text that starts with {join_words(list(opcodes), 'or')}."
            message = f"'{catalog.shorten(value)}' is not the name of a matrix instruction."
            raise LayoutError("bad_instruction", message, hint, field) from None
        raise error.move_to_field(field, "bad_instruction") from None


def find(text: str) -> Instruction:
    """Return the instruction that a text names: PTX, or a name such as `wgmma.m64n256k16 bf16`.

    A text without blanks is PTX. LayoutError `unknown_instruction` says which part is illegal and lists the nearest
    legal ones, or lists the instructions that a name fits.

    >>> find("mma.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1}, ...").ptx
    'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32'
    >>> find("wgmma.m64n256k16 bf16").ptx, find("ldmatrix x4 trans").ptx
    ('wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16', 'ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16')
    """
    if isinstance(text, str) and " " in text.strip():
        named = find_named(text)
        if named is not None and (is_name(named) or is_refused(named) or named.exact or _has_stray_words(text, named)):
            return _choose_form(text, named)
    elif isinstance(text, str) and (instruction := find_instruction(text)) is not None:
        return instruction
    return catalog.find(text)


def _has_stray_words(text: str, named: FormMatches) -> bool:
    """Return whether a name has words that no form has; behind a whole line of PTX, or with commas, these are its
    operands.
    """
    return bool(named.forms and named.ignored) and "," not in text and not is_spelled_out(text)


def _choose_form(text: str, named: FormMatches) -> Instruction:
    """Return the form that a name means; LayoutError where none or several do."""
    if (only := get_only(named) or _find_plain(named)) is not None:
        return only
    if is_refused(named):
        nearest = tuple(form.ptx for form in list_nearest(named))
        hint = f"Nearest: {', '.join(nearest[:5])}." if nearest else "Change one of its words."
        raise LayoutError("unknown_instruction", explain_refusal(named), hint, "ptx", nearest[:5])
    if named.ignored:
        hint = f"'{' '.join(named.words)}' names {count_forms(len(named.forms))}."
        raise LayoutError("unknown_instruction", f"No instruction has {quote_words(named.ignored)}.", hint, "ptx")
    raise _make_choice_error(text, tuple(form.ptx for form in named.forms))


def _make_choice_error(text: str, candidates: Sequence[str]) -> LayoutError:
    """Return the error for a text that several instructions fit."""
    listed = tuple(candidates[:MOST_NEAREST])
    hint = f"Give one of them: {', '.join(listed)}{', …' if len(candidates) > MOST_NEAREST else '.'}"
    message = f"'{shorten_value(text.strip())}' names {count_forms(len(candidates))}."
    return LayoutError("unknown_instruction", message, hint, "ptx", listed)


def _find_plain(named: FormMatches) -> Instruction | None:
    """Find the form of which all others that fit are variants: the same shape, layouts and types, and all its other
    words besides their own. A name without `sp` does not mean the sparse one.
    """
    if not named.forms or named.ignored or not named.whole:
        return None
    plain, *others = (form.syntax for form in named.forms)
    parts = {*re.split(r"\.|::", plain.opcode), *plain.modifiers}
    for other in others:
        if (other.shape, other.layouts, other.types) != (plain.shape, plain.layouts, plain.types):
            return None
        if not parts < {*re.split(r"\.|::", other.opcode), *other.modifiers}:
            return None
    return named.forms[0]


def find_named(text: str) -> FormMatches | None:
    """Find the forms that a text of words names; None for code, and for a text that spells a line of PTX."""
    text = re.sub(r"\s->\s", " ", text)
    if (
        len(text) > forms.LONGEST
        or _CODE.search(text.strip())
        or not text.strip()
        or ("." in text and find_spelled(text))
    ):
        return None
    return _keep_ordered(text, forms.find_forms(text))


def find_spelled(text: str) -> Instruction | None:
    """Find the instruction that a text spells from its first to its last character."""
    text = text.strip()
    match = catalog.OPCODE.match(text)
    return find_instruction(text) if match and match.end() == len(text) else None


def _keep_ordered(text: str, matches: FormMatches) -> FormMatches:
    """Keep the forms with the types in the order of a dotted text, where that has three or more and some form has."""
    types = list_dotted_types(text)
    in_order = tuple(form for form in matches.forms if _is_within(types, form.syntax.types))
    if len(types) < 3 or not in_order:
        return matches
    return dataclasses.replace(matches, forms=in_order)


def list_dotted_types(text: str) -> list[str]:
    """List the types of a dotted text in order; [] for a text with blanks."""
    return [] if " " in text.strip() else [word for word in re.split(r"[.\s]+", text.lower()) if word in DTYPES]


def keeps_order(text: str, matches: FormMatches) -> bool:
    """Return whether some form has the types in the order of a dotted text, where that has three or more."""
    types = list_dotted_types(text)
    return len(types) < 3 or any(_is_within(types, form.syntax.types) for form in matches.forms)


def _is_within(types: list[str], order: tuple[str, ...]) -> bool:
    rest = iter(order)
    return all(name in rest for name in types)


def is_name(matches: FormMatches) -> bool:
    """Return whether nothing but an instruction can be meant: every word is one of a form, several or a shape."""
    return bool(matches.forms) and not matches.ignored and (len(matches.words) > 1 or has_shape(matches))


def has_shape(matches: FormMatches) -> bool:
    """Return whether a shape, or a part of one, is among the words."""
    return any(search.split_shape(one) for word in matches.words for one in forms.spell_words([word]))


def is_spelled_out(text: str) -> bool:
    """Return whether a text is a line of PTX, legal or not, rather than a name."""
    return "aligned" in text.lower()


def get_only(matches: FormMatches) -> Instruction | None:
    """Return the one form that a text names, each word in full; None if several fit, or a word was not used."""
    certain = matches.exact or (len(matches.forms) == 1 and matches.whole and not matches.ignored)
    return matches.forms[0] if certain else None


def is_refused(matches: FormMatches) -> bool:
    """Return whether a text names an instruction that does not exist: two of its words or more stand in no form, or one
    that looks like a part of a name stands in none.
    """
    return matches.named and bool((list_missing(matches) and matches.forms) or matches.without)


def list_missing(matches: FormMatches) -> list[str]:
    """List the words that look like a part of a name and stand in no form."""
    return [word for word in matches.ignored if _DIGIT.search(word)]


def explain_refusal(matches: FormMatches) -> str:
    """Explain which words are in the way, and how many forms there are without each."""
    missing = list_missing(matches)
    if missing and matches.forms:
        count, shapes = len(matches.forms), _list_shapes(missing, matches.forms)
        return (
            f"No instruction has {quote_words(missing)}.{shapes} Without {'it' if len(missing) == 1 else 'them'}:"
            f" {count_forms(count)} with {quote_words(matches.words)}."
        )
    left = " ".join(f"Without {word}: {count_forms(count)}." for word, count in matches.without)
    unused = f" Not used: {quote_words(matches.ignored)}." if matches.ignored else ""
    return f"No instruction has all of {join_words(list(matches.words))}. {left}{unused}"


def _list_shapes(missing: list[str], found: tuple[Instruction, ...]) -> str:
    """List the nearest shapes of the plain form's opcode, a sentence; "" if no shape is missing."""
    shape = next(filter(search.split_shape, missing), "")
    alike = tuple(form for form in found if form.syntax.opcode == found[0].syntax.opcode)
    shapes = list(dict.fromkeys(form.shape for form in sort_by_shape(alike, shape)))[:MOST_SHAPES] if shape else []
    return f" Nearest shapes: {join_words(shapes)}." if shapes else ""


def list_nearest(matches: FormMatches) -> tuple[Instruction, ...]:
    """List the forms that have all words but those that none has, those of the nearest shape first; where several words
    exclude one another, the forms without each in turn.
    """
    shape = next(filter(search.split_shape, (*matches.ignored, *matches.words)), "")
    if matches.forms or not matches.without:
        return sort_by_shape(matches.forms, shape)
    return tuple(form for word, _ in matches.without for form in find_without(matches, word))


def find_without(matches: FormMatches, word: str) -> tuple[Instruction, ...]:
    """Find the forms that have all words but one, those of the nearest shape first."""
    words = " ".join(other for other in matches.words if other != word)
    return sort_by_shape(forms.find_forms(words).forms, word)


def sort_by_shape(found: tuple[Instruction, ...], shape: str) -> tuple[Instruction, ...]:
    """Sort forms by the distance of their shape from a given one; as they are where it is none."""
    sizes = "".join(search.split_shape(shape))
    return tuple(sorted(found, key=lambda form: measure_shape_distance(sizes, form.shape))) if sizes else found


def count_forms(count: int) -> str:
    """Return a number of instructions in words.

    >>> count_forms(1), count_forms(3764)
    ('1 instruction', '3,764 instructions')
    """
    return f"{count:,} instruction{'s' * (count != 1)}"


def quote_words(words: Sequence[str]) -> str:
    """Join words in quotation marks as a sentence has them."""
    return join_words([f"'{shorten_value(word)}'" for word in words])
