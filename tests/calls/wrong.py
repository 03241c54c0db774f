"""Every known mistake of a descriptor: storages of each kind and format, slices, and words wrong in each field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lanescope.descriptor import diagnosis, mistakes
from lanescope.descriptor.case import Case, pack
from lanescope.descriptor.format import Format
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.descriptor.repair import expected_reads, repairs
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.shared.storage import storage
from tests.calls import Call

Spec = dict[str, Any]
Stored = tuple[Format, int, str, Spec]


def tile(form: Format, bits: int, major: str, swizzle: str, mn: int, k: int, **more: Any) -> Stored:
    spec = {"kind": "canonical", "swizzle": swizzle, "mn": mn, "k": k, "base": 0x2000, **more}
    return form, bits, major, spec


def panels(bits: int, inner: str, width: int, outer: int, across: int, swizzle: str, **more: Any) -> Stored:
    spec = {"kind": "atoms", "inner": inner, "width_bytes": width, "outer8_stride": outer, "inner_stride": across}
    return WGMMA, bits, inner, {**spec, "swizzle": swizzle, "base": 0x2000, **more}


def rows(bits: int, inner: str, pitch: int, swizzle: str, **more: Any) -> Stored:
    return WGMMA, bits, inner, {"kind": "rows", "inner": inner, "pitch_bytes": pitch, "swizzle": swizzle, **more}


# what is stored, (rows of the instruction, where the slice begins, and a 2 where it reads twice as many of K)
STORED: tuple[tuple[Stored, tuple[tuple[int, ...], ...]], ...] = (
    (tile(WGMMA, 16, "K", "128B", 128, 128), ((64, 0, 0), (64, 64, 16), (8, 0, 80), (64, 0, 64))),
    (tile(WGMMA, 16, "K", "128B", 128, 128, order="k"), ((64, 0, 16),)),
    (tile(WGMMA, 16, "K", "64B", 128, 64), ((64, 64, 32), (128, 0, 16))),
    (tile(WGMMA, 16, "K", "64B", 128, 64, order="k", base=0), ((64, 64, 0),)),
    (tile(WGMMA, 16, "K", "32B", 64, 64), ((64, 0, 16),)),
    (tile(WGMMA, 16, "K", "32B", 64, 64, order="k"), ((64, 0, 0),)),
    (tile(WGMMA, 16, "K", "32B", 128, 64), ((64, 0, 0, 2), (64, 64, 32, 2), (8, 0, 0, 2))),
    (tile(WGMMA, 16, "K", "none", 128, 64), ((64, 0, 0), (8, 0, 16), (64, 64, 32))),
    (tile(WGMMA, 16, "K", "none", 128, 64, order="k"), ((64, 0, 16), (8, 0, 0))),
    (tile(WGMMA, 16, "K", "none", 8, 16), ((8, 0, 0),)),
    (tile(WGMMA, 16, "MN", "128B", 128, 64), ((64, 64, 16), (128, 0, 0))),
    (tile(WGMMA, 16, "MN", "128B", 128, 64, order="mn"), ((128, 0, 32),)),
    (tile(WGMMA, 16, "MN", "64B", 128, 64), ((128, 0, 16), (64, 64, 0))),
    (tile(WGMMA, 16, "MN", "64B", 256, 32, order="mn"), ((64, 32, 16),)),
    (tile(WGMMA, 16, "MN", "32B", 64, 32), ((64, 0, 16),)),
    (tile(WGMMA, 16, "MN", "none", 128, 32), ((64, 0, 16), (8, 64, 0))),
    (tile(WGMMA, 16, "MN", "none", 64, 32, order="mn"), ((64, 0, 16),)),
    (tile(WGMMA, 8, "K", "128B", 64, 256), ((64, 0, 32),)),
    (tile(WGMMA, 8, "K", "none", 64, 64), ((64, 0, 32),)),
    (tile(WGMMA, 8, "K", "32B", 128, 64), ((64, 64, 32),)),
    (tile(WGMMA, 32, "K", "64B", 64, 32), ((64, 0, 8),)),
    (tile(WGMMA, 32, "K", "none", 64, 16), ((64, 0, 8),)),
    (tile(WGMMA, 8, "K", "128B", 64, 128, element_bits=8), ((64, 0, 32),)),
    *((tile(WGMMA, 16, "K", m, 64, 64, base=0x2000 + 128 * n, swizzle_by="tile"), ((64, 0, 16),))
      for m, n in (("128B", 1), ("128B", 2), ("128B", 7), ("64B", 1), ("64B", 3), ("32B", 1))),
    (tile(WGMMA, 16, "MN", "128B", 64, 64, base=0x2080, swizzle_by="tile"), ((64, 0, 16),)),
    (tile(WGMMA, 16, "K", "128B", 64, 64, base=0x2080), ((64, 0, 16),)),
    (tile(WGMMA, 16, "K", "128B", 64, 64, base=0x2300), ((64, 0, 0),)),
    (panels(16, "K", 128, 1024, 8192, "128B"), ((64, 0, 80),)),
    (panels(16, "K", 128, 1024, 16384, "128B"), ((64, 0, 64), (64, 64, 0))),
    (panels(16, "K", 128, 2048, 1024, "128B"), ((64, 0, 64),)),
    (panels(16, "K", 128, 3072, 65536, "128B"), ((64, 0, 0),)),
    (panels(16, "K", 128, 1024, 1024, "128B"), ((64, 0, 0),)),
    (panels(16, "K", 128, 1024, 0, "128B"), ((64, 0, 0),)),
    (panels(8, "K", 64, 512, 4096, "64B"), ((64, 0, 64),)),
    (panels(16, "K", 16, 128, 1024, "none"), ((64, 0, 16),)),
    (panels(16, "K", 16, 256, 128, "none"), ((64, 0, 0),)),
    (panels(16, "MN", 128, 1024, 8192, "128B"), ((128, 0, 16), (64, 0, 16))),
    (panels(16, "MN", 64, 512, 4096, "64B"), ((64, 0, 0),)),
    (panels(16, "MN", 16, 128, 1024, "none"), ((64, 0, 16),)),
    (panels(32, "K", 32, 256, 2048, "32B"), ((64, 0, 8),)),
    (rows(16, "K", 128, "128B", base=0x1400), ((64, 0, 16), (64, 64, 48), (8, 0, 0))),
    (rows(16, "K", 64, "64B"), ((64, 0, 16),)),
    (rows(8, "K", 32, "32B", base=256), ((64, 8, 0),)),
    (rows(16, "MN", 128, "128B"), ((64, 0, 16),)),
    (rows(16, "K", 128, "128B", base=0x1480, swizzle_by="tile"), ((64, 0, 16), (64, 0, 0))),
    ((WGMMA, 16, "K", {"kind": "cute", "layout": "Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(64,1)"}), ((64, 0, 16),)),
    ((WGMMA, 16, "K", {"kind": "cute", "layout": "((8,8),(8,2)):((8,128),(1,64))", "base": 64}), ((64, 0, 0),)),
    (tile(WGMMA, 1, "K", "128B", 64, 2048), ((64, 0, 256),)),
    (tile(TCGEN05, 16, "K", "128B", 128, 128), ((128, 0, 16),)),
    (tile(TCGEN05, 16, "MN", "64B", 128, 32), ((128, 0, 16),)),
    (tile(TCGEN05, 32, "MN", "128B_base32B", 64, 16), ((64, 0, 8),)),
    (tile(TCGEN05, 8, "MN", "32B", 128, 64), ((128, 0, 32),)),
    (tile(TCGEN05, 4, "K", "128B", 128, 512), ((128, 0, 64),)),
    (tile(TCGEN05, 16, "K", "none", 128, 32), ((128, 0, 16),)),
)  # fmt: skip


def of_slips() -> Iterator[Call]:
    """The mistakes that are known of each storage; those that depend on the given word are asked of many."""
    for (form, bits, major, spec), slices in STORED:
        stored, step = storage(spec, bits, major, form), 256 // bits
        for count, mn, k, *twice in slices:
            seen = View(count, 2 * step if twice else step, bits, major, form)
            expected = expected_reads(stored, seen, mn, k)
            words = f"{form.name} {bits} {major} {' '.join(map(str, spec.values()))} {count} at {mn}, {k}"
            found = repairs(expected, seen, Descriptor(0, form), stored.swizzle_by == "address")
            begin = diagnosis._begins(stored, mn, k)
            found = [one for one in found if one.mode is stored.mode] or found
            right = next((one for one in found if one.start_address == begin), found[0])
            one = Case(right, right, seen, stored, mn, k, expected)
            yield words, lambda one=one: mistakes.slips(one)
            if k == step:
                yield f"{words} computed", lambda one=one: mistakes.slips(replace(one, computed=True))
            yield f"{words}, each word", lambda one=one: [
                [changed, by_word(replace(one, given=bent(one, changed)))] for changed in wrong(one)
            ]  # fmt: skip


def wrong(one: Case) -> Iterator[dict[str, int]]:
    """Amounts of the fields by which the cause is told: at, below and above each bound."""
    lbo, wide, start = one.wanted["lbo"], one.mode.width_bytes, one.wanted["start_address"]
    yield {}
    if "lbo" in one.read:
        for amount in dict.fromkeys((
            0, 16, 64, 112, 128, 144, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192,
            lbo // 4, lbo // 2, 2 * lbo, 3 * lbo, 4 * lbo, 8 * lbo,
        )):  # fmt: skip
            yield {"lbo": amount}
    if one.stored.spec["kind"] == "atoms":
        for amount in (0, *(8 * wide * n for n in (1, 2, 3, 16, 17)), 16 * wide + 16):
            yield {"sbo": amount}
    if "base_offset" in one.read:
        for n in range(8):
            yield {"base_offset": n}
            yield {"base_offset": n, "start_address": start + (n << 11)}
        yield {"start_address": start + 128}
    for version in (0, 2) if "version" in one.wanted else ():
        yield {"version": version}


def bent(one: Case, changed: dict[str, int]) -> Descriptor:
    return Descriptor(pack({**one.wanted, **changed}, one.form), one.form)


def by_word(one: Case) -> list[Any]:
    """The mistakes that are told by the given word."""
    return [*mistakes._constants(one), *mistakes._strides(one), *mistakes._base_offset(one)]
