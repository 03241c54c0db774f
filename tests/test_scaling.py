"""Scale factors from row-major to tensor memory, and metadata in CUTLASS's order: against the layouts that CUTLASS
states, against what the instructions are known to take, and by running the code.
"""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from lanescope.blackwell import idesc, scale_atoms, scaling, tmem
from lanescope.blackwell.tmem import TmemMma
from lanescope.cute.text import parse_layout
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, codec, compressed_metadata
from lanescope.render import scaling as code
from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from tests import cpp
from tests.cases import for_each
from tests.client import share_client
from tests.ptxas import nvrtc

HOST = (
    "#include <cstring>\n#include <cstdio>\n#define __host__\n#define __device__\n#define __global__\n"
    "struct Three { unsigned x; }; static Three blockIdx{0}, blockDim{64}, threadIdx{0}, gridDim{1};\n"
    "struct uint2 { unsigned x, y; }; static uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }\n"
)
# TensorEAtom of CUTLASS in elements, (shape):(stride), as its files state it; an index covers 4 elements (tf32: 2,
# e2m1: 8). make_ordered_layout is written out.
CUTLASS = (
    ("tcgen05.mma.sp", "f16", 0, "((8,2,8),(16,2,4)):((128,16,2048),(1,1024,32))"),
    ("tcgen05.mma.sp", "tf32", 0, "((8,2,8),(8,2,4)):((64,8,1024),(1,512,16))"),
    ("tcgen05.mma.sp", "e4m3", 0, "(128,128):(128,1)"),
    ("tcgen05.mma.sp", "e2m1", 0, "(128,256):(256,1)"),
    ("wgmma.sp", "bf16", 128, "((8,2,4),(16,2,4)):((128,16,2048),(1,1024,32))"),
    ("wgmma.sp", "tf32", 32, "((8,2,4),(8,2,2)):((32,8,512),(1,256,16))"),
    ("wgmma.sp", "s8", 128, "(64,128):(128,1)"),
)


@for_each(("opcode", "element", "tile_k", "layout"), CUTLASS)
def test_an_order_is_the_layout_that_cutlass_states(opcode: str, element: str, tile_k: int, layout: str) -> None:
    rows, k = compressed_metadata.get_atom_size(opcode, element, tile_k)
    one = compressed_metadata.make_metadata_order(opcode, element, rows, k, tile_k)
    offset = parse_layout(layout).list_indices().reshape(k, rows).T  # of CuTe's (m, k), m fastest
    at = offset[:, :: one.group] // one.group
    row, group = one.coords
    assert np.array_equal(at[row.ravel(), group.ravel()], np.arange(row.size)) and one.bytes == row.size // 2


def reorder_metadata(source: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """cutlass/util/host_reorder.h, with ColumnMajorInterleaved<2>, line by line."""
    rows, cols = source.shape
    out = np.zeros(rows * cols, source.dtype)
    group, interweave = (32, 4) if source.dtype.itemsize == 2 else (16, 2)
    for m in range(rows):
        for k in range(cols):
            r, c = m // group * group + m % 8 * interweave + m % group // 8, k
            if r % 2 == 0 and c % 2 == 1:
                r, c = r + 1, c - 1
            elif r % 2 == 1 and c % 2 == 0:
                r, c = r - 1, c + 1
            out[c // 2 * rows * 2 + r * 2 + c % 2] = source[m, k]
    return out


@for_each(("element", "unit"), [("f16", np.uint16), ("tf32", np.uint16), ("s8", np.uint32)])
def test_mma_sp_is_cutlasss_reordering(element: str, unit: Any) -> None:
    rows, k = (2 * size for size in compressed_metadata.get_atom_size("mma.sp", element))
    one = compressed_metadata.make_metadata_order("mma.sp", element, rows, k)
    indices = np.random.default_rng(3).integers(0, 16, (rows, one.groups), dtype=np.uint8)
    packed = (indices[:, 0::2] | indices[:, 1::2] << 4).view(unit)
    assert np.array_equal(reorder_metadata(packed).view(np.uint32), one.pack_words(indices))


@for_each(
    "text",
    [
        "m16n8k32.row.col.f32.f16.f16.f32",
        "m16n8k16.row.col.f32.tf32.tf32.f32",
        "m16n8k64.row.col.s32.s8.s8.s32",
        "m16n8k128.row.col.s32.s4.s4.s32",
    ],
)
def test_ldmatrix_brings_each_lane_the_word_that_mma_sp_reads(text: str) -> None:
    """Row g of an 8x8 matrix holds the words of lanes 4g to 4g + 3: the lane of a word is its number."""
    op = catalog.find(f"mma.sp::ordered_metadata.{text}").operand("a")
    assert op.sparsity is not None
    element = text.split(".")[4]
    one = compressed_metadata.make_metadata_order(
        "mma.sp", element, *compressed_metadata.get_atom_size("mma.sp", element)
    )
    stored = op.coords["col"] // op.sparsity.kept  # the group of each value
    for selector in range(op.sparsity.selectors):
        lane, bit = op.sparsity.find_suppliers(selector)
        for thread in (0, 5, 18, 31):
            for value in range(op.values):
                row, group = int(op.rows[thread, value]) + 16 * selector, int(stored[thread, value])
                word, first = one.locate_index(row, group)
                assert (word, first) == (lane[thread, value], bit[thread, value] & ~3)


def test_blackwells_order_is_the_image_of_tensor_memory() -> None:
    """16 bytes a lane, as tcgen05.cp.128x128b copies them: column c of a K step is word c of the lane."""
    for kind, element, steps in (("f16", "f16", 4), ("tf32", "tf32", 4), ("f8f6f4", "e4m3", 2)):
        one = compressed_metadata.make_metadata_order(
            "tcgen05.mma.sp", element, *compressed_metadata.get_atom_size("tcgen05.mma.sp", element)
        )
        held = tmem.make_tmem_layout(TmemMma(idesc.get_kind(kind), "cta_group::1", True, 128, 64), "metadata").pattern
        row, group = held.evaluate()
        for step in range(steps):
            wide = one.groups // steps
            words = [
                one.locate_index(int(r), int(g) + step * wide) for r, g in zip(row.ravel(), group.ravel(), strict=True)
            ]
            lane, unit = np.divmod(np.arange(row.size), row.shape[1])
            word = 4 * lane + step * (row.shape[1] // 8) + unit // 8
            assert words == list(zip(word.tolist(), (4 * (unit % 8)).tolist(), strict=True))


@pytest.mark.parametrize("opcode", ["mma.sp", "wgmma.sp", "tcgen05.mma.sp"])
def test_the_code_of_metadata_runs(opcode: str) -> None:
    one = compressed_metadata.make_metadata_order(opcode, "tf32", 128, 64, 32 if opcode == "wgmma.sp" else 0)
    indices = np.random.default_rng(4).integers(0, 16, (one.rows, one.groups), dtype=np.uint8)
    scope: dict[str, Any] = {}
    exec(code.render_metadata(one)["numpy"], scope)
    assert np.array_equal(scope["reorder"](indices), one.pack_words(indices))
    if cpp.find_compiler() is None:
        pytest.skip(cpp.MISSING)
    loop = (
        f"int main() {{ for (unsigned r = 0; r < {one.rows}; ++r) for (unsigned g = 0; g < {one.groups}; ++g) {{"
        f' const uint2 at = metadata_at(r, g, {one.rows}); printf("%u %u ", at.x, at.y); }} }}'
    )
    told = np.array(cpp.build_and_run(HOST + code.render_metadata(one)["cuda"] + loop).decode().split(), int).reshape(
        -1, 2
    )
    wanted = [one.locate_index(r, g) for r in range(one.rows) for g in range(one.groups)]
    assert np.array_equal(told, wanted)


# scale factors --------------------------------------------------------------------------------------------------------

FACTORS = np.array([1.0, 0.75, 3.1, 2**-126, 2**-130, 2**127, 1.5 * 2**126, 2**-5 * 1.0001] * 75, np.float32).reshape(
    200, 3
)


def _build_tile(**given: Any) -> tuple[scaling.ScaleOperand, scaling.ScaleOperand]:
    kind, form = idesc.get_kind(given.get("kind", "mxf8f6f4")), given.get("form", "cta_group::1")
    mma = TmemMma(kind, form, False, given.get("m", 128), given.get("n", 256), scale_vec=given.get("vec", ""))
    return scaling.make_scale_operands(mma, given.get("k", 256), (256, None), (0, None))


def test_ue8m0_and_the_order_of_atoms_in_every_language() -> None:
    scope: dict[str, Any] = {}
    exec(code.render_order()["numpy"], scope)
    codes = scope["ue8m0"](FACTORS)
    meant = codec.decode_bits(codes.ravel(), "ue8m0").reshape(FACTORS.shape)
    assert (meant >= FACTORS).all() and (meant / 2 < FACTORS)[FACTORS > 2**-126].all()
    atoms = scope["to_atoms"](codes)
    rows, count = codes.shape
    assert atoms.size == 256 * 4
    at = scale_atoms.compute_factor_offset(np.arange(rows)[:, None], np.arange(count)[None], 4)
    assert np.array_equal(atoms[at], codes) and atoms.sum() == codes.astype(int).sum() % (1 << 32)
    assert scope["words"](np.array([[1, 2, 3, 4]], np.uint8)).tolist() == [[0x04030201]]
    if cpp.find_compiler() is not None:
        given = ", ".join(repr(float(x)) + "f" if "." in repr(float(x)) else f"{float(x)!r}f" for x in FACTORS.ravel())
        main = (
            f"int main() {{ static float factors[] = {{{given}}}; static unsigned char atoms[1024];"
            f" for (threadIdx.x = 0; threadIdx.x < 64; ++threadIdx.x) to_atoms(factors, atoms, {rows}, {count});"
            " fwrite(atoms, 1, 1024, stdout); }"
        )
        assert np.array_equal(
            np.frombuffer(cpp.build_and_run(HOST + code.render_order()["cuda"] + main), np.uint8), atoms
        )
    try:
        import torch
    except ImportError:
        return  # its text is that of NumPy's, held by the pages
    scope = {}
    exec(code.render_order()["pytorch"], scope)
    told = scope["to_atoms"](scope["ue8m0"](torch.from_numpy(FACTORS)))
    assert np.array_equal(told.numpy(), atoms)


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_the_cuda_code_compiles() -> None:
    for blocks in (1, 2, 4):
        _, log = nvrtc.compile_ptx(code.render_order()["cuda"] + code.render_register(blocks), "sm_120a")
        assert not log


@pytest.mark.skipif(cpp.find_compiler() is None, reason=cpp.MISSING)
@for_each("vec", ["1X", "2X", "4X"])
def test_a_register_of_mma_sync_holds_what_the_instruction_reads(vec: str) -> None:
    """Each factor that an instruction reads of a lane and byte is the factor of that row and block."""
    text = {
        "1X": "mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0",
        "2X": "mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        "4X": "mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
    }[vec]
    found = catalog.find(f"mma.sync.aligned.m16n8k{32 if vec == '1X' else 64}.row.col.kind::{text}")
    blocks = found.scales["scale_a"].blocks
    factors = np.arange(32 * 8, dtype=np.uint8).reshape(32, 8)
    held = ", ".join(map(str, factors.ravel()))
    main = (
        f"static unsigned char f[] = {{{held}}}; int main() {{ for (unsigned lane = 0; lane < 32; ++lane)"
        ' printf("%u %u ", scale_a(f, lane, 16, 8, 4), scale_b(f, lane, 16, 8, 4)); }'
    )
    told = np.array(cpp.build_and_run(HOST + code.render_register(blocks) + main).decode().split(), np.uint32).reshape(
        32, 2
    )
    for side, (name, scale) in enumerate(found.scales.items()):
        for thread_id in scale.thread_ids:
            for step in range(4 // blocks):
                thread, byte = scale.find_owners(step * blocks, thread_id)
                read = told[thread, side] >> (8 * byte).astype(np.uint32) & 0xFF
                rows = np.arange(read.shape[0])[:, None] + 16
                assert np.array_equal(read, factors[rows, 4 + step * blocks + np.arange(blocks)]), name


CASES = (
    {},
    {"kind": "mxf4", "n": 192},
    {"kind": "mxf4nvf4", "vec": "4X", "n": 64},
    {"kind": "mxf4nvf4", "vec": "2X"},
    {"form": "cta_group::2", "m": 256, "n": 128},
    {"n": 8, "k": 128},
)


@for_each("case", CASES, ids=str)
def test_copies_bring_every_factor_where_the_mma_reads_it(case: dict[str, Any]) -> None:
    """Shared memory is filled as the tile says, the copies are carried out by their descriptors and tcgen05.cp's map,
    and each step reads by CUTLASS's map of the columns and ids that it names.
    """
    for side in _build_tile(**case):
        codes = np.random.default_rng(5).integers(0, 256, (side.padded, side.factors), dtype=np.uint8)
        shared = np.zeros(side.shared + side.padded * side.factors, np.uint8)
        for row in range(side.padded):
            for factor in range(side.factors):
                shared[side.shared + side.shared_offset(row, factor)] = codes[row, factor]
        memory = np.zeros((128, 512), np.uint32)
        line, word = tmem.parse_access(scaling.format_copy_ptx(side.mma)).pattern.evaluate()
        for one in side.list_copies():
            assert one.descriptor.sbo_bytes == 128 and one.descriptor.mode.name == "none"
            at = one.descriptor.start_address + line // 8 * one.descriptor.sbo_bytes + line % 8 * 16 + 4 * word
            memory[:, one.column : one.column + 4] = sum(shared[at + n].astype(np.uint32) << 8 * n for n in range(4))
        held = side.layout.pattern
        row, scale = held.evaluate()
        a, b = _build_tile(**case)
        for n, step in enumerate(scaling.list_mma_steps(a, b)):
            which = side.operand == "scale_b"
            lane, unit = np.indices(row.shape)
            chosen = (unit % 4 // side.per_step == step.ids[which] // side.per_step) & (row < side.rows)
            read = memory[lane, step.columns[which] + unit // 4] >> (8 * (unit % 4)).astype(np.uint32) & 0xFF
            assert np.array_equal(read[chosen], codes[row, n * side.per_step + scale][chosen])
            part = step.word.kind.get_field("sfb_id" if which else "sfa_id")
            assert part.field.get(step.word.word) == step.ids[which]


# sSFA of CUTLASS (cutlass/detail/sm100_blockscaled_layout.hpp), written out: rows, factors of the tile, layout.
SHARED = (
    (128, 8, "((32,4),(4,2)):((16,4),(1,512))"),
    (256, 16, "((32,4,2),(4,4)):((16,4,512),(1,1024))"),
)


@for_each(("rows", "factors", "layout"), SHARED)
def test_shared_memory_is_as_cutlass_lays_it(rows: int, factors: int, layout: str) -> None:
    side = _build_tile(n=256, k=32 * factors)[1 if rows == 256 else 0]
    offset = parse_layout(layout).list_indices().reshape(factors, rows).T
    mine = [[side.shared_offset(row, factor) for factor in range(factors)] for row in range(rows)]
    assert (side.padded, side.factors) == (rows, factors) and np.array_equal(offset, mine)


def test_where_a_factor_is() -> None:
    a, b = _build_tile()
    one = b.locate_factor(200, 5)
    assert (one.row_major, one.atoms, one.shared) == (200 * 8 + 5, 512 * 3 + 16 * 8 + 4 * 2 + 1, 512 * 3 + 16 * 8 + 9)
    assert (one.lanes, one.column, one.byte, one.step) == ((8, 40, 72, 104), 278, 1, 5) and b.column == 264
    split = _build_tile(form="cta_group::2", m=128, n=128)[1]
    assert split.locate_factor(70, 0).shared is None and split.locate_factor(70, 0).lanes == (70, 102)
    with pytest.raises(LayoutError, match="is not documented"):
        split.list_copies()
    with pytest.raises(LayoutError, match="the tile has 128"):
        a.locate_factor(128, 0)


@for_each("page", ["/scale-factors?kind=mxf4nvf4", "/tmem?kind=mxf4nvf4&n=128"])
def test_a_form_offers_the_scale_vectors_of_the_kind(page: str) -> None:
    select = share_client().get(page).text.partition('<select name="scale_vec"')[2].partition("</select>")[0]
    offered = re.findall(r'<option value="([^"]*)"[^>]*>([^<]*)', select)
    assert [word for word, _ in offered if word] == ["2X", "4X"] and all(shown == word for word, shown in offered)


@for_each("side", ["a", "b"])
def test_the_byte_of_a_factor_is_in_the_atom_that_its_copy_reads(side: str) -> None:
    query = f"kind=mxf4&n=192&row=100&factor=5&shared=4096&side={side}"
    found = share_client().get(f"/api/v1/scale-factors?{query}").json()
    (start,) = (
        (int(copy["descriptor"], 16) & 0x3FFF) * 16
        for copy in found["copies"]
        if (copy["operand"], copy["row"], copy["factor"]) == (side, 0, 4)
    )
    assert found["held"]["shared"] == start + 100 % 32 * 16 + 100 // 32 * 4 + 5 % 4


def test_the_table_of_copies_has_the_bytes_that_descriptors_begin_at() -> None:
    page = share_client().get("/scale-factors?shared=4096").text
    rows = re.findall(r"<td>[AB], row \d+, factor \d+</td><td>\d+</td><td>(\d+)</td>.*?(0x[0-9a-f]{16})", page, re.S)
    assert len(rows) == 6 and all(int(byte) == (int(word, 16) & 0x3FFF) * 16 for byte, word in rows)


@for_each(("shared", "said"), [("100", "is 100, not a multiple of 16"), ("1000000", "is 1000000: ")])
def test_a_wrong_start_names_its_own_field(shared: str, said: str) -> None:
    error = share_client().get(f"/api/v1/scale-factors?shared={shared}").json()["error"]
    assert error["field"] == "shared" and error["message"].startswith(f"shared {said}")
    assert f"First byte of shared memory {said}" in share_client().get(f"/scale-factors?shared={shared}").text


SCALES = "scale A", "scale B"


def test_names_of_narrow_operands_stand_beside_all_that_touch() -> None:
    """Scale A has columns 256 to 259, scale B 260 to 267: neither name may stand on the other one's columns."""
    page = share_client().get("/tmem?kind=mxf4nvf4&n=256&scale_vec=4X&scale_a_at=256&scale_b_at=260").text
    starts = [float(x) for name in SCALES for x in re.findall(rf'<text x="([\d.]+)"[^<>]*>{name}</text>', page)]
    right = 58 + 2 * 268
    low, high = sorted(float(y) for y in re.findall(r'y="([\d.]+)"[^<>]*>scale [AB]</text>', page))
    assert high - low >= 10  # the size of their font
    assert len(starts) == 2 and all(right < start < right + 20 for start in starts)
    letters = re.findall(r"<td>(D|scale [AB])</td>.*?<td>([^<]*)</td><td><span", page, re.S)
    assert dict(letters) == {"D": "D", "scale A": "–", "scale B": "–"}


# byte-id and thread-id ------------------------------------------------------------------------------------------------

SCALED = r"""__device__ void mma(int a, int b, float (&c)[4], int sa, short byte, short thread, int sb) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0"
      " {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3}, {%6}, {%7, %8}, {%9}, {%7, 3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a), "r"(b), "r"(sa), "h"(byte), "h"(thread), "r"(sb));
}
__global__ void __launch_bounds__(32) gemm(int a, int b, int sa, int sb) {
  float c[4] = {};
  for (int k = 0; k < 4; k++)
    for (int m = 0; m < 4; m++)
      mma(a, b, c, sa, k, m % 2, sb);
}
"""
PAIRS = SCALED.replace("m16n8k32", "m16n8k64").replace("mxf8f6f4.block_scale", "mxf4.block_scale.scale_vec::2X")
PAIRS = PAIRS.replace("e4m3", "e2m1")


def list_findings(text: str) -> list[tuple[str, str, str]]:
    found = check_thread_tiles(text, {}).findings
    return [(one.code, one.message.partition(";")[0], text[slice(*one.span)]) for one in found]


@for_each("text", [SCALED, PAIRS.replace("k, m % 2", "k % 2 * 2, m % 2")])
def test_ids_that_the_scale_vector_has_are_right(text: str) -> None:
    assert list_findings(text) == []


@for_each(
    ("text", "old", "new", "message", "place"),
    [
        (SCALED, "m % 2", "m", "thread-id-a is 2", "mma(a, b, c, sa, k, m, sb)"),
        (SCALED, "k, m % 2", "k * 2, m % 2", "byte-id-a is 4", "k * 2"),
        (PAIRS, "k, m % 2", "k % 2, m % 2", "byte-id-a is 1", "k % 2"),
    ],
)
def test_an_id_that_it_lacks_stands_where_it_is_given(text: str, old: str, new: str, message: str, place: str) -> None:
    assert list_findings(text.replace(old, new))[0] == ("scale_selector", message, place)
    open_ = text.replace(old, new).replace("k < 4", "k < sa").replace("int k = 0", "int k = sb")
    assert "byte" not in message or list_findings(open_) == []


# groups with too many elements ----------------------------------------------------------------------------------------

ONE = {i.family.ptx: i for i in catalog.instructions()}  # of each row
SPARSE = {row: i.operand("a").sparsity for row, i in ONE.items() if "a" in i.operands and i.operand("a").sparsity}


@for_each("family", SPARSE)
def test_a_group_with_too_many_elements_is_named(family: str) -> None:
    """Against a search in Python: the first row and group with more nonzero places than are stored, and how many."""
    sparsity = SPARSE[family]
    dice = random.Random(26)
    per, places = sparsity.per_index, sparsity.group // sparsity.per_index
    for _ in range(25):
        dense = np.array([[dice.random() < 0.55 for _ in range(3 * sparsity.group)] for _ in range(3)])
        pairs = dense.reshape(3, 3, places, per)  # row, group, place in the group, elements that have one index
        counts = {(row, group): int(pairs[row, group].any(axis=1).sum()) for row in range(3) for group in range(3)}
        first = next((key for key, count in sorted(counts.items()) if count > sparsity.kept // per), None)
        if first is None:
            assert sparsity.find_kept_positions(dense).shape == (3, 3, sparsity.kept // per)
            continue
        at = first[1] * sparsity.group
        what = "pairs of elements" if per > 1 else "elements"
        with pytest.raises(LayoutError) as caught:
            sparsity.find_kept_positions(dense)
        assert (
            caught.value.message
            == f"Row {first[0]}, columns {at} to {at + sparsity.group - 1} have {counts[first]} nonzero {what}."
        )
        assert (
            caught.value.hint
            == f"mma.sp stores {sparsity.kept // per} of every {places}: e.g. col % {sparsity.group} < {sparsity.kept}"
            " ? i : 0."
        )


@for_each("query", ["", "row=100&factor=2", "cta_group=2&m=256&side=b&row=200&shared=4096"])
def test_the_picture_shows_the_byte_that_the_sentence_names(query: str) -> None:
    page = " ".join(share_client().get(f"/scale-factors?{query}").text.split())
    byte = re.search(r"byte (\d+) of shared memory", page)
    rows = re.search(r"(?:Row|Column) (\d+) of [AB], factor (\d+)", page)
    atom = re.search(r"byte (\d+) in atoms .*? in atom (\d+)\)", page)
    assert byte and rows and atom
    line, inside = divmod(int(byte[1]), 16)
    drawn = page.index("Shared memory: one atom")
    assert f">{16 * line}<" in page[drawn:]  # the first byte of its line
    row, factor = int(rows[1]), int(rows[2])
    assert inside == row % 128 // 32 * 4 + factor % 4
    assert int(atom[1]) == 512 * int(atom[2]) + 16 * (row % 32) + inside  # the formula of the sentence
    assert f"line l: row {row // 32 * 32} + l" in page
