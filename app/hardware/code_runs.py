"""Part "code": the generated functions that no other part runs, executed unchanged: element loads and stores, tile
fills, descriptors, reuse.

Each case is one kernel of one block: words in, words out, and the expected words by the maps. `tests/test_gpu.py` runs
a sample of the same cases on the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from lanescope.app.hardware import kernel_source
from lanescope.app.hardware.device import WINDOW, Array, CudaDevice
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, fragment_words
from lanescope.ptx.instruction import Operand
from lanescope.ptx.table.descriptors import START
from lanescope.render import cuda, descriptor, reuse, smem
from lanescope.shared.swizzle import MODES
from lanescope.shared.tiling import ELEMENT_BITS, Tile
from lanescope.tiles.reuse import AccumulatorReuse, match_accumulator as match

EXTRA = 24  # unread elements between the lines of memory: whole bytes of every type
PAST = (0, 0x480)  # offsets of a tile from a boundary of every pattern, in bytes
SPILLED = 64  # least shared memory of a block, in words


@dataclass(frozen=True)
class CodeCase:
    """One kernel and its expected words.

    key: the group it is counted in; code: its functions; lines: its body over `in`, `out`, `shared`. words_in and
    expected are uint32 words; words that are not written stay 0. threads: of the block; shared: bytes of its shared
    memory.
    """

    key: str
    code: str
    lines: tuple[str, ...]
    words_in: Array
    expected: Array
    threads: int = 32
    shared: int = 4 * SPILLED

    def render_kernel(self) -> str:
        """Render CUDA C++ that needs no header."""
        types = "typedef unsigned long long uint64_t;\n" if "uint64_t" in self.code else ""
        head = ["extern __shared__ __align__(1024) unsigned char shared[];"]
        return (
            types
            + self.code
            + kernel_source.render_kernel("k", ["unsigned* out", "const unsigned* in"], [*head, *self.lines])
        )

    def is_expected(self, words_out: Array) -> bool:
        """Return whether the output words are those of the maps."""
        return bool(np.array_equal(words_out, self.expected))

    def run_case(self, device: CudaDevice) -> bool:
        """Execute the kernel and return whether its words are those of the maps."""
        out = np.zeros(len(self.expected), np.uint32)
        (words_out,) = device.run_kernel(
            self.render_kernel(), out, self.words_in, threads=self.threads, shared=self.shared
        )
        return self.is_expected(words_out)


def generate_cases() -> Iterator[CodeCase]:
    """Yield every distinct load and store of the catalogue, every kind of tile, descriptors of every field, and every
    reuse that needs no header.
    """
    rng, seen = np.random.default_rng(11), set[tuple[str, tuple[str, ...]]]()
    for case in (*_generate_accesses(rng), *_generate_tiles(), *_generate_descriptors(rng), *_generate_reuses(rng)):
        if (case.code, case.lines) not in seen:
            seen.add((case.code, case.lines))
            yield case


def _pad_to_words(raw: Any) -> Array:
    """Return bytes as whole uint32 words."""
    words = np.frombuffer(bytes(raw) + b"\0" * (-len(bytes(raw)) % 4), np.uint32)
    return words.copy()


def _generate_accesses(rng: np.random.Generator) -> Iterator[CodeCase]:
    operands, texts = set[Operand](), set[str]()
    for i in catalog.instructions():
        for op in i.operands.values():
            if op.name not in "abcd" or op in operands:
                continue
            operands.add(op)
            store = op.name == "d"
            if (text := (cuda.render_store if store else cuda.render_load)(op)) in texts:
                continue
            texts.add(text)
            yield _build_access(f"{'store' if store else 'load'} {op.element.name}", text, op, store, rng)


def _build_access(key: str, text: str, op: Operand, store: bool, rng: np.random.Generator) -> CodeCase:
    """Build memory with gaps on one side and registers on the other, both from the map, bit by bit."""
    bits, register, unit = (
        op.container_bits,
        cuda.get_register_type(op.element),
        cuda.get_memory_type(op.element, op.container_bits),
    )
    places = dict(op.coords)
    third = places.pop("product", 0)
    line, position = (places["col"], places["row"]) if op.name == "b" else (places["row"], places["col"])
    lines, length = (op.col_count, op.row_count) if op.name == "b" else (op.row_count, op.col_count)
    ld = length + EXTRA
    index = (third * lines + line) * ld + position
    memory = rng.integers(0, 256, op.extents.get("product", 1) * lines * ld * bits // 8, np.uint8)
    elements = np.unpackbits(memory, bitorder="little").reshape(-1, bits)
    packed = np.packbits(elements[index].reshape(op.threads, -1), axis=1, bitorder="little")
    registers = f"{register} r[{op.registers}];"
    own_registers = f"[threadIdx.x * {op.registers} + n]"
    each_register = f"for (int n = 0; n < {op.registers}; ++n)"
    if not store:
        body = (
            registers,
            f"load_{op.name}(r, (const {unit}*)in, {ld}u);",
            f"{each_register} (({register}*)out){own_registers} = r[n];",
        )
        expected = _pad_to_words(packed.tobytes())
        return CodeCase(key, text, body, _pad_to_words(memory), expected, op.threads)
    is_stored = np.zeros(len(elements), bool)
    is_stored[index] = True
    stored = np.packbits((elements * is_stored[:, None]).reshape(-1), bitorder="little")
    body = (
        registers,
        f"{each_register} r[n] = ((const {register}*)in){own_registers};",
        f"store_{op.name}(r, ({unit}*)out, {ld}u);",
    )
    expected = _pad_to_words(stored)
    return CodeCase(key, text, body, _pad_to_words(packed.tobytes()), expected, op.threads)


def _generate_tiles() -> Iterator[CodeCase]:
    """Yield fill_a and a_descriptor: the image of shared memory, then the words of every slice."""
    for bits, major, m, order, (offset, by) in product(
        ELEMENT_BITS,
        ("K", "MN"),
        MODES,
        ("mn", "k"),
        zip((*PAST, PAST[1]), ("address", "address", "tile"), strict=True),
    ):
        if major == "MN" and bits != 16:
            continue
        (am, ak), step = m.get_atom_size(bits, major), 256 // bits
        tile = Tile(
            bits,
            major,
            m,
            2 * am if am > 8 else 24,
            max(3 * ak, 2 * step),
            order=order,
            base=WINDOW + offset,
            swizzle_by=by,
        )
        per = 8 if bits < 8 else 1
        unit, size = smem.UNITS[max(bits, 8)], max(bits // 8, 1)
        count = tile.mn * tile.k // per
        elements = np.random.default_rng(count).integers(0, 256, count * size, np.uint8).view(f"u{size}")
        image = np.zeros(tile.bytes // size, elements.dtype)
        by_place = elements.reshape(tile.mn, -1) if major == "K" else elements.reshape(-1, tile.mn).T
        image[tile.compute_offsets()[:, ::per] // size] = by_place
        slices = [(mn, k) for mn in range(0, tile.mn, am) for k in range(0, tile.k - step + 1, step)]
        words_expected = np.array([tile.descriptor(mn, k).word for mn, k in slices], np.uint64)
        words = tile.bytes // 4
        lines = [
            f"{unit}* const tile = ({unit}*)(shared + {offset});",
            f"fill_a(tile, (const {unit}*)in);",
            f"for (unsigned n = threadIdx.x; n < {words}; n += blockDim.x) out[n] = ((const unsigned*)tile)[n];",
            f"unsigned long long* const word = (unsigned long long*)(out + {words});",
        ]
        lines += [f"word[{n}] = a_descriptor(tile, {mn}, {k // per});" for n, (mn, k) in enumerate(slices)]
        expected = np.concatenate([_pad_to_words(image.tobytes()), words_expected.view(np.uint32)])
        code = smem.render_fill(tile) + smem.render_descriptor(tile)
        yield CodeCase(
            f"tile {major}-major",
            code,
            tuple(lines),
            words_in=_pad_to_words(elements.tobytes()),
            expected=expected,
            threads=96,
            shared=offset + tile.bytes,
        )


def _generate_descriptors(rng: np.random.Generator) -> Iterator[CodeCase]:
    """Yield make_desc of an address in shared memory: the word with that start."""
    ends = [1 << bit for bit in (16, 29, 32, 45, 46, 49, 51, 52, 61, 62, 63)]
    for word in [*ends, (1 << 64) - 1, *map(int, rng.integers(0, 1 << 64, 20, np.uint64))]:
        code = descriptor.render_code(Descriptor(word))["function"] + "\n"
        places = range(0, 2048, 272)
        expected = np.array([START.put(word, START.truncate(WINDOW + place)) for place in places], np.uint64).view(
            np.uint32
        )
        lines = tuple(f"((uint64_t*)out)[{n}] = make_desc(shared + {place});" for n, place in enumerate(places))
        yield CodeCase(
            "make_desc", code, lines, words_in=np.zeros(1, np.uint32), expected=expected, threads=1, shared=2048
        )


def _generate_reuses(rng: np.random.Generator) -> Iterator[CodeCase]:
    """Yield d_to_a for every pair of types, container and verdict whose conversion needs none of CUDA's headers; zeros
    and ones, exact in every type.
    """
    seen: set[tuple[Any, ...]] = set()
    products = [i for i in catalog.instructions() if {"a", "b", "d"} <= set(i.operands)]
    shapes = {(i.family.name, i.shape, i.types["a"], i.types["d"]): i for i in products}
    for first, second in product(shapes.values(), shapes.values()):
        if first.threads != second.threads:
            continue
        d, a = first.operands["d"], second.operands["a"]
        kind = (d.element.name, a.element.name, a.container_bits, d.pattern, a.pattern)
        if kind in seen or d.row_count != a.row_count or (first.family.by_descriptor and first.sizes["n"] > 64):
            continue
        seen.add(kind)
        try:
            conversion = match(first, second)
        except LayoutError:
            continue
        text = reuse.render_code(conversion)
        signature = (d.element.name, a.element.name, a.container_bits, conversion.verdict, min(conversion.steps, 2))
        if "#include" in text or conversion.steps > 8 or signature in seen:
            continue
        seen.add(signature)
        yield _build_reuse(text, conversion, rng)


def _build_reuse(text: str, conversion: AccumulatorReuse, rng: np.random.Generator) -> CodeCase:
    source, target = conversion.source, conversion.target
    values = rng.integers(0, 2, (*source.extents.values(), conversion.tiles))
    fragments = np.stack(
        [values[(*(source.coords[axis] for axis in source.axes), tile)] for tile in range(conversion.tiles)]
    )
    words_in = np.swapaxes(
        fragment_words.pack_values(source, fragment_words.encode_values(fragments, source.element.name)), 0, 1
    )
    order = np.array(
        conversion.order if conversion.verdict == "reordered" else range(conversion.steps * target.col_count)
    )
    columns = order[np.arange(conversion.steps)[:, None, None] * target.col_count + target.cols]
    tile, inner = np.divmod(columns, source.col_count)
    a_values = values[(target.rows, inner, *(target.coords[axis] for axis in target.axes[2:]), tile)]
    a_words = np.swapaxes(
        fragment_words.pack_values(target, fragment_words.encode_values(a_values, target.element.name)), 0, 1
    )
    entries = source.registers if source.element.bits < 32 else source.values
    kind = "unsigned" if source.element.bits < 32 else source.element.cpp
    result = "double" if target.register_bits == 64 else "unsigned"
    shape = (f"[{conversion.steps}]" if conversion.steps > 1 else "") + f"[{target.registers}]"
    lines = (
        f"{kind} d[{conversion.tiles}][{entries}]; {result} a{shape};",
        (
            f"for (int n = 0; n < {conversion.tiles * entries}; ++n) d[n / {entries}][n % {entries}] = ((const"
            f" {kind}*)in)[threadIdx.x * {conversion.tiles * entries} + n];"
        ),
        "d_to_a(a, d);",
        (
            f"for (int n = 0; n < {conversion.steps * target.registers}; ++n) (({result}*)out)[threadIdx.x *"
            f" {conversion.steps * target.registers} + n] = (({result}*)a)[n];"
        ),
    )
    expected = _pad_to_words(np.ascontiguousarray(a_words).tobytes())
    key = f"reuse {source.element.name} as {target.element.name}"
    return CodeCase(key, text, lines, _pad_to_words(np.ascontiguousarray(words_in).tobytes()), expected, source.threads)
