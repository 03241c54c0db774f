"""The instruction descriptor of tcgen05.mma: 32 bits that say types, M, N, majors and scale factors. A word is read
with its kind, as the kind is part of the opcode and not of the word; a wish becomes a word.

Documented (PTX ISA 9.1, 9.7.16.4.2) and equal to 304 of 304 words of CUTLASS; nothing here has run on this hardware.
ptxas checks none of it: an immediate of 0xffffffff assembles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lanescope.blackwell.kind import FORMS, KindField, MmaKind
from lanescope.descriptor.matrix import FieldNotice
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, join_words, parse_choice, parse_integer, quote_value, shorten_value
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.ptx.table.kinds import ALONE, KINDS, PAIR, WS

NAMES = tuple(kind.name for kind in KINDS)
MOST = (1 << 32) - 1
SIZES, TRANSPOSE, NEGATE = "PTX ISA 9.1, Table 39", "PTX ISA 9.1, Tables 51, 52 and 54", "PTX ISA 9.1, Table 51"
SELECTORS, IDS = "PTX ISA 9.1, 9.7.16.10.8.4", "PTX ISA 9.1, 9.7.16.10.7"
CALLED = {ALONE: ".cta_group::1", PAIR: ".cta_group::2", WS: ".ws"}
_K96 = "96"


def get_kind(name: object) -> MmaKind:
    """Return a kind by its name, with or without `kind::`; LayoutError lists them."""
    given = name.strip().lower().removeprefix(".").removeprefix("kind::") if isinstance(name, str) else name
    found = parse_choice(given, "kind", NAMES, "unknown_kind")
    return KINDS[NAMES.index(found)]


def get_form(cta_group: object = "1", ws: object = "0") -> str:
    """Return the form that two words of a request name: cta_group 1 or 2, ws 0 or 1."""
    group = parse_integer(cta_group, "cta_group", 1, 2)
    if parse_integer(ws, "ws", 0, 1):
        if group == 2:
            raise LayoutError("bad_form", ".ws is issued by one CTA.", "cta_group: 1, or ws: 0.", "ws")
        return WS
    return FORMS[group - 1]


def parse_idesc_word(given: object, field: str = "word") -> int:
    """Parse a 32-bit word in any spelling; LayoutError for more bits, with a hint for CUTLASS's 64-bit form."""
    word = parse_word(given, field).word
    decimal = str(given).strip()
    if word > MOST and decimal.isdecimal() and int(decimal) <= MOST:  # nine digits can only be decimal here
        word = int(decimal)
    if word <= MOST:
        return word
    hint = "An instruction descriptor has 32 bits."
    if not word & MOST:
        hint = f"CUTLASS's idescE holds it in the upper half: {word >> 32:#010x}."
    raise LayoutError("bad_word", f"'{shorten_value(str(given))}' has {word.bit_length()} bits.", hint, field)


def format_word(word: int) -> str:
    """Return a word as eight hex digits."""
    return f"0x{word:08x}"


@dataclass(frozen=True, slots=True)
class IdescWord:
    """An instruction descriptor of one kind. Reserved bits are kept."""

    word: int
    kind: MmaKind

    def format_field(self, name: str) -> str:
        """Return what a field says: a type, a size, "K" or "MN"; "no" for a field that this kind does not have."""
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
        return self.word & self.kind.reserved_mask

    def __str__(self) -> str:
        return format_word(self.word)


def get_factor_types(row: MmaKind, vector: str) -> dict[str, object]:
    """Return the type of scale factors that a vector demands, as a wish; empty for a kind without factors.

    ue8m0, except for 4X, which also takes ue4m3 (PTX ISA 9.1, Table 57).
    """
    return {"scale_type": "ue8m0"} if row.has_field("scale_type") and vector != "4X" else {}


# legality -------------------------------------------------------------------------------------------------------------


def find_problems(given: IdescWord) -> list[FieldNotice]:
    """Return what is illegal in the word in whichever form it is issued, in the order of its bits."""
    return [notice for rule in _RULES for notice in rule(given)]


def _check_codes(given: IdescWord) -> Iterator[FieldNotice]:
    """Yield reserved bits, and codes without a meaning in this kind."""
    row = given.kind
    if given.reserved:
        says = f"Reserved bits are set: {format_word(given.reserved)}. They must be 0."
        yield FieldNotice("reserved_bits", "reserved", says, row.source)
    for part in row.parts:
        if not part.is_legal(given.word) and not _is_disputed(given, part):
            yield FieldNotice(*_describe_illegal_code(given, part), row.source)


def _check_types(given: IdescWord) -> Iterator[FieldNotice]:
    """Yield a type of D that does not go with those of A and B."""
    types = given.types
    need = given.kind.needs.get(types["d"], ())
    if need and not {types["a"], types["b"]} <= set(need):
        says = f"D is {types['d']} while A is {types['a']} and B is {types['b']}."
        yield FieldNotice("d_type", "d", f"{says} With such a D, A and B are {join_words(need)}.", SIZES)


def _check_majors(given: IdescWord) -> Iterator[FieldNotice]:
    """Yield an MN-major operand of a type that must be K-major."""
    row = given.kind
    for side in "ab":
        turned, element = given.format_field(f"transpose_{side}") == "MN", given.types[side]
        if turned and element not in row.turned and row.get_field(side).is_legal(given.word):
            says = f"{side.upper()} is MN-major with {element}. Of kind::{row.name}, {join_words(row.turned)} may be."
            yield FieldNotice("bad_major", f"transpose_{side}", says, TRANSPOSE)


def _check_selector(given: IdescWord) -> Iterator[FieldNotice]:
    """Yield a sparsity selector without sparse A, or one that the kind does not have."""
    row, selector = given.kind, given.get_code("sparsity_selector")
    if selector and not given.sparse:
        says = f"The sparsity selector is {selector}, but the word says that A is dense."
        yield FieldNotice("selector_of_dense", "sparsity_selector", says, row.source)
    elif selector >= row.selectors:
        says = f"The sparsity selector is {selector}. kind::{row.name} reads all columns of the metadata: it must be 0."
        yield FieldNotice("selector_of_kind", "sparsity_selector", says, SELECTORS)


def _check_scale_ids(given: IdescWord) -> Iterator[FieldNotice]:
    """Yield a scale-factor id where four factors fill the column."""
    if given.format_field("scale_type") != "ue4m3" or given.format_field("k") == _K96:
        return
    for name in ("sfa_id", "sfb_id"):
        code = given.get_code(name)
        if code:
            says = f"{given.kind.get_field(name).field.title} is {code}. ue4m3 means scale_vec::4X, whose four factors"
            yield FieldNotice("id_of_4x", name, f"{says} fill the column: the id must be 0.", IDS)


def _check_k96(given: IdescWord) -> Iterator[FieldNotice]:
    """Yield K = 96 of a sparse product."""
    if given.sparse and given.format_field("k") == _K96:
        says = "K = 96 is of a dense product; the word says that A is sparse."
        yield FieldNotice("k96_sparse", "k", says, given.kind.source)


_RULES: tuple[Callable[[IdescWord], Iterator[FieldNotice]], ...] = (
    _check_codes,
    _check_types,
    _check_majors,
    _check_selector,
    _check_scale_ids,
    _check_k96,
)


def _is_disputed(given: IdescWord, part: KindField) -> bool:
    """Return whether the code is one that PTX both allows and forbids: the ids of K = 96."""
    return part.name in ("sfa_id", "sfb_id") and given.format_field("k") == _K96


def _describe_illegal_code(given: IdescWord, part: KindField) -> tuple[str, str, str]:
    """Return (code, field, message) of a code without a meaning in this kind."""
    code, row, title = part.field.get(given.word), given.kind, part.field.title
    legal = join_words([_format_code(name, value) for name, value in part.codes.items()], "or")
    also = [
        other.name
        for other in KINDS
        if other is not row and other.has_field(part.name) and _has_code(other, part, code)
    ]
    elsewhere = f" kind::{also[0]} has it." if also and part.chosen else ""
    return "reserved_code", part.name, f"The code {code} of {title} is not in kind::{row.name}: {legal}.{elsewhere}"


def _format_code(name: str, value: int) -> str:
    return name if name == str(value) else f"{value} ({name})"


def _has_code(other: MmaKind, part: KindField, code: int) -> bool:
    return code in other.get_field(part.name).codes.values()


def find_form_problems(given: IdescWord, form: str) -> list[FieldNotice]:
    """Return what is illegal in the word when it is issued as `cta_group::1`, `cta_group::2` or `ws`."""
    row, called = given.kind, CALLED[form]
    sizes = row.sizes.get((form, given.sparse))
    if sizes is None:
        whole = "" if any(known == form for known, _ in row.sizes) else "block scaling has no such form"
        return [FieldNotice("no_form", "form", f"kind::{row.name} has no {called}: {whole}.", SIZES)]
    out = []
    dense = "a sparse A" if given.sparse else "a dense A"
    if given.m not in sizes.m:
        allowed = join_words([str(m) for m in sizes.m], "or")
        pair = " It is the M of the pair, both CTAs together." if form == PAIR and given.m == 64 else ""
        out.append(FieldNotice("bad_m", "m", f"M is {given.m}. {called} with {dense} takes {allowed}.{pair}", SIZES))
    if given.n not in sizes.n:
        out.append(FieldNotice("bad_n", "n", f"N is {given.n}. {called} with {dense} takes {sizes.n_words}.", SIZES))
    else:
        out += _check_turned_n(given, form)
    if form != WS and given.get_code("max_shift"):
        says = f"The maximum shift is {given.format_field('max_shift')}; only .ws shifts B."
        out.append(FieldNotice("shift_without_ws", "max_shift", says, row.source))
    return out


def _check_turned_n(given: IdescWord, form: str) -> Iterator[FieldNotice]:
    """Yield an N that is illegal for an MN-major B of 8 bits, which has larger steps."""
    step = 32 if form == PAIR else 16
    turned = given.format_field("transpose_b") == "MN" and given.kind.element_bits == 8
    if turned and given.n % step:
        says = f"N is {given.n}. An MN-major B of 8 bits takes N in steps of {step} with {CALLED[form]}."
        yield FieldNotice("bad_n", "n", says, "PTX ISA 9.1, Table 52")


def find_problems_by_form(given: IdescWord) -> dict[str, list[FieldNotice]]:
    """Return every form → why the word is illegal in it; an empty list where it is legal.

    What is wrong in every form is in `problems`.
    """
    return {form: find_form_problems(given, form) for form in FORMS}


def find_legal_forms(given: IdescWord) -> tuple[str, ...]:
    """Return the forms in which the word is legal."""
    return () if find_problems(given) else tuple(form for form, why in find_problems_by_form(given).items() if not why)


def find_warnings(given: IdescWord) -> list[FieldNotice]:
    """Return what is legal but should be checked, each with its reason; open questions are marked as open."""
    out, row = [], given.kind
    if given.format_field("k") == _K96:
        if given.m != 256:
            says = "PTX's table lists K = 96 for M = 256 only; CUTLASS runs it at M = 128, too. This is open."
            out.append(FieldNotice("k96_m", "m", says, SIZES))
        if given.get_code("sfa_id") % 2 or given.get_code("sfb_id") % 2:
            says = "PTX allows the ids 0 and 2 in Table 44, and 0 to 3 with K = 96 in 9.7.16.10.7.2. This is open."
            out.append(FieldNotice("k96_id", "sfa_id", says, row.source))
        out.append(FieldNotice("k96_target", "k", "K = 96 takes sm_103a.", SIZES))
    if given.sparse and 1 < given.get_code("sparsity_selector") < row.selectors:
        says = "CUTLASS uses the selectors 0 and 1; what 2 and 3 select is open."
        out.append(FieldNotice("selector_open", "sparsity_selector", says, "CUTLASS, mma_traits_sm100.hpp"))
    if row.alike and given.types["a"] != given.types["b"]:
        one, other = row.get_field("a").codes
        says = f"PTX does not say whether A may be {one} and B {other}; CUTLASS's collectives take one type."
        out.append(FieldNotice("mixed_types", "b", f"{says} This is open.", SIZES))
    modes = TCGEN05.turned.get(row.element_bits, ())
    if len(modes) == 1 and "MN" in (given.format_field("transpose_a"), given.format_field("transpose_b")):
        says = f"An MN-major {row.name} operand is read only with the swizzle {modes[0].name}."
        out.append(FieldNotice(f"{row.name}_major", "transpose_a", says, "PTX ISA 9.1, Table 54"))
    if turned := _find_narrow_mn_major(given):
        source = "CUTLASS; not run on hardware"
        out.append(FieldNotice("narrow_major", f"transpose_{turned[0][0]}", describe_narrow(given), source))
    if row.lacking:
        says = f"kind::{row.name} exists for {row.targets} only; {row.lacking} does not have it."
        out.append(FieldNotice(f"{row.name}_target", "kind", says, SIZES))
    return out


def _find_narrow_mn_major(given: IdescWord) -> list[tuple[str, str]]:
    """Return (operand, type) of every MN-major operand of 4 or 6 bits."""
    types = given.types
    turned = (side for side in "ab" if given.format_field(f"transpose_{side}") == "MN")
    return [
        (side, types[side]) for side in turned if types[side] in given.kind.turned and get_dtype(types[side]).bits < 8
    ]


def describe_narrow(given: IdescWord) -> str:
    """Say what is known of MN-major operands of 4 or 6 bits; "" where there are none."""
    names = [f"{side.upper()} ({element})" for side, element in _find_narrow_mn_major(given)]
    if not names:
        return ""
    return (
        f"{join_words(names)} {'is' if len(names) == 1 else 'are'} MN-major: PTX's Table 54 lists 8 and 16 bits."
        f" In kind::"
        f"{given.kind.name} these elements lie in bytes, and CUTLASS builds and tests both majors. Not run on hardware."
    )


# a wish becomes a word ------------------------------------------------------------------------------------------------

_TRUE = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0, "k": 0, "mn": 1}


def encode(row: MmaKind, wish: Mapping[str, object], form: str = "") -> IdescWord:
    """Return the word of a wish: field name → type, number or flag.

    m and n must be given. Defaults: the first type of the kind, K-major, dense, ids 0. LayoutError names a field that
    the word cannot express, or that is illegal: in `form`, or in every form where none is given.
    """
    check_keys(wish, (part.name for part in row.parts), "", "unknown_field")
    word = 0
    for part in row.parts:
        word = part.field.put(word, _encode_field(row, part, wish.get(part.name)))
    made = IdescWord(word, row)
    wrong = find_problems(made)
    if wrong:
        raise LayoutError(wrong[0].code, wrong[0].message, f"See {wrong[0].source}.", wrong[0].field)
    if form and (why := find_form_problems(made, form)):
        legal = join_words([CALLED[other] for other in find_legal_forms(made)], "or")
        hint = f"It is legal with {legal}." if legal else _format_sizes(made)
        raise LayoutError(why[0].code, why[0].message, hint, why[0].field)
    if not form and not find_legal_forms(made):
        raise _make_form_error(made)
    return made


def _make_form_error(made: IdescWord) -> LayoutError:
    """Return the error for a word that is legal in no form: about the wrong field of the form that comes nearest."""
    first = min(find_problems_by_form(made).values(), key=len)[0]
    sizes = {"m": f"M is {made.m}.", "n": f"N is {made.n}."}
    said = sizes.get(first.field, first.message) if first.code != "shift_without_ws" else first.message
    return LayoutError(first.code, said, _format_sizes(made), first.field)


def _format_sizes(made: IdescWord) -> str:
    """Return the legal M and N of every form."""
    known = [(CALLED[name], row) for (name, sparse), row in made.kind.sizes.items() if sparse == made.sparse]
    return " ".join(f"{name}: M {join_words([str(m) for m in row.m], 'or')}, N {row.n_words}." for name, row in known)


def _encode_field(row: MmaKind, part: KindField, given: object) -> int:
    """Return the code of one field of a wish."""
    blank = given is None or given == ""
    if part.chosen:
        return (
            part.codes[parse_choice(str(given), part.name, tuple(part.codes), "bad_type")]
            if not blank
            else _get_first_code(part)
        )
    if part.codes and set(part.codes) <= {"no", "yes", "K", "MN"}:
        return 0 if blank else _encode_flag(row, part, given)
    if blank and part.name in ("m", "n"):
        raise LayoutError("bad_number", f"{part.name} is missing.", f"Give {part.field.title}.", part.name)
    amount = 0 if blank else parse_integer(given, part.name)
    if amount // part.field.unit > part.field.most or amount % part.field.unit:
        raise LayoutError("bad_number", f"{part.name} is {amount}.", _format_range(part), part.name)
    return amount // part.field.unit


def _format_range(part: KindField) -> str:
    unit, most = part.field.unit, part.field.most * part.field.unit
    return f"Multiples of {unit} up to {min(most, 256)}." if unit > 1 else f"From 0 to {most}."


def _get_first_code(part: KindField) -> int:
    return next(iter(part.codes.values()))


def _encode_flag(row: MmaKind, part: KindField, given: object) -> int:
    """Return 0 or 1 for a flag: a boolean, a number, or a word; LayoutError where the kind has only 0."""
    text = str(given).strip().lower()
    if text not in _TRUE:
        raise LayoutError("bad_choice", f"{part.name} is {quote_value(given)}.", "Allowed: 0, 1.", part.name)
    if _TRUE[text] not in part.codes.values():
        names = {"K": "MN-major operands", "no": part.field.title}
        what = names[next(iter(part.codes))]
        raise LayoutError("bad_choice", f"kind::{row.name} has no {what}.", f"{part.name}: 0.", part.name)
    return _TRUE[text]
