"""Recognise the shared-memory layouts of CUTLASS 2.x by name: RowMajorTensorOpMultiplicandCrosswise<16, 64>.

CUTLASS, include/cutlass/layout/tensor_op_multiplicand_sm75.h: a line of 128 bytes holds one row of the tile or several
shorter ones, and its 16-byte accesses are XORed with the number of the line, modulo 8 or, for several rows, modulo 4.
"""

from __future__ import annotations

import re

from lanescope.cxx.sizes import ELEMENT_BITS
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.reader.cute import cute_layout
from lanescope.reader.meaning import TextMeaning

_LAYOUT = re.compile(
    r"(?<!\w)(?:\w+::){0,3}((?:Row|Column)Major)?TensorOpMultiplicand(Crosswise|Congruous)?\s*<\s*"
    r"(?:(\d{1,2})|(?:\w+::){0,2}sizeof_bits\s*<\s*(?:\w+::){0,2}(\w+)\s*>\s*::\s*value)\s*,\s*(\d{1,4})\s*>"
)
_LINE_BITS, _ACCESS_BITS, _ELEMENTS = 1024, 128, (4, 8, 16, 32)
_CONTIGUOUS = {
    "RowMajor": "The second mode is contiguous: the columns.",
    "ColumnMajor": "The second mode is contiguous: the rows.",
    None: "The second mode is contiguous.",
}


def recognise_cutlass_layouts(text: str) -> tuple[TextMeaning, ...]:
    """Return the layouts of CUTLASS 2.x that a text names with numbers. LayoutError if CUTLASS refuses the numbers."""
    meanings = {}
    for match in _LAYOUT.finditer(text):
        bits = int(match[3]) if match[3] else ELEMENT_BITS.get(match[4], 0)
        if bits and not (match[2] == "Congruous" and bits == 32):  # which has an XOR of its own
            meanings[match[0]] = _make_meaning(match[1], match[2] or "", bits, int(match[5]))
    return tuple(meanings.values())


def _make_meaning(major: str | None, kind: str, bits: int, length: int) -> TextMeaning:
    name = f"{major or ''}TensorOpMultiplicand{kind}<{bits}, {length}>"
    if bits not in _ELEMENTS or length & (length - 1) or not _ACCESS_BITS <= length * bits <= _LINE_BITS:
        raise LayoutError(
            "bad_cutlass",
            f"{name} has rows of {length} elements of {bits} bits.",
            f"A row has 16, 32, 64 or 128 bytes, an element {join_words(list(map(str, _ELEMENTS)), 'or')} bits.",
            "text",
        )
    base = (_ACCESS_BITS // bits).bit_length() - 1
    swizzle = f"Sw<{3 if length * bits == _LINE_BITS else 2},{base},3>"
    rows = 8 * _LINE_BITS // (length * bits)
    (layout, *_) = cute_layout.recognise_layouts(f"{swizzle} o ({rows},{length}):({length},1)")
    says = (
        f"CUTLASS 2.x stores a tile whose rows have {length} elements so, row by row. {_CONTIGUOUS[major]}",
        "With a longer stride, as of several stages, the number of the line moves up, and the XOR's shift with it.",
    )
    facts = {**layout.facts, "storage": None, "element_bits": bits}
    return TextMeaning("layout", f"{name}: CuTe layout {layout.facts['cute']}", facts, says, sure=True)
