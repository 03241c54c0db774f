"""tcgen05 against what CUTLASS's headers give where they are compiled for the host and evaluated: copies, metadata and
scale factors in tensor memory, their orders in memory, matrix and instruction descriptors, zero-column masks.

golden/cutlass_umma.txt.gz has what the program printed: CuTe layouts and words, no code of CUTLASS. A layout is
evaluated here, not by lanescope.cute.layout.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lanescope.blackwell import idesc, scale_atoms, scaling, tmem
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.tmem import TmemMma
from lanescope.blackwell.zeromask import ZeroMask
from lanescope.descriptor.matrix import Descriptor, View, find_unread_fields, reads
from lanescope.errors import LayoutError
from lanescope.ptx import compressed_metadata
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.ptx.table.kinds import ALONE, PAIR, WS
from lanescope.reader.cutlass_names.cutlass import find_atom_instructions
from lanescope.shared.tiling import Tile
from tests.cases import for_each

Longs = NDArray[np.int64]
LINES = gzip.decompress((Path(__file__).parent / "golden" / "cutlass_umma.txt.gz").read_bytes()).decode().splitlines()


def read_printed(*first: str) -> Iterator[tuple[list[str], list[str]]]:
    """(words of the case, what was printed) of every line about one thing."""
    for line in LINES:
        case, *printed = line.split("|")
        words = case.split()
        if words and words[0] in first:
            yield words, printed


def _flatten(given: Any) -> list[int]:
    return [n for part in given for n in _flatten(part)] if isinstance(given, tuple) else [given]


def parse_modes(text: str) -> list[Longs]:
    """The offsets of each mode of a printed layout, the first digit fastest."""
    shape, stride = (eval(part.replace("_", "")) for part in text.split(":"))
    out = []
    for sizes, steps in zip(shape, stride, strict=True):
        at = np.zeros(1, np.int64)
        for size, step in zip(_flatten(sizes), _flatten(steps), strict=True):
            at = (at[None, :] + np.arange(size)[:, None] * step).ravel()
        out.append(at)
    return out


def parse_matrix(text: str) -> Longs:
    """The offsets of a printed layout of two modes or more: [first][second]; the others have size 1."""
    first, second, *rest = parse_modes(text)
    assert all(len(one) == 1 for one in rest)
    return first[:, None] + second[None, :]


# tensor memory --------------------------------------------------------------------------------------------------------


def test_the_memory_has_the_size_and_addresses_of_the_allocator() -> None:
    ((words, _),) = read_printed("tmem")
    said = dict(zip(words[1::2], map(int, words[2::2]), strict=True))
    assert said["slice"] == tmem.LEAST_ALLOCATION and said["capacity"] == tmem.COLUMNS
    assert said["bits"] == tmem.LANES * tmem.COLUMNS * 32
    assert [said[f"dp{bits}"] * bits for bits in (8, 16, 32)] == [1 << 16 << 5] * 3  # a lane is 1 << 16 words


def test_every_copy_from_shared_memory() -> None:
    """12 atoms: which bit of which row of shared memory each bit of tensor memory takes."""
    compared = 0
    for (_, _, ptx), (where, source, target) in read_printed("cp"):
        place, rows = parse_modes(where.strip()), len(parse_modes(where.strip())[0])
        whole = np.zeros(1, np.int64)
        for one in place:
            whole = (whole[None, :] + one[:, None]).ravel()
        at = whole[_parse_flat_offsets(target)]
        taken = _parse_flat_offsets(source)
        deep = len(place[1])
        row, bit = taken % rows + taken // (rows * deep) * rows, taken // rows % deep
        found = tmem.parse_access(ptx)
        if ".4x256b" in ptx:
            row = row // 32  # CUTLASS numbers the rows by the lanes that they refresh
        held_row, held_word = found.pattern.evaluate()
        lane = (at >> 21) // (128 // len(held_row))
        assert np.array_equal(held_row[lane, (at & (1 << 21) - 1) // 32], row), ptx
        assert np.array_equal(32 * held_word[lane, (at & (1 << 21) - 1) // 32] + at % 32, bit), ptx
        assert found.ptx == ptx and len(set(at.tolist())) == at.size == held_row.size * 32
        compared += 1
    assert compared == 12


def _parse_flat_offsets(text: str) -> Longs:
    """Of (1 thread, its bits): the offset of every bit."""
    return parse_modes(text.strip())[1]


def test_the_loads_with_a_maximum() -> None:
    for (_, _, ptx), _ in read_printed("stat"):
        assert tmem.is_access(ptx) and ptx in {f"tcgen05.ld.red.sync.aligned.32x32b.x{x}.max.f32" for x in (32, 128)}
    assert len(list(read_printed("stat"))) == 2


def test_every_name_is_read_as_its_instruction() -> None:
    """162 atoms: loads, stores, copies and loads with a maximum."""
    named = {words[1]: words[2] for words, _ in read_printed("move", "cp", "stat")}
    assert len(named) == 148 + 12 + 2
    assert [name for name, ptx in named.items() if [i.ptx for i in find_atom_instructions(name)] != [ptx]] == []


UNIT = {"tf32": 2, "f16": 1, "f8f6f4": 1, "mxf4": 1 / 2}  # bits of metadata a unit of CUTLASS's addresses
CHUNK = {"tf32": 2, "mxf4": 8}  # elements of K that an index of 4 bits covers; 4 of the others


def test_metadata_in_tensor_memory() -> None:
    """13 maps: of every M that CUTLASS has."""
    compared = 0
    for (how, kind, m), (text,) in read_printed("e", "ews"):
        mma = TmemMma(idesc.get_kind(kind), WS if how == "ews" else ALONE, True, int(m), 64)
        per = int((1 << 21) / UNIT[kind])  # units of a lane
        first, second, *copies = parse_modes(f"{_take_first(text)}")
        at = first[:, None, None] + second[None, :: CHUNK.get(kind, 4), None]
        if kind == "f8f6f4" and len(copies) == 0 and len(second) > 64:  # copies stand in the mode of K
            at = first[:, None, None] + second.reshape(-1, 64)[:, ::4].T[None]
        elif copies:
            at = at + copies[0][None, None, :]
        lane, unit = tmem.make_tmem_layout(mma, "metadata").pattern.inverse()
        bit = (at % per * UNIT[kind]).astype(int)
        assert np.array_equal(lane, at // per) and np.array_equal(4 * unit, bit), (how, kind, m)
        compared += 1
    assert compared == 13


def _take_first(text: str) -> str:
    """The layout of one instruction out of (instruction, 1, 1)."""
    shape, stride = (eval(part.replace("_", "")) for part in text.split(":"))
    return f"{shape[0]}:{stride[0]}"


def test_scale_factors_in_tensor_memory() -> None:
    """30 maps: 1X, 2X and 4X, N = 64 to 256, one CTA and the layout of a pair with M = 128."""
    compared = 0
    for (_, side, rows, vec, count, path), (text,) in read_printed("sf"):
        name, vector = {("32", "1"): ("mxf8f6f4", "1X"), ("32", "2"): ("mxf4", "2X"), ("16", "4"): ("mxf4nvf4", "4X")}[
            vec, count
        ]
        n = int(rows) if side == "b" else 128
        mma = TmemMma(idesc.get_kind(name), PAIR if path == "2x2" else ALONE, False, 128, n, scale_vec=vector)
        first, second = parse_modes(_take_first(text))
        at = first.reshape(4, -1).T[:, None, :] + second.reshape(int(count), int(vec))[None, :, :1]  # [row][s][copies]
        if path == "2x2" and side == "b":  # two halves of N, each twice
            at = first.reshape(2, -1).T[:, None, :] + second.reshape(int(count), int(vec))[None, :, :1]
        lane, unit = tmem.make_tmem_layout(mma, f"scale_{side}").pattern.inverse()
        chosen = unit % 4 < int(count)  # the first id
        held = np.sort((lane * 4096 + unit)[chosen].reshape(*lane.shape[:2], -1), axis=2)
        assert np.array_equal(held, np.sort((at >> 18) * 4096 + at % (1 << 18), axis=2)), (side, rows, vector, path)
        compared += 1
    assert compared == 30


# global and shared memory ---------------------------------------------------------------------------------------------


def test_scale_factors_in_global_memory() -> None:
    """32 layouts: SFA, SFB and D's factors, K-major and MN-major, whole atoms and padded sizes."""
    compared = 0
    for (_, which, vec, *sizes), (text,) in read_printed("gmem"):
        m, n, k = map(int, sizes)
        at = parse_matrix(text)
        if which == "dm":  # factors run along M: the same atoms with the roles exchanged
            at = at.T
        lines, factors = at[:, :: int(vec)], at.shape[1] // int(vec)
        assert lines.shape[0] % 128 == 0 and factors % 4 == 0
        least = {"a": (m, k), "b": (n, k), "dk": (m, n), "dm": (n, m)}[which]
        assert lines.shape[0] - least[0] < 128 and at.shape[1] - least[1] < 4 * int(vec)
        meant = scale_atoms.compute_factor_offset(np.arange(lines.shape[0])[:, None], np.arange(factors)[None], factors)
        assert np.array_equal(lines, meant), (which, vec, sizes)
        compared += 1
    assert compared == 32


def test_scale_factors_in_shared_memory() -> None:
    """The tile's order of atoms for each TiledMMA of the list: rows and factors, step by step."""
    compared = 0
    for (_, side, name, vec, *sizes), (text,) in read_printed("smem"):
        m, n, k = map(int, sizes)
        vector = {"mxf8f6f4": "1X", "mxf4": "2X", "mxf4nvf4": "4X"}[name]
        mma = TmemMma(idesc.get_kind(name), PAIR if m == 256 else ALONE, False, m, n, scale_vec=vector)
        held = scaling.make_scale_operands(mma, k, (0, None), (0, None))["ab".index(side)]
        (rows, inside), one, steps = _parse_instruction(text)
        assert len(one) == 1
        at = rows[:, None, None] + inside[:: int(vec)][None, None, :] + steps[None, :, None]
        at = at.reshape(len(rows), -1)
        meant = [[held.shared_offset(row, factor) for factor in range(at.shape[1])] for row in range(at.shape[0])]
        assert at.shape == (held.padded, held.factors) and np.array_equal(at, meant), (side, name, sizes)
        compared += 1
    assert compared == 12


def _parse_instruction(text: str) -> tuple[list[Longs], Longs, Longs]:
    """((rows, K) of an instruction, how many along the rows, steps along K)."""
    _, one, steps = parse_modes(text)
    return parse_modes(_take_first(text)), one, steps


def test_metadata_in_global_memory() -> None:
    """Atoms and whole matrices of every type: 15 layouts."""
    compared = 0
    for (_, element, rows, k), (text,) in read_printed("order"):
        whole = compressed_metadata.make_metadata_order("tcgen05.mma.sp", element, int(rows), int(k))
        at = parse_matrix(text)[:, :: whole.group] // whole.group
        row, group = whole.coords
        assert np.array_equal(at[row.ravel(), group.ravel()], np.arange(row.size)), (element, rows, k)
        compared += 1
    for (_, element), (text,) in read_printed("atom"):
        assert compressed_metadata.get_atom_size("tcgen05.mma.sp", element) == parse_matrix(text).shape
    assert compared == 15


# words ----------------------------------------------------------------------------------------------------------------


def _encode_codes(kind: Any, codes: dict[str, int]) -> int:
    word = 0
    for name, code in codes.items():
        word = kind.get_field(name).field.put(word, code)
    return word


def _parse_fields(kind: Any, words: list[str], names: tuple[str, ...]) -> dict[str, int]:
    """Codes of the fields that a line of instruction descriptors gives: types by name, sizes and flags."""
    types, numbers = words[: len(words) - len(names)], list(map(int, words[len(words) - len(names) :]))
    roles = ("a", "b", "scale_type") if kind.scaled else ("a", "b", "d")
    given = dict(zip(names, numbers, strict=True))
    codes = {role: kind.get_field(role).codes[text] for role, text in zip(roles, types, strict=True)}
    codes |= {name: given[name] // kind.get_field(name).field.unit for name in ("m", "n")}
    return codes | {name: value for name, value in given.items() if name not in ("m", "n") and kind.has_field(name)}


PLAIN = ("m", "n", "transpose_a", "transpose_b", "negate_a", "negate_b", "saturate", "sparse", "max_shift")
SCALED = ("m", "n", "transpose_a", "transpose_b", "negate_a", "negate_b", "sparse")


@for_each(("what", "names", "count"), [("plain", PLAIN, 591), ("scaled", SCALED, 200)])
def test_every_instruction_descriptor(what: str, names: tuple[str, ...], count: int) -> None:
    """make_instr_desc and its runtime forms, which put in the metadata's selector or the 16 pairs of factor ids."""
    compared = 0
    for (_, name, *words), (word, again) in read_printed(what):
        kind = idesc.get_kind(name)
        codes = _parse_fields(kind, words, names)
        made = int(word, 16)
        assert _encode_codes(kind, codes) == made, (name, words)
        read = IdescWord(made, kind)
        assert {field: read.get_code(field) for field in codes} == codes and not read.reserved
        runtime = [int(one, 16) for one in again.split()]
        if what == "plain":
            assert runtime == [_encode_codes(kind, codes | {"sparsity_selector": codes["sparse"]})]
        else:
            assert runtime == [
                _encode_codes(kind, codes | {"sfa_id": ids & 3, "sfb_id": ids >> 2}) for ids in range(16)
            ]
        compared += 1
    assert compared == count


def test_every_matrix_descriptor() -> None:
    """make_umma_desc of tiles in every major, mode and order, and every step of K. The words are the same but for LBO
    where nothing reads it; the 32-bit MN-major tiles that Table 54 of PTX forbids are refused.
    """
    same, unread, refused = 0, 0, 0
    for (_, bits, major, mode, mn, k, order), (word, _, starts) in read_printed("umma"):
        width, step = int(bits), 256 // int(bits)
        if not TCGEN05.allows_elements(width, major, TCGEN05.get_mode_by_name(mode)):
            with pytest.raises(LayoutError, match="is not read with swizzle"):
                Tile(width, major, TCGEN05.get_mode_by_name(mode), int(mn), int(k), order=order, base=0, form=TCGEN05)
            refused += 1
            continue
        tile = Tile(width, major, TCGEN05.get_mode_by_name(mode), int(mn), int(k), order=order, base=0, form=TCGEN05)
        seen = View(min(int(mn), 128), step, width, major, TCGEN05)
        for n, start in enumerate(map(int, starts.split())):
            ours, theirs = tile.descriptor(0, n * step, step), Descriptor(int(word, 16) + start, TCGEN05)
            assert np.array_equal(reads(ours, seen), reads(theirs, seen)), (bits, major, mode, mn, k, order)
            differs = {name for name, amount in ours.facts.items() if theirs.facts[name] != amount}
            assert differs <= {name + "_bytes" for name in find_unread_fields(ours.mode, seen)}, (
                bits,
                major,
                mode,
                differs,
            )
            same, unread = same + (not differs), unread + bool(differs)
    assert (same, unread, refused) == (680, 48, 16)


def test_masks_of_a_convolution() -> None:
    """make_column_zero_mask of a filter of 3: a column is zero where its pixel lies in the padding."""
    compared = 0
    for (_, m, n, wide, coord, left), (words,) in read_printed("mask"):
        column = int(coord) * int(n) + np.arange(int(n))
        for tap, word in enumerate(words.split()):
            pixel = column % int(wide) + tap - int(left)
            zero = (pixel < 0) | (pixel >= int(wide))
            assert np.array_equal(np.array(ZeroMask(int(word, 16)).expand_bits(int(m), int(n)), bool), zero), (
                m,
                n,
                wide,
                coord,
                left,
                tap,
            )
            compared += 1
    assert compared > 0
