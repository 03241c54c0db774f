"""One step of a workbench: its word with the fields, the picture of its reads, and a card for every step of the
operand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanescope.app.read.pair import PairPicture, draw_pair
from lanescope.descriptor.matrix import Addresses, Descriptor, View, find_unread_fields, reads, view
from lanescope.descriptor.repair import compute_expected_reads, list_changes
from lanescope.descriptor.verify import verify
from lanescope.ptx import catalog
from lanescope.ptx.table.descriptors import LBO, SBO, START, SWIZZLE, WGMMA
from lanescope.render.read_pictures import OperandChunks, make_chunks
from lanescope.shared.storage import Storage, storage
from lanescope.workbench import OperandStep, VerifiedOperand, Workbench

MOST_CARDS = 16  # steps with a thumbnail; more are rows of the table alone


@dataclass(frozen=True, slots=True)
class WordField:
    """A field of the shown word. needed: the value that the tile needs, "" if right; unread: why it is ignored."""

    name: str
    label: str
    value: str
    needed: str
    unread: str


@dataclass(frozen=True, slots=True)
class StepCard:
    """One step of the loop; runs: (x, line, right) of the 16-byte chunks that it reads, in lines of 128 bytes."""

    number: int
    state: str
    k: int
    depth: int
    summary: str
    good: str
    bad: str
    lines: int


@dataclass(frozen=True, slots=True)
class ShownStep:
    """The step whose word and picture the page shows."""

    at: int
    number: int
    operand: VerifiedOperand
    step: OperandStep
    bits: tuple[tuple[int, int, str], ...]
    fields: tuple[WordField, ...]
    picture: PairPicture
    pair: str


def view_operand(operand: VerifiedOperand) -> View:
    """Return how the instruction reads an operand."""
    return view(catalog.find(operand.instruction), operand.name, operand.major)


def name_field(name: str) -> str:
    """Name a field of the word in a sentence: SBO, the base offset."""
    title = WGMMA.get_field(name).title
    return title if title.isupper() else f"the {title}"


def format_amount(name: str, encoded: int) -> str:
    """Format the amount that a field encodes: bytes in decimal, an address in hexadecimal, the name of a swizzle."""
    field = WGMMA.get_field(name)
    if field is SWIZZLE:
        return Descriptor(field.put(0, encoded)).mode.name
    amount = field.unit * encoded
    return hex(amount) if field is START else str(amount)


def describe_repeats(shown: ShownStep | None) -> str:
    """Describe the bytes that a step without a verdict reads more than once; "" for none."""
    if shown is None or shown.step.verdict != "unknown":
        return ""
    address = reads(Descriptor(shown.step.word), view_operand(shown.operand))
    again, letter = _count_repeats(address), shown.operand.name.upper()
    sentence = f"{again:,} of {address.size:,} elements of {letter} come from bytes that the step has read before."
    return sentence if again else ""


def _count_repeats(addresses: Addresses) -> int:
    return addresses.size - int(np.unique(addresses).size)


def _find_storage(operand: VerifiedOperand, step: OperandStep) -> Storage | None:
    if operand.stored is None or step.base is None or step.verdict == "unknown":
        return None
    seen = view_operand(operand)
    return storage({**operand.stored, "base": step.base}, seen.bits, seen.major)


def _make_namer(operand: str, step: OperandStep, seen: View) -> Callable[[int, int], str]:
    """Return a function that names the chunk whose first element is (row, k) of a step."""

    def name_chunk(row: int, k: int) -> str:
        last = seen.per - 1
        rows, columns = f"{step.mn + row}", f"{step.k + k}"
        if last and seen.major == "K":
            columns += f"…{step.k + k + last}"
        elif last:
            rows += f"…{step.mn + row + last}"
        return format_element(operand, rows, columns)

    return name_chunk


def format_element(operand: str, row: int | str, k: int | str) -> str:
    """Format an element by its place: A[8][0] is row m, column k; of B both are named.

    >>> format_element("a", 8, 0), format_element("b", 8, 0)
    ('A[8][0]', 'B(k 0, n 8)')
    """
    return f"A[{row}][{k}]" if operand == "a" else f"B(k {k}, n {row})"


def _make_chunks(operand: VerifiedOperand, step: OperandStep) -> OperandChunks:
    seen, stored = view_operand(operand), _find_storage(operand, step)
    read = reads(Descriptor(step.word), seen)
    expected = None if stored is None else compute_expected_reads(stored, seen, step.mn, step.k)
    return make_chunks(read, expected, seen, operand.name.upper())


def show_step(bench: Workbench, at: int, number: int) -> ShownStep:
    """Return the word and the picture of one step of operand number `at`."""
    operand = bench.operands[at]
    step, seen = operand.steps[number], view_operand(operand)
    word, stored = Descriptor(step.word), _find_storage(operand, step)
    changes: dict[str, tuple[int, int]] = {}
    pair = ""
    if stored is not None and step.verdict == "mismatch":
        found = verify(word, seen, stored, mn=step.mn, k=step.k)
        fix = next((d.fix for d in found.diagnoses[:1]), None)
        changes = list_changes(word, fix) if fix else {}
        pair = _describe_pair(operand, step, stored)
    return ShownStep(
        at,
        number,
        operand,
        step,
        bits=tuple((n, word.word >> n & 1, _find_field(word, n)) for n in range(63, -1, -1)),
        fields=tuple(_list_fields(word, seen, changes)),
        picture=draw_pair(_make_chunks(operand, step), word, _make_namer(operand.name, step, seen)),
        pair=pair,
    )


def _describe_pair(operand: VerifiedOperand, step: OperandStep, stored: Storage) -> str:
    """Describe how many elements are wrong, with the addresses of the first; "" if all are right."""
    seen = view_operand(operand)
    address, expected = reads(Descriptor(step.word), seen), compute_expected_reads(stored, seen, step.mn, step.k)
    wrong = np.argwhere(address != expected)
    if not len(wrong):
        return ""
    row, k = (int(n) for n in wrong[0])
    element = format_element(operand.name, step.mn + row, step.k + k)
    return (
        f"{len(wrong):,} of {address.size:,} elements of K step {step.k // step.depth} are read from elsewhere:"
        f" {element} is stored at `{int(expected[row, k]):#x}` and read from `{int(address[row, k]):#x}`."
    )


def _find_field(word: Descriptor, bit: int) -> str:
    return next((f.name for f in word.format.fields if f.low <= bit <= f.high), "")


def _list_fields(word: Descriptor, seen: View, changes: Mapping[str, tuple[int, int]]) -> Iterator[WordField]:
    unread = find_unread_fields(word.mode, seen)
    for field in reversed(word.format.fields):
        encoded, unit = field.get(word.word), " B" if field in (LBO, SBO) else ""
        code = f" ({encoded})" if field is SWIZZLE else ""
        needed = format_amount(field.name, changes[field.name][1]) + unit if field.name in changes else ""
        label = f"{field.title[0].upper()}{field.title[1:]}"
        yield WordField(
            field.name, label, format_amount(field.name, encoded) + code + unit, needed, unread.get(field.name, "")
        )


def list_cards(operand: VerifiedOperand) -> Iterator[StepCard]:
    """Yield a card for each step, if they are few."""
    if len(operand.steps) > MOST_CARDS:
        return
    reads_of_steps = [_make_chunks(operand, step) for step in operand.steps]
    low = min(int(chunks.read.min()) >> 7 for chunks in reads_of_steps)
    lines = min(max(int(chunks.read.max()) >> 7 for chunks in reads_of_steps) - low + 1, 256)
    for number, (step, chunks) in enumerate(zip(operand.steps, reads_of_steps, strict=True)):
        wrong, again = step.total - step.matched, _count_repeats(chunks.read)
        summary = {
            "match": "all right",
            "mismatch": f"{wrong:,} wrong" if wrong else "wrong",
            "unknown": f"{again * chunks.seen.per:,} twice" if again else "not judged",
        }[step.verdict]
        right = chunks.right if step.verdict != "unknown" else np.zeros(chunks.read.shape, np.bool_)
        yield StepCard(
            number,
            step.verdict,
            step.k,
            step.depth,
            summary,
            _draw_run(chunks.read[right], low, lines),
            _draw_run(chunks.read[~right], low, lines),
            lines,
        )


def _draw_run(addresses: Any, low: int, lines: int) -> str:
    """Return an SVG path of 16-byte chunks, 8 units a line, one unit a chunk."""
    places = sorted({(int(a) >> 7, int(a) >> 4 & 7) for a in addresses.ravel()})
    return "".join(f"M{x} {y - low + 0.5:g}h1" for y, x in places if y - low < lines)
