"""What tells, from dumps of tensor memory, where tcgen05.mma keeps and finds things: D by codes, A and descriptors a
bit of the address a run, metadata and scale factors a bit of their place a run, types and signs by random products.

Every probe says how many of its answers are those of the maps. It runs on a device, or on the simulation.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware import fragment_words, tensor_moves
from lanescope.app.hardware.tensor_memory import MmaOperation, TensorDevice, TensorJob
from lanescope.app.hardware.tensor_moves import ProbeResult, count_agreements
from lanescope.blackwell import idesc, tmem, umma
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.kind import MmaKind
from lanescope.blackwell.tmem import LANES, TmemMma
from lanescope.blackwell.umma import MmaOpcode
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import encode_descriptor
from lanescope.errors import LayoutError
from lanescope.ptx.metadata import WHOLE
from lanescope.ptx.table.descriptors import BASE32B, TCGEN05
from lanescope.ptx.table.kinds import ALONE, KINDS, PAIR, WS
from lanescope.ptx.table.tmem import PLACES
from lanescope.shared.swizzle import Mode, get_mode
from lanescope.shared.tiling import Tile

Array = NDArray[Any]
WIDE = 256  # columns of the dumps
SEED = 20261122
RUNS = 12  # random descriptors of an operand, major and freedom
IMAGE = 48 * 1024  # bytes of shared memory that a random descriptor may read
LOWER, UPPER = WHOLE  # an index that keeps the first two of four positions, and one that keeps the last two


def number_to_bits(numbers_: Array, count: int) -> Array:
    """Every bit of an array, the runs of a probe: [count, …]."""
    return numbers_[None] >> np.arange(count).reshape(-1, *[1] * numbers_.ndim) & 1


def bits_to_number(bits: Array) -> Array:
    """The numbers that runs told a bit each: [count, …] → […]."""
    return np.tensordot(1 << np.arange(len(bits)), bits.astype(np.int64), 1)


# products -------------------------------------------------------------------------------------------------------------


def encode_idesc(kind: str, m: int, n: int, form: str, **more: Any) -> IdescWord:
    return idesc.encode(idesc.get_kind(kind), {"m": m, "n": n, **more}, form)


def store_operand(given: IdescWord, form: str, side: str, matrix: Array, base: int = 0) -> tuple[int, Array]:
    """A CTA's A [m, k] or B [n, k] as a K-major tile without swizzle: (descriptor, bytes from its start)."""
    by = MmaOpcode(given.kind, form, given.sparse)
    seen = umma.make_view(by, given, side)
    tile = Tile(seen.bits, "K", get_mode("none"), seen.rows, seen.k, base=base, form=TCGEN05)
    word = tile.descriptor(rows=seen.rows)
    code = fragment_words.encode_values(matrix, given.types[side]).astype(np.uint64)
    out = np.zeros(tile.bytes, np.uint8)
    address = desc.reads(word, seen) - base
    if seen.bits == 4:
        for half in (0, 1):
            np.bitwise_or.at(out, address[:, half::2], (code[:, half::2] << np.uint64(4 * half)).astype(np.uint8))
    else:
        for n in range(seen.bits // 8):
            out[address + n] = (code >> np.uint64(8 * n) & np.uint64(255)).astype(np.uint8)
    return word.word, out


def build_image(parts: list[Array]) -> Array:
    """Byte images of one CTA one behind another, on 1024 bytes, as words."""
    out = [np.pad(part, (0, -len(part) % 1024)) for part in parts]
    return np.concatenate(out).view(np.uint32)


def store_operands(given: IdescWord, form: str, a: list[Array] | None, b: list[Array]) -> tuple[int | None, int, Array]:
    """Descriptors of A and B and the shared memory [ctas, words]; a, b: what each CTA holds, None for A elsewhere."""
    left = [store_operand(given, form, "a", one) for one in a] if a is not None else []
    base = len(build_image([left[0][1]])) * 4 if left else 0
    right = [store_operand(given, form, "b", one, base) for one in b]
    shared = [build_image([*([left[n][1]] if left else []), right[n][1]]) for n in range(len(b))]
    return (left[0][0] if left else None), right[0][0], np.stack(shared)


def split_by_cta(matrix: Array, ctas: int) -> list[Array]:
    return list(matrix.reshape(ctas, -1, matrix.shape[1]))


def generate_products() -> Iterator[tuple[str, TmemMma, IdescWord, str, int]]:
    """A product for each data-path layout, and both places of those that leave lanes between: (letter, …, lane)."""
    for place in PLACES:
        for sparse in place.sparse:
            for lane in place.aligned:
                given = encode_idesc("f16", place.m, 64, place.form, sparse=int(sparse))
                yield place.letter, TmemMma(given.kind, place.form, sparse, place.m, 64), given, place.form, lane << 16


def probe_d(device: TensorDevice) -> Iterator[ProbeResult]:
    """D by codes: D[i, j] = 256 i + j from two columns of A and rows of B. Lanes outside D keep what they had."""
    for letter, mma, given, form, lane in generate_products():
        if mma.sparse and mma.m != 128:
            continue  # its metadata are probed apart
        m, n, k = given.m, given.n, given.k
        stored_k = k // 2 if mma.sparse else k
        a, b = np.zeros((m, stored_k)), np.zeros((n, k))
        a[:, 0], a[:, 1] = np.arange(m), 1
        b[:, 0], b[:, 1] = 256, np.arange(n)
        words = store_operands(given, form, split_by_cta(a, mma.ctas), split_by_cta(b, mma.ctas))
        memory = np.full((1, mma.ctas, LANES, WIDE), 0x7FC00000, np.uint32)
        at = {"d": lane}
        if mma.sparse:
            memory[..., 128:] = LOWER * 0x11111111
            at["metadata"] = lane | 128
        after, _ = device.tensor(TensorJob(MmaOperation(given, form, words[0], words[1], at), memory, words[2][None]))
        where = tmem.make_tmem_layout(mma, "d").pattern.evaluate()
        columns = where[0].shape[1]
        mine = where[2] == lane >> 20 & 1 if len(where) == 3 else np.ones(where[0].shape, bool)
        right = []
        for cta in range(mma.ctas):
            code = fragment_words.decode_bits(after[0, cta, :, :columns].astype(np.uint64), "f32")
            meant = 256 * (where[0] + mma.place.rows * cta) + where[1]
            untouched = after[0, cta, :, :columns] == 0x7FC00000
            right.append(np.where(mine, code == meant, untouched))
        yield count_agreements(f"D, layout {letter}{', sparse' if mma.sparse else ''}", np.stack(right))


def probe_a(device: TensorDevice) -> Iterator[ProbeResult]:
    """A in tensor memory: an element is a bit of the number of its lane and place; B holds the identity once for each
    copy, so every copy is seen by the columns of D that read it.
    """
    for letter, mma, given, form, lane in generate_products():
        if mma.sparse:
            continue
        held = tmem.make_tmem_layout(mma, "a")
        count = held.pattern.value_count
        number = np.arange(LANES)[:, None] * count + np.arange(count)[None]
        runs = number_to_bits(number, 12)
        one = int(fragment_words.encode_values(np.array([1.0]), "f16")[0])
        memory = np.zeros((12, mma.ctas, LANES, WIDE), np.uint32)
        words = (runs * one).astype(np.uint32).reshape(12, LANES, count // 2, 2)
        memory[:, :, :, 128 : 128 + count // 2] = (words[..., 0] | words[..., 1] << 16)[:, None]
        b = (np.arange(given.n)[:, None] % given.k == np.arange(given.k)[None]).astype(float)
        _, b_word, shared = store_operands(given, form, None, split_by_cta(b, mma.ctas))
        job = TensorJob(
            MmaOperation(given, form, None, b_word, {"d": lane, "a": lane | 128}),
            memory,
            np.broadcast_to(shared, (12, *shared.shape)),
        )
        after, _ = device.tensor(job)
        where = tmem.make_tmem_layout(mma, "d").pattern.evaluate()
        columns = where[0].shape[1]
        mine = where[2] == lane >> 20 & 1 if len(where) == 3 else np.ones(where[0].shape, bool)
        inside = held.pattern.evaluate()[1]
        place = np.argsort(inside, axis=1, kind="stable")  # of every k, in a lane
        meant = np.take_along_axis(number, place, 1)[np.arange(LANES)[:, None], where[1] % given.k]
        right = []
        for cta in range(mma.ctas):
            value = fragment_words.decode_bits(after[:, cta, :, :columns].astype(np.uint64), "f32")
            right.append((bits_to_number(value == 1) == meant)[mine])
        yield count_agreements(f"A in tensor memory, layout {letter}", np.stack(right))


# What random descriptors have: a start on the pattern's boundary alone, any start, and a base offset as well. PTX
# states the first; the addresses of the others are wgmma's model, and each is counted apart.
FREEDOMS = ("", ", start off the boundary", ", base offset")


def probe_descriptors(device: TensorDevice, runs: int = RUNS) -> Iterator[ProbeResult]:
    """Random descriptors: every element of shared memory is a bit of its own address, the other operand an identity."""
    rng = np.random.default_rng(SEED)
    cases = (("f16", "f16", ("K", "MN")), ("f8f6f4", "e4m3", ("K", "MN")), ("tf32", "tf32", ("K", "MN")))
    for kind, element, majors in cases:
        for operand in "ab":
            for major in majors:
                more = {f"transpose_{operand}": int(major == "MN")}
                given = encode_idesc(kind, 128, 64, ALONE, **more)
                seen = umma.make_view(MmaOpcode(given.kind, ALONE, False), given, operand)
                modes = (
                    (BASE32B,)
                    if major == "MN" and seen.bits == 32
                    else tuple(m for m in TCGEN05.codes if m is not BASE32B)
                )
                for free, says in enumerate(FREEDOMS):
                    right = []
                    for run in range(runs):
                        one = modes[run % len(modes)]
                        right.append(
                            _probe_descriptor(device, rng, given=given, operand=operand, seen=seen, one=one, free=free)
                        )
                    yield count_agreements(
                        f"descriptors, {element} {operand.upper()} {major}-major{says}", np.array(right)
                    )


def _probe_descriptor(
    device: TensorDevice, rng: Any, *, given: IdescWord, operand: str, seen: desc.View, one: Mode, free: int
) -> bool:
    """Whether one random descriptor of a mode and freedom reads what the model says."""
    unit = one.pattern_bytes if one.chunks > 1 and not free else 16
    while True:
        amounts = {
            "start_address": unit * int(rng.integers(0, 16384 // unit)),
            "lbo_bytes": 16 * int(rng.integers(0, 256)),
            "sbo_bytes": 16 * int(rng.integers(0, 256)),
            "base_offset": int(rng.integers(0, 8)) if free > 1 else 0,
        }
        word = encode_descriptor(TCGEN05, amounts, one.name)
        address = desc.reads(word, seen)
        if int(address.max()) + 4 <= IMAGE:
            break
    bits, size = 16, seen.bits // 8
    code = int(fragment_words.encode_values(np.array([1.0]), given.types["a"])[0])
    places = np.arange(0, IMAGE, size)
    held = (number_to_bits(places, bits) * code).astype({1: np.uint8, 2: np.uint16, 4: np.uint32}[size]).view(np.uint32)
    other = "b" if operand == "a" else "a"
    rows = given.n if other == "b" else given.m
    eye = (np.arange(rows)[:, None] % given.k == np.arange(given.k)[None]).astype(float)
    theirs, shown = store_operand(given, ALONE, other, eye, IMAGE)
    shared = np.concatenate((held, np.broadcast_to(build_image([shown]), (bits, len(build_image([shown]))))), axis=1)[
        :, None
    ]
    words = (word.word, theirs) if operand == "a" else (theirs, word.word)
    memory = np.zeros((bits, 1, LANES, 64), np.uint32)
    after, _ = device.tensor(TensorJob(MmaOperation(given, ALONE, words[0], words[1], {"d": 0}), memory, shared))
    value = fragment_words.decode_bits(after[:, 0].astype(np.uint64), "f32") == 1  # [bit, i, j]
    read = bits_to_number(value[:, :, : given.k]) if operand == "a" else bits_to_number(value[:, : given.k]).T
    return bool(np.array_equal(read, address))


def probe_metadata(device: TensorDevice) -> Iterator[ProbeResult]:
    """Which index each group takes: it keeps the first or the last positions by a bit of its place."""
    for kind, form, m in (
        ("f16", ALONE, 128),
        ("tf32", ALONE, 128),
        ("f8f6f4", ALONE, 128),
        ("f16", PAIR, 256),
        ("f16", WS, 64),
        ("f16", WS, 32),
        ("f8f6f4", WS, 64),
        ("f16", ALONE, 64),
    ):
        given = encode_idesc(kind, m, 64, form, sparse=1)
        mma = TmemMma(given.kind, form, True, m, 64)
        held = tmem.make_tmem_layout(mma, "metadata")
        count = held.pattern.value_count
        number = np.arange(LANES)[:, None] * count + np.arange(count)[None]
        nibbles = np.where(number_to_bits(number, 12), UPPER, LOWER).astype(np.uint32).reshape(12, LANES, -1, 8)
        columns = np.bitwise_or.reduce(nibbles << 4 * np.arange(8, dtype=np.uint32), axis=-1)
        memory = np.zeros((12, mma.ctas, LANES, WIDE), np.uint32)
        memory[:, :, :, 128 : 128 + columns.shape[2]] = columns[:, None]
        groups = held.pattern.extents[1]
        size = given.k // groups
        k = np.arange(given.k)
        late = k % size >= size // 2
        b = (np.arange(given.n)[:, None] % groups == k[None] // size) * np.where(late, 2.0, 1.0)
        a = np.ones((m, given.k // 2))
        words = store_operands(given, form, split_by_cta(a, mma.ctas), split_by_cta(b, mma.ctas))
        shared = np.broadcast_to(words[2], (12, *words[2].shape))
        job = TensorJob(MmaOperation(given, form, words[0], words[1], {"d": 0, "metadata": 128}), memory, shared)
        after, _ = device.tensor(job)
        where = tmem.make_tmem_layout(mma, "d").pattern.evaluate()
        mine = where[2] == 0 if len(where) == 3 else np.ones(where[0].shape, bool)
        lane, unit = held.pattern.inverse()
        lane, unit = (at[:, :, 0] if at.ndim == 4 else at for at in (lane, unit))  # of both halves the lower
        legal = lane * count + unit  # [row, group, copies]
        kept = a.shape[1] // groups
        right = []
        for cta in range(mma.ctas):
            value = fragment_words.decode_bits(after[:, cta, :, : where[0].shape[1]].astype(np.uint64), "f32")
            found = bits_to_number(value == 2.0 * kept)
            right.append((found[..., None] == legal[where[0], where[1] % groups]).any(axis=-1)[mine])
        letter = f"{mma.place.letter}, {given.types['a']}"
        yield count_agreements(f"metadata, layout {letter}", np.stack(right))


def probe_scales(device: TensorDevice, kinds: tuple[str, ...] = (), most: int = 4) -> Iterator[ProbeResult]:
    """Which byte each row takes its factor from, with every id: a factor is 1 or 2 by a bit of its place. kinds: these
    alone; most: ids of each.
    """
    for row in KINDS:
        if kinds and row.name not in kinds:
            continue
        for vector, ids in row.scaled.items():
            if vector != next(iter(row.scaled)) and not row.has_field("k"):
                continue
            for form, m in ((ALONE, 128), (PAIR, 256)):
                for number_ in ids[:most]:
                    fine = {"scale_type": "ue4m3" if vector == "4X" else "ue8m0"}
                    given = encode_idesc(row.name, m, 64, form, sfa_id=number_, sfb_id=number_, **fine)
                    yield from _probe_scale_form(device, given, form, vector)


def _probe_scale_form(device: TensorDevice, given: IdescWord, form: str, vector: str) -> Iterator[ProbeResult]:
    mma = TmemMma(given.kind, form, False, given.m, given.n, scale_vec=vector)
    per = tmem.FACTORS[vector]
    one, two = (
        int(code) for code in fragment_words.encode_values(np.array([1.0, 2.0]), given.format_field("scale_type"))
    )
    k = np.arange(given.k)
    for operand in ("scale_a", "scale_b"):
        held = tmem.make_tmem_layout(mma, operand)
        count = held.pattern.value_count
        place = np.arange(LANES)[:, None] * count + np.arange(count)[None]
        steps = int(place.max()).bit_length()
        code = np.where(number_to_bits(place, steps), two, one).astype(np.uint32).reshape(steps, LANES, count // 4, 4)
        words = np.bitwise_or.reduce(code << 8 * np.arange(4, dtype=np.uint32), axis=-1)
        memory = np.full((steps, mma.ctas, LANES, WIDE), one * 0x01010101, np.uint32)
        first = {"scale_a": 128, "scale_b": 160}
        memory[..., first[operand] : first[operand] + count // 4] = words[:, None]
        legal_lane, legal_unit = held.pattern.inverse()  # [row, scale, copies]
        taken = legal_unit % 4 // per == given.get_code(f"sf{operand[-1]}_id") // per
        legal = np.where(taken, legal_lane * count + legal_unit, -1)
        for scale in range(per):
            only = (k // (given.k // per) == scale).astype(float)  # one block of K alone is not zero
            a = np.broadcast_to(only, (given.m, given.k))
            b = np.broadcast_to(only, (given.n, given.k))
            tile = store_operands(given, form, split_by_cta(a, mma.ctas), split_by_cta(b, mma.ctas))
            shared = np.broadcast_to(tile[2], (steps, *tile[2].shape))
            at = {"d": 0, **first}
            after, _ = device.tensor(TensorJob(MmaOperation(given, form, tile[0], tile[1], at), memory, shared))
            where = tmem.make_tmem_layout(mma, "d").pattern.evaluate()
            which = where[0] if operand == "scale_a" else where[1]
            right = []
            for cta in range(mma.ctas):
                value = fragment_words.decode_bits(after[:, cta, :, : which.shape[1]].astype(np.uint64), "f32")
                found = bits_to_number(value == 2.0 * only.sum())
                right.append((found[..., None] == legal[which, scale]).any(axis=-1))
            yield count_agreements(
                f"{operand}, {given.kind.name} {vector}, id {given.get_code(f'sf{operand[-1]}_id')}", np.stack(right)
            )


PADDED = {"e2m3", "e3m2", "e2m1"}  # in shared memory; where their bits lie is open


def probe_types(device: TensorDevice) -> Iterator[ProbeResult]:
    """Random small numbers of every pair of types whose elements lie alone in their container, and signs."""
    rng = np.random.default_rng(SEED)
    for row, a, b, d, negate in _typed_products():
        try:
            given = encode_idesc(row.name, 128, 64, ALONE, a=a, b=b, d=d, negate_a=negate)
        except LayoutError:
            continue  # an f16 D of bf16
        low = 0 if "u8" in (a, b) else -3
        left, right = (rng.integers(low, 4, (rows, given.k)).astype(float) for rows in (given.m, given.n))
        tile = store_operands(given, ALONE, [left], [right])
        memory = np.zeros((1, 1, LANES, 64), np.uint32)
        job = TensorJob(MmaOperation(given, ALONE, tile[0], tile[1], {"d": 0}), memory, tile[2][None])
        after, _ = device.tensor(job)
        expected = left @ right.T * (-1 if negate else 1)
        code = after[0, 0].astype(np.uint64) & np.uint64(0xFFFF if d == "f16" else 0xFFFFFFFF)
        yield count_agreements(f"types, kind::{row.name}", fragment_words.decode_bits(code, d) == expected)


def _typed_products() -> Iterator[tuple[MmaKind, str, str, str, int]]:
    """Yield every kind without scale factors with types of A, B and D, and whether A is negated."""
    for row in KINDS:
        if row.scaled:
            continue
        pairs = [
            (a, b)
            for a, b in product(row.get_field("a").codes, row.get_field("b").codes)
            if not {a, b} & PADDED and (a == b or not row.alike)
        ]
        signs = (0, 1) if "yes" in row.get_field("negate_a").codes else (0,)
        yield from ((row, a, b, d, negate) for (a, b), d, negate in product(pairs, row.get_field("d").codes, signs))


PROBES = (tensor_moves.run_moves, probe_d, probe_a, probe_descriptors, probe_metadata, probe_scales, probe_types)


def run_probes(device: TensorDevice) -> dict[str, dict[str, Any]]:
    """Every probe, by its key: how many answers it judged, and how many are the maps'."""
    out: dict[str, dict[str, Any]] = {}
    for one in _run_all(device):
        row = out.setdefault(one.key, {"ran": 0, "agreed": 0})
        row["ran"] += one.ran
        row["agreed"] += one.agreed
    return out


def _run_all(device: TensorDevice) -> Iterator[ProbeResult]:
    """Every answer. A probe that ends in an error is an answer that disagrees, and the next one begins: nobody has run
    them yet, and what an illegal instruction leaves behind must not take the other answers with it.
    """
    for probe in PROBES:
        try:
            yield from probe(device)
        except Exception as error:
            lines = str(error).splitlines() or [""]
            yield ProbeResult(f"{probe.__module__.rpartition('.')[2]}.{probe.__name__} ended: {lines[0][:160]}", 1, 0)
