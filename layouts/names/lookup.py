"""Find the only instruction that a text can mean: PTX, or an informal name.

Nothing is guessed: a name that fits several instructions is an error that lists them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from math import log2

from lanescope import inputs
from lanescope.errors import LayoutError
from lanescope.inputs import join_words, shorten_value
from lanescope.names import forms, search
from lanescope.names.forms import FormMatches
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import DTYPES
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.refusals import make_unknown_instruction
from lanescope.ptx.short_names import find_instruction

MOST_SHAPES = 4  # nearest instructions in an error
MOST_NEAREST = 8  # instructions listed in an error
_CODE = re.compile(r"[{}\[\]<>;%\"'\\@$#&|?!\n]|(?<!\d)0x|->|\w\(|\bnvvm\.|\b[A-Za-z_]{2,}\s*=")
_DIGIT = re.compile(r"\d")  # a word with a digit belongs to a form, not to prose


def parse_instruction(value: object, field: str, opcodes: Sequence[str] = ()) -> Instruction:
    """Return the instruction in a field of a request. LayoutError `bad_instruction` names the field.

    opcodes: those that the field accepts, for the error message; all if empty.
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

    A text without blanks is PTX. LayoutError `unknown_instruction` gives the illegal part and the nearest legal
    instructions, or lists the instructions that a name fits.

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
    """Return whether a name has unknown words other than operands, which follow a line of PTX or have commas."""
    return bool(named.forms and named.ignored) and "," not in text and not is_spelled_out(text)


def _choose_form(text: str, named: FormMatches) -> Instruction:
    """Return the only form of a name. LayoutError if there is none or several."""
    if (only := get_only(named) or _find_plain(named)) is not None:
        return only
    if is_refused(named):
        raise make_unknown_instruction(explain_refusal(named), [form.ptx for form in list_nearest(named)])
    if named.ignored:
        hint = f"'{' '.join(named.words)}' names {count_forms(len(named.forms))}."
        raise LayoutError("unknown_instruction", f"No instruction has {quote_words(named.ignored)}.", hint, "ptx")
    raise _make_choice_error(text, tuple(form.ptx for form in named.forms))


def _make_choice_error(text: str, candidates: Sequence[str]) -> LayoutError:
    """Return the error for a text that several instructions fit."""
    listed = tuple(candidates[:MOST_NEAREST])
    hint = f"Specify one of them: {', '.join(listed)}{', …' if len(candidates) > MOST_NEAREST else '.'}"
    message = f"'{shorten_value(text.strip())}' names {count_forms(len(candidates))}."
    return LayoutError("unknown_instruction", message, hint, "ptx", listed)


def _find_plain(named: FormMatches) -> Instruction | None:
    """Return the form of which all other matches are variants, None without one.

    Variants have the same shape, layouts and types, and additional words. A name without `sp` does not mean a sparse
    form.
    """
    if not named.forms or named.ignored or not named.spelled_out:
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
    """Return the forms that a text of words names; None for code and for a line of PTX."""
    text = re.sub(r"\s->\s", " ", text)
    if (
        len(text) > forms.LONGEST
        or _CODE.search(forms.ALTERNATIVES.sub("", text).strip())
        or not re.search(r"[A-Za-z]|\d\d", text)
        or ("." in text and find_spelled(text))
    ):
        return None
    return _keep_ordered(text, forms.find_forms(text))


def find_spelled(text: str) -> Instruction | None:
    """Return the instruction whose PTX is the complete text; None without one."""
    text = text.strip()
    match = catalog.OPCODE.match(text)
    return find_instruction(text) if match and match.end() == len(text) else None


def _keep_ordered(text: str, matches: FormMatches) -> FormMatches:
    """Return the matches with the types in the order of a dotted text, if it has three or more and a form fits; else
    all.
    """
    in_order = tuple(form for form in matches.forms if has_types_in_order(text, form))
    if not in_order:
        return matches
    return dataclasses.replace(matches, forms=in_order)


def list_dotted_types(text: str) -> list[str]:
    """Return the types of a dotted text in order; [] for a text with blanks."""
    return [] if " " in text.strip() else [word for word in re.split(r"[.\s]+", text.lower()) if word in DTYPES]


def keeps_order(text: str, matches: FormMatches) -> bool:
    """Return whether a form has the types in the order of a dotted text; True for fewer than three types."""
    return len(list_dotted_types(text)) < 3 or any(has_types_in_order(text, form) for form in matches.forms)


def has_types_in_order(text: str, form: Instruction) -> bool:
    """Return whether a form has the types in the order of a dotted text; True for fewer than three types."""
    types = list_dotted_types(text)
    return len(types) < 3 or _is_within(types, form.syntax.types)


def _is_within(types: list[str], order: tuple[str, ...]) -> bool:
    rest = iter(order)
    return all(name in rest for name in types)


def is_name(matches: FormMatches) -> bool:
    """Return whether a text can only mean instructions: all words belong to forms, and there are several, a shape or an
    assignment of types.
    """
    several = len(matches.words) > 1 or matches.assigned or has_shape(matches)
    return bool(matches.forms) and not matches.ignored and several


def has_shape(matches: FormMatches) -> bool:
    """Return whether the words include a shape or a part of one."""
    return any(search.split_shape(spelled) for word in matches.words for spelled in forms.spell_words([word]))


def is_spelled_out(text: str) -> bool:
    """Return whether a text is a line of PTX (legal or not) rather than a name."""
    return "aligned" in text.lower()


def get_only(matches: FormMatches) -> Instruction | None:
    """Return the only form of a text without abbreviated or ignored words; None otherwise."""
    certain = matches.exact or (len(matches.forms) == 1 and matches.spelled_out and not matches.ignored)
    return matches.forms[0] if certain else None


def is_refused(matches: FormMatches) -> bool:
    """Return whether a text names an instruction that does not exist.

    This is assumed if no form has two or more of its words, or one word that looks like part of a name.
    """
    return matches.named and bool((list_missing(matches) and matches.forms) or matches.without)


def list_missing(matches: FormMatches) -> list[str]:
    """Return the words that look like part of a name and that no form has; row.row is one."""
    return [word for word in matches.ignored if _DIGIT.search(word) or "." in word]


def explain_refusal(matches: FormMatches) -> str:
    """Return a sentence on the words that exclude all forms, and the number of forms without each."""
    missing = list_missing(matches)
    if (pair := next((word for word in missing if "." in word), "")) and matches.forms:
        layouts = dict.fromkeys(".".join(form.syntax.layouts) for form in matches.forms)
        return f"No instruction with {quote_words(matches.words)} has {pair}. Instead: {join_words([*layouts], 'or')}."
    if missing and matches.forms:
        count, instead = len(matches.forms), list_alike(missing, matches.forms)
        return (
            f"No instruction has {quote_words(missing)}.{instead} Without {'it' if len(missing) == 1 else 'them'}:"
            f" {count_forms(count)} with {quote_words(matches.words)}."
        )
    left = " ".join(
        f"Without {word}: {count_forms(count)}.{list_alike([word], find_without(matches, word))}"
        for word, count in matches.without
    )
    unused = f" Not used: {quote_words(matches.ignored)}." if matches.ignored else ""
    lacking = f" without {matches.lacking}" if matches.lacking else ""
    return f"No instruction{lacking} has all of {join_words(list(matches.words))}. {left}{unused}"


def list_alike(missing: Sequence[str], found: Sequence[Instruction]) -> str:
    """Return a sentence with the nearest shapes of the plain form's opcode, or the modifiers that these forms have
    instead of a missing one: x1, x2, x4 instead of x3; "" if there are none.
    """
    alike = tuple(form for form in found if form.syntax.opcode == found[0].syntax.opcode)
    if shape := next(filter(search.split_shape, missing), ""):
        shapes = list(dict.fromkeys(form.shape for form in sort_by_shape(alike, shape) if form.shape))[:MOST_SHAPES]
        return f" Nearest shapes: {join_words(shapes)}." if shapes else ""
    kinds = {mask_digits(word) for word in missing} - {""}
    words = dict.fromkeys(word for form in alike for word in form.ptx.split(".") if mask_digits(word) in kinds)
    return f" Instead: {join_words(sorted(words, key=_rank_number), 'or')}." if 0 < len(words) <= MOST_NEAREST else ""


def mask_digits(word: str) -> str:
    """Return a word with # for each number, "" for one without a number."""
    return re.sub(r"\d+", "#", word) if _DIGIT.search(word) else ""


def _rank_number(word: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", word)]


def list_nearest(matches: FormMatches) -> tuple[Instruction, ...]:
    """Return the forms with all words that some form has, those with the nearest shape first.

    If words exclude one another, these are the forms without each of them in turn.
    """
    shape = next(filter(search.split_shape, (*matches.ignored, *matches.words)), "")
    if matches.forms or not matches.without:
        return sort_by_shape(matches.forms, shape)
    return tuple(form for word, _ in matches.without for form in find_without(matches, word))


def find_without(matches: FormMatches, word: str) -> tuple[Instruction, ...]:
    """Return the forms with all words but one, those with the nearest shape first."""
    words = " ".join(other for other in matches.words if other != word)
    found = forms.find_forms(words).forms
    if matches.lacking:
        keys = search.index_instructions()
        found = tuple(form for form in found if matches.lacking not in keys[form.ptx].words)
    return sort_by_shape(found, word)


def sort_by_shape(found: tuple[Instruction, ...], shape: str) -> tuple[Instruction, ...]:
    """Return forms sorted by the distance of their shape from `shape`; unchanged if that is not a shape."""
    sizes = {size[0]: int(size[1:]) for size in search.split_shape(shape)}

    def measure_distance(form: Instruction) -> float:
        return sum(abs(log2(max(size, 1) / form.sizes.get(dim, 1))) for dim, size in sizes.items())

    return tuple(sorted(found, key=measure_distance)) if sizes else found


def count_forms(count: int) -> str:
    """Return a number of instructions in words.

    >>> count_forms(1), count_forms(3764)
    ('1 instruction', '3,764 instructions')
    """
    return f"{count:,} instruction{'s' * (count != 1)}"


def quote_words(words: Sequence[str]) -> str:
    """Return words in quotation marks, joined for a sentence."""
    return join_words([f"'{shorten_value(word)}'" for word in words])
