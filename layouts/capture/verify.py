"""A capture verified: which elements of A and B every recorded instruction read, whether they are the slice it should
multiply, and if not, where that slice lies, why it was not read and the smallest repair.

>>> from lanescope import capture
>>> capture.verify(capture.empty(1 << 12)).verdict
'unknown'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.capture import form
from lanescope.capture.accumulated import Accumulator, Sums
from lanescope.capture.fitted import Fits
from lanescope.capture.fitted import diagnosed as diagnosed_word
from lanescope.capture.form import Record
from lanescope.capture.given import known_of, on_host
from lanescope.capture.known import NONE, SEVERAL, Ints, Known
from lanescope.capture.loaded import diagnosed as diagnosed_registers
from lanescope.capture.loaded import rows_of
from lanescope.capture.order import INFERRED, Slice, hint, slices
from lanescope.capture.report import Verified
from lanescope.capture.seen import Side, Step, Unread, Windows, filled, group_of, other_matrix, sides, steps
from lanescope.capture.together import Named, alike
from lanescope.capture.verdict import Load, Operand, Picture, Verdict, Wrong
from lanescope.descriptor.case import Diagnosis
from lanescope.errors import LayoutError

NO_FILL = (
    "Nothing that was recorded is of the fills. Give A and B as matrices if they are not fills; if they are, their data"
    " had not arrived here."
)
Given = bytes | bytearray | memoryview | NDArray[Any]


def check(data: Any, a: Any = None, b: Any = None, second: Any = None, nk: bool = False) -> Verified:
    """`verify` for a test: AssertionError with the whole verdict unless everything that was recorded is right."""
    told = verify(data, a, b, second, nk)
    if not told.ok:
        raise AssertionError(told.text)
    return told


def verify(
    data: Given | Sequence[Given],
    a: Any = None,
    b: Any = None,
    second: Given | None = None,
    nk: bool = False,
    most: int = form.MOST_RECORDS,
) -> Verified:
    """Verify a capture: a file's bytes, or the buffer as it came back from the device.

    Without a and b the matrices are those of `capture.fill`. Of an 8-bit type give both passes: `second`, or a list of
    two; arrays of CuPy and tensors of PyTorch are copied from the device. a: (m, k), b: (k, n), or (n, k) with nk:
    numbers, or the elements' codes as unsigned integers. most: steps that are judged; the others are counted.
    LayoutError for a file that cannot be read, and for matrices that do not fit.
    """
    given: list[Given] = list(data) if isinstance(data, (list, tuple)) else [data]  # type: ignore[list-item]
    given += [second] if second is not None else []
    if not 1 <= len(given) <= 2:
        raise LayoutError(
            "bad_capture", f"{len(given)} captures are given.", "One, or the two passes of an 8-bit type.", "capture"
        )
    captures = [form.read(on_host(one)) for one in given]
    files = [captures[0].records, *(_aligned(captures[0].records, one.records) for one in captures[1:])]
    whole, unread = steps(files[0])
    left, whole = max(len(whole) - most, 0), whole[:most]
    pairs = list(dict.fromkeys(_pair(step) for step in whole))
    complete = not left and all(one.whole for one in captures)
    verdicts: list[Verdict] = []
    accumulators: list[Accumulator] = []
    loads: list[Load] = []
    notes: list[str] = []
    picture: Picture | None = None
    for pair in pairs:
        own = [step for step in whole if _pair(step) == pair]
        others = [step for step in whole if _pair(step) != pair]
        try:
            known = known_of(pair[:2], files, a=a, b=b, nk=nk, notes=notes, steps=own, kept=pair[2])
        except LayoutError as error:
            if error.code != "bad_fill":
                raise
            unread += [Unread(step.number, step.record, error.message) for step in own]
            continue
        made = _judged(own, others, files, known, unread, complete)
        verdicts += made[0]
        accumulators += made[1]
        loads += made[2]
        picture = picture or made[3]
        if made[4]:
            notes.append(
                "Causes and layouts are told of the first steps only: too many different memories were recorded."
            )
    accumulators = _once(accumulators)
    verdicts.sort(key=lambda step: step.number)
    since = dict.fromkeys(one.record.where for one in accumulators if one.since and one.verdict == "match")
    notes += [f"D at {where} is the sum of the steps since it was last recorded." for where in since]
    notes += alike(verdicts)
    if captures[0].dropped:
        notes.append(
            f"{captures[0].dropped} records found no room in the buffer: make it larger, or record less with"
            " LANESCOPE_WHEN."
        )
    if captures[0].cut:
        notes.append(f"Only the first {form.MOST_RECORDS} records are read.")
    if skipped := captures[0].skipped:
        notes.append(f"LANESCOPE_WHEN left out {skipped:,} calls; D is judged only where it needs none of them.")
    if left:
        notes.append(f"The first {most} steps are judged, {left:,} are not.")
    if not whole and not left:
        notes.append("No wgmma and no mma is recorded.")
    return Verified(
        steps=tuple(verdicts),
        accumulators=tuple(accumulators),
        loads=tuple(loads),
        unread=tuple(unread),
        notes=tuple(dict.fromkeys(notes)),
        source="matrices" if a is not None or b is not None else "fills",
        records=len(files[0]),
        dropped=captures[0].dropped,
        left=left,
        picture=picture,
    )


def _once(accumulators: Sequence[Accumulator]) -> list[Accumulator]:
    """Each D once: those of steps of several types were compared with the sums of each."""
    best: dict[int, Accumulator] = {}
    for one in accumulators:
        held = best.get(one.number)
        if held is None or (one.verdict == "match", one.right) > (held.verdict == "match", held.right):
            best[one.number] = one
    return list(best.values())


def _aligned(first: Sequence[Record], other: Sequence[Record]) -> tuple[Record, ...]:
    """The second pass's records in the first one's order: warps may record in another one each time."""
    left: dict[tuple[object, ...], list[Record]] = {}
    for record in reversed(other):
        left.setdefault(_key(record), []).append(record)
    out = []
    for record in first:
        same = left.get(_key(record))
        if not same:
            raise LayoutError(
                "bad_capture",
                f"The second capture has no record like that of {record.where}, warp {record.warp}.",
                "Give the two passes of one kernel, launched alike.",
                "capture",
            )
        out.append(same.pop())
    return tuple(out)


def _pair(step: Step) -> tuple[str, str, int]:
    """The types of A and B, and of how many of K A stores one."""
    types = step.instruction.types
    return types["a"], types["b"], step.depth // step.instruction.operand("a").col_count


def _key(record: Record) -> tuple[object, ...]:
    return record.kind, record.file, record.line, record.label, record.text, record.block, record.thread


# judging --------------------------------------------------------------------------------------------------------------


def _judged(
    own: Sequence[Step],
    others: Sequence[Step],
    files: Sequence[Sequence[Record]],
    known: dict[str, Known],
    unread: list[Unread],
    complete: bool,
) -> tuple[list[Verdict], list[Accumulator], list[Load], Picture | None, bool]:
    windows, fits = Windows(known), Fits()
    told, kept = [], []
    own_data = any(one.real for one in known.values())
    for step in own:
        try:
            found = list(sides(step, files, windows))
            told.append({side.operand: hint(side) for side in found})
            own_data = own_data or any(filled(side) for side in found)
            kept.append(step)
        except LayoutError as error:
            unread.append(Unread(step.number, step.record, error.message))
    if not own_data:
        unread += [Unread(step.number, step.record, NO_FILL) for step in kept]
        return [], [], [], None, False
    wanted = slices(kept, told, known)
    counts: dict[tuple[int, ...], int] = {}
    missing = [(one.number, group_of(one.record), None) for one in unread]
    sums = Sums(files[0], complete, [*missing, *((step.number, step.group, step.instruction) for step in others)])
    known_places: set[tuple[str, int, str]] = set()
    named = Named()
    words: dict[tuple[object, ...], int] = {}  # the last word of each line
    out: list[Verdict] = []
    loads: dict[tuple[int, str], Load] = {}
    picture = None
    for step, parts in zip(kept, wanted, strict=True):
        index = counts[step.group] = counts.get(step.group, -1) + 1
        operands = []
        seen = {side.operand: side for side in sides(step, files, windows)}
        for name, side in seen.items():
            of_other = other_matrix(side, windows, [records[step.number] for records in files])
            if name not in parts and of_other and parts:
                parts[name] = Slice(0, next(iter(parts.values())).k, INFERRED)
            if name not in parts:
                continue
            place = step.record.file, step.record.line, name
            one, right, lies = _operand(
                step,
                side,
                parts[name],
                records=files[0],
                windows=windows,
                fits=fits,
                first=place not in known_places,
                of_other=of_other,
                stays=words.get((*step.group, *place), -1) == step.record.words.get(name),
            )
            words[*step.group, *place] = step.record.words.get(name, -1)
            known_places.add(place)
            one = replace(one, diagnoses=named.alike((*step.group, *place), index, one.diagnoses))
            operands.append(one)
            if not one.ok and picture is None:
                picture = Picture(side, right, lies)
        for name, numbers in step.fed.items():
            for at in numbers:
                if files[0][at].kind == "ldmatrix" and (at, name) not in loads:
                    held = windows.of(name, [records[at] for records in files])
                    loads[at, name] = Load(at, files[0][at], name, *rows_of(files[0][at], held))
        untold = [n.upper() for n in seen if n not in parts]
        if untold:
            reason = f"Nothing tells which slice of {' and '.join(untold)} it reads: no element of it was recognized."
            unread.append(Unread(step.number, step.record, reason))
        if operands:
            out.append(Verdict(step.number, index, step.record, step.instruction.ptx, tuple(operands)))
        sums.add(step, seen, parts)
    return out, sums.judged(), list(loads.values()), picture, fits.spent


def _operand(
    step: Step,
    side: Side,
    part: Slice,
    *,
    records: Sequence[Record],
    windows: Windows,
    fits: Fits,
    first: bool,
    of_other: str = "",
    stays: bool = True,
) -> tuple[Operand, NDArray[np.bool_], Ints | None]:
    right = side.right(part.mn, part.k)
    count = int(right.sum())
    stored = None
    diagnoses: tuple[Diagnosis, ...] = ()
    asked = not fits.spent and (count < right.size or first)
    if asked and side.memory is not None:
        assert side.word is not None
        stored = fits.of(side.memory, part, rows=side.rows, depth=side.depth, word=side.word, read=side.address)
    if asked and count < right.size:
        diagnoses = (
            diagnosed_word(side, part, stored, of_other, stays)
            if side.memory is not None
            else diagnosed_registers(step, side, part, records, windows, fits)
        )
    one = Operand(
        name=side.operand,
        how="descriptor" if side.memory is not None else "registers",
        part=part,
        total=right.size,
        right=count,
        outside=int((~side.inside).sum()),
        several=int((side.mn == SEVERAL).sum()),
        word=None if side.word is None else side.word.word,
        major=side.seen.major if side.seen is not None else "",
        first=_first(side, part, right) if count < right.size else None,
        stored=None if stored is None else dict(stored.storage.spec),
        stored_text="" if stored is None else stored.storage.text,
        stored_at=(0, 0) if stored is None else (stored.mn, stored.k),
        diagnoses=diagnoses,
    )
    lies = None
    if stored is not None and count < right.size:
        lies = stored.addresses(side.known, part, side.rows, side.depth)
    return one, right, lies


def _first(side: Side, part: Slice, right: NDArray[np.bool_]) -> Wrong:
    row, k = (int(n) for n in np.argwhere(~right)[0])
    expected = part.mn + row, part.k + k
    read = int(side.mn[row, k]), int(side.k[row, k])
    if min(read) < 0:
        read = (SEVERAL, SEVERAL) if SEVERAL in read else (NONE, NONE)
    return Wrong(
        row,
        k,
        None if side.address is None else int(side.address[row, k]),
        read,
        expected,
        None if side.memory is None else side.memory.place(*expected),
    )
