"""The verdict on one recorded step: its operands, their first wrong element, and the causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.capture.file_format import Record
from lanescope.capture.operand_codes import Ints
from lanescope.capture.recorded_operands import OperandCodes
from lanescope.capture.slice_order import OperandSlice
from lanescope.descriptor.case import Diagnosis


@dataclass(frozen=True, slots=True)
class MisreadElement:
    """A wrong element (row, k) of an operand: the address and element that were read, and those expected.

    Elements and addresses are NONE or SEVERAL if they are not known.
    """

    row: int
    k: int
    address: int | None
    read: tuple[int, int]
    expected: tuple[int, int]
    lies: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandVerdict:
    """One operand of one step.

    how: "descriptor" or "registers"; part: the slice that it should be; several: the number of elements whose value
    occurs more than once in the matrix, so that it is unknown which was read; stored: the layout of the tile in
    recorded memory, as a storage of POST /descriptors/verify.
    """

    name: str
    how: str
    part: OperandSlice
    total: int
    right: int
    outside: int
    several: int
    word: int | None
    major: str
    first: MisreadElement | None
    stored: Mapping[str, Any] | None
    stored_text: str
    stored_at: tuple[int, int]
    diagnoses: tuple[Diagnosis, ...]

    @property
    def ok(self) -> bool:
        return self.right == self.total


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """One step: a recorded wgmma or mma with its operands. index: its position in the loop of its warp or warpgroup."""

    number: int
    index: int
    record: Record
    ptx: str
    operands: tuple[OperandVerdict, ...]

    @property
    def ok(self) -> bool:
        return all(operand.ok for operand in self.operands)

    @property
    def k(self) -> int | None:
        """The K at which its slices begin."""
        return self.operands[-1].part.k if self.operands else None

    @property
    def causes(self) -> tuple[Diagnosis, ...]:
        return tuple(cause for operand in self.operands if not operand.ok for cause in operand.diagnoses)


@dataclass(frozen=True, slots=True)
class LoadedRows:
    """The rows that the lanes of an ldmatrix fetched: [lane] of (mn, k), NONE or SEVERAL."""

    number: int
    record: Record
    operand: str
    mn: Ints
    k: Ints


@dataclass(frozen=True, slots=True)
class OperandPicture:
    """The data for a picture of one operand of one step.

    Its sides, and which elements are right, [row][k]; lies: the addresses of the right ones, None if no layout was
    found; part: the slice that it should be.
    """

    side: OperandCodes
    right: NDArray[np.bool_]
    lies: Ints | None
    part: OperandSlice
    where: str
