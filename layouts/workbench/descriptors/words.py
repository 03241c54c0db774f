"""Assign printed descriptor words to operands by label and place; the words of one operand are its steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from lanescope.ptx.table.descriptors import START
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.shared.swizzle import WIDEST_PATTERN
from lanescope.workbench.descriptors.descriptor_arguments import DescriptorArgument
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse, in_registers
from lanescope.workbench.text.names import find_operand_letter
from lanescope.workbench.text.scan import InstructionMention, PrintedWord


def find_word_uses(printed: Iterable[PrintedWord], mentions: tuple[InstructionMention, ...]) -> list[DescriptorUse]:
    """List the uses of printed words; the words of one operand are its steps, in order."""
    mention = next((m for m in mentions if m.instruction.family.by_descriptor), None)
    registers = in_registers(mention)
    words = list(printed)
    named = [find_operand_letter(word.label) for word in words]
    two = not registers and len(words) == 2 and named == [None, None] and _are_far_apart(*words)
    again = _find_repeated(words, named)
    uses = []
    for n, (word, name) in enumerate(zip(words, named, strict=True)):
        letter, why = _find_operand(word, name, registers, n if two else None)
        uses.append(
            DescriptorUse(
                mention=mention,
                arguments={letter: DescriptorArgument(SymbolicInt(word.word), word.span, word.label)},
                why={letter: why},
                site=("word", n),
                loops=(),
                function="printed",
                order=n,
                assumed=not name and not registers and not two,
                computed=False,
                registers=registers or None,
                again=n in again,
                majors=mention.majors if mention else {},
            )
        )
    return uses


def _find_operand(word: PrintedWord, named: str | None, registers: bool, of_two: int | None) -> tuple[str, str]:
    """Return (operand of a printed word, reason). of_two: the operand if there are exactly two words, for A and B."""
    if named:
        return named, f"its label is {word.label}"
    if registers:
        return "b", "A is in registers"
    if of_two is not None:
        return "ab"[of_two], f"of the two words it is the {('first', 'second')[of_two]}"
    return "a", "its label does not say" if word.label else "the text does not say"


def _find_repeated(words: Sequence[PrintedWord], named: Sequence[str | None]) -> set[int]:
    """Return the indices of words that repeat the word before them but are steps of their own.

    Later words continue at the distance that their index gives; words printed by several threads repeat as well.
    """
    repeated: set[int] = set()
    for name in set(named):
        numbers = [n for n, other in enumerate(named) if other == name]
        values = [words[n].word for n in numbers]
        distance = min((second - first for first, second in pairwise(values) if second > first), default=0)
        for n, (first, second) in enumerate(pairwise(values), 1):
            if first == second and any(word == values[0] + at * distance for at, word in enumerate(values) if at > n):
                repeated.add(numbers[n])
    return repeated


def _are_far_apart(first: PrintedWord, second: PrintedWord) -> bool:
    """Return whether two words with one label are more than a step along K apart, thus in two tiles."""
    distance = abs(START.get(first.word) - START.get(second.word)) * START.unit
    return first.label == second.label == "" and (distance >= WIDEST_PATTERN or first.word >> 16 != second.word >> 16)
