"""The stepper of a wgmma: what it shows of descriptors, core matrices and D is what PTX and the engine say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from lanescope.app.kit.question import read_question
from lanescope.app.steps.wgmma_stepper import (
    WgmmaOperand,
    WgmmaStepper,
    WgmmaStepperQuestion,
    build_wgmma_stepper,
    can_step_wgmma,
)
from lanescope.app.steps.wgmma_view import fill_storage
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from tests.cases import for_each
from tests.oracle import ptx as oracle
from tests.sample import take_sample

F16 = "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16"
WIDE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"
SPARSE = "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16"
BITS = "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc"
SHOWN = [i for i in catalog.instructions() if can_step_wgmma(i)]
STORED = ["swizzle=none", "swizzle=32B", "swizzle=64B", "swizzle=128B"]
TURNED = [f"{swizzle},major=MN" for swizzle in STORED]
WRONG_MODE = 0x8000004000010000  # SBO 1024 and LBO 16 as for 128B, but the code of 64B


def step(ptx: str = F16, **asked: Any) -> WgmmaStepper:
    return build_wgmma_stepper(read_question(WgmmaStepperQuestion, {"instruction": ptx, **asked}))


def list_captions(found: WgmmaStepper, kind: str, operand: str = "") -> list[str]:
    return [one.caption for one in found.steps if one.kind == kind and one.operand == operand]


def list_operands(found: WgmmaStepper) -> list[WgmmaOperand]:
    return [one for one in (found.a, found.b) if isinstance(one, WgmmaOperand)]


@for_each("i", [catalog.find(BITS), *take_sample(SHOWN, 5)], ids=lambda i: i.ptx)
@for_each("stored", STORED)
def test_right_words_bring_every_element_and_d_is_the_product(i: Instruction, stored: str) -> None:
    found = step(i.ptx, a=stored, b=stored)
    assert found.wrong == {"a": 0, "b": 0} and found.agrees and found.k_steps >= 2
    for one in list_operands(found):
        assert np.array_equal(one.arrived, one.numbers) and not any(word.cause for word in one.words)
    a = np.zeros((64, found.b.k))
    np.put_along_axis(a, np.asarray(found.a.meets), np.asarray(found.a.numbers, float), axis=1)
    a, b = unpack(found, a), unpack(found, np.asarray(found.b.numbers, float)).T
    for (_, end), total in zip(found.k_groups, found.d.sums[1:], strict=True):
        assert np.array_equal(total - found.d.sums[0], a[:, : end * found.per_cell] @ b[: end * found.per_cell])


def unpack(found: WgmmaStepper, matrix: Any) -> Any:
    """The elements [mn, k] of cells: PTX packs elements of 1 bit from the lowest bit of a byte up."""
    if found.per_cell == 1:
        return matrix
    assert found.per_cell == 8
    bits = np.unpackbits(np.asarray(matrix, np.uint8), axis=1, bitorder="little")
    return bits.astype(float)


@for_each("stored", STORED)
def test_a_byte_of_1_bit_elements_is_read_where_the_descriptor_reads_its_elements(stored: str) -> None:
    found, i = step(BITS, a=stored, b=stored), catalog.find(BITS)
    for name, one in (("a", found.a), ("b", found.b)):
        assert isinstance(one, WgmmaOperand) and one.k_step == 256 // 8
        for step_of_k, word in enumerate(one.words):
            read = desc.reads(Descriptor(int(word.descriptor, 16)), desc.view(i, name, "K"))
            bytes_read = read.reshape(len(read), -1, 8)
            assert (bytes_read == bytes_read[:, :, :1]).all()  # its eight elements lie in one byte
            cells = bytes_read[:, :, 0].ravel()[np.asarray(one.cores)]
            assert np.array_equal(cells, np.asarray(word.lines)[:, :, None] + np.arange(16))
            first = step_of_k * one.k_step
            assert np.array_equal(np.asarray(one.at)[:, first : first + one.k_step], bytes_read[:, :, 0])


def test_sentences_count_elements_of_1_bit_not_bytes() -> None:
    found = step(BITS)
    assert "the 16 bytes of A[3][0…127], for warp 0" in list_captions(found, "line", "a")[3]
    assert list_captions(found, "k")[1].startswith("k = 16–31: columns 16–31 of A and rows 16–31 of B are ANDed")
    assert found.steps[-1].kind == "done" and "first in the lowest bit" in found.steps[0].caption
    wrong = step(BITS, b="descriptor=0x8000004000010000")  # 64B over a tile of 128B: line 1 reads k 512–639 of column 0
    assert wrong.wrong["b"] % 8 == 0 and "64B" in wrong.b.words[0].cause
    said = list_captions(wrong, "line", "b")[1]
    assert "B[0…7][1] should arrive, B[512…519][0] arrives" in said and "All of them are wrong" in said


@for_each("stored", [*STORED, *TURNED])
def test_a_line_is_16_bytes_that_the_descriptor_reads(stored: str) -> None:
    """Every byte of every K step belongs to exactly one line, and the engine's map of the word says the same bytes."""
    found = step(a=stored, b=stored)
    i = catalog.find(F16)
    for name, one, first, rows in (("a", found.a, 0, 64), ("b", found.b, found.d.first, found.d.columns)):
        cores = np.asarray(one.cores)
        assert sorted(cores.ravel()) == list(range(rows * one.k_step)) and cores.shape[1:] == (8, 8)
        for word in one.words:
            seen = desc.view(i, name, one.major)
            expected = desc.reads(Descriptor(int(word.descriptor, 16)), seen)[first : first + rows].ravel()[cores]
            assert np.array_equal(expected, np.asarray(word.lines)[:, :, None] + 2 * np.arange(8))


@for_each("stored", [*STORED, *TURNED])
def test_a_stride_leads_from_one_core_matrix_to_another(stored: str) -> None:
    """Taken from PTX's canonical layouts: before the XOR the addresses that a stride leads to differ by its bytes."""
    found = step(WIDE, a=stored, b=stored)
    for name, one in (("a", found.a), ("b", found.b)):
        swizzled = one.swizzle != "none"
        word = Descriptor(int(one.words[0].descriptor, 16))
        for field, amount in (("LBO", word.lbo_bytes), ("SBO", word.sbo_bytes)):
            (told,) = [s for s in found.steps if s.kind == "field" and s.operand == name and s.at == field]
            assert f"{amount} bytes" in told.caption
            if field.lower() in one.words[0].unread:
                assert not told.marks and "not read" in told.caption
                continue
            first, second = (int(word.mode.unswizzle(at)) for at in told.marks)
            assert second - first == amount
            read = desc.reads(word, desc.view(catalog.find(WIDE), name, one.major))
            places = [np.argwhere(read == at)[0].tolist() for at in told.marks]
            along_k = places[0][0] == places[1][0]
            assert along_k == ((field == "LBO") != (one.major == "MN" and swizzled))
            assert ("along K" in told.caption or "values of k" in told.caption) == along_k


def test_the_address_of_a_line_comes_about_as_the_sentence_says() -> None:
    """By hand, 128B: row 11 lies in the second group of 8 rows (SBO), 3 lines of 128 bytes on; 3 is XORed in."""
    found = step()
    said = list_captions(found, "line", "a")
    assert (
        "start `0x000` + 384 = `0x180`, and the XOR with 3 makes `0x1B0`. These are the 16 bytes of A[3][0…7]"
        in said[3]
    )
    assert found.a.at[11][0] == 1024 + 3 * 128 + 3 * 16
    core = list_captions(found, "core", "a")
    assert core[0].startswith("The core matrix of rows 8–15 and k 0–7 begins at start `0x000` + 1 × SBO = `0x400`")
    turned = step(b="swizzle=none,major=MN")
    assert "start `0x2000` + 1 × LBO + 1 × SBO" in list_captions(turned, "core", "b")[2]


def test_each_warp_reads_the_rows_that_it_holds_of_d() -> None:
    found = step()
    warps = {}
    for move in found.a.moves:
        if move.k_step == 0:
            rows = np.asarray(found.a.cores)[move.cores] // found.a.k_step
            warps.setdefault(move.warp, set()).update(rows.ravel().tolist())
    held = {
        w: set((np.asarray(found.d.holds)[32 * w : 32 * w + 32] // found.d.columns).ravel().tolist()) for w in range(4)
    }
    assert warps == held == {w: set(range(16 * w, 16 * w + 16)) for w in range(4)}
    assert {move.warp for move in found.b.moves} == {-1}


@for_each("swizzle", ["32B", "64B", "128B"])
def test_the_sentence_of_the_xor_is_what_moves_the_bytes(swizzle: str) -> None:
    found = step(a=f"swizzle={swizzle}", b=f"swizzle={swizzle}")
    [said] = list_captions(found, "xor")
    bits = re.search(r"XORs address bits? (\d+)(?:–(\d+))? into (\d+)(?:–(\d+))?,", said)
    assert bits
    source, last, target, end = (int(number or -1) for number in bits.groups())
    count = max(1, last - source + 1)
    assert 1 << count == int(swizzle[:-1]) // 16 == 1 << max(1, end - target + 1)
    for one in list_operands(found):
        before = np.asarray(one.before)
        assert np.array_equal(one.at, before ^ (before >> source & (1 << count) - 1) << target)


def test_the_sentence_of_d_names_the_registers_of_its_elements() -> None:
    """In f32 a register holds one value."""
    for found in (step(), step(WIDE, n=112)):
        for warp, said in enumerate(list_captions(found, "out", "d")):
            registers = re.search(r"in R(\d+)–(\d+)", said)
            named = re.findall(r"D\[(\d+)\]\[(\d+)\]", said)
            assert registers and f"thread {32 * warp} holds" in said
            values = range(int(registers[1]), int(registers[2]) + 1)
            assert [tuple(map(int, one)) for one in named] == [oracle.wgmma_d(32 * warp, v)[:2] for v in values]


@for_each(("ptx", "first"), [(F16, 0), (WIDE, 112), (SPARSE, 0)])
def test_d_lies_in_the_registers_of_ptx_figure(ptx: str, first: int) -> None:
    found = step(ptx, n=first)
    for thread, held in enumerate(found.d.holds):
        for n, element in enumerate(held):
            row, col = divmod(int(element), found.d.columns)
            assert oracle.wgmma_d(thread, found.d.first_value + n)[:2] == (row, col + first)


def test_the_next_k_step_begins_where_its_bytes_lie() -> None:
    """Inside an atom of 128B 32 bytes on; N-major two groups of 8 values of k on, 2 · SBO."""
    found = step(b="swizzle=64B,major=MN")
    starts = {o: [Descriptor(int(w.descriptor, 16)).start_address for w in getattr(found, o).words] for o in "ab"}
    sbo = Descriptor(int(found.b.words[0].descriptor, 16)).sbo_bytes
    assert starts["a"] == [0, 32, 64, 96] and np.diff(starts["b"]).tolist() == [2 * sbo] * 3
    assert "A’s start address advances 32 bytes to `0x020` (+2 in the field)" in list_captions(found, "advance")[0]


def test_a_wrong_word_brings_the_element_that_lies_where_it_reads() -> None:
    """By hand: 64B lines lie 64 bytes apart, so line 1 is the middle of line 0, which holds k 32–39 of column 0."""
    found = step(b=f"descriptor={WRONG_MODE:#x}")
    assert found.wrong["b"] > 0 and not found.agrees
    assert found.b.source[1][0] == 32 and found.b.arrived[1][0] == found.b.numbers[0][32]
    assert "✗ All of them are wrong: B[0][1] should arrive, B[32][0] arrives." in list_captions(found, "line", "b")[1]
    assert "64B" in found.b.words[0].cause and not found.a.words[0].cause
    given = np.asarray(found.a.numbers), np.asarray(found.b.arrived).T
    assert np.array_equal(found.d.sums[-1] - found.d.sums[0], given[0] @ given[1])


@for_each("start", [0, 3 * 1024, 96 * 1024])
def test_a_given_word_finds_its_tile_where_it_points(start: int) -> None:
    word = Descriptor(0x4000004000010000 | start >> 4)
    found = step(b=f"descriptor={word}")
    assert found.wrong == {"a": 0, "b": 0} and found.b.at[0][0] == start
    assert not set(np.ravel(found.a.at)) & set(np.ravel(found.b.at))


def test_a_start_off_the_pattern_is_seen() -> None:
    found = step(b="descriptor=0x4000004000010008")  # 128 bytes past a multiple of 1024
    assert found.b.at[0][0] == 0 and found.b.source[0][0] == 1 * 64  # column 1 in place of column 0


def test_bytes_of_the_other_operand_are_named_and_those_of_none_are_unknown() -> None:
    """B begins at 0x2000 with 4 KiB: 16 groups of 8 rows further lies nothing, and A's word of start 0x2000 reads B."""
    found = step(a="base=0,descriptor=0x4000004000010200", b="base=8192")
    assert found.a.source[0][0] == -2 and "B[0][0] arrives" in list_captions(found, "line", "a")[0]
    assert np.isnan(np.asarray(found.a.arrived)[63]).all() and found.a.source[63][0] == -1
    unknown = np.isnan(np.asarray(found.d.sums[-1])).all(axis=1)
    assert unknown.tolist() == np.isnan(np.asarray(found.a.arrived)).any(axis=1).tolist()


def test_of_many_columns_a_window_is_shown() -> None:
    found = step(WIDE, n=112)
    assert (found.b.first, found.b.rows, found.d.first, found.d.columns) == (112, 16, 112, 16)
    assert "Of N = 256 columns the picture shows 112–127." in found.steps[0].caption
    assert step(WIDE, n=248).d.first == 240


def test_metadata_say_which_row_of_b_a_stored_element_meets() -> None:
    found = step(SPARSE)
    meets = np.asarray(found.a.meets)
    assert found.b.k == 2 * found.a.k and (meets // 4 == np.arange(found.a.k) // 2).all()
    assert (np.diff(meets.reshape(64, -1, 2), axis=2) > 0).all()


def test_storages_that_are_no_canonical_tile() -> None:
    rows = "kind=rows,pitch_bytes=128,swizzle=128B"
    found = step(a=rows)
    assert found.wrong["a"] == 0 and found.a.words[0].descriptor == step().a.words[0].descriptor
    padded = step(b="kind=rows,pitch_bytes=144,descriptor=0x4000004000010000")
    assert padded.wrong["b"] > 0 and padded.b.words[0].cause


@for_each(
    ("asked", "field"),
    [
        ({"a": "from=registers,base=0"}, "a.base"),
        ({"n": 4}, "n"),
        ({"n": 32}, "n"),
        ({"b": "k=1024"}, "b.k"),
        ({"b": "descriptor=0xZZ"}, "b.descriptor"),
        ({"b": "swizzle=256B"}, "b.swizzle"),
        ({"b": "base=0", "a": "base=0"}, "b.base"),
        ({"instruction": BITS, "b": "kind=rows,pitch_bytes=128,swizzle=128B"}, "b.kind"),
        ({"instruction": "mma.m16n8k8.row.col.f32.f16.f16.f32"}, "instruction"),
    ],
)
def test_refusals_name_their_field(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(LayoutError) as refused:
        build_wgmma_stepper(read_question(WgmmaStepperQuestion, {"instruction": F16} | asked))
    assert refused.value.field == field


def test_options_of_the_page_become_the_storage() -> None:
    asked = {"a": "base=1024,swizzle=64B", "a_swizzle": "32B", "a_major": "MN", "b_descriptor": " 0x1 ", "seed": "3"}
    assert fill_storage(F16, asked) == {
        "a": "base=1024,major=MN,swizzle=32B",
        "b": "swizzle=128B,descriptor=0x1",
        "seed": "3",
    }
    old = {"a": "major=MN,swizzle=64B", "b": "kind=rows,pitch_bytes=256"}
    assert fill_storage(F16, old) == old
    assert fill_storage("mma.m16n8k8.row.col.f32.f16.f16.f32", {"a": "i"}) == {"a": "i"}


def test_the_lines_of_a_core_matrix_are_named_as_they_stand_in_the_matrix() -> None:
    """K-major: 16 bytes are 8 neighbours along k, of one row of A and of one column of B[k][n]."""
    found = step()
    for operand, lines in (("a", ("A[0][0…7]", "A[1][0…7]")), ("b", ("B[0…7][0]", "B[0…7][1]"))):
        captions = list_captions(found, "line", operand)
        assert [f"the 16 bytes of {line}," in said for line, said in zip(lines, captions, strict=False)] == [True] * 2
