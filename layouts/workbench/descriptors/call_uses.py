"""Find the descriptors that calls of functions without a body take, and the operands that they are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from lanescope.reader.code.cute.cute_mmas import parse_major
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import BodilessCall, FoundDescriptor
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt
from lanescope.reader.code.values import ResolvedType
from lanescope.reader.cutlass_names.cutlass import find_wgmma
from lanescope.workbench.descriptors.descriptor_arguments import DescriptorArgument
from lanescope.workbench.descriptors.descriptor_use import (
    DescriptorUse,
    explain_by_address,
    format_call_names,
    in_registers,
    is_uncounted,
    list_enclosing_calls,
    list_known_loops,
)
from lanescope.workbench.text.addresses import list_start_names
from lanescope.workbench.text.asm_operands import can_be_word
from lanescope.workbench.text.names import find_operand_letter
from lanescope.workbench.text.scan import InstructionMention

_OWNER = "::"
_CALL = re.compile(r"mma|gemm", re.I)  # name of a call that takes descriptors


def find_call_uses(evaluation: Evaluation, mentions: tuple[InstructionMention, ...]) -> list[DescriptorUse]:
    """Find bodiless calls with descriptors: the first is A's, the second B's, unless names say otherwise."""
    known: dict[tuple[int, Any], list[FoundDescriptor]] = {}
    for bodiless in evaluation.descriptors:
        known.setdefault((bodiless.value.const, bodiless.value.pieces), []).append(bodiless)
    uses = (_make_call_use(call, known, mentions, evaluation.text) for call in _list_bodiless_calls(evaluation))
    return [use for use in uses if use is not None]


def _make_call_use(
    call: BodilessCall,
    known: Mapping[tuple[int, Any], Sequence[FoundDescriptor]],
    mentions: tuple[InstructionMention, ...],
    text: str,
) -> DescriptorUse | None:
    """Return the use of a call; None if it takes no descriptors, or its name does not suggest a multiplication."""
    words = _list_descriptors(call, known)
    if not words:
        return None
    atom = _find_atom_mention(call)
    if len(words) == 1 and atom is None and not _CALL.search(call.term.head):
        return None
    at = call.term.span
    mention = atom or _find_mention(at, mentions)
    registers = in_registers(mention)
    named = _suggest_operands(words, known)
    which = _name_operands(named, registers)
    if not which:
        return None
    return DescriptorUse(
        mention=mention,
        arguments={
            name: _find_arguments(at, known[words[n].const, words[n].pieces], words[n], text)
            for name, n in which.items()
        },
        why={name: _explain_operand(name, n, words[n], call.term.head, registers) for name, n in which.items()},
        site=(at, *(span for _, span in call.calls)),
        loops=list_known_loops(call.loops),
        uncounted=is_uncounted(call.loops),
        function=format_call_names(call.calls),
        order=call.order,
        assumed=named == [None] and not registers,
        sure=_is_inside(mention, at),
        registers=registers if atom else registers or None,
        majors=mention.majors if mention else {},
    )


def _suggest_operands(
    words: Sequence[SymbolicInt], known: Mapping[tuple[int, Any], Sequence[FoundDescriptor]]
) -> list[str | None]:
    """Return the operand that the name of each descriptor's address suggests; of a lone one, that of its own name, too,
    since the other argument may be an unknown descriptor.
    """
    named = [find_operand_letter(*list_start_names(value)) for value in words]
    return named if named != [None] else [find_operand_letter(known[words[0].const, words[0].pieces][0].name)]


def _is_inside(mention: InstructionMention | None, call: Span) -> bool:
    return mention is not None and call[0] <= mention.span[0] < call[1]


def _list_descriptors(call: BodilessCall, known: Collection[tuple[int, Any]]) -> list[SymbolicInt]:
    """Return the arguments of a call that are descriptors built by the text."""
    values = (get_integer(value) for value in call.term.arguments if not isinstance(value, str))
    return [v for v in values if v is not None and (v.const, v.pieces) in known and can_be_word(v)]


def _list_bodiless_calls(evaluation: Evaluation) -> Iterator[BodilessCall]:
    """List the calls of bodiless functions, without those that only compute an operand of an asm statement."""
    inside = {call.span for call in evaluation.asm_runs}  # loops run one statement many times
    return (
        call for call in evaluation.bodiless_calls if not any(low <= call.term.span[0] < high for low, high in inside)
    )


def _find_mention(call: Span, mentions: Iterable[InstructionMention]) -> InstructionMention | None:
    """Return the instruction in a call; else the last mention of the text's first that reads descriptors."""
    inside = next((mention for mention in mentions if _is_inside(mention, call)), None)
    if inside is not None:
        return inside
    by_descriptor = [m for m in mentions if m.instruction.family.by_descriptor]
    first = by_descriptor[0].instruction.ptx if by_descriptor else ""
    return next((m for m in reversed(by_descriptor) if m.instruction.ptx == first), None)


def _name_operands(named: Sequence[str | None], registers: bool) -> dict[str, int]:
    """Map each operand to the index of its descriptor in a call; named: what the names of their addresses suggest."""
    letters = list(named)
    if letters == ["b", "a"]:  # every such function takes A's first: these two are exchanged
        letters = ["a", "b"]
    elif len(letters) == 2 and None in letters:
        letters = ["a", "b"] if letters[1] != "a" and letters[0] != "b" else ["b", "a"]
    elif letters == [None]:
        letters = ["b"] if registers else ["a"]
    operands: dict[str, int] = {}
    for n, name in enumerate(letters):
        if name:
            operands.setdefault(name, n)
    return operands


def _find_arguments(call: Span, same: Sequence[FoundDescriptor], value: SymbolicInt, text: str) -> DescriptorArgument:
    """Return a call's descriptor.

    Of the places with this value (`same`) the one in the call is taken, else the first.
    """
    low, past = call
    written = next((place for place in same if low <= place.span[0] and place.span[1] <= past), same[0])
    span, enclosing = _find_argument_place(written, call, text)
    return DescriptorArgument(value, span, written.name, enclosing)


def _explain_operand(operand: str, n: int, value: SymbolicInt, head: str, registers: bool) -> str:
    """Explain why the n-th descriptor of a call is an operand's."""
    named = find_operand_letter(*list_start_names(value))
    return explain_by_address(value) if named == operand else _explain_by_position(n, head, registers)


def _explain_by_position(n: int, head: str, registers: bool) -> str:
    """Explain why the n-th descriptor of a call is an operand's, if its address does not say."""
    place = ("first", "second")[n] if n < 2 else f"{n + 1}th"
    return "A is in registers" if registers else f"it is the {place} descriptor argument of {head}"


def _find_argument_place(descriptor: FoundDescriptor, call: Span, text: str) -> tuple[Span, tuple[Span, ...]]:
    """Find (place, calls around it) of a descriptor given to a call.

    The place is in the call, in the words that build the descriptor, or at the variable that it names.
    """
    low, past = call
    if low <= descriptor.span[0] < past or not text:
        return descriptor.span, list_enclosing_calls(descriptor)
    at = text.find(descriptor.name, low, past)
    if at >= 0 and not descriptor.name.isidentifier():
        return (at, at + len(descriptor.name)), ()
    return (descriptor.span, list_enclosing_calls(descriptor)) if at >= 0 else (call, ())


def _find_atom_mention(call: BodilessCall) -> InstructionMention | None:
    """Return the instruction of a call of an atom's fma, with the majors that its type states; None for other calls.

    The template arguments that begin an atom of 16-bit elements are the majors of A and B: CUTLASS,
    cute/arch/mma_sm90_gmma.hpp. An alias or a template parameter may represent the atom.
    """
    owner = dict(call.term.named).get(_OWNER)
    if call.term.head != "fma" or not isinstance(owner, ResolvedType):
        return None
    instruction = find_wgmma(owner.name)
    if instruction is None:
        return None
    majors: dict[str, str] = {}
    if instruction.operand("a").element.bits == 16:
        stated = map(parse_major, owner.arguments[:2])
        majors = {name: major for name, major in zip("ab", stated, strict=False) if major}
    return InstructionMention(instruction, call.term.span, (), majors, "_RS" in owner.name)
