"""The verifier names the true cause of a mistake that this suite makes by itself, and its repair verifies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app.memory import descriptors as memory
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.fits import find_fitting_tiles
from lanescope.descriptor.matrix import Descriptor
from lanescope.descriptor.repair import compute_expected_reads
from lanescope.shared.storage import storage
from tests.blunders import BLUNDERS
from tests.right_programs import MASK, DescriptorProgram, build_word, make_programs, pack_word
from tests.sample import choose_count
from tests.verifier_study import PACKED, count_totals, format_table, run_study, study_pairs

# The codes of the contract that this suite must see named first at least once.
CONTRACT = set(
    "k_step_missing k_step_in_elements k_step_not_shifted other_slice stored_unswizzled stored_swizzle sbo_is_row_pitch"
    " element_size atom_order sign_extended high_word_missing shifts_of_32_bits words_exchanged mode_at_bit_61"
    " tcgen05_format panel_stride_wrong bytes_not_shifted shifted_twice lbo_sbo_swapped tma_swizzle_enum swizzle_mode"
    " base_offset_missing base_offset_from_shifted_start base_offset_as_k_advance base_offset_wrong sbo_other_width"
    " row_major_not_core_matrix k_advance_past_atom panel_stride_from_instruction mn_offset_inside_atom"
    " overlapping_core_matrices wrong_transpose generic_pointer stride_wrong start_wrong not_canonical".split()
)

MASK_18 = 0x3FFFF


def test_the_true_cause_is_named_and_no_kind_of_mistake_is_left_behind() -> None:
    """One test, as both worker processes would else make the study; each of the 50 programs makes a sixth of its
    mistakes, the next one others, and the rare ones all (`make diagnoses` asks about every one).
    """
    rows = run_study(seed=4, count=50, every=6)
    asked, named, other = count_totals(rows)
    assert asked > 250
    assert named >= 0.95 * asked
    assert other <= 0.01 * asked, format_table(rows)
    behind = [
        row
        for _, name, _ in BLUNDERS
        if not (row := rows[name]).named + row.alike >= 0.8 * (row.asked - row.harmless) > 0
    ]
    assert behind == []


def test_the_study_bites(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verifier that offers no repair, or names no cause, does not pass it."""
    truth = memory.build_verified

    def careless(given: dict[str, Any]) -> memory.Verified:
        told, none = truth(given), memory.Fix(descriptor=given["descriptor"], changes={})
        return replace(told, diagnoses=[replace(d, fix=d.fix and none) for d in told.diagnoses])

    monkeypatch.setattr(memory, "build_verified", careless)
    with pytest.raises(ValueError, match="no repair"):
        run_study(seed=4, count=2)
    monkeypatch.setattr(memory, "build_verified", lambda given: replace(truth(given), verdict="mismatch"))
    with pytest.raises(ValueError, match="called wrong"):
        run_study(seed=4, count=2)


# one example of each cause, and what is said of it --------------------------------------------------------------------

WIDE = DescriptorProgram(
    "f32.f16.f16",
    128,
    "b",
    major="K",
    swizzle="128B",
    mn=256,
    k=128,
    order="mn",
    base=0x2000,
    at_mn=0,
    at_k=64,
    kind="canonical",
).with_right_fields()
INSIDE = replace(WIDE, at_k=16).with_right_fields()
MN = DescriptorProgram(
    "f32.bf16.bf16",
    128,
    "b",
    major="MN",
    swizzle="64B",
    mn=256,
    k=64,
    order="k",
    base=0x2000,
    at_mn=0,
    at_k=16,
    kind="canonical",
).with_right_fields()
ROWS = DescriptorProgram(
    "f32.f16.f16",
    64,
    "a",
    major="K",
    swizzle="128B",
    mn=64,
    k=64,
    order="mn",
    base=0x1400,
    at_mn=0,
    at_k=16,
    kind="rows",
).with_right_fields()
NONE = DescriptorProgram(
    "f32.f16.f16",
    64,
    "b",
    major="K",
    swizzle="none",
    mn=128,
    k=64,
    order="mn",
    base=0x1000,
    at_mn=0,
    at_k=0,
    kind="canonical",
).with_right_fields()
PANELS_64 = {"width_bytes": 64, "outer8_stride": 512, "inner_stride": 4096, "swizzle": "64B", "base": 0x1400}


@cache
def list_examples() -> dict[str, dict[str, Any]]:
    """What the verifier is asked of each cause, by the mistake's name."""
    out: dict[str, dict[str, Any]] = {}
    for code, name, function in BLUNDERS:
        for p in (INSIDE, WIDE, MN, ROWS, NONE, *make_programs(2, 40)):
            wrong = function(p)
            if wrong is None:
                continue
            given, stored = wrong if isinstance(wrong, tuple) else (wrong, None)
            if memory.build_verified(p.ask(given & MASK, stored)).verdict == "mismatch":
                out[f"{code}: {name}"] = p.ask(given & MASK, stored)
                break
    ask = INSIDE.ask
    p = INSIDE
    out["two mistakes: TMA's code and the K step in elements"] = ask(pack_word(0x2000 + 16, 16, 1024, 0, 3))
    out["two mistakes: a K step past the atom and LBO, SBO in bytes"] = WIDE.ask(
        pack_word(0x2000 + 128, 0, 0, 0, 1) | 16 << 16 | 1024 << 32
    )
    out["a generic pointer and TMA's code"] = ask(0x7F42_1200_0000 + p.start >> 4 | 1 << 16 | 64 << 32 | 3 << 62)
    out["overlapping core matrices"] = NONE.ask(pack_word(NONE.start, 16, 64, 0, 0))
    out["LBO of an instruction's rows"] = NONE.ask(pack_word(NONE.start, 64 * 16, 128, 0, 0))
    out["the tile's address left out"] = ask(pack_word(32, 16, 1024, 0, 1))
    far = replace(INSIDE, base=0x6000).with_right_fields()
    out["the address masked with 0x3FFF"] = far.ask(pack_word(far.start & 0x3FFF, 16, 1024, 0, 1))
    out["LBO left at 1 where it is read"] = MN.ask(pack_word(MN.start, 16, MN.sbo, 0, 2))
    out["the other major"] = {**MN.ask(build_word(MN)), "major": "K"}
    tile = {**MN.storage, "swizzle": "128B", "mn": 256}
    out["inside an MN-major atom"] = {**MN.ask(build_word(MN), tile), "slice": {"mn": 32, "k": 0}}
    out["swizzled from a tile that is on no row"] = ROWS.ask(
        build_word(replace(ROWS, start=ROWS.start + 16)), {**ROWS.storage, "base": 0x1410, "swizzle_by": "tile"}
    )
    out["beyond 2^18"] = ROWS.ask(build_word(ROWS), {**ROWS.storage, "base": 0x41000})
    out["shifted as an int, written so"] = {**ask(0), "descriptor": "0x202 | 1 << 16 | 64ull << 32 | 1 << 62"}
    plain = {"kind": "cute", "layout": "(64,64):(64,1)", "base": 0x1400}
    out["a plain CuTe layout"] = ROWS.ask(build_word(ROWS), plain)
    out["a plain CuTe layout along M"] = ROWS.ask(build_word(ROWS), {**plain, "layout": "(64,64):(1,64)"})
    out["padded rows and SBO of eight of them"] = ROWS.ask(
        pack_word(ROWS.start, 16, 8 * 144, 0, 1), {**ROWS.storage, "swizzle": "none", "pitch_bytes": 144}
    )
    out["two mistakes: bytes, and the halves exchanged"] = INSIDE.ask((0x202 << 4 | 16 << 16) << 32 | 1024 | 1 << 30)
    out["SBO 1, as LBO where it is not read"] = ask(pack_word(p.start, 16, 16, 0, 1))
    out["an N-major LBO of another N"] = MN.ask(pack_word(MN.start, 256 * 64, MN.sbo, 0, 2))
    boxes = replace(INSIDE, kind="atoms").with_right_fields()
    out["panels of 64 bytes, the word of 128"] = ROWS.ask(
        build_word(replace(ROWS, start=0x1400)), {**boxes.storage, **PANELS_64}
    ) | {"slice": {"mn": 0, "k": 0}}
    out["SBO of whole rows, panels one after the other"] = boxes.ask(pack_word(boxes.start, 16, 2048, 0, 1))
    out["64B panels, an LBO of 128B ones"] = MN.ask(pack_word(MN.start, 2 * MN.lbo, MN.sbo, 0, 2))
    out["N-major, the K step of a K-major tile"] = MN.ask(pack_word(MN.base + 32, MN.lbo, MN.sbo, 0, 2))
    far = replace(WIDE, at_mn=128, at_k=0).with_right_fields()
    out["rows counted in elements"] = far.ask(pack_word(0x2000 + 128 * 64, 16, 1024, 0, 1))
    out["an XOR of another element size"] = replace(ROWS, types="f32.e4m3.e5m2").ask(
        build_word(replace(ROWS, start=0x1400)),
        {"kind": "cute", "layout": "Sw<3,3,3> o (64,128):(128,1)", "base": 0x1400},
    ) | {"slice": {"mn": 0, "k": 0}}
    out["a negative int, written so"] = {
        **ask(0),
        "descriptor": "0x202 | (32768 << 16) | (uint64_t)64 << 32 | 1ull << 62",
    }
    out["fp8 stored along M"] = {
        **replace(ROWS, types="f32.e4m3.e5m2").ask(build_word(ROWS)),
        "storage": {"kind": "rows", "inner": "MN", "pitch_bytes": 128, "swizzle": "128B", "base": 0x1400},
        "slice": {"mn": 0, "k": 32},
    }
    return out


@cache
def diagnose_example(name: str) -> memory.Verified:
    """What it says of an example."""
    return memory.build_verified(list_examples()[name])


# What is named of each example that blunders.py does not make, in order.
NAMED = {
    "two mistakes: TMA's code and the K step in elements": "tma_swizzle_enum k_step_in_elements",
    "two mistakes: a K step past the atom and LBO, SBO in bytes": "bytes_not_shifted k_advance_past_atom",
    "two mistakes: bytes, and the halves exchanged": "words_exchanged bytes_not_shifted",
    "a generic pointer and TMA's code": "generic_pointer tma_swizzle_enum",
    "overlapping core matrices": "overlapping_core_matrices",
    "LBO of an instruction's rows": "panel_stride_from_instruction",
    "the tile's address left out": "start_wrong",
    "the address masked with 0x3FFF": "start_wrong",
    "LBO left at 1 where it is read": "stride_wrong",
    "the other major": "wrong_transpose",
    "inside an MN-major atom": "mn_offset_inside_atom",
    "swizzled from a tile that is on no row": "not_canonical",
    "beyond 2^18": "not_canonical",
    "shifted as an int, written so": "shifts_of_32_bits",
    "a plain CuTe layout": "stored_unswizzled",
    "a plain CuTe layout along M": "wrong_transpose",
    "padded rows and SBO of eight of them": "row_major_not_core_matrix",
    "SBO 1, as LBO where it is not read": "stride_wrong",
    "an N-major LBO of another N": "panel_stride_wrong",
    "panels of 64 bytes, the word of 128": "stored_swizzle",
    "SBO of whole rows, panels one after the other": "atom_order",
    "64B panels, an LBO of 128B ones": "panel_stride_wrong",
    "N-major, the K step of a K-major tile": "k_advance_past_atom",
    "rows counted in elements": "other_slice",
    "an XOR of another element size": "stored_swizzle",
    "a negative int, written so": "sign_extended",
    "fp8 stored along M": "not_canonical",
    # One atom of K a step gives the same word as the K step's bytes on the field.
    "other_slice: one_atom_of_k_a_step": "k_step_not_shifted",
}


def test_one_mistake_is_named_and_nothing_else() -> None:
    for name in list_examples():
        wanted = NAMED.get(name, name.partition(":")[0]).split()
        assert [d.code for d in diagnose_example(name).diagnoses] == wanted, name


def test_the_repair_is_the_word_a_right_program_builds() -> None:
    """Up to LBO, where a K-major swizzled operand inside one atom does not read it."""
    compared = 0
    for p in (INSIDE, WIDE, MN, ROWS, NONE):
        unread = 0x3FFF << 16 if p.major == "K" and p.swizzle != "none" else 0
        right = p.ask(build_word(p))
        for name, given in list_examples().items():
            told = diagnose_example(name)
            if not told.diagnoses[0].fix or any(given[key] != right[key] for key in right.keys() - {"descriptor"}):
                continue
            repaired = int(told.diagnoses[0].fix.descriptor, 16)
            assert repaired & ~unread == build_word(p) & ~unread, name
            compared += 1
    assert compared > 40


def test_every_code_has_an_example() -> None:
    seen = {d.code for name in list_examples() for d in diagnose_example(name).diagnoses}
    assert seen >= CONTRACT, CONTRACT - seen


def test_repairs_verify_and_storages_match() -> None:
    """One test of all examples: they are made once."""
    assert len(list_examples()) >= 80
    for name, given in list_examples().items():
        told = diagnose_example(name)
        assert told.verdict == "mismatch", name
        fixes = {diagnosis.fix.descriptor for diagnosis in told.diagnoses if diagnosis.fix}
        for fix in fixes:
            assert memory.build_verified({**given, "descriptor": fix}).verdict == "match", (name, fix)
        for diagnosis in told.diagnoses:
            if diagnosis.storage and diagnosis.code != "mn_offset_inside_atom":
                right = memory.build_verified({**given, "storage": diagnosis.storage})
                assert right.verdict == "match", (name, diagnosis.storage)


def test_two_mistakes_of_every_kind_are_both_named() -> None:
    """Where neither hides the other: a pointer's bits hide LBO and SBO, a cut word its high half."""
    found = study_pairs(seed=5, count=10)
    hidden = {
        ("sbo_is_row_pitch", "generic_pointer"),
        *(("lbo_sbo_swapped", packed) for packed in PACKED if packed != "words_exchanged"),
    }
    shown = [row for names, row in found.items() if names not in hidden and "shifts_of_32_bits" not in names]
    asked, both, one = (sum(row[i] for row in shown) for i in range(3))
    assert asked > 60
    assert both >= 0.9 * asked, found
    assert one >= 0.98 * asked, found


def find_recommended_amounts(message: str) -> Iterator[tuple[str, int]]:
    """(field, amount in bytes) of every amount that a message tells to put into the word."""
    for name, value in re.findall(r"(LBO|SBO|[Ss]tart(?: address)?) 0x\w+ (?:becomes|is) 0x(\w+)", message):
        yield name, 16 * int(value, 16)
    for said in re.findall(r"Here (.*?) (?:is|are) right", message):
        yield from ((name, int(value, 0)) for name, value in re.findall(r"(LBO|SBO|start) (0x\w+|\d+)", said))


def build_core_matrices(rng: Random, rows: int, k: int) -> tuple[str, int, int]:
    """(CuTe layout of a dense K-major tile of 16-bit core matrices in either order, its LBO, its SBO)."""
    wide, deep = rows // 8, k // 8
    lbo, sbo = rng.choice([(128, 128 * deep), (128 * wide, 128)])
    return f"((8,{wide}),(8,{deep})):((8,{sbo // 2}),(1,{lbo // 2}))", lbo, sbo


def test_no_message_contradicts_its_fix() -> None:
    """Words with random strides, of the other order, in bytes, shifted twice, exchanged: what a message calls right is
    what its fix holds, and the fix reads every element.
    """
    rng = Random(30)
    told_right = 0
    count = choose_count(120, 40)
    for _ in range(count):
        operand, n = rng.choice("ab"), rng.choice([16, 32, 64, 128])
        rows, k = 64 if operand == "a" else n, rng.choice([16, 32, 64])
        layout, lbo, sbo = build_core_matrices(rng, rows, k)
        other = (128, 16 * k) if lbo != 128 else (16 * rows, 128)
        one, two = rng.choice(
            [
                other,
                (sbo, lbo),
                (2 * lbo, sbo // 2),
                (16 * lbo & MASK_18, sbo),
                (lbo, 16 * sbo & MASK_18),
                (16 * other[0] & MASK_18, other[1]),
                (lbo >> 4, sbo >> 4),
                (rng.randrange(1, 256) * 16, sbo),
            ]
        )
        given = {
            "descriptor": hex(0x40 | one >> 4 << 16 | two >> 4 << 32),
            "operand": operand,
            "major": "K",
            "instruction": f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16",
            "storage": {"kind": "cute", "layout": layout, "unit": "elements", "base": "0x400"},
        }
        told = memory.build_verified(given)
        if told.verdict == "match":
            continue
        for diagnosis in told.diagnoses:
            assert diagnosis.fix, (given, diagnosis)
            assert memory.build_verified({**given, "descriptor": diagnosis.fix.descriptor}).verdict == "match"
            fix = Descriptor(int(diagnosis.fix.descriptor, 16))
            holds = {"LBO": fix.lbo_bytes, "SBO": fix.sbo_bytes}
            for name, amount in find_recommended_amounts(diagnosis.message):
                told_right += 1
                assert amount == holds.get(name, fix.start_address), (given, diagnosis)
    assert told_right > count / 2


@pytest.mark.parametrize(
    ("word", "operand", "layout"),
    [
        ("0x0000000800400040", "a", "((8,8),(8,2)):((8,128),(1,64))"),
        ("0x0000000800200040", "b", "((8,4),(8,2)):((8,128),(1,64))"),
        ("0x0000001000080040", "a", "((8,8),(8,2)):((8,64),(1,512))"),
    ],
)
def test_core_matrices_in_the_other_order_are_named(word: str, operand: str, layout: str) -> None:
    """The strides of a CuTe tile whose other dimension comes first, not bytes that were not shifted."""
    told = memory.build_verified(
        {
            "descriptor": word,
            "operand": operand,
            "major": "K",
            "instruction": "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16",
            "storage": {"kind": "cute", "layout": layout, "unit": "elements", "base": "0x400"},
        }
    )
    assert [one.code for one in told.diagnoses] == ["atom_order"]


# rules ----------------------------------------------------------------------------------------------------------------


def test_data_swizzled_by_address_never_get_a_base_offset() -> None:
    """The start was three rows off: the start is moved back, and no base offset is offered in its place."""
    for p in make_programs(9, 40):
        told = memory.build_verified(p.ask(build_word(replace(p, start=p.start + 128))))
        for diagnosis in told.diagnoses:
            assert "base_offset" not in diagnosis.fix.changes, p


def test_a_swap_is_no_swap_when_lbo_is_not_read() -> None:
    """LBO happens to hold what SBO should: without a usual value in SBO that proves nothing."""
    told = memory.build_verified(INSIDE.ask(pack_word(INSIDE.start, 1024, 1232, 0, 1)))
    assert [d.code for d in told.diagnoses] == ["stride_wrong"]


@pytest.mark.parametrize(("wanted", "given"), [(64, 32), (96, 32), (96, 64)])
def test_the_start_of_another_step_is_another_slice(wanted: int, given: int) -> None:
    """It may also be a step in elements of another size; a loop that is one or two steps behind is likelier."""
    p = DescriptorProgram(
        "s32.s8.s8",
        16,
        "b",
        major="K",
        swizzle="128B",
        mn=32,
        k=128,
        order="mn",
        base=0x2800,
        at_mn=0,
        at_k=wanted,
        kind="rows",
    ).with_right_fields()
    told = memory.build_verified(p.ask(build_word(replace(p, start=p.base + given))))
    assert [d.code for d in told.diagnoses] == ["other_slice"]
    assert told.diagnoses[0].fix.descriptor == f"{build_word(p):#018x}"


@pytest.mark.parametrize(
    ("moved", "ways"),
    [
        (64, ("scales it again", "elements of 4 bytes", "takes 32 of K")),  # 16 · 4 bytes, 2 · 32 bytes
        (16, ("elements (16) in place of bytes", "elements of 1 byte", "takes 8 of K")),
    ],
)
def test_a_step_with_several_explanations_has_all_of_them(moved: int, ways: tuple[str, ...]) -> None:
    """The step of 16 elements of f16 is 32 bytes."""
    told = memory.build_verified(INSIDE.ask(pack_word(0x2000 + moved, 16, 1024, 0, 1)))
    assert all(way in told.diagnoses[0].message for way in ways)


def test_base_offset_is_a_k_step_only_where_the_start_stands_still() -> None:
    still = memory.build_verified(INSIDE.ask(pack_word(0x2000, 16, 1024, 1, 1)))
    moved = memory.build_verified(INSIDE.ask(pack_word(INSIDE.start, 16, 1024, 1, 1)))
    assert [d.code for d in still.diagnoses] == ["base_offset_as_k_advance"]
    assert [d.code for d in moved.diagnoses] == ["base_offset_wrong"]


@pytest.mark.parametrize("extra", [1 << 52, 1 << 60, 0xFF << 52, 3 << 46])
def test_bits_that_are_no_addresss_make_no_pointer(extra: int) -> None:
    told = memory.build_verified(INSIDE.ask(build_word(replace(INSIDE, sbo=2048)) | extra))
    assert "generic_pointer" not in {d.code for d in told.diagnoses}


def test_a_wrong_base_offset_does_not_move_the_start() -> None:
    """Two rows off in mode 64B, the same bytes could be read from 32 bytes further: that is no repair a
    person wants.
    """
    tile = replace(ROWS, swizzle="64B", kind="canonical", k=32, base=0xC480, at_k=0).with_right_fields()
    told = memory.build_verified(
        tile.ask(build_word(replace(tile, base_offset=3)), {**tile.storage, "swizzle_by": "tile"})
    )
    assert [(d.code, d.fix.changes) for d in told.diagnoses] == [
        ("base_offset_wrong", {"base_offset": memory.Change(from_=3, to=1)})
    ]


@pytest.mark.parametrize("swizzle", ["none", "128B"])
def test_strides_that_say_what_rows_can_say_are_no_mistake_of_their_own(swizzle: str) -> None:
    """Padded rows, SBO eight of them: the data cannot be read, and no other number would help."""
    padded = {**ROWS.storage, "swizzle": swizzle, "pitch_bytes": 144}
    assert (
        len(
            memory.build_verified(
                ROWS.ask(pack_word(0x1400, 16, 8 * 144, 0, 1), padded) | {"slice": {"mn": 0, "k": 0}}
            ).diagnoses
        )
        == 1
    )


@pytest.mark.parametrize(
    ("lbo", "sbo", "said"), [(16, 16, "stride_wrong"), (16, 48, "stride_wrong"), (16, 8192, "stride_wrong")]
)
def test_one_field_does_not_prove_two_mistakes(lbo: int, sbo: int, said: str) -> None:
    """Shifted twice and of another width; in bytes and of another element: some such pair gives almost any number."""
    told = memory.build_verified(INSIDE.ask(pack_word(INSIDE.start, lbo, sbo, 0, 1)))
    assert [d.code for d in told.diagnoses] == [said]


def test_a_word_right_for_another_mode_is_one_mistake() -> None:
    """Mode, SBO and LBO of 128B panels over 64B ones: what is stored and what is said differ, not three fields."""
    for p in make_programs(12, 60):
        if (
            p.kind == "rows"
            or p.swizzle not in ("64B", "32B")
            or p.at_k
            or p.at_mn
            or p.rows <= 8
            or (p.k if p.major == "K" else p.mn) * p.size % 128
        ):
            continue
        told = memory.build_verified(p.ask(build_word(replace(p, swizzle="128B").with_right_fields())))
        assert [d.code for d in told.diagnoses] == ["stored_swizzle"], p
        assert told.diagnoses[0].fix.descriptor == f"0x{build_word(p):016x}" or p.major == "MN", p


def test_a_repair_does_what_the_message_says() -> None:
    """LBO and SBO exchanged in a mode that does not read LBO: both are put right. Bits of no field are not kept."""
    swapped = memory.build_verified(INSIDE.ask(pack_word(INSIDE.start, 1024, 16, 0, 1)))
    assert swapped.diagnoses[0].fix.descriptor == f"0x{build_word(INSIDE):016x}"
    for stray in (1 << 46, 1 << 14, 3 << 30, 1 << 60):
        told = memory.build_verified(INSIDE.ask(build_word(replace(INSIDE, sbo=INSIDE.sbo + 208)) | stray))
        assert told.diagnoses[0].fix.descriptor == f"0x{build_word(INSIDE):016x}"
    negative = diagnose_example("a negative int, written so")
    assert negative.diagnoses[0].code == "sign_extended"
    assert negative.diagnoses[0].fix.descriptor == "0x4000004000000202"


def test_shifts_that_were_computed_are_not_suspected() -> None:
    """Written out in 64 bits, a 0 was meant; as a number it may have been shifted out."""
    number = memory.build_verified(INSIDE.ask(pack_word(INSIDE.start, 16, 0, 0, 1)))
    written = memory.build_verified({**INSIDE.ask(0), "descriptor": "0x202ull | 1ull << 16 | 0ull << 32 | 1ull << 62"})
    assert [d.code for told in (number, written) for d in told.diagnoses] == ["stride_wrong"] * 2
    assert "32-bit integer" in number.diagnoses[0].message and "32-bit integer" not in written.diagnoses[0].message


# without a storage, and beyond the window -----------------------------------------------------------------------------


@pytest.mark.parametrize("p", [WIDE, INSIDE, MN, NONE], ids=["128B", "K step", "MN 64B", "none"])
def test_without_a_storage_there_is_no_verdict_but_the_tiles_that_fit(p: DescriptorProgram) -> None:
    given = {name: value for name, value in p.ask(build_word(p)).items() if name not in ("storage", "slice")}
    told = memory.build_verified(given)
    assert (told.verdict, told.matched, told.diagnoses) == ("unknown", None, [])
    assert told.fits
    for fit in told.fits:
        assert memory.build_verified({**given, "storage": fit.storage, "slice": fit.slice}).verdict == "match"
        assert fit.storage["swizzle"] == p.swizzle


def test_no_tile_fits_a_word_that_is_wrong() -> None:
    seen = desc.view(find(WIDE.instruction), "b", "K")
    assert find_fitting_tiles(Descriptor(pack_word(0x2000, 16, 1040, 0, 1)), seen) == []


def test_tiles_that_fit_begin_where_a_tile_can() -> None:
    """128 bytes past a pattern's line: a tile of TMA's begins there, none 32 bytes before."""
    seen = desc.view(find(WIDE.instruction), "b", "K")
    assert [
        (fit["base"], part["k"])
        for fit, part in find_fitting_tiles(Descriptor(pack_word(0x2080, 16, 1024, 0, 1)), seen)
    ] == [(0x2080, 0)]
    assert [
        (fit["base"], part["k"])
        for fit, part in find_fitting_tiles(Descriptor(pack_word(0x2020, 16, 1024, 0, 1)), seen)
    ] == [(0x2000, 16)]


@pytest.mark.parametrize(
    ("given", "shared", "says"),
    [
        (WIDE.ask(pack_word(0x2000, 0, 128, 0, 3)), 960, "SBO is 128, but an atom takes 256 bytes"),
        (NONE.ask(pack_word(0x1000, 16, 64, 0, 0)), 728, "LBO is 16 and SBO is 64, but a core matrix takes 128 bytes"),
        (NONE.ask(pack_word(0x1000, 128, 128, 0, 0)), 448, ""),
        (replace(INSIDE, n=8).ask(pack_word(0x2000, 0, 0, 0, 1)), 0, ""),  # SBO of 8 rows is not read
    ],
)
def test_bytes_read_twice_are_in_the_answer(given: dict[str, Any], shared: int, says: str) -> None:
    told = [w for w in memory.build_verified(given).warnings if w.code in ("reads_twice", "overlap")]
    assert [w.code for w in told] == ["reads_twice"] * bool(shared)
    if told:
        seen = desc.view(find(given["instruction"]), given["operand"], given["major"])
        address = desc.reads(Descriptor(int(given["descriptor"], 16)), seen)
        assert address.size - len(set(address.ravel().tolist())) == shared
        assert told[0].message.startswith(f"{shared} of {address.size} elements") and says in told[0].message


def test_reads_past_shared_memory_are_in_the_answer() -> None:
    high = replace(ROWS, base=0x38800, at_k=0).with_right_fields()
    told = memory.build_verified(high.ask(build_word(high)))
    assert told.verdict == "match"
    assert [w.code for w in told.warnings] == ["reads_beyond_shared"]
    low = memory.build_verified(ROWS.ask(build_word(ROWS)))
    assert "reads_beyond_shared" not in {w.code for w in low.warnings}


def test_blackwells_format_is_called_so() -> None:
    told = memory.build_verified(INSIDE.ask(build_word(INSIDE) | 1 << 46))
    assert told.verdict == "match" and "tcgen05_format" in {w.code for w in told.warnings}
    pointed = memory.build_verified(INSIDE.ask(build_word(INSIDE) | 1 << 14))
    assert "reserved_bits" in {w.code for w in pointed.warnings}


def test_the_right_words_of_this_suite_read_what_was_stored() -> None:
    """The suite's own arithmetic against the engine's: a fault in either shows."""
    for p in make_programs(6, 60):
        seen = desc.view(find(p.instruction), p.operand, p.major)
        wanted = compute_expected_reads(storage(p.storage, p.bits, p.major), seen, p.at_mn, p.at_k)
        assert np.array_equal(desc.reads(Descriptor(build_word(p)), seen), wanted)
