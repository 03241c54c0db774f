"""Find which descriptor each instruction gets for each operand, for every iteration of the text's loops.

`contents.py` calls `find_code_uses` for asm statements, calls and bare descriptors; `words.py` handles printed words.
`bench_builder.py` calls `group_by_tile` to separate uses that read different tiles.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, cast

from lanescope.ptx.table.descriptors import START, TCGEN05, fit_format
from lanescope.reader.code import builders
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.findings import AsmRun, BodilessCall, FoundDescriptor
from lanescope.reader.code.integer_values import get_integer
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt
from lanescope.reader.immediates import find_transposes
from lanescope.workbench.addresses import list_start_names
from lanescope.workbench.asm_operands import can_be_word, count_left_out, find_operand_argument
from lanescope.workbench.descriptor_arguments import ArgumentSources, DescriptorArgument
from lanescope.workbench.mma_runs import find_mma_runs
from lanescope.workbench.named_atoms import find_atom_mention
from lanescope.workbench.names import find_operand_letter
from lanescope.workbench.scan import InstructionMention, find_mentions

if TYPE_CHECKING:
    from lanescope.ptx.instruction import Instruction

MOST = 256  # uses of one text
_CALL = re.compile(r"mma|gemm", re.I)  # name of a call that takes descriptors


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptorUse:
    """One execution of an instruction with its descriptors.

    arguments: operand → descriptor; why: how each was identified; site: the instruction's place and the calls around
    it; loops: (variable, value), outermost first; of: the function it runs in.
    """

    mention: InstructionMention | None
    arguments: Mapping[str, DescriptorArgument]
    why: Mapping[str, str]
    site: tuple[Any, ...]
    loops: tuple[tuple[str, int], ...]
    of: str
    order: int
    assumed: bool = False  # whether the operand is assumed
    computed: bool = True  # by code, so that its shifts are known
    sure: bool = True  # whether the text says which instruction it is, not only that it has some
    registers: bool | None = None
    again: bool = False  # a printed word that repeats the previous one but is a step of its own
    majors: Mapping[str, str] = field(default_factory=dict)


def find_code_uses(
    evaluation: Evaluation, mentions: tuple[InstructionMention, ...], tcgen05: bool = False, target: str = ""
) -> list[DescriptorUse]:
    """List the uses in code: executed asm statements, else calls with descriptors, else the descriptors alone.

    tcgen05: whether uses of tcgen05.mma are included, decoded for `target` ("" for any).
    """
    sources = ArgumentSources(evaluation)
    asm_uses = find_asm_uses(evaluation.asm_runs, mentions)
    if tcgen05:
        asm_uses += find_tcgen05_uses(evaluation.asm_runs, target)
    loose = [replace(use, arguments=sources.find_arguments(use.arguments)) for use in asm_uses]
    descriptor_values = {g.value for use in loose for g in use.arguments.values()}
    calls = [
        use
        for use in find_call_uses(evaluation, mentions)
        if not descriptor_values & {g.value for g in use.arguments.values()}
    ]
    uses = sorted([*loose, *calls], key=lambda use: use.order)
    if uses:
        return uses[:MOST]
    fed = any(
        "mma" in run.text for run in evaluation.asm_runs
    )  # their descriptors are open, hence also which of these they read
    return [use for use in find_unread_descriptors(evaluation, mentions) if not (fed and use.assumed)][:MOST]


# asm statements -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Wgmma:
    """An asm statement with a wgmma. cut: operands that the text omits before the descriptors."""

    ran: AsmRun
    mention: InstructionMention
    cut: int

    @property
    def registers(self) -> bool:
        """Whether A comes from registers."""
        return bool(self.mention.registers)

    def find_arguments(self) -> dict[str, DescriptorArgument]:
        """Map each operand to its descriptor."""
        arguments: dict[str, DescriptorArgument] = {}
        for name, argument in zip("ab", self.mention.arguments[1:3], strict=True):
            value, span, enclosing = find_operand_argument(self.ran, argument, self.cut)
            if value is not None and not (name == "a" and self.registers) and can_be_word(value):
                arguments[name] = DescriptorArgument(value, span, argument, enclosing)
        return arguments

    def immediates(self) -> dict[str, int | None]:
        """Map each operand to its transpose immediate, None if the text leaves it open."""
        transposes = find_transposes(self.mention.instruction, self.mention.arguments, self.registers)
        values = {name: find_operand_argument(self.ran, argument, self.cut)[0] for name, argument in transposes.items()}
        return {name: None if value is None else value.known for name, value in values.items()}


_MAJORS: dict[int | None, str] = {0: "K", 1: "MN"}  # transpose immediate → major


def _find_wgmmas(asm_runs: Iterable[AsmRun]) -> Iterator[tuple[AsmRun, InstructionMention]]:
    """Yield (asm statement, wgmma that names D, A and B)."""
    parsed: dict[str, InstructionMention | None] = {}
    for run in asm_runs:
        if "mma" not in run.text:
            continue
        if run.text not in parsed:
            parsed[run.text] = next((m for m in find_mentions(run.text) if m.instruction.family.by_descriptor), None)
        mention = parsed[run.text]
        if mention is not None and len(mention.arguments) >= 3:
            yield run, mention


def _find_stated_majors(asm_runs: Iterable[AsmRun]) -> dict[str, str]:
    """Map each operand to the major that every asm statement with a transpose immediate states."""
    stated: dict[str, set[str]] = {}
    for run, mention in _find_wgmmas({each.text: each for each in asm_runs}.values()):
        wgmma = _Wgmma(run, mention, count_left_out(run, mention.arguments[1:3]))
        for name, immediate in wgmma.immediates().items():
            stated.setdefault(name, set()).add(_MAJORS.get(immediate, ""))
    return {name: next(iter(each)) for name, each in stated.items() if len(each) == 1 and each != {""}}


def find_asm_uses(asm_runs: Iterable[AsmRun], mentions: tuple[InstructionMention, ...]) -> list[DescriptorUse]:
    """List the uses of asm statements with a wgmma and numbered operands."""
    uses = []
    for run, mention in _find_wgmmas(asm_runs):
        descriptors = mention.arguments[2:3] if mention.registers else mention.arguments[1:3]
        use = _make_wgmma_use(_Wgmma(run, mention, count_left_out(run, descriptors)), mentions)
        uses += [use] if use is not None else []
    return uses


def _make_wgmma_use(wgmma: _Wgmma, mentions: tuple[InstructionMention, ...]) -> DescriptorUse | None:
    """Return the use of an asm statement; None if none of its descriptors is known."""
    arguments, run = wgmma.find_arguments(), wgmma.ran
    if not arguments:
        return None
    places = [m.span for m in mentions if run.span[0] <= m.span[0] < run.span[1]]
    return DescriptorUse(
        mention=replace(wgmma.mention, span=places[0] if places else run.span),
        arguments=arguments,
        why={n: f"operand {n} of the asm statement is {g.name}" for n, g in arguments.items()},
        site=(run.span, *(span for _, span in run.calls)),
        loops=_list_known_loops(run.loops),
        of=_format_call_names(run.calls),
        order=run.order,
        registers=wgmma.registers,
        majors={name: _MAJORS[immediate] for name, immediate in wgmma.immediates().items() if immediate in _MAJORS},
    )


def find_tcgen05_uses(asm_runs: Iterable[AsmRun], target: str = "") -> list[DescriptorUse]:
    """Find the uses of asm statements with a tcgen05.mma whose instruction descriptor is known."""
    uses = []
    start = fit_format(TCGEN05, target).get_field(START.name)
    for mma in find_mma_runs(asm_runs, target):
        run = mma.run
        arguments: dict[str, DescriptorArgument] = {}
        cut = count_left_out(run, [argument for _, argument in mma.descriptors])
        for name, argument in mma.descriptors:
            value, span, enclosing = find_operand_argument(run, argument, cut)
            if value is not None and can_be_word(value):
                arguments[name] = DescriptorArgument(value, span, argument, enclosing, start)
        if not arguments:
            continue
        uses.append(
            DescriptorUse(
                # a stand-in: it has the attributes of an instruction that the workbench uses
                mention=InstructionMention(cast("Instruction", mma.instruction), run.span),
                arguments=arguments,
                why={n: f"operand {n} of the asm statement is {g.name}" for n, g in arguments.items()},
                site=(run.span, *(span for _, span in run.calls)),
                loops=_list_known_loops(run.loops),
                of=_format_call_names(run.calls),
                order=run.order,
                registers=mma.a_in_memory,
                majors=dict(mma.instruction.majors),
            )
        )
    return uses


# calls of functions without a body ------------------------------------------------------------------------------------


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
    atom = find_atom_mention(call) if words else None
    if not words or (len(words) == 1 and atom is None and not _CALL.search(call.term.head)):
        return None
    mention = atom or _find_mention(call.term.span, mentions)
    registers = in_registers(mention)
    named = [find_operand_letter(*list_start_names(value)) for value in words]
    which = _name_operands(named, registers)
    if not which:
        return None
    descriptors = {name: words[n] for name, n in which.items()}
    return DescriptorUse(
        mention=mention,
        arguments={
            name: _find_arguments(call.term.span, known[v.const, v.pieces], v, text) for name, v in descriptors.items()
        },
        why={n: _explain_operand(n, at, words[at], call.term.head, registers) for n, at in which.items()},
        site=(call.term.span, *(span for _, span in call.calls)),
        loops=_list_known_loops(call.loops),
        of=_format_call_names(call.calls),
        order=call.order,
        assumed=len(words) == 1 and named[0] is None and not registers,
        sure=mention is not None and call.term.span[0] <= mention.span[0] < call.term.span[1],
        registers=registers if atom else registers or None,
        majors=mention.majors if mention else {},
    )


def _list_descriptors(call: BodilessCall, known: Collection[tuple[int, Any]]) -> list[SymbolicInt]:
    """Return the arguments of a call that are descriptors built by the text."""
    values = (get_integer(value) for value in call.term.arguments if not isinstance(value, str))
    return [v for v in values if v is not None and (v.const, v.pieces) in known and can_be_word(v)]


def in_registers(mention: InstructionMention | None) -> bool:
    """Return whether the text says that A comes from registers."""
    return mention is not None and mention.registers is True


def _list_bodiless_calls(evaluation: Evaluation) -> Iterator[BodilessCall]:
    """List the calls of bodiless functions, without those that only compute an operand of an asm statement."""
    inside = {call.span for call in evaluation.asm_runs}  # loops run one statement many times
    return (
        call for call in evaluation.bodiless_calls if not any(low <= call.term.span[0] < high for low, high in inside)
    )


def _find_mention(call: Span, mentions: Iterable[InstructionMention]) -> InstructionMention | None:
    """Return the instruction inside a call, else the text's first that reads descriptors, as last mentioned."""
    inside = next((m for m in mentions if call[0] <= m.span[0] < call[1]), None)
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


def _assign_by_address(value: SymbolicInt) -> str:
    return f"its address comes from {list_start_names(value)[0]}"


def _explain_operand(operand: str, n: int, value: SymbolicInt, head: str, registers: bool) -> str:
    """Explain why the n-th descriptor of a call is an operand's."""
    named = find_operand_letter(*list_start_names(value))
    return _assign_by_address(value) if named == operand else _assign_by_place(n, head, registers)


def _assign_by_place(n: int, head: str, registers: bool) -> str:
    """Explain why the n-th descriptor of a call is an operand's, if its address does not say."""
    place = ("first", "second")[n] if n < 2 else f"{n + 1}th"
    return "A is in registers" if registers else f"it is the {place} descriptor that {head} is given"


def _find_argument_place(descriptor: FoundDescriptor, call: Span, text: str) -> tuple[Span, tuple[Span, ...]]:
    """Find (place, calls around it) of a descriptor given to a call.

    The place is in the call, in the words that build the descriptor, or at the variable that it names.
    """
    low, past = call
    if low <= descriptor.span[0] < past or not text:
        return descriptor.span, _list_enclosing_calls(descriptor)
    at = text.find(descriptor.name, low, past)
    if at >= 0 and not descriptor.name.isidentifier():
        return (at, at + len(descriptor.name)), ()
    return (descriptor.span, _list_enclosing_calls(descriptor)) if at >= 0 else (call, ())


def _list_enclosing_calls(descriptor: FoundDescriptor) -> tuple[Span, ...]:
    """Return the calls around a descriptor, innermost first, without the function that contains it."""
    return tuple(
        span
        for span in reversed(descriptor.calls)
        if not (span[0] <= descriptor.span[0] and descriptor.span[1] <= span[1])
    )


# descriptors that nothing takes ---------------------------------------------------------------------------------------


def find_unread_descriptors(evaluation: Evaluation, mentions: tuple[InstructionMention, ...]) -> list[DescriptorUse]:
    """Find descriptors that code builds and that no instruction of the text is seen to read."""
    mention = next((m for m in mentions if m.instruction.family.by_descriptor), None)
    registers = in_registers(mention)
    majors = {**_find_stated_majors(evaluation.asm_runs), **(mention.majors if mention else {})}
    groups = _group_descriptors(evaluation)
    uses: list[DescriptorUse] = []
    for name, of_name in groups.items():
        for n, group in enumerate(of_name):
            first = "ab"[min(n, 1)] if "a" not in groups else "b"
            letter = name or ("b" if registers else first)
            for descriptor in group:
                uses.append(
                    DescriptorUse(
                        mention=mention,
                        arguments={
                            letter: DescriptorArgument(
                                descriptor.value, descriptor.span, descriptor.name, _list_enclosing_calls(descriptor)
                            )
                        },
                        why={letter: _explain_lone_descriptor(group[0].name, name, descriptor.value, registers)},
                        site=(descriptor.span, *descriptor.calls),
                        loops=_list_known_loops(descriptor.loops),
                        of=group[0].name,
                        order=len(uses),
                        assumed=not name and not registers,
                        sure=False,
                        registers=registers or None,
                        majors=majors,
                    )
                )
    return uses


def _group_descriptors(evaluation: Evaluation) -> dict[str, list[list[FoundDescriptor]]]:
    """Map each operand, "" if names do not tell, to groups of descriptors of which something is known."""
    groups: dict[str, list[list[FoundDescriptor]]] = {}
    for group in builders.group_values(evaluation):
        if any(descriptor.value.plain is None or descriptor.value.known is not None for descriptor in group):
            named = builders.find_operand_name(group[0].name) or find_operand_letter(*list_start_names(group[0].value))
            groups.setdefault(named or "", []).append(group)
    return groups


def _explain_lone_descriptor(group: str, operand: str, value: SymbolicInt, registers: bool) -> str:
    """Explain to which operand an unused descriptor belongs; group: its name; operand: what names suggest."""
    if builders.find_operand_name(group):
        return f"its name is {group}"
    if operand:
        return _assign_by_address(value)
    return "A is in registers" if registers else "the text does not say which operand it is"


# shared --------------------------------------------------------------------------------------------------------------


def _list_known_loops(loops: tuple[tuple[str, SymbolicInt], ...]) -> tuple[tuple[str, int], ...]:
    """List the loops with known values; variables of the same name are told apart."""
    known: list[tuple[str, int]] = []
    for name, value in loops:
        if value.known is not None:
            count = sum(name == other.split("'")[0] for other, _ in known)
            known.append((name + "'" * count, value.known))
    return tuple(known)


def _format_call_names(calls: tuple[tuple[str, Span], ...]) -> str:
    return calls[0][0] if calls else ""


def group_by_tile(uses: list[DescriptorUse]) -> list[list[DescriptorUse]]:
    """Group uses by the tiles that they read: uses of one operand without a common address name read two tiles."""
    owner: dict[str, int] = {}
    groups: list[int] = []

    def root(n: int) -> int:
        while groups[n] != n:
            n = groups[n]
        return n

    keys: list[tuple[int, ...]] = []
    for use in uses:
        key = []
        for name in sorted(use.arguments):
            names_of = [f"{name}:{n}" for n in list_start_names(use.arguments[name].value)]
            known = sorted({root(owner[n]) for n in names_of if n in owner})
            at = known[0] if known else len(groups)
            if not known:
                groups.append(at)
            for other in known[1:]:
                groups[other] = at
            owner.update(dict.fromkeys(names_of, at))
            key.append(at)
        keys.append(tuple(key))
    by_root: dict[tuple[str, tuple[int, ...]], list[DescriptorUse]] = {}
    for use, roots in zip(uses, keys, strict=True):
        by_root.setdefault(("".join(sorted(use.arguments)), tuple(map(root, roots))), []).append(use)
    alone = {name: [group for (letters, _), group in by_root.items() if letters == name] for name in "ab"}
    both = [group for (letters, _), group in by_root.items() if letters == "ab"]
    none: list[DescriptorUse] = []
    return [*both, *(first_group + two for first_group, two in zip_longest(alone["a"], alone["b"], fillvalue=none))]
