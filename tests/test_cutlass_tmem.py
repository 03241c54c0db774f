"""Tensor memory against CUTLASS's own headers: every copy atom, D of every legal N, A of every width.

golden/cutlass_tmem.json holds what the headers give where they are compiled for the host and evaluated: a hash of the
addresses of each map. Facts alone: no code of CUTLASS is here.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from lanescope.blackwell import idesc, tmem
from lanescope.blackwell.idesc import encode
from lanescope.blackwell.tmem import TmemMma, TmemOperandLayout
from lanescope.cute.text import parse_layout
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.ptx.table import tmem as rows
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.ptx.table.kinds import WS
from lanescope.reader.cutlass_names.cutlass_layouts import recognise_cutlass_layouts
from lanescope.render import idesc as idesc_code
from lanescope.render.descriptor import render_code
from tests import cpp
from tests.cases import for_each
from tests.oracle import tcgen05 as oracle
from tests.ptxas import nvrtc
from tests.test_idesc import CUTLASS, list_legal_words
from tests.test_tcgen05_descriptor import RIGHT

HELD = json.loads((Path(__file__).parent / "golden" / "cutlass_tmem.json").read_text())


def _hash_addresses(addresses: NDArray[np.int64]) -> str:
    return hashlib.sha256(np.ascontiguousarray(addresses, np.int64).tobytes()).hexdigest()[:16]


def _list_addresses(held: TmemOperandLayout) -> NDArray[np.int64]:
    """Address of every element in units of its width, of several copies and halves the first: [row][column]."""
    lane, unit = (at[..., 0] for at in held.pattern.inverse())
    lane, unit = (at[..., 0] if at.ndim == 3 else at for at in (lane, unit))
    return (lane.astype(np.int64) << 16 + (32 // held.bits).bit_length() - 1) | unit


def test_every_copy_atom() -> None:
    """74 loads and 74 stores: the bit address of what each register's halves take."""
    wrong = []
    for text, meant in HELD["copies"].items():
        lane, column = tmem.parse_access(text).pattern.evaluate()[:2]
        if _hash_addresses((lane.astype(np.int64) << 21) | column.astype(np.int64) * 32) != meant:
            wrong.append(text)
    assert len(HELD["copies"]) == rows.MOVE_MAPS == 148 and wrong == []


def test_d_of_every_legal_n() -> None:
    wrong = []
    for case, meant in HELD["d"].items():
        form, m, n = case.split()
        if (
            _hash_addresses(
                _list_addresses(tmem.make_tmem_layout(TmemMma(idesc.get_kind("f16"), form, False, int(m), int(n)), "d"))
            )
            != meant
        ):
            wrong.append(case)
    assert len(HELD["d"]) == 105 and sum(case.startswith(WS) for case in HELD["d"]) == 9 and wrong == []


@for_each("case", HELD["a"])
def test_a_of_every_width(case: str) -> None:
    form, m, kind = case.split()
    assert (
        _hash_addresses(
            _list_addresses(tmem.make_tmem_layout(TmemMma(idesc.get_kind(kind), form, False, int(m), 64), "a"))
        )
        == HELD["a"][case]
    )


# the layouts of cutlass 2.x are the cute layouts that they are read as, element by element ----------------------------


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


# both descriptors of tcgen05 in c++ -----------------------------------------------------------------------------------

INSTRUCTION_WORDS = [
    *(word for word, _ in list_legal_words()),
    encode(
        idesc.get_kind("f16"),
        {"m": 128, "n": 64, "transpose_a": 1, "transpose_b": 1, "negate_b": 1, "max_shift": 8},
    ),
    encode(idesc.get_kind("i8"), {"a": "s8", "m": 64, "n": 32, "saturate": 1, "sparse": 1}),
    encode(idesc.get_kind("tf32"), {"m": 64, "n": 32, "sparse": 1, "sparsity_selector": 1}),
    *(encode(idesc.get_kind("f8f6f4"), {"a": a, "b": "e5m2", "m": 64, "n": 32}) for a in oracle._F8.values()),
    encode(idesc.get_kind("mxf8f6f4"), {"m": 128, "n": 32, "sfa_id": 3, "sfb_id": 1}),
]
MATRIX_WORDS = [RIGHT, 0x2000402001000100, 0xC000401000000000, 0x4010404008400040, 0x5000404000010100]


@pytest.mark.skipif(
    cpp.find_compiler() is None or nvrtc.find_headers() is None or not CUTLASS.is_dir(),
    reason="no compiler, CUDA or CUTLASS",
)
def test_the_code_for_cutlass_and_the_function_give_the_word(tmp_path: Path) -> None:
    """One program for both: CUTLASS's headers are most of what a compiler reads."""
    functions, statements = [], [f"{{ {idesc_code.render_cutlass(word)} }}" for word in INSTRUCTION_WORDS]
    for number, word in enumerate(MATRIX_WORDS):
        code = render_code(Descriptor(word, TCGEN05))
        name = f"make_desc_{number}"
        functions.append(code["function"].replace("__device__ inline uint64_t make_desc", f"uint64_t {name}"))
        statements += [
            f"{{ {code['cutlass']}\n if (desc.desc_ != {word:#x}ull) return 1; }}",
            f"if ({name}((void*){(word & 0x3FFF) << 4}ull) != {word:#x}ull) return 2;",
        ]
    source = [
        "#include <cassert>\n#include <cute/arch/mma_sm100_desc.hpp>",
        "static uint64_t __cvta_generic_to_shared(const void* p) { return (uint64_t)p; }",
        *functions,
        "int main() {",
        *statements,
        "}\n",
    ]
    (tmp_path / "words.cpp").write_text("\n".join(source))
    cuda = nvrtc.find_headers()
    assert cuda is not None
    folders = [part for path in (CUTLASS, cuda, cuda / "cccl") for part in ("-isystem", str(path))]
    command = [str(cpp.find_compiler()), "-std=c++17", "-w", "-O0", *folders, str(tmp_path / "words.cpp")]
    compiled = subprocess.run([*command, "-o", str(tmp_path / "words")], capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr[:3000]
    assert subprocess.run([str(tmp_path / "words")]).returncode == 0
