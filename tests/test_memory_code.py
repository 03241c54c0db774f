"""What is generated about shared memory, executed: descriptors, tile stores, K steps, TMA boxes; each against the
engine's addresses.
"""

from __future__ import annotations

import re
import sysconfig
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.ptx import catalog
from lanescope.ptx.pattern import Pattern
from lanescope.render import smem
from lanescope.render.descriptor import render_code
from lanescope.shared import slices, tma
from lanescope.shared.swizzle import MODES, get_mode
from lanescope.shared.tiling import ELEMENT_BITS, Tile
from tests import cpp

needs_compiler = pytest.mark.skipif(cpp.find_compiler() is None, reason=cpp.MISSING)
KINDS = [(bits, major, m) for bits, major, m in product(ELEMENT_BITS, ("K", "MN"), MODES) if major == "K" or bits == 16]
WORDS = "static void word(unsigned long long w) { fwrite(&w, 8, 1, stdout); }\n"

# descriptors ----------------------------------------------------------------------------------------------------------

STARTS = (
    0,
    0x400,
    0x12340,
    0x3FFF0,
    0x1_0000_0410,
    0x7F00_0004_0020,
)  # shared addresses; the last two have bits that no field takes


@lru_cache(maxsize=1)
def read_cutlass_union() -> str:
    """CUTLASS's own `union GmmaDescriptor`, from the header that comes with its wheel."""
    found = Path(sysconfig.get_paths()["purelib"]).glob("cutlass_library/source/include/cute/arch/mma_sm90_desc.hpp")
    text = next(iter(found), None)
    assert text is not None, "nvidia-cutlass is a test tool: make test installs it"
    match = re.search(r"^union GmmaDescriptor\n\{.*?^\};", text.read_text(), re.S | re.M)
    assert match
    return f"#define CUTE_HOST_DEVICE\nnamespace cute {{\n{match[0]}\n}}\n"


def list_words() -> list[Descriptor]:
    """Each field alone at its ends, all of them, and random words with bits of no field."""
    fields = ((0, 14), (16, 14), (32, 14), (49, 3), (62, 2))
    ends = [1 << low for low, _ in fields] + [(1 << low + bits - 1) for low, bits in fields] + [0, (1 << 64) - 1]
    return [Descriptor(int(w)) for w in [*ends, *np.random.default_rng(5).integers(0, 1 << 64, 40, np.uint64)]]


@needs_compiler
def test_all_three_spellings_of_a_descriptor_are_its_bits() -> None:
    parts, calls = [], []
    for n, descriptor in enumerate(list_words()):
        text = render_code(descriptor)
        parts.append(
            f"namespace n{n} {{\nuint64_t constant() {{ {text['constant']} return desc; }}\n{text['function']}\n"
            f"uint64_t cutlass() {{ {text['cutlass']}\nreturn desc; }}\n}}\n"
        )
        calls.append(f"  word(n{n}::constant()); word(n{n}::cutlass());")
        calls += [f"  word(n{n}::make_desc((const void*){start:#x}ull));" for start in STARTS]
    stub = "static size_t __cvta_generic_to_shared(const void* p) { return (size_t)p; }\n"
    source = "".join(
        [cpp.DEVICE, read_cutlass_union(), stub, WORDS, *parts, "int main() {\n" + "\n".join(calls) + "\n}\n"]
    )
    told = np.frombuffer(cpp.build_and_run(source), np.uint64).reshape(-1, 2 + len(STARTS))
    for descriptor, (constant, cutlass, *made) in zip(list_words(), told.tolist(), strict=True):
        assert constant == cutlass == descriptor.word, render_code(descriptor)
        for start, word in zip(STARTS, made, strict=True):
            assert word == descriptor.word & ~0x3FFF | (start & 0x3FFFF) >> 4, (hex(start), render_code(descriptor))


# tiles ----------------------------------------------------------------------------------------------------------------


def list_tiles() -> list[Tile]:
    """Every kind in both orders: on the pattern's boundary and off it, swizzled by address and by tile."""
    out = []
    for bits, major, m in KINDS:
        am, ak = m.get_atom_size(bits, major)
        for order, (base, by) in zip(
            ("mn", "k") * 2, ((0, "address"), (0x480, "address"), (0x480, "tile"), (0x2000, "tile")), strict=True
        ):
            step = 256 // bits
            out.append(
                Tile(
                    bits,
                    major,
                    m,
                    2 * am if am > 8 else 24,
                    max(3 * ak, 2 * step),
                    order=order,
                    base=base,
                    swizzle_by=by,
                )
            )
    return out


@needs_compiler
def test_tile_stores_and_descriptors_are_the_tiles() -> None:
    """fill_a puts every element where the tile has it, from global lines; a_descriptor is the word of every slice."""
    cases = list_tiles()
    parts, calls = [], []
    for n, tile in enumerate(cases):
        k_units = tile.k // 8 if tile.element_bits < 8 else tile.k
        unit = smem.UNITS[max(8, tile.element_bits)] if tile.element_bits != 32 else "unsigned"
        some = _list_slices(tile)
        parts.append(
            f"namespace n{n} {{\n{smem.render_fill(tile)}{smem.render_descriptor(tile)}\nvoid all() {{\n "
            f" alignas(16) static {unit}"
            f" shared[{tile.bytes} / sizeof({unit})];\n  static {unit} global[{tile.mn * k_units}];\n  for (unsigned i"
            f" = 0; i < {tile.mn * k_units}; ++i) global[i] = ({unit})(i * 2654435761u >>"
            f" {max(0, 32 - tile.element_bits) if tile.element_bits > 1 else 24});\n  for (unsigned t = 0; t < 96; ++t)"
            " { threadIdx.x = t; fill_a(shared, global); }\n  fwrite(shared, 1, sizeof shared, stdout);\n"
            + "".join(f"  word(a_descriptor((const void*){tile.base}ull, {mn}, {k}));\n" for mn, k in some)
            + "}\n}\n"
        )
        calls.append(f"  n{n}::all();\n")
    head = (
        "static Index blockDim{96};\nstatic void __syncthreads() {}\nstatic size_t __cvta_generic_to_shared(const void*"
        " p) { return (size_t)p; }\n"
    )
    text = "".join(parts).replace('asm volatile("fence.proxy.async.shared::cta;" ::: "memory");', "")
    assert "asm" not in text
    told = cpp.build_and_run("".join([cpp.DEVICE, head, WORDS, text, "int main() {\n", *calls, "}\n"]))
    for tile in cases:
        image, told = np.frombuffer(told[: tile.bytes], np.uint8), told[tile.bytes :]
        size, per = max(1, tile.element_bits // 8), 8 if tile.element_bits < 8 else 1
        offsets = tile.compute_offsets()[:, ::per]
        held = image.view(f"u{size}")[offsets // size]
        count = np.arange(offsets.size, dtype=np.uint64)
        global_ = ((count * 2654435761 & 0xFFFFFFFF) >> np.uint64(32 - 8 * size)).astype(f"u{size}")
        wanted = global_.reshape(offsets.shape) if tile.major == "K" else global_.reshape(offsets.shape[::-1]).T
        assert np.array_equal(held, wanted), smem.render_fill(tile)
        some = _list_slices(tile)
        made, told = np.frombuffer(told[: 8 * len(some)], np.uint64), told[8 * len(some) :]
        right = [tile.descriptor(mn, k * per).word for mn, k in some]
        assert made.tolist() == right, smem.render_descriptor(tile)
    assert not told


def _list_slices(tile: Tile) -> list[tuple[int, int]]:
    """(mn, k) of every slice that a descriptor may begin at; k in the code's units, bytes of b1."""
    per = 8 if tile.element_bits < 8 else 1
    return [
        (mn, k // per)
        for mn in range(0, tile.mn, tile.atom[0])
        for k in range(0, tile.k - tile.step() + 1, tile.step())
    ]


def test_k_steps_are_read_by_their_descriptors() -> None:
    """Every step of every kind of tile that is swizzled by address: its word reads exactly the elements of
    its slice.
    """
    for tile in list_tiles():
        if tile.swizzle_by == "tile" and tile.base % tile.mode.pattern_bytes:
            continue
        rows = 8 if tile.major == "K" else tile.atom[0]
        for step in slices.list_k_steps(tile):
            view = View(rows, tile.step(), tile.element_bits, tile.major)
            wanted = tile.base + tile.compute_offsets()[:rows, step.k : step.k + tile.step()]
            assert np.array_equal(reads(step.descriptor, view), wanted), (tile, step)


# TMA boxes ------------------------------------------------------------------------------------------------------------


def copy_boxes(tile: Tile, found: tma.BoxSeries) -> np.ndarray:
    """TMA as CUDA describes it: box after box, each row by row into shared memory, 16-byte chunks moved by the
    address's XOR.

    The tensor in global memory is row by row along the inner dimension, each element its own number; the image in
    shared memory comes back, -1 where nothing was written.
    """
    lines, along = (tile.mn, tile.k) if found.inner == "K" else (tile.k, tile.mn)
    size = max(1, tile.element_bits // 8)
    along = along // 8 if tile.element_bits < 8 else along
    tensor = np.arange(lines * along).reshape(lines, along)
    image = np.full(tile.bytes // size, -1)
    columns, rows = range(0, along, found.wide), range(0, lines, found.tall)
    inner_first = tile.order == ("k" if found.inner == "K" else "mn")
    order = (
        [(row, column) for row in rows for column in columns]
        if inner_first
        else [(row, column) for column in columns for row in rows]
    )
    width = found.wide * size
    assert width <= max(16, tile.mode.width_bytes) and not width % 16 and len(order) == found.count
    assert 1 <= found.wide <= 256 and 1 <= found.tall <= 256
    for number, (row, column) in enumerate(order):
        start = number * width * found.tall
        box = tensor[row : row + found.tall, column : column + found.wide]
        for line in range(found.tall):
            for chunk in range(width // 16):
                address = tile.base + start + line * width + 16 * chunk
                address ^= (address >> 7 & tile.mode.chunks - 1) << 4
                at = (address - tile.base) // size
                part = box[line, 16 * chunk // size : 16 * (chunk + 1) // size]
                assert (image[at : at + len(part)] == -1).all(), "two chunks in one place"
                image[at : at + len(part)] = part
    return image


def test_the_tma_boxes_write_the_tile() -> None:
    """Every kind, both orders, columns taller than a box may be, heights that 256 does not divide."""
    seen = set()
    for (bits, major, m), order in product(KINDS, ("mn", "k")):
        am, ak = m.get_atom_size(bits, major)
        for mn, k in (
            (3 * am, 2 * ak),
            (320 if am == 8 else 2 * am, ak if am == 8 else 264),
            (am, 3 * ak),
            (264 if am == 8 else am, 8 * max(1, ak // 8)),
        ):
            tile = Tile(bits, major, m, mn, max(ak, k // ak * ak), order=order, base=1024)
            found = tma.make_box_series(tile)
            per = 8 if bits < 8 else 1
            offsets = tile.compute_offsets()[:, ::per]
            numbers = np.arange(offsets.size).reshape(offsets.shape if major == "K" else offsets.shape[::-1])
            image = copy_boxes(tile, found)
            assert np.array_equal(image[offsets // max(1, bits // 8)], numbers if major == "K" else numbers.T), (
                tile,
                found,
            )
            assert not (image == -1).any()
            seen.add((found.tall == 8, found.tall > 8, bool(found.note)))
    assert len(seen) > 2
    assert tma.make_box_series(Tile(16, "K", get_mode("128B"), 320, 64)) == tma.BoxSeries("K", 64, 160, 2, "")
    assert tma.make_box_series(Tile(1, "K", get_mode("128B"), 64, 1024)).wide == 128


# Triton bases ---------------------------------------------------------------------------------------------------------


def test_triton_bases_add_up_to_every_map() -> None:
    """Every distinct map of the catalogue: XOR of the bases of the set bits of register, lane and warp gives each
    element's place.
    """
    seen: set[Pattern] = set()
    for i in catalog.instructions():
        for op in i.operands.values():
            bases = op.pattern.linear_layout()
            if op.pattern in seen or bases is None or op.threads < 32:  # the four lanes of a tcgen05.cp are not a warp
                continue
            seen.add(op.pattern)
            assert (len(bases["lane"]), 1 << len(bases["warp"]), 1 << len(bases["register"])) == (
                5,
                op.threads // 32,
                op.values,
            ), op.pattern
            thread, value = np.arange(op.threads)[:, None], np.arange(op.values)[None, :]
            index = {"register": value, "lane": thread % 32, "warp": thread // 32}
            for axis, places in enumerate(op.pattern.evaluate()):
                told = np.zeros((op.threads, op.values), np.int64)
                for name, rows in bases.items():
                    for bit, basis in enumerate(rows):
                        told ^= (index[name] >> bit & 1) * basis[axis]
                assert np.array_equal(told, places), (i.ptx, op.name, bases)
    assert len(seen) > 60
