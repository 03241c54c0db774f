"""What the modules of storages, boxes and maps of a tile answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from lanescope.ptx import wmma
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.shared import storage as stores
from lanescope.shared import tile_map, tma
from lanescope.shared.swizzle import MODES, mode
from lanescope.shared.tiling import Tile
from tests.calls import Call
from tests.held import attempt, whole

# storages -------------------------------------------------------------------------------------------------------------

MOST = 1 << 30
STORES: tuple[dict[str, Any], ...] = (
    {}, {"kind": None}, {"kind": "x"}, {"kind": "ROWS", "pitch_bytes": 128}, {"kind": "rows"}, {"kind": "rows",
    "pitch_bytes": 0}, {"kind": "rows", "pitch_bytes": 1}, {"kind": "rows", "pitch_bytes": MOST}, {"kind": "rows",
    "pitch_bytes": MOST + 1}, {"kind": "rows", "pitch_bytes": 128, "inner": "MN"}, {"kind": "rows", "pitch_bytes": 128,
    "inner": "x"}, {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "swizzle_by": "tile", "base": 1040},
    {"kind": "rows", "pitch_bytes": 128, "swizzle": "64B", "base": 1040}, {"kind": "rows", "pitch_bytes": 128,
    "swizzle": "x"}, {"kind": "rows", "pitch_bytes": 128, "swizzle_by": "x"}, {"kind": "rows", "pitch_bytes": 128,
    "pitch": 1}, {"kind": "rows", "pitch_bytes": 96, "base": -1}, {"kind": "rows", "pitch_bytes": "0x60", "base": "32"},
    {"kind": "atoms"}, {"kind": "atoms", "width_bytes": 0, "outer8_stride": 8}, {"kind": "atoms", "width_bytes": 32,
    "outer8_stride": 256}, {"kind": "atoms", "width_bytes": 32, "outer8_stride": 320, "line_stride": 40,
    "inner_stride": 4096}, {"kind": "atoms", "width_bytes": 32, "outer8_stride": 256, "inner_stride": 4096,
    "inner": "MN", "swizzle": "32B", "base": 272}, {"kind": "canonical"}, {"kind": "canonical", "mn": 64},
    {"kind": "canonical", "mn": 64, "k": 64}, {"kind": "canonical", "mn": 64, "k": 64, "order": "x"},
    {"kind": "canonical", "mn": 64, "k": 64, "order": "k", "swizzle": "32B"}, {"kind": "canonical", "mn": 64, "k": 64,
    "major": "MN", "swizzle": "128B", "swizzle_by": "tile", "base": 1152}, {"kind": "canonical", "mn": 64, "k": 64,
    "major": "x"}, {"kind": "canonical", "mn": 64, "k": 256, "element_bits": 8}, {"kind": "cute"}, {"kind": "cute",
    "layout": 5}, {"kind": "cute", "layout": "(x"}, {"kind": "cute", "layout": "64:1"}, {"kind": "cute",
    "layout": "(4,4,4)"}, {"kind": "cute", "layout": "(64,64):(64,1)"}, {"kind": "cute", "layout": "(64,64):(64,1)",
    "unit": "bytes"}, {"kind": "cute", "layout": "(64,8):(8,1)", "unit": "chunks"}, {"kind": "cute",
    "layout": "(8,64):(1,8)", "unit": "chunks"}, {"kind": "cute", "layout": "(1,1):(1,1)", "unit": "chunks"},
    {"kind": "cute", "layout": "(64,64):(64,1)", "unit": "x"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(64,1)"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[8b](unset) o (64,128):(128,1)"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[8b](unset) o (64,128):(128,1)", "unit": "bytes"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[8b](unset) o (64,128):(128,1)", "unit": "chunks"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[8b](unset) o (64,128):(128,1)", "unit": "elements"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[4b](unset) o (64,128):(128,1)"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[32b](unset) o (64,32):(32,1)"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[64b](unset) o (64,16):(16,1)"}, {"kind": "cute",
    "layout": "Sw<3,4,3> o smem_ptr[128b](unset) o (64,8):(8,1)"}, {"kind": "cute",
    "layout": "Sw<2,3,3> o (64,32):(32,1)", "base": 512}, {"kind": "cute", "layout": "Sw<1,3,3> o (64,64):(64,1)"},
    {"kind": "cute", "layout": "(64,3):(3,1)", "unit": "bytes"}, {"kind": "cute", "layout": "(1024,113):(113,1)"},
    {"kind": "cute", "layout": "(1024,114):(114,1)"}, {"kind": "cute", "layout": "((8,8),64):((64,512),1)", "base": 64},
)  # fmt: skip


def of_storage() -> Iterator[Call]:
    for spec, (bits, major, form) in product(STORES, (
        (16, "K", WGMMA), (8, "MN", TCGEN05), (32, "MN", WGMMA), (4, "K", TCGEN05), (1, "K", WGMMA))):  # fmt: skip
        yield f"{spec} {bits} {major} {form.name}"[:150], lambda s=spec, b=bits, m=major, f=form: put(s, b, m, f)


def put(spec: dict[str, Any], bits: int, major: str, form: Any) -> list[Any]:
    one = stores.storage(spec, bits, major, form)
    mn, k = np.arange(min(one.mn or 40, 64))[:, None], np.arange(min(one.k or 80, 160))[None, :]
    assert one.placed is not None
    return [
        one.text, one.mn, one.k, one.base, one.mode.name, one.swizzle_by, one.major("?"), one.pitch_bytes,
        one.number("pitch_bytes"), np.asarray(one.address(mn, k), np.int64),
        np.asarray(one.placed.before(mn, k, bits - 1), np.int64),
        np.asarray(one.placed.locate(one.placed.before(mn, k, 0)), np.int64), one.placed.by, one.placed.base,
        one.placed.xor,
    ]  # fmt: skip


# boxes, maps and fragments --------------------------------------------------------------------------------------------


def of_tma() -> Iterator[Call]:
    for width, swizzle in product((16, 32, 33, 64, 128, 256), ("none", "32B", "64B", "128B")):
        yield f"pitch {width} {swizzle}", lambda w=width, s=swizzle: [
            tma.pitch_bytes(w, s), tma.panels(w, 24, s), tma.panels(w, 8, s, 64, "K")
        ]  # fmt: skip
    for box, strides in product(
        ((64,), (64, 8), (64, 8, 2), (64, 1, 2), (64, 8, 1), (64, 2, 2), (32, 8, 2)),
        ((), (256,), (256, 128), (256, 64), (256, 127), (256, 129), (None, None), (64, 128)),
    ):
        yield f"box {box} {strides}", lambda b=box, s=strides: [
            tma.storage(b, 16, "128B", s), tma.storage(b, 16, "none", s, 1024, "K"), tma.storage(b, 8, "32B", s)
        ]  # fmt: skip
    for words, given in {
        "rank": (16, (64,) * 6, (128,) * 5, (8,) * 6), "five": (16, (64,) * 5, (128,) * 4, (8,) * 5),
        "sizes": (16, (64, 64), (128,), (0, 257)), "at bounds": (8, (64, 64), (128,), (256, 1)),
        "open": (None, (None, None), (None,), (None, None)), "no bits": (None, (64, 64), (128,), (7, 8)),
        "narrow": (16, (64, 64), (128,), (7, 8)), "narrow more": (16, (64, 64), (128,), (9, 8), (), "none", 1),
        "swizzle": (16, (256, 64), (512,), (64, 8), (), "128B"), "over": (16, (256, 64), (512,), (72, 8), (), "128B"),
        "over 64": (8, (256, 64), (512,), (80, 8), (), "64B"), "open swizzle": (8, (256, 64), (512,), (80, 8), (),
        None),
        "interleaved": (16, (64, 64), (128,), (8, 8), (1, 1), "32B", 2),
        "bytes": (16, (256, 512), (512,), (256, 256, 2)), "bytes at most": (8, (256, 512), (512,), (256, 256, 3)),
        "bytes fit": (8, (256, 512), (512,), (256, 227, 4)), "some open": (16, (256, 512), (512,), (256, None, 4)),
        "one over": (8, (256, 512), (512,), (256, 228, 4)),
        "strides": (16, (64, 64, 64), (120, 1 << 40), (8, 8, 8)), "stride below": (16, (64, 64), ((1 << 40) - 16,),
        (8, 8)),
        "negative": (16, (64, 64), (-16,), (8, 8)), "zero": (16, (64, 64), (0,), (8, 8)), "zero of 1": (16, (64, 1),
        (0,), (8, 1)),
        "zero of 0": (16, (64, 0), (0,), (8, 1)), "zero of 2": (16, (64, 2), (0,), (8, 1)), "more strides": (16,
        (64,), (0, 8), (8,)),
        "dims": (16, (0, 1 << 32), (128,), (8, 8)), "dims over": (16, ((1 << 32) + 1, 1), (128,), (8, 8)),
        "steps": (16, (64, 64), (128,), (8, 8), (0, 9)), "steps at bounds": (16, (64, 64), (128,), (8, 8), (1, 8)),
        "steps open": (16, (64, 64), (128,), (8, 8), (None, 2)), "empty": (16, (), (), ()),
    }.items():  # fmt: skip
        yield f"refused {words}", lambda given=given: list(tma.refused(*given))  # type: ignore[arg-type]
    for bits, major, form, order in product((1, 8, 16, 32), ("K", "MN"), MODES, ("", "mn", "k")):
        wide = form.atom(bits, major)
        for mn, k in ((1, 1), (2, 3), (3, 2), (37, 1), (1, 33), (64, 1)):
            make = partial(Tile, bits, major, form, mn * wide[0], k * wide[1], order=order)
            yield f"boxes {bits} {major} {form.name} {order} {mn} {k}", lambda make=make: tma.boxes(make())


def of_maps() -> Iterator[Call]:
    for (bits, major, name), down, unit in product(
        ((16, "K", "128B"), (16, "MN", "64B"), (8, "K", "none"), (1, "K", "32B"), (32, "MN", "none")),
        ("", "mn", "k", "x" * 50), ("chunk", "element", "y" * 50),
    ):  # fmt: skip
        form = mode(name)
        wide = form.atom(bits, major)
        for times, base, by in (((1, 2), 1024 + 128, "address"), ((2, 1), 1024 + 128, "tile"), ((2, 2), 0, "address")):
            make = partial(Tile, bits, major, form, times[0] * wide[0], times[1] * wide[1], base=base, swizzle_by=by)
            yield (
                f"{bits} {major} {name} {down} {unit} {times} {by}"[:120],
                lambda m=make, d=down, u=unit: drawn(m(), d, u),
            )
    for mn, k in ((256, 128), (256, 136), (512, 64), (520, 64)):
        for unit in ("chunk", "element"):
            yield f"cells of {mn} {k} {unit}", lambda mn=mn, k=k, unit=unit: tile_map.TileMap(
                Tile(8, "K", mode("none"), mn, k), "", unit).rows  # fmt: skip


def drawn(tile: Tile, down: str, unit: str) -> list[Any]:
    one = tile_map.TileMap(tile, down, unit)
    public = [name for name in dir(tile_map.TileMap) if not name.startswith("_")]
    out: list[Any] = [name + attempt(lambda n=name: whole(getattr(one, n))) for name in public
                      if not callable(getattr(tile_map.TileMap, name))]  # fmt: skip
    out += [one.memory(), one.memory(True), [one.cell_of(mn, k) for mn, k in ((0, 0), (1, 0), (0, 1), (7, 9), (8, 16))]]
    return out


def of_wmma() -> Iterator[Call]:
    yield "fragments", lambda: [one.cpp for one in wmma.fragments()]
    for one in wmma.fragments():
        yield one.cpp, lambda one=one: [
            one.use, one.element_cpp, one.storage_cpp, one.num_elements, one.per_storage, one.num_storage_elements,
            one.since, [wmma.elements_of(one.operand, lane) for lane in (0, 5, 31)], wmma.requirements(one.operand),
            wmma.both(one.operand), wmma.fragment_bytes(one.operand),
            [wmma.default_stride(one.operand, way) for way in ("row", "col")],
        ]  # fmt: skip
        for way in ("row", "col"):
            least = wmma.default_stride(one.operand, way)
            for pointer, ldm in ((0, least), (16, least - 1), (32, least + 1), (8, least + 8), (0x100, 4 * least)):
                yield f"check {one.cpp} {way} {pointer} {ldm}", partial(wmma.check, one.operand, pointer, ldm, way)
    for shape, kind in product(
        ("m16n16k16", "m8n8k32", "m8n8k128", "m16n16k8", "m8n8k4", "x"), ("f32", "f16", "s32", "f64")
    ):
        yield f"multiplicands {shape} {kind}", partial(wmma.multiplicands, shape, kind)
