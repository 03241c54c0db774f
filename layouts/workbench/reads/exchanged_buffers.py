"""Find operands that read each other's buffer, by the names of the buffers.

`workbench_builder.py` calls `find_exchanged_buffers` before stores are paired, and `mark_wrong_steps` to make the steps
of such an operand mismatches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from lanescope.descriptor.case import Diagnosis
from lanescope.reader.code.evaluation import Evaluation
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.reads.stores import TileStore
from lanescope.workbench.results import OperandStep
from lanescope.workbench.text.addresses import list_start_names
from lanescope.workbench.text.names import find_operand_letter


@dataclass(frozen=True, slots=True)
class FollowedBuffer:
    """The buffer that an operand's descriptors point to. name: its name; named_for: the operand in its name;
    deliberate: the sizes of the maps say that the product is meant to be the transposed one.
    """

    name: str
    named_for: str
    deliberate: bool = False


# not Config::A, A_BYTES or kHalfA
_WORD = re.compile(r"(?<![\w:])(?!\w*(?:byte|size|off|stride|elem))(?!(?-i:k[A-Z]))[A-Za-z_]\w*", re.I)


def find_exchanged_buffers(
    uses: Iterable[DescriptorUse],
    stores: Sequence[TileStore],
    rows: Mapping[str, int],
    code: Evaluation | None,
    text: str,
) -> dict[str, FollowedBuffer]:
    """Map each operand to the other operand's buffer that it reads; empty if no names suggest an exchange.

    A buffer of both operands, at different addresses, is named for neither. rows: of M or N that one instruction takes
    of each operand.
    """
    uses = tuple(uses)
    seen = _collect_names(uses, code, text)
    letters = {operand: find_operand_letter(*sorted(letter)) for operand, letter in seen.items()}
    named = {*letters.values(), *(store.operand for store in stores)}
    buffers: dict[str, FollowedBuffer] = {}
    for operand, letter in letters.items():
        if letter is None or letter == operand or operand not in named:
            continue
        buffer = next(name for name in sorted(seen[operand]) if find_operand_letter(name) == letter)
        if buffer in seen.get(letter, ()) and not any(map(_has_one_address, uses)):
            continue
        buffers[operand] = FollowedBuffer(buffer, letter, _fits_only_exchanged(stores, rows))
    return buffers


def _collect_names(uses: Iterable[DescriptorUse], code: Evaluation | None, text: str) -> dict[str, set[str]]:
    """Collect the names that may be those of each operand's buffer.

    The address names the buffer; where it does not, the first variable that held the descriptor, then the expression
    that gives it.
    """
    called: dict[tuple[int, object], str] = {}
    for descriptor in code.descriptors if code else ():
        called.setdefault((descriptor.value.const, descriptor.value.pieces), descriptor.name)
    seen: dict[str, set[str]] = {}
    for use in uses:
        for operand, argument in use.arguments.items():
            names = list_start_names(argument.value)
            if find_operand_letter(*names) is None and use.computed:
                names = tuple(_WORD.findall(called.get((argument.value.const, argument.value.pieces), "")))
                if find_operand_letter(*names) is None:
                    names = tuple(_WORD.findall(text[slice(*argument.span)]))
            seen.setdefault(operand, set()).update(names)
    return seen


def _has_one_address(use: DescriptorUse) -> bool:
    """Return whether both operands of an instruction are read from the same address."""
    starts = [argument.address for argument in use.arguments.values()]
    return len(starts) > 1 and starts[0] is not None and starts[0] == starts[1]


def _fits_only_exchanged(stores: Sequence[TileStore], rows: Mapping[str, int]) -> bool:
    """Return whether the boxes fit the operands only if A's buffer is read as B and the reverse."""
    tall = {s.operand: prod(size or 0 for size in s.map.box[1:]) for s in stores if s.map and s.operand}
    if set(tall) < {"a", "b"} or set(rows) < {"a", "b"} or not all(tall.values()):
        return False
    return (tall["a"] < rows["a"] or tall["b"] < rows["b"]) and tall["b"] >= rows["a"] and tall["a"] >= rows["b"]


def format_exchange_note(operand: str, buffer: FollowedBuffer) -> str:
    """Return the note that the operands are exchanged deliberately."""
    return (
        f"{operand.upper()} is read from {buffer.name}, {buffer.named_for.upper()}’s buffer by its name; the boxes fit"
        " only that way, so D is taken to be the transposed product."
    )


def mark_wrong_steps(
    operand: str, buffer: FollowedBuffer, steps: Sequence[OperandStep], own_start: int | None
) -> list[OperandStep]:
    """Mark the steps of an operand that reads the other's buffer as wrong.

    own_start: where its own tile begins, None if the text does not say.
    """
    handed = buffer.name if "desc" in buffer.name.lower() else f"the descriptor of {buffer.name}"
    message = (
        f"{operand.upper()} of the instruction is given {handed}, which is named as {buffer.named_for.upper()}’s."
        " Exchange the two descriptors in the call; if the transposed product is meant, rename the buffers."
    )
    first = steps[0].read if steps else 0
    return [
        replace(
            step,
            verdict="mismatch",
            matched=0,
            expected=None if own_start is None else own_start + step.read - first,
            causes=() if n else (Diagnosis("operands_exchanged", message),),
        )
        for n, step in enumerate(steps)
    ]
