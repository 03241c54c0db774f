"""The verifier names the true cause of a mistake that this suite makes by itself, and its repair verifies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest

from lanescope.app.memory.verdicts import Verified, build_verified
from lanescope.descriptor import diagnosis as diagnosis_search
from lanescope.descriptor.matrix import Descriptor
from lanescope.descriptor.packing import LEAST_COST, PackingMistake
from tests.blunders import BLUNDERS
from tests.cases import for_each
from tests.right_programs import MASK, DescriptorProgram, build_word, make_programs, pack_word
from tests.sample import FULL, choose_count
from tests.verifier_study import PACKED, count_totals, format_table, run_study, study_pairs

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


@pytest.mark.thorough
def test_the_true_cause_is_named_and_no_kind_of_mistake_is_left_behind() -> None:
    """One test, as both worker processes would else make the study; each of the 50 programs makes a tenth of its
    mistakes, the next one others, and the rare ones all (`make diagnoses` asks about every one).
    """
    rows = run_study(seed=4, count=50, every=6 if FULL else 10)
    asked, named, other = count_totals(rows)
    assert asked > choose_count(250, 150)
    assert named >= 0.95 * asked
    assert other <= 0.01 * asked, format_table(rows)
    behind = [
        row
        for _, name, _ in BLUNDERS
        if not (row := rows[name]).named + row.alike >= 0.8 * (row.asked - row.harmless) > 0
    ]
    assert behind == []


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
            if build_verified(p.ask(given & MASK, stored)).verdict == "mismatch":
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
def diagnose_example(name: str) -> Verified:
    """What it says of an example."""
    return build_verified(list_examples()[name])


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
            assert build_verified({**given, "descriptor": fix}).verdict == "match", (name, fix)
        for diagnosis in told.diagnoses:
            if diagnosis.storage and diagnosis.code != "mn_offset_inside_atom":
                right = build_verified({**given, "storage": diagnosis.storage})
                assert right.verdict == "match", (name, diagnosis.storage)


def test_no_packing_costs_less_than_the_search_for_two_mistakes_assumes(monkeypatch: pytest.MonkeyPatch) -> None:
    costs: set[float] = set()
    list_packings = diagnosis_search._list_packings

    def list_costs(*arguments: Any) -> Iterator[PackingMistake]:
        for packing in list_packings(*arguments):
            costs.add(packing.cost)
            yield packing

    monkeypatch.setattr(diagnosis_search, "_list_packings", list_costs)
    for name in list(list_examples())[::4]:
        build_verified(list_examples()[name])
    assert min(costs) == LEAST_COST


@pytest.mark.thorough
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


@pytest.mark.thorough
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
        told = build_verified(given)
        if told.verdict == "match":
            continue
        for diagnosis in told.diagnoses:
            assert diagnosis.fix, (given, diagnosis)
            assert build_verified({**given, "descriptor": diagnosis.fix.descriptor}).verdict == "match"
            fix = Descriptor(int(diagnosis.fix.descriptor, 16))
            holds = {"LBO": fix.lbo_bytes, "SBO": fix.sbo_bytes}
            for name, amount in find_recommended_amounts(diagnosis.message):
                told_right += 1
                assert amount == holds.get(name, fix.start_address), (given, diagnosis)
    assert told_right > count / 2


@for_each(
    ("word", "operand", "layout"),
    [
        ("0x0000000800400040", "a", "((8,8),(8,2)):((8,128),(1,64))"),
        ("0x0000000800200040", "b", "((8,4),(8,2)):((8,128),(1,64))"),
        ("0x0000001000080040", "a", "((8,8),(8,2)):((8,64),(1,512))"),
    ],
)
def test_core_matrices_in_the_other_order_are_named(word: str, operand: str, layout: str) -> None:
    """The strides of a CuTe tile whose other dimension comes first, not bytes that were not shifted."""
    told = build_verified(
        {
            "descriptor": word,
            "operand": operand,
            "major": "K",
            "instruction": "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16",
            "storage": {"kind": "cute", "layout": layout, "unit": "elements", "base": "0x400"},
        }
    )
    assert [one.code for one in told.diagnoses] == ["atom_order"]


def test_one_mistake_is_named_and_nothing_else() -> None:
    for name in list_examples():
        wanted = NAMED.get(name, name.partition(":")[0]).split()
        assert [d.code for d in diagnose_example(name).diagnoses] == wanted, name
