"""Find the matrix descriptors that code builds, and the known values of their fields.

Source of the fields: layouts/ptx/table/descriptors.py. A word is in tcgen05's format if its version (bits 46 to 48) is
1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_

from lanescope.bits import BitField, format_word
from lanescope.descriptor.format import DescriptorFormat
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx.table.descriptors import TCGEN05, VERSION, WGMMA, find_variant_of_word, fit_format
from lanescope.reader.code.descriptors.builder_starts import find_field_start, find_start, format_free_amount
from lanescope.reader.code.descriptors.doubts import CORE, find_doubts
from lanescope.reader.code.descriptors.start_shift import find_wrong_shift
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.findings import FoundDescriptor, Pitfall, find_origins, get_field
from lanescope.reader.code.objects.half_words import get_low_half, join_half_words
from lanescope.reader.code.symbolic_integers import FIELD_SHIFT, Span, SymbolBits, SymbolicInt, make_symbol, or_ints

_START_MASK = 0x3FFF  # bits 0 to 13 of either format
MOST_BUILDERS = 24
_OPERAND = re.compile(
    r"(?:^|_)([ab])(?:$|_|\d)|[a-z](A|B)(?:$|_|\d|[A-Z])|(?:^|_)s?(A|B|[ab])_?desc|desc_?s?([abAB])(?:$|_|\d)"
)
_CHANGED = re.compile(r"\s*[|+^]=")  # a name that its declaration does not precede
_HALF = re.compile(r"(?:^|_|(?<=[a-z]))(?:[Ll]o|[Hh]i|[Ll]ow|[Hh]igh)(?:$|_|\d)")  # half of a 64-bit word


@dataclass(frozen=True, slots=True)
class BuilderIteration:
    """One iteration of the loops around a descriptor: the values of their variables, and the start and word then."""

    loops: Mapping[str, int]
    start: int | str
    word: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptorBuilder:
    """A descriptor that code builds.

    Amounts are in bytes, None if unknown; `free` then has the expression for them. start: bytes, or an expression of
    symbols and loop variables, smem_A + 32·k. origins: field → the spans that set it. operand: a or b if the variable's
    name says so.
    """

    name: str
    span: Span
    format: str
    lbo_bytes: int | None
    sbo_bytes: int | None
    base_offset: int | None
    swizzle: str | None
    start: int | str
    word: int | None
    operand: str | None = None
    free: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[Pitfall, ...] = ()
    origins: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    steps: tuple[BuilderIteration, ...] = ()
    known: int = 0  # the known bits, including those of the start
    doubts: tuple[Pitfall, ...] = ()  # what is unusual but may be right
    copied: bool = False  # whether tcgen05.cp takes it

    @property
    def undetermined(self) -> tuple[str, ...]:
        return tuple(self.free)

    @property
    def fields(self) -> dict[str, int | str | None]:
        return {
            "lbo_bytes": self.lbo_bytes,
            "sbo_bytes": self.sbo_bytes,
            "base_offset": self.base_offset,
            "swizzle": self.swizzle,
        }


def find_evaluation_builders(evaluation: Evaluation, target: str = "") -> tuple[DescriptorBuilder, ...]:
    """Find the descriptors of an evaluated text, read for a target; "" for any target."""
    builders: list[DescriptorBuilder] = []
    operands_by_key: dict[object, set[str | None]] = {}  # contents of a descriptor → the operands it is built for
    for built in build_descriptors(evaluation, target):
        key = (*built.fields.values(), built.start, frozenset(built.free.items()), built.format)
        operands = operands_by_key.setdefault(key, set())
        if not operands or (built.operand is not None and built.operand not in operands):
            operands.add(built.operand)
            builders.append(built)
    builders.sort(key=lambda b: (not b.origins.get("start_address"), len(b.free)))
    return tuple(builders[:MOST_BUILDERS])


def build_descriptors(evaluation: Evaluation, target: str = "") -> Iterator[DescriptorBuilder]:
    """Yield every descriptor of an evaluated text, once for each time it is built."""
    copied: dict[SymbolicInt, bool] = {}  # whether rows have a single core matrix
    for run in (run for run in evaluation.asm_runs if "tcgen05.cp." in run.text):
        copied.update((value, "x128b" in run.text) for _, value, _ in run.inputs if value is not None)
    for group in group_values(evaluation):
        built = _make_builder(group, evaluation.warnings, evaluation.text, target)
        single = [copied[one.value] for one in group if one.value in copied]
        yield replace(built, copied=True, doubts=_drop_unread_lbo(built, all(single))) if single else built


def _drop_unread_lbo(built: DescriptorBuilder, single: bool) -> tuple[Pitfall, ...]:
    """Return the doubts about a descriptor that a copy takes: rows of a single core matrix read no LBO."""
    unread = single and (not built.sbo_bytes or built.sbo_bytes >= CORE)
    return tuple(doubt for doubt in built.doubts if not (unread and doubt.code == "core_matrices_overlap"))


def group_values(evaluation: Evaluation) -> list[list[FoundDescriptor]]:
    """Group the values of each descriptor of an evaluated text; all iterations of its loops are in one group."""
    groups: dict[tuple[str, Span, tuple[Span, ...]], list[FoundDescriptor]] = {}
    for found in evaluation.descriptors:
        descriptor = _leave_unset_fields(found, evaluation.text)
        groups.setdefault((descriptor.name, descriptor.span, descriptor.calls), []).append(descriptor)
    return _drop_superseded(
        {
            key: group
            for key, group in groups.items()
            if not all(_is_passed_on(value) or _is_upper_word(value) for value in (one.value for one in group))
        }
    )


def _leave_unset_fields(descriptor: FoundDescriptor, text: str) -> FoundDescriptor:
    """Return a descriptor with its unset fields open, if it begins with `desc |= …` of a variable that is not declared:
    the lines above may have set them.
    """
    value = descriptor.value
    first = next((mark for mark in value.marks if not mark.bit and not mark.origin), None)
    if first is None or not text[slice(*first.span)].isidentifier() or not _CHANGED.match(text, first.span[1]):
        return descriptor
    source = make_symbol(text[slice(*first.span)])
    set_bits = [mark.bit for mark in value.marks if mark is not first]
    for part in WGMMA.fields:
        if part.amount != "base_offset" and not any(part.low <= bit <= part.high for bit in set_bits):
            bits = SymbolBits(part.low, part.width, source, FIELD_SHIFT, True)
            value = or_ints(value, SymbolicInt(0, value.type, (bits,)))
    return replace(descriptor, value=value)


def _drop_superseded(
    groups: dict[tuple[str, Span, tuple[Span, ...]], list[FoundDescriptor]],
) -> list[list[FoundDescriptor]]:
    """Drop a variable's values before a loop that advances it, and those beside its uses in that loop."""
    firsts = [group[0] for group in groups.values()]
    used = {first.name for first in firsts if first.cell is None and first.loops}
    variables = [group for group in groups.values() if group[0].cell is not None]
    moved = {id(group[0].cell): group[-1].order for group in variables if group[0].loops}
    after = {id(group[0].cell): group[-1].order for group in variables if not group[0].loops}
    left = [
        group
        for group in groups.values()
        if group[0].cell is None or not (group[0].name in used or _is_superseded(group, moved, after))
    ]
    return drop_bases(_drop_unstarted(join_half_words(_drop_halves(left))))


def _drop_halves(groups: list[list[FoundDescriptor]]) -> list[list[FoundDescriptor]]:
    """Drop the groups of 32-bit halves of a 64-bit word, recognised by name or by the low half of such a word."""
    words = [group for group in groups if group[0].value.type.bits == 64]
    if not words:
        return groups
    lows = {get_low_half(descriptor.value) for group in words for descriptor in group}
    return [
        group
        for group in groups
        if group[0].value.type.bits != 32
        or not (_HALF.search(group[0].name) or all(get_low_half(descriptor.value) in lows for descriptor in group))
    ]


def _drop_unstarted(groups: list[list[FoundDescriptor]]) -> list[list[FoundDescriptor]]:
    """Drop the groups of objects whose start is not set yet."""
    started: dict[
        tuple[str, str], list[tuple[int, int]]
    ] = {}  # (name, kind) with a start → (index of the group, other bits)
    for n, group in enumerate(groups):
        if (descriptor := group[0]).value.pieces:
            started.setdefault((descriptor.name, descriptor.kind), []).append((n, descriptor.value.const))
    return [group for n, group in enumerate(groups) if not _is_unstarted(group[-1], n, started)]


def _is_superseded(group: list[FoundDescriptor], moved: Mapping[int, int], after: Mapping[int, int]) -> bool:
    """Return whether a variable's values precede a loop that advances it, or are in a loop before a later write."""
    cell = id(group[0].cell)
    if group[0].loops:
        return after.get(cell, 0) > group[-1].order
    return moved.get(cell, 0) > group[-1].order


def _is_unstarted(
    descriptor: FoundDescriptor, at: int, started: Mapping[tuple[str, str], list[tuple[int, int]]]
) -> bool:
    """Return whether a member's value has no start yet, and a later value of its object has one and these bits."""
    if descriptor.cell is None or descriptor.value.pieces:
        return False
    bits = descriptor.value.const
    return any(
        n > at and bits & const == bits for n, const in started.get((descriptor.name, descriptor.kind), ())[-64:]
    )


def _is_passed_on(value: SymbolicInt) -> bool:
    """Return whether the upper half is copied from another descriptor, of which only the start is changed."""
    return any(p.low >= 32 and p.shift >= 32 for p in value.pieces)


def _is_upper_word(value: SymbolicInt) -> bool:
    """Return whether a value is 32 bits in the upper half that are no matrix descriptor's: CUTLASS passes instruction
    descriptors so (UMMA::make_runtime_instr_desc).
    """
    bits = reduce(or_, (piece.mask for piece in value.pieces), value.const)
    return not bits & 0xFFFFFFFF and bool(bits & WGMMA.reserved_mask & TCGEN05.reserved_mask)


def _make_builder(
    group: list[FoundDescriptor], warnings: tuple[Pitfall, ...], text: str, target: str
) -> DescriptorBuilder:
    first = group[0]
    form = fit_format(TCGEN05 if VERSION.get(first.value.const) == 1 else WGMMA, target)
    pitfalls: list[Pitfall] = list(warnings)
    origins = {f.name: find_origins(first.value, _find_first_bit(form, f), f.high) for f in form.fields}
    if version := find_origins(first.value, VERSION.low, VERSION.high):
        origins["version"] = version
    address = form.get_field("start_address")
    start = find_start(group, address.low, address.high, pitfalls, origins[address.name])
    shifted = list(find_wrong_shift(text, first.value, address.low, origins[address.name]))
    pitfalls += shifted
    origins[address.name] = (*origins[address.name], *(pitfall.span for pitfall in shifted))
    amounts, free = _get_amounts(group, form)
    swizzle = _find_mode(form, amounts.get(form.coded), pitfalls, origins.get(form.coded, ()), first.span)
    _check_reserved_bits(form, first, text, pitfalls)
    complete = first.value.known
    mask = (1 << 64) - 1
    return DescriptorBuilder(
        name=first.name,
        span=first.span,
        format=form.name,
        lbo_bytes=amounts.get("lbo"),
        sbo_bytes=amounts.get("sbo"),
        base_offset=amounts.get("base_offset"),
        swizzle=swizzle,
        start=start,
        word=complete & mask if complete is not None and len(group) == 1 else None,
        operand=find_operand_name(first.name),
        free={("swizzle" if name == form.coded else name): expression for name, expression in free.items()},
        warnings=tuple(dict.fromkeys(pitfalls)),
        origins=origins,
        steps=tuple(_make_iteration(descriptor, form) for descriptor in group) if first.loops else (),
        known=first.value.const & mask,
        doubts=find_doubts(
            text,
            first.value,
            amounts=amounts,
            swizzle=swizzle,
            origins={**origins, "swizzle": origins.get(form.coded, ())},
            span=first.span,
            codes={mode.name: code for mode, code in form.codes.items()},
            start=address,
        ),
    )


def _find_first_bit(form: DescriptorFormat, field: BitField) -> int:
    """Return the lowest bit that may set a field: a swizzle mode placed one bit too low is still meant as the mode."""
    return min(field.low, 61) if field.name == form.coded else field.low


def _get_amounts(group: list[FoundDescriptor], form: DescriptorFormat) -> tuple[dict[str, int | None], dict[str, str]]:
    """Return the fields other than the start: (amount by name, expressions of unknown amounts)."""
    amounts: dict[str, int | None] = {}
    free: dict[str, str] = {}
    for f in form.fields:
        if f.name == "start_address":
            continue
        values = [get_field(descriptor.value, f.low, f.high) for descriptor in group]
        known = values[0][0] if all(v == values[0] for v in values) else None
        amounts[f.name] = known * f.unit if known is not None else None
        if known is None:
            _, source, shift = values[0]
            free[f.amount] = format_free_amount(source, shift, f.unit) if source is not None else "several values"
    return amounts, free


def _find_mode(
    form: DescriptorFormat, code: int | None, pitfalls: list[Pitfall], spans: tuple[Span, ...], span: Span
) -> str | None:
    if code is None:
        return None
    try:
        return form.get_mode(code).name
    except LayoutError as error:
        pitfalls.append(Pitfall(error.code, error.message, spans[0] if spans else span))
        return None


def _check_reserved_bits(
    form: DescriptorFormat, descriptor: FoundDescriptor, text: str, pitfalls: list[Pitfall]
) -> None:
    bits = descriptor.value.const & form.reserved_mask & ((1 << 64) - 1)
    if bits:
        pitfalls.append(
            Pitfall(
                "reserved_bits",
                f"Bits that no field of {form.name} covers are set: {format_word(bits)}.{_name_variant(form, bits)}",
                _find_number_of_bits(text, descriptor.value, _extend_down(bits, form.reserved_mask)) or descriptor.span,
            )
        )


def _name_variant(form: DescriptorFormat, bits: int) -> str:
    """Return a sentence that names the architecture on which some bits belong to fields; "" if there is none."""
    match = find_variant_of_word(form, bits)
    if match is None:
        return ""
    names = join_words([field.phrase for field in match[1].fields if bits >> field.low & field.most])
    return f" On {match[0]} these bits belong to {names}: give the target."


def _extend_down(bits: int, within: int) -> int:
    """Extend bits down to adjacent bits of a mask, since a term is found by its lowest bit."""
    while more := bits >> 1 & within & ~bits:
        bits |= more
    return bits


def _find_number_of_bits(text: str, value: SymbolicInt, bits: int) -> Span | None:
    """Find the literal that sets some bits, in a helper or in its argument."""
    for mark in value.marks:
        if bits >> mark.bit & 1:
            for span in mark.origin:
                shifts = text[: span[0]].rstrip(" (").endswith(("<<", ">>"))
                if not shifts and text[slice(*span)].strip("uUlL0x'").isalnum() and text[span[0]].isdigit():
                    return span
    return None


def _make_iteration(descriptor: FoundDescriptor, form: DescriptorFormat) -> BuilderIteration:
    start = form.get_field("start_address")
    line = find_field_start(descriptor.value, start.low, start.high)
    begins: int | str = line if isinstance(line, str) else str(line) if line.terms else line.const
    known = descriptor.value.known
    loops = {name: v.known for name, v in descriptor.loops if v.known is not None}
    return BuilderIteration(loops, begins, known & ((1 << 64) - 1) if known is not None else None)


def find_operand_name(name: str) -> str | None:
    """Return the operand, a or b, named by a descriptor's variable; None if it names none."""
    match = _OPERAND.search(name)
    return next((g.lower() for g in match.groups() if g), None) if match else None


def drop_bases(groups: list[list[FoundDescriptor]]) -> list[list[FoundDescriptor]]:
    """Drop the groups of constants to which another descriptor adds its start: base | address >> 4."""
    values = [group[0].value for group in groups if group[0].value.pieces]
    started = [(value.const, {mark.span for mark in value.marks}) for value in values]
    return [group for group in groups if not _is_base(group, started)]


def _is_base(group: list[FoundDescriptor], started: Sequence[tuple[int, set[Span]]]) -> bool:
    """Return whether a descriptor without a start has its bits, set at the same places, in a descriptor with one."""
    value = group[0].value
    bits, spans = value.known, {mark.span for mark in value.marks}
    if bits is None or bits & _START_MASK or not spans or any(other.value.known != bits for other in group):
        return False
    return any(bits & const == bits and spans <= places for const, places in started)
