"""What the verifier may conclude from one wrong step, from several, and from a word without a storage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lanescope import find
from lanescope.app.memory.verdicts import Change, build_verified
from lanescope.descriptor import causes, matrix as desc
from lanescope.descriptor.fits import find_fitting_tiles
from lanescope.descriptor.matrix import Descriptor
from lanescope.descriptor.repair import compute_expected_reads
from lanescope.shared.storage import storage
from tests.cases import for_each
from tests.right_programs import DescriptorProgram, build_word, make_programs, pack_word
from tests.test_diagnosis import INSIDE, MN, NONE, ROWS, WIDE, diagnose_example, list_examples

# rules ----------------------------------------------------------------------------------------------------------------


def test_data_swizzled_by_address_never_get_a_base_offset() -> None:
    """The start was three rows off: the start is moved back, and no base offset is offered in its place."""
    for p in make_programs(9, 40):
        told = build_verified(p.ask(build_word(replace(p, start=p.start + 128))))
        for diagnosis in told.diagnoses:
            assert "base_offset" not in diagnosis.fix.changes, p


def test_a_swap_is_no_swap_when_lbo_is_not_read() -> None:
    """LBO happens to hold what SBO should: without a usual value in SBO that proves nothing."""
    told = build_verified(INSIDE.ask(pack_word(INSIDE.start, 1024, 1232, 0, 1)))
    assert [d.code for d in told.diagnoses] == ["stride_wrong"]


@for_each(("wanted", "given"), [(64, 32), (96, 32), (96, 64)])
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
    told = build_verified(p.ask(build_word(replace(p, start=p.base + given))))
    assert [d.code for d in told.diagnoses] == ["other_slice"]
    assert told.diagnoses[0].fix.descriptor == f"{build_word(p):#018x}"


@for_each(
    ("moved", "ways"),
    [
        (64, ("scales it again", "elements of 4 bytes", "with K = 32")),  # 16 · 4 bytes, 2 · 32 bytes
        (16, ("elements (16) instead of bytes", "elements of 1 byte", "with K = 8")),
    ],
)
def test_a_step_with_several_explanations_has_all_of_them(moved: int, ways: tuple[str, ...]) -> None:
    """The step of 16 elements of f16 is 32 bytes."""
    told = build_verified(INSIDE.ask(pack_word(0x2000 + moved, 16, 1024, 0, 1)))
    assert all(way in told.diagnoses[0].message for way in ways)


def test_base_offset_is_a_k_step_only_where_the_start_stands_still() -> None:
    still = build_verified(INSIDE.ask(pack_word(0x2000, 16, 1024, 1, 1)))
    moved = build_verified(INSIDE.ask(pack_word(INSIDE.start, 16, 1024, 1, 1)))
    assert [d.code for d in still.diagnoses] == ["base_offset_as_k_advance"]
    assert [d.code for d in moved.diagnoses] == ["base_offset_wrong"]


@for_each("at_k", [64, 128, 144])
def test_a_start_over_panels_of_the_instruction_says_how_far_apart_the_tiles_are(at_k: int) -> None:
    """B has 256 rows of 128 bytes in each panel along K, the instruction reads 128 of them."""
    tile = replace(WIDE, k=192, at_k=at_k).with_right_fields()
    start = tile.base + at_k // 64 * 128 * 128 + at_k % 64 * 2
    (told,) = build_verified(tile.ask(pack_word(start, 16, 1024, 0, 1))).diagnoses
    assert told.code == "panel_stride_from_instruction"
    assert "128 rows (16384 bytes)" in told.message and "along K are 32768 bytes apart" in told.message


@for_each("extra", [1 << 52, 1 << 60, 0xFF << 52, 3 << 46])
def test_bits_that_are_no_addresss_make_no_pointer(extra: int) -> None:
    told = build_verified(INSIDE.ask(build_word(replace(INSIDE, sbo=2048)) | extra))
    assert "generic_pointer" not in {d.code for d in told.diagnoses}


def test_a_wrong_base_offset_does_not_move_the_start() -> None:
    """Two rows off in mode 64B, the same bytes could be read from 32 bytes further: that is no repair a
    person wants.
    """
    tile = replace(ROWS, swizzle="64B", kind="canonical", k=32, base=0xC480, at_k=0).with_right_fields()
    told = build_verified(tile.ask(build_word(replace(tile, base_offset=3)), {**tile.storage, "swizzle_by": "tile"}))
    assert [(d.code, d.fix.changes) for d in told.diagnoses] == [
        ("base_offset_wrong", {"base_offset": Change(from_=3, to=1)})
    ]


@for_each("swizzle", ["none", "128B"])
def test_strides_that_say_what_rows_can_say_are_no_mistake_of_their_own(swizzle: str) -> None:
    """Padded rows, SBO eight of them: the data cannot be read, and no other number would help."""
    padded = {**ROWS.storage, "swizzle": swizzle, "pitch_bytes": 144}
    assert (
        len(
            build_verified(
                ROWS.ask(pack_word(0x1400, 16, 8 * 144, 0, 1), padded) | {"slice": {"mn": 0, "k": 0}}
            ).diagnoses
        )
        == 1
    )


@for_each(("lbo", "sbo", "said"), [(16, 16, "stride_wrong"), (16, 48, "stride_wrong"), (16, 8192, "stride_wrong")])
def test_one_field_does_not_prove_two_mistakes(lbo: int, sbo: int, said: str) -> None:
    """Shifted twice and of another width; in bytes and of another element: some such pair gives almost any number."""
    told = build_verified(INSIDE.ask(pack_word(INSIDE.start, lbo, sbo, 0, 1)))
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
        told = build_verified(p.ask(build_word(replace(p, swizzle="128B").with_right_fields())))
        assert [d.code for d in told.diagnoses] == ["stored_swizzle"], p
        assert told.diagnoses[0].fix.descriptor == f"0x{build_word(p):016x}" or p.major == "MN", p


def test_a_repair_does_what_the_message_says() -> None:
    """LBO and SBO exchanged in a mode that does not read LBO: both are put right. Bits of no field are not kept."""
    swapped = build_verified(INSIDE.ask(pack_word(INSIDE.start, 1024, 16, 0, 1)))
    assert swapped.diagnoses[0].fix.descriptor == f"0x{build_word(INSIDE):016x}"
    for stray in (1 << 46, 1 << 14, 3 << 30, 1 << 60):
        told = build_verified(INSIDE.ask(build_word(replace(INSIDE, sbo=INSIDE.sbo + 208)) | stray))
        assert told.diagnoses[0].fix.descriptor == f"0x{build_word(INSIDE):016x}"
    negative = diagnose_example("a negative int, written so")
    assert negative.diagnoses[0].code == "sign_extended"
    assert negative.diagnoses[0].fix.descriptor == "0x4000004000000202"


def test_shifts_that_were_computed_are_not_suspected() -> None:
    """Written out in 64 bits, a 0 was meant; as a number it may have been shifted out."""
    number = build_verified(INSIDE.ask(pack_word(INSIDE.start, 16, 0, 0, 1)))
    written = build_verified({**INSIDE.ask(0), "descriptor": "0x202ull | 1ull << 16 | 0ull << 32 | 1ull << 62"})
    assert [d.code for told in (number, written) for d in told.diagnoses] == ["stride_wrong"] * 2
    assert "32-bit integer" in number.diagnoses[0].message and "32-bit integer" not in written.diagnoses[0].message


# without a storage, and beyond the window -----------------------------------------------------------------------------


@for_each("p", [WIDE, INSIDE, MN, NONE], ids=["128B", "K step", "MN 64B", "none"])
def test_without_a_storage_there_is_no_verdict_but_the_tiles_that_fit(p: DescriptorProgram) -> None:
    given = {name: value for name, value in p.ask(build_word(p)).items() if name not in ("storage", "slice")}
    told = build_verified(given)
    assert (told.verdict, told.matched, told.diagnoses) == ("unknown", None, [])
    assert told.fits
    for fit in told.fits:
        assert build_verified({**given, "storage": fit.storage, "slice": fit.slice}).verdict == "match"
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


@for_each(
    ("given", "shared", "says"),
    [
        (WIDE.ask(pack_word(0x2000, 0, 128, 0, 3)), 960, "SBO is 128, but an atom has 256 bytes"),
        (NONE.ask(pack_word(0x1000, 16, 64, 0, 0)), 728, "LBO is 16 and SBO is 64, but a core matrix has 128 bytes"),
        (NONE.ask(pack_word(0x1000, 128, 128, 0, 0)), 448, ""),
        (replace(INSIDE, n=8).ask(pack_word(0x2000, 0, 0, 0, 1)), 0, ""),  # SBO of 8 rows is not read
    ],
)
def test_bytes_read_twice_are_in_the_answer(given: dict[str, Any], shared: int, says: str) -> None:
    told = [w for w in build_verified(given).warnings if w.code in ("reads_twice", "overlap")]
    assert [w.code for w in told] == ["reads_twice"] * bool(shared)
    if told:
        seen = desc.view(find(given["instruction"]), given["operand"], given["major"])
        address = desc.reads(Descriptor(int(given["descriptor"], 16)), seen)
        assert address.size - len(set(address.ravel().tolist())) == shared
        assert told[0].message.startswith(f"{shared} of {address.size} elements") and says in told[0].message


def test_reads_past_shared_memory_are_in_the_answer() -> None:
    high = replace(ROWS, base=0x38800, at_k=0).with_right_fields()
    told = build_verified(high.ask(build_word(high)))
    assert told.verdict == "match"
    assert [w.code for w in told.warnings] == ["reads_beyond_shared"]
    low = build_verified(ROWS.ask(build_word(ROWS)))
    assert "reads_beyond_shared" not in {w.code for w in low.warnings}


def test_blackwells_format_is_called_so() -> None:
    told = build_verified(INSIDE.ask(build_word(INSIDE) | 1 << 46))
    assert told.verdict == "match" and "tcgen05_format" in {w.code for w in told.warnings}
    pointed = build_verified(INSIDE.ask(build_word(INSIDE) | 1 << 14))
    assert "reserved_bits" in {w.code for w in pointed.warnings}


def test_the_right_words_of_this_suite_read_what_was_stored() -> None:
    """The suite's own arithmetic against the engine's: a fault in either shows."""
    for p in make_programs(6, 60):
        seen = desc.view(find(p.instruction), p.operand, p.major)
        wanted = compute_expected_reads(storage(p.storage, p.bits, p.major), seen, p.at_mn, p.at_k)
        assert np.array_equal(desc.reads(Descriptor(build_word(p)), seen), wanted)


# every cause has a title ----------------------------------------------------------------------------------------------


def test_every_cause_that_is_named_has_a_title() -> None:
    named = {diagnosis.code for name in list_examples() for diagnosis in diagnose_example(name).diagnoses}
    assert len(named) > 25 and named <= causes.TITLES.keys(), named - causes.TITLES.keys()
