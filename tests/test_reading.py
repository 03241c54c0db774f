"""What callers give: keys of objects, numbers, words. Each text has one meaning everywhere, or is refused by name."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from tests.cases import for_each
from tests.client import Client

WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
WORD = "0x4000004000010100"
SEEN = {"descriptor": WORD, "instruction": WGMMA, "operand": "a", "major": "K"}
STORAGES: dict[str, dict[str, Any]] = {
    "canonical": {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64, "base": 4096},
    "atoms": {"kind": "atoms", "width_bytes": 128, "outer8_stride": 1024, "swizzle": "128B", "base": 4096},
    "rows": {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "base": 4096},
    "cute": {"kind": "cute", "layout": "Sw<3,3,3> o ((8,8),(64,1)):((64,512),(1,0))", "base": 4096},
}


@pytest.fixture(scope="module")
def client(app: Any) -> Client:
    return Client(app, raise_server_exceptions=False)


def parse_refusal(answer: Any) -> dict[str, str]:
    assert answer.status_code == 422, answer.text[:300]
    error: dict[str, str] = answer.json()["error"]
    assert error["message"] and error["hint"]
    return error


# keys -----------------------------------------------------------------------------------------------------------------

MISSPELT = [  # route, body, the field that is named, the key that is nearest
    *(
        ("/api/v1/descriptors/verify", SEEN | {"storage": spec | {wrong: 1}}, f"storage.{wrong}", near)
        for spec, wrong, near in (
            (STORAGES["canonical"], "swizle", "swizzle"),
            (STORAGES["canonical"], "pitch_bytes", ""),
            (STORAGES["atoms"], "outer_stride", "outer8_stride"),
            (STORAGES["rows"], "pitch", "pitch_bytes"),
            (STORAGES["rows"], "major", ""),
            (STORAGES["cute"], "units", "unit"),
        )
    ),
    ("/api/v1/descriptors/verify", SEEN | {"storage": STORAGES["canonical"], "slice": {"K": 16}}, "slice.K", "k"),
    ("/api/v1/descriptors/verify", SEEN | {"storage": STORAGES["canonical"], "slices": {"k": 16}}, "slices", "slice"),
    ("/api/v1/descriptors/reads", SEEN | {"Major": "K"}, "Major", "major"),
    ("/api/v1/descriptors/encode", {"lbo": 16}, "lbo", "lbo_bytes"),
    ("/api/v1/chain", {"storage": STORAGES["rows"], "loads": "x"}, "loads", "load"),
    ("/api/v1/banks", {"access": "ldmatrix.x4", "addresses": []}, "addresses", "address"),
    ("/api/v1/banks/solve", {"row_byte": 128, "accesses": []}, "row_byte", "row_bytes"),
    ("/api/v1/banks/solve", {"accesses": [{"acess": "ldmatrix.x4"}]}, "accesses.0.acess", "access"),
    ("/api/v1/gpu/runs", {"kind": "mma", "instuction": "x", "backend": "numpy"}, "instuction", "instruction"),
]


@for_each(("route", "body", "field", "near"), MISSPELT, ids=lambda v: v if isinstance(v, str) else "")
def test_unknown_keys_are_refused_with_the_nearest(
    client: Client, route: str, body: dict[str, Any], field: str, near: str
) -> None:
    error = parse_refusal(client.post(route, json=body))
    assert error["field"] == field and field.rpartition(".")[2] in error["message"]
    assert (f"Did you mean '{near}'?" in error["hint"]) if near else "Did you mean" not in error["hint"]


def test_every_kind_of_storage_takes_exactly_its_keys(client: Client) -> None:
    for spec in STORAGES.values():
        assert client.post("/api/v1/descriptors/verify", json=SEEN | {"storage": spec}).json()["verdict"] == "match"


@for_each("part", [None, [], "k", 16])
def test_a_slice_is_an_object(client: Client, part: Any) -> None:
    assert (
        parse_refusal(
            client.post("/api/v1/descriptors/verify", json=SEEN | {"storage": STORAGES["canonical"], "slice": part})
        )["field"]
        == "slice"
    )


def test_reads_past_shared_memory_are_told(client: Client) -> None:
    near, far = (
        client.post("/api/v1/descriptors/reads", json=SEEN | {"descriptor": word}).json()
        for word in (WORD, "0x40003fff00010100")
    )
    assert near["warnings"] == [] and [w["code"] for w in far["warnings"]] == ["reads_beyond_window"]
    error = parse_refusal(client.get("/api/v1/smem/tile?base=0x3fff0"))
    assert error["code"] == "start_beyond_window" and error["field"] == "base"


@for_each(
    ("route", "body", "field"),
    [
        ("banks", {"access": "ldmatrix.x1", "pattern": "rows", "row_bytes": 7}, "row_bytes"),
        ("banks", {"access": "ldmatrix.x1", "pattern": "rows", "row_bytes": 0}, "row_bytes"),
        ("banks", {"access": "ldmatrix.x1", "pattern": "rows", "row_bytes": None}, "row_bytes"),
        ("banks", {"access": "ldmatrix.x1", "pattern": "rows", "pad": -16}, "pad"),
        ("banks", {"access": "ldmatrix.x1", "address": [0] * 7 + [True]}, "address"),
        ("banks", {"access": "ldmatrix.x1", "address": [0] * 7 + [1e18]}, "address"),
        ("banks", {"access": 5, "address": [0] * 8}, "access"),
        (
            "banks/solve",
            {"accesses": [{"access": "ldmatrix.x1", "address": [0] * 8}, {"access": "ldmatrix.x9"}]},
            "accesses.1.access",
        ),
        ("descriptors/verify", SEEN | {"storage": STORAGES["rows"] | {"pitch_bytes": 2**63}}, "storage.pitch_bytes"),
        ("descriptors/verify", SEEN | {"storage": STORAGES["rows"] | {"base": None}}, "storage.base"),
        ("descriptors/verify", SEEN | {"storage": STORAGES["rows"], "slice": {"mn": 10**30}}, "slice.mn"),
        ("descriptors/verify", SEEN | {"descriptor": None}, "descriptor"),
        ("descriptors/verify", SEEN | {"instruction": None}, "instruction"),
        ("descriptors/verify", SEEN | {"operand": 1}, "operand"),
        ("descriptors/encode", {"swizzle": None}, "swizzle"),
        ("descriptors/encode", {"start_address": "1e3"}, "start_address"),
        (
            "gpu/runs",
            {"kind": "mma", "instruction": "mma.m16n8k8.row.col.f32.f16.f16.f32", "backend": "numpy", "seed": 1.0},
            "seed",
        ),
        (
            "gpu/runs",
            {"kind": "mma", "instruction": "mma.m16n8k8.row.col.f32.f16.f16.f32", "backend": "numpy", "device": "one"},
            "device",
        ),
    ],
    ids=str,
)
def test_a_value_of_the_wrong_kind_names_its_field(
    client: Client, route: str, body: dict[str, Any], field: str
) -> None:
    assert parse_refusal(client.post(f"/api/v1/{route}", json=body))["field"] == field


def test_addresses_are_numbers_in_any_spelling(client: Client) -> None:
    plain = client.post(
        "/api/v1/banks", json={"access": "ldmatrix.x1", "address": [0, 16, 32, 48, 64, 80, 96, 112]}
    ).json()
    text = ["0", "0x10", "032", "0b11_0000", "64u", "8'0", 96, "0x70ull"]
    assert client.post("/api/v1/banks", json={"access": "ldmatrix.x1", "address": text}).json() == plain


def test_what_cxx_loses_is_told(client: Client) -> None:
    """`1 << 62` of an int is 0 on the device: no silent 2^62, and a diagnosis that names the mistake where a storage is
    given.
    """
    text = "1 << 62 | (uint64_t)(1024 >> 4) << 32 | 0x10100"
    answer = client.get("/api/v1/descriptors/" + quote(text, safe="")).json()
    assert answer["descriptor"] == "0x0000004000010100" and answer["warnings"][0]["code"] == "shifts_of_32_bits"
    assert WORD in answer["warnings"][0]["message"]
    told = client.post(
        "/api/v1/descriptors/verify", json=SEEN | {"descriptor": text, "storage": STORAGES["canonical"]}
    ).json()
    assert told["verdict"] == "mismatch" and told["diagnoses"][0]["code"] == "shifts_of_32_bits"
    assert told["diagnoses"][0]["fix"]["descriptor"] == WORD
    right = text.replace("1 <<", "1ull <<")
    assert (
        client.post(
            "/api/v1/descriptors/verify", json=SEEN | {"descriptor": right, "storage": STORAGES["canonical"]}
        ).json()["verdict"]
        == "match"
    )


# numbers --------------------------------------------------------------------------------------------------------------


@for_each(
    ("given", "value"),
    [
        ("16", 16),
        ("007", 7),
        ("0x1f", 31),
        ("0X1F", 31),
        ("0b101", 5),
        ("0B11", 3),
        ("4_096", 4096),
        ("4'096", 4096),
        ("0x1_000", 4096),
        (" 12 ", 12),
        *((f"12{suffix}", 12) for suffix in "u l ll ul ull lu llu z U L LL UL ULL LU LLU Z uLL".split()),
        ("0x10ull", 16),
        ("0", 0),
        ("000", 0),
        (16, 16),
        (0, 0),
    ],
)
def test_numbers_in_every_spelling(given: Any, value: int) -> None:
    assert parse_integer(given, "k") == value


@for_each(
    "given",
    [
        "",
        " ",
        "-1",
        "+1",
        "1e18",
        "1.0",
        "0x",
        "0b",
        "0b12",
        "0o7",
        "0x_1",
        "1_",
        "_1",
        "1__0",
        "1lL",
        "1f",
        "1 2",
        "ten",
        "１２",
        "²",
        "9" * 5000,
        "0" * 5000,
        1.0,
        1e18,
        float("nan"),
        float("inf"),
        True,
        False,
        None,
        [],
        {},
        [1],
        -1,
    ],
)
def test_what_is_no_number_is_refused(given: Any) -> None:
    with pytest.raises(LayoutError, match=r"^k is (missing|empty|a list|an object|')") as caught:
        parse_integer(given, "slice.k")
    assert caught.value.field == "slice.k" and len(str(caught.value)) < 200
