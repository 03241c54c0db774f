"""Count verified reads, and list the reasons why others could not be verified."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from lanescope.workbench.results import OperandStep, Span, VerifiedOperand, Workbench
from lanescope.workbench.source.guesses import Guesses

MOST_PLACES = 8  # reported places per operand
_SAYS_TOO_LITTLE = "The file does not say enough."


@dataclass(frozen=True, slots=True)
class UnverifiedReads:
    """Reads that could not be compared for one reason. span: the first of them."""

    reason: str
    count: int
    span: Span


def count_verified(
    bench: Workbench, guesses: Guesses, why_open: Callable[[VerifiedOperand, OperandStep], str]
) -> tuple[int, tuple[UnverifiedReads, ...]]:
    """Return (number of reads that match, reads that could not be compared).

    Reads of an operand whose storage the text does not name are not compared. Neither are wrong reads that are no
    findings; why_open returns the reason, "" for a finding.
    """
    verified = 0
    rest: dict[str, UnverifiedReads] = {}

    def add(reason: str, span: Span, count: int = 1) -> None:
        before = rest.get(reason) or UnverifiedReads(reason, 0, span)
        rest[reason] = replace(before, count=before.count + count)

    for operand in bench.operands:
        lacks = describe_lack(operand)
        assumed = _find_assumed_storage(operand, guesses)
        doubts = {} if assumed else {step.span: why_open(operand, step) for step in list_first_wrong_steps(operand)}
        for step in operand.steps:
            if step.verdict == "unknown":
                add(lacks, step.span)
            elif assumed:
                add(assumed, step.span)
            elif step.verdict == "match":
                verified += 1
            elif doubts.get(step.span):
                add(doubts[step.span], step.span)
        if operand.left:
            add(lacks, bench.pieces[operand.descriptor].spans[0], operand.left)
    return verified, tuple(rest.values())


def settle_reads(
    steps: int, unverified: tuple[UnverifiedReads, ...], whole: bool
) -> tuple[int, tuple[UnverifiedReads, ...]]:
    """Count all reads as verified if D of the whole text is, also those through what was assumed."""
    return (steps + sum(reads.count for reads in unverified), ()) if whole else (steps, unverified)


def drop_proved(
    unverified: tuple[UnverifiedReads, ...], bench: Workbench, proved: Collection[tuple[str, str]]
) -> tuple[UnverifiedReads, ...]:
    """Subtract the steps of operands that were verified otherwise. proved: (instruction, operand)."""
    rest = {reads.reason: reads.count for reads in unverified}
    for operand in bench.operands if unverified else ():
        if (operand.instruction, operand.name) in proved and operand.verdict == "unknown":
            unknown = sum(step.verdict == "unknown" for step in operand.steps)
            rest[describe_lack(operand)] -= unknown + operand.left
    return tuple(replace(reads, count=rest[reads.reason]) for reads in unverified if rest[reads.reason] > 0)


def describe_lack(operand: VerifiedOperand) -> str:
    """Describe what a verdict on an operand lacks."""
    if operand.storage is None and (not operand.missing or "paste its tensor map" in operand.missing[0]):
        return f"no tensor map, layout or store that is followed says how {operand.name.upper()} is stored."
    lack = operand.missing[0] if operand.missing else _SAYS_TOO_LITTLE
    return lack.replace("The ", "the ", 1) if lack.startswith("The ") else lack  # within a sentence


def list_first_wrong_steps(operand: VerifiedOperand) -> list[OperandStep]:
    """List the first wrong step of each place of the text."""
    steps: dict[Span, OperandStep] = {}
    for step in operand.wrong:
        steps.setdefault(step.span, step)
    return list(steps.values())[:MOST_PLACES]


def _find_assumed_storage(operand: VerifiedOperand, guesses: Guesses) -> str:
    """Describe the assumptions about an operand's storage and reader; "" if the text names both."""
    if operand.one_of:
        return f"The text has {operand.one_of} instructions, and does not say which of them reads the descriptor."
    assumed = next((assumption.summary for assumption in operand.assumed), "")
    guess = guesses.find_guessed_storage(operand)
    return assumed or (guess[0].upper() + guess[1:] if guess else "")
