"""The instruction descriptor of tcgen05.mma: 32 bits that say types, M, N, majors and scale factors. A word is read
with its kind, as the kind is part of the opcode and not of the word; a wish becomes a word.

Documented (PTX ISA 9.1, 9.7.16.4.2) and equal to 304 of 304 words of CUTLASS; nothing here has run on this hardware.
ptxas checks none of it: an immediate of 0xffffffff assembles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lanescope.blackwell.kind import FORMS, K_DIM_ARCHITECTURE, KindField, MmaKind
from lanescope.descriptor import spelling
from lanescope.descriptor.notices import FieldNotice
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, join_words, parse_choice, parse_integer, quote_value, shorten_value
from lanescope.ptx.architectures import explain_missing, list_targets_of_kind
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.ptx.table.kinds import ALONE, KINDS, PAIR, WS
from lanescope.ptx.targets import strip_suffix

NAMES = tuple(kind.name for kind in KINDS)
MOST = (1 << 32) - 1
SIZES, TRANSPOSE, NEGATE = "PTX ISA 9.1, Table 39", "PTX ISA 9.1, Tables 51, 52 and 54", "PTX ISA 9.1, Table 51"
SELECTORS, IDS = "PTX ISA 9.1, 9.7.16.10.8.4", "PTX ISA 9.1, 9.7.16.10.7"
CALLED = {ALONE: ".cta_group::1", PAIR: ".cta_group::2", WS: ".ws"}
_K96 = "96"
_K96_TARGET = "sm_103a"
K_OPEN = "not documented"
ASSEMBLED = "ptxas 13.5"


def get_kind(name: object) -> MmaKind:
    """Return a kind by its name, with or without `kind::`; LayoutError lists them."""
    text = name.strip().lower().removeprefix(".").removeprefix("kind::") if isinstance(name, str) else name
    choice = parse_choice(text, "kind", NAMES, "unknown_kind")
    return KINDS[NAMES.index(choice)]


def get_form(cta_group: object = "1", ws: object = "0") -> str:
    """Return the form that two words of a request name: cta_group 1 or 2, ws 0 or 1."""
    group = parse_integer(cta_group, "cta_group", 1, 2)
    if parse_integer(ws, "ws", 0, 1):
        if group == 2:
            raise LayoutError("bad_form", ".ws is issued by one CTA.", "cta_group: 1, or ws: 0.", "ws")
        return WS
    return FORMS[group - 1]


HINT = spelling.HINT.replace("16 hex", "8 hex").replace(" hi:lo, {lo, hi},", "")


def parse_idesc_word(value: object, field: str = "word") -> int:
    """Parse a 32-bit word in any spelling; LayoutError for more bits, with a hint for CUTLASS's 64-bit form."""
    try:
        word = parse_word(value, field).word
    except LayoutError as error:
        hint = HINT if error.hint == spelling.HINT else error.hint
        raise LayoutError(error.code, error.message, hint, field) from None
    decimal = str(value).strip()
    if word > MOST and decimal.isdecimal() and int(decimal) <= MOST:  # nine digits can only be decimal here
        word = int(decimal)
    if word <= MOST:
        return word
    hint = "An instruction descriptor has 32 bits."
    if not word & MOST:
        hint = f"CUTLASS's idescE holds it in the upper half: {word >> 32:#010x}."
    raise LayoutError("bad_word", f"'{shorten_value(str(value))}' has {word.bit_length()} bits.", hint, field)


def format_word(word: int) -> str:
    """Return a word as eight hex digits."""
    return f"0x{word:08x}"


@dataclass(frozen=True, slots=True)
class IdescWord:
    """An instruction descriptor of one kind, read for one target, or for any. Reserved bits are kept."""

    word: int
    kind: MmaKind
    target: str = ""

    @property
    def has_k_dim(self) -> bool:
        """Whether its target reads k_dim from it, and the bit is set: nobody documents which K that is."""
        return strip_suffix(self.target) == K_DIM_ARCHITECTURE and bool(self.word >> self.kind.k_dim_bit & 1)

    def format_field(self, name: str) -> str:
        """Return what a field says: a type, a size, "K" or "MN"; "no" for a field that this kind does not have."""
        if name == "k" and self.has_k_dim:
            return K_OPEN
        return self.kind.get_field(name).format_code(self.word) if self.kind.has_field(name) else "no"

    def get_code(self, name: str) -> int:
        """Return the code of a field, 0 for one that this kind does not have."""
        return self.kind.get_field(name).field.get(self.word) if self.kind.has_field(name) else 0

    @property
    def m(self) -> int:
        return self.get_code("m") * self.kind.get_field("m").field.unit

    @property
    def n(self) -> int:
        return self.get_code("n") * self.kind.get_field("n").field.unit

    @property
    def sparse(self) -> bool:
        return bool(self.get_code("sparse"))

    @property
    def k(self) -> int:
        """K of one instruction: twice as much with a sparse A; 96 where bit 31 of a 4-bit kind says so."""
        if self.format_field("k") == _K96:
            return 96
        return self.kind.k * (2 if self.sparse else 1)

    @property
    def types(self) -> dict[str, str]:
        """The types of D, A and B; a scaled product is f32."""
        d = self.format_field("d") if self.kind.has_field("d") else "f32"
        return {"d": d, "a": self.format_field("a"), "b": self.format_field("b")}

    @property
    def reserved(self) -> int:
        k_dim = 1 << self.kind.k_dim_bit if self.has_k_dim else 0
        return self.word & self.kind.reserved_mask & ~k_dim

    def __str__(self) -> str:
        return format_word(self.word)


def get_factor_types(row: MmaKind, vector: str) -> dict[str, object]:
    """Return the type of scale factors that a vector demands, as a wish; empty for a kind without factors.

    ue8m0, except for 4X, which also takes ue4m3 (PTX ISA 9.1, Table 57).
    """
    return {"scale_type": "ue8m0"} if row.has_field("scale_type") and vector != "4X" else {}


# legality -------------------------------------------------------------------------------------------------------------


def find_problems(word: IdescWord) -> list[FieldNotice]:
    """Return what is illegal in the word in whichever form it is issued, in the order of its bits."""
    return [notice for rule in _RULES for notice in rule(word)]


def _check_codes(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield reserved bits, and codes without a meaning in this kind."""
    row = word.kind
    if word.reserved:
        message = f"Reserved bits are set: {format_word(word.reserved)}. They must be 0."
        if not word.target and word.reserved >> row.k_dim_bit & 1:
            message = message.removesuffix(".") + f" but on sm_107, where bit {row.k_dim_bit} is k_dim."
        yield FieldNotice("reserved_bits", "reserved", message, row.source)
    for part in row.parts:
        if not part.is_legal(word.word) and not _is_disputed(word, part):
            yield FieldNotice(*_describe_illegal_code(word, part), row.source)


def _check_types(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield a type of D that does not go with those of A and B."""
    types = word.types
    need = word.kind.needs.get(types["d"], ())
    if need and not {types["a"], types["b"]} <= set(need):
        message = f"D is {types['d']} while A is {types['a']} and B is {types['b']}."
        yield FieldNotice("d_type", "d", f"{message} With such a D, A and B are {join_words(need)}.", SIZES)


def _check_majors(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield an MN-major operand of a type that must be K-major."""
    row = word.kind
    for side in "ab":
        turned, element = word.format_field(f"transpose_{side}") == "MN", word.types[side]
        if turned and element not in row.turned and row.get_field(side).is_legal(word.word):
            message = (
                f"{side.upper()} is MN-major with {element}. Of kind::{row.name}, {join_words(row.turned)} may be."
            )
            yield FieldNotice("bad_major", f"transpose_{side}", message, TRANSPOSE)


def _check_selector(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield a sparsity selector without sparse A, or one that the kind does not have."""
    row, selector = word.kind, word.get_code("sparsity_selector")
    if selector and not word.sparse:
        message = f"The sparsity selector is {selector}, but the word says that A is dense."
        yield FieldNotice("selector_of_dense", "sparsity_selector", message, row.source)
    elif selector >= row.selectors:
        message = (
            f"The sparsity selector is {selector}. kind::{row.name} reads all columns of the metadata: it must be 0."
        )
        yield FieldNotice("selector_of_kind", "sparsity_selector", message, SELECTORS)


def _check_scale_ids(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield a scale-factor id where four factors fill the column."""
    if word.format_field("scale_type") != "ue4m3" or word.format_field("k") == _K96:
        return
    for name in ("sfa_id", "sfb_id"):
        code = word.get_code(name)
        if code:
            message = (
                f"{word.kind.get_field(name).field.title} is {code}. ue4m3 means scale_vec::4X, whose four factors"
            )
            yield FieldNotice("id_of_4x", name, f"{message} fill the column: the id must be 0.", IDS)


def _check_k96(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield K = 96 of a sparse product."""
    if word.sparse and word.format_field("k") == _K96:
        message = "K = 96 is of a dense product; the word says that A is sparse."
        yield FieldNotice("k96_sparse", "k", message, word.kind.source)


def _check_target(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield a kind, or K = 96, that the target does not have."""
    if why := explain_missing(f"kind::{word.kind.name}", list_targets_of_kind(word.kind.name), word.target):
        yield FieldNotice("not_on_target", "kind", " ".join(why), ASSEMBLED)
    elif word.target and word.format_field("k") == _K96 and word.target != _K96_TARGET:
        yield FieldNotice("not_on_target", "k", f"K = 96 takes {_K96_TARGET}, not {word.target}.", SIZES)


_RULES: tuple[Callable[[IdescWord], Iterator[FieldNotice]], ...] = (
    _check_codes,
    _check_types,
    _check_majors,
    _check_selector,
    _check_scale_ids,
    _check_k96,
    _check_target,
)


def _is_disputed(word: IdescWord, part: KindField) -> bool:
    """Return whether the code is one that PTX both allows and forbids: the ids of K = 96."""
    return part.name in ("sfa_id", "sfb_id") and word.format_field("k") == _K96


def _describe_illegal_code(word: IdescWord, part: KindField) -> tuple[str, str, str]:
    """Return (code, field, message) of a code without a meaning in this kind."""
    code, row, title = part.field.get(word.word), word.kind, part.field.title
    legal = join_words([_format_code(name, value) for name, value in part.codes.items()], "or")
    also = [
        other.name
        for other in KINDS
        if other is not row and other.has_field(part.name) and _has_code(other, part, code)
    ]
    elsewhere = f" kind::{also[0]} defines it." if also and part.chosen else ""
    shown = title[:1].upper() + title[1:]
    return "reserved_code", part.name, f"{shown} {code} is not defined for kind::{row.name}: {legal}.{elsewhere}"


def _format_code(name: str, value: int) -> str:
    return name if name == str(value) else f"{value} ({name})"


def _has_code(other: MmaKind, part: KindField, code: int) -> bool:
    return code in other.get_field(part.name).codes.values()


def find_form_problems(word: IdescWord, form: str) -> list[FieldNotice]:
    """Return what is illegal in the word when it is issued as `cta_group::1`, `cta_group::2` or `ws`."""
    row, called = word.kind, CALLED[form]
    sizes = row.sizes.get((form, word.sparse))
    if sizes is None:
        reason = "" if any(known == form for known, _ in row.sizes) else "block scaling has no such form"
        return [FieldNotice("no_form", "form", f"kind::{row.name} has no {called}: {reason}.", SIZES)]
    problems = []
    dense = "a sparse A" if word.sparse else "a dense A"
    if word.m not in sizes.m:
        allowed = join_words([str(m) for m in sizes.m], "or")
        pair = " It is the M of the pair, both CTAs together." if form == PAIR and word.m == 64 else ""
        problems.append(
            FieldNotice("bad_m", "m", f"M is {word.m}. {called} with {dense} takes {allowed}.{pair}", SIZES)
        )
    if word.n not in sizes.n:
        problems.append(
            FieldNotice("bad_n", "n", f"N is {word.n}. {called} with {dense} takes {sizes.n_words}.", SIZES)
        )
    else:
        problems += _check_turned_n(word, form)
    if form != WS and word.get_code("max_shift"):
        message = f"The maximum shift is {word.format_field('max_shift')}; only .ws shifts B."
        problems.append(FieldNotice("shift_without_ws", "max_shift", message, row.source))
    return problems


def _check_turned_n(word: IdescWord, form: str) -> Iterator[FieldNotice]:
    """Yield an N that is illegal for an MN-major B of 8 bits, which has larger steps."""
    step = 32 if form == PAIR else 16
    turned = word.format_field("transpose_b") == "MN" and word.kind.element_bits == 8
    if turned and word.n % step:
        message = f"N is {word.n}. An MN-major B of 8 bits takes N in steps of {step} with {CALLED[form]}."
        yield FieldNotice("bad_n", "n", message, "PTX ISA 9.1, Table 52")


def find_problems_by_form(word: IdescWord) -> dict[str, list[FieldNotice]]:
    """Return every form → why the word is illegal in it; an empty list where it is legal.

    What is wrong in every form is in `problems`.
    """
    return {form: find_form_problems(word, form) for form in FORMS}


def find_legal_forms(word: IdescWord) -> tuple[str, ...]:
    """Return the forms in which the word is legal."""
    return () if find_problems(word) else tuple(form for form, why in find_problems_by_form(word).items() if not why)


def find_warnings(word: IdescWord) -> list[FieldNotice]:
    """Return what is legal but should be checked, each with its reason."""
    warnings, row = [], word.kind
    if word.format_field("k") == _K96:
        if word.m != 256:
            message = (
                "PTX's table lists K = 96 for M = 256 only; CUTLASS also runs it with M = 128, which is not documented."
            )
            warnings.append(FieldNotice("k96_m", "m", message, SIZES))
        if word.get_code("sfa_id") % 2 or word.get_code("sfb_id") % 2:
            message = (
                "PTX allows the ids 0 and 2 in Table 44, and 0 to 3 with K = 96 in 9.7.16.10.7.2. Which holds is not"
                " documented."
            )
            warnings.append(FieldNotice("k96_id", "sfa_id", message, row.source))
        if not word.target:
            message = f"K = 96 takes {_K96_TARGET}; on sm_107, bit {row.k_dim_bit} is k_dim and may say another K."
            warnings.append(FieldNotice("k96_target", "k", message, SIZES))
    if word.has_k_dim:
        message = f"Bit {row.k_dim_bit} is k_dim on {word.target}; which K it chooses is not documented."
        warnings.append(FieldNotice("k_dim", "k", message, "NVIDIA cudnn-frontend, pull request 954"))
    if word.sparse and 1 < word.get_code("sparsity_selector") < row.selectors:
        message = "CUTLASS uses the selectors 0 and 1; what 2 and 3 select is not documented."
        warnings.append(FieldNotice("selector_open", "sparsity_selector", message, "CUTLASS, mma_traits_sm100.hpp"))
    if row.alike and word.types["a"] != word.types["b"]:
        first_type, other = row.get_field("a").codes
        message = f"Whether A may be {first_type} and B {other} is not documented; CUTLASS's collectives take one type."
        warnings.append(FieldNotice("mixed_types", "b", message, SIZES))
    modes = TCGEN05.turned.get(row.element_bits, ())
    if len(modes) == 1 and "MN" in (word.format_field("transpose_a"), word.format_field("transpose_b")):
        message = f"An MN-major {row.name} operand is read only with the swizzle {modes[0].name}."
        warnings.append(FieldNotice(f"{row.name}_major", "transpose_a", message, "PTX ISA 9.1, Table 54"))
    if turned := _find_narrow_mn_major(word):
        source = "CUTLASS; not run on hardware"
        warnings.append(FieldNotice("narrow_major", f"transpose_{turned[0][0]}", describe_narrow(word), source))
    if row.lacking and not word.target:
        message = f"kind::{row.name} exists for {row.targets} only; {row.lacking} does not have it."
        warnings.append(FieldNotice(f"{row.name}_target", "kind", message, SIZES))
    return warnings


def _find_narrow_mn_major(word: IdescWord) -> list[tuple[str, str]]:
    """Return (operand, type) of every MN-major operand of 4 or 6 bits."""
    types = word.types
    turned = (side for side in "ab" if word.format_field(f"transpose_{side}") == "MN")
    return [
        (side, types[side]) for side in turned if types[side] in word.kind.turned and get_dtype(types[side]).bits < 8
    ]


def describe_narrow(word: IdescWord) -> str:
    """Say what is known of MN-major operands of 4 or 6 bits; "" if there are none."""
    names = [f"{side.upper()} ({element})" for side, element in _find_narrow_mn_major(word)]
    if not names:
        return ""
    return (
        f"{join_words(names)} {'is' if len(names) == 1 else 'are'} MN-major: PTX's Table 54 lists 8 and 16 bits."
        f" In kind::"
        f"{word.kind.name} these elements lie in bytes, and CUTLASS builds and tests both majors. Not run on hardware."
    )


# a wish becomes a word ------------------------------------------------------------------------------------------------

_TRUE = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0, "k": 0, "mn": 1}


def encode(row: MmaKind, wish: Mapping[str, object], form: str = "", target: str = "") -> IdescWord:
    """Return the word of a wish: field name → type, number or flag.

    m and n must be given. Defaults: the first type of the kind, K-major, dense, ids 0. LayoutError names a field that
    the word cannot express, or that is illegal: in `form`, or in every form where none is given.
    """
    check_keys(wish, (part.name for part in row.parts), "", "unknown_field")
    word = 0
    for part in row.parts:
        word = part.field.put(word, _encode_field(row, part, wish.get(part.name)))
    encoded = IdescWord(word, row, target)
    wrong = find_problems(encoded)
    if wrong:
        raise LayoutError(wrong[0].code, wrong[0].message, f"See {wrong[0].source}.", wrong[0].field)
    if form and (why := find_form_problems(encoded, form)):
        legal = join_words([CALLED[other] for other in find_legal_forms(encoded)], "or")
        hint = f"It is legal with {legal}." if legal else _format_sizes(encoded)
        raise LayoutError(why[0].code, why[0].message, hint, why[0].field)
    if not form and not find_legal_forms(encoded):
        raise _make_form_error(encoded)
    return encoded


def _make_form_error(word: IdescWord) -> LayoutError:
    """Return the error for a word that is legal in no form: about the wrong field of the form that comes nearest."""
    first = min(find_problems_by_form(word).values(), key=len)[0]
    sizes = {"m": f"M is {word.m}.", "n": f"N is {word.n}."}
    said = sizes.get(first.field, first.message) if first.code != "shift_without_ws" else first.message
    return LayoutError(first.code, said, _format_sizes(word), first.field)


def _format_sizes(word: IdescWord) -> str:
    """Return the legal M and N of every form."""
    known = [(CALLED[name], row) for (name, sparse), row in word.kind.sizes.items() if sparse == word.sparse]
    return " ".join(f"{name}: M {join_words([str(m) for m in row.m], 'or')}, N {row.n_words}." for name, row in known)


def _encode_field(row: MmaKind, part: KindField, value: object) -> int:
    """Return the code of one field of a wish."""
    blank = value is None or value == ""
    if part.chosen:
        return (
            part.codes[parse_choice(str(value), part.name, tuple(part.codes), "bad_type")]
            if not blank
            else _get_first_code(part)
        )
    if part.codes and set(part.codes) <= {"no", "yes", "K", "MN"}:
        return 0 if blank else _encode_flag(row, part, value)
    if blank and part.name in ("m", "n"):
        raise LayoutError("bad_number", f"{part.name} is missing.", f"Give {part.field.title}.", part.name)
    amount = 0 if blank else parse_integer(value, part.name)
    if amount // part.field.unit > part.field.most or amount % part.field.unit:
        raise LayoutError("bad_number", f"{part.name} is {amount}.", _format_range(part), part.name)
    return amount // part.field.unit


def _format_range(part: KindField) -> str:
    unit, most = part.field.unit, part.field.most * part.field.unit
    return f"Multiples of {unit} up to {min(most, 256)}." if unit > 1 else f"From 0 to {most}."


def _get_first_code(part: KindField) -> int:
    return next(iter(part.codes.values()))


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
