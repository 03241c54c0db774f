"""Layouts of Triton and Gluon beside others: what they feed, what a conversion costs, modules, CuTe's words."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from math import prod

import numpy as np
import pycute
import pytest

from lanescope.ptx.catalog import find
from lanescope.reader.compiler_output.triton import format_mlir
from lanescope.reader.compiler_output.ttgir import parse_module
from lanescope.tiles.convert import convert_layout
from lanescope.tiles.cute_equivalent import find_cute_equivalent
from lanescope.tiles.feeds import collect_fragment_maps, find_fed_operands
from lanescope.tiles.tv import tv
from lanescope.triton import make_linear_layout as linear_of
from lanescope.triton.gluon import TritonLayout, triton_layout
from lanescope.triton.linear import LinearLayout
from tests.test_layout_pages import BLOCKED, MMA, MODULE
from tests.test_triton import LayoutCases


def test_every_fragment_feeds_its_own_instructions() -> None:
    """A layout made of a fragment's bases is that operand, in order, and with two lanes' bases exchanged no longer."""
    for one, ptx in list(collect_fragment_maps().items())[::7]:
        op = find(ptx[0]).operand(one.operand)
        bases = op.pattern.linear_layout()
        assert bases is not None
        own = {name: tuple(tuple(b) for b in found) for name, found in bases.items()} | {"block": ()}
        found = find_fed_operands(LinearLayout(own, op.pattern.extents, (1, 0)), one.bits)
        mine = [it for it in found if it.fragment == one]
        assert len(mine) == 1 and mine[0].in_order and ptx[0] in mine[0].ptx
        lanes = own["lane"]
        if lanes[0] != lanes[4]:
            swapped = own | {"lane": (lanes[4], *lanes[1:4], lanes[0])}
            assert one not in {
                it.fragment for it in find_fed_operands(LinearLayout(swapped, op.pattern.extents, (1, 0)), one.bits)
            }


def _list_held(made: TritonLayout) -> list[set[tuple[int, ...]]]:
    stacked = np.stack(made.coords, axis=-1)
    return [set(map(tuple, row)) for row in stacked.tolist()]


def test_conversions_are_what_each_register_needs() -> None:
    """Counted again, element by element, over layouts by chance."""
    cases, ways = LayoutCases(), set()
    for number in range(30):
        pair = []
        for kind in random.Random(number).choices(("blocked", "nvidia_mma"), k=2):
            params = cases.blocked(2) if kind == "blocked" else cases.mma(2)
            params.pop("CGALayout", None)
            pair.append(triton_layout(format_mlir(kind, params), (32, 32), 16))
        if pair[0].warps != pair[1].warps:
            continue
        found = convert_layout(*pair)
        have = _list_held(pair[0])
        warps = [set().union(*have[at : at + 32]) for at in range(0, len(have), 32)]
        want = np.stack(pair[1].coords, axis=-1).tolist()
        counts = [0, 0]
        for thread, row in enumerate(want):
            for at in map(tuple, row):
                counts[0] += at in have[thread]
                counts[1] += at in warps[thread // 32]
        assert (found.in_thread, found.in_warp, found.in_block) == (*counts, found.places)
        ways.add(found.way)
    assert ways >= {"registers", "shared"} or ways >= {"same", "shared"}
    same = convert_layout(triton_layout(MMA, (32, 32)), triton_layout(MMA, (32, 32)))
    assert same.way == "same" and same.trip is None
    chained = convert_layout(
        triton_layout(MMA.replace("[2, 2]", "[4, 1]"), (64, 16)),
        triton_layout(f"#ttg.dot_op<{{opIdx = 0, parent = {MMA.replace('[2, 2]', '[4, 1]')}, kWidth = 2}}>", (64, 16)),
    )
    assert chained.way == "same"  # FlashAttention's P: C of one product is A of the next


def test_the_trip_is_counted_in_wavefronts() -> None:
    """Columns of a 64×64 tile of 16 bits in rows of 128 bytes: every lane of a store hits the same bank."""
    rows = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
    found = convert_layout(triton_layout(rows, (64, 64), 16), triton_layout(MMA, (64, 64), 16)).trip
    assert found is not None and found.bytes == 8192
    assert (found.store.name, found.store.ways, found.store.wavefronts) == ("st.shared.b128", 1, 64)
    assert (found.load.name, found.load.ways) == ("ld.shared.b32", 8)
    assert found.solution is not None and str(found.solution.swizzle) == "Sw<3,4,3>"


def test_shared_memory_in_cutesmlir() -> None:
    """Offsets of swizzled, padded and nvmma layouts, from the CuTe layout that is printed."""
    cases = LayoutCases()
    texts = [(format_mlir(*cases.of("swizzled_shared")[:2]), (16, 64)) for _ in range(12)]
    nvmma = "#ttg.nvmma_shared<{{swizzlingByteWidth = {}, transposed = {}, elementBitWidth = {}}}>"
    texts += [
        (nvmma.format(width, turned, bits), (128, 128))
        for width in (0, 32, 64, 128)
        for turned in ("false", "true")
        for bits in (8, 16, 32)
    ]
    texts += [("#ttg.padded_shared<[64:+8] {order = [1, 0], shape = [16, 64]}>", (16, 64))]
    told = 0
    for text, shape in texts:
        try:
            made = triton_layout(text, shape)
        except ValueError:
            continue
        found = find_cute_equivalent(made)
        if found.layout is None:
            assert found.why
            continue
        told += 1
        assert np.array_equal(found.layout.list_indices().reshape(shape[::-1]).T, made.offset), text
    assert told >= 30
    threads = find_cute_equivalent(triton_layout(MMA, (32, 32)))
    assert str(threads.layout) == "((4,8,2,2),(2,2,2)):((64,1,256,16),(32,8,512))"


def test_the_parts_of_a_test_file_have_aliases_of_their_own() -> None:
    """`// -----` separates modules that reuse names, as in Triton's own tests."""
    wide = BLOCKED.replace("[1, 4]", "[1, 8]", 1)
    line = "%1 = ttg.convert_layout %0 : tensor<64x64xf16, #a> -> tensor<64x64xf16, #mma>"
    text = "\n".join([f"#a = {BLOCKED}", f"#mma = {MMA}", line, "", "// -----", f"#a = {wide}", f"#mma = {MMA}", line])
    found = parse_module(text)
    assert found and [(one.source.layout, one.lines) for one in found.moves] == [(BLOCKED, (3,)), (wide, (8,))]
    assert {one.text: one.names for one in found.layouts} == {BLOCKED: ("#a",), wide: ("#a",), MMA: ("#mma",)}


def test_a_module_is_listed_with_its_operations() -> None:
    found = parse_module(MODULE)
    assert found is not None and dict(found.traits)["ttg.num-warps"] == "4"
    by_name = {one.names[0]: one for one in found.layouts if one.names}
    assert dict(by_name["#blocked"].ops) == {"tt.load": 1, "ttg.local_alloc": 1, "ttg.convert_layout": 1}
    assert str(by_name["#mma"].tensors[0]) == "64x64xf16"
    move = found.moves[0]
    assert (move.source.layout, move.target.layout) == (MMA, BLOCKED) and move.target.bits == 16
    assert parse_module("#mma = #ttg.nvidia_mma<{versionMajor = 2}>") is None


@pytest.mark.thorough
def test_real_objects_are_read_by_their_text() -> None:
    """Gluon's own objects print what the reader reads; a layout of pycute is one of CuTe."""
    cases = LayoutCases()
    kinds = ("blocked", "nvidia_mma", "dot_op of nvidia_mma", "slice", "linear", "swizzled_shared", "nvmma_shared")
    given = [case for kind in kinds for case in [cases.of(kind) for _ in range(4)] if prod(case[2]) <= 1 << 15]
    script = (
        "import json, sys\nfrom tests.oracle.triton import layout_of\n"
        "print(json.dumps([repr(layout_of(k, p, tuple(s))) for k, p, s in json.load(sys.stdin)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(given), capture_output=True, text=True, timeout=120, check=True
    )
    for text, (kind, params, shape) in zip(json.loads(done.stdout.splitlines()[-1]), given, strict=True):
        made = triton_layout(_PrintedObject(text), shape, params.get("elementBitWidth", 16))
        want = linear_of(kind, params, shape, params.get("elementBitWidth", 16))
        assert made.linear.bases == want.bases, text
        assert made._repr_svg_().startswith("<svg")
    assert tv(pycute.Layout(((4, 8), (2, 2)), ((32, 1), (16, 8))), (16, 8)).owner(9, 3) == [(5, 3)]


class _PrintedObject:
    """An object of which only its text is known."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text
