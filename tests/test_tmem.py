"""Tensor memory against CUTLASS's maps (tests/golden/tcgen05.json), PTX's words for the data paths, and the columns
that the access checks of ptxas count.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanescope.app.tmem.draw import find_rectangles
from lanescope.blackwell import idesc, scale_atoms, tmem
from lanescope.blackwell.tmem import Allocation, PlacedOperand, TmemMma
from lanescope.errors import LayoutError
from lanescope.ptx.pattern import Pattern
from lanescope.ptx.table.kinds import ALONE, PAIR, WS
from lanescope.ptx.table.tmem import COPIES, MOVES, PLACES, WIDENED
from lanescope.render import tmem as code
from tests import cpp
from tests.cases import for_each
from tests.client import share_client
from tests.ptxas import assembler, nvrtc

SAMPLES = json.loads((Path(__file__).parent / "golden" / "tcgen05.json").read_text())["tmem"]
F16, F8, NVF4, MX8 = (idesc.get_kind(name) for name in ("f16", "f8f6f4", "mxf4nvf4", "mxf8f6f4"))


def _hash_pattern(pattern: Pattern) -> str:
    arrays = np.stack([np.asarray(one, np.int32) for one in pattern.evaluate()])
    return hashlib.sha256(arrays.tobytes()).hexdigest()[:16]


def _build_mma(case: str, n: int = 64, kind: Any = F16, sparse: bool = False) -> TmemMma:
    """The MMA of a sample's case: `B: M=128 cta_group::2 …`."""
    letter = case[0]
    m, form = {
        "A": (256, PAIR),
        "B": (128, PAIR),
        "C": (128, PAIR),
        "D": (128, ALONE),
        "E": (64, WS),
        "F": (64, ALONE),
        "G": (32, WS),
    }[letter]
    if "ws M=128" in case or ".ws" in case:
        form = WS
    return TmemMma(kind, form, sparse or letter == "C", m, n)


def _find_pattern(sample: dict[str, Any]) -> Pattern | None:
    """What the engine says for a sample; None for anything but a PTX shape, or if it stands elsewhere."""
    operand, case, size = sample["operand"], sample["case"], sample["example_parameters"]
    if operand.startswith("tcgen05.cp"):
        return tmem.parse_access(f"tcgen05.cp.cta_group::1.{case}").pattern
    if operand.startswith("tcgen05."):
        shape, _, packed = case.partition(".")
        return tmem.parse_access(f"{operand}.sync.aligned.{shape}.x{size['x']}.{packed or 'b32'}").pattern
    if operand == "d_tmem":
        return None if case.startswith("not") else tmem.make_tmem_layout(_build_mma(case, size["N"]), "d").pattern
    if operand == "a_tmem":
        return tmem.make_tmem_layout(_build_mma(case), "a").pattern
    if operand == "metadata_tmem":
        kind = F16 if case.startswith("f16") else F8
        m = int(re.search(r"M=(\d+)", case)[1])  # type: ignore[index]
        form = WS if ".ws" in case and "also" not in case else ALONE
        return tmem.make_tmem_layout(TmemMma(kind, form, True, m, 64), "metadata").pattern
    if operand == "sfa_tmem/sfb_tmem":
        return tmem.make_tmem_layout(TmemMma(NVF4, ALONE, False, 128, 128, scale_vec="2X"), "scale_a").pattern
    if operand == "sfb_tmem":
        return tmem.make_tmem_layout(TmemMma(NVF4, PAIR, False, 128, 128, scale_vec="2X"), "scale_b").pattern
    return None


KNOWN = [sample for sample in SAMPLES if _find_pattern(sample) is not None]


def test_every_sample_but_those_of_shared_memory_is_tried() -> None:
    left = [s["case"] for s in SAMPLES if s not in KNOWN]
    shared = ["512 bytes: 128 rows x 4 SF", "256 rows x 16 SF, atoms K first"]
    assert left == ["not a PTX shape (M=64 cta_group::2)", *shared]


@for_each("sample", KNOWN, ids=lambda s: f"{s['operand']} {s['case']}")
def test_a_map_is_the_samples(sample: dict[str, Any]) -> None:
    found = _find_pattern(sample)
    assert found is not None and (found.thread_count, found.value_count) == (sample["threads"], sample["values"])
    coords = found.evaluate()
    for thread, value, *where in sample["cells"]:
        assert [int(axis[thread, value]) for axis in coords] == where
    assert _hash_pattern(found) == sample["map_sha256_16"]


def test_what_no_map_shows_says_that_it_is_inferred() -> None:
    inferred = {
        (place.letter, operand) for place in PLACES for operand, maps in zip("da", place.maps, strict=True) if not maps
    }
    assert inferred == {("C", "d"), ("C", "a"), ("E", "a"), ("G", "a")}
    client = share_client()
    for query, has in (
        ("m=32&n=64&ws=1&a_at=128", True),
        ("m=128&n=64&a_at=128", False),
        ("m=64&n=64&sparse=1&metadata_at=128", True),
    ):
        page = client.get(f"/tmem?{query}&access=").text
        assert ("<strong>inferred</strong>" in page) == has and "documented" in page and "verified" not in page
    told = client.get("/api/v1/tmem/layout?m=64&n=64&ws=1&operand=a").json()
    assert told["id"] == "E" and "inferred" in told["evidence"]


def test_where_elements_lie() -> None:
    """The probes of the sheet, and the lanes of every layout."""
    b = tmem.make_tmem_layout(TmemMma(F16, PAIR, False, 128, 64), "d")
    assert b.find_owners(5, 32 + 3) == [(69, 3)] and b.columns == 32
    f = tmem.make_tmem_layout(TmemMma(F16, ALONE, False, 64, 64), "d")
    assert f.find_owners(20, 7, 0) == [(36, 7)] and f.columns == 64
    g = tmem.make_tmem_layout(TmemMma(F16, WS, False, 32, 64), "d")
    assert g.find_owners(3, 32 + 1) == [(67, 1)] and g.columns == 16
    copies = tmem.make_tmem_layout(TmemMma(F16, PAIR, False, 128, 64), "a")
    assert copies.find_owners(3, 5) == [(3, 5), (67, 5)] and copies.columns == 8
    assert {tmem.make_tmem_layout(TmemMma(F16, ALONE, False, 128, 64), "a").columns, 8} == {8}


def test_columns_are_those_of_the_access_checks() -> None:
    """What ptxas's checks count: D N, A 8, metadata 1 or 2, scale A 4, scale B 2·ceil(N/64)."""
    assert tmem.make_tmem_layout(TmemMma(MX8, ALONE, False, 128, 128), "scale_a").columns == 4
    made = [tmem.make_tmem_layout(TmemMma(MX8, ALONE, False, 128, n), "scale_b").columns for n in (8, 32, 64, 128, 256)]
    assert made == [2, 2, 2, 4, 8]
    assert tmem.make_tmem_layout(TmemMma(MX8, PAIR, False, 128, 128), "scale_a").columns == 2
    assert tmem.make_tmem_layout(TmemMma(F16, ALONE, True, 128, 64), "metadata").columns == 1
    assert tmem.make_tmem_layout(TmemMma(F8, ALONE, True, 128, 64), "metadata").columns == 2
    counts = {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8, "16x32bx2": 2}
    for shape, wide in counts.items():
        found = tmem.parse_access(f"tcgen05.ld.{shape}.x4")
        assert found.columns == 4 * wide and found.registers == 4 * {"16x128b": 2, "16x256b": 4}.get(shape, 1)
        assert tmem.parse_access(f"tcgen05.st.{shape}.x4.unpack::16b").columns == 8 * wide
        mask = tmem.mask_touched(found, 32, 64)
        assert mask.sum() == found.registers * 32 and not mask[:32].any() and not mask[:, :64].any()
    split = tmem.mask_touched(tmem.parse_access("tcgen05.ld.16x32bx2.x2", 9), 0, 0)
    assert sorted(np.flatnonzero(split.any(axis=0))) == [0, 1, 9, 10]
    assert tmem.mask_touched(tmem.parse_access("tcgen05.cp.4x256b"), 31, 8).sum() == 4 * 8


def _list_faults(placed: list[PlacedOperand], mma: TmemMma, allocation: Allocation = Allocation()) -> list[str]:
    return [fault.code for fault in tmem.find_placement_faults(allocation, placed, {one.name: mma for one in placed})]


def test_faults_have_the_names_of_ptxass_checks() -> None:
    mma = TmemMma(F16, ALONE, False, 128, 128)
    d, a = tmem.make_tmem_layout(mma, "d"), tmem.make_tmem_layout(mma, "a")
    assert _list_faults([PlacedOperand("D", d, 0, 0), PlacedOperand("A", a, 0, 128)], mma) == []
    assert _list_faults([PlacedOperand("D", d, 0, 0), PlacedOperand("A", a, 0, 120)], mma) == ["operands_overlap"]
    assert _list_faults([PlacedOperand("D", d, 0, 400)], mma) == ["out_of_physical_bounds"]
    assert _list_faults([PlacedOperand("D", d, 0, 0)], mma, Allocation(64)) == ["unallocated_columns_access"]
    assert _list_faults([], mma, Allocation(48)) == ["allocation_granularity_invalid"]
    assert _list_faults([PlacedOperand("D", d, 16, 0)], mma) == ["invalid_datapath_alignment"]
    small = TmemMma(F16, ALONE, False, 64, 128)
    low, high = (PlacedOperand(f"D{lane}", tmem.make_tmem_layout(small, "d"), lane, 0) for lane in (0, 16))
    other = TmemMma(F16, ALONE, False, 64, 128)
    assert [f.code for f in tmem.find_placement_faults(Allocation(), [low, high], {"D0": small, "D16": other})] == []
    assert _list_faults([low, high], small) == ["invalid_datapath_alignment"]
    load = tmem.parse_access("tcgen05.ld.32x32b.x32")
    assert [f.code for f in tmem.find_access_faults(load, 64, 0, 1, Allocation())] == ["current_warp_owner_invalid"]
    assert [f.code for f in tmem.find_access_faults(load, 80, 0, 2, Allocation())] == ["invalid_datapath_alignment"]
    assert tmem.find_access_faults(tmem.parse_access("tcgen05.ld.16x64b.x1"), 80, 0, 2, Allocation()) == []
    assert [f.code for f in tmem.find_access_faults(load, 0, 500, 0, Allocation())] == ["out_of_physical_bounds"]


def _read_verdict(query: str) -> tuple[str, str]:
    """Return the state of the page's verdict and its first sentence."""
    found = re.search(r'class="verdict (\w+)".*?<h2>(.*?)</h2>', share_client().get(f"/tmem?{query}").text, re.S)
    assert found
    return found[1], " ".join(found[2].split())


def test_operands_that_an_mma_only_takes_from_tensor_memory_have_to_be_placed() -> None:
    scaled = "kind=mxf8f6f4&n=128"
    assert _read_verdict(scaled) == ("care", "Scale A and scale B have no address yet")
    assert _read_verdict(scaled + "&scale_a_at=128") == ("care", "Scale B has no address yet")
    assert _read_verdict(scaled + "&scale_a_at=128&scale_b_at=132") == ("ok", "3 operands, no conflicts")
    assert _read_verdict("sparse=1") == ("care", "Metadata has no address yet")
    assert (
        _read_verdict("m=128&n=64&more=kind=mxf8f6f4 d=64 m=128 n=64 scale_a=400")[1] == "2: scale B has no address yet"
    )
    assert _read_verdict("m=128&n=64") == ("ok", "1 operand, no conflicts")  # A may be in shared memory
    assert _read_verdict(scaled + "&scale_a_at=128&d_at=120")[0] == "bad"


@for_each(
    "query, named",
    [
        ("n=64", []),
        ("n=64&access=tcgen05.ld.32x32b.x4", ["Blue"]),
        ("n=64&alloc=64", ["Grey"]),
        ("n=64&a_at=60", ["Red"]),
        ("n=64&a_at=60&alloc=128&access=tcgen05.ld.32x32b.x4", ["Blue", "Red", "Grey"]),
    ],
)
def test_the_legend_names_what_the_picture_has(query: str, named: list[str]) -> None:
    legend = re.search(r"<figcaption class.*?</figcaption>", share_client().get(f"/tmem?{query}").text, re.S)
    assert legend and re.findall("Blue|Red|Grey", legend[0]) == named


def test_what_is_open_is_refused() -> None:
    with pytest.raises(LayoutError, match="is not documented"):
        tmem.make_tmem_layout(TmemMma(F8, ALONE, True, 64, 64), "metadata")
    with pytest.raises(LayoutError, match="is not documented"):
        tmem.make_tmem_layout(TmemMma(NVF4, PAIR, False, 256, 64, 96), "scale_a")


def test_a_mask_is_covered_by_its_rectangles() -> None:
    mask = np.zeros((128, 512), bool)
    mask[0:16, 5:9] = mask[32:48, 5:9] = mask[40:128, 100:512] = True
    again = np.zeros_like(mask)
    for lane, last, column, to in find_rectangles(mask):
        assert not again[lane : last + 1, column : to + 1].any()
        again[lane : last + 1, column : to + 1] = True
    assert np.array_equal(again, mask) and len(find_rectangles(mask)) == 3


def _list_accesses() -> list[tmem.TensorAccess]:
    """Each text of ld, st, cp and shift: 148 loads and stores, every copy, the shift."""
    moves = [
        tmem.parse_access(f"tcgen05.{verb}.{move.shape}.x{1 << n}{pack}")
        for move in MOVES
        for n in range(move.most.bit_length())
        for verb, pack in (("ld", ""), ("ld", ".pack::16b"), ("st", ""), ("st", ".unpack::16b"))
    ]
    copies = [tmem.parse_access(f"tcgen05.cp.cta_group::{n}.{shape}") for n in (1, 2) for shape in COPIES]
    return [*moves, *copies, tmem.parse_access("tcgen05.shift.cta_group::1.down")]


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
def test_ptxas_takes_every_access() -> None:
    found = _list_accesses()
    assert sum(one.by_warp for one in found) == 148
    lines = []
    for one in found:
        held = "{" + ", ".join(f"r{n + 1}" for n in range(one.registers)) + "}"
        half = f", {one.columns // 2}" if "bx2" in one.ptx else ""
        operands = {"ld": f"{held}, [r0]{half}", "st": f"[r0]{half}, {held}", "cp": "[r0], q0", "shift": "[r0]"}
        lines.append(assembler.Line(one.ptx, operands[one.verb]))
    for group in ("cta_group::1", "cta_group::2"):  # one cta_group a kernel: copies of a pair are judged apart
        own = [line for line in lines if "cta_group" not in line.ptx or group in line.ptx]
        good = assembler.find_accepted(own, "sm_100a", "9.0")
        assert [line.ptx for n, line in enumerate(own) if n not in good] == []


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_the_code_of_accesses_compiles() -> None:
    texts = (
        "tcgen05.ld.32x32b.x2",
        "tcgen05.ld.16x32bx2.x1.pack::16b",
        "tcgen05.st.16x256b.x1",
        "tcgen05.st.16x32bx2.x2",
        "tcgen05.cp.cta_group::1.4x256b",
        "tcgen05.shift.cta_group::1.down",
    )
    bodies = []
    for text in texts:
        one = tmem.parse_access(text)
        given = f"uint32_t r[{one.registers}] = {{}};" if one.verb == "st" else ""
        used = "out[0] = r[0];" if one.verb == "ld" else ""
        bodies.append(f"{{ {given} {code.render_statement(one)} {used} }}")
    head = 'typedef unsigned uint32_t;\nextern "C" __global__ void k(unsigned* out, unsigned taddr,'
    ptx, log = nvrtc.compile_ptx(f"{head} unsigned long long smem_desc) {{ {' '.join(bodies)} }}", "sm_100a")
    assert not log and ptx.count("tcgen05.") == 6 + 4


def test_scale_factors_are_cutlasss_atoms() -> None:
    """CUTLASS's maps, the formula and the NumPy code say the same byte."""
    for rows, factors, case in ((128, 4, "512 bytes: 128 rows x 4 SF"), (256, 16, "256 rows x 16 SF, atoms K first")):
        found = Pattern.parse("(r:R k:S l:32) (c:4 s:4) -> (r c l) (k s)", R=rows // 128, S=factors // 4)
        sample = next(s for s in SAMPLES if s["case"] == case)
        assert _hash_pattern(found) == sample["map_sha256_16"]
        row, factor = (np.asarray(one) for one in found.evaluate())
        at = np.arange(rows * factors).reshape(row.shape)
        assert np.array_equal(scale_atoms.compute_factor_offset(row, factor, factors), at)
        scope: dict[str, Any] = {}
        exec(code.render_scale_order()["numpy"], scope)
        flat = np.arange(rows * factors, dtype=np.uint16).reshape(rows, factors)
        assert np.array_equal(scope["to_atoms"](flat), flat[row, factor].ravel())


@pytest.mark.skipif(cpp.find_compiler() is None, reason=cpp.MISSING)
def test_the_cuda_function_of_scale_factors() -> None:
    source = (
        "#include <cstdio>\n#define __host__\n#define __device__\n"
        + code.render_scale_order()["cuda"]
        + "\nint main() { for (unsigned m = 0; m < 256; ++m) for (unsigned s = 0; s < 8; ++s)"
        ' printf("%u ", scale_offset(m, s, 8)); }\n'
    )
    row, factor = np.divmod(np.arange(256 * 8), 8)
    assert cpp.build_and_run(source).decode().split() == [
        str(n) for n in scale_atoms.compute_factor_offset(row, factor, 8)
    ]


@for_each("form", WIDENED)
def test_a_copy_that_widens_reads_packed_elements_and_padding(form: str) -> None:
    """b8x16.b6x16_p32: 16 bytes in tensor memory of 16 elements of 6 bits, 12 bytes, and 32 bits of padding."""
    to, count, bits, packed, padding = map(int, re.findall(r"\d+", form))
    found = tmem.parse_access(f"tcgen05.cp.cta_group::1.128x256b.{form}")
    assert to * count == 128 == bits * packed + padding
    assert found.widened == packed * bits // 8
    assert tmem.parse_access("tcgen05.cp.cta_group::1.128x256b").widened == 0
