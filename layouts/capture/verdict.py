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
    """A wrong element (row, k) of an operand: the address and element that were read, and the expected ones.

    Unknown elements and addresses are NONE or SEVERAL.
    """

    row: int
    k: int
    address: int | None
    read: tuple[int, int]
    expected: tuple[int, int]
    stored_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandVerdict:
    """One operand of one step.

    how: "descriptor" or "registers"; part: the expected slice; several: number of elements that are unknown because
    their value occurs more than once in the matrix; stored: the tile's layout in recorded memory, as a storage of POST
    /descriptors/verify.
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
    """A recorded wgmma or mma with its operands. index: its position among the steps of its warp or warpgroup."""

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
        """The first K of its slices."""
        return self.operands[-1].part.k if self.operands else None

    @property
    def causes(self) -> tuple[Diagnosis, ...]:
        return tuple(cause for operand in self.operands if not operand.ok for cause in operand.diagnoses)


@dataclass(frozen=True, slots=True)
class LoadedRows:
    """The rows that the lanes of an ldmatrix fetched: (mn, k) of each lane, or NONE or SEVERAL."""

    number: int
    record: Record
    operand: str
    mn: Ints
    k: Ints


@dataclass(frozen=True, slots=True)
class OperandPicture:
    """The data for a picture of one operand of one step.

    right: [row][k]; places: addresses of the right elements, None if no layout was found; part: the expected slice.
    """

    side: OperandCodes
    right: NDArray[np.bool_]
    places: Ints | None
    part: OperandSlice
    where: str
