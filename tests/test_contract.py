"""What scripts outside the project rely on: every address of the API's first version, what it takes, and the fields it
answers with.

These facts are stated here once more on purpose: nothing in app/ may change them without a test turning red. Fields may
be added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cases import for_each
from tests.client import Client
from tests.test_verify import build_canonical

Json = dict[str, Any]
API = "/api/v1"
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
TILE = build_canonical()
ASK = {"descriptor": "0x4000004004000101", "instruction": WGMMA, "operand": "a", "major": "K"}
INSTRUCTION = "ptx family shape types modifiers targets ptx_version operands"
OPERAND = (
    "name rows cols threads values element_type element_bits registers register_type pattern cute linear_layout formula"
    " copies source evidence"
)

# path of the document → its parameters in a query
PARAMETERS = {
    "/instructions": "family type target shape q",
    "/instructions/{ptx}": "",
    "/instructions/{ptx}/operands/{name}": "selector byte_id thread_id",
    "/smem/tile": "element_bits major swizzle mn k rows order base",
    "/descriptors/{word}": "",
    "/gpu": "",
}
# path of the document → the keys of its body
BODIES = {
    "/descriptors/encode": "start_address lbo_bytes sbo_bytes base_offset swizzle",
    "/descriptors/reads": "descriptor instruction operand major",
    "/descriptors/verify": "descriptor instruction operand major storage slice",
    "/banks": "access address",
    "/chain": "storage load mma operand",
    "/tiles/mma": "atom atom_layout permutation tile",
    "/tiles/copy": "atom bits element_bits thr_layout val_layout tile tiled_mma operand storage",
    "/layouts/tv": "cute tile",
    "/layouts/triton": "text shape element_bits",
}
STORAGES = {
    "canonical": "element_bits major swizzle swizzle_by mn k order base",
    "atoms": "inner width_bytes outer8_stride inner_stride line_stride swizzle swizzle_by base",
    "rows": "inner pitch_bytes swizzle swizzle_by base",
    "cute": "layout unit base",
}


def list_paths(place: str, names: str) -> str:
    return " ".join(f"{place}.{name}" for name in names.split())


# address → fields of the answer ("operands.0.cute" is a field of the first of a list)
ANSWERS = {
    "/instructions?family=mma": "count instructions " + list_paths("instructions.0", INSTRUCTION),
    f"/instructions/{M16}": f"{INSTRUCTION} {list_paths('operands.0', OPERAND)} operands.0.formula.forward"
    " operands.0.formula.inverse shape.k types.d",
    f"/instructions/{M16}/operands/a": OPERAND + " row col register bit",
    "/instructions/mma.m8n8k4.row.col.f16.f16.f16.f16/operands/d": "row col register bit product",
    f"/instructions/{SPARSE}/operands/a?selector=1": "row col register bit group_col meta_thread meta_bit group_size",
    f"/instructions/{SCALED}/operands/scale_a?byte_id=0&thread_id=0": "thread byte",
    f"/instructions/{LDMATRIX}/operands/data": "matrix row col",
    f"/instructions/{LDMATRIX}/operands/address": "matrix row",
    "/smem/tile?element_bits=16&major=K&swizzle=128B&mn=128&k=64&rows=64&order=mn&base=1024": "atom cute.chunks "
    "cute.elements cute.bytes offset_bytes lbo_bytes sbo_bytes lbo_used sbo_used "
    "k_steps.0.k k_steps.0.start_offset_bytes k_steps.0.descriptor",
    "/descriptors/0x4000004004000101": "descriptor start_address lbo_bytes sbo_bytes base_offset swizzle fields "
    "reserved warnings",
    "/gpu": "available reason devices queue",
}
POSTED: tuple[tuple[str, Json, str], ...] = (
    (
        "/descriptors/encode",
        {"start_address": 4112, "lbo_bytes": 16384, "sbo_bytes": 1024, "base_offset": 0, "swizzle": "128B"},
        "descriptor fields",
    ),
    ("/descriptors/reads", ASK, "address first last"),
    (
        "/descriptors/verify",
        ASK | {"storage": TILE, "slice": {"mn": 0, "k": 0}},
        "verdict matched total first_mismatch.row first_mismatch.k first_mismatch.read first_mismatch.expected "
        "diagnoses.0.code diagnoses.0.message "
        "diagnoses.0.storage diagnoses.0.fix.descriptor diagnoses.0.fix.changes",
    ),
    ("/descriptors/verify", ASK, "verdict fits"),
    (
        "/banks",
        {"access": "ldmatrix.x4", "address": [128 * lane for lane in range(32)]},
        "wavefronts ideal ways phases",
    ),
    (
        "/chain",
        {
            "storage": {"kind": "rows", "pitch_bytes": 144},
            "load": "ldmatrix.m8n8.x4.shared.b16",
            "mma": M16,
            "operand": "a",
        },
        "verdict matched total first_mismatch lane_addresses",
    ),
    (
        "/tiles/mma",
        {"atom": M16, "atom_layout": "(2,2,1)", "permutation": None, "tile": [64, 64, 32]},
        "threads atom shape "
        + " ".join(f"operands.{x}.{key}" for x in "abc" for key in ("row", "col", "layout", "values")),
    ),
    (
        "/tiles/copy",
        {
            "atom": "universal",
            "bits": 128,
            "element_bits": 16,
            "thr_layout": "(32,4):(4,1)",
            "val_layout": "(1,8)",
            "tile": [64, 64],
            "storage": {"kind": "rows", "pitch_bytes": 128},
        },
        "threads source.row source.col destination.row destination.col addresses wavefronts vector_bits",
    ),
    (
        "/layouts/triton",
        {"text": "gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])", "shape": [32, 16], "element_bits": 16},
        "threads warps coords linear_layout",
    ),
    (
        "/layouts/triton",
        {"text": "gl.SwizzledSharedLayout(8, 1, 8, [1, 0])", "shape": [32, 64], "element_bits": 16},
        "offset linear_layout",
    ),
    ("/layouts/tv", {"cute": "((4,8),(2,2)):((32,1),(16,8))", "tile": [16, 8]}, "row col copies covered"),
    (
        "/gpu/runs",
        {"kind": "banks", "access": "ldmatrix.x1", "address": [16 * n for n in range(32)], "backend": "numpy"},
        "device predicted measured agrees mismatches duration_ms source",
    ),
)


@pytest.fixture(scope="module")
def client(app: Any) -> Client:
    return Client(app, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def document(client: Client) -> Json:
    made: Json = client.get("/openapi.json").json()
    return made


def get_value(found: Any, field: str) -> Any:
    """The value at a field's path; KeyError where there is none."""
    for part in field.split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


def get_model(document: Json, name: str) -> Json:
    found: Json = document["components"]["schemas"][name]
    return found


@for_each("path", PARAMETERS)
def test_parameters_are_documented(document: Json, path: str) -> None:
    told = document["paths"][API + path]["get"].get("parameters", [])
    assert set(PARAMETERS[path].split()) <= {p["name"] for p in told if p["in"] == "query"}


@for_each("path", BODIES)
def test_bodies_are_documented(document: Json, path: str) -> None:
    schema = document["paths"][API + path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    body = get_model(document, schema["$ref"].rpartition("/")[2])
    forms = [get_model(document, one["$ref"].rpartition("/")[2]) for one in body.get("anyOf", ())] or [body]
    assert any(set(BODIES[path].split()) <= set(form["properties"]) for form in forms)
    assert all(form["additionalProperties"] is False for form in forms)


@for_each("kind", STORAGES)
def test_storages_are_documented(document: Json, kind: str) -> None:
    told = [
        get_model(document, one["$ref"].rpartition("/")[2])
        for one in get_model(document, "VerifyBody")["properties"]["storage"]["oneOf"]
    ]
    schema = next(one for one in told if one["properties"]["kind"]["const"] == kind)
    assert set(STORAGES[kind].split()) <= set(schema["properties"]) and schema["additionalProperties"] is False


def test_words_are_those_of_the_contract(document: Json) -> None:
    assert set(get_model(document, "Family")["enum"]) >= set(
        "wmma mma mma_sp mma_scaled wgmma wgmma_sp ldmatrix stmatrix movmatrix".split()
    )
    assert set(get_model(document, "Target")["enum"]) >= set(
        "sm_75 sm_80 sm_86 sm_89 sm_90 sm_90a sm_100a sm_103a sm_120a".split()
    )
    assert set(get_model(document, "SwizzleMode")["enum"]) >= {"none", "32B", "64B", "128B"}
    runs = {
        get_model(document, one["$ref"].rpartition("/")[2])["properties"]["kind"]["const"]
        for one in get_model(document, "RunBody")["oneOf"]
    }
    assert runs >= {"mma", "fragment", "descriptor", "banks"}
    assert get_model(document, "Word64")["pattern"] == "^0x[0-9a-f]{16}$"


@for_each("address", ANSWERS)
def test_answers_have_their_fields(client: Client, address: str) -> None:
    answer = client.get(API + address)
    assert answer.status_code == 200
    for field in ANSWERS[address].split():
        get_value(answer.json(), field)


@for_each(("path", "body", "fields"), POSTED, ids=[path for path, _, _ in POSTED])
def test_posted_answers_have_their_fields(client: Client, path: str, body: Json, fields: str) -> None:
    answer = client.post(API + path, json=body)
    assert answer.status_code == 200, answer.text
    for field in fields.split():
        get_value(answer.json(), field)


def test_shapes_of_the_arrays(client: Client) -> None:
    """[thread][value], [mn][k], [row][k], [row][block], [thread], by instructions whose sizes all differ."""
    wide = client.get(f"{API}/instructions/wgmma.mma_async.m64n24k16.f32.f16.f16/operands/d").json()
    assert {np.shape(wide[name]) for name in ("row", "col", "register", "bit")} == {(128, 12)}
    assert np.shape(client.get(f"{API}/smem/tile?mn=72&k=128&rows=8").json()["offset_bytes"]) == (72, 128)
    b = client.post(
        f"{API}/descriptors/reads", json=ASK | {"instruction": "wgmma.mma_async.m64n24k16.f32.f16.f16", "operand": "b"}
    ).json()
    assert np.shape(b["address"]) == (24, 16) and b["first"] == np.min(b["address"])
    scale = client.get(f"{API}/instructions/{SCALED}/operands/scale_b").json()
    assert np.shape(scale["thread"]) == np.shape(scale["byte"]) == (8, 2)
    assert np.shape(
        client.get(f"{API}/instructions/ldmatrix.m8n8.x2.shared.b16/operands/address").json()["matrix"]
    ) == (32,)


def test_an_address_no_lane_supplies_is_minus_one(client: Client) -> None:
    told = client.get(f"{API}/instructions/ldmatrix.m8n8.x2.shared.b16/operands/address").json()
    assert told["matrix"][:17] == [0] * 8 + [1] * 8 + [-1] and told["row"][15:17] == [7, -1]


def test_words_of_64_bits_are_strings_of_16_digits(client: Client) -> None:
    made = client.post(f"{API}/descriptors/encode", json={"start_address": 16}).json()["descriptor"]
    assert made == "0x0000000000000001" == client.get(f"{API}/descriptors/0x1").json()["descriptor"]


@for_each("path", ["/healthz", "/readyz", "/metrics", "/docs", "/openapi.json"])
def test_what_operates_it_answers(client: Client, path: str) -> None:
    assert client.get(path).status_code == 200


@for_each("form", ["svg", "png", "pdf", "tex", "txt", "md", "csv"], sample=3)
def test_pictures_have_stable_bytes_and_a_strong_etag(client: Client, document: Json, form: str) -> None:
    for path in (
        f"/i/{M16}/a.{form}?colour=g&label=lane:value&lanes=0-3&theme=bw&cell=40",
        f"/smem.{form}?mn=64&k=64",
        f"/descriptor/wgmma/0x4000004004000101.{form}",
    ):
        one, other = client.get(path), client.get(path)
        assert one.status_code == 200 and one.content == other.content and one.headers["etag"].startswith('"')
    assert {"/i/{ptx}/{operand}.{form}", "/smem.{form}", "/descriptor/wgmma/{word}.{form}"} <= set(document["paths"])


def test_an_unknown_instruction_is_a_404_that_names_the_nearest_and_the_part(client: Client) -> None:
    answer = client.get(f"{API}/instructions/mma.m16n8k12.row.col.f32.f16.f16.f32")
    error = answer.json()["error"]
    assert answer.status_code == 404 and set(error) >= {"code", "message", "hint", "field"}
    assert "m16n8k12" in error["message"] and M16 in error["hint"]


def test_unknown_keys_are_refused_with_the_nearest(client: Client) -> None:
    for body in (
        ASK | {"storag": TILE},
        ASK | {"storage": TILE | {"swizle": "128B"}},
        ASK | {"storage": TILE, "slice": {"kk": 0}},
    ):
        answer = client.post(f"{API}/descriptors/verify", json=body)
        assert answer.status_code == 422 and "Did you mean" in answer.json()["error"]["hint"], answer.text


@for_each("text", ["4096", "0x1000", "0b1_0000_0000_0000", "04096", "4'096", "4096ull", 4096])
def test_numbers_in_text(client: Client, text: object) -> None:
    assert (
        client.post(f"{API}/descriptors/encode", json={"start_address": text}).json()["descriptor"]
        == "0x0000000000000100"
    )
    assert (
        client.get(f"{API}/smem/tile", params={"base": str(text)}).json()["k_steps"][0]["descriptor"].endswith("0100")
    )
