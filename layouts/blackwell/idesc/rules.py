"""The rules of instruction descriptors: errors in every form, in one form and on a target, and warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from lanescope.blackwell.idesc.word import CALLED, K96, IdescWord, format_word
from lanescope.blackwell.kind import FORMS, RUBIN, KindField
from lanescope.descriptor.notices import FieldNotice, format_elsewhere
from lanescope.inputs import join_words
from lanescope.ptx import catalog
from lanescope.ptx.architectures import explain_missing, list_architectures_without, list_targets_of_kind
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.ptx.table.kinds import KINDS, PAIR, WS
from lanescope.ptx.targets import format_targets

SIZES, TRANSPOSE = "PTX ISA 9.1, Table 39", "PTX ISA 9.1, Tables 51, 52 and 54"
SELECTORS, IDS = "PTX ISA 9.1, 9.7.16.10.8.4", "PTX ISA 9.1, 9.7.16.10.7"
SIZES_94 = "PTX ISA 9.4, Table 48"
_K96_TARGETS = ("sm_103a", "sm_107a")


def find_problems(word: IdescWord) -> list[FieldNotice]:
    """Return the errors of a word in any form."""
    return [notice for rule in _RULES for notice in rule(word)]


def _check_codes(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield reserved bits, and codes without a meaning in this kind."""
    row = word.kind
    if word.reserved:
        message = f"Reserved bits are set: {format_word(word.reserved)}. They must be 0."
        if elsewhere := _describe_elsewhere(word):
            message = f"{message} {elsewhere}"
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
        message = f"The sparsity selector is {selector}, but in the word A is dense."
        yield FieldNotice("selector_of_dense", "sparsity_selector", message, row.source)
    elif selector >= row.selectors:
        message = (
            f"The sparsity selector is {selector}. kind::{row.name} reads all columns of the metadata: it must be 0."
        )
        yield FieldNotice("selector_of_kind", "sparsity_selector", message, SELECTORS)


def _check_scale_ids(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield a scale-factor id where four factors fill the column."""
    if word.format_field("scale_type") != "ue4m3" or word.format_field("k") == K96 or word.on_rubin:
        return  # on sm_107 ue4m3 may also be scale_vec::2X
    for name in ("sfa_id", "sfb_id"):
        code = word.get_code(name)
        if code:
            message = (
                f"{word.kind.get_field(name).field.title} is {code}. ue4m3 means scale_vec::4X, whose four factors"
            )
            yield FieldNotice("id_of_4x", name, f"{message} fill the column: the id must be 0.", IDS)


def _check_k96(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield K = 96 of a sparse product."""
    if word.sparse and word.format_field("k") == K96 and not word.on_rubin:
        message = "K = 96 is for dense products; in the word A is sparse."
        yield FieldNotice("k96_sparse", "k", message, word.kind.source)


def _check_target(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield a kind, or K = 96, that the target does not have."""
    if why := explain_missing(f"kind::{word.kind.name}", list_targets_of_kind(word.kind.name), word.target):
        yield FieldNotice("not_on_target", "kind", " ".join(why), catalog.get_assembler_release())
    elif word.target and word.format_field("k") == K96 and word.target not in _K96_TARGETS:
        allowed = join_words(list(_K96_TARGETS), "or")
        yield FieldNotice("not_on_target", "k", f"K = 96 requires {allowed}, not {word.target}.", SIZES_94)


def _check_rubin(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield errors in the fields that only sm_107 has. PTX ISA 9.4, Tables 48, 53 and 62."""
    row = word.kind
    if not word.on_rubin:
        return
    if word.get_code("k_high") and word.get_code("k"):
        yield FieldNotice("reserved_code", "k", "Bits 3 and 31 are set: K 3 is not defined.", row.source)
    if word.get_code("k_high") and word.sparse:
        message = "K = 128 is for dense products; in the word A is sparse."
        yield FieldNotice("k128_sparse", "k", message, row.source)
    if row.element_bits == 8 and row.has_field("k") and word.get_code("k") and not word.sparse:
        yield from _check_wide_types(word)
    if row.has_field("sparsity_version") and word.sparse and not word.get_code("sparsity_version"):
        message = "The sparsity version is v0; sm_107a reads the metadata of v1."
        yield FieldNotice("sparsity_version", "sparsity_version", message, row.source)


def _check_wide_types(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield types narrower than 8 bits in a dense product with K = 64 that must have 8 bits."""
    for side in "ab":
        element = word.types[side]
        if element not in ("e3m2", "e2m3", "e2m1"):
            continue
        if not word.kind.scaled:
            message = f"{side.upper()} is {element}. With K = 64, kind::{word.kind.name} requires e4m3 or e5m2."
            yield FieldNotice("k64_type", side, message, SIZES_94)
        elif word.format_field(f"transpose_{side}") == "MN":
            message = f"{side.upper()} is MN-major with {element}. With K = 64, this requires e4m3 or e5m2."
            yield FieldNotice("bad_major", f"transpose_{side}", message, "PTX ISA 9.4, Table 62")


_RULES: tuple[Callable[[IdescWord], Iterator[FieldNotice]], ...] = (
    _check_target,
    _check_rubin,
    _check_codes,
    _check_types,
    _check_majors,
    _check_selector,
    _check_scale_ids,
    _check_k96,
)


def _describe_elsewhere(word: IdescWord) -> str:
    """Return a sentence with the fields of sm_107 that contain a word's reserved bits.

    "" if a target is given, or if some bit has no meaning there either.
    """
    on_rubin = replace(word, target=RUBIN)
    parts = [part for part in on_rubin.kind.parts if word.reserved >> part.field.low & part.field.most]
    if word.target or on_rubin.reserved or not all(part.is_legal(word.word) for part in parts):
        return ""
    fields = [f"{part.field.title} {part.format_code(word.word)}" for part in parts]
    return format_elsewhere(RUBIN, fields, on_rubin.kind.source)


def _is_disputed(word: IdescWord, part: KindField) -> bool:
    """Return whether PTX contradicts itself about the code: the ids of K = 96."""
    return part.name in ("sfa_id", "sfb_id") and word.format_field("k") == K96


def _describe_illegal_code(word: IdescWord, part: KindField) -> tuple[str, str, str]:
    """Return (code, field, message) of a code without a meaning in this kind."""
    code, row, title = part.field.get(word.word), word.kind, part.field.title
    legal = join_words(
        [name if name == str(value) else f"{value} ({name})" for name, value in part.codes.items()], "or"
    )
    also = [
        other.name
        for other in KINDS
        if other.name != row.name and other.has_field(part.name) and code in other.get_field(part.name).codes.values()
    ]
    elsewhere = f" kind::{also[0]} defines it." if also and part.chosen and part.name != "k" else ""
    label = title[:1].upper() + title[1:]
    return "reserved_code", part.name, f"{label} {code} is not defined for kind::{row.name}: {legal}.{elsewhere}"


def find_form_problems(word: IdescWord, form: str) -> list[FieldNotice]:
    """Return the errors of a word in one form: `cta_group::1`, `cta_group::2` or `ws`."""
    row, form_text = word.kind, CALLED[form]
    sizes = row.sizes.get((form, word.sparse))
    if sizes is None:
        reason = "" if any(known == form for known, _ in row.sizes) else "block scaling has no such form"
        return [FieldNotice("no_form", "form", f"kind::{row.name} has no {form_text}: {reason}.", SIZES)]
    problems = []
    dense = "a sparse A" if word.sparse else "a dense A"
    if word.m not in sizes.m:
        allowed = join_words([str(m) for m in sizes.m], "or")
        pair = " It is the M of the pair, both CTAs together." if form == PAIR and word.m == 64 else ""
        problems.append(
            FieldNotice("bad_m", "m", f"M is {word.m}. {form_text} with {dense} requires {allowed}.{pair}", SIZES)
        )
    if word.n not in sizes.n:
        problems.append(
            FieldNotice("bad_n", "n", f"N is {word.n}. {form_text} with {dense} requires {sizes.n_words}.", SIZES)
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
        message = f"N is {word.n}. For an MN-major B of 8 bits, N must be a multiple of {step} with {CALLED[form]}."
        yield FieldNotice("bad_n", "n", message, "PTX ISA 9.1, Table 52")


def find_problems_by_form(word: IdescWord) -> dict[str, list[FieldNotice]]:
    """Map each form to its errors beyond those of find_problems; [] if it is legal."""
    return {form: find_form_problems(word, form) for form in FORMS}


def find_legal_forms(word: IdescWord) -> tuple[str, ...]:
    """Return the forms in which the word is legal."""
    return () if find_problems(word) else tuple(form for form, why in find_problems_by_form(word).items() if not why)


def find_warnings(word: IdescWord) -> list[FieldNotice]:
    """Return warnings about a legal word, each with its reason."""
    row = word.kind
    warnings = list(_list_k96_warnings(word)) if word.format_field("k") == K96 else []
    if word.on_rubin:
        warnings += _find_rubin_warnings(word)
    if word.sparse and 1 < word.get_code("sparsity_selector") < row.selectors:
        message = "CUTLASS uses the selectors 0 and 1; the meaning of 2 and 3 is not documented."
        warnings.append(FieldNotice("selector_open", "sparsity_selector", message, "CUTLASS, mma_traits_sm100.hpp"))
    if row.alike and word.types["a"] != word.types["b"]:
        first_type, other = row.get_field("a").codes
        message = (
            f"Whether A may be {first_type} and B {other} is not documented; CUTLASS's collectives use the same type."
        )
        warnings.append(FieldNotice("mixed_types", "b", message, SIZES))
    modes = TCGEN05.turned.get(row.element_bits, ())
    if len(modes) == 1 and "MN" in (word.format_field("transpose_a"), word.format_field("transpose_b")):
        message = f"An MN-major {row.name} operand is read only with the swizzle {modes[0].name}."
        warnings.append(FieldNotice(f"{row.name}_major", "transpose_a", message, "PTX ISA 9.1, Table 54"))
    if turned := _find_narrow_mn_major(word):
        source = "CUTLASS; not run on hardware"
        warnings.append(FieldNotice("narrow_major", f"transpose_{turned[0][0]}", describe_narrow(word), source))
    if not word.target and (lacking := list_architectures_without(row.name)):
        targets = format_targets(list_targets_of_kind(row.name))
        verb = "does" if len(lacking) == 1 else "do"
        message = f"{targets} have kind::{row.name}; {join_words(lacking)} {verb} not."
        warnings.append(FieldNotice(f"{row.name}_target", "kind", message, catalog.get_assembler_release()))
    return warnings


def _list_k96_warnings(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield warnings about a word with K = 96."""
    if word.m != 256:
        message = (
            "PTX's table lists K = 96 for M = 256 only; CUTLASS also runs it with M = 128, which is not documented."
        )
        yield FieldNotice("k96_m", "m", message, SIZES)
    if word.get_code("sfa_id") % 2 or word.get_code("sfb_id") % 2:
        message = (
            "PTX allows the ids 0 and 2 in Table 44, and 0 to 3 with K = 96 in 9.7.16.10.7.2. Which holds is not"
            " documented."
        )
        yield FieldNotice("k96_id", "sfa_id", message, word.kind.source)
    if not word.target:
        message = f"K = 96 requires {join_words(list(_K96_TARGETS), 'or')}."
        yield FieldNotice("k96_target", "k", message, SIZES_94)


_OPEN_SPARSE_K = {
    "f8f6f4": "K = 128 of a sparse product is in PTX's Table 48, but not in Table 51, which defines the bit."
}


def _find_rubin_warnings(word: IdescWord) -> Iterator[FieldNotice]:
    """Yield warnings about what PTX ISA 9.4 does not specify in a word of sm_107."""
    row = word.kind
    wide = word.format_field("k") in (str(2 * row.k), K96)
    if wide and word.sparse and (message := _OPEN_SPARSE_K.get(row.name)):
        yield FieldNotice("k128_open", "k", message, f"{SIZES_94}; {row.source}")
    if wide and not word.sparse and word.m == 64:
        message = f"PTX lists K = {word.k} only with M = 128, and for a pair with M = 256; M is 64."
        yield FieldNotice("wide_k_m", "m", message, SIZES_94)
    if wide and word.n % 16:
        message = f"PTX lists N in steps of 8 or of 16 for K = {word.k} without saying which; N is {word.n}."
        yield FieldNotice("wide_k_n", "n", message, SIZES_94)
    if row.has_field("sparsity_version") and not word.sparse and not word.get_code("sparsity_version"):
        message = "PTX demands sparsity version v1 on sm_107a. Whether a dense product heeds it is not documented."
        yield FieldNotice("sparsity_version", "sparsity_version", message, row.source)
    if word.get_code("sfa_layout"):
        message = "A's factors are in 128 lanes, once each; PTX shows that layout only in Figures 238 to 256."
        yield FieldNotice("sfa_layout", "sfa_layout", message, "PTX ISA 9.4, 9.7.18.10.7.2")


def _find_narrow_mn_major(word: IdescWord) -> list[tuple[str, str]]:
    """Return (operand, type) of every MN-major operand of 4 or 6 bits."""
    types = word.types
    turned = (side for side in "ab" if word.format_field(f"transpose_{side}") == "MN")
    return [
        (side, types[side]) for side in turned if types[side] in word.kind.turned and get_dtype(types[side]).bits < 8
    ]


def describe_narrow(word: IdescWord) -> str:
    """Return what is known about MN-major operands of 4 or 6 bits; "" if there are none."""
    names = [f"{side.upper()} ({element})" for side, element in _find_narrow_mn_major(word)]
    if not names:
        return ""
    return (
        f"{join_words(names)} {'is' if len(names) == 1 else 'are'} MN-major: PTX's Table 54 lists 8 and 16 bits. In"
        f" kind::{word.kind.name} each of these elements occupies a byte, and CUTLASS builds and tests both majors. Not"
        " run on hardware."
    )
