"""Which groups of a sparse operand hold more than 2:4 allows, against a search in Python."""

from __future__ import annotations

import random

import numpy as np
import pytest

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from tests.cases import for_each

ONE = {i.family.ptx: i for i in catalog.instructions()}  # of each row
SPARSE = {row: i.operand("a").sparsity for row, i in ONE.items() if "a" in i.operands and i.operand("a").sparsity}


@for_each("family", SPARSE)
def test_a_group_with_too_many_elements_is_named(family: str) -> None:
    """Against a search in Python: the first row and group with more nonzero places than are stored, and how many."""
    sparsity = SPARSE[family]
    dice = random.Random(26)
    per, places = sparsity.per_index, sparsity.group // sparsity.per_index
    for _ in range(25):
        dense = np.array([[dice.random() < 0.55 for _ in range(3 * sparsity.group)] for _ in range(3)])
        pairs = dense.reshape(3, 3, places, per)  # row, group, place in the group, elements that have one index
        counts = {(row, group): int(pairs[row, group].any(axis=1).sum()) for row in range(3) for group in range(3)}
        first = next((key for key, count in sorted(counts.items()) if count > sparsity.kept // per), None)
        if first is None:
            assert sparsity.find_kept_positions(dense).shape == (3, 3, sparsity.kept // per)
            continue
        at = first[1] * sparsity.group
        what = "pairs of elements" if per > 1 else "elements"
        with pytest.raises(LayoutError) as caught:
            sparsity.find_kept_positions(dense)
        assert (
            caught.value.message
            == f"Row {first[0]}, columns {at} to {at + sparsity.group - 1} have {counts[first]} nonzero {what}."
        )
        assert (
            caught.value.hint
            == f"mma.sp stores {sparsity.kept // per} of every {places}: e.g. col % {sparsity.group} < {sparsity.kept}"
            " ? i : 0."
        )
