"""TiledMMA of UMMA atoms: maps judged by pycute, descriptors that read what they name, tensor memory."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from lanescope.blackwell import tmem
from lanescope.descriptor.matrix import View, reads
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.tiles.mma_chain import chain_mmas
from lanescope.tiles.tiled_mma import tiled_mma
from lanescope.tiles.tiled_umma import tiled_umma
from lanescope.tiles.umma import TiledUmma
from tests.cases import for_each
from tests.client import share_client
from tests.oracle import tiled, umma

K, MN = "UMMA::Major::K", "UMMA::Major::MN"
SS = f"SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256, {K}, {K}>"
PAIR = f"SM100_MMA_F16BF16_2x1SM_SS<half_t, half_t, float, 256, 256, {K}, {K}>"
NVFP4 = f"SM100_MMA_MXF4_2x1SM_SS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 256, 256, 16, {K}, {K}>"


def build_umma(text: str, tile: Any = None, **more: Any) -> TiledUmma:
    return tiled_umma(text, tile=tile, **more)


# maps -----------------------------------------------------------------------------------------------------------------


@for_each(
    ("text", "tile"),
    [
        (SS, (128, 256, 32)),
        (SS, (256, 512, 16)),
        (PAIR, (512, 256, 32)),
        (f"SM100_MMA_F16BF16_2x1SM_SS<half_t, half_t, float, 128, 32, {K}, {K}>", (128, 96, 16)),
        (f"SM100_MMA_F16BF16_SS_SPARSE<half_t, half_t, float, 64, 24, {K}, {K}>", (128, 48, 64)),
    ],
)
def test_maps_are_pycutes(text: str, tile: tuple[int, int, int]) -> None:
    found = tiled_mma(text, tile=tile)
    assert isinstance(found, TiledUmma)
    shape = found.umma.shape
    meant = umma.traits(found.ctas, *shape)
    for name in "abc":
        ids, first, second = tiled.operand(
            name,
            meant[name],
            shape,
            thr_id=meant["thr"],
            atoms=((1, 1, 1), (0, 0, 0)),
            tilers=(None, None, None),
            tile=tile,
        )
        op = found.operand(name)
        rows, cols = (op.cols, op.rows) if name == "b" else (op.rows, op.cols)
        assert op.thread_ids.tolist() == ids == list(range(found.ctas))
        assert (rows == first).all() and (cols == second).all(), name
    own = tuple(size // 2 if found.ctas > 1 else size for size in shape[:2])
    assert str(found.a.layout).startswith(f"({found.ctas},(({own[0]},{shape[2]})")


# shared memory --------------------------------------------------------------------------------------------------------

SHARED = (
    (SS, (256, 512, 64), {}),
    (SS, (128, 256, 16), {}),
    (PAIR, (512, 256, 128), {"order": "k"}),
    (f"SM100_MMA_F16BF16_2x1SM_SS<half_t, half_t, float, 256, 256, {MN}, {MN}>", (256, 256, 64), {}),
    (f"SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 96, {MN}, {MN}>", (128, 192, 64), {"order": "mn"}),
    (f"SM100_MMA_TF32_SS<float, float, float, 128, 64, {MN}, {MN}>", (128, 64, 32), {}),
    (f"SM100_MMA_F8F6F4_SS<float_e4m3_t, float_e5m2_t, float, 128, 64, {MN}, {K}>", (128, 64, 128), {}),
    (f"SM100_MMA_F8F6F4_SS<float_e2m1_t, float_e4m3_t, float, 64, 64, {K}, {K}>", (64, 64, 64), {}),
    (NVFP4, (256, 256, 256), {}),
    (SS, (128, 256, 64), {"swizzles": ("32B", "none")}),
    (f"SM100_MMA_F16BF16_SS_SPARSE<half_t, half_t, float, 128, 64, {K}, {K}>", (128, 64, 128), {}),
)


@for_each(("text", "tile", "more"), SHARED)
def test_every_descriptor_reads_its_slice(text: str, tile: Any, more: Any) -> None:
    found = build_umma(text, tile, **more)
    for step in found.mmas:
        for name, word, at in (("a", step.a, step.m), ("b", step.b, step.n)):
            one = found.shared[name]
            assert word
            seen = View(one.rows, one.k, one.tile.element_bits, one.tile.major, TCGEN05)
            rows, k = np.arange(one.rows)[:, None] + at * one.rows, np.arange(one.k)[None, :] + step.k * one.k
            if one.k * one.tile.element_bits <= 256 or one.tile.mode.name == "128B":
                assert (reads(word, seen) == one.tile.address(rows, k)).all(), (name, str(word))
            flat = one.layout
            index = np.array(
                [[int(flat(((int(r), int(c)), at, step.k))) for c in (0, one.k - 2)] for r in (0, 1, one.rows - 1)]
            )
            before = one.tile.compute_offset_before(rows[[0, 1, -1]], k[:, [0, -2]]) * 8 // one.tile.element_bits
            assert (index == before).all()
    lower, upper = sorted((one.tile.base, one.tile.base + one.tile.bytes) for one in found.shared.values())
    assert lower[1] <= upper[0]


def test_the_layouts_of_the_tutorial() -> None:
    """examples/cute/tutorial/blackwell, 01 and 04: what their comments print."""
    assert build_umma(SS, (128, 256, 64)).shared["a"].printed == (
        "Sw<3,4,3> o smem_ptr[16b](unset) o ((_128,_16),_1,_4):((_64,_1),_0,_16)"
    )
    pair = build_umma(PAIR, (256, 256, 64)).shared
    assert [one.printed.rpartition(" o ")[2] for one in pair.values()] == ["((_128,_16),_1,_4):((_64,_1),_0,_16)"] * 2
    turned = build_umma(f"SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256, {MN}, {K}>", (128, 256, 64)).shared["a"]
    assert turned.cute == "Sw<3,3,3> o (((64,2),16),1,4):(((1,4096),64),0,1024)"
    for row, col in product((0, 7, 9, 127), (0, 15, 63)):
        meant = umma.shared((8, 64), 64, (128, 64), 0, row, col)
        assert int(build_umma(SS, (128, 256, 64)).shared["a"].layout(((row, col % 16), 0, col // 16))) == meant


# tensor memory --------------------------------------------------------------------------------------------------------


@for_each(
    ("ctas", "m", "n", "times", "a"),
    [
        (1, 128, 64, (2, 2), "SS"),
        (1, 64, 64, (2, 3), "SS"),
        (1, 64, 64, (2, 2), "TS"),
        (1, 64, 48, (4, 1), "SS"),
        (2, 256, 64, (1, 4), "SS"),
        (2, 128, 64, (2, 2), "SS"),
        (2, 128, 64, (2, 1), "TS"),
    ],
)
def test_accumulators_lie_as_cutlass_lays_them(ctas: int, m: int, n: int, times: tuple[int, int], a: str) -> None:
    text = f"SM100_MMA_F16BF16_{'2x1SM_' if ctas > 1 else ''}{a}<half_t, half_t, float, {m}, {n}, {K}, {K}>"
    found = build_umma(text, (m * times[0], n * times[1], 16))
    at = [one.lane << 16 | one.column for one in found.places["d"]]
    assert at == umma.accumulators(ctas, m // ctas, n, times, a == "SS")
    assert {(step.m, step.n): step.addresses["d"] for step in found.mmas} == {
        (i, j): at[i + times[0] * j] for j in range(times[1]) for i in range(times[0])
    }
    assert not found.faults
    if a == "TS":
        assert found.places["a"][0].column == max(one.column + one.layout.columns for one in found.places["d"])
        assert "a" not in found.shared and found.mmas[0].a is None


def test_scale_factors_and_metadata_step_with_k() -> None:
    nv = build_umma(NVFP4, (256, 256, 256))
    assert [(step.addresses["scale_a"], step.addresses["scale_b"]) for step in nv.mmas] == [
        (256, 272),
        (260, 280),
        (264, 288),
        (268, 296),
    ]
    mx = build_umma(
        f"SM100_MMA_MXF8F6F4_SS<float_e4m3_t, float_e4m3_t, float, float_ue8m0_t, 128, 128, {K}, {K}>", (128, 128, 256)
    )
    ids = [(step.word.get_code("sfa_id"), step.word.get_code("sfb_id"), step.addresses["scale_a"]) for step in mx.mmas]
    assert ids == [(n % 4, n % 4, 128 + 4 * (n // 4)) for n in range(8)]
    a, b = mx.sides or (None, None)
    assert a and b and (a.column, b.column) == (128, 136) and mx.columns == 144
    thin = build_umma(f"SM100_MMA_F16BF16_SS_SPARSE<half_t, half_t, float, 128, 64, {K}, {K}>", (128, 64, 128))
    assert [(s.addresses["metadata"], s.word.get_code("sparsity_selector")) for s in thin.mmas] == [
        (64, 0),
        (64, 1),
        (66, 0),
        (66, 1),
    ]


def test_what_is_open_or_inferred_says_so() -> None:
    wide = build_umma(
        f"SM103_MXF4_ULTRA_SS_VS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 128, 64, 16, {K}, {K}>"
    )
    assert set(wide.open) == {"a", "b", "scale_a", "scale_b"} and all(
        "not documented" in why for why in wide.open.values()
    )
    assert not wide.shared and [step.b for step in wide.mmas] == [None] * 4
    pair = build_umma(f"SM100_MMA_F16BF16_2x1SM_SS_SPARSE<half_t, half_t, float, 128, 64, {K}, {K}>")
    assert any("not documented" in says for says in pair.inferred)
    thin = f"SM100_MMA_F16BF16_SS_SPARSE<half_t, half_t, float, 128, 64, {K}, {K}>"
    narrow = build_umma(thin, (128, 64, 64), swizzles=("", "32B"))
    assert narrow.mmas[0].b and narrow.mmas[0].b.lbo_bytes == 64 * 32  # the next atom along K
    assert any("LBO is inferred" in says for says in narrow.inferred) and not build_umma(thin).inferred
    many = build_umma(
        f"SM100_MMA_MXF8F6F4_SS<float_e4m3_t, float_e4m3_t, float, float_ue8m0_t, 128, 64, {K}, {K}>", (256, 64, 128)
    )
    assert any("inferred" in says for says in many.inferred)
    assert not build_umma(SS).inferred
    typed = build_umma(f"SM100_MMA_F16BF16_SS<TypeA, half_t, float, 128, 64, {K}, {K}>")
    assert typed.left == ("TypeA",) and "TypeA is not given" in typed.inferred[0]
    for text, why in (
        (f"SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, kMajor, {K}>", "does not give kMajor"),
        ("tcgen05.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (128, 64, 16), group, src, a, b)", "open|not give"),
    ):
        with pytest.raises(LayoutError, match=why):
            build_umma(text)


def test_a_tile_that_does_not_fit() -> None:
    large = build_umma(SS, (256, 512, 64))
    assert large.allocation == 0 and "512" in large.faults[0].message
    assert build_umma(SS).allocation == 256 and build_umma(SS).columns <= tmem.COLUMNS
    for tile, field in (((100, 256, 64), "tile"), ((128, 256, 8), "tile"), ((4096, 4096, 64), "tile")):
        with pytest.raises(LayoutError) as error:
            build_umma(SS, tile)
        assert error.value.field == field
    for more, where in (({"swizzles": ("", "128B_base32B")}, "swizzle_b"), ({"order": "x"}, "order")):
        with pytest.raises(LayoutError) as error:
            _ = build_umma(f"SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, {K}, {MN}>", **more).shared
        assert error.value.field in (where, "tile")
    with pytest.raises(LayoutError, match="once for its CTAs"):
        tiled_umma(SS, "(2,1,1)")
    with pytest.raises(LayoutError, match="unpermuted"):
        tiled_umma(SS, permutation="(256,256,16)")
    with pytest.raises(LayoutError, match="tensor memory"):
        chain_mmas(tiled_mma(SS), tiled_mma(SS))


# what people see ------------------------------------------------------------------------------------------------------


def test_a_pasted_atom_opens_the_bench() -> None:
    page = share_client().get("/i/tcgen05.mma.cta_group::2.kind::f16?idesc=0x10400490").text
    (href,) = re.findall(r'href="(/tiles/mma[^"]+)">A whole tile', page)
    assert "0x10400490" in href and "f32 += bf16 × bf16" in share_client().get(href.replace("&amp;", "&")).text
    link = share_client().post("/api/v1/read", json={"text": PAIR}).json()["link"]
    assert link.startswith("/tiles/mma?atom=SM100_MMA_F16BF16_2x1SM_SS") and share_client().get(link).status_code == 200
    code = f"using T = half_t;\nauto mma = make_tiled_mma(SM100_MMA_F16BF16_SS<T, T, float, 128, 64, {K}, {K}>{{}});"
    told = share_client().post("/api/v1/read", json={"text": code}).json()
    assert told["kind"] == "tiled_mma" and told["facts"]["umma"]["idesc"] == "0x08100010"
    assert told["facts"]["body"]["atom"].startswith("SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64")


def test_prints_and_open_arguments_say_what_they_leave_open() -> None:
    shown = (
        "TiledMMA\n  ThrLayoutVMNK:  (_2,_1,_1,_1):(_1,_0,_0,_0)\n  PermutationMNK: (_,_,_)\nMMA_Atom\n"
        "  ThrID:      _2:_1\n  Shape_MNK:  (_256,_256,_16)\n  LayoutA_TV: (_2,(_128,_16)):(_128,(_1,_256))\n"
    )
    told = share_client().post("/api/v1/read", json={"text": shown}).json()
    assert told["title"] == "TiledMMA: 2 CTAs, tile 256×256×16" and told["facts"]["body"]["atom"] is None
    assert told["facts"]["candidates"] == [
        "tcgen05.mma.cta_group::2.kind::f16",
        "tcgen05.mma.sp.cta_group::2.kind::tf32",
    ]
    both = share_client().post("/api/v1/read", json={"text": f"{shown}\nauto t = make_tiled_mma({PAIR}{{}});"}).json()
    assert both["facts"]["umma"]["ctas"] == 2 and both["also"][0]["kind"] == "tiled_mma"
    code = "op = tcgen05.MmaF16BF16Op(io_dtype, acc_dtype, shape, group, src, a, b)"
    assert "shape" in share_client().post("/api/v1/read", json={"text": code}).json()["notices"][0]


F16_ATOM = "SM100_MMA_F16BF16_{}<half_t, half_t, float, {}, {}, UMMA::Major::K, UMMA::Major::K>"
F8_ATOM = "SM100_MMA_F8F6F4_{}<float_e4m3_t, float_e4m3_t, float, {}, {}, UMMA::Major::K, UMMA::Major::K>"


@for_each(
    ("text", "form", "m", "step"),
    [
        (F16_ATOM, "SS", 64, 8),
        (F16_ATOM, "SS", 128, 8),
        (F16_ATOM, "2x1SM_SS", 256, 16),  # PTX's own steps
        (F16_ATOM, "TS", 64, 8),
        (F16_ATOM, "TS", 128, 16),
        (F16_ATOM, "2x1SM_TS", 128, 32),
        (F16_ATOM, "2x1SM_TS", 256, 32),
        (F8_ATOM, "SS_SPARSE", 128, 16),
        (F8_ATOM, "2x1SM_SS_SPARSE", 256, 32),
    ],
)
def test_n_goes_in_the_steps_of_cutlasss_atom(text: str, form: str, m: int, step: int) -> None:
    """With A in tensor memory, and for a sparse f8f6f4, CUTLASS has fewer N than PTX."""
    for n in range(8, 97, 8):
        if n % step == 0:
            assert tiled_umma(text.format(form, m, n)).umma.shape[:2] == (m, n)
        else:
            with pytest.raises(LayoutError):
                tiled_umma(text.format(form, m, n))
