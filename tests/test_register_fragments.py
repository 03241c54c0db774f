"""Fragments in words: registers of a thread as CuTe's headers print them, as the maps of the instructions say, and as
the guide's pages tell them.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app.guide import fragments as words
from lanescope.app.guide.index import read_source
from lanescope.app.guide.rendering import render_guide_page
from lanescope.cute import algebra
from lanescope.cute.calls import evaluate_statements
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.ptx.catalog import instructions
from lanescope.shared import chain
from lanescope.shared.operand_storage import make_operand_storage
from lanescope.tiles.copy import tiled_copy
from lanescope.tiles.copy_layouts import copy_from_layouts
from lanescope.tiles.fragments import make_fragment, retile_fragment
from lanescope.tiles.mma import TiledMMA
from lanescope.tiles.tiled_mma import tiled_mma
from tests.cases import for_each
from tests.sample import FULL

GOLDEN = Path(__file__).parent / "golden" / "fragments"
PRINTED = dict(line.split(" | ") for line in (GOLDEN / "printed.txt").read_text().splitlines())
RELEASES = dict(line.split(" | ") for line in (GOLDEN / "releases.txt").read_text().splitlines())
MMAS = {
    "atom8": tiled_mma("SM80_16x8x8_F32F16F16F32_TN"),
    "atom": tiled_mma("SM80_16x8x16_F32F16F16F32_TN"),
    "square": tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(32,32,16)"),
    "flash": tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(4,1,1)", "(64,16,16)"),
    "hopper": tiled_mma("SM90_64x64x16_F32F16F16_RS"),
}
TENSORS = {
    "(16,64):(1,16)": "(16,64):(1,16)",
    "K": "(128,64):(64,1)",
    "M": "(128,64):(1,128)",
    "N": "(128,64):(1,128)",
    "K swizzled": "Sw<3,3,3> o 0 o ((8,16),64):((64,512),1)",
    "K narrow": "Sw<2,3,3> o 0 o ((8,16),(32,2)):((32,256),(1,4096))",
    "Vt": "Sw<3,3,3> o 0 o ((64,2),64):((1,4096),64)",
    "Vt plain": "((64,2),64):((1,4096),64)",
}
COPIES = {"x4": 8, "x2": 4, "x4t": 8, "x2t": 4, "one": 2, "two": 2}  # values of each copy atom


def strip(text: str) -> CuteLayout:
    """A layout as CuTe prints it, strides of modes of size 1 as 0."""
    plain = re.sub(r"M_0\|\(0&384\)=0", "0", text.replace("_", ""))
    plain = re.sub(r"\((\d+)\)", r"(\1,1)", plain) if plain.startswith("((2),") else plain
    return drop(parse_cute_layout(re.sub(r"M0\|\(0&384\)=0", "0", plain)))


def drop(one: CuteLayout) -> CuteLayout:
    def walk(shape: Any, stride: Any) -> Any:
        if isinstance(shape, int):
            return stride if shape > 1 else 0
        return tuple(walk(s, d) for s, d in zip(shape, stride, strict=True))

    return CuteLayout(one.shape, walk(one.shape, one.stride), one.swizzle)


def evaluate(text: str) -> Any:
    last = evaluate_statements(text)[-1]
    assert last.error is None, last.error
    return last.result


def list_printed(pattern: str) -> list[tuple[str, ...]]:
    found = [(*match.groups(), value) for name, value in PRINTED.items() if (match := re.fullmatch(pattern, name))]
    assert found
    return found


def test_fragments_have_the_strides_that_cutes_headers_print() -> None:
    for mma, tensor, what, letter, value in list_printed(
        r"(atom8|square|flash|hopper) (.+) (partition|fragment)_([AB])"
    ):
        made = make_fragment(MMAS[mma], letter, parse_cute_layout(TENSORS[tensor]))
        assert drop(made.partition if what == "partition" else made.registers) == strip(value), (mma, tensor, what)
    for mma, value in list_printed(r"two (\w+) fragment_C"):
        size = 128 if mma == "hopper" else 64
        assert drop(make_fragment(MMAS[mma], "c", CuteLayout((size, size), (1, size))).registers) == strip(value)


def test_retiled_fragments_are_those_that_cutes_headers_print() -> None:
    for copy, mma, tensor, letter, value in list_printed(r"(\w+) (\w+) (\w+) retile_D of ([AB])"):
        fragment = make_fragment(MMAS[mma], letter, parse_cute_layout(TENSORS[tensor]))
        assert drop(retile_fragment(MMAS[mma], fragment, COPIES[copy])) == strip(value), (copy, mma, tensor)
    for copy, mma, value in list_printed(r"(two) (\w+) retile_S"):
        size = 128 if mma == "hopper" else 64
        fragment = make_fragment(MMAS[mma], "c", CuteLayout((size, size), (1, size)))
        assert drop(retile_fragment(MMAS[mma], fragment, COPIES[copy])) == strip(value), mma


def test_values_in_rows_are_retiled_as_cutes_headers_print() -> None:
    tv, tiler = copy_from_layouts("(16,2):(1,16)", "(2,4):(4,1)")
    held = CuteLayout((1, 4, 8), (0, 1, 4))
    for values, name in ((1, "singles"), (4, "fours")):
        assert drop(algebra.retile(held, tv, tiler, values)) == strip(PRINTED[f"rows of 4, {name}"])


@for_each(
    ("expression", "name"),
    [
        ("make_fragment_like(((2,2),1,8):((16,8),0,128))", "like 1"),
        ("make_fragment_like(((2,2),4,8):((1,8),1024,16))", "like 2"),
        ("make_fragment_like((8,4,(2,2)):(4,256,(1024,64)))", "like 3"),
        ("make_fragment_like((8,3,5):(0,0,8))", "like 4"),
        ("make_fragment_like(8:16)", "like 5"),
        ("make_fragment_like(((4,2),3,5):((0,9),7,7))", "like 6"),
        ("make_layout_like((2,2,2,2):(0,2,4,1))", "ordered 1"),
        ("make_layout_like(((2,3),5):((30,1),3))", "ordered 2"),
        ("convert_layout_acc_rowcol(((2,2),1,8):((1,2),0,4))", "acc rowcol"),
        ("convert_layout_acc_rowcol((4,1,8):(1,0,4))", "acc rowcol"),
        ("flash::convert_layout_acc_rowcol</*Transposed=*/true>((4,2,8):(1,4,8))", "acc of 4 rowcol transposed"),
        ("convert_layout_acc_Aregs((4,2,8):(1,4,8))", "acc of 4 Aregs"),
        ("make_fragment_like<half_t>(((2,2),1,8):((16,8),0,128))", "like 1"),
        ("convert_layout_acc_rowcol(((2,2,8),2,2):((1,2,4),32,64))", "hopper rowcol"),
        ("convert_layout_acc_Aregs(((2,2),1,8):((1,2),0,4))", "acc Aregs"),
        ("flash::convert_layout_acc_Aregs<16>(((2,2,8),2,2):((1,2,4),32,64))", "hopper Aregs 16"),
        ("convert_layout_acc_Aregs<8>(((2,2,8),2,2):((1,2,4),32,64))", "hopper Aregs 8"),
        ("tile_to_shape((8,64):(64,1), (64,128))", "KV"),
        (
            "composition(tile_to_shape((8,64):(64,1), (64,128)), make_layout(Shape<_128,_64>{}, GenRowMajor{}))",
            "Vt plain",
        ),
        ("tile_to_shape((64,64):(1,64), (128,64))", "Vt of kBlockN"),
        ("tile_to_shape((64,8):(1,64), (128,64))", "Vt of 8"),
        ("tile_to_shape((64,8):(1,64), (128,64), Step<_2,_1>{})", "Vt of 8, N first"),
    ],
)
def test_an_expression_gives_what_cutes_headers_print(expression: str, name: str) -> None:
    printed = strip(PRINTED[name])
    assert drop(evaluate(expression)) == CuteLayout(printed.shape, printed.stride)


def test_the_conversions_can_be_written_as_flashattention_writes_them() -> None:
    acc = "auto acc = ((2,2),1,8):((1,2),0,4);"
    rows = (
        "auto l = logical_divide(acc, Shape<_2>{});"
        " make_layout(make_layout(get<0, 1>(l), get<1>(l)), make_layout(get<0, 0>(l), get<2>(l)))"
    )
    steps = (
        "using X = Underscore; auto l = logical_divide(acc, Shape<X, X, _2>{});  // (4, MMA_M, (2, MMA_N / 2))\n"
        " return make_layout(make_layout(get<0>(l), get<2, 0>(l)), get<1>(l), get<2, 1>(l))"
    )
    assert evaluate(f"{acc} {rows}") == evaluate(f"{acc} convert_layout_acc_rowcol(acc)")
    assert evaluate(f"{acc} {steps}") == evaluate(f"{acc} convert_layout_acc_Aregs(acc)")


@pytest.mark.skipif(not FULL, reason="compiles CuTe, a minute or more")
def test_the_printed_lines_are_the_programs_output(tmp_path: Path) -> None:
    spec, nvidia = importlib.util.find_spec("cutlass_library"), importlib.util.find_spec("nvidia")
    cutlass = Path(spec.origin).parent / "source" / "include" if spec and spec.origin else Path()
    places = (nvidia.submodule_search_locations or []) if nvidia else []
    cuda = next((found for place in places for found in Path(place).glob("cu*/include")), None)
    if not (cutlass / "cute").is_dir() or cuda is None:
        pytest.skip("no headers of CUTLASS and CUDA")
    folders = [f"-I{cutlass}", f"-I{cuda}", f"-I{cuda}/cccl"]
    program = str(tmp_path / "printed")
    subprocess.run(["g++", "-std=c++17", "-w", *folders, str(GOLDEN / "printed.cpp"), "-o", program], check=True)
    assert (
        subprocess.run([program], capture_output=True, text=True, check=True).stdout
        == (GOLDEN / "printed.txt").read_text()
    )


# what the maps of the instructions say --------------------------------------------------------------------------------


def list_elements(made: TiledMMA, operand: str, thread: int, registers: CuteLayout) -> dict[int, tuple[int, int]]:
    """Register → element that a thread holds there, values in the order of the partition."""
    op = made.operand(operand)
    return {
        int(register): (int(op.rows[thread, value]), int(op.cols[thread, value]))
        for value, register in enumerate(registers.list_indices())
    }


@for_each("name", ["square", "flash"])
def test_rowcol_gathers_each_row_of_a_thread(name: str) -> None:
    atom, atoms, permutation = words.MMAS[name]
    made = tiled_mma(atom, atoms, permutation, (64, 64, 16))
    acc = make_fragment(made, "c", CuteLayout((64, 64), (64, 1))).registers
    rows, columns = algebra.convert_layout_acc_rowcol(acc).modes
    for thread in (0, 5, 31, 77, 127):
        held = list_elements(made, "c", thread, acc)
        met = {}
        for r, c in itertools.product(range(rows.size), range(columns.size)):
            row, column = held[rows(r) + columns(c)]
            assert met.setdefault(("row", r), row) == row and met.setdefault(("column", c), column) == column
        assert len(set(met.values())) >= max(rows.size, columns.size) and len(met) == rows.size + columns.size


def test_aregs_are_a_of_the_next_product() -> None:
    """The register that the conversion names for a value of A holds the element of D that A has there."""
    atom, atoms, permutation = words.MMAS["flash"]
    first = tiled_mma(atom, atoms, permutation, (64, 64, 16))
    second = tiled_mma(atom, atoms, permutation, (64, 16, 64))
    acc = make_fragment(first, "c", CuteLayout((64, 64), (64, 1))).registers
    regs = algebra.convert_layout_acc_aregs(acc).list_indices()
    for thread in (0, 9, 63, 127):
        held = list_elements(first, "c", thread, acc)
        assert [held[int(at)] for at in regs] == list(
            zip(second.a.rows[thread].tolist(), second.a.cols[thread].tolist(), strict=True)
        )


def test_fp8_registers_become_a_in_another_order_of_k() -> None:
    """FlashAttention's swap inside a lane, then the 8-bit conversion: every lane keeps its rows, and all lanes agree on
    which column of D stands for which k.
    """
    d = find("wgmma.mma_async.m64n128k32.f32.e4m3.e4m3").operand("d")
    a = find("wgmma.mma_async.m64n64k32.f32.e4m3.e4m3").operand("a")
    registers = np.arange(d.rows.shape[1]).reshape(16, 2, 2)  # block of 8 columns, row, column
    for pair in range(8):  # permute_Cregs_fp8: row 1 of an even block against row 0 of the next
        registers[[2 * pair, 2 * pair + 1], [1, 0]] = registers[[2 * pair + 1, 2 * pair], [0, 1]]
    at = registers.reshape(-1)
    regs = algebra.convert_layout_acc_aregs(parse_cute_layout("((2,2,16),1,1):((1,2,4),64,64)"), 8).list_indices()
    steps = regs.reshape(4, 16)  # K step, values of A
    stands: dict[int, int] = {}
    for thread, step, value in itertools.product((0, 1, 6, 35, 127), range(4), range(16)):
        held = int(at[steps[step, value]])
        assert d.rows[thread, held] == a.rows[thread, value]
        k = 32 * step + int(a.cols[thread, value])
        assert stands.setdefault(k, int(d.cols[thread, held])) == d.cols[thread, held]
    assert len(set(stands.values())) == len(stands) and any(k != n for k, n in stands.items())


@for_each(
    ("name", "letter", "atom"),
    [("square", "b", "SM75_U32x4_LDSM_N"), ("square", "a", "SM75_U32x2_LDSM_N"), ("flash", "b", "SM75_U32x4_LDSM_N")],
)
def test_a_retiled_fragment_has_what_the_copy_brings(name: str, letter: str, atom: str) -> None:
    """Value by value, the copy's element is the one that the fragment has in that register."""
    text, atoms, permutation = words.MMAS[name]
    made = tiled_mma(text, atoms, permutation)
    m, n, k = made.shape
    rows = m if letter == "a" else n
    fragment = make_fragment(made, letter, CuteLayout((rows, k), (k, 1)))
    values = 8 if "x4" in atom else 4
    retiled = retile_fragment(made, fragment, values)
    copy = tiled_copy(atom, tiled_mma=made, operand=letter, element_bits=16, tile=(rows, k))
    for thread in (0, 3, 33, 127):
        held = list_elements(made, letter, thread, fragment.registers)
        brought = [
            (int(r), int(c)) for r, c in zip(copy.destination.rows[thread], copy.destination.cols[thread], strict=True)
        ]
        have = [held[int(register)] for register in retiled.list_indices()]
        assert have == (brought if letter == "a" else [(c, r) for r, c in brought])


def test_masks_are_the_ctas_that_differ_in_the_free_mode() -> None:
    for name, value in PRINTED.items():
        if match := re.fullmatch(r"mask \(1,2,4,1\) of (\d),(\d)", name):
            m, n = map(int, match.groups())
            masks = [evaluate(f"create_tma_multicast_mask<{mode}>((1,2,4,1), (0,{m},{n},0))") for mode in (2, 1)]
            assert masks == list(map(int, value.split()))
            assert masks[0] == sum(1 << m + 2 * other for other in range(4)) and masks[1] == 0b11 << 2 * n
    pair = "(2,2,2,1):(1,2,4,0)"
    masks = [evaluate(f"create_tma_multicast_mask<{mode}>({pair}, (1,1,0,0))") for mode in (2, 1)]
    assert masks == list(map(int, PRINTED["mask of the pair"].split()))
    assert evaluate(f"create_tma_multicast_mask<0,2>({pair}, (1,1,0,0))") == int(PRINTED["mask of both modes"])
    nested = [evaluate(f"create_tma_multicast_mask(((2,2),4), make_coord({at},2))") for at in ("make_coord(_,1)", "1")]
    assert nested == list(map(int, PRINTED["mask of underscores"].split()))


def test_an_accumulator_that_is_not_whole_steps_is_said_to_be_too_short() -> None:
    """CuTe compiles it: its division rounds up."""
    assert "the accumulator has 12" in evaluate_statements("convert_layout_acc_Aregs(((2,2),1,3):((1,2),0,4))")[-1].says


@for_each(
    ("expression", "why"),
    [
        ("get<3>((2,3))", "has no mode 3"),
        ("convert_layout_acc_rowcol((8,2,2))", "is not an accumulator"),
        ("convert_layout_acc_Aregs<8>(((2,2),1,8):((1,2),0,4))", "for 16 bits only"),
        ("create_tma_multicast_mask<0>((4,8), (0,0))", None),
        ("create_tma_multicast_mask<1>((4,8), (0,0))", "rank 28"),
        ("create_tma_multicast_mask<2>((2,4), (0,0))", "has 2 coordinates"),
        ("create_tma_multicast_mask<1>((2,4), (2,0))", "2 is past the end of a mode of size 2"),
        ("retile((6,1,1), (32,8):(8,1), (16,16), 8)", "cannot be retiled"),
    ],
)
def test_what_cute_would_not_compile_says_why(expression: str, why: str | None) -> None:
    error = evaluate_statements(expression)[-1].error
    assert (error is None) if why is None else (error is not None and why in error.message)


def test_a_tiled_mma_in_angle_brackets_is_asked_for_its_bits() -> None:
    with pytest.raises(LayoutError, match=r"names a TiledMMA, 'Kernel::TiledMma'.*Give the bits of A"):
        evaluate("convert_layout_acc_Aregs<Kernel::TiledMma>(((2,2),1,8))")


def test_a_fragment_of_shared_memory_and_of_another_size_is_refused() -> None:
    with pytest.raises(LayoutError, match="read from shared memory"):
        make_fragment(MMAS["hopper"], "b", CuteLayout((64, 16), (16, 1)))
    with pytest.raises(LayoutError, match="not a multiple of the TiledMMA's 32"):
        make_fragment(MMAS["square"], "a", CuteLayout((48, 16), (16, 1)))


# the threads ----------------------------------------------------------------------------------------------------------


def test_a_fragment_kept_the_swizzle_up_to_cutlass_3_5_0() -> None:
    """flash-attention #1107: what the page says of each release is what its headers print."""
    old = "Sw<1,0,-2> o ((2,2),(8,2),4):((1,2),(4,128),32)"
    assert f"`{old}`" in read_source("v-without-swizzle")
    swizzled = {name.split()[0]: value for name, value in RELEASES.items() if name.endswith("swizzled fragment_B")}
    plain = {name.split()[0]: value for name, value in RELEASES.items() if name.endswith("plain fragment_B")}
    assert list(swizzled) == ["3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0", "3.5.1", "3.6.0", "4.7.0"]
    for release, value in swizzled.items():
        before = release < "3.5.1"
        assert strip(value.replace("S<", "Sw<")) == (drop(parse_cute_layout(old)) if before else strip(plain[release]))
    layouts = [parse_cute_layout(TENSORS[name]) for name in ("Vt", "Vt plain")]
    fragments = [make_fragment(MMAS["flash"], "b", layout).registers for layout in layouts]
    assert fragments[0] == fragments[1] and drop(fragments[0]) == strip(plain["4.7.0"])
    split = parse_cute_layout(old)
    assert [split(0, 0, 0), split(1, 0, 0)] == [0, 5] and "16-bit registers 0 and 5" in render_guide_page(
        "v-without-swizzle"
    )


def test_v_is_loaded_without_bank_conflicts() -> None:
    op = find("mma.m16n8k16.row.col.f32.f16.f16.f32").operand("b")
    stored = {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "inner": "MN"}
    load = find("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16")
    made = chain.make_chain(load, op, make_operand_storage(stored, op, "MN"))
    assert made.match and [cost.wavefronts for cost in made.costs] == [2]


@for_each("depth", [64, 128, 256])
def test_an_atom_of_8_rows_misses_v_above_head_dimension_64(depth: int) -> None:
    """flash-attention #456, by the offsets written out: V's rows follow one another in groups of 64 columns."""
    d, n = np.meshgrid(np.arange(depth), np.arange(64), indexing="ij")
    stored = d // 64 * 64 * 64 + n * 64 + d % 64
    by_8 = n // 8 * 8 * depth + d // 64 * 512 + n % 8 * 64 + d % 64
    assert words.count_misplaced(depth, 8, None) == (int((stored != by_8).sum()), 64 * depth)
    assert bool(words.count_misplaced(depth, 8, None)[0]) == (depth > 64)
    assert words.count_misplaced(depth, 64, None)[0] == words.count_misplaced(depth, 8, (2, 1))[0] == 0


def test_the_table_of_accumulators_is_what_the_fragments_say() -> None:
    """Of four columns of an 8-bit A a lane has one, of two columns of tf32 as well; 16-bit A is D itself."""
    stays = [row.split("|")[4].strip() for row in words.render_accumulators().splitlines()[2:]]
    shares = []
    for first, second in words.PAIRS:
        d, a = find(first).operand("d"), find(second).operand("a")
        owner = {}
        for tile in range(max(1, a.col_count // d.col_count)):
            for thread, value in np.ndindex(*d.rows.shape):
                owner[int(d.rows[thread, value]), tile * d.col_count + int(d.cols[thread, value])] = thread
        same = sum(
            owner[int(a.rows[thread, value]), int(a.cols[thread, value])] == thread
            for thread, value in np.ndindex(*a.rows.shape)
        )
        shares.append(same / a.rows.size)
    counted = [int(one.split(" of ")[0].replace(",", "")) / int(one.split(" of ")[1].replace(",", "")) for one in stays]
    assert counted == shares == [1, 1, 0.25, 1, 0.25, 0.25, 1, 0.25]


def test_what_one_thread_issues_is_not_aligned() -> None:
    """elect_one: `.sync.aligned` is what needs a whole warp, by the instructions of the catalogue and of PTX."""
    whole = [
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        "mma.m16n8k16.row.col.f32.f16.f16.f32",
        "wgmma.mma_async.m64n64k16.f32.f16.f16",
    ]
    assert all(".sync.aligned" in find(name).ptx for name in whole)
    rows = re.findall(r"^\| (`.*?) \| (one thread|a whole \w+) \| (.*) \|$", read_source("elect-one"), re.M)
    issued = {name: who for names, who, _ in rows for name in re.findall(r"`([\w.]+)`", names)}
    assert all((who == "one thread") != (".sync.aligned" in why) for _, who, why in rows)
    single = [name for name, who in issued.items() if who == "one thread"]
    assert single == [
        *("mbarrier.init", "mbarrier.arrive.expect_tx", "cp.async.bulk.tensor"),
        *("tcgen05.mma", "tcgen05.cp", "tcgen05.commit"),
    ]
    for opcode, aligned in (("mma", False), ("cp", False), ("ld", True), ("st", True)):
        found = [one.ptx for one in instructions() if one.ptx.startswith(f"tcgen05.{opcode}.")]
        assert found and all((".sync.aligned" in ptx) == aligned for ptx in found)
