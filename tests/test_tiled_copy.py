"""TiledCopy: source and destination of every thread and value, against CuTe's definition evaluated by pycute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pycute
import pytest

from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.reader.cute.tiled_copy import recognise_tiled_copies
from lanescope.shared.storage import storage
from lanescope.tiles import memory
from lanescope.tiles.copy import make_copy_atom, tiled_copy
from lanescope.tiles.tiled_mma import tiled_mma
from tests.cases import for_each
from tests.oracle import cutlass, tiled

HALF = "SM80_16x8x16_F32F16F16F32_TN"
# Bits of (thread, value): CUTLASS 4.7, include/cute/atom/copy_traits_sm75.hpp and copy_traits_sm90.hpp.
ROWS: dict[int, Any] = {1: (((8, 4), 128), ((128, 0), 1)), 2: (((16, 2), 128), ((128, 0), 1)), 4: ((32, 128), (128, 1))}
STRAIGHT: dict[int, Any] = {x: ((32, (32, x)), (32, (1, 1024))) for x in (1, 2, 4)}
TURNED: dict[int, Any] = {x: (((4, 8), (16, 2, x)), ((256, 16), (1, 128, 1024))) for x in (1, 2, 4)}


@for_each("x", [1, 2, 4])
@for_each("turned", [False, True])
def test_atoms_are_cutlasss_traits(x: int, turned: bool) -> None:
    fragments = (TURNED if turned else STRAIGHT)[x]
    for name, loads in ((f"ldmatrix.m8n8.x{x}", True), (f"stmatrix.m8n8.x{x}", False)):
        made = make_copy_atom(f"{name}{'.trans' * turned}.shared.b16", None, 16)
        sides = (made.source, made.destination) if loads else (made.destination, made.source)
        for ours, (shape, stride) in zip(sides, (ROWS[x], fragments), strict=True):
            want = pycute.Layout(shape, stride)
            assert (ours.modes[0].size, ours.modes[1].size) == (pycute.size(want[0]), pycute.size(want[1]))
            assert all(ours((t, v)) == want(t, v) for t in range(32) for v in range(0, pycute.size(want[1]), 4))
    assert make_copy_atom("SM75_U16x8_LDSM_T" if turned else "SM75_U32x4_LDSM_N", None, 16).loads


def test_raked_threads_and_values() -> None:
    """Element (m, n) of a tile belongs to thread thr(m div values, n div values) and value val(m mod, n mod)."""
    cases: tuple[Any, ...] = (
        ((32, 4), (4, 1), (1, 8), (1, 1)),
        ((16, 8), (8, 1), (4, 2), (1, 4)),
        ((8, 16), (1, 8), (2, 4), (4, 1)),
        ((3, 5), (5, 1), (2, 7), (7, 1)),
        ((32, 1), (1, 32), (1, 16), (1, 1)),
    )
    for thr_shape, thr_stride, val_shape, val_stride in cases:
        thr, val = pycute.Layout(thr_shape, thr_stride), pycute.Layout(val_shape, val_stride)
        rows, cols = (2 * a * b for a, b in zip(thr_shape, val_shape, strict=True))
        made = tiled_copy(
            "universal",
            bits=16,
            thr_layout=f"{thr_shape}:{thr_stride}",
            val_layout=f"{val_shape}:{val_stride}",
            tile=(rows, cols),
        )
        values = val.size()
        tm, tn = (a * b for a, b in zip(thr_shape, val_shape, strict=True))
        for row in range(rows):
            for col in range(cols):
                m, n = row % tm, col % tn
                thread = thr(m // val_shape[0], n // val_shape[1])
                repeat = row // tm + rows // tm * (col // tn)
                value = val(m % val_shape[0], n % val_shape[1]) + values * repeat
                for side in (made.source, made.destination):
                    assert (side.rows[thread, value], side.cols[thread, value]) == (row, col)


@for_each("operand", ["a", "b", "c"])
@for_each(
    ("name", "x", "turned"),
    [(f"{op}.m8n8.x{x}{t}", x, bool(t)) for op in ("ldmatrix", "stmatrix") for x in (1, 2, 4) for t in ("", ".trans")],
)
def test_matrix_copies_of_an_operand(operand: str, name: str, x: int, turned: bool) -> None:
    """The register side holds the operand's values in order; the address side has the bits that the reference has."""
    mma = tiled_mma(HALF, "(2,2,1)", "(32,32,16)")
    extents = {"a": (32, 16), "b": (32, 16), "c": (32, 32)}[operand]
    atoms: Any = ((2, 2, 1), (1, 2, 4))
    tv = dict(zip("abc", cutlass.MMA["m16n8k16", 16], strict=True))[operand]
    _, first, second = tiled.operand(
        operand, tv, (16, 8, 16), thr_id=(32, 1), atoms=atoms, tilers=(32, 32, 16), tile=(32, 32, 16)
    )
    reference = pycute.Layout(*(TURNED if turned else STRAIGHT)[x])
    own = 2 * x  # 16-bit values of a thread in one atom
    if first.shape[1] % own:
        with pytest.raises(LayoutError, match="too few vals"):
            tiled_copy(f"{name}.shared.b16", tiled_mma=mma, operand=operand, tile=extents)
        return
    made = tiled_copy(f"{name}.shared.b16", tiled_mma=mma, operand=operand, tile=(2 * extents[0], extents[1]))
    registers, rows = (made.destination, made.source) if "ld" in name else (made.source, made.destination)
    assert np.array_equal(registers.rows, np.concatenate([first, first + extents[0]], axis=1))
    assert np.array_equal(registers.cols, np.concatenate([second, second], axis=1))
    holder = {reference(t, 16 * v): (t, v) for t in range(32) for v in range(own)}
    address = pycute.Layout(*ROWS[x])
    atoms_held = first.shape[1] // own
    want = np.zeros((128, 8 * atoms_held), dtype=int)
    for thread in range(128):
        for number in range(atoms_held):
            for value in range(8):
                t, v = holder[address(thread % 32, 16 * value)]
                want[thread, 8 * number + value] = first[thread // 32 * 32 + t, number * own + v]
    assert np.array_equal(rows.rows[:, : want.shape[1]], want)


def test_shared_memory_and_vectors() -> None:
    copy = tiled_copy("cp.async", bits=128, thr_layout="(16,8):(8,1)", val_layout="(1,8)", tile=(128, 64))
    plain = memory.make_shared_side(copy, storage({"kind": "rows", "pitch_bytes": 128}, 16, "K"))
    assert (plain.access, plain.vector_bits, plain.wavefronts, plain.ways) == ("st.shared.b128", 128, 128, 1)
    assert plain.address[9].tolist()[:9] == [144, 146, 148, 150, 152, 154, 156, 158, 16 * 128 + 144]
    odd = memory.make_shared_side(copy, storage({"kind": "rows", "pitch_bytes": 136}, 16, "K"))
    assert odd.vector_bits == 64 and "not a multiple of 16" in odd.why
    assert (
        memory.make_shared_side(copy, storage({"kind": "rows", "pitch_bytes": 128, "inner": "MN"}, 16, "K")).vector_bits
        == 16
    )
    loads = tiled_copy("SM75_U32x4_LDSM_N", tiled_mma=tiled_mma(HALF, "(2,2,1)"), operand="a", tile=(128, 64))
    worse = memory.make_shared_side(loads, storage({"kind": "rows", "pitch_bytes": 128}, 16, "K"))
    assert (worse.ways, worse.wavefronts, worse.ideal) == (8, 2048, 256)
    assert worse.solution is not None and str(worse.solution.swizzle) == "Sw<3,4,3>"
    free = memory.make_shared_side(loads, storage({"kind": "rows", "pitch_bytes": 128, "swizzle": "128B"}, 16, "K"))
    assert (free.ways, free.wavefronts, free.solution) == (1, 256, None)


def test_global_memory() -> None:
    wide = tiled_copy("universal", bits=128, thr_layout="(16,8):(8,1)", val_layout="(1,8)", tile=(64, 64))
    row_major, column_major = parse_cute_layout("(4096,4096):(4096,1)"), parse_cute_layout("(4096,4096):(1,4096)")
    good, bad = memory.count_global_sectors(wide, row_major), memory.count_global_sectors(wide, column_major)
    assert (good.sectors, good.ideal, good.vector_bits) == (256, 256, 128)
    assert (bad.vector_bits, bad.sectors > bad.ideal) == (16, True)
    narrow = tiled_copy("universal", bits=16, thr_layout="(16,8):(8,1)", val_layout="(1,8)", tile=(64, 64))
    assert memory.count_global_sectors(narrow, row_major).sectors == 8 * good.sectors


@for_each(
    ("atoms", "operand", "tile", "fits"),
    [
        ("(1,32,1)", "a", (4096, 64), (512, 16)),
        ("(32,1,1)", "b", (2048, 64), (8, 256)),
        ("(1,1,1)", "a", (2048, 128), (2048, 128)),
    ],
)
def test_values_of_all_threads_are_bounded(
    atoms: str, operand: str, tile: tuple[int, int], fits: tuple[int, int]
) -> None:
    """Threads that hold copies count, and so do the lanes of ldmatrix.x1 that repeat its eight addresses."""
    made = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", atoms)
    if tile != fits:
        with pytest.raises(LayoutError) as told:
            tiled_copy("universal", bits=16, tiled_mma=made, operand=operand, tile=tile)
        assert told.value.code == "bad_tile" and told.value.field == "tile" and "At most" in told.value.hint
    assert tiled_copy("universal", bits=16, tiled_mma=made, operand=operand, tile=fits).source.rows.size <= 1 << 18
    if tile == fits:
        with pytest.raises(LayoutError, match="1048576 values"):
            tiled_copy("ldmatrix.m8n8.x1.shared.b16", tiled_mma=made, operand=operand, tile=tile)


@for_each(("atoms", "permutation", "letter"), [("(4,1,1)", "(32,32,16)", "a"), ("(1,4,1)", "(32,16,16)", "b")])
def test_atoms_that_reach_past_the_permutation_have_no_copy(atoms: str, permutation: str, letter: str) -> None:
    """CuTe makes a layout that leaves its own tile: an element of another row would be loaded."""
    made = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", atoms, permutation, (128, 128, 64))
    with pytest.raises(LayoutError, match=f"TiledCopy of {letter.upper()} would leave"):
        tiled_copy("universal", tiled_mma=made, operand=letter, tile=(128, 64))
    other = "b" if letter == "a" else "a"
    inside = tiled_copy("universal", tiled_mma=made, operand=other, tile=(128, 64)).destination
    assert (int(inside.rows.max()), int(inside.cols.max())) == (127, 63)


LAID: Any = {"thr_layout": "(32,8):(8,1)", "val_layout": "(1,8)", "tile": [32, 64]}


@for_each(
    ("atom", "name", "bits"),
    [
        ("UniversalCopy<float>", "universal", 32),
        ("cute::UniversalCopy<float4>", "universal", 128),
        ("Copy_Atom<UniversalCopy<double>, half_t>", "universal", 64),
        ("SM80_CP_ASYNC_CACHEALWAYS<float>", "cp.async", 32),
        ("SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint64_t>", "cp.async", 64),
        ("SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>", "cp.async", 128),
        ("AutoVectorizingCopyWithAssumedAlignment<64>", "universal", 64),
        ("AutoVectorizingCopy", "universal", 128),
        ("DefaultCopy", "universal", 16),
        ("Copy_Atom<SM75_U32x4_LDSM_N, half_t>", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", 128),
    ],
)
def test_atoms_as_cutlass_spells_them(atom: str, name: str, bits: int) -> None:
    made = tiled_copy(atom, **LAID)
    assert (made.atom.name, made.atom.bits) == (name, bits)


def test_an_auto_vectorizing_copy_takes_what_the_values_fill() -> None:
    """12 halves of a thread are three accesses of 64 bits: UniversalCopy<uint128_t> does not divide them."""
    laid = LAID | {"val_layout": "(1,12)", "tile": [32, 96]}
    auto = "AutoVectorizingCopyWithAssumedAlignment<128>"
    assert tiled_copy(auto, **laid).atom.bits == 64
    text = f"make_tiled_copy(Copy_Atom<{auto}, half_t>{{}}, Layout<Shape<_32,_8>>{{}}, Layout<Shape<_1,_12>>{{}})"
    assert tiled_copy(text, tile=[32, 96]).atom.bits == 64
    with pytest.raises(LayoutError, match="works on 8 values"):
        tiled_copy("UniversalCopy<uint128_t>", **laid)


@for_each(
    ("atom", "said"),
    [
        ("SM80_CP_ASYNC_CACHEALWAYS<T>", "The width of the type in"),
        ("UniversalCopy<my_vector>", "The width of the type in"),
        ("SM80_CP_ASYNC_CACHEGLOBAL<float>", "moves 32 bits at once"),
        ("SM80_CP_ASYNC_CACHE<uint128_t>", "does not name a copy atom"),
        ("Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS_ZFIL<float>, float>", "does not name a copy atom"),
    ],
)
def test_an_atom_of_an_open_or_wrong_width_says_so(atom: str, said: str) -> None:
    with pytest.raises(LayoutError, match=said):
        tiled_copy(atom, **LAID)
    if "type" in said:
        assert tiled_copy(atom, bits=64, **LAID).atom.bits == 64


def test_layout_right_runs_the_inner_modes_row_major_too() -> None:
    """CUTLASS 4.7, include/cute/stride.hpp: compact<LayoutRight> folds nested shapes from the right."""
    threads = "make_layout(make_shape(make_shape(_2{}, _4{}), _4{}), LayoutRight{})"
    (copy,) = recognise_tiled_copies(
        f"make_tiled_copy(Copy_Atom<UniversalCopy<half_t>, half_t>{{}}, {threads}, Layout<Shape<_1,_8>>{{}})"
    )
    assert copy.facts["body"]["thr_layout"] == "((2,4),4):((16,4),1)"
