"""Find which descriptor each instruction gets for each operand, for every iteration of the text's loops.

`contents.py` calls `find_code_uses` for asm statements, calls and bare descriptors; `words.py` handles printed words.
`workbench_builder.py` calls `group_by_tile` to separate uses that read different tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, cast

from lanescope.ptx.table.descriptors import START, TCGEN05, fit_format
from lanescope.reader.code.descriptors import builders
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.findings import AsmRun, FoundDescriptor
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.instructions.immediates import find_transposes
from lanescope.workbench.descriptors.call_uses import find_call_uses
from lanescope.workbench.descriptors.descriptor_arguments import ArgumentSources, DescriptorArgument
from lanescope.workbench.descriptors.descriptor_use import (
    DescriptorUse,
    explain_by_address,
    format_call_names,
    in_registers,
    is_uncounted,
    list_enclosing_calls,
    list_known_loops,
)
from lanescope.workbench.tensor_memory.mma_runs import find_mma_runs
from lanescope.workbench.text.addresses import list_start_names
from lanescope.workbench.text.asm_operands import can_be_word, count_left_out, find_operand_argument
from lanescope.workbench.text.names import find_operand_letter
from lanescope.workbench.text.scan import InstructionMention, find_mentions

if TYPE_CHECKING:
    from lanescope.ptx.instruction import Instruction

MOST = 1024  # uses of one text


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
    loose = [replace(use, arguments=sources.trace_arguments(use.arguments)) for use in asm_uses]
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
        loops=list_known_loops(run.loops),
        uncounted=is_uncounted(run.loops),
        function=format_call_names(run.calls),
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
                loops=list_known_loops(run.loops),
                uncounted=is_uncounted(run.loops),
                function=format_call_names(run.calls),
                order=run.order,
                registers=mma.a_in_memory,
                majors=dict(mma.instruction.majors),
            )
        )
    return uses


# descriptors without a reader ---------------------------------------------------------------------------------------


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
                                descriptor.value, descriptor.span, descriptor.name, list_enclosing_calls(descriptor)
                            )
                        },
                        why={letter: _explain_lone_descriptor(group[0].name, name, descriptor.value, registers)},
                        site=(descriptor.span, *descriptor.calls),
                        loops=list_known_loops(descriptor.loops),
                        uncounted=is_uncounted(descriptor.loops),
                        function=group[0].name,
                        order=len(uses),
                        assumed=not name and not registers,
                        sure=False,
                        registers=registers or None,
                        majors=majors,
                    )
                )
    return uses


def _group_descriptors(evaluation: Evaluation) -> dict[str, list[list[FoundDescriptor]]]:
    """Map each operand, "" if names do not indicate one, to groups of descriptors that are known at least in part."""
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
        return explain_by_address(value)
    return "A is in registers" if registers else "the text does not say which operand it is"


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
