"""Everything that the engine says of tcgen05 against PTX's tables and figures as another hand wrote them down
(tests/oracle/tensor.py): every text, every register of every load, store and copy, every element of every layout that
Table 39 allows, every bit of the descriptors. Each check counts what it compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lanescope import bind, find
from lanescope.blackwell import idesc, tmem, zeromask
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.tmem import TmemMma
from lanescope.descriptor.matrix import View, compute_many_addresses
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.role import OperandPlace
from lanescope.ptx.table import tmem as rows
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.ptx.table.kinds import KINDS
from tests.cases import for_each
from tests.oracle import tensor as ptx
from tests.oracle.tcgen05 import FIELDS, shapes
from tests.sample import choose_count

TEXTS = [i for i in catalog.instructions() if i.family.tensor]
PRODUCTS = [i for i in TEXTS if i.family.issue]


# texts ----------------------------------------------------------------------------------------------------------------


def test_the_catalogue_has_the_texts_of_the_syntax_and_no_other() -> None:
    written = {*ptx.move_texts(), *ptx.copy_texts(), *(text for text, _, _ in ptx.product_texts())}
    known = {i.ptx for i in TEXTS}
    assert sorted(known - written) == [] and sorted(written - known) == []


def test_a_comes_from_where_the_syntax_has_it() -> None:
    places = {i.ptx: set(i.family.reads["a"]) for i in PRODUCTS}
    said = {
        text: {place for place, has in ((OperandPlace.DESCRIPTOR, desc), (OperandPlace.TENSOR, inside)) if has}
        for text, desc, inside in ptx.product_texts()
    }
    assert places == said and sum(map(len, said.values())) == 3104


def test_targets_are_those_of_the_notes() -> None:
    here = {"sm_100a", "sm_103a", "sm_110a"}
    wrong = [i.ptx for i in TEXTS if set(catalog.get_target_support(i).targets) & here != ptx.targets(i.ptx)]
    assert wrong == []


# moves ----------------------------------------------------------------------------------------------------------------


def _list_accesses() -> Iterator[tuple[str, tmem.TensorAccess]]:
    """Every load and store; of .16x32bx2 also with its halves apart."""
    for text in ptx.move_texts():
        if ".ld.red." not in text:
            yield text, tmem.parse_access(text)
            if ".16x32bx2." in text:
                yield text, tmem.parse_access(text, split=300)


def _is_moved_right(text: str, found: tmem.TensorAccess) -> bool:
    _, verb, _, _, shape, num, *_ = text.split(".")
    count, packed = int(num[1:]) * ptx.REGISTERS[shape], ".pack::" in text or ".unpack::" in text
    thread, value = np.arange(32)[:, None], np.arange(count * (2 if packed else 1))[None]
    split = found.split or found.columns // 2
    lane, column = (
        ptx.moved_packed(shape, thread, value // 2, value % 2, split)
        if packed
        else ptx.moved(shape, thread, value, split)
    )
    held = found.pattern.evaluate()
    told = held[0], tmem.place_columns(found, held[1])
    return (
        (verb, found.registers) == (found.verb, count)
        and held[0].shape == (32, value.size)
        and all(np.array_equal(a, np.broadcast_to(b, a.shape)) for a, b in zip(told, (lane, column), strict=True))
    )


def test_every_register_of_every_load_and_store() -> None:
    found = list(_list_accesses())
    assert [text for text, one in found if not _is_moved_right(text, one)] == []
    assert len({text for text, _ in found}) == 148


def test_a_family_has_the_map_of_its_access() -> None:
    """The catalogue's operand and the access of the TMEM page are one."""
    for text in ptx.move_texts():
        if ".ld.red." not in text:
            assert find(text).operand("data").pattern == tmem.parse_access(text).pattern


def test_every_word_of_every_copy() -> None:
    compared = 0
    for shape, casts in ptx.COPIES.items():
        for cast in casts:
            found = tmem.parse_access(f"tcgen05.cp.cta_group::1.{shape}{cast and '.' + cast}")
            row, word = found.pattern.evaluate()
            lane = np.arange(128) if len(row) == 128 else np.arange(4) * 32
            assert np.array_equal(row, np.broadcast_to(ptx.copied(shape, cast, lane)[:, None], row.shape)), shape
            assert np.array_equal(word, np.broadcast_to(np.arange(ptx.COPY_COLUMNS[shape]), word.shape)), shape
            compared += 1
    assert compared == len(rows.COPIES) == 6


def test_what_an_operation_touches() -> None:
    """Lanes and columns of loads, stores, copies and the shift, counted from an address."""
    for text in (*(text for text in ptx.move_texts() if text.split(".")[5] in ("x1", "x8")), *ptx.copy_texts()):
        if ".ld.red." in text:
            continue
        found = tmem.parse_access(text)
        meant = np.zeros((ptx.LANES, ptx.COLUMNS), bool)
        shape = text.split(".")[4 if found.by_warp else 3]
        if found.by_warp:
            half = np.arange(2)[:, None, None] if found.packed else 0
            each = np.arange(found.registers)[:, None], np.arange(32)
            split = found.columns // 2
            lane, column = (
                ptx.moved_packed(shape, each[1], each[0], half, split)
                if found.packed
                else ptx.moved(shape, each[1], each[0], split)
            )
            meant[np.broadcast_arrays(lane, column + 4)[0], np.broadcast_arrays(lane, column + 4)[1]] = True
        else:
            meant[:: 32 if shape == "4x256b" else 1, 4 : 4 + ptx.COPY_COLUMNS.get(shape, 8)] = True
        assert np.array_equal(tmem.mask_touched(found, 0, 4), meant), text


# data paths -----------------------------------------------------------------------------------------------------------


def _list_mmas() -> Iterator[TmemMma]:
    """Every kind, form, density, M and N of Table 39."""
    for kind in ptx.KINDS:
        for form in ptx.FORMS:
            for sparse in (False, True):
                ms, ns = shapes(kind, form, sparse)
                yield from (TmemMma(idesc.get_kind(kind), form, sparse, m, n) for m in sorted(ms) for n in sorted(ns))


def _is_d_right(mma: TmemMma) -> bool:
    letter, organization, aligned = ptx.layout(mma.m, mma.form, mma.sparse)
    held = tmem.make_tmem_layout(mma, "d")
    if held.pattern.extents[:2] != (mma.m // mma.ctas, mma.n) or (len(held.axes) == 3) != (organization == "half"):
        return False
    if (held.letter, mma.place.aligned, held.bits) != (letter, aligned, 32):
        return False
    place = held.pattern.inverse()  # [row, col(, half)(, copies)]
    lane, column = (at[..., 0] for at in place)
    row, col = np.arange(mma.m // mma.ctas)[:, None], np.arange(mma.n)[None]
    first = ptx.of_d(organization, mma.n, row, col)
    if organization == "half":
        upper = lane[..., 1], column[..., 1]
        lane, column = lane[..., 0], column[..., 0]
        if not (np.array_equal(upper[0], lane + 16) and np.array_equal(upper[1], column)):
            return False
    meant = [np.broadcast_to(one, (mma.m // mma.ctas, mma.n)) for one in first]
    return np.array_equal(lane, meant[0]) and np.array_equal(column, meant[1])


def test_every_element_of_d() -> None:
    """The patterns depend on form, density, M and N alone: each is evaluated once, and every kind has it."""
    seen: dict[Any, str] = {}
    wrong, compared = [], 0
    for mma in _list_mmas():
        key = (mma.form, mma.sparse, mma.m, mma.n)
        compared += 1
        if key not in seen:
            seen[key] = str(tmem.make_tmem_layout(mma, "d").pattern)
            wrong += [] if _is_d_right(mma) else [key]
        assert seen[key] == str(tmem.make_tmem_layout(mma, "d").pattern)
    assert wrong == [] and (compared, len(seen)) == (1076, 207)


def test_every_element_of_a() -> None:
    compared = 0
    for mma in _list_mmas():
        if mma.n != 64:
            continue
        _, organization, _ = ptx.layout(mma.m, mma.form, mma.sparse)
        held = tmem.make_tmem_layout(mma, "a")
        stored = mma.k // 2 if mma.sparse else mma.k
        row, k = np.arange(mma.m // mma.ctas)[:, None], np.arange(stored)[None]
        meant = ptx.of_a(organization, held.bits, row, k)
        lane, unit = held.pattern.inverse()
        if organization == "half":
            lane, unit = lane[..., 0, :], unit[..., 0, :]
        assert lane.shape[-1] == len(meant) and held.columns == 8
        for copy, (at, column, low) in enumerate(sorted(meant, key=lambda one: int(one[0].flat[0]))):
            assert np.array_equal(lane[..., copy], np.broadcast_to(at, (len(row), stored)))
            assert np.array_equal(unit[..., copy] * held.bits, np.broadcast_to(column * 32 + low, (len(row), stored)))
        compared += 1
    assert compared == 71


def test_every_scale_factor_and_its_id() -> None:
    """The bytes of every row, factor and id: all of them, each once, and nothing beside them in the rows of the MMA."""
    seen, compared = set(), 0
    for mma in _list_mmas():
        for vector in mma.kind.scaled:
            if mma.form == "cta_group::2" and mma.m == 128:
                continue  # layout B's factors of B are in no sentence of PTX: CUTLASS's maps judge them
            of = replace(mma, k=0, bits=0, scale_vec=vector)
            assert of.kind.scaled[vector] == ptx.IDS[vector]
            for operand, count in (("scale_a", mma.m // mma.ctas), ("scale_b", mma.n)):
                held = tmem.make_tmem_layout(of, operand).pattern
                compared += len(ptx.IDS[vector])
                if (str(held), count) in seen:
                    continue
                seen.add((str(held), count))
                lane, unit = held.inverse()  # [row, factor, copies and ids]
                row, factor = np.arange(count)[:, None, None], np.arange(ptx.FACTORS[vector])[None, :, None]
                places = [ptx.of_scale(row, factor, sf_id) for sf_id in ptx.IDS[vector]]
                meant = [128 * (4 * column + byte) + at for lanes, column, byte in places for at in lanes]
                whole = np.sort(np.concatenate(np.broadcast_arrays(*meant), axis=2), axis=2)
                assert np.array_equal(np.sort(128 * unit[:count] + lane[:count], axis=2), whole), (vector, operand)
    assert compared == 1728 and len(seen) > 40


def test_every_index_of_metadata() -> None:
    compared = 0
    for mma in _list_mmas():
        if not mma.sparse or mma.n != 64 or mma.m // mma.ctas != 128:
            continue
        kept, of = ptx.CHUNK[mma.kind.name]
        held = tmem.make_tmem_layout(mma, "metadata")
        lane, unit = (at[..., 0] for at in held.pattern.inverse())
        row, chunk = np.arange(128)[:, None], np.arange(mma.k // of)[None]
        meant = ptx.of_metadata(mma.kind.name, row, chunk)
        assert held.bits == 4 and lane.shape == (128, mma.k // of) and mma.k // of * kept == mma.k // 2
        assert np.array_equal(lane, np.broadcast_to(meant[0], lane.shape))
        assert np.array_equal(unit, np.broadcast_to(meant[1], unit.shape))
        compared += 1
    assert compared == 18


# words ----------------------------------------------------------------------------------------------------------------


def _make_words(kind: str, count: int, rng: np.random.Generator) -> Iterator[int]:
    """Words of a kind: every field a code of the table, then one field in two words any code."""
    for _ in range(count):
        word = 0
        for low, _, name, codes in FIELDS[kind]:
            known = list(codes) if not isinstance(codes, int) else None
            if name == "m":
                known = [4, 8, 16] if codes == 4 else [1, 2]
            usual = known is not None and name not in ("sparsity_selector", "max_shift")
            code = int(rng.choice(known)) if known else int(rng.integers(1, 33))
            word |= (code if usual or name == "n" or rng.random() < 0.3 else 0) << low
        if rng.random() < 0.5:
            low, high, _, _ = FIELDS[kind][rng.integers(len(FIELDS[kind]))]
            word = word & ~((1 << high - low + 1) - 1 << low) | int(rng.integers(1 << high - low + 1)) << low
        yield word & 0xFFFFFFFF


@for_each("row", KINDS, ids=lambda row: row.name)
def test_every_form_takes_the_words_that_the_tables_allow(row: Any) -> None:
    """Random words of the kind, near legal ones, in every form."""
    rng, taken, count = np.random.default_rng(16), 0, choose_count(600, 150)
    for word in _make_words(row.name, count, rng):
        one = IdescWord(word, row)
        known = idesc.find_legal_forms(one)
        for form in ptx.FORMS:
            assert (form in known) == ptx.legal(row.name, form, word), (hex(word), form, idesc.find_problems(one))
        taken += bool(known)
    assert count / 10 < taken < count * 0.9


def _is_accepted(text: Any, word: int) -> bool:
    try:
        bind(text, hex(word))
    except LayoutError:
        return False
    return True


def test_a_text_takes_the_ids_of_its_vector() -> None:
    """10.7.2: 1X any byte, 2X the even ones, 4X the first alone; Table 57: ue4m3 factors in fours alone."""
    compared = 0
    for text in PRODUCTS:
        issue = text.family.issue
        if not (issue and issue.factors) or issue.sparse or ".collector" in text.ptx:
            continue
        kind = idesc.get_kind(issue.kind)
        for scale, code in kind.get_field("scale_type").codes.items():
            for name, sf_id in ((name, sf_id) for name in ("sfa_id", "sfb_id") for sf_id in range(4)):
                word = kind.get_field(name).field.put(bind(text).word.word, sf_id)
                word = kind.get_field("scale_type").field.put(word, code)
                meant = sf_id in ptx.IDS[issue.factors] and (scale == "ue8m0" or issue.factors == "4X")
                assert _is_accepted(text, word) == meant, (text.ptx, name, sf_id, scale)
                compared += 1
    assert compared == 2 * 8 * (3 + 3 + 2 * 4)


def test_masks_of_random_words() -> None:
    rng = np.random.default_rng(5)
    for n, given in enumerate(rng.integers(1 << 62, size=300).tolist()):
        word = (given | 1 << 39) & ~(0b111 << 36)
        if n % 3:  # spans that alternate within the mask
            word = word & ~(0xFFFF << 40) | given % 16 << 40 | given // 16 % 16 << 48
        m, wide = (32, 64, 128)[n % 3], (64, 128, 256)[n // 3 % 3]
        assert zeromask.ZeroMask(word).expand_bits(m, wide) == ptx.zeroed(word, m, wide).astype(int).tolist(), hex(word)
        assert not any(zeromask.ZeroMask(word & ~(1 << 39)).expand_bits(m, wide))


# the matrix descriptor ------------------------------------------------------------------------------------------------


def test_the_fields_of_the_descriptor() -> None:
    assert {f.name: (f.low, f.high) for f in TCGEN05.fields} == ptx.DESCRIPTOR
    assert {code: mode.name for mode, code in TCGEN05.codes.items()} == ptx.SWIZZLES
    assert TCGEN05.constants == {"version": 1} and all(f.unit == 16 for f in TCGEN05.fields[:3])
    for mode in TCGEN05.modes:
        assert mode.name not in ptx.BOUNDARY or mode.pattern_bytes == ptx.BOUNDARY[mode.name]
        for major, size in zip(("MN", "K"), ptx.ATOMS[mode.name], strict=True):
            for bits in (4, 8, 16, 32):
                assert TCGEN05.allows_elements(bits, major, mode) == (major in ptx.majors(bits, mode.name))
                if size:
                    t = 128 // bits
                    scaled = (size[0] * t, size[1]) if major == "MN" else (size[0], size[1] * t)
                    assert mode.get_atom_size(bits, major) == scaled


def _compute_canonical(major: str, swizzle: str, bits: int, *, lbo: int, sbo: int, mn: int, k: int) -> Any:
    """Byte of every element of a canonical layout (element strides, LBO and SBO in bytes), swizzled."""
    t = 128 // bits
    inner, strides = ptx.canonical(major, swizzle, t, lbo * 8 // bits, sbo * 8 // bits)
    r, c = np.arange(mn)[:, None], np.arange(k)[None]

    def along(at: Any, sizes: Any, steps: Any) -> Any:
        sizes = sizes if isinstance(sizes, tuple) else (sizes,)
        steps = steps if isinstance(steps, tuple) else (steps,)
        out = 0
        for size, step in zip(sizes, steps, strict=False):
            out, at = out + at % size * step, at // size
        return out + at * steps[-1]

    at = (along(r, inner[0], strides[0]) + along(c, inner[1], strides[1])) * bits // 8
    some, base, shift = ptx.XOR[swizzle]
    return at ^ (at >> shift & ((1 << some) - 1) << base)


def test_the_canonical_layouts_are_what_a_descriptor_reads() -> None:
    compared = 0
    for code, swizzle in ptx.SWIZZLES.items():
        if swizzle not in ptx.XOR:
            continue
        for bits in (4, 8, 16, 32):
            for major in ptx.majors(bits, swizzle):
                for lbo, sbo in ((2048, 1024), (4096, 8192), (128, 256)):
                    seen = View(128, 256 // bits, bits, major, TCGEN05)
                    word = code << 61 | 1 << 46 | sbo >> 4 << 32 | lbo >> 4 << 16
                    read = compute_many_addresses(np.array([word], np.uint64), seen, TCGEN05)[0]
                    assert np.array_equal(
                        read, _compute_canonical(major, swizzle, bits, lbo=lbo, sbo=sbo, mn=128, k=seen.k)
                    ), (
                        swizzle,
                        bits,
                    )
                    compared += 1
    assert compared == 4 * 3 * (4 + 2)
