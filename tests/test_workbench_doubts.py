"""What the workbench says of one text with one mistake: the suspect, doubts and notices."""

from __future__ import annotations

from hypothesis import example, given, strategies as st

from lanescope.cute.layout import CuteLayout
from lanescope.descriptor.matrix import View
from lanescope.reader.cute.cute_layout import describe_stage_overlap
from lanescope.workbench import build_workbench
from lanescope.workbench.reads import stores, tiles
from lanescope.workbench.text.scan import PrintedLayout
from tests.cases import for_each
from tests.checked import check_text, list_codes
from tests.found_in_code import find_builders
from tests.workbench_cases import BOTH, replace_all


def test_a_wrong_transpose_immediate_is_the_suspect_where_it_alone_explains_the_reads() -> None:
    """Also where nothing but the immediate says which dimension of the map is inner."""
    assert build_workbench(BOTH).verdict == "match"
    mn = ("make(sB + k * 32)", "make(sB + k * 2048)")  # an N-major B
    assert build_workbench(replace_all(mn, ("1, 0, 0;", "1, 0, 1;"))).verdict == "match"
    for text, flag in ((replace_all(("1, 0, 0;", "1, 0, 1;")), 0), (replace_all(mn), 1)):
        made = build_workbench(text)
        (a, b) = made.operands
        assert (a.verdict, b.verdict) == ("match", "mismatch") and b.first_wrong
        assert b.first_wrong.causes[0].code == "wrong_transpose" and "transpose bit" in made.headline
        assert f"transpose immediate must be {flag}" in made.detail
        assert list_codes(text) == ["wrong_transpose"]


def test_a_tensor_map_that_the_driver_refuses_leads() -> None:
    """Before what its descriptors read: nothing is loaded at all."""
    made = build_workbench(replace_all(("{64, 64}", "{128, 64}"), ("make(sA + k * 32)", "make(sA)")))
    assert made.verdict == "mismatch" and made.headline == "The tensor map of A and B breaks a rule of TMA"
    assert made.detail.startswith("The inner box is 256 bytes wide")


@for_each(
    ("step", "says"),
    [
        ("k * 16", ("may be a number of elements (16)", "elements of 1 byte")),
        ("k * 64", ("elements of 4 bytes", "may")),
    ],
)
def test_a_step_that_several_mistakes_explain_is_not_put_down_to_one(step: str, says: tuple[str, ...]) -> None:
    detail = build_workbench(replace_all(("sA + k * 32", f"sA + {step}"))).detail
    assert all(one in detail for one in says) and "was counted" not in detail


def test_what_is_said_of_a_step_and_of_fields_holds() -> None:
    """No edge of 128 bytes is passed by 64, and LBO is asked of no mode that does not read it."""
    narrow = replace_all(("box[2] = {64, 64}", "box[2] = {32, 64}"))
    made = build_workbench(narrow)
    assert made.verdict == "mismatch" and "past the edge of a row of 64 bytes" in made.detail
    assert "past the end of a row" in made.headline
    swapped = build_workbench(
        replace_all(("(uint64_t)1 << 16 | (uint64_t)64 << 32", "(uint64_t)64 << 16 | (uint64_t)1 << 32"))
    )
    assert "SBO must be 1024 bytes; LBO is not read here" in swapped.detail
    tma = build_workbench(replace_all(("(uint64_t)1 << 62", "(uint64_t)3 << 62")))
    assert "The field [63:62] is 3" in tma.detail


def test_a_stated_alignment_is_used_and_doubted() -> None:
    """128 bytes are enough for what TMA stores, by the XOR of the address, and are said not to be for all else."""
    said = {
        128: ("taken 128 bytes past", "repeats every 1024 bytes"),
        1024: ("is declared 1024-byte aligned", ""),
        64: ("64-byte aligned only", "TMA stores to multiples of 128 bytes"),
    }
    for form in ("alignas(%d)", "__align__(%d)", "__attribute__((aligned(%d)))"):
        for amount, (why, notice) in said.items():
            head = f"__shared__ {form % amount} half tileA[4096];\nauto sA = (uint32_t)__cvta_generic_to_shared(tileA);"
            made = build_workbench(replace_all(("for (int k", head + "\nfor (int k")))
            (a, b) = made.operands
            at = next(one for one in made.assumed if one.key == "at.tileA")
            assert (
                made.verdict == "match" and why in at.why and int(at.value, 0) % 1024 == (128 if amount == 128 else 0)
            )
            assert [notice in one for one in a.notices] == [True] * bool(notice) and not b.notices
    struct = "constexpr int kAlign = 256;\nstruct S { alignas(kAlign) half A[4096]; };\n"
    named = replace_all(
        ("for (int k", struct + "for (int k"), ("make(sA +", "make((uint32_t)__cvta_generic_to_shared(s.A) +")
    )
    assert any("A is declared 256-byte aligned" in one for one in build_workbench(named).operands[0].notices)


@for_each(
    ("stride", "verdict", "doubt"),
    [
        (8192, "match", False),
        (8192 + 64, "mismatch", False),
        (8192 + 16, "mismatch", False),
        (8192 + 512, "match", True),
    ],
)
def test_stages_begin_where_tma_may_store_and_the_swizzle_repeats(stride: int, verdict: str, doubt: bool) -> None:
    stages = ("for (int k", "for (int s = 0; s < 3; ++s) for (int k")
    text = replace_all(stages, ("make(sA +", f"make(sA + s * {stride} +"))
    made = build_workbench(text)
    assert made.verdict == verdict and bool(made.operands[0].notices) == doubt and not made.operands[1].notices
    if verdict == "mismatch":
        wrong = made.operands[0].first_wrong
        assert wrong and wrong.stage == 1 and wrong.causes[0].code == "tma_destination"
        assert "reads a tile that begins where TMA cannot store it" in made.headline
        (found,) = check_text(text).findings
        assert found.code == "tma_destination" and "of 1,024 elements" not in found.message
    aside = build_workbench(replace_all(("make(sB + k", "make(smem + 8192 + 32 + k"), ("make(sA + k", "make(smem + k")))
    assert [one.verdict for one in aside.operands] == ["match", "mismatch"]


@for_each("offset", ["Config::A", "A_BYTES", "sizeA"])
def test_an_offset_that_is_named_for_a_is_not_its_buffer(offset: str) -> None:
    constants = "struct Config { static constexpr int A = 8192; }; constexpr int A_BYTES = 8192, sizeA = 8192;\n"
    descriptors = f'"l"(make(smem + k * 32)), "l"(make(smem + {offset} + k * 32))'
    text = constants + replace_all(("sA", "smem"), ("sB", f"smem + {offset}"), ('"l"(da), "l"(db)', descriptors))
    assert all(operand.verdict != "mismatch" for operand in build_workbench(text).operands)


@for_each("a", ["sA", "a"])
def test_a_buffer_of_both_operands_is_named_for_neither(a: str) -> None:
    """B is read from another place of it than A; from the same place, it is A's."""
    one = '"l"(make({a} + k * 32)), "l"(make({a} + {offset}k * 32))'
    apart, same = (
        replace_all(("sA", a), ("sB", f"{a} + 8192"), ('"l"(da), "l"(db)', one.format(a=a, offset=offset)))
        for offset in ("8192 + ", "")
    )
    assert all(operand.verdict != "mismatch" for operand in build_workbench(apart).operands)
    assert any(operand.verdict == "mismatch" for operand in build_workbench(same).operands)


def test_exchanged_operands_are_followed_to_their_buffers() -> None:
    """By the address, by the descriptor's variable where the address names none, in asm and in a call."""
    call = ('  asm volatile("wgmma', '  wgmma(acc, db, da); // asm volatile("wgmma')
    asm = ('"l"(da), "l"(db)', '"l"(db), "l"(da)')
    smem = (("sA + k", "smem + k"), ("sB + k", "smem + 8192 + k"), ("da =", "desc_a ="), ("db =", "desc_b ="))
    for text in (
        replace_all(asm),
        replace_all(call),
        replace_all(*smem, ('"l"(da), "l"(db)', '"l"(desc_b), "l"(desc_a)')),
        replace_all(("make(sA + k", "make(sB + k")),
    ):
        made = build_workbench(text)
        wrong = made.operands[0].first_wrong
        assert made.verdict == "mismatch" and "reads the other operand’s buffer" in made.headline
        assert (
            wrong
            and wrong.causes[0].code == "operands_exchanged"
            and not check_text(text).findings
            and check_text(text).open
        )
    for text in (BOTH, replace_all(*smem, ('"l"(da), "l"(db)', '"l"(desc_a), "l"(desc_b)'))):
        assert build_workbench(text).verdict == "match"


def test_a_transposed_product_is_no_mistake() -> None:
    """Boxes that fit only the exchanged operands say that the exchange is meant."""
    box = "&map_a, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, A, dims, strides, box"
    swapped = replace_all(
        ("m64n64k16", "m64n128k16"),
        ('"l"(da), "l"(db)', '"l"(db), "l"(da)'),
        (box, box.removesuffix("box") + "(uint32_t[]){64, 128}"),
    )
    made = build_workbench(swapped)
    assert made.verdict == "match" and all("transposed product" in one.notices[0] for one in made.operands)


LONE = """uint64_t desc = 0;
desc |= (uint64_t)((smem & 0x3FFFF) >> 4);
desc |= (uint64_t)(16 >> 4) << 16;    // LBO
desc |= (uint64_t)(1024 >> 4) << 32;  // SBO, 1024 bytes
desc |= 1llu << 62;                   // 128B swizzle
"""


@for_each(
    ("old", "new", "says"),
    [
        ("", "", ()),
        ("16 >> 4) << 16", "0 >> 4) << 16", ()),
        ("(smem & 0x3FFFF) >> 4", "(smem >> 4) & 0x3FFF", ()),
        ("128B swizzle", "swizzle", ()),
        ("SBO, 1024 bytes", "128B swizzle stride", ()),
        ("(1024 >> 4) << 32;  // SBO, 1024 bytes", "(2048 >> 4) << 32;", ()),
        (
            "(16 >> 4) << 16;    // LBO\ndesc |= (uint64_t)(1024 >> 4) << 32;  // SBO, 1024 bytes",
            "(1024 >> 4) << 16;\ndesc |= (uint64_t)(16 >> 4) << 32;",
            ("SBO is 16 B and LBO 1024 B", "look exchanged"),
        ),
        ("(1024 >> 4) << 32;  // SBO, 1024 bytes", "(512 >> 4) << 32;", ("SBO is 512 B, as under the 64B swizzle",)),
        ("(16 >> 4) << 16", "(1024 >> 4) << 16", ("LBO is 1024 B", "does not read it")),
        ("(16 >> 4) << 16", "(64 >> 4) << 16", ("LBO is 64 B", "a multiple of 1024")),
        ("0x3FFFF) >> 4", "0x3FFF) >> 4", ("leaves 14 bits of the address", "0x4000")),
        ("(smem & 0x3FFFF) >> 4", "(smem >> 4) & 0x3FFFF", ("after the shift",)),
        (
            "1llu << 62",
            "2llu << 62",
            ("The text says 128B here, and the code gives the 64B swizzle: 128B is 1, 64B is 2",),
        ),
        ("1llu << 62", "(uint64_t)CU_TENSOR_MAP_SWIZZLE_128B << 62", ("code gives the 32B swizzle",)),
        (
            "1llu << 62;                   // 128B swizzle",
            "0llu << 62; // 128B",
            ("the code gives no swizzle", "overlap"),
        ),
        ("1024 >> 4) << 32", "2048 >> 4) << 32", ("The comment says 1024 bytes, and the code gives SBO 2048 B",)),
        ("// LBO", "// stride byte offset", ("calls this SBO, and the code puts it into LBO",)),
    ],
)
def test_a_lone_builder_is_doubted_and_never_failed(old: str, new: str, says: tuple[str, ...]) -> None:
    text = LONE.replace(old, new, 1) if old else LONE
    assert old in LONE
    (one,) = find_builders(text)
    told = " ".join(doubt.message for doubt in one.doubts)
    assert bool(told) == bool(says) and all(part in told for part in says), told
    made, checked = build_workbench(text), check_text(text)
    assert made.verdict == "unknown" and not checked.findings and bool(checked.doubts) == bool(says)
    assert {one.level for one in checked.doubts} <= {"note"}
    assert any(told in " ".join(piece.doubts) for piece in made.pieces)


def test_what_reads_prove_is_not_doubted() -> None:
    """An MN-major operand's LBO is verified; a comment that lies is still said to."""
    mn = replace_all(
        ("make(sB + k * 32)", "make(sB + k * 2048)"),
        ("1, 0, 0;", "1, 0, 1;"),
        ("(uint64_t)1 << 16", "(uint64_t)64 << 16"),
    )
    assert build_workbench(mn).verdict == "match" and not any(piece.doubts for piece in build_workbench(mn).pieces)
    lies = replace_all(("(uint64_t)1 << 62;", "\n    (uint64_t)1 << 62;  // 64B swizzle"))
    made = build_workbench(lies)
    assert made.verdict == "match" and any("The text says 64B" in one for piece in made.pieces for one in piece.doubts)


def test_stages_that_overlap_are_said_to() -> None:
    text = "sB: Sw<3,4,3> o smem_ptr[16b](0x400) o ((_8,_8),(_64,_1),_4):((_64,_512),(_1,_0),_{})"
    (apart,) = build_workbench(text.format(4096)).pieces
    (over,) = build_workbench(text.format(2048)).pieces
    assert not apart.notices and over.notices == (
        "The stages overlap: each holds 4,096 elements and begins 2,048 after the one before.",
    )


@given(
    tile=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 12)), min_size=2, max_size=2),
    last=st.tuples(st.integers(2, 4), st.integers(0, 40)),
)
@example(tile=((8, 8), (4, 2)), last=(2, 1))
@example(tile=((4, 1), (4, 8)), last=(3, 4))
def test_stages_overlap_where_two_hold_one_element(
    tile: tuple[tuple[int, int], tuple[int, int]], last: tuple[int, int]
) -> None:
    (rows, row_step), (columns, column_step), (stages, apart) = *tile, last
    layout = CuteLayout((rows, columns, stages), (row_step, column_step, apart))
    held = [
        {apart * stage + row * row_step + column * column_step for row in range(rows) for column in range(columns)}
        for stage in range(stages)
    ]
    shared = any(held[i] & held[j] for i in range(stages) for j in range(i))
    assert bool(describe_stage_overlap(layout, apart)) == shared


@for_each(
    ("unit_bits", "stride", "stage_bytes"), [(None, 4096, 8192), (16, 4096, 8192), (8, 8192, 8192), (16, None, 0)]
)
def test_stages_of_a_cute_layout_lie_its_stride_apart_in_bytes(
    unit_bits: int | None, stride: int | None, stage_bytes: int
) -> None:
    """The stride counts the layout's unit: elements, of f16 here, unless its pointer has another size."""
    layout = PrintedLayout("sA", "(64,64):(64,1)", (0, 1), unit_bits, stage_stride=stride)
    request = tiles.TileRequest("a", View(64, 16, 16, "K"), 64, 64, {})
    made = tiles.lay_tile(stores.TileStore(0, layout=layout), request)
    assert isinstance(made, tiles.StoredTile) and made.stage_bytes == stage_bytes
