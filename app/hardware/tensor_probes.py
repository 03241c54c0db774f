"""Probes that show, from dumps of tensor memory, where tcgen05.mma reads and writes: D by codes, A and
descriptors one bit of the address a run, metadata and scale factors one bit of their place a run, types and signs by
random products.

Every probe counts how many of its answers agree with the maps. It runs on a device, or on the simulation.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from lanescope.app.hardware import tensor_moves
from lanescope.app.hardware.tensor_memory import MmaOperation, TensorDevice, TensorJob
from lanescope.app.hardware.tensor_moves import ProbeResult, count_agreements
from lanescope.app.hardware.tensor_operands import (
    bits_to_number,
    build_image,
    encode_idesc,
    generate_products,
    number_to_bits,
    split_by_cta,
    store_operand,
    store_operands,
)
from lanescope.blackwell import tmem, umma
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.kind import MmaKind
from lanescope.blackwell.tmem import LANES, TmemMma
from lanescope.blackwell.umma import MmaOpcode
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import encode_descriptor
from lanescope.errors import LayoutError
from lanescope.ptx import fragment_words
from lanescope.ptx.metadata import HALF_NIBBLES
from lanescope.ptx.table.descriptors import BASE32B, TCGEN05
from lanescope.ptx.table.kinds import ALONE, KINDS, PAIR, WS
from lanescope.shared.swizzle import Mode

WIDE = 256  # columns of the dumps
SEED = 20261122
RUNS = 12  # random descriptors of an operand, major and freedom
IMAGE = 48 * 1024  # bytes of shared memory that a random descriptor may read
LOWER, UPPER = HALF_NIBBLES  # an index that keeps the first two of four positions, and one that keeps the last two


def probe_d(device: TensorDevice) -> Iterator[ProbeResult]:
    """Probe D by codes: D[i, j] = 256 i + j from two columns of A and rows of B. Lanes outside D are unchanged."""
    for letter, mma, idesc_word, form, lane in generate_products():
        if mma.sparse and mma.m != 128:
            continue  # its metadata have their own probe
        m, n, k = idesc_word.m, idesc_word.n, idesc_word.k
        stored_k = k // 2 if mma.sparse else k
        a, b = np.zeros((m, stored_k)), np.zeros((n, k))
        a[:, 0], a[:, 1] = np.arange(m), 1
        b[:, 0], b[:, 1] = 256, np.arange(n)
        words = store_operands(idesc_word, form, split_by_cta(a, mma.ctas), split_by_cta(b, mma.ctas))
        memory = np.full((1, mma.ctas, LANES, WIDE), 0x7FC00000, np.uint32)
        at = {"d": lane}
        if mma.sparse:
            memory[..., 128:] = LOWER * 0x11111111
            at["metadata"] = lane | 128
        after, _ = device.tensor(
            TensorJob(MmaOperation(idesc_word, form, words[0], words[1], at), memory, words[2][None])
        )
        coords = tmem.make_tmem_layout(mma, "d").pattern.evaluate()
        columns = coords[0].shape[1]
        in_d = coords[2] == lane >> 20 & 1 if len(coords) == 3 else np.ones(coords[0].shape, bool)
        right = []
        for cta in range(mma.ctas):
            code = fragment_words.decode_bits(after[0, cta, :, :columns].astype(np.uint64), "f32")
            expected = 256 * (coords[0] + mma.place.rows * cta) + coords[1]
            untouched = after[0, cta, :, :columns] == 0x7FC00000
            right.append(np.where(in_d, code == expected, untouched))
        yield count_agreements(f"D, layout {letter}{', sparse' if mma.sparse else ''}", np.stack(right))


def probe_a(device: TensorDevice) -> Iterator[ProbeResult]:
    """Probe A in tensor memory: an element is a bit of the number of its lane and place; B holds the identity once for
    each copy, so the columns of D that read a copy show it.
    """
    for letter, mma, idesc_word, form, lane in generate_products():
        if mma.sparse:
            continue
        layout = tmem.make_tmem_layout(mma, "a")
        count = layout.pattern.value_count
        number = np.arange(LANES)[:, None] * count + np.arange(count)[None]
        runs = number_to_bits(number, 12)
        code_of_one = int(fragment_words.encode_values(np.array([1.0]), "f16")[0])
        memory = np.zeros((12, mma.ctas, LANES, WIDE), np.uint32)
        words = (runs * code_of_one).astype(np.uint32).reshape(12, LANES, count // 2, 2)
        memory[:, :, :, 128 : 128 + count // 2] = (words[..., 0] | words[..., 1] << 16)[:, None]
        b = (np.arange(idesc_word.n)[:, None] % idesc_word.k == np.arange(idesc_word.k)[None]).astype(float)
        _, b_word, shared = store_operands(idesc_word, form, None, split_by_cta(b, mma.ctas))
        job = TensorJob(
            MmaOperation(idesc_word, form, None, b_word, {"d": lane, "a": lane | 128}),
            memory,
            np.broadcast_to(shared, (12, *shared.shape)),
        )
        after, _ = device.tensor(job)
        coords = tmem.make_tmem_layout(mma, "d").pattern.evaluate()
        columns = coords[0].shape[1]
        in_d = coords[2] == lane >> 20 & 1 if len(coords) == 3 else np.ones(coords[0].shape, bool)
        k_of_unit = layout.pattern.evaluate()[1]
        place = np.argsort(k_of_unit, axis=1, kind="stable")  # the unit of every k, in a lane
        expected = np.take_along_axis(number, place, 1)[np.arange(LANES)[:, None], coords[1] % idesc_word.k]
        right = []
        for cta in range(mma.ctas):
            value = fragment_words.decode_bits(after[:, cta, :, :columns].astype(np.uint64), "f32")
            right.append((bits_to_number(value == 1) == expected)[in_d])
        yield count_agreements(f"A in tensor memory, layout {letter}", np.stack(right))


# Random descriptors: only a start on the pattern's boundary, any start, or a base offset as well. PTX
# states the first; the addresses of the others are wgmma's model, and each is counted apart.
FREEDOMS = ("", ", start off the boundary", ", base offset")


def probe_descriptors(device: TensorDevice, runs: int = RUNS) -> Iterator[ProbeResult]:
    """Probe random descriptors: every element of shared memory is a bit of its own address, the other operand an
    identity.
    """
    rng = np.random.default_rng(SEED)
    cases = (("f16", "f16", ("K", "MN")), ("f8f6f4", "e4m3", ("K", "MN")), ("tf32", "tf32", ("K", "MN")))
    for kind, element, majors in cases:
        for operand in "ab":
            for major in majors:
                options = {f"transpose_{operand}": int(major == "MN")}
                idesc_word = encode_idesc(kind, 128, 64, ALONE, **options)
                view = umma.make_view(MmaOpcode(idesc_word.kind, ALONE, False), idesc_word, operand)
                modes = (
                    (BASE32B,)
                    if major == "MN" and view.bits == 32
                    else tuple(m for m in TCGEN05.codes if m is not BASE32B)
                )
                for freedom, suffix in enumerate(FREEDOMS):
                    right = []
                    for run in range(runs):
                        mode = modes[run % len(modes)]
                        right.append(
                            _probe_descriptor(
                                device,
                                rng,
                                idesc_word=idesc_word,
                                operand=operand,
                                view=view,
                                mode=mode,
                                freedom=freedom,
                            )
                        )
                    yield count_agreements(
                        f"descriptors, {element} {operand.upper()} {major}-major{suffix}", np.array(right)
                    )


def _probe_descriptor(
    device: TensorDevice, rng: Any, *, idesc_word: IdescWord, operand: str, view: desc.View, mode: Mode, freedom: int
) -> bool:
    """Return whether one random descriptor of a mode and freedom reads the addresses of the model."""
    unit = mode.pattern_bytes if mode.chunks > 1 and not freedom else 16
    while True:
        amounts = {
            "start_address": unit * int(rng.integers(0, 16384 // unit)),
            "lbo_bytes": 16 * int(rng.integers(0, 256)),
            "sbo_bytes": 16 * int(rng.integers(0, 256)),
            "base_offset": int(rng.integers(0, 8)) if freedom > 1 else 0,
        }
        word = encode_descriptor(TCGEN05, amounts, mode.name)
        address = desc.reads(word, view)
        if int(address.max()) + 4 <= IMAGE:
            break
    bits, size = 16, view.bits // 8
    code = int(fragment_words.encode_values(np.array([1.0]), idesc_word.types["a"])[0])
    places = np.arange(0, IMAGE, size)
    filled = (
        (number_to_bits(places, bits) * code).astype({1: np.uint8, 2: np.uint16, 4: np.uint32}[size]).view(np.uint32)
    )
    other = "b" if operand == "a" else "a"
    rows = idesc_word.n if other == "b" else idesc_word.m
    eye = (np.arange(rows)[:, None] % idesc_word.k == np.arange(idesc_word.k)[None]).astype(float)
    other_word, other_image = store_operand(idesc_word, ALONE, other, eye, IMAGE)
    shared = np.concatenate(
        (filled, np.broadcast_to(build_image([other_image]), (bits, len(build_image([other_image]))))), axis=1
    )[:, None]
    words = (word.word, other_word) if operand == "a" else (other_word, word.word)
    memory = np.zeros((bits, 1, LANES, 64), np.uint32)
    after, _ = device.tensor(TensorJob(MmaOperation(idesc_word, ALONE, words[0], words[1], {"d": 0}), memory, shared))
    value = fragment_words.decode_bits(after[:, 0].astype(np.uint64), "f32") == 1  # [bit, i, j]
    read = bits_to_number(value[:, :, : idesc_word.k]) if operand == "a" else bits_to_number(value[:, : idesc_word.k]).T
    return bool(np.array_equal(read, address))


def probe_metadata(device: TensorDevice) -> Iterator[ProbeResult]:
    """Probe which index each group uses: it keeps the first or the last positions by a bit of its place."""
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
        idesc_word = encode_idesc(kind, m, 64, form, sparse=1)
        mma = TmemMma(idesc_word.kind, form, True, m, 64)
        layout = tmem.make_tmem_layout(mma, "metadata")
        count = layout.pattern.value_count
        number = np.arange(LANES)[:, None] * count + np.arange(count)[None]
        nibbles = np.where(number_to_bits(number, 12), UPPER, LOWER).astype(np.uint32).reshape(12, LANES, -1, 8)
        columns = np.bitwise_or.reduce(nibbles << 4 * np.arange(8, dtype=np.uint32), axis=-1)
        memory = np.zeros((12, mma.ctas, LANES, WIDE), np.uint32)
        memory[:, :, :, 128 : 128 + columns.shape[2]] = columns[:, None]
        groups = layout.pattern.extents[1]
        size = idesc_word.k // groups
        k = np.arange(idesc_word.k)
        upper_half = k % size >= size // 2
        b = (np.arange(idesc_word.n)[:, None] % groups == k[None] // size) * np.where(upper_half, 2.0, 1.0)
        a = np.ones((m, idesc_word.k // 2))
        words = store_operands(idesc_word, form, split_by_cta(a, mma.ctas), split_by_cta(b, mma.ctas))
        shared = np.broadcast_to(words[2], (12, *words[2].shape))
        job = TensorJob(MmaOperation(idesc_word, form, words[0], words[1], {"d": 0, "metadata": 128}), memory, shared)
        after, _ = device.tensor(job)
        coords = tmem.make_tmem_layout(mma, "d").pattern.evaluate()
        in_d = coords[2] == 0 if len(coords) == 3 else np.ones(coords[0].shape, bool)
        lane, unit = layout.pattern.inverse()
        lane, unit = (
            index[:, :, 0] if index.ndim == 4 else index for index in (lane, unit)
        )  # the lower of both halves
        legal = lane * count + unit  # [row, group, copies]
        kept_per_group = a.shape[1] // groups
        right = []
        for cta in range(mma.ctas):
            value = fragment_words.decode_bits(after[:, cta, :, : coords[0].shape[1]].astype(np.uint64), "f32")
            numbers = bits_to_number(value == 2.0 * kept_per_group)
            right.append((numbers[..., None] == legal[coords[0], coords[1] % groups]).any(axis=-1)[in_d])
        letter = f"{mma.place.letter}, {idesc_word.types['a']}"
        yield count_agreements(f"metadata, layout {letter}", np.stack(right))


def probe_scales(device: TensorDevice, kinds: tuple[str, ...] = (), most: int = 4) -> Iterator[ProbeResult]:
    """Probe which byte each row reads its factor from, with every id: a factor is 1 or 2 by a bit of its place. kinds:
    these alone; most: ids of each.
    """
    for row in KINDS:
        if kinds and row.name not in kinds:
            continue
        for vector, ids in row.scaled.items():
            if vector != next(iter(row.scaled)) and not row.has_field("k"):
                continue
            for form, m in ((ALONE, 128), (PAIR, 256)):
                for factor_id in ids[:most]:
                    scale_type = {"scale_type": "ue4m3" if vector == "4X" else "ue8m0"}
                    idesc_word = encode_idesc(row.name, m, 64, form, sfa_id=factor_id, sfb_id=factor_id, **scale_type)
                    yield from _probe_scale_form(device, idesc_word, form, vector)


def _probe_scale_form(device: TensorDevice, idesc_word: IdescWord, form: str, vector: str) -> Iterator[ProbeResult]:
    mma = TmemMma(idesc_word.kind, form, False, idesc_word.m, idesc_word.n, scale_vec=vector)
    per = tmem.FACTORS[vector]
    code_of_one, code_of_two = (
        int(code) for code in fragment_words.encode_values(np.array([1.0, 2.0]), idesc_word.format_field("scale_type"))
    )
    k = np.arange(idesc_word.k)
    for operand in ("scale_a", "scale_b"):
        layout = tmem.make_tmem_layout(mma, operand)
        count = layout.pattern.value_count
        place = np.arange(LANES)[:, None] * count + np.arange(count)[None]
        steps = int(place.max()).bit_length()
        code = (
            np.where(number_to_bits(place, steps), code_of_two, code_of_one)
            .astype(np.uint32)
            .reshape(steps, LANES, count // 4, 4)
        )
        words = np.bitwise_or.reduce(code << 8 * np.arange(4, dtype=np.uint32), axis=-1)
        memory = np.full((steps, mma.ctas, LANES, WIDE), code_of_one * 0x01010101, np.uint32)
        first = {"scale_a": 128, "scale_b": 160}
        memory[..., first[operand] : first[operand] + count // 4] = words[:, None]
        legal_lane, legal_unit = layout.pattern.inverse()  # [row, scale, copies]
        is_selected = legal_unit % 4 // per == idesc_word.get_code(f"sf{operand[-1]}_id") // per
        legal = np.where(is_selected, legal_lane * count + legal_unit, -1)
        for scale in range(per):
            block_of_k = (k // (idesc_word.k // per) == scale).astype(float)  # only one block of K is not zero
            a = np.broadcast_to(block_of_k, (idesc_word.m, idesc_word.k))
            b = np.broadcast_to(block_of_k, (idesc_word.n, idesc_word.k))
            tile = store_operands(idesc_word, form, split_by_cta(a, mma.ctas), split_by_cta(b, mma.ctas))
            shared = np.broadcast_to(tile[2], (steps, *tile[2].shape))
            addresses = {"d": 0, **first}
            after, _ = device.tensor(
                TensorJob(MmaOperation(idesc_word, form, tile[0], tile[1], addresses), memory, shared)
            )
            coords = tmem.make_tmem_layout(mma, "d").pattern.evaluate()
            indices = coords[0] if operand == "scale_a" else coords[1]
            right = []
            for cta in range(mma.ctas):
                value = fragment_words.decode_bits(after[:, cta, :, : indices.shape[1]].astype(np.uint64), "f32")
                numbers = bits_to_number(value == 2.0 * block_of_k.sum())
                right.append((numbers[..., None] == legal[indices, scale]).any(axis=-1))
            yield count_agreements(
                f"{operand}, {idesc_word.kind.name} {vector}, id {idesc_word.get_code(f'sf{operand[-1]}_id')}",
                np.stack(right),
            )


PADDED = {"e2m3", "e3m2", "e2m1"}  # in shared memory; the place of their bits is open


def probe_types(device: TensorDevice) -> Iterator[ProbeResult]:
    """Probe random small numbers of every pair of types that have a container for each element, and signs."""
    rng = np.random.default_rng(SEED)
    for row, a, b, d, negate in _generate_typed_products():
        try:
            idesc_word = encode_idesc(row.name, 128, 64, ALONE, a=a, b=b, d=d, negate_a=negate)
        except LayoutError:
            continue  # an f16 D of bf16
        low = 0 if "u8" in (a, b) else -3
        a_matrix, b_matrix = (
            rng.integers(low, 4, (rows, idesc_word.k)).astype(float) for rows in (idesc_word.m, idesc_word.n)
        )
        tile = store_operands(idesc_word, ALONE, [a_matrix], [b_matrix])
        memory = np.zeros((1, 1, LANES, 64), np.uint32)
        job = TensorJob(MmaOperation(idesc_word, ALONE, tile[0], tile[1], {"d": 0}), memory, tile[2][None])
        after, _ = device.tensor(job)
        expected = a_matrix @ b_matrix.T * (-1 if negate else 1)
        code = after[0, 0].astype(np.uint64) & np.uint64(0xFFFF if d == "f16" else 0xFFFFFFFF)
        yield count_agreements(f"types, kind::{row.name}", fragment_words.decode_bits(code, d) == expected)


def _generate_typed_products() -> Iterator[tuple[MmaKind, str, str, str, int]]:
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
    """Run every probe and count by its key the answers that it judged, and those that agree with the maps."""
    counts_by_key: dict[str, dict[str, Any]] = {}
    for result in _run_all(device):
        row = counts_by_key.setdefault(result.key, {"ran": 0, "agreed": 0})
        row["ran"] += result.ran
        row["agreed"] += result.agreed
    return counts_by_key


def _run_all(device: TensorDevice) -> Iterator[ProbeResult]:
    """Yield every answer.

    A probe that ends in an error counts as an answer that disagrees, and the next one begins: none has run on hardware
    yet, and one illegal instruction must not cost the other answers.
    """
    for probe in PROBES:
        try:
            yield from probe(device)
        except Exception as error:
            lines = str(error).splitlines() or [""]
            yield ProbeResult(f"{probe.__module__.rpartition('.')[2]}.{probe.__name__} ended: {lines[0][:160]}", 1, 0)
