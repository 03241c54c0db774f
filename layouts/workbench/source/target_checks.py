"""Find instructions of a source text that the target does not have.

An instruction that a kernel runs, or that is in PTX, is a finding. Where it is not known whether a kernel for the
target reaches it, as in a wrapper that nothing calls or an atom of CUTLASS, it is an open point.

Sources: which forms ptxas assembles for a target (layouts/ptx/table/targets.json); nvcc's documentation (__CUDA_ARCH__,
__CUDA_ARCH_FEAT_SM90_ALL, __CUDA_ARCH_SPECIFIC__, __CUDA_ARCH_FAMILY_SPECIFIC__).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from lanescope.cxx.source_text import COMMENT, blank_matches, is_kernel_head
from lanescope.inputs import join_words
from lanescope.ptx import catalog, short_names
from lanescope.ptx.architectures import explain_missing, find_substitutes, list_targets_with
from lanescope.ptx.targets import TARGETS, strip_suffix
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.findings import AsmRun, Pitfall
from lanescope.reader.code.preprocessing.predefined import ARCHITECTURE, NOT_DEFINED
from lanescope.reader.code.ptx.ptx_module import is_ptx_module
from lanescope.reader.instructions.statements import join_literals
from lanescope.workbench.results import Span
from lanescope.workbench.tensor_memory.tcgen05 import TARGET_KEY, TCGEN05_KEY
from lanescope.workbench.text.contents import HEADERS_KEY, WORK_KEY, format_headers
from lanescope.workbench.text.function_texts import blank_text, find_functions
from lanescope.workbench.text.scan import find_mentions

TITLES = {"instruction_not_on_target": "The target does not have the instruction"}
_NUMBER = re.compile(r"sm_(\d+)([af]?)")
_MOST_PLACES = 400  # of instructions in one text


@dataclass(frozen=True, slots=True)
class _Missing:
    """An instruction that the target lacks: its spelling, the reason, and its place."""

    message: str
    span: Span


def make_target_macros(target: str) -> dict[str, str]:
    """Return the macros that nvcc defines for a target, as choices of a bench; {} for any target.

    >>> make_target_macros("sm_90a")["macro.__CUDA_ARCH__"]
    '900'
    """
    match = _NUMBER.fullmatch(target)
    if match is None:
        return {}
    value, suffix = f"{match[1]}0", match[2]
    defined = {
        ARCHITECTURE: value,
        "__CUDA_ARCH_SPECIFIC__": value if suffix == "a" else NOT_DEFINED,
        "__CUDA_ARCH_FAMILY_SPECIFIC__": value if suffix else NOT_DEFINED,
    }
    for number in dict.fromkeys(strip_suffix(name).removeprefix("sm_") for name in TARGETS):
        specific = suffix == "a" and number == match[1]
        defined[f"__CUDA_ARCH_FEAT_SM{number}_ALL"] = "1" if specific else NOT_DEFINED
    return {f"macro.{name}": value for name, value in defined.items()}


def find_missing_instructions(
    text: str, code: Evaluation | None, target: str
) -> tuple[list[Pitfall], list[tuple[str, Span]]]:
    """Find the instructions of a text that a target does not have: (findings, open points), each opcode once.

    The text has no code that its #if directives exclude for the target.
    """
    if not target:
        return [], []
    in_module = is_ptx_module(text)
    runs = _list_kernel_runs(text, code)
    spans = tuple(dict.fromkeys(run.span for run in runs))
    findings: dict[str, Pitfall] = {}
    open_: dict[str, tuple[str, Span]] = {}
    for missing in _find_missing(text, target):
        if in_module or any(first <= missing.span[0] < past for first, past in spans):
            findings.setdefault(missing.message, Pitfall("instruction_not_on_target", missing.message, missing.span))
        else:
            open_.setdefault(
                missing.message, (f"{missing.message} Whether a kernel reaches it is not known.", missing.span)
            )
    for run in runs:  # of macros, whose instructions are elsewhere than they run
        for message in _explain_opcodes(run.text, target):
            findings.setdefault(message, Pitfall("instruction_not_on_target", message, run.span))
    return list(findings.values()), [point for message, point in open_.items() if message not in findings]


def _list_kernel_runs(text: str, code: Evaluation | None) -> tuple[AsmRun, ...]:
    """List the asm statements that kernels of a text run."""
    if code is None or not is_kernel_head(text):
        return ()
    kernels = {function.name for function in find_functions(blank_text(text)) if function.kernel}
    return tuple(run for run in code.asm_runs if any(name in kernels for name, _ in run.calls))


@lru_cache(maxsize=512)
def _explain_opcodes(assembled: str, target: str) -> tuple[str, ...]:
    """Explain why a target lacks instructions of an asm statement."""
    opcodes = ("".join(match[0].split()) for match in catalog.OPCODE.finditer(assembled) if match[2])
    return tuple(filter(None, (_explain_opcode(opcode, target) for opcode in opcodes)))


def _find_missing(text: str, target: str) -> Iterator[_Missing]:
    """Yield the instructions that a target lacks: those that are spelled as PTX, then atoms of CUTLASS."""
    joined, places = join_literals(blank_matches(COMMENT, text))
    spelled: list[Span] = []
    for match in islice((found for found in catalog.OPCODE.finditer(joined) if found[2]), _MOST_PLACES):
        span = places(match.start()), places(match.end() - 1) + 1
        spelled.append(span)
        if missing := _explain_opcode("".join(match[0].split()), target):
            yield _Missing(missing, span)
    for mention in find_mentions(text):
        if not mention.arguments and all(not first <= mention.span[0] < past for first, past in spelled):
            name = text[slice(*mention.span)]
            if missing := _explain_missing(name, catalog.get_target_support(mention.instruction).targets, target, ""):
                yield _Missing(missing, mention.span)


@lru_cache(maxsize=512)
def _explain_opcode(opcode: str, target: str) -> str:
    """Explain why a target lacks an opcode, "" if it has it or the opcode is unknown.

    For an opcode that code completes, only the family is checked.
    """
    instruction = short_names.find_instruction(opcode)
    if instruction is not None:
        targets = catalog.get_target_support(instruction).targets
        return _explain_missing(opcode, targets, target, instruction.family.name)
    head = ".".join(opcode.split(".")[:2])
    families = [family for family in catalog.families() if family.opcode.text.startswith(head)]
    every = {name for family in families for name in list_targets_with(family.name)}
    short = head if head in {family.opcode.text for family in families} else opcode.split(".")[0]
    return (
        _explain_missing(short, [name for name in TARGETS if name in every], target, families[0].name)
        if families
        else ""
    )


def _explain_missing(name: str, targets: Sequence[str], target: str, family: str) -> str:
    why = explain_missing(name, targets, target) if targets else None
    if why is None:
        return ""
    same = any(strip_suffix(name) == strip_suffix(target) for name in targets)  # the GPU has it then
    instead = find_substitutes(target, family) if family and not same else ()
    does = f" {target} has {join_words([word.replace('_', '.') for word in instead])} for it." if instead else ""
    return " ".join(why) + does


def make_choices(choices: Mapping[str, str] | None, headers: Iterable[Span], target: str) -> dict[str, str]:
    """Return the choices that build_workbench takes for a check; the arguments are those of check_text."""
    return {
        **make_target_macros(target),
        **(choices or {}),
        TCGEN05_KEY: "verified",
        **({TARGET_KEY: target} if target else {WORK_KEY: "checked"}),
        HEADERS_KEY: format_headers(headers),
    }
