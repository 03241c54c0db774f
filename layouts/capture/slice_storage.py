"""Find the storage of a slice's tile in recorded memory, and explain why a descriptor does not read the slice.

tile_search.py finds the layout, layouts/descriptor/verify.py the cause and the repair. This module chooses the
rectangle of A or B to search for: all of it that is in memory, else the part around the slice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.capture.operand_codes import CHUNK, KnownOperand, RecordedMemory
from lanescope.capture.recorded_operands import OperandCodes, find_origin
from lanescope.capture.slice_order import OperandSlice
from lanescope.descriptor.case import Diagnosis
from lanescope.descriptor.matrix import SHARED_BEGIN, Addresses, Descriptor
from lanescope.descriptor.tile_search import MemoryImage, find_layouts
from lanescope.descriptor.verify import verify
from lanescope.errors import LayoutError
from lanescope.shared.storage import Storage

VAGUE = (
    "start_wrong",
    "panel_stride_wrong",
    "other_slice",
)  # the verifier's codes for reading another slice completely
MOST_TILE = 1 << 20  # elements of the largest rectangle
MOST_CACHED = 64  # rectangles whose layouts are cached
MOST_SEARCHED = 96  # rectangles searched per capture


@dataclass(frozen=True, slots=True)
class StoredRectangle:
    """The layout of a rectangle of A or B in recorded memory, with its origin in the matrix."""

    storage: Storage
    mn: int
    k: int

    def address(self, known: KnownOperand, mn: int, k: int) -> int:
        """Return the address of an element of the rectangle."""
        away_mn, away_k = self.get_offset(known, mn, k)
        return int(np.asarray(self.storage.address(np.array(away_mn), np.array(away_k))))

    def compute_addresses(self, known: KnownOperand, part: OperandSlice, rows: int, depth: int) -> Addresses:
        """Return the addresses of a slice's elements: [row][k]."""
        mn, k = self.get_offset(known, part.mn, part.k)
        at = self.storage.address(mn + np.arange(rows)[:, None], k + np.arange(depth)[None, :])
        return np.broadcast_to(np.asarray(at, np.int64), (rows, depth))

    def get_offset(self, known: KnownOperand, mn: int, k: int) -> tuple[int, int]:
        """Return (mn, k) relative to the rectangle's first element."""
        if known.real:
            return mn - self.mn, k - self.k
        return (mn - self.mn) % known.periods[0], (k - self.k) % known.periods[1]


class StorageCache:
    """A cache of layouts, because many steps need the same rectangle of the same memory."""

    def __init__(self) -> None:
        self.layouts: dict[
            tuple[int, tuple[int, int], tuple[int, int]], tuple[RecordedMemory, list[StoredRectangle]]
        ] = {}
        self.searched = 0

    @property
    def spent(self) -> bool:
        """Whether the search budget of the capture is used up."""
        return self.searched >= MOST_SEARCHED

    def find_storage(
        self,
        memory: RecordedMemory,
        part: OperandSlice,
        *,
        rows: int,
        depth: int,
        word: Descriptor,
        read: Addresses | None = None,
    ) -> StoredRectangle | None:
        """Return the layout of the largest rectangle around a slice that has one; None without one.

        read: the addresses that are read. Of several copies in memory, the one with the most elements at these
        addresses is returned, then the nearest one.
        """
        for mn, k, size in _list_rectangles(memory, part, rows, depth):
            key = (id(memory), (mn, k), size)
            if key not in self.layouts:
                if len(self.layouts) >= MOST_CACHED:
                    self.layouts.pop(next(iter(self.layouts)))
                self.searched += 1
                self.layouts[key] = memory, _find_storages(memory, mn, k, size, word)
            if rectangles := self.layouts[key][1]:
                return (
                    rectangles[0]
                    if read is None or len(rectangles) == 1
                    else _choose_nearest(memory, rectangles, part, read)
                )
        return None


def _choose_nearest(
    memory: RecordedMemory, rectangles: list[StoredRectangle], part: OperandSlice, read: Addresses
) -> StoredRectangle:
    def away(rectangle: StoredRectangle) -> tuple[int, int]:
        addresses = rectangle.compute_addresses(memory.known, part, *read.shape)
        return -int((addresses == read).sum()), abs(int(addresses.flat[0]) - int(read.flat[0]))

    return min(rectangles, key=away)


def _find_storages(
    memory: RecordedMemory, mn: int, k: int, size: tuple[int, int], word: Descriptor
) -> list[StoredRectangle]:
    rows, columns = mn + np.arange(size[0])[:, None], k + np.arange(size[1])[None, :]
    codes = memory.known.get_codes(rows, columns)
    if (codes < 0).any():
        return []
    tile = codes.astype(np.uint64)
    layouts = find_layouts(MemoryImage(memory.windows[0], memory.base), tile, memory.known.element.bits, word)
    return [StoredRectangle(fit.stored, mn, k) for fit in layouts if fit.is_complete]


def _list_rectangles(
    memory: RecordedMemory, part: OperandSlice, rows: int, depth: int
) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yield the rectangles to search for, largest first: (first mn, first k, size)."""
    rectangle = memory.find_present_rectangle()
    if rectangle is None:
        return
    (mn, mn_size), (k, k_size) = rectangle
    known = memory.known
    visited = set()
    wide = [(mn, mn_size), (part.mn, rows)]
    deep = [(k, k_size)]
    count = 1 << max(k_size.bit_length() - 1, 0)
    while count > depth:
        away = part.k - k if known.real else (part.k - k) % known.periods[1]
        deep.append((k + away // count * count, count))
        count //= 2
    deep.append((part.k, depth))
    for first_mn, size_mn in wide:
        for first_k, size_k in deep:
            if (first_mn, first_k, size_mn, size_k) in visited or size_mn * size_k > MOST_TILE:
                continue
            visited.add((first_mn, first_k, size_mn, size_k))
            if not _is_inside(known, part, rows, depth, (first_mn, first_k), (size_mn, size_k)):
                continue
            yield first_mn, first_k, (size_mn, size_k)


def _is_inside(
    known: KnownOperand, part: OperandSlice, rows: int, depth: int, first: tuple[int, int], size: tuple[int, int]
) -> bool:
    away = [part.mn - first[0], part.k - first[1]]
    if not known.real:
        away = [n % period for n, period in zip(away, known.periods, strict=True)]
    return all(n >= 0 and n + take <= has for n, take, has in zip(away, (rows, depth), size, strict=True))


def _mask_recorded(memory: RecordedMemory, part: OperandSlice, rows: int, depth: int) -> NDArray[np.bool_]:
    """Return which elements of a slice are in memory, by chunks: [row][k]."""
    per = CHUNK * 8 // memory.known.element.bits
    mask = np.zeros((rows, depth), np.bool_)
    away = [memory.mn - part.mn, memory.k - part.k]
    if not memory.known.real:
        away = [n % period for n, period in zip(away, memory.known.periods, strict=True)]
    present = (memory.mn >= 0) & (away[0] >= 0) & (away[0] < rows) & (away[1] >= 0) & (away[1] < depth)
    along_k = memory.major == 0
    for step in range(per):
        mn, k = away[0] + np.where(along_k, 0, step), away[1] + np.where(along_k, step, 0)
        inside = present & (mn < rows) & (k < depth)
        mask[mn[inside], k[inside]] = True
    return mask


def diagnose_descriptor(
    side: OperandCodes, part: OperandSlice, stored: StoredRectangle | None, of_other: str = "", stays: bool = True
) -> tuple[Diagnosis, ...]:
    """Return the diagnoses of a descriptor that does not read its slice.

    of_other: the elements read of the other matrix; stays: whether the previous step at the same line has the same
    word.
    """
    assert side.memory is not None and side.seen is not None and side.word is not None
    if of_other:
        message = (
            f"desc_{side.operand} reads {of_other}. Check whether the other operand's word, tile or tensor map is used"
            " here."
        )
        return (Diagnosis("operands_exchanged", message),)
    other, steps = _find_complete_slice(side, part)
    brought = _brought(side, part, other) if other is not None else ""
    if stored is None:
        return _not_stored(side, side.memory, part, brought)
    mn, k = stored.get_offset(side.known, part.mn, part.k)
    try:
        causes = verify(side.word, side.seen, stored.storage, mn=mn, k=k).diagnoses
    except LayoutError as error:
        return (Diagnosis(error.code, error.message), *_diagnose_beyond(side))
    if brought and causes and causes[0].fix is None:
        return (Diagnosis("other_slice", brought),)
    if other is not None and steps and causes and _vague(causes[0], stays):
        causes = (_of_other_slice(side, part, other, causes[0]),)
    return (*causes, *_diagnose_beyond(side))


def _letter(side: OperandCodes) -> str:
    """Return the letter of an operand's rows: M or N."""
    return "m" if side.operand == "a" else "n"


def _brought(side: OperandCodes, part: OperandSlice, other: tuple[int, int]) -> str:
    """Return a remark if the copy to shared memory may have loaded another slice."""
    letter = _letter(side)
    return (
        f"The word reads the complete slice at {letter} = {other[0]}, k = {other[1]}: the copy loaded that one"
        f" instead of the slice at {letter} = {part.mn}, k = {part.k}. Check the copy's coordinates."
    )


def _vague(cause: Diagnosis, stays: bool) -> bool:
    """Return whether a cause is less specific than "another slice is read", because it only changes the start."""
    vague = cause.code in VAGUE or (cause.code == "k_step_missing" and not stays)
    return vague and set(cause.changes) <= {"start_address"}


def _of_other_slice(side: OperandCodes, part: OperandSlice, other: tuple[int, int], cause: Diagnosis) -> Diagnosis:
    """Return the diagnosis that another slice is read completely, with the less specific cause's repair."""
    assert cause.fix is not None and side.word is not None
    letter = _letter(side)
    message = (
        f"The word reads the complete slice at {letter} = {other[0]}, k = {other[1]}: another stage, panel or"
        f" step. The slice at {letter} = {part.mn}, k = {part.k} begins at {cause.fix.start_address:#x}, not at"
        f" {side.word.start_address:#x}."
    )
    return Diagnosis("other_slice", message, cause.fix, cause.changes)


def _not_stored(side: OperandCodes, memory: RecordedMemory, part: OperandSlice, brought: str) -> tuple[Diagnosis, ...]:
    """Return the diagnosis of a slice without known layout, of which none, a part or all is in memory.

    brought: a remark to add if the word reads another slice completely.
    """
    recorded = _mask_recorded(memory, part, side.rows, side.depth)
    name, where = side.operand.upper(), f"the recorded shared memory, bytes {memory.base:#x} to {memory.end - 1:#x}"
    if recorded.all():
        message = f"The complete slice of {name} is in the recorded memory, but not in a known layout."
        return (Diagnosis("layout_not_found", message), *_diagnose_beyond(side))
    if brought:
        return (Diagnosis("other_slice", brought),)
    if not recorded.any():
        message = (
            f"No element of this slice of {name} is in {where}. Its copy had not arrived when the macro ran, or went"
            " to another place."
        )
        return (Diagnosis("slice_not_in_memory", message), *_diagnose_beyond(side))
    missing, count = _missing(recorded, _letter(side), part)
    message = (
        f"{missing} of this slice of {name} {'is' if count == 1 else 'are'} not in {where}: the copy loaded fewer,"
        " they had not arrived, or they are past the end of the matrix (pass A and B as matrices then)."
    )
    return (Diagnosis("slice_incomplete", message), *_diagnose_beyond(side))


def _missing(recorded: NDArray[np.bool_], letter: str, part: OperandSlice) -> tuple[str, int]:
    """Return (missing part, count); the part is a range of rows or of K if the missing elements are one."""
    for axis, name, first in ((1, letter, part.mn), (0, "k", part.k)):
        missing, count = _format_missing_range(recorded.any(axis=axis), name, first)
        if count:
            return missing, count
    count = int((~recorded).sum())
    return f"{count:,} of {recorded.size:,} elements", count


def _find_complete_slice(side: OperandCodes, part: OperandSlice) -> tuple[tuple[int, int] | None, bool]:
    """Return another slice that is read completely: ((mn, k) or None, whether its distance is a multiple of a step)."""
    origin = find_origin(side)
    if origin is None or origin[2] < 1.0:
        return None, False
    mn, k = origin[0], origin[1]
    away = mn - part.mn, k - part.k
    if not side.known.real:
        away = _get_least_distance(away[0], side.known.periods[0]), _get_least_distance(away[1], side.known.periods[1])
    return ((mn, k), away[0] % 8 == 0 and away[1] % side.depth == 0) if away != (0, 0) else (None, False)


def _get_least_distance(away: int, period: int) -> int:
    """Return the smallest distance that is equal modulo a period."""
    return (away + period // 2) % period - period // 2


def _format_missing_range(recorded: Any, letter: str, first: int) -> tuple[str, int]:
    """Return (range, count) of the missing indices along a dimension; ("", 0) if they are not one range."""
    at = np.flatnonzero(~np.asarray(recorded))
    if not len(at) or len(at) == len(recorded) or at[-1] - at[0] + 1 != len(at):
        return "", 0
    what = f"{letter} = {first + int(at[0])}"
    return what if len(at) == 1 else f"{what} to {first + int(at[-1])}", len(at)


def _diagnose_beyond(side: OperandCodes) -> tuple[Diagnosis, ...]:
    """Return the diagnosis of reads beyond the recorded memory."""
    assert side.memory is not None and side.address is not None
    outside = int((~side.inside).sum())
    if not outside:
        return ()
    past = bool((side.address >= side.memory.end).any())
    where = f"past byte {side.memory.end - 1:#x}" if past else f"before byte {side.memory.base:#x}"
    fault = (
        " A wgmma that reads past the block's own shared memory is an illegal address, even inside the 228 KiB of the"
        " SM (measured on an H200)."
        if past
        else ""
    )
    first = f", in which the block's own memory begins at {SHARED_BEGIN:#x} on sm_90" if not past else ""
    message = f"{outside:,} of {side.mn.size:,} elements are read {where}, outside the recorded memory{first}.{fault}"
    return (Diagnosis("reads_past_recorded", message),)
