"""The layouts of CUTLASS 2.x are the CuTe layouts that they are read as, element by element."""

from __future__ import annotations

import pytest

from lanescope.cute.text import parse_layout
from lanescope.errors import LayoutError
from lanescope.reader.cutlass_names.cutlass_layouts import recognise_cutlass_layouts
from tests.cases import for_each


def locate(bits: int, crosswise: int, contiguous: int, strided: int) -> int:
    """Return the offset by tiles, partitions and accesses, as tensor_op_multiplicand_sm75.h computes it."""
    access = 128 // bits
    factor = 8 * access // crosswise
    tile_strided = max(8 // factor, 4)
    vector, line = contiguous // access, strided // factor
    tile = vector // (8 // factor)
    residual = vector % (8 // factor) + strided % factor * (8 // factor)
    partition, inside = divmod(residual, 4)
    strided_partition, strided_inside = divmod(line % tile_strided, 4)
    moved = (partition ^ strided_partition % 2) * 4 + (inside ^ strided_inside % 4)
    return (tile * 8 + moved) * access + contiguous % access + line * crosswise * factor


@for_each(("bits", "length"), [(16, 64), (16, 32), (16, 16), (8, 128), (8, 64), (8, 32), (32, 32), (32, 16), (4, 128)])
def test_each_element_is_where_cutlass_puts_it(bits: int, length: int) -> None:
    (meaning,) = recognise_cutlass_layouts(f"cutlass::layout::RowMajorTensorOpMultiplicandCrosswise<{bits}, {length}>")
    layout = parse_layout(meaning.facts["cute"])
    rows = layout.size // length
    assert meaning.facts["element_bits"] == bits
    for row in range(rows):
        for column in range(length):
            assert layout(row + rows * column) == locate(bits, length, column, row), (row, column)


@for_each(
    "text",
    [
        "using L = layout::ColumnMajorTensorOpMultiplicandCongruous<cutlass::sizeof_bits<cutlass::half_t>::value, 64>;",
        "TensorOpMultiplicandCrosswise<sizeof_bits<half_t>::value, 64>",
    ],
)
def test_the_size_of_a_type_is_its_bits(text: str) -> None:
    (meaning,) = recognise_cutlass_layouts(text)
    assert meaning.facts["cute"] == "Sw<3,3,3> o (8,64):(64,1)"


def test_names_that_the_text_leaves_open_are_not_guessed() -> None:
    assert recognise_cutlass_layouts("RowMajorTensorOpMultiplicandCrosswise<sizeof_bits<ElementA>::value, 64>") == ()
    assert recognise_cutlass_layouts("RowMajorTensorOpMultiplicandCrosswise<16, Shape::kK>") == ()


def test_the_layout_of_32_bits_whose_xor_differs_is_not_read() -> None:
    assert recognise_cutlass_layouts("ColumnMajorTensorOpMultiplicandCongruous<32, 32>") == ()


@for_each("numbers", ["16, 128", "16, 48", "16, 4", "12, 64"])
def test_rows_that_cutlass_refuses_are_refused(numbers: str) -> None:
    with pytest.raises(LayoutError, match="has rows of"):
        recognise_cutlass_layouts(f"TensorOpMultiplicandCrosswise<{numbers}>")
