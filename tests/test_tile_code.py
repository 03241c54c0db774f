"""The code that a tile is shown with makes the same tile: Python is executed, C++ and CuTe's DSL are read back."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from lanescope import reader
from lanescope.cute.text import parse_cute_layout
from lanescope.reader.cutlass_names.cutlass import find_atom_instructions
from lanescope.tiles import code, umma_code
from lanescope.tiles.copy import TiledCopy, tiled_copy
from lanescope.tiles.tiled_mma import tiled_mma
from lanescope.tiles.tiled_umma import tiled_umma
from tests.cases import for_each

MMAS: tuple[tuple[Any, ...], ...] = (
    ("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(32,32,16)"),
    ("SM80_16x8x16_F32F16F16F32_TN", "(1,1,1)"),
    ("SM80_16x8x8_F32TF32TF32F32_TN", "(2,4,1):(4,1,8)"),
    ("SM90_64x32x16_F32F16F16_RS<GMMA::Major::K, GMMA::Major::K>", "(2,1,1)"),
    ("SM90_64x64x32_F32E4M3E4M3_SS_TN", "(1,2,1)"),
    ("mma.m16n8k32.row.col.s32.s8.s8.s32", "(1,4,1)", "(_,(8,2,2):(1,16,8),_)"),
)
UMMA = "SM100_MMA_F16BF16_{}<half_t, half_t, float, {}, {}, UMMA::Major::K, UMMA::Major::MN>"
UMMAS: tuple[tuple[str, dict[str, Any]], ...] = (
    (UMMA.format("SS", 128, 256), {"tile": (128, 256, 64)}),
    (UMMA.format("SS", 64, 64), {"tile": (64, 64, 32), "swizzles": ("64B", "")}),
    (UMMA.format("2x1SM_SS", 256, 256), {"tile": (256, 256, 64), "order": "k"}),
    (UMMA.format("TS", 128, 64), {"tile": (128, 128, 64)}),
)


def parse_code(text: str, kind: str) -> dict[str, Any]:
    """What the reader makes of code: the body of a question about the tile."""
    (facts,) = (one.facts for one in reader.recognise_text(text).found if one.kind == kind)
    body: dict[str, Any] = facts["body"]
    return body


def run_python(text: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a user's Python makes; there the only package is lanescope, not this folder."""
    for name in ("layouts", "app"):
        monkeypatch.setitem(sys.modules, name, None)
    scope: dict[str, Any] = {}
    exec(text, scope)
    return scope["made"]


def is_same(one: Any, other: Any) -> bool:
    """Whether two tiles put every element into the same thread and value."""
    return all(
        np.array_equal(one.operand(name).rows, other.operand(name).rows)
        and np.array_equal(one.operand(name).cols, other.operand(name).cols)
        for name in "abc"
    )


@for_each("given", MMAS)
@for_each("write", [code.render_cute_cpp, code.render_cute_python])
def test_the_code_of_a_tiled_mma_is_read_as_that_tiled_mma(given: tuple[Any, ...], write: Any) -> None:
    made = tiled_mma(*given)
    if text := write(made):
        body = parse_code(text, "tiled_mma")
        again = tiled_mma(body["atom"], body["atom_layout"], body["permutation"], made.tile)
        assert is_same(again, made) and again.threads == made.threads


def test_every_tiled_mma_here_has_cxx_and_three_have_an_operation_of_the_dsl() -> None:
    assert all(code.render_cute_cpp(tiled_mma(*given)) for given in MMAS)
    assert [bool(code.render_cute_python(tiled_mma(*given))) for given in MMAS] == [
        True,
        True,
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("given", MMAS)
def test_the_python_of_a_tiled_mma_makes_it(given: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    made = tiled_mma(*given)
    assert is_same(run_python(code.render_lanescope_python(made, given[0]), monkeypatch), made)


@pytest.mark.parametrize(("text", "more"), UMMAS)
def test_the_python_of_an_umma_makes_it(text: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made = tiled_umma(text, **more)
    again = run_python(umma_code.render_lanescope_python(made, text), monkeypatch)
    assert [(one.a, one.b) for one in again.mmas] == [(one.a, one.b) for one in made.mmas]
    assert is_same(again, made) and again.umma.word == made.umma.word


@for_each(("text", "more"), UMMAS)
def test_the_cxx_of_an_umma_names_its_atom_and_word(text: str, more: dict[str, Any]) -> None:
    made = tiled_umma(text, **more)
    written = umma_code.render_cute_cpp(made)
    assert tiled_umma(parse_code(written, "tiled_mma")["atom"], tile=made.tile).umma.word == made.umma.word
    assert f"instruction descriptor: {made.umma.word}\n" in written


@for_each(
    ("m", "n", "form", "load"),
    [
        (128, 256, "SS", "tcgen05.ld.sync.aligned.32x32b.x32.b32"),  # a lane a row
        (128, 16, "SS", "tcgen05.ld.sync.aligned.32x32b.x16.b32"),  # no more columns than D has
        (64, 64, "SS", "tcgen05.ld.sync.aligned.16x256b.x4.b32"),  # M = 64 lies in lanes 0 to 15 of each warp
        (256, 256, "2x1SM_SS", "tcgen05.ld.sync.aligned.32x32b.x32.b32"),
    ],
)
def test_d_is_loaded_by_the_widest_load_of_its_lanes(m: int, n: int, form: str, load: str) -> None:
    name = umma_code.get_load_name(tiled_umma(UMMA.format(form, m, n), tile=(m, n, 64)))
    assert [i.ptx for i in find_atom_instructions(name)] == [load]


THREADS, VALUES = "(16,8):(8,1)", "(1,8)"
COPIES: tuple[dict[str, Any], ...] = (
    {"atom": "cp.async", "bits": 128, "thr_layout": THREADS, "val_layout": VALUES},
    {"atom": "universal", "bits": 32, "thr_layout": "((4,2),8):((2,1),8)", "val_layout": "(1,4)"},
    {"atom": "SM75_U16x8_LDSM_T", "thr_layout": "(32,1)", "val_layout": "(1,8)"},
)


def build_copy(given: dict[str, Any]) -> TiledCopy:
    return tiled_copy(**given, element_bits=16)


@for_each("given", COPIES)
def test_the_code_of_a_tiled_copy_is_read_as_that_tiled_copy(given: dict[str, Any]) -> None:
    """By its layouts of threads and values, and by its map of threads and values over a tiler."""
    made = build_copy(given)
    for thr, val in ((None, None), (parse_cute_layout(given["thr_layout"]), parse_cute_layout(given["val_layout"]))):
        again = tiled_copy(**parse_code(code.render_copy_cpp(made, thr, val), "tiled_copy"))
        for side in ("source", "destination"):
            assert np.array_equal(getattr(again, side).rows, getattr(made, side).rows)
            assert np.array_equal(getattr(again, side).cols, getattr(made, side).cols)


@for_each("operand", ["a", "b"])
def test_the_copy_of_an_operand_asks_for_its_tiled_mma(operand: str) -> None:
    made = tiled_copy("SM75_U32x4_LDSM_N", tiled_mma=tiled_mma(*MMAS[0]), operand=operand, element_bits=16)
    written = code.render_copy_cpp(made, None, None, operand)
    assert written == (
        f"auto copy = make_tiled_copy_{operand.upper()}(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{{}}, tiled_mma);\n"
    )
