"""Fields of a word: get and put of every value, bits that no field covers, amounts in units."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from lanescope.bits import BitField, find_gaps
from lanescope.errors import LayoutError

FIELDS = st.builds(
    lambda low, width, unit: BitField("size", low, min(63, low + width - 1), unit),
    st.integers(0, 63),
    st.integers(1, 20),
    st.sampled_from([1, 2, 16]),
)


@given(FIELDS, st.integers(0, (1 << 64) - 1), st.data())
def test_a_field_changes_its_own_bits_alone(field: BitField, word: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, field.most))
    changed = field.put(word, value)
    assert field.get(changed) == value and changed >> field.high + 1 == word >> field.high + 1
    assert changed & (1 << field.low) - 1 == word & (1 << field.low) - 1
    assert field.most == sum(1 << bit for bit in range(field.width)) and field.width == len(
        range(field.low, field.high + 1)
    )
    assert field.encode(value * field.unit) == value
    for wrong in (-1, field.most + 1):
        with pytest.raises(LayoutError, match=f"size is {wrong}, which does not fit {field.width} bits"):
            field.put(word, wrong)
    with pytest.raises(LayoutError, match=f"size is {(field.most + 1) * field.unit}") as caught:
        field.encode((field.most + 1) * field.unit)
    assert caught.value.hint == f"At most {field.most * field.unit}." and caught.value.field == "size"
    with pytest.raises(LayoutError, match="not a multiple"):
        field.encode(-field.unit)
    if field.unit > 1:
        with pytest.raises(LayoutError) as caught:
            field.encode(value * field.unit + 1)
        assert caught.value.code == "misaligned"
        nearest = int(caught.value.hint.removeprefix("Nearest: ").removesuffix("."))
        assert field.put(word, field.encode(nearest)) is not None
        assert abs(nearest - value * field.unit - 1) <= field.unit // 2 or nearest == field.most * field.unit
        assert field.find_nearest(field.most * field.unit + 9 * field.unit + 1) == field.most * field.unit


@given(st.lists(st.integers(0, 3), min_size=1, max_size=64))
def test_gaps_are_the_runs_no_field_covers(kinds: list[int]) -> None:
    """kinds: for each bit 0 for a gap, else the field that holds it; neighbours of one kind are one field."""
    width, fields, runs = len(kinds), [], []
    start = 0
    for bit in range(1, width + 1):
        if bit == width or kinds[bit] != kinds[start]:
            (fields if kinds[start] else runs).append((start, bit - 1))
            start = bit
    assert find_gaps(tuple(BitField("f", low, high) for low, high in fields), width) == tuple(runs)


def test_fields_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="fields overlap"):
        find_gaps((BitField("a", 0, 3), BitField("b", 3, 4)))
    assert find_gaps((BitField("a", 0, 3), BitField("b", 4, 63))) == ()
    assert BitField("a", 0, 3) == BitField("a", 0, 3, 1, "")
