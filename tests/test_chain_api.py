"""/chain and /banks: API, pages, and the generated loop. tests/golden/terminal has the commands."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from lanescope.app.banks import facts as bank_facts
from lanescope.app.hardware import chain_runs, verification
from lanescope.ptx import hardware_runs
from tests.cases import for_each
from tests.client import Client
from tests.ptxas import nvrtc

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
ROWS = {"kind": "rows", "inner": "K", "pitch_bytes": 128}
LOAD = "ldmatrix.sync.aligned.m8n8.x2.shared.b16"


def test_a_right_chain(client: Client) -> None:
    told = client.post("/api/v1/chain", json={"storage": ROWS, "load": LOAD, "mma": MMA, "operand": "b"}).json()
    assert told["verdict"] == "match" and told["matched"] == told["total"] == 128 and told["first_mismatch"] is None
    assert (
        told["lane_addresses"][:16] == [128 * (lane % 8) + 16 * (lane // 8) for lane in range(16)]
        and len(told["lane_addresses"]) == 32
    )
    assert told["ways"] == 8 and "ldmatrix_m8n8_x2_shared_b16(r" in told["code"]


def test_a_wrong_chain_names_what_would_do(client: Client) -> None:
    wrong = client.post(
        "/api/v1/chain", json={"storage": ROWS, "load": LOAD.replace("x2", "x2.trans"), "mma": MMA, "operand": "b"}
    ).json()
    assert wrong["verdict"] == "mismatch" and wrong["instead"][0] == LOAD and not wrong["code"]
    first = wrong["first_mismatch"]
    assert (first["row"], first["col"], first["expected"], first["read"]) == (1, 0, 2, 128)


def test_a_chain_nothing_can_do_says_why(client: Client) -> None:
    given = {
        "storage": {**ROWS, "inner": "MN"},
        "load": LOAD,
        "mma": "mma.m16n8k32.row.col.s32.s8.s8.s32",
        "operand": "b",
        "major": "MN",
    }
    told = client.post("/api/v1/chain", json=given).json()
    assert told["verdict"] == "mismatch" and not told["instead"] and "pairs of bytes" in told["notes"][0]


@for_each(
    ("change", "field"),
    [
        ({"load": "ldmatrix.m8n8.x3"}, "load"),
        ({"mma": "x"}, "mma"),
        ({"storage": 3}, "storage"),
        ({"storage": {"kind": "rows", "pitch_bytes": "x"}}, "storage.pitch_bytes"),
        ({"operand": "d"}, "operand"),
        ({"extra": 1}, "extra"),
        ({"major": "Q"}, "major"),
    ],
)
def test_bad_requests(client: Client, change: dict[str, object], field: str) -> None:
    told = client.post("/api/v1/chain", json={"storage": ROWS, "load": LOAD, "mma": MMA, "operand": "b"} | change)
    assert told.status_code == 422 and told.json()["error"]["field"] == field, told.json()


PAIRS = {"kind": "cute", "layout": "(8,(2,8)):(2,(1,16))", "unit": "bytes"}
S8 = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"
TRANS = "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16"


def test_byte_pairs_stored_along_n_go_through_trans(client: Client) -> None:
    """B of m8n8k16 as pairs of K, a row of 16 bytes a pair: lane l gives row l, which begins with B[2l, 0]."""
    told = client.post("/api/v1/chain", json={"storage": PAIRS, "load": TRANS, "mma": S8, "operand": "b"}).json()
    assert (told["verdict"], told["matched"], told["total"]) == ("match", 128, 128)
    assert told["turns"][0][:8] == [16 * lane for lane in range(8)] and told["starts"][0][:9] == [
        *([2 * lane, 0] for lane in range(8)),
        None,
    ]
    straight = {"storage": PAIRS, "load": TRANS.replace(".trans", ""), "mma": S8, "operand": "b"}
    wrong = client.post("/api/v1/chain", json=straight).json()
    assert wrong["verdict"] == "mismatch" and wrong["instead"] == [TRANS] and not wrong["notes"]


@for_each("by", ["address", "tile"])
def test_code_swizzles_what_the_storage_swizzles(client: Client, by: str) -> None:
    storage = {"kind": "rows", "inner": "K", "pitch_bytes": 128, "swizzle": "128B", "swizzle_by": by, "base": "0x1080"}
    told = client.post(
        "/api/v1/chain", json={"storage": storage, "load": LOAD.replace("x2", "x4"), "mma": MMA, "operand": "a"}
    ).json()
    assert told["verdict"] == "match" and "(x >> 3 & 0x70u)" in told["code"]
    assert {"address": "swizzle_a(tile + offset)", "tile": "tile + swizzle_a(offset)"}[by] in told["code"]


def test_rows_that_do_not_start_on_16_bytes_are_no_match(client: Client) -> None:
    storage = {"kind": "rows", "inner": "K", "pitch_bytes": 40}
    told = client.post("/api/v1/chain", json={"storage": storage, "load": LOAD, "mma": MMA, "operand": "b"}).json()
    assert (
        told["verdict"] == "mismatch"
        and "starts at 40, which is not a multiple of 16" in told["notes"][0]
        and not told["code"]
        and told["ways"] is None
    )


@cache
def list_cases() -> list[chain_runs.ChainCase]:
    """What a device is given, made once."""
    return list(chain_runs.generate_cases())


@pytest.mark.thorough
@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_the_kernels_that_run_chains_on_a_device_compile() -> None:
    parts = [
        f"namespace n{n} {{\n{verification.rename_kernel(case.render_kernel(), n)}}}"
        for n, case in enumerate(list_cases()[::20])
    ]
    assert nvrtc.compile_ptx("\n".join(parts), "sm_90a")[1] == ""
    assert max(int(case.compute_addresses().max()) for case in list_cases()) < 4 * chain_runs.WORDS


def test_every_chain_a_device_ran_is_one_we_still_write() -> None:
    """The evidence files hold what `gpu verify` ran: operands that are on today's list, no more chains of each than
    today, all right.
    """
    today = Counter(case.key for case in list_cases())
    ran = [
        data for data in hardware_runs.load_evidence() if "chains" in data
    ]  # the H200's file is older than this method
    assert ran
    for data in ran:
        assert all(row["ran"] <= today[key] for key, row in data["chains"].items())
        assert all(row["ran"] == row["agreed"] > 0 for row in data["chains"].values())


def test_the_device_list_has_every_kind_of_storage() -> None:
    """Swizzled by address and by tile, on the pattern's boundary and off it, and pieces of 16 bits along M or N for 1,
    4, 8, 16 and 32 bits.
    """
    assert {case.chain.want.operand.container_bits for case in list_cases() if case.key.endswith("pieces")} == {
        1,
        4,
        8,
        16,
        32,
    }
    placed = [case.chain.where.placed for case in list_cases()]
    assert {(p.by, p.base % 1024 != 0) for p in placed if p and p.xor.bits} == {
        ("address", True),
        ("tile", True),
        ("tile", False),
    }


def test_the_expected_addresses_are_those_of_memory() -> None:
    """B of m16n8k16, K contiguous, pitch 144: register r of lane 4g + t holds bytes 4t … of row g, 16 r along."""
    case = next(c for c in list_cases() if " b K" in c.key and "m16n8k16" in c.key and "pitch of 144 bytes" in c.name)
    want = case.compute_addresses()
    for lane, register, byte in ((0, 0, 0), (13, 1, 2), (31, 0, 3)):
        assert want[lane, register, byte] == lane // 4 * 144 + 16 * register + lane % 4 * 4 + byte


def test_banks(client: Client) -> None:
    told = client.post(
        "/api/v1/banks", json={"access": "ldmatrix.x4", "address": [128 * lane for lane in range(32)]}
    ).json()
    assert (told["wavefronts"], told["ideal"], told["ways"]) == (32, 4, 8) and len(told["phases"]) == 4
    assert told["phases"][0]["lanes"] == list(range(8)) and told["phases"][0]["words"][:5] == [8, 8, 8, 8, 0]
    assert client.post("/api/v1/banks", json={"access": "ldmatrix.x4", "address": ["a"]}).status_code == 422


@for_each(
    ("row_bytes", "accesses", "text", "mode"),
    [
        (32, [("ldmatrix.x4", "ldmatrix")], "Sw<1,4,3>", "32B"),
        (64, [("ldmatrix.x4", "ldmatrix")], "Sw<2,4,3>", "64B"),
        (128, [("ldmatrix.x4", "ldmatrix"), ("st.shared.b128", "columns")], "Sw<3,4,3>", "128B"),
        (256, [("ldmatrix.x4", "ldmatrix")], "Sw<3,4,4>", None),
        (128, [("ld.shared.b32", "along")], "Sw<0,4,3>", "none"),
    ],
)
def test_the_solver_finds_the_field_s_swizzles(
    row_bytes: int, accesses: list[tuple[str, str]], text: str, mode: str | None
) -> None:
    found = bank_facts.solve_swizzle(
        {"row_bytes": row_bytes, "accesses": [{"access": a, "pattern": p} for a, p in accesses]}
    )
    assert found.free and found.swizzle.text == text and found.mode == mode
    for access, pattern in accesses:
        bits = found.swizzle
        told = bank_facts.build_use_cost(
            *bank_facts.parse_use(
                {
                    "access": access,
                    "pattern": pattern,
                    "row_bytes": row_bytes,
                    "swizzle": f"{bits.bits},{bits.base},{bits.shift}",
                }
            )
        )
        assert told.ways == 1


def test_the_solver_says_why_there_is_none() -> None:
    found = bank_facts.solve_swizzle(
        {
            "row_bytes": 48,
            "accesses": [
                {"access": "st.shared.b128", "pattern": "rows"},
                {"access": "ldmatrix.x4", "address": [256 * lane for lane in range(32)]},
            ],
        }
    )
    assert (
        not found.free
        and "No swizzle avoids all conflicts" in found.why
        and max(row.ways for row in found.accesses) > 1
    )


COLUMN = [128 * lane for lane in range(32)]  # a column of a tile of 128-byte rows


def test_given_addresses_are_what_is_counted_and_solved(client: Client) -> None:
    plain = client.post("/api/v1/banks", json={"access": "ld.shared.b32", "address": COLUMN}).json()
    assert (plain["ways"], plain["address"]) == (32, COLUMN)
    moved = client.post("/api/v1/banks", json={"access": "ld.shared.b32", "address": COLUMN, "swizzle": "5,2,5"}).json()
    assert moved["ways"] == 1 and moved["address"] == [128 * lane ^ 4 * lane for lane in range(32)]
    assert (
        client.post("/api/v1/banks", json={"access": "ldmatrix.x4", "address": COLUMN, "swizzle": "128B"}).json()[
            "ways"
        ]
        == 1
    )
    one = client.post("/api/v1/banks/solve", json={"access": "ld.shared.b32", "address": COLUMN}).json()
    assert one["free"] and one["swizzle"]["text"] == "Sw<5,2,5>" and one["accesses"][0]["ways_before"] == 32
    rows = [512 * lane for lane in range(32)]
    both = {
        "row_bytes": 512,
        "accesses": [{"access": "ldmatrix.x4", "address": rows}, {"access": "ldmatrix.x4", "pattern": "ldmatrix"}],
    }
    told = client.post("/api/v1/banks/solve", json=both).json()
    assert (
        told["free"]
        and told["swizzle"]["text"] == "Sw<3,4,5>"
        and [row["pattern"] for row in told["accesses"]] == [None, "ldmatrix"]
    )
    for row in told["accesses"]:
        assert (
            client.post("/api/v1/banks", json={"access": row["access"], "address": row["address"]}).json()["ways"] == 1
        )


@for_each(
    ("path", "body", "field"),
    [
        ("banks", {"access": "ld.shared.b32", "address": COLUMN, "swizzle": "3,4,2"}, "swizzle"),
        ("banks", {"access": "ld.shared.b128", "address": COLUMN, "swizzle": "5,2,5"}, "swizzle"),
        ("banks", {"access": "ld.shared.b32", "address": COLUMN, "pattern": "rows"}, "pattern"),
        ("banks", {"access": "ld.shared.b32", "address": [1 << 40] * 32}, "address"),
        ("banks", {"access": "ld.shared.b32"}, "address"),
        ("banks/solve", {"accesses": [{"access": "ld.shared.b32", "address": COLUMN}], "pad": 4}, "pad"),
        ("banks/solve", {"accesses": [{"access": "ld.shared.b32", "adress": COLUMN}]}, "accesses.0.adress"),
        ("banks/solve", {"accesses": [{"access": "ld.shared.b32"}] * 17}, "accesses"),
        ("banks/solve", {"access": "ld.shared.b64", "address": [4] * 32}, "address"),
    ],
)
def test_what_is_wrong_with_an_access_is_named(client: Client, path: str, body: dict[str, object], field: str) -> None:
    told = client.post(f"/api/v1/{path}", json=body)
    assert told.status_code == 422 and told.json()["error"]["field"] == field, told.json()


@for_each(
    ("path", "says"),
    [
        ("/chain?s_kind=cute&s_layout=x", "&#39;x&#39; is not a CuTe layout"),
        ("/chain?mma=mma.m8n8k4.row.col.f64.f64.f64.f64", "64-bit"),
        ("/banks?address=0,4,8", "3 addresses"),
        ("/banks?address=x", "not a list of numbers"),
        ("/banks?row_bytes=0x", "Bytes per row is "),
    ],
)
def test_pages_keep_what_was_wrong(client: Client, path: str, says: str) -> None:
    page = client.get(path)
    assert page.status_code == 422 and 'role="alert"' in page.text
    alert = page.text[page.text.index('role="alert"') :].split("</p>")[0]
    assert says in alert, alert
