"""A and B of a capture: the matrices that were given, or the fills, of 8-bit types the passes that the files have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.capture import fills
from layouts.capture.form import Record
from layouts.capture.known import Known, memory, of_fill, of_matrix
from layouts.dtypes import dtype
from layouts.dump import codes_of
from layouts.errors import LayoutError

MOST_ELEMENTS = 1 << 24  # of a matrix that is given


def known_of(
    pair: tuple[str, str], files: Sequence[Sequence[Record]], a: Any, b: Any, nk: bool, notes: list[str]
) -> dict[str, Known]:  # fmt: skip
    """Both operands by name, as elements of the pair's types. LayoutError `bad_matrix` for arrays that do not fit,
    `bad_fill` for a type that is not verified.
    """
    out = {}
    depth = _array(a, "a").shape[1] if a is not None else None
    for operand, name, given in (("a", pair[0], a), ("b", pair[1], b)):
        if given is None:
            parts = _passes(pair, files, notes)
            out[operand] = of_fill(name, operand, parts if fills.passes(name) == 2 else (1,) * len(files))
            continue
        codes = codes_of(_array(given, operand), name, field=operand).codes
        if operand == "b":
            turned = nk or (depth is not None and codes.shape[0] != depth and codes.shape[1] == depth)
            if turned and not nk:
                size = " × ".join(map(str, codes.shape))
                notes.append(f"B is {size}: it is taken as (n, k), since A has k = {depth}.")
            codes = codes if turned else codes.T
            if depth is not None and codes.shape[1] != depth:
                raise LayoutError(
                    "bad_matrix", f"A has k = {depth}, B {codes.shape[1]}.", "A is (m, k), B (k, n).", "b"
                )  # fmt: skip
        if dtype(name).bits < 8:
            raise LayoutError(
                "bad_fill", f"Elements of {dtype(name).bits} bits are not verified.", "8 bits or more.", "type"
            )  # fmt: skip
        out[operand] = of_matrix(codes, name, operand, len(files))
    return out


def on_host(given: Any) -> Any:
    """An array of CuPy or a tensor of PyTorch in host memory; anything else as it is."""
    if hasattr(given, "get") and hasattr(given, "__cuda_array_interface__"):
        return given.get()
    if hasattr(given, "cpu") and hasattr(given, "numpy"):
        return given.cpu().numpy()
    return given


def _array(given: Any, field: str) -> NDArray[Any]:
    array = np.asarray(on_host(given))
    if array.ndim != 2 or not 0 < array.size <= MOST_ELEMENTS or array.dtype.kind not in "biufV":
        shape = " × ".join(map(str, array.shape)) or "one number"
        raise LayoutError(
            "bad_matrix", f"{field.upper()} is {shape} of {array.dtype}.",
            f"A matrix of numbers, at most {MOST_ELEMENTS} of them.", field,
        )  # fmt: skip
    return array


def _passes(pair: tuple[str, str], files: Sequence[Sequence[Record]], notes: list[str]) -> tuple[int, ...]:
    """The pass of each file, by what is found in memory; 1 where the type has only one."""
    if all(fills.passes(name) == 1 for name in pair):
        return (1,) * len(files)
    parts: list[int] = []
    for number, records in enumerate(files, 1):
        wide = {part: sum(_rows(of_fill(pair[n], "ab"[n], (part,)), records) for n in (0, 1)) for part in (1, 2)}
        parts.append(number if wide[1] == wide[2] else min(wide, key=lambda part: wide[part]))
    if len(files) == 2 and parts[0] == parts[1]:
        raise LayoutError(
            "bad_capture", f"Both captures are of pass {parts[0]}.", "Fill A and B with pass 1, then with pass 2.",
            "capture",
        )  # fmt: skip
    if len(files) == 1:
        notes.append(f"{pair[1]} has too few codes for one pass: give the second capture, to tell every element apart.")
    return tuple(parts)


def _rows(known: Known, records: Sequence[Record]) -> int:
    """How many rows lie in the first window that is recorded; one pass taken for the other leaves gaps between them."""
    window = next((record for record in records if len(record.window)), None)
    if window is None:
        return 0
    here = memory(known, [window.window], window.window_first).present()
    return 0 if here is None else here[0][1]
