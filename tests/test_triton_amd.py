"""AMD's layouts of Triton against Triton's own wheel, which runs in another process: maps, spellings, refusals."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from lanescope.errors import LayoutError
from lanescope.render.sheet import DrawingPlane, make_threads_sheet
from lanescope.tiles.convert import convert_layout
from lanescope.triton import make_linear_layout
from lanescope.triton.amd import MFMA_SHAPES, NOTICE, WMMA_SHAPES, WMMA_WIDTHS
from lanescope.triton.gluon import triton_layout
from tests.cases import for_each
from tests.client import Client
from tests.oracle.triton import Case, answers

MFMA = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [16, 16, 16], isTransposed = true}>"
WMMA = "#ttg.amd_wmma<{version = 2, isTranspose = true, ctaLayout = {warp = [[0, 1], [1, 0]]}}>"
SHAPES = ((128, 64), (16, 256), (32, 32), (8, 64), (64, 4))
BATCHED = ((4, 32, 64), (2, 128, 16))
CTA = (  # register bases, warp bases over the tiles of a warp's instruction
    ([], [[0, 1], [1, 0]]),
    ([[0, 1]], [[0, 2], [1, 0]]),
    ([[1, 0], [0, 1]], [[0, 2], [2, 0]]),
    ([[0, 0]], [[1, 0], [0, 0]]),
    ([], []),
)


def add_batch(params: dict[str, Any], count: int) -> dict[str, Any]:
    """The same layout over a tensor with a batch in front."""
    if "ctaLayout" in params:
        bases = {name: [[0, *basis] for basis in vectors] for name, vectors in params["ctaLayout"].items()}
        bases["warp"] += [[1, 0, 0]]
        more = {"ctaLayout": bases}
    else:
        more = {"warpsPerCTA": [count, *params["warpsPerCTA"]], "tilesPerWarp": [1, *params["tilesPerWarp"]]}
    return params | more | {"CGALayout": [[0, *basis] for basis in params["CGALayout"]]}


def list_results() -> list[tuple[str, dict[str, Any]]]:
    """Every version and shape of D, each transposed and not, with warps, tiles, element bits and blocks in turn."""
    found: list[tuple[str, dict[str, Any]]] = []
    blocks = ([], [], [[1, 0]], [[0, 1]], [[0, 1], [1, 0]], [[0, 0]])
    turns = product(range(1, 5), MFMA_SHAPES, (True, False), ([2, 2], [4, 1], [1, 8]), ([1, 1], [2, 1], [1, 4]))
    for n, (version, (m, k), turned, warps, tiles) in enumerate(turns):
        given = {"version": version, "instrShape": [m, k, 8], "isTransposed": turned or (m, k) == (64, 4)}
        given |= {"warpsPerCTA": warps, "tilesPerWarp": tiles, "elementBitWidth": 64 if n % 3 else 32}
        found.append(("amd_mfma", given | {"CGALayout": blocks[n % len(blocks)]}))
    shapes = [(version, shape) for version, listed in WMMA_SHAPES.items() for shape in listed]
    for n, ((version, shape), turned, (registers, warps)) in enumerate(product(shapes, (True, False), CTA)):
        given = {"version": version, "instrShape": list(shape), "isTranspose": turned}
        given |= {"ctaLayout": {"register": registers, "warp": warps}, "CGALayout": blocks[n % len(blocks)]}
        found.append(("amd_wmma", given))
    return found


def list_cases() -> list[Case]:
    """D, A, B and a slice of every layout, over tensors larger and smaller than its tile, some with a batch."""
    cases: list[Case] = []
    for n, (kind, params) in enumerate(list_results()):
        batched = n % 4 == 0
        params = add_batch(params, 2) if batched else params
        shapes = BATCHED if batched else SHAPES
        widths = WMMA_WIDTHS.get(params["version"], (2, 4, 16)) if kind == "amd_wmma" else (1, 4, 16)
        parent = {"attribute": kind, "params": params}
        cases.append((kind, params, shapes[n % len(shapes)]))
        for operand in (0, 1):
            given = {"opIdx": operand, "kWidth": widths[(n + operand) % len(widths)], "parent": parent}
            cases.append(("dot_op", given, shapes[(n + operand) % len(shapes)]))
        shape = shapes[(n + 1) % len(shapes)]
        dim = n % len(shape)
        cases.append(("slice", {"dim": dim, "parent": parent}, (*shape[:dim], *shape[dim + 1 :])))
    return cases


def list_bases(kind: str, params: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    bases = make_linear_layout(kind, params, shape).list_bases()
    return {name: vectors for name, vectors in bases.items() if vectors}


def test_every_element_is_where_triton_has_it() -> None:
    """A linear layout is its bases: equal bases, equal places of all elements."""
    cases = list_cases()
    assert len(cases) > 1500
    for case, want in zip(cases, answers(cases), strict=True):
        assert want is not None, case
        assert list_bases(*case) == {name: vectors for name, vectors in want.items() if vectors}, case


def test_warps_that_swizzle_tiles_are_where_triton_prints_them() -> None:
    """ctaLayout may move a warp along both axes; a tensor smaller than the tiles cuts what lies outside."""
    given = {"version": 2, "instrShape": [16, 16, 16], "isTranspose": False}
    layouts = [
        given | {"ctaLayout": {"register": [[2, 0]], "warp": [[2, 1], [1, 0]]}},  # TritonGPUAttrDefs.td shows it
        given | {"ctaLayout": {"register": [], "warp": [[1, 0], [3, 0]]}, "isTranspose": True},
        given | {"version": 1, "ctaLayout": {"register": [[0, 1]], "warp": [[1, 1]]}},
    ]
    cases: list[Case] = []
    for params, shape in product(layouts, ((64, 32), (32, 64), (16, 16), (128, 16))):
        parent = {"attribute": "amd_wmma", "params": params}
        cases.append(("view", parent, shape))
        operands = [{"opIdx": operand, "kWidth": 8, "parent": parent} for operand in (0, 1)]
        cases += [("view", {"attribute": "dot_op", "params": each}, shape) for each in operands]
    for (_, layout, shape), want in zip(cases, answers(cases), strict=True):
        found = make_linear_layout(layout["attribute"], layout["params"], shape)
        places = np.stack([found.list_coordinates(axis, ("warp", "register", "lane")) for axis in (0, 1)], -1)
        assert places.reshape(-1).tolist() == want, (layout, shape)


@pytest.fixture(scope="module")
def judged() -> dict[str, Any]:
    """What Triton's parser makes of every text of this file."""
    lanes = {text: 32 if "wmma" in text else 64 for text in (*PRINTED, *REFUSED)}
    shape = (64,), (64, 64)
    cases: list[Case] = [
        ("text", {"text": text, "lanes": count, "warps": 4, "blocks": 1 + ("CGA" in text)}, shape["slice" not in text])
        for text, count in lanes.items()
    ]
    return dict(zip(lanes, answers(cases), strict=True))


PRINTED = (
    MFMA,
    MFMA.replace("}>", ", CGALayout = [[1, 0]], tilesPerWarp = [2, 1], elementBitWidth = 64}>"),
    MFMA.replace("16, 16, 16", "4, 64, 4"),
    f"#ttg.dot_op<{{opIdx = 1, parent = {MFMA}, kWidth = 8}}>",
    f"#ttg.slice<{{dim = 0, parent = {MFMA}}}>",
    WMMA,
    WMMA.replace("= 2,", "= 3,").replace("}}>", "}, instrShape = [32, 16, 128]}>"),
    WMMA.replace("{warp = [[0, 1]", "{register = [[0, 1]], warp = [[0, 2]"),
    f"#ttg.dot_op<{{opIdx = 0, parent = {WMMA}, kWidth = 16}}>",
    f"#ttg.slice<{{dim = 1, parent = {WMMA}}}>",
    "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = [1, 0]}>",
    "#ttg.linear<{register = [[0, 1], [0, 32]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0]],"
    " warp = [[4, 0], [8, 0]], block = []}>",
)
REFUSED = {
    MFMA.replace("version = 3", "version = 5"): "version is 5",
    MFMA.replace("16, 16, 16", "4, 4, 16"): "instrShape is [4, 4, 16]",
    MFMA.replace("16, 16, 16", "16"): "instrShape is [16]",
    MFMA.replace("16, 16, 16", "64, 4, 4").replace("true", "false"): "64 × 4 with isTransposed = false",
    MFMA.replace("}>", ", elementBitWidth = 16}>"): "elementBitWidth is 16",
    MFMA.replace("}>", ", tilesPerWarp = [2]}>"): "tilesPerWarp is [2]",
    MFMA.replace("[2, 2]", "[3, 1]"): "3 is not a power of two",
    MFMA.replace("[2, 2]", "[4]"): "warpsPerCTA is [4]",
    f"#ttg.dot_op<{{opIdx = 1, parent = {MFMA}}}>": "kWidth is 0",
    f"#ttg.dot_op<{{opIdx = 2, parent = {MFMA}, kWidth = 4}}>": "opIdx is 2",
    WMMA.replace("version = 2", "version = 0"): "version is 0",
    WMMA.replace("version = 2", "version = 4"): "version is 4",
    WMMA.replace("version = 2", "version = 3"): "version 3: instrShape is [16, 16, 16]",
    WMMA.replace("}}>", "}, instrShape = [16, 16]}>"): "instrShape is [16, 16]",
    WMMA.replace("[1, 0]", "[2, 0]"): "its bases reach 4 of the 8",
    WMMA.replace("[1, 0]", "[0, 1, 0]"): "A list of bases of 2",
    f"#ttg.dot_op<{{opIdx = 0, parent = {WMMA}, kWidth = 2}}>": "4, 8 or 16 of amd_wmma version 2",
    f"#ttg.dot_op<{{opIdx = 0, parent = {WMMA.replace('= 2', '= 1')}, kWidth = 4}}>": "8 or 16 of amd_wmma version 1",
}


@for_each("text", PRINTED, sample=5)
def test_a_text_is_the_layout_that_tritons_parser_makes(judged: dict[str, Any], text: str) -> None:
    found = triton_layout(text, (64,) if "slice" in text else (64, 64))
    bases = found.linear.list_bases()
    assert {name: vectors for name, vectors in bases.items() if vectors} == {
        name: vectors for name, vectors in judged[text].items() if vectors
    }
    assert found.text == text and found.linear.count_values("lane") == (32 if "wmma" in text else 64)


@for_each(("text", "why"), REFUSED.items())
def test_what_triton_refuses_is_refused_with_what_is_allowed(judged: dict[str, Any], text: str, why: str) -> None:
    assert judged[text] is None
    with pytest.raises(LayoutError) as told:
        triton_layout(text, (64, 64))
    assert why in f"{told.value.message} {told.value.hint}"


@for_each(
    ("older", "newer"),
    [
        (  # 3.2 to 3.4
            "#triton_gpu.amd_mfma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 16],"
            " isTransposed = true}>",
            MFMA,
        ),
        (
            MFMA.replace("}>", ", CTAsPerCGA = [2, 1], CTASplitNum = [2, 1], CTAOrder = [1, 0]}>"),
            MFMA.replace("}>", ", CGALayout = [[1, 0]]}>"),
        ),
        (  # 3.5
            "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], tilesPerWarp = [2, 1], instrShape = [16, 16],"
            " isTransposed = true, elementType = f64}>",
            MFMA.replace("}>", ", tilesPerWarp = [2, 1], elementBitWidth = 64}>"),
        ),
        ("#triton_gpu.amd_wmma<{version = 1, warpsPerCTA = [2, 2]}>", WMMA.replace("2, isTranspose = true", "1")),
        ("#ttg.amd_wmma<{version = 2, isTranspose = true, warpsPerCTA = [2, 2]}>", WMMA),  # to 3.6
        ("#ttg.amd_wmma<{version = 2, isTranspose = true, ctaLayout = {}}>", WMMA.replace("[0, 1], [1, 0]", "")),
        ("gl.amd.AMDMFMALayout(3, [16, 16, 16], True, [2, 2])", MFMA),
        ("AMDMFMALayout(3, [16, 16], True, [2, 2], ttgl.float32, None, [2, 1], [2, 1], [1, 0])",
         MFMA.replace("}>", ", CGALayout = [[1, 0]]}>")),  # 3.5
        ("AMDWMMALayout(2, True, [[0, 1], [1, 0]])", WMMA),
        ("AMDWMMALayout(2, True, [2, 2], [16, 16, 16], [1, 1])", WMMA),  # 3.6
        ("AMDWMMALayout(version=2, transposed=True, warp_bases=[[0, 2], [1, 0]], reg_bases=[[0, 1]], rank=2)",
         WMMA.replace("{warp = [[0, 1]", "{register = [[0, 1]], warp = [[0, 2]")),
    ],
)  # fmt: skip
def test_earlier_spellings_and_gluons_are_the_same_layout(older: str, newer: str) -> None:
    assert triton_layout(older, (64, 64)).linear == triton_layout(newer, (64, 64)).linear


def test_tiles_of_a_warp_in_3_6_lie_one_below_the_other_at_last() -> None:
    """What the wheel 3.6.0 answers: registers first run over a row of tiles, ctaLayout's over the warp's own tiles."""
    older = "#ttg.amd_wmma<{version = 2, isTranspose = false, warpsPerCTA = [2, 2], tilesPerWarp = [2, 1]}>"
    newer = older.replace(
        "warpsPerCTA = [2, 2], tilesPerWarp = [2, 1]", "ctaLayout = {register = [[1, 0]], warp = [[0, 1], [2, 0]]}"
    )
    tile = [[1, 0], [2, 0], [4, 0]]
    assert triton_layout(older, (64, 64)).linear.list_bases()["register"] == [*tile, [0, 32], [16, 0]]
    assert triton_layout(newer, (64, 64)).linear.list_bases()["register"] == [*tile, [16, 0], [0, 32]]
    operand = f"#ttg.dot_op<{{opIdx = 0, parent = {older}, kWidth = 8}}>"
    assert triton_layout(operand, (32, 32)).linear.list_bases() == {
        "register": [[0, 1], [0, 2], [0, 4], [0, 16], [16, 0]],
        "lane": [[1, 0], [2, 0], [4, 0], [8, 0], [0, 8]],
        "warp": [[0, 0], [0, 0]],
        "block": [],
    }


def one_mfma(shape: str, more: str = "") -> str:
    return f"#ttg.amd_mfma<{{version = 3, warpsPerCTA = [1, 1], instrShape = [{shape}], isTransposed = false{more}}}>"


def one_wmma(version: int) -> str:
    return f"#ttg.amd_wmma<{{version = {version}, isTranspose = false, ctaLayout = {{}}}}>"


def operand(index: int, parent: str, width: int) -> str:
    return f"#ttg.dot_op<{{opIdx = {index}, parent = {parent}, kWidth = {width}}}>"


@for_each(
    ("text", "tile", "place", "holder"),
    [
        (one_mfma("16, 16, 16"), 16, (5, 9), (25, 1)),  # v_mfma_f32_16x16x16_f16: D[5][9] = v1{25}
        (one_mfma("32, 32, 8"), 32, (21, 9), (41, 9)),  # v_mfma_f32_32x32x8_f16: D[21][9] = v9{41}
        (
            one_mfma("16, 16, 4", ", elementBitWidth = 64"),
            16,
            (5, 9),
            (25, 1),
        ),  # …f64_16x16x4_f64: D[5][9] = v[3:2]{25}
        (operand(0, one_mfma("16, 16, 16"), 4), 16, (5, 9), (37, 1)),  # A[5][9] = v0{37}.[31:16]
        (operand(1, one_mfma("16, 16, 16"), 4), 16, (9, 5), (37, 1)),  # B[9][5] = v0{37}.[31:16]
        (one_wmma(1), 16, (5, 9), (25, 2)),  # v_wmma_f32_16x16x16_f16, RDNA3: D[5][9] = v2{25}
        (one_wmma(2), 16, (13, 9), (25, 5)),  # RDNA4: D[13][9] = v5{25}
        (operand(0, one_wmma(1), 16), 16, (5, 9), (21, 9)),  # RDNA3: A[5][9] = v4{21}.[31:16]
        (operand(0, one_wmma(2), 4), 16, (5, 9), (5, 5)),  # RDNA4: A[5][9] = v2{5}.[31:16]
    ],
)
def test_a_place_is_where_amds_calculator_has_it(
    text: str, tile: int, place: tuple[int, int], holder: tuple[int, int]
) -> None:
    """AMD's Matrix Instruction Calculator, another hand than Triton's, prints one (lane, element) of each."""
    assert holder in triton_layout(text, (tile, tile)).owner(*place)


def test_a_wider_operand_permutes_k_and_is_not_the_instructions_fragment() -> None:
    assert (5, 5) not in triton_layout(operand(0, one_wmma(2), 8), (16, 16)).owner(5, 9)


# 64 lanes ------------------------------------------------------------------------------------------------------------

WAVES = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"


def test_a_page_counts_64_lanes_in_a_warp(client: Client) -> None:
    """Thread 178 is lane 50 of warp 2: in the find field, the answer, the filters, the script's data, the picture."""
    query = {"text": MFMA, "shape": "32x32"}
    page = client.get("/layouts/triton", params=query | {"find": "warp 2 lane 50"}).text
    assert "Warp 2, lane 50 holds 4 values" in page and "pin=thread:178" in page
    assert "256 threads (4 warps of 64 lanes)" in page and NOTICE.replace("'", "&#39;") in page
    assert '"warp":64' in page and "Feeds without a shuffle" not in page
    for look, said in (({"lanes": "40-63"}, ""), ({"lanes": "64"}, "from 0 to 63"), ({"warps": "4"}, "from 0 to 3")):
        shown = client.get("/layouts/triton", params=query | look).text
        assert (said in shown) and ("aria-invalid" in shown) == bool(said)
    drawn = make_threads_sheet(
        triton_layout(MFMA, (32, 32)).coords, (32, 32), DrawingPlane.make_plane((32, 32)), 32, lanes=64
    )
    assert np.array_equal(drawn.colours["warp"], np.kron([[0, 1], [2, 3]], np.ones((16, 16), dtype=int)))


def test_a_conversion_stays_in_a_warp_of_64_lanes_and_tells_no_banks() -> None:
    """Lane n goes to lane n with its bits reversed; a warp of 32 would have half of it. Banks are NVIDIA's."""
    rows = WAVES.replace("[1, 4], threadsPerWarp = [8, 8]", "[1, 1], threadsPerWarp = [1, 64]")
    turned = (
        "#ttg.linear<{register = [], lane = [[0, 32], [0, 16], [0, 8], [0, 4], [0, 2], [0, 1]],"
        " warp = [[1, 0], [2, 0]], block = []}>"
    )
    found = convert_layout(triton_layout(rows, (4, 64), 32), triton_layout(turned, (4, 64), 32))
    assert (found.way, found.in_warp, found.in_thread) == ("warp", 256, 4 * 8)
    other = rows.replace("[4, 1]", "[1, 4]")
    through = convert_layout(triton_layout(rows, (4, 64), 32), triton_layout(other, (4, 64), 32))
    assert (through.way, through.trip) == ("shared", None)
    with pytest.raises(LayoutError, match="has 64 lanes, one of the second 32"):
        convert_layout(triton_layout(MFMA, (32, 32)), triton_layout(WMMA, (32, 32)))
