"""Find A and B of a capture: the matrices passed by the user, or fills (for 8-bit types with the pass of each file)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.capture import fills
from lanescope.capture.file_format import Record
from lanescope.capture.operand_codes import (
    KnownOperand,
    RecordedMemory,
    make_memory,
    operand_from_fill,
    operand_from_matrix,
)
from lanescope.capture.recorded_operands import MemoryWindows, MultiplyStep, find_origin, read_operands
from lanescope.dump.files import encode_tile
from lanescope.errors import LayoutError
from lanescope.ptx.codec import Bits
from lanescope.ptx.dtypes import get_dtype

MOST_WINDOWS = 4  # records examined to identify the fill
MOST_ELEMENTS = 1 << 24  # elements of a matrix


def identify_operands(
    pair: tuple[str, str],
    files: Sequence[Sequence[Record]],
    *,
    a: Any,
    b: Any,
    nk: bool,
    notes: list[str],
    steps: Sequence[MultiplyStep] = (),
    kept: int = 1,
) -> dict[str, KnownOperand]:
    """Return both operands by name, with the pair's element types.

    steps: their registers identify the operands if no memory was recorded; kept: elements of K per stored element of a
    sparse A. LayoutError `bad_matrix` for arrays that do not fit, `bad_fill` for a type that cannot be verified.
    """
    operands: dict[str, KnownOperand] = {}
    depth = _parse_array(a, "a", pair[0]).shape[1] * kept if a is not None else None
    filled: list[tuple[str, str]] = []
    for operand, name, matrix in (("a", pair[0], a), ("b", pair[1], b)):
        if matrix is None:
            filled.append((operand, name))
            continue
        codes = encode_tile(_parse_array(matrix, operand, name), name, "", operand).codes
        if operand == "b":
            codes = _by_columns(codes, nk, depth, kept, notes)
        operands |= _choose_likeliest(_matrices(codes, name, operand, len(files)), files, steps)
    if filled:
        operands |= _choose_likeliest(_fills(filled, _find_passes(pair, files, notes), files), files, steps)
    return {operand: operands[operand] for operand in "ab"}


def _by_columns(codes: Bits, nk: bool, depth: int | None, kept: int, notes: list[str]) -> Bits:
    """Return B as (n, k).

    depth: k of A, None without A; kept: elements of K per stored element of a sparse A.
    """
    turned = nk or (depth is not None and codes.shape[0] != depth and codes.shape[1] == depth)
    if turned and not nk:
        size = " × ".join(map(str, codes.shape))
        notes.append(f"B is {size}: it is taken as (n, k), because A has k = {depth}.")
    codes = codes if turned else codes.T
    if depth is not None and codes.shape[1] != depth:
        sparse = f" A of a sparse instruction is the stored matrix, (m, k / {kept})." if kept > 1 else ""
        raise LayoutError(
            "bad_matrix", f"A has k = {depth}, B {codes.shape[1]}.", f"A is (m, k), B (k, n).{sparse}", "b"
        )
    return codes


def _matrices(codes: Bits, name: str, operand: str, passes: int) -> list[dict[str, KnownOperand]]:
    """Return the possible forms of a matrix in memory: with unread bits truncated, or rounded."""
    if get_dtype(name).bits < 8:
        raise LayoutError(
            "bad_fill", f"Elements of {get_dtype(name).bits} bits cannot be verified.", "8 bits or more.", "type"
        )
    candidates = [{operand: operand_from_matrix(codes, name, operand, passes)}]
    if unread := get_dtype(name).unread_bits:
        rounded = codes.astype(np.uint64) + np.uint64(1 << unread - 1)
        candidates.append({operand: operand_from_matrix(rounded, name, operand, passes)})
    return candidates


def _fills(
    filled: Sequence[tuple[str, str]], parts: tuple[int, ...], files: Sequence[Sequence[Record]]
) -> list[dict[str, KnownOperand]]:
    """Return the fills of each header version and each order of passes; parts: the pass of each file."""
    orders = [parts] if any(len(record.window) for record in files[0]) else [parts, parts[::-1]]
    headers = (False, True) if any(fills.count_passes(name) == 1 for _, name in filled) else (False,)
    return [
        {
            operand: operand_from_fill(
                name, operand, order if fills.count_passes(name) == 2 else (1,) * len(files), earlier
            )
            for operand, name in filled
        }
        for earlier in headers
        for order in dict.fromkeys(orders)
    ]


def copy_to_host(array: Any) -> Any:
    """Return a CuPy array or PyTorch tensor copied to host memory; other values unchanged."""
    if hasattr(array, "get") and hasattr(array, "__cuda_array_interface__"):
        return array.get()
    if hasattr(array, "cpu") and hasattr(array, "numpy"):
        on_host = array.detach().cpu() if hasattr(array, "detach") else array.cpu()
        try:
            return on_host.numpy()
        except TypeError:  # types without a NumPy dtype, such as bfloat16, are exact as float
            return on_host.float().numpy()
    return array


def _parse_array(value: Any, field: str, name: str) -> NDArray[Any]:
    array = np.asarray(copy_to_host(value))
    if get_dtype(name).kind == "int" and array.dtype == np.uint8:  # codes of a fill
        array = array.view(np.int8)
    if array.ndim != 2 or not 0 < array.size <= MOST_ELEMENTS or array.dtype.kind not in "biufV":
        shape = " × ".join(map(str, array.shape)) or "one number"
        raise LayoutError(
            "bad_matrix",
            f"{field.upper()} is {shape} of {array.dtype}.",
            f"Give a matrix of at most {MOST_ELEMENTS} numbers.",
            field,
        )
    return array


def _find_passes(pair: tuple[str, str], files: Sequence[Sequence[Record]], notes: list[str]) -> tuple[int, ...]:
    """Return the pass of each file, determined from recorded memory; 1 for types with a single pass."""
    if all(fills.count_passes(name) == 1 for name in pair):
        return (1,) * len(files)
    parts: list[int] = []
    for number, records in enumerate(files, 1):
        wide = {
            part: sum(_count_window_rows(operand_from_fill(pair[n], "ab"[n], (part,)), records) for n in (0, 1))
            for part in (1, 2)
        }
        parts.append(number if wide[1] == wide[2] else min(wide, key=lambda part: wide[part]))
    if len(files) == 2 and parts[0] == parts[1]:
        raise LayoutError(
            "bad_capture",
            f"Both captures are of pass {parts[0]}.",
            "Fill A and B with pass 1, then with pass 2.",
            "capture",
        )
    if len(files) == 1:
        notes.append(f"{pair[1]} has too few codes for one pass: give the second capture to distinguish all elements.")
    return tuple(parts)


def _choose_likeliest(
    candidates: Sequence[dict[str, KnownOperand]], files: Sequence[Sequence[Record]], steps: Sequence[MultiplyStep]
) -> dict[str, KnownOperand]:
    """Return the candidate that best matches recorded memory, or else the first registers, or else the first
    candidate.
    """
    if len(candidates) == 1:
        return candidates[0]
    latest: dict[bytes, Record] = {}
    for record in (record for records in files for record in records if len(record.window)):
        if len(latest) < MOST_WINDOWS:
            latest.setdefault(record.window[:: max(len(record.window) // 256, 1)].tobytes(), record)
    scores = [
        sum(
            _get_density(make_memory(operand, [r.window], r.window_first))
            for r in latest.values()
            for operand in each.values()
        )
        for each in candidates
    ]
    if max(scores) == min(scores):
        scores = [_get_slice_share(each, files, steps) for each in candidates]
    return candidates[scores.index(max(scores))]


def _get_slice_share(
    known: dict[str, KnownOperand], files: Sequence[Sequence[Record]], steps: Sequence[MultiplyStep]
) -> float:
    """Return the share of elements in the first steps' registers that belongs to a single slice."""
    share, windows = 0.0, MemoryWindows(known)
    for step in steps[:MOST_WINDOWS]:
        try:
            origins = [find_origin(side) for side in read_operands(step, files, windows) if side.registers]
        except LayoutError:  # reported when the step is verified
            continue
        share += sum(origin[2] for origin in origins if origin is not None)
    return share


def _get_density(memory: RecordedMemory) -> float:
    """Return the density of a matrix in its rectangle of memory; elements of a wrong matrix are scattered."""
    rectangle = memory.find_present_rectangle()
    return 0.0 if rectangle is None else int((memory.mn >= 0).sum()) / (rectangle[0][1] * rectangle[1][1])


def _count_window_rows(known: KnownOperand, records: Sequence[Record]) -> int:
    """Return the number of rows in the first recorded window; swapped passes leave gaps between rows."""
    window = next((record for record in records if len(record.window)), None)
    if window is None:
        return 0
    rectangle = make_memory(known, [window.window], window.window_first).find_present_rectangle()
    return 0 if rectangle is None else rectangle[0][1]
