"""A whole main loop: what arrives is simulated byte by byte by another hand, costs are those of each side alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app.kit.examples import BODIES
from lanescope.app.tiles import main_loop_facts
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.shared.storage import storage
from lanescope.tiles.copy import tiled_copy
from lanescope.tiles.loop import feed
from lanescope.tiles.memory import make_shared_side
from lanescope.tiles.tiled_mma import tiled_mma
from tests.cases import for_each
from tests.client import Client

HALF = "SM80_16x8x16_F32F16F16F32_TN"
N, T = "ldmatrix.m8n8.x4.shared.b16", "ldmatrix.m8n8.x4.trans.shared.b16"


def build_rows(inner: str = "K", pitch: int = 128, swizzle: str = "128B") -> Any:
    return storage({"kind": "rows", "inner": inner, "pitch_bytes": pitch, "swizzle": swizzle}, 16, "K")


def execute_load(mma: Any, name: str, where: Any, read: Any, load: str, size: tuple[int, int]) -> np.ndarray[Any, Any]:
    """[thread][value] of the load's destination: the element that an ldmatrix reads out of bytes of memory."""
    memory = np.full(1 << 17, -1, dtype=np.int64)
    for row in range(size[0]):
        for k in range(size[1]):
            memory[int(where.address(row, k)) // 2] = row * size[1] + k
    copy = tiled_copy(load, tiled_mma=mma, operand=name, tile=size, element_bits=16)
    data = find(load).operands["data"]
    out = np.empty(copy.destination.rows.shape, dtype=np.int64)
    source = copy.source
    for warp in range(copy.threads // 32):
        for access in range(source.values // source.access):
            at = [
                int(
                    read.address(
                        int(source.rows[32 * warp + lane, access * source.access]),
                        int(source.cols[32 * warp + lane, access * source.access]),
                    )
                )
                for lane in range(32)
            ]
            matrices = memory[np.array(at)[:, None] // 2 + np.arange(8)].reshape(4, 8, 8)  # [matrix, line, place]
            for lane in range(32):
                for value in range(8):
                    place = [int(axis[lane, value]) for axis in data.coords.values()]
                    number, row, col = place
                    out[32 * warp + lane, access * 8 + value] = matrices[number, row, col]
    return out


@for_each(
    ("name", "inner", "load", "stored", "read"),
    [
        ("a", "K", N, "128B", "128B"),
        ("b", "K", N, "64B", "64B"),
        ("b", "MN", T, "128B", "128B"),
        ("a", "K", N, "128B", "none"),
        ("b", "K", N, "none", "128B"),
        ("a", "K", N, "32B", "64B"),
    ],
)
def test_what_arrives_is_what_the_bytes_say(name: str, inner: str, load: str, stored: str, read: str) -> None:
    mma = tiled_mma(HALF, "(2,1,1)", "(32,16,16)", (64, 64, 64))
    where, other = build_rows(inner, 128, stored), build_rows(inner, 128, read)
    got = execute_load(mma, name, where, other, load, (64, 64))
    found = feed(mma, name, where, load, read=None if stored == read else other)
    copy = tiled_copy(load, tiled_mma=mma, operand=name, tile=(64, 64), element_bits=16)
    wanted = copy.destination.rows * 64 + copy.destination.cols
    assert found.wrong == int(np.count_nonzero(got != wanted))
    assert found.good == (stored == read)
    if not found.good:
        step = found.first
        assert step is not None and step.first is not None
        wrong = step.first
        value = int(np.flatnonzero(wanted[wrong.thread] == wrong.row * 64 + wrong.k)[0])
        assert wrong.reads == divmod(int(got[wrong.thread, value]), 64)
        op = mma.operand(name)
        held = (op.rows, op.cols) if name == "a" else (op.cols, op.rows)
        assert (held[0][wrong.thread, wrong.value], held[1][wrong.thread, wrong.value]) == (wrong.row, wrong.k)


def test_costs_add_up_to_those_of_each_side() -> None:
    mma = tiled_mma(HALF, "(2,2,1)", "(32,32,16)", (128, 128, 64))
    store = tiled_copy("cp.async", bits=128, thr_layout="(16,8):(8,1)", val_layout="(1,8)", tile=(128, 64))
    for swizzle in ("128B", "64B", "none"):
        where = build_rows("K", 128, swizzle)
        found = feed(mma, "a", where, N, store=store, layout=parse_cute_layout("(512,512):(512,1)"))
        load = make_shared_side(tiled_copy(N, tiled_mma=mma, operand="a", tile=(128, 64)), where)
        assert (found.wavefronts, found.ideal) == (load.wavefronts, load.ideal)
        assert found.store is not None and found.store.wavefronts == make_shared_side(store, where).wavefronts
        assert found.sectors is not None and found.sectors.sectors == found.sectors.ideal == 512
        assert {(step.warp, step.step) for step in found.steps} == {(w, k) for w in range(4) for k in range(4)}
    assert found.solution is not None and str(found.solution.swizzle) == "Sw<3,4,3>"


def test_a_load_that_faults_and_a_store_that_leaves_gaps() -> None:
    mma = tiled_mma(HALF, "(1,1,1)", "(16,16,16)", (16, 16, 16))
    faulty = feed(mma, "b", build_rows("MN", 128), N)
    assert "Thread 1 reads 16 bytes at byte 2, which is not a multiple of 16" in faulty.fault and not faulty.good
    close = feed(mma, "a", build_rows("K", 16, "none"), N)
    assert close.overlaps == 15 * 8 and not close.good


def test_a_wgmma_reads_by_itself() -> None:
    mma = tiled_mma("SM90_64x64x16_F32F16F16_RS", tile=(64, 64, 64))
    assert feed(mma, "a", build_rows(), N).good
    found = feed(mma, "b", build_rows(), N)
    assert found.load is None and found.steps == () and found.good


@for_each(
    ("given", "field"),
    [
        ({"tiled_mma": {"atom": HALF}}, "a"),
        ({"tiled_mma": {"atom": HALF}, "a": {"load": N}}, "a.storage"),
        (
            {
                "tiled_mma": {"atom": HALF},
                "a": {
                    "load": "stmatrix.m8n8.x4.shared.b16",
                    "storage": {"kind": "rows", "inner": "K", "pitch_bytes": 128},
                },
            },
            "a.load",
        ),
        (
            {
                "tiled_mma": {"atom": HALF, "tile": [16, 8, 16]},
                "a": {
                    "storage": {"kind": "rows", "inner": "K", "pitch_bytes": 32},
                    "store": {"atom": "cp.async", "thr_layout": "(3,2)"},
                },
            },
            "a.store.tile",
        ),
        (
            {
                "tiled_mma": {"atom": "SM80_16x8x64_S32S4S4S32_TN"},
                "a": {"storage": {"kind": "rows", "inner": "K", "pitch_bytes": 32}},
            },
            "a.operand",
        ),
    ],
)
def test_what_a_loop_refuses(given: Any, field: str) -> None:
    with pytest.raises(LayoutError) as told:
        main_loop_facts.build_loop(given)
    assert told.value.field.startswith(field), told.value


BODY = BODIES["/api/v1/tiles/loop"]


def test_all_of_k_is_its_tiles() -> None:
    one, all_ = main_loop_facts.build_loop(dict(BODY)), main_loop_facts.build_loop({**BODY, "k": 1024})
    assert one.whole is None and all_.whole is not None and all_.whole.tiles == 16
    assert (all_.whole.wavefronts, all_.whole.mma) == (16 * one.wavefronts, 16 * one.mma)
    assert [stage.count for stage in all_.whole.stages] == [16 * stage.count for stage in one.stages]
    for answer in (main_loop_facts.build_loop, main_loop_facts.build_loop_banks):
        with pytest.raises(LayoutError, match="k = 100 is not a multiple of the tile's K = 64"):
            answer({**BODY, "k": 100})


@for_each("name", ["a", "b"])
def test_an_operand_that_is_no_object_is_wrong_by_its_own_name(client: Client, name: str) -> None:
    body = {"tiled_mma": {"atom": "SM80_16x8x16_F32F16F16F32_TN"}, name: [1]}
    error = client.post("/api/v1/tiles/loop", json=body).json()["error"]
    assert (error["field"], error["message"]) == (name, f"{name} is a list.")
