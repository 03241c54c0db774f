"""Operands of the tcgen05 probes: numbers sent one bit a run, matrices in shared memory with their descriptors, and a
product for each data-path layout.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.blackwell import idesc, umma
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.tmem import TmemMma
from lanescope.blackwell.umma import MmaOpcode
from lanescope.descriptor import matrix as desc
from lanescope.ptx import fragment_words
from lanescope.ptx.element_bytes import write_codes
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.ptx.table.tmem import PLACES
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile

Array = NDArray[Any]


def number_to_bits(numbers: Array, count: int) -> Array:
    """Return every bit of an array, the runs of a probe: [count, …]."""
    return numbers[None] >> np.arange(count).reshape(-1, *[1] * numbers.ndim) & 1


def bits_to_number(bits: Array) -> Array:
    """Join the numbers that runs returned one bit each: [count, …] → […]."""
    return np.tensordot(1 << np.arange(len(bits)), bits.astype(np.int64), 1)


def encode_idesc(kind: str, m: int, n: int, form: str, **more: Any) -> IdescWord:
    return idesc.encode(idesc.get_kind(kind), {"m": m, "n": n, **more}, form)


def store_operand(idesc_word: IdescWord, form: str, side: str, matrix: Array, base: int = 0) -> tuple[int, Array]:
    """Store a CTA's A [m, k] or B [n, k] as a K-major tile without swizzle: (descriptor, bytes from its start)."""
    opcode = MmaOpcode(idesc_word.kind, form, idesc_word.sparse)
    view = umma.make_view(opcode, idesc_word, side)
    tile = Tile(view.bits, "K", get_mode("none"), view.rows, view.k, base=base, form=TCGEN05)
    word = tile.descriptor(rows=view.rows)
    code = fragment_words.encode_values(matrix, idesc_word.types[side]).astype(np.uint64)
    image = np.zeros(tile.bytes, np.uint8)
    address = desc.reads(word, view) - base
    write_codes(image, address, code, view.bits)
    return word.word, image


def build_image(parts: list[Array]) -> Array:
    """Join byte images of one CTA, each on 1024 bytes, as words."""
    padded = [np.pad(part, (0, -len(part) % 1024)) for part in parts]
    return np.concatenate(padded).view(np.uint32)


def store_operands(
    idesc_word: IdescWord, form: str, a: list[Array] | None, b: list[Array]
) -> tuple[int | None, int, Array]:
    """Return descriptors of A and B and the shared memory [ctas, words]; a, b: the part of each CTA, None for A
    elsewhere.
    """
    stored_a = [store_operand(idesc_word, form, "a", matrix) for matrix in a] if a is not None else []
    base = len(build_image([stored_a[0][1]])) * 4 if stored_a else 0
    stored_b = [store_operand(idesc_word, form, "b", matrix, base) for matrix in b]
    shared = [build_image([*([stored_a[n][1]] if stored_a else []), stored_b[n][1]]) for n in range(len(b))]
    return (stored_a[0][0] if stored_a else None), stored_b[0][0], np.stack(shared)


def split_by_cta(matrix: Array, ctas: int) -> list[Array]:
    return list(matrix.reshape(ctas, -1, matrix.shape[1]))


def generate_products() -> Iterator[tuple[str, TmemMma, IdescWord, str, int]]:
    """Yield a product for each data-path layout, at both places if it leaves lanes between: (letter, …, lane)."""
    for place in PLACES:
        for sparse in place.sparse:
            for lane in place.aligned:
                idesc_word = encode_idesc("f16", place.m, 64, place.form, sparse=int(sparse))
                yield (
                    place.letter,
                    TmemMma(idesc_word.kind, place.form, sparse, place.m, 64),
                    idesc_word,
                    place.form,
                    lane << 16,
                )
