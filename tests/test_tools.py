"""Reuse of D as A, comparison, sparsity metadata, wmma's memory rules: engine, API and page."""

from __future__ import annotations

import numpy as np
import pytest

from lanescope import find
from lanescope.errors import LayoutError
from lanescope.ptx import wmma
from lanescope.render.reuse import render_code
from lanescope.tiles.reuse import match_accumulator
from tests.cases import for_each
from tests.client import Client

M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
FP8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
TF32 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
S8 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


@for_each(("text", "verdict"), [(M16, "registers"), (FP8, "reordered"), (S8, "reordered"), (TF32, "reordered")])
def test_reuse_names_the_true_holder(text: str, verdict: str) -> None:
    i = find(text)
    found = match_accumulator(i, i)
    assert found.verdict == verdict
    for t in range(32):
        for v in range(found.target.values):
            row, col = int(found.target.rows[t, v]), int(found.target.cols[t, v])
            tile, inside = divmod(col, found.source.col_count)
            assert (found.lane[0, t, v], found.value[0, t, v]) in found.source.owner(row, inside) and found.tile[
                0, t, v
            ] == tile


def test_an_order_of_k_leaves_everything_in_its_lane() -> None:
    """With K reordered, lane by lane, A's value takes a D element of its own lane and row, and every column once."""
    i = find(FP8)
    found = match_accumulator(i, i)
    assert found.order and sorted(found.order) == list(range(32))
    for t in range(32):
        for v in range(found.target.values):
            inside = found.order[int(found.target.cols[t, v])] % found.source.col_count
            assert any(thread == t for thread, _ in found.source.owner(int(found.target.rows[t, v]), inside))


def test_a_shuffle_is_code_that_moves_each_value() -> None:
    """D of wmma m8n32k16 lies otherwise than its A: elements cross lanes, and the code's lanes are those of the map."""
    found = match_accumulator(find("wmma.store.d.row.m8n32k16.f16"), find("wmma.load.a.row.m8n32k16.bf16"))
    assert found.verdict == "shuffle" and int(found.stays.sum()) < found.stays.size
    text = render_code(found)
    assert "__shfl_sync" in text and "{" + ", ".join(str(int(n)) for n in found.lane[0, :, 0]) + "}" in text


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (M16, SPARSE, "stored compressed"),
        (M16, "wgmma.mma_async.m64n8k16.f32.f16.f16", "D belongs to 32 threads"),
        ("mma.m8n8k16.row.col.s32.s8.s8.s32", S8, "D has 8 rows, A has 16"),
    ],
)
def test_what_cannot_meet_says_why(first: str, second: str, says: str) -> None:
    with pytest.raises(LayoutError, match=says):
        match_accumulator(find(first), find(second))


def test_reuse_over_http(client: Client) -> None:
    answer = client.get("/api/v1/reuse", params={"from": FP8, "to": FP8}).json()
    assert (
        answer["verdict"] == "reordered"
        and answer["stay"] == 128
        and answer["total"] == 512
        and len(answer["thread"]) == 32
    )
    assert answer["steps"] == 1 and answer["order_period"] == 16
    wide = FP8.replace("mma.sync.aligned.m16n8k32.row.col", "wgmma.mma_async.m64n128k32").replace(".e4m3.f32", ".e4m3")
    told = client.get("/api/v1/reuse", params={"from": wide, "to": wide, "step": 3}).json()
    assert (told["verdict"], told["steps"], told["step"]) == ("reordered", 4, 3) and told["order"][96:100] == [
        96,
        97,
        104,
        105,
    ]
    assert client.get("/api/v1/reuse", params={"from": wide, "to": wide, "step": 4}).json()["error"]["field"] == "step"
    assert "and so on every 16 rows of B" in client.get("/reuse", params={"from": wide, "to": wide, "step": 2}).text
    assert "K taken in another" in client.get("/reuse", params={"from": FP8, "to": FP8}).text
    bad = client.get("/reuse", params={"from": "nonsense", "to": FP8})
    assert (
        bad.status_code == 422 and 'value="nonsense"' in bad.text and "D of " in bad.text and "data-error" in bad.text
    )


def test_compare(client: Client) -> None:
    same = client.get("/api/v1/compare", params={"left": f"{M16}/a", "right": "wmma.load.a.row.m16n16k16.f16/a"}).json()
    assert (same["total"], same["other_lane"], same["other_value"]) == (256, 0, 0)
    turned = client.get(
        "/api/v1/compare", params={"left": "ldmatrix.m8n8.x1.b16/data", "right": "ldmatrix.m8n8.x1.trans.b16/data"}
    ).json()
    one, other = find("ldmatrix.m8n8.x1.b16").operand("data"), find("ldmatrix.m8n8.x1.trans.b16").operand("data")
    places = [(r, c) for r in range(8) for c in range(8)]
    moved = sum(one.pattern.owners(0, *at)[0][0] != other.pattern.owners(0, *at)[0][0] for at in places)
    assert turned["total"] == 64 and turned["other_lane"] == moved > 0 and np.array(turned["moved"]).shape == (8, 8)
    assert client.get("/api/v1/compare", params={"left": f"{M16}/a", "right": f"{M16}/b"}).status_code == 422
    assert "Every element is in the same lane" in client.get(f"/compare?left={M16}/a&right={M16}/a").text
    assert "held more often on one side" in client.get("/compare").text


def test_metadata_api(client: Client) -> None:
    path = f"/api/v1/instructions/{SPARSE}/metadata"
    plain = client.get(path).json()
    assert plain["col"][0] == find(SPARSE).operand("a").cols[0].tolist() and plain["used"] == list(range(0, 32, 4))
    words = ["0x44444444"] * 32
    words[0] = "0x4444444E"
    turned = client.get(path, params={"words": ",".join(words)}).json()
    assert turned["col"][0][:2] == [2, 3] and turned["col"][1] == plain["col"][1]
    for given, field in (("0x44444443", "metadata"), ("xyz", "words"), ("0 0", "words"), ("0x144444444", "words")):
        bad = client.get(path, params={"words": given})
        assert bad.status_code == 422 and bad.json()["error"]["field"] == field
    assert client.get(path, params={"selector": 4}).json()["error"]["field"] == "selector"
    assert client.get(f"/api/v1/instructions/{M16}/metadata").json()["error"]["code"] == "not_sparse"


def test_metadata_page_shows_dense_and_stored_a(client: Client) -> None:
    words = ["0x44444444"] * 32
    words[0] = "0x4444444D"
    page = client.get(f"/metadata/{SPARSE}", params={"words": " ".join(words)}).text
    assert 'title="T0 a0 holds dense column 1"' in page and 'title="T0 a1 holds dense column 3"' in page
    assert 'title="T0 a1, stored column 1, named by lane 0 bits 0 to 3"' in page


def test_metadata_page_keeps_what_was_typed(client: Client) -> None:
    bad = client.get(f"/metadata/{SPARSE}", params={"words": "0x4444 nonsense"})
    assert bad.status_code == 422 and "0x4444 nonsense" in bad.text and "is not a 32-bit hex word" in bad.text


def test_sparse_scale_and_address_operands_over_http(client: Client) -> None:
    api = "/api/v1/instructions/"
    a = client.get(f"{api}mma.sp.m16n8k16.row.col.f32.f16.f16.f32/operands/a?selector=2").json()
    assert a["meta_thread"][5] == [4 + 2] * 4 and a["meta_bit"][5] == [4, 6, 20, 22] and a["group_size"] == 4
    assert (
        a["group_col"][5] == [4, 4, 4, 4] and a["col"][5] == [4, 5, 4, 5] and (a["cols"], a["stored_cols"]) == (16, 8)
    )
    scaled = "mma.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
    scale = client.get(f"{api}{scaled}/operands/scale_a?thread_id=1").json()
    assert scale["thread"][9] == [7, 7, 7, 7] and scale["byte"][9] == [0, 1, 2, 3] and scale["block_k"] == 16
    assert client.get(f"{api}{scaled}/operands/scale_b?byte_id=1").json()["error"]["field"] == "byte_id"
    address = client.get(f"{api}ldmatrix.m8n8.x2.shared.b16/operands/address").json()
    assert address["matrix"] == [0] * 8 + [1] * 8 + [-1] * 16 and address["row"][:16] == [*range(8), *range(8)]
    data = client.get(f"{api}ldmatrix.m8n8.x2.trans.shared.b16/operands/data").json()
    assert (data["matrix"][9][3], data["row"][9][3], data["col"][9][3]) == (1, 3, 2)
    assert client.get(f"{api}{M16}/operands/a?selector=1").json()["error"]["field"] == "selector"


@for_each(
    ("pointer", "ldm", "failing"),
    [
        (0, 16, set()),
        (0x10, 16, {"CUDA C++ pointer", "PTX pointer"}),
        (0, 20, {"CUDA C++ ldm", "PTX ldm"}),
        (0, 24, {"PTX ldm"}),
        (0, 8, {"PTX ldm", "no overlap"}),
    ],
)
def test_wmma_alignment(pointer: int, ldm: int, failing: set[str]) -> None:
    op = find("wmma.load.a.row.m16n16k16.f16").operand("a")
    assert {rule.name for rule in wmma.check_pointer(op, pointer, ldm, "row") if not rule.holds} == failing


def test_wmma_names_and_strides() -> None:
    i = find("wmma.load.b.col.m32n8k16.s8")
    op = i.operand("b")
    assert (
        wmma.format_cpp_fragment(i, op, "col") == "nvcuda::wmma::fragment<matrix_b, 32, 8, 16, signed char, col_major>"
    )
    assert wmma.get_default_stride(op, "col") == 16 and wmma.get_default_stride(op, "row") == 8


def test_pages_say_what_is_unspecified_measured_and_slow(client: Client) -> None:
    page = client.get("/i/wmma.mma.row.col.m8n8k32.s32.s4.s4.s32").text
    assert "measured on H100" in page and "preview feature" in page and "unspecified by PTX" in page
    assert "ptxas advises" in client.get("/i/mma.sp.m16n8k16.row.col.f32.f16.f16.f32").text
    twice = client.get("/i/wmma.load.a.row.m16n16k16.f16").text
    assert "T0:0,8" in twice and "each element 2 times" in twice
