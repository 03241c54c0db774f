"""Verify a capture: find the elements that each recorded instruction read, with causes and repairs of wrong ones.

>>> from lanescope import capture
>>> capture.verify(capture.empty(1 << 12)).verdict
'unknown'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.capture import file_format
from lanescope.capture.accumulators import Accumulator, AccumulatorSums
from lanescope.capture.file_format import Capture, Record
from lanescope.capture.operand_codes import NONE, SEVERAL, KnownOperand
from lanescope.capture.operand_sources import copy_to_host, identify_operands
from lanescope.capture.recorded_operands import (
    MemoryWindows,
    MultiplyStep,
    OperandCodes,
    UnverifiedRecord,
    describe_other_matrix,
    get_group,
    is_recorded,
    list_steps,
    read_operands,
)
from lanescope.capture.register_causes import diagnose_registers as diagnosed_registers, find_row_starts
from lanescope.capture.report import Verified
from lanescope.capture.shared_causes import CauseNames, find_duplicate_notes
from lanescope.capture.slice_order import INFERRED, OperandSlice, SliceHint, infer_slices, make_hint
from lanescope.capture.slice_storage import StorageCache, StoredRectangle, diagnose_descriptor as diagnosed_word
from lanescope.capture.verdict import LoadedRows, MisreadElement, OperandPicture, OperandVerdict, StepVerdict
from lanescope.descriptor.case import Diagnosis
from lanescope.errors import LayoutError

NO_FILL = (
    "No element of the fills was recorded. Pass A and B as matrices if they are not fills; if they are, their data"
    " had not arrived."
)
CaptureData = bytes | bytearray | memoryview | NDArray[Any]


def check(data: Any, a: Any = None, b: Any = None, second: Any = None, nk: bool = False) -> Verified:
    """Raise AssertionError with the report unless all recorded steps are right."""
    verified = verify(data, a, b, second, nk)
    if not verified.ok:
        raise AssertionError(verified.text)
    return verified


def verify(
    data: CaptureData | Sequence[CaptureData],
    a: Any = None,
    b: Any = None,
    second: CaptureData | None = None,
    nk: bool = False,
    most: int = file_format.MOST_RECORDS,
) -> Verified:
    """Verify a capture: the bytes of a file, or the buffer copied back from the device.

    Without a and b the matrices are those of `capture.fill`. For an 8-bit type pass both captures, with `second` or as
    a list of two; arrays of CuPy and tensors of PyTorch are copied from the device. a: (m, k), b: (k, n), or (n, k)
    with nk: numbers, or the elements' codes as unsigned integers. most: number of steps to verify; further ones are
    only counted.

    Raises LayoutError for a file that cannot be read, and for matrices that do not fit.
    """
    captures = _read(data, second)
    first = captures[0]
    files = [first.records, *(_align_records(first.records, capture.records) for capture in captures[1:])]
    every, unread = list_steps(files[0])
    verified_steps, left = every[:most], max(len(every) - most, 0)
    findings = _Findings(unread)
    complete = not left and all(capture.is_complete for capture in captures)
    for pair in dict.fromkeys(map(_get_type_pair, verified_steps)):
        of_pair = [step for step in verified_steps if _get_type_pair(step) == pair]
        other_types = [step for step in verified_steps if _get_type_pair(step) != pair]
        try:
            known = identify_operands(
                pair[:2], files, a=a, b=b, nk=nk, notes=findings.notes, steps=of_pair, kept=pair[2]
            )
        except LayoutError as error:
            if error.code != "bad_fill":
                raise
            findings.unread += [UnverifiedRecord(step.number, step.record, error.message) for step in of_pair]
            continue
        _verify_steps(of_pair, other_types, files, known, findings, complete)
    accumulators = _drop_repeats(findings.accumulators)
    findings.verdicts.sort(key=lambda step: step.number)
    since = dict.fromkeys(
        capture.record.where for capture in accumulators if capture.since and capture.verdict == "match"
    )
    findings.notes += [f"D at {where} is the sum of the steps since it was last recorded." for where in since]
    findings.notes += find_duplicate_notes(findings.verdicts)
    findings.notes += _left_out(first, most, left, bool(every))
    return Verified(
        steps=tuple(findings.verdicts),
        accumulators=tuple(accumulators),
        loads=tuple(findings.loads),
        unread=tuple(findings.unread),
        notes=tuple(dict.fromkeys(findings.notes)),
        source="matrices" if a is not None or b is not None else "fills",
        records=len(files[0]),
        dropped=first.dropped,
        left=left,
        picture=findings.picture,
        opening=findings.opening,
    )


@dataclass(slots=True)
class _Findings:
    """The findings in a capture so far."""

    unread: list[UnverifiedRecord]
    verdicts: list[StepVerdict] = field(default_factory=list)
    accumulators: list[Accumulator] = field(default_factory=list)
    loads: list[LoadedRows] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    picture: OperandPicture | None = None  # of the first wrong step
    opening: OperandPicture | None = None  # of the first step


def _read(data: CaptureData | Sequence[CaptureData], second: CaptureData | None) -> list[Capture]:
    """Return the captures: one, or the two passes of an 8-bit type."""
    sources: list[CaptureData] = list(data) if isinstance(data, (list, tuple)) else [data]  # type: ignore[list-item]
    sources += [second] if second is not None else []
    if not 1 <= len(sources) <= 2:
        raise LayoutError(
            "bad_capture",
            f"There are {len(sources)} captures.",
            "Pass one, or the two passes of an 8-bit type.",
            "capture",
        )
    return [file_format.read_capture(copy_to_host(source)) for source in sources]


def _left_out(capture: Capture, most: int, left: int, any_steps: bool) -> Iterator[str]:
    """Yield sentences on what was not verified. left: number of steps beyond the first `most`."""
    if capture.dropped:
        yield (
            f"{capture.dropped} records did not fit into the buffer: use a larger buffer, or record less with"
            " LANESCOPE_WHEN."
        )
    if capture.cut:
        yield f"Only the first {file_format.MOST_RECORDS} records are read."
    if skipped := capture.skipped:
        yield f"LANESCOPE_WHEN left out {skipped:,} calls; D is verified only if it does not depend on them."
    if left:
        yield f"The first {most} steps were verified, {left:,} were not."
    if not any_steps:
        yield "No wgmma or mma was recorded."


def _drop_repeats(accumulators: Sequence[Accumulator]) -> list[Accumulator]:
    """Return each D once; D of steps of several types was compared with the sums of each type."""
    best: dict[int, Accumulator] = {}
    for accumulator in accumulators:
        known = best.get(accumulator.number)
        if known is None or (accumulator.verdict == "match", accumulator.right) > (
            known.verdict == "match",
            known.right,
        ):
            best[accumulator.number] = accumulator
    return list(best.values())


def _align_records(first: Sequence[Record], other: Sequence[Record]) -> tuple[Record, ...]:
    """Return the second pass's records in the order of the first pass, because the order of warps may vary."""
    left: dict[tuple[object, ...], list[Record]] = {}
    for record in reversed(other):
        left.setdefault(_make_record_key(record), []).append(record)
    aligned = []
    for record in first:
        same = left.get(_make_record_key(record))
        if not same:
            raise LayoutError(
                "bad_capture",
                f"The second capture has no record like that of {record.where}, warp {record.warp}.",
                "Pass two captures of the same kernel and launch.",
                "capture",
            )
        aligned.append(same.pop())
    return tuple(aligned)


def _get_type_pair(step: MultiplyStep) -> tuple[str, str, int]:
    """Return (type of A, type of B, elements of K per stored element of A)."""
    types = step.instruction.types
    return types["a"], types["b"], step.depth // step.instruction.operand("a").col_count


def _make_record_key(record: Record) -> tuple[object, ...]:
    return record.kind, record.file, record.line, record.label, record.text, record.block, record.thread


# verification --------------------------------------------------------------------------------------------------------


def _verify_steps(
    steps: Sequence[MultiplyStep],
    other_types: Sequence[MultiplyStep],
    files: Sequence[Sequence[Record]],
    known: dict[str, KnownOperand],
    findings: _Findings,
    complete: bool,
) -> None:
    """Verify the steps of one pair of types.

    other_types: the steps of other pairs; complete: whether no step is missing.
    """
    verifier = _Verifier(files, known, findings)
    recorded, hints = verifier.recorded(steps)
    if not verifier.filled:
        findings.unread += [UnverifiedRecord(step.number, step.record, NO_FILL) for step in recorded]
        return
    slices = infer_slices(recorded, hints, known)
    missing = [(record.number, get_group(record.record), None) for record in findings.unread]
    sums = AccumulatorSums(
        files[0], complete, [*missing, *((step.number, step.group, step.instruction) for step in other_types)]
    )
    for step, parts in zip(recorded, slices, strict=True):
        sides = verifier.step(step, parts)
        sums.add_step(step, sides, parts)
    findings.accumulators += sums.list_accumulators()
    findings.loads += verifier.loads.values()
    findings.picture = findings.picture or verifier.picture
    findings.opening = findings.opening or verifier.opening
    if verifier.fits.spent:
        findings.notes.append(
            "Causes and layouts are reported for the first steps only, because shared memory has too many different"
            " states."
        )


class _Verifier:
    """Verifier of the steps of one pair of types, in order; a verdict may depend on the previous steps."""

    def __init__(self, files: Sequence[Sequence[Record]], known: dict[str, KnownOperand], findings: _Findings) -> None:
        self.files = files
        self.findings = findings
        self.windows = MemoryWindows(known)
        self.fits = StorageCache()
        self.filled = any(operand.real for operand in known.values())  # whether anything of A or B was recorded
        self.named = CauseNames()
        self.counts: dict[tuple[int, ...], int] = {}
        self.places: set[tuple[str, int, str]] = set()  # verified lines and operands
        self.words: dict[tuple[object, ...], int] = {}  # the last word at each line
        self.loads: dict[tuple[int, str], LoadedRows] = {}
        self.picture: OperandPicture | None = None
        self.opening: OperandPicture | None = None

    def recorded(self, steps: Sequence[MultiplyStep]) -> tuple[list[MultiplyStep], list[dict[str, SliceHint]]]:
        """Return the steps with known operands, each with its slice hints."""
        kept, hints = [], []
        for step in steps:
            try:
                codes = list(read_operands(step, self.files, self.windows))
                hints.append({side.operand: make_hint(side) for side in codes})
                self.filled = self.filled or any(is_recorded(side) for side in codes)
                kept.append(step)
            except LayoutError as error:
                self.findings.unread.append(UnverifiedRecord(step.number, step.record, error.message))
        return kept, hints

    def step(self, step: MultiplyStep, parts: dict[str, OperandSlice]) -> dict[str, OperandCodes]:
        """Verify one step, and return its operands as read.

        parts: the expected slices; a slice known only from the other matrix is added.
        """
        index = self.counts[step.group] = self.counts.get(step.group, -1) + 1
        sides = {side.operand: side for side in read_operands(step, self.files, self.windows)}
        operands = []
        for name, side in sides.items():
            of_other = describe_other_matrix(side, self.windows, [records[step.number] for records in self.files])
            if name not in parts and of_other and parts:
                parts[name] = OperandSlice(0, next(iter(parts.values())).k, INFERRED)
            if name in parts:
                operands.append(self._operand(step, side, parts[name], index, of_other))
        self._add_loads(step)
        unknown = [name.upper() for name in sides if name not in parts]
        if unknown:
            reason = (
                f"The slice of {' and '.join(unknown)} that it reads is unknown, because no element of it was"
                " recognized."
            )
            self.findings.unread.append(UnverifiedRecord(step.number, step.record, reason))
        if operands:
            verdict = StepVerdict(step.number, index, step.record, step.instruction.ptx, tuple(operands))
            self.findings.verdicts.append(verdict)
        return sides

    def _operand(
        self, step: MultiplyStep, side: OperandCodes, part: OperandSlice, index: int, of_other: str
    ) -> OperandVerdict:
        """Verify one operand of a step.

        index: of the step in its group; of_other: the elements read of the other matrix.
        """
        name, record = side.operand, step.record
        place = record.file, record.line, name
        line = (*step.group, *place)
        stays = self.words.get(line, -1) == record.words.get(name)
        right = side.mask_right(part.mn, part.k)
        wrong = not right.all()
        stored: StoredRectangle | None = None
        diagnoses: tuple[Diagnosis, ...] = ()
        diagnosed = not self.fits.spent and (wrong or place not in self.places)
        if diagnosed:
            stored = _stored(side, part, self.fits)
        if wrong and diagnosed:
            diagnoses = (
                diagnosed_word(side, part, stored, of_other, stays)
                if side.memory is not None
                else diagnosed_registers(step, side, part, self.files[0], self.windows, self.fits)
            )
        self.words[line] = record.words.get(name, -1)
        self.places.add(place)
        verdict = _undiagnosed(side, part, right, stored)
        verdict = replace(verdict, diagnoses=self.named.unify_causes(line, index, diagnoses))
        if self.opening is None or (wrong and self.picture is None):
            places = None
            if stored is not None and wrong:
                places = stored.compute_addresses(side.known, part, side.rows, side.depth)
            drawn = OperandPicture(side, right, places, part, record.where)
            self.opening = self.opening or drawn
            self.picture = self.picture or (drawn if wrong else None)
        return verdict

    def _add_loads(self, step: MultiplyStep) -> None:
        """Verify the ldmatrix that loaded a step's registers, each once."""
        for name, numbers in step.fed.items():
            for at in numbers:
                if self.files[0][at].kind == "ldmatrix" and (at, name) not in self.loads:
                    memory = self.windows.get_memory(name, [records[at] for records in self.files])
                    self.loads[at, name] = LoadedRows(
                        at, self.files[0][at], name, *find_row_starts(self.files[0][at], memory)
                    )


def _stored(side: OperandCodes, part: OperandSlice, fits: StorageCache) -> StoredRectangle | None:
    """Return the layout of a slice in memory, if it is read through a descriptor."""
    if side.memory is None:
        return None
    assert side.word is not None
    return fits.find_storage(side.memory, part, rows=side.rows, depth=side.depth, word=side.word, read=side.address)


def _undiagnosed(
    side: OperandCodes, part: OperandSlice, right: NDArray[np.bool_], stored: StoredRectangle | None
) -> OperandVerdict:
    """Return the verdict on an operand, without diagnoses; right: which elements belong to the slice."""
    count = int(right.sum())
    operand = OperandVerdict(
        name=side.operand,
        how="descriptor" if side.memory is not None else "registers",
        part=part,
        total=right.size,
        right=count,
        outside=int((~side.inside).sum()),
        several=int((side.mn == SEVERAL).sum()),
        word=None if side.word is None else side.word.word,
        major=side.seen.major if side.seen is not None else "",
        first=_find_first_wrong(side, part, right) if count < right.size else None,
        stored=None,
        stored_text="",
        stored_at=(0, 0),
        diagnoses=(),
    )
    if stored is None:
        return operand
    storage = stored.storage
    return replace(operand, stored=dict(storage.spec), stored_text=storage.text, stored_at=(stored.mn, stored.k))


def _find_first_wrong(side: OperandCodes, part: OperandSlice, right: NDArray[np.bool_]) -> MisreadElement:
    row, k = (int(n) for n in np.argwhere(~right)[0])
    expected = part.mn + row, part.k + k
    read = int(side.mn[row, k]), int(side.k[row, k])
    if min(read) < 0:
        read = (SEVERAL, SEVERAL) if SEVERAL in read else (NONE, NONE)
    return MisreadElement(
        row,
        k,
        None if side.address is None else int(side.address[row, k]),
        read,
        expected,
        None if side.memory is None else side.memory.find_address(*expected),
    )
