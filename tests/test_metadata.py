"""Metadata of sparse operands and byte-ids of scale factors: the API and the page."""

from __future__ import annotations

from lanescope import find
from tests.client import Client

M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


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
