"""The pages /layouts/triton and /layouts/tv: what they draw, refuse and lead to, and their API, commands, pictures."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

import numpy as np

from lanescope.tiles.tv import tv
from lanescope.triton.gluon import triton_layout
from tests.cases import for_each
from tests.client import Client, parse_page_data

MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
MODULE = f"""
#blocked = {BLOCKED}
#mma = {MMA}
#shared = #ttg.swizzled_shared<{{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.num-warps" = 4 : i32, ttg.target = "cuda:80"}} {{
  tt.func public @kernel(%arg0: !tt.ptr<f16>) {{
    %0 = tt.load %p : tensor<64x64x!tt.ptr<f16>, #blocked>
    %1 = ttg.local_alloc %0 : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %2 = ttg.local_load %1 : !ttg.memdesc<64x64xf16, #shared, #smem> ->
      tensor<64x64xf16, #ttg.dot_op<{{opIdx = 0, parent = #mma, kWidth = 2}}>>
    %3 = arith.truncf %c : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
    %4 = ttg.convert_layout %3 : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
  }}
}}"""


def get_page(client: Client, path: str, code: int = 200, **query: str) -> str:
    answer = client.get(f"{path}?{urlencode(query)}")
    assert answer.status_code == code, answer.text[:2000]
    return unescape(answer.text)


def decode_cells(told: Any) -> Any:
    """[holder][value] → cell of a map that was sent."""
    if told.get("cells") is not None:
        return np.array(told["cells"]).reshape(len(told["held_by"]), -1)
    return np.add.outer(np.array(told["first"]), np.array(told["steps"]))


def test_pages_draw_what_they_are_given(client: Client) -> None:
    plain = get_page(client, "/layouts/triton", text=BLOCKED, shape="16x16", element_bits="16", thread="5")
    made = triton_layout(BLOCKED, (16, 16))
    data = parse_page_data(plain)
    assert np.array_equal(decode_cells(data["operands"]["tile"]), made.rows * 16 + made.cols)
    assert data["state"]["pin"] == "tile:1,4" and "Thread 5 <small>warp 0, lane 5 · pinned" in plain
    assert "register = [[0, 1], [0, 2]]" in plain and 'data-bit="lane-4"' in plain
    listed = get_page(client, "/layouts/triton", text=MODULE)
    assert "3 layouts of this module" in listed and "ttg.convert_layout" in listed and "Through shared memory" in listed
    both = get_page(client, "/layouts/triton", text=BLOCKED, shape="32x32", to=MMA)
    assert set(parse_page_data(both)["operands"]) == {"before", "after"} and "Conversion through shared memory" in both
    cube = get_page(
        client,
        "/layouts/triton",
        shape="4x16x8",
        axes="0,2",
        at="3",
        text="gl.BlockedLayout([1, 1, 1], [2, 4, 4], [2, 2, 1], [2, 1, 0])",
    )
    tile = parse_page_data(cube)["operands"]["tile"]
    assert (tile["rows"], tile["cols"]) == (4, 8) and -1 in tile["cells"] and "Index of axis 1" in cube
    folded = get_page(client, "/layouts/triton", shape="64", text=f"#ttg.slice<{{dim = 1, parent = {MMA}}}>")
    tile = parse_page_data(folded)["operands"]["tile"]
    assert tile["rows"] * tile["cols"] == 64 and tile["folded"] and tile["copies"] == 8


def test_the_page_of_tl_dot_says_which_instruction_was_chosen(client: Client) -> None:
    page = " ".join(get_page(client, "/triton-dot", m="32").split())
    assert "<td>wgmma.mma_async</td><td>not chosen: M = 32 < 64" in page
    assert "<td>mma.sync</td><td>chosen</td>" in page


def test_thread_value_layouts_both_ways(client: Client) -> None:
    text = get_page(client, "/layouts/tv", cute="((4,8),(2,2,2)):((32,1),(16,8,128))", tile="16x16", slice="(5,_)")
    data, made = parse_page_data(text), tv("((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16))
    assert np.array_equal(decode_cells(data["operands"]["tile"]), made.rows * 16 + made.cols)
    table = data["operands"]["table"]
    assert (
        table["rows"] == 32
        and table["text"] == "{axis0},{axis1}"
        and table["fields"]["axis1"][8 * 5] == made.cols[5, 0]
    )
    colour = data["operands"]["tile"]["categories"]["value"]
    assert colour["of"] == "cell" and sorted(at for at, n in enumerate(colour["numbers"]) if n >= 0) == sorted(
        (made.rows[5] * 16 + made.cols[5]).tolist()
    )
    words = " ".join(re.sub(r"<[^>]+>", "", text).split())
    assert "Slice (5,_): ((2,2,2)):((16,8,128)) from element 33, 8 elements." in words
    assert "((8,2),(2,4,2)):((4,64),(32,1,128))" in text and "m16n8k16" in text
    moved = get_page(
        client, "/layouts/tv", cute="((4,8),(2,2)):((32,1),(16,8))", tile="16x8", to="((4,8),(2,2)):((32,1),(8,16))"
    )
    assert "Registers are renamed" in moved
    cube = get_page(client, "/layouts/tv", cute="((4,8),(2,2,2)):((16,1),(8,64,128))", tile="8x8x4")
    assert parse_page_data(cube)["operands"]["table"]["text"] == "{axis0},{axis1},{axis2}"


@for_each(
    ("path", "query", "said"),
    [
        ("/layouts/triton", {"text": BLOCKED}, "Tensor is missing"),
        ("/layouts/triton", {"text": BLOCKED.replace("[8, 4]", "[4, 4]"), "shape": "16x16"}, "has 16 lanes"),
        ("/layouts/triton", {"text": BLOCKED, "shape": "16x24"}, "Powers of two"),
        (
            "/layouts/triton",
            {"text": BLOCKED, "shape": "16x16", "to": MMA.replace("[2, 2]", "[1, 1]")},
            "The first layout has 4 warps, the second 1.",
        ),
        ("/layouts/tv", {"cute": "(4,8):(8,1)"}, "does not say its tile"),
        ("/layouts/tv", {"cute": "(4,8):(8,1)", "tile": "4x4"}, "Give a tile of at least 32 elements"),
        ("/layouts/tv", {"cute": "(4,8):(8,1)", "tile": "8x4", "slice": "(4,_)"}, "4 is past the end of a mode"),
        ("/layouts/tv", {"cute": "(4,8,2):(8,1,32)", "tile": "8x8"}, "has 3 modes"),
    ],
)
def test_what_does_not_fit_stands_beside_its_field(client: Client, path: str, query: dict[str, str], said: str) -> None:
    text = get_page(client, path, 422, **query)
    assert said in text and "data-error" in text
