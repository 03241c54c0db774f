"""TiledMMA and TiledCopy against what CuTe's Python DSL 4.8.1 printed and partitioned (tests/oracle/cute_dsl.json:
random atom layouts, permutations and copies; coordinates of one thread), made from arguments and from the prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.tiles.copy import TiledCopy, tiled_copy
from lanescope.tiles.mma import TiledMMA
from lanescope.tiles.tiled_mma import tiled_mma
from tests.cases import for_each

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "oracle" / "cute_dsl.json").read_text())


def _build_mma(case: dict[str, Any]) -> TiledMMA | None:
    if "name" not in case:
        return None
    permutation = None if case["perm"] == "(_,_,_)" else case["perm"]
    return tiled_mma(case["name"], case["al"], permutation, case["tile"])


def _build_copy(case: dict[str, Any], mma: TiledMMA | None) -> TiledCopy:
    tile = case["ctile"]
    if mma is None:
        return tiled_copy(
            "universal",
            bits=case["bits"],
            element_bits=case["width"],
            thr_layout=case["thr"],
            val_layout=case["val"],
            tile=tile,
        )
    asked = case["copy"]
    operand = asked["L"].lower() + "_atom" * (asked["how"] == "atom")
    made = tiled_copy(asked["atom"], bits=asked["bits"], tiled_mma=mma, operand=operand, tile=tile)
    if asked["how"] not in ("S", "D"):
        return made
    return tiled_copy(**asked["outer"], like=made, side=asked["how"], tile=tile)


def _is_same(one: Any, other: Any) -> bool:
    return np.array_equal(one.rows, other.rows) and np.array_equal(one.cols, other.cols)


def _flatten(rows: Any, cols: Any) -> list[int]:
    return [int(n) for pair in zip(rows, cols, strict=True) for n in pair]


@for_each("number", range(len(CASES)))
def test_maps_are_those_of_cutes_dsl(number: int) -> None:
    case = CASES[number]
    mma = _build_mma(case)
    if mma is not None:
        printed = tiled_mma(case["mma_print"], tile=case["tile"])
        for letter, want in case["parts"].items():
            op = mma.operand(letter.lower())
            at = case["mma_thread"] // 128 if op.shared else mma.thread_ids.tolist().index(case["mma_thread"])
            pair = (op.cols, op.rows) if letter == "B" else (op.rows, op.cols)
            assert _flatten(pair[0][at], pair[1][at]) == want
            assert op.shared or _is_same(printed.operand(letter), op)
    copy = _build_copy(case, mma)
    shown = next(line for line in case["copy_print"].splitlines() if "TV Layout tiled" in line).partition(":")[2]
    assert np.array_equal(copy.tv.list_indices(), parse_cute_layout(shown).list_indices())
    at = case["copy_thread"]
    printed_copy = tiled_copy(case["copy_print"], tile=case["ctile"])
    for side, want in ((copy.source, case["S"]), (copy.destination, case["D"])):
        assert _flatten(side.rows[at], side.cols[at]) == want
    assert _is_same(printed_copy.source, copy.source) and _is_same(printed_copy.destination, copy.destination)
    assert printed_copy.tilers == copy.tilers or printed_copy.tiler == copy.tiler


CPP = """TiledMMA
  ThrLayoutVMNK:  (_32,_2,_2,_1):(_1,_32,_64,_0)
  PermutationMNK: (_32,_32,_16)
MMA_Atom
  ThrID:      _32:_1
  Shape_MNK:  (_16,_8,_16)
  LayoutA_TV: ((_4,_8),(_2,_2,_2)):((_32,_1),(_16,_8,_128))
  LayoutB_TV: ((_4,_8),(_2,_2)):((_16,_1),(_8,_64))
  LayoutC_TV: ((_4,_8),(_2,_2)):((_32,_1),(_16,_8))
"""
CPP_COPY = """TiledCopy
  Tiler_MN:       (_32,_16)
  TiledLayout_TV: ((_4,_8,_2,_2),((_2,_2,_2),(_1,_1))):((_64,_1,_16,_0),((_32,_8,_256),(_0,_0)))
Copy_Atom
  ThrID:        _32:_1
  ValLayoutSrc: (_32,_8):(_8,_1)
  ValLayoutDst: (_32,(_2,_4)):(_2,(_1,_64))
  ValLayoutRef: (_32,(_2,_4)):(_2,(_1,_64))
  ValueType:    16b
"""


class PrintedObject:
    """An object of cutlass.cute: known by its text."""

    def __str__(self) -> str:
        return CPP


def test_prints_of_cpp_and_objects_are_read() -> None:
    want = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(32,32,16)", (64, 64, 32))
    for given in (
        CPP,
        PrintedObject(),
        "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_32,_32,_16>{})",
    ):
        made = tiled_mma(given, tile=(64, 64, 32))
        assert all(_is_same(made.operand(name), want.operand(name)) for name in "abc")
    copy = tiled_copy(CPP_COPY, tile=(64, 32))
    assert copy.atom.name == "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
    same = tiled_copy("SM75_U32x4_LDSM_N", tiled_mma=want, operand="a", tile=(64, 32))
    assert _is_same(copy.source, same.source) and _is_same(copy.destination, same.destination)
    whole = tiled_copy(
        "make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<Shape<_16,_8>,"
        "Stride<_8,_1>>{}, Layout<Shape<_1,_8>>{})"
    )
    assert (whole.threads, whole.tile, whole.atom.bits) == (128, (16, 64), 128)


COMMENTED = """TiledMMA<
  MMA_Atom<SM80_16x8x8_F32TF32TF32F32_TN>,
  Layout<Shape<_2,_2,_1>, Stride<_2,_1,_1>>,  // 2x2x1 thread group
  Tile<_32,_32,_8>>                           // with LDSM
"""


def test_calls_with_comments_and_what_is_given_beside_them() -> None:
    """A call without its semicolon, with comments between its arguments, is C++."""
    made = tiled_mma(COMMENTED)
    assert (str(made.atom_layout), made.tile) == ("(2,2,1):(2,1,1)", (32, 32, 8))
    copy = tiled_copy(
        "make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, TA>{},\n"
        "  Layout<Shape<_16,_8>,Stride<_8,_1>>{},"
        " // k-major\n  Layout<Shape<_1,_8>>{})",
        element_bits=16,
    )
    assert (copy.threads, copy.tiler, copy.atom.bits) == (128, (16, 64), 128)
    loaded = tiled_copy(
        "make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma)", tiled_mma=made, element_bits=32
    )
    assert loaded.threads == 128 and loaded.tile == (32, 8)


@for_each(
    ("call", "field", "said", "hint"),
    [
        (
            lambda: tiled_copy(
                "SM90_U32x4_STSM_N",
                tiled_mma=tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)"),
                operand="c",
                tile=(64, 64),
            ),
            "atom",
            "the TiledCopy has 4",
            "atom of 4 values",
        ),
        (
            lambda: tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "((16,3,2):(1,32,16),_,_)").c,
            "permutation",
            r"M: the permutation \(16,3,2\)",
            "16 and then 2 divide",
        ),
        (lambda: tiled_copy("universal", layout_tv="(32,4):(4,1)", tiler_mn="(8,8)"), "tiler_mn", "element 127", "128"),
        (lambda: tiled_copy("universal", layout_tv="(32,4):(4,1)"), "tiler_mn", "is missing", "A size or"),
        (lambda: tiled_copy("universal", layout_tv="32:1", tiler_mn="(8,4)"), "layout_tv", "two modes", "((8,16),8)"),
        (
            lambda: tiled_copy(
                "make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, T>{}, Layout<Shape<_32,_8>>{},"
                " Layout<Shape<_1,_4>>{})"
            ),
            "element_bits",
            "does not determine element_bits",
            "as arguments",
        ),
        (
            lambda: tiled_mma("TiledMMA<MMA_Atom<UniversalFMA<float>>, Layout<Shape<_16,_16,_1>>>"),
            "atom",
            "UniversalFMA multiplies in one thread",
            "wgmma",
        ),
        (lambda: tiled_copy("Tiled Copy, Tiler MN"), "atom", "is not a TiledCopy", "print"),
    ],
)
def test_what_does_not_fit_is_named(call: Any, field: str, said: str, hint: str) -> None:
    with pytest.raises(LayoutError, match=said) as told:
        call()
    assert told.value.field == field and hint in told.value.hint
