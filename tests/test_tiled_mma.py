"""TiledMMA: every thread and value of A, B and C, against the definition evaluated by pycute over CUTLASS's layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app import cli
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.tiles.atoms import make_mma_atom
from lanescope.tiles.mma import TileOperand, compute_covered_tile
from lanescope.tiles.mma_chain import chain_mmas
from lanescope.tiles.tiled_mma import tiled_mma
from tests.cases import for_each
from tests.client import Client
from tests.command import CliRunner
from tests.oracle import cutlass, tiled
from tests.sample import choose_count

HALF = "SM80_16x8x16_F32F16F16F32_TN"
WARP: Any = (32, 1)
PERMUTATIONS: dict[int, tuple[Any, ...]] = {  # of a dimension of 32 or 64: sizes, orders, gaps
    32: (None, 32, 64, ((4, 2, 4), (1, 32, 8)), ((16, 2), (1, 32)), ((8, 2, 2), (1, 16, 8)), ((2, 16), (16, 1))),
    64: (None, 64, 128, ((16, 4), (4, 1)), ((8, 2, 4), (1, 32, 8)), ((32, 2), (1, 64))),
}


def format_tiler(tiler: Any) -> str:
    if tiler is None or isinstance(tiler, int):
        return "_" if tiler is None else f"_{tiler}"
    return f"{tiler[0]}:{tiler[1]}".replace(" ", "")


def find_instruction(shape: str, bits: int) -> Instruction:
    """Some mma of a shape whose multiplicands have these bits."""
    products = (i for i in catalog.instructions() if i.family.name == "mma" and i.shape == shape)
    return next(i for i in products if i.operands["a"].element.bits == bits and "product" not in i.operands["a"].axes)


def is_same(found: TileOperand, ids: list[int], first: Any, second: Any) -> None:
    rows, cols = (second, first) if found.name == "b" else (first, second)
    assert found.thread_ids.tolist() == ids
    assert np.array_equal(found.rows, rows) and np.array_equal(found.cols, cols), found.name


@for_each("shape,bits", sorted(cutlass.MMA))
def test_every_warp_atom_with_atom_layouts_and_permutations(shape: str, bits: int) -> None:
    found = find_instruction(shape, bits)
    sizes = tuple(found.sizes[dim] for dim in "mnk")
    rng = np.random.default_rng([len(shape), bits, *sizes])
    for _ in range(choose_count(3, 1)):
        counts = (int(rng.choice((1, 2, 4))), int(rng.choice((1, 2, 4))), int(rng.choice((1, 1, 2))))
        order = rng.permutation(3).tolist()
        strides = [0, 0, 0]
        reached = 1
        for at in order:
            strides[at] = reached
            reached *= counts[at]
        atoms: Any = (counts, tuple(strides))
        own = [size * count for size, count in zip(sizes, counts, strict=True)]
        tilers = tuple(
            PERMUTATIONS[size][rng.integers(len(PERMUTATIONS[size]))] if size in PERMUTATIONS else None for size in own
        )
        tile = tuple(
            max(size * int(rng.choice((1, 2))), 128 * (tiler is not None))
            for size, tiler in zip(own, tilers, strict=True)
        )
        made = tiled_mma(found.ptx, f"{atoms[0]}:{atoms[1]}", f"({','.join(map(format_tiler, tilers))})", tile)
        assert made.threads == 32 * reached and made.idle == 0
        for name, tv in zip("abc", cutlass.MMA[shape, bits], strict=True):
            want = tiled.operand(name, tv, sizes, thr_id=WARP, atoms=atoms, tilers=tilers, tile=tile)
            is_same(made.operand(name), *want)


@for_each("sides", ["row.row", "row.col", "col.row", "col.col"])
@for_each("d", ["f16", "f32"])
@for_each("atoms", [((1, 1, 1), (1, 1, 1)), ((2, 2, 1), (1, 2, 0)), ((2, 4, 1), (4, 1, 0))])
def test_quad_pairs(sides: str, d: str, atoms: Any) -> None:
    made = tiled_mma(f"mma.m8n8k4.{sides}.{d}.f16.f16.{d}", f"{atoms[0]}:{atoms[1]}", None, (32, 32, 8))
    a, b = sides.split(".")
    layouts = (
        cutlass.QUAD_ROW if a == "row" else cutlass.QUAD_COL,
        cutlass.QUAD_ROW if b == "col" else cutlass.QUAD_COL,
        cutlass.QUAD_C[d],
    )
    for name, tv in zip("abc", layouts, strict=True):
        is_same(
            made.operand(name),
            *tiled.operand(
                name, tv, (8, 8, 4), thr_id=((4, 2), (1, 16)), atoms=atoms, tilers=(None,) * 3, tile=(32, 32, 8)
            ),
        )
    assert made.idle == (12 if atoms[0] == (1, 1, 1) else 0)


@for_each(("n", "bits", "types"), [(128, 16, "F16F16"), (64, 8, "E4M3E4M3"), (24, 32, "TF32TF32")])
@for_each("groups", [1, 2])
def test_warpgroups(n: int, bits: int, types: str, groups: int) -> None:
    k = 256 // bits
    tile, atoms = (128, 2 * n, 2 * k), ((groups, 1, 1), (1, 1, 1))
    tn = "_TN" if bits != 16 else ""
    for source in ("SS", "RS"):
        made = tiled_mma(f"SM90_64x{n}x{k}_F32{types}_{source}{tn}", str(atoms[0]), None, tile)
        assert made.threads == 128 * groups and made.shape == (64 * groups, n, k)
        in_shared: Any = ((128, (64, k)), (0, (1, 64)))
        b_shared: Any = ((128, (n, k)), (0, (1, n)))
        a = cutlass.WGMMA_A[bits] if source == "RS" else in_shared
        for name, tv in zip("abc", (a, b_shared, cutlass.wgmma_d(n)), strict=True):
            ids, first, second = tiled.operand(
                name, tv, (64, n, k), thr_id=(128, 1), atoms=atoms, tilers=(None,) * 3, tile=tile
            )
            every = 128 if tv[1][0] == 0 else 1
            found = made.operand(name)
            is_same(found, ids[::every], first[::every], second[::every])
            assert found.shared == (every == 128) and bool(found.registers) != found.shared


def test_the_layout_is_the_map() -> None:
    """CuTe's get_layoutX_TV of the TiledMMA's own tile, evaluated, is the arrays."""
    for text, atoms, tilers in (
        (HALF, "(2,2,1)", "(32,32,16)"),
        (HALF, "(2,2,2):(4,2,1)", None),
        (HALF, "(1,2,1)", "(_,(4,2,4):(1,32,8),_)"),
        ("mma.m8n8k4.row.col.f32.f16.f16.f32", "(2,2,1)", None),
        ("SM90_64x64x16_F32F16F16_RS", "(2,1,1)", None),
        ("SM80_16x8x4_F32TF32TF32F32_TN", "(4,1,1)", "(64,16,_)"),
    ):
        made = tiled_mma(text, atoms, tilers)
        for name in "abc":
            found = made.operand(name)
            if found.shared or any(own != size for own, size in zip(made.shape, made.tile, strict=True)):
                continue
            assert found.layout is not None
            extents = (found.col_count, found.row_count) if name == "b" else (found.row_count, found.col_count)
            first, second = (found.cols, found.rows) if name == "b" else (found.rows, found.cols)
            threads, values = found.layout.modes
            index = threads.list_indices()[:, None] + values.list_indices()[None, :]
            assert np.array_equal(index, first + extents[0] * second), (text, name)
    assert str(tiled_mma(HALF).a.layout) == "((4,8),((2,2,2),(1,1))):((32,1),((16,8,128),(0,0)))"


def test_owners_registers_and_copies() -> None:
    made = tiled_mma(HALF, "(2,2,1)", "(32,32,16)", (64, 64, 32))
    assert (made.threads, made.registers, made.steps) == (128, 64, (2, 4, 2))
    for op in (made.a, made.b, made.c):
        for row, col in ((0, 0), (5, 9), (op.row_count - 1, op.col_count - 1)):
            held = op.owner(row, col)
            assert len(held) == op.copies and held == sorted(held)
            assert all((op.rows[t, v], op.cols[t, v]) == (row, col) for t, v in held)
    assert (made.a.copies, made.b.copies, made.c.copies) == (2, 2, 1)
    quad = tiled_mma("mma.m8n8k4.row.col.f32.f16.f16.f32")
    assert {t for t, _ in quad.c.owner(5, 0) + quad.c.owner(0, 0)} <= {0, 1, 2, 3, 16, 17, 18, 19}


def test_flash_attentions_chain() -> None:
    """C of Q·K is A of P·V for 16-bit types in place; for 8-bit types the elements move inside each quad."""
    for qk, pv in ((HALF, HALF), ("SM90_64x64x16_F32F16F16_SS", "SM90_64x128x16_F32F16F16_RS")):
        wide = "SM90" in qk
        atoms = "(1,1,1)" if wide else "(4,1,1)"
        told = chain_mmas(tiled_mma(qk, atoms, None, (64, 64, 64)), tiled_mma(pv, atoms, None, (64, 128, 64)))
        assert told.same_thread and told.identity
    swapped = chain_mmas(
        tiled_mma(HALF, "(4,1,1)", None, (128, 64, 64)), tiled_mma(HALF, "(4,1,1)", None, (128, 64, 64))
    )
    assert swapped.same_thread and not swapped.identity and swapped.order is not None
    assert sorted(swapped.order) == list(range(64))
    f8 = tiled_mma("SM89_16x8x32_F32E4M3E4M3F32_TN", "(4,1,1)", None, (64, 64, 64))
    told = chain_mmas(f8, f8)
    assert (told.elements, told.stay, told.in_warp, told.order) == (4096, 1024, 4096, None)
    with pytest.raises(LayoutError, match="shared memory"):
        chain_mmas(f8, tiled_mma("SM90_64x64x16_F32F16F16_SS", tile=(64, 64, 64)))
    parts = tiled_mma(HALF, "(1,1,2)", None, (16, 32, 32))  # two warps hold C, each a sum over half of K
    with pytest.raises(LayoutError, match="partial sum") as told:
        chain_mmas(parts, tiled_mma(HALF, "(1,1,2)", None, (16, 8, 32)))
    assert (told.value.code, told.value.field) == ("no_chain", "first")
    assert chain_mmas(
        tiled_mma(HALF, "(1,1,1)", None, (16, 32, 32)), tiled_mma(HALF, "(1,1,2)", None, (16, 8, 32))
    ).stay


@for_each(
    ("given", "field", "why"),
    [
        (("nothing",), "atom", "does not name an MMA atom"),
        (("SM75_U32x4_LDSM_N",), "atom", "copy atom"),
        (("ldmatrix.m8n8.x4.shared.b16",), "atom", "does not multiply matrices"),
        (("wmma.mma.row.col.m16n16k16.f32.f32",), "atom", "leaves its fragments"),
        (("mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32",), "atom", "sparse"),
        (("SM80_16x8x12_F32F16F16F32_TN",), "atom", "shape and types"),
        ((HALF, "(2,2,1,1)"), "atom_layout", "three modes"),
        ((HALF, "(2,2"), "atom_layout", "ends before"),
        ((HALF, "(8,8,1)"), "atom_layout", "thread 2047"),
        ((HALF, "(2,2,1):(0,1,0)"), "atom_layout", "same threads"),
        ((HALF, "(2,2,1):(1,1,0)"), "atom_layout", "same threads"),
        ((HALF, "(2,2,1)", "(32,32,16,8)"), "permutation", "mode each"),
        ((HALF, "(2,2,1)", "((16,2):(1,8),_,_)"), "permutation", "Non-injective"),
        ((HALF, "(2,2,1)", "((16,(2,2)),_,_)"), "permutation", "not a permutation of one"),
        ((HALF, "(2,2,1)", None, (48, 64, 16)), "tile", "48 is not a multiple of the 32"),
        ((HALF, "(2,2,1)", "(64,_,_)", (32, 64, 16)), "tile", "32 is not a multiple of the 64"),
        ((HALF, "(2,2,1)", None, (64, 64)), "tile", "has 2 numbers"),
        ((HALF, "(2,2,1)", None, (0, 64, 16)), "tile[0]", "0"),
        ((HALF, "(2,2,1)", None, (1024, 1024, 16)), "tile", "1048576 values"),
        ((HALF, "(1,1,1)", "(_,(3,5):(5,1),_)", (16, 120, 16)), "permutation", "admissible"),
    ],
)
def test_what_does_not_fit_is_named(given: Any, field: str, why: str) -> None:
    with pytest.raises(LayoutError, match=why) as caught:
        tiled_mma(*given).c.rows.sum()
    assert caught.value.field == field and caught.value.hint


def test_atoms_come_from_rows() -> None:
    assert make_mma_atom(HALF).instruction is find("mma.m16n8k16.row.col.f32.f16.f16.f32")
    assert str(make_mma_atom(HALF).layouts["b"]) == "((4,8),(2,2)):((16,1),(8,64))"
    assert str(make_mma_atom("mma.m8n8k4.col.col.f32.f16.f16.f32").threads) == "(4,2):(1,16)"


GAPS = {"atom": "SM80_16x8x8_F32F16F16F32_TN", "permutation": "Tile<16:1,(2,16):(1,8),8>", "atom_layout": "(4,1,1)"}


def test_a_tile_that_is_left_out_is_the_least_that_closes(client: Client) -> None:
    """tile_shape is the permutation's sizes: 16 × 32 × 8. (2,16):(1,8) takes N = 0 1 8 9 … 120 121 first and 2 3 …
    after 128; four atoms of 16 take 64 rows."""
    made = tiled_mma(GAPS["atom"], GAPS["atom_layout"], GAPS["permutation"])
    assert (made.shape, made.tile, compute_covered_tile(made)) == ((16, 32, 8), (64, 128, 8), (64, 128, 8))
    assert np.unique(made.c.rows.astype(np.int64) * 128 + made.c.cols).size == 64 * 128
    told = client.post("/api/v1/tiles/mma", json=GAPS).json()
    assert (told["shape"], told["tile"]) == ([16, 32, 8], [64, 128, 8])
    said = (
        "CuTe's tile_shape is (16,32,8), the sizes of the permutation. The layouts close after (64,128,8):"
        " 4 atoms of 16 cover 64 of M; (2,16):(1,8) has gaps and covers N after 128."
    )
    assert said in told["notes"]
    arguments = ["tiles", "mma", GAPS["atom"], "--atom-layout", "(4,1,1)", "--permutation", GAPS["permutation"]]
    done = CliRunner().invoke(cli.build_cli(), arguments)
    assert done.exit_code == 0 and "tile 64×128×8" in done.output and said in done.output
    plain = client.post("/api/v1/tiles/mma", json={"atom": HALF, "permutation": "(32,32,16)"}).json()
    assert not any("tile_shape" in note for note in plain["notes"])


@for_each(
    ("tile", "said"),
    [
        ((64, 64, 16), None),  # 128 for C, 32 for A, 16 for B
        ((64, 64, 64), "take 256 registers per thread, which has at most 255. C takes 128: keep"),
        ((128, 64, 16), "which has at most 255; C alone takes 256, so the compiler spills"),
    ],
)
def test_a_tile_that_no_threads_registers_hold_says_so(
    client: Client, tile: tuple[int, int, int], said: str | None
) -> None:
    told = client.post("/api/v1/tiles/mma", json={"atom": HALF, "tile": list(tile)}).json()
    assert [note for note in told["notes"] if "at most 255" in note and (said or "") in note] == told["notes"]
    assert bool(told["notes"]) is bool(said)
    named = "x".join(map(str, tile))
    done = CliRunner().invoke(cli.build_cli(), ["tiles", "mma", HALF, "--tile", named])
    page = client.get("/tiles/mma", params={"atom": HALF, "tile": named}).text
    assert all(("at most 255" in text) is bool(said) for text in (done.output, page))
    assert (told["registers"] > 255) is bool(said)
